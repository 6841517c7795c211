"""The verbs that look at a release, for whatever the caller has: a path, a frame, a folder, a Release."""

from __future__ import annotations

from pathlib import Path

from pluralis.audit import Verdict
from pluralis.audit import audit as _audit
from pluralis.io import read_table
from pluralis.metrics import Loss
from pluralis.metrics import measure as _measure
from pluralis.reading import read_release
from pluralis.release import Release


def audit(release: Release | str | Path, original: object = None, *, allow_test: bool = False) -> Verdict:
    """Judge every claim of a release; with the original, also that its rows are those of the original."""
    frame = None if original is None else read_table(original)
    return _audit(release, original=frame, allow_test=allow_test)


def measure(release: Release | str | Path, original: object) -> Loss:
    """What a release loses against its original."""
    return _measure(release if isinstance(release, Release) else read_release(release), read_table(original))
