"""What a generalized release loses, measured on its labels.

NCP (Xu et al. 2006, the IL metric of the BSGI paper): a number loses (max - min) / domain range; a value of a tree the
leaves under its node / all leaves, 0 for one leaf; a set without a tree its number of values / domain size, 0 for one
value. NCP is the mean over published cells, weighted by attribute. A row that was left out loses everything.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from pluralis.errors import InputError, ReleaseError
from pluralis.labels import ALL, interval_ends, read_set
from pluralis.metrics.distributions import Distribution, distribution
from pluralis.original import original_values
from pluralis.release import GROUP, ColumnInfo, Release


@dataclass(frozen=True)
class Loss:
    """What was lost: see the module for the definitions."""

    rows: int
    suppressed: int
    groups: int
    ncp: float
    ncp_with_suppressed: float
    ncp_by_attribute: dict[str, float]
    discernibility: int
    average_group: float
    suppressed_share: float
    group_sizes: dict[int, int]
    distributions: tuple[Distribution, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "group_sizes": {str(size): count for size, count in self.group_sizes.items()}}


def measure(release: Release, original: pl.DataFrame) -> Loss:
    """Measure a generalized release against its original."""
    if release.kind != "generalized":
        raise ReleaseError(f"Releases of kind {release.kind!r} cannot be measured by this Pluralis.")
    rows, info = release.tables["microdata"], release.info("microdata")
    if original.height != rows.height + release.manifest.suppressed:
        raise InputError(
            f"The original has {original.height:,} rows, the release {rows.height:,} and "
            f"{release.manifest.suppressed:,} left out: it is not the original of this release."
        )
    weights = release.manifest.parameters.get("weights", {})
    shown = (*info.named("quasi"), *info.named("sensitive"))
    true = {column.name: original_values(original, column, release.manifest) for column in shown}
    by_attribute: dict[str, float] = {}
    for column in info.named("quasi"):
        counts = rows[column.name].value_counts(name="rows")
        lost = label_losses(counts[column.name], column, true[column.name])
        by_attribute[column.name] = float((lost * counts["rows"].to_numpy()).sum() / rows.height)
    weight = np.array([weights.get(name, 1.0) for name in by_attribute])
    ncp = float((np.array(list(by_attribute.values())) * weight).sum() / weight.sum()) if by_attribute else 0.0
    sizes = rows[GROUP].value_counts(name="size")["size"].to_numpy().astype(np.int64)
    left_out = release.manifest.suppressed
    total = rows.height + left_out
    values, repeats = np.unique(sizes, return_counts=True)
    return Loss(
        rows=rows.height,
        suppressed=left_out,
        groups=sizes.size,
        ncp=ncp,
        ncp_with_suppressed=(ncp * rows.height + left_out) / total,
        ncp_by_attribute=by_attribute,
        discernibility=int((sizes**2).sum() + left_out * total),
        average_group=float(rows.height / sizes.size),
        suppressed_share=left_out / total,
        group_sizes=dict(zip(values.tolist(), repeats.tolist(), strict=True)),
        distributions=tuple(distribution(rows[column.name], column, true[column.name]) for column in shown),
    )


def label_losses(labels: pl.Series, column: ColumnInfo, original: pl.Series) -> np.ndarray:
    """The loss of each label: 0 for a single value, 1 for all of the domain. `original` holds the domain."""
    if column.type == "number":
        return _interval_losses(labels, original)
    if column.hierarchy is not None:
        leaves: dict[str, int] = {}
        for line in column.hierarchy:
            for label in dict.fromkeys(line):
                leaves[label] = leaves.get(label, 0) + 1
        sizes = {label: count / len(column.hierarchy) if count > 1 else 0.0 for label, count in leaves.items()}
        return np.array([1.0 if label == ALL else 0.0 if label is None else sizes[label] for label in labels.to_list()])
    domain = original.n_unique()
    counts = [domain if label == ALL else 1 if label is None else len(read_set(label)) for label in labels.to_list()]
    whole = (labels == ALL).fill_null(False).to_numpy()
    return np.where(whole, 1.0, [count / domain if count > 1 else 0.0 for count in counts])


def _interval_losses(labels: pl.Series, original: pl.Series) -> np.ndarray:
    numbers = original.drop_nulls().to_numpy()
    span = float(np.ptp(numbers)) if numbers.size else 0.0
    ends = interval_ends(labels, (0.0, 0.0)).fill_null(0.0)
    width = (ends["high"] - ends["low"]).to_numpy()
    lost = np.minimum(1.0, width / span) if span > 0 else np.zeros(width.size)
    return np.where((labels == ALL).fill_null(False).to_numpy(), 1.0, lost)
