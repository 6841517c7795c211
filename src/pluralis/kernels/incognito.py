"""Incognito's loops: classes of cells and their test. And dealing the rows of one person among several groups.

A cell is a combination of quasi values with the histograms of its rows' sensitive values, so that a node of the
lattice is tested without going back to the rows. Mondrian deals rows with the same loops (persons.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pluralis.kernels.mondrian import diverse, fits, holds, most_of_one_person
from pluralis.kernels.place import gather, join

MOST_PARTS = 1024
SPREAD = np.uint64(0x9E3779B97F4A7C15)


class Histograms(NamedTuple):
    """Sensitive values by cell: those of cell i stand from starts[i] to starts[i + 1]."""

    starts: np.ndarray
    values: np.ndarray
    counts: np.ndarray


class Classes(NamedTuple):
    """Cells by class: those of class i stand in `cells` from starts[i] to starts[i + 1]."""

    cells: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray  # rows of each class


class Demand(NamedTuple):
    """What one sensitive attribute must be in every class."""

    model: int
    l: int
    c: float


@njit(cache=True)
def extend_keys(keys, width, lift, nodes):
    """Append one attribute to the keys: `lift[nodes[i]]`, one of `width` nodes."""
    for i in range(keys.size):
        keys[i] = keys[i] * width + lift[nodes[i]]


@njit(cache=True)
def numbered_keys(keys):
    """(the number of each key in order of first appearance, how many there are)."""
    bits = 4
    while 1 << bits < 2 * keys.size:
        bits += 1
    slots = np.full(1 << bits, -1, np.int64)
    firsts = np.empty(keys.size, np.int64)
    number = np.empty(keys.size, np.int64)
    mask = (1 << bits) - 1
    used = 0
    for i in range(keys.size):
        slot = np.int64((np.uint64(keys[i]) * SPREAD) >> np.uint64(64 - bits))
        while slots[slot] >= 0 and firsts[slots[slot]] != keys[i]:
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            slots[slot] = used
            firsts[used] = keys[i]
            used += 1
        number[i] = slots[slot]
    return number, used


@njit(cache=True)
def classes_of(class_of, count, sizes):
    """Cells by class; `sizes` are the rows of each cell."""
    starts = np.zeros(count + 1, np.int64)
    rows = np.zeros(count, np.int64)
    for cell in range(class_of.size):
        starts[class_of[cell] + 1] += 1
        rows[class_of[cell]] += sizes[cell]
    for i in range(count):
        starts[i + 1] += starts[i]
    cells = np.empty(class_of.size, np.int64)
    at = starts[:-1].copy()
    for cell in range(class_of.size):
        cells[at[class_of[cell]]] = cell
        at[class_of[cell]] += 1
    return Classes(cells, starts, rows)


@njit(cache=True)
def _add_up(classes, group, histograms, room):
    """Add the histograms of a class in `room.counts`; how many values it holds, `room.codes` naming them."""
    used = 0
    for i in range(classes.starts[group], classes.starts[group + 1]):
        cell = classes.cells[i]
        for at in range(histograms.starts[cell], histograms.starts[cell + 1]):
            value = histograms.values[at]
            if room.counts[value] == 0:
                room.codes[used] = value
                used += 1
            room.counts[value] += histograms.counts[at]
    return used


@njit(cache=True)
def merged(classes, histograms, room):
    """The histograms of whole classes."""
    starts = np.zeros(classes.sizes.size + 1, np.int64)
    values = np.empty_like(histograms.values)
    counts = np.empty_like(histograms.counts)
    at = 0
    for group in range(classes.sizes.size):
        used = _add_up(classes, group, histograms, room)
        for code in room.codes[:used]:
            values[at] = code
            counts[at] = room.counts[code]
            room.counts[code] = 0
            at += 1
        starts[group + 1] = at
    return Histograms(starts, values[:at].copy(), counts[:at].copy())


@njit(cache=True)
def judge(classes, histograms, demand, room, bad, allowed):
    """Mark the classes that fail a test; the rows of all marked ones, counted until they exceed `allowed`."""
    lost = 0
    for group in range(bad.size):
        if bad[group]:
            lost += classes.sizes[group]
    for group in range(bad.size):
        if lost > allowed:
            break
        if bad[group]:
            continue
        codes = room.codes[: _add_up(classes, group, histograms, room)]
        if not diverse(demand.model, demand.l, demand.c, room.counts, codes, 1):
            bad[group] = True
            lost += classes.sizes[group]
        for code in codes:
            room.counts[code] = 0
    return lost


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
                same += tallies[part, a, models.secrets[a, row]]
            if best < 0 or same < fewest or (same == fewest and sizes[part] < sizes[best]):
                best, fewest = part, same
        part_of[i] = best
        if best >= 0:
            last[best] = models.person[row]
            sizes[best] += 1
            for a in range(models.ls.size):
                tallies[best, a, models.secrets[a, row]] += 1
    for i in range(rows.size):
        room.people[models.person[rows[i]]] = 0
        for a in range(models.ls.size):
            if part_of[i] >= 0:
                tallies[part_of[i], a, models.secrets[a, rows[i]]] = 0


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
