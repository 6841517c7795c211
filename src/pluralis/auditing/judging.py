"""What the judges of all kinds share: whether a table is well formed, and a claim about values and their counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import numpy as np
import polars as pl

from pluralis.auditing.definitions import MODELS, diversity, smallest_class, starts_of
from pluralis.auditing.verdict import Finding
from pluralis.errors import ReleaseError
from pluralis.release.manifest import Claim, Manifest, TableInfo
from pluralis.release.release import GROUP, in_canonical_order
from pluralis.table.dictionaries import is_text
from pluralis.table.spelling import same_text

Tables = dict[str, pl.DataFrame]  # text as codes

# d-SA-l-diversity (Decomposition paper, Theorem 1), which is almost never met and never promised
D_SA = "whoever knows all sensitive attributes but one has l candidates for it, in this share of groups"


class Judge(Protocol):
    """A module of this package that judges one kind of release."""

    def problems(self, manifest: Manifest, tables: Tables) -> Iterator[str]:
        """In what ways the tables are not what the manifest says."""

    def judge(self, manifest: Manifest, tables: Tables) -> list[Finding]:
        """The claims of the manifest, measured."""

    def compare(self, manifest: Manifest, tables: Tables, original: pl.DataFrame) -> list[Finding]:
        """Whether the tables tell of the original's rows and of no others."""


class Secrets(NamedTuple):
    """The sensitive values of groups: a row for each value (or combination, `beside` being the other columns)."""

    rows: pl.DataFrame
    beside: list[str]
    people: str | None = None  # the column that says how many have them


def info_of(manifest: Manifest, name: str) -> TableInfo:
    return next(info for info in manifest.tables if info.name == name)


def sensitive_names(manifest: Manifest) -> list[str]:
    """The attributes that the release protects."""
    return sorted(manifest.parameters.get("l", {}))


def table_problems(manifest: Manifest, tables: Tables, expected: Iterable[str]) -> Iterator[str]:
    """Tables that should be there, cells that should not be empty, rows that are out of order."""
    names = list(expected)
    if sorted(tables) != sorted(names):
        said = f"a {manifest.kind} release has the tables {', '.join(names)}"
        yield f"{said}, not {', '.join(sorted(tables)) or 'none'}."
        return
    for name, rows in tables.items():
        info = info_of(manifest, name)
        for column in info.columns:
            if column.role not in ("quasi", "plain", "group") and rows[column.name].null_count():
                yield f"{name}: some rows have no {column.name}."
        values = bool(info.named("count") or info.named("attribute"))
        if not in_canonical_order(rows, once=values):
            twice = ", or one stands there twice" if values else ""
            yield f"{name}: rows are not in canonical order, so their order may tell something{twice}."


def value_problems(manifest: Manifest, name: str, rows: pl.DataFrame, sizes: pl.DataFrame) -> Iterator[str]:
    """Whether the counts of values are those of the groups; `sizes` has `group` and `rows`, in order of groups."""
    info = info_of(manifest, name)
    if not info.named("sensitive") and not info.named("attribute"):
        yield f"{name} has no sensitive column."
        return
    parts = rows.partition_by("attribute", include_key=False) if info.named("attribute") else [rows]
    if any(not _totals(part[GROUP], part["count"]).equals(sizes) for part in parts):
        yield f"{name}: its counts are not the numbers of rows of the groups."


def alike_in_groups(rows: pl.DataFrame, names: list[str]) -> bool:
    """Whether the rows of each group agree in these columns."""
    if not rows[GROUP].is_sorted():
        return rows.select(GROUP, *names).n_unique() == rows[GROUP].n_unique()
    among = rows[GROUP].head(-1) == rows[GROUP].tail(-1)
    return not any((among & rows[name].head(-1).ne_missing(rows[name].tail(-1))).any() for name in names)


def group_sizes(rows: pl.DataFrame, group: str) -> pl.DataFrame:
    """How many rows each group has, in order of groups, rows without a group aside."""
    groups = rows[group].drop_nulls()
    numbers = groups.to_numpy() if groups.is_sorted() else np.sort(groups.to_numpy())
    first = starts_of(numbers)
    return pl.DataFrame({GROUP: numbers[first], "rows": np.diff(first, append=numbers.size)})


def _totals(groups: pl.Series, counts: pl.Series) -> pl.DataFrame:
    """`group` and `rows`: the sum of the counts of each group; groups come in order."""
    first = starts_of(groups.to_numpy())
    rows = np.add.reduceat(counts.to_numpy(), first) if first.size else np.empty(0, np.int64)
    return pl.DataFrame({GROUP: groups.gather(first), "rows": rows})


def secrets_in(info: TableInfo, rows: pl.DataFrame, attribute: str) -> Secrets | None:
    """The values of an attribute in a table of groups and counts, if it has them."""
    if info.named("attribute"):
        held = rows.filter(pl.col("attribute") == attribute).rename({"value": attribute})
        return Secrets(held.select(GROUP, attribute, "count"), [], "count") if held.height else None
    names = info.names("sensitive")
    if attribute not in names:
        return None
    return Secrets(rows, [name for name in names if name != attribute], "count")


def judge_diversity(claim: Claim, manifest: Manifest, secrets: Secrets | None) -> Finding:
    """A claim about how common a value may be among the rows of a group that look alike to the adversary."""
    if claim.model not in MODELS or claim.attribute is None or claim.l is None or secrets is None:
        raise ReleaseError(f"The claim {claim.rule!r} ({claim.model}) is not one that this kind of release can make.")
    rows = secrets.rows
    known = sorted(set(secrets.beside) & set(claim.adversary))
    keep = claim.attribute in manifest.parameters.get("case", [])
    if is_text(rows[claim.attribute].dtype):
        rows = rows.with_columns(same_text(rows[claim.attribute], fold_case=not keep))
    c = claim.c or 0.0
    measured = diversity(rows, [GROUP, *known], claim.attribute, claim.model, claim.l, c, secrets.people)
    promised = MODELS[claim.model].promised(claim.l, c)
    where = place(measured.witness)
    return Finding(claim.rule, measured.holds, measured.measured, promised, measured.top_share, where)


def judge_size(claim: Claim, rows: pl.DataFrame, classes: list[str]) -> Finding:
    """A claim of k-anonymity: rows that look alike are at least k."""
    assert claim.k is not None
    size, where = smallest_class(rows, classes)
    return Finding(claim.rule, size >= claim.k, float(size), float(claim.k), witness=place(where))


def place(where: dict[str, object]) -> str:
    """A class in words.

    >>> place({"group": 7, "sex": "f"})
    'group 7, sex = f'
    """
    return ", ".join(f"{name} {value}" if name == GROUP else f"{name} = {value}" for name, value in where.items())
