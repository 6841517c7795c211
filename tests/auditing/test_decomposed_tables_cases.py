"""The tables of a decomposed release as codes, and each way in which they contradict each other on sight."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pluralis.auditing.decomposed_tables import CodedTables, NotJudged, classes, number, read_tables
from pluralis.errors import ReleaseError

VALUES = [
    (2, "ill", "flu"), (2, "ill", "hiv"), (9, "ill", "flu"),
    (2, "pay", "7"), (2, "pay", "10"), (9, "pay", "7"), (9, "pay", "8"),
]  # fmt: skip
QUASI = pl.DataFrame({"age": [1, 2, 3], "group": [9, 2, 2]})


def values_of(*rows: tuple[Any, ...]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=["group", "attribute", "value"], orient="row")


def tables(**more: Any) -> dict[str, pl.DataFrame]:
    return {"quasi": QUASI, "values": values_of(*VALUES), **more}


JOINT = pl.DataFrame({"ill": ["hiv", "flu", "flu"], "pay": [7, 10, 8], "count": [1, 1, 1]})


def read(names: str = "ill pay", keep_case: tuple[str, ...] = (), **more: Any) -> CodedTables:
    return read_tables(tables(**more), "ill", names.split(), keep_case)


# as codes ---------------------------------------------------------------------------------------------------------


def test_groups_come_in_order_with_their_rows() -> None:
    assert read().groups.rows() == [(0, 2, 2), (1, 9, 1)]
    values = values_of((1, "ill", "flu"), (2, "ill", "flu"))
    neighbors = read("ill", quasi=pl.DataFrame({"age": [1, 2], "group": [1, 2]}), values=values)
    assert neighbors.groups.rows() == [(0, 1, 1), (1, 2, 1)]


def test_values_are_places_in_the_order_of_their_text() -> None:
    coded_tables = read()
    assert coded_tables.domains == {"ill": ["flu", "hiv"], "pay": ["10", "7", "8"]}
    assert coded_tables.sets["ill"].rows() == [(0, 0), (0, 1), (1, 0)]
    assert coded_tables.sets["pay"].rows() == [(0, 0), (0, 1), (1, 1), (1, 2)]
    assert (coded_tables.counts, coded_tables.joint) == ({}, None)


def test_a_joint_table_is_coded_row_by_row_numbers_beside_text() -> None:
    coded_tables = read(sensitive=JOINT)
    assert coded_tables.joint is not None
    assert coded_tables.joint.columns == ["0", "1", "count"]
    assert coded_tables.joint.rows() == [(0, 0, 1), (0, 2, 1), (1, 1, 1)]
    assert coded_tables.counts == {}


def test_rows_of_a_joint_table_that_are_one_in_another_spelling_are_added() -> None:
    spelled = pl.DataFrame({"ill": ["Hiv ", "hiv", "flu"], "pay": [7.0, 7.0, 8.0], "count": [1, 1, 1]})
    coded_tables = read(sensitive=spelled)
    assert coded_tables.joint is not None
    assert coded_tables.joint.rows() == [(0, 2, 1), (1, 1, 2)]


def test_values_published_alone_are_counted_alone() -> None:
    ill = pl.DataFrame({"value": ["hiv", "flu"], "count": [1, 2]})
    pay = pl.DataFrame({"value": [8, 7], "count": [2, 1]})
    coded_tables = read(sensitive_ill=ill, sensitive_pay=pay)
    assert coded_tables.joint is None
    assert coded_tables.counts["ill"].rows() == [(0, 2), (1, 1)]
    assert coded_tables.counts["pay"].rows() == [(1, 1), (2, 2)]
    assert list(read(sensitive_ill=ill).counts) == ["ill"]


def test_a_value_of_the_sensitive_table_that_no_set_holds_has_a_code_too() -> None:
    coded_tables = read(sensitive_ill=pl.DataFrame({"value": ["asthma", "flu"], "count": [1, 2]}))
    assert coded_tables.domains["ill"] == ["asthma", "flu", "hiv"]
    assert coded_tables.sets["ill"].rows() == [(0, 1), (0, 2), (1, 1)]
    assert coded_tables.counts["ill"].rows() == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("texts", "numbers", "one"),
    [
        (["7", "7.0"], True, True),
        (["7", "7e0"], True, True),
        (["7", "7.0"], False, False),
        (["flu", "FLU"], False, True),
        (["x", "7"], True, False),
        (["nan", "7"], True, False),
    ],
)
def test_text_is_read_as_numbers_where_the_sensitive_table_holds_numbers(
    texts: list[str], numbers: bool, one: bool
) -> None:
    values = values_of((2, "ill", "a"), (2, "ill", "b"), (9, "ill", "a"), (2, "pay", texts[0]), (9, "pay", texts[1]))
    alone = {"sensitive_pay": pl.DataFrame({"value": [7], "count": [3]})} if numbers else {}
    coded_tables = read(values=values, **alone)
    assert (coded_tables.sets["pay"]["code"].n_unique() == 1) == one


def test_case_is_kept_where_it_is_said_to_matter() -> None:
    values = values_of((2, "ill", "a"), (2, "ill", "A"), (9, "ill", "a"))
    assert read("ill", ("ill",), values=values).domains["ill"] == ["A", "a"]
    with pytest.raises(NotJudged, match="group 2 has 2 rows and 1 values of 'ill'"):
        read("ill", values=values)


def test_text_as_codes_is_read_as_text() -> None:
    coded = values_of(*VALUES).with_columns(pl.col("attribute", "value").cast(pl.Categorical))
    joint = JOINT.with_columns(pl.col("ill").cast(pl.Enum(["hiv", "flu"])))
    plain, coded_tables = read(sensitive=JOINT), read(values=coded, sensitive=joint)
    assert plain.joint is not None
    assert coded_tables.joint is not None
    assert (coded_tables.domains, coded_tables.joint.rows()) == (plain.domains, plain.joint.rows())
    assert all(coded_tables.sets[name].equals(plain.sets[name]) for name in plain.sets)


# contradictions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "witness", "note"),
    [
        ([*VALUES, (3, "ill", "flu")], "group 3", "group 3 has values of 'ill', but no rows"),
        ([*VALUES, (99, "pay", "7"), (11, "pay", "7")], "group 11", "group 11 has values of 'pay', but no rows"),
        (VALUES[:5], "group 9", "group 9 has 1 rows and 0 values of 'pay'"),
        (
            [*VALUES, (9, "ill", "hiv")],
            "group 9",
            "group 9 has 1 rows and 2 values of 'ill': some value is held twice, or by nobody",
        ),
        (VALUES[1:], "group 2", "group 2 has 2 rows and 1 values of 'ill': some value is held twice, or by nobody"),
    ],
)
def test_groups_without_rows_or_values_are_named(rows: list[Any], witness: str, note: str) -> None:
    with pytest.raises(NotJudged) as caught:
        read(values=values_of(*rows))
    assert (caught.value.witness, caught.value.note) == (witness, note)


def test_a_value_that_stands_twice_is_one() -> None:
    again = values_of(*VALUES, (9, "pay", "7"), (2, "pay", "10"))
    assert read(values=again).sets["pay"].equals(read().sets["pay"])


@pytest.mark.parametrize("counts", [[1, 1, 2], [1, 1, 0], [2, 2, -1], [1, 2, None]])
def test_counts_are_positive_and_add_up_to_the_rows(counts: list[int | None]) -> None:
    joint = JOINT.with_columns(count=pl.Series(counts, dtype=pl.Int64))
    with pytest.raises(NotJudged, match="the sensitive table counts"):
        read(sensitive=joint)
    with pytest.raises(NotJudged, match="the sensitive table counts"):
        read(sensitive_ill=pl.DataFrame({"value": ["flu", "hiv", "x"], "count": pl.Series(counts, dtype=pl.Int64)}))


@pytest.mark.parametrize(
    "more",
    [
        {"quasi": QUASI.with_columns(group=pl.Series([9, None, 2]))},
        {"quasi": QUASI.head(0)},
        {"values": values_of(*VALUES, (2, "pay", None))},
        {"values": values_of(*VALUES, (None, "pay", "7"))},
        {"sensitive": JOINT.with_columns(ill=pl.Series(["hiv", None, "flu"]))},
    ],
)
def test_cells_that_are_empty_are_refused(more: dict[str, pl.DataFrame]) -> None:
    with pytest.raises(ReleaseError, match="Ask for the release again"):
        read(**more)


# numbers for rows and sets ----------------------------------------------------------------------------------------


def test_rows_that_agree_have_one_number_in_their_order() -> None:
    frame = pl.DataFrame({"a": [2, 1, 2, 1], "b": [1, 5, 1, 0]})
    assert frame.select(number(["a", "b"])).to_series().to_list() == [2, 1, 2, 0]
    assert frame.select(number(["a"])).to_series().to_list() == [1, 0, 1, 0]
    assert frame.with_columns(number([]).alias("n"))["n"].to_list() == [0] * 4


@pytest.mark.parametrize("far", [0, 62, 63, 200, 503, 504, 5000])
def test_groups_of_equal_sets_have_one_class_however_large_their_codes(far: int) -> None:
    """A set of codes is kept as bits, in words of 63, or, beyond eight words, as a list."""
    sets = [[0, far + 1], [far + 1], [0], [0, far + 1], [far + 1], [1], [0, 1], [far]]
    rows = [(i, code) for i, codes in enumerate(sets) for code in sorted(set(codes))]
    frame = pl.DataFrame(rows, schema=["at", "code"], orient="row")
    numbered = classes(frame)
    assert numbered["at"].to_list() == list(range(len(sets)))
    number_of: dict[frozenset[int], int] = {}
    for codes, one in zip(sets, numbered["class"].to_list(), strict=True):
        assert number_of.setdefault(frozenset(codes), one) == one
    assert len(set(number_of.values())) == len(number_of)
