"""`sliced`: generalized quasi-identifiers in one table, with a group for each slice of the sensitive columns.

`quasi` holds the quasi-identifiers, the plain ones and `group_1`, `group_2`, …; `slice_1`, `slice_2`, … hold `group`,
the sensitive columns of the slice and `count`, or, unlinked, `group`, `attribute`, `value`, `count`. A row without a
group in a slice (the SLOMS paper's "NA") has an empty cell there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from pluralis.assembling.columns import (
    Kept,
    Part,
    Rows,
    asked_of_groups,
    column_info,
    common_breaks,
    in_order,
    large_groups,
    linked_counts,
    numbered_rows,
    promised,
    unlinked_counts,
)
from pluralis.grouping.generalization import Grouped, PendingColumn, quasi_labels
from pluralis.grouping.plan import SUPPRESSED, SlicedPlan
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.release.form import EXACT, LINKED
from pluralis.release.manifest import Claim, ColumnInfo
from pluralis.table.encoding import Table

_IDS = "group ids {}"  # what the numbers of a slice's groups are drawn for


def tables(plan: SlicedPlan, table: Table, policy: Policy, draw: Draw) -> list[Part]:
    return [_quasi(plan, table, policy, draw), *_slices(plan, table, policy, draw)]


def _quasi(plan: SlicedPlan, table: Table, policy: Policy, draw: Draw) -> Part:
    rows = np.flatnonzero(plan.group_of != SUPPRESSED)
    infos = [column_info(column, rows, policy) for column in (*table.quasi, *table.named("plain"))]
    infos += [ColumnInfo(name=f"group_{i}", role="group", type="number") for i in range(1, len(plan.slices) + 1)]
    del rows  # before more of the same size is made
    return Part("quasi", tuple(infos), in_order(_cells(plan, table, draw)))


def _cells(plan: SlicedPlan, table: Table, draw: Draw) -> dict[str, PendingColumn]:
    published = Grouped.from_plan(plan)
    groups: dict[str, PendingColumn] = {}
    for i, slice in enumerate(plan.slices, 1):
        groups[f"group_{i}"] = _numbers(numbered_rows(slice.group_of, draw, _IDS.format(i)), published.rows, table.rows)
    plain = {column.name: PendingColumn.from_column(column, published.rows) for column in table.named("plain")}
    return {**quasi_labels(table, published), **plain, **groups}


def _numbers(kept: Kept, rows: Rows, size: int) -> PendingColumn:
    """The group of each of these rows in a slice, if it has one there."""
    number = np.zeros(size, np.int32)
    number[kept.rows] = kept.number
    numbers = pl.Series(np.arange(kept.number.max(initial=0) + 1, dtype=np.int32)).replace(0, None)  # 0 is no group
    return PendingColumn(numbers, number[rows])


def _slices(plan: SlicedPlan, table: Table, policy: Policy, draw: Draw) -> Iterator[Part]:
    for i, slice in enumerate(plan.slices, 1):
        name, sensitive = f"slice_{i}", [table[name] for name in slice.attributes]
        if slice.linked:
            yield linked_counts(name, sensitive, policy, numbered_rows(slice.group_of, draw, _IDS.format(i)))
        else:
            yield unlinked_counts(name, sensitive, numbered_rows(slice.group_of, draw, _IDS.format(i)))


def parameters(plan: SlicedPlan, policy: Policy) -> dict[str, object]:
    return asked_of_groups(policy)


def claims(plan: SlicedPlan, policy: Policy) -> Iterator[Claim]:
    yield from large_groups(policy, "sliced")
    yield from promised(policy, "sliced")


def breaks(plan: SlicedPlan, table: Table) -> Iterator[str]:
    yield from common_breaks(plan, table)
    if _as_they_are(plan, table):
        yield EXACT
    if any(slice.linked and len(slice.attributes) > 1 for slice in plan.slices):
        yield LINKED
    if len(plan.slices) > 1:
        yield (
            "correlation: slices keep 1/l each; whoever knows how attributes of two slices go together may learn more"
        )


def _as_they_are(plan: SlicedPlan, table: Table) -> bool:
    """Whether no quasi-identifier is generalized: rows that look alike are alike."""
    rows = np.flatnonzero(plan.group_of != SUPPRESSED)
    _, first, alike = np.unique(plan.group_of[rows], return_index=True, return_inverse=True)
    return all(bool((column.codes[rows] == column.codes[rows][first][alike]).all()) for column in table.quasi)
