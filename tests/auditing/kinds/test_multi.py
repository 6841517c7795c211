"""`multi` releases that somebody edited: tables that cannot tell of the same people, rules that are not the claims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from pluralis.auditing import audit
from pluralis.release.manifest import ColumnInfo, Manifest
from pluralis.release.release import Release, canonical_order
from support.handmade_multi_releases import Sub, multi_release

PEOPLE = pl.DataFrame(
    {
        "sex": list("fmfmfm"),
        "job": list("abcabc"),
        "zip": [1, 2, 3, 4, 5, 6],
        "ill": ["flu", "flu", "hiv", "hiv", "tbc", "tbc"],
    }
)
SUBS = [
    Sub(["sex", "job"]),
    Sub(["sex", "zip"], ["zip"], [1, 2, 1, 2, 1, 2]),
    Sub(["job", "ill"], ["ill"], [1, 2, 1, 2, 1, 2]),
]
RULES = ["sex -> zip : l=3", "job -> ill : l=2", "zip -> ill : l=2"]
Change = Callable[[dict[str, Any], dict[str, pl.DataFrame]], None]


def release_of() -> Release:
    return multi_release(PEOPLE.to_dicts(), SUBS, RULES)


def edited(change: Change, release: Release | None = None) -> Release:
    release = release or release_of()
    plain, tables = release.manifest.model_dump(mode="json", exclude_none=True), dict(release.tables)
    change(plain, tables)
    return Release(Manifest.model_validate(plain), tables)


def test_rules_are_a_list() -> None:
    def no_list(plain: dict[str, Any], tables: dict[str, pl.DataFrame]) -> None:
        plain["parameters"]["rules"] = {"sex": "zip"}

    with pytest.raises(ValidationError, match=r"parameters\.rules"):
        edited(no_list)


def info(plain: dict[str, Any], name: str) -> dict[str, Any]:
    table: dict[str, Any] = next(info for info in plain["tables"] if info["name"] == name)
    return table


def swapped(name: str, **columns: pl.Series | list[Any]) -> Change:
    """A table with other values in some columns, in order."""

    def change(_: dict[str, Any], tables: dict[str, pl.DataFrame]) -> None:
        series = [pl.Series(column, values) for column, values in columns.items()]
        tables[name] = canonical_order(tables[name].with_columns(series))

    return change


def test_a_release_that_is_right_holds_with_its_original() -> None:
    verdict = audit(release_of(), original=PEOPLE)
    assert verdict.holds
    claims = [finding.claim for finding in verdict.findings]
    assert claims[5:] == [
        "published and suppressed rows are the rows of the original",
        "t1: every published row has the quasi-identifiers of a row of its own in the original",
        "t2_quasi: every published row has the quasi-identifiers of a row of its own in the original",
        "no zip is invented in t2_sensitive",
        "t3_quasi: every published row has the quasi-identifiers of a row of its own in the original",
        "no ill is invented in t3_sensitive",
        "t2_sensitive: the sensitive values of every group are those of rows of the original that can be in it",
        "t3_sensitive: the sensitive values of every group are those of rows of the original that can be in it",
    ]


def test_another_original_is_noticed() -> None:
    other = PEOPLE.with_columns(zip=pl.col("zip") + 1, job=pl.Series(list("abcabd")))
    failures = [finding.claim for finding in audit(release_of(), original=other).failures]
    assert failures == [
        "t1: every published row has the quasi-identifiers of a row of its own in the original",
        "no zip is invented in t2_sensitive",
        "t3_quasi: every published row has the quasi-identifiers of a row of its own in the original",
        "t2_sensitive: the sensitive values of every group are those of rows of the original that can be in it",
        "t3_sensitive: the sensitive values of every group are those of rows of the original that can be in it",
    ]


# what is refused ------------------------------------------------------------------------------------------------


def renamed(plain: dict[str, Any], tables: dict[str, pl.DataFrame]) -> None:
    info(plain, "t1")["name"] = "t4"
    tables["t4"] = tables.pop("t1")


def a_table_twice(plain: dict[str, Any], _: dict[str, pl.DataFrame]) -> None:
    """One of the two would be read and the other one judged."""
    plain["tables"].append(info(plain, "t1") | {"file": "other.parquet"})


def half_a_part(plain: dict[str, Any], tables: dict[str, pl.DataFrame]) -> None:
    plain["tables"].remove(info(plain, "t2_quasi"))
    del tables["t2_quasi"]


def a_row_less(_: dict[str, Any], tables: dict[str, pl.DataFrame]) -> None:
    tables["t1"] = tables["t1"].head(-1)


def out_of_order(_: dict[str, Any], tables: dict[str, pl.DataFrame]) -> None:
    tables["t1"] = tables["t1"].reverse()


def no_group(_: dict[str, Any], tables: dict[str, pl.DataFrame]) -> None:
    tables["t2_quasi"] = canonical_order(tables["t2_quasi"].with_columns(group=pl.lit(None, pl.Int64)))


def shown_beside(plain: dict[str, Any], tables: dict[str, pl.DataFrame]) -> None:
    """The part that hides zip shows it too."""
    tables["t2_quasi"] = canonical_order(tables["t2_quasi"].with_columns(zip=pl.Series([1, 3, 5, 2, 4, 6])))
    column = ColumnInfo(name="zip", role="quasi", type="number", attribute="zip", exact=True)
    info(plain, "t2_quasi")["columns"].append(column.model_dump(mode="json", exclude_none=True))


def another_name(plain: dict[str, Any], tables: dict[str, pl.DataFrame]) -> None:
    """job under a name that no other table has."""
    info(plain, "t1")["columns"][1]["name"] = "trade"
    tables["t1"] = tables["t1"].rename({"job": "trade"})


def labels_in_the_open(plain: dict[str, Any], _: dict[str, pl.DataFrame]) -> None:
    del info(plain, "t1")["columns"][0]["exact"]


def a_rule_less(plain: dict[str, Any], _: dict[str, pl.DataFrame]) -> None:
    plain["parameters"]["rules"].pop()


def a_claim_less(plain: dict[str, Any], _: dict[str, pl.DataFrame]) -> None:
    plain["claims"].pop()


def an_attribute_less(plain: dict[str, Any], _: dict[str, pl.DataFrame]) -> None:
    """No rule, claim or l speaks of zip any more, which t2 hides."""
    plain["claims"] = [claim for claim in plain["claims"] if claim["attribute"] != "zip"]
    plain["parameters"]["rules"] = [rule for rule in plain["parameters"]["rules"] if "-> zip" not in rule]
    del plain["parameters"]["l"]["zip"]


def nothing_claimed(plain: dict[str, Any], _: dict[str, pl.DataFrame]) -> None:
    plain["parameters"]["l"]["job"] = 2


def a_larger_l(plain: dict[str, Any], _: dict[str, pl.DataFrame]) -> None:
    plain["parameters"]["l"]["zip"] = 2


def a_broken_rule(plain: dict[str, Any], _: dict[str, pl.DataFrame]) -> None:
    plain["parameters"]["rules"][0] = "sex, zip"


def a_broken_dependency(plain: dict[str, Any], _: dict[str, pl.DataFrame]) -> None:
    plain["parameters"]["dependencies"] = ["zip"]


def another_claim(plain: dict[str, Any], _: dict[str, pl.DataFrame]) -> None:
    claim = {
        "rule": "2-anonymity: every group has at least 2 rows",
        "model": "k-anonymity",
        "adversary": ["sex"],
        "k": 2,
    }
    plain["claims"].append(claim)


REFUSED: dict[str, tuple[Change, str]] = {
    "a gap in the numbers": (renamed, "files are not called like their tables."),
    "a table twice": (a_table_twice, "two tables have the same name"),
    "half a part": (half_a_part, "a multi release has the tables"),
    "a row less": (a_row_less, "the manifest says 6 rows, t1 has 5."),
    "rows out of order": (out_of_order, "t1: rows are not in canonical order"),
    "rows without a group": (no_group, "t2_quasi: groups are not numbered from 1 without gaps."),
    "other sizes of groups": (swapped("t2_quasi", group=[1, 1, 1, 1, 2, 2]), "t2_sensitive: its counts are not"),
    "people who differ": (swapped("t1", job=list("aabbbc")), "t1 and t3_quasi do not tell of the same people: job"),
    "shown and hidden": (shown_beside, "t2_quasi shows zip, which t2_sensitive hides."),
    "another name": (another_name, "t1: the column 'trade' is not called what it holds."),
    "labels in the open": (labels_in_the_open, "t1: the column 'sex' holds labels"),
    "a rule less": (a_rule_less, "the claims are not the rules of the parameters."),
    "a claim less": (a_claim_less, "the claims are not the rules of the parameters."),
    "an attribute less": (an_attribute_less, "do not protect the same attributes."),
    "nothing claimed": (nothing_claimed, "nothing is claimed of job."),
    "a larger l": (a_larger_l, "has another l than the parameters."),
    "a broken rule": (a_broken_rule, "is neither a rule nor a dependency"),
    "a broken dependency": (a_broken_dependency, "neither a rule nor a dependency"),
    "another claim": (another_claim, "a multi release claims its rules and nothing else."),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_edited_release_is_refused(name: str) -> None:
    change, message = REFUSED[name]
    (finding,) = audit(edited(change)).findings
    assert not finding.holds
    assert message in str(finding.note)


def test_parts_that_agree_column_by_column_but_not_together_are_refused() -> None:
    """Both tell of two f, two m, two a and two b; one of (f, a), the other of (f, b)."""
    people = [{"sex": sex, "job": job, "x": x} for sex, job, x in ["fa1", "fa2", "mb1", "mb2"]]
    release = multi_release(people, [Sub(["sex", "job"]), Sub(["sex", "job", "x"])], ["sex -> x : l=2"])
    other = canonical_order(release.tables["t1"].with_columns(job=pl.Series(list("bbaa"))))
    (finding,) = audit(Release(release.manifest, release.tables | {"t1": other})).findings
    assert finding.note == "t1 and t2 do not tell of the same people: job, sex differ."


def test_a_rule_may_ask_for_less_than_another() -> None:
    release = multi_release(PEOPLE.to_dicts(), SUBS, [*RULES, "job -> zip : l=2"])
    verdict = audit(release)
    assert verdict.holds
    assert release.manifest.parameters.l["zip"] == 3


# generalized parts ----------------------------------------------------------------------------------------------


def generalized(rules: list[str], *more: Sub) -> Release:
    """t1 as it is, t2 with labels of sex and zip beside ill."""
    people = PEOPLE.with_row_index("person").to_dicts()
    release = multi_release(people, [Sub(["job", "sex"]), Sub(["ill", "sex", "zip"]), *more], rules)
    rows = PEOPLE.select(
        sex=pl.lit("{f, m}"),
        zip=pl.col("zip").replace_strict(
            [1, 2, 3, 4, 5, 6], ["[1, 3]", "[2, 5]", "[1, 3]", "[4, 6]", "[2, 5]", "[4, 6]"]
        ),
        ill="ill",
        group=pl.Series([1, 2, 1, 3, 2, 3]),
    )
    columns = (
        ColumnInfo(name="sex", role="quasi", type="text", attribute="sex", domain=("f", "m")),
        ColumnInfo(name="zip", role="quasi", type="number", attribute="zip", domain=(1, 6)),
        ColumnInfo(name="ill", role="sensitive", type="text", attribute="ill", domain=("flu", "hiv", "tbc")),
        ColumnInfo(name="group", role="group", type="number"),
    )
    first, second, *others = release.manifest.tables
    tables = (first, second.model_copy(update={"columns": columns}), *others)
    manifest = release.manifest.model_copy(update={"tables": tables})
    return Release(manifest, release.tables | {"t2": canonical_order(rows)})


def test_a_generalized_part_guards() -> None:
    verdict = audit(generalized(["job, zip -> ill : l=2"]), original=PEOPLE)
    assert verdict.holds
    _, finding, *_ = verdict.findings
    assert (finding.note, finding.measured, finding.witness) == ("guarded by t2", 0.5, "t2, group 1")
    assert [finding.claim for finding in verdict.findings if finding.claim.startswith("t2")] == [
        "t2: no sensitive value is invented",
        "t2: every published row covers a row of its own in the original",
    ]


def test_a_group_under_two_sets_of_labels_is_refused() -> None:
    change = swapped("t2", sex=["f", "m"] * 3)
    (finding,) = audit(edited(change, generalized(["job, zip -> ill : l=2"]))).findings
    assert "t2: some group is published under more than one set of labels." in str(finding.note)


def test_labels_do_not_tell_how_common_a_value_is() -> None:
    """zip stands only as labels: that nobody can reach it does not say that it is diverse."""
    verdict = audit(generalized(["job, zip -> ill : l=2", "person -> zip : l=2"], Sub(["person"])))
    assert verdict.failures[-1].note == (
        "zip cannot be reached from person, but how common its values are cannot be told from labels"
    )
