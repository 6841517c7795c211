"""Fuzzers: cases come again as they were, folders are sealed, faults are seen, and what was kept stays mended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

import fuzz.folders
from fuzz.corpus import cases, read, replayed
from fuzz.draft import Draft
from fuzz.folders import Folders
from fuzz.harness import Fault, minimized, raised_at, watched, write_case
from fuzz.methods import FUZZER as METHODS
from fuzz.mutations import every
from fuzz.run import FUZZERS, Tally, fuzzer_named, random_of
from fuzz.seeds import SEEDS
from fuzz.text import FUZZER as TEXT
from pluralis.auditing import Finding, Verdict
from pluralis.errors import ReleaseError

ROOT = Path(__file__).resolve().parents[2]
PASSES = Verdict((Finding("everything", True),))
KEPT = cases()


@pytest.mark.parametrize("name", FUZZERS)
def test_a_case_comes_again_as_it_was(name: str) -> None:
    fuzzer = fuzzer_named(name)
    first = [fuzzer.case(random_of(1, name, index)) for index in range(30)]
    assert first == [fuzzer.case(random_of(1, name, index)) for index in range(30)]
    assert len({str(case) for case in first}) > 20
    assert first != [fuzzer.case(random_of(2, name, index)) for index in range(30)]


@pytest.mark.parametrize("seed", [seed.name for seed in SEEDS])
def test_a_folder_in_which_nothing_is_changed_is_sealed_as_it_was(folders: Folders, seed: str) -> None:
    assert Draft.from_files(folders.files[seed]).sealed() == folders.files[seed]
    assert folders.check({"seed": seed, "steps": []}) is None


def test_every_change_changes_some_folder(folders: Folders) -> None:
    def changes(name: str) -> bool:
        for seed in SEEDS:
            for number in range(6):
                draft = folders.draft({"seed": seed.name, "steps": [[name, number]]})
                if draft.links or draft.removed or draft.sealed() != folders.files[seed.name]:
                    return True
        return False

    still = [name for name in every() if name not in ("left_as_it_is", "shuffled") and not changes(name)]
    assert still == []


def test_an_audit_that_passes_everything_is_caught(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz.folders, "audit", lambda *_, **__: PASSES)
    faults = {
        fault.key for index in range(150) if (fault := folders.check(folders.case(random_of(3, "folders", index))))
    }
    kinds = {key.removeprefix("passed | ").split()[0] for key in faults}
    assert {
        "form:",
        "name:",
        "hidden:",
        "generalized",
        "bucketized",
        "decomposed",
        "sliced",
        "candidates",
        "multi",
    } <= kinds


def test_an_audit_that_breaks_is_caught(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> Verdict:
        raise KeyError("x")

    monkeypatch.setattr(fuzz.folders, "audit", broken)
    fault = folders.check({"seed": "multi", "steps": []})
    assert fault is not None
    assert fault.kind == "error"


def test_what_a_call_does_is_watched() -> None:
    assert watched(lambda: 7).value == 7
    assert isinstance(watched(lambda: 1 // 0).error, ZeroDivisionError)
    assert raised_at(ReleaseError("x")) == "ReleaseError in outside"


def test_a_slow_call_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzz.harness.CPU_SECONDS", 0.01)
    fault = watched(lambda: sum(range(3_000_000))).fault
    assert fault is not None
    assert fault.kind == "slow"


def test_a_case_is_made_as_small_as_can_be(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz.folders, "audit", lambda *_, **__: PASSES)
    case = {"seed": "sliced", "steps": [["left_as_it_is", 1], ["other_readme", 1], ["without_certificate", 1]]}
    fault = folders.check(case)
    assert fault is not None
    assert minimized(folders, case, fault)["steps"] == [["other_readme", 1]]


def test_faults_are_counted_once_and_kept(tmp_path: Path) -> None:
    tally, fault = Tally(), Fault("error", "KeyError in x.py f")
    assert tally.add(0, {}, fault)
    assert not tally.add(1, {}, fault)
    assert not tally.add(2, None, None)
    assert (tally.cases, tally.faults[fault.key][0]) == (3, 2)
    kept = write_case(tmp_path, "text", {"target": "csv", "data": ""}, fault)
    assert kept.name == "text-error-keyerror-in-x-py-f.json"
    assert read(kept)["case"] == {"target": "csv", "data": ""}


def test_texts_and_methods_work_for_a_while(tmp_path: Path) -> None:
    """That cases are made and checked at all; what they find is the business of `make fuzz`."""
    outcomes = [TEXT.check(TEXT.case(Random(number))) for number in range(40)]
    outcomes += [METHODS.check(METHODS.case(Random(number))) for number in range(25)]
    assert outcomes.count(None) > 50


def _open(path: Path) -> list[pytest.MarkDecorator]:
    """A fault that is known and not mended yet."""
    why = read(path).get("open")
    return [pytest.mark.xfail(reason=why, strict=True)] if why else []


@pytest.mark.parametrize("path", [
    pytest.param(path, id=path.stem, marks=_open(path))
    for path in KEPT if read(path)["fuzzer"] != "histories"
])  # fmt: skip
def test_a_fault_that_was_found_stays_mended(path: Path, folders: Folders) -> None:
    assert replayed(path, folders if read(path)["fuzzer"] == "folders" else None) is None


def test_histories_that_were_faults_stay_mended() -> None:
    """In a process of their own: one that computes with threads cannot be forked."""
    files = [str(path) for path in KEPT if read(path)["fuzzer"] == "histories"]
    ran = subprocess.run(
        [sys.executable, "-m", "fuzz.corpus", *files], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
