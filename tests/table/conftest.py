"""Files that tests of reading write."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def file(tmp_path):
    """Writes bytes or text to a file and gives its path."""

    def write(data: bytes | str, name: str = "people.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
        return path

    return write
