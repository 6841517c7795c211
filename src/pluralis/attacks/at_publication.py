"""Attacks on a release that is being made: which are run, and what is said of their scores.

Run        every attack that is quick and needs nothing but the release in memory and the original. `files` needs the
           files, `repeated` and `successive` other releases: `pluralis attack` runs these, and all others again on
           more people.
Order      people are drawn from the rows of the original in canonical order, sorted by what they hold. So the same
           table gets the same scores, whatever the order of its rows, to nine digits.
Said       a score is itself a statistic of the secret data. It is published where PEOPLE or more were attacked, and in
           whole percent: one guess more or less then moves it by a tenth of a percent at most, which rounding mostly
           hides. Of fewer people the sentence stands without its number, which the private folder keeps. Several rows
           of one person are one of the people; how many anybody has is never said. Of two attacks that make the same
           guesses the plainer is named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import polars as pl

from pluralis.attacks import association, attack, attacks, definetti, persons
from pluralis.attacks.adversary.questions import bound_of
from pluralis.attacks.base import SLACK, Options, Result
from pluralis.release.form import SEVERAL
from pluralis.release.manifest import Claim, Manifest
from pluralis.release.release import Release

MOST_ROWS = 100_000  # of a table; in larger ones attacks would take longer than publishing
TARGETS = 5_000  # people attacked: an interval of one or two percent, in a quarter of the time of `pluralis attack`
PEOPLE = 1_000  # attacked, for a score to be published
PERSON = "\0person"
PLAINEST = "homogeneity"
NOTHING = (association.NOTHING_LEARNT, definetti.NOTHING_LEARNT)  # what is got then, plainer attacks get
ELSEWHERE = frozenset({"repeated", "successive"})  # they ask about other releases, not about this one


def measured(release: Release, original: pl.DataFrame, person: pl.Series | None = None) -> tuple[Result, ...]:
    """What quick attacks get from a release; the rows of its original may stand in any order.

    `person` says whose each row is, where people have several.
    """
    quick = [name for name, one in attacks().items() if one.at_publication(release)]
    if not quick:
        return ()
    people = original.select(sorted(original.columns))
    if person is not None:
        people = people.with_columns(person.alias(PERSON))  # last, so that it decides among rows that are the same
    people = people.sort(pl.all(), nulls_last=True)
    persons = None if person is None else people[PERSON].rank("dense").cast(pl.Int64).to_numpy()
    options = Options(sample=TARGETS, persons=persons)
    results = attack(release, people.drop(PERSON, strict=False), only=quick, options=options)
    return tuple(_rounded(result) for result in results)


def _rounded(result: Result) -> Result:
    """Without the last digits, which depend on the order in which cores add up."""
    numbers = ("success", "low", "high", "blind", "worst", "promised")
    held = {name: getattr(result, name) for name in numbers}
    return replace(result, **{name: round(value, 9) for name, value in held.items() if value is not None})


def not_stopped(release: Release, results: Sequence[Result] | None, people: int) -> Iterator[str]:
    """A sentence for each thing that attacks got beyond chance and no promise bounds, or more often than promised; and
    which were not run.

    `people` is how many have a row in the release.
    """
    found: dict[str, Result] = {}
    told = set()  # two attacks may make the same guesses
    for result in sorted(results or (), key=lambda one: one.attack != PLAINEST):
        if result.attack == persons.ATTACK.name:
            continue
        if any(nothing in (result.note or "") for nothing in NOTHING):
            continue
        guesses = (result.attribute, result.adversary, result.success, result.blind)
        if result.above_chance and not _bounded(release.manifest, result) and guesses not in told:
            told.add(guesses)
            of = f"{result.attack}: {attacks()[result.attack].subject(result)}"
            found[of] = max(found.get(of, result), result, key=lambda one: one.success)
    yield from (_sentence(of, result, people) for of, result in found.items())
    yield from _several_rows(release, [result for result in results or () if result.attack == persons.ATTACK.name])
    if results is None:
        yield "attacks: what they get was not measured at publication; `pluralis attack` measures it"
        return
    left = [name for name, one in attacks().items() if one.applies(release) and not one.at_publication(release)]
    if named := [name for name in left if name not in ELSEWHERE]:
        yield f"{_listed(named)}: not measured at publication; `pluralis attack` measures what they get"


def _sentence(of: str, result: Result, people: int) -> str:
    """What an attack got of a release of some people, in words.

    >>> of = "definetti: people's job guessed right"
    >>> _sentence(of, Result("definetti", "", 5_000, True, 0.817, 0.806, 0.828, 0.134), 30_162)
    "definetti: 82 % of people's job guessed right; blind guess 13 %"
    >>> _sentence(of, Result("definetti", "", 999, False, 0.817, 0.817, 0.817, 0.134), 999)
    "definetti: people's job guessed right, more often than by a blind guess"
    >>> often = Result("homogeneity", "", 5_000, True, 0.25, 0.24, 0.26, 0.134, promised=0.2, worst=0.2)
    >>> print(_sentence("homogeneity: people's job guessed right", often, 30_162))
    homogeneity: 25 % of people's job guessed right, above the 20 % of equally likely rows; blind guess 13 %
    """
    name, _, subject = of.partition(": ")
    if min(result.targets, people) < PEOPLE:
        return f"{name}: {subject}, more often than by a blind guess"
    right, blind = percent(result.success), percent(result.blind)
    if not result.oftener:
        return f"{name}: {right} of {subject}; blind guess {blind}"
    bound = percent(result.promised or 0.0)
    return f"{name}: {right} of {subject}, above the {bound} of equally likely rows; blind guess {blind}"


def _several_rows(release: Release, results: Sequence[Result]) -> Iterator[str]:
    """What all rows of a person tell together of each attribute, where PEOPLE or more have several; else nothing is
    added to that they can be intersected.
    """
    where = "sets" if release.kind == "candidates" else "groups"
    for name in dict.fromkeys(result.attribute for result in results if result.targets >= PEOPLE):
        mine = [result for result in results if result.attribute == name and result.targets >= PEOPLE]
        each = [result for result in mine if result.question.endswith((persons.EACH, persons.DIFFERENT))]
        if not each:
            continue
        best = max(each, key=lambda result: result.success)
        if not best.above_chance:
            continue
        said = f"{percent(best.success)} of rows guessed right in {name} by intersecting {where}"
        if best.oftener or best.breach:
            said += f", above the {percent(best.promised or 0.0)} of one row"
        one = [result.success for result in mine if result.question.endswith(persons.ONE_VALUE)]
        if one:
            said += f", {percent(max(one))} where all have one value"
        number = max((result.success for result in mine if result.question.endswith(persons.NUMBER)), default=0.0)
        if number > max(best.success, *one, 0.0):
            said += f", {percent(number)} knowing how many rows people have"
        yield f"{SEVERAL}: {said}; blind guess {percent(best.blind)}"


def percent(share: float) -> str:
    """Whole percent; never nothing for something, nor all for less.

    >>> percent(0.634), percent(0.001), percent(0.9999), percent(1.0)
    ('63 %', 'under 1 %', 'over 99 %', '100 %')
    """
    if 0 < share < 0.005:
        return "under 1 %"
    return "over 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def _bounded(manifest: Manifest, result: Result) -> bool:
    """Whether nobody is guessed with more than a claim allows to whoever knows as much."""
    if result.promised is not None:
        return not result.oftener
    about = [claim for claim in manifest.claims if claim.attribute == result.attribute and claim.attribute is not None]
    bounds = [_bound(claim) for claim in about if {*result.adversary} <= {*claim.adversary}]
    bound = min((bound for bound in bounds if bound is not None), default=None)
    return bound is not None and result.low <= bound and (result.worst or 0.0) <= bound + SLACK


def _bound(claim: Claim) -> float | None:
    if claim.model == "posterior" and claim.l is not None:
        return 1 / claim.l
    return bound_of(claim)


def _listed(names: Collection[str]) -> str:
    *some, last = names
    return f"{', '.join(some)} and {last}" if some else last
