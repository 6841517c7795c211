"""What the values of a column look like: marks for what is missing, flags, codes, dates, amounts of money, bands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pluralis.table.bands import band_order, read_band

_MARKS = frozenset({
    "?", "??", ".", "-", "--", "*", "/", "n/a", "n.a.", "na", "#n/a", "nan", "nil", "null", "(null)", "\\n",
    "missing", "(missing)", "unknown", "unk", "unkn", "unspecified", "undefined", "unavailable", "not available",
    "not_available", "not applicable", "not recorded", "not reported", "not specified", "not stated", "not known",
    "no data", "no answer", "no response", "don't know", "dont know", "invalid", "unknown/invalid", "not mapped",
    "not coded", "blank", "(blank)", "empty", "xxx", "tbd", "prefer not to say", "not ascertained", "not asked",
    "unknown/not stated", "data missing",
})  # fmt: skip
_NUMBER_MARKS = ("-9", "-99", "-999", "-9999", "-1", "-8", "-7", "999", "9999", "99999")
_FLAGS = (
    {"yes", "no"}, {"y", "n"}, {"true", "false"}, {"t", "f"}, {"0", "1"}, {"1", "2"}, {"positive", "negative"},
    {"pos", "neg"}, {"present", "absent"},
)  # fmt: skip
_DOSES = {"no", "none", "steady", "up", "down", "ch", "yes"}
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")
_DIGITS = re.compile(r"\d+")
_SHAPES = {
    "date": re.compile(r"(1[6-9]|20)\d\d-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01])([ T][\d:.]+(Z|[+-]\d\d:?\d\d)?)?)?"),
    "money": re.compile(r"[-(]?\s?[$€£¥]\s?[\d.,' ]*\d\)?|-?[\d.,' ]*\d\s?[€£]|-?\d{1,3}(,\d{3})+(\.\d+)?"),
    "icd-10": re.compile(r"[A-TV-Za-tv-z]\d[0-9A-Ba-b](\.?[0-9A-Za-z]{1,4})?"),
    "icd-9": re.compile(r"\d{3}(\.?\d{1,2})?|[Vv]\d{2}(\.?\d{1,2})?|[Ee]\d{3}(\.?\d)?"),
    "zip": re.compile(r"\d{5}(-\d{4})?|\d{3}|\d{4}"),
}
_CODED = frozenset({
    "zip", "zipcode", "zip3", "postcode", "postal", "code", "icd", "icd9", "icd10", "diag", "dx", "drg", "fips", "id",
    "proc",
})  # fmt: skip
_DIAGNOSES = frozenset({"code", "icd", "icd10", "diag", "dx"})
ALMOST = 0.98  # of the rows: a few values that do not fit do not change what a column is
MARK_SHARE = 0.002  # of the rows, or MARK_ROWS of them: a mark is common
MARK_ROWS = 5
MOST_STEPS = 150  # of numbers of which the last is `120 +`: more are no order that a person reads


class Shape(NamedTuple):
    """What a column's values look like: a word or none, texts that stand for a missing value, the order of bands."""

    word: str
    marks: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    odd: tuple[str, ...] = ()  # the few values of a column of numbers that are neither numbers nor marks
    number: bool = False


def shape_of(counts: Mapping[str, int], words: Sequence[str]) -> Shape:
    """The shape of a column, from how many rows hold each value and the words of its name.

    >>> shape_of({"66": 40, "71": 50, "?": 10}, [])
    Shape(word='', marks=('?',), order=(), odd=(), number=True)
    >>> shape_of({"Yes": 9, "No": 91}, []).word, shape_of({"250.01": 3, "V27": 2, "428": 9}, ["diag"]).word
    ('flag', 'icd-9')
    """
    rows = sum(counts.values())
    marks = tuple(value for value, count in counts.items() if _is_mark(value, count, rows))
    values = [value for value in counts if value not in marks]
    if not values:
        return Shape("", marks if len(marks) < len(counts) else ())
    numbers = sum(counts[value] for value in values if _NUMBER.fullmatch(value))
    known = sum(counts[value] for value in values)
    if numbers == known:
        far = _far_marks(counts, values)
        left = [value for value in values if value not in far]
        return Shape(_word_of_numbers(left, words), (*marks, *far), number=not _is_code(left, words))
    odd = tuple(value for value in values if not _NUMBER.fullmatch(value))
    if numbers >= 0.8 * known and len(odd) <= 5 and not any(_SHAPES["icd-9"].fullmatch(value) for value in odd):
        left = [value for value in values if value not in odd]
        if _is_code(left, words):
            return Shape("code", marks, odd=odd)
        if len(values) <= MOST_STEPS and (order := band_order(values)) is not None:
            return Shape("bands", marks, tuple(order))
        wordy = tuple(v for v in odd if len(left) >= MARK_ROWS and not any(letter.isdigit() for letter in v))
        odd = tuple(value for value in odd if value not in wordy)
        return Shape(_word_of_numbers(left, words), (*marks, *wordy), odd=odd, number=not odd)
    return _shape_of_text({value: counts[value] for value in values}, marks, words)


def _is_mark(value: str, count: int, rows: int) -> bool:
    """Whether a text says that a value is missing, and is common enough to be a habit."""
    folded = " ".join(value.casefold().split())
    if folded not in _MARKS:
        return False
    return count >= min(MARK_ROWS, max(1, MARK_SHARE * rows))


def _far_marks(counts: Mapping[str, int], values: Sequence[str]) -> tuple[str, ...]:
    """Numbers such as -9 that are common and stand apart from all others."""
    rows = sum(counts.values())
    able = [value for value in values if value in _NUMBER_MARKS and counts[value] >= max(MARK_ROWS, 0.01 * rows)]
    if not able or len(values) < 6:
        return ()
    others = [float(value) for value in values if value not in _NUMBER_MARKS]
    low, high = min(others, default=0.0), max(others, default=0.0)
    marks = []
    for value in able:
        number = float(value)
        if (number < 0 <= low) or number > high + 2 * max(high - low, 1.0):
            marks.append(value)
    return tuple(marks)


def _word_of_numbers(values: Sequence[str], words: Sequence[str]) -> str:
    if {value.casefold() for value in values} in _FLAGS:
        return "flag"
    return "code" if _is_code(values, words) else ""


def _is_code(values: Sequence[str], words: Sequence[str]) -> bool:
    """Digits that name something: neither their size nor their distance means anything."""
    named = _CODED & set(words)
    whole = all(_DIGITS.fullmatch(value) for value in values)
    return whole and (bool(named) or (len(values) > 1 and any(v.startswith("0") and len(v) > 1 for v in values)))


def _shape_of_text(counts: Mapping[str, int], marks: tuple[str, ...], words: Sequence[str]) -> Shape:
    folded = {value.casefold() for value in counts}
    if folded in _FLAGS:
        return Shape("flag", marks)
    if len(folded) > 1 and folded <= _DOSES and folded & {"steady", "up", "down"}:
        return Shape("doses", marks)
    if all(_DIGITS.fullmatch(value) for value in counts):
        return Shape("code", marks)
    if (order := band_order(counts)) is not None:
        return Shape("bands" if all(map(read_band, order)) else "ordinal", marks, tuple(order))
    rows = sum(counts.values())
    for word, pattern in _SHAPES.items():
        if sum(count for value, count in counts.items() if pattern.fullmatch(value)) < ALMOST * rows:
            continue
        if word == "zip" and not {"zip", "zipcode", "zip3", "post", "postcode", "postal"} & set(words):
            continue
        if word == "icd-10" and not (_DIAGNOSES & set(words) or len({v[0].upper() for v in counts}) >= 5):
            continue
        if word == "icd-9" and not any(v[0] in "VvEe" or "." in v for v in counts):
            continue
        return Shape(word, marks)
    return Shape("", marks)
