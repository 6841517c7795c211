"""A release in memory: published tables with their manifest, and the order in which rows are published."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from pluralis.display.objects import Columns, Shown
from pluralis.errors import InputError, did_you_mean
from pluralis.release.kinds import Kind
from pluralis.release.manifest import Manifest, TableInfo
from pluralis.table.dictionaries import decode_table
from pluralis.table.labels import member_text, number_text
from pluralis.table.parquet_files import Packed

GROUP = "group"


@dataclass(frozen=True, repr=False)
class Release(Shown):
    """Published tables with their manifest. What `read_release` and `publish` return are releases that also count.

    Parameters
    ----------
    manifest : Manifest
        What the tables are, what is promised, and what is not stopped.
    tables : mapping of str to polars.DataFrame
        The published tables by name.

    Examples
    --------
    >>> import pluralis as pls
    >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
    >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2})
    >>> pls.publish(people, policy, key=pls.Key.test(), attacks=False).decoded()
    Release by bsgi, generalized: 4 rows, 0 suppressed, made with the test key
      table      rows  columns
      microdata     4  age, disease, group
    Promised:
      P(disease | age) ≤ 1/2
    """

    TITLE: ClassVar[str] = "Release"

    manifest: Manifest
    tables: Mapping[str, pl.DataFrame]

    @property
    def kind(self) -> str:
        """How values are published: generalized, bucketized, decomposed, candidates, multi or sliced."""
        return self.manifest.kind

    @property
    def traits(self) -> Kind:
        """What its kind of release is asked."""
        return self.manifest.traits

    def info(self, table: str) -> TableInfo:
        """What the manifest says of a table.

        Parameters
        ----------
        table : str
            Its name.

        Returns
        -------
        TableInfo
            Its file, rows and columns.

        Raises
        ------
        InputError
            If there is no such table.

        Examples
        --------
        >>> import pluralis as pls
        >>> people = pl.DataFrame({"age": [20, 30], "disease": ["flu", "hiv"]})
        >>> policy = pls.Policy(quasi=["age"], sensitive={"disease": 2})
        >>> pls.publish(people, policy, key=pls.Key.test(), attacks=False).info("microdata").names("quasi")
        ['age']
        """
        for info in self.manifest.tables:
            if info.name == table:
                return info
        raise InputError(f"There is no table {table!r}. {did_you_mean(table, self.tables)}")

    def decoded(self) -> Release:
        """The same release, its text no longer as codes.

        Returns
        -------
        Release
            Its tables with columns of plain text.

        Examples
        --------
        >>> import pluralis as pls
        >>> people = pl.DataFrame({"age": [20, 30], "disease": ["flu", "hiv"]})
        >>> policy = pls.Policy(quasi=["age"], sensitive={"disease": 2})
        >>> release = pls.publish(people, policy, key=pls.Key.test(), attacks=False).decoded()
        >>> release.tables["microdata"]["disease"].dtype
        String
        """
        return Release(self.manifest, {name: decode_table(table) for name, table in self.tables.items()})

    def _parts(self) -> Iterator[str | Columns]:
        manifest, tables = self.manifest, self.tables
        heights = tables.rows if isinstance(tables, Packed) else {name: table.height for name, table in tables.items()}
        test = ", made with the test key" if manifest.test else ""
        size = f"{manifest.rows:,} rows, {manifest.suppressed:,} suppressed"
        yield f"{type(self).TITLE} by {manifest.method}, {manifest.kind}: {size}{test}"
        shown = [[i.name, f"{heights[i.name]:,}", ", ".join(c.name for c in i.columns)] for i in manifest.tables]
        yield Columns(("table", "rows", "columns"), shown, right=(1,))
        yield "Promised:"
        yield Columns(("",), [[claim.rule] for claim in manifest.claims])


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
