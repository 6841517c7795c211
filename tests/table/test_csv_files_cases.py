"""CSV files, one thing at a time: bytes that are loaded or refused, and the one spelling that a released table has."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pluralis.errors import InputError, OutputError, ReleaseError
from pluralis.table import csv_files
from pluralis.table.csv_files import (
    check_memory,
    check_names,
    check_rows,
    gist,
    is_pattern,
    load_text,
    physical_memory,
    read_release_csv,
    write_csv_bytes,
)

AGAIN = "Get the release again."


def said_by(call: Callable[[], Any], kind: type[Exception] = InputError) -> str:
    with pytest.raises(kind) as refused:
        call()
    return str(refused.value)


# released tables --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "data"),
    [
        (pl.DataFrame({"a": ["x", None], "b": [1, -2]}), b"a,b\nx,1\n,-2\n"),
        (pl.DataFrame({"a": ["x", None]}), b'a\nx\n""\n'),
        (pl.DataFrame({"a": [1.5, None], "b": ["x", "y"]}), b"a,b\n1.5,x\n,y\n"),
        (
            pl.DataFrame({"a": ["=1", "+x", "-x", "@x", "'x", "\tx", "-5", "+5", "-inf", "-1e999"], "b": [1] * 10}),
            b"a,b\n'=1,1\n'+x,1\n'-x,1\n'@x,1\n''x,1\n'\tx,1\n-5,1\n+5,1\n'-inf,1\n'-1e999,1\n",
        ),
        (pl.DataFrame({"=a": ["x"], "b": ['say "x", y']}), b'\'=a,b\nx,"say ""x"", y"\n'),
        (pl.DataFrame({"a": pl.Series(["y", "x"], dtype=pl.Enum(["y", "x"])), "b": [1, 2]}), b"a,b\ny,1\nx,2\n"),
        (pl.DataFrame({"a": pl.Series([], dtype=pl.String), "b": pl.Series([], dtype=pl.Int64)}), b"a,b\n"),
    ],
)
def test_the_bytes_of_a_released_table(frame: pl.DataFrame, data: bytes) -> None:
    assert write_csv_bytes(frame) == data
    plain = frame.cast({pl.Enum: pl.String})
    again = read_release_csv(data, dict(plain.schema))
    assert again.equals(plain)
    assert again.schema == plain.schema


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["x", ""], "'a' holds empty text, which in CSV would be missing. Use Parquet."),
        ([True, False], "'a' holds Boolean, which CSV cannot carry. Use Parquet."),
        ([1.5, float("nan")], "'a' holds NaN or an infinite value, which CSV cannot carry. Use Parquet."),
        ([1.5, float("inf")], "'a' holds NaN or an infinite value, which CSV cannot carry. Use Parquet."),
        ([[1], [2]], "'a' holds List(Int64), which CSV cannot carry. Use Parquet."),
    ],
)
def test_what_csv_cannot_carry(cells: list[Any], message: str) -> None:
    assert said_by(lambda: write_csv_bytes(pl.DataFrame({"a": cells})), OutputError) == message


TEXT, WHOLE, NUMBER = pl.String(), pl.Int64(), pl.Float64()
EDITED = f"A released table is not written as releases are: it was edited. {AGAIN}"


@pytest.mark.parametrize(
    ("data", "schema", "message"),
    [
        (
            b"a,b\nx,1\n",
            {"b": TEXT, "a": TEXT},
            "A released table has the columns ['a', 'b'], its manifest ['b', 'a'].",
        ),
        (b"a\nx\n", {"a": TEXT, "b": TEXT}, "A released table has the columns ['a'], its manifest ['a', 'b']."),
        (b"a,b\nx,1\n\n", {"a": TEXT, "b": TEXT}, EDITED),
        (b"a,b\r\nx,1\r\n", {"a": TEXT, "b": TEXT}, EDITED),
        (b'a,b\n"x",1\n', {"a": TEXT, "b": TEXT}, EDITED),
        (b"a,b\nx\n", {"a": TEXT, "b": TEXT}, "A released table is damaged ("),
        (b"a,b\nx,1\ny\n", {"a": TEXT, "b": TEXT}, EDITED),
        (b"a,b\nx,1", {"a": TEXT, "b": TEXT}, EDITED),
        (b"", {"a": TEXT}, "A released table has no header (StopIteration)."),
        (b"\xff\n", {"a": TEXT}, "A released table has no header ("),
        (b'"a" x,b\n', {"a": TEXT, "b": TEXT}, "A released table has no header ("),
        (b"a,b\nx,1,2\n", {"a": TEXT, "b": TEXT}, "A released table is damaged ("),
        (b"a,b\n=x,1\n", {"a": TEXT, "b": TEXT}, f"'a' row 1 holds '=x', which is not escaped. {AGAIN}"),
        (b"a,b\nx,1\n'x,1\n'y,1\n", {"a": TEXT, "b": TEXT}, f"'a' row 2 holds \"'x\", which is not escaped. {AGAIN}"),
        (b"=a,b\nx,1\n", {"=a": TEXT, "b": TEXT}, f"'header' row 1 holds '=a', which is not escaped. {AGAIN}"),
        (b"a,b\nx,1\nx,01\nx,02\n", {"a": TEXT, "b": WHOLE}, f"'b' row 2 holds '01', not Int64. {AGAIN}"),
        (b"a,b\nx,1.0\n", {"a": TEXT, "b": WHOLE}, f"'b' row 1 holds '1.0', not Int64. {AGAIN}"),
        (b"a,b\nx,+1\n", {"a": TEXT, "b": WHOLE}, f"'b' row 1 holds '+1', not Int64. {AGAIN}"),
        (b"a,b\nx,-0\n", {"a": TEXT, "b": WHOLE}, f"'b' row 1 holds '-0', not Int64. {AGAIN}"),
        (b"a,b\nx,9223372036854775808\n", {"a": TEXT, "b": WHOLE}, "'b' row 1 holds '9223372036854775808', not Int64."),
        (b"a,b\nx,inf\n", {"a": TEXT, "b": NUMBER}, f"'b' row 1 holds 'inf', not Float64. {AGAIN}"),
        (b"a,b\nx,1e999\n", {"a": TEXT, "b": NUMBER}, f"'b' row 1 holds '1e999', not Float64. {AGAIN}"),
        (b"a,b\nx,y\n", {"a": TEXT, "b": NUMBER}, f"'b' row 1 holds 'y', not Float64. {AGAIN}"),
        (b"a,b\nx,1\n", {"a": TEXT, "b": pl.Int32()}, "'b' is declared as Int32, which a CSV release cannot hold."),
    ],
    ids=range(24),
)
def test_another_spelling_is_refused(data: bytes, schema: dict[str, pl.DataType], message: str) -> None:
    assert said_by(lambda: read_release_csv(data, schema), ReleaseError).startswith(message)


def test_numbers_are_read_as_they_are_declared() -> None:
    schema = {"a": WHOLE, "b": NUMBER, "c": TEXT}
    table = read_release_csv(b"a,b,c\n0,0.5,007\n-12,-1e-3,\n,,'=1\n", schema)
    assert table.rows() == [(0, 0.5, "007"), (-12, -0.001, None), (None, None, "=1")]
    assert dict(table.schema) == schema


# names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b", "wage"], None),
        (["a", 5], "x: column 2 is named 5, which is not text. Name columns with text."),
        (["a", " "], "x: column 2 has no name. Name every column."),
        (["a", "*"], "x: column 2 is named '*', which programs take for a pattern of names. Rename it."),
        (["a", "b", "a"], "x: columns 1 and 3 are both named 'a'. Rename one."),
        (["b", "a", "A "], "x: columns 2 and 3 ('a', 'A ') read the same. Rename one."),
        (["ß", "SS"], "x: columns 1 and 2 ('ß', 'SS') read the same. Rename one."),
    ],
)
def test_names_of_columns(names: list[Any], message: str | None) -> None:
    if message is None:
        check_names(names, "x")
    else:
        assert said_by(lambda: check_names(names, "x")) == message


@pytest.mark.parametrize(
    ("name", "pattern"),
    [("*", True), ("^a$", True), ("a\0b", True), ("^a", False), ("a$", False), ("a*", False), ("**", False)],
)
def test_patterns(name: str, pattern: bool) -> None:
    assert is_pattern(name) is pattern


# sizes ------------------------------------------------------------------------------------------------------------


def test_rows_that_can_be_numbered() -> None:
    check_rows("x", 4_294_967_294)
    message = "x has 4,294,967,295 rows, the limit is 4,294,967,294. Split it."
    assert said_by(lambda: check_rows("x", 4_294_967_295)) == message


def test_memory_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert physical_memory() == have
    monkeypatch.setattr(csv_files, "physical_memory", lambda: 3 << 29)
    check_memory("x", 3 << 29)
    assert said_by(lambda: check_memory("x", 5 << 29)) == (
        "x needs about 2.5 GiB in memory, this machine has 1.5 GiB. Leave out columns or rows, or use a larger machine."
    )
    assert "2.5 GiB" in said_by(lambda: check_memory("x", 5 << 29))
    monkeypatch.setattr(csv_files, "physical_memory", lambda: None)
    check_memory("x", 1 << 60)


def test_memory_where_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(name: str) -> int:
        raise ValueError(name)

    monkeypatch.setattr(os, "sysconf", silent)
    assert physical_memory() is None


def test_the_gist_of_a_message() -> None:
    assert gist(ValueError("first.\nsecond")) == "first"
    assert gist(ValueError()) == "ValueError"


# loading ----------------------------------------------------------------------------------------------------------


def loaded(folder: Path, data: bytes, encoding: str = "utf-8", name: str = "people.csv") -> bytes:
    (folder / name).write_bytes(data)
    return load_text(folder / name, encoding).getvalue()


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        (b"a,b\n1,2\n", "utf-8", "a,b\n1,2\n"),
        (b"12345678\xc3\xb6 and more\n", "utf-8", "12345678ö and more\n"),
        ("größe\n".encode("latin-1"), "latin-1", "größe\n"),
        ("größe\n".encode("cp1252"), "cp1252", "größe\n"),
        ("größe\n".encode("utf-16"), "utf-16", "größe\n"),
        ("größe\n".encode("utf-32"), "utf-32", "größe\n"),
        ("größe\n".encode("utf-16-le"), "utf-16-le", "größe\n"),
        (b"", "utf-8", ""),
    ],
)
@pytest.mark.parametrize("chunk", [9, 13, 1 << 24])
def test_files_are_loaded_whole(
    data: bytes, encoding: str, text: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_files, "CHUNK", chunk)
    assert loaded(tmp_path, data, encoding).decode("utf-8") == text


def test_marks_are_no_text_but_at_the_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "CHUNK", 4)
    assert loaded(tmp_path, "\ufeffab\ufeffc\n".encode("utf-16-le"), "utf-16-le").decode() == "ab\ufeffc\n"


@pytest.mark.parametrize("data", [b"a\nc\xc3\xff\nx\n", b"ab\n\xc3abcde\nf\ng\nh\n", b"ab\n\xe2\x82ab\n"])
def test_a_letter_that_two_chunks_share_is_refused_in_its_line(
    data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_files, "CHUNK", 4)
    assert said_by(lambda: loaded(tmp_path, data)).startswith("people.csv line 2: not UTF-8.")


@pytest.mark.parametrize("chunk", [2, 1 << 24])
@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (b"ab\ncd\nx\xffy\n", "utf-8", "people.csv line 3: not UTF-8. Save it as UTF-8, or declare"),
        (b"ab\n\xff\n", "utf-8-sig", "people.csv line 2: not UTF-8. Save it as UTF-8, or declare"),
        (b"ab\ncd\n\xc3", "utf-8", "people.csv line 3: not UTF-8. Save it as UTF-8, or declare"),
        (b"ab\ncd\n\x81\n", "cp1252", "people.csv line 3: not cp1252. Declare"),
        (b"\xff", "utf-8", "people.csv line 1: not UTF-8. Save it as UTF-8, or declare"),
    ],
)
def test_bytes_of_another_encoding_are_refused(
    data: bytes, encoding: str, message: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_files, "CHUNK", chunk)
    rest = " the encoding in which it was written, such as cp1252 or latin-1: "
    rest += '`--encoding cp1252`, in Python encoding="cp1252".'
    assert said_by(lambda: loaded(tmp_path, data, encoding)) == message + rest


@pytest.mark.parametrize("encoding", ["rot13", "nonsense", "idna", "punycode", "unicode-escape", "undefined", "a\0b"])
def test_what_is_no_encoding_of_text(encoding: str, tmp_path: Path) -> None:
    message = f"{encoding!r} is no encoding of text. Use utf-8, utf-16, latin-1 or cp1252, for example."
    assert said_by(lambda: loaded(tmp_path, b"a\n", encoding)) == message


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (b"\x1f\x8babc", "utf-8", "people.csv is a gzip file, whatever its name says. Rename it to end in .gz."),
        (b"PK\x03\x04abc", "utf-8", "people.csv is a ZIP or Excel file, whatever its name says. Save it as CSV."),
        (b"PAR1abc", "utf-8", "people.csv is a Parquet file, whatever its name says. Rename it to end in .parquet."),
        (
            "a".encode("utf-16"),
            "utf-8",
            "people.csv line 1: it begins with the mark of UTF-16, but was to be read as utf-8. Declare the encoding "
            "utf-16 (`--encoding utf-16`), or save it as UTF-8.",
        ),
        (
            b"\xef\xbb\xbfa",
            "latin-1",
            "people.csv line 1: it begins with the mark of UTF-8, but was to be read as iso8859-1. Declare the "
            "encoding utf-8 (`--encoding utf-8`), or save it as UTF-8.",
        ),
        (b"ab", "utf-16", "people.csv line 1: no byte order mark. Declare utf-16-le or utf-16-be by `--encoding`."),
    ],
)
def test_first_bytes_that_contradict_name_or_encoding(data: bytes, encoding: str, message: str, tmp_path: Path) -> None:
    assert said_by(lambda: loaded(tmp_path, data, encoding)) == message


def test_packed_files_are_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "CHUNK", 5)
    assert loaded(tmp_path, gzip.compress(b"a,b\n1,2\n3,4\n"), name="people.csv.GZ") == b"a,b\n1,2\n3,4\n"
    message = said_by(lambda: loaded(tmp_path, gzip.compress(b"a,b\n1,2\n")[:-3], name="people.csv.gz"))
    assert message.startswith("people.csv.gz is damaged or no gzip file (")
    message = said_by(lambda: loaded(tmp_path, b"a,b\n", name="people.csv.gz"))
    assert message.startswith("people.csv.gz is damaged or no gzip file (Not a gzipped file")


def test_packed_files_are_no_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(b"a" * 100_000)
    monkeypatch.setattr(csv_files, "CHUNK", 1000)
    monkeypatch.setattr(csv_files, "RATIO_FROM", 50_000)
    monkeypatch.setattr(csv_files, "MAX_RATIO", 1 + 100_000 // len(packed))
    assert len(loaded(tmp_path, packed, name="x.gz")) == 100_000
    ratio = 100_000 // len(packed)
    monkeypatch.setattr(csv_files, "MAX_RATIO", ratio - 10)
    message = (
        f"x.gz unpacks to more than {ratio - 10} times its size, the limit against compressed bombs. If it is sound, "
        "unpack it first."
    )
    assert said_by(lambda: loaded(tmp_path, packed, name="x.gz")) == message
    monkeypatch.setattr(csv_files, "RATIO_FROM", 100_000)
    assert len(loaded(tmp_path, packed, name="x.gz")) == 100_000
    monkeypatch.setattr(csv_files, "RATIO_FROM", 0)
    assert len(loaded(tmp_path, b"a" * 5000)) == 5000


def test_files_are_not_larger_than_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "CHUNK", 4)
    monkeypatch.setattr(csv_files, "MAX_BYTES", 8)
    assert loaded(tmp_path, b"abcdefgh") == b"abcdefgh"
    assert said_by(lambda: loaded(tmp_path, b"abcdefghi")).startswith("people.csv holds more than 7.45058e-09 GiB")
    monkeypatch.setattr(csv_files, "MAX_BYTES", 1 << 30)
    monkeypatch.setattr(csv_files, "physical_memory", lambda: 7)
    assert said_by(lambda: loaded(tmp_path, b"abcdefgh")).startswith("people.csv needs about")


def test_limits() -> None:
    assert csv_files.MAX_BYTES == 32 * 2**30
    assert csv_files.RATIO_FROM == 64 * 2**20
    assert csv_files.MAX_RATIO == 200


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert said_by(lambda: load_text(tmp_path / "nowhere.csv", "utf-8")) == (
        f"Cannot read {tmp_path / 'nowhere.csv'}: No such file or directory. Check its permissions."
    )
    assert said_by(lambda: load_text(tmp_path, "utf-8")) == (
        f"Cannot read {tmp_path}: Is a directory. Check its permissions."
    )
