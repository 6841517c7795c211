"""What rows say of people: the mean of what those rows say that a person may be."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit


class Items(NamedTuple):
    """Boxes of rows that look alike, and what the rows in them say.

    People of kind k may be any row of boxes[starts[k]] to boxes[starts[k + 1]]; the items of box b stand at first[b] to
    first[b + 1]. Item i stands for weight[i] rows, which say what line[i] does: code[c] for c from begin to end of that
    line, with the share that stands `shift` behind place c of `share`.
    """

    starts: npt.NDArray[np.int64]
    boxes: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float64]
    line: npt.NDArray[np.int64]
    begin: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    code: npt.NDArray[np.int32]
    share: npt.NDArray[np.float64]
    shift: npt.NDArray[np.int64]


@njit(cache=True, inline="always")
def _add(items, kind, out):
    """Add what the rows of a kind say, and return how many they are."""
    rows = 0.0
    for b in range(items.starts[kind], items.starts[kind + 1]):
        box = items.boxes[b]
        for i in range(items.first[box], items.first[box + 1]):
            rows += items.weight[i]
            line = items.line[i]
            for c in range(items.begin[line], items.end[line]):
                out[items.code[c]] += items.weight[i] * items.share[c + items.shift[line]]
    return rows


@njit(cache=True)
def posterior_of_kinds(kind_of, items, out, rows):
    """out[t]: the mean of what rows of the kind of person t say; rows[t]: how many there are. Kind -1 is nobody's."""
    for t in range(kind_of.size):
        if kind_of[t] < 0:
            continue
        rows[t] = _add(items, kind_of[t], out[t])
        out[t] /= rows[t]
