"""Functional dependencies by definition: the oracle of pluralis.grouping.dependencies. Plain Python, no kernel."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations

Rows = Mapping[str, Sequence[Hashable]]  # columns by name
CHANCE = 1e-6


def agrees(table: Rows, known: Iterable[str], decided: str) -> bool:
    """Whether no two rows are equal in `known` and differ in `decided`."""
    names = list(known)
    return not any(
        table[decided][i] != table[decided][j] and all(table[name][i] == table[name][j] for name in names)
        for i, j in combinations(range(len(table[decided])), 2)
    )


def chance(table: Rows, known: Iterable[str], among: Iterable[str], decided: str) -> float:
    """How likely rows equal in `known` all agree, had each drawn its value from the rows equal in `among`."""
    values = defaultdict(list)
    for row, value in enumerate(table[decided]):
        values[tuple(table[name][row] for name in among)].append(value)
    sizes = Counter(
        (tuple(table[name][row] for name in among), tuple(table[name][row] for name in known))
        for row in range(len(table[decided]))
    )
    logs = [
        math.log(sum((count / len(values[home])) ** size for count in Counter(values[home]).values()))
        for (home, _), size in sizes.items()
    ]
    return math.exp(max(-700.0, math.fsum(logs)))


def matters(table: Rows, known: Sequence[str], decided: str) -> bool:
    return len(set(table[decided])) > 1 and all(
        chance(table, known, [other for other in known if other != name], decided) < CHANCE for name in known
    )


def singles(table: Rows) -> set[tuple[str, str]]:
    return {(x, s) for x in table for s in table if x != s and agrees(table, [x], s) and matters(table, [x], s)}


def pairs(table: Rows) -> set[tuple[tuple[str, ...], str]]:
    return {
        ((a, b), s)
        for a, b in combinations(sorted(table), 2)
        for s in table
        if s not in (a, b)
        and agrees(table, [a, b], s)
        and not agrees(table, [a], s)
        and not agrees(table, [b], s)
        and matters(table, [a, b], s)
    }


def decided_by(table: Rows, known: Iterable[str], decided: str) -> tuple[str, ...] | None:
    rest = sorted(known, key=lambda name: (-len(set(table[name])), name))
    if not agrees(table, rest, decided):
        return None
    for name in rest:
        if agrees(table, [name], decided) and matters(table, [name], decided):
            return (name,)
    for name in list(rest):
        without = [other for other in rest if other != name]
        if without and agrees(table, without, decided):
            rest = without
    return tuple(sorted(rest)) if matters(table, rest, decided) else None
