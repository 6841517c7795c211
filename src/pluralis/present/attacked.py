"""What attacks got, as a table on a terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pluralis.attacks import Result, attacks
from pluralis.attacks.base import OFTENER
from pluralis.attacks.publication import ELSEWHERE
from pluralis.release import Release

MARKED = {
    "breach": "[bold red]BREACH[/]",
    OFTENER: f"[bold yellow]{OFTENER}[/]",
    "above chance": "[yellow]above chance[/]",
}


def show_results(
    console: Console, results: Sequence[Result], release: Release, only: Collection[str] = (), others: int = 0
) -> None:
    """A line for each question, the worst last, so that they are seen; and which attacks had none.

    `only` are the attacks that were asked for, all if there are none; `others` is how many other releases they had.
    """
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for header in ("attack", "question", "right", "interval", "blind", "worst", "promised", "", "weakest"):
        right = header in ("right", "blind", "worst", "promised")
        table.add_column(header, justify="right" if right else "left", overflow="fold")
    for result in sorted(results, key=lambda result: (result.breach, result.oftener)):
        table.add_row(
            result.attack,
            escape(result.question),
            f"{result.success:.1%}",
            f"{result.low:.1%} to {result.high:.1%}" if result.sampled else "all",
            f"{result.blind:.1%}",
            "" if result.worst is None else f"{result.worst:.4g}",
            "" if result.promised is None else f"{result.promised:.4g}",
            MARKED.get(result.standing, result.standing),
            escape(result.witness or ""),
        )
    console.print(table)
    breaches = sum(result.breach for result in results)
    if breaches:
        console.print(f"\n[bold red]{breaches} of {len(results)} results exceed what was promised.[/]")
    else:
        console.print(f"\n[green]No promise is exceeded[/] ({len(results)} questions asked).")
    if often := sum(result.oftener for result in results):
        console.print(
            f"[bold yellow]{often} of {len(results)} guesses came true more often than promised[/], though none was "
            "surer: a promise takes the rows of a group to be equally likely, and secrets go with what is known.",
            soft_wrap=True,
        )
    for said, names in _silent({result.attack for result in results}, release, only, others).items():
        if names:
            console.print(f"[dim]{said} {', '.join(names)}.[/]")
    console.print(
        "right: people guessed right; blind: the best guess without the release; worst: the surest guess of all."
    )
    for note in dict.fromkeys(f"{result.attack}: {result.note}" for result in results if result.note):
        console.print(f"  [dim]{escape(note)}[/]", soft_wrap=True)


def _silent(heard: Collection[str], release: Release, only: Collection[str], others: int) -> dict[str, list[str]]:
    """The attacks that were asked for and have no result, by why they have none."""
    asked = {name: one for name, one in attacks().items() if name not in heard and (not only or name in only)}
    applied = [name for name, one in asked.items() if one.applies(release)]
    lonely = [name for name in applied if name in ELSEWHERE and not others]
    return {
        "Nothing to attack here for": [name for name in asked if name not in applied],
        "Not run without another release (--other DIR):": lonely,
        "Nothing found by": [name for name in applied if name not in lonely],
    }
