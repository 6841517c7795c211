"""What a method decides, and nothing more: which rows are published together, and which are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pluralis.hierarchy import Hierarchy

LEFT_OUT = -1


@dataclass(frozen=True)
class Level:
    """A column published at one level of a hierarchy, every row alike (full-domain generalisation)."""

    hierarchy: Hierarchy
    leaf_of: npt.NDArray[np.int32]
    level: int


@dataclass(frozen=True)
class Plan:
    """Rows in groups; a group is published under what covers all of its rows.

    `group_of[row]` is a number from 0, or LEFT_OUT. `levels` names columns that are published at one level instead of
    as tightly as each group allows. `linked` says whether the sensitive values of a row stay side by side; where not,
    each sensitive column is shuffled within its group. Equal plans are equal releases: numbering carries nothing.
    """

    kind: str
    group_of: npt.NDArray[np.int64]
    linked: bool = True
    levels: Mapping[str, Level] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def groups(self) -> int:
        return int(self.group_of.max(initial=LEFT_OUT)) + 1

    @property
    def left_out(self) -> int:
        return int((self.group_of == LEFT_OUT).sum())

    def sizes(self) -> npt.NDArray[np.int64]:
        return np.bincount(self.group_of[self.group_of >= 0], minlength=self.groups)


def numbered(group_of: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The same groups numbered from 0 without gaps, in order of their first row; LEFT_OUT stays.

    >>> numbered(np.array([7, -1, 3, 7])).tolist()
    [0, -1, 1, 0]
    """
    kept = np.flatnonzero(group_of != LEFT_OUT)
    out = np.full(group_of.size, LEFT_OUT, np.int64)
    if kept.size:
        _, first, inverse = np.unique(group_of[kept], return_index=True, return_inverse=True)
        rank = np.empty(first.size, np.int64)
        rank[np.argsort(first)] = np.arange(first.size)
        out[kept] = rank[inverse]
    return out
