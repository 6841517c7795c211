"""Incorporate: rows that selection left over join the groups where they cost least.

All groups are looked at for each row, but most of them only in one word: the marks of the values that a group lacks
or can still take. Their boxes are kept side by side, so that members are fetched only where a group may be the best.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pluralis.kernels.marks import EVERYTHING, Marks
from pluralis.kernels.mondrian import box_at
from pluralis.kernels.place import gather, join
from pluralis.kernels.select import Rules
from pluralis.kernels.space import Box, Space, add_to_box, bit, loss_with

NO_GROUP = -1


class Terms(NamedTuple):
    """On which terms a row joins a group."""

    rules: Rules
    marks: Marks
    ls: np.ndarray
    usual: int  # rows of a group as it was formed
    literal: bool  # Figure 3 of the paper to the letter
    coarse: Space  # codes that share a bit are taken for one, so that a box alone tells the least that a row costs


class Standing(NamedTuple):
    """What must be known of every group."""

    boxes: Box
    lacks: np.ndarray  # uint64[group]: marks of the values that are not in it
    takes: np.ndarray  # uint64[group]: marks of the values that it can take and stay diverse


@njit(cache=True)
def standing(space, terms, formed):
    """Of groups of equal size, `formed[g]` being the rows of group g."""
    count, attributes = formed.shape[0], space.kinds.size
    boxes = Box(
        np.empty((count, attributes)),
        np.empty((count, attributes)),
        np.empty((count, attributes), np.uint64),
        np.empty((count, attributes), np.int64),
    )
    stand = Standing(boxes, np.empty(count, np.uint64), np.empty(count, np.uint64))
    for group in range(count):
        for i in range(formed.shape[1]):
            add_to_box(space, box_at(boxes, group), formed[group], i, formed[group, i])
        _mark(terms, stand, group, formed[group])
    return stand


@njit(cache=True)
def _mark(terms, stand, group, members):
    """Note the values that a group lacks and can take."""
    secrets, marks = terms.rules.secrets, terms.marks
    lacks, takes = EVERYTHING, EVERYTHING
    for a in range(marks.field.size):
        for row in members:
            own = bit(marks.of_row[a, row]) & marks.alone[a]
            same = 0
            for other in members:
                same += secrets[a, other] == secrets[a, row]
            lacks &= ~own
            if (same + 1) * terms.ls[a] > members.size + 1:
                takes &= ~own
    stand.lacks[group], stand.takes[group] = lacks, takes


@njit(cache=True)
def _tier(terms, lacks, takes, size):
    """How well a row fits a group, more being better; -1 where it may not join.

    The paper wants a group that lacks the value, if there is one. Otherwise every attribute must stay l-diverse, and
    the group should have its usual size, and lack every value of the row.
    """
    if terms.literal:
        return 1 if lacks else 0
    if not takes:
        return -1
    return (2 if size == terms.usual else 0) + (1 if lacks else 0)


@njit(cache=True)
def _exact_tier(terms, members, row):
    """The tier, from the members; -1 also where the person is among them."""
    rules, ls = terms.rules, terms.ls
    if rules.person.size > 0:
        for member in members:
            if rules.person[member] == rules.person[row]:
                return -1
    lacks, takes = True, True
    for a in range(1 if terms.literal else ls.size):
        same = 0
        for member in members:
            same += rules.secrets[a, member] == rules.secrets[a, row]
        lacks &= same == 0
        takes &= (same + 1) * ls[a] <= members.size + 1
    return _tier(terms, lacks, takes, members.size)


@njit(cache=True)
def _cost(terms, loss, before, size):
    """Of a row that joins a group of `size` rows: the paper counts the whole loss, else how much it grows."""
    return loss * (size + 1) if terms.literal else loss * (size + 1) - before * size


@njit(cache=True)
def _best_group(space, terms, groups, stand, row, members):
    """The group of the best tier in which a row costs least, the first of several; NO_GROUP if none may take it."""
    asked = np.uint64(0)
    for a in range(1 if terms.literal else terms.marks.field.size):
        asked |= bit(terms.marks.of_row[a, row])
    best_tier, best_cost, best = 0, np.inf, NO_GROUP
    for group in range(groups.head.size):
        size, before = groups.size[group], groups.loss[group]
        tier = _tier(terms, stand.lacks[group] & asked == asked, stand.takes[group] & asked == asked, size)
        if tier < best_tier or (tier == best_tier and _cost(terms, before, before, size) >= best_cost):
            continue
        box = box_at(stand.boxes, group)
        least = loss_with(terms.coarse, box, members, size, space.points, row)
        if tier == best_tier and _cost(terms, least, before, size) >= best_cost:
            continue
        gather(groups, group, members)
        tier = _exact_tier(terms, members[:size], row)
        cost = _cost(terms, loss_with(space, box, members, size, space.points, row), before, size)
        if tier > best_tier or (tier == best_tier and cost < best_cost):
            best_tier, best_cost, best = tier, cost, group
    return best


@njit(cache=True)
def incorporate(space, terms, groups, stand, rows, group_of):
    """Put each row where it costs least; group_of[row] = NO_GROUP where no group may take it."""
    members = np.empty(groups.size.max() + rows.size, np.int64)
    for row in rows:
        group = _best_group(space, terms, groups, stand, row, members)
        group_of[row] = group
        if group != NO_GROUP:
            size = gather(groups, group, members)
            groups.loss[group] = loss_with(space, box_at(stand.boxes, group), members, size, space.points, row)
            add_to_box(space, box_at(stand.boxes, group), members, size, row)
            join(groups, group, row)
            members[size] = row
            _mark(terms, stand, group, members[: size + 1])
