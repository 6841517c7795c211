"""Expectation and maximization over pairs of values, and what follows for a row: slow and literal.

A row is two mappings from values to likelihoods, of one attribute and of the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

Likely = Mapping[str, float]
Pair = tuple[str, str]


def posterior(joint: Mapping[Pair, float], row: tuple[Likely, Likely]) -> dict[Pair, float]:
    """How likely the row holds each pair, if pairs are as common as `joint` says."""
    one, other = row
    weights = {(a, b): joint.get((a, b), 0.0) * one[a] * other[b] for a, b in product(one, other)}
    total = sum(weights.values())
    return {pair: weight / total for pair, weight in weights.items()}


def learned(rows: Sequence[tuple[Likely, Likely]], joint: Mapping[Pair, float], steps: int) -> dict[Pair, float]:
    """How common pairs are after some steps, each over all rows and all pairs of the domain."""
    current = dict(joint)
    for _ in range(steps):
        tally = dict.fromkeys(current, 0.0)
        for row in rows:
            for pair, share in posterior(current, row).items():
                tally[pair] += share
        current = {pair: share / len(rows) for pair, share in tally.items()}
    return current


def likelihood(rows: Sequence[tuple[Likely, Likely]], joint: Mapping[Pair, float]) -> float:
    """Of all rows, by enumerating every world: a pair of values for each row."""
    total = 0.0
    for world in product(*(list(product(one, other)) for one, other in rows)):
        total += prod(
            joint.get((a, b), 0.0) * one[a] * other[b] for (a, b), (one, other) in zip(world, rows, strict=True)
        )
    return total


def in_worlds(rows: Sequence[tuple[Likely, Likely]], joint: Mapping[Pair, float], row: int) -> dict[Pair, float]:
    """The pair of one row in all worlds, each world weighed by how likely it is."""
    tally: dict[Pair, float] = {}
    for world in product(*(list(product(one, other)) for one, other in rows)):
        weight = prod(
            joint.get((a, b), 0.0) * one[a] * other[b] for (a, b), (one, other) in zip(world, rows, strict=True)
        )
        tally[world[row]] = tally.get(world[row], 0.0) + weight
    total = sum(tally.values())
    return {pair: weight / total for pair, weight in tally.items()}
