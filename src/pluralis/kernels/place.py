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


@njit(cache=True, nogil=True)
def losses_of(space, starts, members):
    """The whole loss of each group: rows times the loss of its box."""
    losses = np.empty(starts.size - 1)
    box = empty_box(space.kinds.size)
    for group in range(losses.size):
        rows = members[starts[group] : starts[group + 1]]
        fill_box(space, box, rows, rows.size, -1)
        losses[group] = rows.size * box_loss(space, box)
    return losses


@njit(cache=True, nogil=True)
def refine(space, forest, rules, starts, members, group_of, order):
    """Exchange rows of equal primary value between groups wherever the loss of both together falls.

    `members[starts[g]:starts[g+1]]` are the rows of group g. Groups are visited in `order`. Returns the loss saved.
    """
    attributes = space.kinds.size
    here, there = empty_box(attributes), empty_box(attributes)
    candidates = np.empty(NEAR_ROWS, np.int64)
    losses = np.empty(NEAR_ROWS)
    room = (np.empty(STACK, np.int64), np.empty(STACK))
    saved = 0.0
    for group in order:
        own_rows = members[starts[group] : starts[group + 1]]
        last = own_rows.size - 1
        for place_of_row in range(own_rows.size):
            row = own_rows[place_of_row]
            fill_box(space, here, own_rows, own_rows.size, place_of_row)  # moves the row to the last place
            loss = loss_with(space, here, own_rows, last, space.points, row)
            if loss == 0.0:
                break
            root = rules.sensitive[0, row]
            count = nearest_few(space, forest, root, (here, own_rows, last, loss), candidates, losses, room)
            best, partner = -WORTH, -1
            for i in range(count):
                other = group_of[candidates[i]]
                if other == group:
                    continue
                other_rows = members[starts[other] : starts[other + 1]]
                index = 0
                while other_rows[index] != candidates[i]:
                    index += 1
                fill_box(space, there, other_rows, other_rows.size, index)
                before = loss_with(space, there, other_rows, other_rows.size - 1, space.points, candidates[i])
                after = loss_with(space, there, other_rows, other_rows.size - 1, space.points, row)
                change = own_rows.size * (losses[i] - loss) + other_rows.size * (after - before)
                if (
                    change < best
                    and allowed(rules, own_rows, last, candidates[i])
                    and allowed(rules, other_rows, other_rows.size - 1, row)
                ):
                    best, partner = change, candidates[i]
            if partner >= 0:
                other = group_of[partner]
                other_rows = members[starts[other] : starts[other + 1]]
                index = 0
                while other_rows[index] != partner:
                    index += 1
                other_rows[index] = row
                own_rows[last] = partner
                group_of[row], group_of[partner] = other, group
                saved -= best
            own_rows[place_of_row], own_rows[last] = own_rows[last], own_rows[place_of_row]
    return saved
