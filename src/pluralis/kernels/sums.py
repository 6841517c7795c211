"""Sums by kind, exact but for the last digit, however many numbers there are."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def sums_by_kind(kind, values, kinds):
    """The sum of the values of each kind, from 0 to kinds - 1; what rounding loses is added again (Kahan)."""
    sums, lost = np.zeros(kinds), np.zeros(kinds)
    for i in range(kind.size):
        value = values[i] - lost[kind[i]]
        total = sums[kind[i]] + value
        lost[kind[i]] = (total - sums[kind[i]]) - value
        sums[kind[i]] = total
    return sums
