"""KL divergence of a generalized release, as section 6 of the paper defines it.

A published row tells that its owner's point lies in a box: the product of what its labels cover. All points of the box
are equally likely, as in the metric's other uses. So the release gives a point x the share
    p2(x) = (1/n) sum over published rows with x's sensitive value whose box holds x of 1 / (points of the box)
and KL = sum of p1 log(p1 / p2) over the points of the original, in nats. The domain of an attribute is the values that
the original holds of it. Where each box is a single point KL is 0.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
from numba import njit

from pluralis.auditing.label_boxes import Boxes, CodedLabels, Points, coded_labels, join_boxes, join_points
from pluralis.errors import ReleaseError
from pluralis.grouping.subtable_divergence import entropy
from pluralis.release.original import original_values
from pluralis.release.release import Release

Shares = npt.NDArray[np.float64]


def kl_of_generalized(release: Release, original: pl.DataFrame) -> float:
    """KL divergence in nats of a `generalized` release with one sensitive attribute."""
    info, rows = release.info("microdata"), release.tables["microdata"]
    (sensitive,) = info.named("sensitive")
    columns = [
        coded_labels(rows[column.name], original_values(original, column, release.manifest), column)
        for column in info.named("quasi")
    ]
    truth = original_values(original, sensitive, release.manifest).cast(pl.String)
    domain = {value: code for code, value in enumerate(sorted(truth.unique()))}
    true, published = (
        s.replace_strict(domain, return_dtype=pl.Int64).to_numpy() for s in (truth, rows[sensitive.name])
    )
    boxes, _ = join_boxes(columns, published)
    points = join_points(columns, true)
    share = shares_of(points, boxes, _weights(columns, boxes))
    if not (share > 0).all():
        raise ReleaseError("The release does not allow for some rows of the original: it is not its original.")
    return float(-np.log(share / rows.height).mean() - entropy(_sizes(points)))


def _weights(columns: list[CodedLabels], boxes: Boxes) -> Shares:
    """What each distinct published row gives to each point of its box."""
    weights = boxes.rows.astype(np.float64)
    set_sizes = np.diff(boxes.starts)
    for i in range(len(columns)):
        inside = boxes.high[:, i] - boxes.low[:, i] + 1
        weights /= np.where(boxes.sets[:, i] < 0, inside, set_sizes[boxes.sets[:, i]])
    return weights


def _sizes(points: Points) -> npt.NDArray[np.int64]:
    """How many rows of the original are at each of its points."""
    return np.unique(np.column_stack([points.codes, points.key]), axis=0, return_counts=True)[1]


def shares_of(points: Points, boxes: Boxes, weights: Shares) -> Shares:
    """What all published rows together give to the point of each row of the original.

    A box is held against those points alone that lie in its range of one attribute, the one that leaves fewest.
    """
    rows, attributes = points.codes.shape
    order = np.empty((attributes, rows), np.int64)
    begin, end = (np.empty((attributes, boxes.key.size), np.int64) for _ in range(2))
    for i in range(attributes):
        size = int(max(points.codes[:, i].max(), boxes.high[:, i].max())) + 1
        place = points.key * size + points.codes[:, i]
        order[i] = np.argsort(place, kind="stable")
        begin[i] = np.searchsorted(place[order[i]], boxes.key * size + boxes.low[:, i], "left")
        end[i] = np.searchsorted(place[order[i]], boxes.key * size + boxes.high[:, i], "right")
    best, every_box = np.argmin(end - begin, axis=0), np.arange(boxes.key.size)
    share = np.zeros(rows)
    _add(points, boxes, weights, order, best, begin[best, every_box], end[best, every_box], share)
    return share


@njit(cache=True)
def _add(points, boxes, weights, order, best, begin, end, share):  # type: ignore[no-untyped-def]
    """share[p] = sum of the weights of boxes of the same key that hold point p."""
    for box in range(weights.size):
        for place in range(begin[box], end[box]):
            p = order[best[box], place]
            inside = True
            for i in range(points.codes.shape[1]):
                code, set_of = points.codes[p, i], boxes.sets[box, i]
                if code < boxes.low[box, i] or code > boxes.high[box, i]:
                    inside = False
                elif set_of >= 0:
                    members = boxes.members[boxes.starts[set_of] : boxes.starts[set_of + 1]]
                    position = np.searchsorted(members, code)
                    inside = position < members.size and members[position] == code
                if not inside:
                    break
            if inside:
                share[p] += weights[box]
