"""Labels of ordered values: each is read as it was written, and nothing else is."""

from __future__ import annotations

from itertools import combinations_with_replacement, pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluralis.errors import ReleaseError
from pluralis.table.bands import bands_of_breaks
from pluralis.table.bins import break_labels, in_bins, quantile_breaks
from pluralis.table.labels import OrderedDomain, band_text, interval_ends, interval_label, read_interval

WORDS = st.text(st.sampled_from('ab*{}",\u2026 <>[]()0123456789-'), min_size=1, max_size=8)
NUMBERS = st.integers(-1000, 1000) | st.integers(-(2**40), 2**40) | st.decimals(-99, 99, places=2).map(float)
BREAKS = st.lists(NUMBERS, min_size=1, max_size=8, unique=True).map(sorted)
DOMAINS = st.lists(WORDS, min_size=1, max_size=7, unique=True) | BREAKS.map(break_labels)


@given(DOMAINS)
def test_labels_are_read_as_they_are_written(values: list[str]) -> None:
    domain = OrderedDomain(values)
    labels = {domain.label(*ends): ends for ends in combinations_with_replacement(range(len(values)), 2)}
    assert len(labels) == len(values) * (len(values) + 1) // 2  # no two are spelled alike
    assert {label: domain.places(label) for label in labels} == labels
    read = domain.ends(pl.Series([*labels, "*", None], dtype=pl.String)).rows()
    assert read == [*labels.values(), (0, len(values) - 1), (None, None)]


@given(DOMAINS, WORDS)
def test_nothing_else_is_a_label(values: list[str], text: str) -> None:
    domain = OrderedDomain(values)
    size = len(values)
    labels = {domain.label(*ends) for ends in combinations_with_replacement(range(size), 2)}
    if text in labels:
        assert domain.label(*domain.places(text)) == text
        return
    with pytest.raises(ReleaseError, match="neither a value nor an interval"):
        domain.places(text)


@pytest.mark.parametrize(
    "label", ["mild \u2026 none", "none \u2026 none", "none\u2026mild", "none \u2026 agony", "{none, mild}", "[0, 1)"]
)
def test_labels_have_one_spelling(label: str) -> None:
    with pytest.raises(ReleaseError, match="neither a value nor an interval"):
        OrderedDomain(["none", "mild", "severe"]).places(label)


def test_labels_of_bands() -> None:
    ages = OrderedDomain(["[0-10)", "[10-20)", "[20-30)"])
    assert [ages.label(*ends) for ends in ((0, 0), (0, 1), (1, 2))] == ["[0-10)", "[0, 20)", "[10, 30)"]
    visits = OrderedDomain(["0", "1-2", "3+"])
    assert [visits.label(*ends) for ends in ((0, 1), (1, 2), (0, 2))] == ["[0, 2]", ">=1", ">=0"]
    assert OrderedDomain(["<18", ">=18"]).label(0, 1) == "<18 \u2026 >=18"  # no number bounds it
    with pytest.raises(ReleaseError, match="neither a value nor an interval"):
        ages.places("[0, 15)")


@given(st.lists(NUMBERS, min_size=1, max_size=40), BREAKS)
def test_every_number_is_published_in_the_bin_that_holds_it(numbers: list[float], breaks: list[float]) -> None:
    bands = dict(zip(break_labels(breaks), bands_of_breaks(breaks), strict=True))
    kind = pl.Int64 if all(isinstance(number, int) for number in numbers) else pl.Float64
    for number, label in zip(numbers, in_bins(pl.Series(numbers, dtype=kind), breaks), strict=True):
        assert bands[label].holds(number)


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=60), st.integers(2, 12))
def test_quantiles_divide_no_value_and_hold_about_as_many_rows(numbers: list[int], quantiles: int) -> None:
    breaks = quantile_breaks(pl.Series(numbers), quantiles)
    assert breaks == sorted(set(breaks))
    assert len(breaks) < quantiles
    assert min(numbers) not in breaks
    assert set(breaks) <= set(numbers)
    commonest = max(map(numbers.count, numbers))
    ends = [min(numbers), *breaks, max(numbers) + 1]
    sizes = [sum(low <= number < high for number in numbers) for low, high in pairwise(ends)]
    assert sum(sizes) == len(numbers)
    assert max(sizes) <= len(numbers) / quantiles + 2 * commonest


def test_intervals_without_their_upper_end() -> None:
    low, high = read_interval("[0.5, 1)")
    assert low == 0.5
    assert 0.999 < high < 1
    assert interval_ends(pl.Series(["[0.5, 1)"]), (0, 9)).row(0) == (low, high)
    assert interval_label(0.5, 1, half_open=True) == "[0.5, 1)"
    assert band_text(bands_of_breaks([0.5, 1])[1]) == "[0.5, 1)"
    for label in ("[1, 1)", "[2, 1)", "(0, 1]"):
        with pytest.raises(ReleaseError):
            read_interval(label)
