"""All possible worlds of a tiny generalized release: the judge of every posterior.

The adversary knows everybody's quasi-identifiers and sees the release. A world gives each person a published row whose
labels cover that person; where sensitive columns are not linked, each column is dealt within its group on its own. All
worlds are equally likely.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import permutations
from typing import Any

import polars as pl

Person = Mapping[str, Any]


def deals(rows: list[dict[str, Any]], sensitive: list[str], linked: bool) -> Iterator[list[dict[str, Any]]]:
    """The published rows with their sensitive values dealt in every possible way within each group."""
    if linked or len(sensitive) < 2:
        yield rows
        return
    groups: dict[int, list[int]] = {}
    for i, row in enumerate(rows):
        groups.setdefault(row["group"], []).append(i)

    def over(names: list[str], ids: list[int], current: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
        if not ids:
            yield current
            return
        places = groups[ids[0]]
        if not names:
            yield from over(sensitive[1:], ids[1:], current)
            return
        for order in permutations(places):
            dealt = [dict(row) for row in current]
            for place, source in zip(places, order, strict=True):
                dealt[place][names[0]] = current[source][names[0]]
            yield from over(names[1:], ids, dealt)

    yield from over(sensitive[1:], list(groups), rows)


Tallies = list[dict[tuple[Any, ...], Counter[Any]]]


def beliefs(people: list[Person], tallies: Tallies, known: list[str]) -> list[dict[Any, float]]:
    """Of each person in some world the share of worlds that give each value, among those with the true known values."""
    counters = [tally.get(tuple(person[name] for name in known)) for person, tally in zip(people, tallies, strict=True)]
    return [{value: many / one.total() for value, many in one.items()} for one in counters if one]


def highest_share(people: list[Person], tallies: Tallies, known: list[str]) -> float:
    """The largest share of worlds that give a person one value, among those with the person's true known sensitive."""
    return max((max(belief.values()) for belief in beliefs(people, tallies, known)), default=0.0)


def highest_posterior(
    people: list[Person],
    published: pl.DataFrame,
    covers: Callable[[Mapping[str, Any], Person], bool],
    sensitive: list[str],
    target: str,
    known: list[str],
    linked: bool,
) -> float:
    """The largest probability of a sensitive value to an adversary who also knows `known` of a person."""
    tallies = tallied(people, published, covers, sensitive, target, known, linked)
    return highest_share(people, tallies, known)


def tallied(
    people: list[Person],
    published: pl.DataFrame,
    covers: Callable[[Mapping[str, Any], Person], bool],
    sensitive: list[str],
    target: str,
    known: list[str],
    linked: bool,
) -> Tallies:
    """In how many worlds each person has each value of a sensitive attribute, by the values of `known` in them."""
    rows = list(published.iter_rows(named=True))
    tallies: Tallies = [{} for _ in people]
    for dealt in deals(rows, sensitive, linked):
        for order in permutations(range(len(dealt))):
            if all(covers(dealt[row], person) for row, person in zip(order, people, strict=True)):
                for i, row in enumerate(order):
                    key = tuple(dealt[row][name] for name in known)
                    tallies[i].setdefault(key, Counter())[dealt[row][target]] += 1
    return tallies
