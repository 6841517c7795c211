"""Classes of rows that agree in several columns, one column at a time."""

from __future__ import annotations

import numpy as np
from numba import njit

_MIX = np.uint64(0x9E3779B97F4A7C15)


def refined(classes, count, codes, size):
    """(the class of every row, how many there are) once rows must also agree in `codes`, which are below `size`.

    `classes` are below `count`. Numbers are given by first appearance.

    >>> refined(np.array([0, 0, 1, 1], np.int32), 2, np.array([5, 6, 5, 5], np.int32), 7)
    (array([0, 1, 2, 2], dtype=int32), 3)
    """
    if count * size <= 4 * classes.size:
        return _refined_by_table(classes, codes, np.int64(size), np.full(count * size, -1, np.int32))
    bits = max(1, int(2 * classes.size - 1).bit_length())
    return _refined_by_hash(classes, codes, np.full(2**bits, -1, np.int32), 64 - bits)


@njit(cache=True)
def _refined_by_table(classes, codes, size, number_of):
    """As `refined`; `number_of` has a place for every pair."""
    out = np.empty(classes.size, np.int32)
    count = 0
    for row in range(classes.size):
        pair = classes[row] * size + codes[row]
        if number_of[pair] < 0:
            number_of[pair] = count
            count += 1
        out[row] = number_of[pair]
    return out, count


@njit(cache=True)
def _refined_by_hash(classes, codes, first, shift):
    """As `refined`; `first` has twice as many places as there are rows, a power of two, for the first of each pair."""
    out = np.empty(classes.size, np.int32)
    last = first.size - 1
    count = 0
    for row in range(classes.size):
        pair = (np.int64(classes[row]) << 32) | np.int64(codes[row])
        place = np.int64((np.uint64(pair) * _MIX) >> np.uint64(shift))
        like = first[place]
        while like >= 0 and (classes[like] != classes[row] or codes[like] != codes[row]):
            place = (place + 1) & last
            like = first[place]
        if like >= 0:
            out[row] = out[like]
        else:
            first[place] = row
            out[row] = count
            count += 1
    return out, count
