"""The quick run that a file of tests looks at."""

from __future__ import annotations

import pytest

from reproduce.quick import Quick, run_quickly


@pytest.fixture(scope="module")
def quick(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Quick:
    """Of the paper that the file names as PAPER."""
    return run_quickly(request.module.PAPER, tmp_path_factory.mktemp("quick"))
