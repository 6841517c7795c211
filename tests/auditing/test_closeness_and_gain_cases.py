"""Bounds beside l on tables of a few rows, against their definitions; and how long many of them take."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluralis.auditing import audit
from pluralis.auditing.closeness_and_gain import BoundedValues, closeness, gain, value_share
from pluralis.auditing.diversity_models import CountedValues
from pluralis.auditing.judging import SensitiveValues, judge_together
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.release.manifest import Claim
from support.forged_folders import forged, refused, reworded
from support.manifests import columns, manifest
from support.sample_tables import KEY

ORDER = ["2", "1", "3", "30"]
GROUPS = st.lists(st.lists(st.sampled_from(ORDER), min_size=1, max_size=5), min_size=1, max_size=4)


def rows_of(groups: list[list[str]]) -> pl.DataFrame:
    pairs = [(number, value) for number, values in enumerate(groups, 1) for value in values]
    return pl.DataFrame(pairs, {"group": pl.Int64, "ill": pl.String}, orient="row")


def shares(values: list[str]) -> dict[str, Fraction]:
    return {value: Fraction(n, len(values)) for value, n in Counter(values).items()}


@given(GROUPS)
def test_every_bound_is_measured_as_it_is_defined(groups: list[list[str]]) -> None:
    rows = rows_of(groups)
    overall = shares([value for group in groups for value in group])
    order = [value for value in ORDER if value in overall]
    far, apart, most = Fraction(0), Fraction(0), Fraction(0)
    for group in groups:
        own, carried, moved = shares(group), Fraction(0), Fraction(0)
        for value in order:
            carried += own.get(value, Fraction(0)) - overall[value]
            moved += abs(carried)
        far = max(far, moved / max(1, len(order) - 1))
        apart = max(apart, sum((abs(own.get(v, Fraction(0)) - overall[v]) for v in order), Fraction(0)) / 2)
        most = max(most, *(share / overall[value] for value, share in own.items()))
    values = BoundedValues.from_rows(rows, ["group"], "ill", order=ORDER)
    assert closeness(values, 0.5, ordered=True).measured == pytest.approx(float(far))
    assert closeness(values, 0.5, ordered=False).measured == pytest.approx(float(apart))
    assert gain(values, 2.0).measured == pytest.approx(float(most))
    for value in ORDER:
        top = max(shares(group).get(value, Fraction(0)) for group in groups)
        found = value_share(values, value, Fraction(1, 2))
        assert (found.holds, found.measured) == (top <= Fraction(1, 2), pytest.approx(float(top)))


def test_a_class_is_as_far_as_its_order_says_not_its_numbers() -> None:
    rows = rows_of([["1", "1"], ["2", "3"]])
    by_numbers = closeness(BoundedValues.from_rows(rows, ["group"], "ill", order=["1", "2", "3"]), 1.0, ordered=True)
    by_order = closeness(BoundedValues.from_rows(rows, ["group"], "ill", order=["2", "1", "3"]), 1.0, ordered=True)
    assert (by_numbers.measured, by_order.measured) == (0.375, 0.25)


# published and forged ---------------------------------------------------------------------------------------------

SEVERITY = pl.DataFrame({"age": [i % 20 for i in range(40)], "sev": [["low", "mid", "high"][i % 3] for i in range(40)]})
PAY = pl.DataFrame({"age": [i % 20 for i in range(40)], "pay": [i * 7 % 50 for i in range(40)]})


@pytest.mark.parametrize("method", ["mondrian", "incognito", "kaca"])
@pytest.mark.parametrize(
    ("people", "asked"),
    [
        (SEVERITY, {"order": ["low", "mid", "high"]}),
        (PAY, {"type": "number", "breaks": [10, 25]}),
        (PAY, {"type": "number", "bins": {"quantiles": 4}}),
        (PAY, {"type": "number", "bin": 10}),
        (PAY, {"type": "number"}),
    ],
)
def test_closeness_goes_with_everything_that_has_an_order(
    people: pl.DataFrame, asked: dict[str, Any], method: str, tmp_path: Path
) -> None:
    policy = Policy(
        quasi={"age": {"type": "number"}}, sensitive={people.columns[1]: {"t": 0.4, **asked}}, method=method
    )
    release = publish(people, policy, key=KEY)
    assert [claim.model for claim in release.manifest.claims] == ["ordered-closeness"]
    release.save(tmp_path / "release")
    assert audit(tmp_path / "release", people).holds


@pytest.fixture
def codes(tmp_path: Path) -> Path:
    """Codes in an order that is not that of their numbers; every group is within 0.34 of all."""
    people = pl.DataFrame({"age": list(range(12)), "sev": list("213") * 4})
    sensitive = {"sev": {"t": 0.34, "order": ["2", "1", "3"]}}
    release = publish(
        people, Policy(quasi={"age": {"type": "number"}}, sensitive=sensitive, method="mondrian"), key=KEY
    )
    release.save(tmp_path / "release")
    assert audit(tmp_path / "release", people).holds
    return tmp_path / "release"


def test_the_distance_of_codes_is_that_of_their_published_order(codes: Path) -> None:
    rows = pl.read_parquet(codes / "microdata.parquet").sort("group")
    rows = rows.with_columns(sev=pl.Series(["1"] * 4 + ["2", "3"] * 4), group=pl.Series([1] * 4 + [2] * 8))
    rows = rows.with_columns(age=pl.lit("[0, 11]")).sort("group", "age", "sev")

    def closer(manifest: dict[str, Any]) -> None:
        manifest["parameters"]["t"] = {"sev": 0.335}
        manifest["claims"][0]["t"] = 0.335
        reworded(manifest)

    forged(codes, closer, {"microdata.parquet": rows}, domains=False)
    # by 2, 1, 3: all 1 is 1/3 from all; by 1, 2, 3 it would be 1/2
    assert audit(codes).findings[1].measured == pytest.approx(1 / 3)
    assert audit(codes).holds
    forged(codes, lambda m: m["tables"][0]["columns"][1].update(domain=["1", "2", "3"]), domains=False)
    assert "does not hold, measured 0.5" in refused(codes)


# at the bound ---------------------------------------------------------------------------------------------------------


def test_a_bound_that_is_met_exactly_holds_and_one_just_below_does_not() -> None:
    rows = pl.DataFrame({"group": [1] * 5 + [2] * 5, "ill": ["x", "x", *"abc", "x", *"abcd"]})
    values = BoundedValues.from_rows(rows, ["group"], "ill")
    assert value_share(values, "x", Fraction(2, 5))[:3] == (True, 0.4, 0.4)
    assert value_share(values, "x", Fraction(399, 1000))[:2] == (False, 0.4)
    assert gain(values, 2.0)[:2] == (True, 2.0)  # d: one of five beside one of ten
    assert not gain(values, 1.999).holds
    far = closeness(values, 1.0, ordered=False).measured
    assert closeness(values, far, ordered=False).holds
    assert not closeness(values, far * 0.999, ordered=False).holds


def test_the_share_of_a_value_that_nobody_holds_is_nothing() -> None:
    rows = pl.DataFrame({"group": [1, 1, 2], "ill": ["a", "b", "a"]})
    nothing = value_share(BoundedValues.from_rows(rows, ["group"], "ill"), "z", Fraction(1, 9))
    assert nothing[:3] == (True, 0.0, 0.0)
    assert nothing.witness == {"group": 1}


# how long it takes ------------------------------------------------------------------------------------------------


def test_the_distance_of_many_small_groups_takes_no_longer_than_their_rows() -> None:
    n = 120_000
    rows = pl.DataFrame({"group": np.sort(np.arange(n) % (n // 2)), "pay": np.arange(n)})
    start = perf_counter()
    found = closeness(BoundedValues.from_rows(rows, ["group"], "pay"), 0.99, ordered=True)
    assert perf_counter() - start < 10  # every group beside every value would be minutes
    # the first group has the values 0 and 1: half of it lies below all but one of the others, and all of it but two
    far = (sum(abs(0.5 - (i + 1) / n) for i in [0]) + sum(1 - (i + 1) / n for i in range(1, n))) / (n - 1)
    assert found.measured == pytest.approx(far)


def test_claims_about_one_attribute_and_the_same_classes_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[Any] = []
    count_values = CountedValues.from_rows

    def noted(rows: pl.DataFrame, classes: Any, attribute: str, count: str | None = None) -> CountedValues:
        counted.append((tuple(classes), attribute))
        return count_values(rows, classes, attribute, count)

    monkeypatch.setattr(CountedValues, "from_rows", noted)
    rows = pl.DataFrame({"group": [1] * 40, "job": ["x", "y"] * 20, "ill": [f"v{i % 20}" for i in range(40)]})
    described = manifest("generalized", {"microdata": columns(group="group", ill="sensitive")}, rows=40, l={"ill": 2})
    claims = [
        Claim(rule=f"{known}{i}", model="at-most", adversary=known, attribute="ill", value=f"v{i}", at_most="1/5")
        for i in range(20)
        for known in ((), ("job",), ("weather",))
    ]
    asked: list[str] = []

    def values_of(name: str) -> SensitiveValues:
        asked.append(name)
        return SensitiveValues(rows, ["job"])

    findings = judge_together(claims, described, values_of)
    assert [finding.claim for finding in findings] == [claim.rule for claim in claims]
    assert {finding.measured for finding in findings} == {1 / 20, 1 / 10}
    assert sorted(counted) == [(("group",), "ill"), (("group", "job"), "ill")]
    assert asked == ["ill"]
