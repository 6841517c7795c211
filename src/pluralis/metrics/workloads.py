"""How well a release answers questions: random counts, their errors, and how often intervals hold the truth.

A query of the workloads has conditions on `dimensions` random quasi-identifiers and on the sensitive one. How many
values each condition allows follows from how selective the query should be: of an attribute of |A| values
b = ⌈|A| · s^(1 / (dimensions + 1))⌉ (Randomized Addition, eq. 20, after Anatomy), or ⌈|A| · part⌉. The queries of
Versatile Publishing are of that kind, and privilege no attribute (`sensitive` is None).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from operator import and_, or_
from typing import Any

import numpy as np
import polars as pl

from pluralis.errors import InputError
from pluralis.estimate import count, estimator_of
from pluralis.estimate.conditions import All, Check, Condition, Joined, Not, Value
from pluralis.estimate.language import Query, resolve
from pluralis.estimate.result import Estimate
from pluralis.release.attributes import attributes_of
from pluralis.release.manifest import ColumnInfo
from pluralis.release.original import original_values
from pluralis.release.release import Release

CONFIDENCE = 0.95  # of the intervals of answers

Numbers = np.ndarray[Any, np.dtype[np.float64]]


def squared_error(true: Numbers, estimated: Numbers) -> float:
    """MSE of a distribution (eq. 2): the mean over values of the squared difference of shares. Both are counts.

    >>> round(squared_error(np.array([5.0, 5.0]), np.array([6.0, 4.0])), 6)
    0.01
    """
    rows = true.sum()
    return float((((true - estimated) / rows) ** 2).mean()) if rows else 0.0


def expected_squared_error(m: int, l: int, rows: int) -> float:
    """What eq. 2 is on average for uniform addition, given the table: whatever its distribution is.

    >>> expected_squared_error(20, 1, 1_000), round(expected_squared_error(20, 5, 1_000), 8)
    (0.0, 0.00025333)
    """
    return (l - 1) * (m - 1) / (rows * m * (m - l))


def papers_squared_error(m: int, l: int, rows: int) -> float:
    """Eq. 19 of the paper, which counts the sampling of the table from a population too: not 0 where l is 1.

    >>> round(papers_squared_error(20, 1, 1_000), 8)
    4.75e-05
    """
    return l * (m - 1) ** 2 / (rows * (m - l) * m**2)


def workload(
    values: Mapping[str, Sequence[Value]],
    sensitive: str | None,
    *,
    queries: int = 1_000,
    dimensions: int = 3,
    selectivity: float | None = 0.07,
    part: float | None = None,
    seed: int = 0,
) -> list[Condition]:
    """Random queries on `sensitive`, if there is one, and `dimensions` of the others, whose different values are given.

    >>> for query in workload({"sex": ["f", "m"], "job": ["a", "b", "c"]}, "job", queries=2, dimensions=1):
    ...     print(query)
    sex IN ('m') AND job IN ('b')
    sex IN ('m') AND job IN ('a')
    >>> print(workload({"sex": ["f", "m"], "job": ["a", "b", "c"]}, None, queries=1, dimensions=2, part=0.5)[0])
    sex IN ('m') AND job IN ('a', 'c')
    """
    others = [name for name in values if name != sensitive]
    if not 1 <= dimensions <= len(others):
        kind = "attributes" if sensitive is None else "quasi-identifiers"
        raise InputError(f"A query can ask about 1 to {len(others)} {kind} here, not {dimensions}.")
    share = part if part is not None else (selectivity or 1.0) ** (1 / (dimensions + (sensitive is not None)))
    if not 0 < share <= 1:
        raise InputError("The selectivity of queries, or the part of values they name, lies between 0 and 1.")
    rng = np.random.default_rng(seed)
    asked: list[Condition] = []
    for _ in range(queries):
        names = rng.choice(others, dimensions, replace=False).tolist() + ([] if sensitive is None else [sensitive])
        asked.append(All(tuple(Check(name, "IN", _some(values[name], share, rng)) for name in names)))
    return asked


def _some(values: Sequence[Value], share: float, rng: np.random.Generator) -> tuple[Value, ...]:
    number = min(len(values), math.ceil(len(values) * share))
    return tuple(values[i] for i in sorted(rng.choice(len(values), number, replace=False).tolist()))


@dataclass(frozen=True)
class Answers:
    """How a release answered a workload. Errors are relative to the true count, over queries that somebody passes."""

    queries: int
    mean_error: float
    median_error: float
    coverage: float  # the share of intervals that hold the true count
    confidence: float
    bases: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def answers(
    release: Release, original: pl.DataFrame, queries: Iterable[Condition], *, confidence: float = CONFIDENCE
) -> Answers:
    """Ask a release, and compare with the original, which must be the whole of it: suppressed rows count as errors."""
    asked = [resolved(query, release) for query in queries]
    return answers_from([*counted(release, original, asked, confidence)], confidence)


def counted(
    release: Release, original: pl.DataFrame, asked: Sequence[Condition], confidence: float = CONFIDENCE
) -> Iterator[tuple[Estimate, int]]:
    """What a release answers to conditions in its own spelling, and the true counts."""
    infos = attributes_of(release)
    for check in (check for query in asked for check in query.checks):
        if infos[check.attribute].ordered and any(not isinstance(value, str) for value in check.values):
            raise InputError(
                f"{check}: the original's {check.attribute!r} is known in bands, so nobody can tell the true count. "
                "Ask about the bands."
            )
    named = dict.fromkeys(name for query in asked for name in query.attributes)
    true = pl.DataFrame({name: original_values(original, infos[name], release.manifest) for name in named})
    truths = true.select(expression(query).sum().alias(str(i)) for i, query in enumerate(asked)).row(0) if asked else ()
    estimator = estimator_of(release)
    for query, truth in zip(asked, truths, strict=True):
        yield estimator.count(query, confidence), truth


def answers_from(counts: Sequence[tuple[Estimate, int]], confidence: float) -> Answers:
    """How good these answers are, beside the true counts."""
    errors, inside, bases = [], [], dict[str, int]()
    for estimate, truth in counts:
        bases[estimate.basis] = bases.get(estimate.basis, 0) + 1
        inside.append(estimate.low - 1e-9 <= truth <= estimate.high + 1e-9)
        if truth:
            errors.append(abs(estimate.value - truth) / truth)
    if not errors:
        raise InputError("No row of the original passes any of the queries. Ask less selective ones.")
    mean, median = float(np.mean(errors)), float(np.median(errors))
    return Answers(len(counts), mean, median, float(np.mean(inside)), confidence, bases)


def association_error(
    release: Release, original: pl.DataFrame, pairs: Iterable[tuple[str, str]], *, queries: int, selectivity: float
) -> float:
    """How far counts of two attributes together are off, in proportion to the true ones; the mean over pairs.

    Errors are summed before they are divided, so that pairs of values that hardly anybody has count for little.
    """
    infos, errors = attributes_of(release), []
    for pair in pairs:
        true = pl.DataFrame({name: original_values(original, infos[name], release.manifest) for name in pair})
        values = {name: true[name].drop_nulls().unique().sort().to_list() for name in pair}
        if not all(values.values()):
            continue
        asked = workload(values, pair[1], queries=queries, dimensions=1, selectivity=selectivity)
        truths = true.select(expression(query).sum().alias(str(i)) for i, query in enumerate(asked)).row(0)
        off = [abs(count(release, query).value - truth) for query, truth in zip(asked, truths, strict=True)]
        if total := sum(truths):
            errors.append(sum(off) / total)
    return float(np.mean(errors)) if errors else 0.0


def resolved(query: Condition, release: Release) -> Condition:
    """A query in the release's own spelling, ordered values as lists of those that are asked about."""
    where = resolve(Query(query), release).where
    assert where is not None
    return where


def answers_of(
    release: Release, original: pl.DataFrame, *, queries: int, dimensions: int = 3, selectivity: float = 0.07
) -> dict[str, Answers]:
    """How a release answers random queries on each of its sensitive attributes."""
    asked = queries_on(release, values_in(release, original), queries, dimensions, selectivity)
    return {name: answers(release, original, own) for name, own in asked.items()}


def values_in(release: Release, original: pl.DataFrame) -> dict[str, list[Value]]:
    """The different values of the attributes that random queries ask about, as the original has them, in order."""
    infos = attributes_of(release)
    names = [name for name in infos if _asked_about(name, infos[name], release)]
    true = {name: original_values(original, infos[name], release.manifest) for name in names}
    return {name: column.drop_nulls().unique().sort().to_list() for name, column in true.items()}


def queries_on(
    release: Release, values: Mapping[str, Sequence[Value]], queries: int, dimensions: int, selectivity: float
) -> dict[str, list[Condition]]:
    """Random queries on each sensitive attribute of a release.

    The others in a query are quasi-identifiers and plain attributes; where rules say what is protected from what, all
    others.
    """
    infos, protected = attributes_of(release), sorted(release.manifest.parameters.l)
    if not protected:
        raise InputError("The release has no sensitive attribute to ask about.")
    beside = [name for name, info in infos.items() if info.role in _roles(release)]
    asked = {}
    for attribute in protected:
        own = {name: values[name] for name in infos if name == attribute or name in beside}
        some = {name: few for name, few in own.items() if few}
        most = min(dimensions, len(own) - 1)
        asked[attribute] = workload(some, attribute, queries=queries, dimensions=most, selectivity=selectivity)
    return asked


def _roles(release: Release) -> tuple[str, ...]:
    return ("quasi", "plain", "sensitive") if release.traits.has_subtables else ("quasi", "plain")


def _asked_about(name: str, info: ColumnInfo, release: Release) -> bool:
    return info.role in _roles(release) or name in release.manifest.parameters.l


def expression(condition: Condition) -> pl.Expr:
    """A condition on the values themselves; a missing value passes IS NULL, and no other check nor its opposite.

    >>> frame = pl.DataFrame({"age": [20, 30, None]})
    >>> frame.select(expression(Not(Check("age", ">", (25,))))).to_series().to_list()
    [True, False, False]
    >>> frame.select(expression(Check("age", "IN", (20, 29.5)))).to_series().to_list()
    [True, False, False]
    >>> large = pl.DataFrame({"id": [2**53, 2**53 + 1]})
    >>> large.select(expression(Check("id", "IN", (1, 2**53 + 1)))).to_series().to_list()
    [False, True]
    """
    return _known(condition).fill_null(False)


def _known(condition: Condition) -> pl.Expr:
    """Whether it is true or false; null where it hangs on a missing value."""
    if isinstance(condition, Check):
        column, values = pl.col(condition.attribute), condition.values
        if condition.comparison == "IS NULL":
            return column.is_null()
        if condition.comparison == "IN":
            return _one_of(column, values)
        if condition.comparison == "BETWEEN":
            return column.is_between(values[0], values[1])
        return _COMPARED[condition.comparison](column, pl.lit(values[0]))
    if isinstance(condition, Not):
        return ~_known(condition.part)
    assert isinstance(condition, Joined)
    parts = [_known(part) for part in condition.parts]
    return reduce(and_ if isinstance(condition, All) else or_, parts)


def _one_of(column: pl.Expr, values: Sequence[Value]) -> pl.Expr:
    """Whether a column holds one of the values: in one look-up each of texts and of numbers, however many there are."""
    texts = [value for value in values if isinstance(value, str)]
    exact = [float(value) for value in values if not isinstance(value, str) and abs(value) < _WHOLE]
    large = [value for value in values if not isinstance(value, str) and not abs(value) < _WHOLE]
    parts = [column.is_in(texts)] if texts else []
    parts += [column.cast(pl.Float64).is_in(exact)] if exact else []
    parts += [column.eq(pl.lit(value)) for value in large]
    return reduce(or_, parts) if parts else column != column


_WHOLE = 2**53  # below it every whole number is a Float64 of its own
_COMPARED = {
    "=": pl.Expr.eq,
    "!=": pl.Expr.ne,
    "<": pl.Expr.lt,
    "<=": pl.Expr.le,
    ">": pl.Expr.gt,
    ">=": pl.Expr.ge,
}
