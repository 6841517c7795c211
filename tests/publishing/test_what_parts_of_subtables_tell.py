"""What somebody learns from subtables that are published in parts, by enumeration of all tables of four rows.

Somebody knows `a` of a person, and `s` is to be kept from them. One subtable guards it, in groups of two rows whose `s`
differ, or none shows both. Where rows are routed by what moves with `s` as it is exchanged, or by what stays, nobody
gets surer than 1/2. Where they are routed by both, somebody does: who is in one part with whom says what never stands
side by side.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product

import pytest

from pluralis.grouping.subtable_schema import Schema, Subtable
from pluralis.policy.rules import Rule

Rows = tuple[int, ...]
World = tuple[dict[str, str], ...]
ROWS = 4
KNOWN = "0001"  # `a` of each row


@cache
def pairings(rows: Rows) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Every way to put rows into groups of two."""
    if not rows:
        return ((),)
    first, *rest = rows
    return tuple(
        ((first, other), *more) for other in rest for more in pairings(tuple(row for row in rest if row != other))
    )


def shown(world: World, rows: Rows, names: str) -> tuple[str, ...]:
    """Some attributes of some rows side by side, in order, so that nobody can tell which row is which."""
    return tuple(sorted("".join(world[row][name] for name in names) for row in rows))


def releases(world: World, rows: Rows, tables: tuple[str, ...]) -> list[tuple]:
    """What may be published of the rows of a part; `a|s` guards s from a, all other tables show what they name."""
    seen = [shown(world, rows, names) for names in tables if "|" not in names]
    if "a|s" not in tables:
        most = max(Counter(world[row]["s"] for row in rows).values(), default=0)
        return [tuple(seen)] if 2 * most <= len(rows) else []
    return [
        (tuple(sorted((shown(world, pair, "a"), shown(world, pair, "s")) for pair in way)), *seen)
        for way in pairings(rows)
        if all(world[one]["s"] != world[two]["s"] for one, two in way)
    ]


def outcomes(world: World, tables: tuple[str, ...], routed_by: str | None) -> Iterator[tuple[tuple, Fraction]]:
    """Every release of a world in two parts that need not be joined, and how likely it is; None routes by person."""
    who = [str(row) if routed_by is None else "".join(own[name] for name in routed_by) for row, own in enumerate(world)]
    kinds = sorted(set(who))  # the route of what no row has changes nothing
    for route in product(range(2), repeat=len(kinds)):
        shard = [route[kinds.index(one)] for one in who]
        parts = [tuple(r for r in range(ROWS) if shard[r] == own) for own in range(2)]
        ways = list(product(*(releases(world, rows, tables) for rows in parts))) if len(parts[0]) % 2 == 0 else []
        yield from ((way, Fraction(1, 2 ** len(kinds) * len(ways))) for way in ways)


@cache
def surest(tables: tuple[str, ...], routed_by: str | None) -> Fraction:
    """The highest probability that any `s` gets, of somebody of whom `a` is known."""
    others = "".join(sorted({*"".join(tables)} - {*"a|s"}))
    holders: dict[tuple, dict[tuple[str, str], Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for values in product(product("xy", *["01"] * len(others)), repeat=ROWS):
        world = tuple(dict(zip("as" + others, (a, *own), strict=True)) for a, own in zip(KNOWN, values, strict=True))
        for release, chance in outcomes(world, tables, routed_by):
            for row in world:
                holders[release][row["a"], row["s"]] += chance
    return max(
        counts[a, s] / (counts[a, "x"] + counts[a, "y"])
        for counts in holders.values()
        for a, s in product("01", "xy")
        if counts[a, "x"] + counts[a, "y"]
    )


@pytest.mark.parametrize(
    ("tables", "routed_by", "guess"),
    [
        (("a|s", "sb"), None, "1/2"), (("a|s", "sb"), "", "1/2"), (("a|s", "sb"), "a", "1/2"),
        (("a|s", "sb"), "b", "1/2"), (("a|s", "sb"), "ab", "1"),
        (("a|s", "sb", "sc"), "bc", "1/2"), (("a|s", "sb", "ac"), "ac", "1/2"), (("a|s", "sb", "ac"), "bc", "1"),
        (("a", "b", "s"), "ab", "1/2"), (("a", "sb"), "ab", "1"), (("a", "sb"), "b", "1/2"),
    ],
)  # fmt: skip
def test_what_moves_with_the_value_and_what_stays_do_not_route_together(
    tables: tuple[str, ...], routed_by: str | None, guess: str
) -> None:
    attributes = sorted({*"".join(tables)} - {"|"})
    schema = Schema.from_rules(attributes, [Rule.parse("a -> s : l=2")])
    made = [Subtable(schema.bits(names.replace("|", "")), schema.bits(names.partition("|")[2])) for names in tables]
    assert schema.in_normal_form(made)
    torn = schema.split_by(routed_by or "", made)
    assert (surest(tables, routed_by), torn is None) == (Fraction(guess), guess == "1/2")
