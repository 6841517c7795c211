"""How likely a member of a set can be to whoever knows the true shares, worked out from the published weights alone.

A weight w stands for a number of rows n that was rounded on a scale of square roots: the scale may begin anywhere, its
steps are 1 wide in 2 √n, and a count becomes the middle of its step, as a whole number. So |√n - √x| <= 1/4 for an x
that rounds to w. A weight as large as the largest may have been cut, so that no value exceeds 1/l; it then stands for
up to as many rows as 1/l of the table can be. This module has its own arithmetic: it must not repeat a mistake of what
drew the sets.
"""

from __future__ import annotations

from math import isqrt

import numpy as np
import numpy.typing as npt

from pluralis.auditing.drawn_sets import DrawnSets


def fewest_rows(weight: int) -> int:
    """The least n with √n >= √(weight - 1/2) - 1/4, at least 1.

    >>> [fewest_rows(weight) for weight in (1, 2, 30, 100)]
    [1, 1, 27, 95]
    """
    n = max(1, weight - isqrt(weight) // 2 - 2)
    while not _within(n, 2 * weight - 1, below=True):
        n += 1
    return n


def most_rows(weight: int) -> int:
    """The largest n with √n <= √(weight + 1/2) + 1/4.

    >>> [most_rows(weight) for weight in (1, 2, 30, 100)]
    [2, 3, 33, 105]
    """
    n = weight + isqrt(weight) // 2 + 3
    while not _within(n, 2 * weight + 1, below=False):
        n -= 1
    return n


def _within(n: int, twice: int, *, below: bool) -> bool:
    """Whether n is not further than 1/4 from twice/2 on the scale of square roots, on one side; in whole numbers.

    With a = 16 n and b = 8 · twice, √n and √(twice/2) are √a / 4 and √b / 4: the question is |√a - √b| <= 1.
    """
    a, b = 16 * n, 8 * twice
    less, more = (a, b) if below else (b, a)
    gap = more - less - 1  # √more <= √less + 1, squared: gap <= 2 √less
    return gap <= 0 or gap * gap <= 4 * less


def largest_posterior(design: DrawnSets) -> float:
    """The largest posterior of any member of any set, by any counts that the weights can stand for."""
    assert design.weights is not None
    weights = [int(weight) for weight in design.weights]
    few, many = [fewest_rows(weight) for weight in weights], [most_rows(weight) for weight in weights]
    top, total, every = max(weights), sum(weights), sum(many)
    of_top = most_rows(top)
    cuts = range(1, min(weights.count(top), design.l - 1) + 1)
    allowed = [
        (every - cut * of_top - spare) // (design.l - cut)  # what 1/l of the table can be, if so many were cut
        for cut in cuts
        for spare in (0, 1)
        if total + cut - spare < (top + 1) * design.l  # else a larger top would have done
    ]
    many = [max(n, *allowed) if weight == top and allowed else n for n, weight in zip(many, weights, strict=True)]
    low = np.array([n / weight for n, weight in zip(few, weights, strict=True)])
    high = np.array([n / weight for n, weight in zip(many, weights, strict=True)])
    return float(_posteriors(low[design.possible[0]], high[design.possible[0]]).max())


def _posteriors(low: npt.NDArray[np.float64], high: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """[set, member]: the member as common as it can be, all others of the set as rare."""
    odds = (low.sum(axis=1, keepdims=True) - low) / high
    return np.asarray(1 / (1 + odds), np.float64)
