"""What attacks got, as a table on a terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pluralis.attacks import Result, attacks, persons
from pluralis.attacks.at_publication import ELSEWHERE
from pluralis.attacks.base import OFTENER
from pluralis.cli.terminal import Grid, Terminal, styled
from pluralis.release.release import Release

MARKED = {
    "breach": ("BREACH", "bold red"),
    OFTENER: (OFTENER, "bold yellow"),
    "above chance": ("above chance", "yellow"),
}


def show_results(
    console: Terminal,
    results: Sequence[Result],
    release: Release,
    only: Collection[str] = (),
    others: int = 0,
    *,
    named: bool = False,
) -> None:
    """A line for each question, the worst last, so that they are seen; and which attacks had none.

    `only` are the attacks that were asked for, all if there are none; `others` is how many other releases they had;
    `named` whether a person column was named.
    """
    grid = Grid(
        "attack", "question", "right", "interval", "blind", "worst", "promised", "", "weakest", right=(2, 4, 5, 6)
    )
    for result in sorted(results, key=lambda result: (result.breach, result.oftener)):
        grid.line(
            result.attack,
            result.question,
            f"{result.success:.1%}",
            f"{result.low:.1%} to {result.high:.1%}" if result.sampled else "all",
            f"{result.blind:.1%}",
            "" if result.worst is None else f"{result.worst:.4g}",
            "" if result.promised is None else f"{result.promised:.4g}",
            styled(*MARKED.get(result.standing, (result.standing, ""))),
            result.witness or "",
        )
    console.print(grid)
    breaches = sum(result.breach for result in results)
    if breaches:
        console.say("\n[bold red]{} of {} results exceed what was promised.[/]", breaches, len(results))
    else:
        console.say("\n[green]No promise is exceeded[/] ({} questions asked).", len(results))
    if often := sum(result.oftener for result in results):
        console.say(
            "[bold yellow]{} of {} guesses came true more often than promised[/], though none was "
            "surer: a promise takes the rows of a group to be equally likely, and secrets go with what is known.",
            often,
            len(results),
            wrap=False,
        )
    for said, names in _silent({result.attack for result in results}, release, only, others, named).items():
        if names:
            console.say("[dim]{} {}.[/]", said, ", ".join(names))
    console.say(
        "right: people guessed right; blind: the best guess without the release; worst: the surest guess of all."
    )
    for note in dict.fromkeys(f"{result.attack}: {result.note}" for result in results if result.note):
        console.say("  [dim]{}[/]", note, wrap=False)


def _silent(
    heard: Collection[str], release: Release, only: Collection[str], others: int, named: bool
) -> dict[str, list[str]]:
    """The attacks that were asked for and have no result, by why they have none."""
    asked = {name: one for name, one in attacks().items() if name not in heard and (not only or name in only)}
    applied = [name for name, one in asked.items() if one.applies(release)]
    lonely = [name for name in applied if name in ELSEWHERE and not others]
    nameless = [name for name in applied if name == persons.ATTACK.name and not named]
    return {
        "Nothing to attack here for": [name for name in asked if name not in applied],
        "Not run without another release (--other DIR):": lonely,
        "Not run without the person column (--person COLUMN):": nameless,
        "Nothing found by": [name for name in applied if name not in (*lonely, *nameless)],
    }
