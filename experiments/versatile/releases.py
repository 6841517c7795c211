"""A method run on a table under a set of rules: its plan, how long that took, and what its release is worth."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from experiments.reproduce.paper import Point
from experiments.versatile.tables import policy_for
from pluralis import Key, Policy
from pluralis.assembling.assembly import assemble
from pluralis.estimate.conditions import All, Condition
from pluralis.grouping.plan import SUPPRESSED, MultiPlan, Plan
from pluralis.grouping.subtable_divergence import Groups, Likelihood
from pluralis.grouping.subtable_schema import Subtable
from pluralis.method import method_for
from pluralis.metrics.workloads import expression
from pluralis.policy.rules import Rule
from pluralis.randomness import Draw
from pluralis.release.release import Release
from pluralis.table.encoding import Table, encode

GD, UAD, MULTI, MULTI_PAPER, SINGLE = "gd", "uad", "multi-sa", "multi-sa, paper", "single-attribute"
METHODS = (GD, UAD, MULTI, MULTI_PAPER, SINGLE)


class Planned(NamedTuple):
    """What a method decided, and the seconds of its `plan` alone."""

    plan: Plan
    seconds: float
    coded: Table
    policy: Policy

    def release(self) -> Release:
        return assemble(self.plan, self.coded, self.policy, method_for(self.policy), Draw(Key.test()))


_warm: set[tuple[str, int, bool]] = set()  # methods and kinds of tables that were planned for already


def planned(table: pl.DataFrame, rules: Sequence[Rule], method: str) -> Planned:
    """A plan, timed once kernels are compiled: the first of its kind is made twice."""
    policy = policy_for(table, rules, method)
    coded = encode(table, policy)
    kind = (method, len(coded.columns), len(rules) > 1)
    if kind not in _warm:
        method_for(policy).plan(coded, policy, Draw(Key.test()))
        _warm.add(kind)
    start = time.perf_counter()
    plan = method_for(policy).plan(coded, policy, Draw(Key.test()))
    return Planned(plan, time.perf_counter() - start, coded, policy)


def schema_of(plan: Plan, policy: Policy) -> str:
    """What makes two releases of a table equal for one l: which columns stand together, or what is protected."""
    if not isinstance(plan, MultiPlan):
        return ", ".join(sorted(policy.sensitive))
    tables = (" ".join(f"{c.name}:{c.role}" for c in part.table.columns.values()) for part in plan.subplans)
    return " | ".join(sorted(tables))


def digest(text: str) -> str:
    """A short name for a long text."""
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


def whole(point: Point, name: str) -> int:
    value = point[name]
    assert isinstance(value, int)
    return value


def text(point: Point, name: str) -> str:
    value = point[name]
    assert isinstance(value, str)
    return value


# multi-SA's suppressed rows ------------------------------------------------------------------------------------------


def with_suppressed(
    plan: Plan, coded: Table, original: pl.DataFrame, asked: Sequence[Condition]
) -> tuple[float, float]:
    """KL divergence and mean error if suppressed rows are published without their sensitive values, as the paper does.

    Whoever reads them can only take every combination of values to be as likely as any other.
    """
    sensitive, quasi = coded.sensitive, [column for column in coded.columns.values() if column.role != "sensitive"]
    joint = np.zeros(coded.rows, np.int64)
    for column in sensitive:
        joint = joint * column.size + column.codes
    size = math.prod(column.size for column in sensitive)
    kept = plan.group_of != SUPPRESSED
    groups = Groups.from_rows(plan.group_of[kept], joint[kept].astype(np.int32), size)
    groups = Groups(
        np.where(kept, plan.group_of, plan.groups),
        np.append(groups.starts, groups.values.size + size),
        np.append(groups.values, np.arange(size)),
        np.append(groups.shares, np.full(size, 1 / size)),
    )
    columns = [(column.codes, column.size) for column in quasi] + [(joint.astype(np.int32), size)]
    bit = 1 << len(quasi)
    kl = Likelihood(columns, {bit: groups}).kl([Subtable(2 * bit - 1, bit)])
    assert kl is not None
    rows = pl.DataFrame({column.name: column.published(np.arange(coded.rows)) for column in quasi})
    grid = np.unravel_index(np.arange(size), [column.size for column in sensitive])
    shown = zip(sensitive, grid, strict=True)
    cells = pl.DataFrame({column.name: column.series.gather(codes) for column, codes in shown})
    errors = []
    for query in asked:
        true = int(original.select(expression(query).sum()).item())
        inside = _passing(rows, query) @ _share_of_groups(groups, _passing(cells, query))[groups.of_row]
        if true:
            errors.append(abs(inside - true) / true)
    return kl, float(np.mean(errors))


def _passing(rows: pl.DataFrame, query: Condition) -> npt.NDArray[np.float64]:
    """1.0 for rows that pass what a query asks of their columns."""
    assert isinstance(query, All)
    checks = [expression(part) for part in query.parts if set(part.attributes) <= set(rows.columns)]
    passing = rows.select(pl.all_horizontal(*checks)) if checks else pl.DataFrame({"all": [True] * rows.height})
    return passing.to_series().cast(pl.Float64).to_numpy()


def _share_of_groups(groups: Groups, passing: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The share of each group's values that pass."""
    shares: npt.NDArray[np.float64] = np.add.reduceat(groups.shares * passing[groups.values], groups.starts[:-1])
    return shares
