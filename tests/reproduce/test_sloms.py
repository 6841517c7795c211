"""The quick run of the SLOMS paper: what must hold at any size holds, and known numbers are met."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from pluralis.datasets.public import find
from pluralis.errors import InputError
from pluralis.reproduce import Judged, Lab, Number, load, reproduce
from pluralis.reproduce.paper import HOLDS
from pluralis.reproduce.running import printed, results

THEOREMS = (  # they follow from the definitions, or the paper works them out by hand
    "No method leaves out less than the most skewed attribute alone forces",
    "If m is 1 and k is 1, SLOMS is degraded into MSB",
    "By MSB 6 of the 9 rows of Table I are suppressed, by SLOMS none",
    "The suppression ratio grows rapidly with the increasing of parameter l",
    "In all test cases our algorithm can finish in less than 1 minute",
)
DIFFERENT = {  # what the paper prints wrong
    "rows of Table I that generalisation keeps",
    "values of Occupation",
    "values of Workclass",
    "values of Major Occupation code",
    "values of Major industry code",
}


class Ran:
    def __init__(self, root: Path) -> None:
        paper = load("sloms")
        try:
            for name in paper.data:
                find(name)
        except InputError as missing:
            pytest.skip(str(missing))
        self.root = root
        self.claims: list[Judged] = reproduce("sloms", Lab(quick=True), root)
        self.results = results(paper, root)
        self.numbers: list[Number] = list(paper.numbers(self.results, printed(paper)))


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(tmp_path_factory.mktemp("sloms"))


def test_page_figures_and_results_are_written(ran: Ran) -> None:
    page = (ran.root / "docs" / "reproduction" / "sloms.md").read_text(encoding="utf-8")
    folder = ran.root / "experiments" / "sloms"
    for i in range(2, 6):
        assert f"figures/figure{i}.png" in page
        assert (folder / "figures" / f"figure{i}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / "figures" / f"figure{i}.svg").read_text(encoding="utf-8")
    written = {path.stem for path in (folder / "results").glob("*.csv")}
    assert written == {experiment.name for experiment in load("sloms").experiments}
    assert not list((folder / "results").glob("*.part.jsonl"))


@pytest.mark.parametrize("statement", THEOREMS)
def test_what_must_hold_holds(ran: Ran, statement: str) -> None:
    (claim,) = (claim for claim in ran.claims if claim.claim.statement.startswith(statement))
    assert claim.cases
    assert claim.verdict == HOLDS, claim.numbers


def test_every_number_is_met_or_known_to_differ(ran: Ran) -> None:
    differing = [number for number in ran.numbers if not number.agrees]
    assert {number.what for number in differing} == DIFFERENT
    assert all(number.why for number in differing)
    assert len(ran.numbers) > 25


def test_the_default_leaves_out_what_it_must(ran: Ran) -> None:
    """Where the paper's algorithm leaves out more, and never less."""
    rows = ran.results["suppression"].filter(pl.col("n") == 10_000)
    least = (
        ran.results["least"].filter(pl.col("people") == "at work").select("d", "l", pl.col("left_out").alias("least"))
    )
    both = rows.join(least, on=["d", "l"])
    default = both.filter(pl.col("method") == "MSB-KACA, our default")
    assert default.height
    assert (default["left_out"] - default["least"]).abs().max() < 0.002  # type: ignore[operator]
    literal = both.filter(pl.col("method") == "MSB-KACA", pl.col("d") == 4, pl.col("l") == 3)
    assert literal["left_out"].item() > literal["least"].item() + 0.05


def test_every_verdict_against_the_paper_says_why(ran: Ran) -> None:
    silent = [claim.claim.statement for claim in ran.claims if claim.verdict != HOLDS and not claim.claim.why]
    assert not silent
