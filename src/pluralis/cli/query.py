"""`pluralis query`: counts from a release alone, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pluralis.cli.options import AsJson, Limit, ReleaseFolder, gib
from pluralis.cli.progress_bars import progress
from pluralis.cli.terminal import Grid, Terminal, short_number, styled, terminal
from pluralis.display.escaping import print_json
from pluralis.errors import QueryError
from pluralis.progress import stage

if TYPE_CHECKING:
    import polars as pl

    from pluralis.estimate.language import Query
    from pluralis.estimate.result import Basis, Estimate

BASES: dict[Basis, str] = {
    "exact": "nothing was changed that the query asks about: this is the count",
    "sampling": "chance alone separates this from the count, and the interval covers the count as often as it says",
    "uniform-within-group": "values that were published together are taken to be spread evenly over their rows; where "
    "they are not, the interval may miss the count",
    "independent-across-tables": "values of different tables are taken to go together only by what the tables share; "
    "where more ties them, the interval may miss the count",
}


def query(
    folder: ReleaseFolder,
    text: Annotated[
        str, typer.Argument(metavar="QUERY", help="Such as: COUNT WHERE age > 30 AND disease IN ('flu', 'hiv') BY sex")
    ],
    confidence: Annotated[float, typer.Option(help="How often an interval covers the count.")] = 0.95,
    sql: Annotated[
        bool, typer.Option("--sql", help="QUERY is SQL on the view `expected`: the attributes it names, and `count`.")
    ] = False,
    limit: Limit = 2.0,
    as_json: AsJson = False,
) -> None:
    """Estimate a count from a release alone, with an interval and what it rests on."""
    if sql:
        _query_in_sql(folder, text, as_json, gib(limit))
        return
    from pluralis.estimate import count
    from pluralis.estimate import table as count_by
    from pluralis.estimate.language import parse, resolve
    from pluralis.estimate.parts import read_parts
    from pluralis.release.reading import parts_of, read_release

    asked = parse(text)
    with progress():
        if parts_of(folder) is not None:
            parts = read_parts(folder, limit=gib(limit))
            asked = resolve(asked, parts.described())
            if asked.by:
                counts = parts.table(asked, confidence=confidence)
            else:
                estimate = parts.count(asked, confidence=confidence)
        else:
            release = read_release(folder, limit=gib(limit))
            asked = resolve(asked, release)
            with stage("estimating"):
                if asked.by:
                    counts = count_by(release, asked, confidence=confidence)
                else:
                    estimate = count(release, asked.where, confidence=confidence)
    if as_json and asked.by:
        print_json({"query": str(asked), "confidence": confidence, "rows": counts.to_dicts()})
    elif as_json:
        print_json({"query": str(asked), **estimate.to_dict()})
    elif asked.by:
        show_estimates(terminal(), asked, counts, confidence)
    else:
        show_estimate(terminal(), asked, estimate)


def _query_in_sql(folder: Path, text: str, as_json: bool, limit: int) -> None:
    from pluralis.estimate.sql import ask
    from pluralis.release.reading import parts_of, read_release

    if parts_of(folder) is not None:
        raise QueryError(
            "SQL is asked of one release, and this one is in parts. Without --sql the query counts in all parts; or "
            "name the folder of a part, part-00001."
        )
    with progress():
        release = read_release(folder, limit=limit)
        with stage("estimating"):
            rows = ask(release, text)
    if as_json:
        print_json({"query": text, "rows": rows.to_dicts()})
    else:
        show_rows(terminal(), rows)


def show_estimate(console: Terminal, query: Query, estimate: Estimate) -> None:
    console.say("[dim]{}[/]", str(query), wrap=False)
    if estimate.basis == "exact":
        console.say("[bold]{:,.0f}[/] rows", estimate.value)
    else:
        console.say("about [bold]{:,.1f}[/] rows", estimate.value)
        console.say("interval  {:,.1f} to {:,.1f} at {:.4g}%", estimate.low, estimate.high, 100 * estimate.confidence)
        if not estimate.low <= estimate.value <= estimate.high:
            console.say(
                "note      the value is right on average and can fall outside what is possible; few rows tell little"
            )
    console.say("basis     {}: {}", estimate.basis, BASES[estimate.basis], wrap=False)
    console.say("certain   at least {:,} and at most {:,} rows, whatever is assumed", estimate.least, estimate.most)


def show_estimates(console: Terminal, query: Query, counts: pl.DataFrame, confidence: float) -> None:
    """A row for each combination: what it is of, then value, low, high and basis."""
    console.say("[dim]{}[/]\n", str(query), wrap=False)
    by = len(query.by)
    grid = Grid(*query.by, "rows", "low", "high", "basis", right=(by, by + 1, by + 2))
    for row in counts.iter_rows():
        *labels, value, low, high, basis = row
        names = [styled("missing", "dim") if part is None else str(part) for part in labels]
        digits = 0 if basis == "exact" else 1
        grid.line(*names, *(f"{figure:,.{digits}f}" for figure in (value, low, high)), basis)
    console.print(grid)
    console.say("\nIntervals are at {:.4g}%.", 100 * confidence)
    for basis in counts["basis"].unique(maintain_order=True):
        console.say("{}: {}", basis, BASES[basis], wrap=False)


def show_rows(console: Terminal, rows: pl.DataFrame) -> None:
    """The answer to a query in SQL."""
    grid = Grid(*rows.columns, right=(i for i, kind in enumerate(rows.dtypes) if kind.is_numeric()))
    for row in rows.iter_rows():
        grid.line(*(short_number(cell) if isinstance(cell, float) else str(cell) for cell in row))
    console.print(grid)
    console.say("\nExpected counts, without intervals; without --sql, query gives them.")
