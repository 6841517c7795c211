"""`pluralis check`: everything that is wrong with a policy for a table, at once, and a policy without it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pluralis.cli.options import AsJson, Encoding, Separator, TableFiles
from pluralis.cli.progress_bars import progress
from pluralis.cli.terminal import Terminal, terminal
from pluralis.display.escaping import print_json
from pluralis.display.words import counted, folded
from pluralis.errors import Infeasible, InputError, OutputError, PluralisError, PolicyError

if TYPE_CHECKING:
    from pluralis.policy.policy import Policy
    from pluralis.profiling.checking import PolicyCheck


def check(
    table: TableFiles,
    policy: Annotated[Path, typer.Option(help="The policy file (YAML or JSON).")],
    fix: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a policy without the problems, comments kept."),
    ] = None,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    as_json: AsJson = False,
) -> None:
    """List every problem of a policy for a table at once, each with its line and remedy. Nothing is published."""
    from pluralis.profiling.checking import check_policy

    if fix is not None and fix.exists():
        raise OutputError(f"{fix} exists already. Choose another name for --fix, or remove it.")
    with progress():
        checked = check_policy(table, policy, encoding=encoding, separator=separator)
    if fix is not None and checked.mended is not None:
        _write(fix, checked.mended)
    if as_json:
        print_json(checked.to_dict())
    else:
        show_check(terminal(), checked, fix)
    if checked.exit_code:
        raise typer.Exit(checked.exit_code)


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise OutputError(f"Cannot write {path}: {error.strerror}.") from None


def show_check(console: Terminal, checked: PolicyCheck, fix: Path | None) -> None:
    """The problems by group, and what the mended policy has instead."""
    from pluralis.profiling.problems import every

    rows = f" for {checked.rows:,} rows" if checked.rows is not None else ""
    if not checked.problems:
        console.say("Nothing is wrong with this policy{}: it can be published.", rows)
    if checked.sampled:
        console.say("{}", checked.sampled)
    if not checked.problems:
        return
    refused = sum(1 for problem in checked.problems if problem.code)
    console.say("{}{}, {} of which publishing would refuse", counted(len(checked.problems), "problem"), rows, refused)
    for title, problems in every(checked.problems):
        console.say("\n[bold]{}[/]", title)
        for problem in problems:
            console.say("  {}", folded(str(problem)), wrap=False)
    changes = [problem for problem in checked.problems if problem.change]
    left = [problem for problem in checked.problems if problem.code and not problem.change]
    if left:
        written = " Nothing was written." if fix is not None else ""
        them = "these" if len(left) > 1 else "this"
        console.say("\n[bold]{}[/]{}", f"No change of the policy mends {them}: correct it yourself, then check again.",
                    written)  # fmt: skip
        for problem in left:
            console.say("  {}", folded(str(problem)), wrap=False)
        return
    if checked.mended is None:
        return
    if changes:
        console.say("\n[bold]{}[/]", "Changed in the mended policy" if fix else "What --fix FILE would change")
    for problem in changes:
        console.say("  {}: {}", problem.where, problem.change, wrap=False)
    remaining = [problem for problem in checked.problems if not problem.change]
    if remaining:
        one = len(remaining) == 1
        console.say("\n[bold]{}[/]", f"{'This' if one else 'These'} could mislead, and {'was' if one else 'were'} not "
                    "changed: decide yourself")  # fmt: skip
    for problem in remaining:
        console.say("  {}", folded(str(problem)), wrap=False)
    if fix is not None:
        console.say("\nWrote {}. Read what was changed: it may promise less, or publish less, than you meant.", fix)


def with_every_problem(
    refusal: PluralisError,
    table: list[Path],
    policy: Path,
    asked: Policy | None,
    encoding: str,
    separator: str | None,
) -> PluralisError:
    """A refusal to publish, with every other problem that the policy has beside the one that was met first."""
    from pluralis.profiling.checking import check_policy
    from pluralis.profiling.problems import every

    if not isinstance(refusal, InputError | PolicyError | Infeasible):
        return refusal
    try:
        checked = check_policy(table, policy if asked is None else asked, encoding=encoding, separator=separator)
    except PluralisError:
        return refusal  # neither table nor policy can be read: it is what was refused
    problems = [problem for problem in checked.problems if problem.code]
    if len(problems) == 1 and isinstance(refusal, PolicyError) and problems[0].message not in str(refusal):
        return PolicyError(*str(problems[0]).split("\n"))  # what was met first is only what follows from it
    if checked.sampled and not any(problem.group in ("feasibility", "values", "columns") for problem in problems):
        return refusal  # drawn rows do not show it
    if len(problems) < 2:
        return refusal
    remedy = "writes a policy without them" if checked.mended is not None else "shows what each needs"
    lines = [f"{counted(len(problems), 'problem')}. `pluralis check TABLE --policy {policy.name} --fix FILE` {remedy}."]
    for title, own in every(problems):
        lines += [f"{title}:", *(f"  {line}" for problem in own for line in str(problem).split("\n"))]
    kind: Any = Infeasible if checked.exit_code == Infeasible.exit_code else PolicyError
    complete: PluralisError = kind(*lines)
    return complete
