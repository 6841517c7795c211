"""Trees from columns, codes and dates: their lines, and what is refused."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import polars as pl
import pytest

from pluralis.errors import InputError, PolicyError
from pluralis.policy.policy import Policy
from pluralis.table.encoding import encode
from pluralis.table.hierarchies import Hierarchy
from pluralis.table.text_trees import column_lines, date_line


def tree_of(frame: pl.DataFrame, name: str, **keys: object) -> list[tuple[str, ...]]:
    policy = Policy(quasi={name: keys}, sensitive={"disease": 2}, others="drop")
    hierarchy = encode(frame.with_columns(disease=pl.Series(["flu", "hiv"] * frame.height)[: frame.height]), policy)[
        name
    ].hierarchy
    assert isinstance(hierarchy, Hierarchy)
    return sorted(zip(*hierarchy.labels, strict=True))


PLACES = pl.DataFrame(
    {"zip": ["11201", "11201", "10001", "97001"], "county": ["Kings", None, "New York", "Wasco"],
     "region": ["East", "East", "East", "West"]}
)  # fmt: skip


@pytest.mark.parametrize("columns", [["zip", "county", "region"], ["county", "region"]])
def test_columns_that_are_not_published_are_wider_values(columns: list[str]) -> None:
    assert tree_of(PLACES, "zip", hierarchy={"columns": columns}) == [
        ("10001", "New York", "East", "*"), ("11201", "Kings", "East", "*"), ("97001", "Wasco", "West", "*"),
    ]  # fmt: skip


def test_a_column_that_does_not_decide_the_next_is_refused_with_value_and_rows() -> None:
    wrong = PLACES.with_columns(county=pl.Series(["Kings", "Queens", "New York", "Wasco"]))
    with pytest.raises(
        InputError, match=r"'zip' does not decide 'county': '11201' .*'Kings' in row 1 .*'Queens' in row 2"
    ):
        tree_of(wrong, "zip", hierarchy={"columns": ["county"]})
    empty = PLACES.with_columns(county=pl.Series(["Kings", None, None, "Wasco"]))
    with pytest.raises(InputError, match=r"'county' is missing wherever 'zip' is '10001' \(first: row 3\)"):
        tree_of(empty, "zip", hierarchy={"columns": ["county"]})


def test_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"names 'regoin', the table has no such column. Did you mean 'region'"):
        tree_of(PLACES, "zip", hierarchy={"columns": ["county", "regoin"]})


def test_one_name_on_two_branches_gets_the_name_of_its_column() -> None:
    frame = pl.DataFrame({"county": ["Washington", "Lane", "King"], "state": ["Oregon", "Oregon", "Washington"]})
    lines = column_lines(frame["county"], [frame["state"]])
    assert lines["King"] == ["King", "Washington (state)", "*"]
    Hierarchy.from_lines(list(lines.values()))


def test_dates_as_text_or_as_dates() -> None:
    days = [dt.date(2024, 5, 31), dt.date(2024, 6, 1), dt.date(2023, 6, 1)]
    expected = [
        ("2023-06-01", "2023-06", "2023", "*"), ("2024-05-31", "2024-05", "2024", "*"),
        ("2024-06-01", "2024-06", "2024", "*"),
    ]  # fmt: skip
    for values in (pl.Series("day", days), pl.Series("day", [str(day) for day in days])):
        assert tree_of(values.to_frame(), "day", hierarchy={"date": ["month", "year"]}) == expected
    times = [dt.datetime(2024, 5, 31, 12), dt.datetime(2024, 5, 31, 13)]
    assert tree_of(pl.DataFrame({"day": times}), "day", hierarchy={"date": ["day", "year"]})[0][1:] == (
        "2024-05-31", "2024", "*",
    )  # fmt: skip


@pytest.mark.parametrize("text", ["31.05.2024", "2024-13-01", "2024-5-1", "20240531", "", "2024", "2024-02-30"])
def test_what_is_no_date(text: str) -> None:
    assert date_line(text, ["year"]) is None


def test_a_value_that_is_no_code_or_date_is_refused_with_its_row_and_remedies() -> None:
    frame = pl.DataFrame({"code": ["250.01", "4280", "none"]})
    with pytest.raises(InputError, match=r"'code' holds 'none' in row 3, which is no ICD-9 code.*`missing`.*rare: "):
        tree_of(frame, "code", hierarchy={"icd": 9})
    with pytest.raises(InputError, match=r"'code' holds '250.01' in row 1, which is no date such as 2024-05-31"):
        tree_of(frame, "code", hierarchy={"date": ["year"]})


def test_leaves_of_a_file_are_numbers_in_any_spelling(tmp_path: Path) -> None:
    (tmp_path / "age.csv").write_text("5.0;young;*\n07;young;*\n80;old;*\n")
    attributes = {"age": {"role": "quasi", "type": "number", "hierarchy": {"file": "age.csv"}},
                  "disease": {"role": "sensitive", "l": 2}}  # fmt: skip
    policy = Policy.from_dict({"version": 1, "attributes": attributes}, folder=tmp_path)
    table = encode(pl.DataFrame({"age": [5.0, 7.0, 80.0], "disease": ["a", "b", "c"]}), policy)
    assert (table["age"].type, table["age"].values) == ("text", ("5", "7", "80"))
    for text, fault in (
        ("x;young;*\n", "line 1: the leaf 'x' is no number"),
        ("5;a;*\n5.0;a;*\n", "stands on line 1 too"),
    ):
        (tmp_path / "age.csv").write_text(text)
        with pytest.raises(PolicyError, match=fault):
            encode(pl.DataFrame({"age": [5], "disease": ["a"]}), policy)
