"""What rows say of people: which rows a person may be, and the mean of what those rows say."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit


class Items(NamedTuple):
    """Rows that look alike, kind by kind: those of kind k stand at `starts[k]` to `starts[k + 1]`.

    An item stands for `weight` rows, which say code[c] with share[c], for c from `begin` to `end`.
    """

    starts: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float64]
    begin: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    code: npt.NDArray[np.int32]
    share: npt.NDArray[np.float64]


class Labels(NamedTuple):
    """What kinds of rows show, column by column: a number between two, or one of a set.

    Column c is of numbers from low[c, k] to high[c, k] where stride[c] is 0; else bit `label[c, k]` of line v, of
    `stride[c]` bytes from `base[c]` on, says whether the label covers value v.
    """

    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    label: npt.NDArray[np.int32]
    base: npt.NDArray[np.int64]
    stride: npt.NDArray[np.int64]
    bits: npt.NDArray[np.uint8]


@njit(cache=True, inline="always")
def _add(items, kind, out):
    """Add what the rows of a kind say, and return how many they are."""
    rows = 0.0
    for i in range(items.starts[kind], items.starts[kind + 1]):
        rows += items.weight[i]
        for c in range(items.begin[i], items.end[i]):
            out[items.code[c]] += items.weight[i] * items.share[c]
    return rows


@njit(cache=True)
def believe_kinds(kind_of, items, out, rows):
    """out[t]: the mean of what rows of the kind of person t say; rows[t]: how many there are. Kind -1 is nobody's."""
    for t in range(kind_of.size):
        if kind_of[t] < 0:
            continue
        rows[t] = _add(items, kind_of[t], out[t])
        out[t] /= rows[t]


@njit(cache=True, inline="always")
def _covers(labels, kind, number, value, t):
    for c in range(labels.low.shape[0]):
        if labels.stride[c] == 0:
            if number[c, t] < labels.low[c, kind] or number[c, t] > labels.high[c, kind]:
                return False
        else:
            if value[c, t] < 0:
                return False
            label = labels.label[c, kind]
            byte = labels.bits[labels.base[c] + value[c, t] * labels.stride[c] + (label >> 3)]
            if not (byte >> (label & 7)) & 1:
                return False
    return True


@njit(cache=True)
def believe_covering(labels, number, value, items, out, rows):
    """The same for every kind of row whose labels cover the person's values."""
    for t in range(rows.size):
        for kind in range(items.starts.size - 1):
            if _covers(labels, kind, number, value, t):
                rows[t] += _add(items, kind, out[t])
        if rows[t] > 0:
            out[t] /= rows[t]
