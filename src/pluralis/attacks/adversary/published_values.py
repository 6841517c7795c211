"""Published values: what the tables of a release say of each sensitive attribute, as arrays.

Rows say something of a sensitive attribute through their group: the values that its rows share out, or the values of a
set (`PublishedValues`); or what an attack makes of each row (`RowShares`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.adversary.group_values import entry_groups, group_blocks, person_table, value_series
from pluralis.estimate import estimator_of
from pluralis.estimate.group_counts import CodedColumns
from pluralis.estimate.kinds.candidates import Candidates
from pluralis.kernels.expect import DRAWN
from pluralis.release.attributes import attributes_of, holds_bins
from pluralis.release.manifest import ColumnInfo, Manifest
from pluralis.release.original import comparable, original_values
from pluralis.release.release import Release
from pluralis.release.subtables import ROWS, subtables
from pluralis.table.dictionaries import different_numbers, different_values

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PublishedValues:
    """What one table says of one sensitive attribute.

    Row r of `shown` is in group `group_of[r]`, and the entries of group g stand at `starts[g]` to `starts[g + 1]`:
    values[code] with a count; `handing` is how each group hands values out, as `told` in kernels.expect. `rows` is what
    rows show as codes, where they share values out.
    """

    info: ColumnInfo
    manifest: Manifest
    shown: pl.DataFrame
    infos: Mapping[str, ColumnInfo]
    group_of: Codes
    starts: Ints
    code: Codes
    count: Reals
    handing: npt.NDArray[np.uint8]
    values: pl.Series
    table: str = ""
    rows: CodedColumns | None = None

    @property
    def attribute(self) -> str:
        return self.info.name

    @property
    def quasi(self) -> list[str]:
        """The columns that rows show and whoever looks for a person may know."""
        return [name for name in self.shown.columns if self.infos[name].role != "plain"]

    @property
    def entry_group(self) -> Ints:
        """The group of each entry."""
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))

    @cached_property
    def share(self) -> Reals:
        """How much of its group each entry is."""
        totals = np.bincount(self.entry_group, self.count, self.starts.size - 1)
        shares: Reals = self.count / np.repeat(totals, np.diff(self.starts))
        return shares

    @cached_property
    def group_rows(self) -> Ints:
        """How many rows each group has."""
        return np.bincount(self.group_of, minlength=self.starts.size - 1)

    @cached_property
    def prior(self) -> Reals:
        """How common each value is in all rows."""
        rows = self.group_rows[self.entry_group]
        shares: Reals = np.bincount(self.code, rows * self.share, self.values.len()) / max(1, self.group_of.size)
        return shares

    @property
    def squares(self) -> Reals:
        """For each group how often a value drawn from it is that of a row drawn from it."""
        entries = pl.DataFrame({"group": self.entry_group, "code": self.code, "share": self.share})
        entries = entries.group_by("group", "code").agg(pl.col("share").sum())
        squares = np.bincount(entries["group"].to_numpy(), entries["share"].to_numpy() ** 2, self.starts.size - 1)
        return np.asarray(squares, np.float64)

    def true_codes(self, original: pl.DataFrame) -> Codes:
        """The code of everybody's true value; -1 where the table does not have it."""
        fold = self.attribute not in self.manifest.parameters.case
        different, place = different_values(original_values(original, self.info, self.manifest, in_codes=True))
        true = comparable(different, fold_case=fold)
        known = comparable(self.values, fold_case=fold).to_frame("value").with_row_index("code")
        known = known.unique("value", keep="first")
        if true.dtype != known["value"].dtype:
            known, true = known.with_columns(pl.col("value").cast(pl.String)), true.cast(pl.String)
        coded = true.to_frame("value").join(known, on="value", how="left", nulls_equal=True, maintain_order="left")
        return coded["code"].cast(pl.Int32).fill_null(-1).to_numpy()[place]


def published_values(release: Release, *, sets: bool = True, merged: bool = True) -> list[PublishedValues]:
    """All that a release says of its sensitive attributes; without `sets`, only what groups of rows share.

    Where rows have their own values, or several attributes stand side by side, a value may have several entries in a
    group: they are `merged`, or stand as they are published.
    """
    if release.traits.has_subtables:
        return [
            replace(published, table=part.name)
            for part in subtables(release)
            for published in (
                published_values(part.release, merged=merged)
                if part.release.traits.has_groups
                else _values_as_they_are(part.release)
            )
            if sets or part.release.traits.has_groups
        ]
    if release.traits.lists_values:
        return [*_values_of_sets(release)] if sets else []
    return [*_values_of_groups(release, merged)]


def _values_of_groups(release: Release, merged: bool) -> Iterator[PublishedValues]:
    """Groups and the values that their rows share out."""
    release = _unlinked(release)
    infos, shown = attributes_of(release), _shown_columns(release)
    for name in release.manifest.parameters.l:
        if name not in infos or name in shown.columns:
            continue
        (block,) = group_blocks(release, (name,))
        entries = Entries(entry_groups(block), block.values.codes[block.values.line_of[name]], block.counts)
        if merged:
            entries = entries.merged()
        yield PublishedValues(
            info=infos[name],
            manifest=release.manifest,
            shown=shown,
            infos=infos,
            group_of=block.groups.of_row,
            starts=np.searchsorted(entries.group, np.arange(block.groups.count + 1)).astype(np.int64),
            code=entries.code.astype(np.int32),
            count=entries.rows.astype(np.float64),
            handing=block.assignment,
            values=value_series(block.values.columns[name], infos[name]),
            rows=block.groups.rows,
        )


def _unlinked(release: Release) -> Release:
    """The same without what stands side by side, kept with the release; its estimator is made once.

    Which of the values of its group is a row's own says no more of whoever looks for a person.
    """
    if not release.traits.sensitive_in_rows or not release.manifest.parameters.linked:
        return release
    kept = vars(release)
    if "_unlinked" not in kept:
        parameters = release.manifest.parameters.model_copy(update={"linked": False})
        manifest = release.manifest.model_copy(update={"parameters": parameters})
        kept["_unlinked"] = Release(manifest, release.tables)
    unlinked: Release = kept["_unlinked"]
    return unlinked


class Entries(NamedTuple):
    """The values that groups hold: the group, the code and the rows of each, in order of groups."""

    group: Ints
    code: npt.NDArray[np.integer]
    rows: Reals

    def merged(self) -> Entries:
        """The same with one entry for each value of a group, in order of codes; as they are, if none stands twice.

        >>> two = Entries(np.array([0, 0, 1]), np.array([3, 3, 2]), np.array([1.0, 4.0, 2.0]))
        >>> [part.tolist() for part in two.merged()]
        [[0, 1], [3, 2], [5.0, 2.0]]
        """
        width = int(self.code.max(initial=0)) + 1
        packed = self.group * width + self.code
        different, place = different_numbers(packed)
        if different.size == packed.size:
            return self
        rows = np.bincount(place, self.rows)
        group, code = np.divmod(different, width)
        return Entries(group, code, np.asarray(rows, np.float64))


def _shown_columns(release: Release) -> pl.DataFrame:
    """What each row shows as it is, or as a label."""
    info = person_table(release)
    return release.tables[info.name].select(c.name for c in info.columns if c.role in ("quasi", "plain"))


def _values_of_sets(release: Release) -> Iterator[PublishedValues]:
    """Rows with sets of their own, whose values are weighed by how common they are in all sets."""
    estimator = estimator_of(release)
    assert isinstance(estimator, Candidates)
    for name, drawn in estimator.drawn.items():
        design = drawn.design
        weight = np.maximum(design.shares(drawn.sets), 1 / estimator.count_of_rows) * design.weight
        info = estimator.infos[name].model_copy(update={"sets": True})
        yield _values_of_rows(release, info, _shown_columns(release), drawn.sets, weight[drawn.sets], design.series)


def _values_as_they_are(release: Release) -> Iterator[PublishedValues]:
    """A table of a `multi` release without groups: every row has its own value."""
    table, infos = release.tables[ROWS], attributes_of(release)
    for name in release.manifest.parameters.l:
        if name in table.columns and not holds_bins(infos[name]):
            values = CodedColumns.from_series({name: table[name]}, infos)
            series = value_series(values.columns[name], infos[name])
            count = np.ones(table.height)
            yield _values_of_rows(release, infos[name], table.drop(name), values.codes.T, count, series)


def own_values(release: Release, name: str) -> PublishedValues:
    """One column of the table that has a row for each person, of which every row says its own value."""
    info, rows = attributes_of(release)[name], release.tables[person_table(release).name]
    values = CodedColumns.from_series({name: rows[name]}, {name: info})
    series = value_series(values.columns[name], info)
    return _values_of_rows(release, info, _shown_columns(release), values.codes.T, np.ones(rows.height), series)


def _values_of_rows(
    release: Release, info: ColumnInfo, shown: pl.DataFrame, codes: Codes, count: Reals, values: pl.Series
) -> PublishedValues:
    """Every row says values of its own, as many as each other."""
    rows, size = codes.shape
    return PublishedValues(
        info=info,
        manifest=release.manifest,
        shown=shown,
        infos=attributes_of(release),
        group_of=np.arange(rows, dtype=np.int32),
        starts=np.arange(rows + 1) * size,
        code=codes.ravel(),
        count=count.ravel(),
        handing=np.full(rows, DRAWN, np.uint8),
        values=values,
    )


class Saying(Protocol):
    """What rows say of an attribute, worked out for those that are asked about."""

    def of_rows(self, rows: Ints) -> RowShares:
        """What these rows say, in their order."""


@dataclass(frozen=True, eq=False)
class RowShares:
    """What some rows say: row r says what line `line_of[r]` does.

    Line i says code[c], for c from begin[i] to end[i], with the share that stands `shift[i]` behind place c of `share`.
    """

    line_of: npt.NDArray[np.integer]
    begin: Ints
    end: Ints
    code: Codes
    share: Reals
    shift: Ints

    @classmethod
    def unshifted(
        cls, line_of: npt.NDArray[np.integer], begin: Ints, end: Ints, code: Codes, share: Reals
    ) -> RowShares:
        """Codes and shares stand beside each other."""
        return cls(line_of, begin, end, code, share, np.zeros(begin.size, np.int64))

    def of_rows(self, rows: Ints) -> RowShares:
        return replace(self, line_of=self.line_of[rows])


def group_shares(published: PublishedValues) -> RowShares:
    """Every row says what its group says."""
    starts = published.starts
    return RowShares.unshifted(published.group_of, starts[:-1], starts[1:], published.code, published.share)
