"""Handing the values of groups to their rows by a naive Bayes model, and fitting the model to what was handed out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from pluralis.kernels.expect import HANDED_OUT

EXACT = 8  # rows of a group for which all ways to hand out values are weighed
LEAST = -60.0  # logarithm of how much less likely a value can be than another of its group
ROUNDS = 50  # of fitting rows and columns of larger groups to their sums
CLOSE = 1e-6


class Task(NamedTuple):
    """Rows in order of groups, a line of codes for each feature, and the values that groups hold.

    Code x of feature f has the line first[f] + x in tables of [line, value].
    """

    codes: npt.NDArray[np.int32]
    first: npt.NDArray[np.int64]
    row_starts: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    value: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float64]
    assignment: npt.NDArray[np.uint8]


@njit(cache=True)
def _odds(task, group, logs, odds):
    """odds[i, j]: how likely row i of a group is under its value j, compared with the likeliest."""
    row, entry = task.row_starts[group], task.starts[group]
    for i in range(odds.shape[0]):
        for j in range(odds.shape[1]):
            odds[i, j] = 0.0
        for f in range(task.first.size):
            line = logs[task.first[f] + task.codes[f, row + i]]
            for j in range(odds.shape[1]):
                odds[i, j] += line[task.value[entry + j]]
        top = odds[i].max()
        for j in range(odds.shape[1]):
            odds[i, j] = np.exp(max(odds[i, j] - top, LEAST))


@njit(cache=True)
def _every_way(odds, slots, forward, backward):
    """odds become probabilities: over all ways to hand value slots[s] to one row each, weighed by their product."""
    n = odds.shape[0]
    full = 1 << n
    for mask in range(full):
        forward[mask] = 0.0
        backward[mask] = 0.0
    forward[0] = 1.0
    backward[full - 1] = 1.0
    for mask in range(full - 1):  # the rows so far have the slots of the mask
        rows = 0
        for s in range(n):
            rows += (mask >> s) & 1
        for s in range(n):
            if not (mask >> s) & 1:
                forward[mask | (1 << s)] += forward[mask] * odds[rows, slots[s]]
    for mask in range(full - 2, -1, -1):
        rows = 0
        for s in range(n):
            rows += (mask >> s) & 1
        for s in range(n):
            if not (mask >> s) & 1:
                backward[mask] += backward[mask | (1 << s)] * odds[rows, slots[s]]
    out = np.zeros_like(odds)
    for mask in range(full - 1):
        rows = 0
        for s in range(n):
            rows += (mask >> s) & 1
        for s in range(n):
            if not (mask >> s) & 1:
                way = forward[mask] * backward[mask | (1 << s)]
                out[rows, slots[s]] += way * odds[rows, slots[s]] / backward[0]
    odds[:] = out


@njit(cache=True)
def _fitted(odds, counts):
    """odds become probabilities whose sums are 1 for each row and `counts` for each value (Sinkhorn)."""
    n, k = odds.shape
    for _ in range(ROUNDS):
        for j in range(k):
            total = 0.0
            for i in range(n):
                total += odds[i, j]
            for i in range(n):
                odds[i, j] *= counts[j] / total
        worst = 0.0
        for i in range(n):
            total = 0.0
            for j in range(k):
                total += odds[i, j]
            worst = max(worst, abs(total - 1.0))
            for j in range(k):
                odds[i, j] /= total
        if worst < CLOSE:
            break


@njit(cache=True)
def hand_out(task, logs, tally, likeliest, begin, share):
    """Weigh the values of each group's rows by a model; returns how many rows have another likeliest value than before.

    tally[line, value] gets what rows have of each; `likeliest[row]` the entry. Where begin[row] is not below 0, the
    probabilities of a row go to `share` from there on.
    """
    moved = 0
    forward, backward = np.empty(1 << EXACT), np.empty(1 << EXACT)
    slots = np.empty(EXACT, np.int64)
    tally[:] = 0.0
    for group in range(task.starts.size - 1):
        row, entry = task.row_starts[group], task.starts[group]
        n, k = task.row_starts[group + 1] - row, task.starts[group + 1] - entry
        if n == 0 or k == 0:
            continue
        odds = np.empty((n, k))
        _odds(task, group, logs, odds)
        counts = task.counts[entry : entry + k]
        if task.assignment[group] != HANDED_OUT:
            for i in range(n):
                total = 0.0
                for j in range(k):
                    odds[i, j] *= counts[j]
                    total += odds[i, j]
                for j in range(k):
                    odds[i, j] /= total
        elif n <= EXACT:
            s = 0
            for j in range(k):
                for _ in range(int(counts[j])):
                    slots[s] = j
                    s += 1
            _every_way(odds, slots, forward, backward)
        else:
            _fitted(odds, counts)
        for i in range(n):
            best = 0
            for j in range(k):
                if odds[i, j] > odds[i, best]:
                    best = j
                for f in range(task.first.size):
                    tally[task.first[f] + task.codes[f, row + i], task.value[entry + j]] += odds[i, j]
                if begin[row + i] >= 0:
                    share[begin[row + i] + j] = odds[i, j]
            moved += likeliest[row + i] != best
            likeliest[row + i] = best
    return moved
