"""A release: published tables and the manifest that says what they are. `reading` reads it back from its folder.

`manifest.json` holds what an analyst and an auditor need and nothing about the input: no key, seed, hash of the
input, path, time, host or row number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from pluralis.coding import spelled_out_table
from pluralis.csvfile import MAX_ROWS
from pluralis.labels import member_text, number_text

if TYPE_CHECKING:
    import duckdb

    from pluralis.estimate import Estimate, Estimator
    from pluralis.estimate.conditions import Condition

FORMAT = "pluralis-release"
VERSION = 1
MANIFEST = "manifest.json"
README = "README.md"
GROUP = "group"
CSV_ESCAPE = "a text cell that starts with = + - @ ' tab or CR has a ' before it"
LARGEST_L = 1 << 30  # times the number of rows it still fits in 64 bits

Rows = Annotated[int, Field(ge=0, le=MAX_ROWS)]
Diversity = Annotated[int, Field(ge=2, le=LARGEST_L)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Claim(_Part):
    """One promise: against this adversary, this attribute keeps this model; and what was measured for it."""

    rule: str
    model: str
    adversary: tuple[str, ...]
    attribute: str | None = None
    l: Diversity | None = None
    k: Annotated[int, Field(ge=2, le=MAX_ROWS)] | None = None
    c: Finite | None = None
    bound: Finite | None = None
    measured: Finite | None = None


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
        "recursive": f"{name} recursive ({number_text(claim.c or 0)},{l})-diversity",
        "unique-distinct": f"{name} {l} values, each once",
        "candidates": f"at least {l} values of {name} remain possible",
        "posterior": f"{name} at most 1/{l} by the published weights",
        "posterior-shares": f"{name} at most {claim.bound or 0:.4g} by the true shares of values",
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
    domain: tuple[str | Whole | Finite | None, ...] | None = None
    hierarchy: tuple[tuple[str, ...], ...] | None = None


class TableInfo(_Part):
    """One file of the release: its size and hash, and how many rows it unfolds to, once it is written."""

    name: str
    file: str = Field(pattern=r"^[a-z0-9_]+\.(parquet|csv)$", max_length=255)
    rows: Rows = 0
    bytes: Annotated[int, Field(ge=0, lt=2**63)] = 0
    sha256: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")
    columns: tuple[ColumnInfo, ...]

    def named(self, role: str) -> list[ColumnInfo]:
        return [column for column in self.columns if column.role == role]

    def names(self, role: str) -> list[str]:
        return [column.name for column in self.named(role)]


class Drawn(_Part):
    """How the sets of an attribute were drawn (see `addition`)."""

    design: Literal["uniform", "calibrated"]
    values: tuple[str | Whole | Finite, ...]
    effect: Annotated[float, Field(ge=1, le=MAX_ROWS)] | None = None
    weights: tuple[Annotated[int, Field(ge=1, lt=2**63)], ...] | None = None


class Parameters(_Part):
    """What an analyst and an auditor need to know of how a release was made. Kinds have some of these.

    `adversaries`, `models`, `k` and, of kinds other than multi, `rules` are what the policy asked for beside the l of
    each attribute: whatever is claimed follows from them, so that a claim that is missing is noticed.
    """

    linked: bool | None = None
    l: dict[str, Diversity]
    options: dict[str, Any] = Field(default_factory=dict)
    adversaries: tuple[tuple[str, ...], ...] | None = None
    models: dict[str, str] | None = None
    k: Annotated[int, Field(ge=2, le=MAX_ROWS)] | None = None
    primary: str | None = None
    domains: dict[str, ColumnInfo] | None = None
    addition: dict[str, Drawn] | None = None
    rules: tuple[str, ...] | None = None
    dependencies: tuple[str, ...] | None = None
    weights: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] | None = None
    missing: tuple[str, ...] | None = None
    missing_as: dict[str, str] | None = None
    case: tuple[str, ...] | None = None
    persons: Literal[True] | None = None
    csv_escape: Literal["a text cell that starts with = + - @ ' tab or CR has a ' before it"] | None = None


class Manifest(_Part):
    """What the tables are, what is promised, and what is not."""

    format: Literal["pluralis-release"] = "pluralis-release"
    version: Literal[1] = 1
    method: str
    variant: str
    kind: str
    rows: Rows
    suppressed: Rows
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


def file_names(names: Sequence[str]) -> list[str]:
    """For each table the name of its file, of small letters, digits and `_`; where names become alike, with a number.

    >>> file_names(["quasi", "sensitive_marital status", "sensitive_marital_status"])
    ['quasi', 'sensitive_marital_status', 'sensitive_marital_status_2']
    """
    plain = [re.sub(r"[^a-z0-9]+", "_", name.lower()) for name in names]
    files: list[str] = []
    for name in plain:
        numbered = (f"{name.rstrip('_')}_{i}" for i in count(2))
        files.append(name if name not in files else next(file for file in numbered if file not in (*plain, *files)))
    return files


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
