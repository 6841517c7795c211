"""Adding up what the sets of rows say."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit


class RowCells(NamedTuple):
    """The cell of each row: the sum over columns of `place[starts[k] + code]`, codes from line `lines[k]`."""

    codes: npt.NDArray[np.int32]
    lines: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    place: npt.NDArray[np.int32]


@njit(cache=True)
def _fill_cells(cells, begin, out):
    """The cells of as many rows as `out` is long, from row `begin` on: column by column, which is fast."""
    out[:] = 0
    for k in range(cells.lines.size):
        codes = cells.codes[cells.lines[k], begin : begin + out.size]
        place = cells.place[cells.starts[k] :]
        for i in range(out.size):
            out[i] += place[codes[i]]


@njit(cache=True)
def cells_of(cells, rows):
    """The cell of every row."""
    out = np.empty(rows, np.int32)
    _fill_cells(cells, 0, out)
    return out


POSSIBLE = 1
CERTAIN = 2
CHUNK = 4_096


@njit(cache=True)
def count_members(cells, sets, asked, flags):
    """[cell, value]: how many sets of rows in a cell that is asked hold the value; the least and most rows meant.

    `flags[cell, value]` say whether a row with the value can be (POSSIBLE) and must be (CERTAIN) one that is meant.
    """
    seen = np.zeros(flags.shape, np.int64)
    chunk = np.empty(CHUNK, np.int32)
    least, most = 0, 0
    for begin in range(0, sets.shape[0], CHUNK):
        size = min(CHUNK, sets.shape[0] - begin)
        _fill_cells(cells, begin, chunk[:size])
        for offset in range(size):
            cell = chunk[offset]
            if not asked[cell]:
                continue
            some, every = 0, POSSIBLE | CERTAIN
            for i in range(sets.shape[1]):
                member = sets[begin + offset, i]
                seen[cell, member] += 1
                some |= flags[cell, member]
                every &= flags[cell, member]
            most += some & POSSIBLE
            least += every >> 1
    return seen, least, most
