"""`pluralis measure`: what a release lost, against its original."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pluralis.cli.options import AsJson, Encoding, Limit, Private, ReleaseFolder, Separator, gib
from pluralis.cli.progress_bars import progress
from pluralis.cli.terminal import Grid, Terminal, terminal
from pluralis.display.escaping import print_json

if TYPE_CHECKING:
    from pluralis.metrics import Loss
    from pluralis.metrics.workloads import Answers


def measure(
    folder: ReleaseFolder,
    original: Annotated[Path, typer.Option(help="The original table.")],
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    queries: Annotated[int, typer.Option(min=0, help="Ask so many random counts for each sensitive attribute.")] = 0,
    dimensions: Annotated[int, typer.Option(min=1, help="Quasi-identifiers that each of them asks about.")] = 3,
    selectivity: Annotated[float, typer.Option(help="The share of rows that each should pass.")] = 0.07,
    population: Annotated[
        int | None,
        typer.Option(min=1, help="How many people those of the table come from: for journalist and population risk."),
    ] = None,
    private: Private = None,
    limit: Limit = 2.0,
    as_json: AsJson = False,
) -> None:
    """What a release lost, against its original."""
    from pluralis.release.reading import parts_of
    from pluralis.verbs.measure import measure as measure_loss

    with progress():
        loss = measure_loss(
            folder, original, private=private, queries=queries, dimensions=dimensions, selectivity=selectivity,
            population=population, limit=gib(limit), encoding=encoding, separator=separator,
        )  # fmt: skip
    if as_json:
        print_json(loss.to_dict())
        return
    show_loss(terminal(), loss)
    show_risk(terminal(), loss)
    if parts_of(folder) is not None:
        terminal().say(
            "Put together from all parts, each measured by its own values. Rows that look alike are counted in each "
            "part, so that risks are rather too high than too low."
        )
    if queries:
        show_answers(terminal(), loss.queries)


def show_loss(console: Terminal, loss: Loss) -> None:
    console.say("rows published      {:,}", loss.rows)
    gone = loss.suppressed / max(1, loss.rows + loss.suppressed)
    console.say("rows suppressed     {:,} ({:.2%})", loss.suppressed, gone)
    if loss.without_group:
        console.say(
            "without a group     {:,} in some slice; {:.2%} with suppressed rows",
            loss.without_group,
            loss.suppressed_share,
        )
    if loss.groups:
        console.say("groups              {:,}, {:.2f} rows each on average", loss.groups, loss.average_group)
    generalized = loss.distortion is not None
    if generalized or loss.kl is None:  # values as they are would say that nothing was lost
        console.say(
            "information loss    {:.4f} NCP; {:.4f} counting suppressed rows as lost",
            loss.ncp,
            loss.ncp_with_suppressed,
        )
    console.say("discernibility      {:,}", loss.discernibility)
    if loss.kl is not None:
        console.say("KL divergence       {:.4f} nats", loss.kl)
    if loss.distortion is not None:
        console.say("distortion          {:,.1f}", loss.distortion)
    if loss.additional_loss is not None:
        console.say("additional loss     {:.2%}", loss.additional_loss)
    if loss.added_values is not None:
        console.say("values added        {:,}", loss.added_values)
    if not generalized:
        return
    grid = Grid("attribute", "loss", "before ↔ after", right=(1, 2))
    distances = {d.attribute: d.distance for d in loss.distributions}
    for name, value in loss.ncp_by_attribute.items():
        grid.line(name, f"{value:.4f}", f"{distances[name]:.3f}" if name in distances else "")
    console.print(grid)


def show_risk(console: Terminal, loss: Loss) -> None:
    """How easily somebody's row is found, in the terms of officers."""
    from pluralis.metrics.risk import risk_table

    if loss.risk is None:
        return
    table = risk_table(loss.risk)
    grid = Grid(*table.heads, right=table.right)
    for row in table.rows:
        grid.line(*row)
    console.print()
    console.print(grid)
    if loss.risk.population is None:
        console.say("The table is taken for the population, so that journalist risk is at most this; see --population.")


def show_answers(console: Terminal, answered: Mapping[str, Answers]) -> None:
    """How a release answered random counts."""
    grid = Grid("attribute", "queries", "mean error", "median error", "intervals hold", right=(1,))
    for name, answers in answered.items():
        coverage = f"{answers.coverage:.1%} at {answers.confidence:.0%}"
        grid.line(name, f"{answers.queries:,}", f"{answers.mean_error:.1%}", f"{answers.median_error:.1%}", coverage)
    console.print()
    console.print(grid)
