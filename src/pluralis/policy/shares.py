"""Shares and numbers that bound how likely a value may become: read from a policy, and compared exactly."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

_RATIO = re.compile(r"(\d{1,6})/([1-9]\d{0,5})")
_PERCENT = re.compile(r"(\d{1,2}(?:\.\d{1,4})?) ?%")
_DECIMAL = re.compile(r"0?\.\d{1,6}")
LARGEST_GAIN, SMALLEST_DISTANCE = 1_000_000, 0.000001
LARGEST_WEIGHT = 1e9  # of a quasi-identifier
_SHARE = "write a share between 0 and 1, such as 1/4, 25% or 0.25"


def read_share(given: Any) -> str:
    """A share as a fraction in its lowest terms.

    >>> read_share("25%"), read_share(0.1), read_share("2/6")
    ('1/4', '1/10', '1/3')
    """
    text = repr(given) if isinstance(given, float) else str(given).strip()
    if ratio := _RATIO.fullmatch(text):
        share = Fraction(int(ratio[1]), int(ratio[2]))
    elif percent := _PERCENT.fullmatch(text):
        share = Fraction(percent[1]) / 100
    elif _DECIMAL.fullmatch(text):
        share = Fraction(text)
    else:
        share = Fraction(0)
    if isinstance(given, bool) or not 0 < share < 1:
        raise ValueError(f"{_SHARE}, not {given!r}. A value that may be certain needs no bound: leave it out.")
    return share_text(share)


def is_share(text: str) -> bool:
    """Whether a text is a share between 0 and 1 as `read_share` writes it.

    >>> is_share("1/4"), is_share("2/8"), is_share("1/1")
    (True, False, False)
    """
    return bool(_RATIO.fullmatch(text)) and 0 < Fraction(text) < 1 and share_text(Fraction(text)) == text


def share_text(share: Fraction) -> str:
    """A share as a policy and a manifest write it."""
    return f"{share.numerator}/{share.denominator}"


def read_shares(given: Any) -> Any:
    """The bounds of `at_most`, their values as text."""
    if not isinstance(given, dict) or not given:
        raise ValueError('write the values that must not be guessed, and their bounds: {"Yes": 1/4}.')
    bounds: dict[str, str] = {}
    for value, share in given.items():
        text = _as_text(value)
        if text in bounds:
            raise ValueError(f"{text!r} is bounded twice. Keep one of them.")
        try:
            bounds[text] = read_share(share)
        except ValueError as error:
            raise ValueError(f"{text!r}: {error}") from None
    return bounds


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def read_gain(given: Any) -> Any:
    """How many times its share a value may reach: above 1."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not 1 < given <= LARGEST_GAIN:
        raise ValueError(
            f"write a number above 1, such as 3, not {given!r}: 3 lets a value become three times as likely as it is "
            "in the table. Nothing can be published if it may not become likelier at all."
        )
    return float(f"{given:.6g}")


def read_distance(given: Any) -> Any:
    """How far what a class holds may be from what the table holds: between 0 and 1."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not SMALLEST_DISTANCE <= given < 1:
        raise ValueError(
            f"write a distance between 0 and 1, such as 0.2, not {given!r}: 0 would be every class like the whole "
            "table, and 1 bounds nothing."
        )
    return float(f"{given:.6g}")
