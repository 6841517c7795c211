"""`pluralis query` as an analyst types it: what it prints, what it refuses, how it exits."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pluralis.publishing.pipeline import publish
from support.cli_runner import caller
from support.sample_tables import KEY, PATIENTS, patients_policy


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published") / "release"
    publish(PATIENTS, patients_policy(method="bsgi"), key=KEY).save(folder)
    return folder


@pytest.fixture
def release(published: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(published, tmp_path / "release"))


@pytest.fixture
def query(release: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    return caller(capsys, monkeypatch, "query", str(release))


def test_a_count_in_words(query: Any) -> None:
    ran = query("age > 30 AND disease = 'FLU'")
    assert ran.code == 0, ran.err
    asked, *lines = ran.out.splitlines()
    assert asked == "COUNT WHERE age > 30 AND disease = 'Flu'"
    assert " rows" in lines[0]
    assert [line.split()[0] for line in lines[1:]] == ["interval", "basis", "certain"]
    assert "at 95%" in lines[1]
    assert "uniform-within-group: values that were published together" in lines[2]
    assert "at most" in lines[3]


def test_an_exact_count(query: Any) -> None:
    ran = query("disease IN ('Flu', 'Cancer')")
    assert ran.code == 0, ran.err
    assert "\n4 rows\n" in ran.out
    assert "basis     exact: " in ran.out
    assert "at least 4 and at most 4 rows" in ran.out
    assert "interval" not in ran.out


def test_a_count_as_json(query: Any) -> None:
    answer = query("age > 30 AND disease = 'flu'", "--json", "--confidence", "0.9").json
    assert set(answer) == {"query", "value", "low", "high", "confidence", "basis", "least", "most", "variance"}
    assert answer["query"] == "COUNT WHERE age > 30 AND disease = 'Flu'"
    assert answer["confidence"] == 0.9
    assert 0 <= answer["least"] <= answer["low"] <= answer["value"] <= answer["high"] <= answer["most"] <= 7


def test_counts_by_attributes(query: Any) -> None:
    ran = query("COUNT WHERE age > 0 BY disease, gender")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "COUNT WHERE age > 0 BY disease, gender"
    assert lines[2].split() == ["disease", "gender", "rows", "low", "high", "basis"]
    assert {line.split()[0] for line in lines[3:9]} == {"Cancer", "Flu", "Obesity"}
    assert "Intervals are at 95%." in lines
    answer = query("BY disease", "--json").json
    assert answer["query"] == "COUNT BY disease"
    assert {row["disease"]: row["value"] for row in answer["rows"]} == {"Cancer": 2, "Flu": 2, "Obesity": 3}
    assert set(answer["rows"][0]) == {"disease", "value", "low", "high", "basis"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["disease = flu"], "quote it: 'flu'.\n  disease = flu\n            ^^^\n"),
        (["age >"], "Expected a value"),
        ([""], "The query is empty"),
        (["diseas = 'Flu'"], "Did you mean 'disease'?"),
        (["disease = 'Fluu'"], "Did you mean 'Flu'?"),
        (["COUNT BY disese"], "Did you mean 'disease'?"),
        (["group = 1"], "not an attribute"),
        (["COUNT", "--confidence", "1"], "between 0 and 1"),
        (["COUNT", "--confidence", "0"], "between 0 and 1"),
        (["COUNT", "--confidence", "nan"], "between 0 and 1"),
        (["COUNT", "--confidence", "much"], "--confidence"),
        ([], "QUERY"),
    ],
)
def test_bad_queries_exit_2_with_a_remedy(query: Any, words: list[str], message: str) -> None:
    ran = query(*words)
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""


def edited_table(release: Path) -> None:
    file = release / "microdata.parquet"
    file.write_bytes(file.read_bytes()[:-1] + b"x")


def missing_table(release: Path) -> None:
    (release / "microdata.parquet").unlink()


def another_table(release: Path) -> None:
    (release / "more.parquet").write_bytes(b"")


def change_manifest(release: Path, **fields: Any) -> None:
    file = release / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))


def newer_version(release: Path) -> None:
    change_manifest(release, version=2)


def other_format(release: Path) -> None:
    change_manifest(release, format="table")


def unknown_field(release: Path) -> None:
    change_manifest(release, more=1)


def no_manifest(release: Path) -> None:
    (release / "manifest.json").unlink()


def broken_manifest(release: Path) -> None:
    (release / "manifest.json").write_text("{")


def no_folder(release: Path) -> None:
    shutil.rmtree(release)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (edited_table, "its hash differs"),
        (missing_table, "microdata.parquet is missing"),
        (another_table, "more.parquet is in the folder, but not in the manifest"),
        (newer_version, "says version 2, this Pluralis reads 1"),
        (other_format, "not a release"),
        (unknown_field, "The release is damaged"),
        (no_manifest, "manifest.json is missing"),
        (broken_manifest, "is not JSON"),
        (no_folder, "is not a folder"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
@pytest.mark.parametrize("text", ["COUNT", "COUNT BY disease"])
def test_a_damaged_release_is_refused(query: Any, release: Path, damage: Any, message: str, text: str) -> None:
    assert query(text).code == 0
    damage(release)
    ran = query(text)
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""
