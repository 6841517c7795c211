"""The original's values as the policy read them, for whoever compares a release with its original."""

from __future__ import annotations

from typing import Literal

import polars as pl

from pluralis.errors import InputError
from pluralis.policy.attributes import Attribute
from pluralis.release.manifest import ColumnInfo, Manifest
from pluralis.table.canonical import canonical
from pluralis.table.dictionaries import is_text, spelled_out
from pluralis.table.labels import binned, is_binned
from pluralis.table.spelling import cores


def require_rows(original: pl.DataFrame, published: int, left_out: int) -> None:
    """Refuse a table that has not as many rows as were published and left out."""
    if original.height != published + left_out:
        raise InputError(
            f"The original has {original.height:,} rows, the release {published:,} and "
            f"{left_out:,} left out: it is not the original of this release. Give the table that was published."
        )


def original_values(
    original: pl.DataFrame, column: ColumnInfo, manifest: Manifest, *, in_codes: bool = False
) -> pl.Series:
    """One column of the original: numbers or text in one spelling, bins where it was published in bins.

    What the policy declared missing is null, or the value that it put in its place. Text may come `in_codes`.
    """
    if column.name not in original.columns:
        raise InputError(
            f"The original has no column {column.name!r}, so it is not the original of this release. Give the table "
            "that was published."
        )
    missing = manifest.parameters.get("missing", [""])
    protected = column.role == "sensitive" or column.name in manifest.parameters.get("l", {})
    in_bins = protected and is_binned(column.domain) and not _holds_intervals(original[column.name])
    case: Literal["fold", "keep"] = "keep" if column.name in manifest.parameters.get("case", []) else "fold"
    kind = Attribute(role="plain", type="number" if in_bins or column.type == "number" else "text", case=case)
    values = canonical(original[column.name], kind, missing, [], in_codes=in_codes)
    if in_bins:
        values = binned(values, [str(label) for label in column.domain or ()])
    elif column.sets and column.type == "text" and case == "fold":
        values = _spelled_as(spelled_out(values), [str(value) for value in column.domain or ()])
    instead = manifest.parameters.get("missing_as", {}).get(column.name)
    return values if instead is None else spelled_out(values).fill_null(instead)


def _holds_intervals(values: pl.Series) -> bool:
    """Whether the original itself has intervals, as text, in the place of numbers."""
    if not is_text(values.dtype):
        return False
    texts = values.dtype.categories if isinstance(values.dtype, pl.Enum) else values.cast(pl.String)
    return bool(texts.str.contains(r"^\s*\[").any())


def comparable(values: pl.Series, *, fold_case: bool) -> pl.Series:
    """Values that are equal where they mean the same: text by what is left of it in any spelling, numbers as such."""
    if values.dtype == pl.String:
        texts = values.unique().drop_nulls()
        return values.replace_strict(texts, cores(texts, fold_case=fold_case), return_dtype=pl.String)
    return values.cast(pl.Float64)


def _spelled_as(values: pl.Series, domain: list[str]) -> pl.Series:
    """Text as a release spells it that keeps to the spelling of an earlier one."""
    new = values.unique().drop_nulls()
    new = new.filter(~new.is_in(domain))
    if not new.len():
        return values
    by_core = dict(zip(cores(pl.Series(domain)), domain, strict=True))
    spelled = [by_core.get(core, text) for core, text in zip(cores(new), new, strict=True)]
    return values.replace(new, pl.Series(spelled, dtype=pl.String))
