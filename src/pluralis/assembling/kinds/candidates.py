"""`candidates`: one table, `microdata`: quasi-identifiers and plain columns as they are, each sensitive column a list
of values.

The list holds the true value and drawn ones, in domain order. How it was drawn stands in the manifest, under
`addition`: whoever counts needs it, and it tells nothing of a single row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.assembling.columns import (
    Part,
    Rows,
    asked_of,
    column_info,
    common_breaks,
    shown_as_they_are,
    stated,
)
from pluralis.grouping.plan import SUPPRESSED, CandidatesPlan
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.release.form import EXACT
from pluralis.release.manifest import Claim
from pluralis.table.encoding import Table
from pluralis.threads import in_threads, member_counts, row_blocks


def tables(plan: CandidatesPlan, table: Table, policy: Policy, draw: Draw) -> list[Part]:
    rows = _in_order(plan, table)
    infos, series = shown_as_they_are(table, policy, rows)
    for column in table.sensitive:
        info = column_info(column, rows, policy)
        values = plan.designs[column.name].values
        domain = values if info.type == "text" else (values[0], values[-1])
        infos.append(info.model_copy(update={"sets": True, "domain": domain}))
        sets, members = plan.sets[column.name], plan.designs[column.name].series
        if info.type == "text":  # a dictionary of what the sets hold
            used = np.flatnonzero(member_counts(sets if rows.size == len(sets) else sets[rows], members.len()))
            members = members.cast(pl.Enum(members.gather(used)), strict=False)
        series.append(_shown_sets(sets, rows, members).rename(column.name))
    return [Part("microdata", tuple(infos), pl.DataFrame(series))]


def _shown_sets(sets: npt.NDArray[np.int32], rows: Rows, members: pl.Series) -> pl.Series:
    """The sets of some rows as lists of members."""
    shape = rows.size, sets.shape[1]
    parts = in_threads(lambda some: members.gather(sets[rows[some]].ravel()), row_blocks(rows.size), rows.size)
    return pl.concat(parts, rechunk=True).reshape(shape).arr.to_list()


def _in_order(plan: CandidatesPlan, table: Table) -> Rows:
    """The published rows, ordered by what is published of them: not by the true values, as the table is."""
    rows = np.flatnonzero(plan.group_of != SUPPRESSED)
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


def parameters(plan: CandidatesPlan, policy: Policy) -> dict[str, object]:
    drawn = {name: design.to_dict() for name, design in plan.designs.items()}
    return {"linked": True, "addition": drawn, **asked_of(policy)}


def claims(plan: CandidatesPlan, policy: Policy) -> Iterator[Claim]:
    """What is promised: one sentence by the weights and one by the true shares, or the size of sets."""
    for known, name in policy.promises:
        yield stated(known, "candidates", model=plan.claim, attribute=name, l=policy.l(name))
        if plan.claim == "posterior":
            bound = plan.designs[name].bound
            yield stated(known, "candidates", model="posterior-shares", attribute=name, l=policy.l(name), bound=bound)


def breaks(plan: CandidatesPlan, table: Table) -> Iterator[str]:
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
            "several sensitive attributes: the sets of all rows together show how their values go together, and that "
            "picks the true ones in a row: a guess may be far better than one in l"
        )
    if plan.claim == "set-size":
        yield "skewness: a common value in a set is more likely the true one than a rare one"
