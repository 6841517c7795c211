"""Choosing rows to suppress until no value of any attribute fills more than its share of what is kept."""

from __future__ import annotations

import numpy as np
from numba import njit

NEARLY = 8  # a value that fills all but an eighth of its share is nearly too common
ROUNDS_A_VALUE = 8  # a value gives an eighth of what it must give at a time, so that others are looked at in between


@njit(cache=True)
def _worst(count, ls, kept):
    """(value, rows): which value must lose most rows to fill no more than 1/l of what is kept, and how many."""
    worst, most = -1, 0
    for value in range(count.size):
        beyond = count[value] * ls[value] - kept
        if beyond > 0 and -(-beyond // (ls[value] - 1)) > most:
            worst, most = value, -(-beyond // (ls[value] - 1))
    return worst, most


@njit(cache=True)
def trim(values, size, ls, starts, holders):
    """Lower `size[bucket]` until count x l <= kept holds for every value; as few rows as can be seen from here.

    `values[bucket]` are a bucket's values, `ls[value]` is what a value's attribute asks for, and
    `holders[starts[v]:starts[v + 1]]` are the buckets that hold v. Buckets that hold most values that are too common
    give first, in proportion to their size, and no more than half of it at a time.
    """
    buckets, attributes = values.shape
    count = np.zeros(ls.size, np.int64)
    for bucket in range(buckets):
        for a in range(attributes):
            count[values[bucket, a]] += size[bucket]
    kept = size.sum()
    score = np.empty(buckets, np.int64)
    able = np.zeros(2 * attributes + 1, np.int64)
    while kept > 0:
        worst, most = _worst(count, ls, kept)
        if worst < 0:
            return
        able[:] = 0
        worst_holders = holders[starts[worst] : starts[worst + 1]]
        for bucket in worst_holders:
            score[bucket] = 0
            for a in range(attributes):
                value = values[bucket, a]
                fill = count[value] * ls[value]
                score[bucket] += (fill > kept) + (fill > kept - kept // NEARLY)
            able[score[bucket]] += (size[bucket] + 1) // 2
        wanted = -(-most // ROUNDS_A_VALUE)
        least = 2 * attributes
        while able[least] < wanted:
            wanted -= able[least]
            least -= 1
        seen, given = 0, 0
        for bucket in worst_holders:
            gives = 0
            if score[bucket] > least:
                gives = (size[bucket] + 1) // 2
            elif score[bucket] == least:
                seen += (size[bucket] + 1) // 2
                gives = seen * wanted // able[least] - given
                given += gives
            size[bucket] -= gives
            kept -= gives
            for a in range(attributes):
                count[values[bucket, a]] -= gives
