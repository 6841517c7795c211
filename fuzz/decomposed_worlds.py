"""All worlds of a tiny decomposed release.

A world gives every person of a group a value of each attribute from the group's sets, each primary value once; where
the sensitive table is published, people's rows, or values of one attribute, are exactly those of it. Worlds are
equally likely.
"""

from __future__ import annotations

from collections import Counter

from fuzz.slow_reader import Row, Value
from fuzz.worlds import TooMany


def places(
    sizes: Counter[Value],
    sets: dict[tuple[Value, str], list[Value]],
    names: list[str],
    supply: list[Row] | None,
    primary: str,
    known: list[str],
    name: str,
    most: int = 60_000,
) -> dict[tuple[Value, ...], list[list[Value]]]:
    """By group and known combination: what those people hold of `name`, world by world."""
    members = [group for group, size in sizes.items() for _ in range(size)]
    left = Counter(tuple(row[n] for n in names) for row in supply) if supply is not None else None
    primaries = {group: Counter(sets[group, primary]) for group in sizes}
    at_primary = names.index(primary) if primary in names else None
    tallies: dict[tuple[Value, ...], list[list[Value]]] = {}
    given: list[tuple[Value, ...]] = []
    steps = 0

    def serve() -> None:
        nonlocal steps
        steps += 1
        if steps > most:
            raise TooMany
        if len(given) == len(members):
            here: dict[tuple[Value, ...], list[Value]] = {}
            for group, row in zip(members, given, strict=True):
                key = (group, *(row[names.index(k)] for k in known))
                here.setdefault(key, []).append(row[names.index(name)])
            for key, values in here.items():
                tallies.setdefault(key, []).append(values)
            return
        group = members[len(given)]
        every = list(left) if left is not None else [(value,) for value in dict.fromkeys(sets[group, names[0]])]
        for row in every:
            if left is not None and not left[row]:
                continue
            if any(value not in sets[group, n] for value, n in zip(row, names, strict=True)):
                continue
            if at_primary is not None and not primaries[group][row[at_primary]]:
                continue
            if left is not None:
                left[row] -= 1
            if at_primary is not None:
                primaries[group][row[at_primary]] -= 1
            given.append(row)
            serve()
            given.pop()
            if at_primary is not None:
                primaries[group][row[at_primary]] += 1
            if left is not None:
                left[row] += 1

    serve()
    return tallies
