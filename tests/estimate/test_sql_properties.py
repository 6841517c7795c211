"""Sums over the view in SQL are the counts of the estimator, and both read a condition on missing values alike."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.counting import is_true
from pluralis.errors import QueryError
from pluralis.metrics.workloads import expression
from pluralis.publishing.pipeline import publish
from pluralis.release.attributes import attributes_of
from pluralis.release.release import Release
from support.effort import tries
from support.random_conditions import random_condition
from support.sample_tables import KEY, policy_of

ROWS = 60
QUASI: dict[str, dict[str, Any]] = {
    "age": {"role": "quasi", "type": "number"},
    "color": {"role": "quasi"},
    "zip": {"role": "quasi", "hierarchy": {"mask": "right"}},
    "ward": {"role": "plain"},
}
SENSITIVE: dict[str, dict[str, Any]] = {
    "disease": {"role": "sensitive", "l": 2},
    "job": {"role": "sensitive", "l": 2},
    "pay": {"role": "sensitive", "l": 2, "type": "number", "bin": 5},
    "children": {"role": "sensitive", "l": 2, "type": "number"},
}
KNOWN = [["age", "zip"], ["age", "disease"]]
RULES = ["age -> disease : l=2", "zip -> job : l=2"]
KINDS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "bsgi": (["disease", "job"], {"method": "bsgi"}),
    "bsgi, unlinked": (["disease", "job"], {"method": "bsgi", "adversaries": KNOWN}),
    "incognito": (["disease"], {"method": "incognito", "suppress": 0.2}),
    "kaca": (["disease", "pay"], {"method": "kaca", "k": 3}),
    "anatomy": (["disease"], {"method": "anatomy"}),
    "msb": (["disease", "job", "pay"], {"method": "msb"}),
    "msb, unlinked": (["disease", "job"], {"method": "msb", "adversaries": KNOWN}),
    "decomposition": (["disease", "job", "children"], {"method": "decomposition"}),
    "decomposition, two": (["disease", "pay"], {"method": "decomposition"}),
    "decomposition, marginals": (
        ["disease", "job", "pay"],
        {"method": "decomposition", "options": {"sensitive_table": "marginals"}},
    ),
    "decomposition, none": (["disease", "job"], {"method": "decomposition", "options": {"sensitive_table": "none"}}),
    "decomposition, joint": (
        ["disease", "job", "children"],
        {"method": "decomposition", "variant": "paper", "options": {"sensitive_table": "joint"}},
    ),
    "sloms": (["disease", "job", "children"], {"method": "sloms", "k": 2}),
    "sloms, paper": (["disease", "job"], {"method": "sloms", "k": 2, "variant": "paper", "options": {"slices": 2}}),
    "randomized-addition": (["disease"], {"method": "randomized-addition"}),
    "uad": (["disease", "job"], {"method": "uad", "rules": RULES}),
    "gd": (["disease", "job"], {"method": "gd", "rules": RULES}),
    "single-attribute": (["disease", "job"], {"method": "single-attribute"}),
}


def people(seed: int) -> pl.DataFrame:
    rng = random.Random(seed)

    def drawn(values: list[Any]) -> list[Any]:
        return [None if rng.random() < 0.15 else rng.choice(values) for _ in range(ROWS)]

    def dealt(values: list[Any]) -> list[Any]:
        return rng.sample([values[i % len(values)] for i in range(ROWS)], ROWS)

    return pl.DataFrame(
        {
            "age": pl.Series(drawn([20, 21, 22, 25, 28]), dtype=pl.Int64),
            "color": pl.Series(drawn(["red", "blue", "green", "white"])),
            "zip": pl.Series(drawn(["10075", "10076", "10100", "20400", "21000"])),
            "ward": pl.Series(drawn(["a", "b"])),
            "disease": pl.Series(dealt(["flu", "hiv", "gout", "asthma", "flu", "cough"])),
            "job": pl.Series(dealt(["cook", "nurse", "clerk", "cook", "baker"])),
            "pay": pl.Series(dealt([1, 7, 17, 4, 12])),
            "children": pl.Series(dealt([0, 1, 2, 3])),
        }
    )


@cache
def released(kind: str, seed: int) -> Release:
    sensitive, more = KINDS[kind]
    roles = {name: {**QUASI, **SENSITIVE}[name] for name in (*QUASI, *sensitive)}
    return publish(people(seed), policy_of(roles, others="drop", **more), key=KEY, attacks=False)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=tries(15))
@given(seed=st.integers(0, 2**32), table=st.integers(0, 2))
def test_a_sum_over_the_view_is_the_count(kind: str, seed: int, table: int) -> None:
    """Whatever is asked, and whatever other attributes the view has."""
    rng = random.Random(seed)
    release = released(kind, table)
    for _ in range(4):
        asked = random_condition(release, rng, labels=False)
        if len(asked.attributes) > 3:
            continue
        estimate = release.count(asked)
        others = [name for name in attributes_of(release) if name not in asked.attributes]
        for more in ([], rng.sample(others, 1)):
            try:
                database = release.to_duckdb(*asked.attributes, *more)
            except QueryError:
                if release.kind not in ("decomposed", "multi"):
                    raise
                continue
            with database:
                total = database.execute("SELECT sum(count) FROM expected").fetchone()
                summed = database.execute(f"SELECT coalesce(sum(count), 0) FROM expected WHERE {asked}").fetchone()
            assert total is not None
            assert summed is not None
            assert total[0] == pytest.approx(release.manifest.rows, abs=1e-6)
            assert summed[0] == pytest.approx(estimate.value, abs=1e-6), f"{kind}: {asked}; view with {more}"


@settings(max_examples=tries(50))
@given(seed=st.integers(0, 2**32))
def test_conditions_on_the_original_are_those_of_sql(seed: int) -> None:
    """The estimators' oracle, what `measure` counts in the original, and DuckDB agree on every condition."""
    rng = random.Random(seed)
    original = people(seed % 5)
    release = released("anatomy", 0)
    for _ in range(5):
        asked = random_condition(release, rng, 3, labels=False)
        with duckdb.connect() as database:
            database.register("original", original.to_arrow())
            row = database.execute(f"SELECT count(*) FROM original WHERE {asked}").fetchone()
        assert row is not None
        assert original.select(expression(asked)).to_series().sum() == row[0]
        assert sum(is_true(asked, person) for person in original.to_dicts()) == row[0]


def test_a_missing_value_passes_neither_a_comparison_nor_its_opposite() -> None:
    release = released("anatomy", 0)
    asked = {text: release.count(text).value for text in (
        "ward = 'a'", "ward != 'a'", "ward NOT IN ('a')", "NOT ward = 'a'", "NOT (ward IN ('a') AND ward IS NOT NULL)",
        "ward IS NULL", "NOT ward IS NULL", "ward = 'a' OR NOT ward = 'a'", "NOT (ward = 'a' AND NOT ward = 'a')",
    )}  # fmt: skip
    column = people(0)["ward"]
    missing, a, b = column.null_count(), int((column == "a").sum()), int((column == "b").sum())
    assert missing > 0
    assert list(asked.values()) == [a, b, b, b, b + missing, missing, a + b, a + b, a + b]
