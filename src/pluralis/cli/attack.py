"""`pluralis attack`: what adversaries get from a release, beside what was promised."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pluralis.cli.audit import show_lists
from pluralis.cli.options import AsJson, Encoding, Limit, Private, ReleaseFolder, Separator, gib
from pluralis.cli.progress_bars import progress
from pluralis.cli.terminal import Grid, Terminal, styled, terminal
from pluralis.display.escaping import print_json, print_lines
from pluralis.display.words import counted
from pluralis.errors import PolicyError

if TYPE_CHECKING:
    from rich.text import Text

    from pluralis.attacks import Result
    from pluralis.release.attribute_lists import AttributeLists
    from pluralis.release.release import Release

WORST = 3  # results that are shown unless all are asked for


def attack(
    folder: ReleaseFolder,
    original: Annotated[
        Path | None, typer.Option(help="The original table, to score guesses. Required, but for --explain.")
    ] = None,
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
    everything: Annotated[
        bool, typer.Option("--all", help="Print every result, not only the worst three and those beyond a promise.")
    ] = False,
    private: Private = None,
    limit: Limit = 2.0,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    as_json: AsJson = False,
) -> None:
    """What adversaries get from a release, beside what was promised and the prior."""
    from pluralis.publishing.private_folder import keep_results
    from pluralis.verbs.attack import attack as run_attacks

    if explain is not None:
        if original is not None or only or other or person is not None:
            raise PolicyError(
                "--explain walks through one group without the original. Leave out --original, --attack, --other and "
                "--person, or leave out --explain."
            )
        _explain(folder, explain, gib(limit), as_json)
        return
    if original is None:
        raise PolicyError("Attacks are scored against the original. Give it with --original TABLE.")
    with progress():
        results = run_attacks(
            folder, original, private=private, only=only or (), others=other or (), person=person, sample=sample,
            limit=gib(limit), encoding=encoding, separator=separator,
        )  # fmt: skip
        keep_results(folder, results, private)
    if as_json:
        print_json({"results": [result.to_dict() for result in results]})
    else:
        release, parts = _described(folder, gib(limit))
        show_results(
            terminal(), results, release, only or (), len(other or ()), named=person is not None, parts=parts,
            everything=everything,
        )  # fmt: skip
    if any(result.breach for result in results):
        raise typer.Exit(1)


def _described(folder: Path, limit: int) -> tuple[Release, int]:
    """A release, and 0; or the first part of one in parts, and how many there are."""
    from pluralis.release.reading import parts_of, read_release

    if (parts := parts_of(folder)) is None:
        return read_release(folder, limit=limit), 0
    infos = parts.manifest.parts
    return read_release(folder / infos[0].folder, limit=limit), len(infos)


def _explain(folder: Path, group: str, limit: int, as_json: bool) -> None:
    from pluralis.release.reading import read_release
    from pluralis.report.explain_group import explanation_of

    steps = explanation_of(read_release(folder, limit=limit), group)
    if as_json:
        print_json({"group": group, "steps": steps})
    else:
        print_lines(*steps)


def _say_of_parts(console: Terminal, parts: int) -> None:
    """Whom attacks on so many parts are about."""
    console.say(
        "People of all {} were attacked, some in each by its rows; what an attack learns from all rows, it "
        "learned from those of one part. Worst is the part in which a guess is nearest to its promise, or furthest "
        "beyond it.",
        counted(parts, "part"),
        wrap=False,
    )


def show_results(
    console: Terminal,
    results: Sequence[Result],
    release: Release,
    only: Collection[str] = (),
    others: int = 0,
    *,
    named: bool = False,
    parts: int = 0,
    everything: bool = False,
) -> None:
    """A line for each question, the worst first: the worst few about different values, or everything.

    `only` are the attacks that were asked for, all if there are none; `others` is how many other releases they had;
    `named` whether a person column was named; `parts` of how many `release` is the first.
    """
    from pluralis.attacks.base import NOT_RUN
    from pluralis.attacks.results import worst_first, worst_of_each
    from pluralis.release.attribute_lists import AttributeLists

    ordered = worst_first(results)
    exceeding = sum(result.breach or result.above_promised_rate for result in results)
    shown = (
        ordered if everything else [*ordered[:exceeding], *worst_of_each(ordered[exceeding:])][: max(WORST, exceeding)]
    )
    lists = AttributeLists.of_manifest(release.manifest)
    if any(lists.in_question(result.question, result.adversary) != result.question for result in shown):
        show_lists(console, lists)
    grid = _grid_of(shown, lists)
    if shown:
        console.print(grid)
    if left := len(ordered) - len(shown):
        console.say("{} more: --all shows them, the worst first.", counted(left, "result"))
    breaches = sum(result.breach for result in results)
    if breaches:
        console.say("\n[bold red]{} of {} results exceed what was promised.[/]", breaches, len(results))
    else:
        console.say(
            "\n[green]No promise is exceeded[/] ({} asked).",
            counted(sum(result.question != NOT_RUN for result in results), "question"),
        )
    if often := sum(result.above_promised_rate for result in results):
        console.say(
            "[bold yellow]{} of {} guesses came true more often than promised[/], though none was surer: a "
            "promise takes the rows of a group to be equally likely, and sensitive values go with what is known.",
            often,
            len(results),
            wrap=False,
        )
    for result in results:
        if result.question == NOT_RUN:
            console.say("[bold yellow]{}: {}[/]", result.attack, result.note or "", wrap=False)
    for reason, names in _silent({result.attack for result in results}, release, only, others, named).items():
        if names:
            console.say("[dim]{} {}.[/]", reason, ", ".join(names))
    if parts:
        _say_of_parts(console, parts)
    console.say("right: people guessed right; prior: the best guess without the release; worst: the maximum posterior.")
    for rows, note in _footnotes(shown, lists):
        console.say("  [dim]{}: {}[/]", rows, note, wrap=False)


def _footnotes(shown: Sequence[Result], lists: AttributeLists) -> Iterator[tuple[str, str]]:
    """Each note with the rows it belongs to: the attack, and its questions where not all of its rows have the note."""
    noted: dict[tuple[str, str], list[Result]] = {}
    for result in shown:
        if result.note:
            noted.setdefault((result.attack, result.note), []).append(result)
    for (attack, note), results in noted.items():
        if len(results) == sum(result.attack == attack for result in shown):
            yield attack, note
        else:
            yield f"{attack}, {'; '.join(lists.in_question(one.question, one.adversary) for one in results)}", note


def _grid_of(results: Sequence[Result], lists: AttributeLists) -> Grid:
    grid = Grid(
        "attack", "question", "right", "interval", "prior", "worst", "promised", "", "weakest", right=(2, 4, 5, 6)
    )
    for result in results:
        grid.line(
            result.attack,
            lists.in_question(result.question, result.adversary),
            f"{result.success:.1%}",
            f"{result.low:.1%} to {result.high:.1%}" if result.sampled else "all",
            f"{result.prior:.1%}",
            "" if result.worst is None else f"{result.worst:.4g}",
            "" if result.promised is None else f"{result.promised:.4g}",
            _standing(result),
            result.witness or "",
        )
    return grid


def _standing(result: Result) -> Text:
    from pluralis.attacks.base import ABOVE_PROMISED_RATE

    marked = {
        "breach": ("BREACH", "bold red"),
        ABOVE_PROMISED_RATE: (ABOVE_PROMISED_RATE, "bold yellow"),
        "above chance": ("above chance", "yellow"),
    }
    return styled(*marked.get(result.standing, (result.standing, "")))


def _silent(
    heard: Collection[str], release: Release, only: Collection[str], others: int, named: bool
) -> dict[str, list[str]]:
    """The attacks that were asked for and have no result, by why they have none."""
    from pluralis.attacks import attacks, persons
    from pluralis.publishing.attack_scores import ELSEWHERE

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
