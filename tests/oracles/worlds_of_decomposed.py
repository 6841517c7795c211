"""All possible worlds of a tiny decomposed release, one by one: the judge of candidates, shares and posteriors.

The adversary knows who is in which group and sees the sets of values and what is published of the sensitive
table T^S. A world gives every person a value of each attribute, from the sets of the person's group, each primary value
of a group once. With T^S published jointly the people's rows are exactly those of T^S; with T^S published by attribute
each attribute's values are; without T^S that is all. Worlds are equally likely.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Literal

import polars as pl

Mode = Literal["joint", "marginals", "none"]
MODES: tuple[Mode, ...] = ("joint", "marginals", "none")
Row = tuple[str, ...]
World = tuple[Row, ...]


@dataclass(frozen=True)
class Tiny:
    """Rows of sensitive values, the primary first; the group of each; the set of each attribute in each group."""

    rows: tuple[Row, ...]
    group_of: tuple[int, ...]
    sets: dict[int, tuple[frozenset[str], ...]]

    @property
    def names(self) -> list[str]:
        return [f"s{i}" for i in range(len(self.rows[0]))]

    def tables(self, mode: Mode) -> dict[str, pl.DataFrame]:
        """As they would be published."""
        values = [
            (group, name, value)
            for group, sets in self.sets.items()
            for name, members in zip(self.names, sets, strict=True)
            for value in sorted(members)
        ]
        tables = {
            "quasi": pl.DataFrame({"age": range(len(self.rows)), "group": self.group_of}),
            "values": pl.DataFrame(values, schema=["group", "attribute", "value"], orient="row"),
        }
        people = pl.DataFrame(list(self.rows), schema=self.names, orient="row")
        if mode == "joint":
            tables["sensitive"] = people.group_by(self.names).len("count")
        if mode == "marginals":
            for name in self.names:
                tables[f"sensitive_{name}"] = people.group_by(pl.col(name).alias("value")).len("count")
        return tables


def worlds(tiny: Tiny, mode: Mode) -> Iterator[World]:
    """Every world once. Of a product this is long: see `worlds_of`."""
    if mode == "joint":
        yield from _dealt(tiny, list(range(len(tiny.rows[0]))), Counter(tiny.rows))
    else:
        each = [list(worlds_of(tiny, mode, attribute)) for attribute in range(len(tiny.rows[0]))]
        for world in product(*each):
            yield tuple(tuple(column[person][0] for column in world) for person in range(len(tiny.rows)))


def worlds_of(tiny: Tiny, mode: Mode, attribute: int) -> Iterator[World]:
    """What the worlds give to one attribute, where they are a product."""
    if mode == "marginals":
        supply = Counter((row[attribute],) for row in tiny.rows)
    else:
        supply = Counter({(v,): len(tiny.rows) for sets in tiny.sets.values() for v in sets[attribute]})
    yield from _dealt(tiny, [attribute], supply)


def _dealt(tiny: Tiny, attributes: list[int], supply: Counter[Row]) -> Iterator[World]:
    """People served one after the other, each with a row that is left, lies in the sets and repeats no primary."""
    given: list[Row] = []

    def fits(row: Row) -> bool:
        person = len(given)
        group = tiny.group_of[person]
        if any(value not in tiny.sets[group][a] for value, a in zip(row, attributes, strict=True)):
            return False
        if attributes[0] != 0:
            return True
        return all(tiny.group_of[other] != group or theirs[0] != row[0] for other, theirs in enumerate(given))

    def serve() -> Iterator[World]:
        if len(given) == len(tiny.rows):
            yield tuple(given)
            return
        for row in sorted(supply):
            if supply[row] and fits(row):
                supply[row] -= 1
                given.append(row)
                yield from serve()
                given.pop()
                supply[row] += 1

    yield from serve()


@dataclass(frozen=True)
class Seen:
    """What the worlds say of the people of one group with one combination of known values."""

    candidates: frozenset[str]
    share: Fraction  # the largest that is provable: least over the worlds, most over the values
    posterior: Fraction  # of the likeliest value, all worlds equally likely


Place = tuple[int, Row]


def seen(tiny: Tiny, mode: Mode, known: Sequence[int], protected: int) -> dict[Place, Seen]:
    """Group and known combination (of some world): what is seen there over all worlds."""
    tallies: dict[Place, list[Counter[str]]] = {}
    for world in worlds(tiny, mode):
        _tally(tallies, tiny, ((tuple(row[k] for k in known), row[protected]) for row in world))
    return {place: _summed(counters) for place, counters in tallies.items()}


def seen_of(tiny: Tiny, mode: Mode, protected: int) -> dict[Place, Seen]:
    """The same where worlds are a product and nothing else is known."""
    tallies: dict[Place, list[Counter[str]]] = {}
    for world in worlds_of(tiny, mode, protected):
        _tally(tallies, tiny, (((), row[0]) for row in world))
    return {place: _summed(counters) for place, counters in tallies.items()}


def _tally(tallies: dict[Place, list[Counter[str]]], tiny: Tiny, people: Iterator[tuple[Row, str]]) -> None:
    here: dict[Place, Counter[str]] = {}
    for group, (key, value) in zip(tiny.group_of, people, strict=True):
        here.setdefault((group, key), Counter())[value] += 1
    for place, counter in here.items():
        tallies.setdefault(place, []).append(counter)


def _summed(counters: list[Counter[str]]) -> Seen:
    total: Counter[str] = Counter()
    for counter in counters:
        total.update(counter)
    share = max(min(Fraction(counter[value], counter.total()) for counter in counters) for value in total)
    return Seen(frozenset(total), share, Fraction(max(total.values()), total.total()))
