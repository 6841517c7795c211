"""TP's loops: which rows leave their groups of equal rows for the residue. Groups are histograms, rows are counts.

A pillar is a commonest value of a group; its count is the height. A group is thin if it has exactly l x height rows,
fat if it has more; in conflict if a pillar of it is one of the residue; dead if it is thin and in conflict.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numba import njit

ROWS, HEIGHT, TOP, PHASE = 0, 1, 2, 3
LOOKS = 64  # groups that a search for a cover compares before it takes the best


class Parts(NamedTuple):
    """The groups. Entry e says that group `owner[e]` holds `counts[e]` rows of `value[e]`."""

    starts: np.ndarray  # int64[group + 1]: the entries of a group, by rising value
    owner: np.ndarray  # int64[entry]
    value: np.ndarray  # int64[entry]
    counts: np.ndarray  # int64[entry]; falls as rows leave
    size: np.ndarray  # int64[group]
    height: np.ndarray  # int64[group]
    pillars: np.ndarray  # int64[group]: how many
    dead: np.ndarray  # bool[group]: found dead; what is dead stays so until a pillar of the residue is none any more


class Residue(NamedTuple):
    """The rows that left."""

    counts: np.ndarray  # int64[value]
    top: np.ndarray  # int64[value]: its pillars come first
    sums: np.ndarray  # int64[4]: ROWS, HEIGHT, TOP (how many pillars), PHASE (the last that was needed)


class Lines(NamedTuple):
    """For each value, the entries that may give a row of it: the last to come is asked first."""

    head: np.ndarray  # int64[value]: an entry, or -1
    after: np.ndarray  # int64[entry]
    waits: np.ndarray  # bool[entry]: whether it stands in a line
    queued: np.ndarray  # bool[value]: whether the value is in the heap


class Wish(NamedTuple):
    """What groups and residue must be: no value above 1/l, `k` rows, and in the residue `spare` rows more."""

    l: int
    k: int
    spare: int


def residue_of(counts: np.ndarray) -> Residue:
    """A residue that holds `counts[value]` rows of each value at first."""
    height = counts.max(initial=0)
    pillars = np.flatnonzero(counts == height) if height else np.empty(0, np.int64)
    top = np.zeros(counts.size, np.int64)
    top[: pillars.size] = pillars
    return Residue(counts.copy(), top, np.array([counts.sum(), height, pillars.size, 0]))


def lines_for(parts: Parts, values: int) -> Lines:
    """Lines in which nobody stands."""
    entries = parts.value.size
    head = np.full(values, -1, np.int64)
    return Lines(head, np.empty(entries, np.int64), np.zeros(entries, np.bool_), np.zeros(values, np.bool_))


# giving -------------------------------------------------------------------------------------------------------


@njit(cache=True)
def receive(residue, value, rows):
    """Add rows of a value to the residue."""
    sums = residue.sums
    residue.counts[value] += rows
    sums[ROWS] += rows
    if residue.counts[value] > sums[HEIGHT]:
        sums[HEIGHT] = residue.counts[value]
        sums[TOP] = 0
    if rows > 0 and residue.counts[value] == sums[HEIGHT]:
        residue.top[sums[TOP]] = value
        sums[TOP] += 1


@njit(cache=True)
def lacks(residue, wish):
    """Whether the residue needs more rows; an empty one does not."""
    rows = residue.sums[ROWS]
    return rows > 0 and rows < wish.l * residue.sums[HEIGHT] + wish.spare


@njit(cache=True)
def measure(parts, group):
    """Find the height of a group and count its pillars."""
    height, pillars = 0, 0
    for e in range(parts.starts[group], parts.starts[group + 1]):
        if parts.counts[e] > height:
            height, pillars = parts.counts[e], 0
        if parts.counts[e] == height:
            pillars += 1
    parts.height[group], parts.pillars[group] = height, pillars


@njit(cache=True)
def cut_down(parts, residue, group, height):
    """Leave at most `height` rows of each value in a group; the others go to the residue."""
    for e in range(parts.starts[group], parts.starts[group + 1]):
        surplus = parts.counts[e] - height
        if surplus > 0:
            parts.counts[e] = height
            parts.size[group] -= surplus
            receive(residue, parts.value[e], surplus)
    measure(parts, group)


@njit(cache=True)
def give_one(parts, residue, e):
    """One row of an entry goes to the residue."""
    group = parts.owner[e]
    parts.counts[e] -= 1
    parts.size[group] -= 1
    receive(residue, parts.value[e], 1)
    if parts.counts[e] + 1 == parts.height[group]:
        parts.pillars[group] -= 1
        if parts.pillars[group] == 0:
            measure(parts, group)


# phase one ----------------------------------------------------------------------------------------------------


@njit(cache=True)
def level(parts, residue, group, wish):
    """Take rows of the commonest values until the group is l-eligible; all of it where fewer than k rows stay.

    If t rows of each value may stay, so may fewer, and what is left at t only shrinks with t. So the largest t that
    works is found by lowering it to what the rest allows, again and again.
    """
    first, last = parts.starts[group], parts.starts[group + 1]
    height, size = parts.height[group], parts.size[group]
    while size < wish.l * height:
        height = size // wish.l
        size = 0
        for e in range(first, last):
            size += min(parts.counts[e], height)
    cut_down(parts, residue, group, height if size >= wish.k else 0)


# phase two ----------------------------------------------------------------------------------------------------


@njit(cache=True)
def in_conflict(parts, residue, group):
    """Whether a pillar of the group is a pillar of the residue."""
    for e in range(parts.starts[group], parts.starts[group + 1]):
        pillar = parts.counts[e] == parts.height[group]
        if pillar and residue.counts[parts.value[e]] == residue.sums[HEIGHT]:
            return True
    return False


@njit(cache=True)
def can_give(parts, residue, e, l):
    """Whether a group can give a row of this value and stay l-eligible, the residue growing no higher."""
    group = parts.owner[e]
    if parts.counts[e] == 0 or parts.dead[group]:
        return False
    if parts.size[group] > l * parts.height[group]:
        return True
    if parts.counts[e] < parts.height[group]:
        return False
    parts.dead[group] = in_conflict(parts, residue, group)
    return not parts.dead[group]


@njit(cache=True)
def stand_in_line(parts, residue, lines, heap, e):
    """Let an entry be asked for its value."""
    value = parts.value[e]
    if parts.counts[e] > 0 and not lines.waits[e]:
        lines.waits[e] = True
        lines.after[e] = lines.head[value]
        lines.head[value] = e
    if lines.head[value] >= 0 and not lines.queued[value]:
        lines.queued[value] = True
        heappush(heap, residue.counts[value] * residue.counts.size + value)


@njit(cache=True)
def line_up(parts, residue, lines, heap):
    """Begin all lines anew, every group in its place."""
    parts.dead[:] = False
    lines.head[:] = -1
    lines.waits[:] = False
    lines.queued[:] = False
    heap.clear()
    for e in range(parts.value.size - 1, -1, -1):
        stand_in_line(parts, residue, lines, heap, e)


@njit(cache=True)
def give_pillars(parts, residue, lines, heap, group):
    """One row of each pillar goes to the residue; every value of the group may be asked for again."""
    height = parts.height[group]
    for e in range(parts.starts[group], parts.starts[group + 1]):
        if parts.counts[e] == height:
            parts.counts[e] -= 1
            parts.size[group] -= 1
            receive(residue, parts.value[e], 1)
    measure(parts, group)
    parts.dead[group] = False
    for e in range(parts.starts[group], parts.starts[group + 1]):
        stand_in_line(parts, residue, lines, heap, e)


@njit(cache=True)
def first_in_line(parts, residue, lines, value, l):
    """The first entry that can give the value, or -1; those before it leave the line."""
    e = lines.head[value]
    while e >= 0 and not can_give(parts, residue, e, l):
        lines.waits[e] = False
        e = lines.after[e]
    lines.head[value] = e
    return e


@njit(cache=True)
def fill(parts, residue, lines, heap, wish):
    """Rows of the value that is rarest in the residue, as long as it lacks rows and need not grow higher.

    A key in the heap is (count in the residue, value). Counts only rise, so a key that is not true any more is too low.
    """
    values = residue.counts.size
    while lacks(residue, wish) and len(heap) > 0:
        key = heappop(heap)
        value = key % values
        if residue.counts[value] > key // values:
            heappush(heap, residue.counts[value] * values + value)
            continue
        e = -1
        if residue.counts[value] < residue.sums[HEIGHT]:
            e = first_in_line(parts, residue, lines, value, wish.l)
        if e < 0:
            lines.queued[value] = False
            continue
        group = parts.owner[e]
        if parts.size[group] > wish.l * parts.height[group]:
            give_one(parts, residue, e)
        else:
            give_pillars(parts, residue, lines, heap, group)
        heappush(heap, residue.counts[value] * values + value)


# phase three --------------------------------------------------------------------------------------------------


@njit(cache=True)
def is_pillar(parts, group, value):
    """Whether a value is a pillar of a group."""
    first, last = parts.starts[group], parts.starts[group + 1]
    e = first + np.searchsorted(parts.value[first:last], value)
    return e < last and parts.value[e] == value and parts.counts[e] == parts.height[group]


@njit(cache=True)
def covering(parts, open_, start):
    """The group, from `start` around, in which most of the `open_` values are no pillars, the first one among them.

    It is the best of the first LOOKS of them; -1 where there is none.
    """
    best, most, looks = -1, 0, 0
    for step in range(parts.size.size):
        group = (start + step) % parts.size.size
        if parts.size[group] == 0 or is_pillar(parts, group, open_[0]):
            continue
        covered = 0
        for value in open_:
            covered += not is_pillar(parts, group, value)
        if covered > most:
            best, most = group, covered
        looks += 1
        if covered == open_.size or looks == LOOKS:
            break
    return best


@njit(cache=True)
def cover(parts, residue, begin):
    """Groups such that no pillar of the residue is a pillar of all of them; none where that cannot be.

    `begin[value]` is where the search for a group without it begins; it moves to the group that was found.
    """
    open_ = np.sort(residue.top[: residue.sums[TOP]])
    chosen = np.empty(open_.size, np.int64)
    size = 0
    while open_.size > 0:
        group = covering(parts, open_, begin[open_[0]])
        if group < 0:
            return chosen[:0]
        begin[open_[0]] = group
        chosen[size] = group
        size += 1
        still = np.array([is_pillar(parts, group, value) for value in open_])
        open_ = open_[still]
    return chosen[:size]


@njit(cache=True)
def climb(parts, residue, lines, heap, begin, wish):
    """A round: the groups of a cover give one row of each of their pillars. Whether there was a cover."""
    chosen = cover(parts, residue, begin)
    before = residue.top[: residue.sums[TOP]].copy()
    for group in chosen:
        if lacks(residue, wish):
            give_pillars(parts, residue, lines, heap, group)
    for value in before:
        if residue.counts[value] < residue.sums[HEIGHT]:  # a pillar no more: the dead may rise
            line_up(parts, residue, lines, heap)
            break
    return chosen.size > 0


# all together -------------------------------------------------------------------------------------------------


@njit(cache=True)
def move_whole(parts, residue, wish):
    """Whole groups go to the residue: those of fewer than k rows, then others, in order, while it lacks rows."""
    for group in range(parts.size.size):
        if parts.size[group] < wish.k:
            cut_down(parts, residue, group, 0)
    for group in range(parts.size.size):
        if lacks(residue, wish) or 0 < residue.sums[ROWS] < wish.k:
            cut_down(parts, residue, group, 0)


@njit(cache=True)
def three_phases(parts, residue, lines, begin, wish):
    """Move rows to the residue, in `parts.counts`, until every group and the residue are as wished."""
    for group in range(parts.size.size):
        measure(parts, group)
        level(parts, residue, group, wish)
    residue.sums[PHASE] = 1
    heap = [np.int64(0)]
    heap.clear()
    if lacks(residue, wish):
        residue.sums[PHASE] = 2
        line_up(parts, residue, lines, heap)
        fill(parts, residue, lines, heap, wish)
    while lacks(residue, wish):
        residue.sums[PHASE] = 3
        if not climb(parts, residue, lines, heap, begin, wish):
            break
        fill(parts, residue, lines, heap, wish)
    move_whole(parts, residue, wish)
