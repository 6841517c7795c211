"""Columns in little memory: text as codes, whole numbers in 32 bits.

A cell of text takes sixteen bytes; as a code, an Enum of the different values in order, it takes one to four, and codes
compare as the texts do. What is published is text, and numbers of 64 bits: tables are coded while they are made and
judged, and spelled out as they are written.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
import polars.selectors as cs

Places = npt.NDArray[np.integer]

WIDE = cs.by_dtype(pl.Int32).cast(pl.Int64)
DECODED = ((cs.enum() | cs.categorical()).cast(pl.String), WIDE)


def is_text(kind: pl.DataType) -> bool:
    """Whether a column of this type holds text, spelled out or as codes."""
    return kind == pl.String or isinstance(kind, (pl.Enum, pl.Categorical))


def dictionary_encode(values: pl.Series, different: pl.Series | None = None) -> pl.Series:
    """Text as codes, in the order of the texts; anything else as it is. Who knows its `different` texts may say them.

    >>> dictionary_encode(pl.Series(["flu", "asthma", None, "flu"])).to_physical().to_list()
    [1, 0, None, 1]
    """
    if not is_text(values.dtype) or (isinstance(values.dtype, pl.Enum) and values.dtype.categories.is_sorted()):
        return values
    texts = values.cast(pl.String)
    own = texts.unique() if different is None else different
    return texts.cast(pl.Enum(own.drop_nulls().sort()))


def clear_sorted_flag(values: pl.Series) -> pl.Series:
    """Without a mark that they are sorted. Parquet files may say so wrongly, and Polars takes their word for it."""
    marked = values.flags.get("SORTED_ASC") or values.flags.get("SORTED_DESC")
    return values.gather(pl.int_range(values.len(), eager=True)) if marked else values


def dictionary_encode_table(table: pl.DataFrame) -> pl.DataFrame:
    """A table with all its text as codes, and its numbers in 64 bits."""
    return pl.DataFrame([dictionary_encode(clear_sorted_flag(column)) for column in table.with_columns(WIDE)])


def narrow(values: pl.Series) -> pl.Series:
    """Text as codes, whole numbers in 32 bits if all fit; anything else as it is.

    >>> narrow(pl.Series([7, None])).dtype, narrow(pl.Series([2**40])).dtype
    (Int32, Int64)
    """
    if values.dtype != pl.Int64:
        return dictionary_encode(values)
    low, high = values.min(), values.max()
    fits = low is None or (isinstance(low, int) and isinstance(high, int) and -(2**31) <= low <= high < 2**31)
    return values.cast(pl.Int32) if fits else values


def different_values(values: pl.Series) -> tuple[pl.Series, Places]:
    """The different values of a column in order, a missing one last, and the place of each row's among them.

    >>> different, places = different_values(pl.Series(["flu", "asthma", None, "flu"]))
    >>> different.to_list(), places.tolist()
    (['asthma', 'flu', None], [1, 0, 2, 1])
    """
    if is_text(values.dtype):
        values = dictionary_encode(values)
        assert isinstance(values.dtype, pl.Enum)
        different, places = values.dtype.categories.rename(values.name), values.to_physical()
    else:
        different = values.unique().drop_nulls().sort()
        places = different.search_sorted(values).set(values.is_null(), None)
    if values.null_count():
        different, places = different.extend_constant(None, 1), places.cast(pl.UInt32).fill_null(different.len())
    place = places.to_numpy()
    used = np.bincount(place, minlength=different.len()) > 0
    if used.all():
        return different, place
    return different.filter(pl.Series(used)), (np.cumsum(used, dtype=np.int32) - 1)[place]


def different_numbers(numbers: npt.NDArray[np.integer]) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.int32]]:
    """The different numbers in order, and the place of each number among them.

    By sorting places: `np.unique` puts each into a hash table, or looks for the place of each among all.

    >>> different, places = different_numbers(np.array([70, -1, 70]))
    >>> different.tolist(), places.tolist()
    ([-1, 70], [1, 0, 1])
    """
    order = np.argsort(numbers)
    ordered = numbers[order]
    new = np.ones(numbers.size, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    places = np.empty(numbers.size, np.int32)
    places[order] = np.cumsum(new, dtype=np.int32) - 1
    return ordered[new], places


def decode(values: pl.Series) -> pl.Series:
    """Codes as the text they stand for, numbers in 64 bits; anything else as it is.

    However long a text is and however many rows hold it, it stands in memory once.
    """
    if isinstance(values.dtype, pl.Enum):
        return values.dtype.categories.gather(values.to_physical()).rename(values.name)
    if isinstance(values.dtype, pl.Categorical):
        return values.cast(pl.String)
    return values.cast(pl.Int64) if values.dtype == pl.Int32 else values


def decode_table(table: pl.DataFrame) -> pl.DataFrame:
    """A table with all its text spelled out, and its numbers in 64 bits."""
    return table.with_columns(decode(column) for column in table)
