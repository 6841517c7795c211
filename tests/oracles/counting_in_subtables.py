"""The slow, literal counterpart of counting in `multi` releases: all worlds, and the likeliest table by fitting.

The worlds are those of oracles.worlds_of_subtables. The likeliest table is found by iterative proportional fitting: a
table of all combinations of values, the groups of every part among them, is scaled to what one published table says,
then to the next, until nothing changes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from oracles.counting import is_true
from oracles.worlds_of_subtables import piles, worlds
from pluralis.estimate.conditions import Condition
from pluralis.release.release import Release

Point = tuple[tuple[str, Any], ...]  # names with values, in order of names


class Counted(NamedTuple):
    """How many people pass a condition, over all worlds."""

    mean: float
    variance: float
    least: int
    most: int


def counted(release: Release, conditions: Sequence[Condition], at_most: int) -> list[Counted] | None:
    """Of each condition; None if there are more worlds than this."""
    counts: list[list[int]] = [[] for _ in conditions]
    for number, world in enumerate(worlds(release)):
        if number == at_most:
            return None
        for condition, per_world in zip(conditions, counts, strict=True):
            per_world.append(sum(is_true(condition, person) for person in world))
    return [_summary(per_world) for per_world in counts]


def _summary(counts: Sequence[int]) -> Counted:
    mean = sum(counts) / len(counts)
    return Counted(mean, sum((c - mean) ** 2 for c in counts) / len(counts), min(counts), max(counts))


def likeliest(release: Release) -> dict[Point, float]:
    """The table of largest entropy of which all published tables are projections: a share of each point."""
    says = [_shares(pile) for pile in piles(release)]
    values: dict[str, set[Any]] = {}
    for table in says:
        for point in table:
            for name, value in point:
                values.setdefault(name, set()).add(value)
    names = sorted(values)
    fitted = {tuple(zip(names, p, strict=True)): 1.0 for p in product(*(sorted(values[name]) for name in names))}
    for _ in range(10_000):
        before = dict(fitted)
        for table in says:
            shown = {name for name, _ in next(iter(table))}
            sums: dict[Point, float] = {}
            for point, share in fitted.items():
                sums[_part(point, shown)] = sums.get(_part(point, shown), 0.0) + share
            for point in fitted:
                part = _part(point, shown)
                fitted[point] *= table.get(part, 0.0) / sums[part] if sums[part] else 0.0
        if max(abs(fitted[point] - before[point]) for point in fitted) < 1e-13:
            return fitted
    raise AssertionError("the fit does not settle: the tables are not those of one set of people")


def _shares(pile: Counter[frozenset[tuple[str, Any]]]) -> dict[Point, float]:
    return {tuple(sorted(card)): number / pile.total() for card, number in pile.items()}


def _part(point: Point, names: set[str]) -> Point:
    return tuple((name, value) for name, value in point if name in names)


def share_of(fitted: Mapping[Point, float], condition: Condition) -> float:
    """How likely the likeliest table makes a condition."""
    return sum(share for point, share in fitted.items() if is_true(condition, dict(point)))


def kl(fitted: Mapping[Point, float], people: Iterable[Mapping[str, Any]], names: Sequence[str]) -> float:
    """KL divergence of the likeliest table from these people."""
    true = Counter(tuple((name, person[name]) for name in sorted(names)) for person in people)
    believed: dict[Point, float] = {}
    for point, share in fitted.items():
        believed[_part(point, set(names))] = believed.get(_part(point, set(names)), 0.0) + share
    return sum(n / true.total() * math.log(n / true.total() / believed[point]) for point, n in true.items())
