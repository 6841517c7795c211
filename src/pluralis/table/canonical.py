"""A column as Pluralis reads it: text in one spelling, or numbers that are never rounded; missing values are null."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import normalize

import polars as pl

from pluralis.errors import InputError
from pluralis.policy.attributes import Attribute
from pluralis.table.dictionaries import decode, dictionary_encode, is_text
from pluralis.table.missing import some_missing, with_missing_named, without_marked_numbers, without_marks
from pluralis.table.spelling import canonical_spellings, skeleton


def canonical(
    series: pl.Series,
    attribute: Attribute,
    missing: Sequence[str],
    notes: list[str],
    *,
    in_codes: bool = False,
    rows: pl.Series | None = None,
    whole: bool = True,
) -> pl.Series:
    """A column as text or numbers in one spelling; missing values are null. What was changed is noted.

    Text that needs no change may come back as codes. Where `series` has the different values of a column, `rows` says
    how many rows hold each. Where it is not the `whole` column, no row of it is named by its number.
    """
    name = series.name
    if attribute.type == "number":
        numbers = _as_numbers(series, missing, whole)  # of texts, those that are marks are gone
        return without_marked_numbers(numbers, missing) if series.dtype.is_numeric() else numbers
    text = series if is_text(series.dtype) else as_text(series, notes)
    texts = as_text(text.unique(), notes)
    if _is_canonical(texts, attribute, missing):
        return dictionary_encode(text, texts) if in_codes else decode(text)
    text = decode(text)
    text = with_missing_named(without_marks(text, missing), attribute, notes)
    table = canonical_spellings(text, fold_case=attribute.case == "fold", rows=rows)
    changed = table.filter(pl.col("text") != pl.col("spelling"))
    if changed.height:
        merged = changed.filter(pl.col("spelling").is_in(_said_twice(table).implode()))
        if merged.height:
            several = f"{merged.height:,} spelling{'s' * (merged.height > 1)} merged with another"
            notes.append(f"{name}: {several}, such as {_side_by_side(merged, 'with')}.")
        if merged.height < changed.height:
            alone = changed.join(merged, on="text", how="anti")
            notes.append(f"{name}: {alone.height:,} values tidied, such as {_side_by_side(alone, 'to')}.")
        text = text.replace_strict(table["text"], table["spelling"], default=None)
    return text.set(text == "", None).rename(name)


def _said_twice(table: pl.DataFrame) -> pl.Series:
    """The spellings of several texts."""
    return table["spelling"].filter(table["spelling"].is_duplicated()).unique()


def _side_by_side(changed: pl.DataFrame, word: str) -> str:
    """A text and its spelling; where they look the same on a screen, by the numbers of their characters."""
    one, other = changed.row(0)
    shown = ascii if normalize("NFC", one) == normalize("NFC", other) else repr
    return f"{shown(one)} {word} {shown(other)}"


def _is_canonical(texts: pl.Series, attribute: Attribute, missing: Sequence[str]) -> bool:
    """Whether no text is missing, and each stands for itself; `texts` are different."""
    if some_missing(texts, missing):
        return False
    frame = texts.to_frame("text").select(
        tidy=skeleton(pl.col("text"), fold_case=False) == pl.col("text"),
        core=skeleton(pl.col("text"), fold_case=attribute.case == "fold"),
    )
    return bool(frame["tidy"].all()) and frame["core"].n_unique() == texts.len()


def as_text(series: pl.Series, notes: list[str]) -> pl.Series:
    """Any column as text, each value in one form: whole floats without a point, dates in ISO form."""
    kind = series.dtype
    if is_text(kind):
        return decode(series)
    if kind.is_float():
        whole = series.drop_nulls().drop_nans()
        if whole.is_infinite().any():
            raise InputError(f"{series.name!r} holds an infinite value. Correct it or leave the row out.")
        series = series.fill_nan(None)
        series = series.set(series == 0, 0.0)  # −0.0 becomes 0.0
        if (whole == whole.floor()).all() and bool((whole.abs() < 2**53).all()):
            return series.cast(pl.Int64).cast(pl.String)
        return series.cast(pl.String)
    if kind == pl.Object or kind.is_nested() or kind == pl.Binary:
        raise InputError(f"{series.name!r} holds {kind}, not single values. Unnest it or leave it out.")
    if kind == pl.Null:
        return series.cast(pl.String)
    if not (kind.is_integer() or kind.is_temporal() or kind.is_decimal() or kind == pl.Boolean):
        notes.append(f"{series.name}: read as text (it was {kind}).")
    return series.cast(pl.String)


def _as_numbers(series: pl.Series, missing: Sequence[str], whole_column: bool) -> pl.Series:
    """A column as Int64 where every value is whole, else Float64; never a rounded value."""
    series = decode(series) if isinstance(series.dtype, pl.Enum) else series
    name, kind = series.name, series.dtype
    if kind.is_integer():
        try:
            return series.cast(pl.Int64)
        except pl.exceptions.InvalidOperationError:
            raise InputError(
                f"{name!r} holds whole numbers beyond 64 bits. Use type: text to keep them exact."
            ) from None
    if kind == pl.String:
        text = without_marks(series.str.strip_chars(), missing)
        if text.str.contains(r"^-?\d+$").all():
            whole = text.cast(pl.Int64, strict=False)
            if whole.null_count() > text.null_count():
                bad = text.filter(whole.is_null() & text.is_not_null())[0]
                raise InputError(f"{name!r} holds {bad}, beyond 64 bits. Use type: text to keep it exact.")
            return whole
        decimal = text.str.contains(r"^-?\d+(\.\d+)?([eE][-+]?\d+)?$")
        if not decimal.all():
            row = int((~decimal).fill_null(False).arg_true()[0])
            where = f"row {row + 1}" if whole_column else "a row"
            raise InputError(
                f"{name!r} is a number in the policy, {where} holds {text[row]!r}. Correct it, declare it in "
                "`missing`, or use type: text."
            )
        digits = (
            text.str.replace(r"[eE].*$", "").str.replace_all(r"[-.]", "").str.strip_chars_start("0").str.len_bytes()
        )
        if (digits > 15).any():
            bad = text.filter(digits > 15)[0]
            raise InputError(f"{name!r} holds {bad}, more digits than a number keeps. Use type: text, or round it.")
        series = text.cast(pl.Float64)
    elif kind.is_decimal():
        series = series.cast(pl.Float64)
    elif not kind.is_float():
        raise InputError(f"{name!r} is a number in the policy, but the column holds {kind}. Use type: text.")
    series = series.cast(pl.Float64).fill_nan(None)
    if series.is_infinite().any():
        raise InputError(f"{name!r} holds an infinite value. Correct it or leave the row out.")
    if (series == series.floor()).all() and bool((series.abs() < 2**53).all()):
        return series.cast(pl.Int64)
    return series.set(series == 0, 0.0)  # −0.0 becomes 0.0
