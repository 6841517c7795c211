"""Forged folders, by their names, claims and values: none of them passes the audit, and none is read.

Whatever is changed, hashes, sizes, domains and README fit again (`forging`): nothing else gives the forger away.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pluralis.auditing import audit
from pluralis.errors import InputError
from pluralis.publishing.pipeline import publish
from pluralis.release.release import Release, canonical_order
from pluralis.table.sources import write_parquet_bytes
from support.forged_folders import METHODS, ONE, PEOPLE, forged, not_read, published, refused, reworded, sealed
from support.handmade_multi_releases import Sub, multi_release
from support.sample_tables import KEY, policy_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "release"


def claim_about(claim: dict[str, Any], *knows: str) -> None:
    claim["adversary"] = sorted(knows)


def by_hand(folder: Path, release: Release) -> Path:
    """A release that no method made, as a folder."""
    folder.mkdir()
    for info in release.manifest.tables:
        (folder / info.file).write_bytes(write_parquet_bytes(release.tables[info.name]))
    manifest = release.manifest.model_copy(update={"method": "gd", "variant": "hardened"})
    return sealed(folder, json.loads(manifest.to_json()))


# F1, F2: names --------------------------------------------------------------------------------------------------------

STRANGE_NAMES = ["Age", "\u0430ge", "age ", "age\u200b", "AGE", "a\u0301ge", "ag\u0435", ""]


@pytest.mark.parametrize("name", STRANGE_NAMES)
def test_an_adversary_who_knows_a_name_that_is_no_attribute_is_refused(folder: Path, name: str) -> None:
    """The whole original in t1, beside a claim about somebody who knows nothing that is in it."""
    people = PEOPLE.select("age", "sex", "disease").to_dicts()
    release = multi_release(people, [Sub(["age", "sex", "disease"])], ["age -> disease : l=2"])

    def rename(manifest: dict[str, Any]) -> None:
        claim_about(manifest["claims"][0], name)
        manifest["parameters"]["rules"] = [f'"{name}" -> disease : l=2' if name else "age -> disease : l=2"]
        reworded(manifest)

    message = refused(forged(by_hand(folder, release), rename))
    assert not_read(folder)
    assert "attribute" in message or "cannot be seen" in message


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("name", STRANGE_NAMES[:4])
def test_such_a_name_is_refused_in_every_kind(folder: Path, method: str, name: str) -> None:
    def rename(manifest: dict[str, Any]) -> None:
        for claim in manifest["claims"]:
            claim_about(claim, *(name if known == "age" else known for known in claim["adversary"]))
        reworded(manifest)

    assert refused(forged(published(folder, method), rename))
    assert not_read(folder)


def test_a_plain_column_cannot_have_the_name_of_what_is_hidden(folder: Path) -> None:
    """`disease` openly in the quasi table; the sensitive column is called `real`, and says that it is disease."""
    published(folder, "anatomy")
    quasi, sensitive = (pl.read_parquet(folder / f"{name}.parquet") for name in ("quasi", "sensitive"))

    def rename(manifest: dict[str, Any]) -> None:
        columns = {info["name"]: info["columns"] for info in manifest["tables"]}
        next(c for c in columns["quasi"] if c["name"] == "ward").update(name="disease", attribute="disease")
        next(c for c in columns["sensitive"] if c["name"] == "disease").update(name="real")

    tables = {
        "quasi.parquet": quasi.rename({"ward": "disease"}),
        "sensitive.parquet": sensitive.rename({"disease": "real"}),
    }
    assert "not called what it holds" in refused(forged(folder, rename, tables))
    assert not_read(folder)


@pytest.mark.parametrize("name", ["Disease", "dis\u0435ase", "disease\u00a0", "DISEASE"])
def test_a_plain_column_that_reads_like_what_is_hidden_is_refused(folder: Path, name: str) -> None:
    published(folder, "anatomy")
    quasi = pl.read_parquet(folder / "quasi.parquet")

    def rename(manifest: dict[str, Any]) -> None:
        column = next(c for c in manifest["tables"][0]["columns"] if c["name"] == "ward")
        column.update(name=name, attribute=name)

    assert refused(forged(folder, rename, {"quasi.parquet": quasi.rename({"ward": name})}))
    assert not_read(folder)


def test_an_attribute_under_another_name_is_refused(folder: Path) -> None:
    published(folder, "bsgi")

    def rename(manifest: dict[str, Any]) -> None:
        next(c for c in manifest["tables"][0]["columns"] if c["name"] == "ward")["attribute"] = "sex"

    assert "not called what it holds" in refused(forged(folder, rename))


# claims follow from the parameters ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["bsgi", "anatomy", "msb", "decomposition", "sloms"])
def test_a_claim_that_is_missing_is_noticed(folder: Path, method: str) -> None:
    published(folder, method, adversaries=[["age", "sex", "ward"]])
    claims = json.loads((folder / "manifest.json").read_text())["claims"]
    (gone,) = [i for i, c in enumerate(claims) if c["adversary"] == ["age", "sex", "ward"]][:1]
    assert "nothing is claimed of" in refused(forged(folder, lambda m: m["claims"].pop(gone)))


def test_a_claim_that_the_policy_did_not_ask_for_is_noticed(folder: Path) -> None:
    published(folder, "bsgi", adversaries=[["age", "sex", "ward"]])
    assert "not in the parameters" in refused(forged(folder, lambda m: m["parameters"].pop("adversaries")))


def test_the_size_of_groups_follows_from_the_parameters(folder: Path) -> None:
    published(folder, "bsgi", k=2)
    assert "size of groups" in refused(forged(folder, lambda m: m["parameters"].update(k=3)))


def test_the_model_follows_from_the_parameters(folder: Path) -> None:
    published(folder, "bsgi")

    def weaker(manifest: dict[str, Any]) -> None:
        manifest["claims"][0]["model"] = "distinct"
        reworded(manifest)

    assert "another model" in refused(forged(folder, weaker))


def test_a_claim_made_twice_is_refused(folder: Path) -> None:
    published(folder, "bsgi")
    assert "twice" in refused(forged(folder, lambda m: m["claims"].append(m["claims"][0])))


# F3: spellings --------------------------------------------------------------------------------------------------------

ONE_VALUE = [
    ["5", "5.0", "5.00"],
    ["FLU", "Flu", "flu"],
    ["flu", "flu ", " flu"],
    ["flu", "ｆｌｕ", "f\u200blu"],
    ["1.5", "1.50", "1.500"],
]


def spelled(table: pl.DataFrame, column: str, texts: list[str]) -> pl.DataFrame:
    """The table with its different values in other words, in canonical order again."""
    cells = table[column]
    if isinstance(cells.dtype, pl.List):
        new = dict(zip(cells.explode().unique().sort(), texts, strict=False))
        lists = [sorted(new[value] for value in values) for values in cells.to_list()]
        members = sorted({value for values in lists for value in values})
        return table.with_columns(pl.Series(column, lists, dtype=pl.List(pl.Enum(members))))
    new = dict(zip(cells.unique().sort(), texts, strict=False))
    return canonical_order(table.with_columns(cells.replace(new)))


@pytest.mark.parametrize("texts", ONE_VALUE, ids="/".join)
@pytest.mark.parametrize(
    ("method", "file", "column"),
    [
        ("bsgi", "microdata.parquet", "disease"),
        ("anatomy", "sensitive.parquet", "disease"),
        ("msb", "sensitive.parquet", "disease"),
        ("randomized-addition", "microdata.parquet", "disease"),
    ],
)
def test_spellings_of_one_value_are_not_several_values(
    folder: Path, method: str, file: str, column: str, texts: list[str]
) -> None:
    published(folder, method)
    table = spelled(pl.read_parquet(folder / file), column, texts)

    def mend(manifest: dict[str, Any]) -> None:
        if method == "randomized-addition":
            manifest["parameters"]["addition"]["disease"]["values"] = sorted(texts)
            next(c for c in manifest["tables"][0]["columns"] if c["name"] == "disease")["domain"] = sorted(texts)

    assert refused(forged(folder, mend, {file: table}))
    assert not_read(folder)


@pytest.mark.parametrize("texts", [*ONE_VALUE, ["[0, 10]", "[5, 15]", "[8, 20]"]], ids="/".join)
@pytest.mark.parametrize("attribute", ["disease", "stay"])
@pytest.mark.parametrize("method", ["decomposition", "msb"])
def test_nor_where_attributes_stand_apart(folder: Path, method: str, attribute: str, texts: list[str]) -> None:
    """Values of several attributes in one column, as text."""
    adversaries = [["age", "sex", "disease"]] if method == "msb" else None
    published(folder, method, adversaries=adversaries)
    file = "values.parquet" if method == "decomposition" else "sensitive.parquet"
    table = pl.read_parquet(folder / file)
    assert "attribute" in table.columns
    own = table["attribute"] == attribute
    old = table.filter(own)["value"].unique().sort()
    new = pl.when(pl.col("attribute") == attribute).then(pl.col("value").replace(dict(zip(old, texts, strict=False))))
    table = canonical_order(table.with_columns(new.otherwise("value").alias("value")))

    def mend(manifest: dict[str, Any]) -> None:
        described = manifest["parameters"].get("domains", {}).get(attribute)
        if described and described["type"] == "text":
            described["domain"] = sorted(table.filter(pl.col("attribute") == attribute)["value"].unique())

    assert refused(forged(folder, mend, {file: table}))
    assert not_read(folder)


def test_spelling_that_makes_another_value_is_told(folder: Path) -> None:
    """A forger may say that Flu and flu are two diseases, as an honest policy may; the verdict tells of it."""
    published(folder, "anatomy")
    table = spelled(pl.read_parquet(folder / "sensitive.parquet"), "disease", ["FLU", "Flu", "flu"])
    forged(folder, lambda m: m["parameters"].update(case=["disease"]), {"sensitive.parquet": table})
    remarks = [finding for finding in audit(folder).findings if not finding.binding and not finding.holds]
    assert [finding.claim for finding in remarks] == ["disease: no two values differ in spelling alone"]


def test_one_number_in_two_ways_is_refused_before_it_is_published() -> None:
    people = PEOPLE.with_columns(disease=pl.Series(["250", "250.0", "401"] * 4))
    policy = policy_of(ONE, others="drop", method="anatomy")
    with pytest.raises(InputError, match=r"'250' and '250.0'.*case: keep"):
        publish(people, policy, key=KEY)
    kept = {**ONE, "disease": {"role": "sensitive", "l": 2, "case": "keep"}}
    assert audit(publish(people, policy_of(kept, others="drop", method="anatomy"), key=KEY)).holds
    codes = people.with_columns(disease=pl.Series(["025", "25", "401"] * 4))  # a leading zero makes a code
    assert audit(publish(codes, policy, key=KEY)).holds


@pytest.mark.parametrize("method", sorted(METHODS))
def test_what_such_tables_never_stop_cannot_be_left_out_of_breaks(folder: Path, method: str) -> None:
    breaks = json.loads((published(folder, method) / "manifest.json").read_text())["breaks"]
    required = ["membership", *(["linkage"] if method not in ("bsgi", "sloms") else [])]
    for i, name in enumerate(required):
        place = published(folder.with_name(f"release{i}"), method)
        kept = [item for item in breaks if not item.startswith(name)]
        assert len(kept) < len(breaks)
        assert f"it does not say that it does not stop: {name}" in refused(
            forged(place, lambda m, kept=kept: m.update(breaks=kept))
        )


def test_left_out_rows_are_told_where_there_are_some(folder: Path) -> None:
    assert "suppressed rows" in refused(forged(published(folder, "bsgi"), lambda m: m.update(suppressed=3)))
