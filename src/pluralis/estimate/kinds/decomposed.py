"""Counting in `decomposed` releases: rows as they are, and for each group a set of values of each sensitive attribute.

Of the primary attribute a group holds each value once, so that it is handed out as in a bucketized release. A set of
another attribute does not say how often its values occur; they are weighed by how common they are in the sensitive
table. Where that table has the attributes side by side, combinations of values of the sets are weighed, those of one
primary value among each other, also where the other attribute alone is asked for: each primary value of a group brings
what stands beside it. Where a set has no combination that occurs, its values are weighed one by one. A set may hold
values that were added, so that none is certain to be there; but the counts of the sensitive table are certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import polars as pl

from pluralis.estimate.group_counts import Block, CodedColumns, Grouped, Groups, block, number_groups
from pluralis.kernels.expect import DRAWN, HANDED_OUT
from pluralis.release.attributes import attributes_of
from pluralis.release.release import GROUP, Release
from pluralis.table.dictionaries import decode, decode_table

_PLACE, _WEIGHT, _SUM = "\0place", "\0weight", "\0sum"


def prepare(release: Release) -> Grouped:
    quasi, infos = release.tables["quasi"], attributes_of(release)
    own = [column.name for column in release.info("quasi").columns if column.role in ("quasi", "plain")]
    rows = CodedColumns.from_series({name: quasi[name] for name in own}, infos)
    sets = _Sets(release, rows)
    return Grouped(rows, quasi.height, infos, cache(sets.blocks), cache(sets.totals))


class _Sets:
    """The sets of groups, weighed when they are first asked for."""

    def __init__(self, release: Release, rows: CodedColumns) -> None:
        self.tables = release.tables
        self.infos = attributes_of(release)
        self.primary = release.manifest.parameters.primary
        self.group = release.tables["quasi"][GROUP]
        self.groups = number_groups(rows, self.group, [])[0]
        self.all_rows = Groups(rows, np.zeros(self.group.len(), np.int32), 1)
        self.joint = decode_table(release.tables["sensitive"]) if "sensitive" in release.tables else None

    def blocks(self, names: tuple[str, ...]) -> Sequence[Block]:
        if self.joint is None or names in ((), (self.primary,)):
            return [self._single(name) for name in names]
        return [self._combined(sorted(names))]

    def totals(self, names: tuple[str, ...]) -> Sequence[Block]:
        if self.joint is not None and names:
            return [self._block_of_all_rows(self.joint, list(names))]
        tables = {name: self._counts(name) for name in names}
        published = {name: table for name, table in tables.items() if table is not None}
        return (
            [self._block_of_all_rows(table, [name]) for name, table in published.items()]
            if len(published) == len(names)
            else []
        )

    def _block_of_all_rows(self, table: pl.DataFrame, names: list[str]) -> Block:
        values = CodedColumns.from_series({name: table[name] for name in names}, self.infos)
        return block(self.all_rows, np.zeros(table.height, np.int64), values, table["count"].to_numpy(), HANDED_OUT)

    def _set(self, name: str) -> pl.DataFrame:
        """The values of an attribute in each group, in order of groups, each with its weight."""
        entries = self.tables["values"].filter(pl.col("attribute") == name)
        _, (of_entry,) = number_groups(self.groups.rows, self.group, [entries[GROUP]])
        values = pl.DataFrame({_PLACE: of_entry, name: decode(entries["value"])})
        info = self.infos[name]
        if info.type == "number":
            whole = all(isinstance(end, int) for end in info.domain or ())
            values = values.with_columns(pl.col(name).cast(pl.Int64 if whole else pl.Float64))
        weights = self._weights(name)
        if weights is None:
            return values.with_columns(pl.lit(1.0).alias(_WEIGHT))
        return _weighed(values, weights, [name], [_PLACE], pl.lit(1.0))

    def _weights(self, name: str) -> pl.DataFrame | None:
        """How common each value of an attribute is, if that is published."""
        if self.joint is not None:
            return self.joint.group_by(name).agg(pl.col("count").sum())
        return self._counts(name)

    def _counts(self, name: str) -> pl.DataFrame | None:
        """How often each value of an attribute occurs, if that is published for it alone."""
        table = self.tables.get(f"sensitive_{name}")
        return None if table is None else decode_table(table).rename({"value": name})

    def _single(self, name: str) -> Block:
        entries = self._set(name)
        once = self._each_once(entries) if name == self.primary else np.zeros(self.groups.count, np.bool_)
        weights = np.where(once[entries[_PLACE].to_numpy()], 1.0, entries[_WEIGHT].to_numpy())
        return self._block(entries, [name], weights, np.where(once, HANDED_OUT, DRAWN))

    def _each_once(self, primary: pl.DataFrame) -> np.ndarray:
        """In which groups the primary attribute has as many values as there are rows."""
        distinct = np.bincount(primary[_PLACE].to_numpy(), minlength=self.groups.count)
        return np.asarray(distinct == self.groups.sizes)

    def _combined(self, names: list[str]) -> Block:
        if len(names) > 1 or self.primary is None:
            entries = self._combinations(names)
        else:
            beside = self._combinations(sorted([*names, self.primary])).sort(_PLACE, *names, self.primary)
            entries = beside.group_by(_PLACE, *names, maintain_order=True).agg(
                pl.col(_WEIGHT).sum()
            )  # summed in one order
        entries = entries.filter(pl.col(_WEIGHT) > 0).sort(_PLACE, *names)
        return self._block(entries, names, entries[_WEIGHT].to_numpy(), np.full(self.groups.count, DRAWN))

    def _combinations(self, names: list[str]) -> pl.DataFrame:
        """What the sets of each group can be combined to, with weights."""
        assert self.joint is not None
        sets = [self._set(name).rename({_WEIGHT: f"{_WEIGHT}{i}"}) for i, name in enumerate(names)]
        entries = sets[0]
        for other in sets[1:]:
            entries = entries.join(other, on=_PLACE)
        each = pl.reduce(lambda a, b: a * b, [pl.col(f"{_WEIGHT}{i}") for i in range(len(names))])
        counts = self.joint.group_by(names).agg(pl.col("count").sum())
        entries = _weighed(entries, counts, names, [_PLACE], each)
        if self.primary not in names:
            return entries
        once = pl.Series(self._each_once(self._set(self.primary))).gather(entries[_PLACE])
        share = pl.col(_WEIGHT) / pl.col(_WEIGHT).sum().over(_PLACE, self.primary)
        by_value = (
            _weighed(entries.drop(_WEIGHT), counts, names, [_PLACE, self.primary], each).select(share).to_series()
        )
        return entries.with_columns(pl.when(once).then(by_value).otherwise(_WEIGHT).alias(_WEIGHT))

    def _block(self, entries: pl.DataFrame, names: list[str], weights: np.ndarray, assignment: np.ndarray) -> Block:
        values = CodedColumns.from_series({name: entries[name] for name in names}, self.infos)
        return block(self.groups, entries[_PLACE].to_numpy(), values, weights, assignment)


def _weighed(
    entries: pl.DataFrame, counts: pl.DataFrame, names: list[str], within: list[str], otherwise: pl.Expr
) -> pl.DataFrame:
    """The rows with the counts of what they hold as weights; `otherwise` where all of those within are 0."""
    joined = entries.join(counts, on=names, how="left", maintain_order="left")
    count = pl.col("count").fill_null(0).cast(pl.Float64)
    weight = pl.when(count.sum().over(within) > 0).then(count).otherwise(otherwise)
    return joined.with_columns(weight.alias(_WEIGHT)).drop("count")
