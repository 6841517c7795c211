"""Merging groups around rows that fit none, counted anew at each step."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from pluralis.grouping.incorporation import _different_people
from pluralis.grouping.plan import SUPPRESSED
from pluralis.kernels.select import Rules

Rows = npt.NDArray[np.int64]


def merged(group_of: Rows, unplaced: Rows, rules: Rules, ls: Rows) -> tuple[Rows, list[int]]:
    """The groups, and the rows that could not be brought in."""
    group_of = group_of.copy()
    unplaced = _different_people(group_of, unplaced, rules)
    group_of[unplaced] = group_of.max(initial=-1) + 1 + np.arange(unplaced.size)
    failed = []
    for row in unplaced.tolist():
        before = group_of.copy()
        while (worst := _worst(group_of == group_of[row], rules, ls)) is not None:
            group = _most_diluting(group_of, int(group_of[row]), rules, *worst)
            if group is None:
                group_of = before
                group_of[row] = SUPPRESSED
                failed.append(row)
                break
            group_of[group_of == group] = group_of[row]
    return group_of, failed


def _worst(inside: npt.NDArray[np.bool_], rules: Rules, ls: Rows) -> tuple[int, int, int] | None:
    """The attribute, its l, and the value that fill most beyond 1/l of the rows; the first of equal ones."""
    over = {}
    for attribute, l in enumerate(ls.tolist()):
        counts = Counter(rules.sensitive[attribute, inside].tolist())
        value = min(counts, key=lambda value: (-counts[value], value))
        over[attribute, l, value] = counts[value] * l - int(inside.sum())
    worst = max(over, key=lambda one: (over[one], -one[0]))
    return worst if over[worst] > 0 else None


def _most_diluting(group_of: Rows, own: int, rules: Rules, attribute: int, l: int, value: int) -> int | None:
    """The group with most rows beyond l times those of the value, of people who are not there yet."""
    gains = {}
    there = set(rules.person[group_of == own].tolist()) if rules.person.size else set()
    for group in sorted(set(group_of[group_of >= 0].tolist()) - {own}):
        rows = np.flatnonzero(group_of == group)
        if rules.person.size and there & set(rules.person[rows].tolist()):
            continue
        gains[group] = rows.size - l * int((rules.sensitive[attribute, rows] == value).sum())
    best = min(gains, key=lambda group: (-gains[group], group), default=None)
    return best if best is not None and gains[best] > 0 else None
