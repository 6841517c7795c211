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


@njit(cache=True)
def log_likelihood_of_parts(begins, codes, group_of, starts, values, shares):
    """As `log_likelihood` where a group tells of several parts one by one: its shares of a row's codes are multiplied.

    Rows come in the order of their classes, and equal ones side by side: class k is the rows begins[k] : begins[k + 1].
    Part p of group g holds values[starts[p, g] : starts[p, g + 1]]; codes[p] are those of the rows.
    """
    total = 0.0
    for k in range(begins.size - 1):
        believed = 0.0
        for row in range(begins[k], begins[k + 1]):
            if row == begins[k] or not np.array_equal(codes[:, row], codes[:, row - 1]):
                believed = 0.0
                for place in range(begins[k], begins[k + 1]):
                    believed += _product(codes[:, row], group_of[place], starts, values, shares)
            total += math.log(believed)
    return total


@njit(cache=True)
def _product(codes, group, starts, values, shares):
    """The product of a group's shares of some codes, one of each part."""
    product = 1.0
    for part in range(codes.size):
        share = 0.0
        for i in range(starts[part, group], starts[part, group + 1]):
            if values[i] == codes[part]:
                share = shares[i]
                break
        product *= share
        if product == 0.0:
            break
    return product
