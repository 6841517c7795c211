"""`pluralis compare` as a person types it, and `method: auto` in a policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pluralis.table.csv_files import write_csv_bytes
from support.cli_runner import caller
from support.sample_tables import PATIENTS
from support.sample_tables import PATIENTS_YAML as POLICY

SECRETS = {"disease": 1, "drug": 3, "ward": 5}
TRIED = ("--methods", "anatomy,mondrian,sloms")


@pytest.fixture
def pluralis(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "table.csv").write_bytes(write_csv_bytes(PATIENTS))
    (tmp_path / "policy.yaml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return caller(capsys, monkeypatch)


def test_compare_prints_a_table_the_reasons_and_the_choice(pluralis: Any, tmp_path: Path) -> None:
    ran = pluralis("compare", "table.csv", "--policy", "policy.yaml", *TRIED, "--out", "compared")
    assert ran.code == 0, ran.err
    assert "A knows age, gender, postcode; guesses disease" in ran.out
    assert "sloms: sloms slices several" in ran.out
    assert "Take anatomy." in ran.out
    names = sorted(path.name for path in (tmp_path / "compared").iterdir())
    assert names == ["compare.html", "compare.json", "frontier.png", "frontier.svg"]
    again = pluralis("compare", "table.csv", "--policy", "policy.yaml", *TRIED, "--out", "compared", "--json")
    assert again.json == json.loads((tmp_path / "compared" / "compare.json").read_text())
    assert again.json["take"] == {"method": "anatomy", "l": None}


def test_a_folder_of_something_else_is_refused_before_anything_is_tried(pluralis: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    ran = pluralis("compare", "table.csv", "--policy", "policy.yaml", "--out", "mine")
    assert ran.code == 2
    assert "not a folder of Pluralis's" in ran.err
    assert not (tmp_path / "cache").exists()


@pytest.mark.usefixtures("trials_in_this_process")
def test_no_cache_keeps_nothing(pluralis: Any, tmp_path: Path) -> None:
    ran = pluralis(
        "compare", "table.csv", "--policy", "policy.yaml", "--methods", "anatomy", "--no-cache", "--l", "2..7"
    )
    assert ran.code == 0, ran.err
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("wrong", [("--l", "7..2"), ("--methods", "anatomi"), ("--l", "1")])
def test_wrong_words_exit_2(pluralis: Any, wrong: tuple[str, str]) -> None:
    ran = pluralis("compare", "table.csv", "--policy", "policy.yaml", *wrong)
    assert ran.code == 2
    assert ran.err.startswith("pluralis: ")


@pytest.mark.usefixtures("trials_in_this_process")
def test_publish_with_auto_says_what_it_took(pluralis: Any, tmp_path: Path) -> None:
    options = "publish: {method: auto, options: {target: error, methods: [anatomy, mondrian]}}"
    (tmp_path / "policy.yaml").write_text(POLICY.replace("publish: {method: bsgi}", options))
    ran = pluralis("publish", "table.csv", "--policy", "policy.yaml", "--out", "release")
    assert ran.code == 0, ran.err
    assert "method: auto. Take anatomy." in " ".join(ran.out.split())
    assert json.loads((tmp_path / "release" / "manifest.json").read_text())["method"] == "anatomy"


@pytest.mark.usefixtures("trials_in_this_process")
def test_many_adversaries_find_room_on_a_narrow_terminal(
    pluralis: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each the likeliest guess is shown, and what was lost comes first, whole."""
    rows = [{"age": 20 + i % 40, **{name: "abcd"[(i * step) % 4] for name, step in SECRETS.items()}} for i in range(80)]
    (tmp_path / "many.csv").write_bytes(write_csv_bytes(pl.DataFrame(rows)))
    attributes = {name: {"role": "sensitive", "l": 2} for name in SECRETS}
    knows = [{"knows": ["age"]}, *({"knows": ["age", name]} for name in SECRETS)]
    asked = {
        "version": 1,
        "attributes": {"age": {"role": "quasi", "type": "number"}, **attributes},
        "adversaries": knows,
    }
    (tmp_path / "many.json").write_text(json.dumps(asked))
    monkeypatch.setenv("COLUMNS", "100")
    ran = pluralis("compare", "many.csv", "--policy", "many.json", "--methods", "bsgi,mondrian", "--out", "compared")
    assert ran.code == 0, ran.err
    (heads,) = (line.split() for line in ran.out.splitlines() if " NCP " in line)
    assert heads[:5] == ["method", "l", "error", "KL", "NCP"]
    assert " ".join(heads).endswith("A at most B at most C at most D at most")
    (taken,) = (line for line in ran.out.splitlines() if line.startswith("▶  "))
    assert taken.count(" %") == 4
    assert "A at most" in (tmp_path / "compared" / "compare.html").read_text()
