"""Judging decomposed releases of a few rows."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pluralis.auditing.judging import D_SA
from pluralis.auditing.kinds.decomposed import compare, judge, problems
from pluralis.auditing.verdict import Finding
from pluralis.errors import ReleaseError
from pluralis.release.manifest import Claim, ColumnInfo, Manifest
from support.manifests import at_most, columns, manifest

QUASI = columns(age="quasi number exact", group="group")
VALUES = columns(group="group", attribute="attribute", value="value")
JOINT = columns(ill="sensitive", job="sensitive", count="count")
ROWS = [(1, "ill", "a"), (1, "ill", "b"), (1, "job", "x"), (1, "job", "y"),
        (2, "ill", "a"), (2, "ill", "b"), (2, "job", "x"), (2, "job", "y")]  # fmt: skip
TABLES = {
    "quasi": pl.DataFrame({"age": [1, 2, 3, 4], "group": [1, 1, 2, 2]}),
    "values": pl.DataFrame(ROWS, schema=["group", "attribute", "value"], orient="row"),
}
ALL_FOUR = pl.DataFrame({"ill": list("aabb"), "job": list("xyxy"), "count": [1, 1, 1, 1]})


def alone(name: str) -> list[ColumnInfo]:
    return [ColumnInfo(name="value", role="sensitive", type="text", attribute=name), *columns(count="count")]


def manifest_of(*claims: Claim, primary: str = "ill", rows: int = 4, l: Any = None, **tables: Any) -> Manifest:
    described = {"quasi": QUASI, "values": VALUES, **tables}
    l = l or {"ill": 2, "job": 2}
    return manifest("decomposed", described, rows=rows, claims=claims, l=l, primary=primary)


def possible(attribute: str, l: int, *known: str) -> Claim:
    return at_most(attribute, l, *known, model="candidates")


# well formed ------------------------------------------------------------------------------------------------------


def marginals(ill: list[int], job: list[int]) -> dict[str, pl.DataFrame]:
    return {
        "sensitive_ill": pl.DataFrame({"value": list("ab"), "count": ill}),
        "sensitive_job": pl.DataFrame({"value": list("xy"), "count": job}),
    }


def test_tables_as_they_should_be_have_no_problem() -> None:
    assert list(problems(manifest_of(), TABLES)) == []
    assert list(problems(manifest_of(sensitive=JOINT), TABLES | {"sensitive": ALL_FOUR})) == []
    both = {f"sensitive_{name}": alone(name) for name in ("ill", "job")}
    assert list(problems(manifest_of(**both), TABLES | marginals([2, 2], [3, 1]))) == []


def test_each_problem_is_named() -> None:
    assert list(problems(manifest_of(rows=5), TABLES)) == ["the manifest says 5 rows, quasi has 4."]
    one = {"sensitive_ill": alone("ill")}
    half = {"sensitive_ill": marginals([2, 2], [2, 2])["sensitive_ill"]}
    assert list(problems(manifest_of(**one), TABLES | half)) == [
        "beside quasi and values stand sensitive_ill, not the sensitive columns."
    ]
    assert list(problems(manifest_of(), {"quasi": TABLES["quasi"]})) == [
        "a decomposed release has the tables quasi, values, not quasi."
    ]
    assert list(problems(manifest_of(l={"ill": 2}), TABLES)) == [
        "values: it tells of other attributes than the sensitive ones."
    ]
    for primary in ("", "age"):
        assert list(problems(manifest_of(primary=primary), TABLES)) == ["the manifest names no primary attribute."]
    few = TABLES | {"sensitive": ALL_FOUR.head(3)}
    assert list(problems(manifest_of(sensitive=JOINT), few)) == ["sensitive: its counts are not the number of rows."]
    both = {f"sensitive_{name}": alone(name) for name in ("ill", "job")}
    assert list(problems(manifest_of(**both), TABLES | marginals([2, 2], [2, 1]))) == [
        "sensitive_job: its counts are not the number of rows."
    ]


# claims -----------------------------------------------------------------------------------------------------------


def facts(finding: Finding) -> tuple[Any, ...]:
    return finding.holds, finding.measured, finding.promised, finding.top_share, finding.witness, finding.note


def test_candidates_that_remain_are_counted() -> None:
    job, ill, share = judge(manifest_of(possible("job", 2, "age"), possible("ill", 2, "age", "job")), TABLES)
    assert facts(job) == (True, 2.0, 2.0, None, "group 1", None)
    assert facts(ill) == (True, 2.0, 2.0, 0.5, "group 1", None)
    assert (share.claim, share.holds, share.measured, share.promised) == (D_SA, True, 1.0, 1.0)
    assert not share.binding
    three, _ = judge(manifest_of(possible("job", 3, "age")), TABLES)
    assert facts(three) == (False, 2.0, 3.0, None, "group 1", None)


def test_a_share_that_can_be_proved_is_told_where_there_are_values_enough() -> None:
    """Three of four have x: one of the groups has it twice in some worlds, at least one always."""
    both = {f"sensitive_{name}": alone(name) for name in ("ill", "job")}
    tables = TABLES | marginals([2, 2], [3, 1])
    finding, _ = judge(manifest_of(possible("job", 2, "age"), **both), tables)
    assert facts(finding) == (True, 2.0, 2.0, 0.5, "group 1", None)
    one = {"quasi": pl.DataFrame({"age": [1, 2, 3, 4], "group": [1, 1, 1, 1]}), **marginals([1, 1], [3, 1])}
    one["sensitive_ill"] = pl.DataFrame({"value": list("abcd"), "count": [1, 1, 1, 1]})
    rows = [(1, "ill", v) for v in "abcd"] + [(1, "job", "x"), (1, "job", "y")]
    one["values"] = pl.DataFrame(rows, schema=["group", "attribute", "value"], orient="row")
    finding, _ = judge(manifest_of(possible("job", 2, "age"), **both), one)
    assert facts(finding) == (False, 0.75, 0.5, 0.75, "group 1", "a share that can be proved")


def test_of_the_primary_shares_are_known() -> None:
    (finding, _) = judge(manifest_of(at_most("ill", 2, "age")), TABLES)
    assert facts(finding) == (True, 0.5, 0.5, 0.5, "group 1", None)
    (finding, _) = judge(manifest_of(at_most("ill", 3, "age")), TABLES)
    assert facts(finding) == (False, 0.5, 1 / 3, 0.5, "group 1", None)


@pytest.mark.parametrize(
    "claim", [at_most("job", 2, "age"), at_most("ill", 2, "age", "job"), at_most("ill", 2, "age", model="distinct")]
)
def test_claims_that_sets_cannot_make_are_refused(claim: Claim) -> None:
    with pytest.raises(ReleaseError, match="is not one that this kind of release can make"):
        judge(manifest_of(claim), TABLES)


def test_a_release_of_one_attribute_says_nothing_of_others() -> None:
    tables = TABLES | {"values": TABLES["values"].filter(pl.col("attribute") == "ill")}
    assert len(judge(manifest_of(possible("ill", 2, "age"), l={"ill": 2}), tables)) == 1


def test_the_joint_table_alone_may_tell_too_much() -> None:
    """Of whoever has x two of three have a, in a release whose groups leave two values each."""
    rows = [(g, "ill", v) for g in (1, 2, 3) for v in "ab"] + [(g, "job", v) for g in (1, 2, 3) for v in "xy"]
    tables = {
        "quasi": pl.DataFrame({"age": range(6), "group": [1, 1, 2, 2, 3, 3]}),
        "values": pl.DataFrame(rows, schema=["group", "attribute", "value"], orient="row"),
        "sensitive": pl.DataFrame({"ill": list("aabb"), "job": list("xyxy"), "count": [2, 1, 1, 2]}),
    }
    claims = [possible("ill", 2, "age"), possible("ill", 2, "age", "job"), possible("job", 2, "age")]
    described = manifest_of(*claims, rows=6, sensitive=JOINT)
    nothing, job, other, _ = judge(described, tables)
    assert (nothing.holds, other.holds) == (True, True)
    assert facts(job) == (False, 2 / 3, 0.5, 2 / 3, "job = y", "a share that can be proved, by the joint table alone")
    level = tables | {"sensitive": tables["sensitive"].with_columns(count=pl.Series([2, 1, 2, 1]))}
    assert judge(manifest_of(possible("job", 2, "age", "ill"), rows=6, sensitive=JOINT), level)[0].measured == 2 / 3
    even = TABLES | {"sensitive": ALL_FOUR}
    finding, *_ = judge(manifest_of(possible("ill", 2, "age", "job"), sensitive=JOINT), even)
    assert (finding.holds, finding.note) == (True, None)


def test_of_the_joint_table_alone_the_largest_share_is_told_and_not_the_largest_number() -> None:
    """Two of three who have x have a, three of five who have y have b."""
    groups = range(1, 5)
    rows = [(g, "ill", v) for g in groups for v in "ab"] + [(g, "job", v) for g in groups for v in "xy"]
    tables = {
        "quasi": pl.DataFrame({"age": range(8), "group": [1, 1, 2, 2, 3, 3, 4, 4]}),
        "values": pl.DataFrame(rows, schema=["group", "attribute", "value"], orient="row"),
        "sensitive": pl.DataFrame({"ill": list("aabb"), "job": list("xyxy"), "count": [2, 2, 1, 3]}),
    }
    finding, *_ = judge(manifest_of(possible("ill", 2, "age", "job"), rows=8, sensitive=JOINT), tables)
    assert (finding.holds, finding.measured, finding.witness) == (False, 2 / 3, "job = x")


def test_a_claim_that_fails_in_groups_is_not_told_of_the_whole_table() -> None:
    """Everybody of group 1 who has x has a; the joint table alone would say 3 of 4."""
    joint = pl.DataFrame({"ill": list("aab"), "job": list("xyy"), "count": [2, 0, 2]}).filter(pl.col("count") > 0)
    finding, *_ = judge(manifest_of(possible("ill", 2, "age", "job"), sensitive=JOINT), TABLES | {"sensitive": joint})
    assert (finding.holds, finding.measured, finding.witness, finding.note) == (False, 1.0, "group 1, job = x", None)


def test_tables_that_contradict_each_other_hold_nothing() -> None:
    joint = ALL_FOUR.with_columns(ill=pl.Series(list("aaab")))
    findings = judge(
        manifest_of(possible("ill", 2), possible("job", 2), sensitive=JOINT), TABLES | {"sensitive": joint}
    )
    assert [one.claim for one in findings] == ["candidates 2 of ill | ", "candidates 2 of job | "]
    for one in findings:
        assert (one.holds, one.measured, one.witness) == (False, None, "ill = a")
        assert one.note == "ill = a stands in 3 sensitive rows, and 2 groups hold it"
    sets = TABLES["values"].filter((pl.col("group") != 2) | (pl.col("value") != "y"))
    wrong = ALL_FOUR.with_columns(job=pl.Series(list("yyxy")))
    (one,) = judge(manifest_of(possible("ill", 2), sensitive=JOINT), TABLES | {"values": sets, "sensitive": wrong})
    assert (one.holds, one.witness) == (False, None)


def test_case_is_kept_where_it_is_said_to_matter() -> None:
    rows = [(1, "ill", "a"), (1, "ill", "b"), (1, "job", "x"), (1, "job", "X")]
    tables = {
        "quasi": pl.DataFrame({"age": [1, 2], "group": [1, 1]}),
        "values": pl.DataFrame(rows, schema=["group", "attribute", "value"], orient="row"),
    }
    plain = manifest_of(possible("job", 2), rows=2)
    kept = plain.model_copy(update={"parameters": plain.parameters.model_copy(update={"case": ("job",)})})
    assert [judge(one, tables)[0].measured for one in (plain, kept)] == [1.0, 2.0]


def test_the_original_is_compared_table_by_table_and_group_by_group() -> None:
    original = pl.DataFrame({"age": [1, 2, 3, 4], "ill": list("abab"), "job": list("xyyx")})
    tables = TABLES | {"sensitive": pl.DataFrame({"ill": list("aabb"), "job": list("xyxy"), "count": [1, 1, 1, 1]})}
    findings = compare(manifest_of(sensitive=JOINT), tables, original)
    assert [one.holds for one in findings] == [True] * 4
    twice = original.with_columns(ill=pl.Series(list("aabb")))
    assert [one.holds for one in compare(manifest_of(), TABLES, twice)] == [True, True, False]
    outside = original.with_columns(job=pl.Series(list("xyyz")))
    assert [one.holds for one in compare(manifest_of(), TABLES, outside)] == [True, True, False]
