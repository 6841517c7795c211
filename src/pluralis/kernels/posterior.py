"""What rows say of people: the mean of what those rows say that a person may be."""

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
def posterior_of_kinds(kind_of, items, out, rows):
    """out[t]: the mean of what rows of the kind of person t say; rows[t]: how many there are. Kind -1 is nobody's."""
    for t in range(kind_of.size):
        if kind_of[t] < 0:
            continue
        rows[t] = _add(items, kind_of[t], out[t])
        out[t] /= rows[t]
