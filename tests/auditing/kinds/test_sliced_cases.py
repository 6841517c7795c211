"""Judging sliced releases of a few rows."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pluralis.auditing.kinds.sliced import compare, judge, problems
from pluralis.errors import ReleaseError
from pluralis.release.manifest import Claim, Manifest
from support.manifests import at_most, columns, manifest

QUASI = columns(age="quasi number", group_1="group", group_2="group")
FIRST = columns(group="group", ill="sensitive", count="count")
SECOND = columns(group="group", job="sensitive", pay="sensitive", count="count")
TABLES = {
    "quasi": pl.DataFrame(
        {"age": ["[1, 2]", "[1, 2]", "[3, 4]", "[3, 4]"], "group_1": [1, 1, 2, 2], "group_2": [1] * 4}
    ),
    "slice_1": pl.DataFrame({"group": [1, 1, 2], "ill": list("aba"), "count": [1, 1, 2]}),
    "slice_2": pl.DataFrame({"group": [1, 1], "job": list("xy"), "pay": list("pq"), "count": [2, 2]}),
}
RULE = "every combination of quasi-identifier labels has at least 2 rows"
K = Claim(rule=RULE, model="k-anonymity", adversary=("age",), k=2)


def manifest_of(*claims: Claim, quasi: Any = QUASI, rows: int = 4) -> Manifest:
    described = {"quasi": quasi, "slice_1": FIRST, "slice_2": SECOND}
    return manifest("sliced", described, rows=rows, claims=claims, l={"ill": 2, "job": 2, "pay": 2})


def test_tables_as_they_should_be_have_no_problem() -> None:
    assert list(problems(manifest_of(), TABLES)) == []


def test_each_problem_is_named() -> None:
    assert list(problems(manifest_of(rows=5), TABLES)) == ["the manifest says 5 rows, quasi has 4."]
    assert list(problems(manifest_of(), {"quasi": TABLES["quasi"]})) == [
        "a sliced release has the tables quasi, slice_1, slice_2, not quasi."
    ]
    for name, rows in (("slice_1", [1, 1, 1]), ("slice_2", [2, 3])):
        wrong = TABLES | {name: TABLES[name].with_columns(count=pl.Series(rows))}
        assert list(problems(manifest_of(), wrong)) == [
            f"{name}: its counts are not the numbers of rows of the groups."
        ]
    assert list(problems(manifest_of(quasi=QUASI[:2]), TABLES | {"quasi": TABLES["quasi"].drop("group_2")})) == [
        "quasi does not have one group column for each slice."
    ]


def test_claims_are_measured_in_the_slice_of_their_attribute() -> None:
    claims = [
        at_most("ill", 2, "age"),
        at_most("job", 2, "age"),
        at_most("job", 2, "age", "pay"),
        at_most("pay", 2, "ill"),
    ]
    everyone, *findings = judge(manifest_of(*claims), TABLES)
    assert (everyone.holds, everyone.measured, everyone.promised) == (True, 0.0, 0.0)
    assert (everyone.witness, everyone.note) == (None, None)
    assert [(one.holds, one.measured, one.witness) for one in findings] == [
        (False, 1.0, "slice_1, group 2"),
        (True, 0.5, "slice_2, group 1"),
        (False, 1.0, "slice_2, group 1, pay = p"),
        (True, 0.5, "slice_2, group 1"),
    ]


def test_rows_without_a_group_in_some_slice_are_protected_by_nothing() -> None:
    quasi = TABLES["quasi"].with_columns(group_1=pl.Series([1, 1, 2, None]), group_2=pl.Series([1, None, None, 1]))
    (everyone,) = judge(manifest_of(), TABLES | {"quasi": quasi})
    assert (everyone.holds, everyone.measured, everyone.promised, everyone.witness) == (False, 2.0, 0.0, "slice_2")
    assert str(everyone.note).startswith("slice_2: whoever has no group there holds one of the values")


def test_without_slices_nobody_lacks_a_group() -> None:
    bare = manifest("sliced", {"quasi": QUASI[:1]}, rows=4)
    (everyone,) = judge(bare, {"quasi": TABLES["quasi"].select("age")})
    assert (everyone.holds, everyone.measured, everyone.witness) == (True, 0.0, None)


def test_a_claim_of_k_is_about_labels_and_not_groups() -> None:
    _, one = judge(manifest_of(K), TABLES)
    assert (one.holds, one.measured) == (True, 2.0)
    alone = TABLES["quasi"].with_columns(age=pl.Series(["[1, 2]", "[1, 2]", "[1, 2]", "4"]))
    _, one = judge(manifest_of(K), TABLES | {"quasi": alone})
    assert (one.holds, one.measured, one.witness) == (False, 1.0, "age = 4")


def test_a_claim_about_what_no_slice_tells_is_refused() -> None:
    for claim in (at_most("fee", 2), Claim(rule="r", model="frequency", adversary=(), l=2)):
        with pytest.raises(ReleaseError, match="can make"):
            judge(manifest_of(claim), TABLES)


def test_the_original_is_compared_table_by_table_and_group_by_group() -> None:
    original = pl.DataFrame({"age": [1, 2, 3, 4], "ill": list("abaa"), "job": list("xyxy"), "pay": list("pqpq")})
    findings = compare(manifest_of(), TABLES, original)
    assert [one.holds for one in findings] == [True] * 5
    other = original.with_columns(age=pl.Series([1, 3, 2, 4]))
    assert [one.holds for one in compare(manifest_of(), TABLES, other)] == [True, True, True, True, False]
