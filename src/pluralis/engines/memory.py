"""Planning a table in memory: whole, or in shards on all cores.

A table that is small, a policy with promises that compare groups with the whole table (`gain`, `t`), and a method that
does not say how its tables may be cut are planned whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pluralis.engines.shards import SHARD, Way, blocks_of, number_of_shards, row_words, sampled, shard_of
from pluralis.errors import Infeasible
from pluralis.grouping.caps import require_bounds_among_suppressed
from pluralis.grouping.eligibility import require_allowance, require_eligible
from pluralis.grouping.plan import SUPPRESSED, Plan
from pluralis.grouping.points import space_of
from pluralis.kernels.place import losses_of
from pluralis.method.base import Method
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.randomness import Draw
from pluralis.table.encoding import Table
from pluralis.threads import in_threads

Rows = npt.NDArray[np.int64]

TRIED = 60_000  # rows on which both ways to cut are tried, in TRIED_IN shards each
TRIED_IN = 4
LARGEST = 2.5  # times the rows of a shard that a block may have: two shards that were joined, not three


def plan_of(method: Method, table: Table, policy: Policy, draw: Draw, *, most: int = SHARD) -> Plan:
    """The plan of a table: in shards of about `most` rows where it has more and the method allows it.

    Values that are bounded one by one keep their bounds among its suppressed rows, too, or it is refused.

    Theorem: a plan in shards is the plans of its blocks side by side. No group has rows of two blocks, and every block
    is planned as a table of its own; so what a method keeps in every group of a table, it keeps in every group here.
    """
    plan = _plan_of(method, table, policy, draw, most)
    require_bounds_among_suppressed(table, policy, plan.group_of)
    return plan


def _plan_of(method: Method, table: Table, policy: Policy, draw: Draw, most: int) -> Plan:
    shards = number_of_shards(table.rows, most)
    if shards == 1 or not method.ways or method.variant == "paper" or _compares_with_the_whole(policy):
        return method.plan(table, policy, draw)
    kept = require_eligible(table, policy, draw)  # what is too common is too common in the whole table
    part = rows_of(table, kept)
    block_of = better_blocks(method, part, policy, draw, shards)
    plan = _of_blocks(method, part, policy, draw, block_of)
    whole = np.full(table.rows, SUPPRESSED, np.int64)
    whole[kept] = plan.group_of
    plan = replace(plan, group_of=whole)
    require_allowance(plan.suppressed, table.rows, policy)
    return plan


def rows_of(table: Table, rows: Rows) -> Table:
    """Some rows of a table, in their order, as a table of its own with the same domains."""
    columns = {name: replace(column, codes=column.codes[rows]) for name, column in table.columns.items()}
    person = None if table.person is None else table.person[rows]
    return replace(table, columns=columns, rows=rows.size, person=person)


def better_blocks(method: Method, table: Table, policy: Policy, draw: Draw, shards: int) -> Rows:
    """The block of every row, by the better way to cut the table.

    Where a way makes a block of three shards or more, one that does not is taken: time would grow faster than the
    table, and a value that only just fits in a block costs more than near rows save, which a sample does not show. Of
    ways that are left, it is the one by which the rows of a sample lose less.
    """
    blocks = {way: blocks_of(table, policy, shard_of(table, draw, way, shards), shards) for way in method.ways}
    most = LARGEST * table.rows / shards
    even = [way for way in method.ways if np.bincount(blocks[way]).max() <= most] or list(method.ways)
    return blocks[even[0] if len(even) == 1 else better_way(method, even, table, policy, draw)]


def better_way(method: Method, ways: Sequence[Way], table: Table, policy: Policy, draw: Draw) -> Way:
    """The way to cut by which the rows of a keyed sample lose less; the first one where both lose as much."""
    small = rows_of(table, sampled(row_words(table, draw), TRIED))
    losses: dict[Way, float] = {}
    with stage("comparing ways to cut"):
        for way in ways:
            block_of = blocks_of(small, policy, shard_of(small, draw.for_part("trial"), way, TRIED_IN), TRIED_IN)
            try:
                plan = _of_blocks(method, small, policy, draw.for_part("trial"), block_of)
            except Infeasible:
                continue
            losses[way] = _loss(small, plan)
    return min(losses, key=losses.__getitem__) if losses else ways[0]


def _of_blocks(method: Method, table: Table, policy: Policy, draw: Draw, block_of: Rows) -> Plan:
    """The plans of blocks, made on all cores. Where a block cannot be planned, the whole table is planned at once."""
    order = np.argsort(block_of, kind="stable")
    blocks = np.split(order, np.cumsum(np.bincount(block_of))[:-1])

    with stage(f"forming groups in {len(blocks):,} shards") as done:
        finished: list[int] = []

        def planned(block: int) -> Plan:
            plan = method.plan(rows_of(table, blocks[block]), policy, draw.for_part(f"block {block}"))
            finished.append(block)
            done(len(finished) / len(blocks))
            return plan

        try:
            plans = in_threads(planned, range(len(blocks)), table.rows)
        except Infeasible:
            return method.plan(table, policy, draw)
    return _side_by_side(table.rows, blocks, plans)


def _side_by_side(rows: int, blocks: Sequence[Rows], plans: Sequence[Plan]) -> Plan:
    """The plans of some rows each as one of all rows."""
    group_of = np.full(rows, SUPPRESSED, np.int64)
    groups = 0
    for own, plan in zip(blocks, plans, strict=True):
        group_of[own] = np.where(plan.group_of == SUPPRESSED, SUPPRESSED, plan.group_of + groups)
        groups += plan.groups
    breaks = tuple(dict.fromkeys(sentence for plan in plans for sentence in plan.breaks))
    notes = tuple(dict.fromkeys(sentence for plan in plans for sentence in plan.notes))
    return replace(plans[0], group_of=group_of, breaks=breaks, notes=notes)


def _loss(table: Table, plan: Plan) -> float:
    """What rows lose on average by being generalized in their groups; a suppressed row loses all."""
    kept = np.flatnonzero(plan.group_of != SUPPRESSED)
    members = kept[np.argsort(plan.group_of[kept], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(plan.group_of[kept]))])
    space = space_of(table.quasi, np.arange(table.rows))
    lost = float(losses_of(space, starts, members).sum())
    return (lost + plan.suppressed * sum(column.weight for column in table.quasi)) / table.rows


def _compares_with_the_whole(policy: Policy) -> bool:
    """Whether something is promised of groups beside the shares of the whole table."""
    return any(policy.columns[name].gain is not None or policy.columns[name].t is not None for name in policy.sensitive)
