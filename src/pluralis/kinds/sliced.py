"""`sliced`: generalised quasi columns in one table, with a group for each slice of the sensitive columns.

`quasi` holds the quasi columns, the plain ones and `group_1`, `group_2`, …; `slice_1`, `slice_2`, … hold `group`, the
sensitive columns of the slice and `count`, or, unlinked, `group`, `attribute`, `value`, `count`. A row without a group
in a slice (the SLOMS paper's "NA") has an empty cell there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from pluralis.generalise import Cells, quasi_labels
from pluralis.kinds.parts import (
    LINKED,
    Part,
    column_info,
    common_breaks,
    in_order,
    kept_rows,
    large_groups,
    linked_counts,
    promised,
    unlinked_counts,
)
from pluralis.plan import LEFT_OUT, Plan
from pluralis.policy import Policy
from pluralis.randomness import Draw
from pluralis.release import Claim, ColumnInfo
from pluralis.table import Table


def tables(plan: Plan, table: Table, policy: Policy, draw: Draw) -> list[Part]:
    rows = np.flatnonzero(plan.group_of != LEFT_OUT)
    columns = [*table.quasi, *table.named("plain")]
    labels = quasi_labels(plan, table, rows)
    labels |= {column.name: Cells.of(column, rows) for column in table.named("plain")}
    infos = [column_info(column, rows, policy) for column in columns]
    slices = []
    for i, slice in enumerate(plan.slices, 1):
        kept = kept_rows(slice.group_of, draw, f"group ids {i}")
        number = np.zeros(table.rows, np.int64)
        number[kept.rows] = kept.number
        numbers = pl.Series(np.arange(kept.number.max(initial=0) + 1)).replace(0, None)  # 0 is no group
        labels[f"group_{i}"] = Cells(numbers, number[rows])
        infos.append(ColumnInfo(name=f"group_{i}", role="group", type="number"))
        secrets = [table[name] for name in slice.attributes]
        if slice.linked:
            slices.append(linked_counts(f"slice_{i}", secrets, policy, kept))
        else:
            slices.append(unlinked_counts(f"slice_{i}", secrets, kept))
    return [Part("quasi", tuple(infos), in_order(labels)), *slices]


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
