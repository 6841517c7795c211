"""Public data sets that some tests need."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def data_folder() -> Path:
    """PLURALIS_DATA, or shared/data beside the checkout."""
    return Path(os.environ.get("PLURALIS_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))


def data_file(name: str) -> Path:
    """A public data set, or a skip that says how to get it."""
    path = data_folder() / name
    if not path.exists():
        pytest.skip(f"{name} is not there: put it in a folder and set PLURALIS_DATA to that folder")
    return path
