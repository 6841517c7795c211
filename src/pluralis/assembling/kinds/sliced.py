"""`sliced`: generalised quasi columns in one table, with a group for each slice of the sensitive columns.

`quasi` holds the quasi columns, the plain ones and `group_1`, `group_2`, …; `slice_1`, `slice_2`, … hold `group`, the
sensitive columns of the slice and `count`, or, unlinked, `group`, `attribute`, `value`, `count`. A row without a group
in a slice (the SLOMS paper's "NA") has an empty cell there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from pluralis.assembling.columns import (
    Kept,
    Part,
    Rows,
    column_info,
    common_breaks,
    in_order,
    large_groups,
    linked_counts,
    numbered_rows,
    promised,
    unlinked_counts,
)
from pluralis.grouping.generalization import Cells, Grouped, quasi_labels
from pluralis.grouping.plan import LEFT_OUT, Plan
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.release.form import LINKED
from pluralis.release.manifest import Claim, ColumnInfo
from pluralis.table.encoding import Table

_IDS = "group ids {}"  # what the numbers of a slice's groups are drawn for


def tables(plan: Plan, table: Table, policy: Policy, draw: Draw) -> list[Part]:
    return [_quasi(plan, table, policy, draw), *_slices(plan, table, policy, draw)]


def _quasi(plan: Plan, table: Table, policy: Policy, draw: Draw) -> Part:
    rows = np.flatnonzero(plan.group_of != LEFT_OUT)
    infos = [column_info(column, rows, policy) for column in (*table.quasi, *table.named("plain"))]
    infos += [ColumnInfo(name=f"group_{i}", role="group", type="number") for i in range(1, len(plan.slices) + 1)]
    del rows  # before more of the same size is made
    return Part("quasi", tuple(infos), in_order(_cells(plan, table, draw)))


def _cells(plan: Plan, table: Table, draw: Draw) -> dict[str, Cells]:
    published = Grouped.of(plan)
    groups: dict[str, Cells] = {}
    for i, slice in enumerate(plan.slices, 1):
        groups[f"group_{i}"] = _numbers(numbered_rows(slice.group_of, draw, _IDS.format(i)), published.rows, table.rows)
    plain = {column.name: Cells.of(column, published.rows) for column in table.named("plain")}
    return {**quasi_labels(plan, table, published), **plain, **groups}


def _numbers(kept: Kept, rows: Rows, size: int) -> Cells:
    """The group of each of these rows in a slice, if it has one there."""
    number = np.zeros(size, np.int32)
    number[kept.rows] = kept.number
    numbers = pl.Series(np.arange(kept.number.max(initial=0) + 1, dtype=np.int32)).replace(0, None)  # 0 is no group
    return Cells(numbers, number[rows])


def _slices(plan: Plan, table: Table, policy: Policy, draw: Draw) -> Iterator[Part]:
    for i, slice in enumerate(plan.slices, 1):
        name, secrets = f"slice_{i}", [table[name] for name in slice.attributes]
        if slice.linked:
            yield linked_counts(name, secrets, policy, numbered_rows(slice.group_of, draw, _IDS.format(i)))
        else:
            yield unlinked_counts(name, secrets, numbered_rows(slice.group_of, draw, _IDS.format(i)))


def claims(plan: Plan, policy: Policy) -> Iterator[Claim]:
    yield from large_groups(policy, "sliced")
    yield from promised(policy, "sliced")


def breaks(plan: Plan, table: Table) -> Iterator[str]:
    yield from common_breaks(plan, table)
    if any(slice.linked and len(slice.attributes) > 1 for slice in plan.slices):
        yield LINKED
    if len(plan.slices) > 1:
        yield (
            "correlation: slices keep 1/l each; whoever knows how attributes of two slices go together may learn more"
        )
