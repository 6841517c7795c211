"""How well a release answers questions: random counts, their errors, and how often intervals hold the truth.

A query of the workloads has conditions on `dimensions` random quasi attributes and on the sensitive one. How many
values each condition allows follows from how selective the query should be: of an attribute of |A| values
b = ⌈|A| · s^(1 / (dimensions + 1))⌉ (Randomized Addition, eq. 20, after Anatomy), or ⌈|A| · part⌉. The queries of
Versatile Publishing are of that kind, and privilege no attribute (`secret` is None).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from operator import and_, or_
from typing import Any

import numpy as np
import polars as pl

from pluralis.errors import InputError
from pluralis.estimate import count
from pluralis.estimate.conditions import All, Check, Condition, Joined, Not, Value
from pluralis.release.attributes import attributes_of
from pluralis.release.original import original_values
from pluralis.release.release import Release

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
    secret: str | None,
    *,
    queries: int = 1_000,
    dimensions: int = 3,
    selectivity: float | None = 0.07,
    part: float | None = None,
    seed: int = 0,
) -> list[Condition]:
    """Random queries on `secret`, if there is one, and `dimensions` of the others, whose different values are given.

    >>> for query in workload({"sex": ["f", "m"], "job": ["a", "b", "c"]}, "job", queries=2, dimensions=1):
    ...     print(query)
    sex IN ('m') AND job IN ('b')
    sex IN ('m') AND job IN ('a')
    >>> print(workload({"sex": ["f", "m"], "job": ["a", "b", "c"]}, None, queries=1, dimensions=2, part=0.5)[0])
    sex IN ('m') AND job IN ('a', 'c')
    """
    others = [name for name in values if name != secret]
    if not 1 <= dimensions <= len(others):
        kind = "attributes" if secret is None else "quasi attributes"
        raise InputError(f"A query can ask about 1 to {len(others)} {kind} here, not {dimensions}.")
    share = part if part is not None else (selectivity or 1.0) ** (1 / (dimensions + (secret is not None)))
    if not 0 < share <= 1:
        raise InputError("The selectivity of queries, or the part of values they name, lies between 0 and 1.")
    rng = np.random.default_rng(seed)
    asked: list[Condition] = []
    for _ in range(queries):
        names = rng.choice(others, dimensions, replace=False).tolist() + ([] if secret is None else [secret])
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
    release: Release, original: pl.DataFrame, queries: Iterable[Condition], *, confidence: float = 0.95
) -> Answers:
    """Ask a release, and compare with the original, which must be the whole of it: rows left out count as errors."""
    infos = attributes_of(release)
    asked = list(queries)
    named = dict.fromkeys(name for query in asked for name in query.attributes)
    true = pl.DataFrame({name: original_values(original, infos[name], release.manifest) for name in named})
    truths = true.select(expression(query).sum().alias(str(i)) for i, query in enumerate(asked)).row(0) if asked else ()
    errors, inside, bases = [], [], dict[str, int]()
    for query, truth in zip(asked, truths, strict=True):
        found = count(release, query, confidence=confidence)
        bases[found.basis] = bases.get(found.basis, 0) + 1
        inside.append(found.low - 1e-9 <= truth <= found.high + 1e-9)
        if truth:
            errors.append(abs(found.value - truth) / truth)
    if not errors:
        raise InputError("No row of the original passes any of the queries. Ask less selective ones.")
    mean, median = float(np.mean(errors)), float(np.median(errors))
    return Answers(len(asked), mean, median, float(np.mean(inside)), confidence, bases)


def answers_of(
    release: Release, original: pl.DataFrame, *, queries: int, dimensions: int = 3, selectivity: float = 0.07
) -> dict[str, Answers]:
    """How a release answers random queries on each of its sensitive attributes.

    The others in a query are quasi and plain attributes; where rules say what is protected from what, all others.
    """
    infos = attributes_of(release)
    secrets = sorted(release.manifest.parameters.get("l", {}))
    if not secrets:
        raise InputError("The release has no sensitive attribute to ask about.")
    found = {}
    for secret in secrets:
        roles = ("quasi", "plain", "sensitive") if release.kind == "multi" else ("quasi", "plain")
        names = [name for name, info in infos.items() if info.role in roles or name == secret]
        true = {name: original_values(original, infos[name], release.manifest) for name in names}
        values = {name: column.drop_nulls().unique().sort().to_list() for name, column in true.items()}
        asked = workload(
            {name: some for name, some in values.items() if some},
            secret,
            queries=queries,
            dimensions=min(dimensions, len(values) - 1),
            selectivity=selectivity,
        )
        found[secret] = answers(release, original, asked)
    return found


def expression(condition: Condition) -> pl.Expr:
    """A condition on the values themselves; a missing value passes IS NULL, and no other check nor its opposite.

    >>> frame = pl.DataFrame({"age": [20, 30, None]})
    >>> frame.select(expression(Not(Check("age", ">", (25,))))).to_series().to_list()
    [True, False, False]
    """
    return _known(condition).fill_null(False)


def _known(condition: Condition) -> pl.Expr:
    """Whether it is true or false; null where it hangs on a missing value."""
    if isinstance(condition, Check):
        column, values = pl.col(condition.attribute), condition.values
        if condition.comparison == "IS NULL":
            return column.is_null()
        if condition.comparison == "IN":
            return column.is_in(list(values))
        if condition.comparison == "BETWEEN":
            return column.is_between(values[0], values[1])
        return _COMPARED[condition.comparison](column, pl.lit(values[0]))
    if isinstance(condition, Not):
        return ~_known(condition.part)
    assert isinstance(condition, Joined)
    parts = [_known(part) for part in condition.parts]
    return reduce(and_ if isinstance(condition, All) else or_, parts)


_COMPARED = {
    "=": pl.Expr.eq,
    "!=": pl.Expr.ne,
    "<": pl.Expr.lt,
    "<=": pl.Expr.le,
    ">": pl.Expr.gt,
    ">=": pl.Expr.ge,
}
