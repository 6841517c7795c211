"""Judging multi releases of a few rows: their form, their rules, their original."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pluralis.auditing.kinds.multi import compare, judge, problems
from pluralis.release.manifest import ColumnInfo, Manifest
from pluralis.release.release import Release
from support.handmade_multi_releases import Sub, multi_release
from support.manifests import columns, manifest

PEOPLE = pl.DataFrame(
    {"sex": list("fmfm"), "job": list("abab"), "zip": [1, 2, 3, 4], "ill": ["flu", "hiv", "hiv", "flu"]}
)
SUBS = [Sub(["sex", "job"]), Sub(["sex", "zip"], ["zip"], [1, 1, 2, 2]), Sub(["job", "ill"], ["ill"], [1, 1, 2, 2])]
RULES = ["sex -> zip : l=2", "job -> ill : l=2"]


def release_of(subs: list[Sub] = SUBS, rules: list[str] = RULES, known: list[str] | None = None) -> Release:
    return multi_release(PEOPLE.to_dicts(), subs, rules, known or [])


RIGHT = release_of()


def problems_of(release: Release = RIGHT, tables: Any = None, **changes: Any) -> list[str]:
    return list(problems(release.manifest.model_copy(update=changes), tables or dict(release.tables)))


def with_table(name: str, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    return dict(RIGHT.tables) | {name: rows}


def described(name: str, *described_: ColumnInfo) -> tuple[Any, ...]:
    """The tables of the release, one of them with other columns."""
    tables = RIGHT.manifest.tables
    return tuple(one.model_copy(update={"columns": described_}) if one.name == name else one for one in tables)


def renamed(old: str, new: str) -> tuple[dict[str, pl.DataFrame], tuple[Any, ...]]:
    tables = {new if name == old else name: rows for name, rows in RIGHT.tables.items()}
    infos = tuple(one.model_copy(update={"name": new}) if one.name == old else one for one in RIGHT.manifest.tables)
    return tables, infos


# well formed ------------------------------------------------------------------------------------------------------


def test_tables_as_they_should_be_have_no_problem() -> None:
    assert problems_of() == []


@pytest.mark.parametrize(("old", "new"), [("t1", "t4"), ("t2_quasi", "t2_other"), ("t3_sensitive", "t5")])
def test_parts_are_numbered_without_gaps(old: str, new: str) -> None:
    tables, infos = renamed(old, new)
    messages = list(problems(RIGHT.manifest.model_copy(update={"tables": infos}), tables))
    assert len(messages) == 1
    assert messages[0].startswith("a multi release has the tables t1")


def test_a_part_has_a_row_for_everybody_in_a_group() -> None:
    assert problems_of(tables=with_table("t1", RIGHT.tables["t1"].head(3)))[0] == "the manifest says 4 rows, t1 has 3."
    rows = RIGHT.tables["t2_quasi"].with_columns(group=pl.lit(None, pl.Int64)).sort("sex")
    assert problems_of(tables=with_table("t2_quasi", rows)) == ["t2_quasi: some rows have no group."]
    moved = RIGHT.tables["t2_quasi"].with_columns(group=pl.Series([1, 1, 1, 2])).sort("group", "sex")
    assert "t2_sensitive: its counts are not the numbers of rows of the groups." in problems_of(
        tables=with_table("t2_quasi", moved)
    )


def test_a_part_does_not_show_what_it_hides() -> None:
    rows = RIGHT.tables["t2_quasi"].with_columns(zip=pl.Series([1, 2, 3, 4]))
    more = columns(sex="quasi exact", group="group", zip="quasi number exact")
    changed = RIGHT.manifest.model_copy(update={"tables": described("t2_quasi", *more)})
    shown = list(problems(changed, with_table("t2_quasi", rows)))
    assert "t2_quasi shows zip, which t2_sensitive hides." in shown


@pytest.mark.parametrize(
    ("table", "columns_", "column"),
    [
        ("t1", [ColumnInfo(name="sex", role="quasi", type="text", exact=True, attribute="gender")], "sex"),
        ("t1", [ColumnInfo(name="sex", role="quasi", type="text", exact=True, sets=True)], "sex"),
        ("t2_quasi", [ColumnInfo(name="sex", role="group", type="text")], "sex"),
        ("t2_sensitive", [ColumnInfo(name="group", role="sensitive", type="number")], "group"),
        ("t2_sensitive", [ColumnInfo(name="count", role="sensitive", type="number")], "count"),
        ("t2_sensitive", [ColumnInfo(name="zip", role="count", type="number")], "zip"),
    ],
)
def test_columns_are_called_what_they_hold(table: str, columns_: list[ColumnInfo], column: str) -> None:
    odd = list(problems(RIGHT.manifest.model_copy(update={"tables": described(table, *columns_)}), dict(RIGHT.tables)))
    assert f"{table}: it cannot have the column {column!r}." in odd


def test_a_protected_attribute_is_not_called_group_or_count() -> None:
    parameters = RIGHT.manifest.parameters.model_copy(update={"l": {"zip": 2, "ill": 2, "group": 2}})
    odd = problems_of(parameters=parameters)
    assert {problem.partition(":")[0] for problem in odd} == {"t2_quasi", "t2_sensitive", "t3_quasi", "t3_sensitive"}


def test_labels_stand_only_beside_what_they_protect() -> None:
    plain = described("t1", *columns(sex="quasi", job="quasi exact"))
    odd = list(problems(RIGHT.manifest.model_copy(update={"tables": plain}), dict(RIGHT.tables)))
    assert odd == ["t1: the column 'sex' holds labels, though nothing stands beside it."]


def labeled(ages: list[str]) -> tuple[Manifest, dict[str, pl.DataFrame]]:
    """One part in the form of a generalized release."""
    rows = pl.DataFrame({"zip": ages, "ill": ["flu", "hiv", "flu", "hiv"], "group": [1, 1, 2, 2]})
    release = release_of([SUBS[2]], ["zip -> ill : l=2"])
    stated = manifest(
        "multi",
        {"t1": columns(zip="quasi number", ill="sensitive", group="group")},
        rows=4,
        claims=release.manifest.claims,
        **release.manifest.parameters.model_dump(),
    )
    return stated, {"t1": rows}


def test_rows_of_a_group_have_the_same_labels() -> None:
    stated, tables = labeled(["[1, 2]", "[1, 2]", "[3, 4]", "[3, 4]"])
    assert list(problems(stated, tables)) == []
    stated, tables = labeled(["[1, 2]", "[1, 3]", "[3, 4]", "[3, 4]"])
    assert list(problems(stated, tables)) == ["t1: some group is published under more than one set of labels."]


def test_tables_that_share_an_attribute_tell_of_the_same_people() -> None:
    other = RIGHT.tables["t1"].with_columns(sex=pl.Series(list("ffmf"))).sort("sex", "job")
    assert problems_of(tables=with_table("t1", other)) == [
        "t1 and t2_quasi do not tell of the same people: sex differ."
    ]
    both = release_of([Sub(["sex", "job"]), Sub(["sex", "job", "zip"], ["zip"], [1, 1, 2, 2])], ["sex -> zip : l=2"])
    assert problems_of(both) == []
    crossed = dict(both.tables) | {"t1": pl.DataFrame({"sex": list("ffmm"), "job": list("abab")})}
    assert problems_of(both, crossed) == ["t1 and t2_quasi do not tell of the same people: job, sex differ."]


def test_counts_of_a_protected_attribute_are_those_of_a_table_that_shows_it() -> None:
    release = release_of([SUBS[1], Sub(["zip"])], ["sex -> zip : l=2"])
    assert problems_of(release) == []
    other = dict(release.tables) | {"t2": pl.DataFrame({"zip": [1, 1, 3, 4]})}
    assert problems_of(release, other) == ["t1_sensitive and t2 do not tell of the same people: zip differ."]


def test_claims_are_the_rules_in_force_no_more_and_no_less() -> None:
    claims = RIGHT.manifest.claims
    wrong = ["the claims are not the rules of the parameters."]
    assert problems_of(claims=claims[:1]) == wrong
    assert problems_of(claims=(claims[0], claims[1].model_copy(update={"l": 3}))) == wrong
    assert problems_of(claims=claims[::-1]) == []
    for less in ({"attribute": None}, {"l": None}):
        assert problems_of(claims=(claims[0].model_copy(update=less), claims[1])) == [
            "a multi release claims its rules and nothing else."
        ]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"dependencies": ["zip"]}, "parameters: "),
        ({"rules": ["nonsense"]}, "parameters: "),
    ],
)
def test_rules_and_dependencies_that_cannot_be_read_are_named(more: dict[str, Any], message: str) -> None:
    (problem,) = problems_of(parameters=RIGHT.manifest.parameters.model_copy(update=more))
    assert problem.startswith(message)


# claims -----------------------------------------------------------------------------------------------------------


def judged(release: Release) -> list[tuple[Any, ...]]:
    return [(one.holds, one.measured, one.witness, one.note) for one in judge(release.manifest, dict(release.tables))]


def test_a_guarded_rule_is_measured_in_the_groups_of_its_guardian() -> None:
    zip_, ill, others = judged(RIGHT)
    assert zip_ == (True, 0.5, "t2, group 1", "guarded by t2")
    assert ill == (True, 0.5, "t3, group 1", "guarded by t3")
    assert others == (True, 1.0, None, None)
    one = release_of([*SUBS[:2], Sub(["job", "ill"], ["ill"], [1, 2, 2, 1])], RULES)
    assert judged(one)[1] == (False, 1.0, "t3, group 1", "guarded by t3")


def test_a_rule_out_of_reach_is_measured_in_the_whole_column() -> None:
    apart = release_of([Sub(["sex"]), Sub(["job", "ill"], ["ill"], [1, 1, 2, 2])], ["sex -> ill : l=2"])
    assert judged(apart)[0] == (True, 0.5, "the whole column", "ill cannot be reached from sex")
    shown = release_of([Sub(["sex"]), Sub(["ill"])], ["sex -> ill : l=3"])
    assert judged(shown)[0] == (False, 0.5, "the whole column", "ill cannot be reached from sex")
    counted = release_of([Sub(["sex"]), Sub(["job", "sex"], ["job"], [1, 1, 1, 1])], ["sex -> ill : l=2"])
    assert judged(counted)[0] == (
        False, None, None, "ill cannot be reached from sex, but how common its values are cannot be told from labels"
    )  # fmt: skip


def test_parts_are_not_joined_by_the_numbers_of_their_groups() -> None:
    """Both parts have a column `group` and one `count`, which are no attributes."""
    apart = release_of([SUBS[1], SUBS[2]], ["sex -> ill : l=2"])
    assert judged(apart)[0] == (True, 0.5, "the whole column", "ill cannot be reached from sex")


def test_how_common_values_are_is_not_told_from_labels() -> None:
    stated, tables = labeled(["[1, 2]", "[1, 2]", "[3, 4]", "[3, 4]"])
    claims = release_of([Sub(["job"])], ["job -> zip : l=2"]).manifest.claims
    one, _ = judge(stated.model_copy(update={"claims": claims}), tables)
    assert (one.holds, one.measured) == (False, None)
    assert str(one.note).endswith("how common its values are cannot be told from labels")


def test_a_rule_that_nothing_keeps_is_refused_with_its_path() -> None:
    holds, measured, _, why = judged(release_of([Sub(["job", "ill"])], ["job -> ill : l=2"]))[0]
    assert (holds, measured) == (False, None)
    assert why == "nothing guards job - t1 - ill; t1 does not protect ill"


def test_what_everybody_knows_is_a_way_too() -> None:
    subs = [Sub(["sex", "job"]), Sub(["sex", "ill"], ["ill"], [1, 1, 2, 2])]
    assert judged(release_of(subs, ["sex -> ill : l=2"]))[0][0]
    assert not judged(release_of(subs, ["sex -> ill : l=2"], ["job -> ill"]))[0][0]


def test_labels_guard_as_groups_do() -> None:
    stated, tables = labeled(["[1, 2]", "[1, 2]", "[3, 4]", "[3, 4]"])
    one, _ = judge(stated, tables)
    assert (one.holds, one.measured, one.witness) == (True, 0.5, "t1, group 1")


def test_whoever_knows_all_others_is_told_of_and_nothing_is_promised() -> None:
    subs = [Sub(["sex", "job"]), SUBS[1], Sub(["job", "ill"])]
    *_, finding = judge(
        release_of(subs, ["sex -> zip : l=2", "sex -> ill : l=2"]).manifest, dict(release_of(subs).tables)
    )
    assert (finding.holds, finding.measured, finding.promised, finding.binding) == (False, 0.5, 1.0, False)
    assert finding.note == "not ill"
    empty = RIGHT.manifest.model_copy(update={"parameters": RIGHT.manifest.parameters.model_copy(update={"l": {}})})
    *_, finding = judge(empty, dict(RIGHT.tables))
    assert (finding.holds, finding.measured) == (True, None)


# the original -----------------------------------------------------------------------------------------------------


def test_the_original_is_compared_part_by_part() -> None:
    findings = compare(RIGHT.manifest, dict(RIGHT.tables), PEOPLE)
    assert [one.holds for one in findings] == [True] * 8
    assert [one.claim.partition(":")[0] for one in findings] == [
        "published and suppressed rows are the rows of the original",
        "t1",
        "t2_quasi",
        "no zip is invented in t2_sensitive",
        "t3_quasi",
        "no ill is invented in t3_sensitive",
        "t2_sensitive",
        "t3_sensitive",
    ]
    other = PEOPLE.with_columns(ill=pl.Series(["hiv", "flu", "flu", "flu"]))
    assert [one.claim for one in compare(RIGHT.manifest, dict(RIGHT.tables), other) if not one.holds] == [
        "no ill is invented in t3_sensitive",
        "t3_sensitive: the sensitive values of every group are those of rows of the original that can be in it",
    ]


def test_a_part_of_labels_and_secrets_is_matched_with_the_original() -> None:
    stated, tables = labeled(["[1, 2]", "[1, 2]", "[3, 4]", "[3, 4]"])
    findings = compare(stated, tables, PEOPLE)
    assert [(one.holds, one.claim) for one in findings] == [
        (True, "published and suppressed rows are the rows of the original"),
        (True, "t1: no sensitive value is invented"),
        (True, "t1: every published row covers a row of its own in the original"),
    ]
    wrong = compare(stated, tables, PEOPLE.with_columns(zip=pl.Series([9, 2, 3, 4])))
    assert [one.holds for one in wrong] == [True, True, False]
