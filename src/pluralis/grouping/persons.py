"""Keeping the rows of one person apart: no two of them share a group (BSGI, section 5.2, case 2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pluralis.grouping.plan import LEFT_OUT, numbered
from pluralis.kernels.models import Models, Room
from pluralis.kernels.persons import MOST_PARTS, separate

Rows = npt.NDArray[np.int64]


class Separated(NamedTuple):
    """Groups without a person twice, and the rows that found no place in them."""

    group_of: Rows
    surplus: Rows


def separate_persons(group_of: Rows, models: Models, room: Room) -> Separated:
    """Split every group that holds a person twice into as many as the person with most rows needs.

    The rows of each sensitive value are dealt round-robin among the parts, each to a part where its person is not yet.
    Where a part fails the test, fewer and larger parts are tried; what then still has no place is the surplus. Groups
    in which everybody has one row stay as they are. Every group that comes out passes the test if those that went in
    did.

    >>> from pluralis.kernels.models import DISTINCT, room_for
    >>> models = Models(np.array([[0, 1, 0, 1]], np.int32), np.array([DISTINCT], np.int8), np.array([2]), np.ones(1), 2,
    ...                 np.array([0, 1, 1, 0], np.int32))
    >>> separate_persons(np.zeros(4, np.int64), models, room_for(models)).group_of.tolist()
    [0, 0, 1, 1]
    """
    kept = np.flatnonzero(group_of != LEFT_OUT)
    out = np.full(group_of.size, LEFT_OUT, np.int64)
    if not models.person.size or not kept.size:
        return Separated(group_of, out[:0])
    order = kept[np.argsort(group_of[kept], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(group_of[kept]))])
    most = min(_most_rows(group_of[kept], models.person[kept]), MOST_PARTS)
    tallies = np.zeros((most, models.ls.size, room.counts.size), np.int32)
    separate(models, room, tallies, order, starts, out)
    return Separated(numbered(out), kept[out[kept] == LEFT_OUT])


def _most_rows(group_of: Rows, person: npt.NDArray[np.int32]) -> int:
    """The most rows that one person has in one group."""
    pairs = group_of * (int(person.max()) + 1) + person
    return int(np.unique(pairs, return_counts=True)[1].max())
