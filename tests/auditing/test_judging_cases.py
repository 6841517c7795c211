"""What judges share, on tables of a few rows: whether they are well formed, and who is counted for a claim."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pluralis.auditing.judging import (
    SensitiveValues,
    alike_in_groups,
    group_sizes,
    info_of,
    judge_diversity,
    judge_size,
    place,
    sensitive_names,
    sensitive_values,
    table_problems,
    value_problems,
)
from pluralis.errors import ReleaseError
from pluralis.release.manifest import Claim
from support.manifests import at_most, columns, info, manifest

QUASI = columns(age="quasi number exact", ward="plain", group="group")
COUNTED = columns(group="group", ill="sensitive", job="sensitive", count="count")
APART = columns(group="group", attribute="attribute", value="value", count="count")
TWO = manifest("bucketized", {"quasi": QUASI, "sensitive": COUNTED}, rows=3, l={"job": 2, "ill": 2})
LISTS = manifest("bucketized", {"quasi": QUASI, "sensitive": APART}, rows=3, l={"job": 2, "ill": 2})


def tables() -> dict[str, pl.DataFrame]:
    return {
        "quasi": pl.DataFrame({"age": [1, 2, 3], "ward": ["n", None, "s"], "group": [1, 1, 2]}),
        "sensitive": pl.DataFrame({"group": [1, 1, 2], "ill": list("aba"), "job": list("xyx"), "count": [1, 1, 1]}),
    }


def test_a_table_is_found_by_its_name_and_attributes_come_in_order() -> None:
    assert info_of(TWO, "sensitive").names("sensitive") == ["ill", "job"]
    assert sensitive_names(TWO) == ["ill", "job"]


# well formed ------------------------------------------------------------------------------------------------------


def test_tables_as_they_should_be_have_no_problem() -> None:
    assert list(table_problems(TWO, tables(), ["quasi", "sensitive"])) == []


@pytest.mark.parametrize(("there", "named"), [(["quasi"], "quasi"), ([], "none"), (["b", "a"], "a, b")])
def test_other_tables_than_those_of_the_kind_are_named_and_nothing_else(there: list[str], named: str) -> None:
    frames = {name: tables()["quasi"].reverse() for name in there}
    (problem,) = table_problems(TWO, frames, ["quasi", "sensitive"])
    assert problem == f"a bucketized release has the tables quasi, sensitive, not {named}."


@pytest.mark.parametrize(
    ("table", "change", "problems"),
    [
        ("quasi", {"age": [None, 2, 3]}, ["order"]),
        ("quasi", {"age": [1, 2, None]}, []),
        ("quasi", {"group": [1, 1, None]}, []),
        ("quasi", {"age": [2, 1, 3]}, ["order"]),
        ("quasi", {"age": [1, 1, 3], "ward": ["n", "n", "n"]}, []),
        ("sensitive", {"ill": ["a", None, "a"]}, ["no ill"]),
        ("sensitive", {"count": [1, 1, None]}, ["no count"]),
        ("sensitive", {"ill": list("baa")}, ["twice"]),
        ("sensitive", {"ill": list("aaa"), "job": list("xxx")}, ["twice"]),
    ],
)
def test_empty_cells_rows_out_of_order_and_values_that_stand_twice_are_found(
    table: str, change: dict[str, list[Any]], problems: list[str]
) -> None:
    frames = tables()
    kinds = frames[table].schema
    frames[table] = frames[table].with_columns(pl.Series(n, v, dtype=kinds[n]) for n, v in change.items())
    messages = list(table_problems(TWO, frames, ["quasi", "sensitive"]))
    assert len(messages) == len(problems)
    assert all(word in problem for word, problem in zip(problems, messages, strict=True))
    assert all("twice" in problem or table == "quasi" or "no " in problem for problem in messages)
    assert all("twice" not in problem for problem in messages if table == "quasi")


def test_a_list_of_attributes_and_values_without_counts_has_each_once() -> None:
    values = columns(group="group", attribute="attribute", value="value")
    frame = pl.DataFrame({"group": [1, 1], "attribute": ["ill", "ill"], "value": ["a", "a"]})
    (problem,) = table_problems(manifest("decomposed", {"values": values}, rows=1), {"values": frame}, ["values"])
    assert "twice" in problem


SIZES = pl.DataFrame({"group": [1, 2], "rows": [2, 1]})


@pytest.mark.parametrize(
    ("groups", "counts", "fits"),
    [
        ([1, 1, 2], [1, 1, 1], True),
        ([1, 2], [2, 1], True),
        ([1, 2], [1, 2], False),
        ([1, 1, 2], [1, 1, 2], False),
        ([1, 1], [1, 1], False),
        ([1, 2, 3], [2, 1, 1], False),
        ([], [], False),
    ],
)
def test_counts_are_the_rows_of_the_groups(groups: list[int], counts: list[int], fits: bool) -> None:
    rows = pl.DataFrame({"group": groups, "count": counts}, schema={"group": pl.Int64, "count": pl.Int64})
    rows = rows.with_columns(ill=pl.lit("a"), job=pl.lit("x"))
    messages = list(value_problems(TWO, "sensitive", rows, SIZES))
    assert messages == ([] if fits else ["sensitive: its counts are not the numbers of rows of the groups."])


@pytest.mark.parametrize(("counts", "fits"), [([2, 1, 2, 1], True), ([2, 1, 1, 2], False), ([1, 2, 2, 1], False)])
def test_counts_are_the_rows_of_the_groups_for_every_attribute(counts: list[int], fits: bool) -> None:
    attribute = ["ill", "ill", "job", "job"]
    rows = pl.DataFrame({"group": [1, 2, 1, 2], "attribute": attribute, "value": list("abxy"), "count": counts})
    assert (not list(value_problems(LISTS, "sensitive", rows, SIZES))) == fits


def test_a_table_of_counts_without_a_secret_is_refused() -> None:
    bare = manifest("bucketized", {"sensitive": columns(group="group", count="count")}, rows=3)
    rows = pl.DataFrame({"group": [1, 2], "count": [2, 1]})
    assert list(value_problems(bare, "sensitive", rows, SIZES)) == ["sensitive has no sensitive column."]


@pytest.mark.parametrize(
    ("groups", "labels", "alike"),
    [
        ([1, 1, 2], ["a", "a", "b"], True),
        ([1, 1, 2], ["a", "b", "b"], False),
        ([1, 2, 2], ["a", "b", None], False),
        ([1, 2, 2], ["a", None, None], True),
        ([2, 1, 2], ["a", "b", "a"], True),
        ([2, 1, 2], ["a", "b", "b"], False),
        ([2, 1, 2], [None, "b", None], True),
        ([1], ["a"], True),
    ],
)
def test_rows_of_a_group_are_alike_or_not(groups: list[int], labels: list[str | None], alike: bool) -> None:
    rows = pl.DataFrame({"group": groups, "x": ["s"] * len(groups), "y": labels})
    assert alike_in_groups(rows, ["x", "y"]) == alike
    assert alike_in_groups(rows, ["x"])
    assert alike_in_groups(rows, [])


@pytest.mark.parametrize("groups", [[1, 1, 2, 5], [5, 1, 2, 1], [None, 2, 1, 5, 1], [1, 1, 2, 5, None]])
def test_sizes_come_in_order_of_groups_and_rows_without_one_aside(groups: list[int | None]) -> None:
    sizes = group_sizes(pl.DataFrame({"g": groups}), "g")
    assert sizes.rows() == [(1, 2), (2, 1), (5, 1)]


# who is counted ---------------------------------------------------------------------------------------------------


def test_the_values_of_an_attribute_stand_beside_the_others_or_apart() -> None:
    joint = sensitive_values(info("sensitive", COUNTED), tables()["sensitive"])("ill")
    assert joint is not None
    assert (joint.beside, joint.people) == (["job"], "count")
    assert sensitive_values(info("sensitive", COUNTED), tables()["sensitive"])("pay") is None
    listed = pl.DataFrame({"group": [1, 1], "attribute": ["ill", "job"], "value": ["a", "x"], "count": [3, 3]})
    apart = sensitive_values(info("sensitive", APART), listed)("ill")
    assert apart is not None
    assert (apart.rows.rows(), apart.rows.columns) == ([(1, "a", 3)], ["group", "ill", "count"])
    assert (apart.beside, apart.people) == ([], "count")
    assert sensitive_values(info("sensitive", APART), listed)("pay") is None


ROWS = pl.DataFrame({"group": [1, 1, 1, 1], "ill": list("abab"), "job": list("xxyy"), "count": [1, 1, 2, 2]})


def test_a_claim_is_measured_among_those_who_match_what_is_known() -> None:
    rows = ROWS.with_columns(ill=pl.Series(list("abaa")))
    values = SensitiveValues(rows, ["job"], "count")
    weak = judge_diversity(at_most("ill", 2, "age", "job"), TWO, values)
    assert (weak.holds, weak.measured, weak.promised, weak.top_share) == (False, 1.0, 0.5, 1.0)
    assert (weak.claim, weak.witness) == ("frequency 2 of ill | age, job", "group 1, job = y")
    without = judge_diversity(at_most("ill", 2, "age"), TWO, values)
    assert (without.holds, without.measured, without.witness) == (False, 5 / 6, "group 1")
    assert judge_diversity(at_most("ill", 2, "job"), TWO, SensitiveValues(ROWS, ["job"], "count")).holds
    assert judge_diversity(at_most("ill", 2, "job"), TWO, SensitiveValues(rows, [], "count")).measured == 5 / 6
    assert judge_diversity(at_most("ill", 2, "age"), TWO, SensitiveValues(rows, [])).measured == 3 / 4


@pytest.mark.parametrize(("case", "holds"), [([], False), (["ill"], True), (["job"], False)])
def test_spellings_of_one_value_count_together_unless_case_is_kept(case: list[str], holds: bool) -> None:
    rows = pl.DataFrame({"group": [1, 1], "ill": ["flu", "Flu"]})
    described = manifest("generalized", {}, rows=2, l={"ill": 2}, case=case)
    for frame in (rows, rows.with_columns(ill=pl.col("ill").cast(pl.Enum(["Flu", "flu"])))):
        assert judge_diversity(at_most("ill", 2), described, SensitiveValues(frame, [])).holds == holds


def test_a_recursive_claim_is_measured_and_promised_with_its_c() -> None:
    values = SensitiveValues(pl.DataFrame({"group": [1, 1, 1], "ill": list("aab")}), [])
    finding = judge_diversity(at_most("ill", 2, model="recursive", c=3.0), TWO, values)
    assert (finding.holds, finding.measured, finding.promised) == (True, 2.0, 3.0)
    assert not judge_diversity(at_most("ill", 2, model="recursive", c=2.0), TWO, values).holds
    bare = judge_diversity(at_most("ill", 2, model="recursive"), TWO, values)
    assert (bare.holds, bare.promised) == (False, 0.0)


@pytest.mark.parametrize(
    ("claim", "values"),
    [
        (at_most("ill", 2, model="magic"), SensitiveValues(ROWS, [])),
        (Claim(rule="r", model="frequency", adversary=(), l=2), SensitiveValues(ROWS, [])),
        (Claim(rule="r", model="frequency", adversary=(), attribute="ill"), SensitiveValues(ROWS, [])),
        (at_most("ill", 2), None),
    ],
)
def test_a_claim_that_cannot_be_measured_is_refused(claim: Claim, values: SensitiveValues | None) -> None:
    with pytest.raises(ReleaseError, match="is not one that this kind of release can make"):
        judge_diversity(claim, TWO, values)


@pytest.mark.parametrize(("k", "holds"), [(2, True), (3, False)])
def test_the_smallest_class_decides_a_claim_of_k(k: int, holds: bool) -> None:
    rows = pl.DataFrame({"group": [1, 1, 1, 2, 2]})
    finding = judge_size(Claim(rule="k", model="k", adversary=(), k=k), rows, ["group"])
    assert (finding.holds, finding.measured, finding.promised, finding.witness) == (holds, 2.0, float(k), "group 2")


def test_a_place_in_words() -> None:
    assert place({"group": 7, "sex": "f", "age": 3}) == "group 7, sex = f, age = 3"


# bounds beside l --------------------------------------------------------------------------------------------------

PAID = pl.DataFrame({"group": [1, 1, 1, 2, 2, 2], "pay": ["low", "low", "high", "mid", "high", "mid"]})
ORDER = {"domain": ("low", "high", "mid"), "ordered": True}  # neither that of the words nor that of pay


def bounded(model: str, *, ordered: bool = False, **said: Any) -> Any:
    """A claim about pay, judged; its values stand in an order if the manifest says so."""
    described = manifest("generalized", {"microdata": columns(group="group", pay="sensitive")}, rows=6, l={"pay": 2})
    if ordered:
        table = described.tables[0]
        shown = tuple(c.model_copy(update=ORDER) if c.name == "pay" else c for c in table.columns)
        described = described.model_copy(update={"tables": (table.model_copy(update={"columns": shown}),)})
    claim = Claim(rule="r", model=model, adversary=(), attribute="pay", **said)
    return judge_diversity(claim, described, SensitiveValues(PAID, []))


def test_a_bound_of_a_value_is_about_that_value() -> None:
    finding = bounded("at-most", value="low", at_most="2/3")
    assert (finding.holds, finding.promised, finding.top_value) == (True, pytest.approx(2 / 3), "low")
    assert finding.measured == pytest.approx(2 / 3)
    assert not bounded("at-most", value="low", at_most="1/2").holds
    assert bounded("at-most", value="high", at_most="1/3").holds
    assert bounded("at-most", value="none", at_most="1/9").measured == 0.0


def test_a_gain_is_beside_the_share_in_all_rows() -> None:
    finding = bounded("gain", gain=2.0)
    assert (finding.holds, finding.promised, finding.measured) == (True, 2.0, pytest.approx(2.0))
    assert not bounded("gain", gain=1.9).holds


def test_distances_are_of_values_or_of_places_in_their_order() -> None:
    apart, ordered = bounded("closeness", t=0.4), bounded("ordered-closeness", ordered=True, t=0.4)
    assert (apart.holds, apart.promised, apart.measured) == (True, 0.4, pytest.approx(1 / 3))
    assert ordered.measured == pytest.approx((1 / 3 + 1 / 3) / 2)
    assert not bounded("closeness", t=0.3).holds
    assert not bounded("ordered-closeness", ordered=True, t=0.1).holds


def test_values_that_differ_in_case_are_one_unless_the_manifest_keeps_them_apart() -> None:
    rows = pl.DataFrame({"group": [1, 1], "pay": ["Low", "low"]})
    described = manifest("generalized", {"microdata": columns(group="group", pay="sensitive")}, rows=2, l={"pay": 2})
    claim = Claim(rule="r", model="frequency", adversary=(), attribute="pay", l=2)
    assert judge_diversity(claim, described, SensitiveValues(rows, [])).measured == 1.0
    kept = described.model_copy(update={"parameters": described.parameters.model_copy(update={"case": ("pay",)})})
    assert judge_diversity(claim, kept, SensitiveValues(rows, [])).measured == 0.5
