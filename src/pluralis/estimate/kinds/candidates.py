"""Counting in `candidates` releases: rows as they are, and sets that were drawn in a known way.

To count the rows of which a condition is true, a number c(k) is found for each value such that the sum of c over a
row's set is 1 on average if the row's true value is as asked, and 0 if not (addition.Design.scores). The sum over all
rows is then right on average: unbiased, so that a small count may come out below 0. What a row adds varies by what
was drawn for it alone, by an amount that depends on its value; the sum of those variances is counted in the same way.

Conditions on quasi-identifiers are exact. Of two sensitive attributes, drawn on their own, the numbers of a row are
multiplied: that is 1 on average where both are as asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from pluralis.errors import QueryError, ReleaseError
from pluralis.estimate.conditions import Condition
from pluralis.estimate.group_counts import CodedColumns
from pluralis.estimate.label_distribution import Column, codes_and_column
from pluralis.estimate.result import Estimate, interval
from pluralis.estimate.truth_table import Axis, truth_table_of
from pluralis.grouping.addition import Design, Reals, likeliest
from pluralis.kernels.score import CERTAIN, POSSIBLE, RowCells, cells_of, count_members
from pluralis.release.attributes import attributes_of
from pluralis.release.manifest import MANIFEST, ColumnInfo
from pluralis.release.release import Release

MOST = 64  # combinations of sensitive classes that several attributes may be asked about

Sums = tuple[float, float, int, int]


@dataclass(frozen=True, eq=False)
class Drawn:
    """The sets of one attribute."""

    sets: npt.NDArray[np.int32]
    design: Design
    values: Column
    place: npt.NDArray[np.int32]  # of each value among the codes of `values`

    def wanted(self, axis: Axis) -> Reals:
        """[class, value]: how likely a row with the value is in the class: 0 or 1, but for values in bins."""
        return self.values.distribution(axis).probability[:, self.place]

    def possible(self, axis: Axis) -> npt.NDArray[np.bool_]:
        """[class, value]: whether a row with the value can be in the class."""
        return self.values.distribution(axis).possible[:, self.place] > 0


def prepare(release: Release) -> Candidates:
    info, rows, infos = release.info("microdata"), release.tables["microdata"], attributes_of(release)
    own = [column.name for column in info.columns if column.role in ("quasi", "plain")]
    drawn = {}
    for name in info.names("sensitive"):
        design = _stated(release, name)
        place, values = codes_and_column(design.series, infos[name])
        sets = design.codes(rows[name])
        design.require_possible(design.packed(sets))
        drawn[name] = Drawn(sets, design, values, place)
    return Candidates(CodedColumns.from_series({name: rows[name] for name in own}, infos), rows.height, infos, drawn)


def _stated(release: Release, name: str) -> Design:
    """How the manifest says that sets were drawn."""
    parameters = release.manifest.parameters
    try:
        return Design.from_dict(parameters.addition[name].to_dict(), parameters.l[name])
    except ReleaseError as error:
        raise ReleaseError(f"{MANIFEST}, {name}: {error} The release is damaged; ask for it again.") from None


@dataclass(frozen=True, eq=False)
class Candidates:
    """An estimator."""

    rows: CodedColumns
    count_of_rows: int
    infos: Mapping[str, ColumnInfo]
    drawn: Mapping[str, Drawn]

    def missing(self, name: str) -> bool:
        """Whether a row is published without a value of this attribute."""
        return name in self.rows.columns and bool(getattr(self.rows.columns[name], "missing", False))

    def count(self, where: Condition | None, confidence: float) -> Estimate:
        """How many published rows pass a condition that was resolved."""
        asked = None if where is None else truth_table_of(where, self.infos)
        if asked is None or asked.constant is not None:
            count = 0 if asked is not None and not asked.constant else self.count_of_rows
            return interval(count, 0.0, confidence, "exact", count, count)
        own = [axis.attribute for axis in asked.axes if axis.attribute in self.rows.columns]
        sensitive = [axis.attribute for axis in asked.axes if axis.attribute in self.drawn]
        asked = asked.ordered([*own, *sensitive])
        cells, truth = self._cells(asked.axes[: len(own)]), asked.truth.reshape(-1, *asked.truth.shape[len(own) :])
        if not sensitive:
            count = int(truth[cells_of(cells, self.count_of_rows)].sum())
            return interval(count, 0.0, confidence, "exact", count, count)
        axes = asked.axes[len(own) :]
        estimate = self._of_one if len(sensitive) == 1 else self._of_several
        value, variance, least, most = estimate(cells, truth, axes)
        if least == most and abs(value - least) < 1e-9:  # else it stays unbiased, so that sums of such values are
            return interval(least, 0.0, confidence, "exact", least, most)
        variance *= max(self.drawn[name].design.effect for name in sensitive)
        even = any(axis.lines and axis.named for axis in axes)
        return interval(value, variance, confidence, "uniform-within-group" if even else "sampling", least, most)

    def likeliest(self, attribute: str, where: Condition | None) -> Reals:
        """The counts of an attribute's values that make the published sets likeliest: none is below 0."""
        asked = None if where is None else truth_table_of(where, self.infos)
        drawn, kept = self.drawn[attribute], np.ones(self.count_of_rows, np.bool_)
        if asked is not None and asked.constant is None:
            if not {axis.attribute for axis in asked.axes} <= set(self.rows.columns):
                raise QueryError("The likeliest counts are found where only quasi-identifiers are asked about.")
            kept = asked.truth.ravel()[cells_of(self._cells(asked.axes), self.count_of_rows)]
        elif asked is not None and not asked.constant:
            kept[:] = False
        if not kept.any():
            return np.zeros(drawn.design.m)
        even = np.full(drawn.design.m, 1 / drawn.design.m)
        return likeliest(drawn.sets[kept], drawn.design.weight, even) * int(kept.sum())

    def _cells(self, axes: Sequence[Axis]) -> RowCells:
        """Which combination of classes of their own attributes rows are in."""
        stride, places, lines = 1, [], []
        for axis in reversed(axes):
            probability, possible = self.rows.columns[axis.attribute].distribution(axis)
            if (possible.sum(axis=0) > 1).any():
                raise QueryError(
                    f"{axis.attribute!r} is published in bands, and beside sets of values these are not divided. Ask "
                    "for whole bands: >= where one begins, < where one ends."
                )
            places.append(probability.argmax(axis=0) * stride)
            lines.append(self.rows.line_of[axis.attribute])
            stride *= axis.classes
        sizes = [place.size for place in places]
        starts = np.cumsum([0, *sizes])[:-1].astype(np.int64)
        flat = np.concatenate([np.empty(0, np.int64), *places]).astype(np.int32)
        return RowCells(self.rows.codes, np.array(lines, np.int64), starts, flat)

    def _of_one(self, cells: RowCells, truth: npt.NDArray[np.bool_], axes: Sequence[Axis]) -> Sums:
        drawn = self.drawn[axes[0].attribute]
        wanted = truth.astype(np.float64) @ drawn.wanted(axes[0])
        scores = np.array([drawn.design.scores(weights) for weights in wanted])
        spreads = np.array(
            [
                drawn.design.scores(drawn.design.squares(c) - 2 * weights**2 + weights)
                for c, weights in zip(scores, wanted, strict=True)
            ]
        )
        possible = drawn.possible(axes[0])
        can, can_fail = truth @ possible, ~truth @ possible
        flags = (POSSIBLE * can + CERTAIN * (can & ~can_fail)).astype(np.uint8)
        seen, least, most = count_members(cells, drawn.sets, truth.any(axis=1), flags)
        return float((seen * scores).sum()), float((seen * spreads).sum()), least, most

    def _of_several(self, cells: RowCells, truth: npt.NDArray[np.bool_], axes: Sequence[Axis]) -> Sums:
        """Products of what the sets of several attributes say, for each combination of classes that is asked."""
        drawn = [self.drawn[axis.attribute] for axis in axes]
        wanted = [d.wanted(axis) for d, axis in zip(drawn, axes, strict=True)]
        possible = [d.possible(axis) for d, axis in zip(drawn, axes, strict=True)]
        cell = cells_of(cells, self.count_of_rows)
        value = variance = 0.0
        least = most = 0
        for t in np.flatnonzero(truth.reshape(len(truth), -1).any(axis=1)):
            rows = np.flatnonzero(cell == t)
            asked = list(zip(*(places.tolist() for places in np.nonzero(truth[t])), strict=True))
            if len(asked) > MOST:
                raise QueryError(
                    f"The condition asks about {len(asked)} combinations of sensitive values. Ask in several queries."
                )
            sets = [d.sets[rows] for d in drawn]
            scores = [[d.design.scores(weights) for weights in wants] for d, wants in zip(drawn, wanted, strict=True)]
            sums = [[score[s].sum(axis=1) for score in each] for each, s in zip(scores, sets, strict=True)]
            products = sum(np.prod([sums[a][k] for a, k in enumerate(combo)], axis=0) for combo in asked)
            value += float(np.sum(products))
            for one, two in product(asked, repeat=2):
                crossed = [
                    d.design.scores(_crossed(d.design, scores[a][one[a]], scores[a][two[a]]))[s].sum(axis=1)
                    for a, (d, s) in enumerate(zip(drawn, sets, strict=True))
                ]
                variance += float(np.prod(crossed, axis=0).sum())
            variance -= float(np.sum(products))
            least_of, most_of = _certain(truth[t], possible, sets)
            least, most = least + least_of, most + most_of
        return value, variance, least, most


def _crossed(design: Design, one: Reals, two: Reals) -> Reals:
    """For each value, the expectation of the product of two sums over the set of a row that has it."""
    if one is two:
        return design.squares(one)
    return (design.squares(one + two) - design.squares(one - two)) / 4


def _certain(
    truth: npt.NDArray[np.bool_], possible: Sequence[npt.NDArray[np.bool_]], sets: Sequence[npt.NDArray[np.int32]]
) -> tuple[int, int]:
    """Rows of which the condition is true whatever members of their sets are, and of which it can be."""
    classes = [[flags[s].any(axis=1) for flags in can] for can, s in zip(possible, sets, strict=True)]
    rows = len(sets[0])
    can, cannot = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
    for combo in product(*(range(size) for size in truth.shape)):
        holds = np.logical_and.reduce([classes[a][k] for a, k in enumerate(combo)])
        if truth[combo]:
            can |= holds
        else:
            cannot |= holds
    return int((can & ~cannot).sum()), int(can.sum())
