"""All possible worlds of a tiny generalized release: the judge of every posterior.

The adversary knows everybody's quasi values and sees the release. A world gives each person a published row whose
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


def deals(rows: list[dict[str, Any]], secrets: list[str], linked: bool) -> Iterator[list[dict[str, Any]]]:
    """The published rows with their sensitive values dealt in every possible way within each group."""
    if linked or len(secrets) < 2:
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
            yield from over(secrets[1:], ids[1:], current)
            return
        for order in permutations(places):
            dealt = [dict(row) for row in current]
            for place, source in zip(places, order, strict=True):
                dealt[place][names[0]] = current[source][names[0]]
            yield from over(names[1:], ids, dealt)

    yield from over(secrets[1:], list(groups), rows)


def highest_share(people: list[Person], tallies: list[dict[tuple[Any, ...], Counter[Any]]], known: list[str]) -> float:
    """The largest share of worlds that give a person one value, among those with the person's true known secrets."""
    highest = 0.0
    for person, tally in zip(people, tallies, strict=True):
        counter = tally.get(tuple(person[name] for name in known), Counter())
        if counter:
            highest = max(highest, max(counter.values()) / counter.total())
    return highest


def highest_posterior(
    people: list[Person],
    published: pl.DataFrame,
    covers: Callable[[Mapping[str, Any], Person], bool],
    secrets: list[str],
    target_secret: str,
    known: list[str],
    linked: bool,
) -> float:
    """The largest probability that an adversary who also knows `known` of a person gives to a value of a secret."""
    rows = list(published.iter_rows(named=True))
    tallies: list[dict[tuple[Any, ...], Counter[Any]]] = [{} for _ in people]
    for dealt in deals(rows, secrets, linked):
        for order in permutations(range(len(dealt))):
            if all(covers(dealt[row], person) for row, person in zip(order, people, strict=True)):
                for i, row in enumerate(order):
                    key = tuple(dealt[row][name] for name in known)
                    tallies[i].setdefault(key, Counter())[dealt[row][target_secret]] += 1
    return highest_share(people, tallies, known)
