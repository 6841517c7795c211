"""Max-l: which buckets give a row to which group, from the histogram alone.

Each group takes one row from each of the l fullest buckets (equal ones in domain order). The schedule makes as
many groups as can be made (BSGI Theorem 1); where no bucket holds more than 1/l of the rows, at most l-1 rows are
left, no two of one bucket (Corollary 1).
"""

from __future__ import annotations

import numpy as np
from numba import njit


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
def max_l_schedule(sizes, l):
    """schedule[g] = the l buckets that give a row to group g."""
    left = sizes.copy()
    ranking = np.argsort(-left, kind="mergesort")
    schedule = np.empty((left.sum() // l, l), np.int64)
    groups = 0
    while ranking.size >= l and left[ranking[l - 1]] > 0:
        for i in range(l):
            schedule[groups, i] = ranking[i]
            left[ranking[i]] -= 1
        restore_ranking(left, ranking)
        groups += 1
    return schedule[:groups]
