"""How many rows to expect where a condition is no box: it is true of some combinations of classes (see expect.py).

`truth` is 1 where it is true, combinations in the order of the sources, the first one slowest; `bits` are TRUE or
FALSE.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pluralis.kernels.expect import HANDED_OUT, UNKNOWN

TRUE = 1
FALSE = 2


@njit(cache=True, inline="always")  # a call with so many arrays costs more than what it does
def _contract(picked, row, truth, bits, chance, seen):
    """What remains of the truth table once a row's classes are weighed: how likely true, and what it can be."""
    size = truth.size
    for k in range(picked.lines.size):
        start = picked.starts[k] + picked.codes[picked.lines[k], row]
        size //= picked.widths[k]
        for j in range(size):
            total, outcomes = 0.0, 0
            for c in range(picked.widths[k]):
                place = start + c * picked.sizes[k]
                cell = c * size + j
                if k == 0:
                    total += picked.probability[place] * truth[cell]
                    outcomes |= bits[cell] if picked.flags[place] else 0
                else:
                    total += picked.probability[place] * chance[cell]
                    outcomes |= seen[cell] if picked.flags[place] else 0
            chance[j] = total
            seen[j] = outcomes
    if picked.lines.size == 0:
        chance[:size] = truth
        seen[:size] = bits


@njit(cache=True)
def expect_rows_any(rows, count, truth, bits):
    """(expected, variance, least, most) rows of which the condition is true, each on its own."""
    chance, seen = np.empty(truth.size), np.empty(truth.size, np.uint8)
    expected, variance, least, most = 0.0, 0.0, 0, 0
    for row in range(count):
        _contract(rows, row, truth, bits, chance, seen)
        expected += chance[0]
        variance += max(0.0, chance[0] * (1.0 - chance[0]))
        most += 1 if seen[0] & TRUE else 0
        least += 1 if seen[0] == TRUE else 0
    return expected, variance, least, most


@njit(cache=True, inline="always")
def _distribution(values, entry, fold, chance):
    """How likely a value is in each class of its combinations, and a mask of those that it can be in."""
    chance[:] = 0.0
    mask = np.int64(0)
    for cell in range(fold.size):
        rest, likely, can = cell, 1.0, True
        for k in range(values.lines.size - 1, -1, -1):
            c = rest % values.widths[k]
            rest //= values.widths[k]
            place = values.starts[k] + values.codes[values.lines[k], entry] + c * values.sizes[k]
            likely *= values.probability[place]
            can = can and values.flags[place] != 0
        chance[fold[cell]] += likely
        if can:
            mask |= np.int64(1) << fold[cell]
    return mask


@njit(cache=True)
def distribution_of_groups(group_values, fold, probability, flags):
    """How likely a row of each group holds a value of each class (probability[class, group]), and whether it can."""
    chance = np.empty(probability.shape[0])
    for group in range(group_values.starts.size - 1):
        total = 0.0
        for entry in range(group_values.starts[group], group_values.starts[group + 1]):
            count = group_values.counts[entry]
            if count > 0.0:
                mask = _distribution(group_values.values, entry, fold, chance)
                total += count
                for s in range(chance.size):
                    probability[s, group] += count * chance[s]
                    flags[s, group] |= (mask >> s) & 1
        for s in range(chance.size):
            probability[s, group] /= total if total > 0.0 else 1.0
            if group_values.assignment[group] == UNKNOWN or total == 0.0:
                flags[s, group] = 1


@njit(cache=True)
def expect_in_groups_any(rows, starts, group_values, fold, truth, bits, tried):
    """(expected, variance, least, most) rows of which the condition is true; rows stand group by group.

    With m[i, s] the chance of row i if its value is in class s, and v[j, s] that of value j to be there, a pair is true
    with M = m v. The variance is that of expect.py. However values are handed out, if some rows are certain to be true
    with any value of some classes, as many of those rows and values meet as they together exceed the group; `tried` are
    masks of classes.
    """
    classes = fold.max() + 1
    chance, seen = np.empty(truth.size), np.empty(truth.size, np.uint8)
    v = np.empty(classes)
    u, w = np.empty(classes), np.empty(classes)
    mm, vv = np.empty((classes, classes)), np.empty((classes, classes))
    true_rows, false_rows, sure_values = np.empty(tried.size), np.empty(tried.size), np.empty(tried.size)
    expected, variance, least, most = 0.0, 0.0, 0.0, 0.0
    for group in range(starts.size - 1):
        n = starts[group + 1] - starts[group]
        if n == 0:
            continue
        w[:], vv[:], sure_values[:] = 0.0, 0.0, 0.0
        total, present = 0.0, np.int64(0)
        for entry in range(group_values.starts[group], group_values.starts[group + 1]):
            count = group_values.counts[entry]
            if count == 0.0:
                continue
            mask = _distribution(group_values.values, entry, fold, v)
            present |= mask
            total += count
            for s in range(classes):
                w[s] += count * v[s]
                for t in range(classes):
                    vv[s, t] += count * v[s] * v[t]
            for k in range(tried.size):
                if mask & ~tried[k] == 0:
                    sure_values[k] += count
        assignment = group_values.assignment[group]
        if assignment == UNKNOWN or total == 0.0:
            present = (np.int64(1) << classes) - 1
        u[:], mm[:], true_rows[:], false_rows[:] = 0.0, 0.0, 0.0, 0.0
        met, missed = 0.0, 0.0
        for row in range(starts[group], starts[group + 1]):
            _contract(rows, row, truth, bits, chance, seen)
            true, false = np.int64(0), np.int64(0)
            for s in range(classes):
                true |= np.int64(seen[s] & TRUE) << s
                false |= np.int64((seen[s] & FALSE) >> 1) << s
            if assignment == HANDED_OUT:
                for s in range(classes):
                    u[s] += chance[s]
                    for t in range(classes):
                        mm[s, t] += chance[s] * chance[t]
                met += 1 if false & present == 0 else 0
                missed += 1 if true & present == 0 else 0
                for k in range(tried.size):
                    true_rows[k] += 1 if false & tried[k] == 0 else 0
                    false_rows[k] += 1 if true & tried[k] == 0 else 0
            else:
                likely = 0.0
                for s in range(classes):
                    likely += chance[s] * w[s] / total if total > 0.0 else 0.0
                expected += likely
                variance += max(0.0, likely * (1.0 - likely))
                most += 1 if true & present else 0
                least += 0 if false & present else 1
        if assignment == HANDED_OUT:
            pairs, squares, by_row, by_value = 0.0, 0.0, 0.0, 0.0
            for s in range(classes):
                pairs += u[s] * w[s]
                for t in range(classes):
                    squares += mm[s, t] * vv[s, t]
                    by_row += w[s] * mm[s, t] * w[t]
                    by_value += u[s] * vv[s, t] * u[t]
            expected += pairs / n
            variance += max(0.0, pairs - squares) / n
            if n > 1:
                variance += max(0.0, squares - (by_row + by_value) / n + pairs * pairs / n / n) / (n - 1)
            for k in range(tried.size):
                met = max(met, true_rows[k] + sure_values[k] - n)
                missed = max(missed, false_rows[k] + sure_values[k] - n)
            least += met
            most += n - missed
    return expected, variance, int(least), int(most)
