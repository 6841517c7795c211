"""Judging bucketized releases of a few rows."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pluralis.auditing.judging import D_SA
from pluralis.auditing.kinds.bucketized import compare, judge, problems
from pluralis.errors import ReleaseError
from pluralis.release.manifest import Claim, Manifest
from support.manifests import at_most, columns, manifest

QUASI = columns(age="quasi number exact", group="group")
JOINT = columns(group="group", ill="sensitive", job="sensitive", count="count")
ALONE = columns(group="group", ill="sensitive", count="count")
LISTS = columns(group="group", attribute="attribute", value="value", count="count")
TABLES = {
    "quasi": pl.DataFrame({"age": [1, 2, 3, 4], "group": [1, 1, 2, 2]}),
    "sensitive": pl.DataFrame({"group": [1, 1, 2, 2], "ill": list("abab"), "job": list("xyxx"), "count": [1, 1, 1, 1]}),
}


def manifest_of(*claims: Claim, sensitive: Any = JOINT, rows: int = 4) -> Manifest:
    described = {"quasi": QUASI, "sensitive": sensitive}
    return manifest("bucketized", described, rows=rows, claims=claims, l={"ill": 2, "job": 2})


def test_tables_as_they_should_be_have_no_problem() -> None:
    assert list(problems(manifest_of(), TABLES)) == []


def test_each_problem_is_named() -> None:
    assert list(problems(manifest_of(rows=5), TABLES)) == ["the manifest says 5 rows, quasi has 4."]
    assert list(problems(manifest_of(), {"quasi": TABLES["quasi"]})) == [
        "a bucketized release has the tables quasi, sensitive, not quasi."
    ]
    moved = TABLES | {"quasi": TABLES["quasi"].with_columns(group=pl.Series([1, 2, 2, 2]))}
    assert list(problems(manifest_of(), moved)) == ["sensitive: its counts are not the numbers of rows of the groups."]
    nowhere = TABLES | {"quasi": TABLES["quasi"].with_columns(group=pl.Series([1, 1, 2, None]))}
    assert "quasi: some rows have no group." in list(problems(manifest_of(), nowhere))


def test_claims_are_measured_in_groups_among_those_who_match() -> None:
    claims = [at_most("ill", 2, "age"), at_most("job", 2, "age"), at_most("ill", 2, "age", "job")]
    findings = judge(manifest_of(*claims), TABLES)
    assert [(one.holds, one.measured, one.witness) for one in findings[:3]] == [
        (True, 0.5, "group 1"),
        (False, 1.0, "group 2"),
        (False, 1.0, "group 1, job = x"),
    ]


@pytest.mark.parametrize(("ill", "job", "share"), [("abab", "xyxx", 0.0), ("aabb", "xyxy", 1.0)])
def test_how_many_groups_keep_a_secret_from_who_knows_the_others_is_told(ill: str, job: str, share: float) -> None:
    """Everything in one group of four: all combinations, or some only. It binds nobody."""
    rows = TABLES["sensitive"].with_columns(group=pl.lit(1), ill=pl.Series(list(ill)), job=pl.Series(list(job)))
    (finding,) = judge(manifest_of(), TABLES | {"sensitive": rows})
    assert (finding.claim, finding.measured, finding.promised, finding.binding) == (D_SA, share, 1.0, False)
    assert finding.holds == (share == 1.0)
    assert judge(manifest_of(sensitive=ALONE), TABLES | {"sensitive": rows.drop("job")}) == []


def test_values_in_lists_of_their_own_tell_nothing_of_each_other() -> None:
    rows = [(1, "ill", "a", 1), (1, "ill", "b", 1), (1, "job", "x", 2)]
    lists = pl.DataFrame(rows, schema=["group", "attribute", "value", "count"], orient="row")
    claims = [at_most("ill", 2, "age", "job"), at_most("job", 2, "age")]
    ill, job = judge(manifest_of(*claims, sensitive=LISTS), TABLES | {"sensitive": lists})
    assert (ill.holds, job.holds) == (True, False)


def test_a_claim_about_what_is_not_there_is_refused() -> None:
    nobody = Claim(rule="r", model="frequency", adversary=(), l=2)
    for claim in (at_most("pay", 2), nobody):
        with pytest.raises(ReleaseError, match="can make"):
            judge(manifest_of(claim), TABLES)


def test_the_original_is_compared_table_by_table_and_group_by_group() -> None:
    original = pl.DataFrame({"age": [1, 2, 3, 4], "ill": list("abab"), "job": list("xyxx")})
    assert [one.holds for one in compare(manifest_of(), TABLES, original)] == [True] * 4
    other = original.with_columns(age=pl.Series([1, 3, 2, 4]))
    findings = compare(manifest_of(), TABLES, other)
    assert [one.holds for one in findings] == [True, True, True, False]
    assert findings[-1].witness is not None
