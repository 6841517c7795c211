"""The original's values as the policy read them, for whoever compares a release with its original."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl

from pluralis.errors import InputError
from pluralis.policy.attributes import Attribute
from pluralis.release.manifest import ColumnInfo, Manifest
from pluralis.release.recodings import Recoding
from pluralis.table.bins import break_labels, in_bins
from pluralis.table.canonical import canonical
from pluralis.table.dictionaries import decode, is_text
from pluralis.table.labels import binned, is_binned, number_texts
from pluralis.table.recoding import recode
from pluralis.table.spelling import cores

_NUMBER = r"^-?\d+(\.\d+)?([eE][-+]?\d+)?$"  # as a column of numbers is read


class OtherRows(InputError):
    """A table that has not as many rows as were published and suppressed."""


def require_rows(original: int, published: int, suppressed: int) -> None:
    """Refuse a table that has not as many rows as were published and suppressed."""
    if original != published + suppressed:
        raise OtherRows(
            f"The original has {original:,} rows, the release {published:,} and "
            f"{suppressed:,} suppressed: it is not the original of this release. Give the table that was published."
        )


def recoded(original: pl.DataFrame, manifest: Manifest) -> pl.DataFrame:
    """The original with numbers cut off and rare values joined as in the release; one that was recoded stays as it is.

    Rare values are counted over all rows, so this comes before any rows are chosen. Numbers are put in bins where they
    are compared (`original_values`).
    """
    recodings = manifest.parameters.recodings
    asked = {name for name, own in recodings.items() if (own.top, own.bottom, own.rare) != (None, None, None)}
    if not asked:
        return original
    protected = set(manifest.parameters.l) if any(recodings[name].rare for name in asked) else set()
    infos = {(c.attribute or c.name): c for info in manifest.tables for c in info.columns if c.domain is not None}
    infos |= manifest.parameters.domains
    columns, attributes = {}, {}
    for name in sorted(asked | protected):
        _require_column(original, name)
        attributes[name] = _attribute(original[name], infos.get(name), manifest, name)
        columns[name] = canonical(original[name], attributes[name], _missing(name, manifest), [])
    read = recode(columns, attributes, [], folder=None, levels=lambda level: _level(original, level, manifest))
    return original.with_columns(decode(read.columns[name]).alias(name) for name in sorted(asked))


def _attribute(values: pl.Series, column: ColumnInfo | None, manifest: Manifest, name: str) -> Attribute:
    """How the policy read a column, and what it asked to be done to it."""
    parameters = manifest.parameters
    as_bins = (
        column is not None
        and not column.ordered
        and is_binned(column.domain)
        and not _holds_intervals(values, _missing(name, manifest))
    )
    number = as_bins or (column is not None and column.type == "number")
    instead = parameters.missing_as.get(name)
    keys = parameters.recodings.get(name, Recoding()).attribute("number" if number else "text")
    keys |= {"role": "sensitive" if name in parameters.l else "quasi"}
    keys |= {"case": "keep" if name in parameters.case else "fold"}
    return Attribute.model_validate(keys if instead is None else keys | {"if_missing": {"as": instead}})


def _missing(name: str, manifest: Manifest) -> Sequence[str]:
    """The texts that mean that a value of a column is missing."""
    own = manifest.parameters.recodings.get(name, Recoding()).missing
    return manifest.parameters.missing if own is None else own


def _level(original: pl.DataFrame, name: str, manifest: Manifest) -> pl.Series:
    """A column of wider values."""
    _require_column(original, name)
    case: Literal["fold", "keep"] = "keep" if name in manifest.parameters.case else "fold"
    return canonical(original[name], Attribute(role="plain", case=case), _missing(name, manifest), [])


def _require_column(original: pl.DataFrame, name: str) -> None:
    if name not in original.columns:
        raise InputError(
            f"The original has no column {name!r}, so it is not the original of this release. Give the table "
            "that was published."
        )


def original_values(
    original: pl.DataFrame, column: ColumnInfo, manifest: Manifest, *, in_codes: bool = False
) -> pl.Series:
    """One column of the original: numbers or text in one spelling, bins where it was published in bins.

    What the policy declared missing is null, or the value that it put in its place. Text may come `in_codes`.
    """
    _require_column(original, column.name)
    recoding = manifest.parameters.recodings.get(column.name, Recoding())
    missing = _missing(column.name, manifest)
    protected = column.role == "sensitive" or column.name in manifest.parameters.l
    breaks = recoding.breaks
    if breaks is not None and _holds_labels(original[column.name], break_labels(breaks), missing):
        breaks = None
    has_bins = protected and not column.ordered and is_binned(column.domain)
    as_bins = has_bins and not _holds_intervals(original[column.name], missing)
    case: Literal["fold", "keep"] = "keep" if column.name in manifest.parameters.case else "fold"
    number = as_bins or breaks is not None or column.type == "number" or bool(recoding.numbers)
    kind = Attribute(role="plain", type="number" if number else "text", case=case)
    values = canonical(original[column.name], kind, missing, [], in_codes=in_codes)
    values = number_texts(values).rename(column.name) if recoding.numbers else values
    if breaks is not None:
        values = in_bins(values, breaks)
    elif as_bins:
        values = binned(values, [str(label) for label in column.domain or ()])
    elif column.sets and column.type == "text" and case == "fold":
        values = _spelled_as(decode(values), [str(value) for value in column.domain or ()])
    instead = manifest.parameters.missing_as.get(column.name)
    return values if instead is None else decode(values).fill_null(instead)


def _holds_intervals(values: pl.Series, missing: Sequence[str]) -> bool:
    """Whether the original itself has intervals, as text, in the place of numbers.

    Where it has numbers, every text that does not mean a missing value is one. A mark may begin as intervals do.
    """
    texts = _texts_besides(values, missing)
    return bool(texts.len()) and not texts.str.contains(_NUMBER).all()


def _holds_labels(values: pl.Series, labels: list[str], missing: Sequence[str]) -> bool:
    """Whether the original itself has the labels of bins, as text, in the place of numbers."""
    return is_text(values.dtype) and bool(_texts_besides(values, missing).is_in(labels).all())


def _texts_besides(values: pl.Series, missing: Sequence[str]) -> pl.Series:
    """The different texts of a column of text that do not mean a missing value."""
    if not is_text(values.dtype):
        return pl.Series([], dtype=pl.String)
    texts = values.cast(pl.String).unique().drop_nulls().str.strip_chars()
    return texts.filter(~texts.is_in(["", *missing]))


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
