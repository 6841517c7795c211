"""Incognito's loops: cells counted together as the classes of a node, and the test of those classes.

A cell is a combination of quasi-identifiers with the histograms of its rows' sensitive values, so that a node of the
lattice is tested without going back to the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pluralis.kernels.models import diverse, within

SPREAD = np.uint64(0x9E3779B97F4A7C15)


class Histograms(NamedTuple):
    """Sensitive values by cell: those of cell i stand from starts[i] to starts[i + 1]."""

    starts: np.ndarray
    values: np.ndarray
    counts: np.ndarray


class CellsByClass(NamedTuple):
    """Cells by class: those of class i stand in `cells` from starts[i] to starts[i + 1]."""

    cells: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray  # rows of each class


class Demand(NamedTuple):
    """What one sensitive attribute must be in every class."""

    place: int  # among the attributes
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
    next_place = starts[:-1].copy()
    for cell in range(class_of.size):
        cells[next_place[class_of[cell]]] = cell
        next_place[class_of[cell]] += 1
    return CellsByClass(cells, starts, rows)


@njit(cache=True)
def _add_up(classes, group, histograms, room):
    """Add the histograms of a class in `room.counts`; how many values it holds, `room.codes` naming them."""
    used = 0
    for i in range(classes.starts[group], classes.starts[group + 1]):
        cell = classes.cells[i]
        for entry in range(histograms.starts[cell], histograms.starts[cell + 1]):
            value = histograms.values[entry]
            if room.counts[value] == 0:
                room.codes[used] = value
                used += 1
            room.counts[value] += histograms.counts[entry]
    return used


@njit(cache=True)
def merged(classes, histograms, room):
    """The histograms of whole classes."""
    starts = np.zeros(classes.sizes.size + 1, np.int64)
    values = np.empty_like(histograms.values)
    counts = np.empty_like(histograms.counts)
    entry = 0
    for group in range(classes.sizes.size):
        used = _add_up(classes, group, histograms, room)
        for code in room.codes[:used]:
            values[entry] = code
            counts[entry] = room.counts[code]
            room.counts[code] = 0
            entry += 1
        starts[group + 1] = entry
    return Histograms(starts, values[:entry].copy(), counts[:entry].copy())


@njit(cache=True)
def judge(classes, histograms, demand, bounds, room, bad, allowed):
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
        fine = diverse(demand.model, demand.l, demand.c, room.counts, codes, 1)
        if not (fine and within(bounds, demand.place, room.counts, codes, 1)):
            bad[group] = True
            lost += classes.sizes[group]
        for code in codes:
            room.counts[code] = 0
    return lost
