"""What a manifest may say of drawn sets, and sets that cannot have been drawn so, one case at a time."""

from __future__ import annotations

import polars as pl
import pytest

from pluralis.auditing.drawn_sets import MOST_MEMBERS, MOST_VALUES, MOST_WEIGHT, DrawnSets, set_numbers
from pluralis.errors import ReleaseError
from pluralis.release.parameters import Drawn


def stated(values: list, weights: list[int] | None, l: int = 2) -> DrawnSets:
    design = "uniform" if weights is None else "calibrated"
    return DrawnSets.stated(Drawn.model_validate({"design": design, "values": values, "weights": weights}), l)


def many(number: int) -> list[str]:
    return [f"v{i:05}" for i in range(number)]


def test_a_calibrated_design_has_so_many_values_at_most() -> None:
    assert stated(many(MOST_VALUES), [1] * MOST_VALUES).m == MOST_VALUES
    with pytest.raises(ReleaseError):
        stated(many(MOST_VALUES + 1), [1] * (MOST_VALUES + 1))
    assert stated(many(MOST_VALUES + 1), None).m == MOST_VALUES + 1  # of an even one nothing is worked out


def test_a_calibrated_design_has_so_many_members_at_most() -> None:
    most = MOST_MEMBERS // 50
    assert stated(many(most), [1] * most, 50).l == 50
    with pytest.raises(ReleaseError):
        stated(many(most + 1), [1] * (most + 1), 50)


def test_weights_are_so_large_at_most_in_all() -> None:
    quarter = MOST_WEIGHT // 4
    assert stated(list("abcd"), [quarter] * 4).weights is not None
    with pytest.raises(ReleaseError):
        stated(list("abcd"), [quarter, quarter, quarter, quarter + 1])


def test_no_value_is_more_common_than_every_l_th() -> None:
    assert stated(list("abc"), [2, 1, 1]).weights is not None
    with pytest.raises(ReleaseError):
        stated(list("abc"), [3, 1, 1])


def test_sets_of_numbers_are_no_sets_of_texts() -> None:
    texts, numbers = stated(["1", "2", "3"], None), stated([1, 2, 3], None)
    of_texts, of_numbers = pl.Series("s", [["1", "2"]]), pl.Series("s", [[1, 2]])
    assert texts.codes(of_texts).tolist() == numbers.codes(of_numbers).tolist() == [[0, 1]]
    for design, sets in ((texts, of_numbers), (numbers, of_texts)):
        with pytest.raises(ReleaseError, match="'s' holds sets that are not 2 values of its domain"):
            design.codes(sets)


def test_numbers_of_sets_are_in_their_order_however_many_values_there_are() -> None:
    for scale in (1, 2**20, 2**31, 2**40):
        sets = pl.DataFrame({"a": [0, 0, 1, 0], "b": [2, 1, 2, 2]}).to_numpy() * scale
        numbers = set_numbers(sets)
        assert (numbers[1] < numbers[0] < numbers[2], numbers[0] == numbers[3]) == (True, True)
    assert set_numbers(pl.DataFrame({"a": [0, 1], "b": [3, 0]}).to_numpy()).tolist() == [3, 4]
