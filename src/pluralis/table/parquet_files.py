"""Parquet in and out: a file is read a column at a time, tables of a release are packed as bytes."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import polars as pl

from pluralis.errors import InputError
from pluralis.progress import stage
from pluralis.table.csv_files import check_memory, check_names, check_rows, gist
from pluralis.table.dictionaries import DECODED, clear_sorted_flag
from pluralis.threads import in_threads

ROW_GROUP = 1 << 17  # rows, at most
COMPRESSION: Literal["zstd", "uncompressed"] = "zstd"


class Piece(NamedTuple):
    """Some rows of one of several files."""

    file: int
    first: int
    rows: int


class ParquetFile:
    """Columns of a file, each read when it is asked for, so that one can be given up before the next is read.

    Or of several files, which have the same columns and stand for one table. Raises InputError where a file is damaged,
    the files' own figures say that they do not fit in memory, or one is no longer what it was when it was opened. What
    is not asked for `whole` need not fit.
    """

    def __init__(self, paths: Path | Sequence[Path], only: Wanted = None, *, whole: bool = True) -> None:
        self.paths = [paths] if isinstance(paths, Path) else list(paths)
        self._states, self._heights = list[tuple[int, ...]](), list[int]()
        self.schema: dict[str, pl.DataType] = {}
        for path in self.paths:
            with self._reading(path), path.open("rb") as file:
                self._states.append(_state(os.fstat(file.fileno())))
                own = dict(pl.read_parquet_schema(file))
                file.seek(0)
                self._heights.append(int(pl.scan_parquet(file).select(pl.len()).collect().item()))
            check_names(list(own), path.name)
            self.schema = self.schema or own
            require_same_columns(self.paths[0].name, list(self.schema), path.name, list(own))
            for name, kind in own.items():
                if kind != self.schema[name]:
                    first = self.paths[0].name
                    raise InputError(
                        f"{name!r} is {self.schema[name]} in {first} and {kind} in {path.name}. Write one type."
                    )
        self.height = sum(self._heights)
        self._name = self.paths[0].name
        if len(self.paths) > 1:
            self._name += f" and {len(self.paths) - 1:,} other file{'s' * (len(self.paths) > 2)}"
        check_rows(self._name, self.height)
        self.columns = kept(list(self.schema), only)
        if not whole:
            return
        # polars counts text that is null as nothing; a view of a string takes 16 bytes
        row_bytes = sum(
            pl.Series([None] * 8, dtype=self.schema[name]).estimated_size() / 8 or 16 for name in self.columns
        )
        size = f"{self._name} ({self.height:,} rows, {len(self.columns):,} columns)"
        check_memory(size, int(self.height * row_bytes))

    def __getitem__(self, name: str) -> pl.Series:
        return self.read([name])[name]

    def read(self, names: list[str]) -> pl.DataFrame:
        """Some columns as a frame."""
        with stage(f"reading {self._name}") as done:
            frames = []
            for i, path in enumerate(self.paths):
                frames.append(self._read_one(i, path, names))
                done((i + 1) / len(self.paths))
        return pl.concat(frames, rechunk=True) if len(frames) > 1 else frames[0]

    def pieces(self, rows: int) -> list[Piece]:
        """The whole table in runs of at most so many rows."""
        return [
            Piece(i, first, min(rows, height - first))
            for i, height in enumerate(self._heights)
            for first in range(0, height, rows)
        ]

    def chunks(self, piece: Piece, names: list[str], rows: int) -> Iterator[pl.DataFrame]:
        """Some columns of a piece, so many rows at a time."""
        path = self.paths[piece.file]
        for first in range(piece.first, piece.first + piece.rows, rows):
            size = min(rows, piece.first + piece.rows - first)
            with self._reading(path):
                some = pl.scan_parquet(path, glob=False, hive_partitioning=False).select(names).slice(first, size)
                frame = some.collect()
            self._require_unchanged(piece.file, path)
            if frame.height != size:
                raise InputError(f"{path.name} holds fewer rows than it declares: damaged. Get it again.")
            yield frame.with_columns(clear_sorted_flag(column) for column in frame)

    def _require_unchanged(self, i: int, path: Path) -> None:
        with self._reading(path):
            changed = _state(path.stat()) != self._states[i]
        if changed:
            raise InputError(f"{path} changed while it was read. Wait until it is written, then start again.")

    def _read_one(self, i: int, path: Path, names: list[str]) -> pl.DataFrame:
        with self._reading(path):
            frame = pl.read_parquet(path, columns=names, glob=False, hive_partitioning=False)
            frame = frame.with_columns(clear_sorted_flag(column) for column in frame)
        self._require_unchanged(i, path)
        if frame.height != self._heights[i]:
            raise InputError(
                f"{path.name} declares {self._heights[i]:,} rows and holds {frame.height:,}: damaged. Get it again."
            )
        return frame

    @contextmanager
    def _reading(self, path: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(f"Cannot read {path}: {error.strerror or error}. Check its permissions.") from None
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise InputError(f"{path.name} is damaged or no Parquet file ({gist(error)}). Get it again.") from None


def _state(file: os.stat_result) -> tuple[int, ...]:
    """What changes with a file's content."""
    return file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns


def require_same_columns(first: str, names: Sequence[str], other: str, own: Sequence[str]) -> None:
    """Refuse two files of one table that do not have the same columns."""
    if set(names) != set(own):
        name = sorted(set(names) ^ set(own))[0]
        has, lacks = (first, other) if name in names else (other, first)
        raise InputError(f"{has} has the column {name!r} and {lacks} has not. Give files of one table.")


Wanted = Collection[str] | Callable[[Sequence[str]], Collection[str] | None] | None


def kept(names: list[str], only: Wanted) -> list[str]:
    """The columns to keep of those that a table has: all, where one of `only` is not there, so that it can be said.

    `only` may have to see the names first.
    """
    if callable(only):
        only = only(names)
    return names if only is None or not set(only) <= set(names) else [name for name in names if name in only]


def write_parquet_bytes(frame: pl.DataFrame) -> bytes:
    """A frame as Parquet. Equal frames give equal bytes, however they came about.

    Codes are spelled out, some rows at a time: a categorical column would carry its whole dictionary, also what no row
    holds. Sets keep a dictionary, of what they hold: as text they would take many times as long to write and to
    read.
    """
    frame = frame.with_columns(_with_own_dictionary(frame[name]) for name in frame.columns).rechunk()
    size = _row_group(frame.height)
    slices = [frame.slice(i, size).lazy() for i in range(0, max(1, frame.height), size)]
    if any(isinstance(kind, pl.List) for kind in frame.dtypes):
        slices = [part.map_batches(_with_own_sets, schema=frame.schema) for part in slices]
    alone = [part.with_columns(*DECODED) for part in slices]
    return _written(pl.concat(alone), size)


def _with_own_sets(rows: pl.DataFrame) -> pl.DataFrame:
    """The same rows, their sets in memory of their own.

    Some rows of a column of sets share the memory of all. The writer goes by the size of that memory where it ends a
    page, unless it had to put several parts together before, and that depends on the number of threads.
    """
    sets = [name for name, kind in rows.schema.items() if isinstance(kind, pl.List)]
    return rows.with_columns(pl.col(name).gather(pl.int_range(pl.len())) for name in sets)


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
        self.rows = {name: table.height for name, table in tables.items()}
        most = max(self.rows.values(), default=0)
        self.packed = dict(zip(tables, in_threads(write_parquet_bytes, tables.values(), most), strict=True))
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
        members = kind.inner.categories.gather(used)
    else:
        members = column.explode().unique().drop_nulls().cast(pl.String).sort()
    return column.cast(pl.List(pl.String)).cast(pl.List(pl.Enum(members)))
