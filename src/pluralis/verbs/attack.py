"""What adversaries get from a release, whole or in parts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path

import polars as pl

from pluralis.attacks import AttackResults, Result, require_attacks
from pluralis.attacks import attack as attack_one
from pluralis.attacks.base import SAMPLE
from pluralis.attacks.parts import results_of_parts, sample_of_parts
from pluralis.errors import InputError
from pluralis.release.parts import PartInfo, Parts
from pluralis.release.reading import LIMIT, manifest_of, parts_of
from pluralis.release.release import Release
from pluralis.verbs.original_parts import original_parts, telling_of_a_part


def attack(
    release: Release | str | Path,
    original: object,
    *,
    private: str | Path | None = None,
    only: str | Collection[str] = (),
    others: Release | str | Path | Sequence[Release | str | Path] = (),
    person: str | None = None,
    sample: int = SAMPLE,
    limit: int | None = LIMIT,
    encoding: str = "utf-8",
    separator: str | None = None,
) -> AttackResults:
    """Attack a release by every attack that applies to it, or by some; its original is for scoring.

    Parameters
    ----------
    release : str, Path or Release
        A release folder, or a release in memory. Its files are attacked only in a folder.
    original : str, Path or data frame
        The table that was published.
    private : str or Path, optional
        The private folder of a release in parts, whose key says which rows of the original are in which part; if not
        given, `release.private`.
    only : str or list of str
        The attacks to run; without any, all.
    others : str, Path or Release, or a list of them
        Other releases of the same people, to intersect, the earliest first.
    person : str, optional
        The person column of the original: also attack several rows of one person.
    sample : int
        How many people to attack, where all would take too long; of a release in parts some in every part, by its rows.
    limit : int or None
        Bytes that the tables of a folder may unfold to; None for as many as they do.
    encoding, separator : str
        Of an original that is a CSV file, as in `read_table`.

    Returns
    -------
    AttackResults
        What each attack got, beside what was promised and the best guess without the release. Unlike the command line,
        this writes nothing into the private folder.

    Raises
    ------
    InputError
        If the table cannot be its original, or has no such person column, or an attack is not known; of a release in
        parts, if its private folder is not there.
    ReleaseError
        If a folder is not exactly one release.

    Examples
    --------
    >>> import pluralis as pls
    >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
    >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2})
    >>> release = pls.publish(people, policy, key=pls.Key.test(), attacks=False)
    >>> pls.attack(release, people, only=["homogeneity"])
    Attack results: 1 question asked, no promise is exceeded
      attack       question              right  prior  worst  promised
      homogeneity  disease, knowing age  50.0%  50.0%    0.5       0.5  no better than the prior
    """
    only = [only] if isinstance(only, str) else only
    others = [others] if isinstance(others, str | Path | Release) else others
    require_attacks(only, sample)
    parts = None if isinstance(release, Release) else parts_of(release)
    if parts is not None and not isinstance(release, Release):
        folder = Path(release)
        _require_apart(folder, parts, others, person)
        of_part = _samples(parts, sample)
        with original_parts(folder, parts, original, private, encoding=encoding, separator=separator) as routed:
            results = routed.each(partial(_attacked, folder, only, person, of_part, limit), "attacking the parts")
        return results_of_parts(zip((info.folder for info in parts.manifest.parts), results, strict=True))
    if private is not None:
        raise InputError("A private folder says which rows are in which part: this is no release in parts.")
    with telling_of_a_part(release):
        return attack_one(
            release, original, only=only, others=others, person=person, sample=sample, limit=limit, encoding=encoding,
            separator=separator,
        )  # fmt: skip


def _require_apart(folder: Path, parts: Parts, others: Sequence[object], person: str | None) -> None:
    """Refuse what is not asked part by part."""
    if others:
        raise InputError(
            "What several releases tell together is not measured of a release in parts: leave out the others."
        )
    if person is not None and not manifest_of(folder / parts.manifest.parts[0].folder).parameters.persons:
        raise InputError(
            "The policy of this release in parts names no person, so that the rows of one person are in different "
            "parts, and nothing is measured of them together. Leave out the person column."
        )


def _samples(parts: Parts, sample: int) -> dict[str, int]:
    infos = parts.manifest.parts
    many = sample_of_parts([info.rows + info.suppressed for info in infos], sample)
    return {info.folder: own for info, own in zip(infos, many, strict=True)}


def _attacked(
    folder: Path,
    only: Collection[str],
    person: str | None,
    samples: Mapping[str, int],
    limit: int | None,
    info: PartInfo,
    rows: pl.DataFrame,
) -> list[Result]:
    """What attacks got from one part, whose rows these are."""
    return [*attack_one(folder / info.folder, rows, only=only, person=person, sample=samples[info.folder], limit=limit)]
