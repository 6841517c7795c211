"""Tables that cannot be read: each a test; what is refused names the place and the remedy."""

from __future__ import annotations

import gzip
import io
import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pluralis.table.csv_files
from pluralis.errors import InputError
from pluralis.policy.policy import Policy
from pluralis.table.encoding import encode
from pluralis.table.sources import read_table, write_csv_bytes, write_parquet_bytes
from support.table_reading import encoded, refused

# 1-3 bytes ----------------------------------------------------------------------------------------------------


def test_01_utf8_mark_is_stripped(file):
    frame = read_table(file(b"\xef\xbb\xbfage,disease\n30,flu\n"))
    assert frame.columns == ["age", "disease"]
    assert frame.rows() == [("30", "flu")]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_02_utf16_is_refused_unless_declared(file, encoding):
    path = file("age,disease\n30,grippé\n".encode(encoding))
    refused(path, "people.csv", encoding.upper(), f"Declare the encoding {encoding}")
    assert read_table(path, encoding=encoding).rows() == [("30", "grippé")]
    refused(path, "mark of", encoding="latin-1")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_02_utf16_without_a_mark_needs_its_byte_order(file, encoding):
    path = file("age,disease\n30,flu\n".encode(encoding))
    refused(path, "line 1", "NUL", "utf-16-le")
    refused(path, "no byte order mark", encoding="utf-16")
    assert read_table(path, encoding=encoding).rows() == [("30", "flu")]


def test_02_latin1_is_refused_with_its_line_unless_declared(file):
    path = file("age,disease\n30,flu\n31,grippé\n".encode("latin-1"))
    refused(path, "people.csv line 3", "not UTF-8", "declare")
    assert read_table(path, encoding="latin-1").rows()[1] == ("31", "grippé")


def test_02_the_line_is_right_in_later_chunks(file, monkeypatch):
    monkeypatch.setattr(pluralis.table.csv_files, "CHUNK", 7)
    path = file("age,disease\n30,grippé\n31,é\n".encode() + b"32,\xff\n")
    refused(path, "people.csv line 4", "not UTF-8")
    refused(file("a,b\n1,2\n3,€\n".encode("utf-16-be") + b"\xd8\x00"), "line 4", encoding="utf-16-be")
    assert read_table(file("age\ngrippé€\n")).rows() == [("grippé€",)]


def test_02_a_character_cut_off_at_the_end_is_refused(file):
    refused(file(b"age\n30\n\xc3"), "line 3", "not UTF-8")


@pytest.mark.parametrize("encoding", ["klingon", "base64", "rot13", "punycode", "unicode_escape", "a\0b", ""])
def test_02_an_unknown_encoding_is_refused(file, encoding):
    refused(file("a\n1\n"), "no encoding of text", "Use utf-8", encoding=encoding)


def test_02_a_declared_encoding_that_does_not_fit_is_refused(file):
    refused(file("a\n1\né\n"), "line 3", "not ascii", encoding="ascii")
    refused(file(b"\xef\xbb\xbfa\n1\n"), "mark of UTF-8", encoding="latin-1")


@pytest.mark.parametrize("row", [b"30,f\0lu", b'30,"f\0lu"', b'30,"flu"\0', b"\0"])
def test_03_nul_is_refused(file, row):
    refused(file(b"age,disease\n1,a\n" + row + b"\n"), "people.csv line 3", "NUL", "Remove it")


# 4-8 structure ------------------------------------------------------------------------------------------------


def test_04_an_extra_field_in_every_row_is_refused(file):
    refused(file("age,disease\n30,flu,x\n31,hiv,y\n"), "people.csv line 2", "3 fields", "header has 2")


def test_05_a_short_row_is_refused(file):
    refused(file("age,disease,ward\n30,flu,1\n31,hiv\n"), "people.csv line 3", "2 fields", "header has 3")
    refused(file('age,disease\n"a\nb",flu\n31\n'), "people.csv line 4", "1 fields")


def test_05_blank_lines_stand_only_at_the_end(file):
    refused(file("age,disease\n30,flu\n\n\n31,hiv\n"), "people.csv line 3", "blank line", "header has 2")
    refused(file("\nage,disease\n30,flu\n"), "people.csv line 1", "blank line")
    for end in ("", "\n", "\n\n\n", "\r\n\r\n"):
        assert read_table(file("age,disease\n30,flu" + end)).rows() == [("30", "flu")]


def test_05_a_blank_line_in_one_column_is_a_missing_value(file):
    notes: list[str] = []
    frame = read_table(file('age\n\n30\n\n\n""\n31\n\n\n'), notes=notes)
    assert frame["age"].to_list() == [None, "30", None, None, None, "31"]
    assert "blank lines at the end" in notes[0]


def test_06_an_unclosed_quote_is_refused_where_it_opens(file):
    refused(file('age,disease\n30,flu\n31,"hiv\n32,flu\n'), "people.csv line 3", "field 2", "never closed")
    refused(file('"age'), "people.csv line 1", "never closed")


def test_06_a_stray_quote_is_refused(file):
    refused(file('age,disease\n30,5" pipe\n'), "people.csv line 2", "quote inside field 2", "double")
    refused(file('age,disease\n30, "flu"\n'), "line 2", "quote inside field 2")
    refused(file('age,disease\n30,"flu"x\n'), "line 2", "text after the closing quote of field 2")
    refused(file('age,disease\n"30" ,flu\n'), "line 2", "text after the closing quote of field 1")


@pytest.mark.parametrize("text", ["age,disease\r30,flu\r31,hiv\r", "a,b\n1,2\r", "a,b\n1,x\ry\n", 'a,b\n1,"x"\ry\n'])
def test_06_lone_carriage_returns_are_refused(file, text):
    refused(file(text), "people.csv line", "carriage return", "CRLF")


def test_06_line_ends_may_be_mixed_and_quotes_keep_theirs(file):
    frame = read_table(file('a,b\r\n1,\r\n"2\r","3\r\n4"\n,""\r\n'))
    assert frame.rows() == [("1", None), ("2\r", "3\r\n4"), (None, None)]


def test_07_a_field_over_128_kib_is_refused(file):
    longest = "x" * (128 << 10)
    assert read_table(file(f'a,b\n1,{longest}\n2,"{longest}"\n'))["b"].to_list() == [longest, longest]
    refused(file(f"a,b\n1,2\n1,{longest}x\n"), "people.csv line 3", "field 2", "128 KiB")
    refused(file(f'a,b\n1,"{longest}x"\n'), "people.csv line 2", "128 KiB")


def test_08_over_ten_thousand_columns_are_refused(file):
    names = [f"c{i}" for i in range(10_000)]
    row = ",".join("1" for _ in names)
    assert read_table(file(",".join(names) + f"\n{row}\n")).width == 10_000
    refused(file(",".join([*names, "more"]) + f"\n{row},1\n"), "line 1", "10,001 columns", "10,000")


# 9-11 names ---------------------------------------------------------------------------------------------------


def test_09_duplicate_headers_are_refused(file):
    refused(file("age,sex,age\n1,2,3\n"), "people.csv line 1", "columns 1 and 3", "'age'", "Rename")
    refused(pd.DataFrame([[1, 2]], columns=["age", "age"]), "columns 1 and 2")
    refused(pa.table([pa.array([1]), pa.array([2])], names=["age", "age"]), "columns 1 and 2")


@pytest.mark.parametrize("twin", ["Age", "age ", "ａｇｅ", " AGE"])
def test_10_headers_that_read_the_same_are_refused(file, twin):
    refused(file(f"age,{twin}\n1,2\n"), "people.csv line 1", "read the same", "Rename")
    refused(pl.DataFrame({"age": [1], twin: [2]}), "read the same")


@pytest.mark.parametrize("header", ["age,", ",age", "age,  ", 'age,""', "age,\u3000"])
def test_11_an_empty_header_is_refused(file, header):
    refused(file(f"{header}\n1,2\n"), "people.csv line 1", "has no name")


@pytest.mark.parametrize("text", ["", "\ufeff", "\n\n", "\r\n"])
def test_11_a_file_without_a_header_is_refused(file, text):
    refused(file(text), "people.csv", "begins with a line of column names")


@pytest.mark.parametrize("text", ["age,disease", "age,disease\n", "age,disease\r\n\r\n"])
def test_11_a_header_alone_is_an_empty_table_which_encode_refuses(file, text):
    frame = read_table(file(text))
    assert frame.schema == {"age": pl.String, "disease": pl.String}
    assert frame.height == 0
    with pytest.raises(InputError, match="no rows"):
        encoded(frame)


# 12-18 values as they stand -----------------------------------------------------------------------------------


def test_12_na_none_and_null_are_text(file):
    words = ["NA", "None", "null", "NULL", "NaN", "nan", "N/A", "-"]
    frame = read_table(file("age,disease\n" + "".join(f"{i},{word}\n" for i, word in enumerate(words))))
    assert frame["disease"].to_list() == words
    table = encoded(frame, disease={"case": "keep"})
    assert sorted(table["disease"].values) == sorted(words)
    assert not table["disease"].has_missing


def test_12_only_declared_markers_are_missing(file):
    frame = read_table(file("age,disease\nNA,flu\n,hiv\n?,flu\n"))
    attributes = {"age": {"role": "quasi"}, "disease": {"role": "sensitive", "l": 2}}
    table = encode(frame, Policy.from_dict({"version": 1, "missing": ["", "?"], "attributes": attributes}))
    assert table["age"].values == ("NA",)
    assert table["age"].counts.tolist() == [1, 2]


@pytest.mark.parametrize("gap", ["", '""'])
def test_13_a_missing_sensitive_value_is_refused_unless_the_policy_says(file, gap):
    frame = read_table(file(f"age,disease\n30,flu\n31,{gap}\n32,hiv\n"))
    with pytest.raises(InputError, match=r"'disease' is sensitive and missing, 1 times \(first: row 2\)"):
        encoded(frame)
    dropped = encoded(frame, disease={"if_missing": "drop"})
    assert (dropped.rows, dropped.dropped, dropped["age"].values) == (2, 1, ("30", "32"))
    kept = encoded(frame, disease={"if_missing": {"as": "unknown"}})
    assert kept["disease"].values == ("flu", "hiv", "unknown")


@pytest.mark.parametrize("kind", ["text", "number"])
def test_14_a_missing_quasi_value_is_its_own_category(file, kind):
    frame = read_table(file('age,disease\n30,flu\n,hiv\n"",flu\n'))
    column = encoded(frame, age={"type": kind})["age"]
    assert column.has_missing
    assert column.counts.tolist() == [1, 2]
    assert column.text(1) == "(missing)"


EXACT = {
    "15 leading zeros": ["007", "07", "7"],
    "16 exponents as codes": ["1e5", "100000", "1E5x", "1e05"],
    "17 above 2^53 beside missing": ["9007199254740993", "9007199254740992", ""],
    "18 above 2^63": ["9223372036854775808", "9223372036854775809", "1" * 40],
    "24 True": ["True", "true ish", "1", "False"],
}


@pytest.mark.parametrize("values", EXACT.values(), ids=EXACT)
def test_15_to_18_and_24_values_keep_their_identity(file, values):
    frame = read_table(file("age,disease\n" + "".join(f"{v},d{i}\n" for i, v in enumerate(values))))
    assert frame["age"].dtype == pl.String
    assert frame["age"].fill_null("").to_list() == values
    assert sorted(encoded(frame)["age"].values) == sorted(v for v in values if v)


def test_17_typed_sources_keep_integers_beside_missing_values():
    big = [2**53 + 1, 2**53, None]
    for source in (
        pl.DataFrame({"age": big, "disease": ["a", "b", "c"]}),
        pd.DataFrame({"age": pd.array(big, dtype="Int64"), "disease": ["a", "b", "c"]}),
        pd.DataFrame({"age": pd.Series(big, dtype=object), "disease": ["a", "b", "c"]}),
        pa.table({"age": big, "disease": ["a", "b", "c"]}),
    ):
        frame = read_table(source)
        assert frame["age"].to_list() == big
        assert encoded(frame)["age"].values == (str(2**53), str(2**53 + 1))


def test_17_floats_that_pandas_has_already_rounded_are_said():
    notes: list[str] = []
    read_table(pd.DataFrame({"age": [float(2**53), None]}), notes=notes)
    assert "age: whole numbers above 2^53 may have been rounded" in notes[0]


def test_18_whole_numbers_beyond_any_width_are_kept():
    for big in (2**63 + 1, 2**70, 2**200):
        frame = read_table(pd.DataFrame({"age": pd.Series([big, big + 1, None], dtype=object)}))
        assert frame["age"].cast(pl.String).to_list() == [str(big), str(big + 1), None]


# 19-24 one value, one spelling --------------------------------------------------------------------------------


SPELLINGS = {
    "19 blanks and case": ["flu", "flu ", "Flu", "hiv"],
    "20 NFC and NFD": ["grippé", "grippe\u0301", "grippé", "hiv"],
    "21 full width": ["flu", "ｆｌｕ", "Ｆｌｕ", "hiv"],
}


@pytest.mark.parametrize("values", SPELLINGS.values(), ids=SPELLINGS)
def test_19_to_21_spellings_are_merged_and_it_is_said(file, values):
    frame = read_table(file("age,disease\n" + "".join(f"{i},{v}\n" for i, v in enumerate(values))))
    assert frame["disease"].to_list() == values
    table = encoded(frame)
    assert len(table["disease"].values) == 2
    assert any(note.startswith("disease: ") and "merged" in note for note in table.notes)


@pytest.mark.parametrize(
    "kind",
    ["number", "text"],
)
def test_22_nan_is_missing_and_minus_zero_is_zero(kind):
    frame = read_table(pl.DataFrame({"age": [float("nan"), -0.0, 0.0, 1.5], "disease": ["a", "b", "a", "b"]}))
    column = encoded(frame, age={"type": kind})["age"]
    assert column.has_missing
    assert len(column.values) == 2


@pytest.mark.parametrize("kind", ["number", "text"])
@pytest.mark.parametrize("value", [float("inf"), float("-inf")])
def test_22_infinities_are_refused(kind, value):
    frame = read_table(pl.DataFrame({"age": [value, 1.5], "disease": ["a", "b"]}))
    with pytest.raises(InputError, match="infinite"):
        encoded(frame, age={"type": kind})


@pytest.mark.parametrize("word", ["nan", "inf", "-Infinity", "1e999"])
def test_22_words_for_odd_numbers_are_no_numbers_in_csv(file, word):
    frame = read_table(file(f"age,disease\n{word},a\n1.5,b\n"))
    with pytest.raises(InputError):
        encoded(frame, age={"type": "number"})


def test_23_mixed_types_become_text_and_it_is_said():
    notes: list[str] = []
    mixed = pd.Series([1, "a", 2.5, 3.0, True, None, float("nan"), pd.NaT, pd.NA], dtype=object)
    frame = read_table(pd.DataFrame({"age": mixed, "disease": "x"}), notes=notes)
    assert frame["age"].to_list() == ["1", "a", "2.5", "3", "True", None, None, None, None]
    assert notes == ["age: read as text (it held bool and float and int and str)."]


def test_23_mixed_text_with_an_infinite_value_is_refused():
    refused(pd.DataFrame({"age": pd.Series(["a", float("inf")], dtype=object)}), "'age'", "infinite")


def test_23_a_number_column_with_a_word_in_it_is_refused(file):
    frame = read_table(file("age,disease\n30,a\nthirty,b\n"))
    with pytest.raises(InputError, match="row 2 holds 'thirty'"):
        encoded(frame, age={"type": "number"})


# 50 compressed bombs ------------------------------------------------------------------------------------------


def test_50_gzip_is_read(file):
    path = file(gzip.compress("age,disease\n30,flü\n".encode()), "people.CSV.gz")
    assert read_table(path).rows() == [("30", "flü")]
    two = gzip.compress(b"age,disease\n", mtime=0) + gzip.compress(b"30,flu\n")
    assert read_table(file(two, "two.csv.gz")).rows() == [("30", "flu")]


def test_50_a_bomb_is_refused_by_ratio(file):
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as out:
        out.write(b"a\n")
        for _ in range(80):
            out.write(b"0\n" * (1 << 19))
    refused(file(packed.getvalue(), "bomb.csv.gz"), "bomb.csv.gz", "200 times", "unpack it first")


def test_50_a_bomb_is_refused_by_size(file, monkeypatch):
    monkeypatch.setattr(pluralis.table.csv_files, "MAX_BYTES", 1 << 20)
    text = b"a\n" + os.urandom(1 << 20).hex().encode()
    refused(file(gzip.compress(text), "big.csv.gz"), "big.csv.gz", "GiB, the limit", "Split it")
    refused(file(text, "big.csv"), "big.csv", "GiB, the limit")


@pytest.mark.parametrize("damage", ["truncated", "corrupt", "other", "trailing", "empty"])
def test_50_damaged_gzip_is_refused(file, damage):
    whole = gzip.compress(b"a,b\n" + b"1,2\n" * 10_000)
    data = {
        "truncated": whole[:-20],
        "corrupt": whole[:-8] + bytes(4) + whole[-4:],
        "other": b"a,b\n1,2\n",
        "trailing": whole + b"junk",
        "empty": b"",
    }[damage]
    refused(file(data, "people.csv.gz"), "people.csv.gz")


def test_50_what_does_not_fit_in_memory_is_refused_with_both_figures(file, monkeypatch):
    frame = pl.DataFrame({"age": np.arange(200_000), "disease": ["flu"] * 200_000})
    parquet, text = file(write_parquet_bytes(frame), "people.parquet"), file(write_csv_bytes(frame))
    monkeypatch.setattr(pluralis.table.csv_files, "physical_memory", lambda: 4 << 20)
    refused(parquet, "people.parquet (200,000 rows, 2 columns)", "needs about", "this machine has 0.0 GiB")
    refused(text, "people.csv needs about", "this machine has")
    monkeypatch.setattr(pluralis.table.csv_files, "physical_memory", lambda: None)
    assert read_table(parquet).height == read_table(text).height == 200_000


def test_50_too_many_rows_are_refused(file, monkeypatch):
    monkeypatch.setattr(pluralis.table.csv_files, "MAX_ROWS", 2)
    frame = pl.DataFrame({"age": [1, 2, 3]})
    refused(file(write_parquet_bytes(frame), "people.parquet"), "3 rows", "limit is 2", "Split")
    refused(file(write_csv_bytes(frame)), "3 rows", "limit is 2", "Split")
