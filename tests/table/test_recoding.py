"""Recoding: what becomes of rare values and of numbers beyond an end, as theorems on random tables."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluralis.errors import InputError
from pluralis.policy.attributes import Attribute
from pluralis.policy.policy import Policy
from pluralis.table.encoding import clean, encode
from pluralis.table.icd import icd_line
from pluralis.table.recoding import cut_off, join_along, join_rare

COUNTS = st.dictionaries(st.sampled_from([*"abcdefgh", "other"]), st.integers(1, 30), min_size=1)
CODES = ["25000", "25001", "2501", "25080", "260", "2630", "4010", "4011", "41401", "4280", "V270", "E8120"]


def after(counts: dict[str, int], becomes: dict[str, str]) -> Counter[str]:
    rows = Counter[str]()
    for text, count in counts.items():
        rows[becomes.get(text, text)] += count
    return rows


@given(COUNTS, st.integers(2, 40))
def test_no_value_is_rare_once_rare_ones_are_joined(counts: dict[str, int], below: int) -> None:
    joined = join_rare(counts, below, "other")
    left = after(counts, dict.fromkeys(joined, "other"))
    assert sum(left.values()) == sum(counts.values())
    assert min(left.values()) >= below or len(left) == 1
    assert join_rare(left, below, "other") == []  # a second time changes nothing
    if min(counts.values()) >= below:
        assert joined == []


@given(COUNTS, st.integers(2, 40))
def test_no_more_is_joined_than_must_be(counts: dict[str, int], below: int) -> None:
    """Rare values alone, and where they are too few rows, one value after the other, the rarest first."""
    joined = join_rare(counts, below, "other")
    common = [text for text in joined if counts[text] >= below]
    if common:
        without = sum(counts[text] for text in joined[:-1]) + counts.get("other", 0)
        assert without < below
    rest = [text for text in counts if text not in joined and text != "other"]
    assert all((counts[j], j) < (counts[r], r) for j in joined for r in rest)


@given(st.dictionaries(st.sampled_from(CODES), st.integers(1, 30), min_size=1), st.integers(2, 40))
def test_along_a_hierarchy_each_becomes_its_lowest_common_enough_wider_value(
    counts: dict[str, int], below: int
) -> None:
    lines = {code: line for code in CODES if (line := icd_line(code, 9))}
    becomes = join_along(counts, below, "other", lines)
    left = after(counts, becomes)
    assert min(left.values()) >= below or set(left) == {"other"}
    for code, label in becomes.items():
        assert label == "other" or label in lines[code][1:-1]
        if label in lines[code][2:-1]:  # nothing lower would have done, with those that went no lower either
            lower = lines[code][lines[code].index(label) - 1]
            with_it = [text for text in counts if counts[text] < below and lower in lines[text][1:-1]]
            assert (
                sum(counts[text] for text in with_it if becomes[text] not in lines[text][1 : lines[text].index(lower)])
                < below
            )


@given(st.lists(st.none() | st.integers(-5, 120), min_size=1), st.integers(0, 40), st.integers(41, 90))
def test_numbers_lie_between_the_ends_and_order_is_kept(numbers: list[int | None], bottom: int, top: int) -> None:
    attribute = Attribute(type="number", top=top, bottom=bottom)
    values = pl.Series("age", numbers, dtype=pl.Int64)
    cut = cut_off(values, attribute, [])
    assert cut.to_list() == [None if n is None else min(max(n, bottom), top) for n in numbers]
    assert cut_off(cut, attribute, []).equals(cut)


def people(**columns: list[object]) -> pl.DataFrame:
    return pl.DataFrame({"sex": ["f", "m"] * 6, **columns})


DISEASES = ["flu"] * 5 + ["hiv"] * 4 + ["gout", "mumps", "Other"]


def values(frame: pl.DataFrame, **keys: object) -> list[str]:
    policy = Policy(quasi=["sex"], sensitive={"disease": {"l": 2, **keys}}, others="drop")
    return sorted(clean(frame, policy).columns["disease"].cast(pl.String).to_list())


def test_rare_values_join_one_that_is_there_already_in_its_spelling() -> None:
    assert values(people(disease=DISEASES), rare={"below": 3}) == ["Other"] * 3 + ["flu"] * 5 + ["hiv"] * 4
    assert values(people(disease=DISEASES), rare={"below": 4}) == ["Other"] * 7 + ["flu"] * 5
    assert values(people(disease=DISEASES), rare={"below": 3, "as": "hiv"}) == ["flu"] * 5 + ["hiv"] * 7


def test_rows_that_are_not_published_are_not_counted() -> None:
    """Of four rows with gout two lack the other sensitive value and are dropped: two are left, too few."""
    frame = people(disease=["flu"] * 8 + ["gout"] * 4, pay=["a", "b"] * 5 + [None, None])
    policy = Policy(
        quasi=["sex"], sensitive={"disease": {"l": 2, "rare": {"below": 3}}, "pay": {"l": 2, "if_missing": "drop"}}
    )
    table = encode(frame, policy)
    assert table["disease"].values == ("other",)  # gout joined, and flu too, for two rows were too few


def test_marks_of_a_column_take_the_place_of_those_of_the_table() -> None:
    frame = people(age=["30", "?", "40", "50"] * 3, disease=["flu", "?", "hiv", "NA"] * 3)
    policy = Policy(
        quasi={"age": {"type": "number", "missing": ["?"]}},
        sensitive={"disease": {"l": 2, "missing": ["NA"], "if_missing": {"as": "unknown"}}},
        missing=["nothing"], others="drop",
    )  # fmt: skip
    columns = clean(frame, policy).columns
    assert columns["age"].null_count() == 3
    assert set(columns["disease"].cast(pl.String)) == {"flu", "?", "hiv", "unknown"}
    typed = frame.with_columns(age=pl.Series([30, -9, 40, 50] * 3))
    marked = Policy(quasi={"age": {"type": "number", "missing": ["-9"]}}, sensitive={"disease": 2}, others="drop")
    assert clean(typed, marked).columns["age"].null_count() == 3


def test_a_quasi_identifier_with_rare_values_keeps_its_hierarchy() -> None:
    zips = ["11201"] * 5 + ["11202"] * 3 + ["10001", "10002", "99998", "99999"]
    counties = ["Kings"] * 8 + ["New York"] * 2 + ["Ada", "Lane"]
    frame = people(zip=zips, county=counties, disease=["flu", "hiv"] * 6)
    tree = {"columns": ["zip", "county"]}
    joined = {"hierarchy": tree, "rare": {"below": 2, "along": tree}}
    table = encode(frame, Policy(quasi={"zip": joined}, sensitive={"disease": 2}, others="drop"))
    assert table["zip"].values == ("11201", "11202", "New York", "other")
    hierarchy = table["zip"].hierarchy
    assert hierarchy is not None
    lines = sorted(zip(*hierarchy.labels, strict=True))
    assert ("New York", "New York", "*") in lines
    assert ("11201", "Kings", "*") in lines
    assert not {"10001", "10002", "99998", "99999"} & {label for line in lines for label in line}


ZIPS = ["10075", "10076", "10077", "10078"] * 10


def lines_with(rare: dict[str, object], zips: list[str | None], **more: list[str]) -> list[tuple[str, ...]]:
    """The lines of the tree of zips of which rare ones were joined."""
    diseases = [None if code == "gone" else ["flu", "hiv"][i % 2] for i, code in enumerate(zips)]
    frame = pl.DataFrame({"zip": zips, "disease": diseases, **more})
    tree = {"columns": ["zip", *more]} if more else {"mask": "right"}
    sensitive = {"disease": {"l": 2, "if_missing": "drop"}}
    quasi = {"zip": {"hierarchy": tree, "rare": rare}}
    hierarchy = encode(frame, Policy(quasi=quasi, sensitive=sensitive, others="drop"))["zip"].hierarchy
    assert hierarchy is not None
    return sorted(zip(*hierarchy.labels, strict=True))


@pytest.mark.parametrize("mask", ["1007512345678", "1", "other-and-longer-than-all"])
def test_a_mask_says_nothing_of_joined_values(mask: str) -> None:
    joined = lines_with({"below": 5, "as": "other"}, ["20099"] * 4 + ["20098"] + ZIPS)
    assert joined == lines_with({"below": 5, "as": "other"}, [mask] + ["20099"] * 4 + ZIPS)
    assert {len(line) for line in joined} == {6}
    assert joined[-1] == ("other", "other", "other", "other", "other", "*")


def test_a_mask_says_nothing_of_dropped_rows() -> None:
    asked = {"below": 5, "as": "other"}
    assert lines_with(asked, ["gone", *ZIPS]) == lines_with(asked, ZIPS)
    frame = pl.DataFrame({"zip": [*ZIPS, "1007512345678"], "disease": ["flu", "hiv"] * 20 + [None]})
    quasi = {"zip": {"hierarchy": {"mask": "right"}, "rare": {"below": 2}}}
    policy = Policy(quasi=quasi, sensitive={"disease": {"l": 2, "if_missing": "drop"}}, others="drop")
    hierarchy = encode(frame, policy)["zip"].hierarchy
    assert hierarchy is not None
    assert hierarchy.depth == 6


def test_joining_along_a_mask_leaves_a_tree_of_what_is_left() -> None:
    zips = [*ZIPS, "10079", "10080", "10081", "20099"]
    lines = lines_with({"below": 2, "along": {"mask": "right"}}, zips)
    assert ("1008*", "1008*", "100**", "10***", "1****", "*") in lines
    assert {len(line) for line in lines} == {6}
    assert not any("1007512345678"[:6] in label for line in lines for label in line)


def test_columns_of_one_name_are_told_apart_by_what_is_left() -> None:
    county, state = ["A", "B", "C", "D"] * 10, ["X", "X", "Washington", "Washington"] * 10
    wide = {"county": ["Washington", *county], "state": ["X", *state]}
    lines = lines_with({"below": 5, "as": "other"}, ["9", *["1", "2", "3", "4"] * 10], **wide)
    assert ("3", "C", "Washington", "*") in lines
    assert not any("(state)" in label for line in lines for label in line)
    kept = {"county": ["Washington"] * 5 + county, "state": ["X"] * 5 + state}
    lines = lines_with({"below": 5, "as": "other"}, ["9"] * 5 + ["1", "2", "3", "4"] * 10, **kept)
    assert ("3", "C", "Washington (state)", "*") in lines


@pytest.mark.parametrize("along", [{"icd": 9}, {"date": ["month"]}])
def test_a_rare_value_without_a_wider_one_is_refused_with_its_row(along: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"'disease' holds 'gout' in row 10.*`missing`"):
        values(people(disease=DISEASES), rare={"below": 3, "along": along})  # `Other` needs none
