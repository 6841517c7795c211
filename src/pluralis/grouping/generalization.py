"""From a Plan to published labels: each group under what covers all of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.grouping.plan import SUPPRESSED, GeneralizedPlan, Level, Plan
from pluralis.kernels.order import stable_order, starts_of
from pluralis.randomness import Draw
from pluralis.table.dictionaries import dictionary_encode, narrow
from pluralis.table.encoding import Codes, Column, Table
from pluralis.table.labels import ALL, OrderedDomain, member_text, number_texts, value_label

Rows = npt.NDArray[np.int64]
_TIGHT: Mapping[str, Level] = {}  # every column as tightly as its group allows


class PendingColumn(NamedTuple):
    """A column that is not made yet: row i will hold `values[codes[i]]`, text as codes."""

    values: pl.Series
    codes: npt.NDArray[np.integer]

    @classmethod
    def from_column(cls, column: Column, rows: Rows) -> PendingColumn:
        """The values of some rows, as they are."""
        return cls(column.dictionary, column.codes[rows])


class Grouped(NamedTuple):
    """The published rows, group by group: `rows[i]` is in group `group[i]`."""

    rows: Rows
    group: Codes

    @classmethod
    def from_plan(cls, plan: Plan) -> Grouped:
        rows = np.flatnonzero(plan.group_of != SUPPRESSED)
        rows = rows[stable_order(plan.group_of[rows], plan.groups)]
        return cls(rows, plan.group_of[rows].astype(np.int32))


def microdata(plan: GeneralizedPlan, table: Table, draw: Draw) -> dict[str, PendingColumn]:
    """The published rows: generalized quasi-identifiers, plain and sensitive columns, `group`."""
    kept = Grouped.from_plan(plan)
    columns = quasi_labels(table, kept, plan.levels)
    for column in table.named("plain"):
        columns[column.name] = PendingColumn.from_column(column, kept.rows)
    for column in table.sensitive:
        rows = kept.rows if plan.linked else kept.rows[_shuffled_within(kept.group, draw, f"unlink {column.name}")]
        columns[column.name] = PendingColumn.from_column(column, rows)
    numbers = draw.permutation(plan.groups, "group ids") + 1
    return {**columns, "group": PendingColumn(narrow(pl.Series(numbers)), kept.group)}


def quasi_labels(table: Table, kept: Grouped, levels: Mapping[str, Level] = _TIGHT) -> dict[str, PendingColumn]:
    """The label of each quasi-identifier for the published rows: what covers all rows of a group."""
    starts = starts_of(kept.group)
    labels: dict[str, PendingColumn] = {}
    for column in table.quasi:
        codes = column.codes[kept.rows]
        if column.name in levels and column.is_ordered:
            labels[column.name] = PendingColumn(
                dictionary_encode(_ordered_level_labels(levels[column.name], column, codes)), codes
            )
        elif column.name in levels:
            labels[column.name] = PendingColumn(dictionary_encode(_level_labels(levels[column.name], column)), codes)
        else:
            labels[column.name] = PendingColumn(
                dictionary_encode(_tight_labels(column, codes, kept.group, starts)), kept.group
            )
    return labels


def _shuffled_within(group: Codes, draw: Draw, purpose: str) -> Rows:
    """A drawn order of places that moves every place within its own group."""
    return np.lexsort((draw.words(group.size, purpose), group))


def _level_labels(level: Level, column: Column) -> pl.Series:
    """The label of each code at one level of a tree."""
    names = level.hierarchy.labels[level.level]
    own = level.level == 0 and column.hierarchy is None and not column.is_number
    labels: list[str | None] = [value_label(names[leaf]) if own else names[leaf] for leaf in level.leaf_of]
    if column.has_missing and level.level < level.hierarchy.depth - 1:
        labels[-1] = None
    return pl.Series(column.name, labels, dtype=pl.String)


def _ordered_level_labels(level: Level, column: Column, codes: Codes) -> pl.Series:
    """The label of each code at one level: what is published of the values under its node, and no others."""
    missing = len(column.values)
    root = level.level == level.hierarchy.depth - 1
    if root:
        return pl.Series(column.name, [ALL] * column.size, dtype=pl.String)
    shown = np.unique(codes)
    nodes = level.hierarchy.nodes()[level.leaf_of[shown], level.level]
    low = np.array([shown[nodes == node].min() for node in nodes], np.int64)
    high = np.array([shown[nodes == node].max() for node in nodes], np.int64)
    labels = np.full(column.size, None, object)
    labels[shown] = _order_labels(column, low, high, shown[shown < missing]).to_list()
    return pl.Series(column.name, labels.tolist(), dtype=pl.String)


def _tight_labels(column: Column, codes: Codes, group: Codes, starts: Rows) -> pl.Series:
    """The narrowest label of each group."""
    if column.hierarchy is not None and column.leaf_of is not None:
        leaves = column.leaf_of[codes]
        return _tree_labels(column, np.minimum.reduceat(leaves, starts), np.maximum.reduceat(leaves, starts))
    if column.has_order:
        low, high = np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)
        if column.is_ordered:
            shown = np.unique(codes)  # of the published rows: a suppressed value must not show
            return _order_labels(column, low, high, shown[shown < len(column.values)])
        return _number_labels(column, low, high)
    return _set_labels(column, codes, group)


def _number_labels(column: Column, low: npt.NDArray, high: npt.NDArray) -> pl.Series:
    """Intervals; a group that holds both numbers and missing ones is `*`."""
    missing = len(column.values)
    if not missing:
        return pl.Series(column.name, [None] * low.size, dtype=pl.String)
    texts = number_texts(column.series.head(missing))
    frame = pl.DataFrame(
        {
            "low": texts.gather(np.minimum(low, missing - 1)),
            "high": texts.gather(np.minimum(high, missing - 1)),
            "none": low == missing,
            "mixed": high == missing,
            "single": low == high,
        }
    )
    label = (
        pl.when("none")
        .then(None)
        .when("mixed")
        .then(pl.lit(ALL))
        .when("single")
        .then("low")
        .otherwise(pl.format("[{}, {}]", "low", "high"))
    )
    return frame.select(label.alias(column.name)).to_series()


def _order_labels(column: Column, low: npt.NDArray, high: npt.NDArray, shown: npt.NDArray) -> pl.Series:
    """Intervals of the values that are shown; a group that holds both values and missing ones is `*`."""
    missing = len(column.values)
    domain = OrderedDomain([str(column.values[code]) for code in shown])
    place = np.searchsorted(shown, np.arange(column.size))
    both, number = np.unique(np.stack([low, high], axis=1), axis=0, return_inverse=True)
    labels = [
        None if first == missing else ALL if last == missing else domain.label(int(place[first]), int(place[last]))
        for first, last in both.tolist()
    ]
    return pl.Series(column.name, labels, dtype=pl.String).gather(number.ravel())


def _tree_labels(column: Column, low: npt.NDArray, high: npt.NDArray) -> pl.Series:
    """The lowest common ancestor of the first and last leaf of each group, hence of all between."""
    tree = column.hierarchy
    assert tree is not None
    nodes = tree.nodes()
    level = np.argmax(nodes[low] == nodes[high], axis=1)
    labels = pl.Series([label for labels in tree.labels for label in labels], dtype=pl.String)
    out = labels.gather(level * len(tree.leaves) + low)
    if column.has_missing:
        out = out.set(pl.Series((low == len(tree.leaves) - 1) & (level == 0)), None)
    return out.rename(column.name)


def _set_labels(column: Column, codes: Codes, group: Codes) -> pl.Series:
    """The values of each group in domain order; all of the domain is `*`."""
    domain = np.unique(codes).size  # of the published rows: a suppressed value must not show
    pairs = group.astype(np.int64)
    pairs *= column.size
    pairs += codes
    pairs.sort()  # they are nearly in order
    pairs = pairs[starts_of(pairs)]
    frame = pl.DataFrame({"group": pairs // column.size, "code": pairs % column.size})
    alone = [value_label(str(value)) for value in column.values] + [None] * column.has_missing
    members = [member_text(str(value)) for value in column.values] + [member_text(None)] * column.has_missing
    frame = frame.with_columns(
        pl.Series(alone, dtype=pl.String).gather(frame["code"]).alias("alone"),
        pl.Series(members, dtype=pl.String).gather(frame["code"]).alias("member"),
    )
    sets = frame.group_by("group", maintain_order=True).agg(
        pl.len().alias("count"), pl.col("alone").first(), pl.col("member").str.join(", ").alias("members")
    )
    label = (
        pl.when(pl.col("count") == 1)
        .then("alone")
        .when(pl.col("count") == domain)
        .then(pl.lit(ALL))
        .otherwise(pl.format("{{{}}}", "members"))
    )
    return sets.select(label.alias(column.name)).to_series()
