"""How closely two attributes go together, and which of them belong in one slice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pluralis.grouping.medoids import clusters, medoids, silhouette
from pluralis.table.encoding import Column

Codes = npt.NDArray[np.integer]
PARTS = 10  # a number with more than twice as many values is cut into so many parts before it is compared


def mean_square_contingency(one: Codes, other: Codes) -> float:
    """Φ², equation 1 of SLOMS: 0 where two attributes are independent, 1 where one decides the other.

    It is Pearson's χ² over n, over one less than the number of values of the attribute that has fewer; its root is
    Cramér's V. An attribute with a single value goes with nothing.

    >>> mean_square_contingency(np.array([0, 0, 1, 1]), np.array([5, 5, 2, 2]))
    1.0
    >>> mean_square_contingency(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    0.0
    """
    rows = one.size
    p, q = np.bincount(one), np.bincount(other)
    fewer = min(np.count_nonzero(p), np.count_nonzero(q))
    if fewer < 2:
        return 0.0
    cells, counts = _key_counts(one.astype(np.int64) * q.size + other, p.size * q.size)
    expected = p[cells // q.size] * q[cells % q.size] / rows
    # empty cells add their expected count each: together what the others lack to n
    chi_squared = float(((counts - expected) ** 2 / expected).sum() + rows - expected.sum())
    return min(1.0, max(0.0, chi_squared / rows / (fewer - 1)))


def _key_counts(keys: npt.NDArray[np.int64], room: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The different keys and how often each occurs."""
    if room > 8 * keys.size + 1024:
        return np.unique(keys, return_counts=True)
    counts = np.bincount(keys, minlength=room)
    cells = np.flatnonzero(counts)
    return cells, counts[cells]


def in_parts(column: Column) -> Codes:
    """A column's codes; a number with many values in PARTS parts of about as many rows."""
    if not column.has_order or column.size <= 2 * PARTS:
        return column.codes
    before = np.cumsum(column.counts) - column.counts
    return (before * PARTS // max(1, column.codes.size))[column.codes]


class Slicing(NamedTuple):
    """Columns by slice, and how it was found."""

    slices: list[list[Column]]
    how: str


def sliced_by_correlation(columns: Sequence[Column], count: int | None = None) -> Slicing:
    """Columns that go together in one slice: k-medoids (PAM) on 1 - Φ², into `count` slices or as fits best.

    Without a count, the one with the best mean silhouette is taken, the smaller of two; where no division is better
    than none (silhouette 0 or less), every column is a slice. Two columns make one slice.
    """
    width = len(columns)
    if count is None and width <= 2:
        return Slicing([list(columns)], "two attributes make one slice")
    if count == 1:
        return Slicing([list(columns)], "one slice was asked for")
    if count == width:
        return Slicing([[column] for column in columns], "as many slices as attributes were asked for")
    distances = 1 - correlations(columns)
    tried = {number: _medoids(distances, number) for number in ([count] if count else range(2, width))}
    best = max(tried, key=lambda number: (round(tried[number][1], 9), -number))
    labels, silhouette = tried[best]
    if count is None and silhouette <= 0:
        return Slicing(
            [[column] for column in columns], "no two attributes go together closely enough to share a slice"
        )
    slices = [[column for column, own in zip(columns, labels, strict=True) if own == label] for label in range(best)]
    reason = "asked for" if count else f"mean silhouette {silhouette:.2f}, the best of 2 to {width - 1} slices"
    return Slicing(sorted(slices, key=lambda slice: slice[0].name), f"k-medoids on 1 - Φ² into {best} slices, {reason}")


def correlations(columns: Sequence[Column]) -> npt.NDArray[np.float64]:
    """Φ² of every two columns."""
    codes = [in_parts(column) for column in columns]
    out = np.eye(len(codes))
    for i in range(len(codes)):
        for j in range(i):
            out[i, j] = out[j, i] = mean_square_contingency(codes[i], codes[j])
    return out


def _medoids(distances: npt.NDArray[np.float64], count: int) -> tuple[list[int], float]:
    """(the cluster of each column, mean silhouette)."""
    labels = clusters(distances, medoids(distances, count))
    return labels.tolist(), silhouette(distances, labels)
