"""A benchmark that is run in part keeps the figures of the rest."""

from __future__ import annotations

import csv
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIGURES = (
    "plan_seconds",
    "publish_seconds",
    "copy_seconds",
    "table_mib",
    "ncp",
    "suppressed_share",
    "code_mib",
    "peak_mib",
)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The program, in another folder, on a machine on which everything takes as long as it says."""
    spec = importlib.util.spec_from_file_location("benchmarks_run", ROOT / "benchmarks" / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("benchmarks", "docs"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(module, "HERE", tmp_path / "benchmarks")
    monkeypatch.setattr(module, "RESULTS", tmp_path / "benchmarks" / "results.csv")
    monkeypatch.setattr(module, "PAGE", tmp_path / "docs" / "performance.md")
    monkeypatch.setattr(module, "make_table", lambda *_, **__: None)
    monkeypatch.setattr(module, "RUNS", {"a": module.Run("a", (10, 20)), "b": module.Run("b", (20, 30))})

    def run(seconds: float, *words: str) -> dict[tuple[str, int], float]:
        monkeypatch.setattr(module, "measured", lambda *_: dict.fromkeys(FIGURES, seconds))
        monkeypatch.setattr(sys, "argv", ["run", *words])
        module.main()
        with module.RESULTS.open(newline="") as file:
            return {(row["method"], int(row["rows"])): float(row["plan_seconds"]) for row in csv.DictReader(file)}

    return run


@pytest.mark.parametrize(
    ("words", "again"),
    [
        ((), {("a", 10), ("a", 20), ("b", 20), ("b", 30)}),
        (("--only", "b"), {("b", 20), ("b", 30)}),
        (("--only", "b", "--most", "20"), {("b", 20)}),
        (("--most", "20"), {("a", 10), ("a", 20), ("b", 20)}),
        (("--most", "5"), set()),
    ],
)
def test_what_is_not_run_keeps_its_figures(bench: Any, words: tuple[str, ...], again: set[tuple[str, int]]) -> None:
    before = bench(1.0)
    assert bench(2.0, *words) == {size: 2.0 if size in again else 1.0 for size in before}


def test_a_size_that_is_not_measured_any_more_is_dropped(bench: Any, tmp_path: Path) -> None:
    bench(1.0)
    results = tmp_path / "benchmarks" / "results.csv"
    results.write_text(results.read_text() + "a,40" + ",1.0" * len(FIGURES) + "\n")
    assert ("a", 40) not in bench(2.0, "--only", "b")


def test_what_another_benchmark_wrote_below_stays(bench: Any, tmp_path: Path) -> None:
    bench(1.0)
    page = tmp_path / "docs" / "performance.md"
    page.write_text(page.read_text() + "\n## All cores\n\n| 7.5 |\n")
    bench(2.0)
    bench(3.0)
    assert page.read_text().endswith("|\n\n## All cores\n\n| 7.5 |\n")
    assert page.read_text().count("## All cores") == 1
