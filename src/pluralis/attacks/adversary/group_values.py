"""How a release of each kind is read: rows with their groups, and the values that groups hold.

groups         what `estimate` says that their rows share out, side by side or attribute by attribute; of linked rows
               the sensitive and plain columns, side by side. Rows that are marked share out nothing
candidates     every row is a group of its own. Its set is weighed by how it was drawn and by how common values are:
               as stated, or, of uniform sets, as all sets together make likeliest
multi          each table as one of these. What a table shows openly is hidden by nothing: people who share what is
               known are a group. Of a table of which nothing is known, all rows are one
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.estimate import estimator_of
from pluralis.estimate.group_counts import Block, Grouped
from pluralis.estimate.kinds.candidates import Candidates
from pluralis.estimate.label_distribution import Bins, Column, Exact
from pluralis.grouping.addition import Design, likeliest, posteriors
from pluralis.release.attributes import attributes_of
from pluralis.release.manifest import ColumnInfo, TableInfo
from pluralis.release.original import original_values
from pluralis.release.release import GROUP, Release
from pluralis.release.subtables import PLAIN, ROWS, Subtable, subtables
from pluralis.table.labels import number_text, number_texts
from pluralis.table.spelling import cores

Numbers = npt.NDArray[np.int64]

AT, PEOPLE, SHARE = "\0group", "\0people", "\0share"
STEPS = 300  # by which the likeliest shares of values are found


class Held(NamedTuple):
    """Values that the rows of groups hold side by side.

    `rows` has AT (the group), a column of codes for each attribute, and PEOPLE: how many, or how likely. `group` is the
    column, of the rows of the view, that tells the group.
    """

    group: str
    attributes: tuple[str, ...]
    rows: pl.DataFrame

    def counts(self, names: Sequence[str]) -> pl.DataFrame:
        """AT, these attributes, PEOPLE and SHARE: of the people of the group."""
        counts = self.rows.group_by(AT, *names).agg(pl.col(PEOPLE).sum())
        return counts.with_columns((pl.col(PEOPLE) / pl.col(PEOPLE).sum().over(AT)).alias(SHARE))


@dataclass(frozen=True, eq=False)
class Domain:
    """The published values of an attribute in one spelling, in order; codes are their places."""

    keys: pl.Series
    texts: pl.Series
    keep_case: bool

    @classmethod
    def of(cls, values: Iterable[pl.Series], info: ColumnInfo, keep_case: bool) -> Domain:
        texts = pl.concat([_as_text(series.unique().drop_nulls(), info) for series in values]).unique()
        found = pl.DataFrame({"key": cores(texts, fold_case=not keep_case), "text": texts})
        found = found.group_by("key").agg(pl.col("text").min()).sort("key")
        return cls(found["key"], found["text"], keep_case)

    def codes(self, values: pl.Series, info: ColumnInfo) -> pl.Series:
        """The place of each value, -1 where it is missing or not published."""
        different = values.unique().drop_nulls()
        if not different.len():
            return pl.repeat(-1, values.len(), dtype=pl.Int32, eager=True)
        keys = cores(_as_text(different, info), fold_case=not self.keep_case).to_frame("key")
        every = self.keys.to_frame("key").with_row_index("at")
        place = keys.join(every, on="key", how="left", maintain_order="left")["at"].cast(pl.Int32).fill_null(-1)
        if values.dtype == pl.String:
            found = place.gather(values.cast(pl.Enum(different)).to_physical())
        else:
            found = values.replace_strict(different, place, default=-1, return_dtype=pl.Int32)
        return found.fill_null(-1)


def _as_text(values: pl.Series, info: ColumnInfo) -> pl.Series:
    """Numbers as they are written, also where text stands for one."""
    if values.dtype.is_numeric():
        return number_texts(values)
    texts = values.cast(pl.String)
    if info.type == "number":
        numbers = texts.cast(pl.Float64, strict=False).to_list()
        texts = pl.Series([t if n is None else number_text(n) for t, n in zip(texts, numbers, strict=True)])
    return texts.cast(pl.String)


Holding = Callable[[tuple[str, ...], pl.Series | None], list[Held]]
Code = Callable[[str, pl.Series], pl.Series]


@dataclass(frozen=True, eq=False)
class View:
    """A table with a row for each person, and what the groups of its rows hold.

    `columns` are those by which a person's row is found, `groups` those that tell groups. `holding(names, groups)` are
    the fewest Held that tell of some attributes, of these groups or of all.
    """

    name: str
    release: Release
    columns: tuple[ColumnInfo, ...]
    rows: pl.DataFrame
    groups: list[str]
    attributes: frozenset[str]
    holding: Holding
    domain: Callable[[str], Domain]

    @property
    def whole(self) -> bool:
        """Whether it is one of several tables, and nothing is known of it."""
        return bool(self.name) and not self.columns

    def told(self, column: str, group: int) -> list[str]:
        """A group in words."""
        if self.whole:
            return ["the whole column"]
        if column != GROUP:
            return [f"slice_{column.removeprefix('group_')}", f"group {group}"]
        if self.release.kind in (PLAIN, "candidates"):  # these groups are ours, and not in the table
            row = self.rows.filter(pl.col(GROUP) == group).row(0, named=True)
            return [f"{column.name} = {row[column.name]}" for column in self.columns]
        return [f"group {group}"]

    def true(self, original: pl.DataFrame, name: str) -> pl.Series:
        """The codes of an attribute in the original."""
        info = attributes_of(self.release)[name]
        return self.domain(name).codes(original_values(original, info, self.release.manifest), info)


def secrets_of(release: Release) -> list[str]:
    """The attributes that a release protects."""
    return sorted(release.manifest.parameters.get("l", {}))


def views(release: Release, knows: Iterable[str]) -> list[View]:
    """What a release tells to whoever knows these attributes: one view, or one for each table of a `multi` release."""
    known = {*knows}
    if release.kind == "multi":
        return [view for part in subtables(release) for view in _of_subtable(part, known)]
    return [_view("", release, known)]


def _of_subtable(part: Subtable, known: set[str]) -> Iterator[View]:
    """What its groups hide, and what it shows openly."""
    yield _view(part.name, part.release, known)
    shown = tuple(column for column in part.rows.columns if column.role == "quasi" and column.exact)
    if part.kind != PLAIN and len(shown) > 1:
        rows = part.release.tables[part.rows.name].select(column.name for column in shown)
        info = part.rows.model_copy(update={"name": ROWS, "columns": shown})
        manifest = part.release.manifest.model_copy(update={"kind": PLAIN, "tables": (info,)})
        yield _view(part.name, Release(manifest, {ROWS: rows}), known)


def _view(name: str, release: Release, known: set[str]) -> View:
    info = rows_of(release)
    columns = tuple(c for c in info.named("quasi") if (c.attribute or c.name) in known)
    infos, keep = attributes_of(release), release.manifest.parameters.get("case", [])
    if name and not columns:
        release = _with_groups(release, lambda rows: rows.with_columns(pl.lit(0, pl.Int64).alias(GROUP)))
    source = _source(release, columns)

    @cache
    def domain(name: str) -> Domain:
        return Domain.of([source.values(name)], infos[name], name in keep)

    def code(name: str, values: pl.Series) -> pl.Series:
        return domain(name).codes(values, infos[name]).alias(name)

    def holding(names: tuple[str, ...], groups: pl.Series | None) -> list[Held]:
        return [*source.held(tuple(name for name in names if name in source.attributes), groups, code)]

    groups = info.names("group") or [GROUP]
    return View(name, release, columns, source.rows, groups, frozenset(source.attributes), holding, domain)


class _Source(NamedTuple):
    """The rows of a release with their groups, which attributes groups tell of, and all values of one of them.

    `held(names, groups, code)` are the fewest Held that tell of some attributes; `code(name, values)` are codes.
    """

    rows: pl.DataFrame
    attributes: list[str]
    values: Callable[[str], pl.Series]
    held: Callable[[tuple[str, ...], pl.Series | None, Code], Iterator[Held]]


def _with_groups(release: Release, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Release:
    """A release whose tables that tell of groups are changed."""
    tables = {name: change(rows) if GROUP in rows.columns else rows for name, rows in release.tables.items()}
    rows = tables[rows_of(release).name].height
    return Release(release.manifest.model_copy(update={"rows": rows}), tables)


def _source(release: Release, columns: Sequence[ColumnInfo]) -> _Source:
    info = rows_of(release)
    rows = release.tables[info.name]
    if release.kind == "candidates":
        return _sets(release)
    if release.kind == PLAIN:
        known = [column.name for column in columns]
        codes = [codes_of([core_of(rows[name])])[0] for name in known] or [np.zeros(rows.height, np.int64)]
        alike = rows.with_columns(pl.Series(GROUP, dense(codes)))
        return _linked(alike, [column.name for column in info.columns if column.name not in known])
    if release.kind == "generalized" and release.manifest.parameters.get("linked", True):
        return _linked(rows, [*info.names("sensitive"), *info.names("plain")])
    return _shared(release)


def _linked(rows: pl.DataFrame, attributes: list[str]) -> _Source:
    """Rows with their values beside them."""

    def held(names: tuple[str, ...], groups: pl.Series | None, code: Code) -> Iterator[Held]:
        some = rows if groups is None else rows.filter(pl.col(GROUP).is_in(groups.implode()))
        if names:
            codes = [code(name, some[name]) for name in names]
            yield Held(GROUP, names, some.select(pl.col(GROUP).alias(AT), *codes, pl.lit(1.0).alias(PEOPLE)))

    return _Source(rows, attributes, lambda name: rows[name], held)


def _shared(release: Release) -> _Source:
    """Groups whose rows share values out, as `estimate` reads them."""
    info, infos = rows_of(release), attributes_of(release)

    def values(name: str) -> pl.Series:
        (block,) = blocks_of(release, (name,))
        return values_of(block.values.columns[name], infos[name])

    def held(names: tuple[str, ...], groups: pl.Series | None, code: Code) -> Iterator[Held]:
        part = release
        if groups is not None and release.kind == "decomposed":  # all combinations of values may be many
            part = _with_groups(release, lambda rows: rows.filter(pl.col(GROUP).is_in(groups.implode())))
        for block in blocks_of(part, names):
            inside = tuple(name for name in names if name in block.values.columns)
            group = slice_of(inside[0], release).replace("slice", "group") or GROUP
            numbers = part.tables[info.name][group].drop_nulls().unique().sort()
            asked = numbers.is_in((numbers if groups is None else groups).implode())
            at = np.repeat(np.arange(block.groups.count), np.diff(block.starts))
            kept = np.flatnonzero(np.append(asked, False)[at])  # rows that are marked come last
            frame = {AT: numbers.gather(at[kept]), PEOPLE: pl.Series(block.counts[kept])}
            for name in inside:
                line = block.values.codes[block.values.line_of[name]]
                frame[name] = code(name, values_of(block.values.columns[name], infos[name])).gather(line[kept])
            yield Held(group, inside, pl.DataFrame(frame))

    attributes = [name for name in secrets_of(release) if name not in info.names("quasi")]
    return _Source(release.tables[info.name], attributes, values, held)


def rows_of(release: Release) -> TableInfo:
    """The table that has a row for each person."""
    return next(info for info in release.manifest.tables if info.name in ("quasi", "microdata", ROWS))


def blocks_of(release: Release, names: tuple[str, ...]) -> Sequence[Block]:
    """What groups say of some attributes, those that stand side by side together."""
    estimator = estimator_of(release)
    assert isinstance(estimator, Grouped)
    return estimator.blocks(names) if names else ()


def slice_of(attribute: str, release: Release) -> str:
    """The slice that tells of an attribute, if there are slices."""
    for info in release.manifest.tables:
        if info.name.startswith("slice_"):
            apart = release.tables[info.name]["attribute"].unique().to_list() if info.named("attribute") else []
            if attribute in [*info.names("sensitive"), *apart]:
                return info.name
    return ""


def values_of(column: Column, info: ColumnInfo) -> pl.Series:
    """What the codes of a column that shows values, or bins, stand for."""
    if isinstance(column, Bins):
        return pl.Series([str((info.domain or ())[line]) for line in column.line], dtype=pl.String)
    assert isinstance(column, Exact)
    values = pl.Series(column.values if isinstance(column.values, np.ndarray) else list(column.values))
    values = values.cast(pl.String) if info.type == "text" else values
    return values.extend_constant(None, 1) if column.missing else values


def _sets(release: Release) -> _Source:
    """Rows with sets: each is a group of its own."""
    estimator = estimator_of(release)
    assert isinstance(estimator, Candidates)
    drawn = estimator.drawn

    def held(names: tuple[str, ...], groups: pl.Series | None, code: Code) -> Iterator[Held]:
        for name in names:
            sets, design = drawn[name].sets, drawn[name].design
            at = np.arange(len(sets)) if groups is None else groups.unique().sort().to_numpy()
            values = code(name, design.series).gather(sets[at].ravel())
            frame = {AT: np.repeat(at, design.l), name: values, PEOPLE: weighed(sets, design)[at].ravel()}
            yield Held(GROUP, (name,), pl.DataFrame(frame))

    rows = release.tables["microdata"].with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(GROUP))
    return _Source(rows, [*drawn], lambda name: drawn[name].design.series, held)


def weighed(sets: npt.NDArray[np.int32], design: Design) -> npt.NDArray[np.float64]:
    """How likely each member of each set is the true one, by how common values are.

    That is as a calibrated design states it, or as uniform sets make likeliest.
    """
    if design.counts is not None:
        shares = design.counts / design.counts.sum()
    else:
        shares = likeliest(sets, design.weight, np.full(design.m, 1 / design.m), steps=STEPS)
    return np.asarray(posteriors(sets.astype(np.int64), shares, design.weight))


# columns as codes -----------------------------------------------------------------------------------------------


def core_of(values: pl.Series, *, fold_case: bool = True) -> pl.Series:
    """Numbers as they are, text in one spelling; quick where few texts are different."""
    if values.dtype != pl.String:
        return values.cast(pl.Float64)
    texts = values.unique().drop_nulls()
    places = values.cast(pl.Enum(texts)).to_physical()
    return cores(texts, fold_case=fold_case).gather(places) if texts.len() else values


def codes_of(columns: Sequence[pl.Series]) -> list[Numbers]:
    """The values of several columns as places among all of them; missing is one of them.

    >>> [codes.tolist() for codes in codes_of([pl.Series(["b", None]), pl.Series(["a", "b"])])]
    [[1, 2], [0, 1]]
    """
    every = pl.concat([column.unique() for column in columns]).unique().drop_nulls().sort()
    out = []
    for column in columns:
        if column.dtype == pl.String:
            places = column.cast(pl.Enum(every)).to_physical().cast(pl.Int64)
        else:
            places = every.search_sorted(column.fill_null(0.0)).cast(pl.Int64).set(column.is_null(), None)
        out.append(places.fill_null(every.len()).to_numpy().astype(np.int64))
    return out


def dense(columns: Sequence[Numbers]) -> Numbers:
    """A number from 0 for each row, the same for rows that agree in all columns.

    >>> dense([np.array([5, 5, 7]), np.array([1, 2, 1])]).tolist()
    [0, 1, 2]
    """
    packed = np.zeros(columns[0].size, np.int64)
    for column in columns:
        size = int(column.max(initial=0)) + 1
        if int(packed.max(initial=0)) >= 2**62 // size:
            packed = np.unique(packed, return_inverse=True)[1].astype(np.int64)
        packed = packed * size + column
    return np.unique(packed, return_inverse=True)[1].astype(np.int64)
