"""Sensitive values as bits of one word, so that a tree can tell in one step what stands below a node.

Every attribute has some of the 64 places. Its commonest values have one each; if there are too many, the others share
the last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pluralis.kernels.space import bit

PLACES = 64
EVERYTHING = np.uint64(0xFFFFFFFFFFFFFFFF)


class Marks(NamedTuple):
    """Where the values of each attribute stand; attributes beyond 32 find no room and have no marks."""

    of_row: np.ndarray  # uint8[attribute, row]
    of_value: np.ndarray  # uint8[attribute, value]
    field: np.ndarray  # uint64[attribute]: its places
    alone: np.ndarray  # uint64[attribute]: those of them that hold one value


def marks_of(sensitive):
    """The marks of int32[attribute, row]."""
    sensitive = sensitive[: PLACES // 2]
    counts = [np.bincount(codes) for codes in sensitive]
    of_value = np.zeros((len(counts), max(count.size for count in counts)), np.uint8)
    field, alone = np.zeros(len(counts), np.uint64), np.zeros(len(counts), np.uint64)
    first = 0
    for done, a in enumerate(sorted(range(len(counts)), key=lambda a: counts[a].size)):
        room = (PLACES - first) // (len(counts) - done)
        used = min(room, counts[a].size)
        of_value[a, np.argsort(-counts[a], kind="stable")] = first + np.minimum(np.arange(counts[a].size), used - 1)
        field[a] = ((1 << used) - 1) << first
        alone[a] = field[a] if counts[a].size <= room else ((1 << used - 1) - 1) << first
        first += used
    return Marks(np.stack([of_value[a, codes] for a, codes in enumerate(sensitive)]), of_value, field, alone)


@njit(cache=True)
def open_marks(marks, rules, members, size):
    """What may join a group: values that are not in it as often as they may be, and that are needed if any is."""
    mask = EVERYTHING
    for a in range(marks.field.size):
        for k in range(size):
            count = 0
            for i in range(size):
                count += rules.sensitive[a, members[i]] == rules.sensitive[a, members[k]]
            if count >= rules.caps[a]:
                mask &= ~(bit(marks.of_row[a, members[k]]) & marks.alone[a])
        if rules.needed[a] >= 0:
            mask &= ~marks.field[a] | bit(marks.of_value[a, rules.needed[a]])
    return mask
