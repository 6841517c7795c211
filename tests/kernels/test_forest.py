"""The forest finds what a scan finds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import bsgi as naive
from pluralis.grouping.points import space_of
from pluralis.kernels.forest import NOBODY, nearest, nearest_few, plant, take
from pluralis.kernels.marks import EVERYTHING
from pluralis.kernels.select import STACK, Rules
from pluralis.kernels.space import add_to_box, bit, empty_box
from pluralis.policy.policy import Policy
from pluralis.table.encoding import Table, encode
from support.strategies import EXAMPLES, seeded


class Wood(NamedTuple):
    """Rows as the forest sees them, numbered in a drawn order, and as the oracle does."""

    table: Table
    order: np.ndarray
    space: Any
    rules: Rules
    random: random.Random

    @classmethod
    def grown(cls, seed: int, rows: int, values: int, codes: int) -> Wood:
        case = seeded(rows, seed, values, codes)
        table, rng = case.table(), np.random.default_rng(seed)
        order = rng.permutation(rows)
        sensitive = np.stack([table["s0"].codes[order], rng.integers(0, 4, rows).astype(np.int32)])
        people = rng.integers(0, rows, rows).astype(np.int32)
        rules = Rules(sensitive, np.array([1, 2]), people, np.full(2, -1))
        return cls(table, order, space_of(table.quasi, order), rules, random.Random(seed))

    def loss(self, rows: list[int]) -> float:
        return naive.loss(self.order[rows], self.table.quasi)

    def may_join(self, members: list[int], row: int) -> bool:
        rules = self.rules
        if any(rules.person[row] == rules.person[other] for other in members):
            return False
        return all(
            sum(rules.sensitive[a, row] == rules.sensitive[a, other] for other in members) < rules.caps[a]
            for a in (0, 1)
        )

    def scan(self, members: list[int], rows: Iterator[int]) -> tuple[float, int]:
        return min(
            ((self.loss([*members, row]), row) for row in rows if self.may_join(members, row)),
            default=(np.inf, NOBODY),
        )

    def group(self) -> tuple[list[int], tuple[Any, ...]]:
        """Some rows of different primary value, and the same as the kernels want it."""
        members: list[int] = []
        for row in self.random.sample(range(self.order.size), self.random.randint(1, min(4, self.order.size))):
            if self.rules.sensitive[0, row] not in self.rules.sensitive[0, members]:
                members.append(row)
        chosen = np.array(members, np.int64)
        box = empty_box(self.space.kinds.size)
        for i, row in enumerate(members):
            add_to_box(self.space, box, chosen, i, row)
        mask = EVERYTHING
        if self.rules.sensitive[0].max() < 64:
            for row in members:
                mask &= ~np.uint64(bit(self.rules.sensitive[0, row]))
        return members, (box, chosen, len(members), mask)


woods = st.builds(
    Wood.grown,
    st.integers(0, 2**32),
    st.integers(3, 160),
    st.sampled_from([3, 8, 70]),
    st.sampled_from([2, 20, 120]),
)


def room() -> tuple[np.ndarray, np.ndarray]:
    return np.empty(STACK, np.int64), np.empty(STACK)


@given(wood=woods)
@settings(EXAMPLES, max_examples=60)
def test_nearest_is_what_a_scan_finds(wood):
    """Over one tree and over a tree for each bucket, while rows are taken away."""
    rows, sensitive = wood.order.size, wood.rules.sensitive[0]
    by_bucket = np.argsort(sensitive, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(sensitive))])
    whole = plant(wood.space, np.arange(rows), np.array([0, rows]), sensitive)
    buckets = plant(wood.space, by_bucket.copy(), starts, sensitive)
    free = set(range(rows))
    while free:
        members, group = wood.group()
        best = nearest(wood.space, whole, 0, group, wood.rules, room(), np.inf, NOBODY)
        assert best == wood.scan(members, iter(free))
        bucket = wood.random.randint(0, sensitive.max())
        best = nearest(wood.space, buckets, bucket, group, wood.rules, room(), np.inf, NOBODY)
        assert best == wood.scan(members, (row for row in free if sensitive[row] == bucket))
        gone = wood.random.sample(sorted(free), min(len(free), max(1, rows // 5)))
        for row in gone:
            take(wood.space, whole, sensitive, row)
            take(wood.space, buckets, sensitive, row)
        free -= set(gone)
    _, group = wood.group()
    assert nearest(wood.space, whole, 0, group, wood.rules, room(), np.inf, NOBODY) == (np.inf, NOBODY)


@given(wood=woods, wanted=st.integers(1, 20))
@settings(EXAMPLES, max_examples=60)
def test_nearest_few_are_what_a_scan_finds(wood, wanted):
    rows = wood.order.size
    forest = plant(wood.space, np.arange(rows), np.array([0, rows]), wood.rules.sensitive[0])
    members, (box, chosen, size, _) = wood.group()
    expected = [wood.loss([*members, row]) for row in range(rows)]
    for limit in (np.inf, float(np.median(expected))):
        nearest_rows, losses = np.empty(wanted, np.int64), np.empty(wanted)
        count = nearest_few(wood.space, forest, 0, (box, chosen, size, limit), nearest_rows, losses, room())
        below = sorted(loss for loss in expected if loss < limit)
        assert losses[:count].tolist() == below[:wanted]
        assert [expected[row] for row in nearest_rows[:count]] == losses[:count].tolist()
        assert len(set(nearest_rows[:count].tolist())) == count


def test_a_tree_is_never_deeper_than_a_search_can_go():
    """Beyond its room a search would write into memory that is not its own."""
    columns, rows = 300, 600
    names = [f"q{j:03}" for j in range(columns)]
    frame = pl.DataFrame({name: ["n"] * j + ["y"] + ["n"] * (rows - j - 1) for j, name in enumerate(names)})
    policy = Policy.from_dict(
        {
            "version": 1,
            "attributes": {**{name: {"role": "quasi"} for name in names}, "s": {"role": "sensitive", "l": 2}},
        }
    )
    table = encode(frame.with_columns(s=pl.Series(["ab"[row % 2] for row in range(rows)])), policy)
    space = space_of(table.quasi, np.arange(rows))
    forest = plant(space, np.arange(rows), np.array([0, rows]), table["s"].codes)
    depth = np.zeros(forest.parent.size, np.int64)
    for node in range(1, depth.size):
        depth[node] = depth[forest.parent[node]] + 1
    assert depth.max() + 1 < STACK
