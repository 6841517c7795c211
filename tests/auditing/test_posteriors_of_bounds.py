"""Bounds of values are kept in all worlds of tiny releases, and the audit measures what enumeration of them gives."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from oracles import worlds_of_bucketized, worlds_of_generalized
from pluralis.auditing import audit
from pluralis.errors import Infeasible
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.release.release import Release
from pluralis.table.labels import ALL, read_interval, read_set
from support.effort import tries
from support.sample_tables import policy_of

Belief = dict[Any, float]
FOR_CAPS = ["bsgi", "anatomy", "mondrian", "incognito", "kaca"]
FOR_DISTANCE = ["mondrian", "incognito", "kaca"]


def covers(row: Any, person: Any) -> bool:
    if isinstance(row["age"], int):
        return bool(row["age"] == person["age"] and row["sex"] == person["sex"])
    low, high = (0, 99) if row["age"] == ALL else read_interval(row["age"])
    return low <= person["age"] <= high and (row["sex"] == ALL or person["sex"] in read_set(row["sex"]))


def tiny(data: Any, values: list[Any]) -> pl.DataFrame:
    rows = data.draw(st.integers(3, 6))
    columns = {
        "age": st.integers(20, 29),
        "sex": st.sampled_from("fm"),
        "ill": st.sampled_from(values),
    }
    return pl.DataFrame({n: data.draw(st.lists(one, min_size=rows, max_size=rows)) for n, one in columns.items()})


def published(table: pl.DataFrame, method: str, **asked: Any) -> Release:
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "sex": {"role": "quasi"}}
    policy = {**attributes, "ill": {"role": "sensitive", **asked}}
    release = publish(table, policy_of(policy, method=method), key=Key.test(), attacks=False)
    assert audit(release, table, allow_test=True).holds
    return release


def released(table: pl.DataFrame, method: str, **asked: Any) -> Release:
    """The same of a table that was drawn; one that cannot be published is another draw."""
    assume(set(asked.get("at_most", {})) <= {*table["ill"]})
    try:
        return published(table, method, **asked)
    except Infeasible:
        assume(False)
        raise


def beliefs(release: Release, table: pl.DataFrame) -> list[Belief]:
    """What is believed of each person, by all worlds."""
    people = list(table.iter_rows(named=True))
    if release.manifest.kind == "bucketized":
        tallies = worlds_of_bucketized.tallied(people, release, covers, "ill", [])
    else:
        rows = release.tables["microdata"]
        tallies = worlds_of_generalized.tallied(people, rows, covers, ["ill"], "ill", [], True)
    return worlds_of_generalized.beliefs(people, tallies, [])


def shares(table: pl.DataFrame) -> Belief:
    return {value: many / table.height for value, many in Counter(table["ill"]).items()}


def measured(release: Release, words: str) -> float:
    (finding,) = [one for one in audit(release, allow_test=True).findings if words in one.claim]
    assert finding.measured is not None
    return finding.measured


@pytest.mark.parametrize("method", FOR_CAPS)
@settings(max_examples=tries(40), deadline=None)
@given(data=st.data())
def test_no_world_gives_a_named_value_more_than_its_bound(method: str, data: Any) -> None:
    table = tiny(data, ["a", "b", "c", "c", "c"])
    bounds = {"a": data.draw(st.sampled_from(["1/2", "1/3", "2/3", "2/5"]))}
    bounds |= {"b": "1/2"} if data.draw(st.booleans()) else {}
    release = released(table, method, at_most=bounds, **({"l": 2} if data.draw(st.booleans()) else {}))
    believed = beliefs(release, table)
    for value, bound in bounds.items():
        highest = max(belief.get(value, 0.0) for belief in believed)
        assert highest <= float(Fraction(bound)) + 1e-12
        assert highest <= measured(release, f"P(ill = {value} |") + 1e-12


@pytest.mark.parametrize("method", FOR_CAPS)
@settings(max_examples=tries(40), deadline=None)
@given(data=st.data())
def test_no_world_makes_a_value_more_common_than_its_gain(method: str, data: Any) -> None:
    table = tiny(data, ["a", "b", "c", "c"])
    gain = data.draw(st.sampled_from([1.2, 1.5, 2, 3]))
    release, overall = released(table, method, gain=gain), shares(table)
    highest = max(share / overall[value] for belief in beliefs(release, table) for value, share in belief.items())
    assert highest <= gain + 1e-9
    assert highest <= measured(release, "times the share") + 1e-9


@pytest.mark.parametrize("method", FOR_DISTANCE)
@settings(max_examples=tries(40), deadline=None)
@given(data=st.data())
def test_no_world_takes_a_distribution_farther_than_t(method: str, data: Any) -> None:
    numbers = data.draw(st.booleans())
    table = tiny(data, [10, 20, 50, 60] if numbers else ["a", "b", "c"])
    t = data.draw(st.sampled_from([0.1, 0.25, 0.4, 0.6]))
    release = released(table, method, t=t, **({"type": "number"} if numbers else {}))
    farthest = max(transport(belief, shares(table), ordered=numbers) for belief in beliefs(release, table))
    assert farthest <= t + 1e-7
    assert farthest <= measured(release, "distance of") + 1e-7


def transport(one: Belief, other: Belief, *, ordered: bool) -> float:
    """The earth mover's distance by its definition: the cheapest way to carry one distribution to the other."""
    values = sorted(other)
    apart = [
        [abs(i - j) / max(1, len(values) - 1) if ordered else float(i != j) for j in range(len(values))]
        for i in range(len(values))
    ]
    costs = [cost for line in apart for cost in line]
    leaves = [[float(k // len(values) == i) for k in range(len(costs))] for i in range(len(values))]
    comes = [[float(k % len(values) == i) for k in range(len(costs))] for i in range(len(values))]
    amounts = [one.get(value, 0.0) for value in values] + [other[value] for value in values]
    return float(linprog(costs, A_eq=leaves + comes, b_eq=amounts).fun)


def test_a_group_that_exceeds_a_bound_is_refused() -> None:
    """Rows moved by hand: the audit sees in the tables what the manifest does not say."""
    table = pl.DataFrame({"age": [20, 21, 22, 23, 24, 25], "sex": ["f"] * 6, "ill": ["a", "c", "c", "c", "c", "b"]})
    for asked, worst in (({"at_most": {"a": "1/3"}}, 1.0), ({"gain": 2}, 6.0), ({"t": 0.4}, 5 / 6)):
        release = published(table, "mondrian", **asked)
        rows = release.tables["microdata"].with_columns(pl.Series("group", [1, 2, 2, 2, 2, 2]))
        alone = rows.with_columns(pl.Series("ill", ["a", "b", "c", "c", "c", "c"]), age=pl.lit("*"), sex=pl.lit("f"))
        verdict = audit(Release(release.manifest, {"microdata": alone.select(rows.columns)}), allow_test=True)
        assert not verdict.holds
        assert [round(one.measured or 0, 9) for one in verdict.failures if "ill" in one.claim] == [round(worst, 9)]
