"""How two attributes of a row go together, where each is told of apart: one step of expectation and maximization."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit


class Side(NamedTuple):
    """What lines say of one attribute: line i says code[e] with likelihood like[e], for e from `begin` to `end`."""

    begin: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    code: npt.NDArray[np.int32]
    like: npt.NDArray[np.float64]


@njit(cache=True)
def learn_pairs(one, other, rows, joint, tally):
    """tally[a, b] += the rows that hold the pair, if pairs are as common as in `joint`; returns the log likelihood."""
    log_likelihood = 0.0
    for i in range(rows.size):
        total = 0.0
        for e in range(one.begin[i], one.end[i]):
            for f in range(other.begin[i], other.end[i]):
                total += joint[one.code[e], other.code[f]] * one.like[e] * other.like[f]
        if total <= 0.0:
            continue
        log_likelihood += rows[i] * np.log(total)
        part = rows[i] / total
        for e in range(one.begin[i], one.end[i]):
            for f in range(other.begin[i], other.end[i]):
                a, b = one.code[e], other.code[f]
                tally[a, b] += part * joint[a, b] * one.like[e] * other.like[f]
    return log_likelihood


@njit(cache=True)
def weigh_by_other(one, other, given, starts, out):
    """out[starts[i] + e]: how likely line i says what it says of `other` if its entry e of `one` is true.

    given[a, b] is how common b is among those who have a.
    """
    for i in range(starts.size):
        for e in range(one.begin[i], one.end[i]):
            total = 0.0
            for f in range(other.begin[i], other.end[i]):
                total += given[one.code[e], other.code[f]] * other.like[f]
            out[starts[i] + e - one.begin[i]] = total


@njit(cache=True)
def weigh_pairs(one, other, joint, starts, code, share):
    """From starts[i] on, the pairs of values that line i says: code a · width + b, and how likely each is."""
    width = joint.shape[1]
    for i in range(starts.size):
        entry, total = starts[i], 0.0
        for e in range(one.begin[i], one.end[i]):
            for f in range(other.begin[i], other.end[i]):
                code[entry] = one.code[e] * width + other.code[f]
                share[entry] = joint[one.code[e], other.code[f]] * one.like[e] * other.like[f]
                total += share[entry]
                entry += 1
        if total > 0.0:
            for c in range(starts[i], entry):
                share[c] /= total
