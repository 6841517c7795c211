"""The verdict on a release, whole or in parts."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl

from pluralis.auditing import Verdict, audit_part
from pluralis.auditing import audit as judge
from pluralis.auditing.parts import Judged, verdict_of_judged
from pluralis.auditing.verdict import COUNTED
from pluralis.errors import InputError
from pluralis.release.parts import PartInfo, Parts, of_a_part
from pluralis.release.reading import LIMIT, parts_of
from pluralis.release.release import Release


def audit(
    release: Release | str | Path,
    original: object = None,
    *,
    private: str | Path | None = None,
    allow_test: bool = False,
    limit: int | None = LIMIT,
    encoding: str = "utf-8",
    separator: str | None = None,
) -> Verdict:
    """Judge every claim of a release from its published bytes.

    Parameters
    ----------
    release : str, Path or Release
        A release folder, or a release in memory. A folder is judged by its bytes, and only if it is exactly one
        release: docs/release.md says what that proves.
    original : str, Path or data frame, optional
        The table that was published. With it, the audit also checks that rows are covered and none is invented.
    private : str or Path, optional
        The private folder of a release in parts, whose key says which rows of the original are in which part; if not
        given, `release.private`.
    allow_test : bool
        Accept a release that was made with the fixed test key.
    limit : int or None
        Bytes that the tables of a folder may unfold to; None for as many as they do.
    encoding, separator : str
        Of an original that is a CSV file, as in `read_table`.

    Returns
    -------
    Verdict
        One finding per claim; ``verdict.holds`` is true only if all do.

    Raises
    ------
    ReleaseError
        If the folder is not a release. Nothing in it is believed then.
    InputError
        If the original cannot be read, or is that of a release in parts, and only one part is named; of a release in
        parts, if its private folder is not there.

    Examples
    --------
    >>> import pluralis as pls
    >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
    >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2})
    >>> release = pls.publish(people, policy, key=pls.Key.test(), attacks=False)
    >>> pls.audit(release, people, allow_test=True).holds
    True
    >>> [finding.claim for finding in pls.audit(release).failures]
    ['made with a secret key']
    """
    parts = None if isinstance(release, Release) or original is None else parts_of(release)
    if parts is not None and not isinstance(release, Release):
        return _of_parts(Path(release), parts, original, private, allow_test, limit, encoding, separator)
    if private is not None:
        raise InputError("A private folder says which rows are in which part: this is no release in parts.")
    verdict = judge(release, original, allow_test=allow_test, limit=limit, encoding=encoding, separator=separator)
    if original is not None and not isinstance(release, Release):
        _require_rows_of_a_part(Path(release), verdict)
    return verdict


def _of_parts(
    folder: Path,
    parts: Parts,
    original: object,
    private: str | Path | None,
    allow_test: bool,
    limit: int | None,
    encoding: str,
    separator: str | None,
) -> Verdict:
    from pluralis.verbs.original_parts import original_parts

    judged = partial(_judged, folder, allow_test, limit)
    with original_parts(
        folder, parts, original, private, encoding=encoding, separator=separator, as_many=False
    ) as routed:
        of_each = routed.each(judged, "comparing the parts with the original")
    return verdict_of_judged(parts, of_each)


def _judged(folder: Path, allow_test: bool, limit: int | None, info: PartInfo, rows: pl.DataFrame) -> Judged:
    """The verdict on one part and its rows of the original."""
    return audit_part(folder / info.folder, rows, allow_test=allow_test, limit=limit)


def _require_rows_of_a_part(folder: Path, verdict: Verdict) -> None:
    """Refuse the original of a release in parts beside one of its parts."""
    counted = next((finding for finding in verdict.failures if finding.claim == COUNTED), None)
    if counted is not None and (about := of_a_part(folder)) is not None:
        raise InputError(f"The original has {counted.promised or 0:,.0f} rows. {about}")
