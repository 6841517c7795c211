"""The test that a group must pass: k rows, and l-diverse sensitive values by the model that each attribute names; and
beside that, shares below the caps of values, and a distribution close to that of the table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

FREQUENCY, DISTINCT, ENTROPY, RECURSIVE, UNIQUE = 0, 1, 2, 3, 4
ROUNDING = 1e-9
EXACT = 1e-10  # by which a product that should be whole may miss it


class Bounds(NamedTuple):
    """What values and distributions of a group must be beside diverse. Nothing is asked where there is no attribute."""

    cap: np.ndarray  # float64[attribute, code]: the largest share of a value in a group; 1 for any
    share: np.ndarray  # float64[attribute, code]: that of the value in the table
    t: np.ndarray  # float64[attribute]: the largest distance of a group from the table; 1 for any
    ordered: np.ndarray  # bool[attribute]: whether a value is the farther from another the more values lie between


NO_BOUNDS = Bounds(np.ones((0, 0)), np.zeros((0, 0)), np.ones(0), np.zeros(0, np.bool_))


class Models(NamedTuple):
    """What every group must be: of k rows, and diverse in every sensitive attribute."""

    sensitive: np.ndarray  # int32[attribute, row]
    model: np.ndarray  # int8[attribute]: FREQUENCY, …
    ls: np.ndarray  # int64[attribute]
    c: np.ndarray  # float64[attribute], for RECURSIVE
    least: int  # no group with fewer rows can pass
    person: np.ndarray  # int32[row], or empty
    bounds: Bounds = NO_BOUNDS


class Room(NamedTuple):
    """Arrays to work in; `counts` and `people` are all zero between uses."""

    counts: np.ndarray  # int64[value]
    people: np.ndarray  # int64[person]
    codes: np.ndarray  # int64[value]
    rows: np.ndarray  # int64[row + 1]


def room_for(models: Models) -> Room:
    """Room to test groups of any rows that the models know."""
    values = int(models.sensitive.max(initial=0)) + 1
    return Room(
        counts=np.zeros(values, np.int64),
        people=np.zeros(int(models.person.max(initial=0)) + 1, np.int64),
        codes=np.empty(values, np.int64),
        rows=np.empty(max(models.sensitive.shape[1], models.person.size) + 1, np.int64),
    )


@njit(cache=True)
def diverse(model, l, c, counts, codes, parts):
    """Whether a histogram is l-diverse in `parts` even shares of it; `codes` are the values that it holds."""
    size, top, spread = 0, 0, 0
    for code in codes:
        size += counts[code]
        top = max(top, counts[code])
        spread += min(counts[code], parts)
    if model == FREQUENCY:
        return top <= parts * (size // parts // l)
    if model == UNIQUE:
        return top == 1 and l <= codes.size <= l + 1
    if spread < parts * l:
        return False
    if model == ENTROPY:
        entropy = 0.0
        for code in codes:
            share = counts[code] / size
            entropy -= share * np.log(share)
        return entropy >= np.log(l) - ROUNDING
    if model == RECURSIVE:
        ascending = np.sort(counts[codes])
        return top < c * ascending[: ascending.size - l + 1].sum()
    return True


@njit(cache=True)
def within(bounds, a, counts, codes, parts):
    """Whether a histogram of an attribute keeps its bounds, in `parts` even shares of it; `codes` are those it holds.

    How close even shares are to the table is not told by the whole: distances are asked of one part only.
    """
    if bounds.t.size == 0:
        return True
    size = 0
    for code in codes:
        size += counts[code]
    for code in codes:
        if counts[code] > parts * np.floor(bounds.cap[a, code] * (size // parts) + EXACT):
            return False
    if bounds.t[a] >= 1.0:
        return True
    return distance(bounds.share[a], bounds.ordered[a], counts, codes, size) <= bounds.t[a]


@njit(cache=True)
def distance(share, ordered, counts, codes, size):
    """The earth mover's distance of a histogram from the shares of the table; values are 1 apart, or by places."""
    far = 0.0
    if not ordered:
        for code in codes:
            far += max(0.0, counts[code] / size - share[code])
        return far
    moved, values = 0.0, 0
    for code in range(share.size):
        if share[code] > 0.0:
            moved += counts[code] / size - share[code]
            far += abs(moved)
            values += 1
    return far / max(1, values - 1)


@njit(cache=True)
def tally(values, rows, counts, codes):
    """Count the values of `rows`; how many there are, `codes` naming them."""
    used = 0
    for row in rows:
        value = values[row]
        if counts[value] == 0:
            codes[used] = value
            used += 1
        counts[value] += 1
    return used


@njit(cache=True)
def holds(models, room, rows, parts):
    """Whether rows pass the test as one group, or, with several parts, whether even shares of them would."""
    if rows.size < models.least * parts:
        return False
    fine = True
    for a in range(models.ls.size):
        used = tally(models.sensitive[a], rows, room.counts, room.codes)
        codes = room.codes[:used]
        fine = diverse(models.model[a], models.ls[a], models.c[a], room.counts, codes, parts)
        fine = fine and within(models.bounds, a, room.counts, codes, parts)
        for code in codes:
            room.counts[code] = 0
        if not fine:
            break
    return fine


@njit(cache=True)
def most_of_one_person(models, room, rows):
    """How many of the rows one person has at most."""
    most = 1
    if models.person.size > 0:
        for row in rows:
            room.people[models.person[row]] += 1
            most = max(most, room.people[models.person[row]])
        for row in rows:
            room.people[models.person[row]] = 0
    return most


@njit(cache=True)
def fits(models, room, size, row):
    """Whether `row` may join the group whose rows are `room.rows[:size]`."""
    if models.person.size > 0:
        for i in range(size):
            if models.person[room.rows[i]] == models.person[row]:
                return False
    room.rows[size] = row
    return holds(models, room, room.rows[: size + 1], 1)
