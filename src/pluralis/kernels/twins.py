"""Rows that are equal in everything a search looks at: the first of them in the drawn order stands for all."""

from __future__ import annotations

import numpy as np
from numba import njit

NO_TWIN = -1
_MIX = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True)
def _mixed(word, other):
    word = (word ^ other) * _MIX
    return word ^ (word >> np.uint64(29))


@njit(cache=True)
def _equal(points, rules, a, b):
    """Whether two rows have equal quasi-identifiers, equal sensitive values and one person."""
    for j in range(points.shape[1]):
        if points[a, j] != points[b, j]:
            return False
    for i in range(rules.caps.size):
        if rules.sensitive[i, a] != rules.sensitive[i, b]:
            return False
    return rules.person.size == 0 or rules.person[a] == rules.person[b]


@njit(cache=True, nogil=True)
def next_twins(points, rules):
    """The next row that is equal to each row, or NO_TWIN."""
    rows = points.shape[0]
    bits = points.view(np.uint64)
    room = 1
    while room < 2 * rows:
        room *= 2
    last = np.full(room, NO_TWIN, np.int64)  # of those equal so far, by hash
    twin = np.full(rows, NO_TWIN, np.int64)
    for row in range(rows):
        word = np.uint64(0)
        for j in range(bits.shape[1]):
            word = _mixed(word, bits[row, j])
        for a in range(rules.caps.size):
            word = _mixed(word, np.uint64(rules.sensitive[a, row]))
        place = np.int64(word & np.uint64(room - 1))
        while last[place] != NO_TWIN and not _equal(points, rules, last[place], row):
            place = (place + 1) & (room - 1)
        if last[place] != NO_TWIN:
            twin[last[place]] = row
        last[place] = row
    return twin
