"""A comparison as a page: its cells, which the terminal shows too, and what each figure means."""

from __future__ import annotations

import string
from collections.abc import Iterator
from importlib.resources import files
from itertools import groupby, product

from pluralis.comparison.frontier import Comparison
from pluralis.comparison.trials import Measured, Trial
from pluralis.report.charts import NOTHING, Html, named, table, tag
from pluralis.report.drawing import colors_of_page
from pluralis.report.frontier import frontier_figures
from pluralis.report.report import HEAD

MEANING = {
    "guess": "the highest probability that an adversary gets for anybody's value, as the audit measured it; in the "
    "table for each attribute, in the picture the mean over attributes",
    "error": "the median relative error of random counts, estimated from the release alone; the same counts for all",
    "KL": "the KL divergence between the original and what the release lets one believe, in nats; only where quasi "
    "values are published as they are and no row is suppressed",
    "NCP": "the part of the precision of quasi-identifiers that is lost, suppressed rows included; only where they are "
    "generalized",
    "suppressed": "the share of rows that are not published",
    "seconds": "to publish in memory, on one core",
    "attacks": "how often each one was right, in brackets the prior (the best guess without the release); ! where it "
    "broke a promise",
}


HOW = (
    "Each mark is one trial; marks side by side share one place. Left and down is better: what can be guessed of a "
    "sensitive value, the mean over attributes where there are several, against what is lost."
)

MOST_GUESSES = 8  # in a line of the table: of more, the likeliest of each adversary alone


class TrialCells:
    """A trial as cells: `method`, `l`, `rest`, `guesses` and `attacks`, in the order of the headings."""

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
            f"{measured.suppressed:.1%}" if measured.suppressed else "0",
            f"{measured.seconds:.2f}",
        ]
        tried = {one.attack: f"{one.success:.0%} ({one.prior:.0%})" + " !" * one.breach for one in measured.attacks}
        self.attacks = [tried.get(name, NOTHING) for name in _attacks(comparison)]


def _guesses(comparison: Comparison, measured: Measured, known: tuple[str, ...]) -> str:
    measured_of = {guess.attribute: guess.measured for guess in measured.guesses if guess.adversary == known}
    of_each = [measured_of.get(name) for name in guessed_attributes(comparison, known)]
    if _too_many_guesses(comparison):
        return f"{100 * max((guess for guess in of_each if guess is not None), default=0.0):.1f} %"
    return " / ".join(NOTHING if guess is None else f"{100 * guess:.1f}" for guess in of_each) + " %"


def _too_many_guesses(comparison: Comparison) -> bool:
    """Whether only the likeliest guess of each adversary finds room in a table."""
    return sum(len(guessed_attributes(comparison, known)) for known in comparison.adversaries) > MOST_GUESSES


def guessed_attributes(comparison: Comparison, known: tuple[str, ...]) -> list[str]:
    """The attributes that the policy protects from somebody."""
    return sorted({name for whom, name in comparison.policy.promises if tuple(sorted(whom)) == known})


def adversary_letters(comparison: Comparison) -> dict[str, tuple[str, ...]]:
    """A letter for each adversary of the policy, and what that one knows."""
    names = ("".join(letters) for size in (1, 2) for letters in product(string.ascii_uppercase, repeat=size))
    return dict(zip(names, comparison.adversaries, strict=False))


def known_in_words(comparison: Comparison) -> dict[str, str]:
    """What each adversary knows; by an earlier one where that is shorter."""
    words: dict[str, str] = {}
    letters = adversary_letters(comparison)
    for letter, known in letters.items():
        words[letter] = ", ".join(known) or "nothing"
        for earlier, less in letters.items():
            if earlier == letter:
                break
            also = f"what {earlier} knows, and {', '.join(name for name in known if name not in less)}"
            if {*less} < {*known}:
                words[letter] = min(words[letter], also, key=len)
    return words


def headings(comparison: Comparison) -> list[str]:
    """Of the columns that a trial has cells for."""
    words = "at most" if _too_many_guesses(comparison) else "guesses"
    whom = [f"{letter} {words}" for letter in adversary_letters(comparison)]
    return ["method", "l", "error", "KL", "NCP", "suppressed", "seconds", *whom, *_attacks(comparison)]


def _attacks(comparison: Comparison) -> list[str]:
    """The attacks that were tried on some release."""
    return sorted({one.attack for _, measured in comparison.made for one in measured.attacks})


def refusal_reasons(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    """What was refused: the method, the l's, the reason; one line where the reason is the same."""
    for method, trials in groupby(comparison.refused, key=lambda trial: trial.method):
        for reason, some in groupby(trials, key=lambda trial: trial.refused):
            ls = [str(trial.l) for trial in some if trial.l is not None]
            yield method, ", ".join(ls), reason or ""


def comparison_page(comparison: Comparison) -> str:
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
        _section("Guess against loss", tag("p", HOW), *frontier_figures(comparison)),
        _section("Every trial", *_trials(comparison)),
        *([_section("Do not apply", _refused(comparison))] if comparison.refused else []),
        _section("How it was measured", _meanings()),
    )
    style = files("pluralis.report").joinpath("report.css").read_text(encoding="utf-8")
    style += colors_of_page(":is(.frontier, .frontier-keys)")
    head = tag("head", HEAD, tag("title", "Methods compared"), tag("style", Html(style)))
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', main), lang='en')}\n"


def _section(title: str, *parts: str) -> Html:
    return tag("section", tag("h2", title), *parts)


def _trials(comparison: Comparison) -> Iterator[Html]:
    whom = []
    known_by, letters = known_in_words(comparison), adversary_letters(comparison)
    for letter, knows in known_by.items():
        guessed = " / ".join(guessed_attributes(comparison, letters[letter]))
        whom.append(tag("li", tag("b", letter), " knows ", knows, "; guesses ", guessed, "."))
    yield tag("ul", *whom)
    rows = []
    for trial, measured in comparison.made:
        line = TrialCells(comparison, trial, measured)
        note = "take" if line.take else "frontier" if line.frontier else "" if line.satisfies else "less than asked"
        rows.append([named(line.method), note, line.l, *line.rest, *line.guesses, *line.attacks])
    method, *others = headings(comparison)
    heads = [method, "", *others]
    yield table("Trials", heads, rows, *range(2, len(heads)))


def _refused(comparison: Comparison) -> Html:
    rows = [[named(method), ls or NOTHING, reason] for method, ls, reason in refusal_reasons(comparison)]
    return table("Methods that cannot publish this table under this policy", ["method", "l", "why"], rows)


def _meanings() -> Html:
    return tag("ul", *(tag("li", tag("b", name), f": {means}.") for name, means in MEANING.items()))
