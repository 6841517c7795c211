"""The worst measured guess of a release: one line beside the verdict, in the terminal, the README and the report.

Ranked     by how far guesses came true above the prior: the lower end of their interval, so that few people count for
           less, and no more than the largest posterior where it was worked out. Results about rows, not about an
           attribute, are no guesses of it.
Few        guesses of fewer than MANY people come true by luck: the largest posterior stands in the place of how many
           did. Where there is none, they count only if nothing was asked of more people.
Named      the worst guess of a sensitive attribute, or of one value of it that is bounded by itself, and of whom; and
           of a plain column where that is worse, which is published as it is, so that whoever finds a row reads it.
Surest     what is right of many can be far surer of a few. Where no claim bounds the shares of groups, the largest
           stands beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pluralis.attacks.base import SLACK, Result, interval
from pluralis.display.words import percent
from pluralis.release.form import UNMEASURED

PLAINEST = "homogeneity"  # of two attacks that make the same guesses the plainer is named
WEAKEST = "in the weakest group"
NONE_BETTER = "none better than the prior"
MANY = 30
FEW = "its numbers are the publisher's, for they are about few people"


def worst_guess(results: Sequence[Result]) -> Result | None:
    """The result furthest above the prior, of those that guess an attribute; None where none is above it.

    >>> weak, strong = (Result("a", "", 5_000, True, s, s - 0.01, s + 0.01, 0.1, attribute="job") for s in (0.2, 0.4))
    >>> worst_guess([weak, strong]) == strong, worst_guess([])
    (True, None)
    >>> few = Result("persons", "", 8, True, 1.0, 0.68, 1.0, 0.1, attribute="job")
    >>> worst_guess([weak, few]) == weak, worst_guess([few]) == few
    (True, True)
    """
    guesses = [result for result in results if result.attribute is not None and result.above_chance]
    certain = [result for result in guesses if result.targets >= MANY or result.worst is not None]
    return max(certain or guesses, key=lambda one: (_above_prior(one), one.attack == PLAINEST), default=None)


def _above_prior(result: Result) -> float:
    """By how much guesses are better than the prior, at least."""
    sure, _ = interval(result.success, result.targets)
    return (sure if result.worst is None else min(sure, result.worst)) - result.prior


def worst_in_words(results: Sequence[Result] | None, *, least: int = 0) -> str:
    """The worst guess in words, without numbers where it is about fewer than `least` people.

    >>> from dataclasses import replace
    >>> one = Result("association", "", 5_000, True, 0.31, 0.30, 0.32, 0.12, attribute="charges")
    >>> worst_in_words([one])
    'charges, 31 % of people, prior 12 % (association)'
    >>> worst_in_words([one], least=10_000)
    "charges (association); its numbers are the publisher's, for they are about few people"
    >>> worst_in_words([]), worst_in_words(None)
    ('none better than the prior', 'not measured at publication')
    >>> job = Result("homogeneity", "", 5_000, True, 0.42, 0.41, 0.43, 0.19, attribute="job", worst=0.986)
    >>> worst_in_words([job])
    'job, 42 % of people, in the weakest group 99 %, prior 19 % (homogeneity)'
    >>> worst_in_words([one, replace(job, success=0.1, low=0.09)])
    'charges, 31 % of people, prior 12 % (association); in the weakest group job with 99 % (homogeneity)'
    >>> ill = replace(job, attribute="ill", value="Yes", share=0.226, whom="people of whom it is likeliest", promised=1)
    >>> worst_in_words([ill])
    'ill = Yes, right for 42 % of the 23 % of people of whom it is likeliest, prior 19 % (homogeneity)'
    >>> worst_in_words([replace(ill, targets=2, success=1.0, low=0.34, worst=0.25, share=0.0004)])
    'ill = Yes, right for at most 25 % of the under 1 % of people of whom it is likeliest, prior 19 % (homogeneity)'
    """
    if results is None:
        return UNMEASURED
    sensitive = worst_guess([result for result in results if result.certain is None])
    plain = worst_guess([result for result in results if result.certain is not None])
    if plain is not None and sensitive is not None and _above_prior(sensitive) >= _above_prior(plain):
        plain = None
    surest = _surest(results)
    words = [] if sensitive is None else [_words(sensitive, least, surest)]
    if surest is not None and surest.targets >= least and (sensitive is None or surest.guessed != sensitive.guessed):
        words.append(f"{WEAKEST} {surest.guessed} with {percent(surest.worst or 0.0)} ({surest.attack})")
    words += [] if plain is None else [f"of a plain column {_words(plain, least, None)}"]
    return "; ".join(words) or NONE_BETTER


def _surest(results: Sequence[Result]) -> Result | None:
    """The largest share that a value has in a group, of attributes whose shares no claim bounds, where it tells."""
    one_by_one = {(result.attribute, result.adversary) for result in results if result.value is not None}
    shares = [
        result
        for result in results
        if result.attack == PLAINEST
        and result.promised is None
        and (result.attribute, result.adversary) not in one_by_one
        and (result.worst or 0.0) > result.prior + SLACK
    ]
    return max(shares, key=lambda one: one.worst or 0.0, default=None)


def _words(result: Result, least: int, surest: Result | None) -> str:
    if result.targets < least:
        return f"{result.guessed} ({result.attack}); {FEW}"
    whom = result.whom if result.share is None else f"the {percent(result.share)} of {result.whom}"
    right = "right for " if result.value is not None else ""
    here = surest is not None and surest.guessed == result.guessed
    weakest = f", {WEAKEST} {percent(surest.worst or 0.0)}" if here and surest is not None else ""
    beside = f"prior {percent(result.prior)} ({result.attack})"
    most = result.worst if result.targets < MANY else None
    often = percent(result.success) if most is None or result.success <= most else f"at most {percent(most)}"
    return f"{result.guessed}, {right}{often} of {whom}{weakest}, {beside}"
