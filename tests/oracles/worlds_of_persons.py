"""What all rows of one person tell together, over every world of a tiny release of any kind.

The adversary knows the quasi-identifiers of everybody's rows, and which rows are one person's. A world gives every row
of the original a published row that covers it, and every published row a value that its group or set leaves it; all
worlds are equally likely.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import permutations, product
from typing import Any

from oracles.worlds_of_bucketized import hands_of
from oracles.worlds_of_decomposed import Mode, Tiny
from oracles.worlds_of_decomposed import worlds as worlds_of_sets
from oracles.worlds_of_subtables import worlds as multi_worlds
from pluralis.release.release import Release
from pluralis.table.labels import ALL, read_interval, read_set

Person = Mapping[str, Any]
Tally = Counter[tuple[Any, ...]]
QUASI = ("age", "sex")
MOST = 6_000  # worlds that are looked at
CARDS = 3_000  # the same of several tables, whose worlds take longer


class TooMany(Exception):
    """There are more worlds than can be looked at."""


def joint(
    release: Release, people: Sequence[Person], attribute: str, *, apart: bool = False
) -> dict[str, tuple[list[int], Tally]]:
    """For each person its rows, and how often they hold each combination of values, over all worlds.

    With `apart`, only worlds count in which no group holds two rows of one person: whoever knows the method knows that.
    """
    names = [person["person"] for person in people]
    rows_of = {name: [i for i, other in enumerate(names) if other == name] for name in names}
    tallies: dict[str, Tally] = {name: Counter() for name in rows_of}
    if release.kind == "multi":
        for world in _bounded(multi_worlds(release), CARDS):
            shown = [name for name in QUASI if name in world[0]]
            for name, own_rows in rows_of.items():
                fits = [
                    [i for i, row in enumerate(world) if all(people[p][n] == row[n] for n in shown)] for p in own_rows
                ]
                for chosen in product(*fits):
                    if len(set(chosen)) == len(chosen):
                        tallies[name][tuple(world[i][attribute] for i in chosen)] += 1
        return {name: (own_rows, tallies[name]) for name, own_rows in rows_of.items()}
    published = _rows(release)
    places: dict[str, Tally] = {name: Counter() for name in rows_of}
    for order in _bounded(_placed(people, published, covers)):
        groups = {(name, published[row].get("group", row)) for name, row in zip(names, order, strict=True)}
        if not apart or len(groups) == len(order):
            for name, own_rows in rows_of.items():
                places[name][tuple(order[i] for i in own_rows)] += 1
    for values in _bounded(_values(release, published, people, attribute)):
        for name, chosen_by in places.items():
            for chosen, times in chosen_by.items():
                tallies[name][tuple(values[i] for i in chosen)] += times
    return {name: (own_rows, tallies[name]) for name, own_rows in rows_of.items()}


def covers(person: Person, row: Mapping[str, Any]) -> bool:
    """Whether a published row may be that of a row of the original."""
    age, sex = row["age"], row["sex"]
    low, high = (0, 99) if age == ALL else read_interval(age) if isinstance(age, str) else (age, age)
    return low <= person["age"] <= high and (sex == ALL or person["sex"] in read_set(sex))


def _bounded(worlds: Iterator[Any], most: int = MOST) -> Iterator[Any]:
    for i, world in enumerate(worlds):
        if i == most:
            raise TooMany
        yield world


def _placed(people: Sequence[Person], rows: Sequence[Any], fits: Any) -> Iterator[list[int]]:
    """Every way to give each of these people a row of their own that fits."""

    def place(given: list[int]) -> Iterator[list[int]]:
        if len(given) == len(people):
            yield given
            return
        for i, row in enumerate(rows):
            if i not in given and fits(people[len(given)], row):
                yield from place([*given, i])

    yield from place([])


def _rows(release: Release) -> list[dict[str, Any]]:
    name = "quasi" if "quasi" in release.tables else "microdata"
    return list(release.tables[name].iter_rows(named=True))


def _values(
    release: Release, rows: list[dict[str, Any]], people: Sequence[Person], attribute: str
) -> Iterator[list[Any]]:
    """Every way to give published rows their values."""
    if release.kind == "generalized":  # who has which row is dealt already
        yield [row[attribute] for row in rows]
    elif release.kind == "candidates":  # by the stated shares each member of a set is as likely
        yield from map(list, product(*(row[attribute] for row in rows)))
    elif release.kind == "decomposed":
        yield from _from_sets(release, rows, people, attribute)
    else:
        for column, hands in hands_of(release):
            if attribute in next(iter(hands.values()))[0]:
                deals = []
                for group, group_hands in hands.items():
                    places = [i for i, row in enumerate(rows) if row[column] == group]
                    deals.append([list(zip(places, order, strict=True)) for order in permutations(group_hands)])
                for world in product(*deals):
                    values: list[Any] = [None] * len(rows)
                    for deal in world:
                        for i, hand in deal:
                            values[i] = hand[attribute]
                    yield values


def _from_sets(
    release: Release, rows: list[dict[str, Any]], people: Sequence[Person], attribute: str
) -> Iterator[list[Any]]:
    """The values that sets and the sensitive table leave, one world after the other."""
    primary = release.manifest.parameters.primary
    names = [primary, *(name for name in release.manifest.parameters.l if name != primary)]
    sets: dict[int, list[set[str]]] = {}
    for line in release.tables["values"].iter_rows(named=True):
        sets.setdefault(line["group"], [set() for _ in names])[names.index(line["attribute"])].add(line["value"])
    mode: Mode = "joint" if "sensitive" in release.tables else "none" if len(release.tables) == 2 else "marginals"
    tiny = Tiny(
        rows=tuple(tuple(person[name] for name in names) for person in people),
        group_of=tuple(row["group"] for row in rows),
        sets={group: tuple(map(frozenset, members)) for group, members in sets.items()},
    )
    place = names.index(attribute)
    for world in worlds_of_sets(tiny, mode):
        yield [row[place] for row in world]


def marginal(tally: Tally, row: int) -> dict[Any, Fraction]:
    """What the value of one of the rows may be."""
    weights: Counter[Any] = Counter()
    for values, weight in tally.items():
        weights[values[row]] += weight
    return {value: Fraction(weight) / Fraction(weights.total()) for value, weight in weights.items()}


def one_value(tally: Tally) -> dict[Any, Fraction]:
    """What it may be, if all rows hold the same."""
    same = {values[0]: weight for values, weight in tally.items() if len(set(values)) == 1}
    total = sum(same.values())
    return {value: Fraction(weight) / Fraction(total) for value, weight in same.items()}
