"""What attacks got, as a table on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pluralis.attacks import Result, attacks

MARKED = {"breach": "[bold red]BREACH[/]", "above chance": "[yellow]above chance[/]"}


def show_results(console: Console, results: Sequence[Result]) -> None:
    """A line for each question, breaches last, so that they are seen."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for header in ("attack", "question", "right", "interval", "blind", "worst", "promised", "", "weakest"):
        right = header in ("right", "blind", "worst", "promised")
        table.add_column(header, justify="right" if right else "left", overflow="fold")
    for result in sorted(results, key=lambda result: result.breach):
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
    left = [name for name in attacks() if name not in {result.attack for result in results}]
    if left:
        console.print(f"[dim]Nothing to attack here for {', '.join(left)}.[/]")
    console.print(
        "right: people guessed right; blind: the best guess without the release; worst: the surest guess of all."
    )
    for note in dict.fromkeys(f"{result.attack}: {result.note}" for result in results if result.note):
        console.print(f"  [dim]{escape(note)}[/]", soft_wrap=True)
