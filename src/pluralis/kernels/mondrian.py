"""Mondrian's loops: cutting groups in two, and placing the rows that were left over.

Rows are numbered in canonical order, and every step keeps them in it, so nothing depends on chance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pluralis.kernels.forest import STACK, nearest_few
from pluralis.kernels.models import diverse, fits, holds, most_of_one_person, within
from pluralis.kernels.place import gather, join
from pluralis.kernels.quickselect import quickselect
from pluralis.kernels.space import (
    FLAT,
    TREE,
    Box,
    add_to_box,
    bit,
    box_loss,
    codes_loss,
    empty_box,
    loss_with,
    span_loss,
)

TOP, DONE, GROUPS = 0, 1, 2
DEPTH = 128  # the smaller half is cut first, so that log2(rows) places are enough
TRIES = 64  # cuts of an attribute that are tried beside those at its median
PART = 64  # each side of them has one row in so many, or more: to peel off few rows at a time takes n² steps
NEAR = 64


class Cuts(NamedTuple):
    """How far the cutting is, and arrays to cut in; the rows of a group stand together in `order`."""

    order: np.ndarray
    group_of: np.ndarray
    stack: np.ndarray  # int64[place, 2]: begin and end
    counters: np.ndarray  # TOP, DONE, GROUPS
    keys: np.ndarray  # float64[row]: what the rows of the group at hand are cut by
    places: np.ndarray  # int64[row]: their places, for finding the median
    stamps: np.ndarray  # int64[attribute, code], for FLAT attributes; all zero at first


class Mode(NamedTuple):
    """Which cuts are tried: also such as divide the rows on the median, also such as stand away from it."""

    relaxed: bool
    elsewhere: bool


class Widths(NamedTuple):
    """The group at hand: the ends of each attribute, its width, and that of those which are still to be tried."""

    ends: np.ndarray
    widths: np.ndarray
    left: np.ndarray


# cutting ------------------------------------------------------------------------------------------------------


@njit(cache=True)
def _measure(space, cuts, rows, ends, widths):
    """The lowest and highest point of each attribute, and the loss of publishing the rows together."""
    distinct = np.zeros(space.kinds.size, np.int64)
    tag = cuts.stamps[0, 0] + 1
    ends[:, 0], ends[:, 1] = np.inf, -np.inf
    for row in rows:
        for j in range(space.kinds.size):
            x = space.points[row, j]
            ends[j, 0], ends[j, 1] = min(ends[j, 0], x), max(ends[j, 1], x)
            if space.kinds[j] == FLAT and cuts.stamps[j, np.int64(x) + 1] != tag:
                cuts.stamps[j, np.int64(x) + 1] = tag
                distinct[j] += 1
    cuts.stamps[0, 0] = tag
    for j in range(space.kinds.size):
        if space.kinds[j] == FLAT:
            widths[j] = codes_loss(space, j, distinct[j])
        else:
            widths[j] = span_loss(space, j, ends[j, 0], ends[j, 1])


@njit(cache=True)
def _fill_keys(space, cuts, rows, j, low, high):
    """What the rows are cut by: the point, or in a tree the child of the lowest common ancestor."""
    level = 0
    if space.kinds[j] == TREE:
        a, b = space.first[j] + np.int64(low), space.first[j] + np.int64(high)
        while space.lineage[a, level] != space.lineage[b, level]:
            level += 1
    for i in range(rows.size):
        x = space.points[rows[i], j]
        cuts.keys[i] = space.lineage[space.first[j] + np.int64(x), level - 1] if level > 0 else x
        cuts.places[i] = i


@njit(cache=True)
def _divide(cuts, room, rows, median, below, take, equal):
    """Write the rows below the median and `take` of the `equal` ones on it, evenly spaced, before all others."""
    low, high, dealt = 0, below + take, 0
    for i in range(rows.size):
        left = cuts.keys[i] < median
        if cuts.keys[i] == median:
            left = (dealt + 1) * take // equal > dealt * take // equal
            dealt += 1
        if left:
            room.rows[low] = rows[i]
            low += 1
        else:
            room.rows[high] = rows[i]
            high += 1


@njit(cache=True)
def _both_pass(models, room, rows, left):
    """Whether both sides of the division in `room` pass the test; the rows then take its order."""
    one, other = room.rows[:left], room.rows[left : rows.size]
    if holds(models, room, one, most_of_one_person(models, room, one)) and holds(
        models, room, other, most_of_one_person(models, room, other)
    ):
        rows[:] = room.rows[: rows.size]
        return True
    return False


@njit(cache=True)
def _cut(models, cuts, room, rows, relaxed):
    """Cut at the median of the keys if both sides pass the test; the rows on the left side, 0 where it fails.

    Strict cuts stand before or after the rows on the median, the more even one first. A relaxed cut is even; the
    strict ones follow where it is not allowed.
    """
    size = rows.size
    quickselect(cuts.places, cuts.keys, 0, size, size // 2)
    median = cuts.keys[cuts.places[size // 2]]
    below, equal = 0, 0
    for i in range(size):
        below += cuts.keys[i] < median
        equal += cuts.keys[i] == median
    before = size - 2 * below <= 2 * (below + equal) - size
    takes = (size // 2 - below, 0 if before else equal, equal if before else 0)
    for turn in range(0 if relaxed else 1, 3):
        left = below + takes[turn]
        if left < models.least or size - left < models.least or left == 0 or left == size:
            continue
        _divide(cuts, room, rows, median, below, takes[turn], equal)
        if _both_pass(models, room, rows, left):
            return left
    return 0


@njit(cache=True)
def _borders(cuts, room, rows, order, least):
    """Where other cuts may stand, as numbers of rows in `order`: between two keys, far enough from both ends, TRIES."""
    size = rows.size
    borders_seen = 0
    for i in range(least, size - least + 1):
        if cuts.keys[order[i - 1]] < cuts.keys[order[i]]:
            room.rows[borders_seen] = i
            borders_seen += 1
    kept = min(borders_seen, TRIES)
    borders = np.empty(kept, np.int64)
    for i in range(kept):
        borders[i] = room.rows[i * borders_seen // kept]
    return borders


@njit(cache=True)
def _test_beginnings(models, room, rows, ends, fine):
    """Clear `fine[i]` unless the first `ends[i]` rows pass the test; `ends` ascend, and the rows come one by one."""
    parts = np.ones(ends.size, np.int64)
    if models.person.size > 0:
        begin = 0
        for i in range(ends.size):
            if i > 0:
                parts[i] = parts[i - 1]
            for row in rows[begin : ends[i]]:
                room.people[models.person[row]] += 1
                parts[i] = max(parts[i], room.people[models.person[row]])
            begin = ends[i]
        for row in rows:
            room.people[models.person[row]] = 0
        fine &= ends >= parts * models.least
    for a in range(models.ls.size):
        begin, used = 0, 0
        for i in range(ends.size):
            for row in rows[begin : ends[i]]:
                value = models.sensitive[a, row]
                if room.counts[value] == 0:
                    room.codes[used] = value
                    used += 1
                room.counts[value] += 1
            begin = ends[i]
            if fine[i]:
                codes = room.codes[:used]
                fine[i] = diverse(models.model[a], models.ls[a], models.c[a], room.counts, codes, parts[i]) and within(
                    models.bounds, a, room.counts, codes, parts[i]
                )
        for code in room.codes[:used]:
            room.counts[code] = 0


@njit(cache=True)
def _cut_elsewhere(models, cuts, room, rows):
    """Cut between two keys, as near to the middle as both sides pass the test; the rows on the left side, or 0."""
    size = rows.size
    order = np.argsort(cuts.keys[:size])
    borders = _borders(cuts, room, rows, order, max(models.least, -(-size // PART)))
    fine = np.ones(borders.size, np.bool_)
    _test_beginnings(models, room, rows[order], borders, fine)
    if not fine.any():
        return 0
    backward = fine[::-1].copy()
    _test_beginnings(models, room, rows[order[::-1]], size - borders[::-1], backward)
    fine &= backward[::-1]
    for i in np.argsort(np.abs(2 * borders - size), kind="mergesort"):
        left = borders[i]
        if fine[i]:
            _divide(cuts, room, rows, cuts.keys[order[left]], left, 0, 1)
            if _both_pass(models, room, rows, left):  # once more, in the order that the groups will have
                return left
    return 0


@njit(cache=True)
def _cut_widest(space, models, room, cuts, rows, mode, at_hand):
    """Cut the widest attribute that can be: at a median, or, if `mode` says so, elsewhere; the rows on the left."""
    ends, widths, left = at_hand
    _measure(space, cuts, rows, ends, widths)
    for turn in range(2 if mode.elsewhere else 1):
        left[:] = widths
        while left.max() > 0.0:
            j = left.argmax()
            left[j] = 0.0
            _fill_keys(space, cuts, rows, j, ends[j, 0], ends[j, 1])
            cut = _cut_elsewhere(models, cuts, room, rows) if turn else _cut(models, cuts, room, rows, mode.relaxed)
            if cut > 0:
                return cut
    return 0


@njit(cache=True)
def partition(space, models, room, cuts, mode, until):
    """Cut groups, the widest attribute first, until `until` rows are in groups that cannot be cut."""
    counters = cuts.counters
    attributes = space.kinds.size
    widths = Widths(np.empty((attributes, 2)), np.empty(attributes), np.empty(attributes))
    while counters[TOP] > 0 and counters[DONE] < until:
        counters[TOP] -= 1
        begin, end = cuts.stack[counters[TOP]]
        rows = cuts.order[begin:end]
        left = _cut_widest(space, models, room, cuts, rows, mode, widths) if rows.size >= 2 * models.least else 0
        if left == 0:
            cuts.group_of[rows] = counters[GROUPS]
            counters[GROUPS] += 1
            counters[DONE] += rows.size
            continue
        small, large = (begin, begin + left), (begin + left, end)
        if 2 * left > rows.size:
            small, large = large, small
        cuts.stack[counters[TOP]] = large
        cuts.stack[counters[TOP] + 1] = small
        counters[TOP] += 2


# placing -----------------------------------------------------------------------------------------------------


@njit(cache=True)
def boxes_of(space, room, members):
    """The box of every group; its loss is noted with the members."""
    groups, attributes = members.head.size, space.kinds.size
    boxes = Box(
        np.zeros((groups, attributes)),
        np.zeros((groups, attributes)),
        np.zeros((groups, attributes), np.uint64),
        np.zeros((groups, attributes), np.int64),
    )
    for group in range(groups):
        size = gather(members, group, room.rows)
        for i in range(size):
            add_to_box(space, box_at(boxes, group), room.rows, i, room.rows[i])
        members.loss[group] = box_loss(space, box_at(boxes, group))
    return boxes


@njit(cache=True)
def box_at(boxes, group):
    """The box of one group."""
    return Box(boxes.low[group], boxes.high[group], boxes.seen[group], boxes.distinct[group])


@njit(cache=True)
def _least_loss(space, box, row):
    """A bound: the group does not lose less once the row has joined."""
    total = 0.0
    for j in range(space.kinds.size):
        x = space.points[row, j]
        if space.kinds[j] == FLAT:
            total += codes_loss(space, j, box.distinct[j] + (box.seen[j] & bit(np.int64(x)) == 0))
        else:
            total += span_loss(space, j, min(box.low[j], x), max(box.high[j], x))
    return total


@njit(cache=True)
def near_groups(space, forest, group_of, row):
    """The groups of the rows nearest to this one, -1 among them where such a row has none."""
    box = empty_box(space.kinds.size)
    alone = np.array([row])
    add_to_box(space, box, alone, 0, row)
    rows, losses = np.empty(NEAR, np.int64), np.empty(NEAR)
    stack = (np.empty(STACK, np.int64), np.empty(STACK))
    return group_of[rows[: nearest_few(space, forest, 0, (box, alone, 1, np.inf), rows, losses, stack)]]


@njit(cache=True)
def place_row(space, models, room, members, boxes, candidates, row):
    """Put a row where the whole loss grows least among the candidates that may take it; -1 where none may."""
    best, chosen = np.inf, -1
    for group in candidates:
        size = members.size[group] if group >= 0 else 0
        if size == 0:
            continue
        box = box_at(boxes, group)
        before = size * members.loss[group]
        if (size + 1) * _least_loss(space, box, row) - before >= best:
            continue
        gather(members, group, room.rows)
        growth = (size + 1) * loss_with(space, box, room.rows, size, space.points, row) - before
        if growth < best and fits(models, room, size, row):
            best, chosen = growth, group
    if chosen >= 0:
        gather(members, chosen, room.rows)
        add_to_box(space, box_at(boxes, chosen), room.rows, members.size[chosen], row)
        members.loss[chosen] = box_loss(space, box_at(boxes, chosen))
        join(members, chosen, row)
    return chosen
