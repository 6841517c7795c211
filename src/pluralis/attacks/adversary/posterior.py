"""Which published rows somebody may be, and the mean of what these rows say.

Whoever knows a person's values finds the rows that show them, or labels that cover them (`Cover`). Text is compared in
one spelling, in labels without regard to case, as in the audit. One of these rows is the person's; without more to go
by each is as likely. Rows say something of a sensitive attribute through their group: the values that its rows share
out, or the values of a set (`Said`); or what an attack makes of each (`Cells`). The probability of a value is the mean
of its shares (`View`). What whoever knows secrets, too, believes is in `knowledge`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.adversary.group_values import blocks_of, codes_of, core_of, dense, rows_of, values_of
from pluralis.auditing import label_boxes as boxes
from pluralis.estimate import estimator_of
from pluralis.estimate.group_counts import Coded
from pluralis.estimate.kinds.candidates import Candidates
from pluralis.kernels.beliefs import Items, believe_kinds
from pluralis.kernels.cover import boxes_around, fill_bins
from pluralis.kernels.expect import DRAWN
from pluralis.release.attributes import attributes_of, holds_bins
from pluralis.release.manifest import ColumnInfo, Manifest
from pluralis.release.original import comparable, original_values
from pluralis.release.release import Release
from pluralis.release.subtables import PLAIN, ROWS, subtables

BOX, CLASS = "\0box", "\0class"
BINS = 128  # of codes, for finding the boxes around a point
CELLS = 20_000_000  # probabilities that are held at a time
PAIRS = 1_000_000  # of people and boxes around them, at a time

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Reals = npt.NDArray[np.float64]


# which rows somebody may be -------------------------------------------------------------------------------------


class Around(NamedTuple):
    """Some classes of people with the boxes that cover them: boxes[starts[i] : starts[i + 1]] are those of class i."""

    classes: Ints
    starts: Ints
    boxes: Ints

    @property
    def pairs(self) -> pl.DataFrame:
        """CLASS and BOX."""
        return pl.DataFrame({CLASS: np.repeat(self.classes, np.diff(self.starts)), BOX: self.boxes})


@dataclass(frozen=True, eq=False)
class Cover:
    """People in classes of equal values, and published rows that look alike in boxes.

    `number` is the class of each person, `box_of` the box of each row. Where values are published as they are (`labels`
    is None), a class and the box that covers it have the same number.
    """

    number: Ints
    box_of: Ints
    labels: Sequence[boxes.Coded] | None

    @classmethod
    def of(cls, rows: pl.DataFrame, columns: Sequence[ColumnInfo], people: pl.DataFrame, manifest: Manifest) -> Cover:
        """By some columns of the rows, for some rows of the original."""
        keep = manifest.parameters.get("case", [])
        both = [(rows[column.name], original_values(people, column, manifest)) for column in columns]
        if all(column.exact or column.role != "quasi" for column in columns):
            pairs = zip(both, (column.name not in keep for column in columns), strict=True)
            codes = [codes_of([core_of(values, fold_case=fold) for values in pair]) for pair, fold in pairs]
            every = dense([*map(np.concatenate, codes)] or [np.zeros(rows.height + people.height, np.int64)])
            return cls(every[rows.height :], every[: rows.height], None)
        labels = [_coded(*pair, column) for pair, column in zip(both, columns, strict=True)]
        number = dense([column.value.astype(np.int64) for column in labels])
        return cls(number, dense([column.label.astype(np.int64) for column in labels]), labels)

    def around(self, limit: int, seed: int = 0) -> Iterator[Around]:
        """The boxes around all classes; where there are more than `limit`, around a random part of them at a time."""
        classes, first = np.unique(self.number, return_index=True)
        if self.labels is None:
            held = np.isin(classes, self.box_of)
            yield Around(classes, np.concatenate([[0], np.cumsum(held)]), classes[held])
            return
        _, of_box = np.unique(self.box_of, return_index=True)
        shown = [column._replace(label=column.label[of_box]) for column in self.labels]
        every, _ = boxes.join_boxes(shown, np.zeros(of_box.size, np.int64))
        sizes = [int(max(codes.max(initial=0) for codes in (c.value, c.high, c.low))) + 1 for c in self.labels]
        bins = [min(BINS, size) for size in sizes]
        bin_of = np.concatenate([np.arange(size) * many // size for size, many in zip(sizes, bins, strict=True)])
        first_code, first_bin = (np.cumsum([0, *parts])[:-1].astype(np.int64) for parts in (sizes, bins))
        bits = np.zeros((sum(bins), -(-of_box.size // 64)), np.uint64)
        fill_bins(every.low, every.high, bin_of, first_code, first_bin, bits)
        order = np.random.default_rng(seed).permutation(classes.size)
        codes = np.stack([column.value[first[order]] for column in self.labels], axis=1)
        begin, end = 0, -1
        while end < order.size:
            starts, found = boxes_around(every, codes[begin:], bin_of, first_code, first_bin, bits, limit)
            end = begin + starts.size - 1
            yield Around(order[begin:end], starts, found)
            begin = end


def _coded(labels: pl.Series, values: pl.Series, column: ColumnInfo) -> boxes.Coded:
    """Each different value is read once."""
    different = values.unique()
    coded = boxes.coded(labels, different, column)
    return coded._replace(value=coded.value[boxes.numbered(values.to_frame("x"), different.to_frame("x"))])


def ranges(begin: Ints, width: Ints) -> Ints:
    """The numbers from each beginning on, as many as its width.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(width)
    return np.repeat(begin - (ends - width), width) + np.arange(int(width.sum()))


# what rows say --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Said:
    """What one table says of one sensitive attribute.

    Row r of `shown` is in group `of_row[r]`, and the entries of group g stand at `starts[g]` to `starts[g + 1]`:
    values[code] with a count; `told` as in kernels.expect.
    """

    info: ColumnInfo
    manifest: Manifest
    shown: pl.DataFrame
    infos: Mapping[str, ColumnInfo]
    of_row: Codes
    starts: Ints
    code: Codes
    count: Reals
    told: npt.NDArray[np.uint8]
    values: pl.Series
    table: str = ""

    @property
    def attribute(self) -> str:
        return self.info.name

    @property
    def quasi(self) -> list[str]:
        """The columns that rows show and whoever looks for a person may know."""
        return [name for name in self.shown.columns if self.infos[name].role != "plain"]

    @cached_property
    def rows(self) -> Coded:
        """What rows show, as codes."""
        return Coded.of({name: self.shown[name] for name in self.shown.columns}, self.infos)

    @cached_property
    def of_entry(self) -> Ints:
        """The group of each entry."""
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))

    @cached_property
    def share(self) -> Reals:
        """How much of its group each entry is."""
        shares: Reals = self.count / np.bincount(self.of_entry, self.count, self.starts.size - 1)[self.of_entry]
        return shares

    @property
    def squares(self) -> Reals:
        """For each group how often a value drawn from it is that of a row drawn from it."""
        held = pl.DataFrame({"group": self.of_entry, "code": self.code, "share": self.share})
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


def overall_of(said: Said) -> Reals:
    """How common each value is in all rows."""
    rows = np.bincount(said.of_row, minlength=said.starts.size - 1)[said.of_entry]
    shares: Reals = np.bincount(said.code, rows * said.share, said.values.len()) / max(1, said.of_row.size)
    return shares


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
    infos, shown = attributes_of(release), _shown(release)
    for name in release.manifest.parameters.get("l", {}):
        if name not in infos or name in shown.columns:
            continue
        (block,) = blocks_of(release, (name,))
        group = np.repeat(np.arange(block.groups.count), np.diff(block.starts))
        line = block.values.codes[block.values.line_of[name]]
        held = pl.DataFrame({"group": group, "code": line, "count": block.counts})
        if merged and held.select("group", "code").is_duplicated().any():
            held = held.group_by("group", "code").agg(pl.col("count").sum()).sort("group", "code")
        yield Said(
            info=infos[name],
            manifest=release.manifest,
            shown=shown,
            infos=infos,
            of_row=block.groups.of_row,
            starts=np.searchsorted(held["group"].to_numpy(), np.arange(block.groups.count + 1)).astype(np.int64),
            code=held["code"].to_numpy().astype(np.int32),
            count=held["count"].to_numpy().astype(np.float64),
            told=block.told,
            values=values_of(block.values.columns[name], infos[name]),
        )


def _shown(release: Release) -> pl.DataFrame:
    info = rows_of(release)
    return release.tables[info.name].select(c.name for c in info.columns if c.role in ("quasi", "plain"))


def _of_sets(release: Release) -> Iterator[Said]:
    """Rows with sets of their own, whose values are weighed by how common they are in all sets."""
    found = estimator_of(release)
    assert isinstance(found, Candidates)
    for name, drawn in found.drawn.items():
        design = drawn.design
        weight = np.maximum(design.shares(drawn.sets), 1 / found.count_of_rows) * design.weight
        info = found.infos[name].model_copy(update={"sets": True})
        yield _each(release, info, _shown(release), drawn.sets, weight[drawn.sets], design.series)


def _openly(release: Release) -> Iterator[Said]:
    """A table of a `multi` release without groups: every row has its own value."""
    table, infos = release.tables[ROWS], attributes_of(release)
    for name in release.manifest.parameters.get("l", {}):
        if name in table.columns and not holds_bins(infos[name]):
            values = Coded.of({name: table[name]}, infos)
            meant = values_of(values.columns[name], infos[name])
            yield _each(release, infos[name], table.drop(name), values.codes.T, np.ones(table.height), meant)


def _each(
    release: Release, info: ColumnInfo, shown: pl.DataFrame, codes: Codes, count: Reals, values: pl.Series
) -> Said:
    """Every row says values of its own, as many as each other."""
    rows, size = codes.shape
    return Said(
        info=info,
        manifest=release.manifest,
        shown=shown,
        infos=attributes_of(release),
        of_row=np.arange(rows, dtype=np.int32),
        starts=np.arange(rows + 1) * size,
        code=codes.ravel(),
        count=count.ravel(),
        told=np.full(rows, DRAWN, np.uint8),
        values=values,
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


# what is believed -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class View:
    """The rows of a table as whoever knows some of its columns sees them, and what each says."""

    said: Said
    known: Sequence[str]
    cells: Cells

    @classmethod
    def of(cls, said: Said, known: Sequence[str], cells: Cells | None = None) -> View:
        """By columns that stand in the table; rows say what is in `cells`, or what their groups say."""
        return cls(said, known, of_groups(said) if cells is None else cells)

    def beliefs(self, original: pl.DataFrame, targets: Ints) -> Iterator[tuple[Ints, Reals, Reals]]:
        """(which of the targets, [target, value] the probability of each value, how many rows each may be)."""
        said, cells, values = self.said, self.cells, self.said.values.len()
        columns = [said.infos[name] for name in self.known]
        cover = Cover.of(said.shown, columns, original[targets], said.manifest)
        rows = pl.DataFrame({"box": cover.box_of, "begin": cells.begin, "end": cells.end})
        rows = rows.group_by(rows.columns).agg(pl.len().cast(pl.Float64).alias("rows")).sort(rows.columns)
        of_box = np.searchsorted(rows["box"].to_numpy(), np.arange(int(cover.box_of.max(initial=-1)) + 2))
        kind_of = np.full(int(cover.number.max(initial=-1)) + 1, -1, np.int64)
        for part in cover.around(PAIRS):
            width = of_box[part.boxes + 1] - of_box[part.boxes]
            near = rows[ranges(of_box[part.boxes], width)]
            starts = np.concatenate([[0], np.cumsum(width)])[part.starts]
            weight, begin, end = (near[name].to_numpy() for name in ("rows", "begin", "end"))
            items = Items(starts, weight, begin, end, cells.code, cells.share)
            kind_of[part.classes] = np.where(np.diff(starts) > 0, np.arange(part.classes.size), -1)
            people = np.flatnonzero(np.isin(cover.number, part.classes))
            step = max(1, CELLS // max(1, values))
            for some in np.split(people, range(step, people.size, step)):
                out, found = np.zeros((some.size, values)), np.zeros(some.size)
                believe_kinds(kind_of[cover.number[some]], items, out, found)
                yield some, out, found


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
