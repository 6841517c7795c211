"""A release as an analyst has it: it counts by itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import polars as pl

from pluralis.estimate import count, crosstab, distribution
from pluralis.estimate import table as count_by
from pluralis.estimate.conditions import Condition
from pluralis.estimate.result import Estimate
from pluralis.estimate.sql import ask, to_duckdb
from pluralis.release.reading import LIMIT
from pluralis.release.reading import read_release as read_tables
from pluralis.release.release import Release

if TYPE_CHECKING:
    import duckdb


class AnalystRelease(Release):
    """Published tables with their manifest, and counts with intervals from them. `read_release` returns one.

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
    >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2}, method="anatomy")
    >>> release = pls.publish(people, policy, key=pls.Key.test(), attacks=False)
    >>> release.count((pls.col("age") < 35) & (pls.col("disease") == "flu")).value
    1.0
    """

    def count(self, where: Condition | str | None = None, *, confidence: float = 0.95) -> Estimate:
        """How many published rows pass a condition, with an interval.

        Parameters
        ----------
        where : condition or str, optional
            Built with `col`, or in the query language: ``"age > 30 AND disease IN ('flu', 'hiv')"``.
        confidence : float
            How often the interval covers the count.

        Returns
        -------
        Estimate
            The count, its interval, and what the interval rests on.

        Raises
        ------
        QueryError
            If the condition cannot be read, or names what the release does not hold.

        Examples
        --------
        >>> import pluralis as pls
        >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
        >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2}, method="anatomy")
        >>> release = pls.publish(people, policy, key=pls.Key.test(), attacks=False)
        >>> release.count("disease = 'flu'")
        Estimate(value=2.0, low=2.0, high=2.0, confidence=0.95, basis='exact')
        """
        return count(self, where, confidence=confidence)

    def table(self, query: str, *, confidence: float = 0.95) -> pl.DataFrame:
        """A count for each combination of values of the attributes after BY.

        Parameters
        ----------
        query : str
            In the query language: ``"COUNT WHERE age > 30 BY sex"``.
        confidence : float
            How often an interval covers its count.

        Returns
        -------
        polars.DataFrame
            Those attributes, then `value`, `low`, `high` and `basis`.

        Raises
        ------
        QueryError
            If the query cannot be read, or names what the release does not hold.

        Examples
        --------
        >>> import pluralis as pls
        >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
        >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2}, method="anatomy")
        >>> release = pls.publish(people, policy, key=pls.Key.test(), attacks=False)
        >>> release.table("COUNT BY disease").select("disease", "value").rows()
        [('flu', 2.0), ('gout', 1.0), ('hiv', 1.0)]
        """
        return count_by(self, query, confidence=confidence)

    def crosstab(self, *columns: str, where: Condition | str | None = None, confidence: float = 0.95) -> pl.DataFrame:
        """How many rows have each combination of values of some attributes, with intervals.

        Parameters
        ----------
        *columns : str
            The attributes.
        where : condition or str, optional
            Count only the rows that pass it.
        confidence : float
            How often an interval covers its count.

        Returns
        -------
        polars.DataFrame
            Those attributes, then `value`, `low`, `high` and `basis`.

        Raises
        ------
        QueryError
            If the release does not hold an attribute, or there are too many combinations.

        Examples
        --------
        >>> import pluralis as pls
        >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
        >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2}, method="anatomy")
        >>> release = pls.publish(people, policy, key=pls.Key.test(), attacks=False)
        >>> release.crosstab("disease", where=pls.col("age") < 35)["value"].sum()
        2.0
        """
        return crosstab(self, *columns, where=where, confidence=confidence)

    def distribution(
        self,
        attribute: str,
        where: Condition | str | None = None,
        *,
        confidence: float = 0.95,
        how: Literal["unbiased", "likelihood"] = "unbiased",
    ) -> pl.DataFrame:
        """How many rows have each value of an attribute, with intervals and shares.

        Parameters
        ----------
        attribute : str
            The attribute.
        where : condition or str, optional
            Count only the rows that pass it.
        confidence : float
            How often an interval covers its count.
        how : {"unbiased", "likelihood"}
            From sets of candidates, unbiased counts may be below 0; the likeliest ones are not.

        Returns
        -------
        polars.DataFrame
            The attribute, `value`, `low`, `high`, and `share`, its part of all.

        Raises
        ------
        QueryError
            If the release does not hold the attribute, or not in sets of candidates, where `how` needs them.

        Examples
        --------
        >>> import pluralis as pls
        >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
        >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2}, method="anatomy")
        >>> release = pls.publish(people, policy, key=pls.Key.test(), attacks=False)
        >>> release.distribution("disease")["share"].to_list()
        [0.5, 0.25, 0.25]
        """
        return distribution(self, attribute, where, confidence=confidence, how=how)

    def sql(self, query: str) -> pl.DataFrame:
        """The answer to a SELECT on the view `expected`. Needs ``pip install 'pluralis[sql]'``.

        Parameters
        ----------
        query : str
            The view has the attributes that the query names, and `count`: how many rows are expected to have each
            combination of values.

        Returns
        -------
        polars.DataFrame
            The rows of the answer, without intervals.

        Raises
        ------
        QueryError
            If it is not one SELECT, or DuckDB refuses it.
        MissingExtra
            If DuckDB is not installed.

        Examples
        --------
        >>> import pluralis as pls
        >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
        >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2}, method="anatomy")
        >>> release = pls.publish(people, policy, key=pls.Key.test(), attacks=False)
        >>> release.sql("SELECT sum(count) AS ill FROM expected WHERE disease = 'flu'").item()
        2.0
        """
        return ask(self, query)

    def to_duckdb(self, *columns: str, database: str | Path = ":memory:") -> duckdb.DuckDBPyConnection:
        """A DuckDB database with the tables, and the view `expected`. Needs ``pip install 'pluralis[sql]'``.

        Parameters
        ----------
        *columns : str
            The attributes of the view `expected`, which says how many rows have each combination of their values.
        database : str or Path
            A file that is not there yet, if not in memory.

        Returns
        -------
        duckdb.DuckDBPyConnection
            A connection to it.

        Raises
        ------
        QueryError
            If the release does not hold an attribute.
        OutputError
            If the file is there already.
        MissingExtra
            If DuckDB is not installed.

        Examples
        --------
        >>> import pluralis as pls
        >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
        >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2}, method="anatomy")
        >>> release = pls.publish(people, policy, key=pls.Key.test(), attacks=False)
        >>> with release.to_duckdb("disease") as database:
        ...     database.sql("SELECT sum(count) FROM expected").fetchall()
        [(4.0,)]
        """
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

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import pluralis as pls
    >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
    >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2})
    >>> with TemporaryDirectory() as folder:
    ...     _ = pls.publish(people, policy, attacks=False).save(f"{folder}/release")
    ...     release = pls.read_release(f"{folder}/release")
    >>> release
    Release by bsgi, generalized: 4 rows, 0 suppressed
      table      rows  columns
      microdata     4  age, disease, group
    Promised:
      P(disease | age) ≤ 1/2
    """
    release = read_tables(folder, limit=limit)
    return AnalystRelease(release.manifest, release.tables)
