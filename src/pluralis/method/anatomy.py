"""Anatomy: groups of l rows with l different sensitive values; quasi-identifiers stay as they are.

Paper      Xiao, Tao: Anatomy: Simple and Effective Privacy Preservation. VLDB 2006. Figure 3.
Words      bucket = rows that share a sensitive value; residual = rows left when fewer than l buckets remain.
Departs    equally full buckets give in domain order, so that the whole schedule follows from the histogram. A
           residual row goes to a group that took none before, where there is one. Rows of one person are kept apart.
           Both variants are the same.

Theorem (n1/n <= 1/l): there are ⌊n/l⌋ groups; each holds l or more rows, all of different sensitive value, so no value
fills more than 1/l of a group. Which row of a bucket meets which is uniform, so knowing the method adds nothing.
With `at_most` or `gain` the buckets are pseudo-values, dealt in drawn order (grouping/caps.py): rows that share a value
stay exchangeable, so that this holds as before.
Where people must be kept apart some groups may be merged; then count x l <= size still holds in each.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from pluralis.errors import Infeasible
from pluralis.grouping.caps import reduced
from pluralis.grouping.eligibility import (
    refuse_k,
    refuse_small_c,
    require_allowance,
    require_eligible,
    require_sensitive,
    the_only,
)
from pluralis.grouping.incorporation import merge_until_diverse
from pluralis.grouping.plan import SUPPRESSED, BucketizedPlan, Plan, numbered
from pluralis.grouping.requirements import require_bounds
from pluralis.kernels.anatomy import deal, place_drawn
from pluralis.kernels.exchange import FEWER, Alike, keep_apart
from pluralis.kernels.order import stable_order
from pluralis.kernels.schedule import max_l_schedule
from pluralis.kernels.select import Rules
from pluralis.method.base import CORRELATION, Method
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.randomness import Draw
from pluralis.table.encoding import Column, Table

Rows = npt.NDArray[np.int64]
MERGES = 100  # rows that may be brought in by merging whole groups; each takes a pass over the table


class Anatomy(Method):
    """Bucketize, deal, place what is left."""

    name: ClassVar[str] = "anatomy"
    title: ClassVar[str] = "groups of l different sensitive values, quasi-identifiers as they are in their own table"
    paper: ClassVar[str] = "Xiao and Tao, VLDB 2006"
    kind: ClassVar[str] = "bucketized"
    guarantee: ClassVar[str] = "In every group each sensitive value fills at most 1/l of the rows."
    breaks: ClassVar[tuple[str, ...]] = (CORRELATION,)
    bounds: ClassVar[tuple[str, ...]] = ("at_most", "gain")

    def plan(self, table: Table, policy: Policy, draw: Draw) -> Plan:
        require_sensitive(table, self.name)
        refuse_k(policy, self.name)
        column = the_only(table, self.name, "decomposition, msb or sloms")
        refuse_small_c(column, policy, self.name)
        part = reduced(table, policy, draw)
        column, l = part.table[column.name], part.policy.l(column.name)
        kept = require_eligible(part.table, part.policy, draw)
        with stage("forming groups"):
            order = kept[draw.permutation(kept.size, "rows")]
            codes = column.codes[order]
            alike = _buckets(codes, column.size)
            group_of = _dealt(alike, l, draw)
            if part.table.person is not None:
                group_of = _apart(part.table.person[order], alike, group_of, l)
        if policy.columns[column.name].model == "unique-distinct":
            _require_exact(group_of, l, column)
        whole = np.full(table.rows, SUPPRESSED, np.int64)
        whole[part.rows[order]] = group_of
        plan = BucketizedPlan(whole)
        require_allowance(plan.suppressed, table.rows, policy, FEWER)
        require_bounds(table, policy, plan.group_of)
        return plan


def _buckets(codes: npt.NDArray[np.int32], size: int) -> Alike:
    """Rows by sensitive value, each bucket in drawn order."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=size))]).astype(np.int64)
    return Alike(stable_order(codes, size), codes, starts, np.arange(size), np.arange(size + 1))


def _dealt(alike: Alike, l: int, draw: Draw) -> Rows:
    """The group of every row: as the schedule says, and residual rows where their value is not yet."""
    sizes = np.diff(alike.starts)
    schedule = max_l_schedule(sizes, l)
    group_of = np.full(alike.rows.size, SUPPRESSED, np.int64)
    taken = deal(schedule, alike.rows, alike.starts, group_of)
    residual = np.flatnonzero(taken < sizes)  # one row of each, for no bucket holds more than 1/l
    words = draw.words(residual.size, "residual rows")
    sizes_of_groups = np.full(schedule.shape[0], l, np.int64)
    holds = np.zeros(schedule.shape[0], np.bool_)
    for bucket, word in zip(residual, words, strict=True):
        bucket_rows = alike.rows[alike.starts[bucket] : alike.starts[bucket + 1]]
        place_drawn(bucket_rows, word, group_of, sizes_of_groups, l, holds)
    return group_of


def _apart(person: npt.NDArray[np.int32], alike: Alike, group_of: Rows, l: int) -> Rows:
    """The same with nobody twice in a group; what finds no place alone is brought in by merging groups."""
    group_of = _without_gaps(keep_apart(person, alike, group_of, l))
    unplaced = np.flatnonzero(group_of == SUPPRESSED)
    if not unplaced.size:
        return group_of
    rules = Rules(alike.kind_of[None, :], np.ones(1, np.int64), person, np.full(1, -1, np.int64))
    merged, _ = merge_until_diverse(numbered(group_of), unplaced[:MERGES], rules, np.array([l]))
    return numbered(merged)


def _without_gaps(group_of: Rows) -> Rows:
    """The same groups in the same order, without the numbers of those that keeping people apart has emptied."""
    kept = group_of != SUPPRESSED
    numbers = np.cumsum(np.bincount(group_of[kept]) > 0) - 1
    compact = group_of.copy()
    compact[kept] = numbers[group_of[kept]]
    return compact


def _require_exact(group_of: Rows, l: int, column: Column) -> None:
    largest = int(np.bincount(group_of[group_of != SUPPRESSED]).max(initial=0))
    if largest > l + 1:
        raise Infeasible(
            f"{column.name!r} asks for exactly {l} values, and a group of {largest} rows cannot be avoided. Use model: "
            "distinct or frequency."
        )


METHOD = Anatomy
