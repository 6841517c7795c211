"""What somebody learns who knows the method and sees which shards were joined.

Shards are joined where a value is too common in one alone. In a shard of two rows that tells a lot; in one of 100,000,
that one person in it has the value is hardly any likelier for it (docs/scale.md).
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import product

import pytest
from scipy.stats import binom

from pluralis.engines.shards import SHARD, joined

L = 2


def keeps(values: tuple[str, ...]) -> bool:
    return bool(values) and max(map(values.count, values)) * L <= len(values)


def blocks(world: tuple[str, ...], rows_of_a_shard: int) -> tuple[tuple[int, int], ...]:
    """Ranges of rows, shards being runs of so many rows."""
    shards = len(world) // rows_of_a_shard
    part = [world[i * rows_of_a_shard : (i + 1) * rows_of_a_shard] for i in range(shards)]
    ranges = joined(shards, lambda first, last: keeps(sum(part[first:last], ())))
    return tuple((first * rows_of_a_shard, last * rows_of_a_shard) for first, last in ranges)


def pairings(rows: tuple[int, ...]) -> list[tuple[tuple[int, int], ...]]:
    """Every way to put rows into pairs."""
    if not rows:
        return [()]
    first, rest = rows[0], rows[1:]
    return [((first, other), *more) for other in rest for more in pairings(tuple(set(rest) - {other}))]


def releases(world: tuple[str, ...], rows_of_a_shard: int) -> list[tuple]:
    """Everything that may be published of a world, each as likely: all ways to make pairs of different values."""
    per_block = []
    for first, last in blocks(world, rows_of_a_shard):
        good = [p for p in pairings(tuple(range(first, last))) if all(world[a] != world[b] for a, b in p)]
        per_block.append([tuple((pair, tuple(sorted(world[row] for row in pair))) for pair in sorted(p)) for p in good])
    return [tuple(one) for one in product(*per_block)]


def worst_posterior(rows: int, rows_of_a_shard: int) -> Fraction:
    """The surest guess of anybody's value, over all releases of all tables of so many rows with three values."""
    weights: dict[tuple, dict[tuple[str, ...], Fraction]] = defaultdict(dict)
    for world in product("abc", repeat=rows):
        if keeps(world):
            published = releases(world, rows_of_a_shard)
            for release in published:
                weights[release][world] = Fraction(1, len(published))
    worst = Fraction(0)
    for worlds in weights.values():
        total = sum(worlds.values())
        for row, value in product(range(rows), "abc"):
            worst = max(worst, sum(w for world, w in worlds.items() if world[row] == value) / total)
    return worst


def test_without_shards_nobody_is_surer_than_one_in_l():
    assert worst_posterior(4, 4) == Fraction(1, 2)


def test_which_shards_of_two_rows_were_joined_can_give_a_value_away():
    """Two rows that were joined with the next two are equal: with {a, b} and {a, c} both are a. That is certain once a
    shard behind them stands alone: the last shards may have been joined with those before.
    """
    assert worst_posterior(4, 2) == Fraction(1, 2)
    assert worst_posterior(6, 2) == 1


def likelier(rows: int, share: float, l: int) -> float:
    """How many times likelier somebody's having a value gets by learning that it is too common in their shard.

    Of all others in the shard each has it with this chance, as far as the adversary knows.
    """
    enough = rows // l  # one more is too many
    return float(binom.sf(enough - 1, rows - 1, share) / binom.sf(enough, rows - 1, share))


@pytest.mark.parametrize("l", [2, 3, 5, 10])
def test_in_shards_of_full_size_joining_tells_next_to_nothing(l):
    """A guess gains 6 % of itself at most where one shard in three million is joined, and less where more are."""
    error = (1 / l * (1 - 1 / l) / SHARD) ** 0.5
    gains = [likelier(SHARD, 1 / l - k * error, l) for k in range(6)]
    assert gains == sorted(gains), "the rarer it is to be joined, the more it tells"
    assert gains[0] < 1.01
    assert gains[5] < 1.06
    assert likelier(10, 1 / l, l) > 1.2
