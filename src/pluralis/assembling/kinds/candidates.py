"""`candidates`: one table, `microdata`: quasi and plain columns as they are, each sensitive column a list of values.

The list holds the true value and drawn ones, in domain order. How it was drawn stands in the manifest, under
`addition`: whoever counts needs it, and it tells nothing of a single row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from pluralis.assembling.columns import Part, Rows, column_info, common_breaks, stated
from pluralis.grouping.plan import LEFT_OUT, Plan
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.release.form import EXACT
from pluralis.release.manifest import Claim
from pluralis.table.encoding import Table


def tables(plan: Plan, table: Table, policy: Policy, draw: Draw) -> list[Part]:
    rows = _in_order(plan, table)
    shown = [*table.quasi, *table.named("plain")]
    infos = [column_info(column, rows, policy) for column in shown]
    infos = [info.model_copy(update={"exact": True}) if info.role == "quasi" else info for info in infos]
    series = [column.published(rows) for column in shown]
    for column in table.sensitive:
        info = column_info(column, rows, policy)
        values = plan.designs[column.name].values
        domain = values if info.type == "text" else (values[0], values[-1])
        infos.append(info.model_copy(update={"sets": True, "domain": domain}))
        sets = plan.sets[column.name][rows]
        members = plan.designs[column.name].series
        if info.type == "text":  # a dictionary of what the sets hold
            held = np.flatnonzero(np.bincount(sets.ravel(), minlength=members.len()))
            members = members.cast(pl.Enum(members.gather(held)), strict=False)
        series.append(members.gather(sets.ravel()).reshape(sets.shape).arr.to_list().rename(column.name))
    return [Part("microdata", tuple(infos), pl.DataFrame(series))]


def _in_order(plan: Plan, table: Table) -> Rows:
    """The published rows, ordered by what is published of them: not by the true values, as the table is."""
    rows = np.flatnonzero(plan.group_of != LEFT_OUT)
    new = np.zeros(rows.size, np.bool_)
    for column in (*table.quasi, *table.named("plain")):
        codes = column.codes[rows]
        new[1:] |= codes[1:] != codes[:-1]
    cell = np.cumsum(new)
    keys = [
        (plan.sets[column.name][rows, i], plan.designs[column.name].m)
        for column in table.sensitive
        for i in range(plan.designs[column.name].l)
    ]
    packed, width = cell.astype(np.int64), int(cell[-1]) + 1
    for codes, size in keys:
        width *= size
        if width >= 2**63:
            return rows[np.lexsort((*(codes for codes, _ in reversed(keys)), cell))]
        packed = packed * size + codes
    return rows[np.argsort(packed, kind="stable")]


def claims(plan: Plan, policy: Policy) -> Iterator[Claim]:
    """What is promised: one sentence by the weights and one by the true shares, or the size of sets."""
    for known, name in policy.promises:
        yield stated(known, "candidates", model=plan.claim, attribute=name, l=policy.l(name))
        if plan.claim == "posterior":
            bound = plan.designs[name].bound
            yield stated(known, "candidates", model="posterior-shares", attribute=name, l=policy.l(name), bound=bound)


def breaks(plan: Plan, table: Table) -> Iterator[str]:
    yield from (item for item in common_breaks(plan, table) if not item.startswith("several rows"))
    yield EXACT
    if table.person is None:
        yield (
            "several rows: those of one person have sets of their own, which can be intersected; so can the sets of a "
            "row that was corrected between two releases"
        )
    elif plan.claim == "set-size":
        yield (
            "several rows of one person: whoever finds several learns more than from one; sets that differ show that "
            "the values differ, and that alone may leave one value"
        )
    else:
        yield (
            "several rows of one person: they have one set, which tells as much as that of one row; if the value "
            "changes between two releases, so does the set, which shows it"
        )
    if len(table.sensitive) > 1:
        yield (
            "several secrets: the sets of all rows together show how secrets go together, and that picks the true ones "
            "in a row: a guess may be far better than one in l"
        )
    if plan.claim == "set-size":
        yield "skewness: a common value in a set is more likely the true one than a rare one"
