"""The quick run of BSGI's experiments: pages, figures and results are written, and what must hold at any size does."""

from __future__ import annotations

from pathlib import Path

import pytest

from pluralis.datasets.public import find
from pluralis.errors import InputError
from pluralis.reproduce import Judged, Lab, load, reproduce
from pluralis.reproduce.paper import HOLDS
from pluralis.reproduce.running import printed, results

ALWAYS = (
    "section 6.1",
    "Theorem 1",
    "Corollary 2",
    "section 4",
    "Observation 1",
    "Observation 2",
    "Tables 1 to 4",
    "section 6.3, Figure 6, Table 5",
    "section 6.3, Table 5",
)
GOLDEN = (
    "rows without missing values",
    "largest l for occupation",
    "rows with the commonest occupation",
    "values of",
    "⌊n/n₁⌋ of workclass",
    "average group size, BSGI",
    "average group size, Mondrian, relaxed",
    "NCP, BSGI, l",
    "NCP, BSGI, default",
    "B2",
    "one secret",
    "B4",
)


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Judged]]:
    for name in load("bsgi").data:
        try:
            find(name)
        except InputError as missing:
            pytest.skip(str(missing))
    root = tmp_path_factory.mktemp("bsgi")
    return root, reproduce("bsgi", Lab(quick=True), root)


def test_page_figures_and_results_are_written(quick: tuple[Path, list[Judged]]) -> None:
    root, _ = quick
    paper = load("bsgi")
    folder = root / "experiments" / "bsgi"
    page = (root / "docs/reproduction/bsgi.md").read_text(encoding="utf-8")
    for experiment in paper.experiments:
        assert (folder / "results" / f"{experiment.name}.csv").stat().st_size > 0
    for figure in ("figure4", "figure5", "figure6", "table5", "open", "observation2"):
        assert (folder / "figures" / f"{figure}.svg").read_text(encoding="utf-8").startswith("<svg")
        assert (folder / "figures" / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
        assert f"figures/{figure}.png" in page
    assert all(claim.statement in page for claim in paper.claims)


def test_what_is_proved_holds(quick: tuple[Path, list[Judged]]) -> None:
    judged = [one for one in quick[1] if one.claim.source in ALWAYS]
    assert {one.claim.source for one in judged} == set(ALWAYS)
    assert {one.claim.statement: one.numbers for one in judged if one.verdict != HOLDS} == {}


def test_a_verdict_is_explained_where_it_is_not_that_a_claim_holds(quick: tuple[Path, list[Judged]]) -> None:
    assert [one.claim.statement for one in quick[1] if one.verdict != HOLDS and not one.claim.why] == []


def test_golden_numbers_agree(quick: tuple[Path, list[Judged]]) -> None:
    paper = load("bsgi")
    numbers = list(paper.numbers(results(paper, quick[0]), printed(paper)))
    golden = [number for number in numbers if number.what.startswith(GOLDEN)]
    assert len(golden) >= 16
    assert [(number.what, number.printed, number.ours) for number in golden if not number.agrees] == []
    assert [number.what for number in numbers if not number.agrees and not number.why] == []


def test_default_breaks_no_table_with_two_secrets(quick: tuple[Path, list[Judged]]) -> None:
    """Hole B3: the paper's rule breaks some of the same tables."""
    tables = results(load("bsgi"), quick[0])["tables"].to_dicts()
    broken = {variant: sum(row["broken"] for row in tables if row["variant"] == variant and row["secrets"] == 2)
              for variant in ("paper", "hardened")}  # fmt: skip
    assert broken["hardened"] == 0 < broken["paper"]
