"""Several rows of one person: what all of them together tell of the value in each.

Definition  Whoever knows the quasi-identifiers of every row of a person finds, for each, what the release says of it:
            B(v), the mean of the rows it may be. Two ways in which the values of a person's rows may hang together:
            each is drawn on its own; or all are one value, as of a chronic disease, so that what rows say multiplies,

                S(v)  =  p(v) · product over rows of B(v) / p(v),        p(v) how common v is overall.

            How common the second is, is learned from the people themselves by expectation and maximization: the
            first makes their rows 1 likely, the second the sum of S. A row is guessed by both, weighed. Four
            questions: every row of people with several rows; the value of those who have one in all rows, by S alone;
            of drawn sets, every row where sets of one person that differ hold values that differ, as they do
            if equal values of a person are drawn equal sets; and the value of everybody who has one in all rows, by
            somebody who knows how many rows people have: p(v) is then that of people with as many rows, learned from
            what all of them show.
            `success` is the mean over people of the share of their rows that is guessed right.
Reference   Ye et al.: Anonymizing Classification Data Using Distribution Clusters, DEXA 2008, section 5.2 (several rows
            of one person in different groups); Ganta et al.: Composition Attacks. KDD 2008.
Exposed     every method: a claim is about a row. The first and third questions are compared with it, the second is
            not: that somebody has one value in all rows is more than a claim lets an adversary know. Against a claim of
            `posterior`, more than promised is a breach: `worst` is then what came true beyond doubt (4.5 standard
            errors), where that is more than row by row.
Exact       rows of one person are in different groups, so that they are independent given their values, where what is
            known of a person fits the rows of one group. People are a sample above `sample`, and where there are more
            than CELLS probabilities. Of more than MOST different sets of one person the first are looked at together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.adversary.knowledge import commonest_share, quasi_identifiers, row_bound
from pluralis.attacks.adversary.posterior import CELLS, Posterior, chance_of_right
from pluralis.attacks.adversary.published_values import PublishedValues, published_values
from pluralis.attacks.base import DOUBT, Attack, Options, Result, score
from pluralis.errors import InputError, did_you_mean
from pluralis.estimate import estimator_of
from pluralis.estimate.kinds.candidates import Candidates
from pluralis.kernels.different import pick_different
from pluralis.policy.attributes import Attribute
from pluralis.release.release import Release
from pluralis.table.canonical import canonical

STEPS = 200
MOST = 4
EACH = "in each of their rows"
ONE_VALUE = "where it is one in all of their rows"
DIFFERENT = "in each of their rows, if sets that differ hold values that differ"
NUMBER = "where it is one in all of their rows, knowing how many rows people have"
CROWD = 20  # people with as many rows as each other, to learn from

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]


class Persons(Attack):
    name: ClassVar[str] = "persons"
    title: ClassVar[str] = "several rows of one person, taken together"
    reference: ClassVar[str] = "Ganta et al. 2008"
    headline: ClassVar[str] = "guesses right of people's {question}"

    def applies(self, release: Release) -> bool:
        return bool(release.manifest.parameters.persons) and bool(published_values(release))

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> list[Result]:
        """Nothing where it is not said who is who (`options.persons`), or nobody has several rows."""
        if options.persons is None:
            return []
        return [
            result
            for published in published_values(release)
            for result in _results(release, published, original, options)
        ]


def persons_of(original: pl.DataFrame, column: str, release: Release) -> Ints:
    """A number for each row that says whose it is, by a column of the original that names persons."""
    if column not in original.columns:
        raise InputError(f"The original has no column {column!r}. {did_you_mean(column, original.columns)}")
    missing = release.manifest.parameters.missing
    names = canonical(original[column], Attribute(role="identifier", case="keep"), missing, [])
    if names.null_count():
        raise InputError(
            f"The person column {column!r} is missing in {names.null_count():,} rows. Name the column that the policy "
            "names, or give the table that was published."
        )
    return names.rank("dense").cast(pl.Int64).to_numpy()


class Several(NamedTuple):
    """Rows of the original, those of one person beside each other: starts[p] to starts[p + 1] are those of person p."""

    rows: Ints
    starts: Ints
    sampled: bool

    @property
    def person_of(self) -> Ints:
        """The number of the person of each row."""
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))

    def per_person(self, values: Reals) -> Reals:
        """The mean over the rows of each person."""
        means: Reals = (
            np.add.reduceat(values, self.starts[:-1]) / np.diff(self.starts) if self.rows.size else values[:0]
        )
        return means


def several(
    persons: npt.NDArray[np.int64], covered: npt.NDArray[np.bool_], most: int, cells: int, seed: int, least: int = 2
) -> Several:
    """People of whom several rows are found: all, or as many, drawn, as there is room for.

    >>> several(np.array([7, 3, 7, 5, 3]), np.ones(5, bool), 9, 9, 0).rows.tolist()
    [1, 4, 0, 2]
    """
    order = np.argsort(persons, kind="stable")
    order = order[covered[order]]
    _, first, count = np.unique(persons[order], return_index=True, return_counts=True)
    first, count = first[count >= least], count[count >= least]
    drawn = np.random.default_rng(seed).permutation(first.size)
    kept = np.sort(drawn[: min(most, int(np.searchsorted(np.cumsum(count[drawn]), cells, side="right")))])
    first, count = first[kept], count[kept]
    starts = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    rows = order[np.repeat(first - starts[:-1], count) + np.arange(int(starts[-1]))]
    return Several(rows, starts, kept.size < drawn.size)


# what rows tell together ----------------------------------------------------------------------------------------


class Joint(NamedTuple):
    """What the rows of people tell together: if all are one value ([person, value]), and, row by row, by both ways."""

    one_value: Reals
    together: Reals
    constant: float  # how many people have one value in all rows, as learned


def joint(posterior: Reals, prior: Reals, people: Several, once: npt.NDArray[np.bool_]) -> Joint:
    """What all rows of each person tell together; `once` marks rows that say something of their own.

    >>> people = Several(np.arange(2), np.array([0, 2]), False)
    >>> posterior = np.array([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]])
    >>> joint(posterior, np.full(3, 1 / 3), people, np.ones(2, bool)).one_value.tolist()
    [[1.0, 0.0, 0.0]]
    """
    if not people.rows.size:
        return Joint(np.zeros((0, prior.size)), posterior, 0.0)
    logs = np.log(np.maximum(prior, 1e-300)) + _log_likelihoods(posterior, prior, people, once)
    top = logs.max(axis=1, keepdims=True)
    possible = np.isfinite(top[:, 0])
    odds = np.exp(np.where(possible[:, None], logs - np.where(possible[:, None], top, 0.0), -np.inf))
    total = odds.sum(axis=1)
    one_value = odds / np.maximum(total, 1e-300)[:, None]
    evidence = np.where(possible, np.exp(np.minimum(np.where(possible, top[:, 0], 0.0), 600.0)) * total, 0.0)
    constant = 0.5
    for _ in range(STEPS):
        chance = constant * evidence / (constant * evidence + 1 - constant)
        constant = min(float(chance.mean()), 1 - 1e-9)
    chance = constant * evidence / (constant * evidence + 1 - constant)
    by_row = chance[people.person_of][:, None]
    together = by_row * one_value[people.person_of] + (1 - by_row) * posterior
    return Joint(one_value, together, constant)


def _log_likelihoods(posterior: Reals, prior: Reals, people: Several, once: npt.NDArray[np.bool_]) -> Reals:
    """[person, value] the log of how likely a value makes all rows of a person, if each of them holds it."""
    with np.errstate(divide="ignore"):
        by_row = np.where(once[:, None], np.log(posterior) - np.log(np.maximum(prior, 1e-300)), 0.0)
    likelihoods: Reals = np.add.reduceat(by_row, people.starts[:-1], axis=0)
    return likelihoods


class RowsTogether(NamedTuple):
    """People, what each of their rows says by itself, and what they say together."""

    people: Several
    posterior: Reals
    joint: Joint


def posterior_if_different(
    release: Release, published: PublishedValues, posterior: Reals, people: Several
) -> Reals | None:
    """What each row of a person says, if sets that differ hold values that differ; None where there are no sets."""
    estimator = estimator_of(release) if release.traits.lists_values else None
    if not isinstance(estimator, Candidates):
        return None
    size = estimator.drawn[published.attribute].design.l
    alone = (posterior > 0).sum(axis=1) == size  # of rows that look alike, none has a set of its own
    members = np.argsort(posterior <= 0, axis=1, kind="stable")[:, :size]
    keys = np.column_stack([people.person_of, members])
    _, first, set_of = np.unique(keys[alone], axis=0, return_index=True, return_inverse=True)
    once = np.flatnonzero(alone)[first]  # in order of person
    sets, weight = members[once], np.take_along_axis(posterior[once], members[once], axis=1)
    starts = np.searchsorted(people.person_of[once], np.arange(people.starts.size)).astype(np.int64)
    out = np.empty_like(weight)
    pick_different(starts, sets, weight, MOST, out)
    apart = posterior.copy()
    rows = np.flatnonzero(alone)
    apart[np.repeat(rows, size), members[rows].ravel()] = out[set_of.ravel()].ravel()
    return apart


def _drawn_once(release: Release, posterior: Reals, people: Several) -> npt.NDArray[np.bool_]:
    """Which rows say something of their own: equal sets of one person were drawn together, and count once."""
    once = np.ones(people.rows.size, np.bool_)
    if release.traits.lists_values:
        marks = posterior @ np.random.default_rng(0).random(posterior.shape[1])
        frame = pl.DataFrame({"person": people.person_of, "mark": marks})
        once = frame.select(pl.struct("person", "mark").is_first_distinct()).to_series().to_numpy()
    return once


# how guesses go -------------------------------------------------------------------------------------------------


def rows_together(
    release: Release, published: PublishedValues, known: Sequence[str], original: pl.DataFrame, options: Options
) -> RowsTogether:
    """What a release says of every row of people who have several, to whoever knows some columns of each row."""
    people, posterior = _row_posteriors(published, known, original, options, least=2)
    once = _drawn_once(release, posterior, people)
    return RowsTogether(people, posterior, joint(posterior, published.prior, people, once))


def _row_posteriors(
    published: PublishedValues, known: Sequence[str], original: pl.DataFrame, options: Options, *, least: int
) -> tuple[Several, Reals]:
    """People with so many rows that are covered, and what each of the rows says by itself."""
    assert options.persons is not None
    values = published.values.len()
    room = CELLS // max(1, values)
    everybody = np.ones(original.height, np.bool_)
    people = several(options.persons, everybody, options.sample, room, options.seed, least)
    posterior = np.zeros((people.rows.size, values))
    for part in Posterior.by_groups(published, known).of_people(original, people.rows):
        posterior[part.targets] = part.probability
    covered = np.zeros(original.height, np.bool_)
    covered[people.rows] = posterior.sum(axis=1) > 0  # suppressed rows say nothing
    place = np.empty(original.height, np.int64)
    place[people.rows] = np.arange(people.rows.size)
    asked = several(options.persons, covered, options.sample, room, options.seed, least)
    return asked._replace(sampled=people.sampled), posterior[place[asked.rows]]


def posterior_by_number(posterior: Reals, prior: Reals, people: Several, once: npt.NDArray[np.bool_]) -> Reals:
    """[person, value] if all rows of a person are one value, to whoever knows how many rows everybody has.

    How common values are among people with so many rows is learned from what all of them show; where they are fewer
    than CROWD, from everybody.

    >>> people = Several(np.arange(80), np.array([*range(41), *range(42, 81, 2)]), False)
    >>> posterior = np.full((80, 2), 0.5)  # of people with one row nothing is known,
    >>> posterior[40:] = [0.9, 0.1]  # and those with two rows show that theirs is the first value
    >>> posterior_by_number(posterior, np.array([0.5, 0.5]), people, np.ones(80, bool))[[0, -1]].round(2).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    logs = _log_likelihoods(posterior, prior, people, once)
    likely = np.exp(logs - np.where(np.isfinite(top := logs.max(axis=1, keepdims=True)), top, 0.0))
    number = np.diff(people.starts)
    out = np.zeros_like(likely)
    for count in np.unique(number):
        crowd = likely[number == count]
        shares = prior.copy()
        for _ in range(STEPS if len(crowd) >= CROWD else 0):
            weighed = crowd * shares
            total = weighed.sum(axis=1, keepdims=True)
            shares = np.divide(weighed, total, out=np.zeros_like(weighed), where=total > 0).sum(axis=0)
            shares /= max(float(shares.sum()), 1e-300)
        out[number == count] = crowd * shares
    total = out.sum(axis=1, keepdims=True)
    by_number: Reals = np.divide(out, total, out=np.zeros_like(out), where=total > 0)
    return by_number


def _results(
    release: Release, published: PublishedValues, original: pl.DataFrame, options: Options
) -> Iterator[Result]:
    known = [name for name in published.quasi if name in quasi_identifiers(release)]
    people, posterior, together = rows_together(release, published, known, original, options)
    if not people.rows.size:
        return
    truth = published.true_codes(original)
    true = truth[people.rows]
    alone = people.per_person(chance_of_right(posterior, true))
    by_row = float(alone.mean())
    score = Score(release, published, known, commonest_share(truth), people.sampled)
    note = f"row by row {by_row:.1%}; {together.constant:.0%} of people seem to have one value in all rows"
    yield score.result(EACH, people.per_person(chance_of_right(together.together, true)), alone=alone, note=note)
    first = true[people.starts[:-1]]
    constant = people.per_person((true == first[people.person_of]).astype(np.float64)) == 1
    if constant.any():
        right = chance_of_right(together.one_value, first)[constant]
        note = f"{constant.mean():.0%} of people with several rows"
        yield score.result(ONE_VALUE, right, alone=None, note=note)
    apart = posterior_if_different(release, published, posterior, people)
    if apart is not None:
        right = people.per_person(chance_of_right(apart, true))
        yield score.result(DIFFERENT, right, alone=alone, note=f"row by row {by_row:.1%}")
    yield from _by_number(score, original, options)


def _by_number(score: Score, original: pl.DataFrame, options: Options) -> Iterator[Result]:
    """Everybody who has one value, by somebody who knows how many rows people have, if these are not as many."""
    published = score.published
    people, posterior = _row_posteriors(published, score.known, original, options, least=1)
    number = np.diff(people.starts)
    true = published.true_codes(original)[people.rows]
    first = true[people.starts[:-1]]
    constant = people.per_person((true == first[people.person_of]).astype(np.float64)) == 1
    crowds = np.bincount(number) >= CROWD  # whether this is asked must not tell of one person
    if crowds.sum() < 2 or not constant.any():
        return
    once = _drawn_once(score.release, posterior, people)
    right = chance_of_right(posterior_by_number(posterior, published.prior, people, once), first)[constant]
    prior = sum(
        commonest_share(first[constant & (number == n)]) * (constant & (number == n)).sum() for n in np.unique(number)
    )
    note = f"{constant.mean():.0%} of people; the prior knows the number of rows, too"
    yield score._replace(prior=float(prior / constant.sum())).result(NUMBER, right, alone=None, note=note)


class Score(NamedTuple):
    """What results of one attribute have in common."""

    release: Release
    published: PublishedValues
    known: list[str]
    prior: float
    sampled: bool

    def result(self, which: str, right: Reals, *, alone: Reals | None, note: str) -> Result:
        """`right` is the share of each person; `alone` the same row by row, where a claim bounds it."""
        published, success = self.published, float(right.mean())
        bound, drawn = row_bound(self.release.manifest.claims, published.attribute, self.known)
        bound = bound if alone is not None else None
        worst = _beyond_doubt(right, alone, bound) if drawn and alone is not None and bound is not None else None
        where = f" in {published.table}" if published.table else ""
        return Result(
            attack=ATTACK.name,
            question=f"{published.attribute}{where}, {which}",
            attribute=published.attribute,
            adversary=tuple(self.known),
            **score(success, right.size, self.sampled),
            prior=self.prior,
            promised=bound,
            worst=worst,
            note=note,
            whom="people with several rows",
        )


def _beyond_doubt(right: Reals, alone: Reals, bound: float) -> float:
    """How often guesses came true beyond doubt, where that is more than row by row; else no more than the bound."""

    def least(shares: Reals) -> float:
        return float(shares.mean() - DOUBT * (shares.std() + 1 / shares.size) / math.sqrt(shares.size))

    return least(right) if least(right - alone) > 0 else min(least(right), bound)


ATTACK = Persons()
