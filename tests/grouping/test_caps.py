"""Caps by pseudo-values: the theorem, the smallest group size, and rows of a value dealt evenly and by the key."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pluralis.engines.memory import plan_of
from pluralis.errors import Infeasible
from pluralis.grouping.caps import caps_of, pseudo_values_of, reduced
from pluralis.grouping.eligibility import most_kept, most_kept_under
from pluralis.grouping.plan import SUPPRESSED
from pluralis.method import method_for
from pluralis.randomness import Draw, Key
from pluralis.table.encoding import Table, encode
from support.effort import tries
from support.sample_tables import policy_of

CAPS = st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(2, 3), Fraction(1, 4), Fraction(3, 10)])


def splits(caps: list[Fraction], counts: list[int], s: int) -> bool:
    """Whether groups of s rows can be made of as many pseudo-values as the caps allow, by the definition."""
    rows = sum(counts)
    parts = [s * cap.numerator // cap.denominator for cap in caps]
    return all(k >= 1 and -(-n // k) * s <= rows for k, n in zip(parts, counts, strict=True) if n)


@settings(max_examples=tries(300))
@given(data=st.data())
def test_the_group_size_is_the_smallest_that_works(data: Any) -> None:
    counts = data.draw(st.lists(st.integers(0, 12), min_size=1, max_size=5))
    caps = [data.draw(CAPS) for _ in counts]
    chosen = pseudo_values_of(caps, np.array(counts))
    working = [s for s in range(1, sum(counts) + 1) if splits(caps, counts, s)]
    keeps = bool(sum(counts)) and all(n <= cap * sum(counts) for n, cap in zip(counts, caps, strict=True))
    assert bool(working) == keeps  # one group of all rows
    assert (chosen[0] if chosen else None) == (working[0] if working else None)


@settings(max_examples=tries(300))
@given(data=st.data())
def test_diverse_pseudo_values_keep_the_caps(data: Any) -> None:
    """The theorem: whatever group has no pseudo-value in more than 1/s of its rows has no value above its cap."""
    rare = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    caps = [Fraction(1), *(data.draw(CAPS) for _ in rare)]
    chosen = pseudo_values_of(caps, np.array([100, *rare]))
    assert chosen is not None
    s, parts = chosen
    owners = [value for value, k in enumerate(parts) for _ in range(k)]
    drawn = data.draw(st.lists(st.integers(2, 6), min_size=len(owners), max_size=len(owners)))
    group = most_kept(np.array(drawn), s).tolist()
    size = sum(group)
    assert max(group) * s <= size
    assume(size)
    total = Counter[int]()
    for value, many in zip(owners, group, strict=True):
        total[value] += many
    assert all(many <= caps[value] * size for value, many in total.items())


@settings(max_examples=tries(200))
@given(counts=st.lists(st.integers(0, 12), min_size=1, max_size=4), data=st.data())
def test_as_many_rows_are_kept_as_caps_allow(counts: list[int], data: Any) -> None:
    caps = [data.draw(CAPS) for _ in counts]
    kept = most_kept_under(np.array(counts), caps).tolist()
    assert all(many <= cap * sum(kept) for many, cap in zip(kept, caps, strict=True))
    for value in range(len(counts)):
        more = [*kept]
        more[value] += 1
        above = [many > cap * sum(more) for many, cap in zip(more, caps, strict=True)]
        assert kept[value] == counts[value] or any(above)


def table_of(values: list[str], seed: int = 0) -> tuple[pl.DataFrame, Any]:
    ages = np.random.default_rng(seed).permutation(len(values)).tolist()
    return pl.DataFrame({"age": ages, "ill": values}), {"age": {"role": "quasi", "type": "number"}}


def encoded(values: list[str], method: str, **asked: Any) -> tuple[Table, Any]:
    frame, attributes = table_of(values)
    policy = policy_of({**attributes, "ill": {"role": "sensitive", **asked}}, method=method)
    return encode(frame, policy), policy


def test_pseudo_values_are_dealt_evenly_and_by_the_key() -> None:
    table, policy = encoded(["No"] * 91 + ["Yes"] * 9, "bsgi", at_most={"Yes": "1/4"})
    dealt = [reduced(table, policy, Draw(Key(bytes([i] * 32)))).table["ill"] for i in range(2)]
    assert dealt[0].counts.tolist() == [23, 23, 23, 22, 9]
    assert not np.array_equal(dealt[0].codes, dealt[1].codes)
    for column in dealt:
        assert np.array_equal(column.codes == 4, table["ill"].codes == 1)


def test_what_asks_for_l_alone_is_left_as_it_is() -> None:
    table, policy = encoded(["a", "b", "c"] * 4, "bsgi", l=2)
    part = reduced(table, policy, Draw(Key.test()))
    assert part.table is table
    assert part.policy is policy


@pytest.mark.parametrize("method", ["bsgi", "anatomy", "mondrian", "incognito", "kaca"])
@settings(max_examples=tries(40), deadline=None)
@given(data=st.data())
def test_every_group_keeps_every_cap(method: str, data: Any) -> None:
    """Whatever is asked together, with rows suppressed and without: counts in the plan's groups, by fractions.

    The suppressed rows keep them, too: who finds no row of a person learns no more than who finds a group.
    """
    values = data.draw(st.lists(st.sampled_from("abccccc"), min_size=6, max_size=40))
    present = sorted(set(values))
    asked: dict[str, Any] = {"at_most": {present[0]: data.draw(st.sampled_from(["1/2", "1/3", "1/4", "2/5"]))}}
    asked |= {"l": 2} if data.draw(st.booleans()) else {}
    asked |= {"gain": data.draw(st.sampled_from([1.5, 2, 4]))} if data.draw(st.booleans()) else {}
    table, policy = encoded(values, method, **asked)
    policy = policy.override(options={"suppress": data.draw(st.sampled_from([0, 0.2]))})
    try:
        group_of = plan_of(method_for(policy), table, policy, Draw(Key.test())).group_of
    except Infeasible:
        assume(False)
    column, kept = table["ill"], group_of != SUPPRESSED
    caps = caps_of(column, policy, np.bincount(column.codes[kept], minlength=column.size))
    for group in range(SUPPRESSED, int(group_of.max()) + 1):
        codes = column.codes[group_of == group]
        assert codes.size or group == SUPPRESSED
        if group == SUPPRESSED:  # there 1/l is not promised: what goes for it are the commonest values
            caps_here = caps_of(column, policy, np.bincount(column.codes[kept], minlength=column.size), 1)
        for code, cap in enumerate(caps_here if group == SUPPRESSED else caps):
            assert int((codes == code).sum()) <= cap * codes.size
