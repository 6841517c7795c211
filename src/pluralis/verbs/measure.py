"""What a release loses against its original, whole or in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import polars as pl

from pluralis.errors import InputError
from pluralis.estimate.conditions import Condition, Value
from pluralis.estimate.parts import ReleaseInParts, read_part
from pluralis.estimate.result import Estimate, summed
from pluralis.metrics import Loss
from pluralis.metrics import measure as measure_one
from pluralis.metrics.parts import loss_of_parts
from pluralis.metrics.risk import require_population
from pluralis.metrics.workloads import CONFIDENCE, Answers, answers_from, counted, queries_on, resolved, values_in
from pluralis.release.original import recoded
from pluralis.release.parts import PartInfo, Parts
from pluralis.release.reading import LIMIT, parts_of
from pluralis.release.release import Release
from pluralis.verbs.original_parts import OriginalParts, original_parts, telling_of_a_part


def measure(
    release: Release | str | Path,
    original: object,
    *,
    private: str | Path | None = None,
    queries: int = 0,
    dimensions: int = 3,
    selectivity: float = 0.07,
    population: int | None = None,
    limit: int | None = LIMIT,
    encoding: str = "utf-8",
    separator: str | None = None,
) -> Loss:
    """What a release loses against its original.

    Parameters
    ----------
    release : str, Path or Release
        A release folder, or a release in memory.
    original : str, Path or data frame
        The table that was published.
    private : str or Path, optional
        The private folder of a release in parts, whose key says which rows of the original are in which part; if not
        given, `release.private`.
    queries : int
        Also ask so many random counts for each sensitive attribute, and say how far the answers are off.
    dimensions : int
        How many quasi-identifiers each of them asks about.
    selectivity : float
        The share of rows that each should pass.
    population : int, optional
        How many people those of the table come from: for journalist risk and population uniqueness.
    limit : int or None
        Bytes that the tables of a folder may unfold to; None for as many as they do.
    encoding, separator : str
        Of an original that is a CSV file, as in `read_table`.

    Returns
    -------
    Loss
        NCP, discernibility, KL divergence and others; ``loss.queries`` has the answers to random counts.

    Raises
    ------
    ReleaseError
        If the folder is not exactly one release.
    InputError
        If the original cannot be read, or cannot be that of this release; of a release in parts, if its private folder
        is not there.

    Examples
    --------
    >>> import pluralis as pls
    >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
    >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2})
    >>> release = pls.publish(people, policy, key=pls.Key.test(), attacks=False)
    >>> loss = pls.measure(release, people, queries=10, dimensions=1)
    >>> loss.groups, round(loss.ncp, 2), loss.queries["disease"].queries
    (2, 0.33, 10)
    """
    asked = Asked(queries, dimensions, selectivity)
    parts = None if isinstance(release, Release) else parts_of(release)
    if parts is not None and not isinstance(release, Release):
        folder = Path(release)
        require_population(population, parts.manifest.rows + parts.manifest.suppressed)
        with original_parts(folder, parts, original, private, encoding=encoding, separator=separator) as routed:
            return _of_parts(folder, parts, routed, asked, population, limit)
    if private is not None:
        raise InputError("A private folder says which rows are in which part: this is no release in parts.")
    with telling_of_a_part(release):
        return measure_one(
            release, original, **asked._asdict(), population=population, limit=limit, encoding=encoding,
            separator=separator,
        )  # fmt: skip


class Asked(NamedTuple):
    """How many random counts to ask for each sensitive attribute, and of which kind."""

    queries: int
    dimensions: int
    selectivity: float


def _of_parts(
    folder: Path, parts: Parts, routed: OriginalParts, asked: Asked, population: int | None, limit: int | None
) -> Loss:
    """The losses of all parts together, and how the sums of their answers are off."""
    measured = routed.each(partial(_measured, folder, limit, bool(asked.queries)), "measuring the parts")
    loss = loss_of_parts([own for own, _ in measured], population)
    if not asked.queries:
        return loss
    described = ReleaseInParts(folder, parts.manifest, limit).described()
    values = _all_values([own for _, own in measured])
    answers: dict[str, Answers] = {}
    for name, conditions in queries_on(described, values, *asked).items():
        own = [resolved(condition, described) for condition in conditions]
        counts = routed.each(partial(_counted, folder, limit, own), f"asking random counts of {name}")
        answers[name] = answers_from([_summed(query) for query in zip(*counts, strict=True)], CONFIDENCE)
    return replace(loss, queries=answers)


def _measured(
    folder: Path, limit: int | None, with_values: bool, info: PartInfo, rows: pl.DataFrame
) -> tuple[Loss, dict[str, list[Value]]]:
    """What one part lost, and the values of its rows that may be asked about."""
    part = read_part(folder, info, limit=limit)
    own = recoded(rows, part.manifest)
    return measure_one(part, own), values_in(part, own) if with_values else {}


def _counted(
    folder: Path, limit: int | None, asked: Sequence[Condition], info: PartInfo, rows: pl.DataFrame
) -> list[tuple[Estimate, int]]:
    part = read_part(folder, info, limit=limit)
    return [*counted(part, recoded(rows, part.manifest), asked, CONFIDENCE)]


def _summed(counts: Sequence[tuple[Estimate, int]]) -> tuple[Estimate, int]:
    """The answer of all parts to one query, and the true count."""
    return summed([estimate for estimate, _ in counts]), sum(truth for _, truth in counts)


def _all_values(of_parts: Sequence[dict[str, list[Value]]]) -> dict[str, list[Value]]:
    """The different values of all parts, in order."""
    return {name: sorted({value for own in of_parts for value in own[name]}) for name in of_parts[0]}
