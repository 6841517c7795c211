"""What the audit says of releases in several tables is what enumeration of every possible world says."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracles.worlds_of_bucketized import highest_posterior
from pluralis.auditing import audit
from pluralis.errors import Infeasible
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.release.release import Release
from pluralis.table.labels import ALL, read_interval, read_set
from support.effort import tries
from support.sample_tables import policy_of

KNOWS_THE_FIRST = [["age", "sex", "s0"]]


def covers(row: Any, person: Any) -> bool:
    if isinstance(row["age"], int):
        return row["age"] == person["age"] and row["sex"] == person["sex"]
    low, high = (0, 99) if row["age"] == ALL else read_interval(row["age"])
    return low <= person["age"] <= high and (row["sex"] == ALL or person["sex"] in read_set(row["sex"]))


def tiny(draw: Any, secrets: int, most: int) -> pl.DataFrame:
    rows = draw(st.integers(4, most))
    columns: dict[str, Any] = {
        "age": draw(st.lists(st.integers(20, 24), min_size=rows, max_size=rows)),
        "sex": draw(st.lists(st.sampled_from("fm"), min_size=rows, max_size=rows)),
    }
    for i in range(secrets):
        columns[f"s{i}"] = draw(st.permutations("abcabc"[:rows]))  # even enough that a release exists more often
    return pl.DataFrame(columns)


def released(table: pl.DataFrame, method: str, secrets: int, **more: Any) -> Release:
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "sex": {"role": "quasi"}}
    attributes |= {f"s{i}": {"role": "sensitive", "l": 2} for i in range(secrets)}
    try:
        return publish(table, policy_of(attributes, method=method, **more), key=Key.test())
    except Infeasible:
        assume(False)
        raise AssertionError from None


def measured(release: Release, rule: str) -> float:
    finding = next(f for f in audit(release, allow_test=True).findings if f.claim.startswith(rule))
    assert finding.measured is not None
    return finding.measured


@pytest.mark.parametrize("method", ["anatomy", "msb"])
@settings(max_examples=tries(40))
@given(data=st.data())
def test_whoever_finds_a_row_learns_no_more_than_the_audit_says(method: str, data: Any) -> None:
    table = tiny(data.draw, 1, 6)
    release = released(table, method, 1)
    people = list(table.iter_rows(named=True))
    posterior = highest_posterior(people, release, covers, "s0", [])
    audited = measured(release, "P(s0 | age, sex)")
    assert posterior <= audited + 1e-12
    assert posterior <= 1 / 2 + 1e-12
    if table.select("age", "sex").n_unique() == table.height:
        assert posterior == pytest.approx(audited)


@pytest.mark.parametrize(("method", "more"), [("msb", {}), ("sloms", {"k": 2, "options": {"slices": [["s0", "s1"]]}})])
@pytest.mark.parametrize("variant", ["paper", "hardened"])
@settings(max_examples=tries(25))
@given(data=st.data())
def test_knowing_one_secret_gives_what_the_audit_says(method: str, more: Any, variant: str, data: Any) -> None:
    """S2: linked values give away more, which the audit measures; the default does not publish them side by side."""
    table = tiny(data.draw, 2, 5)
    release = released(table, method, 2, adversaries=KNOWS_THE_FIRST, variant=variant, **more)
    assume(not any(table.null_count().sum_horizontal()[0] for table in release.tables.values()))
    posterior = highest_posterior(list(table.iter_rows(named=True)), release, covers, "s1", ["s0"])
    audited = measured(release, "P(s1 | age, s0, sex)")
    assert posterior <= audited + 1e-12
    if variant == "hardened":
        assert posterior <= 1 / 2 + 1e-12
        assert audit(release, allow_test=True).holds


@settings(max_examples=tries(25))
@given(data=st.data())
def test_a_secret_of_another_slice_gives_nothing(data: Any) -> None:
    table = tiny(data.draw, 2, 5)
    more: Any = {"k": 2, "options": {"slices": [["s0"], ["s1"]]}}
    release = released(table, "sloms", 2, adversaries=KNOWS_THE_FIRST, **more)
    posterior = highest_posterior(list(table.iter_rows(named=True)), release, covers, "s1", ["s0"])
    assert posterior <= measured(release, "P(s1 | age, s0, sex)") + 1e-12
    assert posterior <= 1 / 2 + 1e-12
