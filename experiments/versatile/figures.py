"""The paper's ten figures with our lines, and one for how seconds grow. The paper prints no numbers of its lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from experiments.reproduce import Figure, Printed, Results
from experiments.reproduce.line_figures import Panel
from experiments.reproduce.paper import Value
from experiments.versatile.releases import GD, METHODS, SINGLE, UAD
from experiments.versatile.seen import TABLES, line

KL, ERROR, TIME = "KL divergence, nats", "mean relative error", "seconds to plan"
RULES = "number of rules"
TITLES = {"Texas": "generated table with Texas' domains", "claims": "DE-SynPUF inpatient claims"}


def figures(results: Results, _: Printed) -> Iterator[Figure]:
    for number, measure, unit, title in (
        (1, "kl", KL, "Figure 1: KL divergence on Adult"),
        (2, "error", ERROR, "Figure 2: relative error on Adult"),
        (3, "seconds", TIME, "Figure 3: running time on Adult"),
    ):
        lines = [line(results, "adult", "rules", measure, method) for method in METHODS]
        panel = Panel("10,000 rows, l = 2", RULES, unit, lines, log=measure == "seconds")
        yield _figure(number, title, [panel])
    lines = [line(results, "seconds", "rules", "seconds", method) for method in (UAD, GD, SINGLE)]
    panel = Panel("generated table, l = 10", RULES, TIME, lines, log=True)
    yield _figure(4, "Figure 4: running time, large table", [panel])
    all_three = (UAD, GD, SINGLE)
    panels = _panels(results, "rules", "rules", "kl", all_three, RULES, KL)
    yield _figure(5, "Figure 5: KL divergence, number of rules", panels)
    panels = _panels(results, "rules", "rules", "error", all_three, RULES, ERROR)
    yield _figure(6, "Figure 6: relative error, number of rules", panels)
    panels = _panels(results, "queries", "dimensions", "error", (UAD, SINGLE), "query dimension", ERROR, part=0.4)
    yield _figure(7, "Figure 7: relative error, query dimension", panels)
    panels = _panels(results, "queries", "part", "error", (UAD, SINGLE), "query value share", ERROR, dimensions=4)
    yield _figure(8, "Figure 8: relative error, share of the values that a query names", panels)
    panels = _panels(results, "lhs", "lhs", "error", (UAD, SINGLE), "number of LHS attributes", ERROR)
    yield _figure(9, "Figure 9: relative error, attributes on the left of a rule", panels)
    panels = _panels(results, "l", "l", "error", (UAD, SINGLE), "l-value", ERROR)
    yield _figure(10, "Figure 10: relative error, l-value", panels)
    lines = [line(results, "growth", "rows", "seconds", method) for method in (UAD, GD)]
    panel = Panel("generated tables, 9 rules, l = 10", "rows", TIME, lines, log=True, log_x=True)
    yield Figure("growth", "Running time, number of rows", [panel], CAPTIONS[11])


def _figure(number: int, title: str, panels: Sequence[Panel]) -> Figure:
    return Figure(f"figure{number}", title, panels, CAPTIONS[number])


def _panels(
    results: Results,
    experiment: str,
    across: str,
    measure: str,
    methods: Sequence[str],
    x: str,
    y: str,
    **where: Value,
) -> list[Panel]:
    """One panel for each of the large tables."""
    panels = []
    for table in TABLES:
        lines = [line(results, experiment, across, measure, method, table=table, **where) for method in methods]
        panels.append(Panel(TITLES[table], x, y, lines, log=False))
    return panels


CAPTIONS = {
    1: "Mean over 50 sets of rules. Multi-SA, paper: the program as the paper prints it. Lines level off where all "
    "three attributes that can be protected are.",
    2: "The same releases, asked 1,000 queries of three attributes with 40 % of the values of each.",
    3: "The median over 50 sets of rules, on a logarithmic axis as in the paper. Multi-SA is within a few times of GD.",
    4: "Mean over 3 sets of rules. The paper shows UAD alone, between 1.6 and 3.2 s.",
    5: "Mean over 3 sets of rules. The paper shows UAD and single-attribute.",
    6: "The same releases, asked 25 queries each, of four attributes with 40 % of the values of each.",
    7: "Five rules. The paper leaves out queries of one attribute, since both methods answer them exactly, as here.",
    8: "Five rules, queries of four attributes. The axis is a share, the paper's query value percentage.",
    9: "Five rules, each set drawn anew for each number of attributes. How sets differ is most of what is seen.",
    10: "Five rules, the same for every l.",
    11: "Not a figure of the paper, which says that UAD is linear in the number of rows. Nine rules, best of two.",
}
