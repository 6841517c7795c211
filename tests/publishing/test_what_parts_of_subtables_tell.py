"""What somebody learns from subtables that are published in parts, by enumeration of all tables of four rows.

Somebody knows `a` of a person. One subtable guards `s` from `a` in groups of two rows whose `s` differ; the other shows
`s` beside `b`, which nobody knows. Where rows are routed by what moves together, or by what stays, nobody gets surer
than 1/2. Where they are routed by `a` and `b`, some of which moves and some of which stays, somebody does: who is in
one part with whom says which `a` and `b` never stand side by side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product

import pytest

from pluralis.grouping.subtable_schema import Schema, Subtable
from pluralis.policy.rules import Rule

Row = tuple[str, str, str]  # a, b, s
World = tuple[Row, ...]
ROWS = 4
A, B, S = range(3)


@cache
def pairings(rows: tuple[int, ...]) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Every way to put rows into groups of two."""
    if not rows:
        return ((),)
    first, *rest = rows
    return tuple(
        ((first, other), *more) for other in rest for more in pairings(tuple(row for row in rest if row != other))
    )


def releases(world: World, rows: tuple[int, ...]) -> list[tuple]:
    """What may be published of the rows of a part: groups of `a` and of `s`, and each `s` with its `b`."""
    beside = tuple(sorted((world[row][S], world[row][B]) for row in rows))
    return [
        (
            tuple(sorted((*sorted(world[r][A] for r in pair), *sorted(world[r][S] for r in pair)) for pair in way)),
            beside,
        )
        for way in pairings(rows)
        if all(world[one][S] != world[two][S] for one, two in way)
    ]


def outcomes(world: World, routed_by: tuple[int, ...] | None) -> Iterator[tuple[tuple, Fraction]]:
    """Every release of a world in two parts that need not be joined, and how likely it is; None routes by person."""
    kinds = list(range(ROWS)) if routed_by is None else list(product("01", repeat=len(routed_by)))
    who = kinds if routed_by is None else [tuple(row[i] for i in routed_by) for row in world]
    for route in product(range(2), repeat=len(kinds)):
        shard = [route[kinds.index(one)] for one in who]
        parts = [tuple(r for r in range(ROWS) if shard[r] == own) for own in range(2)]
        if any(len(rows) % 2 for rows in parts):
            continue
        ways = list(product(*(releases(world, rows) for rows in parts)))
        yield from ((way, Fraction(1, 2 ** len(kinds) * len(ways))) for way in ways)


@cache
def surest(routed_by: tuple[int, ...] | None) -> Fraction:
    """The highest probability that any `s` gets, of somebody of whom `a` is known."""
    rows = list(product("01", "01", "xy"))
    holders: dict[tuple, dict[tuple[str, str], Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for world in product(rows, repeat=ROWS):
        for release, chance in outcomes(world, routed_by):
            for row in world:
                holders[release][row[A], row[S]] += chance
    return max(
        counts[a, s] / (counts[a, "x"] + counts[a, "y"])
        for counts in holders.values()
        for a, s in product("01", "xy")
        if counts[a, "x"] + counts[a, "y"]
    )


@pytest.mark.parametrize(
    ("routed_by", "guess"), [(None, "1/2"), ((), "1/2"), ((A,), "1/2"), ((B,), "1/2"), ((A, B), "1")]
)
def test_what_moves_with_the_value_and_what_stays_do_not_route_together(
    routed_by: tuple[int, ...] | None, guess: str
) -> None:
    schema = Schema.from_rules("abs", [Rule.parse("a -> s : l=2")])
    tables = [Subtable(schema.bits("as"), schema.bits("s")), Subtable(schema.bits("bs"))]
    assert schema.in_normal_form(tables)
    assert surest(routed_by) == Fraction(guess)
    torn = schema.split_by(["abs"[i] for i in routed_by or ()], tables)
    assert (torn is not None) == (guess != "1/2")
