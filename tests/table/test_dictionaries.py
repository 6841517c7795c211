"""Codes compare as what they stand for, and nothing is lost or judged differently because of them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluralis.auditing.diversity_models import count_values, placed
from pluralis.auditing.judging import alike_in_groups
from pluralis.kernels.order import sorted_by, starts_of
from pluralis.table.dictionaries import decode, decode_table, dictionary_encode, dictionary_encode_table, narrow
from pluralis.table.labels import number_text, number_texts
from pluralis.table.sources import write_parquet_bytes
from pluralis.table.spelling import cores, same_text

WORDS = st.sampled_from(["", "flu", "Flu", "flu ", "asthma", "Ärzte", "日", "\U0001f600", "ﬂu", None])
TEXTS = st.lists(WORDS, max_size=12).map(lambda words: pl.Series("x", words, dtype=pl.String))
ENDS = [2**31 - 1, -(2**31), 2**31, -(2**62), 2**62, 2**63 - 1, -(2**63)]
NUMBERS = st.lists(st.sampled_from([0, 1, -1, 7, *ENDS, None]), max_size=12)
WHOLE = NUMBERS.map(lambda numbers: pl.Series("x", numbers, dtype=pl.Int64))


@given(TEXTS)
def test_codes_are_in_the_order_of_their_texts_and_come_back(texts):
    codes = dictionary_encode(texts)
    assert codes.sort(nulls_last=True).cast(pl.String).equals(texts.sort(nulls_last=True))
    assert decode(codes).equals(texts)
    assert decode(narrow(texts)).equals(texts)


@given(TEXTS)
def test_codes_in_another_order_are_put_in_order(texts):
    backwards = texts.cast(pl.Enum(texts.unique().drop_nulls().sort(descending=True)))
    assert dictionary_encode(backwards).to_physical().equals(dictionary_encode(texts).to_physical())


@given(WHOLE)
def test_numbers_come_back_whether_they_fit_or_not(numbers):
    small = narrow(numbers)
    assert (small.dtype == pl.Int32) == all(-(2**31) <= n < 2**31 for n in numbers.drop_nulls())
    assert decode(small).equals(numbers)
    frame = pl.DataFrame([small])
    assert decode_table(frame).equals(pl.DataFrame([numbers]))
    assert dictionary_encode_table(frame).schema == {"x": pl.Int64}


@given(TEXTS)
def test_spellings_are_the_same_in_codes(texts):
    texts = texts.drop_nulls()
    for fold in (True, False):
        spelled = same_text(texts, fold_case=fold).to_list()
        assert spelled == same_text(dictionary_encode(texts), fold_case=fold).to_list()
        core = cores(texts, fold_case=fold).to_list()
        assert [[a == b for a in core] for b in core] == [[a == b for a in spelled] for b in spelled]


LETTERS = st.lists(st.sampled_from(["b", "c", None]), max_size=8)
UNUSED = LETTERS.map(lambda words: pl.Series("x", words, dtype=pl.Enum(list("abcd"))))
SHORT = st.lists(st.sampled_from([-128, 127, 0]), min_size=300, max_size=310).map(
    lambda n: pl.Series("x", n, dtype=pl.Int8)
)


@given(TEXTS | WHOLE | UNUSED | SHORT)
def test_a_place_is_in_the_order_of_values(values):
    place = placed(values)
    for i in range(min(12, values.len())):
        for j in range(min(12, values.len())):
            assert (place[i] == place[j]) == (values[i] == values[j])
            if values[i] is not None and values[j] is not None:
                assert (place[i] < place[j]) == (values[i] < values[j])


ROWS = st.lists(st.tuples(st.integers(1, 3), st.sampled_from("ab"), st.integers(1, 4)), min_size=1, max_size=12)


@given(ROWS, st.booleans(), st.booleans())
def test_what_classes_hold_is_counted_in_any_order(rows, in_order, by_people):
    rows = sorted(rows) if in_order else rows
    frame = dictionary_encode_table(
        pl.DataFrame(rows, schema={"group": pl.Int64, "x": pl.String, "count": pl.Int64}, orient="row")
    )
    number, counts, row = count_values(frame, ["group"], "x", "count" if by_people else None)
    wanted: dict[tuple[int, str], int] = {}
    for group, value, count in rows:
        wanted[group, value] = wanted.get((group, value), 0) + (count if by_people else 1)
    assert {rows[i][:2]: int(n) for i, n in zip(row, counts, strict=True)} == wanted
    assert [rows[i][:2] for i in row] == sorted(wanted)
    assert [number[i] == number[0] for i in range(number.size)] == [key[0] == min(wanted)[0] for key in sorted(wanted)]


@given(WHOLE)
def test_numbers_are_told_apart_however_far_apart_they_are(numbers):
    for series in (numbers, numbers.sort(nulls_last=True)):
        places = placed(series).tolist()
        assert len(set(zip(places, series, strict=True))) == len(set(places)) == series.n_unique()


@pytest.mark.parametrize("columns", [1, 4, 5, 6, 7, 12])
def test_classes_of_many_columns_are_counted(columns):
    """Of a thousand values: soon a class, its value and its row do not fit into 64 bits, then not even the class."""
    names = [f"q{i}" for i in range(columns)]
    random = np.random.default_rng(columns)
    some = pl.DataFrame({name: random.permutation(1000) for name in [*names, "x"]})
    frame = some[random.integers(0, 1000, 3000)].with_columns(x=pl.Series(random.integers(0, 3, 3000)))
    number, counts, row = count_values(frame, names, "x")
    wanted = Counter(frame.rows())
    keys = [frame.row(int(i)) for i in row]
    assert keys == sorted(wanted)
    assert counts.tolist() == [wanted[key] for key in keys]
    classes = sorted({key[:-1] for key in wanted})
    assert np.unique(number, return_inverse=True)[1].tolist() == [classes.index(key[:-1]) for key in keys]


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["a", "b", None])), min_size=1, max_size=8), st.booleans())
def test_groups_that_differ_are_seen_in_any_order(rows, in_order):
    rows = sorted(rows, key=lambda row: row[0]) if in_order else rows
    frame = pl.DataFrame(rows, schema={"group": pl.Int64, "x": pl.String}, orient="row")
    alike = all(len({x for g, x in rows if g == group}) == 1 for group, _ in rows)
    assert alike_in_groups(frame, ["x"]) == alike_in_groups(dictionary_encode_table(frame), ["x"]) == alike


@given(st.lists(st.integers(0, 4), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_rows_are_sorted_by_place_and_equal_ones_stay(keys, random):
    codes, places = np.array(keys, np.int32), np.array(random.sample(range(5), 5), np.int32)
    order = np.array(random.sample(range(codes.size), codes.size), np.int32)
    ordered = sorted_by(order, codes, places, 5)
    assert ordered.tolist() == sorted(order.tolist(), key=lambda row: places[codes[row]])
    assert starts_of(codes[np.sort(ordered)]).tolist() == [
        i for i in range(codes.size) if i == 0 or codes[i] != codes[i - 1]
    ]


@given(st.lists(st.floats(-1e9, 1e9) | st.none(), max_size=8) | NUMBERS)
def test_numbers_are_written_as_one_by_one(numbers):
    kind = pl.Float64 if any(isinstance(n, float) for n in numbers) else pl.Int64
    series = pl.Series(numbers, dtype=kind, strict=False)
    texts = number_texts(series)
    assert texts.dtype == pl.String
    assert texts.to_list() == [None if n is None else number_text(n) for n in series.to_list()]


def test_bytes_are_the_same_in_codes_and_over_several_groups_of_rows():
    rows = 40_000
    frame = pl.DataFrame({"a": [f"v{i * 7919 % 700:04}" for i in range(rows)], "n": [i % 50 for i in range(rows)]})
    narrowed = pl.DataFrame([narrow(frame["a"]), narrow(frame["n"])])
    assert write_parquet_bytes(narrowed) == write_parquet_bytes(frame)
