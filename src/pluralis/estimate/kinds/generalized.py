"""Counting in `generalized` releases: labels are spread evenly; sensitive values are a row's own, or its group's.

Where the sensitive columns of a row do not stay side by side (not `linked`), the values of each attribute are handed
out to the rows of their group anew, each attribute on its own.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from pluralis.estimate.group_counts import Block, CodedColumns, Grouped, block, number_groups
from pluralis.kernels.expect import HANDED_OUT
from pluralis.release.attributes import attributes_of
from pluralis.release.release import GROUP, Release


def prepare(release: Release) -> Grouped:
    table, infos = release.tables["microdata"], attributes_of(release)
    sensitive = [] if release.manifest.parameters.linked else release.info("microdata").names("sensitive")
    own = {name: table[name] for name in infos if name not in sensitive}
    rows = CodedColumns.from_series(own, infos)
    groups, (of_row,) = number_groups(rows, table[GROUP], [table[GROUP]])

    @cache
    def of_attribute(name: str) -> Block:
        values = CodedColumns.from_series({name: table[name]}, infos)
        return block(groups, of_row, values, np.ones(table.height), HANDED_OUT)

    return Grouped(rows, table.height, infos, lambda names: [of_attribute(name) for name in names])
