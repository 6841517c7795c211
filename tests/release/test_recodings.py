"""Recodings in a manifest: what was asked, nothing of what was joined; a stranger's are checked."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pluralis.attacks import attack
from pluralis.auditing import audit
from pluralis.errors import InputError, ReleaseError
from pluralis.metrics import measure
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.release.manifest import Manifest
from pluralis.release.original import recoded
from pluralis.release.reading import read_release
from pluralis.release.release import Release
from support.data_files import data_file

RARE = [f"Rarissima{i:02}" for i in range(24)]
ADULT = ["age", "work", "weight", "education", "years", "marital", "occupation", "relation", "race", "sex", "gain",
         "loss", "hours", "country", "income"]  # fmt: skip
METHODS = ["bsgi", "mondrian", "anatomy", "decomposition", "msb", "gd", "randomized-addition"]


def people() -> pl.DataFrame:
    """600 people; 24 diseases of one or two rows each, and ages from 10 to 109."""
    rows = 600
    rare = [*RARE, *RARE[:12]]
    common = ("flu", "gout", "hiv", "mumps", "asthma")
    diseases = [rare[i // 10] if i % 10 == 0 and i < 10 * len(rare) else common[i % 5] for i in range(rows)]
    return pl.DataFrame(
        {"age": [10 + i % 100 for i in range(rows)], "sex": ["f" if i % 3 else "m" for i in range(rows)],
         "disease": diseases,
         "town": [f"town{i % 37}" if i % 37 < 30 else f"Hamlet{i % 37}" for i in range(rows)]}
    )  # fmt: skip


def policy(method: str = "bsgi", **rare: Any) -> Policy:
    return Policy(
        quasi={"age": {"type": "number", "top": 90, "bottom": 18}, "sex": {}},
        sensitive={"disease": {"l": 3, "rare": {"below": 20, **rare}}}, method=method, others="drop",
    )  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_no_joined_value_is_named_and_raw_originals_do(method: str, tmp_path: Path) -> None:
    table = people()
    folder = tmp_path / "release"
    publication = publish(table, policy(method), key=Key.test())
    assert publication.save(folder, allow_test=True).holds
    release = read_release(folder)
    said = "".join(path.read_text() for path in folder.iterdir() if path.suffix in (".json", ".md"))
    said += "".join(rows.write_json() for rows in release.tables.values())
    assert "Rarissima" not in said
    assert "other" in said
    assert release.manifest.parameters.recodings["disease"].model_dump(exclude_none=True) == {
        "rare": {"below": 20, "into": "other"}
    }
    assert "means 90 or more" in said
    assert audit(folder, table, allow_test=True).holds
    again, clean = measure(folder, table), publication.loss
    assert again.ncp == pytest.approx(clean.ncp)  # cores may add up in another order
    assert again.kl == (None if clean.kl is None else pytest.approx(clean.kl))
    raw = attack(folder, table, only=["homogeneity", "linkage"])
    repeated = attack(folder, recoded(table, release.manifest), only=["homogeneity", "linkage"])
    assert [result.success for result in raw] == pytest.approx([result.success for result in repeated])


@pytest.mark.parametrize("method", ["bsgi", "anatomy", "decomposition", "msb", "gd"])
def test_the_count_of_joined_values_is_that_of_the_original(method: str) -> None:
    table = people()
    release = publish(table, policy(method), key=Key.test(), attacks=False)
    true = table["disease"].is_in(RARE).sum()
    assert true == 36
    estimate = release.count("disease = 'other'")
    assert (estimate.value, estimate.basis) == (true, "exact")


def test_a_quasi_identifier_names_no_joined_value_either(tmp_path: Path) -> None:
    """Nor does its tree, though the file has a line for each."""
    (tmp_path / "towns.csv").write_text("".join(f"{t};west;*\n" for t in people()["town"].unique().sort()))
    asked = Policy(
        quasi={"town": {"rare": {"below": 17, "as": "elsewhere"}, "hierarchy": {"file": "towns.csv"}}},
        sensitive={"disease": {"l": 3, "rare": {"below": 20}}}, others="drop", folder=tmp_path,
    )  # fmt: skip
    publication = publish(people(), asked, key=Key.test(), attacks=False)
    said = publication.manifest.to_json() + "".join(t.write_json() for t in publication.decoded().tables.values())
    assert "Hamlet" not in said
    assert "elsewhere" in said
    assert audit(publication, people(), allow_test=True).holds


def test_joining_along_a_file_cannot_be_repeated_without_it(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("".join(f"{d};{d[:3]};*\n" for d in people()["disease"].unique().sort()))
    asked = Policy(
        quasi=["sex"], sensitive={"disease": {"l": 3, "rare": {"below": 20, "along": {"file": "d.csv"}}}},
        others="drop", folder=tmp_path,
    )  # fmt: skip
    release = publish(people(), asked, key=Key.test())
    assert "Rarissima" not in release.manifest.to_json()
    with pytest.raises(InputError, match="a hierarchy file, which a release does not hold"):
        measure(release, people())
    joined = people().with_columns(
        pl.when(pl.col("disease").is_in(RARE)).then(pl.lit("Rar")).otherwise("disease").alias("disease")
    )
    assert measure(release, joined).rows == 600


def test_nothing_rare_changes_nothing() -> None:
    table = people().filter(~pl.col("disease").is_in(RARE))
    plain = Policy(quasi=["sex"], sensitive={"disease": 3}, others="drop")
    joined = Policy(quasi=["sex"], sensitive={"disease": {"l": 3, "rare": {"below": 20}}}, others="drop")
    one, two = (publish(table, asked, key=Key.test(), attacks=False).decoded() for asked in (plain, joined))
    assert one.tables["microdata"].equals(two.tables["microdata"])
    assert one.manifest.parameters.recodings == {}


@pytest.mark.parametrize(
    ("recodings", "fault"),
    [({"ward": {"rare": {"below": 5, "into": "x"}}}, "speaks of 'ward'"),
     ({"disease": {}}, "says nothing"),
     ({"disease": {"rare": {"below": 200, "into": "other"}}}, "has one of fewer rows"),
     ({"disease": {"rare": {"below": 2, "into": " other"}}}, "no release writes so"),
     ({"disease": {"rare": {"below": 2, "into": "x" * 101}}}, "no release writes so"),
     ({"disease": {"rare": {"below": 2, "into": "x", "along": ["Alice has hiv"]}}}, "no hierarchy"),
     ({"disease": {"rare": {"below": 2, "into": "x", "along": ["date", "year", "month"]}}}, "no hierarchy"),
     ({"disease": {"rare": {"below": 2, "into": "x", "along": ["columns", "a" * 101]}}}, "too long words"),
     ({"disease": {"top": 90}}, "cuts off numbers of an attribute that has none"),
     ({"disease": {"numbers": True}}, "numbers are published as text, and they are not"),
     ({"age": {"top": 50}}, "numbers end at 50, and one is above"),
     ({"age": {"bottom": 50}}, "numbers begin at 50, and one is below"),
     ({"age": {"top": 90, "bottom": 90}}, "cuts off all numbers"),
     ({"age": {"rare": {"below": 2, "into": "other"}}}, "joins values of numbers"),
     ({"age": {"missing": ["?", "?"]}}, "has a mark twice"),
     ({"age": {"missing": ["Alice is 20 and has hiv" * 9]}}, "letters")],
)  # fmt: skip
def test_a_strangers_recodings_are_refused(recodings: dict[str, Any], fault: str) -> None:
    release = publish(people(), policy(), key=Key.test(), attacks=False).decoded()
    data = json.loads(release.manifest.to_json())
    data["parameters"]["recodings"] |= recodings
    verdict = audit(Release(Manifest.model_validate(data), dict(release.tables)), allow_test=True)
    assert not verdict.holds
    assert fault in str(verdict.findings[0].note)


@pytest.mark.parametrize(
    "wrong", [{"below": 1, "into": "x"}, {"below": 2}, {"below": 2, "into": "x", "which": ["hiv"]}]
)
def test_a_recoding_of_another_form_is_not_read(wrong: dict[str, Any], tmp_path: Path) -> None:
    publish(people(), policy(), key=Key.test(), attacks=False).save(tmp_path / "release", allow_test=True)
    path = tmp_path / "release" / "manifest.json"
    data = json.loads(path.read_text())
    data["parameters"]["recodings"]["disease"]["rare"] = wrong
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    with pytest.raises(ReleaseError, match="recodings"):
        read_release(tmp_path / "release")


def test_adult_as_it_comes_with_question_marks() -> None:
    lines = gzip.decompress(data_file("adult.data.gz").read_bytes()).decode().strip().splitlines()
    adult = pl.DataFrame([line.split(",") for line in lines if line.strip()], schema=ADULT, orient="row").head(8_000)
    marks = {"missing": ["?"]}
    asked = Policy(
        quasi={"age": {"type": "number", "top": 80}, "country": {**marks, "rare": {"below": 50, "as": "elsewhere"}},
               "education": {"hierarchy": {"columns": ["years"]}}},
        sensitive={"occupation": {**marks, "l": 3, "if_missing": {"as": "not stated"}, "rare": {"below": 100}}},
        method="anatomy", others="drop",
    )  # fmt: skip
    release = publish(adult, asked, key=Key.test(), attacks=False)
    assert audit(release, adult, allow_test=True).holds
    countries = adult["country"].str.strip_chars().value_counts().rows()
    elsewhere = sum(rows for country, rows in countries if country != "?" and rows < 50)
    assert elsewhere > 50
    assert release.count("country = 'elsewhere'").value == elsewhere
    assert release.count("country IS NULL").value == (adult["country"] == " ?").sum()
    assert release.count("occupation = 'not stated'").value == (adult["occupation"] == " ?").sum()
    assert release.count("age >= 80").value == (adult["age"].str.strip_chars().cast(pl.Int64) >= 80).sum()


def test_census_with_rare_countries_and_a_top() -> None:
    census = pl.read_parquet(data_file("census_income_kdd_train.parquet")).head(10_000)
    quasi = {"age": {"type": "number", "top": 85}, "country_of_birth_self": {"missing": ["?"], "rare": {"below": 50}}}
    asked = Policy(quasi=quasi, sensitive={"marital_status": {"l": 2, "rare": {"below": 100}}}, others="drop")
    release = publish(census, asked, key=Key.test(), attacks=False)
    assert audit(release, census, allow_test=True).holds
    assert measure(release, census).rows == 10_000
    counts = release.tables["microdata"]["marital_status"].value_counts()["count"]
    assert counts.min() >= 100  # type: ignore[operator]
