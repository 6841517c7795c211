"""Versatile Publishing's quick run: pages, figures and results are there, and what must hold at any size holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from pluralis.datasets.public import find
from pluralis.errors import InputError
from pluralis.reproduce import Judged, Lab, load, reproduce
from pluralis.reproduce.paper import HOLDS, NOT
from pluralis.reproduce.running import printed, results

THEOREMS = (  # whatever the table
    "Joining Tables 2(a) to (c)",
    "Tables 3 are in GNF",
    "If the published tables are in GNF",
    "Tables published by UAD are in GNF",
    "For l-diversity, each group of multi-SA",
    "Both UAD and single-attribute publishing answer 1-dimensional queries precisely",
    "l has no impact on the decomposition of UAD",
)
FALSE = ("The interaction graph of tables in GNF must be triangulated", "GD requires a matter of weeks")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("versatile")


@pytest.fixture(scope="module")
def claims(root: Path) -> list[Judged]:
    paper = load("versatile")
    for name in paper.data:
        try:
            find(name)
        except InputError as missing:
            pytest.skip(str(missing))
    return reproduce("versatile", Lab(quick=True), root)


def verdicts(claims: list[Judged], start: str) -> list[str]:
    return [claim.verdict for claim in claims if claim.claim.statement.startswith(start)]


def test_what_must_hold_at_any_size_holds(claims: list[Judged]) -> None:
    for start in THEOREMS:
        assert verdicts(claims, start) == [HOLDS], start
    for start in FALSE:
        assert verdicts(claims, start) == [NOT], start


def test_rules_in_circles_are_where_the_papers_loop_does_not_end(claims: list[Judged]) -> None:
    (loop,) = (claim for claim in claims if claim.claim.statement.startswith("GD decomposes"))
    assert [case.holds for case in loop.cases] == [True, False]


def test_golden_numbers_agree(claims: list[Judged], root: Path) -> None:
    paper = load("versatile")
    found = {number.what: number for number in paper.numbers(results(paper, root), printed(paper))}
    differ = {what for what, number in found.items() if not number.agrees}
    undrawn = {"Texas: values of and_md", "Texas: values of surgeon"}  # not every physician has a discharge
    assert differ == {"of those as printed, in Table 1", *undrawn}  # two of four tuples are misprinted
    assert found["tuples that Tables 2 reveal"].ours == 4
    assert {number.source for number in found.values()} >= {*(f"a prototype (V{i})" for i in (1, 2, 3)), "Table 5b"}


def test_page_figures_and_results_are_written(claims: list[Judged], root: Path) -> None:
    page = (root / "docs" / "reproduction" / "versatile.md").read_text(encoding="utf-8")
    folder = root / "experiments" / "versatile"
    paper = load("versatile")
    for experiment in paper.experiments:
        assert (folder / "results" / f"{experiment.name}.csv").stat().st_size
    names = [f"figure{i}" for i in range(1, 11)] + ["growth"]
    for name in names:
        assert (folder / "figures" / f"{name}.svg").read_text(encoding="utf-8").startswith("<svg")
        assert (folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert f"figures/{name}.png" in page
    for claim in claims:
        assert claim.claim.statement in page
        assert claim.cases
