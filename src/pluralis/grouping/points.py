"""The quasi-identifiers of a table as a space in which groups are boxes (see kernels/space.py)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pluralis.kernels.space import FLAT, NUMBER, TREE, Space
from pluralis.table.encoding import Column

# A missing number lies so far from every other that a box with both covers the whole domain: its own category.
FAR = -2.0


def space_of(columns: list[Column], order: npt.NDArray[np.integer]) -> Space:
    """The points of all rows, numbered in the given order.

    Flat attributes come first, then trees, then numbers: a difference in a category costs most, so that a search sees
    soonest that a box is too far.
    """
    columns = sorted(columns, key=_kind)
    points = np.empty((order.size, len(columns)))
    kinds = np.empty(len(columns), np.int8)
    unit = np.empty(len(columns))
    first = np.zeros(len(columns), np.int64)
    lineages: list[npt.NDArray[np.int32]] = []
    shares: list[npt.NDArray[np.float64]] = []
    leaves = 0
    for j, column in enumerate(columns):
        codes = column.codes[order]
        unit[j] = column.weight
        if column.hierarchy is not None and column.leaf_of is not None:
            kinds[j] = TREE
            points[:, j] = column.leaf_of[codes]
            first[j] = leaves
            leaves += len(column.hierarchy.leaves)
            lineages.append(column.hierarchy.nodes())
            shares.append(column.hierarchy.share)
        elif column.has_order:
            kinds[j] = NUMBER
            points[:, j] = scaled(column)[codes]
        else:
            kinds[j] = FLAT
            points[:, j] = codes
            unit[j] = column.weight / column.size
    depth = max((lineage.shape[1] for lineage in lineages), default=1)
    return Space(
        points=points,
        kinds=kinds,
        flats=int((kinds == FLAT).sum()),
        trees=int((kinds != NUMBER).sum()),
        unit=unit,
        few=np.array([column.size <= 64 for column in columns]),
        first=first,
        lineage=np.vstack([_padded(lineage, depth) for lineage in lineages] or [np.zeros((1, 1), np.int32)]),
        share=np.vstack([_padded(share, depth) for share in shares] or [np.zeros((1, 1))]),
    )


def _kind(column: Column) -> int:
    if column.hierarchy is not None:
        return 1
    return 2 if column.has_order else 0


def scaled(column: Column) -> npt.NDArray[np.float64]:
    """The place of each code of a number or ordered value in its domain, 0 … 1; the missing value far away."""
    values = column.numbers
    span = values[-1] - values[0] if values.size else 0.0
    places = (values - values[0]) / span if span > 0 else np.zeros(values.size)
    return np.append(places, FAR) if column.has_missing else places


def _padded(matrix: npt.NDArray, depth: int) -> npt.NDArray:
    return np.pad(matrix, ((0, 0), (0, depth - matrix.shape[1])), mode="edge")
