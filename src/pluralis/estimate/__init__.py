"""Counts with intervals from a release alone: one estimator for each kind of release, one query language.

What is counted are published rows. Suppressed rows are in no table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Literal, Protocol

import polars as pl

from pluralis.errors import QueryError, ReleaseError, did_you_mean
from pluralis.estimate.conditions import All, Check, Condition, Value, col
from pluralis.estimate.kinds import bucketized, candidates, decomposed, generalized, multi, sliced
from pluralis.estimate.language import Query, parse, resolve
from pluralis.estimate.result import Estimate
from pluralis.release.attributes import attributes_of
from pluralis.release.manifest import ColumnInfo
from pluralis.release.release import Release
from pluralis.release.subtables import subtables

__all__ = [
    "ESTIMATORS",
    "Estimate",
    "Estimator",
    "EstimatorModule",
    "col",
    "count",
    "crosstab",
    "distribution",
    "prepare",
    "table",
]

MOST = 10_000  # combinations of a table
RESULTS = ("value", "low", "high", "basis", "share")


class Estimator(Protocol):
    """A release made ready for many counts."""

    def count(self, where: Condition | None, confidence: float) -> Estimate:
        """How many published rows pass a condition, which is in the release's own spelling."""

    def missing(self, name: str) -> bool:
        """Whether a row is published without a value of this attribute."""


class EstimatorModule(Protocol):
    """A module of this package that reads one kind of release."""

    def prepare(self, release: Release) -> Estimator:
        """Code its tables, once."""


ESTIMATORS: dict[str, EstimatorModule] = {
    "bucketized": bucketized,
    "candidates": candidates,
    "decomposed": decomposed,
    "generalized": generalized,
    "multi": multi,
    "sliced": sliced,
}


def estimator_of(release: Release) -> Estimator:
    """What counts in the tables of a release; made when first asked for, and kept with it."""
    kept = vars(release)
    if "_estimator" not in kept:
        kept["_estimator"] = _prepare(release)
    estimator: Estimator = kept["_estimator"]
    return estimator


def _prepare(release: Release) -> Estimator:
    for rows in _published(release):
        if rows != release.manifest.rows:
            mismatch = f"The manifest says {release.manifest.rows:,} rows, and {rows:,} are published"
            raise ReleaseError(f"{mismatch}: the release is damaged; ask for it again.")
    if release.kind not in ESTIMATORS:
        raise ReleaseError(f"Releases of kind {release.kind!r} cannot be counted. {did_you_mean('', ESTIMATORS)}")
    return ESTIMATORS[release.kind].prepare(release)


def _published(release: Release) -> list[int]:
    """How many rows stand in the tables that have one for each person."""
    if release.traits.has_subtables:
        return [part.release.tables[part.rows.name].height for part in subtables(release)] or [0]
    return [max((table.height for name, table in release.tables.items() if name in ("quasi", "microdata")), default=0)]


def count(release: Release, where: Condition | Query | str | None = None, *, confidence: float = 0.95) -> Estimate:
    """How many published rows pass a condition, with the interval that holds with this confidence.

    >>> from pluralis import Key, Policy, publish
    >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
    >>> attributes = {"age": {"role": "quasi", "type": "number"}, "disease": {"role": "sensitive", "l": 2}}
    >>> policy = Policy.from_dict({"version": 1, "attributes": attributes, "publish": {"method": "anatomy"}})
    >>> release = publish(people, policy, key=Key.test())
    >>> print(count(release), count(release, "disease = 'flu'"), count(release, col("age") < 35))
    4 (exact) 2 (exact) 2 (exact)
    >>> count(release, "age < 35 AND disease = 'flu'").value
    1.0
    """
    asked = asked_of(release, where, confidence)
    if asked.by:
        raise QueryError("A count is one number. For BY use `table`, or leave it out.")
    return estimator_of(release).count(asked.where, confidence)


def table(release: Release, query: Query | str, *, confidence: float = 0.95) -> pl.DataFrame:
    """A count for each combination of values of the attributes after BY, in domain order, a missing value last.

    The columns are those attributes, then `value`, `low`, `high` and `basis`.
    """
    asked = asked_of(release, query, confidence)
    infos = attributes_of(release)
    estimator = estimator_of(release)
    combinations = combinations_of(asked, infos, estimator.missing)
    estimates = [estimator.count(condition_of(asked, values), confidence) for values in combinations]
    return table_of(asked, infos, combinations, estimates)


def combinations_of(
    asked: Query, infos: Mapping[str, ColumnInfo], missing: Callable[[str], bool]
) -> list[tuple[Value | None, ...]]:
    """The combinations of values of the attributes after BY."""
    taken = [name for name in asked.by if name in RESULTS]
    if taken:
        raise QueryError(f"BY {taken[0]}: the table has a column of this name of its own. Count its values one by one.")
    domains = [_values(infos[name], missing(name)) for name in asked.by]
    combinations = prod(map(len, domains))
    if combinations > MOST:
        sizes = ", ".join(f"{name} {len(values):,}" for name, values in zip(asked.by, domains, strict=True))
        raise QueryError(
            f"BY makes {combinations:,} combinations ({sizes}), more than {MOST:,}. Name fewer attributes, or count "
            "ranges with BETWEEN."
        )
    return list(product(*domains))


def condition_of(asked: Query, values: Sequence[Value | None]) -> Condition | None:
    """What a row of a combination passes."""
    given = () if asked.where is None else (asked.where,)
    parts = (*given, *(_equal(name, value) for name, value in zip(asked.by, values, strict=True)))
    return All(parts) if parts else None


def table_of(
    asked: Query,
    infos: Mapping[str, ColumnInfo],
    combinations: Sequence[tuple[Value | None, ...]],
    estimates: Sequence[Estimate],
) -> pl.DataFrame:
    """Combinations of values, each with its count."""
    rows = [
        (*values, estimate.value, estimate.low, estimate.high, estimate.basis)
        for values, estimate in zip(combinations, estimates, strict=True)
    ]
    columns = [(name, _dtype(infos[name])) for name in asked.by]
    columns += [("value", pl.Float64()), ("low", pl.Float64()), ("high", pl.Float64()), ("basis", pl.String())]
    return pl.DataFrame([pl.Series(name, [row[i] for row in rows], kind) for i, (name, kind) in enumerate(columns)])


def crosstab(
    release: Release, *columns: str, where: Condition | Query | str | None = None, confidence: float = 0.95
) -> pl.DataFrame:
    """A count for each combination of values of some attributes, as `table` gives it."""
    if not columns or not all(isinstance(name, str) for name in columns):
        raise QueryError("Name the attributes to count by: crosstab('sex', 'disease').")
    asked = _query(where)
    if asked.by:
        raise QueryError("The condition of a crosstab has no BY. Name those attributes before it.")
    return table(release, Query(asked.where, columns), confidence=confidence)


def distribution(
    release: Release,
    attribute: str,
    where: Condition | Query | str | None = None,
    *,
    confidence: float = 0.95,
    how: Literal["unbiased", "likelihood"] = "unbiased",
) -> pl.DataFrame:
    """How often each value of an attribute occurs: itself, `value`, `low`, `high`, and `share`, its part of all.

    From sets of candidates, unbiased values may be below 0; `how="likelihood"` gives those that make the release
    likeliest instead, which are not. The intervals are the same.
    """
    counts = crosstab(release, attribute, where=where, confidence=confidence).drop("basis")
    if how not in ("unbiased", "likelihood"):
        raise QueryError(f"how is 'unbiased' or 'likelihood', not {how!r}.")
    if how == "likelihood":
        estimator = estimator_of(release)
        if not isinstance(estimator, candidates.Candidates) or attribute not in estimator.drawn:
            raise QueryError(f"{attribute!r} is not published in sets of candidates. Leave how= out.")
        asked = resolve(_query(where), release).where
        values = pl.DataFrame(
            {attribute: estimator.drawn[attribute].design.series, "value": estimator.likeliest(attribute, asked)}
        )
        counts = counts.drop("value").join(values, on=attribute, how="left", maintain_order="left")
        counts = counts.select(attribute, pl.col("value").fill_null(0.0), "low", "high")
    total = pl.col("value").sum()
    return counts.with_columns(pl.when(total > 0).then(pl.col("value") / total).otherwise(0.0).alias("share"))


def _query(where: Condition | Query | str | None) -> Query:
    if isinstance(where, str):
        return parse(where)
    return where if isinstance(where, Query) else Query(where, ())


def asked_of(release: Release, where: Condition | Query | str | None, confidence: float) -> Query:
    """A query in the release's own spelling."""
    if not 0 < confidence < 1:
        raise QueryError(f"confidence is a share between 0 and 1, such as 0.95, not {confidence}.")
    return resolve(_query(where), release)


def _values(info: ColumnInfo, missing: bool) -> list[Value | None]:
    """The values of an attribute in domain order."""
    domain = list(info.domain or ())
    if info.type == "number":
        ends = [end for end in domain if isinstance(end, int)]
        if len(ends) < len(domain):
            raise QueryError(
                f"{info.name!r} has numbers that are not whole, too many to count by each. Count ranges with BETWEEN."
            )
        domain = [*_between(ends[0], ends[-1], info.name)] if ends else []
    present = [value for value in domain if value is not None]
    return [*present, None] if missing or len(present) < len(domain) else [*present]


def _between(low: int, high: int, name: str) -> range:
    if high - low >= MOST:
        raise QueryError(
            f"{name!r} reaches from {low:,} to {high:,}, more than {MOST:,} numbers. Count ranges with BETWEEN."
        )
    return range(low, high + 1)


def _equal(name: str, value: Value | None) -> Check:
    return Check(name, "IS NULL") if value is None else Check(name, "=", (value,))


def _dtype(info: ColumnInfo) -> pl.DataType:
    return pl.Int64() if info.type == "number" else pl.String()
