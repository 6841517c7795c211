"""Importing and calling the library changes nothing in the process that does so."""

from __future__ import annotations

import subprocess
import sys

LIBRARY = """
import os, sys
import polars as pl
from numba.np import linalg
before, path = dict(os.environ), list(sys.path)  # with what Polars itself sets
ask = linalg.ensure_blas
import pluralis as pls
people = {"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "hiv"]}
attributes = {"age": {"role": "quasi", "type": "number"}, "disease": {"role": "sensitive", "l": 2}}
policy = pls.Policy.of({"version": 1, "attributes": attributes})
release = pls.publish(pl.DataFrame(people), policy, key=pls.Key.test())
assert pls.audit(release, allow_test=True).holds
assert release.count("age > 25").most <= 4
assert dict(os.environ) == before, "the environment"
assert sys.path == path
assert linalg.ensure_blas is ask, "a library was patched"
"""


def test_nothing_is_changed() -> None:
    ran = subprocess.run([sys.executable, "-c", LIBRARY], capture_output=True, text=True, check=False)
    assert ran.stderr == ""
