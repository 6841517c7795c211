"""Counting in `sliced` releases: labels are spread evenly, and each slice hands the values of its groups out to rows.

Slices are independent of each other. A row without a group in a slice takes the values of all groups of the slice; it
may hold any other as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import polars as pl

from pluralis.estimate.group_counts import Block, CodedColumns, Grouped, Groups, block, number_groups
from pluralis.kernels.expect import HANDED_OUT, UNKNOWN
from pluralis.release.attributes import attributes_of
from pluralis.release.release import GROUP, Release


def prepare(release: Release) -> Grouped:
    quasi, infos = release.tables["quasi"], attributes_of(release)
    own = [column.name for column in release.info("quasi").columns if column.role in ("quasi", "plain")]
    rows = CodedColumns.from_series({name: quasi[name] for name in own}, infos)
    slices = [info.name for info in release.manifest.tables if info.name.startswith("slice_")]
    slice_of = {name: table for table in slices for name in _attributes(release, table)}

    @cache
    def groups_of(table: str) -> Groups:
        return number_groups(rows, quasi[f"group_{table.removeprefix('slice_')}"], [])[0]

    @cache
    def of_attributes(table: str, *names: str) -> Block:
        groups, entries = groups_of(table), release.tables[table]
        if "attribute" in release.info(table).names("attribute"):
            entries = entries.filter(pl.col("attribute") == names[0]).rename({"value": names[0]})
        _, (of_entry,) = number_groups(rows, quasi[f"group_{table.removeprefix('slice_')}"], [entries[GROUP]])
        entries = entries.select(*names, "count")
        assignment = np.full(groups.count, HANDED_OUT, np.uint8)
        if groups.count > (int(of_entry.max()) + 1 if of_entry.size else 0):  # rows without a group are the last one
            assignment[-1] = UNKNOWN
            pooled = entries.group_by(names).agg(pl.col("count").sum()).sort(names)
            entries = pl.concat([entries, pooled.select(entries.columns)])
            of_entry = np.append(of_entry, np.full(pooled.height, groups.count - 1))
        values = CodedColumns.from_series({name: entries[name] for name in names}, infos)
        return block(groups, of_entry, values, entries["count"].to_numpy(), assignment)

    def blocks(names: tuple[str, ...]) -> Sequence[Block]:
        keys: dict[tuple[str, ...], None] = {}
        for name in names:
            table = slice_of[name]
            beside = release.info(table).names("sensitive")
            keys[(table, *(beside or [name]))] = None
        return [of_attributes(*key) for key in keys]

    return Grouped(rows, quasi.height, infos, blocks)


def _attributes(release: Release, table: str) -> list[str]:
    """The attributes that a slice tells of."""
    beside = release.info(table).names("sensitive")
    return beside or [str(name) for name in release.tables[table]["attribute"].unique(maintain_order=True)]
