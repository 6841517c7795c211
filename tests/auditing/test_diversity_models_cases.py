"""Each model of diversity at its edge, on classes counted by hand; counting, against a literal count."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from numpy.random import default_rng

from pluralis.auditing.diversity_models import MODELS, count_values, diversity, placed, smallest_class, starts_of


def rows_of(*classes: str) -> pl.DataFrame:
    """Rows in groups 1, 2, …; a letter is a value."""
    return pl.DataFrame(
        [(i, letter) for i, letters in enumerate(classes, 1) for letter in letters],
        schema={"group": pl.Int64, "ill": pl.String},
        orient="row",
    )


# the models at their edge -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "classes", "l", "c", "holds", "measured", "group"),
    [
        ("frequency", ["ab"], 2, 0.0, True, 1 / 2, 1),
        ("frequency", ["aab"], 2, 0.0, False, 2 / 3, 1),
        ("frequency", ["abc", "aabb", "abcd"], 2, 0.0, True, 1 / 2, 2),
        ("frequency", ["abcd", "abb", "aaab"], 2, 0.0, False, 3 / 4, 3),
        ("distinct", ["aab", "ab"], 2, 0.0, True, 2.0, 1),
        ("distinct", ["abc", "aab"], 3, 0.0, False, 2.0, 2),
        ("entropy", ["abc", "aabbcc"], 3, 0.0, True, 3.0, 1),
        ("entropy", ["abc", "aabc"], 3, 0.0, False, 2 * math.sqrt(2), 2),
        ("entropy", ["aabc"], 2, 0.0, True, 2 * math.sqrt(2), 1),
        ("recursive", ["aab"], 2, 2.0, False, 2.0, 1),
        ("recursive", ["aab"], 2, 2.001, True, 2.0, 1),
        ("recursive", ["cbbaaa", "abc"], 2, 1.001, True, 1.0, 1),
        ("recursive", ["cbbaaa", "abc"], 3, 4.0, True, 3.0, 1),
        ("recursive", ["abc", "cbbaaa"], 3, 3.0, False, 3.0, 2),
        ("recursive", ["abc", "aab"], 3, 9.0, False, math.inf, 2),
        ("recursive", ["abbbccccdd", "abc"], 3, 1.5, True, 4 / 3, 1),
        ("unique-distinct", ["abc", "ab"], 2, 0.0, True, 2.0, 2),
        ("unique-distinct", ["ab", "abcd"], 2, 0.0, False, 4.0, 2),
        ("unique-distinct", ["ab", "aabc"], 2, 0.0, False, 3.0, 2),
        ("unique-distinct", ["abc", "ab"], 3, 0.0, False, 2.0, 2),
    ],
)
def test_a_model_holds_where_its_definition_says_and_names_the_weakest_class(
    model: str, classes: list[str], l: int, c: float, holds: bool, measured: float, group: int
) -> None:
    result = diversity(rows_of(*classes), ["group"], "ill", model, l, c)
    assert (result.holds, result.witness) == (holds, {"group": group})
    assert result.measured == pytest.approx(measured)


def test_recursive_diversity_without_a_c_holds_for_nobody() -> None:
    assert not diversity(rows_of("abc"), ["group"], "ill", "recursive", 2).holds


@pytest.mark.parametrize(
    ("model", "promised"),
    [("frequency", 0.25), ("distinct", 4.0), ("entropy", 4.0), ("recursive", 1.5), ("unique-distinct", 4.0)],
)
def test_what_a_model_promises(model: str, promised: float) -> None:
    assert MODELS[model].promised(4, 1.5) == promised


def test_the_top_share_is_that_of_the_worst_class_whatever_is_weakest() -> None:
    result = diversity(rows_of("abcdaaa", "ab"), ["group"], "ill", "distinct", 2)
    assert (result.witness, result.top_share) == ({"group": 2}, 4 / 7)


def test_a_row_stands_for_as_many_people_as_its_count() -> None:
    rows = pl.DataFrame({"group": [2, 1, 2, 1], "ill": list("abba"), "count": [3, 1, 2, 1]})
    result = diversity(rows, ["group"], "ill", "frequency", 2, count="count")
    assert (result.holds, result.measured, result.witness) == (False, 3 / 5, {"group": 2})
    assert diversity(rows, ["group"], "ill", "frequency", 2).holds


def test_what_is_known_beside_the_group_makes_smaller_classes() -> None:
    rows = pl.DataFrame({"group": [1, 1, 1, 1], "job": list("xyxy"), "ill": list("abba")})
    assert diversity(rows, ["group", "job"], "ill", "frequency", 2).holds
    rows = rows.with_columns(job=pl.Series(list("xxyy")), ill=pl.Series(list("abaa")))
    assert diversity(rows, ["group", "job"], "ill", "frequency", 2).witness == {"group": 1, "job": "y"}


# counting ---------------------------------------------------------------------------------------------------------


def literal(rows: pl.DataFrame, classes: list[str], attribute: str, count: str | None) -> list[tuple[object, int]]:
    """How many people each class and value have, by a dictionary."""
    counts: Counter[object] = Counter()
    for row in rows.to_dicts():
        counts[(*(row[name] for name in classes), row[attribute])] += row[count] if count else 1
    return sorted(counts.items(), key=str)


def as_counted(rows: pl.DataFrame, classes: list[str], attribute: str, count: str | None) -> list[tuple[object, int]]:
    number, counts, row = count_values(rows, classes, attribute, count)
    shown = rows[row.tolist()].select(*classes, attribute).rows()
    of_class: dict[int, object] = {}
    for one, values in zip(number.tolist(), shown, strict=True):
        assert of_class.setdefault(one, values[:-1]) == values[:-1]
    assert len(set(of_class.values())) == len(of_class)
    assert number.tolist() == sorted(number.tolist())
    return sorted(zip(shown, counts.tolist(), strict=True), key=str)


@pytest.mark.parametrize("kind", ["sorted", "near", "far", "missing", "text", "text with gaps", "real"])
@pytest.mark.parametrize("count", [None, "count"])
def test_people_are_counted_as_a_dictionary_counts_them(kind: str, count: str | None) -> None:
    rng = default_rng(1)
    for size in (1, 2, 7, 40):
        numbers = rng.integers(0, 6, size)
        made = {
            "sorted": pl.Series(np.sort(numbers) * 10**15 - 3),
            "near": pl.Series(numbers - 2),
            "far": pl.Series(numbers * 10**15 - 3),
            "missing": pl.Series([None if n == 1 else int(n) for n in numbers], dtype=pl.Int64),
            "text": pl.Series([f"v{n}" for n in numbers]),
            "text with gaps": pl.Series([None if n == 1 else f"v{n}" for n in numbers], dtype=pl.String),
            "real": pl.Series(numbers / 7),
        }[kind]
        rows = pl.DataFrame({"group": rng.integers(0, 3, size), "x": made, "count": rng.integers(1, 9, size)})
        rows = rows.with_columns(y=pl.Series(rng.integers(0, 3, size)))
        for classes, attribute in ((["group"], "x"), (["x"], "y"), (["x", "group"], "y"), ([], "x")):
            assert as_counted(rows, classes, attribute, count) == literal(rows, classes, attribute, count)


@pytest.mark.parametrize(("columns", "values"), [(2, 300), (4, 240), (4, 300), (6, 300), (7, 300), (8, 300), (12, 300)])
@pytest.mark.parametrize("rising", [True, False])
def test_classes_of_many_columns_stay_apart_however_large_their_numbers_grow(
    columns: int, values: int, rising: bool
) -> None:
    """4 columns of 240 values have more combinations than 31 bits hold, 7 of 300 than 50, 12 of 300 than 64."""
    rng = default_rng(2)
    made = {f"q{i}": rng.permutation(values) for i in range(columns)}
    if rising:
        made["q0"] = np.arange(values)
    rows = pl.concat([pl.DataFrame(made).with_columns(ill=pl.lit(value)) for value in ("a", "b", "c")])
    rows = pl.concat([rows, rows.filter(pl.col("q1") > 150)]).sort("q0", "ill") if rising else rows
    names = [f"q{i}" for i in range(columns)]
    assert as_counted(rows, names, "ill", None) == literal(rows, names, "ill", None)


def test_equal_numbers_stand_side_by_side_and_each_run_begins_once() -> None:
    assert starts_of(np.array([5, 5, -(2**62), 2**62, 2**62])).tolist() == [0, 2, 3]
    assert starts_of(np.array([], np.int64)).tolist() == []


@pytest.mark.parametrize(
    "values",
    [[3, 1, 2, 1], [1, 1, 3, 9], [10**15, -4, 7], [None, 2, 1, 2], ["b", "a", None, "b"], [0.5, -1.0, 0.5, None]],
)
def test_places_are_alike_where_values_are_and_missing_is_a_value_of_its_own(values: list[object]) -> None:
    places = placed(pl.Series(values)).tolist()
    assert len(set(zip(values, places, strict=True))) == len(set(values)) == len(set(places))
    assert min(places) >= 0
    assert max(places) <= len(values)
    present = [(place, value) for place, value in zip(places, values, strict=True) if value is not None]
    assert sorted(present) == sorted(present, key=lambda pair: pair[1])  # type: ignore[arg-type,return-value]


def test_the_smallest_class_is_found_and_named() -> None:
    rows = pl.DataFrame({"age": [1, 1, 2, 2, 2, 1], "sex": list("fmfffm")})
    assert smallest_class(rows, ["age", "sex"]) == (1, {"age": 1, "sex": "f"})
    assert smallest_class(rows, ["sex"]) == (2, {"sex": "m"})
    assert smallest_class(rows, ["age"]) == (3, {"age": 1})
