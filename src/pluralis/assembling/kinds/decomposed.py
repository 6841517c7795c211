"""`decomposed`: quasi-identifiers as they are, and for every group the set of values of each sensitive attribute.

`quasi` holds quasi-identifiers and plain columns and `group`; `values` holds `group`, `attribute`, `value`, each value
of a group once, those that the method added among them. Beside them stand the sensitive columns without groups:
`sensitive`, all of them jointly with `count`, or one `sensitive_<attribute>` (`value`, `count`) each, or neither.

Of the primary attribute a group holds each value once, so that its shares are known: 1 / rows. Of the other attributes
a set does not tell the shares; what is promised is how many values stay possible for a person after the tables have
been joined in every way (auditing/decomposed_worlds.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import polars as pl

from pluralis.assembling.columns import (
    ATTRIBUTE_COLUMN,
    COUNT_COLUMN,
    GROUP_COLUMN,
    VALUE_COLUMN,
    Kept,
    Part,
    Rows,
    TextOrder,
    asked_of,
    column_info,
    common_breaks,
    count_combinations,
    kept_rows,
    quasi_rows,
    stated,
    value_rows,
)
from pluralis.grouping.plan import DecomposedPlan
from pluralis.kernels.order import stable_order
from pluralis.kernels.sets import largest_joint_share, largest_share
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.release.form import EXACT
from pluralis.release.manifest import Claim
from pluralis.table.encoding import Column, Table
from pluralis.threads import in_threads

_NONE = np.empty((0, 2), np.int64)


def tables(plan: DecomposedPlan, table: Table, policy: Policy, draw: Draw) -> list[Part]:
    kept = kept_rows(plan.group_of, draw)
    values = value_rows(in_threads(lambda column: _with_added(plan, column, kept), table.sensitive, table.rows)).drop(
        "count"
    )
    parts = [quasi_rows(table, policy, kept), Part("values", (GROUP_COLUMN, ATTRIBUTE_COLUMN, VALUE_COLUMN), values)]
    if plan.sensitive_table == "joint":
        parts.append(_joint(table, policy, kept))
    elif plan.sensitive_table == "marginals":
        parts += [_marginal(column, policy, kept) for column in table.sensitive]
    return parts


def _with_added(plan: DecomposedPlan, column: Column, kept: Kept) -> tuple[Column, Kept]:
    """A column and the rows of its groups, with a row more for each value that was added to a group."""
    added = plan.added.get(column.name, _NONE)
    if not added.size:
        return column, kept
    number_of = np.zeros(plan.groups, np.int64)
    number_of[plan.group_of[kept.rows]] = kept.number
    numbers = number_of[added[:, 0]]
    places = np.searchsorted(kept.number, numbers)  # rows stay group by group
    codes = np.insert(column.codes[kept.rows], places, added[:, 1])
    longer = Column(column.name, column.role, column.type, codes, column.values, column.has_missing)
    return longer, Kept(np.arange(codes.size), np.insert(kept.number, places, numbers))


def _joint(table: Table, policy: Policy, kept: Kept) -> Part:
    shown = [TextOrder.from_column(column) for column in table.sensitive]
    codes = (order.codes(column, kept.rows) for order, column in zip(shown, table.sensitive, strict=True))
    keys, counts = count_combinations([order.values.len() for order in shown], codes)
    series = [order.values.gather(key) for order, key in zip(shown, keys, strict=True)]
    infos = (column_info(column, kept.rows, policy) for column in table.sensitive)
    return Part("sensitive", (*infos, COUNT_COLUMN), pl.DataFrame([*series, pl.Series("count", counts)]))


def _marginal(column: Column, policy: Policy, kept: Kept) -> Part:
    order = TextOrder.from_column(column)
    counts = np.bincount(order.codes(column, kept.rows), minlength=column.size)
    present = np.flatnonzero(counts)
    info = column_info(column, kept.rows, policy).model_copy(update={"name": "value"})
    values = order.values.gather(present).alias("value")
    return Part(
        f"sensitive_{column.name}", (info, COUNT_COLUMN), pl.DataFrame([values, pl.Series("count", counts[present])])
    )


def parameters(plan: DecomposedPlan, policy: Policy) -> dict[str, object]:
    return {"linked": True, "primary": plan.primary, **asked_of(policy)}


def claims(plan: DecomposedPlan, policy: Policy) -> Iterator[Claim]:
    for known, name in policy.promises:
        shares_are_known = name == plan.primary and not known & set(policy.sensitive)
        model = "frequency" if shares_are_known else "candidates"
        yield stated(known, "decomposed", model=model, attribute=name, l=policy.l(name))


def breaks(plan: DecomposedPlan, table: Table) -> Iterator[str]:
    yield from common_breaks(plan, table)
    yield EXACT
    others = [column for column in table.sensitive if column.name != plan.primary]
    if others and plan.sensitive_table != "none":
        order = stable_order(plan.group_of + 1, plan.groups + 1)[plan.suppressed :]
        primary = table[plan.primary] if plan.sensitive_table == "joint" and plan.primary else None
        groups = plan.group_of[order]
        shares = in_threads(lambda column: _best_guess(plan, column, primary, order, groups), others, table.rows)
        share, name = max(zip(shares, (column.name for column in others), strict=True))
        yield (
            f"skewness: a set does not say how common its values are; whoever weighs the set of a group by the "
            f"sensitive table guesses {name} with {math.floor(100 * share + 1e-9)} % or more in some group"
        )


def _best_guess(plan: DecomposedPlan, column: Column, primary: Column | None, order: Rows, groups: Rows) -> float:
    """The largest share that one value has of a group's set, each value weighed by how common it is.

    Where `primary` stands beside it in the sensitive table, by how common it is beside each primary value of the group.
    `order` are the rows by group, `groups` their groups.
    """
    codes = column.codes[order]
    rows, own_codes = groups, codes
    added = plan.added.get(column.name, _NONE)
    if added.size:
        places = np.searchsorted(groups, added[:, 0])
        groups, codes = np.insert(groups, places, added[:, 0]), np.insert(codes, places, added[:, 1])
    if primary is None:
        return float(largest_share(groups, codes, np.bincount(own_codes, minlength=column.size)))
    pairs, counts = np.unique(primary.codes[order].astype(np.int64) * column.size + own_codes, return_counts=True)
    return float(largest_joint_share(rows, primary.codes[order], groups, codes, pairs, counts, column.size))
