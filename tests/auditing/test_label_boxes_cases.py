"""What labels cover, value by value, against a literal reading of the labels."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from pluralis.auditing.label_boxes import CodedLabels, coded_labels, core, join_boxes, join_points, places_among
from pluralis.errors import ReleaseError
from pluralis.release.manifest import ColumnInfo

NUMBER = ColumnInfo(name="age", role="quasi", type="number")
TEXT = ColumnInfo(name="job", role="quasi", type="text")
PAIN = ColumnInfo(name="pain", role="quasi", type="text", ordered=True, domain=("none", "mild", "severe", None))
AGES = ColumnInfo(name="age", role="quasi", type="text", ordered=True, domain=("<18", "[18, 40)", "[40, 65)", ">=65"))
TREE = ColumnInfo(
    name="zip",
    role="quasi",
    type="text",
    hierarchy=(("11", "1*", "*"), ("21", "2*", "*"), ("12", "1*", "*"), ("22", "2*", "*"), ("13", "1*", "*")),
)


def table(code: CodedLabels) -> list[list[bool]]:
    """[label, value]: whether each published label covers each original value, as codes say."""
    rows = []
    for label in code.label:
        members = set(code.members[code.starts[label] : code.starts[label + 1]].tolist())
        gaps = bool(code.gaps[label])
        row = [bool(code.low[label] <= v <= code.high[label]) and (not gaps or v in members) for v in code.value]
        rows.append(row)
    return rows


@pytest.mark.parametrize(
    ("column", "labels", "values", "covers"),
    [
        (NUMBER, ["5"], [4, 5, 6], ["010"]),
        (NUMBER, ["[5, 7]", "[8, 9]", "*", "7", "[5.5, 6.5]"], [5, 6, 7, 8, 10],
         ["11100", "00010", "11111", "00100", "01000"]),
        (NUMBER, ["[0.5, 1)", "[1, 1.5)"], [0.5, 0.99, 1.0, 1.5], ["1100", "0010"]),
        (PAIN, ["none \u2026 mild", "severe", "mild \u2026 severe", "*", None],
         ["severe", "none", "Mild", None, "agony"], ["01100", "10000", "10100", "11111", "00010"]),
        (AGES, ["<40", "[18, 65)", ">=65"], ["[40, 65)", "<18", "[18, 40)", ">=65"], ["0110", "1010", "0001"]),
        (NUMBER, [None, "*", "[1, 2]", None], [None, 1, 2], ["100", "111", "011", "100"]),
        (NUMBER, ["[1, 3]"], [5, 0, -1], ["000"]),
        (TEXT, ["a", "{a, c}", "{a, b}", "*", "d", "B "], ["a", "b", "c", "A"],
         ["1001", "1011", "1101", "1111", "0000", "0100"]),
        (TEXT, [None, "{a, null}", "*", "a", "{b, null}"], [None, "a", "b"], ["100", "110", "111", "010", "101"]),
        (TEXT, ["{z, y}", '"*"'], ["a", "*"], ["00", "01"]),
        (TEXT, [None, "a"], ["a", "b"], ["00", "10"]),
        (TREE, ["1*", "2*", "12", "*"], ["11", "12", "21", "22", "13"], ["11001", "00110", "01000", "11111"]),
        (TREE, ["1*", "*"], ["99", "13"], ["01", "11"]),
        (TREE, [None, "11"], [None, "11"], ["10", "01"]),
    ],
)  # fmt: skip
def test_labels_cover_what_they_name(
    column: ColumnInfo, labels: list[str | None], values: list[object], covers: list[str]
) -> None:
    kind = pl.Float64 if column.type == "number" else pl.String
    code = coded_labels(pl.Series(labels, dtype=pl.String), pl.Series(values, dtype=kind), column)
    assert ["".join(str(int(one)) for one in row) for row in table(code)] == covers


def test_a_node_of_a_tree_is_a_range_without_gaps() -> None:
    """So that trees need no sets: leaves are coded along the tree, not in the order of their text."""
    lines = (("a", "x", "*"), ("b", "y", "*"), ("c", "x", "*"), ("d", "y", "*"))
    tree = TREE.model_copy(update={"hierarchy": lines})
    code = coded_labels(pl.Series(["x", "y"]), pl.Series(["c", "b", "a", "d"]), tree)
    assert not code.gaps.any()
    assert table(code) == [[True, False, True, False], [False, True, False, True]]


def test_gaps_are_those_of_sets_alone() -> None:
    code = coded_labels(pl.Series(["{a, c}", "{a, b}", "b", "*", "x"]), pl.Series(["a", "b", "c"]), TEXT)
    assert code.gaps[code.label].tolist() == [True, False, False, False, False]


def test_a_label_outside_its_hierarchy_is_refused() -> None:
    with pytest.raises(ReleaseError, match="'zip' holds '3\\*', which is not in its hierarchy"):
        coded_labels(pl.Series(["1*", "3*"]), pl.Series(["11"]), TREE)


def test_text_is_compared_without_spelling_and_numbers_as_they_are() -> None:
    assert core(pl.Series(["Flu ", "flu", None])).to_list() == ["flu", "flu", None]
    assert core(pl.Series([1, None])).to_list() == [1.0, None]


def test_rows_are_found_among_distinct_ones() -> None:
    among = pl.DataFrame({"x": ["a", None], "y": [1, 2]})
    rows = pl.DataFrame({"x": [None, "a", "a"], "y": [2, 1, 2]})
    assert places_among(rows, among).tolist() == [1, 0, -1]


def test_equal_published_rows_are_one_box_that_keeps_the_sets_of_its_labels() -> None:
    values = pl.Series(["a", "b", "c", "d"])
    jobs = coded_labels(pl.Series(["{a, c}", "b", "{a, c}", "{b, d}"]), values, TEXT)
    towns = coded_labels(pl.Series(["*", "{a, d}", "*", "{b, d}"]), values, TEXT)
    ages = coded_labels(pl.Series(["1", "1", "1", "2"]), pl.Series([1.0, 2.0, 2.0, 1.0]), NUMBER)
    key = np.array([7, 7, 7, 8])
    boxes, first = join_boxes([jobs, towns, ages], key)
    assert first.tolist() == [0, 1, 3]
    assert (boxes.rows.tolist(), boxes.key.tolist()) == ([2, 1, 1], [7, 7, 8])
    points = join_points([jobs, towns, ages], np.arange(4))
    assert (points.codes.tolist(), points.key.tolist()) == ([[0, 0, 0], [1, 1, 1], [2, 2, 1], [3, 3, 0]], [0, 1, 2, 3])
    boxes_covered = []
    for box in range(3):
        covered = []
        for c in range(3):
            codes = range(boxes.low[box, c], boxes.high[box, c] + 1)
            if (set_number := boxes.sets[box, c]) >= 0:
                codes = boxes.members[boxes.starts[set_number] : boxes.starts[set_number + 1]].tolist()  # type: ignore[assignment]
            covered.append(list(codes))
        boxes_covered.append(covered)
    assert boxes_covered == [[[0, 2], [0, 1, 2, 3], [0]], [[1], [0, 3], [0]], [[1, 3], [1, 3], [1]]]


def test_a_row_in_another_key_is_another_box() -> None:
    jobs = coded_labels(pl.Series(["a", "a"]), pl.Series(["a"]), TEXT)
    boxes, first = join_boxes([jobs], np.array([0, 1]))
    assert (first.tolist(), boxes.rows.tolist()) == ([0, 1], [1, 1])
