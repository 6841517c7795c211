"""A comparison for people: a table on a terminal, and a folder with its page, picture and figures."""

from __future__ import annotations

import json
import string
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.resources import files
from itertools import groupby, product
from pathlib import Path

from pluralis.cli.terminal import Grid, Terminal, styled
from pluralis.comparison.comparing import TARGETS, Comparison
from pluralis.comparison.trials import Measured, Trial
from pluralis.publishing.staging import check_target, one_at_a_time, staging
from pluralis.report.charts import NOTHING, Html, joined, named, table, tag
from pluralis.report.drawing import png
from pluralis.report.frontier import frontier_svg
from pluralis.report.report import HEAD

FIGURES = "compare.json"
MEANING = {
    "guess": "the highest probability that an adversary gets for anybody's value, as the audit measured it; in the "
    "table for each attribute, in the picture the mean over attributes",
    "error": "the median relative error of random counts, estimated from the release alone; the same counts for all",
    "KL": "the KL divergence between the original and what the release lets one believe, in nats; only where quasi "
    "values are published as they are and no row is left out",
    "NCP": "the part of the precision of quasi values that is lost, rows left out included; only where they are "
    "generalised",
    "left out": "the share of rows that are not published",
    "seconds": "to publish in memory, on one core",
    "attacks": "how often each one was right, in brackets the best guess without the release; ! where it broke a "
    "promise",
}


class Line:
    """A trial as cells."""

    def __init__(self, comparison: Comparison, trial: Trial, measured: Measured) -> None:
        self.take = trial is comparison.taken
        self.frontier = trial in comparison.frontier
        self.satisfies = measured.satisfies(comparison.policy)
        self.method, self.l = trial.method, "policy" if trial.l is None else str(trial.l)
        self.guesses = [_guesses(comparison, measured, known) for known in comparison.adversaries]
        self.rest = [
            NOTHING if measured.error is None else f"{measured.error:.1%}",
            NOTHING if measured.kl is None else f"{measured.kl:.3g}",
            NOTHING if measured.ncp is None else f"{measured.ncp:.3f}",
            f"{measured.left_out:.1%}" if measured.left_out else "0",
            f"{measured.seconds:.2f}",
        ]
        tried = {one.attack: f"{one.success:.0%} ({one.blind:.0%})" + " !" * one.breach for one in measured.attacks}
        self.attacks = [tried.get(name, NOTHING) for name in _attacks(comparison)]


def _guesses(comparison: Comparison, measured: Measured, known: tuple[str, ...]) -> str:
    found = {guess.attribute: guess for guess in measured.guesses if guess.adversary == known}
    cells = []
    for name in _guessed(comparison, known):
        guess = found.get(name)
        cells.append(NOTHING if guess is None or guess.measured is None else f"{100 * guess.measured:.1f}")
    return " / ".join(cells) + " %"


def _guessed(comparison: Comparison, known: tuple[str, ...]) -> list[str]:
    """The attributes that the policy protects from somebody."""
    return sorted({name for whom, name in comparison.policy.promises if tuple(sorted(whom)) == known})


def _letters(comparison: Comparison) -> dict[str, tuple[str, ...]]:
    names = ("".join(letters) for size in (1, 2) for letters in product(string.ascii_uppercase, repeat=size))
    return dict(zip(names, comparison.adversaries, strict=False))


def _heads(comparison: Comparison) -> list[str]:
    whom = [f"{letter} guesses" for letter in _letters(comparison)]
    return ["method", "l", *whom, "error", "KL", "NCP", "left out", "seconds", *_attacks(comparison)]


def _attacks(comparison: Comparison) -> list[str]:
    """The attacks that were tried on some release."""
    return sorted({one.attack for _, measured in comparison.made for one in measured.attacks})


def _reasons(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    """What was refused: the method, the l's, the reason; one line where the reason is the same."""
    for method, trials in groupby(comparison.refused, key=lambda trial: trial.method):
        for reason, some in groupby(trials, key=lambda trial: trial.refused):
            ls = [str(trial.l) for trial in some if trial.l is not None]
            yield method, ", ".join(ls), reason or ""


def show_comparison(console: Terminal, comparison: Comparison) -> None:
    """The table, what was refused, and the advice."""
    console.say("{:,} rows. Promises are measured on the tables, as the audit does it.\n", comparison.rows)
    for letter, known in _letters(comparison).items():
        guessed = " / ".join(_guessed(comparison, known))
        console.say("  {} knows {}; guesses {}", letter, ", ".join(known) or "nothing", guessed, wrap=False)
    if comparison.made:
        heads = _heads(comparison)
        grid = Grid("", *heads, "", right=(i for i, head in enumerate(heads, 1) if head != "method"), wrap=False)
        for trial, measured in comparison.made:
            line = Line(comparison, trial, measured)
            mark = styled("▶", "bold green") if line.take else "●" if line.frontier else ""
            kept = "" if line.satisfies else styled("keeps less than the policy asks", "dim")
            cells = [line.method, line.l, *line.guesses, *line.rest, *line.attacks]
            grid.line(mark, *cells, kept, style="bold" if line.take else None)
        console.print()
        console.print(grid)
        console.say("\n▶ take this one   ● on the frontier of guess and {}", TARGETS[comparison.target])
        for name in ("guess", "error"):
            console.say("[dim]{}: {}[/]", name, MEANING[name], wrap=False)
    if comparison.refused:
        console.say("\n[bold]Do not apply[/]")
        for method, ls, reason in _reasons(comparison):
            at = f" at l = {ls}" if ls else ""
            console.say("  [bold]{}[/]{}: {}", method, at, reason, wrap=False)
    console.print()
    for sentence in comparison.advice():
        console.say("{}", sentence, wrap=False)


# a folder ----------------------------------------------------------------------------------------------------------


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds something else than a comparison."""
    check_target(folder.absolute(), replace=True, mark=FIGURES)


def write_comparison(comparison: Comparison, folder: Path) -> None:
    """`compare.html`, `frontier.png`, `frontier.svg` and `compare.json`, for the publisher alone (mode 0700)."""
    check_folder(folder)
    target = folder.absolute()
    picture = frontier_svg(comparison)
    figures = json.dumps(comparison.to_dict(), indent=1, ensure_ascii=False) + "\n"
    with staging(target) as (to,), ExitStack() as undo:
        to.write("compare.html", comparison_page(comparison, picture).encode(), mode=0o600)
        to.write("frontier.svg", picture.encode(), mode=0o600)
        to.write("frontier.png", png(picture), mode=0o600)
        to.write(FIGURES, figures.encode(), mode=0o600)
        with one_at_a_time(target.parent):
            to.show(undo, replace=True)
        undo.pop_all()


def comparison_page(comparison: Comparison, picture: Html) -> str:
    """One page that needs nothing else."""
    first, *others = comparison.advice()
    taken = comparison.taken
    good = taken is not None
    mark = tag("span", "✓" if good else "✗", class_="mark", aria_hidden="true")
    title = f"Take {taken.name}" if taken is not None else "No method to take"
    header = tag(
        "header",
        tag("p", "Methods compared", tag("span", "private"), class_="overline"),
        tag("h1", mark, title, class_=None if good else "bad"),
        tag("p", first, class_="lead"),
        *([tag("ul", *(tag("li", sentence) for sentence in others))] if others else []),
    )
    main = tag(
        "main",
        header,
        _section("Guess against loss", tag("figure", picture, class_="frontier")),
        _section("Every trial", *_trials(comparison)),
        *([_section("Do not apply", _refused(comparison))] if comparison.refused else []),
        _section("How it was measured", _meanings()),
    )
    style = files("pluralis.report").joinpath("report.css").read_text(encoding="utf-8")
    style += "@media screen { .frontier { width: min(96vw, 104rem); margin-left: calc(50% - min(48vw, 52rem)); } }\n"
    style += ".frontier svg { display: block; width: 100%; height: auto; border-radius: .4rem; }\n"
    head = tag("head", HEAD, tag("title", "Methods compared"), tag("style", Html(style)))
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', main), lang='en')}\n"


def _section(title: str, *parts: str) -> Html:
    return tag("section", tag("h2", title), *parts)


def _trials(comparison: Comparison) -> Iterator[Html]:
    whom = []
    for letter, known in _letters(comparison).items():
        knows = joined([", " * bool(i) + name for i, name in enumerate(known)] or ["nothing"])
        guessed = " / ".join(_guessed(comparison, known))
        whom.append(tag("li", tag("b", letter), " knows ", knows, "; guesses ", guessed, "."))
    yield tag("ul", *whom)
    rows = []
    for trial, measured in comparison.made:
        line = Line(comparison, trial, measured)
        note = "take" if line.take else "frontier" if line.frontier else "" if line.satisfies else "less than asked"
        rows.append([named(line.method), line.l, *line.guesses, *line.rest, *line.attacks, note])
    heads = [*_heads(comparison), ""]
    yield table("Trials", heads, rows, *range(1, len(heads) - 1))


def _refused(comparison: Comparison) -> Html:
    rows = [[named(method), ls or NOTHING, reason] for method, ls, reason in _reasons(comparison)]
    return table("Methods that cannot publish this table under this policy", ["method", "l", "why"], rows)


def _meanings() -> Html:
    return tag("ul", *(tag("li", tag("b", name), f": {means}.") for name, means in MEANING.items()))
