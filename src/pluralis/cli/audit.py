"""`pluralis audit`: the verdict on a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pluralis.cli.options import AsJson, Encoding, Limit, Private, ReleaseFolder, Separator, gib
from pluralis.cli.progress_bars import progress
from pluralis.cli.terminal import Grid, Terminal, short_number, styled, terminal
from pluralis.display.escaping import print_json

if TYPE_CHECKING:
    from rich.text import Text

    from pluralis.auditing.verdict import Finding, Verdict
    from pluralis.release.attribute_lists import AttributeLists


def audit(
    folder: ReleaseFolder,
    original: Annotated[
        Path | None, typer.Option(help="The original table: also check that rows are covered and none invented.")
    ] = None,
    allow_test: Annotated[bool, typer.Option("--allow-test", help="Accept a release made with the test key.")] = False,
    private: Private = None,
    limit: Limit = 2.0,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    as_json: AsJson = False,
) -> None:
    """The verdict on a release, claim by claim, from its own bytes."""
    from pluralis.verbs.audit import audit as judge

    with progress():
        verdict = judge(
            folder, original, private=private, allow_test=allow_test, limit=gib(limit), encoding=encoding,
            separator=separator,
        )  # fmt: skip
    if as_json:
        print_json(verdict.to_dict())
    else:
        show_verdict(terminal(), verdict)
    if not verdict.holds:
        raise typer.Exit(1)


def show_verdict(console: Terminal, verdict: Verdict, worst: str | None = None) -> None:
    """Claim by claim, then the verdict and beside it the worst measured guess: that of the release, or a fuller one."""
    from pluralis.release.form import told_by_plain_column, worst_and_others

    stated, others = worst_and_others(verdict.breaks)
    beside = f" {worst or stated}" if worst or stated else ""
    show_lists(console, verdict.lists)
    grid = Grid("claim", "", "promised", "measured", "top share", "weakest", right=(2, 3, 4))
    for finding in verdict.findings:
        top = "" if finding.top_share is None else f"{finding.top_share:.1%}"
        top += "" if finding.top_value is None else f" {finding.top_value}"
        weakest = finding.witness or finding.note or ""
        grid.line(
            verdict.lists.shortened(finding.claim), _holds(finding), short_number(finding.promised),
            short_number(finding.measured), top, weakest,
        )  # fmt: skip
    console.print(grid)
    if verdict.holds:
        checked, given_away = sum(f.binding for f in verdict.findings), told_by_plain_column(verdict.breaks)
        if given_away is None:
            console.say("\n[green]Every claim holds[/] ({} checked).{}", checked, beside)
        else:
            console.say("\n[bold yellow]Every claim holds, but {}[/] ({} checked).{}", given_away, checked, beside)
    else:
        console.say("\n[bold red]{} of {} claims do not hold.[/]", len(verdict.failures), len(verdict.findings))
    if others:
        console.say("Not stopped by this release:")
        for item in others:
            console.say("  - {}", item)


def show_lists(console: Terminal, lists: AttributeLists) -> None:
    """What each letter stands for."""
    for letter, names in lists.defined.items():
        console.say("[bold]{}[/]: {}", letter, names)
    if lists.defined:
        console.print()


def _holds(finding: Finding) -> Text:
    if not finding.binding:
        return styled("yes, not promised" if finding.holds else "no, not promised", "")
    return styled("holds", "green") if finding.holds else styled("DOES NOT HOLD", "bold red")
