"""From a Plan to published labels: each group under what covers all of its rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.grouping.plan import LEFT_OUT, Level, Plan
from pluralis.kernels.order import stable_order, starts_of
from pluralis.randomness import Draw
from pluralis.table.dictionaries import coded, narrow
from pluralis.table.encoding import Codes, Column, Table
from pluralis.table.labels import ALL, member_text, number_texts, value_label

Rows = npt.NDArray[np.int64]


class Cells(NamedTuple):
    """A column that is not made yet: row i will hold `values[at[i]]`, text as codes."""

    values: pl.Series
    at: npt.NDArray[np.integer]

    @classmethod
    def of(cls, column: Column, rows: Rows) -> Cells:
        """The values of some rows, as they are."""
        return cls(column.coded, column.codes[rows])


class Grouped(NamedTuple):
    """The published rows, group by group: `rows[i]` is in group `group[i]`."""

    rows: Rows
    group: Codes

    @classmethod
    def of(cls, plan: Plan) -> Grouped:
        rows = np.flatnonzero(plan.group_of != LEFT_OUT)
        rows = rows[stable_order(plan.group_of[rows], plan.groups)]
        return cls(rows, plan.group_of[rows].astype(np.int32))


def microdata(plan: Plan, table: Table, draw: Draw) -> dict[str, Cells]:
    """The published rows: generalised quasi columns, plain and sensitive columns, `group`."""
    kept = Grouped.of(plan)
    columns = quasi_labels(plan, table, kept)
    for column in table.named("plain"):
        columns[column.name] = Cells.of(column, kept.rows)
    for column in table.sensitive:
        rows = kept.rows if plan.linked else kept.rows[_shuffled_within(kept.group, draw, f"unlink {column.name}")]
        columns[column.name] = Cells.of(column, rows)
    numbers = draw.permutation(plan.groups, "group ids") + 1
    return {**columns, "group": Cells(narrow(pl.Series(numbers)), kept.group)}


def quasi_labels(plan: Plan, table: Table, kept: Grouped) -> dict[str, Cells]:
    """The label of each quasi column for the published rows: what covers all rows of a group."""
    starts = starts_of(kept.group)
    labels: dict[str, Cells] = {}
    for column in table.quasi:
        codes = column.codes[kept.rows]
        if column.name in plan.levels:
            labels[column.name] = Cells(coded(_level_labels(plan.levels[column.name], column)), codes)
        else:
            labels[column.name] = Cells(coded(_tight_labels(column, codes, kept.group, starts)), kept.group)
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


def _tight_labels(column: Column, codes: Codes, group: Codes, starts: Rows) -> pl.Series:
    """The narrowest label of each group."""
    if column.hierarchy is not None and column.leaf_of is not None:
        leaves = column.leaf_of[codes]
        return _tree_labels(column, np.minimum.reduceat(leaves, starts), np.maximum.reduceat(leaves, starts))
    if column.is_number:
        return _number_labels(column, np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts))
    return _set_labels(column, codes, group)


def _number_labels(column: Column, low: npt.NDArray, high: npt.NDArray) -> pl.Series:
    """Intervals; a group that holds both numbers and missing ones is `*`."""
    texts = number_texts(column.series.head(len(column.values)))
    missing = len(column.values)
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
    domain = np.unique(codes).size  # of the published rows: a value that was left out must not show
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
