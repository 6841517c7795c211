"""Drawing a set for each row. What is drawn depends on the word of the row and the key, on no other row."""

from __future__ import annotations

import numpy as np
from numba import njit

from pluralis.kernels.siphash import word_of

_UNIT = 2.0**-53


@njit(cache=True, nogil=True)
def _below(word, kinds):
    """A number from 0 to kinds - 1."""
    return np.int64(np.float64(word >> np.uint64(11)) * _UNIT * kinds)


@njit(cache=True, nogil=True)
def uniform_sets(codes, words, k0, k1, values, l, sets):
    """[row, member] in order: the row's own code and l - 1 others, each choice of them equally likely (Floyd 1987)."""
    for row in range(codes.size):
        own = codes[row]
        sets[row, 0] = own
        for i in range(1, l):
            last = values - 1 - l + i  # the others are numbered 0 … values - 2
            drawn = _below(word_of(k0, k1, words[row], np.uint64(i)), last + 1)
            other = drawn + (drawn >= own)
            for j in range(i):
                if sets[row, j] == other:
                    other = last + (last >= own)
            position = i
            while position > 0 and sets[row, position - 1] > other:
                sets[row, position] = sets[row, position - 1]
                position -= 1
            sets[row, position] = other


@njit(cache=True, nogil=True)
def calibrated_sets(codes, words, k0, k1, counts, total, l, sets, starts, breaks, first, set_of, drawn):
    """[row, member]: the set at a point drawn from the row's own value, in a drawn order (see `addition`)."""
    orders = np.uint64(starts.shape[0])
    for row in range(codes.size):
        own = codes[row]
        word = word_of(k0, k1, words[row], np.uint64(0))
        order = np.int64(word % orders)
        point = (starts[order, own] + _below(word, l * counts[own])) % total
        low, high = first[order], first[order + 1]
        while high - low > 1:
            middle = (low + high) // 2
            if breaks[middle] <= point:
                low = middle
            else:
                high = middle
        for i in range(l):
            drawn[row, i] = sets[set_of[low], i]


@njit(cache=True, nogil=True)
def tally(sets, values):
    """How many sets hold each value."""
    listed = np.zeros(values, np.int64)
    for row in range(sets.shape[0]):
        for i in range(sets.shape[1]):
            listed[sets[row, i]] += 1
    return listed
