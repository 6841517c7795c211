"""Groups without a person twice, for methods that make groups of near rows without looking at people."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pluralis.grouping.persons import separate_persons
from pluralis.grouping.plan import LEFT_OUT
from pluralis.kernels.forest import plant
from pluralis.kernels.models import Models, room_for
from pluralis.kernels.mondrian import boxes_of, near_groups, place_row
from pluralis.kernels.place import chains
from pluralis.kernels.space import Space
from pluralis.progress import stage

Rows = npt.NDArray[np.int64]


def kept_apart(space: Space, models: Models, group_of: Rows) -> Rows:
    """Split groups that hold a person twice, and place what is left over where it costs least; else LEFT_OUT.

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
            if group_of[row] == LEFT_OUT:
                group_of[row] = place_row(space, models, room, members, boxes, everywhere, row)
            done(i / surplus.size)
    return group_of
