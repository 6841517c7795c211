"""Dealing the rows of buckets to groups as the Max-l schedule says, and placing those that are left."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def place_drawn(bucket_rows, words, group_of, sizes, usual, holds):
    """Put the row bucket_rows[-1] into a drawn group that holds no other of `bucket_rows`.

    Groups of the usual size come first. `holds` is False for every group before and after. Returns the group.
    """
    for row in bucket_rows[:-1]:
        holds[group_of[row]] = True
    lacking, ordinary = 0, 0
    for group in range(sizes.size):
        lacking += not holds[group]
        ordinary += not holds[group] and sizes[group] == usual
    places = ordinary if ordinary > 0 else lacking
    skip = words % np.uint64(max(places, 1))
    chosen = -1
    for group in range(sizes.size):
        if not holds[group] and (ordinary == 0 or sizes[group] == usual):
            if skip == 0:
                chosen = group
                break
            skip -= np.uint64(1)
    for row in bucket_rows[:-1]:
        holds[group_of[row]] = False
    if chosen >= 0:
        group_of[bucket_rows[-1]] = chosen
        sizes[chosen] += 1
    return chosen
