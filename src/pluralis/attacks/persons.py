"""Several rows of one person: what all of them together tell of the value in each.

Definition  Whoever knows the quasi values of every row of a person finds, for each, what the release says of it: B(v),
            the mean of the rows it may be. Two ways in which the values of a person's rows may hang together: each is
            drawn on its own; or all are one value, as of a chronic disease, so that what rows say multiplies,

                S(v)  =  p(v) · product over rows of B(v) / p(v),        p(v) how common v is overall.

            How common the second is, is learnt from the people themselves by expectation and maximisation: the
            first makes their rows 1 likely, the second the sum of S. A row is guessed by both, weighed. Four
            questions: every row of people with several rows; the value of those who have one in all rows, by S alone;
            of drawn sets, every row where sets of one person that differ hold values that differ, as they do
            if equal values of a person are drawn equal sets; and the value of everybody who has one in all rows, by
            somebody who knows how many rows people have: p(v) is then that of people with as many rows, learnt from
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

from pluralis.attacks.adversary.posterior import CELLS, Said, View, chance_of_right, commonest, overall_of, said_by
from pluralis.attacks.adversary.questions import quasi_of, row_bound
from pluralis.attacks.base import DOUBT, Attack, Options, Result, bounds
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
    gets: ClassVar[str] = "guesses right of people's {question}"

    def applies(self, release: Release) -> bool:
        return bool(release.manifest.parameters.get("persons")) and bool(said_by(release))

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> list[Result]:
        """Nothing where it is not said who is who (`options.persons`), or nobody has several rows."""
        if options.persons is None:
            return []
        return [result for said in said_by(release) for result in _asked(release, said, original, options)]


def persons_of(original: pl.DataFrame, column: str, release: Release) -> Ints:
    """A number for each row that says whose it is, by a column of the original that names persons."""
    if column not in original.columns:
        raise InputError(f"The original has no column {column!r}. {did_you_mean(column, original.columns)}")
    missing = release.manifest.parameters.get("missing", [""])
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
    def of_row(self) -> Ints:
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))

    def per_person(self, values: Reals) -> Reals:
        """The mean over the rows of each person."""
        means: Reals = (
            np.add.reduceat(values, self.starts[:-1]) / np.diff(self.starts) if self.rows.size else values[:0]
        )
        return means


def several(
    persons: npt.NDArray[np.int64], found: npt.NDArray[np.bool_], most: int, cells: int, seed: int, least: int = 2
) -> Several:
    """People of whom several rows are found: all, or as many, drawn, as there is room for.

    >>> several(np.array([7, 3, 7, 5, 3]), np.ones(5, bool), 9, 9, 0).rows.tolist()
    [1, 4, 0, 2]
    """
    order = np.argsort(persons, kind="stable")
    order = order[found[order]]
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
    constant: float  # how many people have one value in all rows, as learnt


def joint(beliefs: Reals, overall: Reals, people: Several, once: npt.NDArray[np.bool_]) -> Joint:
    """What all rows of each person tell together; `once` marks rows that say something of their own.

    >>> people = Several(np.arange(2), np.array([0, 2]), False)
    >>> beliefs = np.array([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]])
    >>> joint(beliefs, np.full(3, 1 / 3), people, np.ones(2, bool)).one_value.tolist()
    [[1.0, 0.0, 0.0]]
    """
    with np.errstate(divide="ignore"):
        prior = np.log(np.maximum(overall, 1e-300))
        said = np.where(once[:, None], np.log(beliefs) - prior, 0.0)
    if not people.rows.size:
        return Joint(np.zeros((0, overall.size)), beliefs, 0.0)
    logs = prior + np.add.reduceat(said, people.starts[:-1], axis=0)
    top = logs.max(axis=1, keepdims=True)
    possible = np.isfinite(top[:, 0])
    odds = np.exp(np.where(possible[:, None], logs - np.where(possible[:, None], top, 0.0), -np.inf))
    total = odds.sum(axis=1)
    one_value = odds / np.maximum(total, 1e-300)[:, None]
    evidence = np.where(possible, np.exp(np.minimum(np.where(possible, top[:, 0], 0.0), 600.0)) * total, 0.0)
    constant = 0.5
    for _ in range(STEPS):
        held = constant * evidence / (constant * evidence + 1 - constant)
        constant = min(float(held.mean()), 1 - 1e-9)
    held = constant * evidence / (constant * evidence + 1 - constant)
    by_row = held[people.of_row][:, None]
    together = by_row * one_value[people.of_row] + (1 - by_row) * beliefs
    return Joint(one_value, together, constant)


class Told(NamedTuple):
    """People, what each of their rows says by itself, and what they say together."""

    people: Several
    beliefs: Reals
    joint: Joint


def different(release: Release, said: Said, beliefs: Reals, people: Several) -> Reals | None:
    """What each row of a person says, if sets that differ hold values that differ; None where there are no sets."""
    estimator = estimator_of(release) if release.kind == "candidates" else None
    if not isinstance(estimator, Candidates):
        return None
    size = estimator.drawn[said.attribute].design.l
    alone = (beliefs > 0).sum(axis=1) == size  # of rows that look alike, none has a set of its own
    members = np.argsort(beliefs <= 0, axis=1, kind="stable")[:, :size]
    keys = np.column_stack([people.of_row, members])
    _, first, of = np.unique(keys[alone], axis=0, return_index=True, return_inverse=True)
    mine = np.flatnonzero(alone)[first]  # in order of person
    sets, weight = members[mine], np.take_along_axis(beliefs[mine], members[mine], axis=1)
    starts = np.searchsorted(people.of_row[mine], np.arange(people.starts.size)).astype(np.int64)
    out = np.empty_like(weight)
    pick_different(starts, sets, weight, MOST, out)
    found = beliefs.copy()
    rows = np.flatnonzero(alone)
    found[np.repeat(rows, size), members[rows].ravel()] = out[of.ravel()].ravel()
    return found


def _own(release: Release, beliefs: Reals, people: Several) -> npt.NDArray[np.bool_]:
    """Which rows say something of their own: equal sets of one person were drawn together, and count once."""
    once = np.ones(people.rows.size, np.bool_)
    if release.kind == "candidates":
        marks = beliefs @ np.random.default_rng(0).random(beliefs.shape[1])
        frame = pl.DataFrame({"person": people.of_row, "mark": marks})
        once = frame.select(pl.struct("person", "mark").is_first_distinct()).to_series().to_numpy()
    return once


# how guesses go -------------------------------------------------------------------------------------------------


def tell(release: Release, said: Said, known: Sequence[str], original: pl.DataFrame, options: Options) -> Told:
    """What a release says of every row of people who have several, to whoever knows some columns of each row."""
    asked, beliefs = _rows_of_people(said, known, original, options, least=2)
    return Told(asked, beliefs, joint(beliefs, overall_of(said), asked, _own(release, beliefs, asked)))


def _rows_of_people(
    said: Said, known: Sequence[str], original: pl.DataFrame, options: Options, *, least: int
) -> tuple[Several, Reals]:
    """People with so many rows that are found, and what each of the rows says by itself."""
    assert options.persons is not None
    view, values = View.of(said, known), said.values.len()
    room = CELLS // max(1, values)
    everybody = np.ones(original.height, np.bool_)
    people = several(options.persons, everybody, options.sample, room, options.seed, least)
    beliefs = np.zeros((people.rows.size, values))
    for part, believed, _ in view.beliefs(original, people.rows):
        beliefs[part] = believed
    found = np.zeros(original.height, np.bool_)
    found[people.rows] = beliefs.sum(axis=1) > 0  # rows that were left out say nothing
    at = np.empty(original.height, np.int64)
    at[people.rows] = np.arange(people.rows.size)
    asked = several(options.persons, found, options.sample, room, options.seed, least)
    return asked._replace(sampled=people.sampled), beliefs[at[asked.rows]]


def by_number(beliefs: Reals, overall: Reals, people: Several, once: npt.NDArray[np.bool_]) -> Reals:
    """[person, value] if all rows of a person are one value, to whoever knows how many rows everybody has.

    How common values are among people with so many rows is learnt from what all of them show; where they are fewer than
    CROWD, from everybody.

    >>> people = Several(np.arange(80), np.array([*range(41), *range(42, 81, 2)]), False)
    >>> beliefs = np.full((80, 2), 0.5)  # of people with one row nothing is known,
    >>> beliefs[40:] = [0.9, 0.1]  # and those with two rows show that theirs is the first value
    >>> by_number(beliefs, np.array([0.5, 0.5]), people, np.ones(80, bool))[[0, -1]].round(2).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    with np.errstate(divide="ignore"):
        prior = np.log(np.maximum(overall, 1e-300))
        said = np.where(once[:, None], np.log(beliefs) - prior, 0.0)
    logs = np.add.reduceat(said, people.starts[:-1], axis=0)
    likely = np.exp(logs - np.where(np.isfinite(top := logs.max(axis=1, keepdims=True)), top, 0.0))
    number = np.diff(people.starts)
    out = np.zeros_like(likely)
    for count in np.unique(number):
        mine = likely[number == count]
        shares = overall.copy()
        for _ in range(STEPS if len(mine) >= CROWD else 0):
            weighed = mine * shares
            total = weighed.sum(axis=1, keepdims=True)
            shares = np.divide(weighed, total, out=np.zeros_like(weighed), where=total > 0).sum(axis=0)
            shares /= max(float(shares.sum()), 1e-300)
        out[number == count] = mine * shares
    total = out.sum(axis=1, keepdims=True)
    believed: Reals = np.divide(out, total, out=np.zeros_like(out), where=total > 0)
    return believed


def _asked(release: Release, said: Said, original: pl.DataFrame, options: Options) -> Iterator[Result]:
    known = [name for name in said.quasi if name in quasi_of(release)]
    people, beliefs, told = tell(release, said, known, original, options)
    if not people.rows.size:
        return
    truth = said.truth(original)
    mine = truth[people.rows]
    alone = people.per_person(chance_of_right(beliefs, mine))
    by_row = float(alone.mean())
    score = Score(release, said, known, commonest(truth), people.sampled)
    note = f"row by row {by_row:.1%}; {told.constant:.0%} of people seem to have one value in all rows"
    yield score.result(EACH, people.per_person(chance_of_right(told.together, mine)), alone=alone, note=note)
    first = mine[people.starts[:-1]]
    constant = people.per_person((mine == first[people.of_row]).astype(np.float64)) == 1
    if constant.any():
        right = chance_of_right(told.one_value, first)[constant]
        note = f"{constant.mean():.0%} of people with several rows"
        yield score.result(ONE_VALUE, right, alone=None, note=note)
    apart = different(release, said, beliefs, people)
    if apart is not None:
        right = people.per_person(chance_of_right(apart, mine))
        yield score.result(DIFFERENT, right, alone=alone, note=f"row by row {by_row:.1%}")
    yield from _by_number(score, original, options)


def _by_number(score: Score, original: pl.DataFrame, options: Options) -> Iterator[Result]:
    """Everybody who has one value, by somebody who knows how many rows people have, if these are not as many."""
    release, said = score.release, score.said
    people, beliefs = _rows_of_people(said, score.known, original, options, least=1)
    number = np.diff(people.starts)
    mine = said.truth(original)[people.rows]
    first = mine[people.starts[:-1]]
    constant = people.per_person((mine == first[people.of_row]).astype(np.float64)) == 1
    crowds = np.bincount(number) >= CROWD  # whether this is asked must not tell of one person
    if crowds.sum() < 2 or not constant.any():
        return
    told = by_number(beliefs, overall_of(said), people, _own(release, beliefs, people))
    right = chance_of_right(told, first)[constant]
    blind = sum(
        commonest(first[constant & (number == n)]) * (constant & (number == n)).sum() for n in np.unique(number)
    )
    note = f"{constant.mean():.0%} of people; the blind guess knows the number of rows, too"
    yield score._replace(blind=float(blind / constant.sum())).result(NUMBER, right, alone=None, note=note)


class Score(NamedTuple):
    """What results of one attribute have in common."""

    release: Release
    said: Said
    known: list[str]
    blind: float
    sampled: bool

    def result(self, which: str, right: Reals, *, alone: Reals | None, note: str) -> Result:
        """`right` is the share of each person; `alone` the same row by row, where a claim bounds it."""
        said, success = self.said, float(right.mean())
        bound, drawn = row_bound(self.release.manifest.claims, said.attribute, self.known)
        bound = bound if alone is not None else None
        worst = _beyond_doubt(right, alone, bound) if drawn and alone is not None and bound is not None else None
        ends = bounds(success, right.size, self.sampled)
        where = f" in {said.table}" if said.table else ""
        return Result(
            attack=ATTACK.name,
            question=f"{said.attribute}{where}, {which}",
            attribute=said.attribute,
            adversary=tuple(self.known),
            targets=right.size,
            sampled=self.sampled,
            success=success,
            low=ends["low"],
            high=ends["high"],
            blind=self.blind,
            promised=bound,
            worst=worst,
            note=note,
        )


def _beyond_doubt(right: Reals, alone: Reals, bound: float) -> float:
    """How often guesses came true beyond doubt, where that is more than row by row; else no more than the bound."""

    def least(shares: Reals) -> float:
        return float(shares.mean() - DOUBT * (shares.std() + 1 / shares.size) / math.sqrt(shares.size))

    return least(right) if least(right - alone) > 0 else min(least(right), bound)


ATTACK = Persons()
