"""Rows with their groups, the values that groups hold, and how many rows to expect of which a condition is true.

All kinds of release with groups come down to this. Rows have columns of their own; what they do not have stands in
blocks: the values of some attributes, side by side, that the rows of each group share out among them. A row's own
labels are independent of each other, and so are blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.errors import QueryError, ReleaseError
from pluralis.estimate.conditions import Condition
from pluralis.estimate.label_distribution import Codes, Column, LabelDistribution, codes_and_column
from pluralis.estimate.result import Estimate, interval
from pluralis.estimate.truth_table import Axis, Ints, TruthTable, merge_equal, truth_table_of
from pluralis.kernels.expect import (
    CERTAIN,
    HANDED_OUT,
    POSSIBLE,
    GroupValues,
    Picked,
    expect_in_groups,
    expect_rows,
    share_of_groups,
    summed,
)
from pluralis.kernels.expect_any import FALSE, TRUE, distribution_of_groups, expect_in_groups_any, expect_rows_any
from pluralis.kernels.order import stable_order
from pluralis.release.manifest import ColumnInfo
from pluralis.table.dictionaries import different_numbers

MOST_CLASSES = 62  # of the values of a block: bits of a mask
_ALL_SUBSETS = 6


@dataclass(frozen=True)
class CodedColumns:
    """Columns of a table, a line of codes each."""

    columns: dict[str, Column]
    codes: npt.NDArray[np.int32]

    @classmethod
    def from_series(cls, series: Mapping[str, pl.Series], infos: Mapping[str, ColumnInfo]) -> CodedColumns:
        columns: dict[str, Column] = {}
        lines: list[Codes] = []
        for name, values in series.items():
            line, columns[name] = codes_and_column(values, infos[name])
            lines.append(line)
        height = next((values.len() for values in series.values()), 0)
        return cls(columns, np.array(lines, np.int32).reshape(len(lines), height))

    @cached_property
    def line_of(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.columns)}


@dataclass(frozen=True, eq=False)
class Groups:
    """One way in which rows stand in groups, numbered from 0."""

    rows: CodedColumns
    of_row: Codes
    count: int

    @cached_property
    def starts(self) -> Ints:
        """Where each group begins once rows are in order of groups, and where the last one ends."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.of_row, minlength=self.count))]).astype(np.int64)

    @cached_property
    def codes(self) -> npt.NDArray[np.int32]:
        """The lines of codes with rows in that order."""
        if bool((np.diff(self.of_row) >= 0).all()):
            return self.rows.codes
        return np.ascontiguousarray(self.rows.codes[:, stable_order(self.of_row, self.count)])

    @property
    def sizes(self) -> Ints:
        return np.diff(self.starts)


@dataclass(frozen=True)
class Block:
    """Values of attributes side by side, entry by entry in order of groups; `assignment` as in kernels.expect."""

    groups: Groups
    values: CodedColumns
    starts: Ints
    counts: npt.NDArray[np.float64]
    assignment: npt.NDArray[np.uint8]

    def group_values(self, picked: Picked) -> GroupValues:
        return GroupValues(picked, self.counts, self.starts, self.assignment)


def block(
    groups: Groups, of_entry: Ints, values: CodedColumns, counts: npt.NDArray, assignment: npt.NDArray | int
) -> Block:
    """A block whose entries, in order of groups, are in these groups.

    Values that are said to be handed out, but are not as many as the rows of their group, make a damaged release.
    """
    if of_entry.size and bool((np.diff(of_entry) < 0).any()):
        raise ReleaseError("A table is not in order of groups. Ask for the release again.")
    starts = np.searchsorted(of_entry, np.arange(groups.count + 1))
    counts = np.asarray(counts, np.float64)
    of_group = np.broadcast_to(np.asarray(assignment, np.uint8), groups.count).copy()
    total = np.bincount(of_entry, counts, minlength=groups.count)
    if np.any((of_group == HANDED_OUT) & (total != groups.sizes)):
        raise ReleaseError("The counts of values are not the numbers of rows of the groups. Ask for the release again.")
    return Block(groups, values, starts, counts, of_group)


def number_groups(rows: CodedColumns, group: pl.Series, entries: Sequence[pl.Series]) -> tuple[Groups, list[Ints]]:
    """Groups numbered from 0 as published groups are in order; rows without one get the last, which is theirs alone."""
    known, _ = different_numbers(group.drop_nulls().to_numpy())
    of_row = np.searchsorted(known, group.fill_null(int(known[-1]) + 1 if known.size else 0).to_numpy())
    of_entries = []
    for groups in entries:
        numbers = groups.to_numpy()
        of_entry = np.searchsorted(known, numbers)
        if not np.array_equal(known[np.minimum(of_entry, known.size - 1)] if known.size else known, numbers):
            raise ReleaseError("A table tells of a group that no row is in. Ask for the release again.")
        of_entries.append(of_entry)
    return Groups(rows, of_row.astype(np.int32), known.size + int(group.null_count() > 0)), of_entries


Source = tuple[int, LabelDistribution]  # a line of codes, and what its labels say
Sums = tuple[float, float, int, int]  # expected, variance, least, most


@dataclass(frozen=True)
class Grouped:
    """An estimator. `blocks(names)` are those that tell of some attributes; `totals(names)` are blocks as well, which
    say less of a row, but whose counts are those of all rows: they only narrow what is certain.
    """

    rows: CodedColumns
    count_of_rows: int
    infos: Mapping[str, ColumnInfo]
    blocks: Callable[[tuple[str, ...]], Sequence[Block]]
    totals: Callable[[tuple[str, ...]], Sequence[Block]] = lambda names: ()

    def missing(self, name: str) -> bool:
        """Whether a row is published without a value of this attribute."""
        return name in self.rows.columns and bool(getattr(self.rows.columns[name], "missing", False))

    def count(self, where: Condition | None, confidence: float) -> Estimate:
        """How many published rows pass a condition that was resolved."""
        expected, variance, least, most = self.sums(where)
        if least == most:
            return interval(least, 0.0, confidence, "exact", least, most)
        return interval(min(max(expected, least), most), variance, confidence, "uniform-within-group", least, most)

    def sums(self, where: Condition | None) -> Sums:
        """How many rows pass a condition: expected, its variance, and what is certain: at least, at most."""
        if where is None:
            return self.count_of_rows, 0.0, self.count_of_rows, self.count_of_rows
        asked = truth_table_of(where, self.infos)
        if asked.constant is not None:
            count = self.count_of_rows if asked.constant else 0
            return count, 0.0, count, count
        own = [axis.attribute for axis in asked.axes if axis.attribute in self.rows.columns]
        others = tuple(axis.attribute for axis in asked.axes if axis.attribute not in self.rows.columns)
        blocks, totals = self.telling(own, others)
        box = asked.box()
        if box is not None:
            return self._in_box(box, own, blocks, totals)
        return self._in_any(asked, own, blocks, totals)

    def telling(self, own: Sequence[str], others: tuple[str, ...]) -> tuple[Sequence[Block], Sequence[Block]]:
        """The blocks that tell of some attributes beside rows' own, and those that narrow what is certain.

        Where nothing of a row's own is asked, and one block has the counts of all rows, that one is enough.
        """
        blocks, totals = self.blocks(others), self.totals(others)
        if not own and len(totals) == 1 and set(others) <= set(totals[0].values.columns):
            return totals, ()
        return blocks, totals

    # a box -----------------------------------------------------------------------------------------------------

    def _in_box(self, box: TruthTable, own: Sequence[str], blocks: Sequence[Block], totals: Sequence[Block]) -> Sums:
        axes = {axis.attribute: axis for axis in box.axes}
        sources = [(self.rows.line_of[name], _in_box(self.rows.columns[name].distribution(axes[name]))) for name in own]
        group_values = [block.group_values(_picked_values(block.values, axes)) for block in blocks]
        each = [
            expect_in_groups(_picked(block.groups.codes, sources), block.groups.starts, values)
            for block, values in zip(blocks, group_values, strict=True)
        ]
        if len(blocks) == 1:
            whole: Sums = each[0][:4]
        else:
            shares = [_shares_in_box(values) for values in group_values]
            whole = expect_rows(self._beside(sources, blocks, shares), self.count_of_rows)
        if not blocks:
            return whole
        must, can = each[0][4:]  # how many rows are in the box as far as they have columns of their own
        sure = [summed(block.group_values(_picked_values(block.values, axes)), 0) for block in totals]
        narrow = [(max(0, must + certain - self.count_of_rows), min(can, possible)) for certain, possible in sure]
        return _narrowed(whole, _jointly([sums[2:4] for sums in each], can), _jointly(narrow, can))

    # any other condition -----------------------------------------------------------------------------------------

    def _in_any(self, asked: TruthTable, own: Sequence[str], blocks: Sequence[Block], totals: Sequence[Block]) -> Sums:
        if len(blocks) == 1:
            return _narrowed(*(self._any_with_block(asked, own, block) for block in (*blocks, *totals)))
        names = [[axis.attribute for axis in asked.axes if axis.attribute in block.values.columns] for block in blocks]
        ordered = asked.ordered([*own, *(name for part in names for name in part)])
        axes = {axis.attribute: axis for axis in ordered.axes}
        truth = ordered.truth.reshape(
            [*(axes[name].classes for name in own), *(_combinations(axes, part) for part in names)]
        )
        sources = [(self.rows.line_of[name], self.rows.columns[name].distribution(axes[name])) for name in own]
        distributions = []
        for i, (block, part) in enumerate(zip(blocks, names, strict=True), len(own)):
            truth, fold = merge_equal(truth, i)
            _require_few(truth.shape[i])
            distributions.append(LabelDistribution.empty(truth.shape[i], block.groups.count))
            distribution_of_groups(
                block.group_values(_picked_values(block.values, axes, part)), fold, *distributions[-1]
            )
        sums: Sums = expect_rows_any(self._beside(sources, blocks, distributions), self.count_of_rows, *_table(truth))
        return sums

    def _beside(
        self, sources: Sequence[Source], blocks: Sequence[Block], distributions: Sequence[LabelDistribution]
    ) -> Picked:
        """What rows have of their own, and what their groups say as if they had it."""
        if not blocks:
            return _picked(self.rows.codes, sources)
        lines = [self.rows.codes[line] for line, _ in sources] + [block.groups.of_row for block in blocks]
        every = [*(distribution for _, distribution in sources), *distributions]
        codes = np.array(lines, np.int32).reshape(len(lines), self.count_of_rows)
        return _picked(codes, list(enumerate(every)))

    def _any_with_block(self, asked: TruthTable, own: Sequence[str], block: Block) -> Sums:
        names = [axis.attribute for axis in asked.axes if axis.attribute in block.values.columns]
        ordered = asked.ordered([*own, *names])
        axes = {axis.attribute: axis for axis in ordered.axes}
        truth = ordered.truth.reshape([*(axes[name].classes for name in own), _combinations(axes, names)])
        truth, fold = merge_equal(truth, len(own))
        _require_few(truth.shape[-1])
        sources = [(self.rows.line_of[name], self.rows.columns[name].distribution(axes[name])) for name in own]
        rows = _picked(block.groups.codes, sources)
        values = block.group_values(_picked_values(block.values, axes, names))
        tried = _masks(truth.shape[-1])
        sums: Sums = expect_in_groups_any(rows, block.groups.starts, values, fold, *_table(truth), tried)
        return sums


def _narrowed(sums: Sums, *bounds: Sequence[float]) -> Sums:
    """The sums with the narrowest of some bounds, each (…, least, most)."""
    least = max(int(bound[-2]) for bound in (sums, *bounds))
    return sums[0], sums[1], least, max(least, min(int(bound[-1]) for bound in (sums, *bounds)))


def _jointly(each: Sequence[tuple[float, float]], can: int) -> tuple[float, float]:
    """(least, most) rows in a box if for each of some blocks it is known how many are in it as far as that tells.

    Of `can` rows at most, those that miss it by one block or another are not more than all of these together.
    """
    if not each:
        return 0, can
    return sum(least for least, _ in each) - (len(each) - 1) * can, min(most for _, most in each)


def _in_box(distribution: LabelDistribution) -> LabelDistribution:
    """Odds and flags of class 0 of a box."""
    inside, outside = distribution.possible[:1], distribution.possible[1:]
    return LabelDistribution(distribution.probability[:1], inside * (POSSIBLE + CERTAIN * (1 - outside)))


def _shares_in_box(values: GroupValues) -> LabelDistribution:
    groups = values.assignment.size
    distribution = LabelDistribution(np.empty((1, groups)), np.empty((1, groups), np.uint8))
    share_of_groups(values, distribution.probability[0], distribution.possible[0])
    return distribution


def _picked(codes: npt.NDArray[np.int32], sources: Sequence[Source]) -> Picked:
    """Lines of codes with what their labels say, for a kernel."""
    sizes = np.array([distribution.probability.size for _, distribution in sources], np.int64)
    return Picked(
        codes=codes,
        lines=np.array([line for line, _ in sources], np.int64),
        starts=np.cumsum(sizes) - sizes,
        sizes=np.array([distribution.probability.shape[1] for _, distribution in sources], np.int64),
        widths=np.array([distribution.probability.shape[0] for _, distribution in sources], np.int64),
        probability=np.concatenate([np.empty(0), *(distribution.probability.ravel() for _, distribution in sources)]),
        flags=np.concatenate([np.empty(0, np.uint8), *(distribution.possible.ravel() for _, distribution in sources)]),
    )


def _picked_values(values: CodedColumns, axes: Mapping[str, Axis], names: Sequence[str] | None = None) -> Picked:
    """The lines of a block that a condition asks about: of a box, or, if named, in this order of any other."""
    if names is None:
        asked = [(line, name) for name, line in values.line_of.items() if name in axes]
        return _picked(
            values.codes, [(line, _in_box(values.columns[name].distribution(axes[name]))) for line, name in asked]
        )
    return _picked(
        values.codes, [(values.line_of[name], values.columns[name].distribution(axes[name])) for name in names]
    )


def _combinations(axes: Mapping[str, Axis], names: Sequence[str]) -> int:
    return int(np.prod([axes[name].classes for name in names], dtype=np.int64))


def _table(truth: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]:
    flat = np.ascontiguousarray(truth).ravel()
    return flat.astype(np.float64), np.where(flat, TRUE, FALSE).astype(np.uint8)


def _masks(classes: int) -> Ints:
    """Sets of classes, as masks: all that there are of few; of many each one, all, and all but one."""
    everything = (1 << classes) - 1
    if classes <= _ALL_SUBSETS:
        return np.arange(1, everything + 1)
    single = [1 << s for s in range(classes)]
    return np.array([*single, everything, *(everything & ~mask for mask in single)], np.int64)


def _require_few(classes: int) -> None:
    if classes > MOST_CLASSES:
        raise QueryError(
            f"The condition tells {classes} sensitive values apart, more than {MOST_CLASSES}. Ask in several queries."
        )
