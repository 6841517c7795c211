"""A release: published tables and the manifest that says what they are. It can be read back from its folder.

`manifest.json` holds what an analyst and an auditor need and nothing about the input: no key, seed, hash of the
input, path, time, host or row number.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pluralis.coding import coded, coded_table, narrow, spelled_out_table, unmarked
from pluralis.csvfile import read_release_csv
from pluralis.errors import ReleaseError
from pluralis.labels import member_text, number_text, read_set

if TYPE_CHECKING:
    import duckdb

    from pluralis.estimate import Estimate, Estimator
    from pluralis.estimate.conditions import Condition

FORMAT = "pluralis-release"
VERSION = 1
MANIFEST = "manifest.json"
README = "README.md"
GROUP = "group"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Claim(_Part):
    """One promise: against this adversary, this attribute keeps this model; and what was measured for it."""

    rule: str
    model: str
    adversary: tuple[str, ...]
    attribute: str | None = None
    l: int | None = None
    k: int | None = None
    c: float | None = None
    measured: float | None = None


def claim_words(claim: Claim, kind: str) -> str:
    """A claim as a sentence, from its fields: what is promised is what is measured."""
    if claim.k is not None:
        what = "combination of quasi labels" if kind == "sliced" else "group"
        return f"every {what} has at least {claim.k} rows"
    l, name = claim.l, claim.attribute
    promise = {
        "frequency": f"{name} at most 1/{l}",
        "distinct": f"{name} at least {l} different values",
        "entropy": f"{name} entropy at least log {l}",
        "recursive": f"{name} recursive ({claim.c or 0:g},{l})-diversity",
        "unique-distinct": f"{name} {l} values, each once",
        "candidates": f"at least {l} values of {name} remain possible",
        "posterior": f"{name} at most 1/{l} by how common each value is overall",
        "set-size": f"every row lists {l} values of {name}",
    }.get(claim.model, f"{name} {claim.model} {l}")
    return f"knowing {', '.join(sorted(claim.adversary)) or 'nothing'}: {promise}"


class ColumnInfo(_Part):
    """One column of a table. A quasi column holds labels, unless it is `exact`; all others hold values, or `sets` of
    them in domain order.

    A `value` column holds values of several attributes as text, the attribute beside it. `domain` lists the values of
    text in order (null for a missing one) or the two ends of numbers; `hierarchy` has a line for each leaf, the leaf
    first and the root last.
    """

    name: str
    role: Literal["quasi", "sensitive", "plain", "group", "attribute", "value", "count"]
    type: Literal["text", "number"]
    attribute: str | None = None
    exact: Literal[True] | None = None
    sets: Literal[True] | None = None
    domain: tuple[str | int | float | None, ...] | None = None
    hierarchy: tuple[tuple[str, ...], ...] | None = None


class TableInfo(_Part):
    """One file of the release."""

    name: str
    file: str = Field(pattern=r"^[a-z0-9_]+\.(parquet|csv)$")
    sha256: str = ""
    columns: tuple[ColumnInfo, ...]

    def named(self, role: str) -> list[ColumnInfo]:
        return [column for column in self.columns if column.role == role]

    def names(self, role: str) -> list[str]:
        return [column.name for column in self.named(role)]


class Manifest(_Part):
    """What the tables are, what is promised, and what is not."""

    format: Literal["pluralis-release"] = "pluralis-release"
    version: Literal[1] = 1
    method: str
    variant: str
    kind: str
    rows: int
    suppressed: int
    claims: tuple[Claim, ...]
    breaks: tuple[str, ...]
    parameters: dict[str, Any]
    tables: tuple[TableInfo, ...]
    test: bool = False

    def certified(self, measured: Mapping[str, float | None]) -> Manifest:
        """The same with what was measured for each claim, by its sentence."""
        claims = (claim.model_copy(update={"measured": measured.get(claim.rule)}) for claim in self.claims)
        return self.model_copy(update={"claims": tuple(claims)})

    def to_json(self) -> str:
        """Deterministic text; what is null is not written."""
        return json.dumps(self.model_dump(mode="json", exclude_none=True), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def parse(cls, data: bytes) -> Manifest:
        try:
            plain = json.loads(data)
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise ReleaseError(f"{MANIFEST} is not JSON: {error}. The release is damaged; ask for it again.") from None
        if not isinstance(plain, dict) or plain.get("format") != FORMAT:
            raise ReleaseError(f'{MANIFEST} does not say format "{FORMAT}": this folder is not a release.')
        if plain.get("version") != VERSION:
            raise ReleaseError(
                f"{MANIFEST} says version {plain.get('version')!r}, this Pluralis reads {VERSION}. Use the "
                "Pluralis that made it."
            )
        try:
            return cls.model_validate(plain)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise ReleaseError(
                f"{MANIFEST}, {where}: {first['msg']}. The release is damaged; ask for it again."
            ) from None


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

    @cached_property
    def estimator(self) -> Estimator:
        """What counts in its tables; made when first used."""
        from pluralis.estimate import prepare

        return prepare(self)

    def count(self, where: Condition | str | None = None, *, confidence: float = 0.95) -> Estimate:
        """How many published rows pass a condition, with an interval."""
        from pluralis.estimate import count

        return count(self, where, confidence=confidence)

    def crosstab(self, *columns: str, where: Condition | str | None = None, confidence: float = 0.95) -> pl.DataFrame:
        """How many rows have each combination of values of some attributes, with intervals."""
        from pluralis.estimate import crosstab

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
        from pluralis.estimate import distribution

        return distribution(self, attribute, where, confidence=confidence, how=how)

    def to_duckdb(self, *columns: str, database: str | Path = ":memory:") -> duckdb.DuckDBPyConnection:
        """A DuckDB database with its tables, and a view `expected` of how many rows have each combination of values."""
        from pluralis.estimate.sql import to_duckdb

        return to_duckdb(self, *columns, database=database)

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

    @classmethod
    def read(cls, folder: str | Path) -> Self:
        """Read a release folder; refuse one whose files and manifest disagree."""
        manifest, tables, problems = inspect_folder(Path(folder))
        for problem in problems:
            raise ReleaseError(f"{problem} Ask for the release again.")
        return cls(manifest, tables)


def read_release(folder: str | Path) -> Release:
    """Read a release folder; refuse one whose files and manifest disagree."""
    return Release.read(folder)


def inspect_folder(folder: Path, *, in_codes: bool = False) -> tuple[Manifest, dict[str, pl.DataFrame], list[str]]:
    """The manifest, the tables that could be read, and every way in which the files disagree with the manifest."""
    path = folder / MANIFEST
    if not folder.is_dir():
        raise ReleaseError(f"{folder} is not a folder. Name the folder that `pluralis publish` wrote.")
    if not path.is_file():
        raise ReleaseError(
            f"{folder} holds no {MANIFEST}: it is not a release, or it is damaged. Name the folder that "
            "`pluralis publish` wrote, or ask for the release again."
        )
    manifest = Manifest.parse(path.read_bytes())
    problems = list(_surplus_files(folder, manifest))
    tables: dict[str, pl.DataFrame] = {}
    for info in manifest.tables:
        file = folder / info.file
        if not file.is_file() or file.is_symlink():
            problems.append(f"{info.file} is missing.")
            continue
        data = file.read_bytes()
        if hashlib.sha256(data).hexdigest() != info.sha256:
            problems.append(f"{info.file} is not the file that the manifest describes (its hash differs).")
            continue
        try:
            tables[info.name] = read_table_bytes(data, info, in_codes=in_codes)
        except ReleaseError as error:
            problems.append(f"{info.file}: {error}")
    return manifest, tables, problems


def sorting(names: Iterable[str]) -> list[str]:
    """Columns in the order in which they sort rows: the group first."""
    return sorted(names, key=lambda name: name != GROUP)


def canonical_order(table: pl.DataFrame) -> pl.DataFrame:
    """Rows sorted by group and then by everything published, so that their order says nothing."""
    places = pl.DataFrame({name: _places(table[name]) for name in table.columns})
    return table[places.select(pl.arg_sort_by(sorting(places.columns), nulls_last=True)).to_series()]


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


def _surplus_files(folder: Path, manifest: Manifest) -> Iterator[str]:
    expected = {MANIFEST, README, *(info.file for info in manifest.tables)}
    for entry in sorted(folder.iterdir()):
        if entry.name not in expected:
            yield f"{entry.name} is in the folder, but not in the manifest."


def read_table_bytes(data: bytes, info: TableInfo, *, in_codes: bool = False) -> pl.DataFrame:
    """The table in these bytes, if its columns are the ones the manifest names; text may be wanted as codes."""
    if info.file.endswith(".csv"):
        frame = read_release_csv(data, {column.name: csv_type(column) for column in info.columns})
        _require_columns(frame.columns, info)
        sets = (_read_sets(frame[column.name], column) for column in info.columns if column.sets)
        frame = frame.with_columns(sets)
        _require_types(frame.schema, info)
        return coded_table(frame) if in_codes else frame
    try:
        schema = pl.read_parquet_schema(io.BytesIO(data))
        _require_columns(list(schema), info)
        _require_types(schema, info)
        if not in_codes:
            frame = pl.read_parquet(io.BytesIO(data))
            return frame.with_columns(unmarked(column) for column in frame)
        # one by one, so that only one is ever spelled out
        return pl.DataFrame(
            [_small(pl.read_parquet(io.BytesIO(data), columns=[c.name])[c.name], c) for c in info.columns]
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise ReleaseError(f"not a Parquet file ({type(error).__name__}).") from None


def _small(values: pl.Series, column: ColumnInfo) -> pl.Series:
    """Text as codes, groups in 32 bits; what is counted with keeps its 64."""
    values = unmarked(values)
    return narrow(values) if column.role == "group" else coded(values)


def _require_columns(names: list[str], info: TableInfo) -> None:
    if names != [column.name for column in info.columns]:
        raise ReleaseError(f"its columns are {', '.join(names)}, not those of the manifest.")


def _require_types(schema: Mapping[str, pl.DataType], info: TableInfo) -> None:
    for column in info.columns:
        if not _fits(schema[column.name], column):
            raise ReleaseError(f"column {column.name!r} holds {schema[column.name]}, not {column.type}.")


def _is_number(column: ColumnInfo) -> bool:
    return column.type == "number" and (column.role != "quasi" or bool(column.exact))


def _fits(kind: pl.DataType, column: ColumnInfo) -> bool:
    if column.role in ("group", "count"):
        return kind == pl.Int64
    if column.sets:
        inner = kind.inner if isinstance(kind, pl.List) else None
        inner = pl.String() if isinstance(inner, pl.Enum) else inner
        return isinstance(inner, pl.DataType) and _fits(inner, column.model_copy(update={"sets": None}))
    return kind in (pl.Int64, pl.Float64) if _is_number(column) else kind == pl.String


def csv_type(column: ColumnInfo) -> pl.DataType:
    """The type that a column of a CSV table is read as."""
    if column.role in ("group", "count"):
        return pl.Int64()
    if not _is_number(column) or column.sets:
        return pl.String()
    whole = all(isinstance(end, int) for end in column.domain or ())
    return pl.Int64() if whole else pl.Float64()


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


def _read_sets(labels: pl.Series, column: ColumnInfo) -> pl.Series:
    """Sets as they stand in a CSV file, as lists."""
    if labels.null_count():
        raise ReleaseError(f"column {column.name!r} misses a set.")
    inner = csv_type(column.model_copy(update={"sets": None}))
    texts = labels.unique()
    lists = pl.Series([read_set(text) for text in texts], dtype=pl.List(pl.String))
    try:
        return lists.cast(pl.List(inner)).gather(labels.cast(pl.Enum(texts)).to_physical()).rename(column.name)
    except pl.exceptions.PolarsError:
        raise ReleaseError(f"column {column.name!r} holds a set of other things than numbers.") from None
