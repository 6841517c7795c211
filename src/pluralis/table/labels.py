"""How generalized values are written, and how they are read back.

A numeric interval is `[25, 40]`, both ends included, or `[0.5, 1)` without its upper end. A set without a hierarchy is
`{a, b}` in domain order. A node of a hierarchy is its own label. A single value is itself; all of a domain is `*`. A
missing value alone is null in the file and `null` inside a set. Text that could be mistaken for any of these is written
as JSON.

Values of an ordered attribute from one to another are `low … high`, or, where all values of the domain are bands of
numbers, the band that holds them: `[60, 80)`, `<18`, `>=65`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import polars as pl

from pluralis.errors import ReleaseError
from pluralis.table.bands import Band, bands_in_order, read_band

ALL = "*"
MISSING = "null"

_NEEDS_QUOTES = re.compile(r'[,{}"]')
_MEMBER = re.compile(r'(?:"(?:[^"\\]|\\.)*+"|[^,{}"]++)')  # no way back: a long member is read once
_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_INTERVAL = re.compile(rf"\[({_NUMBER}), ({_NUMBER})([\])])")
_TO = " … "


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


def interval_label(low: float, high: float, *, half_open: bool = False) -> str:
    """
    >>> interval_label(25, 40), interval_label(25, 25), interval_label(0.5, 1.0, half_open=True)
    ('[25, 40]', '25', '[0.5, 1)')
    """
    return number_text(low) if low == high else f"[{number_text(low)}, {number_text(high)}{')' if half_open else ']'}"


def read_interval(label: str) -> tuple[float, float]:
    """The smallest and the largest number of a numeric label. Of `[0.5, 1)` the largest is the last one below 1.

    >>> read_interval("[-3, 4.5]"), read_interval("7"), read_interval("[0.5, 1)")
    ((-3, 4.5), (7, 7), (0.5, 0.9999999999999999))
    """
    match = _INTERVAL.fullmatch(label)
    first, last = match.group(1, 2) if match else (label, label)
    try:
        low, high = _number(first), _number(last)
    except ValueError:
        raise ReleaseError(f"{shortened(label)} is neither a number nor an interval.") from None
    half_open = match is not None and match[3] == ")"
    if low > high or (half_open and low == high):
        raise ReleaseError(f"The interval {label!r} ends before it begins.")
    return low, math.nextafter(high, low) if half_open else high


def interval_ends(labels: pl.Series, domain: tuple[float, float]) -> pl.DataFrame:
    """The smallest and the largest number of many numeric labels; `*` is the whole domain, a missing value is null.

    >>> interval_ends(pl.Series(["[1, 2.5]", "7", "*", None, "[0, 1)"]), (0, 9)).rows()
    [(1.0, 2.5), (7.0, 7.0), (0.0, 9.0), (None, None), (0.0, 0.9999999999999999)]
    """
    text = labels.cast(pl.String).rename("label").to_frame()
    pattern = f"^{_INTERVAL.pattern}$"
    ends = text.select(
        "label",
        low=pl.col("label").str.extract(pattern, 1).fill_null(pl.col("label")).cast(pl.Float64, strict=False),
        high=pl.col("label").str.extract(pattern, 2).fill_null(pl.col("label")).cast(pl.Float64, strict=False),
        half_open=pl.col("label").str.extract(pattern, 3) == ")",
    )
    if ends["half_open"].any():
        below = pl.Series(np.nextafter(ends["high"].to_numpy(), -np.inf))
        ends = ends.with_columns(high=pl.when("half_open").then(below).otherwise("high"))
    ends = ends.with_columns(
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
    """Each number (as text or number) as the interval it falls in; one that is in none, as it is.

    >>> binned(pl.Series([3, 7, None, 10, -1]), ["[5, 9]", "[0, 4]"]).to_list()
    ['[0, 4]', '[5, 9]', None, '10', '-1']
    """
    labels = in_order_of_numbers(labels)
    ends = [read_interval(label) for label in labels]
    lows, highs = (pl.Series([float(pair[i]) for pair in ends]) for i in range(2))
    values = numbers.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    place = lows.search_sorted(values.fill_null(lows[0]), side="right").cast(pl.Int64) - 1
    within = (place >= 0) & (values <= highs.gather(place.clip(0)))
    intervals = pl.Series(list(labels)).gather(place.clip(0))
    binned_or_not = intervals.zip_with(within.fill_null(False), number_texts(values))
    return binned_or_not.set(values.is_null(), None).rename(numbers.name)


class OrderedDomain:
    """The values of an ordered attribute in their order, and how values from one to another are written.

    >>> ages = OrderedDomain(["<18", "[18, 40)", "[40, 65)", ">=65"])
    >>> [ages.label(*places) for places in ((0, 0), (0, 1), (1, 2), (2, 3), (0, 3))]
    ['<18', '<40', '[18, 65)', '>=40', '<18 … >=65']
    >>> pains = OrderedDomain(["none", "mild", "severe"])
    >>> pains.label(1, 2), pains.places("mild … severe"), pains.places("mild")
    ('mild … severe', (1, 2), (1, 1))
    """

    def __init__(self, values: Sequence[str]) -> None:
        self.values = tuple(values)

    @cached_property
    def bands(self) -> list[Band] | None:
        """The band of each value, where all are bands that stand in order."""
        return bands_in_order(self.values)

    @cached_property
    def _single(self) -> dict[str, int]:
        return {_ordered_text(value): place for place, value in enumerate(self.values)}

    @cached_property
    def _begins(self) -> dict[tuple[float, bool], int]:
        return {(band.low, band.low_closed): place for place, band in enumerate(self.bands or ())}

    @cached_property
    def _ends(self) -> dict[tuple[float, bool], int]:
        return {(band.high, band.high_closed): place for place, band in enumerate(self.bands or ())}

    def label(self, low: int, high: int) -> str:
        """How the values from one place to another are written."""
        if low == high:
            return _ordered_text(self.values[low])
        if self.bands is not None:
            first, last = self.bands[low], self.bands[high]
            if math.isfinite(first.low) or math.isfinite(last.high):
                return band_text(Band(first.low, last.high, first.low_closed, last.high_closed))
        return f"{_ordered_text(self.values[low])}{_TO}{_ordered_text(self.values[high])}"

    def places(self, label: str) -> tuple[int, int]:
        """The places of the first and the last value of a label (not of `*`, which is all of them)."""
        if label in self._single:
            return self._single[label], self._single[label]
        first, _, last = label.partition(_TO)
        low, high = self._single.get(first, -1), self._single.get(last, -1)
        if self.bands is not None and (band := read_band(label)) is not None:
            low = self._begins.get((band.low, band.low_closed), -1)
            high = self._ends.get((band.high, band.high_closed), -1)
        if not 0 <= low < high or self.label(low, high) != label:
            raise ReleaseError(f"{shortened(label)} is neither a value nor an interval of values in their order.")
        return low, high

    def ends(self, labels: pl.Series) -> pl.DataFrame:
        """`low` and `high`, the places of many labels; `*` is the whole domain, a missing value is null.

        >>> OrderedDomain(["a", "b", "c"]).ends(pl.Series(["a … b", "*", None])).rows()
        [(0, 1), (0, 2), (None, None)]
        """
        places = {ALL: (0, len(self.values) - 1)}
        for label in labels.unique().drop_nulls().cast(pl.String).to_list():
            if label != ALL:
                places[label] = self.places(label)
        known, kind = [*places], pl.Int64
        text = labels.cast(pl.String)
        return pl.DataFrame(
            {
                name: text.replace_strict(known, [both[i] for both in places.values()], default=None, return_dtype=kind)
                for i, name in enumerate(("low", "high"))
            }
        )


def band_text(band: Band) -> str:
    """A band as it is published.

    >>> band_text(Band(18, 40, True, False)), band_text(Band(-math.inf, 18, False, False))
    ('[18, 40)', '<18')
    >>> band_text(Band(65, math.inf, True, False)), band_text(Band(3, 3, True, True))
    ('>=65', '3')
    """
    if math.isinf(band.low):
        return f"<{'=' * band.high_closed}{number_text(band.high)}"
    if math.isinf(band.high):
        return f">{'=' * band.low_closed}{number_text(band.low)}"
    if band.low == band.high:
        return number_text(band.low)
    begin, end = "[" if band.low_closed else "(", "]" if band.high_closed else ")"
    return f"{begin}{number_text(band.low)}, {number_text(band.high)}{end}"


def _ordered_text(value: str) -> str:
    """A value of an ordered attribute; quoted where it would read as something else."""
    return json.dumps(value, ensure_ascii=False) if _TO in value else value_label(value)


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
    inner, members, position = label[1:-1], [], 0
    while (match := _MEMBER.match(inner, position)) is not None:
        text, position = match.group(), match.end()
        members.append(_unquote(text) if text.startswith('"') else None if text == MISSING else text)
        if position == len(inner):
            break
        if not inner.startswith(", ", position):
            match = None
            break
        position += 2
    if match is None or set_label(members) != label:
        raise ReleaseError(f"The set {shortened(label)} is not written as sets are, from character {position + 2}.")
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
