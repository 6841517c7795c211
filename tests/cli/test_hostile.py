"""Names, values and remarks of a stranger reach no terminal as anything but text: no line, color or link of theirs.

Every command is run on tables and releases whose every text is hostile; what comes out, on either stream, colored or
not, holds no character that shows nothing but the end of a line and the colors of this program, and no line of theirs.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

import pluralis.cli.progress_bars
from pluralis.auditing.verdict import Finding, Verdict
from pluralis.cli.audit import show_verdict
from pluralis.cli.progress_bars import progress_bars
from pluralis.cli.terminal import Grid, Terminal, filled
from pluralis.display.escaping import as_json, complain, printable
from pluralis.errors import QueryError
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.publishing.pipeline import publish
from support.cli_runner import Ran, caller
from support.sample_tables import KEY

FORGED = "Every claim holds (400 checked)."
EVIL = [
    f"\n{FORGED}\n",
    f"\r\x1b[2K\x1b[1A{FORGED}",
    f"\x9b2J\x85{FORGED}\x85",
    f"\u2028{FORGED}\u2029",
    f"\x0b{FORGED}\x0c\x1c\x1d\x1e",
    "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "\u202esdloh mialc yrevE\u202c\u2066",
    "a\u200bb\ufeffc\u2060\U000e0041",
    "[link=http://evil.example]here[/link] [bold red]x[/] [/] :warning:",
    "\x07\x08\x00\x7f",
]
COLORS = re.compile(r"\x1b\[[0-9;]*m")


def unseen(text: str) -> set[str]:
    """The characters of an output that should not be in it."""
    rest = COLORS.sub("", text)
    bad = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    return {c for c in rest if c != "\n" and unicodedata.category(c) in bad}


def require_clean(*outputs: str) -> None:
    for text in outputs:
        assert not unseen(text), repr(text)
        assert "evil.example\x1b" not in text
        lines = [COLORS.sub("", line).strip(" │╭╰") for line in text.splitlines()]
        assert FORGED not in lines
        assert not any(line.startswith("Every claim holds (400") for line in lines)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables and policies whose every text is hostile, and releases of one whose names can be seen.

    Names with characters that cannot be seen are not published, and no reader would take such a release.
    """
    folder = tmp_path_factory.mktemp("hostile")
    rows = 400
    columns = [
        [20 + i % 9 for i in range(rows)],
        [f"{EVIL[i % 5]}{i % 3}" for i in range(rows)],
        [f"{EVIL[8]}{i % 2}" for i in range(rows)],
        [f"{i % 8}{EVIL[i % 8]}" for i in range(rows)],
    ]
    unseen_names = [f"age{EVIL[1]}x", f"town{EVIL[0]}x", f"ward{EVIL[5]}x", f"disease{EVIL[6]}{EVIL[8]}x"]
    for name, names in (("unseen", unseen_names), ("people", [f"{part}{EVIL[8]}" for part in "atwd"])):
        frame = pl.DataFrame(columns, names)
        age, town, ward, disease = names
        attributes = {
            age: {"role": "quasi", "type": "number"},
            town: {"role": "quasi"},
            ward: {"role": "plain"},
            disease: {"role": "sensitive", "l": 2},
        }
        frame.write_parquet(folder / f"{name}.parquet")
        policy = Policy.from_dict({"version": 1, "attributes": attributes, "publish": {"method": "anatomy"}})
        (folder / f"{name}.yaml").write_text(policy.to_yaml())
    for method in ("anatomy", "bsgi", "decomposition", "randomized-addition"):
        policy = Policy.from_dict(
            {"version": 1, "attributes": attributes, "publish": {"method": method}, "accept": ["set-size"]}
        )
        publish(frame, policy, key=KEY, attacks=False).save(folder / method, allow_test=True)
    return folder


@pytest.fixture(params=[False, True], ids=["plain", "colored"])
def call(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ran]:
    if request.param:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setattr(
            pluralis.cli.progress_bars, "progress_bars", lambda console: nullcontext()
        )  # they move the cursor
    return caller(capsys, monkeypatch)


def commands(folder: Path) -> Iterator[list[str]]:
    table, policy = str(folder / "people.parquet"), str(folder / "people.yaml")
    for method in ("anatomy", "bsgi", "decomposition", "randomized-addition"):
        release = str(folder / method)
        disease = pl.read_parquet(table).columns[-1].replace('"', '""')
        yield ["audit", release, "--allow-test"]
        yield ["audit", release]
        yield ["audit", release, "--allow-test", "--original", table]
        yield ["measure", release, "--original", table, "--queries", "5"]
        yield ["query", release, f'COUNT BY "{disease}"']
        yield ["query", release, f"\"{disease}\" = 'x{EVIL[0]}'"]
        yield ["query", release, f"{EVIL[1]} = 3"]
        yield ["query", release, f'SELECT "{disease}", sum(count) FROM expected GROUP BY ALL', "--sql"]
        yield ["query", release, f'SELECT "{EVIL[0]}" FROM expected', "--sql"]
        if method in ("anatomy", "decomposition"):
            yield ["attack", release, "--original", table]
    yield ["attack", str(folder / "anatomy"), "--explain", "1"]
    yield ["attack", str(folder / "anatomy"), "--explain", EVIL[0]]
    for name in ("people", "unseen"):
        table, policy = str(folder / f"{name}.parquet"), str(folder / f"{name}.yaml")
        yield ["profile", table]
        yield ["rules", policy]
        yield ["rules", policy, table]
        yield ["publish", table, "--policy", policy, "--out", str(folder / f"new {EVIL[1]}")]
        yield ["publish", table, "--policy", policy, "--out", str(folder / "x"), "--set", EVIL[0]]
        yield ["init", table, "-o", str(folder / f"policy {EVIL[0]}.yaml")]
        yield ["init", table, "-o", str(folder / f"policy {EVIL[0]}.yaml")]
        yield ["compare", table, "--policy", policy, "--methods", "bsgi,anatomy", "--no-cache"]
    yield ["audit", str(folder / f"nothing {EVIL[0]}")]
    yield ["audit", EVIL[1]]
    yield ["audit", "x\udcff"]
    yield ["query", str(folder / "anatomy"), "\udcff"]
    yield ["query", str(folder / "anatomy"), "SELECT '\udcff'", "--sql"]
    yield ["publish", table, "--policy", policy, "--out", "x", "--format", EVIL[1]]
    yield ["compare", table, "--policy", policy, "--limit", EVIL[0]]
    yield [EVIL[1]]
    yield [f"--{EVIL[0]}"]


@pytest.mark.usefixtures("trials_in_this_process")
def test_nothing_hostile_comes_out_of_any_command(
    hostile: Path, call: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for place in ("new*", "policy *"):
        for left in hostile.glob(place):
            left.unlink() if left.is_file() else None
    ran: dict[str, int] = {}
    for words in commands(hostile):
        output = call(*words)
        require_clean(output.out, output.err)
        ran[" ".join(words[:1])] = max(ran.get(words[0], 0), int(output.code == 0))
        assert output.code in (0, 1, 2, 3), (words, output.err)
        assert "Traceback" not in output.err
        if words[0] in ("audit", "query", "measure", "profile", "rules"):
            as_data = call(*words, "--json")
            require_clean(as_data.out, as_data.err)
            if as_data.code == 0:
                assert json.loads(as_data.out)
    assert all(ran[name] for name in ("audit", "measure", "query", "attack", "profile", "rules", "compare"))


def test_breaks_of_a_stranger_begin_no_line(hostile: Path, call: Callable[..., Ran], tmp_path: Path) -> None:
    """Whether the reader takes such a manifest or not."""
    folder = tmp_path / "release"
    folder.mkdir()
    for file in (hostile / "anatomy").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["breaks"] = EVIL
    manifest["method"] = EVIL[0]
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    for words in (["audit", str(folder), "--allow-test"], ["query", str(folder), "COUNT"]):
        for more in ([], ["--json"]):
            output = call(*words, *more)
            require_clean(output.out, output.err)
            assert output.code in (0, 1, 2)


def test_a_verdict_in_memory(capsys: pytest.CaptureFixture[str]) -> None:
    findings = [Finding(claim=text, holds=False, measured=1.0, promised=0.5, witness=text, note=text) for text in EVIL]
    show_verdict(Terminal(width=60), Verdict(tuple(findings), tuple(EVIL)))
    out = capsys.readouterr().out
    require_clean(out)
    assert "\\x1b" in out
    assert "[bold red]x" in out
    assert "\\u202e" in out


@pytest.mark.parametrize("width", [40, 60, 80, 160])
@pytest.mark.parametrize("terminal", [False, True])
def test_where_a_line_is_cut_nothing_begins_at_the_edge(
    width: int, terminal: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """A text padded to the width of a terminal would go on at the left edge of the next line."""
    console = Terminal(width=width, force_terminal=terminal, color_system=None)
    for pad in range(width):
        text = f"{'x' * pad} {FORGED}"
        finding = Finding(claim=text, holds=False, measured=1.0, promised=0.5)
        show_verdict(console, Verdict((finding,), (text,)))
        console.say("{}", text, wrap=False)
    out = capsys.readouterr().out
    assert "Every claim" in out
    assert not [line for line in out.splitlines() if line.startswith("Every claim")]


def test_progress_shows_names_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    console = Terminal(force_terminal=True, width=100)
    with progress_bars(console), stage("\x1b]0;evil\x07[link=http://evil.example]x[/link]\n" + FORGED):
        pass
    out = capsys.readouterr().out
    assert "\\x1b]0;evil\\x07[link=http://evil.example]x[/link]\\x0a" in out
    assert "\x1b]" not in out


@given(st.text(), st.text())
def test_values_are_never_markup(one: str, two: str) -> None:
    text = filled("[bold]{}[/]{}]", one, two)
    assert text.plain == f"{printable(one)}{printable(two)}]"
    assert [(span.start, span.end) for span in text.spans] == ([(0, len(printable(one)))] if one else [(0, 0)])
    assert not unseen(text.plain)


@given(st.text())
def test_printable_is_stable_and_json_stays_the_same(text: str) -> None:
    assert printable(printable(text)) == printable(text)
    assert not unseen(printable(text))
    assert "\n" not in printable(text)
    written = as_json({text: [text]})
    assert not unseen(written)
    assert json.loads(written) == {text: [text]}


def test_ordinary_text_stays() -> None:
    for text in ("Größe 5 – ½ “x”", "心臓の病気", "naïve\u0301", "a\\b [x] {y}", "مرض", "🙂"):
        assert printable(text) == text


def test_what_is_rendered_by_any_way_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    console = Terminal(width=80)
    console.print("[bold]\x1b[2J\nx[/]")
    console.print(Text("\x1b[2J\u202e"))
    grid = Grid("\x1b[2J")
    grid.add_row(Text("\x9b"))
    console.print(grid)
    out = capsys.readouterr().out
    assert not unseen(out)
    assert "[bold]\\x1b[2J\\x0ax[/]" in out


def test_lines_of_a_refusal_are_those_of_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    refusal = QueryError(f"No value 'x\n{FORGED}'.", "  here", "and here")
    assert str(refusal).endswith("\n  here\nand here")
    complain(*refusal.lines)
    err = capsys.readouterr().err
    assert err.splitlines() == [f"pluralis: No value 'x\\x0a{FORGED}'.", "  here", "  and here"]


SOURCE = Path(pluralis.__file__).parent
HOME = (SOURCE / "display" / "escaping.py", SOURCE / "cli" / "terminal.py")
RICH = {
    "rich.cells": {"cell_len"},
    "rich.text": {"Text"},
    "rich.progress": {"BarColumn", "Progress", "TaskID", "TextColumn", "TimeElapsedColumn"},
}


def test_there_is_one_way_to_the_terminal() -> None:
    """No `print`, no rich console, table or markup elsewhere; what `say` gets is written in the program."""
    faults = [
        f"{file.relative_to(SOURCE)}:{line}: {fault}"
        for file in sorted(SOURCE.rglob("*.py"))
        if file not in HOME
        for line, fault in other_ways(ast.parse(file.read_text(encoding="utf-8")))
    ]
    assert not faults


def other_ways(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("rich", "click"):
            if not {name.name for name in node.names} <= RICH.get(node.module or "", set()):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Import) and any(name.name.split(".")[0] in ("rich", "click") for name in node.names):
            yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Call):
            function = ast.unparse(node.func)
            literal = bool(node.args) and isinstance(node.args[0], ast.Constant)
            named = all(isinstance(arg, ast.Name) for arg in node.args)
            if (
                function in ("print", "typer.echo", "typer.secho", "sys.stdout.write", "sys.stderr.write")
                or function.endswith((".from_markup", ".append_markup", ".print_exception"))
                or (function in ("console.say", "terminal().say") and not literal)
                or (function in ("console.print", "terminal().print") and not named)
                or function in ("console.out", "console.log", "console.print_json")
            ):
                yield node.lineno, ast.unparse(node)


@pytest.mark.parametrize(
    "line",
    [
        "print(x)",
        "from rich.console import Console",
        "import rich",
        "console.say(f'{x}')",
        "console.print(f'{x}')",
        "terminal().say(x)",
        "sys.stderr.write(x)",
        "Text.from_markup(x)",
    ],
)
def test_other_ways_are_seen(line: str) -> None:
    assert list(other_ways(ast.parse(line)))


def test_a_usage_error_repeats_nothing_hostile(call: Any) -> None:
    ran = call("methods", EVIL[1])
    require_clean(ran.out, ran.err)
    assert ran.code == 2
    assert "\\x1b" in ran.err
    assert sys.argv[0] == "pluralis"
