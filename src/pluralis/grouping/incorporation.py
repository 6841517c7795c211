"""What grouping methods share: bringing in rows that fit no group."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pluralis.grouping.plan import LEFT_OUT
from pluralis.kernels.select import Rules

Rows = npt.NDArray[np.int64]


def merge_until_diverse(group_of: Rows, unplaced: Rows, rules: Rules, ls: Rows) -> tuple[Rows, Rows]:
    """Bring unplaced rows into groups by merging whole groups until every attribute is l_i-diverse there.

    Returns the groups, and the rows for which even that failed. Without people it never fails on a table that is
    eligible for every attribute, for such a table is itself one diverse group. Each merge takes what dilutes the
    commonest value most: a group, or another unplaced row.
    """
    group_of = group_of.copy()
    unplaced = _different_people(group_of, unplaced, rules)
    group_of[unplaced] = group_of.max(initial=-1) + 1 + np.arange(unplaced.size)  # groups of one, not diverse yet
    failed = []
    for row in unplaced:
        before = group_of.copy()
        mine = np.flatnonzero(group_of == group_of[row])
        while (worst := _worst(mine, rules, ls)) is not None:
            group = _most_diluting(group_of, mine, rules, int(ls[worst[0]]), *worst)
            if group is None:
                group_of = before
                group_of[row] = LEFT_OUT
                failed.append(row)
                break
            mine = np.concatenate([mine, np.flatnonzero(group_of == group)])
            group_of[mine] = group_of[row]
    return group_of, np.array(failed, np.int64)


def _different_people(group_of: Rows, unplaced: Rows, rules: Rules) -> Rows:
    """Unplaced rows with as few people twice as can be: a second row of a person changes places with its like.

    Its like is a placed row that holds the same sensitive values, of a person who has no unplaced row, in a group
    that lacks the first person. Values stay where they are, so every group stays as diverse as it was.
    """
    if not rules.person.size:
        return unplaced
    unplaced = unplaced.copy()
    for i in range(1, unplaced.size):
        row, person = unplaced[i], rules.person[unplaced[i]]
        if person not in rules.person[unplaced[:i]]:
            continue
        fits = (group_of >= 0) & (rules.secrets == rules.secrets[:, [row]]).all(axis=0)
        fits &= ~np.isin(group_of, group_of[rules.person == person])
        fits &= ~np.isin(rules.person, rules.person[unplaced])
        if fits.any():
            like = int(fits.argmax())
            group_of[row], group_of[like] = group_of[like], LEFT_OUT
            unplaced[i] = like
    return unplaced


def _worst(rows: Rows, rules: Rules, ls: Rows) -> tuple[int, int] | None:
    """The attribute and value that fill most beyond 1/l of these rows, or None."""
    worst, excess = None, 0
    for attribute, l in enumerate(ls):
        counts = np.bincount(rules.secrets[attribute, rows])
        over = int(counts.max() * l - rows.size)
        if over > excess:
            worst, excess = (attribute, int(counts.argmax())), over
    return worst


def _most_diluting(group_of: Rows, mine: Rows, rules: Rules, l: int, attribute: int, value: int) -> int | None:
    """The other group with most rows beyond l times those that hold the value, and none of the same people."""
    placed = group_of >= 0
    sizes = np.bincount(group_of[placed])
    holders = np.bincount(group_of[placed & (rules.secrets[attribute] == value)], minlength=sizes.size)
    gain = sizes - l * holders
    gain[group_of[mine[0]]] = 0
    if rules.person.size:
        known = np.isin(rules.person, rules.person[mine]) & placed
        gain[np.unique(group_of[known])] = 0
    best = int(gain.argmax())
    return best if gain[best] > 0 else None
