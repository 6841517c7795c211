"""A release in memory: published tables with their manifest, and the order in which rows are published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from pluralis.release.manifest import Manifest, TableInfo
from pluralis.table.dictionaries import spelled_out_table
from pluralis.table.labels import member_text, number_text

GROUP = "group"


@dataclass(frozen=True)
class Release:
    """Published tables with their manifest."""

    manifest: Manifest
    tables: Mapping[str, pl.DataFrame]

    @property
    def kind(self) -> str:
        return self.manifest.kind

    def info(self, table: str) -> TableInfo:
        return next(info for info in self.manifest.tables if info.name == table)

    def spelled_out(self) -> Release:
        """The same release, its text no longer as codes."""
        return Release(self.manifest, {name: spelled_out_table(table) for name, table in self.tables.items()})

    def _repr_html_(self) -> str:
        from html import escape

        claims = "".join(f"<li>{escape(claim.rule)}</li>" for claim in self.manifest.claims)
        shown = "".join(
            f"<p><b>{escape(name)}</b>, {frame.height:,} rows</p>{frame.head(5)._repr_html_()}"
            for name, frame in self.tables.items()
        )
        return (
            f"<p><b>Release</b> by {escape(self.manifest.method)}, kind {escape(self.kind)}</p><ul>{claims}</ul>{shown}"
        )

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {frame.height:,} × {frame.width}" for name, frame in self.tables.items())
        return f"Release({self.manifest.method}, {self.kind}; {sizes})"


def sorting(names: Iterable[str]) -> list[str]:
    """Columns in the order in which they sort rows: the group first."""
    return sorted(names, key=lambda name: name != GROUP)


def canonical_order(table: pl.DataFrame) -> pl.DataFrame:
    """Rows sorted by group and then by everything published, so that their order says nothing."""
    names = sorting(table.columns)
    places = pl.DataFrame([_places(column).alias(str(i)) for i, column in enumerate(map(table.get_column, names))])
    return table[places.select(pl.arg_sort_by(places.columns, nulls_last=True)).to_series()]


def _places(column: pl.Series) -> pl.Series:
    """Text as its place among the different texts: it is in the same order, and smaller."""
    if column.dtype != pl.String:
        return column
    return column.cast(pl.Enum(column.unique().drop_nulls().sort())).to_physical()


def in_canonical_order(table: pl.DataFrame, *, once: bool = False) -> bool:
    """Whether no row comes before its predecessor, or, if each may stand there only `once`, is its like.

    >>> in_canonical_order(pl.DataFrame({"x": [1, 1, 2], "group": [1, 2, 2]}))
    True
    >>> in_canonical_order(pl.DataFrame({"x": [1, 2, 1], "group": [1, 2, 2]}))
    False
    """
    before, after = table.head(-1), table.tail(-1)
    tied = pl.repeat(True, max(0, table.height - 1), eager=True)
    for name in sorting(table.columns):
        a, b = before[name], after[name]
        falls = (a > b).fill_null(False)
        if (tied & falls).any() or (a.null_count() and (tied & a.is_null() & b.is_not_null()).any()):
            return False
        tied = tied & a.eq_missing(b)
        if not tied.any():
            return True
        if 8 * int(tied.sum()) < tied.len():  # the rest is settled
            before, after, tied = before.filter(tied), after.filter(tied), tied.filter(tied)
    return not once


def with_set_labels(rows: pl.DataFrame) -> pl.DataFrame:
    """The same rows with lists as labels of sets, for CSV.

    >>> with_set_labels(pl.DataFrame({"disease": [["a, b", "flu"]]}))["disease"].to_list()
    ['{"a, b", flu}']
    """
    return rows.with_columns(_set_labels(rows[name]) for name, kind in rows.schema.items() if isinstance(kind, pl.List))


def _set_labels(sets: pl.Series) -> pl.Series:
    members = sets.explode()
    members = members.cast(pl.String) if members.dtype == pl.Enum else members
    values = members.unique()
    texts = [member_text(value if isinstance(value, str) else number_text(value)) for value in values]
    written = members.replace_strict(values, pl.Series(texts, dtype=pl.String), return_dtype=pl.String)
    joined = written.reshape((sets.len(), -1)).arr.join(", ").to_frame("set")
    return joined.select(pl.format("{{{}}}", "set")).to_series().rename(sets.name)
