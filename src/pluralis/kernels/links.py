"""Counts of people handed from table to table over classes of values that the tables share."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, error_model="numpy")
def lines_with(codes, can):
    """The lines whose code can be."""
    matching = np.empty(codes.size, np.int32)
    size = 0
    for line in range(codes.size):
        matching[size] = line
        size += can[codes[line]]
    return matching[:size].copy()


@njit(cache=True, error_model="numpy")
def lines_among(lines, codes, can):
    """Those of some lines whose code can be."""
    matching = np.empty(lines.size, np.int32)
    size = 0
    for line in lines:
        matching[size] = line
        size += can[codes[line]]
    return matching[:size].copy()


@njit(cache=True, error_model="numpy")
def tally(cell_of, lines, values, out):
    """out[cell] += the values of lines in it."""
    for i in range(lines.size):
        out[cell_of[lines[i]]] += values[i]


@njit(cache=True, error_model="numpy")
def tally_people(cell_of, lines, weight, out):
    """out[cell] += the people of lines in it."""
    for line in lines:
        out[cell_of[line]] += weight[line]


@njit(cache=True, error_model="numpy")
def times_share(class_of, lines, share, chance):
    """chance *= the share of the line's class."""
    for i in range(lines.size):
        chance[i] *= share[class_of[lines[i]]]


@njit(cache=True, error_model="numpy")
def spread_over(sums, squares, squared, parts, people, mean, variance, out):
    """out[whole] += the variance of the sum of weights of those of a part that are as asked.

    Of the `people` of a class, B are as asked, with this mean and variance, and which is chance. Of the weights in a
    part, `sums` is the expected sum, `squares` that of squares, `squared` the expected square of the sum.
    """
    of_class, whole = parts
    for part in range(sums.size):
        if squares[part] == 0.0:
            continue
        c = of_class[part]
        n, m, v = people[c], mean[c], variance[c]
        if n > 1.0:
            pairs = max(0.0, n * m - m * m - v) / (n * (n - 1.0))
            out[whole[part]] += pairs * max(0.0, squares[part] - squared[part] / n)
        out[whole[part]] += v * squared[part] / (n * n)


@njit(cache=True, error_model="numpy")
def spread_apart(squares, parts, share, out):
    """As `spread_over` if everybody is as asked by chance of their own, the share of the class."""
    of_class, whole = parts
    for part in range(squares.size):
        chance = share[of_class[part]]
        out[whole[part]] += chance * (1.0 - chance) * squares[part]


@njit(cache=True, error_model="numpy")
def bound_over(can, must, parts, people, least, most, out_least, out_most):
    """How many of those that can and must be as asked by themselves can and must be so by their class too."""
    of_class, whole = parts
    for part in range(can.size):
        c = of_class[part]
        out_most[whole[part]] += min(can[part], most[c])
        out_least[whole[part]] += max(0.0, must[part] + least[c] - people[c])


@njit(cache=True, error_model="numpy")
def hand_over(here, parts, people, below, out):
    """`spread_over` and `bound_over` at once, where all people that are `here` are as asked by themselves.

    `below` and `out` are mean, variance, least and most, of classes and of wholes.
    """
    of_class, whole = parts
    mean, variance, least, most = below
    out_mean, out_variance, out_least, out_most = out
    for part in range(here.size):
        a = here[part]
        if a == 0.0:
            continue
        c, w = of_class[part], whole[part]
        n, m, v = people[c], mean[c], variance[c]
        out_mean[w] += a * m / n
        if n > 1.0:
            out_variance[w] += max(0.0, n * m - m * m - v) / (n * (n - 1.0)) * max(0.0, a - a * a / n)
        out_variance[w] += v * a * a / (n * n)
        out_least[w] += max(0.0, a + least[c] - n)
        out_most[w] += min(a, most[c])
