"""Whatever goes wrong, a command ends with a sentence and exit code 2, not with a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from pluralis.cli.main import DEBUG, run
from pluralis.errors import PluralisError
from pluralis.publishing.pipeline import publish
from support.cli_runner import Ran, caller
from support.sample_tables import KEY, PATIENTS, patients_policy


def _deep() -> None:
    _deep()


def _panic() -> None:
    raise pl.exceptions.PanicException("index out of bounds\x1b[2J")


FAULTS: dict[str, Callable[[], object]] = {
    "recursion": _deep,
    "panic": _panic,
    "overflow": lambda: float(10**400),
    "index": lambda: [][0],  # type: ignore[index]
    "digits": lambda: int("9" * 5000),
    "surrogate": lambda: "\udcff".encode(),
    "value": lambda: (_ for _ in ()).throw(ValueError("\nEvery claim holds (4 checked).\n\x1b[2J" + "x" * 5000)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_error_that_nobody_foresaw(
    fault: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(DEBUG, raising=False)
    assert run(FAULTS[fault]) == PluralisError.exit_code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("pluralis: ")
    assert err.count("\n") == 1
    assert len(err) < 700
    assert "\x1b" not in err
    assert "UTF-8" in err if fault == "surrogate" else f"{DEBUG}=1" in err
    monkeypatch.setenv(DEBUG, "1")
    assert run(FAULTS[fault]) == 2
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert "test_faults.py" in err
    assert "\x1b" not in err
    assert all(line.startswith(("  ", "pluralis: ")) for line in err.splitlines())


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_who_stops_the_program_stops_it(stop: type[BaseException]) -> None:
    def stopped() -> None:
        raise stop

    with pytest.raises(stop):
        run(stopped)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release") / "release"
    publish(PATIENTS, patients_policy(method="anatomy"), key=KEY, attacks=False).save(folder)
    PATIENTS.write_parquet(folder.parent / "people.parquet")
    return folder


def commands(release: Path) -> list[list[str]]:
    table = str(release.parent / "people.parquet")
    return [
        ["audit", str(release)],
        ["audit", str(release), "--original", table],
        ["query", str(release), "COUNT"],
        ["query", str(release), "SELECT count FROM expected", "--sql"],
        ["attack", str(release), "--original", table],
        ["attack", str(release), "--explain", "1"],
        ["measure", str(release), "--original", table],
    ]


@pytest.mark.parametrize("text", ["\udcff", "'\udcff'", '"\udcff"', "age = '\udcff'", "SELECT '\udcff'"])
@pytest.mark.parametrize("more", [[], ["--sql"], ["--json"]])
def test_bytes_that_are_no_text(
    release: Path, text: str, more: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: Ran = caller(capsys, monkeypatch)("query", str(release), text, *more)
    assert ran.code == 2
    assert ran.err.startswith("pluralis: ")
    assert "Traceback" not in ran.err
    ran.err.encode()


@pytest.mark.parametrize(
    "manifest",
    [
        b"[" * 100_000,
        b'{"rows": ' + b"9" * 5000 + b"}",
        b'{"a": "\\ud800"}',
        b"\xff\xfe",
        b"[]",
        b"null",
        b"1e999",
        b"",
    ],
    ids=["deep", "digits", "surrogate", "UTF-16", "list", "null", "infinite", "empty"],
)
def test_a_damaged_release_is_refused_by_every_command(
    release: Path,
    manifest: bytes,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "release"
    folder.mkdir()
    for file in release.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "manifest.json").write_bytes(manifest)
    PATIENTS.write_parquet(tmp_path / "people.parquet")
    for words in commands(folder):
        ran = caller(capsys, monkeypatch)(*words)
        assert ran.code == 2, words
        assert ran.err.startswith("pluralis: ")
        assert "Traceback" not in ran.err


def test_a_terminal_that_has_few_letters(release: Path) -> None:
    """What it cannot show is escaped; the command does its work."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-m", "pluralis", "query", str(release), "disease = 'Flü'"]
    ran = subprocess.run(words, capture_output=True, env=environment, check=False)
    assert ran.returncode == 2
    assert b"Fl\\xfc" in ran.stderr
    assert b"Traceback" not in ran.stderr


def test_what_reading_needs_is_named_as_the_option_that_says_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pluralis = caller(capsys, monkeypatch)
    table = tmp_path / "table.csv"
    for data, option in ((b"name,age\nJos\xe9,30\n", "--encoding cp1252"), (b"name,age\na,b,30\n", "--separator ';'"),
                         (b"name,age\na\0,30\n", "--encoding utf-16-le")):  # fmt: skip
        table.write_bytes(data)
        ran = pluralis("profile", str(table))
        assert (ran.code, option in ran.err, "in Python" in ran.err) == (2, True, True)
