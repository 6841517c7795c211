"""What releases answer: the distribution of the sensitive attribute among the people that a query is about.

`pluralis.estimate.distribution` counts value by value. For thousands of queries its sums are done here for all values
at once, from what its estimators hold; that both agree is a test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
from numba import njit

from experiments.randomized_addition.data import Query
from pluralis.estimate import estimator_of
from pluralis.estimate.group_counts import CodedColumns, Grouped
from pluralis.estimate.kinds.candidates import Candidates
from pluralis.estimate.label_members import members
from pluralis.grouping.addition import Design
from pluralis.metrics.workloads import squared_error
from pluralis.release.release import Release

Reals = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
CHUNK = 4_096
OWN, BASELINES = "tp, own total", ("totals", "even")


class Contributions(NamedTuple):
    """The different rows as codes, and what each adds to which values: entries first[row] … first[row + 1] - 1."""

    codes: npt.NDArray[np.int32]
    first: Ints
    value: npt.NDArray[np.int32]
    share: Reals


class Odds(NamedTuple):
    """How likely a row is as asked: the product over columns of odds[starts[k] + code], codes from line lines[k]."""

    lines: Ints
    starts: Ints
    odds: Reals


class Passing(NamedTuple):
    """The rows that can be as asked, and how likely each is."""

    rows: Ints
    likely: Reals


@njit(cache=True)
def pass_on(codes: npt.NDArray[np.int32], asked: Odds, out: Passing) -> int:
    """Fill in the rows that can be as asked; how many they are."""
    count, likely = 0, np.empty(CHUNK)
    for begin in range(0, codes.shape[1], CHUNK):
        size = min(CHUNK, codes.shape[1] - begin)
        likely[:] = 1.0
        for k in range(asked.lines.size):
            line = codes[asked.lines[k], begin : begin + size]
            odds = asked.odds[asked.starts[k] :]
            for i in range(size):
                likely[i] *= odds[line[i]]
        for i in range(size):
            out.rows[count], out.likely[count] = begin + i, likely[i]
            count += likely[i] > 0.0
    return count


@njit(cache=True)
def add_up(published: Contributions, passing: Passing, out: Reals) -> None:
    """out[v] = the sum over rows, times how likely they are as asked, of what they add to v."""
    for i in range(passing.rows.size):
        row, likely = passing.rows[i], passing.likely[i]
        for entry in range(published.first[row], published.first[row + 1]):
            out[published.value[entry]] += likely * published.share[entry]


def contributions_by(codes: npt.NDArray[np.int32], row: Ints, value: Ints, share: Reals, values: int) -> Contributions:
    """Rows that are the same throughout as one. `row`, `value` and `share` are entries of rows."""
    kind = np.zeros(codes.shape[1], np.int64)
    for line in codes:
        kind = np.unique(kind * (int(line.max()) + 1) + line, return_inverse=True)[1].ravel()
    one = np.empty(int(kind.max()) + 1, np.int64)
    one[kind] = np.arange(kind.size)
    cells, place = np.unique(kind[row] * values + value, return_inverse=True)
    first = np.searchsorted(cells, np.arange(one.size + 1) * values)
    return Contributions(
        codes[:, one], first, (cells % values).astype(np.int32), _summed(place.ravel(), share, cells.size)
    )


@dataclass(frozen=True)
class Meaning:
    """What the codes of a column stand for: `code` stands for `place` among all values, with a share."""

    line: int
    size: int
    code: Ints
    place: Ints
    share: Reals

    @property
    def only(self) -> Ints:
        """The place of each code, where values are as they are."""
        place = np.empty(self.size, np.int64)
        place[self.code] = self.place
        return place

    def odds(self, allowed: npt.NDArray[np.bool_]) -> Reals:
        return _summed(self.code, self.share * allowed[self.place], self.size)


@dataclass(frozen=True)
class Source:
    """A table that answers queries: the original, or a release."""

    contributions: Contributions
    columns: Mapping[str, Meaning]
    values: int
    corrected: Callable[[Reals], Reals] = lambda seen: seen

    def passing(self, query: Query) -> Passing:
        """The rows that a query is about."""
        asked = [self.columns[name] for name in query.names]
        odds = [column.odds(allowed) for column, allowed in zip(asked, query.allowed, strict=True)]
        starts = np.cumsum([0, *(part.size for part in odds)])[:-1]
        lines = np.array([column.line for column in asked], np.int64)
        out = Passing(
            np.empty(self.contributions.codes.shape[1] + 1, np.int64), np.empty(self.contributions.codes.shape[1] + 1)
        )
        count = pass_on(self.contributions.codes, Odds(lines, starts, np.concatenate(odds)), out)
        return Passing(out.rows[:count], out.likely[:count])

    def counts(self, query: Query, passing: Passing | None = None) -> Reals:
        """How many rows of those asked about have each value of the sensitive attribute."""
        out = np.zeros(self.values)
        add_up(self.contributions, passing or self.passing(query), out)
        return self.corrected(out)

    def like(self, other: Source) -> bool:
        """Whether both have the same rows in the same order, but for what these add."""
        return np.array_equal(self.contributions.codes, other.contributions.codes) and all(
            column.line == other.columns[name].line and np.array_equal(column.place, other.columns[name].place)
            for name, column in self.columns.items()
        )


def original(frame: pl.DataFrame, sensitive: str) -> Source:
    """The table itself."""
    quasi, size = _quasi(frame, sensitive), frame[sensitive].n_unique()
    return Source(_each_its_own(_lines(frame, quasi), _codes(frame[sensitive]), size), _exact(frame, quasi), size)


def of_release(release: Release, frame: pl.DataFrame, sensitive: str) -> Source:
    """A release; values of its attributes are known by their places among those of the original."""
    places = {name: frame[name].unique().sort() for name in frame.columns}
    quasi, size, estimator = _quasi(frame, sensitive), places[sensitive].len(), estimator_of(release)
    assert isinstance(estimator, (Candidates, Grouped))
    rows = estimator.rows
    lines = [rows.line_of[name] for name in quasi]
    columns = {name: _meaning(i, rows, name, places[name]) for i, name in enumerate(quasi)}
    if isinstance(estimator, Candidates):
        drawn = estimator.drawn[sensitive]
        sets = _placed(drawn.design.series, places[sensitive])[drawn.sets]
        row = np.repeat(np.arange(len(sets)), sets.shape[1])
        published = contributions_by(rows.codes[lines], row, sets.ravel(), np.ones(sets.size), size)
        return Source(published, columns, size, _correction(drawn.design))
    if sensitive in rows.columns:
        own = _meaning(0, rows, sensitive, places[sensitive]).only[rows.codes[rows.line_of[sensitive]]]
        return Source(_each_its_own(rows.codes[lines], own, size), columns, size)
    (block,) = estimator.blocks((sensitive,))
    groups, distinct = block.groups, np.diff(block.starts)
    value = _meaning(0, block.values, sensitive, places[sensitive]).only[block.values.codes[0]]
    share = block.counts / np.repeat(groups.sizes, distinct)
    of_row = np.repeat(np.arange(groups.count), groups.sizes)
    row = np.repeat(np.arange(of_row.size), distinct[of_row])
    within = np.arange(row.size) - np.repeat(np.cumsum(distinct[of_row]) - distinct[of_row], distinct[of_row])
    entry = block.starts[of_row][row] + within
    return Source(contributions_by(groups.codes[lines], row, value[entry], share[entry], size), columns, size)


class Errors(NamedTuple):
    """Eq. 2 over queries that somebody passes."""

    mean: float
    median: float
    queries: int


def errors(true: Source, sources: Mapping[str, Source], asked: Sequence[Query]) -> dict[str, Errors]:
    """How far off each source is; `tp, own total` divides by its own number of people, which tp has to estimate.

    `totals` answers as if quasi-identifiers and sensitive values had been published apart: everybody is taken to be
    like all. `even` takes all values to be equally common.
    """
    alike = {name for name, source in sources.items() if source.like(true)}
    overall = np.bincount(true.contributions.value, true.contributions.share, true.values)
    squared: dict[str, list[float]] = {name: [] for name in (*sources, *([OWN] if "tp" in sources else []), *BASELINES)}
    for query in asked:
        passing = true.passing(query)
        counts = true.counts(query, passing)
        people = counts.sum()
        if not people:
            continue
        for name, source in sources.items():
            estimated = source.counts(query, passing if name in alike else None)
            squared[name].append(squared_error(counts, estimated))
            if name == "tp":
                total = estimated.sum()
                squared[OWN].append(squared_error(counts, estimated * (people / total if total else 0.0)))
        squared["totals"].append(squared_error(counts, overall * (people / overall.sum())))
        squared["even"].append(squared_error(counts, np.full(counts.size, people / counts.size)))
    return {name: Errors(float(np.mean(all_)), float(np.median(all_)), len(all_)) for name, all_ in squared.items()}


def _summed(place: Ints, share: Reals, size: int) -> Reals:
    return np.bincount(place, share, size).astype(np.float64, copy=False)


def _correction(design: Design) -> Callable[[Reals], Reals]:
    """From how many sets hold each value to how many rows have it: what `Design.shares` does."""
    if design.counts is None:
        return partial(_uniformly, design.l, design.rate)
    return partial(np.matmul, np.linalg.inv(design.membership))


def _uniformly(l: int, rate: float, seen: Reals) -> Reals:
    corrected: Reals = (seen - rate * seen.sum() / l) / (1 - rate)
    return corrected


def _each_its_own(codes: npt.NDArray[np.int32], own: Ints, values: int) -> Contributions:
    """Every row adds 1 to one value."""
    return contributions_by(codes, np.arange(own.size), own, np.ones(own.size), values)


def _quasi(frame: pl.DataFrame, sensitive: str) -> list[str]:
    """The order of lines of codes, in the original and in releases."""
    return sorted(name for name in frame.columns if name != sensitive)


def _lines(frame: pl.DataFrame, names: Sequence[str]) -> npt.NDArray[np.int32]:
    return np.stack([_codes(frame[name]) for name in names]).astype(np.int32)


def _exact(frame: pl.DataFrame, names: Sequence[str]) -> dict[str, Meaning]:
    """Columns of values as they are."""
    every = [np.arange(frame[name].n_unique()) for name in names]
    return {
        name: Meaning(i, all_.size, all_, all_, np.ones(all_.size))
        for i, (name, all_) in enumerate(zip(names, every, strict=True))
    }


def _codes(series: pl.Series) -> Ints:
    return _placed(series, series.unique().sort())


def _placed(values: pl.Series, among: pl.Series) -> Ints:
    """Where each of some values stands among all."""
    return values.cast(pl.String).cast(pl.Enum(among)).to_physical().cast(pl.Int64).to_numpy()


def _meaning(line: int, rows: CodedColumns, name: str, among: pl.Series) -> Meaning:
    """What the codes of a published column stand for; `line` is where they will be."""
    meanings = members(rows.columns[name])
    code = meanings["code"].to_numpy().astype(np.int64)
    return Meaning(line, int(code.max()) + 1, code, _placed(meanings["value"], among), meanings["share"].to_numpy())
