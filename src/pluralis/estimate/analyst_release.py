"""A release as an analyst has it: it counts by itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import polars as pl

from pluralis.estimate import count, crosstab, distribution
from pluralis.estimate.conditions import Condition
from pluralis.estimate.result import Estimate
from pluralis.estimate.sql import to_duckdb
from pluralis.release.reading import LIMIT
from pluralis.release.reading import read_release as read_tables
from pluralis.release.release import Release

if TYPE_CHECKING:
    import duckdb


class AnalystRelease(Release):
    """Published tables with their manifest, and counts with intervals from them."""

    def count(self, where: Condition | str | None = None, *, confidence: float = 0.95) -> Estimate:
        """How many published rows pass a condition, with an interval."""
        return count(self, where, confidence=confidence)

    def crosstab(self, *columns: str, where: Condition | str | None = None, confidence: float = 0.95) -> pl.DataFrame:
        """How many rows have each combination of values of some attributes, with intervals."""
        return crosstab(self, *columns, where=where, confidence=confidence)

    def distribution(
        self,
        attribute: str,
        where: Condition | str | None = None,
        *,
        confidence: float = 0.95,
        how: Literal["unbiased", "likelihood"] = "unbiased",
    ) -> pl.DataFrame:
        """How many rows have each value of an attribute, with intervals and shares."""
        return distribution(self, attribute, where, confidence=confidence, how=how)

    def to_duckdb(self, *columns: str, database: str | Path = ":memory:") -> duckdb.DuckDBPyConnection:
        """A DuckDB database with its tables, and a view `expected` of how many rows have each combination of values."""
        return to_duckdb(self, *columns, database=database)


def read_release(folder: str | Path, *, limit: int | None = LIMIT) -> AnalystRelease:
    """Read a release folder.

    Parameters
    ----------
    folder : str or Path
        The folder that `pluralis publish` wrote.
    limit : int or None
        Bytes that its tables may unfold to; None for as many as they do.

    Returns
    -------
    AnalystRelease
        Its manifest and tables; it counts by itself.

    Raises
    ------
    ReleaseError
        If the folder is not exactly one release. Nothing in it is believed then.
    """
    found = read_tables(folder, limit=limit)
    return AnalystRelease(found.manifest, found.tables)
