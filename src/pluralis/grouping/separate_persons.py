"""Separate persons: the rows of one person are kept in different groups (BSGI, section 5.2, case 2).

`separate_persons` splits groups that hold a person twice, and says which rows then have no place. `kept_apart` also
places these, for methods that make groups of near rows without looking at people.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pluralis.grouping.plan import SUPPRESSED, numbered
from pluralis.kernels.forest import plant
from pluralis.kernels.models import Models, Room, room_for
from pluralis.kernels.mondrian import boxes_of, near_groups, place_row
from pluralis.kernels.persons import MOST_PARTS, separate
from pluralis.kernels.place import chains
from pluralis.kernels.space import Space
from pluralis.progress import stage

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
    kept = np.flatnonzero(group_of != SUPPRESSED)
    out = np.full(group_of.size, SUPPRESSED, np.int64)
    if not models.person.size or not kept.size:
        return Separated(group_of, out[:0])
    order = kept[np.argsort(group_of[kept], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(group_of[kept]))])
    most = min(_most_rows(group_of[kept], models.person[kept]), MOST_PARTS)
    tallies = np.zeros((most, models.ls.size, room.counts.size), np.int32)
    separate(models, room, tallies, order, starts, out)
    return Separated(numbered(out), kept[out[kept] == SUPPRESSED])


def _most_rows(group_of: Rows, person: npt.NDArray[np.int32]) -> int:
    """The most rows that one person has in one group."""
    pairs = group_of * (int(person.max()) + 1) + person
    return int(np.unique(pairs, return_counts=True)[1].max())


def kept_apart(space: Space, models: Models, group_of: Rows) -> Rows:
    """Split groups that hold a person twice, and place what is left over where it costs least; else SUPPRESSED.

    The groups of the nearest rows are tried first, all others only where none of those may take the row.
    """
    room = room_for(models)
    group_of, surplus = separate_persons(group_of, models, room)
    if not surplus.size:
        return group_of
    group_of = group_of.copy()
    groups = int(group_of.max()) + 1
    members = chains(group_of, groups)
    boxes = boxes_of(space, room, members)
    everywhere = np.arange(groups)
    forest = plant(space, np.arange(group_of.size), np.array([0, group_of.size]), np.zeros(group_of.size, np.int32))
    with stage("placing rows of people with several") as done:
        for i, row in enumerate(surplus):
            near = near_groups(space, forest, group_of, row)
            group_of[row] = place_row(space, models, room, members, boxes, near, row)
            if group_of[row] == SUPPRESSED:
                group_of[row] = place_row(space, models, room, members, boxes, everywhere, row)
            done(i / surplus.size)
    return group_of
