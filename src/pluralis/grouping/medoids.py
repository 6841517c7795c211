"""k-medoids: a few dozen things in clusters around things of their own.

Paper      Kaufman and Rousseeuw, Finding Groups in Data, 1990: PAM (chapter 2) with its BUILD and SWAP steps, and the
           silhouette (section 2.2).
Ties       go to the thing that comes first, so nothing is drawn.
Cost       SWAP looks at all k (n - k) exchanges of n things, each in n steps: right for a few dozen, not for thousands.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Distances = npt.NDArray[np.float64]
_SLACK = 1e-12  # by which an exchange must be better: rounding would go round in circles


def medoids(distances: Distances, count: int) -> list[int]:
    """The things that clusters lie around: a choice that no exchange of one for another improves.

    >>> medoids(np.abs(np.subtract.outer([0.0, 1, 2, 10, 11, 12], [0.0, 1, 2, 10, 11, 12])), 2)
    [1, 4]
    """
    chosen = _build(distances, count)
    while True:
        exchanges = [
            (_lost(distances, [*chosen[:out], new, *chosen[out + 1 :]]), out, new)
            for out in range(count)
            for new in range(len(distances))
            if new not in chosen
        ]
        lost, out, new = min(exchanges, default=(np.inf, 0, 0))
        if lost >= _lost(distances, chosen) - _SLACK:
            return sorted(chosen)
        chosen[out] = new


def _build(distances: Distances, count: int) -> list[int]:
    """BUILD: one by one, the thing that brings the others nearest."""
    chosen: list[int] = []
    for _ in range(count):
        rest = [new for new in range(len(distances)) if new not in chosen]
        chosen.append(min(rest, key=lambda new: (_lost(distances, [*chosen, new]), new)))
    return chosen


def _lost(distances: Distances, chosen: list[int]) -> float:
    """How far all things are from the nearest of the chosen ones, added up."""
    return float(distances[chosen].min(axis=0).sum())


def clusters(distances: Distances, chosen: list[int]) -> npt.NDArray[np.int64]:
    """The cluster of each thing: that of the nearest medoid, the first of several; a medoid is in its own."""
    labels: npt.NDArray[np.int64] = distances[chosen].argmin(axis=0)
    labels[chosen] = np.arange(len(chosen))
    return labels


def silhouette(distances: Distances, labels: npt.NDArray[np.int64]) -> float:
    """How much nearer things are to their own cluster than to the next, on average: from -1 to 1.

    A thing that is alone in its cluster counts 0.

    >>> silhouette(np.abs(np.subtract.outer([0.0, 0, 5, 5], [0.0, 0, 5, 5])), np.array([0, 0, 1, 1]))
    1.0
    """
    members = np.eye(int(labels.max()) + 1, dtype=np.float64)[labels]
    sizes = members.sum(axis=0)
    totals = distances @ members
    things = np.arange(len(labels))
    own = totals[things, labels] / np.maximum(sizes[labels] - 1, 1)
    means = totals / sizes
    means[things, labels] = np.inf
    other = means.min(axis=1)
    widths = np.where(sizes[labels] > 1, (other - own) / np.maximum(np.maximum(own, other), 1e-300), 0.0)
    return float(widths.mean())
