"""The commands as a person types them: what they print, what they write, how they exit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pluralis.policy.policy import Policy
from pluralis.table.csv_files import write_csv_bytes
from support.cli_runner import Ran, caller
from support.sample_tables import PATIENTS
from support.sample_tables import PATIENTS_YAML as POLICY


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "table.csv").write_bytes(write_csv_bytes(PATIENTS))
    (tmp_path / "policy.yaml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def pluralis(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    return caller(capsys, monkeypatch)


def publish(pluralis: Any, *more: str) -> Ran:
    return pluralis("publish", "table.csv", "--policy", "policy.yaml", "--out", "release", *more)  # type: ignore[no-any-return]


def test_publish_audit_measure(pluralis: Any, here: Path) -> None:
    ran = publish(pluralis)
    assert ran.code == 0, ran.err
    assert "Every claim holds" in ran.out
    assert sorted(p.name for p in (here / "release").iterdir()) == ["README.md", "manifest.json", "microdata.parquet"]
    private = here / "release.private"
    assert sorted(p.name for p in private.iterdir()) == [
        "attack.json", "audit.json", "key", "policy.yaml", "report.html", "utility.json",
    ]  # fmt: skip
    assert private.stat().st_mode & 0o777 == 0o700
    assert (private / "key").stat().st_mode & 0o777 == 0o600
    audited = pluralis("audit", "release", "--original", "table.csv", "--json")
    assert audited.code == 0
    assert audited.json["holds"] is True
    assert any(f["claim"].startswith("every published row covers") for f in audited.json["findings"])
    measured = pluralis("measure", "release", "--original", "table.csv", "--json")
    assert measured.json["average_group"] == pytest.approx(7 / 3)
    assert 0 < measured.json["ncp"] < 1


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_formats_hold_the_same_rows(pluralis: Any, here: Path, format: str) -> None:
    assert publish(pluralis, "--format", format).code == 0
    assert pluralis("audit", "release").code == 0
    assert (here / "release" / f"microdata.{format}").is_file()


def test_encoding_and_separator_are_those_of_the_file(pluralis: Any, here: Path) -> None:
    text = (here / "table.csv").read_text().replace(",", ":").replace("Flu", "Grippé")
    (here / "table.csv").write_text(text, encoding="latin-1")
    assert "not UTF-8" in publish(pluralis).err
    ran = publish(pluralis, "--encoding", "latin-1", "--separator", ":", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["rows"] == PATIENTS.height


def test_publishing_again_reuses_the_key_and_gives_the_same_bytes(pluralis: Any, here: Path) -> None:
    assert publish(pluralis).code == 0
    first = {p.name: p.read_bytes() for p in (here / "release").iterdir()}
    shuffled = pl.read_csv(here / "table.csv", infer_schema=False).sample(fraction=1.0, shuffle=True, seed=1)
    (here / "table.csv").write_bytes(write_csv_bytes(shuffled.select(list(reversed(shuffled.columns)))))
    assert publish(pluralis, "--replace").code == 0
    assert {p.name: p.read_bytes() for p in (here / "release").iterdir()} == first


def test_a_changed_table_takes_the_place_of_a_release_only_if_the_policy_says_so(pluralis: Any, here: Path) -> None:
    assert publish(pluralis).code == 0
    (here / "table.csv").write_bytes(write_csv_bytes(PATIENTS.head(6)))
    ran = publish(pluralis, "--replace")
    assert ran.code == 2
    assert "write `republish: independent` in the policy" in ran.err
    ran = publish(pluralis, "--replace", "--method", "mondrian")
    assert ran.code == 2
    assert "mondrian then groups people anew" in ran.err
    (here / "policy.yaml").write_text(POLICY + "republish: independent\n")
    ran = publish(pluralis, "--replace")
    assert ran.code == 0, ran.err
    assert "an earlier release of the same people" in " ".join(ran.out.split())


def test_a_release_without_its_private_folder_is_not_replaced(pluralis: Any, here: Path) -> None:
    assert publish(pluralis).code == 0
    first = {p.name: p.read_bytes() for p in (here / "release").iterdir()}
    (here / "release.private").rename(here / "backup")
    for more in ((), ("--test-key",), ("--method", "mondrian")):
        ran = publish(pluralis, "--replace", *more)
        assert ran.code == 2
        assert "Restore the private folder from a backup, or publish under another name" in ran.err
    assert {p.name: p.read_bytes() for p in (here / "release").iterdir()} == first
    (here / "backup").rename(here / "release.private")
    assert publish(pluralis, "--replace").code == 0


def test_a_key_that_others_can_read_is_not_used(pluralis: Any, here: Path) -> None:
    assert publish(pluralis).code == 0
    (here / "release.private" / "key").chmod(0o644)
    ran = publish(pluralis, "--replace")
    assert ran.code == 2
    assert "chmod 600" in ran.err


def test_method_and_options_from_the_command_line(pluralis: Any, here: Path) -> None:
    ran = publish(pluralis, "--method", "mondrian", "--set", "mode=relaxed", "--json")
    assert ran.code == 0, ran.err
    manifest = json.loads((here / "release" / "manifest.json").read_text())
    assert manifest["method"] == "mondrian"
    assert manifest["parameters"]["options"] == {"mode": "relaxed"}


def test_an_impossible_policy_exits_3_and_writes_nothing(pluralis: Any, here: Path) -> None:
    (here / "policy.yaml").write_text(POLICY.replace("l: 2", "l: 3"))
    ran = publish(pluralis)
    assert ran.code == 3
    assert "largest l it allows is 2" in ran.err
    assert not (here / "release").exists()
    assert not (here / "release.private").exists()
    assert sorted(p.name for p in here.iterdir()) == ["policy.yaml", "table.csv"]


def test_a_refused_audit_exits_1_and_writes_nothing(pluralis: Any, here: Path) -> None:
    """Linked sensitive attributes, and an adversary who knows one of them."""
    (here / "policy.yaml").write_text(
        POLICY.replace("{role: quasi}", "{role: sensitive, l: 2}").replace(
            "publish: {method: bsgi}",
            "adversaries: [{knows: [age, postcode, gender]}]\npublish: {method: bsgi, variant: paper, suppress: 0.9}",
        )
    )
    ran = publish(pluralis)
    assert ran.code == 1
    assert "nothing was published" in ran.err
    assert sorted(p.name for p in here.iterdir()) == ["policy.yaml", "table.csv"]


def test_attacks_are_run_unless_they_are_not_wanted(pluralis: Any, here: Path) -> None:
    ran = publish(pluralis, "--json")
    assert {result["attack"] for result in ran.json["attacked"]} >= {"homogeneity", "linkage", "definetti"}
    assert "- attacks: what they get was not measured" not in (here / "release" / "README.md").read_text()
    ran = publish(pluralis, "--replace", "--no-attack", "--json")
    assert ran.json["attacked"] is None
    assert not (here / "release.private" / "attack.json").exists()
    assert "- attacks: what they get was not measured" in (here / "release" / "README.md").read_text()
    assert publish(pluralis, "--replace", "--attack").code == 0
    assert (here / "release.private" / "attack.json").stat().st_mode & 0o777 == 0o600


def test_a_test_key_is_stamped_and_refused(pluralis: Any, here: Path) -> None:
    assert publish(pluralis, "--test-key").code == 0
    assert json.loads((here / "release" / "manifest.json").read_text())["test"] is True
    ran = pluralis("audit", "release")
    assert ran.code == 1
    assert "secret key" in ran.out
    assert pluralis("audit", "release", "--allow-test").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["publish", "table.csv", "--policy", "policy.yaml"], "--out"),
        (["publish", "nowhere.csv", "--policy", "policy.yaml", "--out", "x"], "nowhere.csv"),
        (["publish", "table.csv", "--policy", "nowhere.yaml", "--out", "x"], "nowhere.yaml"),
        (["publish", "table.csv", "--policy", "policy.yaml", "--out", "x", "--method", "bsgj"], "Did you mean 'bsgi'"),
        (["publish", "table.csv", "--policy", "policy.yaml", "--out", "x", "--set", "refine"], "key=value"),
        (["publish", "table.csv", "--policy", "policy.yaml", "--out", "x", "--set", "refine=many"], "refine"),
        (["publish", "table.csv", "--policy", "policy.yaml", "--out", "no/where/x"], "Create it first"),
        (["audit", "nowhere"], "nowhere"),
        (["audit", "."], "manifest.json"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_bad_usage_exits_2_with_a_remedy(pluralis: Any, here: Path, words: list[str], message: str) -> None:
    ran = pluralis(*words)
    assert ran.code == 2
    assert message in ran.err
    assert sorted(p.name for p in here.iterdir()) == ["policy.yaml", "table.csv"]


def test_profile(pluralis: Any) -> None:
    shown = pluralis("profile", "table.csv")
    assert shown.code == 0
    assert "largest l" in shown.out
    look = pluralis("profile", "table.csv", "--json").json
    disease = next(c for c in look["columns"] if c["name"] == "disease")
    assert (disease["distinct"], disease["largest_l"], disease["top_value"]) == (3, 2, "Obesity")
    assert next(c for c in look["columns"] if c["name"] == "name")["role"] == "identifier"


def test_init_writes_a_policy_that_publishes(pluralis: Any, here: Path) -> None:
    ran = pluralis("init", "table.csv", "-o", "first.yaml")
    assert ran.code == 0, ran.err
    policy = Policy.read(here / "first.yaml")
    assert policy.columns["disease"].role == "sensitive"
    assert pluralis("publish", "table.csv", "--policy", "first.yaml", "--out", "release").code == 0
    again = pluralis("init", "table.csv", "-o", "first.yaml")
    assert again.code == 2
    assert "exists already" in again.err


def test_init_proposes_who_knows_one_sensitive_value_where_there_are_several(pluralis: Any, here: Path) -> None:
    table = pl.DataFrame({"age": [1, 2, 3, 4], "disease": list("abcd"), "salary": ["1", "2", "3", "4"]})
    (here / "two.csv").write_bytes(write_csv_bytes(table))
    assert pluralis("init", "two.csv", "-o", "two.yaml").code == 0
    assert Policy.read(here / "two.yaml").links_are_known


def test_a_wrong_original_is_not_measured(pluralis: Any, here: Path) -> None:
    assert publish(pluralis).code == 0
    (here / "few.csv").write_bytes(write_csv_bytes(PATIENTS.head(3)))
    ran = pluralis("measure", "release", "--original", "few.csv")
    assert ran.code == 2
    assert "not the original" in ran.err


def test_init_proposes_bins_for_sensitive_numbers(pluralis: Any, here: Path) -> None:
    table = pl.DataFrame({"age": range(200), "salary": [1000 + 17 * i for i in range(200)]})
    (here / "numbers.csv").write_bytes(write_csv_bytes(table))
    assert pluralis("init", "numbers.csv", "-o", "numbers.yaml").code == 0
    assert Policy.read(here / "numbers.yaml").columns["salary"].bin == 100
    assert pluralis("publish", "numbers.csv", "--policy", "numbers.yaml", "--out", "release").code == 0


def test_version(pluralis: Any) -> None:
    assert pluralis("--version").out.startswith("pluralis 0.")


def test_the_module_is_the_command() -> None:
    ran = subprocess.run([sys.executable, "-m", "pluralis", "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("pluralis 0.")


def test_25_a_table_without_rows_is_not_looked_at(pluralis: Any, here: Path) -> None:
    (here / "empty.csv").write_text("age,disease\n")
    for command in (("profile", "empty.csv"), ("init", "empty.csv", "-o", "empty.yaml")):
        assert (pluralis(*command).code, "The table has no rows" in pluralis(*command).err) == (2, True)
    assert not (here / "empty.yaml").exists()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc, in which nobody can make a folder: Linux")
def test_a_place_that_cannot_be_written_is_refused_before_the_table_is_read(pluralis: Any) -> None:
    ran = pluralis("publish", "no such table.csv", "--policy", "policy.yaml", "--out", "/proc/release")
    assert ran.code == 2
    assert "Nothing can be written to /proc" in ran.err


def test_an_interrupted_publication_says_so(pluralis: Any, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("pluralis.assembling.building"), "encode_clean", interrupted)
    ran = publish(pluralis)
    assert ran.code == 130
    assert "Interrupted. No release was written." in ran.err
    assert sorted(path.name for path in here.iterdir()) == ["policy.yaml", "table.csv"]


def test_methods(pluralis: Any) -> None:
    assert "guarantees" in pluralis("methods").out
    assert {"bsgi", "mondrian", "incognito"} <= set(pluralis("methods", "--json").json)


def test_demo_tells_where_to_look(pluralis: Any, here: Path) -> None:
    ran = pluralis("demo", "--out", "demo")
    assert ran.code == 0, ran.err
    assert "Where to look" in ran.out
    assert (here / "demo" / "release.private" / "report.html").is_file()
    assert pluralis("audit", "demo/release", "--original", "demo/discharges.csv").code == 0
    assert pluralis("demo", "--out", "demo").code == 0
    assert pluralis("demo", "--out", ".").code == 2


def test_the_installed_command_is_quick_to_help() -> None:
    """Heavy imports happen inside commands: --help loads neither numba nor polars."""
    script = "import sys; sys.argv = ['pluralis', '--help']\nfrom pluralis.cli.main import app\n"
    script += "try: app()\nexcept SystemExit: pass\n"
    script += "print(sorted({'numba', 'polars', 'numpy', 'pydantic', 'scipy'} & set(sys.modules)), file=sys.stderr)"
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={**os.environ, "NO_COLOR": "1"}
    )
    assert "publish" in ran.stdout
    assert ran.stderr.strip() == "[]"


def test_nothing_private_in_the_bytes(pluralis: Any, here: Path) -> None:
    """Neither the key, nor names, nor paths, nor a dropped value stands in the released files."""
    canary = PATIENTS.with_columns(secret_note=pl.lit("CANARY-7f3a"))
    (here / "table.csv").write_bytes(write_csv_bytes(canary))
    (here / "policy.yaml").write_text(POLICY + "others: drop\n")
    assert publish(pluralis, "--format", "csv").code == 0
    key = (here / "release.private" / "key").read_text().strip()
    for file in (here / "release").iterdir():
        text = file.read_text()
        for word in ("CANARY", "secret_note", "Alice", "Gavin", key, str(here), "table.csv"):
            assert word not in text, (file.name, word)


def test_init_does_not_publish_what_it_cannot_protect(pluralis: Any, here: Path) -> None:
    incomes = ["none"] * 30 + [f"about {i}" for i in range(10)]
    table = pl.DataFrame({"age": range(40), "disease": list("abcdefghij") * 4, "income": incomes})
    (here / "skewed.csv").write_bytes(write_csv_bytes(table))
    assert pluralis("init", "skewed.csv", "-o", "skewed.yaml").code == 0
    assert Policy.read(here / "skewed.yaml").columns["income"].role == "identifier"


def test_the_demo_overwrites_nobodys_files(pluralis: Any, here: Path) -> None:
    (here / "mine").mkdir()
    (here / "mine" / "discharges.csv").write_text("my own")
    assert pluralis("demo", "--out", "mine").code == 2
    assert (here / "mine" / "discharges.csv").read_text() == "my own"
    assert pluralis("demo", "--out", "table.csv/x").code == 2
