"""All possible worlds of tiny bucketized and sliced releases: the judge of every posterior.

The adversary knows everybody's quasi-identifiers and sees all tables. A world gives each person a published row whose
labels cover that person, and each row of a group one of the group's combinations of values; where values of one row do
not stand together, those of each attribute are given on their own. All worlds are equally likely.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import permutations, product
from typing import Any

from oracles.worlds_of_generalized import Person, Tallies, highest_share
from pluralis.release.release import Release

Values = dict[str, Any]


def _deals(rows: list[int], hands: list[Values]) -> list[dict[int, Values]]:
    """Every way to give each of these rows one hand."""
    return [dict(zip(rows, order, strict=True)) for order in permutations(hands)]


def hands_of(release: Release) -> Iterator[tuple[str, dict[int, list[Values]]]]:
    """(the group column, group -> hands) for each table of values; one for each attribute where it is unlinked."""
    for info in release.manifest.tables:
        if info.named("quasi"):
            continue
        column = "group" if info.name == "sensitive" else f"group_{info.name.removeprefix('slice_')}"
        rows = release.tables[info.name].iter_rows(named=True)
        if info.named("attribute"):
            apart: dict[str, dict[int, list[Values]]] = {}
            for row in rows:
                group_hands = apart.setdefault(row["attribute"], {}).setdefault(row["group"], [])
                group_hands += [{row["attribute"]: row["value"]}] * row["count"]
            for hands in apart.values():
                yield column, hands
        else:
            names = info.names("sensitive")
            together: dict[int, list[Values]] = {}
            for row in rows:
                together.setdefault(row["group"], []).extend([{name: row[name] for name in names}] * row["count"])
            yield column, together


def highest_posterior(
    people: list[Person],
    release: Release,
    covers: Callable[[Mapping[str, Any], Person], bool],
    target: str,
    known: list[str],
) -> float:
    """The largest probability that an adversary who also knows `known` of a person gives to a value of `target`."""
    return highest_share(people, tallied(people, release, covers, target, known), known)


def tallied(
    people: list[Person],
    release: Release,
    covers: Callable[[Mapping[str, Any], Person], bool],
    target: str,
    known: list[str],
) -> Tallies:
    """In how many worlds each person has each value of `target`, by the values of `known` in them."""
    published = list(release.tables["quasi"].iter_rows(named=True))
    given = []
    for column, hands in hands_of(release):
        groups: dict[int, list[int]] = {}
        for i, row in enumerate(published):
            groups.setdefault(row[column], []).append(i)
        given += [_deals(groups[group], group_hands) for group, group_hands in hands.items()]
    tallies: Tallies = [{} for _ in people]
    places = [
        order
        for order in permutations(range(len(published)))
        if all(covers(published[row], person) for row, person in zip(order, people, strict=True))
    ]
    for deals in product(*given):
        values: list[Values] = [{} for _ in published]
        for deal in deals:
            for row, hand in deal.items():
                values[row] |= hand
        for order in places:
            for tally, row in zip(tallies, order, strict=True):
                key = tuple(values[row][name] for name in known)
                tally.setdefault(key, Counter())[values[row][target]] += 1
    return tallies
