"""Keeping people apart in groups that were formed without looking at people.

A row whose person stands in its group already changes places with a row of another group that holds the same
sensitive values, or at least the same value of the attribute that makes the buckets: groups keep their values. A row
that finds nobody to change with leaves its group; a group of fewer than l rows is given up; rows without a group join
one that lacks their bucket and their person.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pluralis.kernels.order import stable_order
from pluralis.kernels.place import chains, join

NO_GROUP = -1
FEWER = "lower l, or suppress people with many rows"  # what helps where rows find no place
LOOKS = 50  # rows looked at for each row of the table, before those still without a partner count as stuck


class Alike(NamedTuple):
    """Rows by the sensitive values they hold: kind after kind, bucket after bucket, each kind in drawn order."""

    rows: np.ndarray
    kind_of: np.ndarray  # int[row]
    starts: np.ndarray  # int64[kind + 1]: rows[starts[k] : starts[k + 1]] are of kind k
    bucket_of: np.ndarray  # int[kind]
    first: np.ndarray  # int64[bucket + 1]: the kinds of bucket b are first[b] to first[b + 1]


def keep_apart(person, alike, group_of, l):
    """The same groups with nobody twice; NO_GROUP for rows that found no place. Numbers may have gaps."""
    groups = int(group_of.max()) + 1
    group_of, stuck = _all_exchanged(person, alike, group_of, groups)
    if stuck.size:
        _join_others(person, alike, group_of, stuck, l, groups)
    return group_of


def exchanged(person, alike, group_of):
    """The same groups with nobody twice, each of rows of the same kinds; NO_GROUP for those that cannot be had so.

    Rows without a group may be exchanged for others of their kind.
    """
    groups = int(group_of.max()) + 1
    loose = np.flatnonzero(group_of < 0)
    alone = group_of.copy()
    alone[loose] = groups + np.arange(loose.size)
    alone, stuck = _all_exchanged(person, alike, alone, groups + loose.size)
    broken = np.zeros(groups + loose.size, np.bool_)
    broken[groups:] = True
    broken[alone[stuck]] = True
    alone[broken[alone]] = NO_GROUP
    return alone


def _all_exchanged(person, alike, group_of, groups):
    """(the groups once rows have changed places, the rows whose person still stands in their group twice)."""
    group_of = group_of.copy()
    members = stable_order(group_of, groups)
    starts = np.concatenate([[0], np.cumsum(np.bincount(group_of, minlength=groups))])
    seen = np.full(int(person.max()) + 1, NO_GROUP, np.int64)
    return group_of, _exchange(person, alike, group_of, members, starts, seen)


@njit(cache=True)
def _has(person, members, starts, group, who, but):
    """Whether a person stands in a group, apart from the row `but`."""
    for index in range(starts[group], starts[group + 1]):
        if person[members[index]] == who and members[index] != but:
            return True
    return False


@njit(cache=True)
def _partner(person, alike, group_of, members, starts, place, low, high, looks):
    """(the first row after `place`, up to `high` and on from `low`, that can change places or -1, looks left)."""
    row = alike.rows[place]
    for step in range(1, high - low):
        if looks <= 0:
            break
        looks -= 1
        other = alike.rows[low + (place - low + step) % (high - low)]
        own_group, other_group = group_of[row], group_of[other]
        if own_group == other_group or _has(person, members, starts, other_group, person[row], other):
            continue
        if not _has(person, members, starts, own_group, person[other], row):
            return other, looks
    return -1, looks


@njit(cache=True)
def _exchange(person, alike, group_of, members, starts, seen):
    """Let every row whose person stands in its group already change places; the rows that could not."""
    slot = np.empty(members.size, np.int64)
    for index in range(members.size):
        slot[members[index]] = index
    stuck = np.empty(members.size, np.int64)
    count, looks = 0, LOOKS * members.size
    for group in range(starts.size - 1):
        for index in range(starts[group], starts[group + 1]):
            row = members[index]
            if seen[person[row]] == group:
                kind = alike.kind_of[row]
                bucket = alike.bucket_of[kind]
                low, high = alike.starts[kind], alike.starts[kind + 1]
                place = low + np.searchsorted(alike.rows[low:high], row)
                other, looks = _partner(person, alike, group_of, members, starts, place, low, high, looks)
                if other < 0:
                    low, high = alike.starts[alike.first[bucket]], alike.starts[alike.first[bucket + 1]]
                    other, looks = _partner(person, alike, group_of, members, starts, place, low, high, looks)
                if other < 0:
                    stuck[count] = row
                    count += 1
                    continue
                there = slot[other]
                members[index], members[there] = other, row
                slot[row], slot[other] = there, index
                group_of[row], group_of[other] = group_of[other], group
                row = other
            seen[person[row]] = group
    return stuck[:count]


@njit(cache=True)
def _fits(person, alike, groups, group, row):
    """Whether a group lacks a row's bucket and person."""
    member = groups.head[group]
    while member >= 0:
        if person[member] == person[row]:
            return False
        if alike.bucket_of[alike.kind_of[member]] == alike.bucket_of[alike.kind_of[row]]:
            return False
        member = groups.link[member]
    return True


@njit(cache=True)
def _join_others(person, alike, group_of, stuck, l, count):
    """Take stuck rows out, give up groups that are too small without them, and find a group for each row."""
    sizes = np.zeros(count, np.int64)
    for row in range(group_of.size):
        sizes[group_of[row]] += 1
    for row in stuck:
        sizes[group_of[row]] -= 1
        group_of[row] = NO_GROUP
    for row in range(group_of.size):
        if group_of[row] >= 0 and sizes[group_of[row]] < l:
            group_of[row] = NO_GROUP
    groups = chains(group_of, count)
    looks = LOOKS * group_of.size
    for row in range(group_of.size):
        if group_of[row] >= 0:
            continue
        for group in range(count):
            looks -= 1
            if looks <= 0:
                return
            if groups.size[group] > 0 and _fits(person, alike, groups, group, row):
                join(groups, group, row)
                group_of[row] = group
                break
