"""Experiments run by points, go on after an interruption, and claims are judged by what was measured."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import polars as pl
import pytest

from experiments.reproduce import CHECKOUT, PAPERS, Case, Claim, Experiment, Figure, Lab, Number, Paper, load, running
from experiments.reproduce import page as pages
from experiments.reproduce import public_data as public
from experiments.reproduce.line_figures import Line, Panel
from experiments.reproduce.paper import HOLDS, IN_PART, UNKNOWN, Point, Printed, Results, Value
from experiments.reproduce.public_data import Part, Source, find
from pluralis.errors import InputError
from reproduce.quick import check_explained, skip_if_absent
from support.cli_runner import Ran, caller


def toy(measure: object = None, points: int = 4) -> Paper:
    """A paper about squares, which says that they grow, and that they stay below 10."""
    squares = Experiment(
        "squares",
        "squares",
        [{"x": x} for x in range(points)],
        [{"x": 1}],
        measure or (lambda point, lab: [{"y": float(point["x"]) ** 2}]),  # type: ignore[arg-type]
    )

    def below(results: Results, printed: Printed) -> Iterator[Case]:
        for x, y in results["squares"].rows():
            yield Case(y < printed["most"], f"{x}: {y:g}")

    return Paper(
        "bsgi", "Squares", "Euclid", (), "None.", [squares], [Claim("squares are small", "p. 1", below, "They grow.")],
        lambda results, printed: [Number("largest", "p. 2", 9, results["squares"]["y"].max(), 0.01, "Fewer points.")],  # type: ignore[arg-type]
        lambda results, printed: [
            Figure("f1", "Squares", [Panel("x", "x", "y", [Line("ours", *results["squares"].to_dict().values(), 0)])])
        ],
    )  # fmt: skip


@pytest.fixture(autouse=True)
def printed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (pages, running):
        monkeypatch.setattr(module, "printed", lambda paper: {"most": 5})


def test_results_of_all_points_become_one_file(tmp_path: Path) -> None:
    running.run(toy(), Lab(), tmp_path)
    assert running.results(toy(), tmp_path)["squares"].to_dict(as_series=False) == {
        "x": [0, 1, 2, 3],
        "y": [0, 1, 4, 9],
    }
    assert not list(tmp_path.rglob("*.part.jsonl"))
    assert running.about(toy(), tmp_path)["quick"] is False


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    asked: list[Value] = []

    def measure(point: Point, lab: Lab, fails: int | None = None) -> list[Mapping[str, Value]]:
        asked.append(point["x"])
        if point["x"] == fails:
            raise KeyboardInterrupt
        return [{"y": float(str(point["x"])) ** 2}]

    with pytest.raises(KeyboardInterrupt):
        running.run(toy(partial(measure, fails=2)), Lab(), tmp_path)
    with pytest.raises(InputError, match="has no results"):
        running.results(toy(), tmp_path)
    part = next(tmp_path.rglob("*.part.jsonl"))
    part.write_text(part.read_text() + '["{\\"x\\": 2}", [{"y"')  # cut off in the middle of a line
    with pytest.raises(KeyboardInterrupt):  # and again
        running.run(toy(partial(measure, fails=3)), Lab(), tmp_path)
    running.run(toy(measure), Lab(), tmp_path)
    assert asked == [0, 1, 2, 2, 3, 3]
    assert running.results(toy(), tmp_path)["squares"]["y"].to_list() == [0, 1, 4, 9]


def test_points_of_another_version_are_not_used(tmp_path: Path) -> None:
    folder = running.folder_of(toy(), tmp_path) / "results"
    folder.mkdir(parents=True)
    old = [json.dumps("another"), json.dumps(['{"x": 0}', [{"y": 99}]])]
    (folder / "squares.part.jsonl").write_text("\n".join(old) + "\n")
    running.run(toy(), Lab(), tmp_path)
    assert running.results(toy(), tmp_path)["squares"]["y"].to_list() == [0, 1, 4, 9]


def test_a_quick_run_measures_its_own_points(tmp_path: Path) -> None:
    running.run(toy(), Lab(quick=True), tmp_path)
    assert running.results(toy(), tmp_path)["squares"]["x"].to_list() == [1]
    assert "A quick run" in pages.page(toy(), tmp_path)


@pytest.mark.parametrize(("points", "verdict"), [(2, HOLDS), (4, IN_PART)])
def test_a_claim_is_judged_by_its_instances(points: int, verdict: str, tmp_path: Path) -> None:
    running.run(toy(points=points), Lab(), tmp_path)
    (judged,) = pages.judged(toy(), tmp_path)
    assert judged.verdict == verdict
    assert judged.numbers.startswith("in 3 of 4. Not: 3: 9. But: 0: 0" if verdict == IN_PART else "0: 0; 1: 1")


def test_a_claim_without_instances_is_not_judged() -> None:
    nothing = Claim("all is well", "p. 1", lambda results, printed: [])
    assert nothing.judged({}, {}).verdict == UNKNOWN


def test_a_page_says_claims_numbers_and_why(tmp_path: Path) -> None:
    running.run(toy(points=3), Lab(), tmp_path)
    text = pages.page(toy(), tmp_path)
    assert "| ✓ | squares are small | p. 1 | *holds* | 0: 0; 1: 1; 2: 4. |" in text
    assert "| largest | p. 2 | 9 | 4 | differs. Fewer points. |" in text
    pages.write_pictures(toy(), tmp_path)
    assert (tmp_path / "experiments/bsgi/figures/f1.svg").read_text().startswith("<svg")
    assert (tmp_path / "experiments/bsgi/figures/f1.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", PAPERS)
def test_committed_pages_are_those_of_committed_results(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    paper = load(name)
    assert (CHECKOUT / "docs" / "reproduction" / f"{name}.md").read_text(encoding="utf-8") == pages.page(
        paper, CHECKOUT
    )
    for figure in paper.figures(running.results(paper, CHECKOUT), running.printed(paper)):
        drawn = pages.lines_svg(figure.title, figure.panels, across=figure.across) + "\n"
        kept = running.folder_of(paper, CHECKOUT) / "figures" / f"{figure.name}.svg"
        assert kept.read_text(encoding="utf-8") == drawn
        assert kept.with_suffix(".png").is_file()
    assert not running.about(paper, CHECKOUT)["quick"]
    check_explained(pages.judged(paper, CHECKOUT), timed=True)


def test_the_summary_has_a_row_for_each_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    papers = [load(name) for name in PAPERS]
    text = (CHECKOUT / "docs" / "reproduction" / "README.md").read_text(encoding="utf-8")
    assert text == pages.summary(papers, CHECKOUT)
    assert sum(len(paper.claims) for paper in papers) >= 30


# data ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, str]]:
    """A folder of this machine on the network, and no other place where data could be."""
    monkeypatch.delenv("PLURALIS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(public, "BESIDE", tmp_path / "nowhere")
    (tmp_path / "served").mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "served")))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield tmp_path / "served", f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_data_is_downloaded_once_and_verified(served: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, address = served
    raw = b"39, State-gov, <=50K\n50, ?, >50K\n"
    (folder / "adult.data").write_bytes(raw)
    part = Part(f"{address}/adult.data", hashlib.sha256(raw).hexdigest())
    monkeypatch.setattr(
        public, "SOURCES", {"a.csv.gz": Source("people", "", [part], public.SOURCES["adult_clean_30162.csv.gz"].make)}
    )
    path = find("a.csv.gz")
    assert gzip.decompress(path.read_bytes()).decode().splitlines()[1:] == ["39,State-gov,<=50K"]
    (folder / "adult.data").unlink()
    assert find("a.csv.gz") == path


def test_data_with_another_checksum_is_refused(
    served: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder, address = served
    (folder / "t.parquet").write_bytes(b"changed")
    part = Part(f"{address}/t.parquet", hashlib.sha256(b"as it was").hexdigest())
    monkeypatch.setattr(public, "SOURCES", {"t.parquet": Source("people", "", [part])})
    with pytest.raises(InputError, match="checksum differs"):
        find("t.parquet")
    assert not (tmp_path / "cache").exists()


def test_data_that_cannot_be_had_says_what_to_do(served: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="--data or in PLURALIS_DATA"):
        find("census_income_kdd_train.parquet")
    monkeypatch.setattr(public, "SOURCES", {"t": Source("people", "", [Part(f"{served[1]}/none", "")])})
    with pytest.raises(InputError, match="cannot be reached: HTTP Error 404"):
        find("t")


def test_the_folder_that_is_asked_for_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("asked", "named"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "desynpuf_inpatient_claims.parquet").touch()
    monkeypatch.setenv("PLURALIS_DATA", str(tmp_path / "named"))
    assert find("desynpuf_inpatient_claims.parquet", tmp_path / "asked").parent.name == "asked"
    assert find("desynpuf_inpatient_claims.parquet").parent.name == "named"
    with pytest.raises(InputError, match="no folder"):
        find("desynpuf_inpatient_claims.parquet", tmp_path / "nowhere")


def test_a_file_with_another_content_is_refused(tmp_path: Path) -> None:
    (tmp_path / "adult_clean_30162.csv.gz").write_bytes(gzip.compress(b"age\n1\n"))
    with pytest.raises(InputError, match="checksum differs"):
        find("adult_clean_30162.csv.gz", tmp_path)


def test_a_quick_run_is_skipped_only_where_data_is_absent(served: tuple[Path, str], tmp_path: Path) -> None:
    with pytest.raises(pytest.skip.Exception, match="--data or in PLURALIS_DATA"):
        skip_if_absent("census_income_kdd_train.parquet")
    folder = tmp_path / "cache" / "pluralis" / "data"
    folder.mkdir(parents=True)
    (folder / "adult_clean_30162.csv.gz").write_bytes(gzip.compress(b"age\n1\n"))
    with pytest.raises(InputError, match="checksum differs"):
        skip_if_absent("adult_clean_30162.csv.gz")


def test_adult_as_it_is_made_is_adult_as_it_is_known(adult: Path) -> None:
    raw = adult.with_name("adult.data.gz")
    if not raw.exists():
        pytest.skip("adult.data.gz is not there: put it beside adult_clean_30162.csv.gz")
    made = public.SOURCES[adult.name].make([gzip.decompress(raw.read_bytes())])
    assert pl.read_csv(made).equals(pl.read_csv(adult))


# the command --------------------------------------------------------------------------------------------------------


def test_the_command_runs_and_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.reproduce.load", lambda name: toy())
    monkeypatch.setattr("experiments.reproduce.has_results", lambda paper, root: True)
    call = caller(capsys, monkeypatch)
    ran: Ran = call("reproduce", "bsgi", "--out", str(tmp_path))
    assert ran.code == 0
    assert "holds in part" in ran.out
    ran = call("reproduce", "bsgi", "--out", str(tmp_path), "--json")
    assert ran.json["bsgi"][0]["verdict"] == IN_PART
    assert (tmp_path / "docs/reproduction/README.md").is_file()


def test_an_unknown_paper_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ran = caller(capsys, monkeypatch)("reproduce", "slom")
    assert ran.code == 2
    assert "sloms" in ran.err


def test_papers_are_found_from_any_folder(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "pluralis", "reproduce", "slom"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert ran.returncode == 2
    assert "There is no paper 'slom'" in ran.stderr


def test_without_a_checkout_nothing_is_reproduced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pluralis.cli.reproduce.CHECKOUT", tmp_path)
    ran = caller(capsys, monkeypatch)("reproduce", "bsgi", "--out", str(tmp_path / "out"))
    assert ran.code == 2
    assert "needs a checkout of the repository" in ran.err
    assert "make demo" in ran.err
    assert not (tmp_path / "out").exists()
