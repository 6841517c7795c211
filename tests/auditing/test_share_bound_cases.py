"""The bound by the true shares, against exact arithmetic and against the publisher's own formula."""

from __future__ import annotations

from decimal import Decimal, getcontext

import numpy as np
import pytest

from pluralis.auditing.drawn_sets import DrawnSets
from pluralis.auditing.share_bound import fewest_rows, largest_posterior, most_rows
from pluralis.grouping.addition import Design
from pluralis.release.parameters import Drawn

WEIGHTS = [*range(1, 130), 1000, 4095, 10**6 + 3]


def root(number: Decimal) -> Decimal:
    getcontext().prec = 60
    return number.sqrt()


@pytest.mark.parametrize("weight", WEIGHTS)
def test_a_weight_stands_for_counts_within_a_quarter_on_the_scale_of_roots(weight: int) -> None:
    half, quarter = Decimal("0.5"), Decimal("0.25")
    few, many = fewest_rows(weight), most_rows(weight)
    low, high = root(weight - half) - quarter, root(weight + half) + quarter
    assert few >= 1
    assert few == 1 or root(Decimal(few)) >= low > root(Decimal(few - 1))
    assert root(Decimal(many)) <= high < root(Decimal(many + 1))


def judged(weights: list[int], l: int) -> DrawnSets:
    return DrawnSets.stated(Drawn.model_validate(design_of(weights, l).to_dict()), l)


def design_of(weights: list[int], l: int) -> Design:
    return Design(tuple(f"v{i:02}" for i in range(len(weights))), l, np.array(weights, np.int64))


def test_three_equal_values_of_thirty() -> None:
    """Of {a, b}: 33 rows of a at most, 27 of b at least, so 33 of 60."""
    assert largest_posterior(judged([30, 30, 30], 2)) == pytest.approx(33 / 60)


def test_a_top_that_was_cut_may_stand_for_half_the_table() -> None:
    """50 of 100 were cut to 1/2: it may be 56, as many as the others can be together; {top, 25}: 56/50 to 23/25."""
    assert largest_posterior(judged([50, 25, 25], 2)) == pytest.approx((56 / 50) / (56 / 50 + 23 / 25))


@pytest.mark.parametrize("l", [2, 3, 4, 5])
def test_the_bound_is_the_publishers_worked_out_in_another_way(l: int) -> None:
    rng = np.random.default_rng(l)
    designs = [[100] * (l + 1), [7] * l + [1], [9] * (l - 1) + [1] * 9, [40] * (l - 1) + [13, 13, 13, 1]]
    designs += [[20, 20, 10, 10, 10, 10], [50, 49, 1, 1, 1], [11] * l + [10, 1], [3] * (l + 3), [1] * (l + 1)]
    designs += [list(rng.integers(1, 60, rng.integers(l + 1, 9))) for _ in range(60)]
    tried = 0
    for weights in designs:
        top = sum(weights) // l
        cut = [min(int(weight), top) for weight in weights]
        while max(cut) * l > sum(cut):
            cut = [min(weight, sum(cut) // l) for weight in cut]
        if min(cut) < 1 or len(cut) <= l:
            continue
        design = design_of(cut, l)
        largest = largest_posterior(judged(cut, l))
        assert largest == pytest.approx(float(design.largest.max()), rel=1e-12), cut
        tried += 1
    assert tried > 20
