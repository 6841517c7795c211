"""Distortion: how far labels lie above the values they stand for (SLOMS paper, eqs. 2 to 4).

The levels of a tree are numbered 1 (the root) to h (the leaves); the step from level j to j - 1 weighs 1 / (j - 1), so
that steps near the root, which lose most, count most. A label at level q loses WHD(h, q) = the weight of the
steps from h to q / the weight of all steps. The distortion of a table is the sum over its cells.

A set without a tree is its root: two levels. An interval without a tree lies at the lowest level of the automatic
ladder (`table.hierarchies`) at which one interval covers it; ordered values are numbered for that.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from pluralis.grouping.hierarchical_distance import climbing, whd
from pluralis.release.manifest import ColumnInfo
from pluralis.release.original import original_values
from pluralis.release.release import Release
from pluralis.table.hierarchies import automatic_nodes
from pluralis.table.labels import ALL, OrderedDomain, interval_ends


def distortion(release: Release, original: pl.DataFrame) -> float:
    """The distortion of the generalized columns of a release."""
    total = 0.0
    for info in release.manifest.tables:
        for column in info.named("quasi"):
            if not column.exact:
                counts = release.tables[info.name][column.name].value_counts(name="\0rows")
                of_label = label_distances(
                    counts[column.name], column, original_values(original, column, release.manifest, in_codes=True)
                )
                total += sum(d * n for d, n in zip(of_label, counts["\0rows"].to_list(), strict=True))
    return total


def label_distances(labels: pl.Series, column: ColumnInfo, values: pl.Series) -> list[float]:
    """How far each label lies above the leaves. `values` holds the domain of a number."""
    if column.hierarchy is None and column.type == "number":
        return _interval_distances(labels, values)
    if column.ordered:
        domain = OrderedDomain([str(value) for value in column.domain or () if value is not None])
        places = pl.Series(range(len(domain.values)), dtype=pl.Int64)
        return _distances(domain.ends(labels), places) if places.len() else [0.0] * labels.len()
    if column.hierarchy is None:
        return [float(label is not None and (label == ALL or label.startswith("{"))) for label in labels.to_list()]
    height = max(map(len, column.hierarchy))  # lines of a tree whose leaves lie at different depths differ in length
    level: dict[str, int] = {}
    for line in column.hierarchy:
        for up, label in enumerate(line):
            level[label] = max(level.get(label, 0), len(line) - up if up else height)
    return [
        whd(height, 1 if label == ALL else height if label is None else level[label], height)
        for label in labels.to_list()
    ]


def _interval_distances(labels: pl.Series, values: pl.Series) -> list[float]:
    numbers = values.unique().drop_nulls().sort()
    if not numbers.len():
        return [0.0] * labels.len()
    return _distances(interval_ends(labels, (numbers[0], numbers[-1])), numbers)


def _distances(ends: pl.DataFrame, numbers: pl.Series) -> list[float]:
    """How far intervals lie above the numbers of a domain, which stand in order."""
    nodes = automatic_nodes(numbers.to_numpy())
    missing = ends["low"].is_null().to_numpy()
    low, high = (ends[name].fill_null(numbers[0]).to_numpy() for name in ("low", "high"))
    first = np.searchsorted(numbers.to_numpy(), low, "left")
    last = np.searchsorted(numbers.to_numpy(), high, "right") - 1
    level = np.argmax(nodes[first] == nodes[last], axis=1)
    distances: list[float] = np.where(missing, 0.0, climbing(nodes.shape[1])[level]).tolist()
    return distances
