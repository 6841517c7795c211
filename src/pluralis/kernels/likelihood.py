"""How likely the protected values of rows are, if those of each group were handed out to its rows."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True)
def own_shares(codes, group_of, starts, values, shares):
    """For every row the log of its own code's share in its group g, which holds values[starts[g] : starts[g + 1]]."""
    out = np.empty(codes.size)
    for row in range(codes.size):
        for i in range(starts[group_of[row]], starts[group_of[row] + 1]):
            if values[i] == codes[row]:
                out[row] = math.log(shares[i])
    return out


@njit(cache=True)
def log_likelihood(order, begins, codes, group_of, starts, values, shares, weight):
    """The sum over rows of log Σ shares of the row's code in the groups of all rows of its class.

    Class k is order[begins[k] : begins[k + 1]]. `weight` has a place for every value, and is zero before and after.
    """
    total = 0.0
    for k in range(begins.size - 1):
        for place in range(begins[k], begins[k + 1]):
            group = group_of[order[place]]
            for i in range(starts[group], starts[group + 1]):
                weight[values[i]] += shares[i]
        for place in range(begins[k], begins[k + 1]):
            total += math.log(weight[codes[order[place]]])
        for place in range(begins[k], begins[k + 1]):
            group = group_of[order[place]]
            for i in range(starts[group], starts[group + 1]):
                weight[values[i]] = 0.0
    return total
