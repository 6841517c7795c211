"""What follows of a person from all worlds of a tiny generalized, bucketized or sliced release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import permutations, product
from typing import Any

from oracles.worlds_of_bucketized import hands_of
from oracles.worlds_of_generalized import deals
from pluralis.release.release import Release


def believed(
    release: Release,
    covers: Callable[[Mapping[str, Any]], bool],
    target: str,
    known: Mapping[str, str],
) -> dict[str, Fraction]:
    """P(value) over all worlds for a person whom these rows cover: any of them, whatever way groups hand values out."""
    tally: Counter[str] = Counter()
    for rows in _worlds(release):
        for row in rows:
            if covers(row) and all(row[name] == value for name, value in known.items()):
                tally[row[target]] += 1
    return {value: Fraction(count, tally.total()) for value, count in tally.items()}


def _worlds(release: Release) -> Iterator[list[dict[str, Any]]]:
    """Every way to give the rows of each group the values that it holds."""
    linked = release.manifest.parameters.linked
    if release.kind == "generalized":
        (info,) = release.manifest.tables
        rows = list(release.tables["microdata"].iter_rows(named=True))
        yield from deals(rows, list(info.names("sensitive")), linked)
        return
    published = list(release.tables["quasi"].iter_rows(named=True))
    dealt = []
    for column, hands in hands_of(release):
        for group, group_hands in hands.items():
            members = [i for i, row in enumerate(published) if row[column] == group]
            dealt.append([list(zip(members, order, strict=True)) for order in permutations(group_hands)])
    for world in product(*dealt):
        rows = [dict(row) for row in published]
        for deal in world:
            for i, hand in deal:
                rows[i] |= hand
        yield rows
