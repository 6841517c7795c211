"""The theorems of msb, kaca and sloms beyond what a plain scan shows: exchanges, people, trimming, trees, slices."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.msb_kaca_and_sloms import Kaca, Msb
from pluralis.errors import Infeasible
from pluralis.grouping.bucketizing import PRIORITIES, eligible_rows, sensitive_values, settle, settle_slices
from pluralis.grouping.correlation import correlations, in_parts, mean_square_contingency, sliced_by_correlation
from pluralis.grouping.eligibility import most_kept
from pluralis.grouping.hierarchical_distance import climbing, whd
from pluralis.grouping.plan import SUPPRESSED
from pluralis.grouping.requirements import models_of
from pluralis.kernels.models import holds, room_for
from pluralis.method import method_for
from pluralis.method.kaca import merged
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw, Key
from pluralis.table.encoding import Column, encode

DRAW = Draw(Key.test())
TREE = "apple;pome;fruit;*\npear;pome;fruit;*\nplum;stone;fruit;*\nleek;bulb;vegetable;*\nkale;leaf;vegetable;*\n"
QUASI: dict[str, tuple[dict[str, Any], list[Any], Any]] = {
    "number": ({"type": "number"}, [0, 1, 2, 5, 10, 11, 40, 90], pl.Int64),
    "decimal": ({"type": "number"}, [-0.3, 0.1, 0.2, 7.5], pl.Float64),
    "flat": ({}, ["*", *"abcde"], pl.String),
    "tree": ({"hierarchy": {"file": "tree.csv"}}, [line.split(";")[0] for line in TREE.split()], pl.String),
    "mask": ({"hierarchy": {"mask": "right"}}, ["10075", "10076", "10100", "204", "21"], pl.String),
}


def column(name: str, codes: list[int], **more: Any) -> Column:
    values = tuple(f"v{i:02}" for i in range(max(codes, default=0) + 1))
    return Column(name, "sensitive", "text", np.array(codes, np.int32), values, **more)


class DrawnAttributes:
    """Some sensitive columns with their l, people perhaps, and a drawn order."""

    def __init__(self, rng: random.Random, rows: int, most: int = 4) -> None:
        self.columns, self.ls = [], []
        for a in range(rng.randint(1, most)):
            size = rng.randint(2, 8)
            weights = [rng.random() ** rng.choice([0, 1, 3]) for _ in range(size)]
            self.columns.append(column(f"s{a}", rng.choices(range(size), weights, k=rows)))
            self.ls.append(rng.randint(2, 4))
        self.order = np.array(rng.sample(range(rows), rows))
        self.person = np.array([rng.randrange(rows) for _ in range(rows)], np.int32) if rng.random() < 0.4 else None

    def chosen(self, places: list[int]) -> Any:
        return sensitive_values(
            [self.columns[i] for i in places], self.order, self.person, [self.ls[i] for i in places]
        )

    def assert_groups(self, group_of: np.ndarray, places: list[int]) -> None:
        """Diverse in these columns, nobody twice; `group_of` is in drawn order."""
        for group in range(int(group_of.max(initial=SUPPRESSED)) + 1):
            rows = self.order[group_of == group]
            for i in places if rows.size else ():
                assert np.bincount(self.columns[i].codes[rows]).max() * self.ls[i] <= rows.size
            if self.person is not None:
                assert len(set(self.person[rows].tolist())) == rows.size


seeds = st.integers(0, 10**6).map(random.Random)


# msb and what sloms adds ------------------------------------------------------------------------------------------


@settings(max_examples=120)
@given(rng=seeds, rows=st.integers(1, 50), priority=st.sampled_from(PRIORITIES), exchange=st.booleans())
def test_exchanges_are_those_of_the_literal_version(
    rng: random.Random, rows: int, priority: str, exchange: bool
) -> None:
    made = DrawnAttributes(rng, rows)
    sensitive = made.chosen(list(range(len(made.columns))))
    group_of = np.full(rows, SUPPRESSED, np.int64)
    settle(sensitive, group_of, np.arange(rows), priority, exchange)
    people = None if made.person is None else made.person.tolist()
    oracle = Msb(made.columns, made.ls, made.order.tolist(), priority, people, exact=False, size=sensitive.size)
    groups, left = oracle.run(exchange)
    formed = {frozenset(made.order[group_of == g].tolist()) for g in range(int(group_of.max()) + 1)}
    assert formed == {frozenset(group) for group in groups}
    assert sorted(made.order[group_of == SUPPRESSED].tolist()) == sorted(left)
    assert sum(map(len, groups)) + len(left) == rows
    made.assert_groups(group_of, list(range(len(made.columns))))


@settings(max_examples=60)
@given(rng=seeds, rows=st.integers(1, 60), priority=st.sampled_from(PRIORITIES))
def test_slices_agree_on_the_rows_and_stay_so_when_rows_leave(rng: random.Random, rows: int, priority: str) -> None:
    made = DrawnAttributes(rng, rows)
    places = list(range(len(made.columns)))
    cut = rng.randint(1, len(places))
    parts = [part for part in (places[:cut], places[cut:]) if part]
    group_of = [np.full(rows, SUPPRESSED, np.int64) for _ in parts]
    whole, slices = made.chosen(places), [made.chosen(part) for part in parts]
    settle_slices(whole, slices, group_of, priority)
    kept = np.flatnonzero(group_of[0] != SUPPRESSED)
    without = kept[rng.sample(range(kept.size), kept.size // 4)]
    for leaving in (None, without):
        if leaving is not None:
            settle_slices(whole, slices, group_of, priority, without=leaving)
            assert (group_of[0][leaving] == SUPPRESSED).all()
        for slice_groups, part in zip(group_of, parts, strict=True):
            assert ((slice_groups == SUPPRESSED) == (group_of[0] == SUPPRESSED)).all()
            made.assert_groups(slice_groups, part)


@settings(max_examples=100)
@given(rng=seeds, rows=st.integers(1, 60))
def test_trimmed_rows_can_be_diverse_in_every_attribute_at_once(rng: random.Random, rows: int) -> None:
    made = DrawnAttributes(rng, rows)
    kept = made.order[eligible_rows(made.chosen(list(range(len(made.columns)))))]
    for attribute, l in zip(made.columns, made.ls, strict=True):
        counts = np.bincount(attribute.codes[kept], minlength=1)
        assert counts.max() * l <= kept.size
        assert kept.size <= most_kept(attribute.counts, l).sum()


@given(rng=seeds, rows=st.integers(1, 60))
def test_of_one_attribute_as_few_rows_as_possible_are_trimmed(rng: random.Random, rows: int) -> None:
    made = DrawnAttributes(rng, rows, most=1)
    assert eligible_rows(made.chosen([0])).size == most_kept(made.columns[0].counts, made.ls[0]).sum()


@settings(max_examples=60)
@given(rng=seeds, rows=st.integers(2, 40), l=st.integers(2, 4))
def test_two_attributes_that_are_eligible_lose_fewer_rows_than_a_group(rng: random.Random, rows: int, l: int) -> None:
    """Rows are edges between the values of two attributes: as many matchings as the commonest value has rows do."""
    codes = [[rng.randrange(6) for _ in range(rows)] for _ in range(2)]
    if max(max(Counter(values).values()) for values in codes) * l > rows:
        return
    columns = [column(f"s{a}", values) for a, values in enumerate(codes)]
    sensitive = sensitive_values(columns, np.arange(rows), None, [l, l])
    group_of = np.full(rows, SUPPRESSED, np.int64)
    settle(sensitive, group_of, np.arange(rows), "msdcf")
    assert (group_of == SUPPRESSED).sum() < 2 * l


# kaca -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("hierarchies")
    (place / "tree.csv").write_text(TREE, encoding="utf-8")
    return place


def quasi_case(rng: random.Random, rows: int, folder: Path, people: bool) -> tuple[pl.DataFrame, Policy]:
    columns: dict[str, pl.Series] = {}
    attributes: dict[str, Any] = {}
    for i in range(rng.randint(1, 4)):
        options, domain, dtype = QUASI[rng.choice(sorted(QUASI))]
        domain = [*domain, None] if rng.random() < 0.3 else domain
        columns[f"q{i}"] = pl.Series(f"q{i}", [rng.choice(domain) for _ in range(rows)], dtype)
        attributes[f"q{i}"] = {"role": "quasi", "weight": rng.choice([1.0, 0.5, 3.0]), **options}
    if rng.random() < 0.5:
        columns["s"] = pl.Series("s", [rng.choice("klmnop") for _ in range(rows)])
        attributes["s"] = {"role": "sensitive", "l": 2, "model": rng.choice(["frequency", "distinct", "entropy"])}
    if people:
        columns["who"] = pl.Series("who", [rng.randrange(rows) for _ in range(rows)])
    data = {"version": 1, "attributes": attributes, "k": rng.randint(2, 5), "publish": {"suppress": 0.9}}
    policy = Policy.from_dict({**data, **({"person": "who"} if people else {})}, folder=folder)
    return pl.DataFrame(columns), policy


@settings(max_examples=80)
@given(rng=seeds, rows=st.integers(2, 40))
def test_the_nearest_class_is_found_in_every_kind_of_tree(rng: random.Random, rows: int, folder: Path) -> None:
    frame, policy = quasi_case(rng, rows, folder, people=False)
    table = encode(frame, policy)
    order = np.array(rng.sample(range(rows), rows))
    models = models_of(table, policy, order)
    room = room_for(models)
    place = {int(row): i for i, row in enumerate(order)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pluralis.kernels.kaca.LEAF", 4)  # so that few rows have a tree of several nodes
        classes = merged(table.quasi, order, models)
    expected = Kaca(
        table.quasi, order, lambda group: bool(holds(models, room, np.array([place[row] for row in group]), 1))
    ).run()
    assert {frozenset(order[classes == c].tolist()) for c in np.unique(classes)} == set(map(frozenset, expected))


@settings(max_examples=60)
@given(rng=seeds, rows=st.integers(8, 60))
def test_every_class_passes_and_holds_nobody_twice(rng: random.Random, rows: int, folder: Path) -> None:
    frame, policy = quasi_case(rng, rows, folder, people=True)
    table = encode(frame, policy)
    try:
        plan = method_for(policy.override(method="kaca")).plan(table, policy, DRAW)
    except Infeasible:
        return
    models = models_of(table, policy, np.arange(rows))
    assert table.person is not None
    for group in range(plan.groups):
        members = np.flatnonzero(plan.group_of == group)
        assert holds(models, room_for(models), members, 1)
        assert len(set(table.person[members].tolist())) == members.size


# distances and slices ---------------------------------------------------------------------------------------------


def test_the_papers_weighted_hierarchical_distance() -> None:
    assert whd(5, 3, 6) == pytest.approx((1 / 4 + 1 / 3) / (1 / 5 + 1 / 4 + 1 / 3 + 1 / 2 + 1))
    assert round(whd(5, 3, 6), 3) == 0.255


@given(depth=st.integers(2, 12))
def test_climbing_ends_at_one_and_its_last_steps_weigh_most(depth: int) -> None:
    costs = climbing(depth)
    assert costs[0] == 0
    assert costs[-1] == pytest.approx(1)
    assert (np.diff(np.diff(costs)) > 0).all()


@given(rng=seeds, rows=st.integers(1, 40))
def test_phi_squared_is_equation_1(rng: random.Random, rows: int) -> None:
    one = [rng.randrange(4) for _ in range(rows)]
    other = [(value + rng.randrange(3)) % 5 for value in one]
    first, second, both = Counter(one), Counter(other), Counter(zip(one, other, strict=True))
    smaller = min(len(first), len(second)) - 1
    total = sum(
        (both[v, w] / rows - first[v] / rows * second[w] / rows) ** 2 / (first[v] / rows * second[w] / rows)
        for v in first
        for w in second
    )
    expected = total / smaller if smaller else 0.0
    assert mean_square_contingency(np.array(one), np.array(other)) == pytest.approx(expected, abs=1e-12)


def test_attributes_that_go_together_share_a_slice() -> None:
    rng = random.Random(5)
    a = [rng.randrange(5) for _ in range(400)]
    b = [rng.randrange(5) for _ in range(400)]
    columns = [column("a", a), column("a2", a), column("b", b), column("b2", [4 - v for v in b])]
    names = [[attribute.name for attribute in slice] for slice in sliced_by_correlation(columns).slices]
    assert names == [["a", "a2"], ["b", "b2"]]
    assert correlations(columns)[0, 1] == pytest.approx(1)
    for count in (1, 2, 3, 4):
        slices = sliced_by_correlation(columns, count).slices
        assert len(slices) == count
        assert sorted(attribute.name for slice in slices for attribute in slice) == ["a", "a2", "b", "b2"]


def test_numbers_are_cut_into_parts_before_they_are_compared() -> None:
    numbers = Column("pay", "sensitive", "number", np.arange(100, dtype=np.int32), tuple(range(100)))
    assert np.bincount(in_parts(numbers)).tolist() == [10] * 10
