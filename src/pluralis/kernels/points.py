"""Rows that hold the same, numbered: what they hold is packed into words, and equal words are one point."""

from __future__ import annotations

import numpy as np
from numba import njit

BITS = 63  # of a word, which stays positive
NONE = -1


@njit(cache=True)
def pack(word, shift, leaf_of, codes, order):
    """Put the leaves of the rows `order` into a word of each."""
    for i in range(order.size):
        word[i] |= np.int64(leaf_of[codes[order[i]]]) << shift


@njit(cache=True)
def distinct(words, order):
    """(the point of each row, the points): words[:, row] are those of a row, and `order` puts equal ones together."""
    of_row, count = np.empty(order.size, np.int32), 0
    for i in range(order.size):
        if i > 0:
            for word in range(words.shape[0]):
                if words[word, order[i]] != words[word, order[i - 1]]:
                    count += 1
                    break
        of_row[order[i]] = count
    points = np.empty((min(count + 1, order.size), words.shape[0]), np.int64)
    for row in range(of_row.size):
        points[of_row[row]] = words[:, row]
    return of_row, points


@njit(cache=True)
def turns(numbers, count):
    """The place of each number in the order in which numbers first occur."""
    turn, seen = np.full(count, NONE, np.int32), 0
    for number in numbers:
        if turn[number] == NONE:
            turn[number] = seen
            seen += 1
    return turn


@njit(cache=True)
def sizes(numbers, count):
    """How often each number occurs."""
    size = np.zeros(count, np.int32)
    for number in numbers:
        size[number] += 1
    return size


@njit(cache=True)
def inverse(order):
    """The place of each number in an order."""
    place = np.empty_like(order)
    for i in range(order.size):
        place[order[i]] = i
    return place


@njit(cache=True)
def renumber(numbers, new):
    """Put the new number in the place of each."""
    for i in range(numbers.size):
        numbers[i] = new[numbers[i]]
