"""Parquet in and out: a file is read a column at a time, tables of a release are packed as bytes."""

from __future__ import annotations

import io
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import polars as pl

from pluralis.errors import InputError
from pluralis.progress import stage
from pluralis.table.csv_files import check_memory, check_names, check_rows, gist
from pluralis.table.dictionaries import SPELLED_OUT, unmarked

ROW_GROUP = 1 << 17  # rows, at most
COMPRESSION: Literal["zstd", "uncompressed"] = "zstd"


class ParquetFile:
    """Columns of a file, each read when it is asked for, so that one can be given up before the next is read.

    Raises InputError where the file is damaged, its own figures say that it does not fit in memory, or it is no longer
    what it was when it was opened.
    """

    def __init__(self, path: Path, only: Collection[str] | None = None) -> None:
        self._path = path
        with self._reading(), path.open("rb") as file:
            self._state = _state(os.fstat(file.fileno()))
            schema = pl.read_parquet_schema(file)
            file.seek(0)
            self.height = int(pl.scan_parquet(file).select(pl.len()).collect().item())
        check_names(list(schema), path.name)
        check_rows(path.name, self.height)
        self.columns = kept(list(schema), only)
        # polars counts text that is null as nothing; a view of a string takes 16 bytes
        row_bytes = sum(pl.Series([None] * 8, dtype=schema[name]).estimated_size() / 8 or 16 for name in self.columns)
        size = f"{path.name} ({self.height:,} rows, {len(self.columns):,} columns)"
        check_memory(size, int(self.height * row_bytes))

    def __getitem__(self, name: str) -> pl.Series:
        return self.read([name])[name]

    def read(self, names: list[str]) -> pl.DataFrame:
        """Some columns as a frame."""
        with self._reading(), stage(f"reading {self._path.name}"):
            frame = pl.read_parquet(self._path, columns=names, glob=False, hive_partitioning=False)
            frame = frame.with_columns(unmarked(column) for column in frame)
            changed = _state(self._path.stat()) != self._state
        if changed:
            raise InputError(f"{self._path} changed while it was read. Wait until it is written, then start again.")
        if frame.height != self.height:
            raise InputError(
                f"{self._path.name} declares {self.height:,} rows and holds {frame.height:,}: damaged. Get it again."
            )
        return frame

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(f"Cannot read {self._path}: {error.strerror or error}. Check its permissions.") from None
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise InputError(
                f"{self._path.name} is damaged or no Parquet file ({gist(error)}). Get it again."
            ) from None


def _state(file: os.stat_result) -> tuple[int, ...]:
    """What changes with a file's content."""
    return file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns


def kept(names: list[str], only: Collection[str] | None) -> list[str]:
    """The columns to keep of those that a table has: all, where one of `only` is not there, so that it can be said."""
    return names if only is None or not set(only) <= set(names) else [name for name in names if name in only]


def write_parquet_bytes(frame: pl.DataFrame) -> bytes:
    """A frame as Parquet. Equal frames give equal bytes, however they came about.

    Codes are spelled out, some rows at a time: a categorical column would carry its whole dictionary, also what no row
    holds. Sets keep a dictionary, of what they hold: as text they would take many times as long to write and to
    read.
    """
    frame = frame.with_columns(_with_own_dictionary(frame[name]) for name in frame.columns).rechunk()
    size = _row_group(frame.height)
    slices = [frame.slice(i, size).lazy().with_columns(*SPELLED_OUT) for i in range(0, max(1, frame.height), size)]
    return _written(pl.concat(slices), size)


def written_again(data: bytes, cells: pl.DataFrame) -> bytes:
    """What `write_parquet_bytes` writes for the cells of a file, without spelling out more than some rows at a time.

    `cells` is what was read from the file. Only sets have a dictionary in the file, and theirs is made anew.
    """
    sets = [_with_own_dictionary(column) for column in cells if isinstance(column.dtype, pl.List)]
    frame = pl.scan_parquet(io.BytesIO(data)).with_columns(
        pl.col(own.name).cast(pl.List(pl.String)).cast(own.dtype) for own in sets if own.dtype != cells[own.name].dtype
    )
    return _written(frame, _row_group(cells.height))


def _row_group(rows: int) -> int:
    return min(ROW_GROUP, max(1 << 13, rows // 16))


def _written(frame: pl.LazyFrame, size: int) -> bytes:
    buffer = io.BytesIO()
    frame.sink_parquet(buffer, compression=COMPRESSION, row_group_size=size)
    return buffer.getvalue()


class Packed(Mapping[str, pl.DataFrame]):
    """Tables as Parquet, each unpacked when it is first asked for: until then they take a tenth of the memory.

    >>> Packed({"microdata": pl.DataFrame({"age": [30]})})["microdata"].rows()
    [(30,)]
    """

    def __init__(self, tables: Mapping[str, pl.DataFrame]) -> None:
        self.packed = {name: write_parquet_bytes(table) for name, table in tables.items()}
        self.rows = {name: table.height for name, table in tables.items()}
        self._unpacked: dict[str, pl.DataFrame] = {}

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in self._unpacked:
            self._unpacked[name] = pl.read_parquet(io.BytesIO(self.packed[name]))
        return self._unpacked[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.packed)

    def __len__(self) -> int:
        return len(self.packed)


def _with_own_dictionary(column: pl.Series) -> pl.Series:
    """Sets in codes of what they hold and nothing else; anything else as it is."""
    kind = column.dtype
    if not isinstance(kind, pl.List) or not isinstance(kind.inner, (pl.Categorical, pl.Enum)):
        return column
    if isinstance(kind.inner, pl.Enum):
        used = column.explode().drop_nulls().to_physical().unique().sort()
        if used.len() == kind.inner.categories.len():
            return column
        held = kind.inner.categories.gather(used)
    else:
        held = column.explode().unique().drop_nulls().cast(pl.String).sort()
    return column.cast(pl.List(pl.String)).cast(pl.List(pl.Enum(held)))
