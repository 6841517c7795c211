"""The audit's own arithmetic of drawn sets, beside that of whoever draws them, and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluralis.auditing.drawn_sets import ORDERS, DrawnSets, set_numbers
from pluralis.auditing.share_bound import largest_posterior
from pluralis.errors import ReleaseError
from pluralis.grouping.addition import Design, likeliest, posteriors
from pluralis.release.parameters import Drawn


@st.composite
def designs(draw: Any) -> Design:
    """Sets of l of m values, uniform or with weights of which none is above 1/l."""
    m = draw(st.integers(3, 7))
    l = draw(st.integers(2, m - 1))
    values = tuple(f"v{i}" for i in range(m))
    if draw(st.booleans()):
        return Design(values, l)
    weights = np.array(draw(st.lists(st.integers(1, 40), min_size=m, max_size=m)))
    while weights.max() * l >= weights.sum():  # a value that stands in every set cannot be estimated
        weights = np.minimum(weights, (weights.sum() - 1) // l)
    return Design(values, l, weights)


def of_the_audit(design: Design) -> DrawnSets:
    return DrawnSets.stated(Drawn.model_validate(design.to_dict()), design.l)


def rows_of(design: Design, seed: int, rows: int = 60) -> np.ndarray:
    """Some of the sets that the design can draw."""
    rng = np.random.default_rng(seed)
    if design.counts is not None:
        return design.sets[rng.integers(0, len(design.sets), rows)].astype(np.int32)
    return np.sort(rng.permuted(np.tile(np.arange(design.m), (rows, 1)), axis=1)[:, : design.l], axis=1).astype(
        np.int32
    )


@given(designs(), st.integers(0, 2**32))
def test_who_judges_and_who_draws_work_out_the_same(design: Design, seed: int) -> None:
    judge, sets = of_the_audit(design), rows_of(design, seed)
    assert np.allclose(judge.shares(sets), design.shares(sets))
    shares = np.clip(design.shares(sets), 0.0, 1.0)
    errors = np.sqrt(np.maximum(0.0, design.added_variances(shares)) / len(sets))
    assert np.allclose(judge.share_errors(sets), errors, atol=1e-7)
    assert np.allclose(judge.posteriors(sets, shares), posteriors(sets, shares, design.weight))
    start = np.full(design.m, 1 / design.m)
    assert np.allclose(judge.likeliest_shares(sets, 40), likeliest(sets, design.weight, start, 40), atol=1e-6)
    if design.counts is not None:
        sets, points = judge.possible
        assert (sets.tolist(), points.tolist()) == (design.sets.tolist(), design.weights.tolist())
        assert largest_posterior(judge) <= design.bound + 1e-9


@given(designs())
def test_every_value_is_in_sets_as_often_as_its_weight_says(design: Design) -> None:
    """l n(v) points of each order, which is what makes the posterior 1/l."""
    if design.counts is None:
        return
    sets, points = of_the_audit(design).possible
    in_sets = np.bincount(sets.ravel(), np.repeat(points, design.l), design.m)
    assert in_sets.tolist() == (ORDERS * design.l * design.counts).tolist()


def test_three_even_values_by_hand() -> None:
    """l = 2 of a, b, c, weight 1 each: arcs of 2 on a circle of 3, so that every pair has one point of each order."""
    judge = DrawnSets.stated(Drawn(design="calibrated", values=("a", "b", "c"), weights=(1, 1, 1)), 2)
    sets, points = judge.possible
    assert sets.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert points.tolist() == [ORDERS] * 3
    codes = np.array([[0, 1], [0, 1], [0, 2], [1, 2]], np.int32)
    # a set of a holds b in half of all cases: H = 1/2 everywhere but 1 where both are the same; seen 3/4, 3/4, 1/2
    assert judge.shares(codes).round(9).tolist() == [0.5, 0.5, 0.0]


def test_sets_that_cannot_be_drawn_are_refused_however_many_there_could_be() -> None:
    """40^12 is more than 64 bits hold."""
    m, l = 40, 12
    drawn = Drawn(design="calibrated", values=tuple(f"v{i:02}" for i in range(m)), weights=(100,) * m)
    judge = DrawnSets.stated(drawn, l)
    possible = judge.possible[0][:5].astype(np.int32)
    judge.require_possible(possible)
    listed = set(map(tuple, judge.possible[0].tolist()))
    strange = next(members for i in range(m - l + 1) if (members := tuple(range(i, i + l))) not in listed)
    with pytest.raises(ReleaseError, match="cannot have been drawn"):
        judge.require_possible(np.array([*possible.tolist(), strange], np.int32))


@pytest.mark.parametrize(
    ("changes", "l"),
    [
        ({"design": "uniform"}, 2),
        ({"weights": None}, 2),
        ({"weights": (1, 1)}, 2),
        ({"weights": (5, 1, 1)}, 2),
        ({"values": ("a", "b", "b")}, 2),
        ({"values": ("a", "b", 3)}, 2),
        ({}, 3),
        ({}, 1),
        ({"weights": (2**40, 2**40, 2**40)}, 2),
    ],
)
def test_what_contradicts_itself_is_no_design(changes: dict[str, Any], l: int) -> None:
    good: dict[str, Any] = {"design": "calibrated", "values": ("a", "b", "c"), "weights": (2, 2, 2)}
    DrawnSets.stated(Drawn.model_validate(good), 2)
    with pytest.raises(ReleaseError, match="contradicts itself"):
        DrawnSets.stated(Drawn.model_validate({**good, **changes}), l)
    with pytest.raises(ReleaseError, match="not said"):
        DrawnSets.stated(None, l)


@pytest.mark.parametrize("values", [("a", "b", "c"), (1, 2, 3), (0.5, 1.5, 2.5)])
def test_sets_are_l_values_of_the_domain_in_order(values: tuple[Any, ...]) -> None:
    judge = DrawnSets.stated(Drawn(design="uniform", values=values), 2)
    a, b, c = values
    assert judge.codes(pl.Series([[a, c], [b, c]])).tolist() == [[0, 2], [1, 2]]
    other = "d" if isinstance(a, str) else type(a)(7)
    for wrong in ([[a]], [[a, b, c]], [[a, None]], [[a, other]]):
        with pytest.raises(ReleaseError, match="not 2 values of its domain"):
            judge.codes(pl.Series("x", wrong))
    for wrong in ([[c, a]], [[a, a]]):
        with pytest.raises(ReleaseError, match="not in domain order"):
            judge.codes(pl.Series("x", wrong))


@given(st.lists(st.lists(st.integers(0, 2**40), min_size=3, max_size=3), min_size=1, max_size=12))
def test_numbers_are_in_the_order_of_sets(sets: list[list[int]]) -> None:
    pairs = list(zip(sets, set_numbers(np.array(sets)).tolist(), strict=True))
    assert all((one < two) == (x < y) for one, x in pairs for two, y in pairs)
