"""Tables in and out: CSV, Parquet, polars, pandas and Arrow come in; release tables go out as bytes.

Common readers shift columns, fill short rows, guess types and swallow quotes without a word; a sensitive
value that slips into a quasi-identifier is then published. So the bytes of a CSV file are first checked in one
pass (`csv_scan`), then parsed by polars without any inference, and polars must have seen the same rows,
columns and amount of text in each column. Typed sources keep their types.
"""

from __future__ import annotations

import codecs
import csv
import datetime as dt
import decimal
import io
import math
import stat
import sys
from collections.abc import Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import polars as pl

from pluralis.errors import InputError
from pluralis.progress import stage
from pluralis.table.csv_files import (
    check_memory,
    check_names,
    check_rows,
    gist,
    load_text,
    read_release_csv,
    write_csv_bytes,
)
from pluralis.table.parquet_files import Packed, ParquetFile, Wanted, kept, require_same_columns, write_parquet_bytes

__all__ = ["Packed", "open_table", "read_release_csv", "read_table", "write_csv_bytes", "write_parquet_bytes"]

MAX_FIELD = 128 << 10
MAX_COLUMNS = 10_000
SEPARATORS = ",;\t|"
LEAST_VALUES = 2  # of the first line that stand again below, and half of it, for it to be a row

_ENDINGS = tuple(ending + packed for ending in (".csv", ".tsv", ".txt") for packed in ("", ".gz"))
_SUPPORTED = (
    "a .csv, .tsv, .txt (also .gz) or .parquet file, a folder of such files, or a polars, pandas or pyarrow table"
)
_SINGLE_VALUES = (str, bool, int, float, dt.datetime, dt.date, dt.time, dt.timedelta, decimal.Decimal)
_CONTAINERS = (list, tuple, dict, set, frozenset, bytes, np.ndarray)


def read_table(
    source: object,
    *,
    encoding: str = "utf-8",
    separator: str | None = None,
    notes: list[str] | None = None,
    only: Wanted = None,
) -> pl.DataFrame:
    """A table as a polars frame.

    Parameters
    ----------
    source : str, Path, list of them, or data frame
        A path to .csv, .tsv, .txt (also with .gz) or .parquet; a folder of such files, a pattern (``big/*.parquet``)
        or a list of files, all with the same columns; a polars DataFrame or LazyFrame, a pandas DataFrame, a pyarrow
        Table or RecordBatch.
    encoding : str
        Of a CSV file. Anything but UTF-8 must be declared.
    separator : str, optional
        Of a CSV file; without it, the commonest of , ; tab | in the header.
    notes : list of str, optional
        Collects a sentence for everything that a reader should know was done.
    only : list of str or callable, optional
        The columns to keep, if the table has them all; or what says them once it knows the names of all.

    Returns
    -------
    polars.DataFrame
        CSV columns as text, an empty field as null. Typed sources keep their types; a pandas index is not used.

    Raises
    ------
    InputError
        Where the source cannot be read exactly: the file, the line and the remedy.

    Examples
    --------
    >>> read_table(pl.DataFrame({"age": [30]})).columns
    ['age']
    >>> read_table("postgresql://host/people")
    Traceback (most recent call last):
    pluralis.errors.InputError: 'postgresql://host/people' is an address, which is not read. Give a .csv, \
.tsv, .txt (also .gz) or .parquet file, a folder of such files, or a polars, pandas or pyarrow table.
    """
    table = open_table(source, encoding=encoding, separator=separator, notes=notes, only=only)
    return table if isinstance(table, pl.DataFrame) else table.read(table.columns)


def open_table(
    source: object,
    *,
    encoding: str = "utf-8",
    separator: str | None = None,
    notes: list[str] | None = None,
    only: Wanted = None,
) -> pl.DataFrame | ParquetFile:
    """The same, but columns of a Parquet file are read only when they are asked for."""
    remarks = notes if notes is not None else []
    if isinstance(source, str) and "://" in source:
        raise InputError(f"{source!r} is an address, which is not read. Give {_SUPPORTED}.")
    if names_files(source):
        paths = table_files(source)
        if _ends(paths[0], ".parquet"):
            return ParquetFile(paths, only)
        frame = _read_csv_files(paths, encoding, separator, remarks)
    else:
        frame = _from_memory(source, remarks)
        check_names(frame.columns, "The table")
    return frame.select(kept(frame.columns, only))


def names_files(source: object) -> TypeGuard[str | Path | Sequence[str | Path]]:
    """Whether a source is a path, or several, rather than a table in memory."""
    if isinstance(source, (list, tuple)):
        return bool(source) and all(isinstance(one, (str, Path)) for one in source)
    return isinstance(source, (str, Path))


def table_files(source: str | Path | Sequence[str | Path]) -> list[Path]:
    """The files of a table: one, those of a folder or a pattern, or those of a list, by name; all of one kind.

    In a folder, names that begin with `.` or `_` are passed over, as those who write folders of files mean them to be.
    """
    if isinstance(source, (str, Path)):
        paths = _files_at(Path(source))
    else:
        paths = sorted({path: None for one in source for path in _files_at(Path(one))})
    files = [_regular_file(path) for path in paths]
    kinds = {_ends(path, ".parquet") for path in files}
    if len(kinds) > 1:
        text = next(path for path in files if not _ends(path, ".parquet"))
        raise InputError(f"{text.name} is text and others are Parquet. Give files of one kind.")
    return files


def _files_at(path: Path) -> list[Path]:
    """The files that a path names: itself, what is in it, or what its pattern fits."""
    if path.is_dir():
        if (path / "manifest.json").exists():
            raise InputError(
                f"{path} is a release. Give the table itself; a release is read by audit, query and attack."
            )
        inside = sorted(file for file in path.iterdir() if not file.name.startswith((".", "_")))
        for file in inside:
            if file.is_dir():
                raise InputError(f"{path} holds the folder {file.name}. Give a folder of files, or a pattern for them.")
        if not inside:
            raise InputError(f"{path} is a folder without a table. Give {_SUPPORTED}.")
        return inside
    if has_magic(str(path)) and not path.exists():
        fitting = sorted(map(Path, glob(str(path))))  # noqa: PTH207  a pattern may begin at the root, or hold ..
        if not fitting:
            raise InputError(f"No file fits {path}. Check the pattern.")
        return fitting
    return [path]


def _regular_file(path: Path) -> Path:
    """The path, if it is a file whose ending says what it holds."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise InputError(f"There is no file {path}. Check the path.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"Cannot read {path}: {reason}. Check the path.") from None
    if stat.S_ISDIR(mode):
        raise InputError(f"{path} is a folder among files. Give files, or one folder.")
    if not stat.S_ISREG(mode):
        raise InputError(f"{path} is a pipe or device. Save the table to a file first.")
    if not _ends(path, *_ENDINGS, ".parquet"):
        raise InputError(f"{path.name} has an unknown ending. Give {_SUPPORTED}.")
    return path


def _ends(path: Path, *endings: str) -> bool:
    return path.name.lower().endswith(endings)


# CSV --------------------------------------------------------------------------------------------------------


class _Layout(NamedTuple):
    """What the scan saw of a file."""

    names: list[str]
    separator: str
    rows: int
    end: int  # where the last record ends
    widths: list[int]  # bytes of text in each column
    trailing: int  # blank lines at the end
    quoted_empty: int  # fields that are ""


def _read_csv_files(paths: Sequence[Path], encoding: str, separator: str | None, notes: list[str]) -> pl.DataFrame:
    """Files with the same columns as one table."""
    frames = [_read_csv(path, encoding, separator, notes) for path in paths]
    for path, frame in zip(paths, frames, strict=True):
        require_same_columns(paths[0].name, frames[0].columns, path.name, frame.columns)
    check_rows(f"{paths[0].name} and {len(paths) - 1:,} other files", sum(frame.height for frame in frames))
    return pl.concat([frame.select(frames[0].columns) for frame in frames]) if len(frames) > 1 else frames[0]


def _read_csv(path: Path, encoding: str, separator: str | None, notes: list[str]) -> pl.DataFrame:
    """Every column of a CSV file as text; an empty field is missing."""
    if separator is not None and (len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0'):
        raise InputError(f"{separator!r} cannot separate fields. Use one character, such as , ; | or a tab.")
    buffer = load_text(path, encoding)
    name = path.name
    with stage(f"checking {name}"):
        layout = _check(buffer, name, separator, "\t" if _ends(path, ".tsv", ".tsv.gz") else "")
    columns = len(layout.names)
    if layout.trailing and columns == 1:
        notes.append(f'{name}: blank lines at the end are no rows ({layout.trailing:,}). Write "" for a missing value.')
    schema = dict.fromkeys(layout.names, pl.String())
    if layout.rows == 0:
        return pl.DataFrame(schema=schema)
    check_memory(name, layout.end + 16 * layout.rows * columns + sum(layout.widths))
    buffer.truncate(layout.end)
    buffer.seek(0)
    with stage(f"parsing {name}"):
        try:
            frame = pl.read_csv(
                buffer,
                has_header=False,
                skip_rows=1,
                schema=schema,
                separator=layout.separator,
                infer_schema=False,
                empty_string_is_null=True,
            )
        except pl.exceptions.PolarsError as error:
            raise InputError(f"{name}: {gist(error)}. Write it again, every field quoted.") from None
        text = frame.select(pl.all().str.len_bytes().cast(pl.Int64).sum()).row(0)
    if frame.shape != (layout.rows, columns) or list(text) != layout.widths:
        raise InputError(
            f"{name} can be read in two ways: {layout.rows:,} rows of {columns:,} columns by our check, "
            f"{frame.height:,} of {frame.width:,} by the parser. Write it again, every field quoted."
        )
    _require_header(frame, name)
    return frame.with_columns(pl.when(pl.all() != "").then(pl.all())) if layout.quoted_empty else frame


def _require_header(frame: pl.DataFrame, name: str) -> None:
    """Refuse a first line that is a row: its names are values of their columns. They would be published as names."""
    values = [column.name for column in frame if (column.str.strip_chars() == column.name.strip()).any()]
    if len(values) >= LEAST_VALUES and 2 * len(values) >= frame.width:
        shown = ", ".join(map(repr, values[:3]))
        raise InputError(
            f"{name} line 1 is a row and no line of column names: {shown} are values of the columns below them. Put a "
            "line of names first."
        )


def _check(buffer: io.BytesIO, name: str, separator: str | None, prefer: str) -> _Layout:
    """The layout of UTF-8 bytes; the first thing that is wrong with them is an InputError with its line."""
    from pluralis.table import csv_scan as scan  # compiled, and so not needed to audit a release

    with buffer.getbuffer() as view:
        data = np.frombuffer(view, np.uint8)
        begin = 3 if bytes(view[:3]) == codecs.BOM_UTF8 else 0
        counts = np.zeros(256, np.int64)
        stop = int(scan.scan_header(data, begin, counts))
        used = separator or _detect(counts, prefer)
        columns = int(counts[ord(used)]) + 1
        summary, widths = np.zeros(7, np.int64), np.zeros(columns, np.int64)
        if data.size > begin and columns <= MAX_COLUMNS:
            scan.scan_records(data, begin, ord(used), MAX_FIELD, widths, summary)
        header = bytes(view[begin:stop])
        empty = data.size == begin
        del data  # the view is released only when nothing looks at it
    if empty:
        raise InputError(f"{name} is empty. A table begins with a line of column names.")
    if columns > MAX_COLUMNS:
        raise InputError(f"{name} line 1: {columns:,} columns, the limit is {MAX_COLUMNS:,}. Leave some out.")
    if summary[scan.FAULT]:
        line, detail = int(summary[scan.LINE]), int(summary[scan.DETAIL])
        says = scan.FAULTS[int(summary[scan.FAULT])].format(
            detail=detail, field=detail + 1, columns=columns, separator=used, limit=MAX_FIELD >> 10
        )
        raise InputError(f"{name} line {line}: {says}")
    rows = int(summary[scan.ROWS]) - 1
    if rows < 0:
        raise InputError(f"{name} line 1: blank lines only. A table begins with a line of column names.")
    check_rows(name, rows)
    names = next(csv.reader(io.StringIO(header.decode("utf-8"), newline=""), delimiter=used, strict=True))
    check_names(names, f"{name} line 1")
    end, trailing, quoted_empty = (int(summary[i]) for i in (scan.END, scan.TRAILING, scan.EMPTY))
    return _Layout(names, used, rows, end, widths.tolist(), trailing, quoted_empty)


def _detect(counts: np.ndarray, prefer: str) -> str:
    """The commonest separator of the header; a comma where there is none, the file then has one column."""
    if prefer and counts[ord(prefer)]:
        return prefer
    return max(SEPARATORS, key=lambda c: int(counts[ord(c)]))


# tables in memory -------------------------------------------------------------------------------------------


def _from_memory(source: object, notes: list[str]) -> pl.DataFrame:
    """A table that is already in memory; pandas and pyarrow are there only if the caller imported them."""
    pandas, pyarrow = sys.modules.get("pandas"), sys.modules.get("pyarrow")
    try:
        if isinstance(source, pl.DataFrame):
            return source
        if isinstance(source, pl.LazyFrame):
            return source.collect()
        if pandas is not None and isinstance(source, pandas.DataFrame):
            check_names(list(source.columns), "The pandas table")
            columns = [_from_pandas(source.iloc[:, i], str(n), notes) for i, n in enumerate(source.columns)]
            return pl.DataFrame(columns)
        if pyarrow is not None and isinstance(source, (pyarrow.Table, pyarrow.RecordBatch)):
            check_names(source.schema.names, "The Arrow table")
            frame = pl.from_arrow(source)
            assert isinstance(frame, pl.DataFrame)
            return frame
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError, TypeError, OSError) as error:
        raise InputError(f"The table cannot be read ({gist(error)}). Convert the column, or use Parquet.") from None
    raise InputError(f"{type(source).__name__} is no table. Give {_SUPPORTED}.")


def _from_pandas(series: Any, name: str, notes: list[str]) -> pl.Series:
    """One pandas column; NaN, None, NaT and NA are null, unused categories are gone."""
    kind = series.dtype
    if hasattr(series, "cat"):
        categories = _from_pandas(series.cat.categories.to_series(), name, notes)
        codes = pl.Series(name, series.cat.codes.to_numpy()).cast(pl.Int64)
        return categories.gather(codes.set(codes < 0, None)).rename(name)
    if kind.kind not in "biufmM" and type(kind).__name__ not in ("StringDtype", "ArrowDtype"):
        return _from_objects(series, name, notes)
    try:
        column: pl.Series = pl.from_pandas(series.reset_index(drop=True), nan_to_null=True)
    except ImportError:  # pyarrow is missing
        return _from_objects(series, name, notes)
    if column.dtype.is_float() and bool((column.abs() >= 2**53).any()):
        notes.append(f"{name}: whole numbers above 2^53 may have been rounded by pandas. Read them as text or Int64.")
    return column.rename(name)


def _from_objects(series: Any, name: str, notes: list[str]) -> pl.Series:
    """A column of Python objects: of one type where they share one, else text, and this is said."""
    values: list[Any] = series.to_numpy(dtype=object).tolist()
    gaps = series.isna().tolist()
    values = [
        None if gap else v.item() if isinstance(v, np.generic) else v for v, gap in zip(values, gaps, strict=True)
    ]
    kinds = {type(value) for value in values if value is not None}
    for kind in kinds:
        if issubclass(kind, _CONTAINERS):
            raise InputError(f"{name!r} holds {kind.__name__}, not single values. Unnest it or leave it out.")
    if len(kinds) <= 1 and all(issubclass(kind, _SINGLE_VALUES) for kind in kinds):
        try:
            return pl.Series(name, values, strict=True)
        except (OverflowError, TypeError, pl.exceptions.PolarsError):
            pass  # whole numbers beyond 128 bits, times in several zones: exact only as text
    notes.append(f"{name}: read as text (it held {' and '.join(sorted(kind.__name__ for kind in kinds))}).")
    return pl.Series(name, [None if value is None else _word(value, name) for value in values], dtype=pl.String)


def _word(value: object, name: str) -> str:
    """A value as text; 3.0 is written 3, so that it stays the same value as the whole number."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(f"{name!r} holds an infinite value. Correct it or leave the row out.")
        if value.is_integer() and abs(value) < 2**53:
            return str(int(value))
    return str(value)
