"""`pluralis compare`: methods tried on a table, and which to take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pluralis.cli.check import with_every_problem
from pluralis.cli.options import AsJson, Encoding, Separator, TableFiles, listed
from pluralis.cli.progress_bars import progress
from pluralis.cli.terminal import Grid, Terminal, styled, terminal
from pluralis.display.escaping import print_json
from pluralis.errors import Infeasible, InputError, PolicyError

if TYPE_CHECKING:
    from pluralis.comparison.frontier import Comparison


def compare(
    table: TableFiles,
    policy: Annotated[Path, typer.Option(help="The policy file (YAML or JSON).")],
    methods: Annotated[str, typer.Option(metavar="A,B,…", help="Only these methods.")] = "",
    l: Annotated[
        str, typer.Option("--l", metavar="2..7", help="Ask for each l of a range, or of a list 2,4; else the policy's.")
    ] = "",
    target: Annotated[Literal["error", "kl", "ncp"], typer.Option(help="The loss by which to choose.")] = "error",
    attacks: Annotated[str, typer.Option(metavar="A,B,…", help="Attack each release too; `all` for all attacks.")] = "",
    out: Annotated[Path | None, typer.Option(help="A folder for the page, the picture and the figures.")] = None,
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Whether to reuse what was worked out.")] = True,
    limit: Annotated[float, typer.Option(min=1, help="Seconds after which one trial is given up.")] = 300,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    as_json: AsJson = False,
) -> None:
    """Try methods on a table: what each protects, what it loses, and which to take."""
    from pluralis.comparison.comparing import compare as try_methods
    from pluralis.comparison.comparing import range_of
    from pluralis.policy.policy import Policy
    from pluralis.publishing.comparison_folder import check_folder, write_comparison

    if out is not None:
        check_folder(out)
    try:
        with progress():
            compared = try_methods(
                table, Policy.read(policy), methods=listed(methods), ls=range_of(l), target=target,
                attacks=listed(attacks), cache=cache, limit=limit, encoding=encoding, separator=separator,
            )  # fmt: skip
    except (InputError, PolicyError, Infeasible) as refusal:
        raise with_every_problem(refusal, table, policy, None, encoding, separator) from None
    if out is not None:
        write_comparison(compared, out)
    if as_json:
        print_json(compared.to_dict())
    else:
        show_comparison(terminal(), compared)
        if out is not None:
            terminal().say("\nThe page is {}, its picture {}.", out / "compare.html", out / "frontier.png", wrap=False)


def show_comparison(console: Terminal, comparison: Comparison) -> None:
    """The table, what was refused, and the advice."""
    from pluralis.report.comparison_page import (
        adversary_letters,
        guessed_attributes,
        known_in_words,
        refusal_reasons,
    )

    console.say("{:,} rows. Promises are measured on the tables, as the audit does it.\n", comparison.rows)
    letters = adversary_letters(comparison)
    for letter, known in known_in_words(comparison).items():
        guessed = " / ".join(guessed_attributes(comparison, letters[letter]))
        console.say("  {} knows {}; guesses {}", letter, known, guessed)
    if comparison.made:
        _show_trials(console, comparison)
    if comparison.refused:
        console.say("\n[bold]Do not apply[/]")
        for method, ls, reason in refusal_reasons(comparison):
            setting = f" at l = {ls}" if ls else ""
            console.say("  [bold]{}[/]{}: {}", method, setting, reason, wrap=False)
    console.print()
    for sentence in comparison.advice():
        console.say("{}", sentence, wrap=False)


def _show_trials(console: Terminal, comparison: Comparison) -> None:
    from pluralis.comparison.trials import TARGETS
    from pluralis.report.comparison_page import MEANING, TrialCells, headings

    heads = headings(comparison)
    grid = Grid("", *heads, "", right=(i for i, head in enumerate(heads, 1) if head != "method"), wrap=False)
    for trial, measured in comparison.made:
        line = TrialCells(comparison, trial, measured)
        mark = styled("▶", "bold green") if line.take else "●" if line.frontier else ""
        kept = "" if line.satisfies else styled("keeps less than the policy asks", "dim")
        cells = [line.method, line.l, *line.rest, *line.guesses, *line.attacks]
        grid.line(mark, *cells, kept, style="bold" if line.take else None)
    console.print()
    console.print(grid)
    console.say("\n▶ take this one   ● on the frontier of guess and {}", TARGETS[comparison.target])
    for name in ("guess", "error"):
        console.say("[dim]{}: {}[/]", name, MEANING[name], wrap=False)
