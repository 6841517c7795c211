"""Versatile Publishing's quick run: pages, figures and results are there, and what must hold at any size holds."""

from __future__ import annotations

from experiments.reproduce.paper import HOLDS, NOT
from reproduce.quick import Quick, check_written

PAPER = "versatile"
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


def verdicts(quick: Quick, start: str) -> list[str]:
    return [claim.verdict for claim in quick.claims if claim.claim.statement.startswith(start)]


def test_what_must_hold_at_any_size_holds(quick: Quick) -> None:
    for start in THEOREMS:
        assert verdicts(quick, start) == [HOLDS], start
    for start in FALSE:
        assert verdicts(quick, start) == [NOT], start


def test_rules_in_circles_are_where_the_papers_loop_does_not_end(quick: Quick) -> None:
    (loop,) = (claim for claim in quick.claims if claim.claim.statement.startswith("GD decomposes"))
    assert [case.holds for case in loop.cases] == [True, False]


def test_golden_numbers_agree(quick: Quick) -> None:
    number_of = {number.what: number for number in quick.numbers}
    differ = {what for what, number in number_of.items() if not number.agrees}
    undrawn = {"Texas: values of and_md", "Texas: values of surgeon"}  # not every physician has a discharge
    assert differ == {"of those as printed, in Table 1", *undrawn}  # two of four tuples are misprinted
    assert number_of["tuples that Tables 2 reveal"].ours == 4
    assert {number.source for number in number_of.values()} >= {"a prototype", "Table 5b"}


def test_page_figures_and_results_are_written(quick: Quick) -> None:
    check_written(quick, [*(f"figure{i}" for i in range(1, 11)), "growth"])
