"""How many rows to expect: chances of rows summed up, alone or with the values that their groups hold.

A line of codes says under which label each row stands, and a table says how likely a row under a label is in each class
(Picked). A box is a condition that is a product, one class of each attribute; then class 0 is in it and class 1 is out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

UNKNOWN = 0  # the values of a group say how likely each is, but a row of it may hold any other
DRAWN = 1  # every row of a group holds one of its values
HANDED_OUT = 2  # the values of a group are those of its rows, each of them one row's

POSSIBLE = 1
CERTAIN = 2


class Picked(NamedTuple):
    """The lines of codes that a condition asks about, and what their labels say.

    Source k stands at `starts[k]`: `sizes[k]` labels for each of its `widths[k]` classes, class by class. For a box
    only class 0 is there, and `flags` say whether a label can be (POSSIBLE) and must be (CERTAIN) in it; otherwise they
    say which classes are possible.
    """

    codes: npt.NDArray[np.int32]
    lines: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    widths: npt.NDArray[np.int64]
    probability: npt.NDArray[np.float64]
    flags: npt.NDArray[np.uint8]


class GroupValues(NamedTuple):
    """The values of groups: those of group g stand at `starts[g]` to `starts[g + 1]`, `counts` times each."""

    values: Picked
    counts: npt.NDArray[np.float64]
    starts: npt.NDArray[np.int64]
    assignment: npt.NDArray[np.uint8]


@njit(cache=True)
def _flags(picked, count):
    """Of each row whether it can be and must be in the box. Source by source: that is fastest."""
    flags = np.full(count, POSSIBLE | CERTAIN, np.uint8)
    for k in range(picked.lines.size):
        line = picked.codes[picked.lines[k]]
        table = picked.flags[picked.starts[k] : picked.starts[k] + picked.sizes[k]]
        for row in range(count):
            flags[row] &= table[line[row]]
    return flags


@njit(cache=True, inline="always")
def _chance(picked, row, flags):
    """How likely a row is in the box."""
    if flags != POSSIBLE:
        return 1.0 if flags else 0.0
    chance = 1.0
    for k in range(picked.lines.size):
        chance *= picked.probability[picked.starts[k] + picked.codes[picked.lines[k], row]]
    return chance


@njit(cache=True)
def expect_rows(rows, count):
    """(expected, variance, least, most) rows in a box, each on its own."""
    flags = _flags(rows, count)
    expected, squares, least, most = 0.0, 0.0, 0, 0
    for row in range(count):
        most += flags[row] & 1
        least += flags[row] >> 1
        if flags[row] == POSSIBLE:
            chance = _chance(rows, row, POSSIBLE)
            expected += chance
            squares += chance * chance
    return expected + least, expected - squares, least, most


@njit(cache=True, inline="always")  # a call with so many arrays costs more than the sums
def _summed(group_values, group, flags):
    """Of the values of a group: all, the chances and their squares, those that must be and can be in the box."""
    total, chances, squares, certain, possible = 0.0, 0.0, 0.0, 0.0, 0.0
    for entry in range(group_values.starts[group], group_values.starts[group + 1]):
        count, flag = group_values.counts[entry], flags[entry]
        total += count
        possible += count * (flag & 1)
        certain += count * (flag >> 1)
        if flag == POSSIBLE:
            chance = _chance(group_values.values, entry, flag)
            chances += count * chance
            squares += count * chance * chance
    return total, chances + certain, squares + certain, certain, possible


@njit(cache=True)
def summed(group_values, group):
    """How many values of a group must be and can be in the box."""
    return _summed(group_values, group, _flags(group_values.values, group_values.starts[-1]))[3:]


@njit(cache=True)
def expect_in_groups(rows, starts, group_values):
    """(expected, variance, least, most) rows in a box, and how many must and can be whatever values they hold.

    Rows stand group by group. If a row is in with chance a and a value with chance b, a pair is with M = ab. For values
    that are handed out at random the variance is the mean of M (1 - M) over pairs, n times, and the sum of squares of
    M, centered by rows and by values, / (n - 1).
    """
    row_flags, value_flags = _flags(rows, starts[-1]), _flags(group_values.values, group_values.starts[-1])
    expected, variance, least, most = 0.0, 0.0, 0.0, 0.0
    all_must, all_can = 0, 0
    for group in range(starts.size - 1):
        n = starts[group + 1] - starts[group]
        a, aa, must, can = 0.0, 0.0, 0, 0
        for row in range(starts[group], starts[group + 1]):
            flag = row_flags[row]
            can += flag & 1
            must += flag >> 1
            if flag == POSSIBLE:
                chance = _chance(rows, row, flag)
                a += chance
                aa += chance * chance
        if can == 0:
            continue
        all_must += must
        all_can += can
        a += must
        aa += must
        total, b, bb, certain, possible = _summed(group_values, group, value_flags)
        if group_values.assignment[group] == HANDED_OUT:
            each = 1.0 / n
            expected += a * b * each
            variance += (a * b - aa * bb) * each
            if n > 1:
                variance += max(0.0, aa - a * a * each) * max(0.0, bb - b * b * each) / (n - 1)
            least += max(0.0, must + certain - n)
            most += min(can, possible)
        else:
            share = b / total if total > 0.0 else 0.0
            expected += a * share
            variance += a * share - aa * share * share
            if group_values.assignment[group] == UNKNOWN or total == 0.0:
                most += can
            elif possible > 0.0:
                most += can
                least += must if certain == total else 0
    return expected, variance, int(least), int(most), all_must, all_can


@njit(cache=True)
def share_of_groups(group_values, probability, flags):
    """How likely a row of each group holds a value in the box, and whether it can and must."""
    of_values = _flags(group_values.values, group_values.starts[-1])
    for group in range(group_values.starts.size - 1):
        total, b, _, certain, possible = _summed(group_values, group, of_values)
        probability[group] = b / total if total > 0.0 else 0.0
        if group_values.assignment[group] == UNKNOWN or total == 0.0:
            flags[group] = POSSIBLE
        else:
            flags[group] = (POSSIBLE if possible > 0.0 else 0) | (CERTAIN if certain == total else 0)
