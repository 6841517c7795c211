"""msb and kaca find, through their trees, exactly what the literal scans of oracles/msb_kaca_and_sloms find."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.msb_kaca_and_sloms import Kaca, Msb
from pluralis.errors import Infeasible
from pluralis.grouping.bucketizing import bucketized, sensitive_values
from pluralis.grouping.plan import SUPPRESSED
from pluralis.kernels import kaca as kernel
from pluralis.kernels.kaca import LEAF
from pluralis.kernels.points import BITS
from pluralis.method import kaca as method
from pluralis.method import method_for
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Draw, Key
from pluralis.table.encoding import Table, encode
from support.sample_tables import policy_of


def groups_of(group_of: np.ndarray, rows: Any) -> set[frozenset[int]]:
    members: dict[int, set[int]] = {}
    for row, group in zip(rows, group_of.tolist(), strict=True):
        if group != SUPPRESSED:
            members.setdefault(group, set()).add(int(row))
    return {frozenset(group) for group in members.values()}


@st.composite
def sensitive_tables(draw: Any) -> tuple[Table, list[int]]:
    rows, attributes = draw(st.integers(4, 24)), draw(st.integers(1, 3))
    columns: dict[str, Any] = {"age": draw(st.lists(st.integers(0, 5), min_size=rows, max_size=rows))}
    ls = draw(st.lists(st.integers(2, 4), min_size=attributes, max_size=attributes))
    for i in range(attributes):
        columns[f"s{i}"] = draw(st.lists(st.sampled_from("abcdefg"), min_size=rows, max_size=rows))
    policy = policy_of(
        {
            "age": {"role": "quasi", "type": "number"},
            **{f"s{i}": {"role": "sensitive", "l": l} for i, l in enumerate(ls)},
        }
    )
    return encode(pl.DataFrame(columns), policy), ls


@settings(max_examples=150)
@given(
    made=sensitive_tables(),
    priority=st.sampled_from(["mbf", "msdcf", "mmdcf"]),
    once=st.booleans(),
    seed=st.integers(0, 99),
)
def test_msb_is_what_a_scan_finds(made: tuple[Table, list[int]], priority: str, once: bool, seed: int) -> None:
    table, ls = made
    order = Draw(Key(bytes([seed] * 32))).permutation(table.rows, "rows")
    sensitive = sensitive_values(table.sensitive, order, None, ls, once=once)
    group_of = bucketized(sensitive, priority)
    groups, left = Msb(table.sensitive, ls, order.tolist(), priority, exact=once, size=sensitive.size).run()
    assert groups_of(group_of, order) == {frozenset(group) for group in groups}
    assert sorted(order[group_of == SUPPRESSED].tolist()) == sorted(left)
    for group in groups:
        for column, l in zip(table.sensitive, ls, strict=True):
            assert np.bincount(column.codes[group]).max() * l <= len(group)


@st.composite
def quasi_tables(draw: Any) -> tuple[Table, Policy]:
    rows, k = draw(st.integers(4, 20)), draw(st.integers(2, 4))
    columns = {
        "age": draw(st.lists(st.integers(0, 40), min_size=rows, max_size=rows)),
        "sex": draw(st.lists(st.sampled_from("fmx"), min_size=rows, max_size=rows)),
        "zipcode": draw(st.lists(st.sampled_from(["100", "101", "110", "210", "211"]), min_size=rows, max_size=rows)),
    }
    attributes: dict[str, Any] = {
        "age": {"role": "quasi", "type": "number"},
        "sex": {"role": "quasi", "weight": draw(st.sampled_from([1, 3]))},
        "zipcode": {"role": "quasi", "hierarchy": {"mask": "right"}},
    }
    policy = policy_of(attributes, k=k, method="kaca")
    return encode(pl.DataFrame(columns), policy), policy


@pytest.mark.parametrize(("leaf", "bits"), [(LEAF, BITS), (2, 7)])
@settings(max_examples=150)
@given(made=quasi_tables(), seed=st.integers(0, 99))
def test_kaca_is_what_a_scan_finds(leaf: int, bits: int, made: tuple[Table, Policy], seed: int) -> None:
    """With small leaves and words few rows have a tree of several nodes, and points of several words."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "LEAF", leaf)
        patch.setattr(method, "BITS", bits)
        assert_scanned(*made, Draw(Key(bytes([seed] * 32))))


def test_kaca_climbs_a_tree_of_more_levels_than_a_byte_counts() -> None:
    codes = ["x" * same + "y" * (130 - same) for same in (0, 1, 2, 63, 64, 65, 127, 128, 129, 130)]
    policy = policy_of({"code": {"role": "quasi", "hierarchy": {"mask": "right"}}}, k=3, method="kaca")
    assert_scanned(encode(pl.DataFrame({"code": codes}), policy), policy, Draw(Key.test()))


def assert_scanned(table: Table, policy: Policy, draw: Draw) -> None:
    plan = method_for(policy).plan(table, policy, draw)
    order = draw.permutation(table.rows, "rows").tolist()
    k = policy.k or 0
    expected = Kaca(table.quasi, order, lambda rows: len(rows) >= k).run()
    assert groups_of(plan.group_of, range(table.rows)) == {frozenset(rows) for rows in expected}
    assert plan.sizes().min() >= min(k, table.rows)


@pytest.mark.parametrize("variant", ["paper", "hardened"])
@settings(max_examples=60)
@given(data=st.data())
def test_every_slice_is_diverse_and_holds_the_same_rows(variant: str, data: Any) -> None:
    """The theorem of sloms: published rows are in a group of every slice, groups are diverse, labels have k rows."""
    rows = data.draw(st.integers(8, 30))
    sensitive = {
        f"s{i}": data.draw(st.lists(st.sampled_from("aabcdef"), min_size=rows, max_size=rows)) for i in range(3)
    }
    table = pl.DataFrame({"age": data.draw(st.lists(st.integers(0, 9), min_size=rows, max_size=rows)), **sensitive})
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}}
    attributes |= {name: {"role": "sensitive", "l": 2} for name in sensitive}
    policy = policy_of(attributes, method="sloms", k=2, variant=variant, suppress=0.9)
    try:
        encoded = encode(table, policy)
        plan = method_for(policy).plan(encoded, policy, Draw(Key.test()))
    except Infeasible:
        return
    for slice in plan.slices:
        if variant == "hardened":
            assert ((slice.group_of == SUPPRESSED) == (plan.group_of == SUPPRESSED)).all()
        for group in groups_of(slice.group_of, range(encoded.rows)):
            for name in slice.attributes:
                assert np.bincount(encoded[name].codes[sorted(group)]).max() * 2 <= len(group)
    if variant == "hardened":
        release = publish(table, policy, key=Key.test())
        assert release.tables["quasi"].group_by("age").len()["len"].min() >= 2
