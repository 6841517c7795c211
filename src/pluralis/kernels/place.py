"""The members of groups, and exchanging rows between groups for a smaller loss.

A group's members stand in a chain: `head[g]` is its last-joined row, `link[row]` the one before it, -1 the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pluralis.kernels.forest import STACK, allowed, nearest_few
from pluralis.kernels.space import box_loss, empty_box, fill_box, loss_with

NEAR_ROWS = 16
WORTH = 1e-12


class Groups(NamedTuple):
    """Groups under construction."""

    head: np.ndarray
    link: np.ndarray
    size: np.ndarray
    loss: np.ndarray  # of one row of the group


@njit(cache=True)
def gather(groups, group, members):
    """The members of a group, in `members`; how many."""
    count = 0
    row = groups.head[group]
    while row >= 0:
        members[count] = row
        count += 1
        row = groups.link[row]
    return count


@njit(cache=True)
def join(groups, group, row):
    """Add a row to a group's chain."""
    groups.link[row] = groups.head[group]
    groups.head[group] = row
    groups.size[group] += 1


@njit(cache=True)
def _no_members(groups, rows):
    """Room for so many groups of so many rows, all of them empty."""
    return Groups(
        np.full(groups, -1, np.int64), np.full(rows, -1, np.int64), np.zeros(groups, np.int64), np.zeros(groups)
    )


@njit(cache=True)
def chains(group_of, groups):
    """The members of each group."""
    members = _no_members(groups, group_of.size)
    for row in range(group_of.size):
        if group_of[row] >= 0:
            join(members, group_of[row], row)
    return members


@njit(cache=True)
def chained(formed, rows):
    """Groups of equal size as chains, `formed[g]` being the rows of group g."""
    count, l = formed.shape
    groups = _no_members(count, rows)
    for group in range(count):
        for i in range(l):
            join(groups, group, formed[group, i])
    return groups


@njit(cache=True)
def losses_of(space, starts, members):
    """The whole loss of each group: rows times the loss of its box."""
    losses = np.empty(starts.size - 1)
    box = empty_box(space.kinds.size)
    for group in range(losses.size):
        mine = members[starts[group] : starts[group + 1]]
        fill_box(space, box, mine, mine.size, -1)
        losses[group] = mine.size * box_loss(space, box)
    return losses


@njit(cache=True)
def refine(space, forest, rules, starts, members, group_of, order):
    """Exchange rows of equal primary value between groups wherever the loss of both together falls.

    `members[starts[g]:starts[g+1]]` are the rows of group g. Groups are visited in `order`. Returns the loss saved.
    """
    attributes = space.kinds.size
    here, there = empty_box(attributes), empty_box(attributes)
    found = np.empty(NEAR_ROWS, np.int64)
    losses = np.empty(NEAR_ROWS)
    room = (np.empty(STACK, np.int64), np.empty(STACK))
    saved = 0.0
    for group in order:
        mine = members[starts[group] : starts[group + 1]]
        last = mine.size - 1
        for place_of_row in range(mine.size):
            row = mine[place_of_row]
            fill_box(space, here, mine, mine.size, place_of_row)  # moves the row to the last place
            loss = loss_with(space, here, mine, last, space.points, row)
            if loss == 0.0:
                break
            root = rules.secrets[0, row]
            count = nearest_few(space, forest, root, (here, mine, last, loss), found, losses, room)
            best, partner = -WORTH, -1
            for i in range(count):
                other = group_of[found[i]]
                if other == group:
                    continue
                theirs = members[starts[other] : starts[other + 1]]
                at = 0
                while theirs[at] != found[i]:
                    at += 1
                fill_box(space, there, theirs, theirs.size, at)
                before = loss_with(space, there, theirs, theirs.size - 1, space.points, found[i])
                after = loss_with(space, there, theirs, theirs.size - 1, space.points, row)
                change = mine.size * (losses[i] - loss) + theirs.size * (after - before)
                if (
                    change < best
                    and allowed(rules, mine, last, found[i])
                    and allowed(rules, theirs, theirs.size - 1, row)
                ):
                    best, partner = change, found[i]
            if partner >= 0:
                other = group_of[partner]
                theirs = members[starts[other] : starts[other + 1]]
                at = 0
                while theirs[at] != partner:
                    at += 1
                theirs[at] = row
                mine[last] = partner
                group_of[row], group_of[partner] = other, group
                saved -= best
            mine[place_of_row], mine[last] = mine[last], mine[place_of_row]
    return saved
