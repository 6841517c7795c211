"""Routing a large table: its rows, in the spelling of the policy, into shards on disk, piece by piece.

Two passes. The first learns what must be the same in all shards: how each text is spelled (`table.canonical` decides
that from all spellings of a value), whether the numbers of a column are whole, and what the values of all rows decide
(`decisions`). The second cleans rows, finds their shard and writes those of each piece in the order of shards, so that
the rows of neighboring shards lie together.

Theorem: the shard of a row is a function of its quasi-identifiers, or of its person where the policy has one, the key
and the number of shards: never of a sensitive value, of the order of rows, of how they are read, or of who does it. So
which shard a row is in tells nothing that its quasi-identifiers do not.

Memory is that of some rows as they are read, of a piece as codes, and of the different values of columns that are not
numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.engines.decisions import Decisions
from pluralis.engines.published_rows import PublishedRows
from pluralis.errors import InputError
from pluralis.grouping.row_identity import texts_words
from pluralis.kernels.order import stable_order
from pluralis.kernels.siphash import add_column, words_of
from pluralis.policy.attributes import Attribute
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.table.canonical import canonical
from pluralis.table.dictionaries import decode, is_text
from pluralis.table.parquet_files import ParquetFile, Piece
from pluralis.table.spelling import cores
from pluralis.table.whole_table import WholeTable
from pluralis.threads import in_threads

SKETCH = 1 << 16  # words that are kept to say how many differ
MISSING = np.uint64(2**64 - 1)

Words = npt.NDArray[np.uint64]
Shard = npt.NDArray[np.int64]
Source = pl.DataFrame | ParquetFile


@dataclass(frozen=True)
class Reading:
    """A table, and how many rows of it are read at a time."""

    source: Source
    chunk: int

    def pieces(self, rows: int) -> list[Piece]:
        """The table in runs of at most so many rows."""
        if isinstance(self.source, ParquetFile):
            return self.source.pieces(rows)
        height = self.source.height
        return [Piece(0, first, min(rows, height - first)) for first in range(0, height, rows)]

    def chunks(self, piece: Piece, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Some columns of a piece, so many rows at a time as are read."""
        if isinstance(self.source, ParquetFile):
            yield from self.source.chunks(piece, list(names), self.chunk)
            return
        end = piece.first + piece.rows
        for first in range(piece.first, end, self.chunk):
            yield self.source.slice(first, min(self.chunk, end - first)).select(names)


@dataclass(frozen=True, eq=False)
class Spelling:
    """How the values of a column are spelled: the code of each `raw` one, null where it is missing."""

    codes: pl.DataFrame
    values: pl.Series  # what each code stands for

    @classmethod
    def learned(cls, raw: pl.Series, written: pl.Series) -> Spelling:
        """Of the different values of a column, and what each is published as."""
        texts = written.unique().drop_nulls().sort()
        kind = pl.Enum(texts)
        return cls(pl.DataFrame({"raw": raw, "code": written.cast(kind).to_physical()}), texts.cast(kind))

    def spelled(self, values: pl.Series) -> pl.Series:
        """The same rows in their spelling, as codes."""
        frame = values.to_frame("raw").join(self.codes, on="raw", how="left", nulls_equal=True, maintain_order="left")
        return self.values.gather(frame["code"]).rename(values.name)


@dataclass(frozen=True, eq=False)
class Cleaning:
    """What was learned of all rows, so that some of them are cleaned as all would be."""

    policy: Policy
    spellings: dict[str, Spelling]
    whole: dict[str, bool]
    notes: list[str]
    rows: int
    published: int  # rows that have every sensitive value
    gaps: dict[str, int]  # how many rows miss a value of each column
    decided: Decisions
    beside: tuple[str, ...] = ()  # columns of wider values, which are passed on as they are

    @property
    def dictionaries(self) -> dict[str, pl.Series]:
        """What each code of a column of text stands for."""
        return {name: spelling.values for name, spelling in self.spellings.items()}

    @property
    def of_whole(self) -> WholeTable:
        """What a part of the table is told of it."""
        decimals = frozenset(name for name, whole in self.whole.items() if not whole)
        return WholeTable(decimals, self.decided.joined, self.decided.trees)

    @property
    def letters(self) -> int:
        """Bytes of the different texts of all columns."""
        return sum(
            int(spelling.codes["raw"].cast(pl.String).str.len_bytes().sum() or 0) + 16 * spelling.codes.height
            for spelling in self.spellings.values()
        )

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        person = [self.policy.person] if self.policy.person is not None else []
        return list(dict.fromkeys([*self.spellings, *self.whole, *person, *self.beside]))

    def cleaned(self, chunk: pl.DataFrame) -> pl.DataFrame:
        """Some rows with their values in one spelling."""

        def column_of(name: str) -> pl.Series:
            if name in self.whole:
                numbers = _numbers(chunk[name], self.policy)
                return numbers if self.whole[name] else numbers.cast(pl.Float64)
            if name in self.spellings:
                return self.spellings[name].spelled(_spelled_out(chunk[name]))
            return _people(chunk[name], self.policy) if name == self.policy.person else chunk[name]

        return pl.DataFrame(in_threads(column_of, self.columns, chunk.height))


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known of some rows: how many they are, which columns of numbers are whole, how often texts occur.

    `long` are columns with whole numbers of more digits than a number keeps that is not whole; `gaps` says how many
    numbers of a column are missing.
    """

    rows: int
    whole: dict[str, bool]
    counts: dict[str, pl.DataFrame]
    long: frozenset[str]
    gaps: dict[str, int]
    published: PublishedRows

    @classmethod
    def of_rows(cls, chunk: pl.DataFrame, policy: Policy) -> Facts:
        """Of the columns that may be published."""
        numbers, texts = _numbers_and_texts(policy)
        clean = in_threads(lambda name: _numbers(chunk[name], policy), numbers, chunk.height)
        counts = in_threads(lambda name: _counted(chunk[name]), texts, chunk.height)
        long = (own.name for own in clean if own.dtype.is_integer() and (own.abs() >= 2**53).any())
        whole = {own.name: own.dtype.is_integer() for own in clean}
        published = PublishedRows.of_rows(chunk, dict(zip(numbers, clean, strict=True)), policy)
        gaps = {own.name: own.null_count() for own in clean}
        return cls(chunk.height, whole, dict(zip(texts, counts, strict=True)), frozenset(long), gaps, published)

    def and_of(self, others: Facts) -> Facts:
        """The same of these rows and others together."""
        return Facts(
            self.rows + others.rows,
            {name: own and others.whole[name] for name, own in self.whole.items()},
            {
                name: pl.concat([own, others.counts[name]]).group_by("value").agg(pl.col("rows").sum())
                for name, own in self.counts.items()
            },
            self.long | others.long,
            {name: own + others.gaps[name] for name, own in self.gaps.items()},
            self.published.and_of(others.published),
        )


def published_columns(policy: Policy) -> list[str]:
    """The columns of which something must be known."""
    return [name for name, own in policy.columns.items() if own.role != "identifier"]


def _numbers_and_texts(policy: Policy) -> tuple[list[str], list[str]]:
    names = published_columns(policy)
    numbers = [name for name in names if policy.columns[name].type == "number"]
    return numbers, [name for name in names if name not in numbers]


def facts_of(reading: Reading, piece: Piece, policy: Policy) -> Facts:
    """What is known of the rows of a piece."""
    return all_facts(Facts.of_rows(chunk, policy) for chunk in reading.chunks(piece, published_columns(policy)))


def all_facts(some: Iterable[Facts]) -> Facts:
    """What is known of all rows of which these facts are; those of many rows are put together last, and so seldom."""
    waiting: list[Facts] = []
    for facts in some:
        waiting.append(facts)
        while len(waiting) > 1 and waiting[-2].rows <= waiting[-1].rows:
            last = waiting.pop()
            waiting[-1] = waiting[-1].and_of(last)
    return reduce(Facts.and_of, waiting)


def cleaning_of(facts: Facts, policy: Policy) -> Cleaning:
    """How rows are cleaned, of which all together these facts are known."""
    for name in sorted(facts.long):
        if not facts.whole[name]:
            raise InputError(
                f"{name!r} holds whole numbers of more digits than a number keeps, beside others that are not whole. "
                "Use type: text, or round them."
            )
    notes: list[str] = []
    spellings, decided, gaps = {}, Decisions(), dict(facts.gaps)
    for name, counts in facts.counts.items():
        raw = counts["value"].rename(name)
        attribute, missing = policy.columns[name], policy.missing_in(name)
        written = canonical(raw, attribute, missing, notes, rows=counts["rows"])
        gaps[name] = int(counts["rows"].filter(written.is_null()).sum())
        shown = facts.published.counts(name, counts)
        spellings[name] = Spelling.learned(raw, decided.texts(written, counts["rows"], shown, policy, notes))
    decided.bins(facts.published.numbers, policy)
    beside = tuple(name for name in policy.needed if name not in {*policy.columns, policy.person})
    published = facts.rows - facts.published.lacking
    return Cleaning(policy, spellings, facts.whole, notes, facts.rows, published, gaps, decided, beside)


def _counted(values: pl.Series) -> pl.DataFrame:
    """The different values of a column, and how many rows hold each."""
    return _spelled_out(values).rename("value").value_counts(name="rows").cast({"rows": pl.Int64})


def _spelled_out(values: pl.Series) -> pl.Series:
    return decode(values) if is_text(values.dtype) else values


def _numbers(column: pl.Series, policy: Policy) -> pl.Series:
    return canonical(column, policy.columns[column.name], policy.missing_in(column.name), [], whole=False)


def _people(column: pl.Series, policy: Policy) -> pl.Series:
    """Who each row is of, as text."""
    if column.dtype.is_float():
        raise InputError(f"The person column {column.name!r} holds decimals. Write its names as text or whole numbers.")
    names = canonical(column, Attribute(role="identifier", case="keep"), policy.missing, [])
    if names.null_count():
        raise InputError(f"The person column {column.name!r} is missing in some rows. Fill it or leave those rows out.")
    return names


class ShardWords:
    """A word for each clean row: of its person, where the policy names one, else of its quasi-identifiers."""

    def __init__(self, cleaning: Cleaning, draw: Draw) -> None:
        self._draw, self._cleaning = draw.for_part("shards"), cleaning
        quasi = () if cleaning.policy.person is not None else cleaning.policy.quasi
        self._of_value = {name: self._draw.pair(f"value of {name}") for name in quasi}
        texts = {name: cleaning.spellings[name].values for name in quasi if name in cleaning.spellings}
        self._of_code = {
            name: np.append(texts_words(cores(values.cast(pl.String)), self._of_value[name]), MISSING)
            for name, values in texts.items()
        }

    def of_rows(self, rows: pl.DataFrame) -> Words:
        """The words of some rows."""
        person = self._cleaning.policy.person
        if person is not None:
            people = rows[person].unique()
            codes = rows[person].cast(pl.Enum(people)).to_physical().to_numpy()
            return np.asarray(texts_words(people, self._draw.pair("person"))[codes])
        pair, words = self._draw.pair("row"), np.zeros(rows.height, np.uint64)
        for name, of_value in self._of_value.items():
            values = rows[name]
            if name in self._of_code:
                of_code = self._of_code[name]
                codes = values.to_physical().cast(pl.Int32).fill_null(of_code.size - 1).to_numpy()
                add_column(*pair, words, codes, of_code)
            else:
                bits = values.fill_null(0).to_numpy().view(np.uint64)
                own = words_of(*of_value, bits, np.zeros(bits.size, np.uint64))
                own[values.is_null().to_numpy()] = MISSING
                words = words_of(*pair, words, own)
        return words


def in_codes(rows: pl.DataFrame, cleaning: Cleaning) -> pl.DataFrame:
    """Clean rows without their dictionaries, which all rows share."""
    return rows.with_columns(pl.col([*cleaning.spellings]).to_physical()) if cleaning.spellings else rows


def in_texts(rows: pl.DataFrame, dictionaries: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Rows with codes as what these stand for."""
    return rows.with_columns(values.gather(rows[name]).alias(name) for name, values in dictionaries.items())


@dataclass(frozen=True, eq=False)
class Sketch:
    """How many words differ, from the SKETCH smallest of them (Bar-Yossef et al. 2002): exact while they are fewer.

    >>> Sketch.of_words(np.array([5, 9, 5], np.uint64)).and_of(Sketch.of_words(np.array([7], np.uint64))).different
    3
    """

    smallest: Words

    @classmethod
    def of_none(cls) -> Sketch:
        """Of no rows."""
        return cls(np.empty(0, np.uint64))

    @classmethod
    def of_words(cls, words: Words) -> Sketch:
        """Of the words of some rows."""
        ordered = np.sort(words)
        return cls(ordered[np.diff(ordered, prepend=~ordered[:1]) != 0][:SKETCH])

    def and_of(self, others: Sketch) -> Sketch:
        """Of these rows and others together."""
        return Sketch.of_words(np.concatenate([self.smallest, others.smallest]))

    @property
    def different(self) -> int:
        """The estimate."""
        if self.smallest.size < SKETCH:
            return int(self.smallest.size)
        return int((SKETCH - 1) * 2.0**64 / float(self.smallest[-1]))


@dataclass(frozen=True, eq=False)
class Router:
    """Cleans rows, and says how their words differ and which shards they go to."""

    cleaning: Cleaning
    words: ShardWords

    @classmethod
    def of_all(cls, cleaning: Cleaning, draw: Draw) -> Router:
        """The router of a table of which this was learned."""
        return cls(cleaning, ShardWords(cleaning, draw))

    def sketch(self, chunk: pl.DataFrame) -> Sketch:
        """What the words of some rows tell of how many differ."""
        return Sketch.of_words(self.words.of_rows(self.cleaning.cleaned(chunk)))

    def route(self, chunk: pl.DataFrame, shards: int) -> tuple[pl.DataFrame, Shard]:
        """Some rows, clean and in codes, and the shard of each."""
        clean = self.cleaning.cleaned(chunk)
        shard = (self.words.of_rows(clean) % np.uint64(shards)).astype(np.int64)
        return in_codes(clean, self.cleaning), shard


def by_shard(rows: pl.DataFrame, shard: Shard) -> Iterator[tuple[int, pl.DataFrame]]:
    """The rows of each shard that has any."""
    ordered, starts = in_order_of_shards(rows, shard, int(shard.max(initial=-1)) + 1)
    for number in np.flatnonzero(np.diff(starts)).tolist():
        yield number, ordered.slice(starts[number], starts[number + 1] - starts[number])


def in_order_of_shards(rows: pl.DataFrame, shard: Shard, shards: int) -> tuple[pl.DataFrame, Shard]:
    """The same rows in the order of their shards, and where each shard begins and the last one ends."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(shard, minlength=shards))])
    return rows[stable_order(shard, shards)], starts


class Run(NamedTuple):
    """Clean rows in the order of their shards, in a file; where each shard begins, and the last one ends."""

    path: Path
    starts: Shard

    def rows_of(self, first: int, last: int) -> pl.DataFrame:
        """The rows of some shards, up to the last, without it."""
        begin, end = int(self.starts[first]), int(self.starts[last])
        return pl.scan_ipc(self.path).slice(begin, end - begin).collect()


def written_run(reading: Reading, piece: Piece, router: Router, shards: int, path: Path) -> Run:
    """The clean rows of a piece in the order of their shards, in a new file."""
    routed = [router.route(chunk, shards) for chunk in reading.chunks(piece, router.cleaning.columns)]
    rows = pl.concat([own for own, _ in routed])
    shard = np.concatenate([own for _, own in routed])
    del routed
    ordered, starts = in_order_of_shards(rows, shard, shards)
    ordered.write_ipc(path, compression="uncompressed")
    return Run(path, starts)
