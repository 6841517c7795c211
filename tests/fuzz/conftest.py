"""Fuzzers make their folders where pytest makes its own."""

from __future__ import annotations

import pytest

from fuzz.folders import Folders
from fuzz.harness import SCRATCH


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """The fuzzer of folders, its seeds published."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SCRATCH, str(tmp_path_factory.mktemp("fuzz")))
        fuzzer = Folders()
        assert fuzzer.files
    return fuzzer
