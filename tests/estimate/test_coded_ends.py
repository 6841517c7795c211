"""Queries of numbers that were cut off: only what the release can tell apart is answered, and then rightly."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest

from pluralis.errors import QueryError
from pluralis.estimate.analyst_release import AnalystRelease
from pluralis.estimate.conditions import col
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key

AGES = pl.Series([10 + i % 100 for i in range(400)])
TABLE = pl.DataFrame({"age": AGES, "disease": ["flu", "hiv", "gout", "mumps"] * 100})


@cache
def release() -> AnalystRelease:
    policy = Policy(
        quasi={"age": {"type": "number", "top": 90, "bottom": 18}}, sensitive={"disease": 2}, method="anatomy"
    )
    return publish(TABLE, policy, key=Key.test(), attacks=False)


@pytest.mark.parametrize(
    ("query", "true"),
    [("age >= 90", AGES >= 90), ("age < 90", AGES < 90), ("age <= 18", AGES <= 18), ("age > 18", AGES > 18),
     ("age BETWEEN 19 AND 89", AGES.is_between(19, 89)), ("NOT age >= 90", AGES < 90), ("age = 90", AGES >= 90),
     ("age IN (18, 30)", (AGES <= 18) | (AGES == 30)), ("age > 60", AGES > 60)],
)  # fmt: skip
def test_what_can_be_told_apart_is_answered(query: str, true: pl.Series) -> None:
    assert release().count(query).value == true.sum()


ABOVE = ["age > 90", "age > 95", "age >= 91", "age <= 90", "age = 95", "age != 91", "age IN (30, 99)", "NOT age > 90",
         "age BETWEEN 30 AND 90", "age BETWEEN 95 AND 99"]  # fmt: skip


@pytest.mark.parametrize("query", ABOVE)
def test_what_lies_above_is_refused_with_what_can_be_asked(query: str) -> None:
    with pytest.raises(QueryError, match=r"published as 90, which means 90 or more. Ask 'age' >= 90"):
        release().count(query)


@pytest.mark.parametrize("query", ["age < 18", "age <= 17", "age >= 18", "age = 5", "age BETWEEN 18 AND 30"])
def test_what_lies_below_is_refused_with_what_can_be_asked(query: str) -> None:
    with pytest.raises(QueryError, match=r"published as 18, which means 18 or less. Ask 'age' <= 18"):
        release().count(query)


def test_conditions_from_python_are_refused_alike() -> None:
    with pytest.raises(QueryError, match="90 or more"):
        release().count(col("age") > 95)


def test_numbers_under_names_answer_ranges(tmp_path) -> None:
    lines = (f"{age}.0;{'young' if age < 40 else 'old'};*\n" for age in range(1, 120))
    (tmp_path / "age.csv").write_text("".join(lines))
    tree = {"type": "number", "hierarchy": {"file": "age.csv"}}
    for method in ("bsgi", "mondrian", "incognito", "anatomy"):
        policy = Policy(quasi={"age": tree}, sensitive={"disease": 2}, method=method, folder=tmp_path)
        named = publish(TABLE, policy, key=Key.test(), attacks=False)
        for query, true in (("age > 60", AGES > 60), ("age BETWEEN 20 AND 45", AGES.is_between(20, 45)),
                            ("age != 50", AGES != 50), ("age IN (30, 31)", AGES.is_in([30, 31]))):  # fmt: skip
            estimate = named.count(query)
            exact = estimate.basis == "exact"
            assert estimate.value == true.sum() if exact else abs(estimate.value - true.sum()) < 40
        assert named.count("age < 0").value == 0
        with pytest.raises(QueryError, match="the wrong way round"):
            named.count(col("age").between(40, 30))
