"""How likely the rows of a table are, given what was published of it."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True)
def entropy(classes, count):
    """-Σ p log p, in nats, of the shares of `count` classes."""
    sizes = np.zeros(count, np.int64)
    for number in classes:
        sizes[number] += 1
    total = 0.0
    for size in sizes:
        if size > 1:
            total += size * math.log(size)
    return math.log(classes.size) - total / classes.size


@njit(cache=True)
def cross_entropy(classes, order, codes, group_of, starts, values, shares, weight):
    """-Σ log q / n over rows: q is the chance of a row's class and code if the codes of a group were handed out to it.

    `order` has the rows class by class. Group g holds values[starts[g] : starts[g + 1]] in these shares. `weight` has a
    place for every value, and is zero before and after.
    """
    total = 0.0
    rows = order.size
    first = 0
    while first < rows:
        last = first
        while last < rows and classes[order[last]] == classes[order[first]]:
            group = group_of[order[last]]
            for i in range(starts[group], starts[group + 1]):
                weight[values[i]] += shares[i]
            last += 1
        for place in range(first, last):
            total -= math.log(weight[codes[order[place]]] / rows)
        for place in range(first, last):
            group = group_of[order[place]]
            for i in range(starts[group], starts[group + 1]):
                weight[values[i]] = 0.0
        first = last
    return total / rows
