"""What a Parquet file says of itself: sizes before anything is unfolded, and every byte that is not a cell.

A file is pages, each behind a header, in chunks (one for each column and row group); then indexes; then a footer. All
of these but the pages are structs of Thrift's compact protocol. They are read here, with bounds on everything, so that
a stranger's file can be measured before it is unfolded: a few bytes can say "the same value, two billion times".

`require_nothing_beside` is for files that another version of the writer wrote, which cannot be written again byte for
byte: no metadata but the schema, no gap between the parts, no entry of a dictionary that no cell holds, no statistic
that is not a cell, no field that has no use here, no text but names of columns and of a known writer. The format is
described in `parquet.thrift` of Apache Parquet; numbers of fields are from there.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from pluralis.errors import ReleaseError

_MAGIC = b"PAR1"
_DEEPEST = 16
_SCHEMA = b"ARROW:schema"
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3
# the fields that are used: not encryption, sorted columns, key-values of columns, paths of files, Bloom filters
_FOOTER = frozenset({1, 2, 3, 4, 5, 6, 7})
_ELEMENT = frozenset({1, 3, 4, 5, 6, 10})
_ROW_GROUP = frozenset({1, 2, 3, 5, 6, 7})
_COLUMN = frozenset({2, 3, 4, 5, 6, 7})
_CHUNK = frozenset({1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16})
_PAGE = frozenset({1, 2, 3})
_HEADERS = {  # of each kind of page: its field, which is also that of its statistics, and its fields
    _DATA: (5, frozenset({1, 2, 3, 4, 5})),
    _DICTIONARY: (7, frozenset({1, 2, 3})),
    _DATA_V2: (8, frozenset({1, 2, 3, 4, 5, 6, 7, 8})),
}
_KEY_VALUE = frozenset({1, 2})
_OFFSET_INDEX = frozenset({1, 2})
_COLUMN_INDEX = frozenset({1, 2, 3, 4, 5, 6, 7})
_ROOTS = (None, b"root", b"schema")
_NESTED = (b"list", b"element", b"item")  # parts of a column of lists
_WRITERS = re.compile(
    r"Polars( \(python\))?( version [0-9.]{1,12}(-[a-z0-9.]{1,12})?( \(build [0-9a-f]{40}\))?)?"
    r"|parquet-cpp-arrow version [0-9.]{1,12}(-SNAPSHOT)?"
)

Struct = dict[int, Any]


class Chunk(NamedTuple):
    """A column in a row group."""

    cells: int  # members of lists count one by one
    unfolded: int  # bytes of its pages once they are unpacked
    entries: int | None  # of its dictionary
    ends: tuple[bytes, ...]  # least and greatest values, as statistics say


class Layout(NamedTuple):
    """What a file says of itself."""

    rows: int
    groups: tuple[int, ...]  # rows of each row group
    chunks: tuple[tuple[Chunk, ...], ...]  # by row group
    writer: str
    metadata: tuple[tuple[bytes, bytes], ...]
    names: tuple[bytes, ...]  # of the schema and of chunks, but for parts of lists
    known: bool  # whether every field is one that has a use here

    @property
    def unfolded(self) -> int:
        return sum(chunk.unfolded for chunks in self.chunks for chunk in chunks)

    @property
    def cells(self) -> int:
        return sum(chunk.cells for chunks in self.chunks for chunk in chunks)


def layout_of(data: bytes) -> Layout:
    """The layout of a file, every byte of which is accounted for; ReleaseError where it is none, or has gaps.

    >>> import io
    >>> file = io.BytesIO()
    >>> pl.DataFrame({"age": [30, 40, 50]}).write_parquet(file)
    >>> layout_of(file.getvalue()).rows
    3
    """
    try:
        return _layout(data)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, struct.error):
        raise ReleaseError("not a Parquet file, or one whose parts are not where it says.") from None


def _layout(data: bytes) -> Layout:
    end = len(data) - 8
    start = end - int.from_bytes(data[-8:-4], "little")
    if data[:4] != _MAGIC or data[-4:] != _MAGIC or start < 4:
        raise ValueError("marks")
    footer, stop = _read(data, start)
    if stop != end:
        raise ValueError("footer")
    position, groups, rows = 4, [], []
    known = footer.keys() <= _FOOTER and footer[2][0].get(4) in _ROOTS and not _text_beside(footer, 2, 4, 5, 6)
    known &= all(element.keys() <= _ELEMENT and not _text_beside(element, 4) for element in footer[2])
    known &= all(entry.keys() <= _KEY_VALUE for entry in footer.get(5, []))
    names = {element[4] for element in footer[2][1:]}
    for group in footer[4]:
        chunks = []
        known &= group.keys() <= _ROW_GROUP and not _text_beside(group, 1)
        known &= all(c.keys() <= _COLUMN and c[3].keys() <= _CHUNK for c in group[1])
        known &= not any(_text_beside(c, 3) or _text_beside(c[3], 3, 12) for c in group[1])
        names |= {part for column in group[1] for part in column[3][3]}
        for column in group[1]:
            chunk, position = _chunk(data, column, position)
            chunks.append(chunk)
        groups.append(tuple(chunks))
        rows.append(int(group[3]))
    position, ends = _indexes(data, footer, position)
    if position != start or sum(rows) != footer[3] or min(rows, default=0) < 0:
        raise ValueError("gap")
    kept = tuple(
        tuple(chunk._replace(ends=(*chunk.ends, *more)) for chunk, more in zip(chunks, mores, strict=True))
        for chunks, mores in zip(groups, ends, strict=True)
    )
    metadata = tuple((entry[1], entry.get(2, b"")) for entry in footer.get(5, []))
    writer = footer.get(6, b"").decode("utf-8", "replace")
    return Layout(int(footer[3]), tuple(rows), kept, writer, metadata, tuple(sorted(names)), known)


def _chunk(data: bytes, column: Struct, position: int) -> tuple[Chunk, int]:
    """A chunk that begins at `position`, and where the next one begins."""
    metadata = column[3]
    if metadata.get(11, metadata[9]) != position:
        raise ValueError("gap")
    end, cells, unfolded, entries = position + metadata[7], 0, 0, None
    ends = [*_ends(metadata.get(12, {}))]
    while position < end:
        page, after = _read(data, position)
        kind, packed, full = page[1], page[3], page[2]
        place, allowed = _HEADERS[kind]
        header = page[place]
        if packed < 0 or full < 0 or page.keys() - _PAGE - {place} or header.keys() - allowed:
            raise ValueError("page")
        if _text_beside(page, place) or _text_beside(header, place):
            raise ValueError("page")
        if kind == _DICTIONARY:
            if entries is not None or cells:
                raise ValueError("two dictionaries")
            entries = int(header[1])
        else:
            cells += int(header[1])
            ends += _ends(header.get(place, {}))
        unfolded += full + after - position
        position = after + packed
    if position != end or cells != metadata[5] or unfolded != metadata[6]:
        raise ValueError("sizes")
    again, after = _read(data, end)  # some writers repeat behind a chunk what the footer says of it
    return Chunk(cells, unfolded, entries, tuple(ends)), after if again == metadata else end


def _indexes(data: bytes, footer: Struct, position: int) -> tuple[int, list[list[tuple[bytes, ...]]]]:
    """Where the indexes end, and the least and greatest values that they name for each chunk."""
    places = []
    ends: list[list[tuple[bytes, ...]]] = [[() for _ in group[1]] for group in footer[4]]
    for g, group in enumerate(footer[4]):
        for c, column in enumerate(group[1]):
            places += [(column[i], column[i + 1], g, c, i) for i in (4, 6) if i in column]
    for start, length, g, c, kind in sorted(places):
        index, after = _read(data, start)
        if start != position or after != start + length:
            raise ValueError("gap")
        allowed, texts = (_OFFSET_INDEX, ()) if kind == 4 else (_COLUMN_INDEX, (2, 3))
        if index.keys() - allowed or _text_beside(index, *texts):
            raise ValueError("index")
        if kind == 6:
            ends[g][c] = tuple(value for i in (2, 3) for value in index[i])
        position = after
    return position, ends


def _text_beside(part: Any, *fields: int) -> bool:
    """Whether a struct holds text anywhere but in these fields of its own."""
    if isinstance(part, dict):
        return any(_text_beside(value) for field, value in part.items() if field not in fields)
    if isinstance(part, list):
        return any(map(_text_beside, part))
    return isinstance(part, bytes)


def _ends(statistics: Struct) -> Iterator[bytes]:
    for field, value in statistics.items():
        if field in (1, 2, 5, 6):
            yield value
        elif field not in (3, 4, 7, 8) or _text_beside(value):
            raise ValueError("statistics")


# Thrift, compact protocol -----------------------------------------------------------------------------------------


@dataclass
class _Reader:
    data: bytes
    position: int
    depth: int = 0

    def byte(self) -> int:
        value = self.data[self.position]
        self.position += 1
        return value

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("varint")

    def signed(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.position:
            raise ValueError("size")
        self.position += size
        return self.data[self.position - size : self.position]

    def value(self, kind: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self.byte()
        if kind in (4, 5, 6):
            return self.signed()
        if kind == 7:
            return struct.unpack("<d", self.take(8))[0]
        if kind == 8:
            return self.take(self.varint())
        if kind in (9, 10):
            return self.several()
        if kind == 12:
            return self.struct()
        raise ValueError("kind")

    def several(self) -> list[Any]:
        head = self.byte()
        size, kind = head >> 4, head & 15
        size = self.varint() if size == 15 else size
        if size > len(self.data) - self.position:
            raise ValueError("size")
        return [self.byte() if kind in (1, 2) else self.value(kind) for _ in range(size)]

    def struct(self) -> Struct:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ValueError("depth")
        fields: Struct = {}
        number = 0
        while (head := self.byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self.signed()
            if number in fields:
                raise ValueError("field")
            fields[number] = self.value(head & 15)
        self.depth -= 1
        return fields


def _read(data: bytes, position: int) -> tuple[Struct, int]:
    """The struct that begins here, and where it ends."""
    if position < 0:
        raise ValueError("place")
    reader = _Reader(data, position)
    return reader.struct(), reader.position


# files of other writers -------------------------------------------------------------------------------------------


def require_nothing_beside(layout: Layout, table: pl.DataFrame, own: Layout) -> None:
    """Refuse a file that holds anything but the cells of `table`; `own` is the layout of the same table as we write it.

    `table` is what was read from the file, text spelled out.
    """
    if not _WRITERS.fullmatch(layout.writer):
        raise ReleaseError(
            "it was written by a program that Pluralis does not know. Ask for a file of Polars or Arrow."
        )
    names = {name.encode() for name in table.columns}
    if not layout.known or not names <= {*layout.names} <= names | {*_NESTED}:
        raise ReleaseError("it holds something beside its cells: fields without a use, or names that are no columns.")
    known = dict(own.metadata).get(_SCHEMA)
    if any(key != _SCHEMA or value != known for key, value in layout.metadata):
        raise ReleaseError(f"it was written by {layout.writer!r}, with metadata beside its cells.")
    first_row = 0
    for rows, chunks in zip(layout.groups, layout.chunks, strict=True):
        part = table.slice(first_row, rows)
        first_row += rows
        if len(chunks) != table.width:
            raise ReleaseError("it has other columns than it shows.")
        for chunk, name in zip(chunks, table.columns, strict=True):
            values = _distinct(part[name])
            if chunk.entries is not None and chunk.entries != values.len():
                raise ReleaseError(f"{name!r} has a dictionary of other values than its cells.")
            if not set(chunk.ends) <= _written(values):
                raise ReleaseError(f"{name!r} has statistics of other values than its cells.")


def _distinct(values: pl.Series) -> pl.Series:
    values = values.explode() if isinstance(values.dtype, pl.List) else values
    return values.drop_nulls().unique()


def _written(values: pl.Series) -> set[bytes]:
    """Values as statistics write them."""
    if values.dtype.is_integer():
        return {struct.pack("<q", value) for value in values}
    if values.dtype == pl.Float64:
        both: Sequence[float] = [*values, *([0.0, -0.0] if (values == 0).any() else [])]
        return {struct.pack("<d", value) for value in both}
    return {value.encode() for value in values.cast(pl.String)}
