"""Forming groups of l rows: the Select step of BSGI, by Max-l or by slack.

Rows are numbered in drawn order, so "a random row of a bucket" is its first free one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pluralis.kernels.forest import NOBODY, STACK, nearest, replace, take
from pluralis.kernels.marks import open_marks
from pluralis.kernels.schedule import restore_ranking
from pluralis.kernels.space import add_to_box, empty_box
from pluralis.kernels.twins import NO_TWIN

GROUPS, ASIDE, LEFT, FINISHED, FAILED = 0, 1, 2, 3, 4
GIVE_UP = 64


class Rules(NamedTuple):
    """Who may share a group: `caps[a]` rows of one value of sensitive attribute a, one row of each person."""

    sensitive: np.ndarray  # int32[attribute, row]; attribute 0 makes the buckets
    caps: np.ndarray
    person: np.ndarray  # int32[row], or empty
    needed: np.ndarray  # int64[attribute]: the value that the next row must hold, or -1


class Buckets(NamedTuple):
    """Rows by sensitive value."""

    sizes: np.ndarray  # free rows of each bucket
    ranking: np.ndarray  # fullest first
    rows: np.ndarray  # bucket after bucket, each in drawn order
    cursor: np.ndarray  # where the first free row may be
    taken: np.ndarray  # bool[row]
    twin: np.ndarray  # int64[row]: the next row that is equal in all values and person, or NO_TWIN
    holders: np.ndarray  # int64[attribute, value]: free rows that hold a value


class Outcome(NamedTuple):
    """What the selection has made so far."""

    groups: np.ndarray  # int64[group, l]
    aside: np.ndarray  # rows for which no group was found
    counters: np.ndarray  # GROUPS, ASIDE, LEFT, FINISHED, FAILED (in a row)


@njit(cache=True)
def _first_free(buckets, bucket):
    position = buckets.cursor[bucket]
    while buckets.taken[buckets.rows[position]]:
        position += 1
    buckets.cursor[bucket] = position
    return buckets.rows[position]


@njit(cache=True)
def _bound_beyond(rules, buckets, members, size, left, l):
    """Slack: only buckets with more rows than this may give the next row; 0 where every bucket may.

    A bucket with more than (left - l) // l rows must give one to this group, or what remains is not eligible. While
    there are more places than such buckets, any bucket may give. Towards the end more buckets than places can be
    bound; then the fullest of them go first, which keeps what is left over to one row a bucket.
    """
    limit = (left - l) // l
    waiting, fullest = 0, 0
    for i in range(buckets.ranking.size):
        bucket = buckets.ranking[i]
        if buckets.sizes[bucket] <= limit:
            break
        used = False
        for k in range(size):
            used |= rules.sensitive[0, members[k]] == bucket
        if not used:
            waiting += 1
            fullest = max(fullest, buckets.sizes[bucket])
    if waiting < l - size:
        return 0
    return limit if waiting == l - size else fullest - 1


@njit(cache=True)
def _next_row(space, forests, rules, buckets, group, room, limit):
    """Slack: the nearest row of any bucket that holds more than `limit` rows."""
    best, row = np.inf, NOBODY
    if limit == 0:
        return nearest(space, forests[0], 0, group, rules, room, best, row)[1]
    for i in range(buckets.ranking.size):
        bucket = buckets.ranking[i]
        if buckets.sizes[bucket] <= limit:
            break
        best, row = nearest(space, forests[1], bucket, group, rules, room, best, row)
    return row


@njit(cache=True)
def _quotas(rules, buckets, left, l, quotas):
    """Slack for the attributes that make no buckets: (value, rows) that this group must take of their commonest value.

    The groups still to come can take caps[a] rows of it each; what is beyond that must go now.
    """
    later = (left - l) // l
    for a in range(1, rules.caps.size):
        value = np.argmax(buckets.holders[a])
        quotas[a, 0] = value
        quotas[a, 1] = min(rules.caps[a], buckets.holders[a, value] - rules.caps[a] * later)


@njit(cache=True)
def _need(rules, members, size, l, quotas):
    """Ask for a value where the places left are just enough for its quota; whether any was asked for."""
    asked = False
    for a in range(1, rules.caps.size):
        have = 0
        for k in range(size):
            have += rules.sensitive[a, members[k]] == quotas[a, 0]
        rules.needed[a] = quotas[a, 0] if quotas[a, 1] - have >= l - size else -1
        asked |= rules.needed[a] >= 0
    return asked


@njit(cache=True)
def _next_fullest(space, forests, rules, buckets, group, room, rank):
    """Max-l: (the nearest row of the next bucket that has a fitting one, the rank to go on from)."""
    row = NOBODY
    while row == NOBODY and rank < buckets.ranking.size:
        bucket = buckets.ranking[rank]
        row = nearest(space, forests[1], bucket, group, rules, room, np.inf, NOBODY)[1]
        rank += 1
    return row, rank


@njit(cache=True)
def _give(space, forest, marks, row, twin):
    """Take a row out of a tree and let its twin, if it has one, stand in its place."""
    if twin == NO_TWIN:
        take(space, forest, marks.of_row, row)
    else:
        replace(forest, row, twin)


@njit(cache=True, nogil=True)
def select_groups(space, forests, rules, marks, buckets, outcome, slack, until):
    """Form groups until there are `until` of them or no more can be formed.

    `forests` is (one tree over all free rows, one tree for each bucket); Max-l needs the second only.
    """
    counters = outcome.counters
    l = outcome.groups.shape[1]
    box = empty_box(space.kinds.size)
    members = np.empty(l, np.int64)
    quotas = np.zeros((rules.caps.size, 2), np.int64)
    room = (np.empty(STACK, np.int64), np.empty(STACK))
    while counters[GROUPS] < until and not counters[FINISHED]:
        if buckets.ranking.size < l or buckets.sizes[buckets.ranking[l - 1]] == 0 or counters[FAILED] >= GIVE_UP:
            counters[FINISHED] = 1
            break
        members[0] = _first_free(buckets, buckets.ranking[0])
        add_to_box(space, box, members, 0, members[0])
        size, rank = 1, 1
        _quotas(rules, buckets, counters[LEFT], l, quotas)
        while size < l:
            asked = slack and _need(rules, members, size, l, quotas)
            group = (box, members, size, open_marks(marks, rules, members, size))
            if slack:
                limit = _bound_beyond(rules, buckets, members, size, counters[LEFT], l)
                row = _next_row(space, forests, rules, buckets, group, room, limit)
                if row == NOBODY and asked:
                    rules.needed[:] = -1
                    group = (box, members, size, open_marks(marks, rules, members, size))
                    row = _next_row(space, forests, rules, buckets, group, room, limit)
            else:
                row, rank = _next_fullest(space, forests, rules, buckets, group, room, rank)
            if row == NOBODY:
                break
            add_to_box(space, box, members, size, row)
            members[size] = row
            size += 1
        if size < l:
            counters[FAILED] += 1
            outcome.aside[counters[ASIDE]] = members[0]
            counters[ASIDE] += 1
            size = 1
        else:
            counters[FAILED] = 0
            outcome.groups[counters[GROUPS]] = members
            counters[GROUPS] += 1
        for i in range(size):
            twin = buckets.twin[members[i]]
            if slack:
                _give(space, forests[0], marks, members[i], twin)
            _give(space, forests[1], marks, members[i], twin)
            buckets.taken[members[i]] = True
            buckets.sizes[rules.sensitive[0, members[i]]] -= 1
            for a in range(1, rules.caps.size):
                buckets.holders[a, rules.sensitive[a, members[i]]] -= 1
        counters[LEFT] -= size
        restore_ranking(buckets.sizes, buckets.ranking)
