"""Finding what stands in the middle without sorting everything."""

from __future__ import annotations

from numba import njit


@njit(cache=True)
def quickselect(order, keys, begin, end, middle):
    """Reorder so that what stands before `middle` is not larger than what stands after."""
    low, high = begin, end - 1
    while low < high:
        pivot = keys[order[(low + high) // 2]]
        i, j = low, high
        while i <= j:
            while keys[order[i]] < pivot:
                i += 1
            while keys[order[j]] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return
