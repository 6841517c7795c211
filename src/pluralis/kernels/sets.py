"""The sets of values that groups hold."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def largest_share(groups, codes, common):
    """The largest share that one value has of the set of its group, each value weighed by how common it is.

    Rows come group by group.
    """
    last_seen = np.full(common.size, -1, np.int64)
    largest, most, total = 0.0, 0, 0
    for i in range(groups.size):
        if i and groups[i] != groups[i - 1]:
            largest = max(largest, most / total)
            most = total = 0
        if last_seen[codes[i]] != groups[i]:
            last_seen[codes[i]] = groups[i]
            most = max(most, common[codes[i]])
            total += common[codes[i]]
    return max(largest, most / total) if total else largest


@njit(cache=True, nogil=True)
def largest_joint_share(rows, primary, groups, codes, pairs, counts, values):
    """The same, each value weighed by how common it is beside the primary value of each row of the group.

    `rows` are the groups of rows, `groups` those of the set's codes, one by one. `pairs` are primary * values + code,
    in order. A row's own value is in the set, so that some pair of each row is there.
    """
    share = np.zeros(values)
    last_seen = np.full(values, -1, np.int64)
    different = np.empty(values, np.int64)
    largest = 0.0
    row = entry = 0
    while row < rows.size:
        group, size, distinct = rows[row], 0, 0
        while entry < groups.size and groups[entry] == group:
            if last_seen[codes[entry]] != group:
                last_seen[codes[entry]] = group
                different[distinct] = codes[entry]
                share[codes[entry]] = 0.0
                distinct += 1
            entry += 1
        while row < rows.size and rows[row] == group:
            first = np.int64(primary[row]) * values
            total = 0
            for i in range(distinct):
                total += _count(pairs, counts, first + different[i])
            for i in range(distinct):
                share[different[i]] += _count(pairs, counts, first + different[i]) / total
            size += 1
            row += 1
        for i in range(distinct):
            largest = max(largest, share[different[i]] / size)
    return largest


@njit(cache=True, nogil=True)
def _count(pairs, counts, pair):
    """How often a pair occurs."""
    position = np.searchsorted(pairs, pair)
    return counts[position] if position < pairs.size and pairs[position] == pair else 0
