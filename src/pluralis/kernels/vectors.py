"""Rows by the sensitive values they hold, and the first row of least penalty among them.

Rows are numbered in drawn order. A *vector* is a combination of sensitive values that some row holds; vectors are
numbered in order of their values, the primary one first, so that those of a bucket are neighbors. The rows of a
vector wait in drawn order, and the first of them stands for all: the others differ from it in nothing that counts.

A tree over the vectors finds the row. Each node knows the first waiting row below it, and for each attribute the
value that all vectors below it share, if they do: what that value would cost, every one of them costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from pluralis.kernels.exchange import Alike
from pluralis.kernels.order import stable_order

LEAF = 8
MIXED = -1  # vectors below a node differ in this attribute
NOBODY = np.iinfo(np.int64).max
FORBIDDEN = np.int64(1) << 40
NEW, SOME, FULL = 0, 1, 2  # what a group has of a value: nothing, some rows, as many as it should have
LACKED = 1 << 20  # a value that is lacking, in values that are too many


class Vectors(NamedTuple):
    """The vectors of a table and who waits with each."""

    values: np.ndarray  # int32[vector, attribute]; attribute 0 is the primary one
    alike: Alike
    cursor: np.ndarray  # int64[vector]: the place in alike.rows of the first waiting row, or before it
    taken: np.ndarray  # bool[row]


class Tree(NamedTuple):
    """Node 0 is over all vectors, root[b] over those of bucket b; left[i] and left[i] + 1 stand below node i."""

    begin: np.ndarray  # int64[node]: vectors begin to end are below it
    end: np.ndarray
    left: np.ndarray  # int64[node]: -1 for a leaf
    parent: np.ndarray
    first: np.ndarray  # int64[node]: the first waiting row, or NOBODY; or an earlier one that was taken since
    shared: np.ndarray  # int32[node, attribute]: a value, or MIXED
    root: np.ndarray  # int64[bucket]


class Composition(NamedTuple):
    """What the group under construction holds, and what the next row's values cost.

    The values of all attributes stand one after the other: those of attribute a from offset[a] on.
    """

    state: np.ndarray  # int64[value]: NEW, SOME or FULL; and one more, a bucket of which no row can be taken
    times: np.ndarray  # int64[value]: the rows that hold it, unless it is NEW
    common: np.ndarray  # bool[value]: l_i of these are enough
    offset: np.ndarray  # int64[attribute]
    ls: np.ndarray
    most: np.ndarray  # int64[attribute]: the rows that should hold one value
    values: np.ndarray  # int64[attribute]: how many are held
    enough: np.ndarray  # int64[attribute]: how many of them are common
    full: np.ndarray  # int64[attribute]: how many of them are FULL
    lack: np.ndarray  # int64[attribute, state]: P(t, G) of Definition 5; FORBIDDEN for a second primary value
    price: np.ndarray  # int64[attribute, state]: LACKED times that, and 1 for what is too much
    marked: np.ndarray  # int64: values that are not NEW
    marks: np.ndarray  # int64[1]: how many


def kinds_of(
    columns: Sequence[npt.NDArray[np.int32]], sizes: Sequence[int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """(the vector of each row, the values of each vector): combinations of codes, numbered in their order."""
    kinds, count = columns[0].astype(np.int64), int(sizes[0])
    parts = []
    for codes, size in zip(columns[1:], sizes[1:], strict=True):
        kinds *= int(size)
        kinds += codes
        kinds, present = _renumbered(kinds, count * int(size))
        parts.append(((present // int(size)).astype(np.int32), (present % int(size)).astype(np.int32)))
        count = present.size
    if not parts:
        kinds, present = _renumbered(kinds, count)
        return kinds, present[:, None].astype(np.int32)
    chosen = np.arange(count, dtype=np.int32)
    values = []
    for before, last in reversed(parts):
        values.append(last[chosen])
        chosen = before[chosen]
    return kinds, np.stack([chosen, *reversed(values)], axis=1)


def _renumbered(keys, room):
    """(each key's place among the different ones, those)."""
    if room <= 2 * keys.size + 1024:
        return _renumbered_by_counting(keys, room)
    present, places = np.unique(keys, return_inverse=True)
    return places, present


@njit(cache=True)
def _renumbered_by_counting(keys, room):
    place = np.zeros(room, np.int32)
    for key in keys:
        place[key] = 1
    present = np.flatnonzero(place)
    place[present] = np.arange(present.size)
    for i in range(keys.size):
        keys[i] = place[keys[i]]
    return keys, present


def waiting(kinds, values, buckets):
    """The vectors with all their rows waiting; kinds[row] is the vector of a row in drawn order."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(kinds, minlength=values.shape[0]))])
    first = np.searchsorted(values[:, 0], np.arange(buckets + 1))
    alike = Alike(stable_order(kinds, values.shape[0]), kinds, starts, values[:, 0].astype(np.int64), first)
    return Vectors(values, alike, starts[:-1].copy(), np.zeros(kinds.size, np.bool_))


@njit(cache=True)
def head(vectors, vector):
    """The first waiting row of a vector."""
    position, end = vectors.cursor[vector], vectors.alike.starts[vector + 1]
    while position < end and vectors.taken[vectors.alike.rows[position]]:
        position += 1
    vectors.cursor[vector] = position
    return vectors.alike.rows[position] if position < end else NOBODY


@njit(cache=True)
def plant(vectors):
    """The tree over all vectors: cut between buckets first, then within them."""
    count, attributes = vectors.values.shape
    buckets = vectors.alike.first.size - 1
    most = 2 * buckets + 4 * (count // LEAF) + 2
    begin, end = np.empty(most, np.int64), np.empty(most, np.int64)
    left, parent = np.full(most, -1, np.int64), np.full(most, -1, np.int64)
    low, high = np.empty(most, np.int64), np.empty(most, np.int64)  # buckets of a node
    low[0], high[0] = 0, buckets
    root = np.zeros(buckets, np.int64)
    begin[0], end[0] = 0, count
    used, node = 1, 0
    while node < used:
        alone = high[node] - low[node] == 1
        if alone and (node == 0 or high[parent[node]] - low[parent[node]] > 1):
            root[low[node]] = node
        if not alone or end[node] - begin[node] > LEAF:
            middle = (low[node] + high[node]) // 2
            cut = (begin[node] + end[node]) // 2 if alone else vectors.alike.first[middle]
            left[node] = used
            begin[used], end[used], parent[used] = begin[node], cut, node
            begin[used + 1], end[used + 1], parent[used + 1] = cut, end[node], node
            low[used], high[used] = low[node], high[node] if alone else middle
            low[used + 1], high[used + 1] = low[node] if alone else middle, high[node]
            used += 2
        node += 1
    tree = Tree(
        begin[:used].copy(),
        end[:used].copy(),
        left[:used].copy(),
        parent[:used].copy(),
        np.full(used, NOBODY),
        np.full((used, attributes), MIXED, np.int32),
        root,
    )
    for node in range(used - 1, -1, -1):
        tree.first[node] = _first(vectors, tree, node)
        for a in range(attributes):
            tree.shared[node, a] = _shared(vectors, tree, node, a)
    return tree


@njit(cache=True)
def _shared(vectors, tree, node, a):
    """The value of an attribute that all vectors below a node hold, or MIXED."""
    left = tree.left[node]
    if left >= 0:
        if tree.begin[left] == tree.end[left]:
            return tree.shared[left + 1, a]
        if tree.begin[left + 1] == tree.end[left + 1] or tree.shared[left, a] == tree.shared[left + 1, a]:
            return tree.shared[left, a]
        return MIXED
    for vector in range(tree.begin[node] + 1, tree.end[node]):
        if vectors.values[vector, a] != vectors.values[vector - 1, a]:
            return MIXED
    return vectors.values[tree.begin[node], a] if tree.begin[node] < tree.end[node] else MIXED


@njit(cache=True)
def _first(vectors, tree, node):
    """The first row that waits below a node, as its children know it."""
    left = tree.left[node]
    if left >= 0:
        return min(tree.first[left], tree.first[left + 1])
    first = NOBODY
    for vector in range(tree.begin[node], tree.end[node]):
        first = min(first, head(vectors, vector))
    return first


@njit(cache=True)
def _learn(tree, leaf, first):
    """A leaf's first row has been taken since somebody looked; those above it may hear of it."""
    node = leaf
    while node >= 0 and tree.first[node] != first:
        tree.first[node] = first
        node = tree.parent[node]
        if node >= 0:
            first = min(tree.first[tree.left[node]], tree.first[tree.left[node] + 1])


@njit(cache=True)
def penalty(composition, values):
    """P(t, G) of Definition 5 for a row that holds these values; FORBIDDEN or more where it may not join."""
    total = 0
    for a in range(values.size):
        if values[a] != MIXED:
            total += composition.lack[a, composition.state[composition.offset[a] + values[a]]]
    return total


def empty_composition(sizes, ls, common):
    """A group without rows, of attributes with so many values; no value should fill more than 1/l_i of its l rows."""
    attributes, values = len(sizes), sum(sizes)
    return Composition(
        state=np.append(np.full(values, NEW, np.int64), SOME),
        times=np.zeros(values, np.int64),
        common=common,
        offset=np.cumsum([0, *sizes[:-1]]),
        ls=ls,
        most=np.maximum(ls[0] // ls, 1),
        values=np.zeros(attributes, np.int64),
        enough=np.zeros(attributes, np.int64),
        full=np.zeros(attributes, np.int64),
        lack=np.zeros((attributes, 3), np.int64),
        price=np.zeros((attributes, 3), np.int64),
        marked=np.empty(values, np.int64),
        marks=np.zeros(1, np.int64),
    )


@njit(cache=True)
def nobody(composition):
    """The place in `state` of a bucket of which no row can be taken."""
    return composition.state.size - 1


@njit(cache=True)
def clear(composition):
    """Nothing is held yet, so nothing can be repeated."""
    for value in composition.marked[: composition.marks[0]]:
        composition.state[value] = NEW
    composition.marks[0] = 0
    composition.values[:], composition.enough[:], composition.full[:] = 0, 0, 0
    for a in range(composition.ls.size):
        _set_costs(composition, a)


@njit(cache=True)
def add_values(composition, values):
    """The group holds these values too."""
    for a in range(composition.ls.size):
        value = composition.offset[a] + values[a]
        if composition.state[value] == NEW:
            composition.marked[composition.marks[0]] = value
            composition.marks[0] += 1
            composition.times[value] = 0
            composition.values[a] += 1
            composition.enough[a] += composition.common[value]
            composition.state[value] = SOME
        composition.times[value] += 1
        if composition.times[value] == composition.most[a]:
            composition.state[value] = FULL
            composition.full[a] += 1
        _set_costs(composition, a)


@njit(cache=True)
def _set_costs(composition, a):
    """What each state of a value costs, after the group has changed."""
    again = FORBIDDEN if a == 0 else max(composition.ls[a] - composition.values[a], 0)
    composition.lack[a, SOME] = composition.lack[a, FULL] = again
    composition.price[a, NEW] = composition.enough[a] >= composition.ls[a]
    composition.price[a, SOME], composition.price[a, FULL] = LACKED * again, LACKED * again + 1


@njit(cache=True)
def lowest_price(composition):
    """What no row can fall below: an attribute costs 1 where all held values are FULL and a NEW one is one too many."""
    total = 0
    for a in range(1, composition.ls.size):
        total += composition.full[a] == composition.values[a] and composition.enough[a] >= composition.ls[a]
    return total


@njit(cache=True)
def least(vectors, tree, composition, root, stack, best):
    """(penalty, row, vector) of the first row of least penalty below `root`, if it comes before `best`.

    Nodes learn of taken rows when a search comes by, not before: a row too early in `first` is still a bound.
    """
    cost, row, best_vector = best
    top = 0
    stack[0] = root
    while top >= 0:
        node = stack[top]
        top -= 1
        first = tree.first[node]
        if first == NOBODY or (cost == 0 and first >= row):
            continue
        bound = penalty(composition, tree.shared[node])
        if bound > cost or (bound == cost and first >= row):
            continue
        left = tree.left[node]
        if left >= 0:
            near = left + (tree.first[left + 1] < tree.first[left])
            stack[top + 1] = 2 * left + 1 - near
            stack[top + 2] = near
            top += 2
            continue
        earliest = NOBODY
        for vector in range(tree.begin[node], tree.end[node]):
            first = head(vectors, vector)
            earliest = min(earliest, first)
            if first != NOBODY:
                paid = penalty(composition, vectors.values[vector])
                if paid < cost or (paid == cost and first < row):
                    cost, row, best_vector = paid, first, vector
        _learn(tree, node, earliest)
    return cost, row, best_vector
