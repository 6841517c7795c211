"""Randomized addition: what is promised of the sets, and of what is estimated from them."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pluralis.auditing.drawn_sets import DrawnSets
from pluralis.auditing.share_bound import fewest_rows, largest_posterior, most_rows
from pluralis.grouping.addition import ORDERS, Design, blurred, different, likeliest, possible_counts, posteriors
from pluralis.kernels.siphash import word_of, words_of_texts
from pluralis.method.randomized_addition import drawn_sets
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.release.parameters import Drawn
from support.effort import tries
from support.sample_tables import KEY, policy_of


@st.composite
def designs(draw: st.DrawFn) -> Design:
    """Designs for tables in which no value fills more than 1/l."""
    counts = draw(st.lists(st.integers(1, 40), min_size=3, max_size=9))
    l = draw(st.integers(2, max(2, min(len(counts) - 1, sum(counts) // max(counts)))))
    while max(counts) * l > sum(counts):
        counts[counts.index(max(counts))] = sum(counts) // l // 2 or 1
        if max(counts) == 1:
            counts = [1] * max(len(counts), l + 1)
    return Design(tuple(f"v{i}" for i in range(len(counts))), l, np.array(counts))


@given(designs())
@settings(deadline=None)
def test_a_calibrated_design_leaves_every_member_equally_likely(design: Design) -> None:
    """In whole numbers: v is in sets of weight l n(v), so P(v | R) = n(v) q(R) / (l n(v)) / sum = 1/l."""
    counts = design.counts
    assert counts is not None
    assert design.sets.shape[1] == design.l
    assert (np.diff(design.sets, axis=1) > 0).all()
    totals = np.zeros(design.m, np.int64)
    np.add.at(totals, design.sets.ravel(), np.repeat(design.weights, design.l))
    assert (totals == ORDERS * design.l * counts).all()
    for members, weight in zip(design.sets.tolist(), design.weights.tolist(), strict=True):
        joint = [Fraction(int(counts[v]) * weight, design.l * int(counts[v])) for v in members]
        assert all(part / sum(joint) == Fraction(1, design.l) for part in joint)


@given(designs(), st.integers(0, 2**32))
@settings(deadline=None, max_examples=tries(50))
def test_scores_are_unbiased_and_squares_are_their_second_moment(design: Design, seed: int) -> None:
    """Against the sum over every set that can be drawn."""
    rng = np.random.default_rng(seed)
    wanted = rng.random(design.m)
    for either in (design, Design(design.values, design.l)):
        if np.linalg.cond(either.membership) > 1e6:
            continue
        scores = either.scores(wanted)
        for v in range(either.m):
            sets, chances = every_set(either, v)
            sums = scores[sets].sum(axis=1)
            assert chances.sum() == pytest.approx(1)
            assert chances @ sums == pytest.approx(wanted[v])
            assert chances @ sums**2 == pytest.approx(either.squares(scores)[v])


def every_set(design: Design, v: int) -> tuple[np.ndarray, np.ndarray]:
    if design.counts is None:
        sets = np.array([(v, *rest) for rest in combinations([u for u in range(design.m) if u != v], design.l - 1)])
        return sets, np.full(len(sets), 1 / len(sets))
    with_value = (design.sets == v).any(axis=1)
    return design.sets[with_value], design.weights[with_value] / (ORDERS * design.l * design.counts[v])


@given(st.lists(st.integers(1, 5_000), min_size=3, max_size=12), st.integers(2, 6), st.integers(0, 2**32))
@settings(deadline=None)
def test_blurred_counts_stay_near_and_eligible(counts: list[int], l: int, seed: int) -> None:
    """Off by half a step of 2 √n, but for what a whole number and 1/l need."""
    true = np.array(counts)
    if true.max() * l > true.sum():
        return
    near = blurred(true, np.random.default_rng(seed).random(true.size), l)
    assert (near >= 1).all()
    assert near.max() * l <= near.sum()
    off = 2 * np.sqrt(near) - 2 * np.sqrt(true)
    assert (off <= 0.5 + 1 / np.sqrt(true)).all()
    free = near * l < near.sum() - l  # those that 1/l did not cut
    assert (off[free] >= -0.5 - 1 / np.sqrt(true[free])).all()


@st.composite
def rounded(draw: st.DrawFn) -> tuple[np.ndarray, int, np.ndarray]:
    """Counts, l and starts; often the commonest value is as common as it may be, so that its weight is cut."""
    size = draw(st.sampled_from([3, 10, 60, 4_000]))
    counts = draw(st.lists(st.integers(1, size), min_size=3, max_size=8))
    l = draw(st.integers(2, len(counts) - 1))
    if draw(st.booleans()):
        counts[0] = max(1, sum(counts[1:]) // (l - 1) - draw(st.integers(0, 1)))
    starts = st.sampled_from([0.0, 0.5, 1 - 1e-12]) | st.floats(0, 1, exclude_max=True)
    return np.array(counts), l, np.array([draw(starts) for _ in counts])


@given(rounded())
@settings(deadline=None, max_examples=tries(600))
def test_the_true_shares_never_exceed_the_bound(example: tuple[np.ndarray, int, np.ndarray]) -> None:
    """Whatever the counts and starts; and the audit's own arithmetic gives the same bound."""
    counts, l, starts = example
    assume(counts.max() * l <= counts.sum())
    weights = blurred(counts, starts, l)
    low, high = possible_counts(weights, l)
    assert (low <= counts).all()
    assert (counts <= high).all()
    design = Design(tuple(f"v{i}" for i in range(counts.size)), l, weights)
    assert posteriors(design.sets, counts, design.weight).max() <= design.bound + 1e-12
    judged = DrawnSets.stated(Drawn.model_validate(design.to_dict()), l)
    assert largest_posterior(judged) == pytest.approx(design.largest.max(), abs=1e-12)
    assert -1e-12 <= design.bound - design.largest.max() < 1e-3 * design.bound


@pytest.mark.parametrize("weight", [1, 2, 3, 4, 5, 8, 11, 30, 100])
def test_the_range_of_counts_is_exact(weight: int) -> None:
    """Every count that some start makes this weight of, by trying all; beside larger ones, so that none is cut."""
    beside = [10 * weight + 100] * 4
    starts = np.linspace(0, 1, 2_001)[:-1]
    made = [
        count
        for count in range(1, 2 * weight + 5)
        if any(blurred(np.array([count, *beside]), np.array([s, 0, 0, 0, 0]), 2)[0] == weight for s in starts)
    ]
    low, high = possible_counts(np.array([weight, *beside]), 2)
    assert (low[0], high[0]) == (made[0], made[-1]) == (fewest_rows(weight), most_rows(weight))


def test_blurred_counts_do_not_tell_the_counts() -> None:
    """Over secret starts a published weight fits about as many counts as its square root, evenly."""
    starts = np.random.default_rng(1).random(4_000)
    near = np.array([blurred(np.array([400, 900, 900]), np.array([start, 0.5, 0.5]), 2)[0] for start in starts])
    assert 0.98 * 400 <= near.mean() <= 1.02 * 400
    assert np.unique(near).size >= 18
    assert np.bincount(near).max() < 0.12 * near.size


def drawn(design: Design, codes: np.ndarray, key: int = 0) -> np.ndarray:
    words = np.random.default_rng(key).integers(0, 2**64, codes.size, dtype=np.uint64)
    return drawn_sets(design, codes, words, (np.uint64(3), np.uint64(key)))


@given(designs(), st.booleans())
@settings(deadline=None, max_examples=tries(40))
def test_drawn_sets_hold_the_value_and_follow_the_design(design: Design, uniform: bool) -> None:
    if uniform:
        design = Design(design.values, design.l)
    v = design.m // 2
    codes = np.full(20_000, v, np.int32)
    sets = drawn(design, codes)
    assert (sets == v).any(axis=1).all()
    assert (np.diff(sets, axis=1) > 0).all()
    every, chances = every_set(design, v)
    chance = {tuple(sorted(members)): p for members, p in zip(every.tolist(), chances, strict=True)}
    shown, counts = different(sets, design.m)
    assert {tuple(members) for members in shown.tolist()} <= set(chance)
    expected = np.array([chance[tuple(members)] for members in shown.tolist()]) * codes.size
    assert (np.abs(counts - expected) <= 6 * np.sqrt(expected) + 6).all()


@pytest.mark.parametrize("m", [6, 20, 50])
@pytest.mark.parametrize("l", [2, 3, 5])
@pytest.mark.parametrize("skew", ["uniform", "zipf"])
@pytest.mark.parametrize("uniform", [True, False], ids=["uniform", "calibrated"])
def test_estimates_are_unbiased_and_intervals_cover(m: int, l: int, skew: str, uniform: bool) -> None:
    """The mean is within 3 standard errors; 95 % intervals, from the variance that is estimated, cover 94 to 96 %."""
    n, runs = 3_000, 400
    weights = np.ones(m) if skew == "uniform" else 1 / (np.arange(m) + 2.0) ** 0.7
    counts = np.maximum(1, (n * weights / weights.sum()).astype(np.int64))
    n = int(counts.sum())
    l = l if uniform else min(l, n // int(counts.max()))  # the largest that the counts allow
    design = Design(tuple(f"v{i:02}" for i in range(m)), l, None if uniform else counts)
    codes = np.repeat(np.arange(m, dtype=np.int32), counts)
    estimates = np.array([design.shares(drawn(design, codes, key)) * n for key in range(runs)])
    spread = np.array([design.squares(design.scores(unit)) - unit**2 for unit in np.eye(m)])  # [value, true value]
    variance = spread @ counts
    off = np.abs(estimates.mean(axis=0) - counts) / np.sqrt(variance / runs)
    assert (off < 3).sum() >= m - 1  # one of up to 50 may be beyond by chance
    assert (off < 4.5).all()
    if uniform:
        assert variance == pytest.approx((n - counts) * (l - 1) / (m - l))
    assert (estimates.var(axis=0, ddof=1) / variance).mean() == pytest.approx(1, abs=0.1)
    estimated = np.maximum(0.0, estimates @ spread.T)  # as counting does it
    covered = np.abs(estimates - counts) <= 1.959964 * np.sqrt(estimated)
    assert 0.94 <= covered.mean() <= 0.96


def test_the_likeliest_shares_are_those_of_brute_force() -> None:
    sets = np.array([[0, 1], [0, 2], [1, 2], [0, 1]], np.int32)
    shares = likeliest(sets, np.ones(3), np.full(3, 1 / 3))
    grid = [(a, b, 100 - a - b) for a in range(101) for b in range(101 - a)]

    def loglike(p: np.ndarray) -> float:
        return float(np.log(np.maximum(1e-300, p[sets].sum(axis=1))).sum())

    best = max(loglike(np.array(p) / 100) for p in grid)
    assert loglike(shares) >= best - 1e-6
    assert shares.sum() == pytest.approx(1)


def test_siphash_is_the_published_function() -> None:
    """The reference vectors of its authors."""
    k0, k1 = np.uint64(0x0706050403020100), np.uint64(0x0F0E0D0C0B0A0908)
    assert words_of_texts(k0, k1, np.arange(15, dtype=np.uint8), np.array([15]))[0] == 0xA129CA6149BE45E5
    assert word_of(k0, k1, k0, k1) == 0x3F2ACC7F57C29BDB


ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from("fm"), st.sampled_from("abcd"), st.integers(0, 4)),
    min_size=12, max_size=30,
)  # fmt: skip


def policy(person: bool = False, variant: str = "paper"):
    attributes = {
        "age": {"role": "quasi", "type": "number"},
        "sex": {"role": "quasi"},
        "disease": {"role": "sensitive", "l": 2},
    }
    options = {"claim": "set-size"}
    method = {"method": "randomized-addition", "variant": variant, "options": options}
    return policy_of(attributes, person="who" if person else None, others="drop", **method)


def published(frame: pl.DataFrame, key: Key, **how) -> list:
    release = publish(frame, policy(**how), key=key)
    return sorted((*row[:2], *row[2]) for row in release.tables["microdata"].rows())


@given(ROWS, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=tries(60))
def test_a_row_more_changes_no_other_set(rows: list, random) -> None:
    rows = [*rows, (0, "f", "a", 0), (0, "f", "b", 1), (0, "f", "c", 2)]
    frame = pl.DataFrame(rows, schema=["age", "sex", "disease", "who"], orient="row")
    first = publish(frame, policy(), key=KEY)
    before = published(frame, first.key)
    more = pl.concat([frame, frame[[random.randrange(frame.height)]]])
    after = published(more[random.sample(range(more.height), more.height)], first.key)
    left = list(after)
    for row in before:
        left.remove(row)
    assert len(left) == 1


@given(ROWS)
@settings(deadline=None, max_examples=tries(40))
def test_rows_of_one_person_with_one_secret_have_one_set(rows: list) -> None:
    rows = [*rows, (0, "f", "a", 9), (1, "m", "a", 9), (2, "f", "b", 9), (2, "m", "c", 8)]
    frame = pl.DataFrame(rows, schema=["age", "sex", "disease", "who"], orient="row")
    release = publish(frame, policy(person=True), key=KEY)
    sets = {}
    by_quasi = release.tables["microdata"]
    for age, sex, disease, who in rows:
        cell = by_quasi.filter((pl.col("age") == age) & (pl.col("sex") == sex))["disease"].to_list()
        sets.setdefault((who, disease), []).append({tuple(members) for members in cell if disease in members})
    for several in sets.values():
        assert set.intersection(*several), "no set that all rows of this person and secret could have"


def test_posteriors_under_skew() -> None:
    """A value of 90 % is guessed at 90 % and more under uniform addition."""
    likely = posteriors(np.array([[0, 1]]), np.array([0.9, 0.05, 0.05]), np.ones(3))
    assert likely.max() == pytest.approx(0.9 / 0.95)
