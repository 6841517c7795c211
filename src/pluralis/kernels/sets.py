"""The sets of values that groups hold."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
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
