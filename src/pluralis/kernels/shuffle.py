"""The order of drawn words, in time that grows with their number."""

from __future__ import annotations

import numpy as np
from numba import njit

DIGIT = 11  # bits that one pass sorts by: as many places to write to as a processor keeps at hand


@njit(cache=True, nogil=True)
def order_of_words(words):
    """The places of random 64-bit words in rising order, equal ones as they stood: numpy's stable argsort.

    Two passes sort by the upper 22 bits. Neighbors that agree in them are few, and are sorted by insertion.
    """
    order, other = np.arange(words.size), np.empty(words.size, np.int64)
    keys, others = words.copy(), np.empty_like(words)
    for shift in (64 - 2 * DIGIT, 64 - DIGIT):
        starts = np.zeros((1 << DIGIT) + 1, np.int64)
        for i in range(keys.size):
            starts[((keys[i] >> np.uint64(shift)) & np.uint64((1 << DIGIT) - 1)) + np.uint64(1)] += 1
        for digit in range(1 << DIGIT):
            starts[digit + 1] += starts[digit]
        for i in range(keys.size):
            digit = (keys[i] >> np.uint64(shift)) & np.uint64((1 << DIGIT) - 1)
            others[starts[digit]] = keys[i]
            other[starts[digit]] = order[i]
            starts[digit] += 1
        order, other, keys, others = other, order, others, keys
    for i in range(1, keys.size):
        key, place = keys[i], order[i]
        j = i
        while j > 0 and keys[j - 1] > key:
            keys[j], order[j] = keys[j - 1], order[j - 1]
            j -= 1
        keys[j], order[j] = key, place
    return order
