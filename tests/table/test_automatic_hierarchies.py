"""Intervals that a method makes by itself: they nest, they hold their numbers, and their ends are nobody's value."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from pluralis.table.hierarchies import automatic_hierarchy, automatic_nodes, automatic_widths, interval_hierarchy
from pluralis.table.labels import read_interval

WHOLE = st.lists(st.integers(-(10**6), 10**6) | st.integers(-(2**63), 2**63 - 1), min_size=2, unique=True).map(sorted)
CENTS = st.lists(st.decimals(-1000, 1000, places=2).map(float), min_size=2, unique=True).map(sorted)
FLOATS = st.lists(st.floats(-1e300, 1e300), min_size=2, unique=True).map(sorted)


def digits(number: float) -> Decimal:
    return Decimal(str(number))


def is_round(width: Decimal) -> bool:
    """1, 2 or 5 times a power of ten."""
    return [digit for digit in width.as_tuple().digits if digit] in ([1], [2], [5])


@given(WHOLE | CENTS | FLOATS)
@example([0.1, 0.3, 0.7])
@example([1.0, 1.0000000000000002, 1.0000000000000004])
@example([2**53 + 1, 2**53 + 3, 2**53 + 40])
def test_intervals_hold_their_numbers_and_nest(numbers: list[float]) -> None:
    tree = automatic_hierarchy(numbers, True, "x")
    for labels in tree.labels[:-1]:
        for number, label in zip(numbers, labels, strict=True):
            low, high = read_interval(label)
            assert low <= number <= high
    nodes = tree.nodes()
    assert np.array_equal(nodes, automatic_nodes(np.array(numbers)))
    for below, above in pairwise(nodes.T):
        assert len({*zip(below.tolist(), above.tolist(), strict=True)}) == below.max() + 1
    assert (np.diff(tree.share, axis=1) >= 0).all()


@given(st.lists(st.integers(-999, 999), min_size=1, unique=True).map(sorted), st.sampled_from([1, 3, 7]))
def test_decimals_meet_the_interval_that_whole_numbers_meet(hundredths: list[int], width: int) -> None:
    """Hundredths in steps of 0.07 are hundredfold numbers in steps of 7, though no float is a hundredth."""
    whole = interval_hierarchy(hundredths, [width, 2 * width], 1, "x").nodes()
    parts = interval_hierarchy([h / 100 + 0.0 for h in hundredths], [width / 100, 2 * width / 100], 0.01, "x").nodes()
    assert (whole == parts).all()


@given(WHOLE | CENTS)
def test_ends_are_multiples_of_a_round_width(numbers: list[float]) -> None:
    """So an end is an extreme of the table only where that extreme is such a multiple itself."""
    widths = [digits(width) for width in automatic_widths(numbers)]
    tree = automatic_hierarchy(numbers, True, "x")
    whole = isinstance(numbers[0], int)
    assert len(widths) == len(tree.labels) - 2
    assert is_round(widths[0]) if widths else numbers[-1] - numbers[0] < 2
    for width, labels in zip(widths, tree.labels[1:-1], strict=True):
        for label in {*labels}:
            low, high = (Decimal(end) for end in label.strip("[])").split(", "))
            assert low % widths[0] == 0
            assert high + whole - low == width
            assert label.endswith("]" if whole else ")")


def boundary_between(narrow: Decimal, wide: Decimal) -> bool:
    """Whether 16 times a round number, or for whole numbers a power of two below 16, lies between two ranges."""
    powers = (Decimal(digit).scaleb(e) for digit in (1, 2, 5) for e in range(-4, 20))
    return any(narrow < bound <= wide for bound in (*(16 * power for power in powers), 2, 4, 8))


@given(st.lists(st.integers(-(10**9), 10**9), min_size=3, unique=True).map(sorted), st.booleans())
@example([20, 23, 59, 60], False)
def test_without_its_extreme_row_a_table_has_the_same_ladder(numbers: list[int], lowest: bool) -> None:
    """Unless the range falls below a round number with it."""
    fewer = numbers[1:] if lowest else numbers[:-1]
    ranges = [Decimal(each[-1] - each[0]) for each in (fewer, numbers)]
    if not boundary_between(*ranges):
        whole = automatic_hierarchy(numbers, True, "x").labels
        kept = automatic_hierarchy(fewer, True, "x").labels
        assert kept == tuple(labels[1:] if lowest else labels[:-1] for labels in whole)


def test_a_range_has_one_of_three_ladders_in_every_decade() -> None:
    assert len({tuple(automatic_widths([0, top])) for top in range(1600, 16_000)}) == 3
