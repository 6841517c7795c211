"""Putting rows in order of small numbers, without comparing them."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def stable_order(keys, kinds):
    """The places of `keys` (each from 0 to kinds - 1) in rising order, equal ones as they stood."""
    starts = np.zeros(kinds + 1, np.int64)
    for key in keys:
        starts[key + 1] += 1
    for i in range(kinds):
        starts[i + 1] += starts[i]
    order = np.empty(keys.size, np.int64)
    for place in range(keys.size):
        order[starts[keys[place]]] = place
        starts[keys[place]] += 1
    return order


@njit(cache=True, nogil=True)
def by_first(numbers, most):
    """Numbers from 0 to most - 1 numbered anew, in the order in which they first occur; below 0 they stay."""
    new, seen = np.full(most, -1, np.int32), 0
    out = np.empty(numbers.size, np.int64)
    for i in range(numbers.size):
        number = numbers[i]
        if number >= 0 and new[number] < 0:
            new[number] = seen
            seen += 1
        out[i] = new[number] if number >= 0 else number
    return out


@njit(cache=True, nogil=True)
def sorted_by(order, index, places, kinds):
    """The rows of `order`, by place: row i has places[index[i]], which is below `kinds`; equal ones as they stood."""
    starts = np.zeros(kinds + 1, np.int64)
    for row in order:
        starts[places[index[row]] + 1] += 1
    for i in range(kinds):
        starts[i + 1] += starts[i]
    out = np.empty_like(order)
    for row in order:
        place = places[index[row]]
        out[starts[place]] = row
        starts[place] += 1
    return out


@njit(cache=True, nogil=True)
def starts_of(keys):
    """Where each key stands first; equal ones stand side by side."""
    count = 0
    for i in range(keys.size):
        count += i == 0 or keys[i] != keys[i - 1]
    starts = np.empty(count, np.int64)
    position = 0
    for i in range(keys.size):
        if i == 0 or keys[i] != keys[i - 1]:
            starts[position] = i
            position += 1
    return starts


@njit(cache=True, nogil=True)
def gathered(keys):
    """How often each key occurs; equal ones stand side by side. As many `keys`, from the first, are then the different
    ones."""
    counts = np.zeros(keys.size, np.int32)
    distinct = 0
    for i in range(keys.size):
        if distinct == 0 or keys[i] != keys[distinct - 1]:
            keys[distinct] = keys[i]
            distinct += 1
        counts[distinct - 1] += 1
    return counts[:distinct]


@njit(cache=True, nogil=True)
def sort_if_nearly(keys, moves):
    """Sort by insertion unless it takes more than so many moves; whether it was done."""
    for i in range(1, keys.size):
        key = keys[i]
        j = i
        while j > 0 and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            j -= 1
            moves -= 1
        keys[j] = key
        if moves < 0:
            return False
    return True


@njit(cache=True, nogil=True)
def take_digit(numbers, size, digits):
    """The last digit of each number in a system of `size` digits; `numbers` are left without it."""
    base = np.uint64(size)
    for i in range(numbers.size):
        number = np.uint64(numbers[i])
        rest = number // base
        digits[i] = number - rest * base
        numbers[i] = rest
