"""How often each value occurs, in the original and as the release shows it.

A label that stands for several values counts for each of them in equal parts: what an analyst would assume who has
the release and nothing else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from pluralis.release.manifest import ColumnInfo
from pluralis.table.bands import read_band
from pluralis.table.labels import ALL, OrderedDomain, interval_ends, is_binned, number_text, read_set

BINS = 20
SHOWN = 12
SHOWN_IN_ORDER = 30
OTHERS = "others"
_NONE = "(missing)"
_COUNT = re.compile(r"\s*\d{1,3}\s*")


@dataclass(frozen=True)
class Distribution:
    """Shares of rows per value or bin, before and after.

    `bins` says that values are where bins of numbers begin, `cut` that the last share is that of all values that are
    not named.
    """

    attribute: str
    role: str
    values: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    distance: float  # total variation over all values: 0 the same, 1 disjoint
    bins: bool = False
    cut: bool = False


def distribution(published: pl.Series, column: ColumnInfo, original: pl.Series) -> Distribution:
    """Compare one column with the original's values; numbers in bins, other values by name, the rarest together."""
    if column.type == "number":
        return _of_numbers(published, column, original)
    return _of_values(published, column, original)


def estimated(shares: Mapping[str | int | float, float], column: ColumnInfo, original: pl.Series) -> Distribution:
    """Compare estimated shares of values with the original's."""
    if column.type == "number":
        edges = _edges(original)
        after = np.histogram([float(value) for value in shares], edges, weights=list(shares.values()))[0]
        return _in_bins(column, edges, after, original)
    return _by_name(column, {str(name): share for name, share in shares.items()}, original)


def _of_numbers(published: pl.Series, column: ColumnInfo, original: pl.Series) -> Distribution:
    edges = _edges(original)
    labels = published.value_counts(name="\0rows").drop_nulls()
    ends = interval_ends(labels[published.name], (edges[0], edges[-1])).with_columns(labels["\0rows"])
    low, high, rows = (ends[name].to_numpy().astype(np.float64) for name in ("low", "high", "\0rows"))
    after = np.diff(rows_below(edges, low, high, rows))
    return _in_bins(column, edges, after / published.len(), original)


def _edges(original: pl.Series) -> np.ndarray:
    numbers = original.drop_nulls().to_numpy()
    low, high = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 1.0)
    return np.linspace(low, high if high > low else low + 1, BINS + 1)


def _in_bins(column: ColumnInfo, edges: np.ndarray, after: np.ndarray, original: pl.Series) -> Distribution:
    before = np.histogram(original.drop_nulls().to_numpy(), edges)[0] / max(1, original.len())
    names = tuple(number_text(round(float(edge), 6)) for edge in edges[:-1])
    distance = 0.5 * float(np.abs(after - before).sum())
    shares = tuple(before.tolist()), tuple(after.tolist())
    return Distribution(column.name, column.role, names, *shares, distance, bins=True)


def rows_below(edges: np.ndarray, low: np.ndarray, high: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """How many rows lie below each edge if every interval is evenly filled; a single value lies below the next edge."""
    below = np.empty(edges.size)
    for i, edge in enumerate(edges):
        width = np.where(high > low, high - low, 1.0)
        part = np.where(high > low, np.clip((edge - low) / width, 0, 1), low < edge)
        below[i] = (rows * part).sum()
    below[-1] = rows.sum()
    return below


def _of_values(published: pl.Series, column: ColumnInfo, original: pl.Series) -> Distribution:
    domain = [name or _NONE for name in original.unique(maintain_order=True)]
    after: dict[str, float] = {}
    leaves = _leaves_of(column)
    for label, rows in published.value_counts(name="\0rows").iter_rows():
        members = _members(label, column, leaves, domain)
        for member in members:
            after[member] = after.get(member, 0.0) + rows / len(members) / published.len()
    return _by_name(column, after, original)


def _by_name(column: ColumnInfo, after: dict[str, float], original: pl.Series) -> Distribution:
    before = {name or _NONE: count / original.len() for name, count in original.value_counts(name="\0rows").iter_rows()}
    names = sorted(set(before) | set(after), key=lambda name: (-before.get(name, 0.0), name))
    distance = 0.5 * sum(abs(before.get(name, 0.0) - after.get(name, 0.0)) for name in names)
    most = SHOWN_IN_ORDER if column.ordered else SHOWN
    shown, rest = names[:most], names[most:]
    if column.ordered or is_binned(column.domain):
        order = {value: i for i, value in enumerate(column.domain or ())}
        shown.sort(key=lambda name: order.get(name, len(order) if column.ordered else -1))
    elif all(_begins(name) is not None for name in shown if name != _NONE):
        shown.sort(key=lambda name: (name != _NONE, _begins(name) or (0.0, 0)))

    def shares(counts: dict[str, float]) -> tuple[float, ...]:
        rare = [sum(counts.get(name, 0.0) for name in rest)] if rest else []
        return (*(counts.get(name, 0.0) for name in shown), *rare)

    values = (*shown, *([OTHERS] if rest else []))
    return Distribution(column.name, column.role, values, shares(before), shares(after), distance, cut=bool(rest))


def _begins(name: str) -> tuple[float, int] | None:
    """Where a band of numbers begins, one without a lower end before others; None for a text that is no band.

    >>> sorted(["65+", "<1 year", "[10-20)", "1 to 9"], key=_begins)
    ['<1 year', '1 to 9', '[10-20)', '65+']
    >>> _begins("11201"), _begins("type 2"), _begins("250.83")
    (None, None, None)
    """
    band = read_band(name)
    if band is None or (band.low == band.high and not _COUNT.fullmatch(name)):
        return None
    return (band.high, -1) if math.isinf(band.low) else (band.low, 0)


def _leaves_of(column: ColumnInfo) -> dict[str, list[str]]:
    leaves: dict[str, list[str]] = {}
    for line in column.hierarchy or ():
        for label in dict.fromkeys(line):
            leaves.setdefault(label, []).append(line[0])
    return leaves


def _members(label: str | None, column: ColumnInfo, leaves: dict[str, list[str]], domain: list[str]) -> list[str]:
    """The values that a label stands for, those that the original has if there are any."""
    if label is None:
        return [_NONE]
    if column.role != "quasi":
        return [label]
    if label == ALL:
        return domain
    if column.ordered and not column.exact:
        ordered = OrderedDomain([str(value) for value in column.domain or () if value is not None])
        low, high = ordered.places(label)
        return list(ordered.values[low : high + 1])
    members = leaves[label] if label in leaves else [value or _NONE for value in read_set(label)]
    return [member for member in members if member in domain] or members
