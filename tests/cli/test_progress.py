"""Whoever waits sees what for: each command that may take a second announces its steps."""

from __future__ import annotations

from pathlib import Path

import pytest

import pluralis as pls
from pluralis.cli import progress_bars, warm
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


def test_compiling_is_announced_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    lines: list[str] = []
    warm.announce_compilation(lines.append)
    assert lines == ["Compiling (once, about 30 s)."]
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "merge.nbi").write_bytes(b"")
    warm.announce_compilation(lines.append)
    assert len(lines) == 1


def test_kernels_of_an_installed_package_lie_among_the_files_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(warm.sys, "platform", "linux")
    assert warm._of_the_user() == []
    (tmp_path / "numba" / "kernels_ab12").mkdir(parents=True)
    assert [path.name for path in warm._of_the_user()] == ["kernels_ab12"]


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
