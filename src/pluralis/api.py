"""The verbs that look at a release, for whatever the caller has: a path, a frame, a folder, a Release."""

from __future__ import annotations

from pathlib import Path

from pluralis.auditing import Verdict
from pluralis.auditing import audit as _audit
from pluralis.metrics import Loss
from pluralis.metrics import measure as _measure
from pluralis.release.reading import LIMIT, read_release
from pluralis.release.release import Release
from pluralis.table.sources import read_table


def audit(
    release: Release | str | Path, original: object = None, *, allow_test: bool = False, limit: int | None = LIMIT
) -> Verdict:
    """Judge every claim of a release from its published bytes.

    Parameters
    ----------
    release : str, Path or Release
        A release folder, or a release in memory.
    original : str, Path or data frame, optional
        With it, the audit also checks that every published row covers a row of its own.
    allow_test : bool
        Accept a release that was made with the fixed test key.
    limit : int or None
        Bytes that the tables of a folder may unfold to; None for as many as they do.

    Returns
    -------
    Verdict
        One finding per claim; ``verdict.holds`` is true only if all do.

    Raises
    ------
    ReleaseError
        If the folder is not a release. Nothing in it is believed then.
    """
    frame = None if original is None else read_table(original)
    return _audit(release, original=frame, allow_test=allow_test, limit=limit)


def measure(release: Release | str | Path, original: object, *, limit: int | None = LIMIT) -> Loss:
    """What a release loses against its original."""
    read = release if isinstance(release, Release) else read_release(release, limit=limit)
    return _measure(read, read_table(original))
