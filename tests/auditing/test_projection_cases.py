"""Each table of a release beside the original, a few rows of each."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pluralis.auditing.projection import APART, as_text, projections, sensitive_info, true_values
from pluralis.auditing.verdict import Finding
from pluralis.release.manifest import ColumnInfo
from support.manifests import columns, manifest

ORIGINAL = pl.DataFrame({"age": [1, 1, 2, 3], "sex": list("fmfm"), "ill": list("aabb"), "pay": [5, 5, 7, 7]})
QUASI = columns(age="quasi number exact", sex="quasi exact", group="group")
SENSITIVE = columns(group="group", ill="sensitive", pay="sensitive number", count="count")
LISTS = columns(group="group", attribute="attribute", value="value", count="count")
TABLES = {
    "quasi": pl.DataFrame({"age": [1, 1, 2, 3], "sex": list("fmfm"), "group": [1, 1, 2, 2]}),
    "sensitive": pl.DataFrame({"group": [1, 2], "ill": ["a", "b"], "pay": [5, 7], "count": [2, 2]}),
}


def judged(described: dict[str, Any], tables: dict[str, pl.DataFrame], suppressed: int = 0) -> list[Finding]:
    rows = tables["quasi"].height if "quasi" in tables else 4
    stated = manifest("bucketized", described, rows=rows, suppressed=suppressed, l={"ill": 2, "pay": 2})
    return projections(stated, tables, ORIGINAL)


def facts(findings: list[Finding]) -> list[tuple[Any, ...]]:
    return [(one.holds, one.measured, one.promised, one.witness) for one in findings]


BOTH = {"quasi": QUASI, "sensitive": SENSITIVE}


def test_tables_that_are_those_of_the_original_hold() -> None:
    findings = judged(BOTH, TABLES)
    assert facts(findings) == [(True, 4.0, 4.0, None), (True, 0.0, 0.0, None), (True, 0.0, 0.0, None)]
    assert [one.claim for one in findings][1:] == [
        "every published row has the quasi-identifiers of a row of its own in the original",
        "no ill with pay is invented in sensitive",
    ]
    assert [one.note for one in findings][1:] == [APART, APART]


@pytest.mark.parametrize(("suppressed", "holds"), [(0, False), (1, True), (2, False)])
def test_published_and_left_out_rows_are_counted(suppressed: int, holds: bool) -> None:
    tables = TABLES | {"quasi": TABLES["quasi"].head(3)}
    finding = judged(BOTH, tables, suppressed)[0]
    assert (finding.holds, finding.measured, finding.promised) == (holds, 3.0 + suppressed, 4.0)


@pytest.mark.parametrize(
    ("change", "surplus", "witness"),
    [
        ({"age": [1, 1, 2, 9]}, 1.0, "age = 9.0, sex = m"),
        ({"sex": list("mmmm")}, 2.0, "age = 1.0, sex = m"),
        ({"age": [1, 1, 1, 1], "sex": list("ffff")}, 3.0, "age = 1.0, sex = f"),
        ({"sex": ["F", "M", "f ", "m"]}, 0.0, None),
    ],
)
def test_quasi_values_that_nobody_has_or_too_few_have_are_found(
    change: dict[str, list[Any]], surplus: float, witness: str | None
) -> None:
    tables = TABLES | {"quasi": TABLES["quasi"].with_columns(pl.Series(n, v) for n, v in change.items())}
    assert facts(judged(BOTH, tables))[1] == (surplus == 0, surplus, 0.0, witness)


@pytest.mark.parametrize(
    ("change", "surplus", "witness"),
    [
        ({"count": [3, 1]}, 1.0, "ill = a, pay = 5.0"),
        ({"count": [3, 4]}, 3.0, "ill = a, pay = 5.0"),
        ({"ill": ["a", "c"]}, 2.0, "ill = c, pay = 7.0"),
        ({"pay": [7, 5]}, 4.0, "ill = a, pay = 7.0"),
        ({"count": [1, 1]}, 0.0, None),
    ],
)
def test_secrets_that_nobody_has_or_too_few_have_are_found(
    change: dict[str, list[Any]], surplus: float, witness: str | None
) -> None:
    tables = TABLES | {"sensitive": TABLES["sensitive"].with_columns(pl.Series(n, v) for n, v in change.items())}
    assert facts(judged(BOTH, tables))[2] == (surplus == 0, surplus, 0.0, witness)


def test_labels_are_matched_with_the_rows_that_they_cover() -> None:
    described = columns(age="quasi number", sex="quasi exact", group="group")
    labels = {"quasi": TABLES["quasi"].with_columns(age=pl.Series(["[1, 2]", "[1, 2]", "[1, 2]", "3"]))}
    _, finding = judged({"quasi": described}, labels)
    assert (finding.holds, finding.measured, finding.note) == (True, 4.0, "by matching, exactly")
    labels = {"quasi": TABLES["quasi"].with_columns(age=pl.Series(["[1, 2]"] * 4))}
    _, finding = judged({"quasi": described}, labels)
    assert (finding.holds, finding.measured) == (False, 3.0)


def test_lists_of_values_are_compared_attribute_by_attribute_numbers_as_text() -> None:
    rows = [(1, "ill", "a", 2), (2, "ill", "b", 2), (1, "pay", "5", 2), (2, "pay", "7", 2)]
    frame = pl.DataFrame(rows, schema=["group", "attribute", "value", "count"], orient="row")
    domains = {"pay": {"name": "pay", "role": "sensitive", "type": "number"}}
    stated = manifest("sliced", {"slice_1": LISTS}, rows=4, l={"ill": 2, "pay": 2}, domains=domains)
    findings = projections(stated, {"slice_1": frame}, ORIGINAL)[1:]
    assert sorted(one.claim for one in findings) == ["no ill is invented in slice_1", "no pay is invented in slice_1"]
    assert all(one.holds for one in findings)
    wrong = frame.with_columns(value=pl.Series(["a", "b", "5", "8"]))
    findings = [one for one in projections(stated, {"slice_1": wrong}, ORIGINAL)[1:] if not one.holds]
    assert [(one.claim, one.measured, one.witness) for one in findings] == [
        ("no pay is invented in slice_1", 2.0, "value = 8")
    ]


def test_sets_without_counts_are_not_compared_here() -> None:
    values = columns(group="group", attribute="attribute", value="value")
    frame = pl.DataFrame({"group": [1], "attribute": ["ill"], "value": ["z"]})
    assert len(judged({"values": values}, {"values": frame})) == 1


def test_a_column_of_any_name_is_the_attribute_that_it_says() -> None:
    value = ColumnInfo(name="value", role="sensitive", type="text", attribute="ill")
    described = [*columns(group="group"), value, *columns(count="count")]
    stated = manifest("decomposed", {"sensitive_ill": described}, rows=4, l={"ill": 2})
    frame = pl.DataFrame({"group": [1, 1], "value": ["a", "b"], "count": [2, 2]})
    assert true_values(value, stated, ORIGINAL).to_list() == list("aabb")
    (_, finding) = projections(stated, {"sensitive_ill": frame}, ORIGINAL)
    assert (finding.claim, finding.holds) == ("no ill is invented in sensitive_ill", True)
    (_, finding) = projections(stated, {"sensitive_ill": frame.with_columns(count=pl.Series([3, 1]))}, ORIGINAL)
    assert (finding.holds, finding.witness) == (False, "value = a")


def test_an_attribute_that_is_called_count_is_not_taken_for_counts() -> None:
    original = pl.DataFrame({"count": [3, 3, 4]})
    described = manifest("multi", {"t1": columns(count="quasi number exact")}, rows=3, l={})
    (_, finding) = projections(described, {"t1": pl.DataFrame({"count": [3, 3, 4]})}, original)
    assert finding.holds
    (_, finding) = projections(described, {"t1": pl.DataFrame({"count": [3, 4, 4]})}, original)
    assert (finding.holds, finding.measured, finding.witness) == (False, 1.0, "count = 4.0")


def test_missing_values_are_values_too() -> None:
    tables = TABLES | {"quasi": TABLES["quasi"].with_columns(sex=pl.Series(["f", None, "f", "m"]))}
    assert facts(judged(BOTH, tables))[1] == (False, 1.0, 0.0, "age = 1.0, sex = None")
    original = ORIGINAL.with_columns(sex=pl.Series(["f", None, "f", "m"]))
    described = manifest("bucketized", BOTH, rows=4, l={"ill": 2, "pay": 2})
    assert facts(projections(described, tables, original))[1] == (True, 0.0, 0.0, None)


def test_an_attribute_is_described_by_its_table_its_domain_or_as_text() -> None:
    named = ColumnInfo(name="value", role="sensitive", type="number", attribute="fee")
    described = manifest("x", {"t": [*columns(ill="sensitive number"), named]}, rows=1,
                    domains={"pay": {"name": "pay", "role": "sensitive", "type": "number"}})  # fmt: skip
    assert sensitive_info("ill", described).type == "number"
    assert sensitive_info("fee", described) == named
    assert sensitive_info("pay", described).type == "number"
    job = sensitive_info("job", described)
    assert (job.name, job.role, job.type) == ("job", "sensitive", "text")


def test_numbers_as_text_are_written_as_they_are_published() -> None:
    assert as_text(pl.Series(["a", "b"])).to_list() == ["a", "b"]
    assert as_text(pl.Series([5.0, 0.5, None])).to_list() == ["5", "0.5", None]
