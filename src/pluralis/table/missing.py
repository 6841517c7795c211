"""What counts as a missing value, and what becomes of rows that have one: `missing` and `if_missing` of the policy.

A text counts as missing if it is one of the marks that the policy lists, or nothing once blanks around it are gone; a
number, if it is a mark, or none (NaN: `table.canonical`, as tables are read). An empty field of a CSV file is nothing.
A missing quasi-identifier is a category of its own, the last code of its column (`table.encoding`); a missing sensitive
value is refused, made a value or suppressed, as `if_missing` says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import polars as pl

from pluralis.errors import InputError, PolicyError
from pluralis.policy.attributes import Attribute, MissingAs

_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def some_missing(texts: pl.Series, marks: Sequence[str]) -> bool:
    """Whether any of some texts counts as missing.

    >>> some_missing(pl.Series(["flu", " ? "]), ["?"]), some_missing(pl.Series(["flu"]), ["?"])
    (True, False)
    """
    return bool(texts.null_count()) or bool(texts.str.strip_chars().is_in(["", *marks]).any())


def without_marks(texts: pl.Series, marks: Sequence[str]) -> pl.Series:
    """Texts, those null that are marks or blank.

    >>> without_marks(pl.Series(["flu", " ? ", " "]), ["?"]).to_list()
    ['flu', None, None]
    """
    return texts.set(texts.str.strip_chars().is_in(["", *marks]), None)


def without_marked_numbers(numbers: pl.Series, marks: Sequence[str]) -> pl.Series:
    """Numbers, those null that are marks.

    >>> without_marked_numbers(pl.Series([70, -9]), ["?", "-9"]).to_list()
    [70, None]
    """
    marked = [float(mark) for mark in marks if _NUMBER.fullmatch(mark)]
    if not marked:
        return numbers
    return numbers.set(numbers.is_in(pl.Series(marked).cast(numbers.dtype, strict=False).implode()), None)


def with_missing_named(texts: pl.Series, attribute: Attribute, notes: list[str]) -> pl.Series:
    """Texts, missing ones as the value that the policy makes of them, if it does; it is noted."""
    if not isinstance(attribute.if_missing, MissingAs) or not texts.null_count():
        return texts
    notes.append(f"{texts.name}: {texts.null_count():,} missing published as {attribute.if_missing.as_!r}.")
    return texts.fill_null(attribute.if_missing.as_)


def rows_with_sensitive_values(frame: pl.DataFrame, used: Mapping[str, Attribute], notes: list[str]) -> pl.Series:
    """Which rows have every sensitive value, after what the policy says about missing ones."""
    keep = pl.repeat(True, frame.height, eager=True)
    for name, attribute in used.items():
        gaps = frame[name].is_null()
        if attribute.role != "sensitive" or not gaps.any():
            continue
        count = int(gaps.sum())
        if isinstance(attribute.if_missing, MissingAs):
            raise PolicyError(
                f"attributes.{name}.if_missing: a number cannot be {attribute.if_missing.as_!r}. Use drop."
            )
        if attribute.if_missing == "drop":
            keep = keep & ~gaps
            notes.append(f"{name}: {count:,} rows without a value suppressed.")
        else:
            raise sensitive_and_missing(name, count, f" (first: row {int(gaps.arg_true()[0]) + 1})")
    return keep


def sensitive_and_missing(name: str, rows: int, first: str = "") -> InputError:
    """Why rows without a sensitive value are not published, and what to do."""
    return InputError(
        f"{name!r} is sensitive and missing, {rows:,} times{first}. Add if_missing: drop to suppress them, or "
        "if_missing: {as: unknown} to make it a value."
    )
