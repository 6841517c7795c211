"""What a release says of a person to whoever knows some columns: the rows it may be, and the mean of what they say.

Rows say something of a sensitive attribute through their group: the values that its rows share out, or the values of a
set. Whoever knows a person's values finds the rows that show them, or labels that cover them. One of these is the
person's; without more to go by each is as likely, and so the probability of a value is the mean of its shares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.estimate import prepare
from pluralis.estimate.attributes import attributes_of, holds_bins
from pluralis.estimate.candidates import Candidates
from pluralis.estimate.grouped import Block, Coded, Grouped
from pluralis.estimate.spread import Bins, Column, Exact, Intervals, Members
from pluralis.estimate.subtables import PLAIN, ROWS, subtables
from pluralis.kernels.beliefs import Items, Labels, believe_covering, believe_kinds
from pluralis.kernels.expect import DRAWN
from pluralis.original import comparable, original_values
from pluralis.release import ColumnInfo, Manifest, Release

CELLS = 20_000_000  # probabilities that are held at a time

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Said:
    """What one table says of one sensitive attribute.

    Row r is in group `of_row[r]`, and the entries of group g stand at `starts[g]` to `starts[g + 1]`: values[code]
    with a count; `told` as in kernels.expect. Rows stand in the order of the published table.
    """

    table: str
    info: ColumnInfo
    manifest: Manifest
    rows: Coded
    infos: Mapping[str, ColumnInfo]
    of_row: Codes
    starts: Ints
    code: Codes
    count: Reals
    told: npt.NDArray[np.uint8]
    values: pl.Series

    @property
    def attribute(self) -> str:
        return self.info.name

    @property
    def quasi(self) -> list[str]:
        """The columns that rows show and whoever looks for a person may know."""
        return [name for name in self.rows.columns if self.infos[name].role != "plain"]

    @cached_property
    def share(self) -> Reals:
        """How much of its group each entry is."""
        group = np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))
        shares: Reals = self.count / np.bincount(group, self.count, self.starts.size - 1)[group]
        return shares

    @property
    def squares(self) -> Reals:
        """For each group how often a value drawn from it is that of a row drawn from it."""
        group = np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))
        held = pl.DataFrame({"group": group, "code": self.code, "share": self.share})
        held = held.group_by("group", "code").agg(pl.col("share").sum())
        squares = np.bincount(held["group"].to_numpy(), held["share"].to_numpy() ** 2, self.starts.size - 1)
        return np.asarray(squares, np.float64)

    def truth(self, original: pl.DataFrame) -> Codes:
        """The code of everybody's true value; -1 where the table does not have it."""
        fold = self.attribute not in self.manifest.parameters.get("case", [])
        true = comparable(original_values(original, self.info, self.manifest), fold_case=fold)
        known = comparable(self.values, fold_case=fold).to_frame("value").with_row_index("code")
        known = known.unique("value", keep="first")
        if true.dtype != known["value"].dtype:
            known, true = known.with_columns(pl.col("value").cast(pl.String)), true.cast(pl.String)
        found = true.to_frame("value").join(known, on="value", how="left", nulls_equal=True, maintain_order="left")
        return found["code"].cast(pl.Int32).fill_null(-1).to_numpy().astype(np.int32)


def said_by(release: Release, *, sets: bool = True, merged: bool = True) -> list[Said]:
    """All that a release says of its sensitive attributes; without `sets`, only what groups of rows share.

    Where rows have their own values, or several attributes stand side by side, a value may have several entries in a
    group: they are `merged`, or stand as they are published.
    """
    if release.kind == "multi":
        return [
            replace(said, table=part.name)
            for part in subtables(release)
            for said in (_openly(part.release) if part.kind == PLAIN else said_by(part.release, merged=merged))
            if sets or part.kind != PLAIN
        ]
    if release.kind == "candidates":
        return [*_of_sets(release)] if sets else []
    return [*_of_groups(release, merged)]


def _of_groups(release: Release, merged: bool) -> Iterator[Said]:
    """Groups and the values that their rows share out."""
    if release.kind == "generalized":  # which of the group's values is a row's own says no more of whoever looks
        parameters = {**release.manifest.parameters, "linked": False}
        release = Release(release.manifest.model_copy(update={"parameters": parameters}), release.tables)
    grouped, infos = prepare(release), attributes_of(release)
    assert isinstance(grouped, Grouped)
    for name in release.manifest.parameters.get("l", {}):
        if name in infos and name not in grouped.rows.columns:
            (block,) = grouped.blocks((name,))
            yield _of_block(name, block, grouped.rows, infos, release, merged)


def _of_block(
    name: str, block: Block, rows: Coded, infos: Mapping[str, ColumnInfo], release: Release, merged: bool
) -> Said:
    line, groups = block.values.codes[block.values.line_of[name]], block.groups.count
    group = np.repeat(np.arange(groups), np.diff(block.starts))
    held = pl.DataFrame({"group": group, "code": line, "count": block.counts})
    if merged and held.select("group", "code").is_duplicated().any():
        held = held.group_by("group", "code").agg(pl.col("count").sum()).sort("group", "code")
    starts = np.searchsorted(held["group"].to_numpy(), np.arange(groups + 1)).astype(np.int64)
    return Said(
        table="",
        info=infos[name],
        manifest=release.manifest,
        rows=rows,
        infos=infos,
        of_row=block.groups.of_row,
        starts=starts,
        code=held["code"].to_numpy().astype(np.int32),
        count=held["count"].to_numpy().astype(np.float64),
        told=block.told,
        values=values_of(block.values.columns[name], infos[name]),
    )


def values_of(column: Column, info: ColumnInfo) -> pl.Series:
    """What the codes of a column that shows values, or bins, stand for."""
    if isinstance(column, Bins):
        return pl.Series([str((info.domain or ())[line]) for line in column.line], dtype=pl.String)
    assert isinstance(column, Exact)
    values = pl.Series(column.values if isinstance(column.values, np.ndarray) else list(column.values))
    values = values.cast(pl.String) if info.type == "text" else values
    return values.extend_constant(None, 1) if column.missing else values


def _of_sets(release: Release) -> Iterator[Said]:
    """Rows with sets of their own, whose values are weighed by how common they are in all sets."""
    found = prepare(release)
    assert isinstance(found, Candidates)
    for name, drawn in found.drawn.items():
        design, n = drawn.design, found.count_of_rows
        yield Said(
            table="",
            info=found.infos[name].model_copy(update={"sets": True}),
            manifest=release.manifest,
            rows=found.rows,
            infos=found.infos,
            of_row=np.arange(n, dtype=np.int32),
            starts=np.arange(n + 1) * design.l,
            code=drawn.sets.ravel(),
            count=(np.maximum(design.shares(drawn.sets), 1 / n) * design.weight)[drawn.sets].ravel(),
            told=np.full(n, DRAWN, np.uint8),
            values=design.series,
        )


def _openly(release: Release) -> Iterator[Said]:
    """A table of a `multi` release without groups: every row has its own value."""
    table, infos = release.tables[ROWS], attributes_of(release)
    for name in release.manifest.parameters.get("l", {}):
        if name not in table.columns or holds_bins(infos[name]):
            continue
        own = Coded.of({other: table[other] for other in table.columns if other != name}, infos)
        values = Coded.of({name: table[name]}, infos)
        yield Said(
            table="",
            info=infos[name],
            manifest=release.manifest,
            rows=own,
            infos=infos,
            of_row=np.arange(table.height, dtype=np.int32),
            starts=np.arange(table.height + 1),
            code=values.codes[0],
            count=np.ones(table.height),
            told=np.full(table.height, DRAWN, np.uint8),
            values=values_of(values.columns[name], infos[name]),
        )


@dataclass(frozen=True, eq=False)
class Cells:
    """What every row says: row r says said.code[entry[c]] with share[c], for c from begin[r] to end[r]."""

    begin: Ints
    end: Ints
    code: Codes
    share: Reals


def of_groups(said: Said) -> Cells:
    """Every row says what its group says."""
    return Cells(said.starts[said.of_row], said.starts[said.of_row + 1], said.code, said.share)


@dataclass(frozen=True, eq=False)
class View:
    """The rows of a table as whoever knows some of its columns sees them: those that look alike are of one kind."""

    said: Said
    known: Sequence[str]
    kinds: pl.DataFrame  # a code for each known column
    items: Items

    @classmethod
    def of(cls, said: Said, known: Sequence[str], cells: Cells | None = None) -> View:
        """Kinds of rows by columns that stand in the table; what rows say is `cells`, or what their groups say."""
        cells = of_groups(said) if cells is None else cells
        shown = {f"{i}": said.rows.codes[said.rows.line_of[name]] for i, name in enumerate(known)}
        frame = pl.DataFrame({**shown, "begin": cells.begin, "end": cells.end})
        names = list(shown)
        alike = frame.group_by(frame.columns).agg(pl.len().cast(pl.Float64).alias("rows")).sort(frame.columns)
        if not names:
            alike, names = alike.with_columns(pl.lit(0).alias("0")), ["0"]
        new = alike.select(pl.struct(names).rle_id()).to_series().to_numpy().astype(np.int64)
        kinds = alike.select(names).unique(maintain_order=True)
        items = Items(
            np.searchsorted(new, np.arange(kinds.height + 1)).astype(np.int64),
            alike["rows"].to_numpy(),
            alike["begin"].to_numpy(),
            alike["end"].to_numpy(),
            cells.code,
            cells.share,
        )
        return cls(said, known, kinds, items)

    def beliefs(self, original: pl.DataFrame, targets: Ints) -> Iterator[tuple[slice, Reals, Reals]]:
        """(which of the targets, [target, value] the probability of each value, how many rows each may be)."""
        people = original[targets]
        columns = [self.said.rows.columns[name] for name in self.known]
        infos = [self.said.infos[name] for name in self.known]
        values = [original_values(people, info, self.said.manifest) for info in infos]
        step = max(1, CELLS // max(1, self.said.values.len()))
        exact = all(isinstance(column, Exact | Bins) for column in columns)
        kind_of = self._kinds_of(columns, values, targets.size) if exact else None
        labels = None if exact else self._labels(columns, values)
        for begin in range(0, targets.size, step):
            part = slice(begin, min(begin + step, targets.size))
            out, rows = np.zeros((part.stop - begin, self.said.values.len())), np.zeros(part.stop - begin)
            if kind_of is not None:
                believe_kinds(kind_of[part], self.items, out, rows)
            else:
                assert labels is not None
                shown, number, value = labels
                believe_covering(shown, number[:, part], value[:, part], self.items, out, rows)
            yield part, out, rows

    def _kinds_of(self, columns: Sequence[Column], values: Sequence[pl.Series], people: int) -> Ints:
        """The kind of row that shows each person's values; -1 where none does."""
        if not columns:
            return np.zeros(people, np.int64)
        infos = [self.said.infos[name] for name in self.known]
        shown = [values_of(column, info) for column, info in zip(columns, infos, strict=True)]
        codes = {f"{i}": _code_of(s, v) for i, (s, v) in enumerate(zip(shown, values, strict=True))}
        place = self.kinds.with_row_index("\0at")
        found = pl.DataFrame(codes).join(place, on=list(codes), how="left", maintain_order="left")["\0at"]
        return found.cast(pl.Int64).fill_null(-1).to_numpy()

    def _labels(self, columns: Sequence[Column], values: Sequence[pl.Series]) -> tuple[Labels, Reals, Codes]:
        """What kinds show, and each person's numbers and values."""
        shape, people = (len(columns), self.kinds.height), values[0].len()
        low, high, label = np.zeros(shape), np.zeros(shape), np.zeros(shape, np.int32)
        number, value = np.zeros((len(columns), people)), np.zeros((len(columns), people), np.int32)
        base, stride, bits = np.zeros(len(columns), np.int64), np.zeros(len(columns), np.int64), [np.empty(0, np.uint8)]
        for c, (column, series) in enumerate(zip(columns, values, strict=True)):
            codes = self.kinds[f"{c}"].to_numpy()
            if isinstance(column, Members):
                label[c], base[c] = codes, sum(part.size for part in bits)
                value[c], lines = _covered(column, series)
                stride[c] = lines.shape[1]
                bits.append(lines.ravel())
                continue
            if isinstance(column, Intervals):
                ends = np.append(column.low, np.inf), np.append(np.where(column.open, np.inf, column.high), np.inf)
                low[c], high[c] = ends[0][codes], ends[1][codes]
                number[c] = series.cast(pl.Float64).fill_null(np.inf).to_numpy()
            else:
                low[c] = high[c] = codes
                number[c] = _code_of(values_of(column, self.said.infos[self.known[c]]), series)
        return Labels(low, high, label, base, stride, np.concatenate(bits)), number, value


def _code_of(known: pl.Series, values: pl.Series) -> Codes:
    """The places of values among those that a column shows; -1 where it does not."""
    known = known.cast(pl.Float64) if known.dtype.is_numeric() else known.cast(pl.String)
    place = known.to_frame("value").with_row_index("code")
    people = values.cast(known.dtype).to_frame("value")
    found = people.join(place, on="value", how="left", nulls_equal=True, maintain_order="left")["code"]
    return found.cast(pl.Int32).fill_null(-1).to_numpy().astype(np.int32)


def _covered(column: Members, values: pl.Series) -> tuple[Codes, npt.NDArray[np.uint8]]:
    """(the line of each value, -1 where no label covers it; lines of bits, one for each label)."""
    labels = column.starts.size - 1
    holds = np.zeros((len(column.values) + 1, labels + column.missing), np.bool_)
    holds[column.members, np.repeat(np.arange(labels), np.diff(column.starts))] = True
    if column.missing:
        holds[-1, labels] = True
    known = pl.DataFrame({"value": pl.Series([*column.values, None], dtype=pl.String)}).with_row_index("code")
    people = values.cast(pl.String).to_frame("value")
    found = people.join(known, on="value", how="left", nulls_equal=True, maintain_order="left")["code"]
    return (
        found.cast(pl.Int32).fill_null(-1).to_numpy().astype(np.int32),
        np.packbits(holds, axis=1, bitorder="little"),
    )


def chance_of_right(beliefs: Reals, truth: Codes) -> Reals:
    """How likely whoever guesses the likeliest value is right: 1, 0, or a share where several are as likely."""
    if not beliefs.shape[1]:
        return np.zeros(truth.size)
    top = beliefs.max(axis=1, keepdims=True)
    best = beliefs >= top - 1e-12
    right = best[np.arange(truth.size), np.maximum(truth, 0)] & (truth >= 0)
    return np.where(right & (top[:, 0] > 0), 1 / best.sum(axis=1), 0.0)


def commonest(truth: Codes) -> float:
    """The share of the commonest value: the best guess without a release."""
    return float(np.bincount(truth[truth >= 0]).max(initial=0) / max(1, truth.size))
