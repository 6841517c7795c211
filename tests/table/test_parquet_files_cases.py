"""Parquet files, one thing at a time: the bytes that a table gives, what is written again, and files that are read."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pluralis.errors import InputError
from pluralis.release.strict_parquet import layout_of
from pluralis.table import csv_files, parquet_files
from pluralis.table.parquet_files import Packed, ParquetFile, kept, write_parquet_bytes, written_again

TABLE = pl.DataFrame({"age": [30, None, 50], "ward": ["b", "a", None]})


def said_by(call: Callable[[], Any]) -> str:
    with pytest.raises(InputError) as refused:
        call()
    return str(refused.value)


def read(data: bytes) -> pl.DataFrame:
    return pl.read_parquet(io.BytesIO(data))


# bytes ------------------------------------------------------------------------------------------------------------


def test_codes_are_spelled_out_and_numbers_are_wide() -> None:
    coded = TABLE.with_columns(
        pl.col("age").cast(pl.Int32), pl.col("ward").cast(pl.Enum(["nobody has this", "a", "b"]))
    )
    assert write_parquet_bytes(coded) == write_parquet_bytes(TABLE)
    assert read(write_parquet_bytes(coded)).equals(TABLE)
    assert read(write_parquet_bytes(TABLE.with_columns(pl.col("ward").cast(pl.Categorical)))).equals(TABLE)
    assert b"nobody" not in write_parquet_bytes(coded)


def test_equal_tables_give_equal_bytes() -> None:
    parts = pl.concat([TABLE.head(1), TABLE.tail(2)], rechunk=False)
    assert write_parquet_bytes(parts) == write_parquet_bytes(TABLE)


def test_a_table_without_rows() -> None:
    data = write_parquet_bytes(TABLE.clear())
    assert read(data).schema == TABLE.schema
    assert layout_of(data).rows == 0
    assert written_again(data, read(data)) == data


@pytest.mark.parametrize(
    ("rows", "groups"),
    [
        (8_192, (8_192,)),
        (8_193, (8_192, 1)),
        (20_000, (8_192, 8_192, 3_616)),
        (160_000, (10_000,) * 16),
        (2_097_152 + 100_000, (131_072,) * 16 + (100_000,)),
    ],
)
def test_row_groups(rows: int, groups: tuple[int, ...]) -> None:
    data = write_parquet_bytes(pl.DataFrame({"age": pl.repeat(1, rows, eager=True, dtype=pl.Int64)}))
    assert layout_of(data).groups == groups


def test_files_are_packed() -> None:
    data = write_parquet_bytes(pl.DataFrame({"age": list(range(5_000))}))
    assert b"\x28\xb5\x2f\xfd" in data  # zstd


SETS = pl.Series("disease", [["flu", "hiv"], ["flu"]], pl.List(pl.Enum(["flu", "gout", "hiv"])))
DISEASES = pl.List(pl.Enum(["flu", "hiv"]))


@pytest.mark.parametrize(
    "sets",
    [
        SETS,
        SETS.cast(pl.List(pl.String)).cast(DISEASES),
        SETS.cast(pl.List(pl.String)).cast(pl.List(pl.Categorical)),
    ],
    ids=["more than they hold", "what they hold", "categories"],
)
def test_sets_have_a_dictionary_of_what_they_hold(sets: pl.Series) -> None:
    data = write_parquet_bytes(sets.to_frame())
    assert read(data)["disease"].dtype == DISEASES
    assert read(data)["disease"].cast(pl.List(pl.String)).to_list() == [["flu", "hiv"], ["flu"]]
    assert b"gout" not in data
    assert written_again(data, read(data)) == data


def test_sets_of_numbers_and_of_plain_text_stay_as_they_are() -> None:
    for sets in ([[1, 2], [3]], [["a", "b"], ["c"]]):
        table = pl.DataFrame({"s": sets})
        data = write_parquet_bytes(table)
        assert read(data).equals(table)
        assert read(data).schema == table.schema
        assert written_again(data, read(data)) == data


def test_a_file_is_written_again_as_we_write_it() -> None:
    wide = pl.DataFrame({"age": [1, 2], "ward": ["a", None]}).with_columns(SETS)
    other = io.BytesIO()
    wide.write_parquet(other, compression="uncompressed")
    assert b"gout" in other.getvalue()
    cells = read(other.getvalue())
    assert written_again(other.getvalue(), cells) == write_parquet_bytes(wide)
    assert written_again(write_parquet_bytes(TABLE), TABLE) == write_parquet_bytes(TABLE)


def test_a_large_file_is_written_again_in_the_same_row_groups() -> None:
    table = pl.DataFrame({"age": pl.repeat(1, 20_000, eager=True, dtype=pl.Int64)})
    data = write_parquet_bytes(table)
    assert written_again(data, read(data)) == data


_SETS_OF_MANY_ROWS = """
import hashlib, io, sys
import numpy as np, polars as pl
from pluralis.table.parquet_files import write_parquet_bytes, written_again
digits = np.random.default_rng(1).integers(0, 10, (300_000, 5)) + 10 * np.arange(5)
sets = pl.Series("s", digits, pl.Array(pl.Int64, 5)).arr.to_list().cast(pl.List(pl.String))
sets = sets.cast(pl.List(pl.Enum([str(i) for i in range(50)])))
data = write_parquet_bytes(pl.DataFrame({"age": digits[:, 0], "s": sets}))
same = written_again(data, pl.read_parquet(io.BytesIO(data))) == data
print(pl.thread_pool_size(), hashlib.sha256(data).hexdigest(), same)
"""


def test_the_number_of_threads_changes_no_byte() -> None:
    """Else a release could not be audited on another machine, where it is written again to be compared."""
    lines = []
    for threads in ("1", "2", "4"):
        environment = {**os.environ, "POLARS_MAX_THREADS": threads}
        command = [sys.executable, "-c", _SETS_OF_MANY_ROWS]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        lines.append(done.stdout.split())
    assert [threads for threads, _, _ in lines] == ["1", "2", "4"]
    assert len({digest for _, digest, _ in lines}) == 1
    assert {same for _, _, same in lines} == {"True"}


# packed tables ----------------------------------------------------------------------------------------------------


def test_packed_tables_are_unpacked_once() -> None:
    packed = Packed({"quasi": TABLE, "other": TABLE.head(1)})
    assert list(packed) == ["quasi", "other"]
    assert len(packed) == 2
    assert packed.rows == {"quasi": 3, "other": 1}
    assert packed["quasi"].equals(TABLE)
    assert packed["quasi"] is packed["quasi"]
    with pytest.raises(KeyError):
        packed["nothing"]


# files ------------------------------------------------------------------------------------------------------------


def file_of(folder: Path, table: pl.DataFrame = TABLE) -> Path:
    table.write_parquet(folder / "people.parquet")
    return folder / "people.parquet"


def test_columns_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    file = ParquetFile(file_of(tmp_path))
    assert (file.height, file.columns) == (3, ["age", "ward"])
    assert file["ward"].equals(TABLE["ward"])
    assert file.read(["ward", "age"]).equals(TABLE.select("ward", "age"))


@pytest.mark.parametrize(
    ("only", "columns"),
    [
        (None, ["a", "b", "c"]),
        (["c", "a"], ["a", "c"]),
        (["a", "b", "c"], ["a", "b", "c"]),
        ([], []),
        (["a", "nothing"], ["a", "b", "c"]),  # so that it can be said
    ],
)
def test_columns_to_keep(only: list[str] | None, columns: list[str], tmp_path: Path) -> None:
    assert kept(["a", "b", "c"], only) == columns
    path = file_of(tmp_path, pl.DataFrame({"a": [1], "b": [1], "c": [1]}))
    assert ParquetFile(path, only).columns == columns


def test_what_a_file_says_of_its_order_is_not_believed(tmp_path: Path) -> None:
    path = file_of(tmp_path, pl.DataFrame({"age": [1, 2, 3]}).sort("age"))
    assert not ParquetFile(path)["age"].flags["SORTED_ASC"]


def test_names_and_patterns_in_the_path_are_no_columns(tmp_path: Path) -> None:
    folder = tmp_path / "year=2020" / "[a]*"
    folder.mkdir(parents=True)
    file = ParquetFile(file_of(folder, TABLE.with_columns(year=pl.Series([1, 2, 3]))))
    assert file.columns == ["age", "ward", "year"]
    assert file["year"].to_list() == [1, 2, 3]


def test_a_file_that_changed(tmp_path: Path) -> None:
    path = file_of(tmp_path)
    file = ParquetFile(path)
    os.utime(path, ns=(1, 1))
    message = f"{path} changed while it was read. Wait until it is written, then start again."
    assert said_by(lambda: file["age"]) == message


def test_a_file_that_holds_other_rows_than_it_declares(tmp_path: Path) -> None:
    file = ParquetFile(file_of(tmp_path))
    file._heights = [4]
    message = "people.parquet declares 4 rows and holds 3: damaged. Get it again."
    assert said_by(lambda: file["age"]) == message


def test_what_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    message = f"Cannot read {path}: No such file or directory. Check its permissions."
    assert said_by(lambda: ParquetFile(path)) == message
    path.write_bytes(b"no Parquet")
    assert said_by(lambda: ParquetFile(path)).startswith("people.parquet is damaged or no Parquet file (")


def test_names_of_columns_are_checked(tmp_path: Path) -> None:
    path = file_of(tmp_path, pl.DataFrame({"Age": [1], "age": [1]}))
    message = "people.parquet: columns 1 and 2 ('Age', 'age') read the same. Rename one."
    assert said_by(lambda: ParquetFile(path)) == message


def test_the_number_of_rows_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file_of(tmp_path)
    monkeypatch.setattr(csv_files, "MAX_ROWS", 2)
    assert said_by(lambda: ParquetFile(path)) == "people.parquet has 3 rows, the limit is 2. Split it."


@pytest.mark.parametrize(
    ("only", "need"),
    [(["age"], 3 * 8 + 3 / 8), (["ward"], 3 * 16), (["age", "ward"], 3 * (8 + 16) + 3 / 8)],
)
def test_memory_is_asked_for_before_anything_is_read(
    only: list[str], need: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file_of(tmp_path)
    asked: list[tuple[str, int]] = []
    monkeypatch.setattr(parquet_files, "check_memory", lambda name, size: asked.append((name, size)))
    ParquetFile(path, only)
    ((name, size),) = asked
    assert name == f"people.parquet (3 rows, {len(only)} columns)"
    assert abs(size - need) <= 1
