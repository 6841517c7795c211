"""How generalised values are written, and how they are read back.

A numeric interval is `[25, 40]`, both ends included. A set without a hierarchy is `{a, b}` in domain order. A
node of a hierarchy is its own label. A single value is itself; all of a domain is `*`. A missing value alone is
null in the file and `null` inside a set. Text that could be mistaken for any of these is written as JSON.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence

import polars as pl

from pluralis.errors import ReleaseError

ALL = "*"
MISSING = "null"

_NEEDS_QUOTES = re.compile(r'[,{}"]')
_MEMBER = re.compile(r'(?:"(?:[^"\\]|\\.)*+"|[^,{}"]++)')  # no way back: a long member is read once
_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_INTERVAL = re.compile(rf"\[({_NUMBER}), ({_NUMBER})\]")


def number_text(value: float) -> str:
    """A number as it is published: whole ones without a point, others in the fewest digits that identify them.

    >>> number_text(25.0), number_text(0.1), number_text(9007199254740993)
    ('25', '0.1', '9007199254740993')
    """
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        raise ReleaseError(f"{value} is not a number that can be published.")
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))


def number_texts(values: pl.Series) -> pl.Series:
    """Many of them, missing ones as null.

    >>> number_texts(pl.Series([25.0, 0.1, None])).to_list(), number_texts(pl.Series([25, None])).to_list()
    (['25', '0.1', None], ['25', None])
    """
    if values.dtype.is_integer():
        return values.cast(pl.String)
    different = values.unique().drop_nulls()
    texts = pl.Series([number_text(value) for value in different.to_list()], dtype=pl.String)
    return values.replace_strict(different, texts, return_dtype=pl.String).cast(pl.String)  # also of no values


def interval_label(low: float, high: float) -> str:
    """
    >>> interval_label(25, 40), interval_label(25, 25)
    ('[25, 40]', '25')
    """
    return number_text(low) if low == high else f"[{number_text(low)}, {number_text(high)}]"


def read_interval(label: str) -> tuple[float, float]:
    """The two ends of a numeric label.

    >>> read_interval("[-3, 4.5]"), read_interval("7")
    ((-3, 4.5), (7, 7))
    """
    match = _INTERVAL.fullmatch(label)
    ends = match.groups() if match else (label, label)
    try:
        low, high = (_number(end) for end in ends)
    except ValueError:
        raise ReleaseError(f"{shortened(label)} is neither a number nor an interval.") from None
    if low > high:
        raise ReleaseError(f"The interval {label!r} ends before it begins.")
    return low, high


def interval_ends(labels: pl.Series, domain: tuple[float, float]) -> pl.DataFrame:
    """`low` and `high` of many numeric labels at once; `*` is the whole domain, a missing value is null.

    >>> interval_ends(pl.Series(["[1, 2.5]", "7", "*", None]), (0, 9)).rows()
    [(1.0, 2.5), (7.0, 7.0), (0.0, 9.0), (None, None)]
    """
    text = labels.cast(pl.String).rename("label").to_frame()
    pattern = f"^{_INTERVAL.pattern}$"
    ends = text.select(
        "label",
        low=pl.col("label").str.extract(pattern, 1).fill_null(pl.col("label")).cast(pl.Float64, strict=False),
        high=pl.col("label").str.extract(pattern, 2).fill_null(pl.col("label")).cast(pl.Float64, strict=False),
    ).with_columns(
        low=pl.when(pl.col("label") == ALL).then(pl.lit(float(domain[0]))).otherwise("low"),
        high=pl.when(pl.col("label") == ALL).then(pl.lit(float(domain[1]))).otherwise("high"),
    )
    bad = ends.filter(pl.col("label").is_not_null() & (pl.col("low").is_null() | (pl.col("low") > pl.col("high"))))
    if bad.height:
        raise ReleaseError(f"{bad['label'][0]!r} is neither a number nor an interval.")
    return ends.select("low", "high")


def is_binned(domain: Sequence[object] | None) -> bool:
    """Whether a domain of text is one of intervals: sensitive numbers that are published in bins."""
    return bool(domain) and all(isinstance(value, str) and _INTERVAL.fullmatch(value) for value in domain or ())


def in_order_of_numbers(labels: Sequence[str]) -> list[str]:
    """Intervals by where they begin.

    >>> in_order_of_numbers(["[10, 19]", "[0, 9]"])
    ['[0, 9]', '[10, 19]']
    """
    return sorted(labels, key=lambda label: float(read_interval(label)[0]))


def binned(numbers: pl.Series, labels: Sequence[str]) -> pl.Series:
    """Each number (as text or number) as the interval it falls in.

    >>> binned(pl.Series([3, 7, None]), ["[5, 9]", "[0, 4]"]).to_list()
    ['[0, 4]', '[5, 9]', None]
    """
    labels = in_order_of_numbers(labels)
    lows = pl.Series([float(read_interval(label)[0]) for label in labels])
    values = numbers.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    at = lows.search_sorted(values.fill_null(lows[0]), side="right").cast(pl.Int64) - 1
    found = pl.Series(list(labels)).gather(at.clip(0, len(labels) - 1))
    return found.set(values.is_null(), None).rename(numbers.name)


def _number(text: str) -> float:
    if not re.fullmatch(_NUMBER, text):
        raise ValueError(text)
    return int(text) if re.fullmatch(r"-?\d+", text) else float(text)


def value_label(value: str) -> str:
    """A single text value; quoted only where it would read as something else.

    >>> value_label("Never-married"), value_label("*"), value_label("{a}")
    ('Never-married', '"*"', '"{a}"')
    """
    return json.dumps(value, ensure_ascii=False) if value == ALL or value[:1] in ("{", '"') else value


def member_text(value: str | None) -> str:
    """A value as it stands inside a set."""
    if value is None:
        return MISSING
    ambiguous = value in (MISSING, ALL) or _NEEDS_QUOTES.search(value) or value != value.strip()
    return json.dumps(value, ensure_ascii=False) if ambiguous else value


def set_label(values: Sequence[str | None]) -> str:
    """Two or more values, in the order given.

    >>> set_label(["flu", "a, b", None])
    '{flu, "a, b", null}'
    """
    return "{" + ", ".join(member_text(value) for value in values) + "}"


def read_set(label: str) -> list[str | None]:
    """The values that a label of a column without a hierarchy stands for (not `*`, which needs the domain).

    >>> read_set('{flu, "a, b", null}'), read_set("flu"), read_set('"*"')
    (['flu', 'a, b', None], ['flu'], ['*'])
    """
    if label.startswith('"'):
        value = _unquote(label)
        if value_label(value) != label:
            raise ReleaseError(f"{shortened(label)} is not written as values are.")
        return [value]
    if not label.startswith("{"):
        return [label]
    if not label.endswith("}"):
        raise ReleaseError(f"The set {shortened(label)} is not closed.")
    inner, members, at = label[1:-1], [], 0
    while (match := _MEMBER.match(inner, at)) is not None:
        text, at = match.group(), match.end()
        members.append(_unquote(text) if text.startswith('"') else None if text == MISSING else text)
        if at == len(inner):
            break
        if not inner.startswith(", ", at):
            match = None
            break
        at += 2
    if match is None or set_label(members) != label:
        raise ReleaseError(f"The set {shortened(label)} is not written as sets are, from character {at + 2}.")
    return members


def shortened(text: str, most: int = 60) -> str:
    """A stranger's text in a message: quoted, and not all of it if it is long.

    >>> shortened("flu"), shortened("a" * 100, 5)
    ("'flu'", "'aaaaa…'")
    """
    return repr(text if len(text) <= most else text[:most] + "…")


def _unquote(text: str) -> str:
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        raise ReleaseError(f"{shortened(text)} is not a quoted value.") from None
    if not isinstance(value, str):
        raise ReleaseError(f"{shortened(text)} is not a quoted value.")
    return value
