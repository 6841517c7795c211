"""What grouping methods share: bringing in rows that fit no group."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pluralis.grouping.plan import SUPPRESSED
from pluralis.kernels.dilute import merge_around
from pluralis.kernels.select import Rules
from pluralis.progress import stage

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
    with stage("merging groups") as done:
        for i, row in enumerate(unplaced):
            before = group_of.copy()
            if not merge_around(row, group_of, rules, ls):
                group_of = before
                group_of[row] = SUPPRESSED
                failed.append(row)
            done((i + 1) / unplaced.size)
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
        fits = (group_of >= 0) & (rules.sensitive == rules.sensitive[:, [row]]).all(axis=0)
        fits &= ~np.isin(group_of, group_of[rules.person == person])
        fits &= ~np.isin(rules.person, rules.person[unplaced])
        if fits.any():
            like = int(fits.argmax())
            group_of[row], group_of[like] = group_of[like], SUPPRESSED
            unplaced[i] = like
    return unplaced
