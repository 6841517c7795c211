"""What several property tests need."""

from __future__ import annotations

from pathlib import Path

import pytest

from sketches import TREE


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("hierarchies")
    (place / "tree.csv").write_text(TREE, encoding="utf-8")
    return place
