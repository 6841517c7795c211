"""Dealing the rows of one person among several groups, so that no group holds a person twice."""

from __future__ import annotations

import numpy as np
from numba import njit

from pluralis.kernels.models import fits, holds, most_of_one_person
from pluralis.kernels.place import gather, join

MOST_PARTS = 1024


@njit(cache=True)
def _deal(models, room, rows, parts, tallies, part_of):
    """Deal rows among parts, no two of one person in a part, each value as evenly as that allows.

    People with most rows go first. `part_of[i]` is -1 where a person has more rows than there are parts.
    """
    for row in rows:
        room.people[models.person[row]] += 1
    order = np.argsort(models.person[rows], kind="mergesort")
    order = order[np.argsort(-room.people[models.person[rows[order]]], kind="mergesort")]
    sizes = np.zeros(parts, np.int64)
    last = np.full(parts, -1, np.int64)
    for i in order:
        row = rows[i]
        best, fewest = -1, 0
        for part in range(parts):
            if last[part] == models.person[row]:
                continue
            same = 0
            for a in range(models.ls.size):
                same += tallies[part, a, models.sensitive[a, row]]
            if best < 0 or same < fewest or (same == fewest and sizes[part] < sizes[best]):
                best, fewest = part, same
        part_of[i] = best
        if best >= 0:
            last[best] = models.person[row]
            sizes[best] += 1
            for a in range(models.ls.size):
                tallies[best, a, models.sensitive[a, row]] += 1
    for i in range(rows.size):
        room.people[models.person[rows[i]]] = 0
        for a in range(models.ls.size):
            if part_of[i] >= 0:
                tallies[part_of[i], a, models.sensitive[a, rows[i]]] = 0


@njit(cache=True)
def _drop_failing(models, room, rows, parts, part_of):
    """Mark the rows of parts that fail the test with -1; how many rows are in no part."""
    for part in range(parts):
        size = 0
        for i in range(rows.size):
            if part_of[i] == part:
                room.rows[size] = rows[i]
                size += 1
        if size > 0 and not holds(models, room, room.rows[:size], 1):
            for i in range(rows.size):
                if part_of[i] == part:
                    part_of[i] = -1
    return (part_of == -1).sum()


@njit(cache=True)
def separate(models, room, tallies, order, starts, group_of):
    """Split every group that holds a person twice; -1 for rows that no part can hold. Returns the number of groups."""
    groups = 0
    for group in range(starts.size - 1):
        rows = order[starts[group] : starts[group + 1]]
        parts = min(most_of_one_person(models, room, rows), MOST_PARTS)
        best = np.zeros(rows.size, np.int64)
        fewest = rows.size + 1 if parts > 1 else 0
        trial = np.empty(rows.size, np.int64)
        used = parts
        while parts >= 1 and fewest > 0:
            _deal(models, room, rows, parts, tallies, trial)
            lost = _drop_failing(models, room, rows, parts, trial)
            if lost < fewest:
                fewest, used = lost, parts
                best[:] = trial
            parts //= 2
        for i in range(rows.size):
            group_of[rows[i]] = groups + best[i] if best[i] >= 0 else -1
        groups += used
    return groups


@njit(cache=True)
def absorb(models, room, members, class_of_group, class_of_row, group_of):
    """Put rows without a group into the first group of their class that may take them."""
    for row in range(group_of.size):
        if group_of[row] >= 0 or class_of_row[row] < 0:
            continue
        for group in range(members.head.size):
            if class_of_group[group] != class_of_row[row] or members.size[group] == 0:
                continue
            size = gather(members, group, room.rows)
            if fits(models, room, size, row):
                join(members, group, row)
                group_of[row] = group
                break
