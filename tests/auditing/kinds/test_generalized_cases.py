"""Judging generalized releases of a few rows."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pluralis.auditing.kinds.generalized import compare, judge, problems
from pluralis.errors import ReleaseError
from pluralis.release.manifest import Claim, Manifest
from support.manifests import at_most, columns, manifest

COLUMNS = columns(age="quasi number", ward="plain", ill="sensitive", job="sensitive", group="group")
ROWS = pl.DataFrame(
    {
        "age": ["[1, 2]", "[1, 2]", "[3, 4]", "[3, 4]"],
        "ward": list("nsns"),
        "ill": list("abab"),
        "job": list("xxxy"),
        "group": [1, 1, 2, 2],
    }
)
K = Claim(rule="every group has at least 2 rows", model="k-anonymity", adversary=("age",), k=2)


def manifest_of(*claims: Claim, rows: int = 4, described: Any = COLUMNS, **more: Any) -> Manifest:
    return manifest("generalized", {"microdata": described}, rows=rows, claims=claims, l={"ill": 2, "job": 2}, **more)


def problems_of(rows: pl.DataFrame = ROWS, **more: Any) -> list[str]:
    return list(problems(manifest_of(**more), {"microdata": rows}))


def test_a_table_as_it_should_be_has_no_problem() -> None:
    assert problems_of() == []


def test_each_problem_is_named() -> None:
    assert list(problems(manifest_of(rows=5), {"microdata": ROWS})) == ["the manifest says 5 rows, microdata has 4."]
    assert problems_of(ROWS.with_columns(age=pl.Series(["[1, 2]", "[1, 3]", "[3, 4]", "[3, 4]"]))) == [
        "some group is published under more than one set of labels."
    ]
    assert "some rows have no group." in problems_of(ROWS.with_columns(group=pl.Series([1, 1, 2, None])))
    assert list(problems(manifest_of(), {"other": ROWS})) == [
        "a generalized release has the tables microdata, not other."
    ]
    assert problems_of(ROWS.drop("group"), described=COLUMNS[:-1]) == ["microdata has no column 'group'."]


def test_what_stands_beside_a_secret_is_known_unless_rows_are_not_linked() -> None:
    claims = [at_most("ill", 2, "age"), at_most("ill", 2, "age", "ward"), at_most("ill", 2, "age", "job")]
    linked = judge(manifest_of(*claims), {"microdata": ROWS})
    assert [(one.holds, one.measured, one.witness) for one in linked] == [
        (True, 0.5, "group 1"),
        (False, 1.0, "group 1, ward = n"),
        (False, 1.0, "group 2, job = x"),
    ]
    assert [one.holds for one in judge(manifest_of(*claims, linked=True), {"microdata": ROWS})] == [True, False, False]
    assert all(one.holds for one in judge(manifest_of(*claims, linked=False), {"microdata": ROWS}))


def test_a_secret_is_not_known_beside_itself() -> None:
    (one,) = judge(manifest_of(at_most("ill", 2, "age", "ill")), {"microdata": ROWS})
    assert (one.holds, one.measured) == (True, 0.5)


def test_a_claim_of_k_is_about_groups() -> None:
    (one,) = judge(manifest_of(K), {"microdata": ROWS})
    assert (one.holds, one.measured, one.promised) == (True, 2.0, 2.0)
    (one,) = judge(manifest_of(K), {"microdata": ROWS.head(3)})
    assert (one.holds, one.measured, one.witness) == (False, 1.0, "group 2")


def test_a_claim_about_what_is_not_there_is_refused() -> None:
    with pytest.raises(ReleaseError, match="can make"):
        judge(manifest_of(at_most("pay", 2)), {"microdata": ROWS})


def test_the_original_is_matched() -> None:
    original = pl.DataFrame({"age": [1, 2, 3, 4], "ward": list("nsns"), "ill": list("abab"), "job": list("xxxy")})
    assert [one.holds for one in compare(manifest_of(), {"microdata": ROWS}, original)] == [True, True, True]
    other = original.with_columns(ill=pl.Series(list("abbb")))
    assert [one.holds for one in compare(manifest_of(), {"microdata": ROWS}, other)] == [True, False, False]
