"""What Parquet files name beside their cells: entries of dictionaries, statistics, metadata of the footer.

Dictionaries and statistics of plain columns are read where pyarrow is installed; categories and metadata always.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

try:
    import pyarrow.parquet as parquet
except ImportError:  # pragma: no cover, an extra
    parquet = None

ARROW = "ARROW:schema"
_PRINTED = re.compile(rb"[\x20-\x7e\x80-\xff]{3,}")
_TRUNCATED = 32  # bytes from which on statistics may be cut


class Named(NamedTuple):
    """Texts that a file names in one place."""

    where: str
    texts: pl.Series


def named_in(path: Path, rows: pl.DataFrame) -> Iterator[Named]:
    """Texts that stand in categories, dictionaries and statistics of a file, but in none of the column's cells."""
    for name in rows.columns:
        cells = _flat(rows[name])
        kind = cells.dtype
        if isinstance(kind, pl.Enum):
            yield Named(f"categories of {name}", _beyond(kind.categories, cells))
    if parquet is None:
        return
    flat = [name for name, kind in rows.schema.items() if kind in (pl.String, pl.Categorical) or kind == pl.Enum]
    file = parquet.ParquetFile(path, read_dictionary=flat)
    table = file.read(columns=flat)
    for name in flat:
        entries = {entry for chunk in table[name].chunks if hasattr(chunk, "dictionary")
                   for entry in chunk.dictionary.to_pylist() if entry is not None}  # fmt: skip
        yield Named(f"dictionary of {name}", _beyond(pl.Series(sorted(entries), dtype=pl.String), rows[name]))
    ends: dict[str, set[str]] = {}
    for group in range(file.metadata.num_row_groups):
        for c in range(file.metadata.num_columns):
            column = file.metadata.row_group(group).column(c)
            ranged = column.statistics
            if column.path_in_schema in flat and ranged is not None and ranged.has_min_max:
                both = [
                    end for end in (ranged.min, ranged.max) if isinstance(end, str) and len(end.encode()) < _TRUNCATED
                ]
                ends.setdefault(column.path_in_schema, set()).update(both)
    for name, texts in ends.items():
        yield Named(f"statistics of {name}", _beyond(pl.Series(sorted(texts), dtype=pl.String), rows[name]))


def _flat(column: pl.Series) -> pl.Series:
    return column.explode() if isinstance(column.dtype, pl.List) else column


def _beyond(texts: pl.Series, cells: pl.Series) -> pl.Series:
    """Texts that no cell holds."""
    shown = cells.unique().cast(pl.String).drop_nulls()
    texts = texts.cast(pl.String).drop_nulls().unique()
    return texts.filter(~texts.is_in(shown.implode()))


def words_in(path: Path) -> str:
    """All that can be read in the metadata of a file's footer, keys and values."""
    entries = [f"{key}\n{_decoded(key, value)}" for key, value in pl.read_parquet_metadata(path).items()]
    return "\n".join(entries)


def _decoded(key: str, value: str) -> str:
    if key != ARROW:
        return value
    try:
        data = base64.b64decode(value, validate=True)
    except binascii.Error:
        return value
    return "\n".join(part.decode("utf-8", "replace") for part in _PRINTED.findall(data))
