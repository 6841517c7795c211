"""Values added to a group's sets so that each holds l_i of them (section 5.2 of Decomposition).

A value is *linkable* to a group if some published row holds it beside one of the group's primary values. Others
could be ruled out by joining the group's primary values with the sensitive table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pluralis.kernels.place import gather

LOOKS = 20_000_000  # groups looked at as neighbors, before those still without one count as without


class Links(NamedTuple):
    """What stands beside each primary value: of attribute a and primary value p the places starts[a, p] to
    starts[a, p + 1], in rising order of value.
    """

    starts: np.ndarray
    values: np.ndarray
    rows: np.ndarray  # in how many published rows


class Marks(NamedTuple):
    """Arrays to work in: the last mark of each value of an attribute, and of each person."""

    value: np.ndarray  # int64[attribute, value]
    person: np.ndarray
    last: np.ndarray  # int64[1]: the last mark that was used
    room: np.ndarray  # int64[row]


def links_of(vectors, counts, sizes):
    """The links of every attribute, where counts[v] published rows hold vector v."""
    there = np.flatnonzero(counts)
    starts, values, rows = [np.zeros(sizes[0] + 1, np.int64)], [], []
    before = 0
    for attribute in range(1, len(sizes)):
        keys = vectors[there, 0].astype(np.int64) * sizes[attribute] + vectors[there, attribute]
        pairs, place = np.unique(keys, return_inverse=True)
        starts.append(before + np.searchsorted(pairs // sizes[attribute], np.arange(sizes[0] + 1)))
        values.append(pairs % sizes[attribute])
        rows.append(np.bincount(place, weights=counts[there], minlength=pairs.size).astype(np.int64))
        before += pairs.size
    return Links(np.stack(starts), np.concatenate(values), np.concatenate(rows))


def marks_for(sizes, people, rows):
    """Room for attributes of these sizes."""
    return Marks(
        np.zeros((len(sizes), max(sizes)), np.int64),
        np.zeros(people, np.int64),
        np.zeros(1, np.int64),
        np.empty(rows, np.int64),
    )


@njit(cache=True)
def _mark_values(marks, attribute, mark, values, kind_of, rows):
    """How many values of an attribute rows hold that were not marked yet."""
    new = 0
    for row in rows:
        value = values[kind_of[row], attribute]
        if marks.value[attribute, value] != mark:
            marks.value[attribute, value] = mark
            new += 1
    return new


@njit(cache=True)
def _new_mark(marks):
    marks.last[0] += 1
    return marks.last[0]


@njit(cache=True)
def count_distinct(values, kind_of, groups, marks):
    """counts[g, a] = different values of attribute a in group g."""
    counts = np.zeros((groups.head.size, values.shape[1]), np.int32)
    for group in range(groups.head.size):
        rows = marks.room[: gather(groups, group, marks.room)]
        mark = _new_mark(marks)
        for a in range(values.shape[1]):
            counts[group, a] = _mark_values(marks, a, mark, values, kind_of, rows)
    return counts


@njit(cache=True)
def _linkable(marks, attribute, mark, values, kind_of, rows, links):
    """How many unmarked values of an attribute are linked to the primary values of these rows; they are marked."""
    new = 0
    for row in rows:
        primary = values[kind_of[row], 0]
        for entry in range(links.starts[attribute, primary], links.starts[attribute, primary + 1]):
            if marks.value[attribute, links.values[entry]] != mark:
                marks.value[attribute, links.values[entry]] = mark
                new += 1
    return new


@njit(cache=True)
def linkable_to(values, kind_of, groups, marks, attribute, links, short):
    """How many values each of the `short` groups holds or can be given."""
    counts = np.empty(short.size, np.int64)
    for i in range(short.size):
        rows = marks.room[: gather(groups, short[i], marks.room)]
        mark = _new_mark(marks)
        counts[i] = _mark_values(marks, attribute, mark, values, kind_of, rows)
        counts[i] += _linkable(marks, attribute, mark, values, kind_of, rows, links)
    return counts


@njit(cache=True)
def draw_added(values, kind_of, groups, marks, attribute, links, short, needed, words):
    """(group, value) pairs: needed[i] linkable values for group short[i], each drawn by how many rows link it."""
    pairs = np.empty((words.size, 2), np.int64)
    weight = np.zeros(marks.value.shape[1], np.int64)
    candidates = np.empty(marks.value.shape[1], np.int64)
    count = 0
    for i in range(short.size):
        rows = marks.room[: gather(groups, short[i], marks.room)]
        mark = _new_mark(marks)
        _mark_values(marks, attribute, mark, values, kind_of, rows)
        among, total = 0, 0
        for row in rows:
            primary = values[kind_of[row], 0]
            if marks.value[0, primary] == mark:
                continue  # a primary value that stands twice in a group links once
            marks.value[0, primary] = mark
            for index in range(links.starts[attribute, primary], links.starts[attribute, primary + 1]):
                value = links.values[index]
                if marks.value[attribute, value] != mark:
                    if weight[value] == 0:
                        candidates[among] = value
                        among += 1
                    weight[value] += links.rows[index]
                    total += links.rows[index]
        candidates[:among].sort()
        for _ in range(needed[i]):
            spot = np.int64(words[count] % np.uint64(total))
            index = 0
            while spot >= weight[candidates[index]]:
                spot -= weight[candidates[index]]
                index += 1
            value = candidates[index]
            pairs[count, 0], pairs[count, 1] = short[i], value
            count += 1
            total -= weight[value]
            weight[value] = 0
        for index in range(among):
            weight[candidates[index]] = 0
    return pairs


@njit(cache=True)
def _shares_person(marks, person, mark, rows):
    for row in rows:
        if marks.person[person[row]] == mark:
            return True
    return False


@njit(cache=True)
def best_neighbor(values, kind_of, person, groups, marks, ls, links, group, looks):
    """(the group to merge with, or -1; looks left): without a common primary value or person, and after merging with
    enough linkable values of every attribute; where fewest values must be added, the first of these.
    """
    own_rows = marks.room[: gather(groups, group, marks.room)].copy()
    best, fewest = -1, np.iinfo(np.int64).max
    for other in range(groups.head.size):
        if other == group or groups.size[other] == 0:
            continue
        looks -= 1
        if looks <= 0:
            break
        rows = marks.room[: gather(groups, other, marks.room)]
        mark = _new_mark(marks)
        _mark_values(marks, 0, mark, values, kind_of, own_rows)
        if _mark_values(marks, 0, mark, values, kind_of, rows) < rows.size:
            continue
        if person.size > 0:
            for row in own_rows:
                marks.person[person[row]] = mark
            if _shares_person(marks, person, mark, rows):
                continue
        missing, possible = 0, True
        for a in range(1, ls.size):
            count = _mark_values(marks, a, mark, values, kind_of, own_rows)
            count += _mark_values(marks, a, mark, values, kind_of, rows)
            if count < ls[a]:
                missing += ls[a] - count
                count += _linkable(marks, a, mark, values, kind_of, own_rows, links)
                count += _linkable(marks, a, mark, values, kind_of, rows, links)
                possible &= count >= ls[a]
        if possible and missing < fewest:
            best, fewest = other, missing
            if missing == 0:
                break
    return best, looks


@njit(cache=True)
def merge(groups, group, other, group_of):
    """All rows of `other` join `group`."""
    row = groups.head[other]
    while row >= 0:
        after = groups.link[row]
        groups.link[row] = groups.head[group]
        groups.head[group] = row
        group_of[row] = group
        row = after
    groups.size[group] += groups.size[other]
    groups.size[other] = 0
    groups.head[other] = -1
