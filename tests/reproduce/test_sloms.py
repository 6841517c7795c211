"""The quick run of the SLOMS paper: what must hold at any size holds, and known numbers are met."""

from __future__ import annotations

import polars as pl
import pytest

from experiments.reproduce.paper import HOLDS
from reproduce.quick import Quick, check_explained, check_written

PAPER = "sloms"
THEOREMS = (  # they follow from the definitions, or the paper works them out by hand
    "No method suppresses less than the most skewed attribute alone forces",
    "If m is 1 and k is 1, SLOMS is degraded into MSB",
    "By MSB 6 of the 9 rows of Table I are suppressed, by SLOMS none",
    "The suppression ratio grows rapidly with the increasing of parameter l",
    "In all test cases our algorithm can finish in less than 1 minute",
)
DIFFERENT = {  # what the paper prints wrong
    "rows of Table I that generalization keeps",
    "values of Occupation",
    "values of Workclass",
    "values of Major Occupation code",
    "values of Major industry code",
}


def test_page_figures_and_results_are_written(quick: Quick) -> None:
    check_written(quick, [f"figure{i}" for i in range(2, 6)])


@pytest.mark.parametrize("statement", THEOREMS)
def test_what_must_hold_holds(quick: Quick, statement: str) -> None:
    (claim,) = (claim for claim in quick.claims if claim.claim.statement.startswith(statement))
    assert claim.verdict == HOLDS, claim.numbers


def test_every_number_is_met_or_known_to_differ(quick: Quick) -> None:
    differing = [number for number in quick.numbers if not number.agrees]
    assert {number.what for number in differing} == DIFFERENT
    assert all(number.why for number in differing)
    assert len(quick.numbers) > 25


def test_the_default_leaves_out_what_it_must(quick: Quick) -> None:
    """Where the paper's algorithm suppresses more, and never less."""
    rows = quick.results["suppression"].filter(pl.col("n") == 10_000)
    least = (
        quick.results["least"]
        .filter(pl.col("people") == "at work")
        .select("d", "l", pl.col("suppressed_share").alias("least"))
    )
    both = rows.join(least, on=["d", "l"])
    default = both.filter(pl.col("method") == "MSB-KACA, our default")
    assert default.height
    assert (default["suppressed_share"] - default["least"]).abs().max() < 0.002  # type: ignore[operator]
    literal = both.filter(pl.col("method") == "MSB-KACA", pl.col("d") == 4, pl.col("l") == 3)
    assert literal["suppressed_share"].item() > literal["least"].item() + 0.05


def test_every_verdict_against_the_paper_says_why(quick: Quick) -> None:
    check_explained(quick.claims)
