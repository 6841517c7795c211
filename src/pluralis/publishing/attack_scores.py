"""Attacks on a release that is being made: which are run, and what is said of their scores.

Run        every attack that is quick and needs nothing but the release in memory and the original, as each says of
           itself (`attacks.base.Attack.at_publication`). `files` needs the files, `repeated` and `successive` other
           releases: `pluralis attack` runs these, and all others again on more people.
Size       TARGETS people are attacked, however large the table is, and what is learned from all rows is learned from a
           drawn part of them where they are many. So time grows with the table no faster than reading it.
Order      people are drawn from the rows of the original in canonical order, sorted by what they hold. So the same
           table gets the same scores, whatever the order of its rows, to nine digits.
Said       a score is itself a statistic of the private data. It is published where PEOPLE or more were attacked, and in
           whole percent: one guess more or less then moves it by a tenth of a percent at most, which rounding mostly
           hides. Of fewer people the sentence stands without its number, which the private folder keeps. Several rows
           of one person are one of the people; how many anybody has is never said. Of two attacks that make the same
           guesses the plainer is named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import polars as pl

from pluralis.attacks import association, attack, attacks, definetti, persons, plain
from pluralis.attacks.adversary.candidate_rows import row_numbers
from pluralis.attacks.adversary.knowledge import bound_of
from pluralis.attacks.base import NOT_RUN, SLACK, Options, Result
from pluralis.attacks.given_away import given_away, in_words
from pluralis.attacks.told_in_cells import told_in_cells
from pluralis.attacks.worst_guess import PLAINEST, worst_in_words
from pluralis.display.words import percent
from pluralis.kernels.order import stable_order
from pluralis.policy.policy import Policy
from pluralis.profiling.vocabulary import identifies_people, identifying
from pluralis.release.form import GIVEN_AWAY, NOT_ATTACKED, SEVERAL, WORST
from pluralis.release.manifest import Claim, Manifest
from pluralis.release.release import Release
from pluralis.table.dictionaries import different_values

TARGETS = 5_000  # people attacked: an interval of one or two percent, in a quarter of the time of `pluralis attack`
PEOPLE = 1_000  # attacked, for a score to be published
MOST_LETTERS = 400  # of a list in a sentence
YES_OR_NO = 3  # values of a column that identifies nobody: yes, no, and none
WORST_COLUMNS = 3  # plain columns that the publisher is told of
PERSON = "\0person"
NOTHING = (association.NOTHING_LEARNED, definetti.NOTHING_LEARNED)  # what is got then, plainer attacks get
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
    places = (different_values(column)[1] for column in people)  # of all columns at once sorting takes far more memory
    kind = row_numbers(places, people.height)
    people = people[stable_order(kind, int(kind.max(initial=-1)) + 1)]
    persons = None if person is None else people[PERSON].rank("dense").cast(pl.Int64).to_numpy()
    options = Options(sample=TARGETS, persons=persons)
    results = attack(release, people.drop(PERSON, strict=False), only=quick, options=options)
    return tuple(_rounded(result) for result in results)


def _rounded(result: Result) -> Result:
    """Without the last digits, which depend on the order in which cores add up."""
    numbers = ("success", "low", "high", "prior", "worst", "promised")
    exact = {name: getattr(result, name) for name in numbers}
    return replace(result, **{name: round(value, 9) for name, value in exact.items() if value is not None})


def not_stopped(release: Release, results: Sequence[Result] | None, people: int) -> Iterator[str]:
    """A sentence for each thing that attacks got beyond chance and no promise bounds, or more often than promised; and
    which were not run.

    `people` is how many have a row in the release.
    """
    yield f"{WORST}: {worst_in_words(_of_people(results, people), least=PEOPLE)}"
    if (worst := given_away(_of_people(results, people) or (), release.manifest.claims)) is not None:
        yield f"{GIVEN_AWAY}: {in_words(worst, least=PEOPLE)}"
    best: dict[str, Result] = {}
    named = set()  # two attacks may make the same guesses
    for result in sorted(results or (), key=lambda one: one.attack != PLAINEST):
        if result.attack in (persons.ATTACK.name, plain.ATTACK.name):
            continue
        if any(nothing in (result.note or "") for nothing in NOTHING):
            continue
        guesses = (result.attribute, result.adversary, result.success, result.prior)
        if result.above_chance and not _bounded(release.manifest, result) and guesses not in named:
            named.add(guesses)
            subject = f"{result.attack}: {attacks()[result.attack].subject(result)}"
            best[subject] = max(best.get(subject, result), result, key=lambda one: one.success)
    yield from (_sentence(subject, result, people) for subject, result in best.items())
    yield from _several_rows(release, [result for result in results or () if result.attack == persons.ATTACK.name])
    yield from _plain_columns([result for result in results or () if result.attack == plain.ATTACK.name], people)
    if results is None:
        yield NOT_ATTACKED
        return
    left = [name for name, one in attacks().items() if one.applies(release) and not one.at_publication(release)]
    left += [result.attack for result in results if result.question == NOT_RUN]
    if here := [name for name in left if name not in ELSEWHERE]:
        yield f"{_listed(here)}: not measured at publication; `pluralis attack` measures what they get"


def _sentence(about: str, result: Result, people: int) -> str:
    """What an attack got of a release of some people, in words.

    >>> about = "definetti: people's job guessed right"
    >>> _sentence(about, Result("definetti", "", 5_000, True, 0.817, 0.806, 0.828, 0.134), 30_162)
    "definetti: 82 % of people's job guessed right; prior 13 %"
    >>> _sentence(about, Result("definetti", "", 999, False, 0.817, 0.817, 0.817, 0.134), 999)
    "definetti: people's job guessed right, more often than by the prior"
    >>> often = Result("homogeneity", "", 5_000, True, 0.25, 0.24, 0.26, 0.134, promised=0.2, worst=0.2)
    >>> print(_sentence("homogeneity: people's job guessed right", often, 30_162))
    homogeneity: 25 % of people's job guessed right, above the 20 % of equally likely rows; prior 13 %
    >>> some = replace(often, attribute="ill", value="Yes", share=0.23, whom="people of whom it is likeliest")
    >>> print(_sentence("homogeneity: people of whom it is likeliest rightly taken to have ill = Yes", some, 30_162))
    homogeneity: 25 % of the 23 % of people of whom it is likeliest rightly taken to have ill = Yes, above the 20 % of \
equally likely rows; prior 13 %
    """
    name, _, subject = about.partition(": ")
    if min(result.targets, people) < PEOPLE:
        return f"{name}: {subject}, more often than by the prior"
    right, prior = percent(result.success), percent(result.prior)
    if result.value is not None and result.share is not None:
        subject = f"the {percent(result.share)} of {subject}"
    if not result.above_promised_rate:
        return f"{name}: {right} of {subject}; prior {prior}"
    bound = percent(result.promised or 0.0)
    about = "that its bound allows" if result.value is not None and result.share is None else "of equally likely rows"
    return f"{name}: {right} of {subject}, above the {bound} {about}; prior {prior}"


def _of_people(results: Sequence[Result] | None, people: int) -> Sequence[Result] | None:
    """The same of no more targets than there are people: several rows of one person are one of them."""
    if results is None:
        return None
    return [replace(result, targets=min(result.targets, people)) for result in results]


def _plain_columns(results: Sequence[Result], people: int) -> Iterator[str]:
    """What is learned of plain columns, and of each sensitive attribute from them; the worst first, in one sentence."""
    of_them = [result for result in results if result.certain is not None and (result.above_chance or result.certain)]
    if of_them:
        of_them.sort(key=lambda result: (-(result.certain or 0.0), result.prior - result.success))
        known = "whoever knows every quasi-identifier guesses right"
        yield f"{plain.ATTACK.name}: {known} {_first(_of_plain(result, people) for result in of_them)}"
    from_them = [result for result in results if result.share is not None]
    for name in dict.fromkeys(result.attribute for result in from_them):
        about = sorted((one for one in from_them if one.attribute == name), key=lambda one: -one.success)
        columns = _first(_by_plain(result, people) for result in about) + _prior(about, people)
        yield f"{plain.ATTACK.name}: people's {name} is guessed right by whoever sees or knows {columns}"


def _of_plain(result: Result, people: int) -> str:
    if min(result.targets, people) < PEOPLE:
        certain = ", of some with certainty" if result.certain else ""
        return f"{result.attribute} of more people than by the prior{certain}"
    certain = f"{percent(result.certain)} with certainty, " if result.certain else ""
    return f"{result.attribute} of {percent(result.success)} of people ({certain}prior {percent(result.prior)})"


def _by_plain(result: Result, people: int) -> str:
    column = result.adversary[-1]
    if min(result.targets, people) < PEOPLE:
        return f"{column} (of some people)"
    return f"{column} ({percent(result.success)} of the {percent(result.share or 0.0)} of people of whom it tells)"


def _prior(results: Sequence[Result], people: int) -> str:
    numbers = any(min(result.targets, people) >= PEOPLE for result in results)
    return f"; prior {percent(results[0].prior)}" if numbers else ""


def _first(parts: Iterator[str]) -> str:
    """As many parts as a sentence of `breaks` may hold, and how many are left.

    >>> _first(iter(["ward", "floor"])), _first(iter(["x" * 400, "ward", "floor"]))[-12:]
    ('ward, floor', 'x and 2 more')
    """
    every, shown = list(parts), list[str]()
    for part in every:
        if shown and len(", ".join([*shown, part])) > MOST_LETTERS:
            break
        shown.append(part)
    left = len(every) - len(shown)
    return ", ".join(shown) + (f" and {left} more" if left else "")


def remarks_on_plain(results: Sequence[Result]) -> Iterator[str]:
    """What whoever publishes should do about a plain column that tells of a sensitive attribute."""
    of_plain = (one for one in results if one.attack == plain.ATTACK.name and one.share is not None)
    telling = sorted(of_plain, key=lambda one: one.prior - one.success)
    for result in telling[:WORST_COLUMNS]:
        column = result.adversary[-1]
        yield (
            f"{column}, a plain column, tells of {result.attribute}: where {result.witness}, {result.note}. Make "
            f"{column} an identifier, which is not published, a quasi-identifier, which is generalized, or sensitive."
        )


def remarks_on_names(original: pl.DataFrame, policy: Policy) -> Iterator[str]:
    """Published columns whose names say that they identify people; a yes or no identifies nobody."""
    for name, attribute in policy.columns.items():
        published = attribute.role != "identifier" and name in original.columns
        if published and identifies_people(name) and original[name].n_unique() > YES_OR_NO:
            yield identifying(name, str(attribute.role))


def remarks_on_cells(original: pl.DataFrame, policy: Policy) -> Iterator[str]:
    """The same of plain columns that tell more in a part of the table than in all of it."""
    named = {role: [name for name in policy.named(role) if name in original.columns] for role in ("plain", "quasi")}
    yield from map(str, told_in_cells(original, named["plain"], named["quasi"], policy.sensitive))


def _several_rows(release: Release, results: Sequence[Result]) -> Iterator[str]:
    """What all rows of a person tell together of each attribute, where PEOPLE or more have several; else nothing is
    added to that they can be intersected.
    """
    where = "sets" if release.traits.lists_values else "groups"
    for name in dict.fromkeys(result.attribute for result in results if result.targets >= PEOPLE):
        about = [result for result in results if result.attribute == name and result.targets >= PEOPLE]
        each = [result for result in about if result.question.endswith((persons.EACH, persons.DIFFERENT))]
        if not each:
            continue
        best = max(each, key=lambda result: result.success)
        if not best.above_chance:
            continue
        sentence = f"{percent(best.success)} of rows guessed right in {name} by intersecting {where}"
        if best.above_promised_rate or best.breach:
            sentence += f", above the {percent(best.promised or 0.0)} of one row"
        one = [result.success for result in about if result.question.endswith(persons.ONE_VALUE)]
        if one:
            sentence += f", {percent(max(one))} where all have one value"
        number = max((result.success for result in about if result.question.endswith(persons.NUMBER)), default=0.0)
        if number > max(best.success, *one, 0.0):
            sentence += f", {percent(number)} knowing how many rows people have"
        yield f"{SEVERAL}: {sentence}; prior {percent(best.prior)}"


def _bounded(manifest: Manifest, result: Result) -> bool:
    """Whether nobody is guessed with more than a claim allows to whoever knows as much."""
    if result.promised is not None:
        return not result.above_promised_rate
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
