"""A release as a DuckDB database: the published tables, and a view of expected counts to ask in SQL.

The view `expected` has a column for each attribute that was named, with the values themselves, and `count`: how many
rows to expect with that combination. A sum over it is what `Release.count` gives for the same condition; attributes of
which no view can do so are refused. It holds no intervals. Attributes are named beforehand because a view of all of
them would spread every label of every row over all its values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from pluralis.errors import MissingExtra, OutputError, QueryError, did_you_mean
from pluralis.estimate import estimator_of
from pluralis.estimate.group_counts import Block, CodedColumns, Grouped
from pluralis.estimate.kinds.candidates import Candidates
from pluralis.estimate.kinds.multi import Multi
from pluralis.estimate.label_distribution import Bins, Column, Intervals
from pluralis.estimate.label_members import MOST, members
from pluralis.estimate.table_tree import Branch, Node
from pluralis.kernels.expect import HANDED_OUT
from pluralis.release.attributes import attributes_of
from pluralis.release.release import Release

if TYPE_CHECKING:
    import duckdb


OWN = "pluralis"  # what columns of this module's own begin with; attributes may be called anything else
N, SHARE, GROUP_CODE = f"{OWN} n", f"{OWN} share", f"{OWN} group"


class Join(NamedTuple):
    """One table of the view: it goes with a column of an earlier one, and may give values and a share."""

    table: str
    rows: pl.DataFrame
    on: str
    attribute: str | None = None


def to_duckdb(release: Release, *columns: str, database: str | Path = ":memory:") -> duckdb.DuckDBPyConnection:
    """A connection to a database with the tables of a release, and the view `expected` of these attributes."""
    try:
        import duckdb
        import pyarrow  # noqa: F401, DuckDB reads frames through it
    except ImportError:
        raise MissingExtra("SQL needs duckdb and pyarrow. Install them: pip install 'pluralis[sql]'.") from None
    infos = attributes_of(release)
    for name in columns:
        if name not in infos:
            raise QueryError(f"There is no attribute {name!r}. {did_you_mean(name, infos)}")
        if name.casefold() == "count" or name.startswith(f"{OWN} "):
            raise QueryError(f"{name!r}: the view has a column of this name of its own. Ask about it without SQL.")
    if len(set(columns)) < len(columns):
        raise QueryError("An attribute is named twice. Name each once.")
    if database != ":memory:" and Path(database).exists():
        raise OutputError(f"{database} exists. Choose another name.")
    rows, joins = _joined(release, columns)
    connection = duckdb.connect(str(database))
    _create(connection, "pluralis_rows", rows)
    for join in joins:
        _create(connection, join.table, join.rows)
    for name, table in release.tables.items():
        _create(connection, name, table)
    connection.execute(_view(columns, joins))
    connection.execute("SET enable_external_access = false")
    return connection


def ask(release: Release, query: str) -> pl.DataFrame:
    """The answer to a query in SQL on `expected`, which has the attributes that the query names."""
    known = attributes_of(release)
    connection = to_duckdb(release, *columns_in(query, release))
    import duckdb

    try:
        with connection:
            statements = connection.extract_statements(query)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise QueryError("Write one SELECT on the view `expected`.")
            answer = pl.from_arrow(connection.sql(query).to_arrow_table())
    except duckdb.Error as error:
        names = ", ".join(_quoted(name) for name in known)
        lines = [f"  | {line}" for line in str(error).split("\n")]  # its lines may be those of a name
        raise QueryError("DuckDB refuses the query.", *lines, f"  Attributes are {names}.") from None
    assert isinstance(answer, pl.DataFrame)
    return answer


def columns_in(query: str, release: Release) -> list[str]:
    """The attributes of a release that a query in SQL names.

    Whatever looks like one of them counts, also in a text: that makes the view larger, not wrong.
    """
    words = set(re.findall(r'"((?:[^"]|"")*)"|([^\W\d]\w*)', query))
    named = {quoted.replace('""', '"') or bare.lower() for quoted, bare in words}
    return [name for name in attributes_of(release) if name in named or name.lower() in named]


def _joined(release: Release, columns: Sequence[str]) -> tuple[pl.DataFrame, list[Join]]:
    """The rows by their codes and groups with their number `n`, and what to join to them."""
    estimator = estimator_of(release)
    if isinstance(estimator, Multi):
        part = estimator.alone(frozenset(columns))
        if part is None:
            return _across(estimator, columns)
        estimator = estimator.estimator(part)
    own = [name for name in columns if name in estimator.rows.columns]  # type: ignore[attr-defined]
    sensitive = tuple(name for name in columns if name not in own)
    if isinstance(estimator, Candidates):
        return _candidates(estimator, own, sensitive)
    assert isinstance(estimator, Grouped)
    codes = {name: pl.Series(estimator.rows.codes[estimator.rows.line_of[name]]) for name in own}
    joins = [Join(_labels(name), _values(name, estimator.rows.columns[name]), name, name) for name in own]
    blocks, totals = estimator.telling(own, sensitive)
    if totals and any((block.assignment != HANDED_OUT).any() for block in blocks):
        kept = ", ".join(repr(name) for name in sensitive)
        raise QueryError(
            f"{kept}: groups tell only which values may occur in them, and how often each occurs is known of the whole "
            "table. A view cannot hold to both, so its sums would not be the counts. Ask without SQL"
            + (f", or leave out {', '.join(map(repr, own))}." if own else ", or name one of them.")
        )
    for i, block in enumerate(blocks):
        group = f"{OWN} group {i}"
        codes[group] = pl.Series(block.groups.of_row)
        asked = [name for name in block.values.columns if name in sensitive]
        joins.append(Join(f"pluralis_block_{i}", _shares(block, asked).rename({GROUP_CODE: group}), group))
        joins += [Join(_labels(name), _values(name, block.values.columns[name]), name, name) for name in asked]
    return _rows_by_codes(codes, estimator.count_of_rows), joins


def _across(estimator: Multi, columns: Sequence[str]) -> tuple[pl.DataFrame, list[Join]]:
    """As `_joined` for attributes of several subtables: what each says, times the shares of what hangs on it."""
    forest = estimator.forest(frozenset(columns))
    teller = forest.tellers(columns)
    trees = [_product(root, teller) for root in forest.rooted(frozenset(teller.values()))]
    rows = trees[0]
    for tree in trees[1:]:
        _require_few(rows.height * tree.height)
        other = tree.rename({N: "\0other"})
        rows = rows.join(other, how="cross").with_columns(pl.col(N) * pl.col("\0other") / estimator.count_of_rows)
        rows = rows.drop("\0other")
    joins = [Join(_labels(name), _values(name, teller[name].columns[name]), name, name) for name in columns]
    return rows, joins


def _product(branch: Branch, teller: Mapping[str, Node]) -> pl.DataFrame:
    """Combinations of the codes that a branch is asked about with their number `n`, by class of the link above it."""
    node = branch.node
    asked = [name for name, source in teller.items() if source is node]
    lines = pl.DataFrame([pl.Series(name, node.codes[name]) for name in asked] + [pl.Series(N, node.weight)])
    keys = [f"\0{i}" for i in range(len(branch.below))]
    links = {key: below.up for key, below in zip(keys, branch.below, strict=True)} | {"\0up": branch.up}
    lines = lines.with_columns(pl.Series(key, link.classes(node)) for key, link in links.items() if link is not None)
    rows = lines.group_by(pl.exclude(N)).agg(pl.col(N).sum())
    for key, below in zip(keys, branch.below, strict=True):
        assert below.up is not None
        shares = _shares_of_classes(_product(below, teller), rows[key]).rename({"\0up": key})
        _require_few(int(rows.join(shares.group_by(key).len("\0len"), on=key)["\0len"].sum()))
        rows = rows.join(shares, on=key).with_columns(pl.col(N) * pl.col("\0share")).drop("\0share", key)
    return rows.group_by(pl.exclude(N)).agg(pl.col(N).sum())


def _shares_of_classes(combinations: pl.DataFrame, classes: pl.Series) -> pl.DataFrame:
    """The combinations of each class by their share of it; in a class that nobody is in, as in all."""
    share = (pl.col(N) / pl.col(N).sum().over("\0up")).alias("\0share")
    by_class = combinations.with_columns(share).drop(N)
    empty = classes.unique().filter(~classes.unique().is_in(combinations["\0up"].unique().implode())).to_frame("\0up")
    if not empty.height:
        return by_class
    whole = combinations.group_by(pl.exclude(N, "\0up")).agg(pl.col(N).sum())
    _require_few(empty.height * whole.height)
    shares = whole.with_columns((pl.col(N) / pl.col(N).sum()).alias("\0share")).drop(N)
    return pl.concat([by_class, shares.join(empty, how="cross").select(by_class.columns)])


def _require_few(lines: int) -> None:
    if lines > MOST:
        raise QueryError(
            f"These attributes stand in several tables, and their combinations are {lines:,}, more than {MOST:,}. Name "
            "fewer attributes; without SQL, a count needs no table of all combinations."
        )


def _candidates(estimator: Candidates, own: Sequence[str], sensitive: Sequence[str]) -> tuple[pl.DataFrame, list[Join]]:
    frame = pl.DataFrame(
        [pl.Series(name, estimator.rows.codes[estimator.rows.line_of[name]]) for name in own]
        + [pl.Series(f"{OWN} member of {name}", estimator.drawn[name].sets).arr.to_list() for name in sensitive]
    )
    joins = [Join(_labels(name), _values(name, estimator.rows.columns[name]), name, name) for name in own]
    for name in sensitive:
        drawn = estimator.drawn[name]
        frame = frame.explode(f"{OWN} member of {name}")
        design = drawn.design
        scores = np.array([design.scores(unit) for unit in np.eye(design.m)])  # [value, member]
        weights = pl.DataFrame(
            {
                f"{OWN} member of {name}": np.tile(np.arange(design.m, dtype=np.int32), design.m),
                name: np.repeat(drawn.place, design.m),
                SHARE: scores.ravel(),
            }
        )
        joins.append(Join(f"pluralis_scores_{len(joins)}", weights, f"{OWN} member of {name}"))
        joins.append(Join(_labels(name), _values(name, drawn.values), name, name))
    if not frame.width:
        return pl.DataFrame({N: [estimator.count_of_rows]}), joins
    return frame.group_by(frame.columns).agg(pl.len().alias(N)), joins


def _rows_by_codes(codes: Mapping[str, pl.Series], rows: int) -> pl.DataFrame:
    if not codes:
        return pl.DataFrame({N: [rows]})
    frame = pl.DataFrame(codes)
    return frame.group_by(frame.columns).agg(pl.len().alias(N))


def _shares(block: Block, names: Sequence[str]) -> pl.DataFrame:
    """The group, codes of some attributes, the share of the group's values."""
    groups = np.repeat(np.arange(block.starts.size - 1, dtype=np.int32), np.diff(block.starts))
    values: CodedColumns = block.values
    frame = pl.DataFrame(
        {GROUP_CODE: groups, **{name: values.codes[values.line_of[name]] for name in names}, N: block.counts}
    )
    counted = frame.group_by(GROUP_CODE, *names).agg(pl.col(N).sum())
    return counted.select(GROUP_CODE, *names, (pl.col(N) / pl.col(N).sum().over(GROUP_CODE)).alias(SHARE))


def _values(name: str, column: Column) -> pl.DataFrame:
    """What the labels of an attribute stand for, if they can be listed."""
    if isinstance(column, (Intervals, Bins)) and column.low.dtype != np.int64 and (column.high > column.low).any():
        raise QueryError(
            f"{name!r} has numbers that are not whole, in intervals: a view would need every number in them. "
            "Leave it out, or ask without SQL."
        )
    return members(column)


def _view(columns: Sequence[str], joins: Iterable[Join]) -> str:
    shares, tables = [f"r.{_quoted(N)}"], ["pluralis_rows r"]
    shown: dict[str, str] = {}
    source = dict[str, str]()  # which table has a column to join on
    for i, join in enumerate(joins):
        left = f"{source.get(join.on, 'r')}.{_quoted(join.on)}"
        right = "code" if join.attribute else join.on
        tables.append(f"JOIN {_quoted(join.table)} t{i} ON {left} = t{i}.{_quoted(right)}")
        shares.append(f"t{i}.share" if join.attribute else f"t{i}.{_quoted(SHARE)}")
        if join.attribute:
            shown[join.attribute] = f"t{i}.value AS {_quoted(join.attribute)}"
        else:
            source |= {name: f"t{i}" for name in join.rows.columns if name not in (join.on, SHARE)}
    chosen = "".join(f"{shown[name]}, " for name in columns)
    grouped = " GROUP BY ALL" if columns else ""
    return f"CREATE VIEW expected AS SELECT {chosen}sum({' * '.join(shares)}) AS count FROM {' '.join(tables)}{grouped}"


def _create(connection: duckdb.DuckDBPyConnection, name: str, rows: pl.DataFrame) -> None:
    connection.register("pluralis_incoming", rows.to_arrow())
    connection.execute(f"CREATE TABLE {_quoted(name)} AS SELECT * FROM pluralis_incoming")
    connection.unregister("pluralis_incoming")


def _labels(name: str) -> str:
    return f"pluralis_labels_{name}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
