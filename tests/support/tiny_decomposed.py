"""Tiny decomposed releases drawn by a fixed seed, and what all their worlds say of a claim."""

from __future__ import annotations

from itertools import combinations
from random import Random

from oracles.worlds_of_decomposed import Mode, Place, Seen, Tiny
from pluralis.auditing.decomposed_worlds import Candidates, judge

Asked = tuple[int, tuple[int, ...], int]  # protected, known, l


def drawn(random: Random, rows: int = 6, attributes: int = 3) -> Tiny:
    """Groups whose primary values differ, with any noise in the other sets."""
    n, d, width = random.randint(2, rows), random.randint(1, attributes), random.randint(2, 3)
    people = [(random.choice("abcd"), *random.choices("uvw"[:width], k=d - 1)) for _ in range(n)]
    groups: list[list[int]] = []
    for i, row in enumerate(people):
        free = [g for g, members in enumerate(groups) if all(people[j][0] != row[0] for j in members)]
        place = random.choice([*free, len(groups)]) if random.random() < 0.3 or not free else free[-1]
        if place == len(groups):
            groups.append([])
        groups[place].append(i)
    numbers = random.sample(range(1, 9), len(groups))
    sets = {
        number: (
            frozenset(people[i][0] for i in members),
            *(
                frozenset(people[i][a] for i in members) | {v for v in "uvwx" if random.random() < 0.2}
                for a in range(1, d)
            ),
        )
        for number, members in zip(numbers, groups, strict=True)
    }
    order = [i for members in groups for i in members]
    group_of = tuple(number for number, members in zip(numbers, groups, strict=True) for _ in members)
    return Tiny(tuple(people[i] for i in order), group_of, sets)


def questions(tiny: Tiny, *, known: bool) -> list[Asked]:
    """Every protected attribute with every subset of the others known, or none, for two l."""
    asked: list[Asked] = []
    for protected in range(len(tiny.names)):
        others = [a for a in range(len(tiny.names)) if a != protected]
        for size in range(len(others) + 1 if known else 1):
            asked += [(protected, some, l) for some in combinations(others, size) for l in (2, 3)]
    return asked


def answers(tiny: Tiny, mode: Mode, asked: list[Asked]) -> list[Candidates]:
    claims = [(frozenset(tiny.names[k] for k in known), tiny.names[s], l) for s, known, l in asked]
    return judge(tiny.tables(mode), "s0", tiny.names, claims)


def require_weakest(result: Candidates, places: dict[Place, Seen], known: tuple[int, ...], l: int) -> None:
    """That a claim is judged by the weakest place of all worlds, and that this is the place named."""
    fewest = min(len(place.candidates) for place in places.values())
    share = max(place.share for place in places.values())
    assert (result.measured, result.share, result.note) == (fewest, float(share), None)
    assert result.holds == (fewest >= l and share * l <= 1)
    by_share = fewest >= l and share * l > 1
    weakest = [
        (group, key)
        for (group, key), place in places.items()
        if (place.share == share if by_share else len(place.candidates) == fewest)
    ]
    witnesses = {
        ", ".join([f"group {g}", *(f"s{k} = {v}" for k, v in zip(known, key, strict=True))]) for g, key in weakest
    }
    assert result.witness in witnesses
