"""Merging whole groups around one row until every attribute is l-diverse there."""

from __future__ import annotations

import numpy as np
from numba import njit

NONE = -1


@njit(cache=True)
def merge_around(row, group_of, rules, ls):
    """Give the row's group what dilutes its commonest value most, until none is too common; False where nothing can."""
    own = group_of[row]
    counts = np.zeros((ls.size, np.int64(rules.sensitive.max()) + 1), np.int64)
    known = np.zeros(np.int64(rules.person.max()) + 1 if rules.person.size else 0, np.bool_)
    gain = np.zeros(group_of.max() + 1, np.int64)
    size = _take_in(own, own, group_of, rules, counts, known)
    while True:
        attribute, value = _most_too_common(counts, size, ls)
        if attribute == NONE:
            return True
        group = _most_diluting(own, group_of, rules, ls[attribute], attribute, value, known, gain)
        if group == NONE:
            return False
        size += _take_in(group, own, group_of, rules, counts, known)


@njit(cache=True)
def _take_in(group, own, group_of, rules, counts, known):
    """Count the rows of a group, which then are of the own one; how many they are."""
    taken = 0
    for row in range(group_of.size):
        if group_of[row] != group:
            continue
        group_of[row] = own
        taken += 1
        for attribute in range(counts.shape[0]):
            counts[attribute, rules.sensitive[attribute, row]] += 1
        if known.size:
            known[rules.person[row]] = True
    return taken


@njit(cache=True)
def _most_too_common(counts, size, ls):
    """The attribute and value that fill most beyond 1/l of so many rows."""
    worst, which, most = NONE, NONE, 0
    for attribute in range(ls.size):
        value = counts[attribute].argmax()
        over = counts[attribute, value] * ls[attribute] - size
        if over > most:
            worst, which, most = attribute, value, over
    return worst, which


@njit(cache=True)
def _most_diluting(own, group_of, rules, l, attribute, value, known, gain):
    """The group with most rows beyond l times those that hold the value, and none of the people already known."""
    gain[:] = 0
    for row in range(group_of.size):
        if group_of[row] >= 0:
            gain[group_of[row]] += 1 - l * (rules.sensitive[attribute, row] == value)
    gain[own] = 0
    if known.size:
        for row in range(group_of.size):
            if group_of[row] >= 0 and known[rules.person[row]]:
                gain[group_of[row]] = 0
    best = gain.argmax()
    return best if gain[best] > 0 else NONE
