"""Importing and calling the library changes nothing in the process that does so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest

import pluralis as pls

LIBRARY = """
import os, sys
import polars as pl
from numba.np import linalg
before, path = dict(os.environ), list(sys.path)  # with what Polars itself sets
ask = linalg.ensure_blas
import pluralis as pls
people = {"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "hiv"]}
attributes = {"age": {"role": "quasi", "type": "number"}, "disease": {"role": "sensitive", "l": 2}}
policy = pls.Policy.from_dict({"version": 1, "attributes": attributes})
people = pl.DataFrame(people)
assert pls.profile(people).rows == 4
release = pls.publish(people, policy, key=pls.Key.test())
assert pls.audit(release, allow_test=True).holds
assert release.count("age > 25").most <= 4
assert pls.measure(release, people, queries=3, dimensions=1).rows == 4
assert not pls.attack(release, people).breaches
assert pls.compare(people, policy, methods=["bsgi"], cache=False, workers=0).taken.method == "bsgi"
assert dict(os.environ) == before, "the environment"
assert sys.path == path
assert linalg.ensure_blas is ask, "a library was patched"
"""


def test_nothing_is_changed() -> None:
    ran = subprocess.run([sys.executable, "-c", LIBRARY], capture_output=True, text=True, check=False)
    assert ran.stderr == ""


WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None  # as if it were not installed
import pluralis as pls
assert pls.audit(sys.argv[1], allow_test=True).holds
try:
    pls.read_release(sys.argv[1]).count("age > 25")
except pls.MissingExtra as error:
    print(error)
"""


@pytest.mark.parametrize("format", ["parquet", "csv"])
@pytest.mark.parametrize("method", ["bsgi", "anatomy", "decomposition", "randomized-addition", "gd", "sloms"])
def test_whoever_audits_a_folder_needs_no_compiler(
    method: str, format: Literal["parquet", "csv"], tmp_path: Path
) -> None:
    sensitive = {"disease": 2, "job": 2} if method in ("decomposition", "sloms") else {"disease": 2}
    rows = 120
    people = pl.DataFrame({
        "age": [20 + i % 50 for i in range(rows)],
        "disease": ["flu", "hiv", "gout"] * (rows // 3),
        "job": ["cook", "nurse", "clerk", "actor"] * (rows // 4),
    })  # fmt: skip
    how = {"k": 2} if method == "sloms" else {"rules": ["age -> disease : l=2"]} if method == "gd" else {}
    names: dict[str, Any] = {"attributes": {"age": {"type": "number"}}} if method == "gd" else {
        "quasi": {"age": {"type": "number"}}, "sensitive": sensitive
    }  # fmt: skip
    policy = pls.Policy(**names, others="drop", method=method, accept="set-size", **how)
    pls.publish(people, policy, key=pls.Key.test(), attacks=False).save(tmp_path / "r", format=format, allow_test=True)
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMBA, str(tmp_path / "r")], capture_output=True, text=True, check=False
    )
    assert ran.stderr == ""
    assert ran.stdout == "Counting or publishing needs numba. Install it: pip install 'pluralis[query]'.\n"
