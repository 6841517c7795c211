"""Columns of a release as codes, and what their labels say: how likely the value behind each is in each class.

A value that is published as it is has one class. The values that a label stands for are taken to be equally likely:
whole numbers of an interval, the length of one of other numbers, members of a set, leaves under a node, ordered values
from one to another. A label stands for values of the published domain, and `*` for all of it.

Bands that are asked by number are spread like intervals: where all their ends are whole, numbers are taken to be.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.errors import ReleaseError
from pluralis.estimate.conditions import Value
from pluralis.estimate.truth_table import Axis, Ints
from pluralis.kernels.label_distribution import distribute_members, distribute_real, distribute_whole
from pluralis.release.attributes import holds_bins, ordered_domain, texts_of
from pluralis.release.manifest import ColumnInfo
from pluralis.table.bands import Band
from pluralis.table.dictionaries import decode, is_text
from pluralis.table.labels import ALL, OrderedDomain, interval_ends, read_interval, read_set

Codes = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64] | npt.NDArray[np.float64]


class LabelDistribution(NamedTuple):
    """probability[class, label], and whether a value under the label can be in the class at all."""

    probability: npt.NDArray[np.float64]
    possible: npt.NDArray[np.uint8]

    @classmethod
    def empty(cls, classes: int, labels: int) -> LabelDistribution:
        return cls(np.zeros((classes, labels)), np.zeros((classes, labels), np.uint8))


class Column(Protocol):
    """What the codes of a column stand for. A missing value, where there is one, has the last code."""

    def distribution(self, axis: Axis) -> LabelDistribution:
        """The classes of the values behind each code."""


def codes_and_column(series: pl.Series, info: ColumnInfo) -> tuple[Codes, Column]:
    """A published column as codes, and what they stand for.

    >>> info = ColumnInfo(name="age", role="quasi", type="number", domain=(20, 49))
    >>> codes, column = codes_and_column(pl.Series(["[20, 29]", "31", "[20, 29]", None]), info)
    >>> codes.tolist(), column.low.tolist(), column.high.tolist()
    ([1, 0, 1, 2], [31, 20], [31, 29])
    """
    generalized = info.role == "quasi" and not info.exact
    if info.type == "number" and not generalized and is_text(series.dtype):
        series = decode(series).cast(pl.Int64 if is_whole(info) else pl.Float64)
    labels = decode(series.unique()).drop_nulls().sort()
    missing = series.null_count() > 0
    if is_text(series.dtype):
        codes = series.cast(pl.Enum(labels)).to_physical()
    else:
        codes = labels.search_sorted(series.fill_null(labels[0] if labels.len() else 0))
        codes = codes.set(series.is_null(), None) if missing else codes
    numbers = codes.fill_null(labels.len()).cast(pl.Int32).to_numpy().astype(np.int32)
    return numbers, _column(labels, info, missing, generalized)


def _column(labels: pl.Series, info: ColumnInfo, missing: bool, generalized: bool) -> Column:
    domain = ordered_domain(info)
    if domain is not None:
        return _ordered(labels, info, domain, missing, generalized)
    if generalized:
        return _intervals(labels, info, missing) if info.type == "number" else _members(labels, info, missing)
    if holds_bins(info):
        return _bins(labels.to_list(), info)
    if info.type == "number":
        return Exact(labels.to_numpy(), labels.len(), missing)
    return Exact(labels.to_list(), labels.len(), missing)


def is_whole(info: ColumnInfo) -> bool:
    """Whether an attribute's numbers are whole."""
    return all(isinstance(end, int) for end in info.domain or ())


@dataclass(frozen=True)
class Exact:
    """Values as they are, in order."""

    values: Sequence[str] | Numbers
    size: int
    missing: bool

    def distribution(self, axis: Axis) -> LabelDistribution:
        out = LabelDistribution.empty(axis.classes, self.size + self.missing)
        for begin, end, class_ in _stretches(self.values, self.size, axis):
            out.probability[class_, begin:end] = 1.0
        if self.missing:
            out.probability[axis.class_of[-1], -1] = 1.0
        np.not_equal(out.probability, 0.0, out=out.possible.view(np.bool_))
        return out


def _stretches(values: Sequence[str] | Numbers, size: int, axis: Axis) -> list[tuple[int, int, int]]:
    """(from, to, class) for stretches of ordered values."""
    out, begin = [], 0
    for i, value in enumerate(axis.named):
        first, last = _place(values, value)
        out += [(begin, first, int(axis.class_of[2 * i])), (first, last, int(axis.class_of[2 * i + 1]))]
        begin = last
    return [*out, (begin, size, int(axis.class_of[-2]))]


def _place(values: Sequence[str] | Numbers, value: Value) -> tuple[int, int]:
    """Where values that equal this one begin and end; whole numbers are not rounded."""
    if not isinstance(values, np.ndarray):
        return bisect_left(values, str(value)), bisect_right(values, str(value))
    if values.dtype == np.float64 or isinstance(value, str):
        return int(np.searchsorted(values, value)), int(np.searchsorted(values, value, side="right"))
    least, most = (np.iinfo(np.int64).min, np.iinfo(np.int64).max)
    first, last = max(least, math.ceil(value)), min(most, math.floor(value))
    begin = values.size if first > most else int(np.searchsorted(values, np.int64(first)))
    return begin, max(begin, 0 if last < least else int(np.searchsorted(values, np.int64(last), side="right")))


@dataclass(frozen=True)
class Intervals:
    """Labels of numbers from low to high; `open` ones may be a missing value too."""

    low: Numbers
    high: Numbers
    open: npt.NDArray[np.bool_]
    missing: bool

    def distribution(self, axis: Axis) -> LabelDistribution:
        size = self.low.size
        out = LabelDistribution.empty(axis.classes, size + self.missing)
        _fill(self.low, self.high, axis.named, axis.class_of[:-1], out)
        out.possible[axis.class_of[-1], :size] |= self.open
        if self.missing:
            out.probability[axis.class_of[-1], -1] = out.possible[axis.class_of[-1], -1] = 1
        return out


def _intervals(labels: pl.Series, info: ColumnInfo, missing: bool) -> Intervals:
    ends = [end for end in info.domain or () if isinstance(end, (int, float))] or [0, 0]
    if is_whole(info) and max(map(abs, ends)) >= 2**53:  # they would be rounded as floats
        read = [ends if label == ALL else read_interval(label) for label in labels]
        both = np.array([(math.ceil(low), math.floor(high)) for low, high in read], np.int64).reshape(-1, 2)
        low, high = both[:, 0], both[:, 1]
    else:
        kind: type = np.int64 if is_whole(info) else np.float64
        frame = interval_ends(labels, (ends[0], ends[1]))
        low, high = (frame[name].to_numpy() for name in ("low", "high"))
        low, high = (np.ceil(low).astype(kind), np.floor(high).astype(kind)) if is_whole(info) else (low, high)
    first, last = (
        np.maximum(low, ends[0]),
        np.minimum(high, ends[1]),
    )  # one of fixed width may exceed the domain
    inside = first <= last
    low, high = np.where(inside, first, low), np.where(inside, last, high)
    return Intervals(low, high, (labels == ALL).to_numpy().astype(np.bool_), missing)


def _fill(low: Numbers, high: Numbers, named: Sequence[Value], class_of: Ints, out: LabelDistribution) -> None:
    """The classes of numbers spread from low to high; `class_of` the places that the named numbers make."""
    if not low.size:
        return
    runs = _whole_runs if low.dtype == np.int64 else _real_runs
    begin, end, closed, classes = runs(low.min().item(), high.max().item(), named, class_of)
    first, last, of_run = np.array(begin, low.dtype), np.array(end, low.dtype), np.array(classes, np.int64)
    if low.dtype == np.int64:
        distribute_whole(low, high, first, last, of_run, out.probability, out.possible)
    else:
        distribute_real(low, high, first, last, np.array(closed), of_run, out.probability, out.possible)


Runs = tuple[Sequence[float], Sequence[float], list[tuple[bool, bool]], list[int]]


def _whole_runs(least: int, most: int, named: Sequence[Value], class_of: Ints) -> Runs:
    """Runs of whole numbers of one class, those that hold any."""
    cuts = [least]
    for value in named:
        cuts += [math.ceil(value), math.floor(value) + 1]  # type: ignore[arg-type]
    cuts.append(most + 1)
    runs: list[tuple[int, int, int]] = []
    for place, (cut, after) in enumerate(pairwise(cuts)):
        first, last, class_ = max(cut, least), min(after - 1, most), int(class_of[place])
        if first <= last and runs and runs[-1][2] == class_:
            runs[-1] = (runs[-1][0], last, class_)
        elif first <= last:
            runs.append((first, last, class_))
    return [run[0] for run in runs], [run[1] for run in runs], [(True, True)] * len(runs), [run[2] for run in runs]


def _real_runs(least: float, most: float, named: Sequence[Value], class_of: Ints) -> Runs:
    """Runs of numbers of one class, and whether they hold their ends."""
    begin: list[float] = [least]
    end: list[float] = []
    closed, classes = [(True, True)], [int(class_of[0])]
    for place in range(1, class_of.size):
        value = float(named[(place - 1) // 2])
        if class_of[place] == classes[-1]:
            continue
        on = place % 2 == 1  # the place is the value itself
        end.append(value)
        closed[-1] = (closed[-1][0], not on)
        begin.append(value)
        closed.append((on, True))
        classes.append(int(class_of[place]))
    return begin, [*end, most], closed, classes


@dataclass(frozen=True)
class Members:
    """Labels that stand for some of the values each; the missing value comes after all values."""

    values: list[str]
    starts: Ints
    members: Codes
    missing: bool

    def distribution(self, axis: Axis) -> LabelDistribution:
        out = LabelDistribution.empty(axis.classes, self.starts.size - 1 + self.missing)
        class_of = np.empty(len(self.values) + 1, np.int64)
        for begin, end, class_ in _stretches(self.values, len(self.values), axis):
            class_of[begin:end] = class_
        class_of[-1] = axis.class_of[-1]
        distribute_members(self.starts, self.members, class_of, out.probability, out.possible)
        if self.missing:
            out.probability[class_of[-1], -1] = out.possible[class_of[-1], -1] = 1
        return out


def _members(labels: pl.Series, info: ColumnInfo, missing: bool) -> Members:
    values = sorted(texts_of(info))
    place: dict[str | None, int] = {value: i for i, value in enumerate(values)}
    place[None] = len(values)
    domain = {place[value] for value in info.domain or () if value is None or isinstance(value, str)}
    under: dict[str, list[int]] = {}
    for line in info.hierarchy or ():
        for label in dict.fromkeys(line):
            under.setdefault(label, []).append(place[line[0]])
    of_labels = []
    for label in labels.to_list():
        try:
            places = list(domain) if label == ALL else under[label] if under else [place[v] for v in read_set(label)]
        except KeyError:
            raise ReleaseError(
                f"{info.name}: {label!r} is no value or label of it. Ask for the release again."
            ) from None
        of_labels.append([member for member in places if member in domain] or places)
    starts = np.cumsum([0, *map(len, of_labels)])
    return Members(values, starts, np.array([m for places in of_labels for m in places], np.int32), missing)


@dataclass(frozen=True)
class Ordered:
    """Labels that stand for ordered values from one place to another; `open` ones may be a missing value too."""

    domain: OrderedDomain
    low: Ints
    high: Ints
    open: npt.NDArray[np.bool_]
    missing: bool

    @property
    def values(self) -> tuple[str, ...]:
        """What the codes stand for, where each is a single value."""
        return tuple(self.domain.values[place] for place in self.low.tolist())

    def distribution(self, axis: Axis) -> LabelDistribution:
        of_value = (
            _distribution_of_bands(self.domain, axis) if axis.lines else _distribution_of_names(self.domain, axis)
        )
        out = LabelDistribution.empty(axis.classes, self.low.size + self.missing)
        missing = int(axis.class_of.reshape(-1, axis.class_of.shape[-1])[0, -1])
        sizes = (self.high - self.low + 1 + self.open).astype(np.float64)
        out.probability[:, : self.low.size] = self._sums(of_value.probability) / sizes
        out.possible[:, : self.low.size] = self._sums(of_value.possible) > 0.5
        out.probability[missing, : self.low.size] += self.open / sizes
        out.possible[missing, : self.low.size] |= self.open
        if self.missing:
            out.probability[missing, -1] = out.possible[missing, -1] = 1
        return out

    def _sums(self, of_value: npt.NDArray) -> npt.NDArray[np.float64]:
        """[class, label]: the sum over the values of each label."""
        before = np.cumsum(np.pad(of_value.astype(np.float64), ((0, 0), (1, 0))), axis=1)
        return np.asarray(before[:, self.high + 1] - before[:, self.low])


def _ordered(labels: pl.Series, info: ColumnInfo, domain: OrderedDomain, missing: bool, generalized: bool) -> Ordered:
    if generalized:
        ends = domain.ends(labels)
        low, high = (ends[name].to_numpy().astype(np.int64) for name in ("low", "high"))
    else:
        place = {value: i for i, value in enumerate(domain.values)}
        unknown = next((label for label in labels if label not in place), None)
        if unknown is not None:
            raise ReleaseError(f"{info.name}: {unknown!r} is no value of it. Ask for the release again.")
        low = high = np.array([place[label] for label in labels], np.int64)
    everything = (labels == ALL).to_numpy().astype(np.bool_) & generalized & (None in (info.domain or ()))
    return Ordered(domain, low, high, everything, missing)


def _distribution_of_names(domain: OrderedDomain, axis: Axis) -> LabelDistribution:
    """The class of each ordered value, where it is asked about by name."""
    out = LabelDistribution.empty(axis.classes, len(domain.values))
    place = {value: 2 * i + 1 for i, value in enumerate(axis.named)}
    for i, value in enumerate(domain.values):
        class_ = axis.class_of[place.get(value, 2 * bisect_left(axis.named, value))]
        out.probability[class_, i] = out.possible[class_, i] = 1
    return out


def _distribution_of_bands(domain: OrderedDomain, axis: Axis) -> LabelDistribution:
    """How much of each band is in each class, where numbers are asked about."""
    assert domain.bands is not None
    out = LabelDistribution.empty(axis.classes, len(domain.values))
    ends = [end for band in domain.bands for end in (band.low, band.high) if math.isfinite(end)]
    whole = all(float(end).is_integer() for end in ends)
    line_of = {label: i for i, label in enumerate(axis.lines)}
    for i, (value, band) in enumerate(zip(domain.values, domain.bands, strict=True)):
        classes = axis.class_of[line_of[value], :-1]
        shares, possible = _parts(band, [float(number) for number in axis.named], whole)
        np.add.at(out.probability[:, i], classes, shares)
        np.maximum.at(out.possible[:, i], classes, possible.astype(np.uint8))
    return out


def _parts(band: Band, numbers: Sequence[float], whole: bool) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """How much of a band lies at each place that numbers make (below the first, the first, …), and if any of it does.

    >>> [part.tolist() for part in _parts(Band(60, 70, True, False), [65.0], True)]
    [[0.5, 0.1, 0.4], [True, True, True]]
    >>> [part.tolist() for part in _parts(Band(60, 69, True, True), [69.0], True)]
    [[0.9, 0.1, 0.0], [True, True, False]]
    """
    cuts = [-math.inf, *numbers, math.inf]
    shares, possible = np.zeros(2 * len(numbers) + 1), np.zeros(2 * len(numbers) + 1, np.bool_)
    listed = whole and band.low_closed and band.high_closed  # 60-69 and 70-79: there is nothing between
    for i, (below, above) in enumerate(pairwise(cuts)):
        low, high = max(below, band.low), min(above, band.high)
        count = _wholes(band, below, above) if whole else 0
        shares[2 * i] = count if whole and not band.is_open_ended else max(0.0, high - low)
        possible[2 * i] = count > 0 if listed else low < high
    for i, number in enumerate(numbers):
        shares[2 * i + 1] = band.holds(number) and (number.is_integer() if whole else band.low == band.high)
        possible[2 * i + 1] = band.holds(number) and (not listed or number.is_integer())
    if band.is_open_ended or not shares.sum():  # whoever asks does not divide it, or it holds no whole number
        shares = possible.astype(np.float64)
    return shares / shares.sum(), possible


def _wholes(band: Band, below: float, above: float) -> float:
    """How many whole numbers of a band lie between two numbers, neither of which counts."""
    if band.is_open_ended:
        return 0.0
    first = max(math.ceil(band.low), -math.inf if math.isinf(below) else math.floor(below) + 1)
    last = min(math.floor(band.high), math.inf if math.isinf(above) else math.ceil(above) - 1)
    first += first == band.low and not band.low_closed
    last -= last == band.high and not band.high_closed
    return max(0, last - first + 1)


@dataclass(frozen=True)
class Bins:
    """Sensitive numbers in bins: `line[i]` is the line of the axis that tells of bin i."""

    line: Ints
    low: Numbers
    high: Numbers

    def distribution(self, axis: Axis) -> LabelDistribution:
        out = LabelDistribution.empty(axis.classes, self.low.size)
        for i, line in enumerate(self.line):
            one = LabelDistribution(out.probability[:, i : i + 1], out.possible[:, i : i + 1])
            _fill(self.low[i : i + 1], self.high[i : i + 1], axis.named, axis.class_of[line, :-1], one)
        return out


def _bins(labels: list[str], info: ColumnInfo) -> Bins:
    order = [str(label) for label in info.domain or ()]
    kind: type = np.int64 if _in_whole_bins([read_interval(label) for label in order]) else np.float64
    both: npt.NDArray = np.array([read_interval(label) for label in labels], dtype=kind).reshape(-1, 2)
    return Bins(np.array([order.index(label) for label in labels], np.int64), both[:, 0].copy(), both[:, 1].copy())


def _in_whole_bins(bins: Sequence[tuple[float, float]]) -> bool:
    """Whether bins are of whole numbers. Those do not touch: [0, 4], [5, 9]; of others the upper end is the next one's.

    >>> _in_whole_bins([(0, 4), (10, 14)]), _in_whole_bins([(0, 5), (10, 15)]), _in_whole_bins([(0.5, 1)])
    (True, False, False)
    """
    if not all(isinstance(end, int) for ends in bins for end in ends):
        return False
    return any(low % (high - low) for low, high in bins)
