"""Forming the groups of a decomposition: as printed or by slack; and choosing groups for the rows that are left.

`formed[g]` are the rows of group g, one from each of l buckets. Rows are numbered in drawn order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pluralis.kernels.order import stable_order
from pluralis.kernels.schedule import larger_than, play_again, tournament
from pluralis.kernels.vectors import FORBIDDEN, NOBODY, begin, head, hold, least, penalty, plant

STACK = 256  # nodes that a search can have waiting: two for each level of a tree of fewer than 100
WINDOW = 128
TRIES = 32


class Window(NamedTuple):
    """The first rows that wait, of all buckets, in drawn order: most searches need look no further."""

    rows: np.ndarray
    vectors: np.ndarray
    state: np.ndarray  # how many there are; the row to go on from


@njit(cache=True)
def _renew(window, vectors):
    """Forget rows that wait no longer, and let the next ones in."""
    count = 0
    for i in range(window.state[0]):
        if not vectors.taken[window.rows[i]]:
            window.rows[count], window.vectors[count] = window.rows[i], window.vectors[i]
            count += 1
    row = window.state[1]
    while count < WINDOW and row < vectors.taken.size:
        if not vectors.taken[row]:
            window.rows[count], window.vectors[count] = row, vectors.alike.kind_of[row]
            count += 1
        row += 1
    window.state[:] = count, row


@njit(cache=True)
def _near(window, vectors, held, group):
    """(0, row, vector) of the first row of the window without penalty, or (FORBIDDEN, …)."""
    for i in range(window.state[0]):
        if penalty(held, group, vectors.values[window.vectors[i]]) == 0:
            return np.int64(0), window.rows[i], window.vectors[i]
    return FORBIDDEN, NOBODY, np.int64(-1)


@njit(cache=True)
def _bound_beyond(sizes, bound, held, group, places, limit):
    """Slack: of the bound buckets only those with more rows than this may give the next row; 0 where any bucket may.

    A bucket with more than `limit` rows must give one to this group, or what remains is not eligible. While there are
    more places than such buckets, any bucket may give. Towards the end more buckets than places can be bound; then
    the fullest of them go first.
    """
    waiting, fullest = 0, 0
    for bucket in bound:
        if held.stamp[bucket] != group:
            waiting += 1
            fullest = max(fullest, sizes[bucket])
    if waiting < places:
        return 0
    return limit if waiting == places else fullest - 1


@njit(cache=True)
def form_by_slack(vectors, held, formed):
    """Fill each group with the first rows of least penalty that slack allows; how many groups."""
    l = formed.shape[1]
    tree = plant(vectors)
    alike = vectors.alike
    sizes = alike.starts[alike.first[1:]] - alike.starts[alike.first[:-1]]
    top = tournament(sizes)
    filled, left, group = np.sum(sizes > 0), alike.rows.size, 0
    room = np.empty(min(2 * l, sizes.size), np.int64)
    stack = np.empty(STACK, np.int64)
    window = Window(np.empty(WINDOW, np.int64), np.empty(WINDOW, np.int64), np.zeros(2, np.int64))
    while filled >= l:
        begin(held)
        limit = left // l - 1
        bound = room[: larger_than(sizes, top, limit, room)]
        _renew(window, vectors)
        for place in range(l):
            beyond = _bound_beyond(sizes, bound, held, group, l - place, limit)
            best = (FORBIDDEN, NOBODY, np.int64(-1))
            if beyond == 0:
                best = _near(window, vectors, held, group)
                if best[0] > 0:
                    best = least(vectors, tree, held, group, 0, stack, best)
            else:
                for bucket in bound:
                    if sizes[bucket] > beyond and held.stamp[bucket] != group:
                        best = least(vectors, tree, held, group, tree.root[bucket], stack, best)
            formed[group, place] = best[1]
            hold(held, group, vectors.values[best[2]])
        for row in formed[group]:
            bucket = alike.bucket_of[alike.kind_of[row]]
            vectors.taken[row] = True
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
def _any_of_least(values, held, group, among, word):
    """A drawn one of those vectors that have least penalty.

    Vectors are drawn until one costs nothing; after some tries all are scored, and one of the best is drawn.
    """
    for step in range(TRIES):
        vector = among[np.int64(mixed(word, step) % np.uint64(among.size))]
        if penalty(held, group, values[vector]) == 0:
            return vector
    cost, ties = FORBIDDEN, 0
    for vector in among:
        paid = penalty(held, group, values[vector])
        if paid < cost:
            cost, ties = paid, 0
        ties += paid == cost
    skip = np.int64(mixed(word, TRIES) % np.uint64(ties))
    for vector in among:
        if penalty(held, group, values[vector]) == cost:
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
    for at in range(things.size):
        spot[things[at]] = at
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
def form_as_printed(vectors, held, schedule, words, formed):
    """Figure 1, lines 2-11: a random row of the first bucket, then from each next one a row of least penalty.

    Ties are broken at random among vectors, and a random row of the vector is taken.
    """
    alike = vectors.alike
    rows = np.bincount(alike.bucket_of[alike.kind_of], minlength=alike.first.size - 1)
    by_bucket = stable_order(alike.bucket_of[alike.kind_of], rows.size)
    free = _urn(by_bucket, alike.starts[alike.first[:-1]], rows)
    open_ = _urn(np.arange(vectors.cursor.size), alike.first, alike.first[1:] - alike.first[:-1])
    for group in range(schedule.shape[0]):
        begin(held)
        for i in range(schedule.shape[1]):
            bucket, word = schedule[group, i], words[group * schedule.shape[1] + i]
            if i == 0:
                row = _in(free, bucket)[np.int64(word % np.uint64(free.left[bucket]))]
                vector = alike.kind_of[row]
            else:
                vector = _any_of_least(vectors.values, held, group, _in(open_, bucket), word)
                row = head(vectors, vector)
            formed[group, i] = row
            hold(held, group, vectors.values[vector])
            vectors.taken[row] = True
            _take_out(free, bucket, row)
            if head(vectors, vector) == NOBODY:
                _take_out(open_, bucket, vector)


@njit(cache=True)
def groups_for(vectors, held, formed, rows, literal):
    """The group for each of `rows`: the first of least penalty; among those without its primary value unless literal.

    Where that is asked for, groups that took no other of `rows` come first.
    """
    kind_of, values = vectors.alike.kind_of, vectors.values
    chosen = np.full(rows.size, -1, np.int64)
    mark = -1
    for i in range(rows.size):
        mine = values[kind_of[rows[i]]]
        best = (np.int64(2), FORBIDDEN)
        for group in range(formed.shape[0]):
            mark -= 1
            begin(held)
            for row in formed[group]:
                hold(held, mark, values[kind_of[row]])
            crowded = np.int64(0)
            for j in range(i):
                if chosen[j] == group:
                    hold(held, mark, values[kind_of[rows[j]]])
                    crowded = np.int64(not literal)
            if literal:
                held.cost[0] = 0
            cost = penalty(held, mark, mine)
            if cost < FORBIDDEN and (crowded, cost) < best:
                best = (crowded, cost)
                chosen[i] = group
                if crowded == 0 and cost == 0:
                    break
    return chosen
