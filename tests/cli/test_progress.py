"""Whoever waits sees what for: each command that may take a second announces its steps."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba import njit

import pluralis as pls
from pluralis.cli import progress_bars
from pluralis.cli.compilation import COMPILING
from pluralis.cli.terminal import Terminal
from pluralis.progress import listening, stage
from support.sample_tables import KEY, PATIENTS, patients_policy


class Heard:
    """Notes what begins, how far it comes, and what ends."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.shares: dict[str, float] = {}
        self.open: list[str] = []

    def begin(self, what: str) -> None:
        self.begun.append(what)
        self.open.append(what)

    def advance(self, what: str, share: float) -> None:
        assert what in self.open
        assert self.shares.get(what, 0.0) <= share <= 1
        self.shares[what] = share

    def end(self, what: str) -> None:
        self.open.remove(what)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pls.publish(PATIENTS, patients_policy(2), key=KEY, attacks=False).save(tmp_path / "release")
    return tmp_path / "release"


def test_every_verb_says_what_it_does(folder: Path) -> None:
    verbs = {
        "judging 1 claim": lambda: pls.audit(folder, PATIENTS),
        "measuring what was lost": lambda: pls.measure(folder, PATIENTS),
        "asking random counts": lambda: pls.measure(folder, PATIENTS, queries=2, dimensions=1),
        "looking at each column": lambda: pls.profile(PATIENTS),
        "1 attack": lambda: pls.attack(folder, PATIENTS, only=["linkage"]),
        "reading the release": lambda: pls.read_release(folder),
    }
    for what, verb in verbs.items():
        heard = Heard()
        with listening(heard):
            verb()
        assert what in heard.begun
        assert not heard.open
        assert set(heard.shares.values()) <= {1.0}


def test_compiling_is_said_where_it_happens_and_once(tmp_path: Path) -> None:
    """A command with an empty cache says so; with what that left in the cache, it has nothing to say."""
    table = tmp_path / "table.csv"
    table.write_text("age,ill\n30,flu\n40,hiv\n", encoding="utf-8")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def complaints() -> list[str]:
        command = [sys.executable, "-m", "pluralis", "profile", str(table)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr.splitlines()

    assert complaints() == [COMPILING]
    assert complaints() == []


def test_every_compilation_of_a_command_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bars.progress_bars(Terminal(stderr=True)):
        for one in (1, 1.0):
            njit(lambda value: value + 1)(one)
    assert capsys.readouterr().err.splitlines() == [COMPILING]
    njit(lambda value: value + 2)(1)
    assert capsys.readouterr().err == ""


def test_without_a_terminal_a_line_is_written_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """Not at every step, but where some time has passed since the last line."""
    times = iter([0.0, 10.0, 31.0, 31.0, 40.0, 62.0, 62.0, 70.0])
    monkeypatch.setattr(progress_bars.time, "monotonic", lambda: next(times))
    with progress_bars.progress_bars(Terminal(stderr=True)), stage("reading") as done:
        done(0.4)
        done(0.5)
        with stage("forming groups"):
            pass
    assert capsys.readouterr().err.splitlines() == ["reading: 40%", "forming groups"]
