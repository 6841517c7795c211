"""Bringing rows that are in no group into groups that stay diverse.

A group of n rows can take one more that holds a value if (count + 1) x l <= n + 1. For every value that many groups
hold, a mask says which groups cannot take another row of it; the masks of a row's values together leave the groups to
look at. Where no group can take a row, it may take the place of another that finds a place elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pluralis.kernels.place import Groups, join

NO_GROUP = -1
NO_MASK = -1
WORD = 64
ONE = np.uint64(1)
TIME, NEXT, GROUPS, LOOKS = 0, 1, 2, 3
LOOKS_A_ROW, LEAST_LOOKS = 16, 1 << 20
ATTEMPTS = 64


class Masks(NamedTuple):
    """Which groups can take no further row of a value, 64 groups a word."""

    mask_of: np.ndarray  # int64[value], or NO_MASK where few groups hold it
    full: np.ndarray  # uint64[mask, word]
    opened: np.ndarray  # int64[value]: when a group could last take a row of it again
    failed: np.ndarray  # int64[bucket]: when no group could take a row of it
    tally: np.ndarray  # int64[value]: room to count in, all zero between uses
    clock: np.ndarray  # TIME, the group to look at NEXT, the number of GROUPS, the LOOKS left


def masks_for(sensitive, group_of, groups, most):
    """Room for the masks of so many groups, and `most` in the end."""
    counts = np.zeros(sensitive.attribute_of.size, np.int64)
    placed = sensitive.bucket_of[group_of != NO_GROUP]
    for a in range(sensitive.ls.size):
        counts += np.bincount(sensitive.values[placed, a], minlength=counts.size)
    mask_of = np.full(counts.size, NO_MASK, np.int64)
    often = np.flatnonzero(counts * WORD > groups)
    mask_of[often] = np.arange(often.size)
    return Masks(
        mask_of=mask_of,
        full=np.zeros((often.size, most // WORD + 1), np.uint64),
        opened=np.zeros(counts.size, np.int64),
        failed=np.full(sensitive.values.shape[0], -1, np.int64),
        tally=np.zeros(counts.size, np.int64),
        clock=np.array([0, 0, groups, max(LOOKS_A_ROW * group_of.size, LEAST_LOOKS)]),
    )


@njit(cache=True)
def members_of(group_of, most):
    """The members of each group, with room for `most` groups."""
    members = Groups(
        np.full(most, NO_GROUP, np.int64),
        np.full(group_of.size, NO_GROUP, np.int64),
        np.zeros(most, np.int64),
        np.zeros(0),
    )
    for row in range(group_of.size):
        if group_of[row] != NO_GROUP:
            join(members, group_of[row], row)
    return members


@njit(cache=True)
def count_of(sensitive, members, group, a, value):
    """How many rows of a group hold a value."""
    count = 0
    row = members.head[group]
    while row >= 0:
        count += sensitive.values[sensitive.bucket_of[row], a] == value
        row = members.link[row]
    return count


@njit(cache=True)
def still_diverse(sensitive, members, broken):
    """Strike out the groups that are diverse from those that may be broken."""
    for group in np.flatnonzero(broken):
        fine = True
        row = members.head[group]
        while row >= 0 and fine:
            for a in range(sensitive.ls.size):
                value = sensitive.values[sensitive.bucket_of[row], a]
                fine &= count_of(sensitive, members, group, a, value) * sensitive.ls[a] <= members.size[group]
            row = members.link[row]
        broken[group] = not fine


@njit(cache=True)
def _mark(sensitive, members, masks, group, bucket, changed):
    """Correct what is known of a bucket's values in a group."""
    for a in range(sensitive.ls.size):
        value = sensitive.values[bucket, a]
        count = count_of(sensitive, members, group, a, value)
        _note(sensitive, members, masks, group, a, value, count, changed)


@njit(cache=True)
def _note(sensitive, members, masks, group, a, value, count, changed):
    """Whether a group can take a further row of a value that it holds so often."""
    full = (count + 1) * sensitive.ls[a] > members.size[group] + 1
    if changed and not full:
        masks.opened[value] = masks.clock[TIME]
    if masks.mask_of[value] != NO_MASK:
        word, bit = group // WORD, ONE << np.uint64(group % WORD)
        if full:
            masks.full[masks.mask_of[value], word] |= bit
        else:
            masks.full[masks.mask_of[value], word] &= ~bit


@njit(cache=True)
def mark_all(sensitive, members, masks):
    """What is known at first of all groups."""
    for group in range(masks.clock[GROUPS]):
        _mark_group(sensitive, members, masks, group, False)


@njit(cache=True)
def _mark_group(sensitive, members, masks, group, changed):
    """Correct what is known of all values of a group."""
    for a in range(sensitive.ls.size):
        row = members.head[group]
        while row >= 0:
            masks.tally[sensitive.values[sensitive.bucket_of[row], a]] += 1
            row = members.link[row]
        row = members.head[group]
        while row >= 0:
            value = sensitive.values[sensitive.bucket_of[row], a]
            if masks.tally[value] > 0:
                _note(sensitive, members, masks, group, a, value, masks.tally[value], changed)
                masks.tally[value] = 0
            row = members.link[row]


@njit(cache=True)
def _knows(sensitive, members, group, row, but):
    """Whether a row's person stands in a group, apart from the row `but`."""
    if sensitive.person.size > 0:
        other = members.head[group]
        while other >= 0:
            if other != but and sensitive.person[other] == sensitive.person[row]:
                return True
            other = members.link[other]
    return False


@njit(cache=True)
def _accepts(sensitive, members, group, row):
    """Whether every attribute of a group stays diverse with one more row of this bucket."""
    for a in range(sensitive.ls.size):
        value = sensitive.values[sensitive.bucket_of[row], a]
        if (count_of(sensitive, members, group, a, value) + 1) * sensitive.ls[a] > members.size[group] + 1:
            return False
    return True


@njit(cache=True)
def _find(sensitive, members, masks, row, but):
    """The first group from NEXT on that accepts a row, apart from the group `but`; NO_GROUP where none does."""
    bucket = sensitive.bucket_of[row]
    known = masks.failed[bucket] >= 0
    for a in range(sensitive.ls.size):
        known &= masks.opened[sensitive.values[bucket, a]] < masks.failed[bucket]
    if known:
        return NO_GROUP
    groups, begin = masks.clock[GROUPS], masks.clock[NEXT]
    words = groups // WORD + 1
    nowhere = True
    for step in range(words + 1):
        word = (begin // WORD + step) % words
        blocked = np.uint64(0)
        for a in range(sensitive.ls.size):
            mask = masks.mask_of[sensitive.values[bucket, a]]
            if mask != NO_MASK:
                blocked |= masks.full[mask, word]
        if blocked == ~np.uint64(0):
            continue
        low = begin % WORD if step == 0 else 0
        high = begin % WORD if step == words else WORD
        for group in range(word * WORD + low, min(word * WORD + high, groups)):
            if blocked >> np.uint64(group % WORD) & ONE == 0 and _accepts(sensitive, members, group, row):
                if group != but and not _knows(sensitive, members, group, row, NO_GROUP):
                    return group
                nowhere = False
    if nowhere:
        masks.failed[bucket] = masks.clock[TIME]
    return NO_GROUP


@njit(cache=True)
def _enter(sensitive, members, masks, group_of, group, row):
    """A row joins a group."""
    join(members, group, row)
    group_of[row] = group
    masks.clock[NEXT] = (group + 1) % masks.clock[GROUPS]
    _mark_group(sensitive, members, masks, group, True)


@njit(cache=True)
def rejoin(sensitive, members, masks, group_of, rows):
    """Put each row, in turn, into the next group that accepts it."""
    for row in rows:
        masks.clock[TIME] += 1
        group = _find(sensitive, members, masks, row, NO_GROUP)
        if group != NO_GROUP:
            _enter(sensitive, members, masks, group_of, group, row)


# exchanges --------------------------------------------------------------------------------------------------------


@njit(cache=True)
def _can_replace(sensitive, members, group, row, old):
    """Whether a group stays diverse, and without a person twice, if `row` takes the place of `old`."""
    if _knows(sensitive, members, group, row, old):
        return False
    for a in range(sensitive.ls.size):
        value = sensitive.values[sensitive.bucket_of[row], a]
        count = count_of(sensitive, members, group, a, value) + 1
        count -= sensitive.values[sensitive.bucket_of[old], a] == value
        if count * sensitive.ls[a] > members.size[group]:
            return False
    return True


@njit(cache=True)
def _replace(sensitive, members, masks, group_of, group, row, old):
    """`row` takes the place of `old`, which is in no group then."""
    members.link[row] = members.link[old]
    if members.head[group] == old:
        members.head[group] = row
    else:
        other = members.head[group]
        while members.link[other] != old:
            other = members.link[other]
        members.link[other] = row
    group_of[row], group_of[old] = group, NO_GROUP
    members.link[old] = NO_GROUP
    _mark(sensitive, members, masks, group, sensitive.bucket_of[old], True)
    _mark_group(sensitive, members, masks, group, True)
    masks.clock[NEXT] = (group + 1) % masks.clock[GROUPS]


@njit(cache=True)
def _may_begin_with(sensitive, new, size, row):
    """Whether a row may stand in the group that is being made."""
    for a in range(sensitive.ls.size):
        count = 0
        for i in range(size):
            count += sensitive.values[sensitive.bucket_of[new[i]], a] == sensitive.values[sensitive.bucket_of[row], a]
        if count >= sensitive.most[a]:
            return False
    for i in range(size if sensitive.person.size > 0 else 0):
        if sensitive.person[new[i]] == sensitive.person[row]:
            return False
    return True


@njit(cache=True)
def _partner(sensitive, members, masks, row, new, size):
    """(group, member): `row` may take its place, and it may stand in the new group, or (size 0) in another one."""
    groups = masks.clock[GROUPS]
    for step in range(groups):
        group = (masks.clock[NEXT] + step) % groups
        old = members.head[group]
        while old >= 0:
            masks.clock[LOOKS] -= 1
            if masks.clock[LOOKS] < 0:
                return NO_GROUP, NO_GROUP
            if _can_replace(sensitive, members, group, row, old):
                if size > 0 and _may_begin_with(sensitive, new, size, old):
                    return group, old
                if size == 0 and _find(sensitive, members, masks, old, group) != NO_GROUP:
                    return group, old
            old = members.link[old]
    return NO_GROUP, NO_GROUP


@njit(cache=True)
def _entering(sensitive, members, masks, group_of, row, new, size):
    """The row itself where it may stand in the new group, else a member that may and whose place it takes; or -1."""
    if _may_begin_with(sensitive, new, size, row):
        return row
    group, old = _partner(sensitive, members, masks, row, new, size)
    if group != NO_GROUP:
        _replace(sensitive, members, masks, group_of, group, row, old)
    return old


@njit(cache=True)
def form_new_groups(sensitive, members, masks, group_of, loose):
    """Make new groups: of loose rows, and of members whose place a loose row can take. The rows that stay loose.

    Every group that was there stays as large and as diverse. Where a group cannot be completed, another is begun with
    the rows that did not fit; after ATTEMPTS in a row that is given up.
    """
    l = sensitive.size
    new, failed = np.empty(l, np.int64), 0
    while loose.size >= l and failed < ATTEMPTS:
        size, kept = 0, 0
        for i in range(loose.size):
            row = loose[i]
            entering = NO_GROUP
            if size < l:
                masks.clock[TIME] += 1
                entering = _entering(sensitive, members, masks, group_of, row, new, size)
            if entering >= 0:
                new[size] = entering
                size += 1
            else:
                loose[kept] = row
                kept += 1
        if size < l:
            loose[kept:] = new[:size]
            failed += 1
            continue
        failed = 0
        loose = loose[:kept]
        group = masks.clock[GROUPS]
        masks.clock[GROUPS] += 1
        for row in new:
            join(members, group, row)
            group_of[row] = group
        _mark_group(sensitive, members, masks, group, True)
    return loose


@njit(cache=True)
def take_places(sensitive, members, masks, group_of, loose):
    """Let each loose row take the place of a member that another group accepts."""
    for row in loose:
        if group_of[row] != NO_GROUP:
            continue
        masks.clock[TIME] += 1
        group, old = _partner(sensitive, members, masks, row, loose[:0], 0)
        if group != NO_GROUP:
            other = _find(sensitive, members, masks, old, group)
            _replace(sensitive, members, masks, group_of, group, row, old)
            _enter(sensitive, members, masks, group_of, other, old)
