"""A word for each row that depends on what the row is, on the key, and on nothing else.

What is drawn for a row from its word is drawn again whenever the row is published again, whatever else the table holds.
A row is its person and the value that is drawn for, where the policy names a person: several rows of one person that
hold the same sensitive value get the same draw. Else it is everything that the policy keeps of it; the second,
third, … of rows that are the same throughout have words of their own.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.kernels.siphash import add_column, words_of, words_of_texts
from pluralis.randomness import Draw
from pluralis.table.encoding import Column, Table
from pluralis.table.spelling import cores
from pluralis.threads import by_rows

Words = npt.NDArray[np.uint64]


def row_words(table: Table, column: Column, draw: Draw) -> Words:
    """A word for each row, for what is drawn for this column."""
    pair = draw.pair("row")
    if table.people is not None and table.person is not None:
        words = people_words(table.people, draw)[table.person]
        parts = [(column.codes, value_words(column, draw))]
        times = None
    else:
        words = np.zeros(table.rows, np.uint64)
        parts = [(other.codes, value_words(other, draw)) for other in table.columns.values()]
        times = _times(table)

    def fold(some: slice) -> None:
        for codes, of_code in parts:
            add_column(*pair, words[some], codes[some], of_code)
        if times is not None:
            words[some] = words_of(*pair, words[some], times[some])

    by_rows(fold, table.rows)
    return words


def people_words(people: pl.Series, draw: Draw) -> Words:
    """A word for each person."""
    return texts_words(people, draw.pair("person"))


def shared_draws(table: Table, column: Column, kept: npt.NDArray[np.int64]) -> float:
    """How many of these rows share a draw, on average over rows (Kish 1965), coarsely: 1 where every row has its own.

    As many times larger is the variance of what is counted, where people with many rows are spread as all others are.
    It is published, so it is a mean and rounded up: it tells of no single person how many rows they have.
    """
    if table.person is None:
        return 1.0
    pairs = table.person[kept].astype(np.int64) * column.size + column.codes[kept]
    rows = np.unique(pairs, return_counts=True)[1].astype(np.float64)
    return coarse(float((rows**2).sum() / rows.sum()))


def coarse(number: float) -> float:
    """The next of 1, 1.5, 2, 3, 4, 6, 8, 12, …

    >>> [coarse(number) for number in (1.0, 1.001, 1.7, 2.0, 2.1, 5.9, 9.0)]
    [1.0, 1.5, 2.0, 2.0, 3.0, 6.0, 12.0]
    """
    power = 2.0 ** math.floor(math.log2(number))
    return next(power * step for step in (1.0, 1.5, 2.0) if number <= power * step)


def value_words(column: Column, draw: Draw) -> Words:
    """A word for each code of a column, which depends on the value and the key alone: not on how it is spelled."""
    values = column.series
    if column.is_number:
        values = (
            values.cast(pl.String) if values.dtype.is_integer() else pl.Series(map(column.text, range(column.size)))
        )
    else:
        values = cores(values)
    return texts_words(values.fill_null("(missing)"), draw.pair(f"value of {column.name}"))


def identity_of(table: Table, person: str | None) -> list[str]:
    """What a row is, in words: the person, or the columns that are kept of it."""
    return [f"person {person}"] if person is not None else list(table.columns)


def texts_words(texts: pl.Series, pair: tuple[np.uint64, np.uint64]) -> Words:
    """A word for each text."""
    data = np.frombuffer((texts.str.join("").item() or "").encode(), np.uint8)
    words: Words = words_of_texts(*pair, data, texts.str.len_bytes().cast(pl.Int64).cum_sum().to_numpy())
    return words


def _times(table: Table) -> Words:
    """How many rows before it, next to each other in canonical order, are the same as each row."""
    new = np.zeros(table.rows, np.bool_)
    new[:1] = True
    for column in table.columns.values():
        new[1:] |= column.codes[1:] != column.codes[:-1]
    first = np.flatnonzero(new)
    return (np.arange(table.rows) - np.repeat(first, np.diff(first, append=table.rows))).astype(np.uint64)
