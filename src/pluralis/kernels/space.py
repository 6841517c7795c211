"""What a box of rows loses: the arithmetic of the IL metric (NCP) over numbers, flat categories and trees.

A row is a point. A number is scaled to 0 … 1 over its domain, a flat category is its code, a leaf of a tree its
place among the leaves. The box of a group holds, per attribute, the lowest and highest point and the codes seen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

NUMBER, FLAT, TREE = 0, 1, 2


class Space(NamedTuple):
    """The quasi-identifiers of all rows.

    points   float64[row, attribute]: flat attributes first, then trees, then numbers
    kinds    int8[attribute]: NUMBER, FLAT or TREE
    flats    how many attributes are flat
    trees    where the trees end and the numbers begin
    unit     float64[attribute]: the loss of the whole domain, for FLAT of one value
    few      bool[attribute]: FLAT with at most 64 codes, so that a bit mask tells them apart
    first    int64[attribute]: where a tree begins in `lineage` and `share`
    lineage  int32[leaf, level]: the ancestors of a leaf
    share    float64[leaf, level]: the part of the domain each ancestor covers
    """

    points: np.ndarray
    kinds: np.ndarray
    flats: int
    trees: int
    unit: np.ndarray
    few: np.ndarray
    first: np.ndarray
    lineage: np.ndarray
    share: np.ndarray


class Box(NamedTuple):
    """What a group covers: per attribute the ends, a mask of codes (hashed to 64 bits), the number of codes."""

    low: np.ndarray
    high: np.ndarray
    seen: np.ndarray
    distinct: np.ndarray


@njit(cache=True)
def bit(code):
    """The place of a code in a 64-bit mask; codes beyond 64 share places."""
    return np.uint64(1) << np.uint64(code & 63)


@njit(cache=True)
def tree_share(space, j, low, high):
    """The part of the domain under the lowest common ancestor of two leaves."""
    a = space.first[j] + np.int64(low)
    b = space.first[j] + np.int64(high)
    level = 0
    while space.lineage[a, level] != space.lineage[b, level]:
        level += 1
    return space.share[a, level]


@njit(cache=True)
def span_loss(space, j, low, high):
    """What a number or a tree loses between two points.

    `loss_with` and `forest.least_loss` spell this out: a call in those two loops makes BSGI eight times slower.
    """
    if space.kinds[j] == NUMBER:
        return space.unit[j] * min(1.0, high - low)
    return space.unit[j] * tree_share(space, j, low, high)


@njit(cache=True)
def codes_loss(space, j, count):
    """What a flat attribute loses where a group holds so many codes; one code loses nothing."""
    return space.unit[j] * count if count > 1 else 0.0


@njit(cache=True)
def holds_code(space, j, code, box, members, size):
    """Whether a group already holds a code of a flat attribute."""
    if box.seen[j] & bit(code) == 0:
        return False
    if space.few[j]:
        return True
    for i in range(size):
        if np.int64(space.points[members[i], j]) == code:
            return True
    return False


@njit(cache=True)
def loss_with(space, box, members, size, points, row):
    """The loss of the group's box once the point `points[row]` has joined."""
    total = 0.0
    for j in range(space.kinds.size):
        x = points[row, j]
        if j < space.flats:
            count = box.distinct[j]
            if not holds_code(space, j, np.int64(x), box, members, size):
                count += 1
            if count > 1:
                total += space.unit[j] * count
            continue
        low = min(box.low[j], x)
        high = max(box.high[j], x)
        if j >= space.trees:
            total += space.unit[j] * min(1.0, high - low)
        else:
            total += space.unit[j] * tree_share(space, j, low, high)
    return total


@njit(cache=True)
def box_loss(space, box):
    """The loss of a row published with this box."""
    total = 0.0
    for j in range(space.kinds.size):
        if space.kinds[j] == FLAT:
            total += codes_loss(space, j, box.distinct[j])
        else:
            total += span_loss(space, j, box.low[j], box.high[j])
    return total


@njit(cache=True)
def add_to_box(space, box, members, size, row):
    """Extend the box of `members[:size]` by `row`; size 0 starts it afresh."""
    for j in range(space.kinds.size):
        x = space.points[row, j]
        if space.kinds[j] == FLAT:
            code = np.int64(x)
            if size == 0:
                box.seen[j] = bit(code)
                box.distinct[j] = 1
            elif not holds_code(space, j, code, box, members, size):
                box.seen[j] |= bit(code)
                box.distinct[j] += 1
        elif size == 0:
            box.low[j] = x
            box.high[j] = x
        else:
            box.low[j] = min(box.low[j], x)
            box.high[j] = max(box.high[j], x)


@njit(cache=True)
def fill_box(space, box, members, size, without):
    """The box of `members[:size]`, except the one at place `without` (-1: none), which moves last."""
    if without >= 0:
        members[without], members[size - 1] = members[size - 1], members[without]
        size -= 1
    for i in range(size):
        add_to_box(space, box, members, i, members[i])


@njit(cache=True)
def empty_box(attributes):
    """Room for the box of one group."""
    return Box(
        np.zeros(attributes),
        np.zeros(attributes),
        np.zeros(attributes, np.uint64),
        np.zeros(attributes, np.int64),
    )
