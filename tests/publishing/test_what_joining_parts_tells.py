"""What somebody learns of all parts who knows the method and not the key: which shards were joined, by enumeration.

Every table of a few rows with three values, every way in which the key may route its quasi-identifiers, every way to
make groups of two or three different values. Where all quasi-identifiers differ nobody gets surer than 1/l; where few
do, shards are a few kinds of people, and that they were joined tells of their values (docs/scale.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import pytest

from pluralis.engines.base import Block
from pluralis.errors import Infeasible
from pluralis.publishing.part_blocks import PartPublished, joined_blocks

Rows = tuple[int, ...]
World = tuple[str, ...]


@cache
def groupings(rows: Rows) -> tuple[tuple[Rows, ...], ...]:
    """Every way to put rows into groups of two, one of them of three where they are odd."""
    if not rows:
        return ((),)
    first, rest = rows[0], rows[1:]
    sizes = (1,) if len(rows) % 2 == 0 else (1, 2)
    return tuple(
        ((first, *others), *more)
        for size in sizes
        for others in combinations(rest, size)
        for more in groupings(tuple(row for row in rest if row not in others))
    )


def releases(world: World, rows: Rows) -> list[tuple]:
    """What may be published of some rows: who is together, and which values each group has, all different."""
    good = [way for way in groupings(rows) if all(len({world[r] for r in group}) == len(group) for group in way)]
    return [tuple(sorted((group, tuple(sorted(world[r] for r in group))) for group in way)) for way in good]


def parts(world: World, shard_of: Rows, shards: int) -> list[Rows] | None:
    """The rows of each part, shards being joined as they are when they are published; None where nothing can be."""
    rows = {s: tuple(r for r, own in enumerate(shard_of) if own == s) for s in range(shards)}
    waiting = [Block(s, s + 1, len(rows[s])) for s in range(shards) if rows[s]]
    finished: dict[Block, PartPublished] = {}

    def rows_of(block: Block) -> Rows:
        return tuple(sorted(row for s in range(block.first, block.last) for row in rows[s]))

    while waiting:
        finished |= {b: PartPublished(refused="" if releases(world, rows_of(b)) else "too common") for b in waiting}
        try:
            waiting = joined_blocks(finished)
        except Infeasible:
            return None
        for block in waiting:
            finished = {one: part for one, part in finished.items() if not block.first <= one.first < block.last}
    return [rows_of(block) for block in sorted(finished)]


def outcomes(people: str, shards: int, world: World) -> Iterator[tuple[tuple, Fraction]]:
    """Every release of a world, and how likely it is: each letter of `people` is a quasi-identifier."""
    kinds = sorted(set(people))
    routes = list(product(range(shards), repeat=len(kinds)))
    for route in routes:
        own = parts(world, tuple(route[kinds.index(kind)] for kind in people), shards)
        ways = list(product(*(releases(world, rows) for rows in own or [()]))) if own is not None else []
        yield from ((way, Fraction(1, len(routes) * len(ways))) for way in ways)


def surest(people: str, shards: int) -> Fraction:
    """The highest probability that anybody's value gets from any release of any table."""
    likely: dict[tuple, dict[World, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for world in product("abc", repeat=len(people)):
        for release, chance in outcomes(people, shards, world):
            likely[release][world] += chance
    return max(
        sum((chance for world, chance in worlds.items() if world[row] == value), Fraction(0)) / sum(worlds.values())
        for worlds in likely.values()
        for row, value in product(range(len(people)), "abc")
    )


@pytest.mark.parametrize(
    ("people", "shards", "guess"),
    [("abcd", 1, "1/2"), ("abcd", 2, "1/2"), ("abcde", 2, "1/2"), ("aaabbb", 1, "1/2"), ("aaabbb", 2, "2/3")],
)
def test_joining_tells_where_few_quasi_identifiers_differ(people: str, shards: int, guess: str) -> None:
    assert surest(people, shards) == Fraction(guess)


def one_part(shards: int, having: set[int]) -> bool:
    """Whether all shards become one part, of which only some hold a value that the policy bounds."""
    waiting = [Block(s, s + 1, 1) for s in range(shards)]
    finished: dict[Block, PartPublished] = {}
    while waiting:
        finished |= {b: PartPublished(refused="" if having & {*range(b.first, b.last)} else "none") for b in waiting}
        waiting = joined_blocks(finished)
        finished = {one: p for one, p in finished.items() if not any(b.first <= one.first < b.last for b in waiting)}
    return len(finished) == 1


def test_a_bounded_value_that_few_have_tells_of_many_who_are_alike() -> None:
    """Five groups of ten have it once each, in each five people who are alike: of 1/10 that is promised they get 16 %.

    So shards are not joined for a value that they lack: the table is refused (tests/publishing/test_parts_values.py).
    """
    shards, holders = 4, 5
    likely: dict[int, Fraction] = defaultdict(Fraction)  # how many of the five are alike, given one part
    for alike in product((True, False), repeat=holders):
        single = alike.count(False)
        routes = list(product(range(shards), repeat=single + any(alike)))
        likely[holders - single] += Fraction(sum(one_part(shards, {*route}) for route in routes), len(routes))
    expected = sum(number * weight for number, weight in likely.items()) / sum(likely.values())
    assert float(expected / holders / 5) == pytest.approx(0.16, abs=0.001)
