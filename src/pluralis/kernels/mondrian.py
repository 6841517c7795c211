"""Mondrian's loops: the test that a group must pass, cutting groups in two, placing rows that were left over.

Rows are numbered in canonical order, and every step keeps them in it, so nothing depends on chance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pluralis.kernels.forest import nearest_few
from pluralis.kernels.place import Groups, gather, join
from pluralis.kernels.space import (
    FLAT,
    NUMBER,
    TREE,
    Box,
    add_to_box,
    bit,
    box_loss,
    empty_box,
    loss_with,
    tree_share,
)

FREQUENCY, DISTINCT, ENTROPY, RECURSIVE, UNIQUE = 0, 1, 2, 3, 4
TOP, DONE, GROUPS = 0, 1, 2
STACK = 128  # the smaller half is cut first, so that log2(rows) places are enough
ROUNDING = 1e-9
NEAR = 64
SEARCH = 256


class Models(NamedTuple):
    """What every group must be: of k rows, and diverse in every sensitive attribute."""

    secrets: np.ndarray  # int32[attribute, row]
    model: np.ndarray  # int8[attribute]: FREQUENCY, …
    ls: np.ndarray  # int64[attribute]
    c: np.ndarray  # float64[attribute], for RECURSIVE
    least: int  # no group with fewer rows can pass
    person: np.ndarray  # int32[row], or empty


class Room(NamedTuple):
    """Arrays to work in; `counts` and `people` are all zero between uses."""

    counts: np.ndarray  # int64[value]
    people: np.ndarray  # int64[person]
    codes: np.ndarray  # int64[value]
    keys: np.ndarray  # float64[row]
    sorted: np.ndarray  # float64[row]
    rows: np.ndarray  # int64[row]
    stamps: np.ndarray  # int64[attribute, code], for FLAT attributes


class Cuts(NamedTuple):
    """How far the cutting is; the rows of a group stand together in `order`."""

    order: np.ndarray
    group_of: np.ndarray
    stack: np.ndarray  # int64[place, 2]: begin and end
    counters: np.ndarray  # TOP, DONE, GROUPS


# the test -----------------------------------------------------------------------------------------------------


@njit(cache=True)
def diverse(model, l, c, counts, codes, parts):
    """Whether a histogram is l-diverse in `parts` even shares of it; `codes` are the values that it holds."""
    size, top, spread = 0, 0, 0
    for code in codes:
        size += counts[code]
        top = max(top, counts[code])
        spread += min(counts[code], parts)
    if model == FREQUENCY:
        return top <= parts * (size // parts // l)
    if model == UNIQUE:
        return top == 1 and l <= codes.size <= l + 1
    if spread < parts * l:
        return False
    if model == ENTROPY:
        entropy = 0.0
        for code in codes:
            share = counts[code] / size
            entropy -= share * np.log(share)
        return entropy >= np.log(l) - ROUNDING
    if model == RECURSIVE:
        held = np.sort(counts[codes])
        return top < c * held[: held.size - l + 1].sum()
    return True


@njit(cache=True)
def tally(values, rows, counts, codes):
    """Count the values of `rows`; how many there are, `codes` naming them."""
    used = 0
    for row in rows:
        value = values[row]
        if counts[value] == 0:
            codes[used] = value
            used += 1
        counts[value] += 1
    return used


@njit(cache=True)
def holds(models, room, rows, parts):
    """Whether rows pass the test as one group, or, with several parts, whether even shares of them would."""
    if rows.size < models.least * parts:
        return False
    fine = True
    for a in range(models.ls.size):
        used = tally(models.secrets[a], rows, room.counts, room.codes)
        codes = room.codes[:used]
        fine = diverse(models.model[a], models.ls[a], models.c[a], room.counts, codes, parts)
        for code in codes:
            room.counts[code] = 0
        if not fine:
            break
    return fine


@njit(cache=True)
def most_of_one_person(models, room, rows):
    """How many of the rows one person has at most."""
    most = 1
    if models.person.size > 0:
        for row in rows:
            room.people[models.person[row]] += 1
            most = max(most, room.people[models.person[row]])
        for row in rows:
            room.people[models.person[row]] = 0
    return most


# cutting ------------------------------------------------------------------------------------------------------


@njit(cache=True)
def _measure(space, room, rows, ends, widths):
    """The lowest and highest point of each attribute, and the loss of publishing the rows together."""
    distinct = np.zeros(space.kinds.size, np.int64)
    tag = room.stamps[0, 0] + 1
    ends[:, 0], ends[:, 1] = np.inf, -np.inf
    for row in rows:
        for j in range(space.kinds.size):
            x = space.points[row, j]
            ends[j, 0], ends[j, 1] = min(ends[j, 0], x), max(ends[j, 1], x)
            if space.kinds[j] == FLAT and room.stamps[j, np.int64(x) + 1] != tag:
                room.stamps[j, np.int64(x) + 1] = tag
                distinct[j] += 1
    room.stamps[0, 0] = tag
    for j in range(space.kinds.size):
        if space.kinds[j] == FLAT:
            widths[j] = space.unit[j] * distinct[j] if distinct[j] > 1 else 0.0
        elif space.kinds[j] == NUMBER:
            widths[j] = space.unit[j] * min(1.0, ends[j, 1] - ends[j, 0])
        else:
            widths[j] = space.unit[j] * tree_share(space, j, ends[j, 0], ends[j, 1])


@njit(cache=True)
def _fill_keys(space, room, rows, j, low, high):
    """What the rows are cut by: the point, or in a tree the child of the lowest common ancestor."""
    level = 0
    if space.kinds[j] == TREE:
        a, b = space.first[j] + np.int64(low), space.first[j] + np.int64(high)
        while space.lineage[a, level] != space.lineage[b, level]:
            level += 1
    for i in range(rows.size):
        x = space.points[rows[i], j]
        room.keys[i] = space.lineage[space.first[j] + np.int64(x), level - 1] if level > 0 else x
        room.sorted[i] = room.keys[i]


@njit(cache=True)
def _select(values, place):
    """The value that stands at `place` once they are sorted (quickselect)."""
    low, high = 0, values.size - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            break
    return values[place]


@njit(cache=True)
def _divide(room, rows, median, below, take, equal):
    """Write the rows below the median and `take` of the `equal` ones on it, evenly spaced, before all others."""
    low, high, dealt = 0, below + take, 0
    for i in range(rows.size):
        left = room.keys[i] < median
        if room.keys[i] == median:
            left = (dealt + 1) * take // equal > dealt * take // equal
            dealt += 1
        if left:
            room.rows[low] = rows[i]
            low += 1
        else:
            room.rows[high] = rows[i]
            high += 1


@njit(cache=True)
def _cut(models, room, rows, relaxed):
    """Cut at the median of the keys if both sides pass the test; the rows on the left side, 0 where it fails.

    Strict cuts stand before or after the rows on the median, the more even one first. A relaxed cut is even; the
    strict ones follow where it is not allowed.
    """
    size = rows.size
    median = _select(room.sorted[:size], size // 2)
    below, equal = 0, 0
    for i in range(size):
        below += room.keys[i] < median
        equal += room.keys[i] == median
    before = size - 2 * below <= 2 * (below + equal) - size
    takes = (size // 2 - below, 0 if before else equal, equal if before else 0)
    for turn in range(0 if relaxed else 1, 3):
        left = below + takes[turn]
        if left < models.least or size - left < models.least or left == 0 or left == size:
            continue
        _divide(room, rows, median, below, takes[turn], equal)
        one, other = room.rows[:left], room.rows[left:size]
        if holds(models, room, one, most_of_one_person(models, room, one)) and holds(
            models, room, other, most_of_one_person(models, room, other)
        ):
            rows[:] = room.rows[:size]
            return left
    return 0


@njit(cache=True)
def partition(space, models, room, cuts, relaxed, until):
    """Cut groups, the widest attribute first, until `until` rows are in groups that cannot be cut."""
    counters = cuts.counters
    ends = np.empty((space.kinds.size, 2))
    widths = np.empty(space.kinds.size)
    while counters[TOP] > 0 and counters[DONE] < until:
        counters[TOP] -= 1
        begin, end = cuts.stack[counters[TOP]]
        rows = cuts.order[begin:end]
        left = 0
        if rows.size >= 2 * models.least:
            _measure(space, room, rows, ends, widths)
            while left == 0 and widths.max() > 0.0:
                j = widths.argmax()
                widths[j] = 0.0
                _fill_keys(space, room, rows, j, ends[j, 0], ends[j, 1])
                left = _cut(models, room, rows, relaxed)
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
def chains(group_of, groups):
    """The members of each group."""
    members = Groups(
        np.full(groups, -1, np.int64),
        np.full(group_of.size, -1, np.int64),
        np.zeros(groups, np.int64),
        np.zeros(groups),
    )
    for row in range(group_of.size):
        if group_of[row] >= 0:
            join(members, group_of[row], row)
    return members


@njit(cache=True)
def fits(models, room, size, row):
    """Whether `row` may join the group whose rows are `room.rows[:size]`."""
    if models.person.size > 0:
        for i in range(size):
            if models.person[room.rows[i]] == models.person[row]:
                return False
    room.rows[size] = row
    return holds(models, room, room.rows[: size + 1], 1)


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
            count = box.distinct[j] + (box.seen[j] & bit(np.int64(x)) == 0)
            total += space.unit[j] * count if count > 1 else 0.0
        elif space.kinds[j] == NUMBER:
            total += space.unit[j] * min(1.0, max(box.high[j], x) - min(box.low[j], x))
        else:
            total += space.unit[j] * tree_share(space, j, min(box.low[j], x), max(box.high[j], x))
    return total


@njit(cache=True)
def near_groups(space, forest, group_of, row):
    """The groups of the rows nearest to this one, -1 among them where such a row has none."""
    box = empty_box(space.kinds.size)
    alone = np.array([row])
    add_to_box(space, box, alone, 0, row)
    found, losses = np.empty(NEAR, np.int64), np.empty(NEAR)
    stack = (np.empty(SEARCH, np.int64), np.empty(SEARCH))
    return group_of[found[: nearest_few(space, forest, 0, box, alone, 1, found, losses, stack)]]


@njit(cache=True)
def place_row(space, models, room, members, boxes, candidates, row):
    """Put a row where the whole loss grows least among the candidates that may take it; -1 where none may."""
    best, found = np.inf, -1
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
            best, found = growth, group
    if found >= 0:
        gather(members, found, room.rows)
        add_to_box(space, box_at(boxes, found), room.rows, members.size[found], row)
        members.loss[found] = box_loss(space, box_at(boxes, found))
        join(members, found, row)
    return found
