"""What all rows of one person tell together under randomized addition: every world enumerated."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from pluralis.grouping.addition import ORDERS, Design


def chances(design: Design) -> dict[tuple[int, ...], int]:
    """How much weight each set has in the list that sets are drawn from."""
    assert design.counts is not None
    return {tuple(s): int(w) for s, w in zip(design.sets.tolist(), design.weights.tolist(), strict=True)}


def joint_posterior(design: Design, sets: Sequence[tuple[int, ...]]) -> list[dict[int, Fraction]]:
    """For each row of a person, how likely each value is, given the sets of all of the person's rows.

    The values of the rows are drawn apart, by the published weights. Rows with the same value have one draw: if their
    sets differ, their values do.
    """
    assert design.counts is not None
    listed, n = chances(design), int(design.counts.sum())
    total, weights = Fraction(0), [dict.fromkeys(members, Fraction(0)) for members in sets]
    for world in product(*sets):
        drawn = dict(zip(world, sets, strict=True))
        if any(drawn[value] != members for value, members in zip(world, sets, strict=True)):
            continue
        weight = Fraction(1)
        for value in world:
            weight *= Fraction(int(design.counts[value]), n)
        for value, members in drawn.items():  # once for each different value
            weight *= Fraction(listed[members], ORDERS * design.l * int(design.counts[value]))
        total += weight
        for row, value in enumerate(world):
            weights[row][value] += weight
    return [{value: weight / total for value, weight in row.items()} for row in weights]
