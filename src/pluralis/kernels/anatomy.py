"""Dealing the rows of buckets to groups as the Max-l schedule says, and placing those that are left."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def deal(schedule, by_bucket, starts, group_of):
    """Group g takes the next row of each of its buckets, schedule[g]; how many rows of each bucket were taken.

    Bucket b is by_bucket[starts[b] : starts[b + 1]].
    """
    next_of = starts[:-1].copy()
    for group in range(schedule.shape[0]):
        for bucket in schedule[group]:
            group_of[by_bucket[next_of[bucket]]] = group
            next_of[bucket] += 1
    return next_of - starts[:-1]


@njit(cache=True)
def place_drawn(mine, words, group_of, sizes, usual, holds):
    """Put the row mine[-1] into a drawn group that holds no other of `mine`, the rows of its bucket.

    Groups of the usual size come first. `holds` is False for every group before and after. Returns the group.
    """
    for row in mine[:-1]:
        holds[group_of[row]] = True
    lacking, ordinary = 0, 0
    for group in range(sizes.size):
        lacking += not holds[group]
        ordinary += not holds[group] and sizes[group] == usual
    places = ordinary if ordinary > 0 else lacking
    skip = words % np.uint64(max(places, 1))
    found = -1
    for group in range(sizes.size):
        if not holds[group] and (ordinary == 0 or sizes[group] == usual):
            if skip == 0:
                found = group
                break
            skip -= np.uint64(1)
    for row in mine[:-1]:
        holds[group_of[row]] = False
    if found >= 0:
        group_of[mine[-1]] = found
        sizes[found] += 1
    return found
