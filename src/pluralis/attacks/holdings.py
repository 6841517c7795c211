"""How a release of each kind is read: rows with their groups, and the values that groups hold.

generalized    the sensitive (and, linked, plain) columns of a group's rows, side by side if linked, else each alone
bucketized     `sensitive`, side by side or attribute by attribute; sliced: the same for every slice
decomposed     the sets of a group, weighed as `estimate.decomposed` does
candidates     every row is a group of its own. Its set is weighed by how it was drawn and by how common values are:
               as stated, or, of uniform sets, as all sets together make likeliest
multi          each table as one of these. What a table shows openly is hidden by nothing: people who share what is
               known are a group. Of a table of which nothing is known, all rows are one
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.addition import likeliest, posteriors
from pluralis.audit.boxes import core
from pluralis.errors import ReleaseError
from pluralis.estimate import decomposed
from pluralis.estimate.attributes import attributes_of
from pluralis.estimate.candidates import Candidates
from pluralis.estimate.subtables import PLAIN, ROWS, Subtable, subtables
from pluralis.labels import number_text
from pluralis.original import original_values
from pluralis.release import GROUP, ColumnInfo, Release
from pluralis.spelling import cores

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
        return pl.Series([number_text(value) for value in values.to_list()], dtype=pl.String)
    texts = values.cast(pl.String)
    if info.type == "number":
        numbers = texts.cast(pl.Float64, strict=False).to_list()
        texts = pl.Series([t if n is None else number_text(n) for t, n in zip(texts, numbers, strict=True)])
    return texts.cast(pl.String)


Holding = Callable[[tuple[str, ...], pl.Series | None], list[Held]]


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
    table = {"generalized": "microdata", "candidates": "microdata", PLAIN: ROWS}.get(release.kind, "quasi")
    columns = tuple(c for c in release.info(table).named("quasi") if (c.attribute or c.name) in known)
    infos, keep = attributes_of(release), release.manifest.parameters.get("case", [])
    source = _SOURCES[release.kind](release, columns, bool(name))

    @cache
    def domain(attribute: str) -> Domain:
        return Domain.of(source.values(attribute), infos[attribute], attribute in keep)

    def holding(names: tuple[str, ...], groups: pl.Series | None = None) -> list[Held]:
        held = []
        for group, frame in source.held(tuple(name for name in names if name in source.attributes), groups):
            mine = [name for name in frame.columns if name not in (AT, PEOPLE)]
            codes = [domain(name).codes(frame[name], infos[name]).alias(name) for name in mine]
            held.append(Held(group, tuple(mine), frame.select(AT, PEOPLE).with_columns(codes)))
        return held

    rows = source.rows(release.tables[table])
    groups = [c.name for c in release.info(table).named("group")] or [GROUP]
    return View(name, release, columns, rows, groups, frozenset(source.attributes), holding, domain)


class _Source(ABC):
    """Where a kind of release keeps what groups hold; `beside` says that it is one of several tables."""

    attributes: Sequence[str]

    def __init__(self, release: Release, columns: Sequence[ColumnInfo], beside: bool) -> None:
        self.release, self.columns, self.tables = release, columns, release.tables
        self.whole = beside and not columns

    def rows(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows of a table with their groups."""
        return rows.with_columns(pl.lit(0, pl.Int64).alias(GROUP)) if self.whole else rows

    def picked(self, table: str, groups: pl.Series | None) -> pl.DataFrame:
        rows = self.rows(self.tables[table])
        return rows if groups is None else rows.filter(pl.col(GROUP).is_in(groups.implode()))

    def values(self, attribute: str) -> list[pl.Series]:
        """All that is published of an attribute."""
        return [frame[attribute] for _, frame in self.held((attribute,), None)]

    @abstractmethod
    def held(self, names: tuple[str, ...], groups: pl.Series | None) -> Iterator[tuple[str, pl.DataFrame]]:
        """(column of groups, AT and attributes side by side and PEOPLE) that tell of these attributes."""


class _Generalized(_Source):
    def __init__(self, release: Release, columns: Sequence[ColumnInfo], beside: bool) -> None:
        super().__init__(release, columns, beside)
        info = release.info("microdata")
        self.linked = bool(release.manifest.parameters.get("linked", True))
        self.attributes = [*info.names("sensitive"), *(info.names("plain") if self.linked else [])]

    def held(self, names: tuple[str, ...], groups: pl.Series | None) -> Iterator[tuple[str, pl.DataFrame]]:
        rows = self.picked("microdata", groups)
        for some in [names] if self.linked and names else [(name,) for name in names]:
            yield GROUP, rows.select(pl.col(GROUP).alias(AT), *some, pl.lit(1.0).alias(PEOPLE))


class _Plain(_Source):
    def __init__(self, release: Release, columns: Sequence[ColumnInfo], beside: bool) -> None:
        super().__init__(release, columns, beside)
        known = {column.name for column in columns}
        self.attributes = [c.name for c in release.info(ROWS).columns if c.name not in known]

    @cached_property
    def alike(self) -> pl.Series:
        rows = self.tables[ROWS]
        columns = [codes_of([core_of(rows[column.name])])[0] for column in self.columns]
        return pl.Series(dense(columns) if columns else np.zeros(rows.height, np.int64))

    def rows(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.with_columns(self.alike.alias(GROUP))

    def held(self, names: tuple[str, ...], groups: pl.Series | None) -> Iterator[tuple[str, pl.DataFrame]]:
        if names:
            yield GROUP, self.picked(ROWS, groups).select(pl.col(GROUP).alias(AT), *names, pl.lit(1.0).alias(PEOPLE))


class _Counted(_Source):
    """Groups with the counts of their values, in `sensitive` or in slices."""

    def __init__(self, release: Release, columns: Sequence[ColumnInfo], beside: bool) -> None:
        super().__init__(release, columns, beside)
        self.table_of: dict[str, str] = {}
        for info in release.manifest.tables:
            if info.name == "sensitive" or info.name.startswith("slice_"):
                inside = info.names("sensitive") or self.tables[info.name]["attribute"].unique(maintain_order=True)
                self.table_of |= {str(name): info.name for name in inside}
        self.attributes = list(self.table_of)

    def held(self, names: tuple[str, ...], groups: pl.Series | None) -> Iterator[tuple[str, pl.DataFrame]]:
        for table in dict.fromkeys(self.table_of[name] for name in names):
            sliced = table.startswith("slice_")
            picked = self.picked(table, None if sliced else groups)
            mine = tuple(name for name in names if self.table_of[name] == table)
            apart = self.release.info(table).named("attribute")
            for some in [(name,) for name in mine] if apart else [mine]:
                one = picked.filter(pl.col("attribute") == some[0]).rename({"value": some[0]}) if apart else picked
                people = pl.col("count").cast(pl.Float64).alias(PEOPLE)
                group = f"group_{table.removeprefix('slice_')}" if sliced else GROUP
                yield group, one.select(pl.col(GROUP).alias(AT), *some, people)


class _Decomposed(_Source):
    def __init__(self, release: Release, columns: Sequence[ColumnInfo], beside: bool) -> None:
        super().__init__(release, columns, beside)
        self.attributes = secrets_of(release)

    def values(self, attribute: str) -> list[pl.Series]:
        values = self.tables["values"]
        return [values.filter(pl.col("attribute") == attribute)["value"]]

    def held(self, names: tuple[str, ...], groups: pl.Series | None) -> Iterator[tuple[str, pl.DataFrame]]:
        some = {name: self.picked(name, groups) if GROUP in t.columns else t for name, t in self.tables.items()}
        numbers = some["quasi"][GROUP].unique().sort()
        for block in decomposed.prepare(Release(self.release.manifest, some)).blocks(names) if names else ():
            at = np.repeat(np.arange(block.starts.size - 1), np.diff(block.starts))
            frame = {AT: numbers.gather(at), PEOPLE: pl.Series(block.counts)}
            for name, line in block.values.line_of.items():
                frame[name] = _meaning(block.values.columns[name], name).gather(block.values.codes[line])
            yield GROUP, pl.DataFrame(frame)


def _meaning(column: object, name: str) -> pl.Series:
    """What the codes of a column of values stand for."""
    values = getattr(column, "values", None)
    if values is not None:
        return pl.Series(values)
    low, high = getattr(column, "low", None), getattr(column, "high", None)
    if low is None or high is None:
        raise ReleaseError(f"{name!r} is published in a way that no value can be told from. Ask for it again.")
    ends = zip(low.tolist(), high.tolist(), strict=True)
    return pl.Series([f"[{number_text(a)}, {number_text(b)}]" for a, b in ends], dtype=pl.String)


class _Candidates(_Source):
    def __init__(self, release: Release, columns: Sequence[ColumnInfo], beside: bool) -> None:
        super().__init__(release, columns, beside)
        self.attributes = release.info("microdata").names("sensitive")
        estimator = release.estimator
        assert isinstance(estimator, Candidates)
        self.drawn = estimator.drawn

    def rows(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(GROUP))

    def values(self, attribute: str) -> list[pl.Series]:
        return [self.drawn[attribute].design.series]

    def held(self, names: tuple[str, ...], groups: pl.Series | None) -> Iterator[tuple[str, pl.DataFrame]]:
        for name in names:
            sets, design = self.drawn[name].sets, self.drawn[name].design
            shares = common(sets, design.weight, design.counts)
            at = np.arange(len(sets)) if groups is None else groups.unique().sort().to_numpy()
            likely = posteriors(sets[at].astype(np.int64), shares, design.weight)
            frame = {AT: np.repeat(at, design.l), name: design.series.gather(sets[at].ravel()), PEOPLE: likely.ravel()}
            yield GROUP, pl.DataFrame(frame)


def common(
    sets: npt.NDArray[np.int32], weight: npt.NDArray[np.float64], counts: Numbers | None
) -> npt.NDArray[np.float64]:
    """How common values are: as a calibrated design states, or as uniform sets make likeliest."""
    if counts is not None:
        return np.asarray(counts / counts.sum())
    return np.asarray(likeliest(sets, weight, np.full(weight.size, 1 / weight.size), steps=STEPS))


_SOURCES: dict[str, type[_Source]] = {
    "generalized": _Generalized,
    "bucketized": _Counted,
    "sliced": _Counted,
    "decomposed": _Decomposed,
    "candidates": _Candidates,
    PLAIN: _Plain,
}


# columns as codes -----------------------------------------------------------------------------------------------


def core_of(values: pl.Series) -> pl.Series:
    """Numbers as they are, text in one spelling; quick where few texts are different."""
    if values.dtype != pl.String:
        return values.cast(pl.Float64)
    texts = values.unique().drop_nulls()
    return core(texts).gather(values.cast(pl.Enum(texts)).to_physical()) if texts.len() else values


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
