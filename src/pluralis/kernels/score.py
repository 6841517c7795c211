"""Adding up what the sets of rows say."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit


class Cells(NamedTuple):
    """The cell of each row: the sum over columns of `place[starts[k] + code]`, codes from line `lines[k]`."""

    codes: npt.NDArray[np.int32]
    lines: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    place: npt.NDArray[np.int64]


@njit(cache=True)
def cells_of(cells, rows):
    """The cell of every row."""
    out = np.zeros(rows, np.int64)
    for k in range(cells.lines.size):
        codes = cells.codes[cells.lines[k]]
        for row in range(rows):
            out[row] += cells.place[cells.starts[k] + codes[row]]
    return out


@njit(cache=True)
def score_rows(cells, sets, asked, scores, spreads, can, must):
    """(sum of scores, of spreads, rows that must and that can be meant): over the sets of rows in cells that are asked.

    `scores` and `spreads` have a line for each cell and a column for each value; `can` and `must` say whether a row
    with the value can be, and must be, one of those that are meant.
    """
    value, variance, least, most = 0.0, 0.0, 0, 0
    for row in range(sets.shape[0]):
        cell = 0
        for k in range(cells.lines.size):
            cell += cells.place[cells.starts[k] + cells.codes[cells.lines[k], row]]
        if not asked[cell]:
            continue
        some, every = False, True
        for i in range(sets.shape[1]):
            member = sets[row, i]
            value += scores[cell, member]
            variance += spreads[cell, member]
            some |= can[cell, member]
            every &= must[cell, member]
        least += every
        most += some
    return value, variance, least, most
