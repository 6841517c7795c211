"""Places in a tree of cuts: which leaf each point falls into."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit


class CutTree(NamedTuple):
    """Node i sends points up to `threshold[i]` in attribute `attribute[i]` to `left[i]`, others to `left[i] + 1`.

    A leaf has `left[i] == -1`, and its number in `leaf[i]`. Node 0 is the root.
    """

    attribute: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    leaf: np.ndarray


@njit(cache=True, nogil=True)
def leaves_of(tree, points, leaf_of):
    """leaf_of[row] = the number of the leaf that the row's point falls into."""
    for row in range(points.shape[0]):
        node = 0
        while tree.left[node] >= 0:
            node = tree.left[node] + (points[row, tree.attribute[node]] > tree.threshold[node])
        leaf_of[row] = tree.leaf[node]
