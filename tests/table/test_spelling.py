"""Canonical values: spellings of one number or one text are one value, and different ones stay apart."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluralis.table.spelling import canonical_values, said_twice


def canonical(*texts: object, fold_case: bool = True) -> list[str | None]:
    return canonical_values(pl.Series("x", list(texts), strict=False), fold_case=fold_case).to_list()


@pytest.mark.parametrize(
    "alike",
    [
        ["5", "5.0", "5.00", "5.", "+5", "5e0", "50E-1", "0.5e1", " 5 ", "５", "٥", "५", "5\u200b", "5e000"],
        ["-3.5", "-3.50", "−3.5", "-35e-1", "-٣.٥", "﹣3.5"],
        ["0", "-0", "0.0", "+0", ".0", "0e7", "0e-400"],
        ["0.5", ".5", "0.50", "5e-1"],
        ["100000000000000000000", "1e20", "1.0E+20"],
        ["1" + "0" * 400, "1e400", "10e399"],
        ["flu", "Flu", "FLU", "flu ", "ｆｌｕ"],
    ],
    ids=lambda alike: alike[0][:8],
)
def test_spellings_of_one_value_are_one(alike: list[str]) -> None:
    assert len(set(canonical(*alike))) == 1


@pytest.mark.parametrize(
    "apart",
    [
        ["12345678901234567890", "12345678901234567891", "12345678901234567890.5"],
        ["9007199254740993", "9007199254740992"],
        ["0.1", "0.1000000000000000055511151231257827"],
        ["1", "-1", "1-", "1a", "1,0", "1 0", "1_0", "1e", "e1", ".", "-", "1.0.0", "inf", "nan", "0x1", "1e5x", ""],
        ["1e999999999999999999", "1e9999999999999999999", "1"],
        ["[0, 10]", "[0, 1]", "0"],
        ["389", "0389", "00389", "389.1", "0389.1", "-389", "-0389"],  # a zero in front makes a code
    ],
    ids=lambda apart: apart[0][:8],
)
def test_different_values_stay_apart(apart: list[str]) -> None:
    assert len(set(canonical(*apart))) == len(apart)


def test_case_is_kept_where_it_is_said() -> None:
    assert canonical("Flu", "flu", fold_case=False) == ["Flu", "flu"]
    assert canonical("1E2", "1e2", "100", fold_case=False) == ["1E2", "1e2", "100"]


def test_numbers_missing_values_and_codes() -> None:
    assert canonical(5, None, 7) == ["5", None, "7"]
    assert canonical(5.0, 1e22, -0.0, None) == ["5", "1e22", "0", None]
    assert canonical("1e22") == ["1e22"]
    coded = pl.Series("x", ["5.0", None, "5"], dtype=pl.Enum(["5", "5.0"]))
    assert canonical_values(coded, fold_case=True).to_list() == ["5", None, "5"]
    assert canonical_values(coded, fold_case=True).name == "x"
    assert canonical_values(pl.Series("x", [], dtype=pl.String), fold_case=True).to_list() == []


@given(st.decimals(allow_nan=False, allow_infinity=False), st.decimals(allow_nan=False, allow_infinity=False))
def test_numbers_are_equal_exactly_if_their_texts_are(one: Decimal, two: Decimal) -> None:
    texts = canonical(str(one), str(two))
    assert (texts[0] == texts[1]) == (Fraction(one) == Fraction(two))
    assert canonical(*texts) == texts  # and once is enough
    assert Decimal(texts[0] or "") == one


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**63), 2**63 - 1))
def test_a_number_and_its_text_are_one_value(real: float, whole: int) -> None:
    assert canonical(real) == canonical(repr(real))
    assert canonical(whole) == canonical(str(whole)) == canonical(f"{whole}.0")


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=8, unique=True))
def test_intervals_that_do_not_overlap_are_different(ends: list[int]) -> None:
    ends.sort()
    touching = [f"[{low}, {high}]" for low, high in pairwise(ends)]
    assert said_twice(pl.Series([*touching, "flu"]), fold_case=True) is None
    inside = f"[{ends[0]}.25, {ends[0]}.5]" if ends[0] >= 0 else f"[{ends[0]}, {ends[0] + 0.5}]"
    assert said_twice(pl.Series([*touching, inside]), fold_case=True) is not None


@given(st.text())
def test_once_is_enough(text: str) -> None:
    once = canonical(text)
    assert canonical(*once) == once
