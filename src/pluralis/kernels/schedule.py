"""Max-l: which buckets give a row to which group, from the histogram alone.

Each group takes one row from each of the l fullest buckets (equal ones in domain order). The schedule makes as
many groups as can be made (BSGI Theorem 1); where no bucket holds more than 1/l of the rows, at most l-1 rows are
left, no two of one bucket (Corollary 1).

Where there are many buckets the fullest is found by a tournament: `top[i]` is the fuller one of `top[2i]` and
`top[2i+1]`, so that `top[1]` is the fullest, and a bucket whose size changed plays its few games again.
"""

from __future__ import annotations

import numpy as np
from numba import njit

FEW = 64  # buckets that are sorted faster than they play


@njit(cache=True)
def fuller(sizes, a, b):
    """Whether bucket a comes before bucket b."""
    return sizes[a] > sizes[b] or (sizes[a] == sizes[b] and a < b)


@njit(cache=True)
def restore_ranking(sizes, ranking):
    """Put nearly sorted buckets back in order, fullest first."""
    for i in range(1, ranking.size):
        bucket = ranking[i]
        j = i
        while j > 0 and fuller(sizes, bucket, ranking[j - 1]):
            ranking[j] = ranking[j - 1]
            j -= 1
        ranking[j] = bucket


@njit(cache=True)
def _play(sizes, top, node):
    """The fuller one of a node's two buckets; -1 stands for none."""
    a, b = top[2 * node], top[2 * node + 1]
    if b < 0 or (a >= 0 and fuller(sizes, a, b)):
        return a
    return b


@njit(cache=True)
def tournament(sizes):
    """The tree of all buckets."""
    room = 1
    while room < sizes.size:
        room *= 2
    top = np.full(2 * room, -1, np.int64)
    for bucket in range(sizes.size):
        top[room + bucket] = bucket
    for node in range(room - 1, 0, -1):
        top[node] = _play(sizes, top, node)
    return top


@njit(cache=True)
def play_again(sizes, top, bucket):
    """Bring the tree in order after the size of one bucket changed."""
    node = (top.size // 2 + bucket) // 2
    while node > 0:
        top[node] = _play(sizes, top, node)
        node //= 2


@njit(cache=True)
def larger_than(sizes, top, limit, buckets):
    """Fill `buckets` with those of more than `limit` rows, in domain order; how many there are."""
    count, node = 0, 1
    while node > 0:
        if top[node] >= 0 and sizes[top[node]] > limit:
            if 2 * node < top.size:
                node = 2 * node
                continue
            buckets[count] = top[node]
            count += 1
        while node % 2 == 1:
            node //= 2
        node += node > 0  # the right child of the same parent
    return count


@njit(cache=True)
def _schedule_of_few(left, schedule):
    l = schedule.shape[1]
    ranking = np.argsort(-left, kind="mergesort")
    groups = 0
    while ranking.size >= l and left[ranking[l - 1]] > 0:
        for i in range(l):
            schedule[groups, i] = ranking[i]
            left[ranking[i]] -= 1
        restore_ranking(left, ranking)
        groups += 1
    return groups


@njit(cache=True)
def _schedule_of_many(left, schedule):
    l = schedule.shape[1]
    top = tournament(left)
    filled = np.sum(left > 0)
    groups = 0
    while filled >= l:
        for i in range(l):
            bucket = top[1]
            schedule[groups, i] = bucket
            left[bucket] = -left[bucket]  # it plays no more for this group
            play_again(left, top, bucket)
        for bucket in schedule[groups]:
            left[bucket] = -left[bucket] - 1
            filled -= left[bucket] == 0
            play_again(left, top, bucket)
        groups += 1
    return groups


@njit(cache=True)
def max_l_schedule(sizes, l):
    """schedule[g] = the l buckets that give a row to group g."""
    left = sizes.copy()
    schedule = np.empty((left.sum() // l, l), np.int64)
    groups = _schedule_of_few(left, schedule) if left.size <= FEW else _schedule_of_many(left, schedule)
    return schedule[:groups]


@njit(cache=True)
def resorted_schedule(sizes, l):
    """The same with other ties: the list of buckets is sorted after each group, and equal ones keep their order.

    Once all that have rows have equally many, they stand in domain order again.
    """
    left = sizes.copy()
    ranking = np.argsort(-left, kind="mergesort")
    schedule = np.empty((left.sum() // l, l), np.int64)
    groups, filled = 0, np.sum(left > 0)
    while filled >= l:
        if left[ranking[0]] == left[ranking[filled - 1]]:
            ranking[:filled].sort()
        schedule[groups] = ranking[:l]
        least = left[ranking[l - 1]]
        left[ranking[:l]] -= 1
        i = 1
        while i < filled and (i < l or left[ranking[i]] == least):  # others stay behind all that gave
            bucket = ranking[i]
            j = i
            while j > 0 and left[ranking[j - 1]] < left[bucket]:
                ranking[j] = ranking[j - 1]
                j -= 1
            ranking[j] = bucket
            i += 1
        while filled > 0 and left[ranking[filled - 1]] == 0:
            filled -= 1
        groups += 1
    return schedule[:groups]
