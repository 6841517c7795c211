"""Incorporate: rows that selection left over join the groups where they cost least.

All groups are looked at for each row, but most of them only in one word: the marks of the values that a group can
still take. Boxes stand side by side, and members are fetched only where a group can be the best so far.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pluralis.kernels.marks import EVERYTHING, Marks
from pluralis.kernels.mondrian import box_at
from pluralis.kernels.place import Groups, chained, gather, join
from pluralis.kernels.select import Rules
from pluralis.kernels.space import Box, add_to_box, bit, box_loss, loss_with, tree_share

NO_GROUP = -1


class Terms(NamedTuple):
    """On which terms a row joins a group."""

    rules: Rules
    marks: Marks
    ls: np.ndarray
    usual: int  # rows of a group as it was formed
    literal: bool  # Figure 3 of the paper to the letter


class Standing(NamedTuple):
    """What is known of every group."""

    groups: Groups
    boxes: Box
    lacks: np.ndarray  # uint64[group]: marks of the values that are not in it
    takes: np.ndarray  # uint64[group]: marks of the values that it can take and stay diverse


@njit(cache=True, nogil=True)
def standing(space, terms, formed):
    """Of groups of equal size, `formed[g]` being the rows of group g."""
    count, attributes = formed.shape[0], space.kinds.size
    groups = chained(formed, space.points.shape[0])
    boxes = Box(
        np.empty((count, attributes)),
        np.empty((count, attributes)),
        np.empty((count, attributes), np.uint64),
        np.empty((count, attributes), np.int64),
    )
    known = Standing(groups, boxes, np.empty(count, np.uint64), np.empty(count, np.uint64))
    for group in range(count):
        box = box_at(boxes, group)
        for i in range(formed.shape[1]):
            add_to_box(space, box, formed[group], i, formed[group, i])
        groups.loss[group] = box_loss(space, box)
        _mark(terms, known, group, formed[group])
    return known


@njit(cache=True)
def _mark(terms, known, group, members):
    """Note which values a group lacks and which it can take."""
    sensitive, marks = terms.rules.sensitive, terms.marks
    lacks, takes = EVERYTHING, EVERYTHING
    for a in range(marks.field.size):
        for row in members:
            own = bit(marks.of_row[a, row]) & marks.alone[a]
            same = 0
            for other in members:
                same += sensitive[a, other] == sensitive[a, row]
            lacks &= ~own
            if (same + 1) * terms.ls[a] > members.size + 1:
                takes &= ~own
    known.lacks[group], known.takes[group] = lacks, takes


@njit(cache=True)
def _tier(literal, usual, lacks, takes):
    """How well a row fits a group, more being better; -1 where it may not join.

    The paper wants a group that lacks the value, if there is one. Otherwise every attribute must stay l-diverse, and
    a group of usual size comes first, then one that lacks every value of the row.
    """
    if literal:
        return 1 if lacks else 0
    if not takes:
        return -1
    return (2 if usual else 0) + (1 if lacks else 0)


@njit(cache=True)
def _exact_tier(terms, members, row):
    """The tier, from the members themselves; -1 also where the person is among them."""
    rules, ls = terms.rules, terms.ls
    if rules.person.size > 0:
        for member in members:
            if rules.person[member] == rules.person[row]:
                return -1
    lacks, takes = True, True
    for a in range(1 if terms.literal else ls.size):
        same = 0
        for member in members:
            same += rules.sensitive[a, member] == rules.sensitive[a, row]
        lacks &= same == 0
        takes &= (same + 1) * ls[a] <= members.size + 1
    return _tier(terms.literal, members.size == terms.usual, lacks, takes)


@njit(cache=True)
def _cost(literal, loss, before, size):
    """Of a row that joins a group of `size` rows: the paper counts the whole loss, else how much it grows."""
    return loss * (size + 1) if literal else loss * (size + 1) - before * size


@njit(cache=True)
def _marks_asked(terms, row):
    """The marks of a row's values; the paper looks at the attribute that makes the buckets only."""
    asked = np.uint64(0)
    for a in range(1 if terms.literal else terms.marks.field.size):
        asked |= bit(terms.marks.of_row[a, row])
    return asked


@njit(cache=True)
def _best_group(space, terms, known, row, members):
    """The group of the best tier in which a row costs least, the first of several; NO_GROUP if none may take it.

    Marks say at most too well how a row fits, and masks of codes at most too little what it costs. What a group loses
    is spelled out as in `loss_with`, for the same reason.
    """
    groups, boxes, literal, usual = known.groups, known.boxes, terms.literal, terms.usual
    asked = _marks_asked(terms, row)
    best_tier, best_cost, best = 0, np.inf, NO_GROUP
    for group in range(groups.head.size):
        takes = known.takes[group] & asked == asked
        if not takes and not literal:
            continue
        size, before = groups.size[group], groups.loss[group]
        tier = _tier(literal, size == usual, known.lacks[group] & asked == asked, takes)
        if tier < best_tier or (tier == best_tier and _cost(literal, before, before, size) >= best_cost):
            continue
        least = 0.0
        for j in range(space.kinds.size):
            x = space.points[row, j]
            if j < space.flats:
                count = boxes.distinct[group, j]
                if boxes.seen[group, j] & bit(np.int64(x)) == 0:
                    count += 1
                if count > 1:
                    least += space.unit[j] * count
                continue
            low, high = min(boxes.low[group, j], x), max(boxes.high[group, j], x)
            if j >= space.trees:
                least += space.unit[j] * min(1.0, high - low)
            else:
                least += space.unit[j] * tree_share(space, j, low, high)
        if tier == best_tier and _cost(literal, least, before, size) >= best_cost:
            continue
        gather(groups, group, members)
        tier = _exact_tier(terms, members[:size], row)
        loss = loss_with(space, box_at(boxes, group), members, size, space.points, row)
        cost = _cost(literal, loss, before, size)
        if tier > best_tier or (tier == best_tier and cost < best_cost):
            best_tier, best_cost, best = tier, cost, group
    return best


@njit(cache=True, nogil=True)
def incorporate(space, terms, known, rows, group_of):
    """Put each row where it costs least; group_of[row] = NO_GROUP where no group may take it."""
    groups = known.groups
    members = np.empty(groups.size.max() + rows.size, np.int64)
    for row in rows:
        group = _best_group(space, terms, known, row, members)
        group_of[row] = group
        if group == NO_GROUP:
            continue
        size = gather(groups, group, members)
        box = box_at(known.boxes, group)
        add_to_box(space, box, members, size, row)
        groups.loss[group] = box_loss(space, box)
        join(groups, group, row)
        members[size] = row
        _mark(terms, known, group, members[: size + 1])
