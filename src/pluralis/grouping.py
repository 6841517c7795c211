"""What grouping methods share: bringing in rows that fit nowhere, and keeping the rows of one person apart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pluralis.errors import Infeasible
from pluralis.kernels.select import Rules

Rows = npt.NDArray[np.int64]


def merge_until_diverse(group_of: Rows, unplaced: Rows, rules: Rules, ls: Rows) -> Rows:
    """Give each unplaced row a group of its own by merging whole groups until every attribute is l_i-diverse there.

    It ends: a table that is eligible for every attribute is itself such a group (unless people stand in the way, which
    is refused). Each merge takes the group that dilutes the commonest value most.
    """
    group_of = group_of.copy()
    for row in unplaced:
        mine = np.array([row], np.int64)
        while (worst := _worst(mine, rules, ls)) is not None:
            attribute, value = worst
            group = _most_diluting(group_of, mine, rules, int(ls[attribute]), attribute, value)
            members = np.flatnonzero(group_of == group)
            group_of[members] = -1
            mine = np.concatenate([mine, members])
        group_of[mine] = group_of.max() + 1
    return group_of


def _worst(rows: Rows, rules: Rules, ls: Rows) -> tuple[int, int] | None:
    """The attribute and value that fill most beyond 1/l of these rows, or None."""
    worst, excess = None, 0
    for attribute, l in enumerate(ls):
        counts = np.bincount(rules.secrets[attribute, rows])
        over = int(counts.max() * l - rows.size)
        if over > excess:
            worst, excess = (attribute, int(counts.argmax())), over
    return worst


def _most_diluting(group_of: Rows, mine: Rows, rules: Rules, l: int, attribute: int, value: int) -> int:
    placed = group_of >= 0
    sizes = np.bincount(group_of[placed])
    holders = np.bincount(group_of[placed & (rules.secrets[attribute] == value)], minlength=sizes.size)
    gain = np.where(sizes > 0, sizes - l * holders, 0)
    if rules.person.size:
        known = np.isin(rules.person, rules.person[mine]) & placed
        gain[np.unique(group_of[known])] = 0
    best = int(gain.argmax()) if gain.size else -1
    if best < 0 or gain[best] <= 0:
        raise Infeasible(
            f"{mine.size} rows fit no group: every group that could take them holds the same people or values. "
            "Allow a small "
            "suppress, lower l, or protect fewer attributes."
        )
    return best
