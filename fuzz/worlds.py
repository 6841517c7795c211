"""All worlds of a tiny release: every way to join its tables to one row for each person.

A table is a bag of partial rows, one for each person. A world gives every person one partial row of each table, so that
what two tables say of one attribute agrees: values are equal, labels have something in common. Rows that are equal are
not told apart, so each world comes once. All worlds are equally likely.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

Cell = Hashable
Partial = Mapping[str, Cell]
World = list[dict[str, Cell]]
Agree = Callable[[str, Cell, Cell], "Cell | None"]


class TooMany(Exception):
    """There are more worlds than can be looked at."""


def same(_name: str, one: Cell, other: Cell) -> Cell | None:
    """What two cells of one attribute have in common, where cells are values: themselves, or None."""
    return one if one == other else None


def worlds(tables: Sequence[Sequence[Partial]], *, agree: Agree = same, most: int = 20_000) -> Iterator[World]:
    """Every world; people are numbered by the rows of the first table."""
    first, bags = [dict(row) for row in tables[0]], [Counter(_frozen(row) for row in table) for table in tables[1:]]
    if any(bag.total() != len(first) for bag in bags):
        return
    steps = 0
    world: World = []

    def serve(person: int, table: int, row: dict[str, Cell]) -> Iterator[World]:
        nonlocal steps
        steps += 1
        if steps > 20 * most:
            raise TooMany
        if table == len(bags):
            world.append(row)
            if person + 1 == len(first):
                yield [dict(each) for each in world]
            else:
                yield from serve(person + 1, 0, first[person + 1])
            world.pop()
            return
        bag = bags[table]
        for part in list(bag):
            if bag[part]:
                joined = _joined(row, part, agree)
                if joined is not None:
                    bag[part] -= 1
                    yield from serve(person, table + 1, joined)
                    bag[part] += 1

    if first:
        for count, complete in enumerate(serve(0, 0, first[0])):
            if count >= most:
                raise TooMany
            yield complete


def _frozen(row: Partial) -> tuple[tuple[str, Cell], ...]:
    return tuple(sorted(row.items(), key=lambda item: item[0]))


def _joined(row: dict[str, Cell], part: tuple[tuple[str, Cell], ...], agree: Agree) -> dict[str, Cell] | None:
    joined = dict(row)
    for name, cell in part:
        if name in joined:
            common = agree(name, joined[name], cell)
            if common is None:
                return None
            joined[name] = common
        else:
            joined[name] = cell
    return joined


def highest_posterior(consistent: Iterator[World], known: Sequence[str], target: str) -> tuple[float, int]:
    """The largest probability of a value of `target` to whoever knows `known` of somebody; how many worlds."""
    tallies: dict[tuple[Cell, ...], Counter[Cell]] = {}
    count = 0
    for world in consistent:
        count += 1
        for row in world:
            tallies.setdefault(tuple(row[name] for name in known), Counter())[row[target]] += 1
    return max((max(tally.values()) / tally.total() for tally in tallies.values()), default=0.0), count
