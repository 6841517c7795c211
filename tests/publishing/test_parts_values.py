"""What is done to values before anything else is decided with all rows: parts do it as a table in memory does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import pluralis as pls
from pluralis.engines import published_rows
from pluralis.errors import Infeasible, InputError, PolicyError
from pluralis.release.reading import manifest_of
from pluralis.table.encoding import encode
from support.releases_in_parts import ROWS, digests, people, published, written_in_files

FEW = ("gout", "rash", "warts", "mumps")
ICD = ("250.01", "250.02", "251.3", "401.9", "402.11", "V22", "E812")


def policy(ill: dict[str, Any] | None = None, method: str = "anatomy", **more: Any) -> pls.Policy:
    quasi = {"age": {"type": "number"}, "sex": {}}
    keys: dict[str, Any] = {"quasi": quasi, "sensitive": {"ill": {"l": 2, **(ill or {})}}, "suppress": 0.2, **more}
    return pls.Policy(others="drop", method=method, **keys)


def with_few(rows: int = ROWS) -> pl.DataFrame:
    """People of whom 1, 3, 5 and 7 have something rare."""
    ill = ["d0"] * rows
    table = people(rows)
    ill = table["ill"].to_list()
    place = 0
    for text, number in zip(FEW, (1, 3, 5, 7), strict=True):
        ill[place : place + number] = [text] * number
        place += 60
    return table.with_columns(ill=pl.Series(ill))


def values_in_parts(folder: Path, name: str, table: str = "sensitive") -> pl.DataFrame:
    """Each value of a column, and how many rows of all parts hold it."""
    rows = pl.read_parquet(folder / "part-*" / f"{table}.parquet")
    people = pl.col("count").sum() if "count" in rows.columns else pl.len()
    return rows.group_by(pl.col(name).cast(pl.String)).agg(people.cast(pl.Int64).alias("rows")).sort(name)


def values_in_memory(table: pl.DataFrame, asked: pls.Policy, name: str) -> pl.DataFrame:
    """The same of the table as it is encoded in memory."""
    column = encode(table, asked)[name]
    held = {column.text(code): int(rows) for code, rows in enumerate(column.counts) if rows}
    return pl.DataFrame({name: pl.Series([*held], dtype=pl.String), "rows": pl.Series([*held.values()])}).sort(name)


# rare -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["anatomy", "msb", "bsgi", "randomized-addition"])
def test_rare_values_are_counted_in_all_rows(method: str, tmp_path: Path) -> None:
    """d0 has some 33 rows in each part, and is common; gout, rash and warts are rare, and mumps has 7 rows."""
    asked = policy({"rare": {"below": 7, "as": "elsewhere"}}, method)
    made = published(with_few(), asked, tmp_path / "release")
    assert made.verdict.holds
    assert len(made.manifest.parts) > 1
    assert pls.audit(tmp_path / "release", allow_test=True).holds
    if method in ("anatomy", "msb"):
        shown = values_in_parts(tmp_path / "release", "ill")
        assert shown.equals(values_in_memory(with_few(), asked, "ill"))
        assert shown.filter(pl.col("ill") == "elsewhere")["rows"].item() == 9
    text = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "release").rglob("*.json"))
    assert "mumps" in text
    assert not any(rare in text for rare in FEW[:3])
    assert "ill: 3 rare values, in 9 rows, published as 'elsewhere'." in made.notes
    assert sum("rare values" in note for note in made.notes) == 1
    manifest = manifest_of(tmp_path / "release" / "part-00002")
    assert manifest.parameters.recodings["ill"].rare.all_parts  # type: ignore[union-attr]
    assert "fewer than 7 rows of all parts held" in (tmp_path / "release/part-00002/README.md").read_text()


def test_rows_that_are_dropped_are_not_counted(tmp_path: Path) -> None:
    """Of 7 people with mumps 5 are published."""
    cost = (
        pl.when(pl.int_range(ROWS).is_in([180, 181])).then(pl.lit(" ? ")).otherwise(pl.format("c{}", pl.col("age") % 9))
    )
    table = with_few().with_columns(cost=cost)
    sensitive = {"ill": {"l": 2, "rare": {"below": 6}}, "cost": {"l": 2, "if_missing": "drop"}}
    asked = policy(sensitive=sensitive, missing=["", "?"], method="msb")
    made = published(table, asked, tmp_path / "release", part=400)
    assert made.manifest.suppressed >= 2
    shown = values_in_parts(tmp_path / "release", "ill")
    assert "mumps" not in shown["ill"].to_list()
    held = values_in_memory(table, asked, "ill")
    assert shown["ill"].to_list() == held["ill"].to_list()


@pytest.mark.parametrize("tree", [None, {"icd": 9}, {"mask": "right"}])
def test_quasi_identifiers_are_joined_along_hierarchies(tree: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    codes = rng.choice(ICD, ROWS, p=[0.3, 0.005, 0.005, 0.3, 0.005, 0.3, 0.085])
    table = people().with_columns(code=pl.Series(codes))
    quasi = {"age": {"type": "number"}, "code": {"rare": {"below": 20, "along": {"icd": 9}}, "hierarchy": tree}}
    asked = pls.Policy(quasi=quasi, sensitive={"ill": 2}, others="drop", method="anatomy", suppress=0.2)
    made = published(table, asked, tmp_path / "release")
    assert (made.verdict.holds, len(made.manifest.parts)) == (True, 3)
    assert values_in_parts(tmp_path / "release", "code", "quasi").equals(values_in_memory(table, asked, "code"))
    assert pls.audit(tmp_path / "release", allow_test=True).holds
    made = published(table, asked.override(method="mondrian"), tmp_path / "labels")
    assert pls.audit(tmp_path / "labels", allow_test=True).holds
    assert pls.read_parts(tmp_path / "labels").count("code = '401.9'").value > 0


def test_a_tree_of_columns_has_the_joined_value_too(tmp_path: Path) -> None:
    """Rare codes of several chapters become other, which belongs to none of them."""
    rng = np.random.default_rng(1)
    codes = rng.choice(ICD, ROWS, p=[0.3, 0.005, 0.005, 0.3, 0.005, 0.3, 0.085])
    table = people().with_columns(code=pl.Series(codes), chapter=pl.Series([code[0] for code in codes]))
    tree = {"rare": {"below": 20}, "hierarchy": {"columns": ["code", "chapter"]}}
    asked = pls.Policy(quasi={"age": {"type": "number"}, "code": tree}, sensitive={"ill": 2}, others="drop")
    made = published(table, asked.override(method="mondrian"), tmp_path / "release")
    assert (made.verdict.holds, len(made.manifest.parts)) == (True, 3)
    assert pls.audit(tmp_path / "release", allow_test=True).holds
    joined = values_in_memory(table, asked, "code").filter(pl.col("code") == "other")["rows"].item()
    counted = pls.read_parts(tmp_path / "release").count("code = 'other'")
    assert counted.least <= joined <= counted.most


def test_what_is_no_code_is_refused_without_a_row(tmp_path: Path) -> None:
    table = people().with_columns(code=pl.when(pl.int_range(ROWS) == 7).then(pl.lit("gout")).otherwise(pl.lit("401.9")))
    quasi = {"age": {"type": "number"}, "code": {"rare": {"below": 20, "along": {"icd": 9}}}}
    asked = pls.Policy(quasi=quasi, sensitive={"ill": 2}, others="drop", method="anatomy")
    with pytest.raises(InputError, match="'code' holds 'gout', which is no ICD-9 code"):
        published(table, asked, tmp_path / "release")
    columns = {"age": {"type": "number"}, "ward": {"rare": {"below": 20, "along": {"columns": ["sex"]}}}}
    with pytest.raises(PolicyError, match="known row by row only"):
        published(table, pls.Policy(quasi=columns, sensitive={"ill": 2}, others="drop"), tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


def test_columns_that_make_a_tree_say_the_same_in_all_parts(tmp_path: Path) -> None:
    """zz is of one chapter in one row and of another one in a second row, which may be in another part."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 30, ROWS)
    table = people().with_columns(
        code=pl.format("c{}", pl.Series(codes)), chapter=pl.format("ch{}", pl.Series(codes // 5))
    )
    row = pl.int_range(ROWS)
    tree = {"age": {"type": "number"}, "code": {"hierarchy": {"columns": ["code", "chapter"]}}}
    asked = policy(quasi=tree, method="mondrian")
    assert published(table, asked, tmp_path / "same").verdict.holds
    said = set()
    for age in (20, 21, 24):
        changed = table.with_columns(
            age=pl.when(row == 0).then(age).when(row == 1).then(59).otherwise("age"),
            code=pl.when(row < 2).then(pl.lit("zz")).otherwise("code"),
            chapter=pl.when(row == 0).then(pl.lit("ch0")).when(row == 1).then(pl.lit("ch5")).otherwise("chapter"),
        )
        with pytest.raises((Infeasible, InputError)) as refused:
            published(changed, asked, tmp_path / "other")
        said.add(str(refused.value).partition("zz")[0])
    assert said == {"code: what is wider than '", "'code' does not decide 'chapter': '"}


def test_a_mask_may_have_more_levels_in_one_part(tmp_path: Path) -> None:
    codes = pl.Series(np.random.default_rng(0).choice(["1", "12", "123", "4567"], ROWS))
    table = people().with_columns(code=pl.when(pl.int_range(ROWS) == 0).then(pl.lit("999999999")).otherwise(codes))
    tree = {"age": {"type": "number"}, "code": {"hierarchy": {"mask": "right"}}}
    made = published(table, policy(quasi=tree, method="mondrian"), tmp_path / "release")
    assert len(made.manifest.parts) == 3
    assert pls.audit(tmp_path / "release", allow_test=True).holds


# what rows must have ----------------------------------------------------------------------------------------------


def test_rows_that_cannot_be_published_are_counted_in_all_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows stand elsewhere once they are read in pieces, so that none is named by its number."""
    monkeypatch.setattr("pluralis.engines.sizes.CHUNK", 97)
    row, age = pl.int_range(ROWS), pl.col("age").cast(pl.String)
    bad = people().with_columns(age=pl.when(row == 777).then(pl.lit("x")).otherwise(age))
    with pytest.raises(InputError, match="'age' is a number in the policy, a row holds 'x'"):
        published(bad, policy(), tmp_path / "release")
    gaps = people().with_columns(ill=pl.when(~row.is_in([1, 700, 900])).then("ill"))
    with pytest.raises(InputError, match=r"'ill' is sensitive and missing, 3 times\. Add if_missing"):
        published(gaps, policy(), tmp_path / "release")
    cost = {"cost": {"type": "number", "l": 2}}
    with pytest.raises(InputError, match=r"'cost' is sensitive and missing, 9 times\. Add if_missing"):
        published(people().with_columns(cost=pl.when(row > 8).then(row)), policy(sensitive=cost), tmp_path / "release")
    nothing = people().with_columns(ill=pl.lit(None, pl.String))
    with pytest.raises(InputError, match=r"Every row misses a sensitive value\."):
        published(nothing, policy({"if_missing": "drop"}), tmp_path / "release")
    with pytest.raises(InputError, match=r"The table has no rows\."):
        published(people().head(0), policy(), tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


# quantiles --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["quasi", "sensitive"])
@pytest.mark.parametrize("kind", ["whole", "decimals", "mixed"])
def test_quantiles_are_those_of_all_rows(role: str, kind: str, tmp_path: Path) -> None:
    """In some chunks all numbers are whole, and in some they are not."""
    rng = np.random.default_rng(7)
    cost = np.round(rng.exponential(900, ROWS), 0 if kind == "whole" else 1)
    if kind == "mixed":
        cost[: ROWS // 2] = np.floor(cost[: ROWS // 2])
    table = people().with_columns(cost=pl.Series(cost))
    own = {"cost": {"type": "number", "bins": {"quantiles": 7}}}
    asked = policy(quasi={"age": {"type": "number"}, **(own if role == "quasi" else {})},
                   sensitive={"ill": 2, **({"cost": {"l": 2, **own["cost"]}} if role == "sensitive" else {})},
                   method="msb")  # fmt: skip
    made = published(table, asked, tmp_path / "release")
    breaks = encode(table, asked)["cost"].breaks
    assert len(made.manifest.parts) == 3
    for info in made.manifest.parts:
        recoding = manifest_of(tmp_path / "release" / info.folder).parameters.recodings["cost"]
        assert list(recoding.breaks or ()) == [*breaks]
    assert len(made.manifest.orders["cost"]) == 7
    assert pls.read_parts(tmp_path / "release").count(f"cost >= {breaks[3]}").value == pytest.approx(
        int((table["cost"] >= breaks[3]).sum())
    )


def test_quantiles_are_of_rows_that_have_every_sensitive_value(tmp_path: Path) -> None:
    table = people().with_columns(cost=pl.int_range(ROWS), ill=pl.when(pl.int_range(ROWS) > 99).then("ill"))
    own = {"type": "number", "bins": {"quantiles": 4}}
    asked = policy({"if_missing": "drop"}, quasi={"age": {"type": "number"}, "cost": own})
    published(table, asked, tmp_path / "release")
    recoding = manifest_of(tmp_path / "release" / "part-00001").parameters.recodings["cost"]
    assert list(recoding.breaks or ()) == [*encode(table, asked)["cost"].breaks] == [375, 650, 925]


def test_numbers_that_cannot_be_divided_or_held_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = policy(quasi={"cost": {"type": "number", "bins": {"quantiles": 4}}})
    with pytest.raises(PolicyError, match="its numbers are all the same"):
        published(people().with_columns(cost=pl.lit(3)), asked, tmp_path / "release")
    monkeypatch.setattr(published_rows, "MOST_NUMBERS", 1_000)
    with pytest.raises(InputError, match="'cost' has more than 1,000 different numbers"):
        published(people().with_columns(cost=pl.int_range(ROWS)), asked, tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


# bounds of single values ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["anatomy", "bsgi", "mondrian", "incognito", "kaca"])
def test_bounds_of_values_are_kept_in_every_part(method: str, tmp_path: Path) -> None:
    table = people().with_columns(ill=pl.when(pl.col("ill") == "d1").then(pl.lit("Yes")).otherwise(pl.lit("No")))
    asked = pls.Policy(
        quasi={"age": {"type": "number"}, "sex": {}}, sensitive={"ill": {"at_most": {"yes": "1/5"}}}, others="drop",
        method=method, k=4 if method in ("mondrian", "incognito", "kaca") else None,
    )  # fmt: skip
    made = published(table, asked, tmp_path / "release")
    assert (made.verdict.holds, len(made.manifest.parts)) == (True, 3)
    verdict = pls.audit(tmp_path / "release", allow_test=True)
    bounded = next(finding for finding in verdict.findings if finding.claim == "P(ill = Yes | age, sex) ≤ 1/5")
    assert bounded.holds
    assert 0 < (bounded.measured or 0) <= 1 / 5


@pytest.mark.parametrize("workers", [0, 1])
def test_parts_without_a_bounded_value_are_refused_and_not_joined(workers: int, tmp_path: Path) -> None:
    """Of four people with Yes all are of one age, and so in one shard. To join others with it would tell that."""
    yes = (pl.col("age") == 30) & (pl.col("age").cum_count().over("age") <= 4)
    table = people().with_columns(ill=pl.when(yes).then(pl.lit("Yes")).otherwise("ill"))
    asked = pls.Policy(
        quasi={"age": {"type": "number"}}, sensitive={"ill": {"l": 2, "at_most": {"Yes": "1/9"}}}, others="drop",
        method="mondrian",
    )  # fmt: skip
    with pytest.raises(Infeasible, match=r"no row holds 'Yes'.* in a part of the table.*--engine memory"):
        published(table, asked, tmp_path / "release", part=300, workers=workers)
    assert list(tmp_path.iterdir()) == []


def test_bounds_of_bins_are_kept_in_every_part(tmp_path: Path) -> None:
    own = {"type": "number", "bins": {"quantiles": 5}, "at_most": {">=53": "1/3"}}
    asked = pls.Policy(quasi=["sex", "ward"], sensitive={"age": own}, others="drop", method="mondrian", k=4)
    breaks = encode(people(), asked)["age"].breaks
    assert breaks[-1] == 53
    table = people().with_columns(ward=pl.format("w{}", pl.int_range(ROWS) % 50))
    made = published(table, asked, tmp_path / "release")
    assert (made.verdict.holds, len(made.manifest.parts)) == (True, 3)
    assert "P(age = >=53 | sex, ward) ≤ 1/3" in made.manifest.claims


def test_rows_that_each_lack_another_value_are_no_part(tmp_path: Path) -> None:
    """Of those of some ages one half lacks one value and the other half the other: their shard is joined."""
    young, odd = pl.col("age") < 45, pl.int_range(ROWS) % 2 == 0
    table = people().with_columns(ill=pl.when(~young | odd).then("ill"), ward=pl.when(~young | ~odd).then("ward"))
    drop = {"l": 2, "if_missing": "drop"}
    asked = policy(quasi={"age": {"type": "number"}}, sensitive={"ill": drop, "ward": drop}, method="msb")
    made = published(table, asked, tmp_path / "release", part=40)
    assert made.verdict.holds
    assert made.manifest.suppressed >= table.select(young).to_series().sum()


@pytest.mark.parametrize(
    ("value", "bound", "about"),
    [
        ("d1", "1/100", r"'d1' fills \d+ of 1,200 rows .*The smallest bound that works is"),
        ("dd1", "1/2", "no row holds 'dd1'"),
    ],
)
def test_bounds_that_no_part_can_keep_are_refused_at_once(
    value: str, bound: str, about: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("pluralis.engines.local.LocalEngine.route")
    with pytest.raises((Infeasible, PolicyError), match=about):
        published(people(), policy({"at_most": {value: bound}}), tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


def test_a_value_is_common_among_published_rows(tmp_path: Path) -> None:
    """flu fills 60 % of all rows, and a third of those that have a cost."""
    ill = pl.when(pl.int_range(ROWS) < 720).then(pl.lit("flu")).otherwise("ill")
    cost = pl.when(~pl.int_range(ROWS).is_between(100, 720)).then(pl.col("age") % 7)
    table = people().with_columns(ill=ill, cost=cost)
    sensitive = {"ill": 3, "cost": {"l": 2, "type": "number", "if_missing": "drop"}}
    asked = pls.Policy(quasi={"sex": {}, "age": {}}, sensitive=sensitive, others="drop", method="msb")
    assert published(table, asked, tmp_path / "release").verdict.holds


@pytest.mark.parametrize(
    ("method", "ill", "more"),
    [("mondrian", {"model": "distinct"}, {"k": 4}),
     ("randomized-addition", {}, {"options": {"claim": "set-size"}, "variant": "paper", "accept": "set-size"})],
)  # fmt: skip
def test_promises_that_let_a_value_be_common_are_not_refused_for_it(
    method: str, ill: dict[str, Any], more: dict[str, Any], tmp_path: Path
) -> None:
    table = people().with_columns(ill=pl.when(pl.int_range(ROWS) % 3 > 0).then(pl.lit("flu")).otherwise("ill"))
    asked = policy(ill, method, **{"suppress": 0.0, **more})
    assert published(table, asked, tmp_path / "release").verdict.holds


# and all of them --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["anatomy", "bsgi"])
def test_order_of_rows_files_chunks_and_workers_change_no_byte(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(7)
    table = with_few().with_columns(cost=pl.Series(np.round(rng.exponential(900, ROWS), 1)))
    table = table.with_columns(ill=pl.when(pl.col("cost") > 15).then("ill"))
    quasi = {"age": {"type": "number"}, "cost": {"type": "number", "bins": {"quantiles": 5}}}
    asked = policy({"rare": {"below": 7}, "if_missing": "drop", "at_most": {"d1": "1/3"}}, method, quasi=quasi)
    published(table, asked, tmp_path / "one")
    monkeypatch.setattr("pluralis.engines.sizes.CHUNK", 97)
    monkeypatch.setattr("pluralis.engines.sizes.PIECE", 300)
    published(written_in_files(table, tmp_path / "files"), asked, tmp_path / "two", workers=2)
    assert digests(tmp_path / "one") == digests(tmp_path / "two")
