"""What values look like: marks for what is missing, codes, flags, bands, dates, amounts."""

from __future__ import annotations

import pytest

from pluralis.profiling.shapes import shape_of


def counts(*values: str, rows: int = 10) -> dict[str, int]:
    return dict.fromkeys(values, rows)


@pytest.mark.parametrize(
    ("values", "words", "word"),
    [
        (["Yes", "No"], [], "flag"),
        (["0", "1"], [], "flag"),
        (["No", "Steady", "Up"], [], "doses"),
        (["428", "250.01", "V27", "E885.9"], [], "icd-9"),
        (["I10", "E11.9", "J45.909"], ["icd10"], "icd-10"),
        (["H01", "H02", "H03"], ["hospital"], ""),
        (["2024-05-01", "2023-12-31"], [], "date"),
        (["$1,234.50", "$12.00"], [], "money"),
        (["[0-10)", "[10-20)"], [], "bands"),
        (["<1 year", "1-5 years", "65+ years"], [], "bands"),
        (["Minor", "Moderate", "Major", "Extreme"], [], "ordinal"),
        (["01234", "99801"], ["fips"], "code"),
        (["apple", "pear", "plum"], [], ""),
    ],
)
def test_shapes(values: list[str], words: list[str], word: str) -> None:
    assert shape_of(counts(*values), words).word == word


def test_marks_are_common_and_stand_apart() -> None:
    assert shape_of(counts("a", "b", "?"), []).marks == ("?",)
    assert shape_of({"a": 5_000, "b": 5_000, "?": 1}, []).marks == ()  # once is no habit
    assert shape_of(counts(*"123456", "withheld"), []).marks == ("withheld",)  # a word among numbers
    assert shape_of(counts(*map(str, range(20, 60)), "-9"), []).marks == ("-9",)
    assert shape_of(counts("-9", "-8", "-7", "-6", "-5", "-4"), []).marks == ()  # a number among its like


def test_a_column_of_nothing_but_marks_keeps_its_values() -> None:
    assert shape_of(counts("?"), []).marks == ()


def test_what_is_no_number_in_a_column_of_numbers_is_named() -> None:
    stays = shape_of({**counts(*map(str, range(1, 100))), "120 +": 3}, [])
    assert (stays.odd, stays.number, stays.word) == ((), False, "bands")
    assert stays.order == (*map(str, range(1, 100)), "120 +")
    assert shape_of({**counts(*map(str, range(1, 400))), "500+": 3}, []).odd == ("500+",)  # too many to be listed


def test_bands_come_in_their_order() -> None:
    assert shape_of(counts("80 or older", "18-24", "25-79"), []).order == ("18-24", "25-79", "80 or older")
