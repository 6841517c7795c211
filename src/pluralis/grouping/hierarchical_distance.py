"""Weighted hierarchical distance: what it costs to publish a value at a wider level of its tree (SLOMS, equations 2-7).

Steps near the root weigh most: the step from level j to j - 1, counted from the root down, weighs 1/(j - 1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pluralis.table.encoding import Column
from pluralis.table.hierarchies import automatic_nodes


def climbing(depth: int) -> npt.NDArray[np.float64]:
    """What it costs to go from the leaves to each level of a tree with so many levels: 0 at the leaves, 1 at the root.

    >>> climbing(3).round(4).tolist()
    [0.0, 0.3333, 1.0]
    """
    steps = 1 / np.arange(depth - 1, 0, -1)
    return np.concatenate([[0.0], np.cumsum(steps) / max(steps.sum(), 1e-300)])


def whd(p: int, q: int, height: int) -> float:
    """Equation 2, with the paper's numbers: level 1 is the root, `height` the leaves; p is at or below q.

    >>> round(whd(5, 3, 6), 3)
    0.255
    """
    costs = climbing(height)
    return float(costs[height - q] - costs[height - p])


class Ladder(NamedTuple):
    """The tree that a column's distances are measured in."""

    nodes: npt.NDArray[np.int32]  # [leaf, level]: the ancestor, numbered in leaf order within its level
    leaf_of: npt.NDArray[np.int32]  # of each code

    @property
    def depth(self) -> int:
        return int(self.nodes.shape[1])


def ladder_of(column: Column) -> Ladder:
    """A column's own tree; else ever wider intervals for numbers, and the value and `*` for anything else."""
    if column.hierarchy is not None and column.leaf_of is not None:
        return Ladder(column.hierarchy.nodes(), column.leaf_of)
    leaf_of = np.arange(column.size, dtype=np.int32)
    if column.has_order and column.values:
        nodes = automatic_nodes(np.arange(len(column.values)) if column.is_ordered else np.array(column.values))
        missing = [*(nodes[-1, :-1] + 1), 0]  # directly below the root
        return Ladder(np.vstack([nodes, missing]).astype(np.int32) if column.has_missing else nodes, leaf_of)
    return Ladder(np.stack([leaf_of, np.zeros_like(leaf_of)], axis=1), leaf_of)
