"""Counting in `bucketized` releases: rows as they are, and the values of a group handed out to its rows at random.

Every way to hand them out is as likely. If a rows of a group of n and c of its values are as asked, a c / n rows are to
be expected, with the variance of the hypergeometric distribution, a c (n - a) (n - c) / (n² (n - 1)).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import polars as pl

from pluralis.estimate.group_counts import Block, CodedColumns, Grouped, block, number_groups
from pluralis.kernels.expect import HANDED_OUT
from pluralis.release.attributes import attributes_of
from pluralis.release.release import GROUP, Release


def prepare(release: Release) -> Grouped:
    quasi, sensitive, infos = release.tables["quasi"], release.tables["sensitive"], attributes_of(release)
    own = [column.name for column in release.info("quasi").columns if column.role in ("quasi", "plain")]
    rows = CodedColumns.from_series({name: quasi[name] for name in own}, infos)
    beside = release.info("sensitive").names("sensitive")
    groups, _ = number_groups(rows, quasi[GROUP], [])

    @cache
    def of_attributes(*names: str) -> Block:
        entries = sensitive if beside else sensitive.filter(pl.col("attribute") == names[0]).rename({"value": names[0]})
        _, (of_entry,) = number_groups(rows, quasi[GROUP], [entries[GROUP]])
        values = CodedColumns.from_series({name: entries[name] for name in names}, infos)
        return block(groups, of_entry, values, entries["count"].to_numpy(), HANDED_OUT)

    def blocks(names: tuple[str, ...]) -> Sequence[Block]:
        if beside:
            return [of_attributes(*beside)] if names else []
        return [of_attributes(name) for name in names]

    return Grouped(rows, quasi.height, infos, blocks)
