"""What a release loses, measured on its tables.

NCP (Xu et al. 2006, the IL metric of the BSGI paper): a number loses (max - min) / domain range; a value of a tree the
leaves under its node / all leaves, 0 for one leaf; a set without a tree its number of values / domain size, 0 for one
value. NCP is the mean over published cells, weighted by attribute. A row that was left out loses everything.

Suppression ratio (SLOMS, eq. 9): rows that were left out, and published rows that are marked, over all rows. A row is
marked that has no group in some slice (the paper's "NA"): its quasi values are there, a sensitive value is not.

Additional information loss (SLOMS, eq. 8): by how much groups are larger than l, (rows - l) / l on average over the
groups of a table of sensitive values, then over those tables. KL divergence: kl.py. Distortion: distortion.py.

Of several subtables (`multi`) the groups are those of all that protect something. An attribute loses what it loses in
the table that shows most of it: nothing if one shows it as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
import polars as pl

from pluralis.grouping.addition import Design
from pluralis.metrics.distortion import distortion
from pluralis.metrics.distributions import Distribution, distribution, estimated
from pluralis.metrics.kl import kl_divergence
from pluralis.release.manifest import ColumnInfo, TableInfo
from pluralis.release.original import original_values, require_rows
from pluralis.release.release import GROUP, Release
from pluralis.table.labels import ALL, interval_ends, read_set


@dataclass(frozen=True)
class Loss:
    """What was lost: see the module for the definitions. None stands for what this kind of release does not have.

    `suppressed` are rows that are not in the release, as in its manifest; `rows` are the others, `marked` ones among
    them. `suppressed_share` is the suppression ratio: of suppressed and marked rows together.
    """

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
    marked: int = 0
    distributions: tuple[Distribution, ...] = ()
    kl: float | None = None
    distortion: float | None = None
    additional_loss: float | None = None
    added_values: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "group_sizes": {str(size): count for size, count in self.group_sizes.items()}}


def measure(release: Release, original: pl.DataFrame) -> Loss:
    """Measure a release against its original."""
    parts = _tables(release)
    published = release.tables[parts[0].name].height
    left_out = release.manifest.suppressed
    total = published + left_out
    marked = _marked(parts[0], release.tables[parts[0].name])
    require_rows(original, published, left_out)
    by_attribute, distributions = _shown(release, parts, original)
    generalised = any(not column.exact for info in parts for column in info.named("quasi"))
    weights = release.manifest.parameters.get("weights", {})
    weight = np.array([weights.get(name, 1.0) for name in by_attribute])
    ncp = float((np.array(list(by_attribute.values())) * weight).sum() / weight.sum()) if by_attribute else 0.0
    grouped = [info for info in parts if release.kind != "multi" or info.named("group")]
    sizes = np.concatenate([np.empty(0, np.int64), *(_sizes(info, release.tables[info.name]) for info in grouped)])
    values, repeats = np.unique(sizes, return_counts=True)
    return Loss(
        rows=published,
        suppressed=left_out,
        groups=sizes.size,
        ncp=ncp,
        ncp_with_suppressed=(ncp * published + left_out) / total,
        ncp_by_attribute=by_attribute,
        discernibility=int((sizes**2).sum() + left_out * total),
        average_group=float(sizes.mean()) if sizes.size else 0.0,
        suppressed_share=(left_out + marked) / total,
        group_sizes=dict(zip(values.tolist(), repeats.tolist(), strict=True)),
        marked=marked,
        distributions=tuple(distributions.values()),
        kl=kl_divergence(release, original),
        distortion=distortion(release, original) if generalised else None,
        additional_loss=_additional_loss(release),
    )


def _shown(
    release: Release, parts: Sequence[TableInfo], original: pl.DataFrame
) -> tuple[dict[str, float], dict[str, Distribution]]:
    """What each quasi attribute loses, and distributions of those that are generalised and of sensitive ones."""
    lost: dict[str, float] = {}
    compared: dict[str, Distribution] = {}
    for info in parts:
        rows = release.tables[info.name]
        for column in info.named("quasi"):
            name, found = column.name, lost.get(column.name, np.inf)
            if column.exact:
                lost[name] = 0.0
                compared.pop(name, None)
            elif found > 0:
                true = original_values(original, column, release.manifest, in_codes=True)
                counts = rows[name].value_counts(name="\0rows")
                losses = label_losses(counts[name], column, true) * counts["\0rows"].to_numpy()
                lost[name] = min(found, float(losses.sum() / rows.height))
                if lost[name] < found:
                    compared[name] = distribution(rows[name], column, true)
        for column in info.named("sensitive"):
            true = original_values(original, column, release.manifest, in_codes=True)
            compared[column.name] = _distribution(release, rows[column.name], column, true)
    return lost, compared


def _tables(release: Release) -> list[TableInfo]:
    """The tables that have a row for each person: one, but for subtables."""
    if release.kind == "multi":
        return [info for info in release.manifest.tables if not info.name.endswith("_sensitive")]
    return [next(info for info in release.manifest.tables if info.named("quasi") or info.named("group"))]


def _marked(info: TableInfo, rows: pl.DataFrame) -> int:
    """Rows without a group in some slice."""
    empty = [rows[name].is_null() for name in info.names("group") if rows[name].null_count()]
    return int(reduce(or_, empty).sum()) if empty else 0


def _distribution(release: Release, published: pl.Series, column: ColumnInfo, original: pl.Series) -> Distribution:
    if not column.sets:
        return distribution(published, column, original)
    parameters = release.manifest.parameters
    design = Design.of(parameters["addition"][column.name], parameters["l"][column.name])
    shares = design.shares(design.codes(published))
    return estimated(dict(zip(design.values, shares.tolist(), strict=True)), column, original)


def _sizes(info: TableInfo, rows: pl.DataFrame) -> np.ndarray:
    """How many rows share a group, or, where rows have several groups, their labels."""
    if GROUP in info.names("group"):
        groups = rows[GROUP].to_numpy() if rows[GROUP].is_sorted() else np.sort(rows[GROUP].to_numpy())
        return np.diff(np.flatnonzero(np.diff(groups, prepend=-1)), append=groups.size)
    names = info.names("quasi")
    if [column.name for column in info.columns[: len(names)]] == names:  # rows are in order of them
        first = np.ones(rows.height, np.bool_)
        first[1:] = False
        for name in names:
            first[1:] |= ~rows[name].head(-1).eq_missing(rows[name].tail(-1)).to_numpy()
        return np.diff(np.flatnonzero(first), append=rows.height)
    return rows.group_by(names).agg(pl.len().alias("\0size"))["\0size"].to_numpy().astype(np.int64)


def _additional_loss(release: Release) -> float | None:
    """By how much the groups of each table of sensitive values are larger than the largest l among its attributes."""
    ls = release.manifest.parameters.get("l", {})
    losses = []
    for info in release.manifest.tables:
        if not info.named("group") or not (info.named("count") or info.named("sensitive")):
            continue
        rows = release.tables[info.name]
        names = info.names("sensitive")
        people = pl.len() if not info.named("count") else pl.col("count").sum()
        if info.named("attribute"):
            names = rows["attribute"].unique().to_list()
            rows = rows.filter(pl.col("attribute") == names[0])
        ordered = rows.with_columns(pl.col(GROUP).set_sorted()) if rows[GROUP].is_sorted() else rows.sort(GROUP)
        sizes = ordered.group_by(GROUP, maintain_order=True).agg(people.alias("\0size"))["\0size"]
        l = max((ls[name] for name in names if name in ls), default=0)
        if l and sizes.len():
            losses.append(float(((sizes - l) / l).mean()))  # type: ignore[arg-type]
    return float(np.mean(losses)) if losses else None


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
