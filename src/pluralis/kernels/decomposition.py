"""Forming the groups of a decomposition: as printed or by slack; and choosing groups for the rows that are left.

`formed[g]` are the rows of group g, one from each of l buckets. Rows are numbered in drawn order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pluralis.kernels.order import stable_order
from pluralis.kernels.schedule import larger_than, play_again, tournament
from pluralis.kernels.vectors import (
    FORBIDDEN,
    LACKED,
    NEW,
    NOBODY,
    add_values,
    clear,
    head,
    least,
    lowest_price,
    nobody,
    penalty,
    plant,
)

STACK = 256  # nodes that a search can have waiting: two for each level of a tree of fewer than 100
TRIES = 32


class Window(NamedTuple):
    """The first rows that wait, of all buckets, in drawn order. Those that were taken stay for a while, as nobody."""

    rows: np.ndarray
    vectors: np.ndarray
    values: np.ndarray  # int64[row, attribute]: places in `Composition.state`
    state: np.ndarray  # int64[4]: where it begins and ends; how many rows wait; the row to go on from


@njit(cache=True)
def _window(near, l, attributes):
    """An empty one: so many rows may wait in it, and some that were taken may stay."""
    room = near + near // 4 + l
    values = np.empty((room, attributes), np.int64)
    return Window(np.empty(room, np.int64), np.empty(room, np.int64), values, np.zeros(4, np.int64))


@njit(cache=True)
def _renew(window, vectors, composition, near):
    """Let the next rows in, until so many wait."""
    start, end, wait, row = window.state
    if end + near - wait > window.rows.size:
        start, end = 0, _forget_taken(window, composition)
    while start < end and window.values[start, 0] == nobody(composition):
        start += 1
    while wait < near and row < vectors.taken.size:
        if not vectors.taken[row]:
            window.rows[end], window.vectors[end] = row, vectors.alike.kind_of[row]
            for a in range(composition.ls.size):
                window.values[end, a] = composition.offset[a] + vectors.values[window.vectors[end], a]
            end += 1
            wait += 1
        row += 1
    window.state[:] = start, end, wait, row


@njit(cache=True)
def _forget_taken(window, composition):
    """Where the window ends without them."""
    kept = 0
    for i in range(window.state[0], window.state[1]):
        if window.values[i, 0] != nobody(composition):
            window.rows[kept], window.vectors[kept] = window.rows[i], window.vectors[i]
            for a in range(composition.ls.size):
                window.values[kept, a] = window.values[i, a]
            kept += 1
    return kept


@njit(cache=True)
def _take(window, row, composition):
    """A row waits no longer."""
    start, end = window.state[:2]
    index = start + np.searchsorted(window.rows[start:end], row)
    if index < end and window.rows[index] == row:
        window.values[index, 0] = nobody(composition)
        window.state[2] -= 1


@njit(cache=True)
def _near(window, composition):
    """(0, row, vector) of the first row of the window that has the least price, unless it lacks; or (FORBIDDEN, …)."""
    best, cheapest, lowest = -1, LACKED, lowest_price(composition)
    for i in range(window.state[0], window.state[1]):
        price = 0
        for a in range(composition.ls.size):
            price += composition.price[a, composition.state[window.values[i, a]]]
        if price < cheapest:
            best, cheapest = i, price
            if price == lowest:
                break
    if best < 0:
        return FORBIDDEN, NOBODY, np.int64(-1)
    return np.int64(0), window.rows[best], window.vectors[best]


@njit(cache=True)
def _bound_beyond(sizes, bound, composition, places, limit):
    """Slack: of the bound buckets only those with more rows than this may give the next row; -1 where any bucket may.

    A bucket with more than `limit` rows must give one to this group, or what remains is not eligible. While there are
    more places than such buckets, any bucket may give. Towards the end more buckets than places can be bound; then
    the fullest of them go first.
    """
    waiting, fullest = 0, 0
    for bucket in bound:
        if composition.state[bucket] == NEW:
            waiting += 1
            fullest = max(fullest, sizes[bucket])
    if waiting < places:
        return -1
    return limit if waiting == places else fullest - 1


@njit(cache=True)
def form_by_slack(vectors, composition, formed, near):
    """Fill each group with rows that slack allows; how many groups.

    Where any bucket may give, the next row is the first of least price among the first `near` that wait, if it repeats
    no value while others are lacking. Else it is the first of least penalty among all that may be taken.
    """
    l = formed.shape[1]
    tree = plant(vectors)
    alike = vectors.alike
    sizes = alike.starts[alike.first[1:]] - alike.starts[alike.first[:-1]]
    top = tournament(sizes)
    filled, left, group = np.sum(sizes > 0), alike.rows.size, 0
    room = np.empty(min(2 * l, sizes.size), np.int64)
    stack = np.empty(STACK, np.int64)
    window = _window(near, l, composition.ls.size)
    while filled >= l:
        clear(composition)
        limit = left // l - 1
        bound = room[: larger_than(sizes, top, limit, room)]
        _renew(window, vectors, composition, near)
        for place in range(l):
            beyond = _bound_beyond(sizes, bound, composition, l - place, limit)
            best = (FORBIDDEN, NOBODY, np.int64(-1))
            if beyond < 0:
                best = _near(window, composition)
                if best[0] > 0:
                    best = least(vectors, tree, composition, 0, stack, best)
            else:
                for bucket in bound:
                    if sizes[bucket] > beyond and composition.state[bucket] == NEW:
                        best = least(vectors, tree, composition, tree.root[bucket], stack, best)
            formed[group, place] = best[1]
            add_values(composition, vectors.values[best[2]])
        for row in formed[group]:
            bucket = alike.bucket_of[alike.kind_of[row]]
            vectors.taken[row] = True
            _take(window, row, composition)
            sizes[bucket] -= 1
            filled -= sizes[bucket] == 0
            play_again(sizes, top, bucket)
        left -= l
        group += 1
    return group


@njit(cache=True)
def mixed(word, step):
    """Another word for each step, from one that was drawn (SplitMix64)."""
    z = word + np.uint64(step) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True)
def _any_of_least(values, composition, among, word):
    """A drawn one of those vectors that have least penalty.

    Vectors are drawn until one costs nothing; after some tries all are scored, and one of the best is drawn.
    """
    for step in range(TRIES):
        vector = among[np.int64(mixed(word, step) % np.uint64(among.size))]
        if penalty(composition, values[vector]) == 0:
            return vector
    cost, ties = FORBIDDEN, 0
    for vector in among:
        paid = penalty(composition, values[vector])
        if paid < cost:
            cost, ties = paid, 0
        ties += paid == cost
    skip = np.int64(mixed(word, TRIES) % np.uint64(ties))
    for vector in among:
        if penalty(composition, values[vector]) == cost:
            if skip == 0:
                return vector
            skip -= 1
    return among[0]


class Urn(NamedTuple):
    """Things in buckets, from which any can be drawn and taken: those of bucket b stand from low[b] on, left[b]."""

    things: np.ndarray
    spot: np.ndarray  # spot[thing] is where it stands
    low: np.ndarray
    left: np.ndarray


@njit(cache=True)
def _urn(things, low, left):
    spot = np.empty(things.size, np.int64)
    for index in range(things.size):
        spot[things[index]] = index
    return Urn(things, spot, low, left)


@njit(cache=True)
def _take_out(urn, bucket, thing):
    """The last thing of the bucket takes the place of one that is taken."""
    urn.left[bucket] -= 1
    last = urn.things[urn.low[bucket] + urn.left[bucket]]
    urn.things[urn.spot[thing]] = last
    urn.spot[last] = urn.spot[thing]


@njit(cache=True)
def _in(urn, bucket):
    return urn.things[urn.low[bucket] : urn.low[bucket] + urn.left[bucket]]


@njit(cache=True)
def form_as_printed(vectors, composition, schedule, words, formed):
    """Figure 1, lines 2-11: a random row of the first bucket, then from each next one a row of least penalty.

    Ties are broken at random among vectors, and a random row of the vector is taken.
    """
    alike = vectors.alike
    rows = np.bincount(alike.bucket_of[alike.kind_of], minlength=alike.first.size - 1)
    by_bucket = stable_order(alike.bucket_of[alike.kind_of], rows.size)
    free = _urn(by_bucket, alike.starts[alike.first[:-1]], rows)
    open_ = _urn(np.arange(vectors.cursor.size), alike.first, alike.first[1:] - alike.first[:-1])
    for group in range(schedule.shape[0]):
        clear(composition)
        for i in range(schedule.shape[1]):
            bucket, word = schedule[group, i], words[group * schedule.shape[1] + i]
            if i == 0:
                row = _in(free, bucket)[np.int64(word % np.uint64(free.left[bucket]))]
                vector = alike.kind_of[row]
            else:
                vector = _any_of_least(vectors.values, composition, _in(open_, bucket), word)
                row = head(vectors, vector)
            formed[group, i] = row
            add_values(composition, vectors.values[vector])
            vectors.taken[row] = True
            _take_out(free, bucket, row)
            if head(vectors, vector) == NOBODY:
                _take_out(open_, bucket, vector)


@njit(cache=True)
def groups_for(vectors, composition, formed, rows, literal):
    """The group for each of `rows`: the first of least penalty; among those without its primary value unless literal.

    Where that is asked for, groups that took no other of `rows` come first.
    """
    kind_of, values = vectors.alike.kind_of, vectors.values
    chosen = np.full(rows.size, -1, np.int64)
    for i in range(rows.size):
        own_values = values[kind_of[rows[i]]]
        best = (np.int64(2), FORBIDDEN)
        for group in range(formed.shape[0]):
            clear(composition)
            for row in formed[group]:
                add_values(composition, values[kind_of[row]])
            crowded = np.int64(0)
            for j in range(i):
                if chosen[j] == group:
                    add_values(composition, values[kind_of[rows[j]]])
                    crowded = np.int64(not literal)
            if literal:
                composition.lack[0] = 0
            cost = penalty(composition, own_values)
            if cost < FORBIDDEN and (crowded, cost) < best:
                best = (crowded, cost)
                chosen[i] = group
                if crowded == 0 and cost == 0:
                    break
    return chosen
