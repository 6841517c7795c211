"""The commands of whoever has a release, judges it or counts from it; the papers and the methods."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pluralis.cli.common import (
    AsJson,
    Encoding,
    Limit,
    ReleaseFolder,
    Separator,
    app,
    gib,
    progress,
    read,
    terminal,
)
from pluralis.errors import PolicyError
from pluralis.escaping import complain, print_json, print_lines


@app.command()
def audit(
    folder: ReleaseFolder,
    original: Annotated[
        Path | None, typer.Option(help="The original table: also check that rows are covered and none invented.")
    ] = None,
    allow_test: Annotated[bool, typer.Option("--allow-test", help="Accept a release made with the test key.")] = False,
    limit: Limit = 2.0,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    as_json: AsJson = False,
) -> None:
    """The verdict on a release, claim by claim, from its own bytes."""
    from pluralis.auditing import audit as judge

    with progress():
        frame = None if original is None else read(original, encoding, separator)
        verdict = judge(folder, original=frame, allow_test=allow_test, limit=gib(limit))
    if as_json:
        print_json(verdict.to_dict())
    else:
        from pluralis.cli.tables import show_verdict

        show_verdict(terminal(), verdict)
    if not verdict.holds:
        raise typer.Exit(1)


@app.command()
def measure(
    folder: ReleaseFolder,
    original: Annotated[Path, typer.Option(help="The original table.")],
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    queries: Annotated[int, typer.Option(min=0, help="Ask so many random counts for each sensitive attribute.")] = 0,
    dimensions: Annotated[int, typer.Option(min=1, help="Quasi attributes that each of them asks about.")] = 3,
    selectivity: Annotated[float, typer.Option(help="The share of rows that each should pass.")] = 0.07,
    limit: Limit = 2.0,
    as_json: AsJson = False,
) -> None:
    """What a release lost, against its original."""
    from pluralis.metrics import measure as measure_loss
    from pluralis.metrics.workloads import answers_of
    from pluralis.release.reading import read_release

    with progress():
        release, table = read_release(folder, limit=gib(limit)), read(original, encoding, separator)
        loss = measure_loss(release, table)
        asked = {"queries": queries, "dimensions": dimensions, "selectivity": selectivity}
        answered = answers_of(release, table, **asked) if queries else {}  # type: ignore[arg-type]
    if as_json:
        print_json(loss.to_dict() | ({"queries": {n: a.to_dict() for n, a in answered.items()}} if queries else {}))
        return
    from pluralis.cli.tables import show_answers, show_loss

    show_loss(terminal(), loss)
    if queries:
        show_answers(terminal(), answered)


@app.command()
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
    from pluralis.cli.tables import show_estimate, show_estimates
    from pluralis.estimate import count
    from pluralis.estimate import table as count_by
    from pluralis.estimate.language import parse, resolve
    from pluralis.release.reading import read_release

    asked = parse(text)
    with progress():
        release = read_release(folder, limit=gib(limit))
        asked = resolve(asked, release)
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
    from pluralis.cli.tables import show_rows
    from pluralis.estimate.sql import ask
    from pluralis.release.reading import read_release

    with progress():
        rows = ask(read_release(folder, limit=limit), text)
    if as_json:
        print_json({"query": text, "rows": rows.to_dicts()})
    else:
        show_rows(terminal(), rows)


@app.command()
def attack(
    folder: ReleaseFolder,
    original: Annotated[Path | None, typer.Option(help="The original table, to score guesses.")] = None,
    only: Annotated[
        list[str] | None, typer.Option("--attack", metavar="NAME", help="Run this attack; repeatable.")
    ] = None,
    other: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Another release of the same people, to intersect; repeatable."),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The person column of the original: attack several rows of one person."),
    ] = None,
    sample: Annotated[int, typer.Option(min=1, help="People attacked, where all would take too long.")] = 20_000,
    explain: Annotated[
        str | None, typer.Option(metavar="GROUP", help="Walk through one group in words: 118, t1:118 or slice_1:118.")
    ] = None,
    limit: Limit = 2.0,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    as_json: AsJson = False,
) -> None:
    """What adversaries get from a release, beside what was promised and the best blind guess."""
    from pluralis.attacks import Options
    from pluralis.attacks import attack as run_attacks
    from pluralis.attacks.adversary.explain_group import walk
    from pluralis.attacks.persons import persons_of
    from pluralis.cli.attack_table import show_results
    from pluralis.publishing.private_folder import keep_results
    from pluralis.release.reading import read_release

    if explain is not None:
        if original is not None or only or other or person is not None:
            raise PolicyError(
                "--explain walks through one group without the original. Leave out --original, --attack, --other and "
                "--person, or leave out --explain."
            )
        steps = walk(read_release(folder, limit=gib(limit)), explain)
        print_json({"group": explain, "steps": steps}) if as_json else print_lines(*steps)
        return
    if original is None:
        raise PolicyError("Attacks are scored against the original. Give it with --original TABLE.")
    with progress():
        release, table = read_release(folder, limit=gib(limit)), read(original, encoding, separator)
        others = tuple(read_release(path, limit=gib(limit)) for path in other or ())
        persons = None if person is None else persons_of(table, person, release)
        options = Options(sample=sample, folder=folder, others=others, persons=persons)
        results = run_attacks(release, table, only=only or (), options=options)
        keep_results(folder, results)
    if as_json:
        print_json({"results": [result.to_dict() for result in results]})
    else:
        show_results(terminal(), results, release, only or (), len(others), named=person is not None)
    if any(result.breach for result in results):
        raise typer.Exit(1)


@app.command()
def reproduce(
    papers: Annotated[
        list[str] | None, typer.Argument(metavar="[PAPER]…", help="bsgi, decomposition, …; `all`, or none for all.")
    ] = None,
    quick: Annotated[bool, typer.Option(help="Fewer points: minutes. Written to reproduction-quick.")] = False,
    data: Annotated[Path | None, typer.Option(help="The folder of data files.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where results and pages go; this checkout if not given.")] = None,
    pages: Annotated[bool, typer.Option("--pages", help="Only write pages and figures from results.")] = False,
    as_json: AsJson = False,
) -> None:
    """The papers' tables and figures, theirs beside ours. An interrupted run goes on where it stopped."""
    from pluralis.cli.reproduced import show_claims
    from pluralis.reproduce import CHECKOUT, PAPERS, Lab, write_pages, write_summary
    from pluralis.reproduce import reproduce as run_paper

    root = out or (Path("reproduction-quick") if quick else CHECKOUT)
    names = list(PAPERS) if not papers or papers == ["all"] else papers
    found = {}
    try:
        with progress():
            for name in names:
                found[name] = write_pages(name, root) if pages else run_paper(name, Lab(quick, data), root)
    except KeyboardInterrupt:
        complain("Interrupted. The same command goes on where it stopped.")
        raise
    summary = write_summary(root)
    if as_json:
        print_json({name: [claim.to_dict() for claim in claims] for name, claims in found.items()})
        return
    show_claims(terminal(), found)
    terminal().say("\nThe pages are in {}.", summary.parent, wrap=False)


@app.command()
def methods(as_json: AsJson = False) -> None:
    """What there is, with each method's guarantee and known breaks."""
    from pluralis.methods import methods as known_methods

    if as_json:
        described = {
            name: {
                "title": m.title, "paper": m.paper, "kind": m.kind, "guarantee": m.guarantee, "breaks": list(m.breaks),
                "options": {o: f.default for o, f in m.model_fields.items()},
            }
            for name, m in known_methods().items()
        }  # fmt: skip
        print_json(described)
        return
    from pluralis.cli.tables import show_methods

    show_methods(terminal(), known_methods())
