"""Published rows and those of the original, a few of each: which are invented, which cover nobody."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pluralis.auditing import coverage as module
from pluralis.auditing.coverage import coverage, covered
from pluralis.auditing.verdict import Finding
from pluralis.release.manifest import Manifest
from support.manifests import columns, info, manifest

COLUMNS = columns(age="quasi number", ill="sensitive", job="sensitive", group="group")
ORIGINAL = pl.DataFrame({"age": [1, 2, 3, 4], "ill": list("abab"), "job": list("xyyx")})
ROWS = {
    "age": ["[1, 2]", "[1, 2]", "[3, 4]", "[3, 4]"],
    "ill": list("abab"),
    "job": list("xyyx"),
    "group": [1, 1, 2, 2],
}


def manifest_of(linked: bool | None = True, **more: Any) -> Manifest:
    about = {} if linked is None else {"linked": linked}
    tables = {"aside": columns(other="quasi"), "microdata": COLUMNS}
    return manifest("generalized", tables, rows=4, l={"ill": 2, "job": 2}, **about, **more)


def judged(linked: bool | None = True, original: pl.DataFrame = ORIGINAL, **changes: Any) -> Any:
    """(holds, measured, promised, witness) of the three findings."""
    findings = coverage(manifest_of(linked), {"microdata": pl.DataFrame(ROWS | changes)}, original)
    return [(one.holds, one.measured, one.promised, one.witness) for one in findings]


GOOD = [(True, 4.0, 4.0, None), (True, 0.0, 0.0, None), (True, 4.0, 4.0, None)]


@pytest.mark.parametrize("linked", [True, False, None])
def test_rows_that_cover_those_of_the_original_hold(linked: bool | None) -> None:
    assert judged(linked) == GOOD


def test_rows_that_are_left_out_count_and_rows_that_are_not_there_do_not() -> None:
    tables = {"microdata": pl.DataFrame(ROWS).head(3)}
    (counted, _, matched) = coverage(manifest_of(suppressed=1), tables, ORIGINAL)
    assert (counted.holds, counted.measured, counted.promised) == (True, 4.0, 4.0)
    assert (matched.holds, matched.measured, matched.promised) == (True, 3.0, 3.0)
    assert not coverage(manifest_of(), tables, ORIGINAL)[0].holds
    assert coverage(manifest_of(suppressed=2), tables, ORIGINAL)[0].measured == 5.0


def test_a_secret_that_nobody_has_is_invented() -> None:
    _, invented, matched = judged(ill=list("abac"))
    assert invented == (False, 1.0, 0.0, "ill = c, job = x")
    assert matched == (False, 3.0, 4.0, "group 2")


def test_a_secret_that_stands_there_more_often_than_it_occurs_is_invented() -> None:
    assert judged(ill=list("abaa"), job=list("xyyx"))[1] == (False, 1.0, 0.0, "ill = a, job = x")
    assert judged(ill=list("aaaa"), job=list("xxyx"))[1] == (False, 2.0, 0.0, "ill = a, job = x")


def test_secrets_of_one_row_are_looked_at_together_where_rows_are_linked() -> None:
    """Each value occurs as often as it does, beside others."""
    other = {"job": list("yxyx")}
    assert judged(True, **other)[1] == (False, 2.0, 0.0, "ill = a, job = y")
    assert judged(False, **other)[1] == (True, 0.0, 0.0, None)
    assert judged(False, **other)[2] == (True, 4.0, 4.0, None)
    assert not judged(None, **other)[1][0]


def test_the_first_secret_that_is_invented_is_named() -> None:
    _, invented, _ = judged(False, ill=list("cbad"), job=list("zyyx"))
    assert invented == (False, 3.0, 0.0, "ill = c")


def test_spelling_and_missing_values_are_compared_as_values() -> None:
    assert judged(ill=["A ", "b", "a", "B"]) == GOOD
    missing = ORIGINAL.with_columns(ill=pl.Series(["a", "b", "a", None]))
    assert judged(original=missing, ill=["a", "b", "a", None])[1:] == GOOD[1:]


def test_labels_that_cover_the_wrong_rows_are_found_though_each_value_occurs() -> None:
    """Both groups say [1, 2]: four rows for two people."""
    *_, matched = coverage(manifest_of(), {"microdata": pl.DataFrame(ROWS | {"age": ["[1, 2]"] * 4})}, ORIGINAL)
    assert (matched.holds, matched.measured) == (False, 2.0)
    *_, far = coverage(manifest_of(), {"microdata": pl.DataFrame(ROWS | {"age": ["[1, 2]"] * 3 + ["9"]})}, ORIGINAL)
    assert (far.witness, far.note) == ("group 2", "by matching, exactly: a row there covers no original row")


def test_a_shortage_says_how_many_rows_cover_how_few() -> None:
    rows = pl.DataFrame(ROWS | {"age": ["[1, 3]"] * 4, "ill": list("aaab"), "job": list("xxxy")})
    original = pl.DataFrame({"age": [1, 2, 2, 9], "ill": list("aabb"), "job": list("xxyy")})
    *_, matched = coverage(manifest_of(), {"microdata": rows}, original)
    assert (matched.holds, matched.measured, matched.witness) == (False, 3.0, "group 1")
    assert matched.note == ("by matching, exactly: 3 published rows, one of them there, cover only 2 original rows")


def test_each_secret_alone_needs_a_matching_and_the_weakest_is_told() -> None:
    """ill fits nobody of the first group, job everybody; then the other way round."""
    other = pl.DataFrame({"age": [1, 2, 3, 4], "ill": list("bbaa"), "job": list("xyyx")})
    *_, matched = coverage(manifest_of(False), {"microdata": pl.DataFrame(ROWS)}, other)
    assert (matched.holds, matched.measured, matched.witness) == (False, 2.0, "group 1")
    assert str(matched.note).startswith("by matching, exactly for each sensitive attribute alone: ")
    other = pl.DataFrame({"age": [1, 2, 3, 4], "ill": list("abab"), "job": list("xxyy")})
    *_, matched = coverage(manifest_of(False), {"microdata": pl.DataFrame(ROWS)}, other)
    assert (matched.holds, matched.measured) == (False, 2.0)
    *_, matched = coverage(manifest_of(False), {"microdata": pl.DataFrame(ROWS)}, ORIGINAL)
    assert matched.note == "by matching, exactly for each sensitive attribute alone"


def test_one_secret_or_none_is_matched_once() -> None:
    for names in (["age", "ill", "group"], ["age", "group"]):
        described = info("microdata", [column for column in COLUMNS if column.name in names])
        finding = covered(described, pl.DataFrame(ROWS).select(names), ORIGINAL, linked=False, keep=())
        assert (finding.holds, finding.note) == (True, "by matching, exactly")


def test_a_table_without_groups_names_the_row() -> None:
    described = info("t1", [column for column in COLUMNS if column.name in ("age", "ill")])
    rows = pl.DataFrame({"age": ["[1, 2]", "9"], "ill": ["a", "b"]})
    finding = covered(described, rows, ORIGINAL, linked=True, keep=())
    assert (finding.holds, finding.witness) == (False, "age = 9, ill = b")


def test_a_search_that_is_stopped_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS", 1)
    *_, matched = coverage(manifest_of(), {"microdata": pl.DataFrame(ROWS)}, ORIGINAL)
    assert (matched.holds, matched.measured) == (True, 4.0)
    assert matched.note == (
        "not exactly: the search for a matching was stopped after 1 steps; 1 rows have a row of their own, "
        "the other 3 were tested one by one"
    )
    apart = coverage(manifest_of(False), {"microdata": pl.DataFrame(ROWS)}, ORIGINAL)[-1]
    assert str(apart.note).startswith("not exactly: ")


def test_of_two_secrets_that_hold_the_one_that_was_not_decided_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody has an illness of their own, which is matched in four steps; all have one job, and rows bid for it."""
    original = pl.DataFrame({"age": [1, 2, 3, 4], "ill": list("abcd"), "job": list("xxxx")})
    rows = pl.DataFrame(ROWS | {"age": ["[1, 4]", "[1, 3]", "[1, 2]", "1"], "ill": list("dcba"), "job": list("xxxx")})
    monkeypatch.setattr(module, "STEPS", 4)
    *_, matched = coverage(manifest_of(False), {"microdata": rows}, original)
    assert matched.holds
    assert str(matched.note).startswith("not exactly: ")
    monkeypatch.setattr(module, "STEPS", 100)
    assert str(coverage(manifest_of(False), {"microdata": rows}, original)[-1].note).startswith("by matching, exactly")


def test_shuffled_columns_share_the_steps_of_one_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are, an audit takes no longer than a search for one."""
    asked: list[int] = []
    matched = module._matched

    def counted(*given: Any) -> Any:
        asked.append(given[-1])
        return matched(*given)

    monkeypatch.setattr(module, "_matched", counted)
    assert all(finding.holds for finding in coverage(manifest_of(False), {"microdata": pl.DataFrame(ROWS)}, ORIGINAL))
    assert asked == [module.STEPS // 2] * 2


def test_of_several_columns_the_finding_that_says_most_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A column of which the search was stopped, though as many rows were placed as of the others."""
    notes = iter(["by matching, exactly for each sensitive attribute alone", "not exactly"])
    monkeypatch.setattr(module, "_matched", lambda *_: Finding("covers", True, 4.0, 4.0, note=next(notes)))
    found = coverage(manifest_of(False), {"microdata": pl.DataFrame(ROWS)}, ORIGINAL)[-1]
    assert found.note == "not exactly"


def test_capitals_make_another_quasi_identifier_only_where_the_manifest_says_so() -> None:
    shown = columns(sex="quasi", ill="sensitive", group="group")
    rows = pl.DataFrame({"sex": ["f", "f"], "ill": ["a", "b"], "group": [1, 1]})
    original = pl.DataFrame({"sex": ["F", "f"], "ill": ["a", "b"]})
    assert covered(info("microdata", shown), rows, original, True, []).holds
    assert not covered(info("microdata", shown), rows, original, True, ["sex"]).holds
