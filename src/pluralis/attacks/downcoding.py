"""Downcoding: labels that are as narrow as they can be tell the values behind them.

Definition  The narrowest interval [a, b] of a group, of numbers or ordered values, says that a member has a and a
            member has b; the narrowest set says that every value in it is somebody's. The attack guesses so for every
            cell that hides something: of the n cells of a group under one such label, as many are known as the label
            names values.
            cells       the share of hidden cells that are known this way: a guess is right if somebody under all
                        labels of the group has that value. Prior is the same for values drawn from within an
                        interval, or from the domain of a set.
            singling    a predicate "under the labels of this group, with this value" that fits one person of the
            out         original exactly. Prior is a predicate with a drawn value.
Reference   Cohen: Attacks on Deidentification's Defenses, USENIX Security 2022.
Exposed     bsgi, mondrian, tp, kaca and all that publish the narrowest label; not incognito, whose labels are given by
            a hierarchy, nor nodes of a tree: those tell that two branches have members, which is not counted here.
Exact       up to 1,000 groups all of them; above, so many are drawn, and intervals are given. People are looked for
            under labels, not in groups, so where labels of groups overlap a wrong guess may count as right; the prior
            guess has the same luck.
Promise     none: no release claims anything about quasi-identifiers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.base import Attack, Options, Result, score
from pluralis.auditing.label_boxes import CodedLabels, coded_labels, join_boxes, join_points
from pluralis.estimate.label_distribution import is_whole
from pluralis.kernels.downcoding import count_guesses
from pluralis.release.manifest import ColumnInfo
from pluralis.release.original import original_values
from pluralis.release.release import GROUP, Release
from pluralis.release.subtables import subtables
from pluralis.table.labels import ALL, interval_ends

GROUPS = 1_000  # that are looked at

Ints = npt.NDArray[np.int64]


class Labeled(NamedTuple):
    """Columns of labels, and a number for each row: those of one number stand under the same labels."""

    name: str
    columns: list[ColumnInfo]
    rows: pl.DataFrame
    group: Ints


class Guesses(NamedTuple):
    """A value of a column that somebody of a group has, or so it is said."""

    box: Ints
    column: Ints
    code: Ints


class Downcoding(Attack):
    name: ClassVar[str] = "downcoding"
    title: ClassVar[str] = "values behind the narrowest labels"
    reference: ClassVar[str] = "Cohen 2022"
    headline: ClassVar[str] = "guesses from labels right ({question})"

    def applies(self, release: Release) -> bool:
        return any(True for _ in _labeled(release))

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> Sequence[Result]:
        return [result for labeled in _labeled(release) for result in _results(release, labeled, original, options)]


def _labeled(release: Release) -> Iterator[Labeled]:
    """The tables of a release that hold labels."""
    parts = (
        [("", release)]
        if not release.traits.has_subtables
        else [(part.name, part.release) for part in subtables(release)]
    )
    for name, part in parts:
        for info in part.manifest.tables:
            columns = [column for column in info.named("quasi") if not column.exact]
            rows = part.tables[info.name]
            if not columns or not rows.height:
                continue
            by = [GROUP] if GROUP in info.names("group") else [column.name for column in columns]
            group = rows.select(pl.struct(by).rank("dense")).to_series().to_numpy().astype(np.int64) - 1
            yield Labeled(name, columns, rows, group)


def _results(release: Release, labeled: Labeled, original: pl.DataFrame, options: Options) -> Iterator[Result]:
    values = [original_values(original, column, release.manifest, in_codes=True) for column in labeled.columns]
    numbers, first, sizes = np.unique(labeled.group, return_index=True, return_counts=True)
    rng = np.random.default_rng(options.seed)
    chosen = np.sort(rng.choice(numbers.size, min(GROUPS, numbers.size), replace=False))
    one_of, sizes = labeled.rows[first[chosen]], sizes[chosen]
    codes = [coded_labels(one_of[c.name], v, c) for c, v in zip(labeled.columns, values, strict=True)]
    boxes, rows = join_boxes(codes, np.arange(chosen.size))  # each group has a key of its own
    assert boxes.low.shape[0] == chosen.size
    points = join_points(codes, np.zeros(original.height, np.int64))
    parts = [_guesses(i, *each, one_of, rng) for i, each in enumerate(zip(labeled.columns, codes, values, strict=True))]
    true, drawn = (Guesses(*(np.concatenate(x) for x in zip(*some, strict=True))) for some in zip(*parts, strict=True))
    hits, luck = (_people_with_guess(points.codes, boxes, guesses, rows) for guesses in (true, drawn))
    hides = np.array([_hides(code, one_of[c.name]) for c, code in zip(labeled.columns, codes, strict=True)])
    cells = int((hides * sizes).sum())
    sampled = chosen.size < numbers.size
    where = f" in {labeled.name}" if labeled.name else ""
    known, by_chance = (_cells(guesses, counts, sizes) for guesses, counts in ((true, hits), (drawn, luck)))
    yield _result(
        f"hidden quasi-identifiers{where}", cells, known / max(cells, 1), by_chance / max(cells, 1), sampled, labeled
    )
    alone, alone_by_chance = ((counts == 1).sum() / max(counts.size, 1) for counts in (hits, luck))
    question = f"a person under the labels of a group{where} and one value"
    yield _result(question, hits.size, float(alone), float(alone_by_chance), sampled, labeled)


def _result(question: str, targets: int, success: float, prior: float, sampled: bool, labeled: Labeled) -> Result:
    return Result(
        attack=Downcoding.name,
        question=question,
        **score(success, targets, sampled),
        prior=prior,
        adversary=tuple(column.name for column in labeled.columns),
        note=None if targets else "no label hides a value",
    )


def _hides(code: CodedLabels, labels: pl.Series) -> npt.NDArray[np.bool_]:
    """Whether the label of each group stands for several values, as far as it can be told."""
    several = code.high[code.label] > code.low[code.label]
    return np.asarray(several | (labels == ALL).fill_null(False).to_numpy())


def _guesses(
    number: int,
    column: ColumnInfo,
    code: CodedLabels,
    values: pl.Series,
    one_of: pl.DataFrame,
    rng: np.random.Generator,
) -> tuple[Guesses, Guesses]:
    """What the labels of a column say somebody has, and as many values drawn from within them."""
    labels = one_of[column.name]
    if column.type == "number":
        return _ends(number, column, values, labels, rng)
    if column.ordered:
        return _ends_in_order(number, code, labels, rng)
    if column.hierarchy is not None:
        nothing = Guesses(*(np.empty(0, np.int64) for _ in range(3)))
        return nothing, nothing
    members = np.diff(code.starts)[code.label]
    several = np.flatnonzero(members > 1)
    box = np.repeat(several, members[several])
    begin = code.starts[code.label[several]]
    first = begin - np.cumsum(members[several]) + members[several]
    place = np.repeat(first, members[several]) + np.arange(box.size)
    size = int(code.value.max(initial=0)) + 1
    drawn = rng.integers(0, size, box.size)
    column_of = np.full(box.size, number)
    return Guesses(box, column_of, code.members[place].astype(np.int64)), Guesses(box, column_of, drawn)


def _ends(
    number: int, column: ColumnInfo, values: pl.Series, labels: pl.Series, rng: np.random.Generator
) -> tuple[Guesses, Guesses]:
    domain = np.unique(values.cast(pl.Float64).fill_null(-np.inf).to_numpy())  # as boxes.coded numbers them
    ends = interval_ends(labels.set(labels == ALL, None), (0, 0))
    low, high = (ends[name].fill_null(0).to_numpy() for name in ("low", "high"))
    box = np.flatnonzero(high > low)
    low, high = low[box], high[box]
    if is_whole(column):
        drawn = np.floor(low + rng.random((2, box.size)) * (high - low + 1))
    else:  # a number that somebody has
        begin, end = np.searchsorted(domain, low), np.searchsorted(domain, high, "right")
        drawn = domain[
            np.minimum(begin + (rng.random((2, box.size)) * (end - begin)).astype(np.int64), domain.size - 1)
        ]
    both, column_of = np.concatenate([box, box]), np.full(2 * box.size, number)
    codes = (_code(domain, ends_or_drawn) for ends_or_drawn in (np.concatenate([low, high]), drawn.ravel()))
    one, other = (Guesses(both, column_of, code) for code in codes)
    return one, other


def _ends_in_order(
    number: int, code: CodedLabels, labels: pl.Series, rng: np.random.Generator
) -> tuple[Guesses, Guesses]:
    """The two ends of intervals of ordered values, and two values drawn from within each."""
    low, high = code.low[code.label].astype(np.int64), code.high[code.label].astype(np.int64)
    box = np.flatnonzero((high > low) & (labels != ALL).fill_null(False).to_numpy())
    low, high = low[box], high[box]
    drawn = low + (rng.random((2, box.size)) * (high - low + 1)).astype(np.int64)
    both, column_of = np.concatenate([box, box]), np.full(2 * box.size, number)
    return Guesses(both, column_of, np.concatenate([low, high])), Guesses(both, column_of, drawn.ravel())


def _code(domain: npt.NDArray[np.float64], values: npt.NDArray[np.float64]) -> Ints:
    """Where values stand in the domain, -1 where they do not."""
    place = np.minimum(np.searchsorted(domain, values), domain.size - 1)
    return np.where(domain[place] == values, place, -1).astype(np.int64)


def _people_with_guess(codes: npt.NDArray[np.int32], boxes, guesses: Guesses, rows: Ints) -> Ints:  # type: ignore[no-untyped-def]
    """How many people under the labels have the value of each guess."""
    order = np.argsort(guesses.box, kind="stable")
    first = np.searchsorted(guesses.box[order], np.arange(rows.size + 1))
    inside, counts = np.zeros(rows.size, np.int64), np.zeros(order.size, np.int64)
    count_guesses(
        codes, boxes.low, boxes.high, boxes.sets, boxes.starts, boxes.members, first,
        guesses.column[order], guesses.code[order], inside, counts,
    )  # fmt: skip
    back = np.empty_like(counts)
    back[order] = counts
    return back


def _cells(guesses: Guesses, counts: Ints, sizes: Ints) -> float:
    """How many cells are known: of a group and column as many as right guesses, and not more than it has."""
    right = pl.DataFrame({"box": guesses.box, "column": guesses.column, "right": (counts > 0).astype(np.int64)})
    each = right.group_by("box", "column").agg(pl.col("right").sum())
    return float(np.minimum(each["right"].to_numpy(), sizes[each["box"].to_numpy()]).sum())


ATTACK = Downcoding()
