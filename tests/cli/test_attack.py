"""`pluralis attack` as a person types it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from pluralis.attacks import Result, attacks
from pluralis.attacks.results import worst_first, worst_of_each
from pluralis.cli.attack import show_results
from pluralis.cli.terminal import Terminal
from pluralis.policy.policy import Policy
from pluralis.publishing.parts import publish_in_parts
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.release.reading import read_release
from pluralis.release.release import canonical_order
from support.cli_runner import Ran, caller
from support.forged_folders import forged
from support.sample_tables import KEY, PATIENTS, patients_policy, policy_of

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
    assert "No promise is exceeded (1 question asked)." in shown.out
    assert "disease, knowing age, gender, postcode" in shown.out


def test_the_worst_three_come_first_and_the_rest_if_asked(release: Path, call: Call) -> None:
    words = (release, "--original", release.parent / "patients.csv")
    results = [Result.from_dict(one) for one in json.loads(call(*words, "--json").out)["results"]]
    lines = call(*words).out.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == [result.attack for result in worst_of_each(results)[:3]]
    assert lines[4] == f"{len(results) - 3} results more: --all shows them, the worst first."
    every = call(*words, "--all").out.splitlines()
    assert [line.split()[0] for line in every[1 : len(results) + 1]] == [one.attack for one in worst_first(results)]
    assert not any("--all" in line for line in every)


def test_the_worst_three_are_of_different_values() -> None:
    """One value that three adversaries guess is one finding; what exceeds a promise is shown whatever it is of."""
    made = publish(PATIENTS, patients_policy(2), key=KEY, attacks=False)

    def result(name: str, right: float, attack: str, value: str | None = None, **more: float) -> Result:
        return Result(attack, name, 90, False, right, right, right, 0.1, name, ("age",), value=value, **more)

    worst = [
        result("disease", 0.9 - i / 100, attack, "HIV") for i, attack in enumerate(("definetti", "skewness", "prior"))
    ]
    others = [result("disease", 0.5, "homogeneity", "flu"), result("pay", 0.4, "background")]
    for results, shown in (
        ([*worst, *others], ["definetti", "homogeneity", "background"]),
        (worst, ["definetti", "skewness", "prior"]),
        ([*worst, *others, result("disease", 0.3, "minimality", "HIV", promised=0.2, worst=0.3)],
         ["minimality", "definetti", "homogeneity"]),
    ):  # fmt: skip
        console = Terminal(width=200)
        with console.capture() as output:
            show_results(console, results, made)
        lines = output.get().splitlines()
        assert [line.split()[0] for line in lines[1:4]] == shown


def test_every_breach_is_shown() -> None:
    breach = Result("homogeneity", "disease", 9, False, 0.5, 0.5, 0.5, 0.1, promised=0.5, worst=1.0)
    made = publish(PATIENTS, patients_policy(2), key=KEY, attacks=False)
    console = Terminal(width=200)
    with console.capture() as captured:
        show_results(console, [replace(breach, question=f"disease {i}") for i in range(7)], made)
    assert captured.get().count("BREACH") == 7


def test_a_breach_ends_with_exit_code_1(release: Path, call: Call) -> None:
    rows = pl.read_parquet(release / "microdata.parquet")
    sorted_by_group = canonical_order(rows.with_columns(disease=rows["disease"].sort()))  # alike beside each other
    forged(release, tables={"microdata.parquet": sorted_by_group})
    shown = call(release, "--original", release.parent / "patients.csv", "--attack", "homogeneity")
    assert shown.code == 1
    assert "BREACH" in shown.out


def test_explain_needs_no_original(release: Path, call: Call) -> None:
    shown = call(release, "--explain", "1")
    assert shown.code == 0
    assert "finds group 1" in shown.out
    assert json.loads(call(release, "--explain", "1", "--json").out)["steps"]


def test_a_table_that_is_not_the_original_is_refused_and_the_evidence_stays(release: Path, call: Call) -> None:
    kept = release.with_name("release.private") / "attack.json"
    before = kept.read_bytes()
    PATIENTS.head(6).write_csv(release.parent / "fewer.csv")
    PATIENTS.with_columns(disease=pl.lit("Flu")).write_csv(release.parent / "other.csv")
    for name, why in (("fewer", "has 6 rows"), ("other", "more often than the original")):
        shown = call(release, "--original", release.parent / f"{name}.csv")
        assert shown.code == 2
        assert why in shown.err
        assert "Give the table that was published" in " ".join(shown.err.split())
    assert kept.read_bytes() == before


def test_only_what_was_asked_for_is_said_to_have_nothing_to_attack(release: Path, call: Call) -> None:
    table = release.parent / "patients.csv"
    named = call(release, "--original", table, "--attack", "homogeneity", "--attack", "suppression")
    assert "Nothing to attack here for suppression." in named.out
    assert "definetti" not in named.out
    assert "to attack here" not in call(release, "--original", table, "--attack", "homogeneity").out
    alone = call(release, "--original", table, "--attack", "repeated")
    assert "Not run without another release (--other DIR): repeated." in alone.out
    assert "to attack here" not in alone.out
    dependency = call(release, "--original", table, "--attack", "dependency").out
    assert "Nothing found by dependency." in dependency
    assert "to attack here" not in dependency


def test_several_rows_of_one_person_need_the_person_column(tmp_path: Path, call: Call) -> None:
    visits = pl.concat([PATIENTS, PATIENTS.with_columns(pl.col("age") + 1)])
    visits.write_csv(tmp_path / "visits.csv")
    policy = policy_of(
        {"age": {"role": "quasi", "type": "number"}, "disease": {"role": "sensitive", "l": 2}},
        person="name", others="drop", method="anatomy",
    )  # fmt: skip
    publish(visits, policy, key=KEY).save(tmp_path / "visits")
    words = (tmp_path / "visits", "--original", tmp_path / "visits.csv", "--attack", "persons")
    assert "Not run without the person column (--person COLUMN): persons." in call(*words).out
    results = json.loads(call(*words, "--person", "name", "--json").out)["results"]
    assert {result["attack"] for result in results} == {"persons"}
    assert results[0]["targets"] == PATIENTS.height
    wrong = call(*words, "--person", "nme")
    assert wrong.code == 2
    assert "Did you mean 'name'?" in wrong.err


def test_what_is_refused(release: Path, call: Call) -> None:
    assert "Give it with --original TABLE" in call(release).err
    table = release.parent / "patients.csv"
    shown = call(release, "--original", table, "--attack", "homogenity")
    assert shown.code == 2
    assert "Did you mean 'homogeneity'?" in shown.err
    unknown = " ".join(call(release, "--original", table, "--attack", "zzz").err.split())
    assert f"Known: {', '.join(attacks())}." in unknown
    for more in (["--original", table], ["--attack", "homogeneity"], ["--other", release], ["--person", "name"]):
        shown = call(release, "--explain", "1", *more)
        assert (shown.code, shown.out) == (2, "")
        assert "or leave out --explain" in " ".join(shown.err.split())
    (release / "manifest.json").unlink()
    shown = call(release, "--original", table)
    assert shown.code == 2
    assert "Name the folder that `pluralis publish` wrote" in " ".join(shown.err.split())


def test_a_folder_whose_name_is_a_pattern_is_read_by_its_name(tmp_path: Path, call: Call) -> None:
    """Beside one that the pattern would match, and that holds something else."""
    PATIENTS.write_csv(tmp_path / "patients.csv")
    publish(PATIENTS, patients_policy(2), key=KEY).save(tmp_path / "rel[1]")
    (tmp_path / "rel1").mkdir()
    pl.DataFrame({"disease": ["elsewhere"]}).write_parquet(tmp_path / "rel1" / "microdata.parquet")
    shown = call(tmp_path / "rel[1]", "--original", tmp_path / "patients.csv", "--attack", "files", "--json")
    assert shown.code == 0
    assert json.loads(shown.out) == {"results": []}


def test_a_footnote_says_to_which_row_it_belongs(capsys: pytest.CaptureFixture[str], release: Path) -> None:
    def noted(question: str, note: str | None) -> Result:
        return Result("persons", question, 10, False, 0.4, 0.4, 0.4, 0.3, note=note)

    results = [noted("disease, together", "of 10 people"), noted("disease, each", "of 9 people"),
               Result("linkage", "row", 10, False, 0.4, 0.4, 0.4, 0.3, note="alone")]  # fmt: skip
    show_results(Terminal(width=200), results, read_release(release), everything=True)
    said = capsys.readouterr().out
    for line in ("persons, disease, together: of 10 people", "persons, disease, each: of 9 people", "linkage: alone"):
        assert line in said


@pytest.mark.parametrize("command", ["attack", "measure", "audit"])
def test_a_part_is_compared_with_its_own_rows(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    many = pl.DataFrame({"age": [i % 97 for i in range(900)], "disease": ["flu", "gout", "hiv"] * 300})
    many.write_csv(tmp_path / "patients.csv")
    policy = Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2})
    publish_in_parts(many, policy, tmp_path / "release", part=200, workers=0, key=Key.test(), allow_test=True)
    run = caller(capsys, monkeypatch, command)
    allowed = ["--allow-test"] if command == "audit" else []
    part = tmp_path / "release" / "part-00001"
    ran = run(str(part), "--original", str(tmp_path / "patients.csv"), *allowed)
    assert ran.code
    said = " ".join((ran.out + ran.err).split())
    assert "part-00001 is one part of the release in parts release, and is compared with its own rows only" in said
    assert "it is not the original" not in said
