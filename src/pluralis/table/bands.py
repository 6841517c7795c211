"""Bands: values whose text says numbers, such as `[60-70)`, `60-69`, `<1 year` or `65+`, and how they stand in order.

A band lies between two numbers, each of which belongs to it or not; an end that is not said is infinite. Bands of one
attribute have an order if they speak of the same unit and no number is in two of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

LONGEST = 100  # letters of a band

_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_SIGNED = rf"[$€£]?(-?(?:{_NUMBER}))"
_UNIT = r"(?: ?(%|[a-z]+(?: old)?))?"
_BETWEEN = r" ?(?:-|,|;|\.\.|to) ?"
_BRACKETS = re.compile(rf"([\[(]) ?{_SIGNED}{_BETWEEN}{_SIGNED} ?([\])]){_UNIT}")
_RANGE = re.compile(rf"{_SIGNED}(?: ?-| ?\.\.| to) ?{_SIGNED}{_UNIT}")
_FROM_OR_TO = re.compile(
    rf"(<=?|>=?|≤|≥|under |below |less than |up to |over |above |more than |at least ){_SIGNED}{_UNIT}"
)
_AND_MORE = re.compile(rf"{_SIGNED}(?: ?\+{_UNIT}|{_UNIT} (?:and|or) (over|above|more|older|under|below|less|younger))")
_ALONE = re.compile(rf"{_SIGNED}(?! (?:and|or|to)$)(?: ?(%)| ([a-z]+))?")
_DASHES = str.maketrans("‐‑‒–—―−", "-------")

# (begins with, is below), each number belonging to the band or not
_BELOW = {"<": False, "under ": False, "below ": False, "less than ": False, "<=": True, "≤": True, "up to ": True}
_ABOVE = {">": False, "over ": False, "above ": False, "more than ": False, ">=": True, "≥": True, "at least ": True}

SCALES: tuple[tuple[str, ...], ...] = (
    ("very low", "low", "medium", "high", "very high"),
    ("low", "moderate", "high"),
    ("low", "mid", "high"),
    ("low", "normal", "high", "very high"),
    ("never", "rarely", "seldom", "sometimes", "often", "usually", "always"),
    ("none", "minimal", "mild", "moderate", "severe", "very severe"),
    ("small", "medium", "large"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("very low", "low", "medium low", "medium", "moderate", "mid", "medium high", "high", "very high", "extreme"),
    ("never", "rarely", "seldom", "sometimes", "occasionally", "often", "usually", "always"),
    ("none", "minimal", "minor", "mild", "moderate", "major", "severe", "extreme", "critical"),
    ("no", "borderline", "yes"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"),
)


class Band(NamedTuple):
    """The numbers between two, and whether these belong to it."""

    low: float
    high: float
    low_closed: bool
    high_closed: bool

    @property
    def is_open_ended(self) -> bool:
        """Whether it has no lower or no upper end."""
        return math.isinf(self.low) or math.isinf(self.high)

    def holds(self, number: float) -> bool:
        """Whether a number belongs to it.

        >>> [Band(60, 70, True, False).holds(number) for number in (59, 60, 70)]
        [False, True, False]
        """
        above = number > self.low or (self.low_closed and number == self.low)
        return above and (number < self.high or (self.high_closed and number == self.high))

    def cut_above(self, number: float) -> bool:
        """Whether some of it lies at or below a number, and some above."""
        starts = number > self.low or (self.low_closed and number == self.low)
        return starts and number < self.high

    def cut_below(self, number: float) -> bool:
        """Whether some of it lies below a number, and some at or above."""
        return number > self.low and (number < self.high or (self.high_closed and number == self.high))


def read_band(text: str) -> Band | None:
    """The band that a text says, or None.

    >>> read_band("[60-70)")
    Band(low=60, high=70, low_closed=True, high_closed=False)
    >>> read_band("18\u201324")
    Band(low=18, high=24, low_closed=True, high_closed=True)
    >>> read_band("<1 year"), read_band("65+")[:2], read_band("120 +")[:2]
    (Band(low=-inf, high=1, low_closed=False, high_closed=False), (65, inf), (120, inf))
    >>> read_band("flu") is None, read_band("70-60") is None
    (True, True)
    """
    return _read(text)[0]


def _read(text: str) -> tuple[Band | None, str]:
    """A band and its unit, without the s of the plural."""
    if len(text) > LONGEST:
        return None, ""
    plain = re.sub(r"\s+", " ", text.translate(_DASHES).strip().casefold())
    plain = re.sub(r"^([<>]=?|≤|≥) ", r"\1", plain)
    if match := _BRACKETS.fullmatch(plain):
        begin, low, high, end, unit = match.groups()
        band = Band(_number(low), _number(high), begin == "[", end == "]")
    elif match := _RANGE.fullmatch(plain):
        low, high, unit = match.groups()
        band = Band(_number(low), _number(high), True, True)
    elif match := _FROM_OR_TO.fullmatch(plain):
        word, number, unit = match.groups()
        below = word in _BELOW
        band = _half(_number(number), below=below, closed=_BELOW[word] if below else _ABOVE[word])
    elif match := _AND_MORE.fullmatch(plain):
        number, plus_unit, unit, word = match.groups()
        unit = unit or plus_unit
        band = _half(_number(number), below=word in ("under", "below", "less", "younger"), closed=True)
    elif match := _ALONE.fullmatch(plain):
        number, percent, unit = match.groups()
        unit = unit or percent
        band = Band(_number(number), _number(number), True, True)
    else:
        return None, ""
    empty = band.low > band.high or (band.low == band.high and not (band.low_closed and band.high_closed))
    return (None, "") if empty else (band, (unit or "").removesuffix(" old").removesuffix("s"))


def _half(number: float, *, below: bool, closed: bool) -> Band:
    return Band(-math.inf, number, False, closed) if below else Band(number, math.inf, closed, False)


def _number(text: str) -> float:
    plain = text.replace(",", "")
    return int(plain) if re.fullmatch(r"-?\d+", plain) else float(plain)


def bands_in_order(values: Iterable[str]) -> list[Band] | None:
    """The band of each value, where all are bands of one unit that stand in order and share no number; else None.

    >>> bands_in_order(["<18", "18-64", "65+"]) is not None, bands_in_order(["0-10", "10-20"]) is not None
    (True, False)
    """
    read = [_read(value) for value in values]
    bands = [band for band, _ in read if band is not None]
    if not bands or len(bands) < len(read) or len({unit for _, unit in read} - {""}) > 1:
        return None
    return bands if all(_apart(one, two) for one, two in pairwise(bands)) else None


def _apart(one: Band, two: Band) -> bool:
    """Whether all of one lies below all of the other."""
    return one.high < two.low or (one.high == two.low and not (one.high_closed and two.low_closed))


def overlapping_bands(values: Iterable[str]) -> tuple[str, str] | None:
    """Two values, bands of one unit, that share more than one number; they may share an end.

    >>> overlapping_bands(["<65", "60-69", "70+"]), overlapping_bands(["0-10", "10-20", "more"])
    (('<65', '60-69'), None)
    """
    read = {value: _read(value) for value in values}
    bands = sorted((band, value) for value, (band, _) in read.items() if band is not None)
    if len({unit for band, unit in read.values() if band is not None} - {""}) > 1:
        return None
    for (one, first), (two, second) in pairwise(bands):
        touch = one.high == two.low and one.low < one.high and two.low < two.high
        if not touch and not _apart(one, two):
            return first, second
    return None


def bands_out_of_order(values: Iterable[str]) -> tuple[str, str] | None:
    """Two bands of one unit of which the first does not lie below the second, though it stands before it.

    They may share an end. Values that are no bands are left aside, and so are numbers alone: they may be codes.

    >>> bands_out_of_order(["65+", "<18", "18-64"]), bands_out_of_order(["0-10", "5-15", "more"])
    (('65+', '<18'), ('0-10', '5-15'))
    >>> bands_out_of_order(["<18", "18-64", "65+"]), bands_out_of_order(["2", "1", "3"])
    (None, None)
    """
    read = [(value, *_read(value)) for value in values]
    bands = [(value, band, unit) for value, band, unit in read if band is not None]
    if all(band.low == band.high for _, band, _ in bands):
        return None
    units = {unit for _, _, unit in bands}
    several = len(units - {""}) > 1
    for unit in sorted(units) if several else [None]:
        own = [(value, band) for value, band, own_unit in bands if unit in (None, own_unit)]
        for (first, one), (second, two) in pairwise(own):
            if one.high > two.low:
                return first, second
    return None


def band_order(values: Iterable[str | None], missing: Collection[str] = ("",)) -> list[str] | None:
    """The order of values that are bands, or words of a known scale; None where they are neither.

    Missing values and texts that mean "missing" are left out.

    >>> band_order(["65+", "<18", "18-64", None])
    ['<18', '18-64', '65+']
    >>> band_order(["severe", "none", "mild"]), band_order(["flu", "hiv"]), band_order(["1", "2", "3"])
    (['none', 'mild', 'severe'], None, None)
    """
    texts = sorted({value for value in values if value is not None and value.strip() and value not in missing})
    if len(texts) < 2:
        return None
    bands = {text: band for text in texts if (band := read_band(text)) is not None}
    if len(bands) == len(texts):
        if all(band.low == band.high for band in bands.values()):
            return None  # numbers have their own order
        texts.sort(key=lambda text: (bands[text].low, not bands[text].low_closed, bands[text].high))
        return texts if bands_in_order(texts) is not None else None
    words = {text: " ".join(text.casefold().split()) for text in texts}
    for scale in SCALES:
        if len({*words.values()}) == len(texts) and {*words.values()} <= {*scale}:
            return sorted(texts, key=lambda text: scale.index(words[text]))
    return None


def bands_of_breaks(breaks: Sequence[float]) -> list[Band]:
    """The bins that breaks make: below the first, from each to the next, from the last.

    >>> [band.low for band in bands_of_breaks([18, 65])]
    [-inf, 18, 65]
    """
    ends = [-math.inf, *breaks, math.inf]
    return [Band(low, high, math.isfinite(low), False) for low, high in pairwise(ends)]
