"""The quick run that a file of tests looks at."""

from __future__ import annotations

import pytest

from reproduce.quick import Quick, run_quickly
from support.effort import LONG

LONGEST = {"bsgi", "decomposition", "sloms"}  # half a minute of a core each; tests/paper has their golden numbers, too


@pytest.fixture(scope="module")
def quick(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Quick:
    """Of the paper that the file names as PAPER."""
    if request.module.PAPER in LONGEST and not LONG:
        pytest.skip(f"the quick run of {request.module.PAPER} takes long: set PLURALIS_LONG=1, as make fuzz does")
    return run_quickly(request.module.PAPER, tmp_path_factory.mktemp("quick"))
