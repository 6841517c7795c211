"""The bytes of released tables: harmless, read back as they were, and without a trace of what was dropped."""

from __future__ import annotations

import base64
import datetime as dt
import io
import os
from pathlib import Path

import polars as pl
import pytest

import pluralis.table.csv_files
import pluralis.table.parquet_files
from pluralis.errors import OutputError, ReleaseError
from pluralis.table.sources import read_release_csv, write_csv_bytes, write_parquet_bytes


def test_formulas_are_made_harmless_and_come_back():
    cells = [
        "=1+2",
        "+cmd",
        "-cmd|x",
        "@sum",
        "\tx",
        "\rx",
        "'x",
        "''",
        "-5",
        "+1.5e3",
        "-1e999",
        "-",
        "1-2",
        "a=b",
    ]
    written = [
        "'=1+2",
        "'+cmd",
        "'-cmd|x",
        "'@sum",
        "'\tx",
        "'\rx",
        "''x",
        "'''",
        "-5",
        "+1.5e3",
        "'-1e999",
        "'-",
    ]
    frame = pl.DataFrame({"=note": cells})
    data = write_csv_bytes(frame)
    assert pl.read_csv(data, infer_schema=False).to_series().to_list() == [*written, "1-2", "a=b"]
    assert data.startswith(b"'=note\n")
    assert read_release_csv(data, {"=note": pl.String()}).equals(frame)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"a,n\n=x,1\n",
        b"a,n\n'x,1\n",
        b"a,n\nx,1.0\n",
        b"a,n\nx,01\n",
        b"a,n\nx,9223372036854775808\n",
        b"a,n\nx, 1\n",
        b"a,n\nx,True\n",
        b"a,n\nx\n",
        b"a,n\nx,1,2\n",
        b'a,n\n"x",1\n',
        b'a,n\n"x,1\n',
        b"a,n\nx,1",
        b"a,n\nx,1\n\n",
        b"a,n\r\nx,1\r\n",
        b"\xef\xbb\xbfa,n\nx,1\n",
        b"a,n\n\xff,1\n",
        b"n,a\n1,x\n",
        b"a,a\nx,1\n",
        b"a\nx\n",
    ],
)
def test_released_csv_that_was_edited_is_refused(data):
    schema = {"a": pl.String(), "n": pl.Int64()}
    assert read_release_csv(b"a,n\nx,1\n,\n", schema).rows() == [("x", 1), (None, None)]
    with pytest.raises(ReleaseError):
        read_release_csv(data, schema)


@pytest.mark.parametrize("cell", ["nan", "inf", "-inf", "1e999", "x", "0x1", "1_0", "١"])
def test_released_floats_are_finite_numbers(cell):
    with pytest.raises(ReleaseError, match="row 1"):
        read_release_csv(f"f,g\n{cell},1\n".encode(), {"f": pl.Float64(), "g": pl.Float64()})


def test_a_released_csv_of_another_type_is_refused():
    with pytest.raises(ReleaseError, match="declared as"):
        read_release_csv(b"f\n1\n", {"f": pl.Boolean()})


def test_what_csv_cannot_carry_is_refused():
    for values in ([""], [float("nan")], [float("inf")], [True], [["a"]], [dt.date(2020, 1, 1)]):
        with pytest.raises(OutputError, match="Use Parquet"):
            write_csv_bytes(pl.DataFrame({"a": values}))


@pytest.fixture
def dropped() -> pl.DataFrame:
    """A frame from which every canary has been filtered, masked or cut away."""
    words = ["keep", "canary-row", "keep", "canary-masked-by-null"]
    frame = pl.DataFrame({"text": words, "row": [0, 1, 2, 3]}).with_columns(
        pl.col("text").cast(pl.Categorical).alias("category"),
        pl.col("text").cast(pl.Enum([*sorted(set(words)), "canary-unused"])).alias("enum"),
        pl.col("text").cast(pl.Enum([*sorted(set(words)), "canary-unused"])).implode().over("row").alias("list"),
    )
    kept = frame.filter(pl.col("row") != 1)
    masked = pl.when(pl.col("row") != 3).then(pl.exclude("row"))
    return kept.select(masked)


def test_parquet_bytes_hold_no_value_that_was_dropped(dropped, monkeypatch):
    monkeypatch.setattr(pluralis.table.parquet_files, "COMPRESSION", "uncompressed")
    data = write_parquet_bytes(dropped)
    assert b"keep" in data
    assert b"canary" not in data
    assert "canary" not in repr(pl.read_parquet_metadata(io.BytesIO(data)))
    assert set(pl.read_parquet_metadata(io.BytesIO(data))) <= {"ARROW:schema"}
    monkeypatch.undo()
    text = pl.read_parquet(io.BytesIO(write_parquet_bytes(dropped)))
    assert text.schema["enum"] == pl.String
    assert text["enum"].to_list() == ["keep", "keep", None]


def test_csv_bytes_hold_no_value_that_was_dropped(dropped):
    assert b"canary" not in write_csv_bytes(dropped.drop("list"))


def test_the_arrow_schema_in_parquet_names_columns_and_types_only(dropped):
    schema = pl.read_parquet_metadata(io.BytesIO(write_parquet_bytes(dropped)))["ARROW:schema"]
    raw = base64.b64decode(schema)
    for trace in (b"canary", b"pandas", os.uname().nodename.encode(), str(Path.cwd()).encode()):
        assert trace not in raw
    assert raw.count(b"_PL_") == 1  # the dictionary of the list


def test_equal_frames_give_equal_bytes():
    frame = pl.DataFrame({"a": [f"v{i % 700:04}" for i in range(5000)], "n": range(5000)})
    pieces = pl.concat([frame[:7], frame[7:4000], frame[4000:]], rechunk=False)
    flagged = frame.sort("n").with_columns(pl.col("a").cast(pl.Categorical))
    for write in (write_parquet_bytes, write_csv_bytes):
        assert write(frame) == write(frame) == write(pieces) == write(flagged)
