"""Bands: what a text says of numbers, and the order in which such texts stand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluralis.table.bands import Band, band_order, bands_in_order, bands_of_breaks, overlapping_bands, read_band
from pluralis.table.labels import band_text

INF = math.inf
NUMBERS = st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9).map(lambda number: number + 0.0)
BREAKS = st.lists(NUMBERS, min_size=1, max_size=12, unique=True).map(sorted)


@pytest.mark.parametrize(
    ("text", "band"),
    [
        ("[60-70)", (60, 70, True, False)),
        ("[60, 70)", (60, 70, True, False)),
        ("(60; 70]", (60, 70, False, True)),
        ("60-69", (60, 69, True, True)),
        ("60 - 69", (60, 69, True, True)),
        ("60 to 69", (60, 69, True, True)),
        ("18\u201324", (18, 24, True, True)),
        ("18..24 years", (18, 24, True, True)),
        ("-10--5", (-10, -5, True, True)),
        ("-10 to -5", (-10, -5, True, True)),
        ("0.5-1.25", (0.5, 1.25, True, True)),
        ("[1,000, 2,000)", (1000, 2000, True, False)),
        ("$20,000-$39,999", (20_000, 39_999, True, True)),
        ("<1", (-INF, 1, False, False)),
        ("< 1 year", (-INF, 1, False, False)),
        ("<=5", (-INF, 5, False, True)),
        ("≤ 5", (-INF, 5, False, True)),
        ("under 18", (-INF, 18, False, False)),
        ("up to 5", (-INF, 5, False, True)),
        ("65+", (65, INF, True, False)),
        ("65+ years", (65, INF, True, False)),
        (">=65", (65, INF, True, False)),
        ("> 65", (65, INF, False, False)),
        ("65 and over", (65, INF, True, False)),
        ("65 years and older", (65, INF, True, False)),
        ("80 or older", (80, INF, True, False)),
        ("more than 8", (8, INF, False, False)),
        ("17 and under", (-INF, 17, False, True)),
        ("3", (3, 3, True, True)),
    ],
)
def test_what_bands_say(text: str, band: tuple[float, float, bool, bool]) -> None:
    assert read_band(text) == Band(*band)
    assert read_band(f"  {text.upper()} ") == Band(*band)


@pytest.mark.parametrize(
    "text",
    ["", "flu", "70-60", "[5, 5)", "(5, 5)", "10-", "-", "1-2-3", "[1, 2", "1, 2)", "Never-married", "12th", "a-b", "<",
     "<a", "5 or", "1988/04/17", "5+5", "9" * 200, "[60-70) or more"],
)  # fmt: skip
def test_what_is_no_band(text: str) -> None:
    assert read_band(text) is None


@given(st.text(max_size=30) | st.text("0123456789-+<>=[](), .eto", max_size=12))
def test_any_text_is_a_band_with_numbers_or_none(text: str) -> None:
    band = read_band(text)
    assert band is None or band.low < band.high or (band.low == band.high and band.low_closed and band.high_closed)


@given(NUMBERS, NUMBERS, st.booleans(), st.booleans())
def test_bands_are_read_as_they_are_written(one: float, two: float, low_closed: bool, high_closed: bool) -> None:
    low, high = min(one, two), max(one, two)
    for band in (
        Band(low, high, low_closed or low == high, high_closed or low == high),
        Band(-INF, high, False, high_closed),
        Band(low, INF, low_closed, False),
    ):
        assert read_band(band_text(band)) == band


@given(BREAKS, NUMBERS)
def test_every_number_is_in_one_bin(breaks: list[float], number: float) -> None:
    bands = bands_of_breaks(breaks)
    assert sum(band.holds(number) for band in bands) == 1
    assert bands_in_order([band_text(band) for band in bands]) == bands


@given(BREAKS, st.randoms())
def test_the_order_of_bands_is_found_again(breaks: list[float], random: object) -> None:
    texts = [band_text(band) for band in bands_of_breaks(breaks)]
    mixed = [*texts, *texts, None, " "]
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert band_order(mixed) == texts


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 9), st.booleans(), st.booleans()), max_size=8))
def test_bands_stand_in_order_if_no_number_is_in_two(parts: list[tuple[int, int, bool, bool]]) -> None:
    bands = [Band(low, low + width, *closed) for low, width, *closed in parts]
    texts = [band_text(band) for band in bands]
    numbers = [half / 2 for half in range(130)]
    held = [[i for i, band in enumerate(bands) if band.holds(number)] for number in numbers]
    holders = [places[0] for places in held if places]
    apart = all(len(places) < 2 for places in held) and holders == sorted(holders)
    assert (bands_in_order(texts) is not None) == (apart and bool(bands))


@pytest.mark.parametrize(
    ("values", "order"),
    [
        (["[60-70)", "[0-10)", "[100-110)"], ["[0-10)", "[60-70)", "[100-110)"]),
        (["65+", "0-17", "18-64"], ["0-17", "18-64", "65+"]),
        (["3+", "0", "1-2"], ["0", "1-2", "3+"]),
        (["1-10 years", "<1 year"], ["<1 year", "1-10 years"]),
        (["High", "low", "Medium"], ["low", "Medium", "High"]),
        (["sometimes", "always", "never"], ["never", "sometimes", "always"]),
        (["severe", "none"], ["none", "severe"]),
        (["0-10", "10-20"], None),
        (["0-10", "5-20"], None),
        (["<1 month", "1-2 years"], None),
        (["1", "2", "3"], None),
        (["Masters", "Bachelors", "11th"], None),
        (["0-10", "other"], None),
        (["0-10"], None),
        ([], None),
    ],
)
def test_orders_that_are_found(values: list[str], order: list[str] | None) -> None:
    assert band_order(values) == order


def test_missing_marks_have_no_place() -> None:
    assert band_order(["?", "0-9", "10-19", None], missing=["?"]) == ["0-9", "10-19"]
    assert band_order(["?", "0-9", "10-19"]) is None


@pytest.mark.parametrize(
    ("values", "overlap"),
    [
        (["0-9", "5-14"], ("0-9", "5-14")),
        (["60-69", ">=65"], ("60-69", ">=65")),
        (["5", "0-9"], ("0-9", "5")),
        (["0-10", "10-20", "other"], None),
        (["[0, 5)", "[5, 9)"], None),
        (["<1 month", "1-2 years"], None),
        (["flu", "hiv"], None),
    ],
)
def test_bands_that_overlap(values: list[str], overlap: tuple[str, str] | None) -> None:
    assert overlapping_bands(values) == overlap
