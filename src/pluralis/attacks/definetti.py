"""The deFinetti attack: how quasi and sensitive values go together, learnt from the groups themselves.

Reference  Kifer: Attacks on Privacy and deFinetti's Theorem. SIGMOD 2009.
Definition a naive Bayes model P(quasi value | secret) for each quasi and plain attribute is fitted (add one to every
           count) to rows that have each value of their group with its share. It says how likely each way is to hand the
           values of a group to its rows; from that, how likely each row has each value; to which the model is fitted
           anew. This is repeated until fewer than 1 % of the rows have another likeliest value than before, 50 times at
           most. A person is guessed to have the value that is likeliest by the mean of the rows the person may be.
Exposed    bucketized, decomposed and sliced releases, and tables of multi releases with groups. A score: nothing is
           promised against it. In generalized releases all rows of a group show the same labels, so that the model
           cannot tell them apart: the score is what groups say by themselves.
Exact      groups of up to 8 rows, over all ways to hand out their values; larger ones are fitted to their sums
           (Sinkhorn), and those of more than a million probabilities are left at their shares. The model is fitted to
           all rows; people are a sample where there are more than `sample`.
Departs    Kifer draws ways to hand out values at random; here their probabilities are worked out. Numbers of more than
           100 values are cut into 50 parts of as many rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.adversary.posterior import (
    Cells,
    Said,
    View,
    chance_of_right,
    commonest,
    of_groups,
    ranges,
    said_by,
)
from pluralis.attacks.base import Attack, Options, Result, bounds
from pluralis.estimate.label_distribution import Column, Exact
from pluralis.kernels.definetti import Task, hand_out
from pluralis.kernels.order import stable_order
from pluralis.release.release import Release

ROUNDS = 50
STABLE = 0.01  # of rows that have another likeliest value than before
LARGE = 1_000_000  # probabilities of a group
NUMBERS = 100  # different ones that are told apart; of more, PARTS
PARTS = 50
NOTHING_LEARNT = "rows of a group look alike, so that nothing is learnt"
LINES = 20_000_000  # cells of the model for one attribute

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


class DeFinetti(Attack):
    """Learn from all groups, and use it on each."""

    name = "definetti"
    title = "learning from all groups which value of a group is whose"
    reference = "Kifer, SIGMOD 2009"
    gets = "people's {attribute} guessed right from the groups alone"

    def applies(self, release: Release) -> bool:
        return release.kind != "candidates" and bool(said_by(release, sets=False))

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> Sequence[Result]:
        return [attacked(said, original, options) for said in said_by(release, sets=False)]


def attacked(said: Said, original: pl.DataFrame, options: Options) -> Result:
    """The score against one attribute in one table."""
    learnt = learn(said)
    targets, known = options.targets(original.height), said.quasi
    true = said.truth(original)
    success, worst = scored(View.of(said, known, learnt.cells), original, targets, true[targets])
    alone = success if not learnt.rounds else scored(View.of(said, known), original, targets, true[targets])[0]
    sampled = targets.size < original.height
    ends = bounds(success, targets.size, sampled)
    where = f" in {said.table}" if said.table else ""
    return Result(
        attack=ATTACK.name,
        question=f"{said.attribute}{where}, knowing {', '.join(known) or 'nothing'} and all groups",
        attribute=said.attribute,
        adversary=tuple(known),
        targets=targets.size,
        sampled=sampled,
        success=success,
        low=ends["low"],
        high=ends["high"],
        blind=commonest(true),
        worst=worst,
        note=f"a score, not a promise; {learnt.words}; groups say {alone:.3f} by themselves",
    )


def scored(view: View, original: pl.DataFrame, targets: Ints, truth: npt.NDArray[np.int32]) -> tuple[float, float]:
    """The share of targets that are guessed right, and the highest probability that a true value got.

    Whoever finds no row of a person guesses the commonest value of all rows.
    """
    said, right, worst = view.said, 0.0, 0.0
    overall = np.bincount(said.code, said.share, said.values.len())
    for part, beliefs, rows in view.beliefs(original, targets):
        beliefs[rows == 0] = overall / overall.sum()
        mine = truth[part]
        right += float(chance_of_right(beliefs, mine).sum())
        worst = max(worst, float(beliefs[np.arange(mine.size), np.maximum(mine, 0)][mine >= 0].max(initial=0.0)))
    return right / max(1, targets.size), worst


@dataclass(frozen=True, eq=False)
class Learnt:
    """What rows say after the model was fitted."""

    cells: Cells
    rounds: int
    words: str


def learn(said: Said) -> Learnt:
    """Fit the model to the groups and the groups to the model, until that changes little."""
    shown = _features(said)
    sizes = np.bincount(said.of_row, minlength=said.starts.size - 1)
    held = np.diff(said.starts)
    fitted = sizes * held <= LARGE
    if not shown or not bool((held[fitted] > 1).any()):
        return Learnt(of_groups(said), 0, NOTHING_LEARNT)
    order = stable_order(said.of_row, sizes.size)
    order = order[fitted[said.of_row[order]]]
    task, widths = _task(said, shown, order, np.flatnonzero(fitted), sizes)
    model = _first(task, widths, said.values.len())
    likeliest, nowhere = np.full(order.size, -1, np.int32), np.full(order.size, -1, np.int64)
    rounds, moved = 0, order.size
    while rounds < ROUNDS and moved > STABLE * order.size:
        tally = np.empty_like(model)
        moved = hand_out(task, _logs(model, task.first, widths), tally, likeliest, nowhere, np.empty(0))
        model, rounds = tally, rounds + 1
    cells = _cells(said, task, _logs(model, task.first, widths), order, likeliest)
    left = said.of_row.size - order.size
    rest = f"; {left:,} rows of large groups left at their shares" if left else ""
    return Learnt(cells, rounds, f"{rounds} rounds over {', '.join(shown)}{rest}")


def _features(said: Said) -> list[str]:
    """The columns to learn from: in a generalized release none; of very many different values none either."""
    if said.manifest.kind == "generalized":
        return []
    widths = {name: said.rows.codes[line].max(initial=-1) + 1 for name, line in said.rows.line_of.items()}
    numbers = [name for name, column in said.rows.columns.items() if _are_numbers(column)]
    return [name for name, width in widths.items() if name in numbers or width * said.values.len() <= LINES]


def _task(said: Said, shown: Sequence[str], order: Ints, groups: Ints, sizes: Ints) -> tuple[Task, Ints]:
    """What the kernel needs of these rows and groups, and how many codes each feature has."""
    features = [_feature(said.rows.codes[said.rows.line_of[n]], said.rows.columns[n]) for n in shown]
    widths = np.array([width for _, width in features], np.int64)
    held = np.diff(said.starts)[groups]
    starts = np.concatenate([[0], np.cumsum(held)])
    entries = ranges(said.starts[groups], held)
    task = Task(
        codes=np.array([codes[order] for codes, _ in features], np.int32).reshape(len(features), order.size),
        first=np.cumsum(widths) - widths,
        row_starts=np.concatenate([[0], np.cumsum(sizes[groups])]),
        starts=starts,
        value=said.code[entries],
        counts=said.count[entries],
        told=said.told[groups],
    )
    return task, widths


def _feature(codes: npt.NDArray[np.int32], column: Column) -> tuple[npt.NDArray[np.int32], int]:
    """The codes of a column and how many there are; numbers of many values in parts."""
    width = int(codes.max(initial=-1)) + 1
    if not _are_numbers(column) or width <= NUMBERS:
        return codes, width
    below = np.cumsum(np.bincount(codes, minlength=width)) - 1
    parts = (below * PARTS // max(1, codes.size)).astype(np.int32)
    return parts[codes], PARTS


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


def _cells(said: Said, task: Task, logs: Reals, order: Ints, likeliest: npt.NDArray[np.int32]) -> Cells:
    """What each row says by the model; rows that it was not fitted to say what their group says."""
    whole = of_groups(said)
    begin, end = whole.begin.copy(), whole.end.copy()
    held = np.repeat(np.diff(task.starts), np.diff(task.row_starts))
    ends = np.cumsum(held)
    share = np.empty(int(ends[-1]))
    hand_out(task, logs, np.empty_like(logs), likeliest, ends - held, share)
    entry = ranges(np.repeat(task.starts[:-1], np.diff(task.row_starts)), held)
    begin[order], end[order] = whole.code.size + ends - held, whole.code.size + ends
    return Cells(begin, end, np.append(whole.code, task.value[entry]), np.append(whole.share, share))


ATTACK = DeFinetti()
