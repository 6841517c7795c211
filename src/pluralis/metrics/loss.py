"""What a release loses, measured on its tables.

NCP (Xu et al. 2006, the IL metric of the BSGI paper): a number loses (max - min) / domain range; a value of a tree the
leaves under its node / all leaves, 0 for one leaf; an interval of ordered values the steps from its first to its last
value / those of the published domain; a set without a tree its number of values / domain size, 0 for one
value. NCP is the mean over published cells, weighted by attribute. A suppressed row loses everything.

Suppression ratio (SLOMS, eq. 9): suppressed rows, and published rows without a group in some slice, over all rows. Of
the latter (the paper's "NA") the quasi-identifiers are there, a sensitive value is not.

Additional information loss (SLOMS, eq. 8): by how much groups are larger than l, (rows - l) / l on average over the
groups of a table of sensitive values, then over those tables. KL divergence: kl.py. Distortion: distortion.py.

Of several subtables (`multi`) the groups are those of all that protect something. An attribute loses what it loses in
the table that shows most of it: nothing if one shows it as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from pluralis.display.objects import Columns, Shown
from pluralis.display.words import percent
from pluralis.grouping.addition import Design
from pluralis.metrics.distortion import distortion
from pluralis.metrics.distributions import Distribution, distribution, estimated
from pluralis.metrics.kl import kl_divergence
from pluralis.metrics.risk import ReidentificationRisk, reidentification_risk, risk_table
from pluralis.metrics.workloads import Answers, answers_of
from pluralis.progress import stage
from pluralis.release.manifest import ColumnInfo, TableInfo
from pluralis.release.original import original_values, recoded, require_rows
from pluralis.release.reading import LIMIT, read_release
from pluralis.release.release import GROUP, Release
from pluralis.table.labels import ALL, OrderedDomain, interval_ends, read_set
from pluralis.table.sources import read_table
from pluralis.threads import beside

MUCH = 0.5  # information loss beyond which it is said what would lower it


@dataclass(frozen=True, repr=False)
class Loss(Shown):
    """What was lost. None stands for what this kind of release does not have.

    Parameters
    ----------
    rows, suppressed : int
        Rows that are in the release, and rows that are not, as in its manifest.
    groups : int
        Groups of rows that were published together.
    ncp, ncp_with_suppressed : float
        Information loss, from 0 to 1: of published rows, and counting suppressed rows as lost.
    ncp_by_attribute : dict
        The loss of each quasi-identifier.
    discernibility : int
        The sum of squared group sizes; a suppressed row counts as all rows.
    average_group : float
        Rows in a group, on average.
    suppressed_share : float
        The suppression ratio: of suppressed rows and those without a group together.
    group_sizes : dict
        How many groups have each size.
    without_group : int
        Published rows that have no group in some slice.
    distributions : tuple of Distribution
        Shares of values in the original and in the release.
    kl, distortion, additional_loss, added_values : float or int, optional
        KL divergence in nats, hierarchical distortion, by how much groups are larger than l, and values added.
    queries : dict
        How the release answered random counts, for each sensitive attribute, if they were asked.
    risk : ReidentificationRisk, optional
        Prosecutor, journalist and marketer risk and uniqueness, by the quasi-identifiers that are published.

    Examples
    --------
    >>> Loss(4, 0, 2, 0.33, 0.33, {"age": 0.33}, 8, 2.0, 0.0, {2: 2})
    Loss
      rows published    4
      rows suppressed   0 (0.00%)
      groups            2, 2.00 rows each on average
      information loss  0.3300 NCP, 0.3300 counting suppressed rows as lost
      discernibility    8
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
    without_group: int = 0
    distributions: tuple[Distribution, ...] = ()
    kl: float | None = None
    distortion: float | None = None
    additional_loss: float | None = None
    added_values: int | None = None
    queries: Mapping[str, Answers] = field(default_factory=dict)
    risk: ReidentificationRisk | None = None

    @property
    def shows_ncp(self) -> bool:
        """Whether quasi-identifiers are generalized; of values as they are it would say that nothing was lost."""
        return self.distortion is not None or self.kl is None

    def to_dict(self) -> dict[str, Any]:
        """The loss as plain data.

        Returns
        -------
        dict
            As `pluralis measure --json` prints it.

        Examples
        --------
        >>> Loss(4, 0, 2, 0.33, 0.33, {"age": 0.33}, 8, 2.0, 0.0, {2: 2}).to_dict()["group_sizes"]
        {'2': 2}
        """
        plain = {**asdict(self), "group_sizes": {str(size): count for size, count in self.group_sizes.items()}}
        for classes in () if self.risk is None else (plain["risk"]["original"], plain["risk"]["release"]):
            del classes["sizes"]
        return plain if self.queries else {name: value for name, value in plain.items() if name != "queries"}

    def _parts(self) -> Iterator[str | Columns]:
        yield "Loss"
        yield Columns(("", ""), list(self._figures()))
        if self.distortion is not None:
            distances = {d.attribute: f"{d.distance:.3f}" for d in self.distributions}
            rows = [[name, f"{lost:.4f}", distances.get(name, "")] for name, lost in self.ncp_by_attribute.items()]
            yield Columns(("attribute", "loss", "before ↔ after"), rows, right=(1, 2))
        if self.queries:
            asked = [
                [name, f"{a.queries:,}", f"{a.mean_error:.1%}", f"{a.median_error:.1%}", f"{a.coverage:.1%}"]
                for name, a in self.queries.items()
            ]
            heads = ("attribute", "random counts", "mean error", "median error", "intervals hold")
            yield Columns(heads, asked, right=(1, 2, 3, 4))
        if self.risk is not None:
            yield risk_table(self.risk)

    def _figures(self) -> Iterator[tuple[str, str]]:
        total = max(1, self.rows + self.suppressed)
        yield "rows published", f"{self.rows:,}"
        yield "rows suppressed", f"{self.suppressed:,} ({self.suppressed / total:.2%})"
        if self.without_group:
            yield "without a group", f"{self.without_group:,} in some slice"
        if self.groups:
            yield "groups", f"{self.groups:,}, {self.average_group:.2f} rows each on average"
        if self.shows_ncp:
            figures = f"{self.ncp:.4f} NCP, {self.ncp_with_suppressed:.4f} counting suppressed rows as lost"
            yield "information loss", figures
        yield "discernibility", f"{self.discernibility:,}"
        if self.kl is not None:
            yield "KL divergence", f"{self.kl:.4f} nats"
        if self.distortion is not None:
            yield "distortion", f"{self.distortion:,.1f}"
        if self.additional_loss is not None:
            yield "additional loss", f"{self.additional_loss:.2%}"
        if self.added_values is not None:
            yield "values added", f"{self.added_values:,}"


def loss_in_words(loss: Loss, sensitive: int) -> str:
    """The information loss in words, and, where it is large, what would lower it; nothing of values as they are.

    >>> small = Loss(4, 0, 2, 0.05, 0.05, {"age": 0.05}, 8, 2.0, 0.0, {2: 2})
    >>> loss_in_words(small, 2)
    'Information loss 0.05: 5 % of the detail of quasi-identifiers.'
    >>> print(loss_in_words(replace(small, ncp=0.87), 25))
    Information loss 0.87: 87 % of the detail of quasi-identifiers. 25 sensitive columns are protected together: fewer \
of them in one release, a smaller l, wider bounds or some rows suppressed lower it; `pluralis compare` tries methods.
    >>> loss_in_words(replace(small, ncp=0.0, kl=0.2), 2)
    ''
    """
    if not loss.ncp_by_attribute or not loss.shows_ncp:
        return ""
    words = f"Information loss {loss.ncp:.2f}: {percent(loss.ncp)} of the detail of quasi-identifiers."
    if loss.ncp <= MUCH or sensitive < 2:
        return words
    return (
        f"{words} {sensitive:,} sensitive columns are protected together: fewer of them in one release, a smaller l, "
        "wider bounds or some rows suppressed lower it; `pluralis compare` tries methods."
    )


def measure(
    release: Release | str | Path,
    original: object,
    *,
    queries: int = 0,
    dimensions: int = 3,
    selectivity: float = 0.07,
    population: int | None = None,
    limit: int | None = LIMIT,
    encoding: str = "utf-8",
    separator: str | None = None,
) -> Loss:
    """What a release loses against its original; of a release in parts see `verbs.measure`."""
    read = release if isinstance(release, Release) else read_release(release, limit=limit)
    frame = recoded(read_table(original, encoding=encoding, separator=separator), read.manifest)
    with stage("measuring what was lost"):
        loss = _measured(read, frame, population)
    if not queries:
        return loss
    with stage("asking random counts"):
        asked = answers_of(read, frame, queries=queries, dimensions=dimensions, selectivity=selectivity)
    return replace(loss, queries=asked)


def _measured(release: Release, original: pl.DataFrame, population: int | None) -> Loss:
    parts = _tables(release)
    published = release.tables[parts[0].name].height
    suppressed = release.manifest.suppressed
    total = published + suppressed
    without_group = _without_group(parts[0], release.tables[parts[0].name])
    require_rows(original.height, published, suppressed)
    with beside(lambda: reidentification_risk(release, original, population=population), original.height) as risk:
        by_attribute, distributions = _shown(release, parts, original)
        kl = kl_divergence(release, original)
    generalized = any(not column.exact for info in parts for column in info.named("quasi"))
    weights = release.manifest.parameters.weights
    weight = np.array([weights.get(name, 1.0) for name in by_attribute])
    ncp = float((np.array(list(by_attribute.values())) * weight).sum() / weight.sum()) if by_attribute else 0.0
    grouped = [info for info in parts if not release.traits.has_subtables or info.named("group")]
    sizes = np.concatenate([np.empty(0, np.int64), *(_sizes(info, release.tables[info.name]) for info in grouped)])
    values, repeats = np.unique(sizes, return_counts=True)
    return Loss(
        rows=published,
        suppressed=suppressed,
        groups=sizes.size,
        ncp=ncp,
        ncp_with_suppressed=(ncp * published + suppressed) / total,
        ncp_by_attribute=by_attribute,
        discernibility=int((sizes**2).sum() + suppressed * total),
        average_group=float(sizes.mean()) if sizes.size else 0.0,
        suppressed_share=(suppressed + without_group) / total,
        group_sizes=dict(zip(values.tolist(), repeats.tolist(), strict=True)),
        without_group=without_group,
        distributions=tuple(distributions.values()),
        kl=kl,
        distortion=distortion(release, original) if generalized else None,
        additional_loss=_additional_loss(release),
        risk=risk.result(),
    )


def _shown(
    release: Release, parts: Sequence[TableInfo], original: pl.DataFrame
) -> tuple[dict[str, float], dict[str, Distribution]]:
    """What each quasi-identifier loses, and distributions of those that are generalized and of sensitive ones."""
    lost: dict[str, float] = {}
    compared: dict[str, Distribution] = {}
    for info in parts:
        rows = release.tables[info.name]
        for column in info.named("quasi"):
            name, least = column.name, lost.get(column.name, np.inf)
            if column.exact:
                lost[name] = 0.0
                compared.pop(name, None)
            elif least > 0:
                true = original_values(original, column, release.manifest, in_codes=True)
                counts = rows[name].value_counts(name="\0rows")
                losses = label_losses(counts[name], column, true) * counts["\0rows"].to_numpy()
                lost[name] = min(least, float(losses.sum() / rows.height))
                if lost[name] < least:
                    compared[name] = distribution(rows[name], column, true)
        for column in info.named("sensitive"):
            true = original_values(original, column, release.manifest, in_codes=True)
            compared[column.name] = _distribution(release, rows[column.name], column, true)
    return lost, compared


def _tables(release: Release) -> list[TableInfo]:
    """The tables that have a row for each person: one, but for subtables."""
    if release.traits.has_subtables:
        return [info for info in release.manifest.tables if not info.name.endswith("_sensitive")]
    return [next(info for info in release.manifest.tables if info.named("quasi") or info.named("group"))]


def _without_group(info: TableInfo, rows: pl.DataFrame) -> int:
    """Rows without a group in some slice."""
    empty = [rows[name].is_null() for name in info.names("group") if rows[name].null_count()]
    return int(reduce(or_, empty).sum()) if empty else 0


def _distribution(release: Release, published: pl.Series, column: ColumnInfo, original: pl.Series) -> Distribution:
    if not column.sets:
        return distribution(published, column, original)
    parameters = release.manifest.parameters
    design = Design.from_dict(parameters.addition[column.name].to_dict(), parameters.l[column.name])
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
    ls = release.manifest.parameters.l
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
    if column.ordered:
        return _ordered_losses(labels, column)
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


def _ordered_losses(labels: pl.Series, column: ColumnInfo) -> np.ndarray:
    domain = OrderedDomain([str(value) for value in column.domain or () if value is not None])
    ends = domain.ends(labels).fill_null(0)
    steps = (ends["high"] - ends["low"]).to_numpy() / max(1, len(domain.values) - 1)
    return np.where((labels == ALL).fill_null(False).to_numpy(), 1.0, steps)


def _interval_losses(labels: pl.Series, original: pl.Series) -> np.ndarray:
    numbers = original.drop_nulls().to_numpy()
    span = float(np.ptp(numbers)) if numbers.size else 0.0
    ends = interval_ends(labels, (0.0, 0.0)).fill_null(0.0)
    width = (ends["high"] - ends["low"]).to_numpy()
    lost = np.minimum(1.0, width / span) if span > 0 else np.zeros(width.size)
    return np.where((labels == ALL).fill_null(False).to_numpy(), 1.0, lost)
