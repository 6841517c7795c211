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

from pluralis.estimate.group_counts import Block, Coded, Grouped, Groups, block, numbered
from pluralis.kernels.expect import DRAWN, HANDED_OUT
from pluralis.release.attributes import attributes_of
from pluralis.release.release import GROUP, Release

_AT, _WEIGHT, _SUM = "\0group", "\0weight", "\0sum"


def prepare(release: Release) -> Grouped:
    quasi, infos = release.tables["quasi"], attributes_of(release)
    own = [column.name for column in release.info("quasi").columns if column.role in ("quasi", "plain")]
    rows = Coded.of({name: quasi[name] for name in own}, infos)
    sets = _Sets(release, rows)
    return Grouped(rows, quasi.height, infos, cache(sets.blocks), cache(sets.totals))


class _Sets:
    """The sets of groups, weighed when they are first asked for."""

    def __init__(self, release: Release, rows: Coded) -> None:
        self.tables = release.tables
        self.infos = attributes_of(release)
        self.primary = release.manifest.parameters.get("primary")
        self.group = release.tables["quasi"][GROUP]
        self.groups = numbered(rows, self.group, [])[0]
        self.all_rows = Groups(rows, np.zeros(self.group.len(), np.int32), 1)
        self.joint = release.tables.get("sensitive")

    def blocks(self, names: tuple[str, ...]) -> Sequence[Block]:
        if self.joint is None or names in ((), (self.primary,)):
            return [self._single(name) for name in names]
        return [self._combined(sorted(names))]

    def totals(self, names: tuple[str, ...]) -> Sequence[Block]:
        if self.joint is not None and names:
            return [self._counted(self.joint, list(names))]
        tables = {name: self.tables.get(f"sensitive_{name}") for name in names}
        found = {name: table.rename({"value": name}) for name, table in tables.items() if table is not None}
        return [self._counted(table, [name]) for name, table in found.items()] if len(found) == len(names) else []

    def _counted(self, table: pl.DataFrame, names: list[str]) -> Block:
        values = Coded.of({name: table[name] for name in names}, self.infos)
        return block(self.all_rows, np.zeros(table.height, np.int64), values, table["count"].to_numpy(), HANDED_OUT)

    def _set(self, name: str) -> pl.DataFrame:
        """The values of an attribute in each group, in order of groups, each with its weight."""
        held = self.tables["values"].filter(pl.col("attribute") == name)
        _, (of_entry,) = numbered(self.groups.rows, self.group, [held[GROUP]])
        found = pl.DataFrame({_AT: of_entry, name: held["value"]})
        info = self.infos[name]
        if info.type == "number":
            whole = all(isinstance(end, int) for end in info.domain or ())
            found = found.with_columns(pl.col(name).cast(pl.Int64 if whole else pl.Float64))
        weights = self._weights(name)
        if weights is None:
            return found.with_columns(pl.lit(1.0).alias(_WEIGHT))
        return _weighed(found, weights, [name], [_AT], pl.lit(1.0))

    def _weights(self, name: str) -> pl.DataFrame | None:
        """How common each value of an attribute is, if that is published."""
        if self.joint is not None:
            return self.joint.group_by(name).agg(pl.col("count").sum())
        table = self.tables.get(f"sensitive_{name}")
        return None if table is None else table.rename({"value": name})

    def _single(self, name: str) -> Block:
        held = self._set(name)
        once = self._each_once(held) if name == self.primary else np.zeros(self.groups.count, np.bool_)
        weights = np.where(once[held[_AT].to_numpy()], 1.0, held[_WEIGHT].to_numpy())
        return self._block(held, [name], weights, np.where(once, HANDED_OUT, DRAWN))

    def _each_once(self, primary: pl.DataFrame) -> np.ndarray:
        """In which groups the primary attribute has as many values as there are rows."""
        found = np.bincount(primary[_AT].to_numpy(), minlength=self.groups.count)
        return np.asarray(found == self.groups.sizes)

    def _combined(self, names: list[str]) -> Block:
        if len(names) > 1 or self.primary is None:
            held = self._combinations(names)
        else:
            beside = self._combinations(sorted([*names, self.primary])).sort(_AT, *names, self.primary)
            held = beside.group_by(_AT, *names, maintain_order=True).agg(pl.col(_WEIGHT).sum())  # summed in one order
        held = held.filter(pl.col(_WEIGHT) > 0).sort(_AT, *names)
        return self._block(held, names, held[_WEIGHT].to_numpy(), np.full(self.groups.count, DRAWN))

    def _combinations(self, names: list[str]) -> pl.DataFrame:
        """What the sets of each group can be combined to, with weights."""
        assert self.joint is not None
        sets = [self._set(name).rename({_WEIGHT: f"{_WEIGHT}{i}"}) for i, name in enumerate(names)]
        held = sets[0]
        for other in sets[1:]:
            held = held.join(other, on=_AT)
        each = pl.reduce(lambda a, b: a * b, [pl.col(f"{_WEIGHT}{i}") for i in range(len(names))])
        counts = self.joint.group_by(names).agg(pl.col("count").sum())
        held = _weighed(held, counts, names, [_AT], each)
        if self.primary not in names:
            return held
        once = pl.Series(self._each_once(self._set(self.primary))).gather(held[_AT])
        share = pl.col(_WEIGHT) / pl.col(_WEIGHT).sum().over(_AT, self.primary)
        by_value = _weighed(held.drop(_WEIGHT), counts, names, [_AT, self.primary], each).select(share).to_series()
        return held.with_columns(pl.when(once).then(by_value).otherwise(_WEIGHT).alias(_WEIGHT))

    def _block(self, held: pl.DataFrame, names: list[str], weights: np.ndarray, told: np.ndarray) -> Block:
        values = Coded.of({name: held[name] for name in names}, self.infos)
        return block(self.groups, held[_AT].to_numpy(), values, weights, told)


def _weighed(
    held: pl.DataFrame, counts: pl.DataFrame, names: list[str], within: list[str], otherwise: pl.Expr
) -> pl.DataFrame:
    """The rows with the counts of what they hold as weights; `otherwise` where all of those within are 0."""
    joined = held.join(counts, on=names, how="left", maintain_order="left")
    count = pl.col("count").fill_null(0).cast(pl.Float64)
    weight = pl.when(count.sum().over(within) > 0).then(count).otherwise(otherwise)
    return joined.with_columns(weight.alias(_WEIGHT)).drop("count")
