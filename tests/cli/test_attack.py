"""`pluralis attack` as a person types it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from calling import Ran, caller
from pluralis.publish import publish
from tables import KEY, PATIENTS, patients_policy

Call = Callable[..., Ran]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    return lambda *words: caller(capsys, monkeypatch, "attack")(*map(str, words))


@pytest.fixture
def release(tmp_path: Path) -> Path:
    PATIENTS.write_csv(tmp_path / "patients.csv")
    publish(PATIENTS, patients_policy(2), key=KEY).save(tmp_path / "release")
    return tmp_path / "release"


def test_results_stand_beside_promises_and_are_kept_in_private(release: Path, call: Call) -> None:
    shown = call(release, "--original", release.parent / "patients.csv", "--json")
    assert shown.code == 0
    results = json.loads(shown.out)["results"]
    promised = [r for r in results if r["attack"] == "homogeneity"]
    assert [r["promised"] for r in promised] == [0.5]
    assert not any(r["breach"] for r in results)
    kept = json.loads((release.with_name("release.private") / "attack.json").read_text())
    assert kept["results"] == results
    assert (release.with_name("release.private") / "attack.json").stat().st_mode & 0o777 == 0o600


def test_a_table_of_results(release: Path, call: Call) -> None:
    shown = call(release, "--original", release.parent / "patients.csv", "--attack", "homogeneity")
    assert "No promise is exceeded (1 questions asked)." in shown.out
    assert "disease, knowing age, gender, postcode" in shown.out


def test_a_breach_ends_with_exit_code_1(release: Path, call: Call) -> None:
    path = release / "microdata.parquet"
    rows = pl.read_parquet(path).with_columns(disease=pl.lit("Flu"))
    rows.write_parquet(path)
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["tables"][0]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (release / "manifest.json").write_text(json.dumps(manifest))
    shown = call(release, "--original", release.parent / "patients.csv", "--attack", "homogeneity")
    assert shown.code == 1
    assert "BREACH" in shown.out


def test_explain_needs_no_original(release: Path, call: Call) -> None:
    shown = call(release, "--explain", "1")
    assert shown.code == 0
    assert "finds group 1" in shown.out
    assert json.loads(call(release, "--explain", "1", "--json").out)["steps"]


def test_what_is_refused(release: Path, call: Call) -> None:
    assert "Give it with --original TABLE" in call(release).err
    table = release.parent / "patients.csv"
    shown = call(release, "--original", table, "--attack", "homogenity")
    assert shown.code == 2
    assert "Did you mean 'homogeneity'?" in shown.err
