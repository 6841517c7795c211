"""The deFinetti attack: how quasi-identifiers and sensitive values go together, learned from the groups themselves.

Reference  Kifer: Attacks on Privacy and deFinetti's Theorem. SIGMOD 2009.
Definition a naive Bayes model P(quasi | sensitive value) for each quasi-identifiers and plain attribute is fitted (add
           one to every count) to rows that have each value of their group with its share. It says how likely each way
           is to hand the values of a group to its rows; from that, how likely each row has each value; to which the
           model is fitted anew. This is repeated until fewer than 1 % of the rows have another likeliest value than
           before, 50 times at most. A person is guessed to have the value that is likeliest by the mean of the rows the
           person may be.
Exposed    bucketized, decomposed and sliced releases, and tables of multi releases with groups. A score: nothing is
           promised against it. In generalized releases all rows of a group show the same labels, so that the model
           cannot tell them apart: the score is what groups say by themselves.
Exact      groups of up to 8 rows, over all ways to hand out their values; larger ones are fitted to their sums
           (Sinkhorn), and those of more than a million probabilities are left at their shares. The model is fitted to
           all rows, or to FITTED in groups drawn at random, and hands out the values of all groups; people are a sample
           where there are more than `sample`.
Departs    Kifer draws ways to hand out values at random; here their probabilities are worked out. Numbers of more than
           100 values are cut into 50 parts of as many rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.adversary.candidate_rows import ranges
from pluralis.attacks.adversary.knowledge import commonest_share
from pluralis.attacks.adversary.posterior import Guesses, Posterior, SomePosteriors, guess_likeliest
from pluralis.attacks.adversary.published_values import PublishedValues, RowShares, group_shares, published_values
from pluralis.attacks.base import Attack, Options, Result, score
from pluralis.estimate.label_distribution import Column, Exact
from pluralis.kernels.definetti import Task, hand_out
from pluralis.kernels.order import stable_order
from pluralis.release.release import Release

ROUNDS = 50
STABLE = 0.01  # of rows that have another likeliest value than before
FITTED = 200_000  # rows that the model is fitted to; of more, those of as many drawn groups
LARGE = 1_000_000  # probabilities of a group
NUMBERS = 100  # different ones that are told apart; of more, PARTS
PARTS = 50
NOTHING_LEARNED = "rows of a group look alike, so that nothing is learned"
LINES = 20_000_000  # cells of the model for one attribute

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
Reals = npt.NDArray[np.float64]


class DeFinetti(Attack):
    """Learn from all groups, and use it on each."""

    name = "definetti"
    title = "learning from all groups which value of a group is whose"
    reference = "Kifer, SIGMOD 2009"
    headline = "people's {attribute} guessed right from the groups alone"

    def applies(self, release: Release) -> bool:
        return not release.traits.lists_values and bool(published_values(release, sets=False))

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> Sequence[Result]:
        return [attacked(values, original, options) for values in published_values(release, sets=False)]


def attacked(published: PublishedValues, original: pl.DataFrame, options: Options) -> Result:
    """The score against one attribute in one table."""
    learned = learn(published)
    targets, known = options.targets(original.height), published.quasi
    truth = published.true_codes(original)
    guesses = guessed(Posterior(published, known, learned), original, targets, truth[targets])
    alone = guesses
    if learned.rounds:
        alone = guessed(Posterior.by_groups(published, known), original, targets, truth[targets])
    sampled = targets.size < original.height
    where = f" in {published.table}" if published.table else ""
    return Result(
        attack=ATTACK.name,
        question=f"{published.attribute}{where}, knowing {', '.join(known) or 'nothing'} and all groups",
        attribute=published.attribute,
        adversary=tuple(known),
        **score(guesses.success, targets.size, sampled),
        prior=commonest_share(truth),
        worst=guesses.highest,
        note=f"a score, not a promise; {learned.words}; groups say {alone.success:.3f} by themselves",
    )


def guessed(posterior: Posterior, original: pl.DataFrame, targets: Ints, truth: npt.NDArray[np.int32]) -> Guesses:
    """How often the likeliest value of each target is right, and the highest probability that a true value got.

    Whoever finds no row of a person guesses the commonest value of all groups.
    """
    published = posterior.published
    of_groups = np.bincount(published.code, published.share, published.values.len())

    def posteriors() -> Iterator[SomePosteriors]:
        for part in posterior.of_people(original, targets):
            part.probability[part.rows == 0] = of_groups / of_groups.sum()
            yield part

    return guess_likeliest(posteriors(), truth, everybody=True)


@dataclass(frozen=True, eq=False)
class Learned:
    """What rows say by the model that was fitted, worked out for the rows that are asked about.

    `fitted` marks groups whose values it hands out; rows of others say what their group says, as all do where nothing
    was learned.
    """

    published: PublishedValues
    shown: tuple[str, ...]
    fitted: Flags
    logs: Reals
    rounds: int
    words: str

    def of_rows(self, rows: Ints) -> RowShares:
        """What each row says by the model; rows that it was not fitted to say what their group says."""
        published, whole = self.published, group_shares(self.published)
        asked = np.zeros(self.fitted.size, np.bool_)
        asked[published.group_of[rows]] = True
        groups = np.flatnonzero(asked & self.fitted)
        if not self.rounds or not groups.size:
            return whole.of_rows(rows)
        fitting = _fitting(published, self.shown, groups)
        task, order = fitting.task, fitting.rows
        width = np.diff(published.starts)[published.group_of[order]]
        first = whole.code.size + np.cumsum(width) - width  # behind what groups say
        share = np.empty(whole.code.size + int(width.sum()))
        share[: whole.code.size] = whole.share
        hand_out(task, self.logs, np.empty_like(self.logs), np.full(order.size, -1, np.int32), first, share)
        line_of = published.group_of.astype(np.int64)
        line_of[order] = whole.begin.size + np.arange(order.size)
        begin, end = (np.append(side, side[published.group_of[order]]) for side in (whole.begin, whole.end))
        shift = np.append(whole.shift, first - begin[whole.begin.size :])
        return RowShares(line_of[rows], begin, end, whole.code, share, shift)


def learn(published: PublishedValues) -> Learned:
    """Fit the model to the groups and the groups to the model, until that changes little."""
    shown = _features(published)
    sizes, values = published.group_rows, np.diff(published.starts)
    fitted = sizes * values <= LARGE
    if not shown or not bool((values[fitted] > 1).any()):
        return Learned(published, (), fitted, np.empty((0, 0)), 0, NOTHING_LEARNED)
    groups = np.flatnonzero(fitted)
    task, order, widths = _fitting(published, shown, _some_groups(groups, sizes))
    model = _first(task, widths, published.values.len())
    likeliest, nowhere = np.full(order.size, -1, np.int32), np.full(order.size, -1, np.int64)
    rounds, moved = 0, order.size
    while rounds < ROUNDS and moved > STABLE * order.size:
        tally = np.empty_like(model)
        moved = hand_out(task, _logs(model, task.first, widths), tally, likeliest, nowhere, np.empty(0))
        model, rounds = tally, rounds + 1
    rows = int(sizes[groups].sum())
    left = published.group_of.size - rows
    rest = f"; {left:,} rows of large groups left at their shares" if left else ""
    part = f", fitted to {order.size:,} rows" if order.size < rows else ""
    words = f"{rounds} rounds over {', '.join(shown)}{part}{rest}"
    return Learned(published, tuple(shown), fitted, _logs(model, task.first, widths), rounds, words)


def _some_groups(groups: Ints, sizes: Ints) -> Ints:
    """All these groups, or as many drawn ones as have FITTED rows."""
    if int(sizes[groups].sum()) <= FITTED:
        return groups
    drawn = np.random.default_rng(0).permutation(groups)
    return np.sort(drawn[: max(1, int(np.searchsorted(np.cumsum(sizes[drawn]), FITTED)))])


class _Fitting(NamedTuple):
    """What the kernel needs of some groups, their rows in order, and how many codes each feature has."""

    task: Task
    rows: Ints
    widths: Ints


def _fitting(published: PublishedValues, shown: Sequence[str], groups: Ints) -> _Fitting:
    chosen = np.zeros(published.starts.size - 1, np.bool_)
    chosen[groups] = True
    rows = np.flatnonzero(chosen[published.group_of])
    rows = rows[stable_order(published.group_of[rows], chosen.size)]
    columns = published.rows
    assert columns is not None
    features = [_feature(columns.codes[columns.line_of[name]], columns.columns[name]) for name in shown]
    widths = np.array([feature.width for feature in features], np.int64)
    values = np.diff(published.starts)[groups]
    entries = ranges(published.starts[groups], values)
    task = Task(
        codes=np.array([feature.of_rows(rows) for feature in features], np.int32).reshape(len(features), rows.size),
        first=np.cumsum(widths) - widths,
        row_starts=np.concatenate([[0], np.cumsum(published.group_rows[groups])]),
        starts=np.concatenate([[0], np.cumsum(values)]),
        value=published.code[entries],
        counts=published.count[entries],
        assignment=published.handing[groups],
    )
    return _Fitting(task, rows, widths)


def _features(published: PublishedValues) -> list[str]:
    """The columns to learn from: in a generalized release none; of very many different values none either."""
    rows = published.rows
    if published.manifest.traits.sensitive_in_rows or rows is None:
        return []
    widths = {name: rows.codes[rows.line_of[name]].max(initial=-1) + 1 for name in published.shown.columns}
    numbers = [name for name in widths if _are_numbers(rows.columns[name])]
    return [name for name, width in widths.items() if name in numbers or width * published.values.len() <= LINES]


class _Feature(NamedTuple):
    """The codes of a column, how many there are, and which each becomes: of numbers of many values the part."""

    codes: Codes
    width: int
    parts: Codes | None

    def of_rows(self, rows: Ints) -> Codes:
        codes = self.codes[rows]
        return codes if self.parts is None else self.parts[codes]


def _feature(codes: Codes, column: Column) -> _Feature:
    width = int(codes.max(initial=-1)) + 1
    if not _are_numbers(column) or width <= NUMBERS:
        return _Feature(codes, width, None)
    below = np.cumsum(np.bincount(codes, minlength=width)) - 1
    return _Feature(codes, PARTS, (below * PARTS // max(1, codes.size)).astype(np.int32))


def _are_numbers(column: Column) -> bool:
    return isinstance(column, Exact) and isinstance(column.values, np.ndarray)


def _first(task: Task, widths: Ints, values: int) -> Reals:
    """The tally of rows that have each value of their group with its share: that of a model that knows nothing."""
    tally = np.zeros((int(widths.sum()), values))
    rows = int(task.row_starts[-1])
    hand_out(task, tally.copy(), tally, np.zeros(rows, np.int32), np.full(rows, -1, np.int64), np.empty(0))
    return tally


def _logs(tally: Reals, first: Ints, widths: Ints) -> Reals:
    """log P(code | value) of each feature, one added to every count."""
    logs = np.empty_like(tally)
    for begin, width in zip(first, widths, strict=True):
        part = tally[begin : begin + width] + 1.0
        logs[begin : begin + width] = np.log(part / part.sum(axis=0))
    return logs


ATTACK = DeFinetti()
