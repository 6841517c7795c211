"""Where tables come from: files of every kind, and frames in memory."""

from __future__ import annotations

import datetime as dt
import gzip
import os
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pluralis.errors import InputError
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.table.encoding import encode
from pluralis.table.sources import open_table, read_table, write_parquet_bytes
from support.table_reading import refused


def test_paths_that_are_no_table_are_refused(tmp_path, file):
    refused(tmp_path / "none.csv", "There is no file", "Check the path")
    refused(tmp_path, "is a folder")
    refused(file("a\n1\n", "people.xlsx"), "people.xlsx", "unknown ending", ".parquet")
    refused("postgresql://host/people", "is an address", ".csv")
    refused("a\0b.csv", "Cannot read")
    refused(42, "int is no table", "polars")
    refused(pd.Series([1]), "Series is no table")
    os.mkfifo(tmp_path / "pipe.csv")
    refused(tmp_path / "pipe.csv", "pipe")


def test_an_unreadable_file_is_refused(file, monkeypatch):
    paths = file("a\n1\n"), file(b"PAR1", "people.parquet")
    monkeypatch.setattr(Path, "open", Mock(side_effect=PermissionError(13, "Permission denied")))
    for path in paths:
        refused(path, path.name, "Permission denied")


@pytest.mark.parametrize(
    "magic", [gzip.compress(b"a\n1\n", mtime=0), b"PK\x03\x04rest", b"PAR1rest", b"\xd0\xcf\x11\xe0rest"]
)
def test_other_kinds_of_file_are_recognized(file, magic):
    refused(file(magic), "people.csv is a", "whatever its name says")


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"a,b\n1,2\n" * 9, "cut", "footer", "page"])
def test_damaged_parquet_is_refused(file, damage):
    whole = write_parquet_bytes(pl.DataFrame({"age": list(range(1000))}))
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    data = {
        "cut": whole[:-30],
        "footer": whole[:footer] + bytes(20) + whole[footer + 20 :],
        "page": whole[:4] + bytes(60) + whole[64:],
    }.get(damage, damage)
    refused(file(data, "people.parquet"), "people.parquet", "damaged or no Parquet file", "Get it again")


def test_parquet_keeps_types_and_is_no_pattern(file):
    frame = pl.DataFrame({"age": [1, None], "born": [dt.date(2000, 1, 2), None], "code": ["007", "NA"]})
    assert read_table(file(write_parquet_bytes(frame), "peo[ple]*.parquet")).equals(frame)
    refused(file(write_parquet_bytes(pl.DataFrame({"Age": [1], "age": [1]})), "a.parquet"), "read the same")


def test_parquet_by_the_column_is_what_it_is_as_a_whole(file):
    frame = pl.DataFrame({"age": [1, None, 3], "born": [dt.date(2000, 1, 2), None, None], "code": ["007", "NA", ""]})
    opened = open_table(file(write_parquet_bytes(frame), "people.parquet"), only=["code", "age"])
    assert (opened.columns, opened.height) == (["age", "code"], 3)
    assert pl.DataFrame([opened[name] for name in opened.columns]).equals(frame.select("age", "code"))


@pytest.mark.parametrize("how", ["written over", "replaced", "gone"])
def test_parquet_that_changes_between_two_columns_is_refused(file, how):
    """Columns of two tables, side by side, would give people the values of others."""
    path = file(write_parquet_bytes(pl.DataFrame({"age": [1, 2], "sex": ["f", "m"]})), "people.parquet")
    other = write_parquet_bytes(pl.DataFrame({"age": [2, 1], "sex": ["m", "f"]}))
    opened = open_table(path)
    assert opened["age"].to_list() == [1, 2]
    if how == "written over":
        path.write_bytes(other)
        os.utime(path, (0, 0))  # clocks of file systems are coarse: the two writes may be one tick
    else:
        path.unlink()
        if how == "replaced":
            path.write_bytes(other)
    with pytest.raises(InputError, match=r"changed while it was read|Cannot read .*No such file"):
        opened["sex"]


def test_damage_in_the_last_column_leaves_nothing_behind(file, tmp_path):
    whole = write_parquet_bytes(pl.DataFrame({"age": list(range(1000)), "disease": [f"d{i}" for i in range(1000)]}))
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    path = file(whole[: footer - 200] + bytes(200) + whole[footer:], "people.parquet")
    policy = Policy.from_dict(
        {"version": 1, "attributes": {"age": {"role": "quasi"}, "disease": {"role": "sensitive", "l": 2}}}
    )
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match="damaged or no Parquet file"):
        publish(path, policy).save(tmp_path / "release")
    assert sorted(tmp_path.rglob("*")) == before


def test_only_what_is_needed_is_read(file):
    frame = pl.DataFrame({"age": ["30"], "name": ["Ann"], "sex": ["f"]})
    sources = file(write_parquet_bytes(frame), "people.parquet"), file("age,name,sex\n30,Ann,f\n"), frame
    for source in sources:
        assert read_table(source, only=["sex", "age"]).equals(frame.select("age", "sex"))
        assert read_table(source, only=["gender", "age"]).equals(frame)  # so that sex can be proposed


@pytest.mark.parametrize(
    ("header", "separator"),
    [("a;b,c;d", ";"), ("a\tb", "\t"), ("a|b", "|"), ('"a,b,c";d', ";"), ("a", ","), ("a,b", ",")],
)
def test_the_separator_is_detected_outside_quotes(file, header, separator):
    names = [name.strip('"') for name in header.split(separator)]
    row = separator.join("x" for _ in names)
    assert read_table(file(f"{header}\n{row}\n")).columns == names


def test_a_declared_separator_is_used(file):
    assert read_table(file("a,b:c\n1,2:3\n"), separator=":").rows() == [("1,2", "3")]
    assert read_table(file("a\tb, c, d\n1\t2\n", "people.tsv")).columns == ["a", "b, c, d"]
    for wrong in ("", ",,", '"', "\n", "é", "\0"):
        refused(file("a,b\n1,2\n"), "cannot separate", separator=wrong)


def test_pandas_columns_of_every_kind():
    zone = pd.Series(pd.to_datetime(["2020-01-01", None])).dt.tz_localize("Europe/Berlin")
    frame = pd.DataFrame(
        {
            "text": ["a", None],
            "whole": pd.array([1, None], dtype="Int64"),
            "float": [1.5, np.nan],
            "flag": pd.array([True, None], dtype="boolean"),
            "category": pd.Categorical(["x", None], categories=["unused", "x"]),
            "mixed_category": pd.Categorical(["x", None], categories=[1, "x"]),
            "day": pd.Series([dt.date(2020, 1, 1), None], dtype=object),
            "time": pd.to_datetime(["2020-01-01", None]),
            "zone": zone,
            "arrow": pd.array(["a", None], dtype=pd.ArrowDtype(pa.string())),
            "period": pd.Series([pd.Period("2020-01"), None]),
            "nothing": pd.Series([None, None], dtype=object),
            "numpy": pd.Series([np.int64(5), None], dtype=object),
        }
    )
    frame.index = [7, 7]
    notes: list[str] = []
    table = read_table(frame, notes=notes)
    assert table.columns == list(frame.columns)
    assert table.row(1) == (None,) * table.width
    first = table.row(0, named=True)
    assert (first["text"], first["whole"], first["float"], first["flag"]) == ("a", 1, 1.5, True)
    assert (first["category"], first["mixed_category"], first["arrow"], first["numpy"]) == ("x", "x", "a", 5)
    assert (first["day"], first["period"]) == (dt.date(2020, 1, 1), "2020-01")
    assert first["time"] == dt.datetime(2020, 1, 1)
    assert [note.split(":")[0] for note in notes] == ["mixed_category", "period"]


def test_pandas_without_pyarrow(monkeypatch):
    frame = pd.DataFrame({"text": ["a", None], "whole": pd.array([1, None], dtype="Int64"), "time": pd.NaT})
    monkeypatch.setattr(pl, "from_pandas", Mock(side_effect=ImportError))
    assert read_table(frame).rows() == [("a", 1, None), (None, None, None)]


def test_pandas_that_holds_no_single_values_is_refused():
    for value in ([1], {"a": 1}, np.array([1, 2]), b"x"):
        refused(pd.DataFrame({"age": pd.Series([value, value], dtype=object)}), "'age' holds", "not single values")
    refused(pd.DataFrame({0: [1]}), "column 1 is named 0", "not text")
    refused(pd.DataFrame({"age": pd.Series(["\ud800"], dtype=object)}), "cannot be read")


def test_arrow_and_polars_sources():
    frame = pl.DataFrame({"age": [1, None], "code": ["007", None]})
    table = pa.table({"age": [1, None], "code": ["007", None]})
    for source in (frame, frame.lazy(), table, table.to_batches()[0], table.to_pandas()):
        assert read_table(source).rows()[1] == (None, None)
    assert read_table(table).equals(frame)
    refused(frame.lazy().select("nothing"), "cannot be read")


ROWS = ["39,State-gov,77516,Male,<=50K", "50,Private,83311,Male,<=50K", "39,Private,215646,Female,>50K"]


def test_a_file_without_a_line_of_names_is_refused(tmp_path):
    """Or the first person's values would be published as names of columns."""
    path = tmp_path / "people.csv"
    path.write_text("\n".join([*ROWS, "31,State-gov,77516,Female,<=50K"]), encoding="utf-8")
    with pytest.raises(InputError, match=r"people.csv line 1 is a row and no line of column names: '39', 'State-gov'"):
        read_table(path)
    path.write_text("\n".join(line.replace(",", ", ") for line in [*ROWS, *ROWS]), encoding="utf-8")
    with pytest.raises(InputError, match="Put a line of names first"):
        read_table(path)


@pytest.mark.parametrize(
    "text",
    [
        "age,work\n39,State-gov\n50,work\n",  # a value that is a name, by chance
        "2019,2020,2021\n5,2019,7\n6,3,2021x\n",  # years are names
        "yes\nyes\nno\n",  # one column: nobody can tell
    ],
)
def test_names_that_are_values_here_and_there_are_names(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    assert read_table(path).columns == text.splitlines()[0].split(",")


@pytest.mark.parametrize("missing", [["?"], ["", "?"], []])
def test_blank_cells_are_missing_whether_listed_or_not(missing: list[str]) -> None:
    frame = pl.DataFrame({"age": ["30", " ", "40", ""], "ill": ["flu", "", "hiv", "  "]})
    attributes = {
        "age": {"role": "quasi", "type": "number"},
        "ill": {"role": "sensitive", "l": 2, "if_missing": {"as": "unknown"}},
    }
    table = encode(frame, Policy.from_dict({"version": 1, "missing": missing, "attributes": attributes}))
    assert list(table["age"].values) == [30, 40]
    assert table["age"].has_missing
    assert table["ill"].values == ("flu", "hiv", "unknown")
