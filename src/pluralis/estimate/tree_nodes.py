"""The published tables of a `multi` release as nodes of a tree: lines of codes that stand for the same in all tables.

A label that stands for several values of a shared column is spread evenly over them: its row becomes a line for each,
with a part of a person. Where that makes too many lines, and for intervals of numbers that are not whole, a column of
labels links nothing: only one table tells of the attribute, one that has its values if there is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from pluralis.errors import ReleaseError
from pluralis.estimate.label_distribution import Codes, Column, codes_and_column, is_whole
from pluralis.estimate.label_members import meanings, members
from pluralis.estimate.table_tree import Floats, Node, agreeing, summed
from pluralis.estimate.truth_table import Ints
from pluralis.release.attributes import holds_bins
from pluralis.release.manifest import ColumnInfo
from pluralis.release.release import GROUP
from pluralis.release.subtables import Subtable

LINES = 2_000_000  # of a table whose labels are spread


@dataclass(frozen=True)
class PublishedTable:
    """A table as it stands: its columns, how each is described, and how many people a row tells of."""

    subtable: str
    series: dict[str, pl.Series]
    infos: dict[str, ColumnInfo]
    weight: Floats
    group: tuple[str, Codes] | None = None
    _coded: dict[str, tuple[Codes, Column]] = field(default_factory=dict)

    def codes_and_column(self, name: str) -> tuple[Codes, Column]:
        """A column of labels as codes, and what they stand for."""
        if name not in self._coded:
            self._coded[name] = codes_and_column(self.series[name], self.infos[name])
        return self._coded[name]

    def without(self, *names: str) -> PublishedTable:
        return replace(self, series={name: series for name, series in self.series.items() if name not in names})

    def labels(self, name: str) -> bool:
        """Whether a column holds labels and not values."""
        return self.infos[name].role == "quasi" and not self.infos[name].exact

    def without_sets_of_bins(self, infos: Mapping[str, ColumnInfo]) -> PublishedTable:
        """Without labels of attributes that are published in bins: those are asked by number."""
        return self.without(*(name for name in self.series if self.labels(name) and holds_bins(infos[name])))


def nodes_of(subtables: Sequence[Subtable], infos: Mapping[str, ColumnInfo]) -> list[Node]:
    """The tables of all subtables, their columns coded alike; `infos` describe the attributes of the whole release."""
    tables = [table.without_sets_of_bins(infos) for subtable in subtables for table in _tables(subtable)]
    tables = _once(tables, [name for name, info in infos.items() if info.type == "number" and not is_whole(info)])
    tables = _once(tables, _too_many(tables))
    counts = {name: sum(name in table.series for table in tables) for name in infos}
    spread = [_Spreading.from_table(table, counts) for table in tables]
    columns: dict[str, Column] = {}
    codes: list[dict[str, Codes]] = [{} for _ in tables]
    for name, info in infos.items():
        holders = [i for i, one in enumerate(spread) if name in one.values]
        if holders:
            every = pl.concat([spread[i].values[name].to_frame(name) for i in holders], how="vertical_relaxed")
            line, columns[name] = codes_and_column(every[name], info.model_copy(update={"exact": True}))
            sizes = np.cumsum([spread[i].values[name].len() for i in holders])[:-1]
            for i, part in zip(holders, np.split(line, sizes), strict=True):
                codes[i][name] = part
    return [one.node(codes[i], columns) for i, one in enumerate(spread)]


def _once(tables: Sequence[PublishedTable], names: Iterable[str]) -> list[PublishedTable]:
    """The tables with labels of these attributes in one of them only, and in none if another has values."""
    kept = list(tables)
    for name in names:
        holders = sorted((t.labels(name), i) for i, t in enumerate(kept) if name in t.series)
        for labels, i in holders[1:]:
            if labels:
                kept[i] = kept[i].without(name)
    return kept


def _too_many(tables: Sequence[PublishedTable]) -> list[str]:
    """Shared columns whose labels would make too many lines, once those are spread that mean fewer values."""
    names = {name for table in tables for name in table.series if table.labels(name)}
    sizes: dict[str, dict[int, Ints]] = {name: {} for name in sorted(names)}
    for i, table in enumerate(tables):
        for name in names & {name for name in table.series if table.labels(name)}:
            codes, column = table.codes_and_column(name)
            sizes[name][i] = meanings(column)[codes]
    lines = [np.ones(table.weight.size) for table in tables]
    left = []
    for name in sorted(sizes, key=lambda name: (sum(float(counts.mean()) for counts in sizes[name].values()), name)):
        if sum(name in table.series for table in tables) > 1:
            finer = {i: lines[i] * counts for i, counts in sizes[name].items()}
            if max(float(counts.sum()) for counts in finer.values()) > LINES:
                left.append(name)
            else:
                for i, counts in finer.items():
                    lines[i] = counts
    return left


def _tables(subtable: Subtable) -> Iterator[PublishedTable]:
    for info in subtable.release.manifest.tables:
        rows = subtable.release.tables[info.name]
        columns = {column.name: column for column in info.columns if column.role in ("quasi", "plain", "sensitive")}
        weight = rows["count"].to_numpy() if info.named("count") else np.ones(rows.height)
        group = (f"\0group of {subtable.name}", _groups(rows)) if subtable.release.traits.counts_groups else None
        yield PublishedTable(subtable.name, {n: rows[n] for n in columns}, columns, weight.astype(np.float64), group)


def _groups(rows: pl.DataFrame) -> Codes:
    if rows[GROUP].null_count():
        raise ReleaseError("Some rows have no group. Ask for the release again.")
    return rows[GROUP].to_numpy().astype(np.int32)


@dataclass(frozen=True)
class _Spreading:
    """A table whose labels of shared columns are being spread over lines; `row` is the row that a line is of."""

    table: PublishedTable
    row: Ints
    weight: Floats
    values: dict[str, pl.Series]  # of lines: what they hold
    labels: dict[str, tuple[Codes, Column]]  # of lines: codes of labels
    soft: frozenset[str]

    @classmethod
    def from_table(cls, table: PublishedTable, counts: Mapping[str, int]) -> _Spreading:
        height = table.weight.size
        exact = {name: series for name, series in table.series.items() if not table.labels(name)}
        spreading = cls(table, np.arange(height), table.weight, exact, {}, frozenset())
        for name in table.series:
            if table.labels(name):
                codes, column = table.codes_and_column(name)
                spreading = spreading._with(name, codes, column, counts[name] > 1)
        return spreading

    def _with(self, name: str, codes: Codes, column: Column, shared: bool) -> _Spreading:
        if not shared:
            return replace(self, labels={**self.labels, name: (codes[self.row], column)})
        meant = members(column).sort("code", maintain_order=True)
        starts = np.searchsorted(meant["code"].to_numpy(), np.arange(int(codes.max(initial=-1)) + 2))
        sizes = np.diff(starts)[codes[self.row]]
        line = np.repeat(np.arange(self.row.size), sizes)
        place = np.arange(line.size) - np.repeat(np.cumsum(sizes) - sizes, sizes) + starts[codes[self.row]][line]
        return _Spreading(
            table=self.table,
            row=self.row[line],
            weight=self.weight[line] * meant["share"].to_numpy()[place],
            values={**{n: v.gather(line) for n, v in self.values.items()}, name: meant["value"].gather(place)},
            labels={n: (own[line], c) for n, (own, c) in self.labels.items()},
            soft=self.soft | {name},
        )

    def node(self, codes: dict[str, Codes], columns: Mapping[str, Column]) -> Node:
        """Its lines, those that are alike as one."""
        lines = {**codes, **{name: line for name, (line, _) in self.labels.items()}}
        own = {**{name: columns[name] for name in codes}, **{name: column for name, (_, column) in self.labels.items()}}
        if self.table.group is not None:
            name, numbers = self.table.group
            lines[name] = numbers[self.row]
        weight = self.weight
        classes, count = agreeing(list(lines.values()))
        if count < classes.size:
            first = np.empty(count, np.int64)
            first[classes[::-1]] = np.arange(classes.size)[::-1]
            lines = {name: np.ascontiguousarray(line[first]) for name, line in lines.items()}
            weight = summed(classes, weight, count)
        return Node(self.table.subtable, lines, own, weight, self.soft)
