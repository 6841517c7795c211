"""All possible worlds of a tiny `multi` release: the judge of every posterior.

A table is a pile of cards, one for each person, on which the person's values stand; a group is a value too, which the
two tables of one part share. A world gives everybody a card of every pile so that no two cards of a person contradict
each other. All worlds are equally likely. People have no names here: they are the cards of the first pile, in order.
That leaves out nothing, since whoever is asked about is equally likely to be any of those that look the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pluralis.release.release import Release

Card = frozenset[tuple[str, Any]]
World = list[dict[str, Any]]
Function = tuple[Sequence[str], str, Mapping[tuple[Any, ...], Any]]  # names, the name they decide, and how


def piles(release: Release) -> list[Counter[Card]]:
    """The tables of a release, each as a pile of cards."""
    tables = []
    for name, rows in release.tables.items():
        pile: Counter[Card] = Counter()
        for row in rows.iter_rows(named=True):
            people = row.pop("count", 1)
            if "group" in row:
                row[f"group of {name.partition('_')[0]}"] = row.pop("group")
            pile[frozenset(row.items())] += people
        tables.append(pile)
    return tables


def worlds(release: Release, functions: Iterable[Function] = ()) -> Iterator[World]:
    """Every world, once, in which people obey the functions."""
    first, *others = piles(release)
    people = [dict(card) for card in first.elements()]
    for world in _dealt(people, others):
        if all(_obey(world, *function) for function in functions):
            yield world


def _dealt(people: World, left: list[Counter[Card]]) -> Iterator[World]:
    if not left:
        yield people
        return
    for world in _given(people, left[0]):
        yield from _dealt(world, left[1:])


def _given(people: World, pile: Counter[Card]) -> Iterator[World]:
    """Every way to give each person a card that agrees with what the person holds."""
    if not people:
        yield []
        return
    for card in [card for card, number in pile.items() if number]:
        values = dict(card)
        if all(people[0].get(name, value) == value for name, value in values.items()):
            pile[card] -= 1
            for others in _given(people[1:], pile):
                yield [people[0] | values, *others]
            pile[card] += 1


def _obey(world: World, left: Sequence[str], right: str, values: Mapping[tuple[Any, ...], Any]) -> bool:
    return all(values.get(tuple(person[name] for name in left)) == person[right] for person in world)


def function_of(people: Iterable[Mapping[str, Any]], left: Sequence[str], right: str) -> Function:
    """The functional dependency that these people obey."""
    values: dict[tuple[Any, ...], Any] = {}
    for person in people:
        assert values.setdefault(tuple(person[name] for name in left), person[right]) == person[right]
    return left, right, values


def beliefs(possible: Iterable[World], knows: Sequence[str], sensitive: str) -> dict[tuple[Any, ...], Counter[Any]]:
    """For each combination of known values, how often the person who holds them has each sensitive value."""
    tallies: dict[tuple[Any, ...], Counter[Any]] = {}
    for world in possible:
        for person in world:
            tallies.setdefault(tuple(person[name] for name in knows), Counter())[person[sensitive]] += 1
    return tallies


def highest(belief: Mapping[tuple[Any, ...], Counter[Any]]) -> float:
    return max(max(counter.values()) / counter.total() for counter in belief.values())


def highest_knowing_everybody(possible: Iterable[World], knows: Sequence[str], sensitive: str) -> float:
    """The largest belief of whoever knows these values of all people, whatever they are."""
    alike: dict[Any, list[World]] = {}
    for world in possible:
        alike.setdefault(frozenset(Counter(tuple(p[name] for name in knows) for p in world).items()), []).append(world)
    return max(highest(beliefs(some, knows, sensitive)) for some in alike.values())
