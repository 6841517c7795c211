"""The audit finds what is planted and stays quiet on clean releases."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluralis.auditing import audit
from pluralis.auditing.diversity_models import MODELS, diversity
from pluralis.errors import ReleaseError
from pluralis.estimate.analyst_release import read_release
from pluralis.publishing.pipeline import publish
from pluralis.publishing.saving import Publication
from pluralis.release.release import Release
from pluralis.table.csv_files import write_csv_bytes
from pluralis.table.sources import write_parquet_bytes
from support.forged_folders import forged
from support.sample_tables import KEY, PATIENTS, patients_policy, policy_of


@pytest.fixture(scope="module")
def publication() -> Publication:
    return publish(PATIENTS, patients_policy(), key=KEY)


@pytest.fixture
def saved(publication: Publication, tmp_path: Path) -> Path:
    publication.save(tmp_path / "release")
    return tmp_path / "release"


def naive_diversity(counts: list[int], model: str, l: int, c: float) -> bool:
    """The definitions, one group at a time."""
    counts = sorted(counts, reverse=True)
    n = sum(counts)
    if model == "frequency":
        return counts[0] * l <= n
    if model == "distinct":
        return len(counts) >= l
    if model == "entropy":
        return -sum(x / n * math.log(x / n) for x in counts) >= math.log(l) - 1e-9
    if model == "recursive":
        return counts[0] < c * sum(counts[l - 1 :])
    return counts[0] == 1 and len(counts) in (l, l + 1)


@pytest.mark.parametrize("model", list(MODELS))
@given(
    groups=st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=9), min_size=1, max_size=5),
    l=st.integers(2, 4),
    c=st.sampled_from([0.5, 1.0, 2.0, 3.5]),
)
def test_every_model_is_its_definition(model: str, groups: list[list[str]], l: int, c: float) -> None:
    rows = pl.DataFrame(
        [(g, value) for g, values in enumerate(groups) for value in values], schema=["group", "s"], orient="row"
    )
    measured = diversity(rows, ["group"], "s", model, l, c)
    verdicts = [naive_diversity(list(Counter(values).values()), model, l, c) for values in groups]
    assert measured.holds == all(verdicts)
    if not measured.holds:
        assert not verdicts[int(str(measured.witness["group"]))]
    assert measured.top_share == max(max(Counter(values).values()) / len(values) for values in groups)


def altered(publication: Publication, change: Callable[[pl.DataFrame], pl.DataFrame], sort: bool = True) -> Release:
    rows = change(publication.tables["microdata"])
    if sort:
        rows = rows.sort(["group", *(name for name in rows.columns if name != "group")], nulls_last=True)
    return Release(publication.manifest.model_copy(update={"rows": rows.height}), {"microdata": rows})


def set_cell(column: str, row: int, value: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda rows: rows.with_columns(rows[column].scatter(row, value))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.with_columns(pl.lit("Flu").alias("disease")), "P(disease | "),
        (lambda rows: rows.with_columns(pl.int_range(1, rows.height + 1).alias("group")), "P(disease | "),
        (set_cell("age", 0, "[1, 99]"), "tables, hashes and manifest agree"),
        (set_cell("disease", 0, None), "tables, hashes and manifest agree"),
        (lambda rows: rows.head(3), "published and suppressed rows"),
        (lambda rows: rows.with_columns(pl.col("disease").replace("Cancer", "Gout")), "no sensitive value is invented"),
        (lambda rows: rows.with_columns(pl.lit("[1, 3]").alias("age")), "every published row covers"),
        (lambda rows: rows.with_columns(pl.lit("F").alias("gender")), "every published row covers"),
        (lambda rows: rows.with_columns(pl.lit("10077").alias("postcode")), "every published row covers"),
    ],
)
def test_planted_faults_are_found(publication: Publication, change: Any, message: str) -> None:
    verdict = audit(altered(publication, change), original=PATIENTS)
    assert not verdict.holds
    assert any(message in finding.claim for finding in verdict.failures), verdict.failures


def test_a_wrong_matching_is_found_although_every_row_covers_something() -> None:
    """Both published rows cover the first person only: each alone is fine, together they invent somebody."""
    table = pl.DataFrame({"age": [20, 50, 30, 40], "s": list("aabb")})
    policy = policy_of({"age": {"role": "quasi", "type": "number"}, "s": {"role": "sensitive", "l": 2}})
    release = publish(table, policy, key=KEY)
    rows = pl.DataFrame(
        {"age": ["[20, 30]", "[20, 30]", "[20, 40]", "[20, 40]"], "s": list("abab"), "group": [1, 1, 2, 2]}
    )
    verdict = audit(Release(release.manifest, {"microdata": rows}), original=table)
    assert [finding.measured for finding in verdict.failures] == [3.0]


def test_rows_in_another_order_are_refused(publication: Publication) -> None:
    verdict = audit(altered(publication, lambda rows: rows.reverse(), sort=False))
    assert "canonical order" in str(verdict.failures[0])


def test_a_clean_release_raises_no_alarm(saved: Path) -> None:
    verdict = audit(saved, original=PATIENTS)
    assert verdict.holds
    assert verdict.to_dict()["holds"] is True
    assert read_release(saved).manifest.rows == 7


def rewrite(saved: Path, frame: pl.DataFrame, *, rehash: bool) -> None:
    data = write_parquet_bytes(frame)
    if rehash:
        forged(saved, tables={"microdata.parquet": data})
    else:
        size = (saved / "microdata.parquet").stat().st_size
        (saved / "microdata.parquet").write_bytes(data[:size].ljust(size, b"0"))


def test_an_edited_table_is_found_by_its_hash(saved: Path) -> None:
    rewrite(
        saved, pl.read_parquet(saved / "microdata.parquet").with_columns(pl.lit("Flu").alias("disease")), rehash=False
    )
    verdict = audit(saved)
    assert "hash differs" in str(verdict.failures[0])
    with pytest.raises(ReleaseError, match="hash differs"):
        read_release(saved)


def test_an_edited_table_with_its_hash_mended_is_found_by_its_claims(saved: Path) -> None:
    rewrite(
        saved, pl.read_parquet(saved / "microdata.parquet").with_columns(pl.lit("Flu").alias("disease")), rehash=True
    )
    assert any("P(disease | " in finding.claim for finding in audit(saved).failures)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "microdata.parquet").unlink(), "microdata.parquet is missing"),
        (lambda f: (f / "notes.txt").write_text("x"), "notes.txt is in the folder"),
        (lambda f: rewrite(f, pl.DataFrame({"x": [1]}), rehash=True), "its columns are x"),
        (
            lambda f: rewrite(f, pl.read_parquet(f / "microdata.parquet").head(2), rehash=True),
            "is not that of its cells",
        ),
    ],
)
def test_damaged_folders_are_found(saved: Path, damage: Any, message: str) -> None:
    damage(saved)
    verdict = audit(saved)
    assert message in str(verdict.failures[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(version=2), "version 2"),
        (lambda m: m.update(format="zip"), "not a release"),
        (lambda m: m.update(surprise=1), "surprise"),
        (lambda m: m["tables"][0].update(file="../secret.parquet"), "file"),
        (lambda m: m["claims"][0].update(model="magic"), "magic"),
    ],
)
def test_manifests_that_are_not_ours_are_refused(saved: Path, change: Any, message: str) -> None:
    with pytest.raises(ReleaseError, match=message):
        audit(forged(saved, change))


def test_csv_tables_are_judged_too(publication: Publication, tmp_path: Path) -> None:
    publication.save(tmp_path / "release", format="csv")
    assert audit(tmp_path / "release", original=PATIENTS).holds
    assert read_release(tmp_path / "release").tables["microdata"].equals(publication.tables["microdata"])
    (tmp_path / "release" / "microdata.csv").write_bytes(write_csv_bytes(publication.tables["microdata"]) + b"x\n")
    assert not audit(tmp_path / "release").holds


def test_declared_missing_values_are_no_alarm() -> None:
    table = pl.DataFrame(
        {"age": ["20", "?", "30", "31", "?", "40"], "sex": ["f", "?", "m", "?", "f", "m"],
         "s": ["a", "b", "?", "a", "b", "c"]}
    )  # fmt: skip
    attributes = {"age": {"role": "quasi", "type": "number"}, "sex": {"role": "quasi"},
                  "s": {"role": "sensitive", "l": 2, "if_missing": {"as": "unknown"}}}  # fmt: skip
    release = publish(table, policy_of(attributes, missing=["?", ""]), key=KEY)
    assert audit(release, original=table).holds
    assert release.manifest.parameters.missing == ("?", "")


def test_numbers_kept_as_text_are_no_alarm() -> None:
    table = pl.DataFrame({"ward": [1.0, 2.0, None, 3.0], "age": [1.5, float("nan"), 2.5, -0.0], "s": list("abab")})
    attributes = {"ward": {"role": "quasi"}, "age": {"role": "quasi", "type": "number"},
                  "s": {"role": "sensitive", "l": 2}}  # fmt: skip
    assert audit(publish(table, policy_of(attributes), key=KEY), original=table).holds
