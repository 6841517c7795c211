"""Which boxes of codes hold a point: a word of bits for every 64 boxes and bin of codes, then a look at each."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def fill_bins(low, high, bin_of, first_code, first_bin, bits):
    """Set bit b of line `first_bin[j] + bin` where box b meets that bin of column j."""
    for box in range(low.shape[0]):
        word, bit = box >> 6, np.uint64(1) << np.uint64(box & 63)
        for j in range(low.shape[1]):
            if low[box, j] > high[box, j]:
                continue
            begin = bin_of[first_code[j] + low[box, j]]
            end = bin_of[first_code[j] + high[box, j]]
            for line in range(first_bin[j] + begin, first_bin[j] + end + 1):
                bits[line, word] |= bit


@njit(cache=True, inline="always")
def _holds(boxes, box, codes, point):
    """Whether a box holds a point in every column."""
    for j in range(codes.shape[1]):
        code = codes[point, j]
        if code < boxes.low[box, j] or code > boxes.high[box, j]:
            return False
        chosen = boxes.sets[box, j]
        if chosen >= 0:
            begin, end = boxes.starts[chosen], boxes.starts[chosen + 1]
            position = begin + np.searchsorted(boxes.members[begin:end], code)
            if position == end or boxes.members[position] != code:
                return False
    return True


@njit(cache=True)
def boxes_around(boxes, codes, bin_of, first_code, first_bin, bits, limit):
    """(where the boxes of each point begin, the boxes); stops after `limit` of them and says how many points it did."""
    points, columns = codes.shape
    starts = np.zeros(points + 1, np.int64)
    hits = np.empty(1024, np.int32)
    size = 0
    for point in range(points):
        for word in range(bits.shape[1]):
            both = ~np.uint64(0)
            for j in range(columns):
                both &= bits[first_bin[j] + bin_of[first_code[j] + codes[point, j]], word]
                if both == 0:
                    break
            place = word << 6
            while both != 0:
                if both & np.uint64(1) and _holds(boxes, place, codes, point):
                    if size == hits.size:
                        longer = np.empty(2 * size, np.int32)
                        longer[:size] = hits
                        hits = longer
                    hits[size] = place
                    size += 1
                both >>= np.uint64(1)
                place += 1
        starts[point + 1] = size
        if size > limit:
            return starts[: point + 2], hits[:size]
    return starts, hits[:size]
