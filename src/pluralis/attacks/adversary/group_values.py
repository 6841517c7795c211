"""Group values: how a release of each kind is read, its rows with their groups, and the values that groups hold.

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

from pluralis.attacks.adversary.candidate_rows import row_numbers, shared_codes
from pluralis.attacks.adversary.knowledge import sensitive_attributes
from pluralis.estimate import estimator_of
from pluralis.estimate.group_counts import Block, Grouped
from pluralis.estimate.kinds.candidates import Candidates
from pluralis.estimate.label_distribution import Bins, Column, Exact, Ordered
from pluralis.grouping.addition import Design, likeliest, posteriors
from pluralis.kernels.sums import sums_by_kind
from pluralis.release.attributes import attributes_of
from pluralis.release.manifest import ColumnInfo, TableInfo
from pluralis.release.original import original_values
from pluralis.release.release import GROUP, Release
from pluralis.release.subtables import PLAIN, ROWS, Subtable, subtables
from pluralis.table.dictionaries import different_values
from pluralis.table.labels import number_text, number_texts
from pluralis.table.spelling import cores

Ints = npt.NDArray[np.int64]

GROUP_ID, PEOPLE, SHARE = "\0group", "\0people", "\0share"
SETS = 1 << 16  # that are weighed at a time
STEPS = 300  # by which the likeliest shares of values are found


class GroupValues(NamedTuple):
    """Values that the rows of groups hold side by side.

    `rows` has GROUP_ID, a column of codes for each attribute, and PEOPLE: how many, or how likely. `group` is the
    column, of the rows of the view, that tells the group.
    """

    group: str
    attributes: tuple[str, ...]
    rows: pl.DataFrame

    def shares(self, names: Sequence[str], given: Sequence[str] = ()) -> pl.DataFrame:
        """GROUP_ID, what is `given`, these attributes, PEOPLE and SHARE: of the people of the group who have that."""
        same = [GROUP_ID, *given]
        counts = added_up(self.rows, [*same, *names])
        kind = row_numbers((different_values(counts[name])[1] for name in same), counts.height)
        people = counts[PEOPLE].to_numpy()
        totals = sums_by_kind(kind, people, int(kind.max(initial=-1)) + 1)
        return counts.with_columns(pl.Series(SHARE, people / totals[kind]))


def added_up(rows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """The different rows by some columns, in their order, with their PEOPLE: sorted, which takes little memory."""
    kind = row_numbers((different_values(rows[name])[1] for name in names), rows.height)
    first = np.empty(int(kind.max(initial=-1)) + 1, np.int64)
    first[kind[::-1]] = np.arange(rows.height - 1, -1, -1)
    people = sums_by_kind(kind, rows[PEOPLE].to_numpy(), first.size)
    return rows.select(names)[first].with_columns(pl.Series(PEOPLE, people))


@dataclass(frozen=True, eq=False)
class Domain:
    """The published values of an attribute in one spelling, in order; codes are their places."""

    keys: pl.Series
    texts: pl.Series
    keep_case: bool

    @classmethod
    def published(cls, values: Iterable[pl.Series], info: ColumnInfo, keep_case: bool) -> Domain:
        texts = pl.concat([_as_text(series.unique().drop_nulls(), info) for series in values]).unique()
        spelled = pl.DataFrame({"key": cores(texts, fold_case=not keep_case), "text": texts})
        spelled = spelled.group_by("key").agg(pl.col("text").min()).sort("key")
        return cls(spelled["key"], spelled["text"], keep_case)

    def codes(self, values: pl.Series, info: ColumnInfo) -> pl.Series:
        """The place of each value, -1 where it is missing or not published."""
        different, places = different_values(values)
        keys = cores(_as_text(different, info), fold_case=not self.keep_case).to_frame("key")
        every = self.keys.to_frame("key").with_row_index("place")
        codes = keys.join(every, on="key", how="left", maintain_order="left")["place"].cast(pl.Int32).fill_null(-1)
        return codes.gather(places)


def _as_text(values: pl.Series, info: ColumnInfo) -> pl.Series:
    """Numbers as they are written, also where text stands for one."""
    if values.dtype.is_numeric():
        return number_texts(values)
    texts = values.cast(pl.String)
    if info.type == "number":
        numbers = texts.cast(pl.Float64, strict=False).to_list()
        texts = pl.Series([t if n is None else number_text(n) for t, n in zip(texts, numbers, strict=True)])
    return texts.cast(pl.String)


Reading = Callable[[tuple[str, ...], pl.Series | None], list[GroupValues]]
Code = Callable[[str, pl.Series], pl.Series]


@dataclass(frozen=True, eq=False)
class TableView:
    """A table with a row for each person, and what the groups of its rows hold.

    `columns` are those by which a person's row is found, `groups` those that tell groups. `group_values(names, groups)`
    are the fewest that tell of some attributes, of these groups or of all.
    """

    name: str
    release: Release
    columns: tuple[ColumnInfo, ...]
    rows: pl.DataFrame
    groups: list[str]
    attributes: frozenset[str]
    group_values: Reading
    domain: Callable[[str], Domain]

    @property
    def whole(self) -> bool:
        """Whether it is one of several tables, and nothing is known of it."""
        return bool(self.name) and not self.columns

    def group_words(self, column: str, group: int) -> list[str]:
        """A group in words."""
        if self.whole:
            return ["the whole column"]
        if column != GROUP:
            return [f"slice_{column.removeprefix('group_')}", f"group {group}"]
        if not self.release.traits.has_groups:  # these groups are ours, and not in the table
            row = self.rows.filter(pl.col(GROUP) == group).row(0, named=True)
            return [f"{column.name} = {row[column.name]}" for column in self.columns]
        return [f"group {group}"]

    def true_codes(self, original: pl.DataFrame, name: str) -> pl.Series:
        """The codes of an attribute in the original."""
        info = attributes_of(self.release)[name]
        return self.domain(name).codes(original_values(original, info, self.release.manifest, in_codes=True), info)


def table_views(release: Release, knows: Iterable[str]) -> list[TableView]:
    """What a release tells to whoever knows these attributes: one view, or one for each table of a `multi` release."""
    known = {*knows}
    if release.traits.has_subtables:
        return [view for part in subtables(release) for view in _subtable_views(part, known)]
    return [_view("", release, known)]


def _subtable_views(part: Subtable, known: set[str]) -> Iterator[TableView]:
    """What its groups hide, and what it shows openly."""
    yield _view(part.name, part.release, known)
    shown = tuple(column for column in part.rows.columns if column.role == "quasi" and column.exact)
    if part.release.traits.has_groups and len(shown) > 1:
        rows = part.release.tables[part.rows.name].select(column.name for column in shown)
        info = part.rows.model_copy(update={"name": ROWS, "columns": shown})
        manifest = part.release.manifest.model_copy(update={"kind": PLAIN, "tables": (info,)})
        yield _view(part.name, Release(manifest, {ROWS: rows}), known)


def _view(name: str, release: Release, known: set[str]) -> TableView:
    info = person_table(release)
    columns = tuple(c for c in info.named("quasi") if (c.attribute or c.name) in known)
    infos, keep = attributes_of(release), release.manifest.parameters.case
    if name and not columns:
        release = _with_groups(release, lambda rows: rows.with_columns(pl.lit(0, pl.Int64).alias(GROUP)))
    source = _source(release, columns)

    @cache
    def domain(name: str) -> Domain:
        return Domain.published([source.values(name)], infos[name], name in keep)

    def code(name: str, values: pl.Series) -> pl.Series:
        return domain(name).codes(values, infos[name]).alias(name)

    def group_values(names: tuple[str, ...], groups: pl.Series | None) -> list[GroupValues]:
        return [*source.group_values(tuple(name for name in names if name in source.attributes), groups, code)]

    groups = info.names("group") or [GROUP]
    return TableView(name, release, columns, source.rows, groups, frozenset(source.attributes), group_values, domain)


class _Source(NamedTuple):
    """The rows of a release with their groups, which attributes groups tell of, and all values of one of them.

    `group_values(names, groups, code)` are the fewest that tell of some attributes; `code(name, values)` are codes.
    """

    rows: pl.DataFrame
    attributes: list[str]
    values: Callable[[str], pl.Series]
    group_values: Callable[[tuple[str, ...], pl.Series | None, Code], Iterator[GroupValues]]


def _with_groups(release: Release, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Release:
    """A release whose tables that tell of groups are changed."""
    tables = {name: change(rows) if GROUP in rows.columns else rows for name, rows in release.tables.items()}
    rows = tables[person_table(release).name].height
    return Release(release.manifest.model_copy(update={"rows": rows}), tables)


def _source(release: Release, columns: Sequence[ColumnInfo]) -> _Source:
    info = person_table(release)
    rows = release.tables[info.name]
    if release.traits.lists_values:
        return _sets(release)
    if not release.traits.has_groups:
        known = [column.name for column in columns]
        codes = (shared_codes([rows[name]])[0] for name in known)
        alike = rows.with_columns(pl.Series(GROUP, row_numbers(codes, rows.height), dtype=pl.Int64))
        return _linked(alike, [column.name for column in info.columns if column.name not in known])
    if release.traits.sensitive_in_rows and release.manifest.parameters.linked:
        return _linked(rows, [*info.names("sensitive"), *info.names("plain")])
    return _shared(release)


def _linked(rows: pl.DataFrame, attributes: list[str]) -> _Source:
    """Rows with their values beside them."""

    def group_values(names: tuple[str, ...], groups: pl.Series | None, code: Code) -> Iterator[GroupValues]:
        some = rows if groups is None else rows.filter(pl.col(GROUP).is_in(groups.implode()))
        if names:
            codes = [code(name, some[name]) for name in names]
            values = some.select(pl.col(GROUP).alias(GROUP_ID), *codes, pl.lit(1.0).alias(PEOPLE))
            yield GroupValues(GROUP, names, values)

    return _Source(rows, attributes, lambda name: rows[name], group_values)


def _shared(release: Release) -> _Source:
    """Groups whose rows share values out, as `estimate` reads them."""
    info, infos = person_table(release), attributes_of(release)

    def values(name: str) -> pl.Series:
        (block,) = group_blocks(release, (name,))
        return value_series(block.values.columns[name], infos[name])

    def group_values(names: tuple[str, ...], groups: pl.Series | None, code: Code) -> Iterator[GroupValues]:
        part = release
        if groups is not None and release.traits.lists_of_groups:  # all combinations of values may be many
            part = _with_groups(release, lambda rows: rows.filter(pl.col(GROUP).is_in(groups.implode())))
        for block in group_blocks(part, names):
            inside = tuple(name for name in names if name in block.values.columns)
            group = slice_of(inside[0], release).replace("slice", "group") or GROUP
            numbers = part.tables[info.name][group].drop_nulls().unique().sort()
            asked = numbers.is_in((numbers if groups is None else groups).implode())
            place = entry_groups(block)
            kept = np.flatnonzero(np.append(asked, False)[place])  # rows that are marked come last
            frame = {GROUP_ID: numbers.gather(place[kept]), PEOPLE: pl.Series(block.counts[kept])}
            for name in inside:
                line = block.values.codes[block.values.line_of[name]]
                frame[name] = code(name, value_series(block.values.columns[name], infos[name])).gather(line[kept])
            yield GroupValues(group, inside, pl.DataFrame(frame))

    attributes = [name for name in sensitive_attributes(release) if name not in info.names("quasi")]
    return _Source(release.tables[info.name], attributes, values, group_values)


def person_table(release: Release) -> TableInfo:
    """The table that has a row for each person."""
    return next(info for info in release.manifest.tables if info.name in ("quasi", "microdata", ROWS))


def group_blocks(release: Release, names: tuple[str, ...]) -> Sequence[Block]:
    """What groups say of some attributes, those that stand side by side together."""
    estimator = estimator_of(release)
    assert isinstance(estimator, Grouped)
    return estimator.blocks(names) if names else ()


def entry_groups(block: Block) -> Ints:
    """The place of the group of each entry of a block."""
    return np.repeat(np.arange(block.groups.count), np.diff(block.starts))


def slice_of(attribute: str, release: Release) -> str:
    """The slice that tells of an attribute, if there are slices."""
    for info in release.manifest.tables:
        if info.name.startswith("slice_"):
            apart = release.tables[info.name]["attribute"].unique().to_list() if info.named("attribute") else []
            if attribute in [*info.names("sensitive"), *apart]:
                return info.name
    return ""


def value_series(column: Column, info: ColumnInfo) -> pl.Series:
    """What the codes of a column that shows values, or bins, stand for."""
    if isinstance(column, Bins):
        return pl.Series([str((info.domain or ())[line]) for line in column.line], dtype=pl.String)
    assert isinstance(column, Exact | Ordered)
    values = pl.Series(column.values if isinstance(column.values, np.ndarray) else list(column.values))
    values = values.cast(pl.String) if info.type == "text" else values
    return values.extend_constant(None, 1) if column.missing else values


def _sets(release: Release) -> _Source:
    """Rows with sets: each is a group of its own."""
    estimator = estimator_of(release)
    assert isinstance(estimator, Candidates)
    drawn = estimator.drawn

    def group_values(names: tuple[str, ...], groups: pl.Series | None, code: Code) -> Iterator[GroupValues]:
        for name in names:
            sets, design = drawn[name].sets, drawn[name].design
            rows = np.arange(len(sets)) if groups is None else groups.unique().sort().to_numpy()
            likely = posteriors(sets[rows], shares(name), design.weight)
            yield set_values(name, rows, sets[rows], likely, code(name, design.series))

    @cache
    def shares(name: str) -> npt.NDArray[np.float64]:
        return set_shares(drawn[name].sets, drawn[name].design)

    rows = release.tables["microdata"].with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(GROUP))
    return _Source(rows, [*drawn], lambda name: drawn[name].design.series, group_values)


def set_values(
    name: str, rows: Ints, sets: npt.NDArray[np.int32], likely: npt.NDArray[np.float64], codes: pl.Series
) -> GroupValues:
    """The sets of some rows as what groups hold: how likely each member is, which has one of these codes."""
    values = codes.gather(sets.ravel())
    frame = {GROUP_ID: np.repeat(rows, sets.shape[1]), name: values, PEOPLE: likely.ravel()}
    return GroupValues(GROUP, (name,), pl.DataFrame(frame))


def set_shares(sets: npt.NDArray[np.int32], design: Design) -> npt.NDArray[np.float64]:
    """How common each value is: as a calibrated design states it, or as uniform sets make likeliest."""
    if design.counts is not None:
        return np.asarray(design.counts / design.counts.sum())
    return np.asarray(likeliest(sets, design.weight, np.full(design.m, 1 / design.m), steps=STEPS))


def set_posteriors(sets: npt.NDArray[np.int32], design: Design) -> Iterator[npt.NDArray[np.float64]]:
    """How likely each member of each set is the true one, by how common values are; some sets at a time."""
    shares = set_shares(sets, design)
    for begin in range(0, len(sets), SETS):
        yield posteriors(sets[begin : begin + SETS], shares, design.weight)
