"""All possible worlds of several bucketized releases of the same few people, who are told apart by their jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import permutations

import polars as pl

from pluralis.release.release import Release


def fitting(table: pl.DataFrame, releases: Sequence[Release]) -> list[tuple[str, ...]]:
    """Every order of the diseases of which all of these releases could be, each of the first people of the table."""
    shown = [
        (
            release.tables["quasi"].sort("job")["group"].to_list(),
            sorted(release.tables["sensitive"].select("group", "disease", "count").rows()),
        )
        for release in releases
    ]
    return [
        world
        for world in set(permutations(table["disease"]))
        if all(
            sorted((g, d, n) for (g, d), n in Counter(zip(groups, world, strict=False)).items()) == counts
            for groups, counts in shown
        )
    ]
