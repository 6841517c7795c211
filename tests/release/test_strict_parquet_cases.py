"""What a Parquet file says of itself, on files made byte by byte: pages hold anything, all else is as it is said."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from pluralis.errors import ReleaseError
from pluralis.release.strict_parquet import Chunk, Layout, layout_of, require_nothing_beside

# Thrift's compact protocol: a value is (kind, what), a struct is {number of field: value}
Value = tuple[int, Any]
Struct = dict[int, Value]


def no() -> Value:
    return 2, None


def yes() -> Value:
    return 1, None


def i8(number: int) -> Value:
    return 3, number


def i32(number: int) -> Value:
    return 5, number


def i64(number: int) -> Value:
    return 6, number


def real(number: float) -> Value:
    return 7, number


def text(words: bytes) -> Value:
    return 8, words


def several(*items: Value) -> Value:
    return 9, items


def part(fields: Struct) -> Value:
    return 12, fields


ALICE = text(b"Alice has hiv")


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(128 | number & 127)
        number >>= 7
    return bytes([*out, number])


def encoded(value: Value) -> bytes:
    kind, what = value
    if kind in (1, 2) or kind > 12 or kind == 11:
        return b""
    if kind == 3:
        return bytes([what])
    if kind in (4, 5, 6):
        return varint(2 * what if what >= 0 else -2 * what - 1)
    if kind == 7:
        return struct.pack("<d", what)
    if kind == 8:
        return varint(len(what)) + what
    if kind in (9, 10):
        inner = what[0][0] if what else 12
        head = bytes([len(what) << 4 | inner]) if len(what) < 15 else bytes([0xF0 | inner]) + varint(len(what))
        return head + b"".join(bytes([item[0]]) if inner in (1, 2) else encoded(item) for item in what)
    return encoded_struct(what)


def encoded_struct(fields: Struct) -> bytes:
    out, last = b"", 0
    for number, value in fields.items():
        step = number - last
        out += bytes([step << 4 | value[0]]) if 0 < step < 16 else bytes([value[0]]) + encoded((6, number))
        out += encoded(value)
        last = number
    return out + b"\0"


# a file -----------------------------------------------------------------------------------------------------------


def dictionary(entries: int) -> Struct:
    return {1: i32(2), 2: i32(10), 3: i32(4), 7: part({1: i32(entries), 2: i32(0), 3: no()})}


def data_page(cells: int, statistics: Struct | None = None) -> Struct:
    header = {1: i32(cells), 2: i32(8), 3: i32(3), 4: i32(3)} | ({5: part(statistics)} if statistics else {})
    return {1: i32(0), 2: i32(20), 3: i32(4), 5: part(header)}


def data_page_2(cells: int, statistics: Struct | None = None) -> Struct:
    header = {1: i32(cells), 2: i32(0), 3: i32(cells), 4: i32(8), 5: i32(0), 6: i32(0), 7: yes()}
    return {1: i32(3), 2: i32(30), 3: i32(4), 8: part(header | ({8: part(statistics)} if statistics else {}))}


ENDS: Struct = {1: text(b"b"), 2: text(b"a"), 3: i64(0), 4: i64(2), 5: text(b"d"), 6: text(b"c"), 7: yes(), 8: yes()}


@dataclass
class Column:
    """A chunk: its pages, what is said of it, and its indexes."""

    pages: list[Struct]
    name: bytes = b"age"
    statistics: Struct | None = None
    repeated: bool = False
    offset_index: Struct | None = None
    column_index: Struct | None = None


@dataclass
class File:
    """Row groups of columns, and changes of what is written of them."""

    groups: list[tuple[int, list[Column]]]
    change: Callable[[Struct], Any] = lambda footer: None
    between: bytes = b""  # the last chunk and the indexes
    after: bytes = b""  # the indexes, before the footer
    unfolded: dict[bytes, int] = field(default_factory=dict)

    def write(self) -> bytes:
        data, groups, indexed = b"PAR1", [], []
        for rows, columns in self.groups:
            written = []
            for column in columns:
                start, cells, unfolded, has_dictionary = len(data), 0, 0, False
                for page in column.pages:
                    head = encoded_struct(page)
                    data += head + b"#" * max(0, page[3][1])
                    unfolded += len(head) + page[2][1]
                    fields = page.get({2: 7, 3: 8}.get(page[1][1], 5))
                    cells += fields[1][1][1] if fields and page[1][1] != 2 else 0
                    has_dictionary |= page[1][1] == 2
                metadata: Struct = {
                    1: i32(6), 2: several(i32(0), i32(8)), 3: several(text(column.name)), 4: i32(6), 5: i64(cells),
                    6: i64(unfolded), 7: i64(len(data) - start), 9: i64(start + 7 * has_dictionary), 10: i64(0),
                }  # fmt: skip
                metadata |= {11: i64(start)} if has_dictionary else {}
                metadata |= {12: part(column.statistics)} if column.statistics else {}
                metadata |= {13: several(part({1: i32(0)})), 16: part({1: i64(9)})}
                self.unfolded[column.name] = unfolded
                if column.repeated:
                    data += encoded_struct(metadata)
                written.append({2: i64(4), 3: part(metadata)})
                indexed.append((column, written[-1]))
            group = {1: several(*map(part, written)), 2: i64(100), 3: i64(rows)}
            groups.append(group | {5: i64(4), 6: i64(100), 7: (4, 0)})
        data += self.between
        for number, index_of in ((6, lambda c: c.column_index), (4, lambda c: c.offset_index)):
            for column, fields in indexed:
                index = index_of(column)
                if index is not None:
                    fields |= {number: i64(len(data)), number + 1: i32(len(encoded_struct(index)))}
                    data += encoded_struct(index)
        for _, fields in indexed:
            ordered = sorted(fields.items())
            fields.clear()
            fields.update(ordered)
        data += self.after
        names = [column.name for column in self.groups[0][1]] if self.groups else []
        leaves = [
            {1: i32(6), 3: i32(1), 4: text(name), 5: i32(0), 6: i32(0), 10: part({1: part({})})} for name in names
        ]
        footer: Struct = {
            1: i32(1),
            2: several(part({4: text(b"root"), 5: i32(len(names))}), *map(part, leaves)),
            3: i64(sum(rows for rows, _ in self.groups)),
            4: several(*map(part, groups)),
            5: several(part({1: text(b"ARROW:schema"), 2: text(b"abc")})),
            6: text(b"Polars"),
            7: several(part({1: part({})})),
        }
        self.change(footer)
        written_footer = encoded_struct(footer)
        return data + written_footer + len(written_footer).to_bytes(4, "little") + b"PAR1"


def simple(pages: list[Struct] | None = None, **more: Any) -> File:
    """One column in one row group of three rows."""
    about = {key: more.pop(key) for key in ("statistics", "repeated", "offset_index", "column_index") if key in more}
    return File([(3, [Column(pages if pages is not None else [dictionary(2), data_page(3)], **about)])], **more)


def refused(data: bytes) -> None:
    with pytest.raises(ReleaseError) as caught:
        layout_of(data)
    assert str(caught.value) == "not a Parquet file, or one whose parts are not where it says."


def test_everything_is_read() -> None:
    """Two row groups, two columns, both kinds of pages, all fields that are known, indexes and repeated metadata."""
    columns = [
        Column([dictionary(2), data_page(2, ENDS), data_page_2(1, {1: text(b"f"), 2: text(b"e")})], repeated=True,
               statistics=ENDS, column_index={1: several(no()), 2: several(text(b"g")), 3: several(text(b"h")),
               4: i32(0), 5: several(i64(0))}, offset_index={1: several(part({1: i64(4), 2: i32(9), 3: i64(0)}))}),
        Column([data_page(5)], b"ward"),
    ]  # fmt: skip
    more = [Column([data_page(1)]), Column([dictionary(1), data_page_2(1)], b"ward", repeated=True)]
    file = File([(3, columns), (1, more)])
    layout = layout_of(file.write())
    ends = (b"b", b"a", b"d", b"c")
    first, second = layout.chunks
    assert layout._replace(chunks=()) == Layout(
        4, (3, 1), (), "Polars", ((b"ARROW:schema", b"abc"),), (b"age", b"ward"), True
    )
    assert [(c.cells, c.entries, c.ends) for c in first] == [
        (3, 2, (*ends, *ends, b"f", b"e", b"g", b"h")),
        (5, None, ()),
    ]
    assert [(c.cells, c.entries, c.ends) for c in second] == [(1, None, ()), (1, 1, ())]
    heads = [len(encoded_struct(page)) for page in columns[0].pages]
    assert first[0].unfolded == sum(heads) + 10 + 20 + 30
    assert layout.cells == 10
    assert layout.unfolded == sum(chunk.unfolded for chunks in layout.chunks for chunk in chunks)


def test_a_file_without_rows_is_read() -> None:
    assert layout_of(File([]).write())[:3] == (0, (), ())
    assert layout_of(File([(0, [Column([])])]).write())[:3] == (0, (0,), ((Chunk(0, 0, None, ()),),))


def test_what_is_not_said_is_empty() -> None:
    def change(footer: Struct) -> None:
        del footer[5], footer[6], footer[7]

    layout = layout_of(simple(change=change).write())
    assert (layout.writer, layout.metadata, layout.known) == ("", (), True)

    def without_value(footer: Struct) -> None:
        footer[5] = several(part({1: text(b"key")}))

    assert layout_of(simple(change=without_value).write()).metadata == ((b"key", b""),)


def test_marks() -> None:
    data = simple().write()
    layout_of(data)
    for other in (b"XAR1" + data[4:], data[:-4] + b"XAR1", data[:-1], b"", b"PAR1PAR1", data[:-8] + data[-4:]):
        refused(other)


def test_the_footer_is_where_it_says() -> None:
    data = simple().write()
    size = int.from_bytes(data[-8:-4], "little")
    for other in (size + 1, size - 1, size + 2**24, 2**31, len(data) - 8):
        refused(data[:-8] + other.to_bytes(4, "little") + b"PAR1")
    refused(data[:-8] + b"\0" + (size + 1).to_bytes(4, "little") + b"PAR1")  # a byte behind it


@pytest.mark.parametrize("file", [
    simple(between=b"#"), simple(after=b"#"), simple(between=b"\0"),
    simple(offset_index={1: several(i64(1))}, between=b"#"), simple(offset_index={1: several(i64(1))}, after=b"#"),
])  # fmt: skip
def test_bytes_between_the_parts(file: File) -> None:
    refused(file.write())


def chunk_of(footer: Struct, group: int = 0, column: int = 0) -> Struct:
    """What the footer says of a chunk."""
    fields: Struct = column_of(footer, group, column)[3][1]
    return fields


def column_of(footer: Struct, group: int = 0, column: int = 0) -> Struct:
    fields: Struct = footer[4][1][group][1][1][1][column][1]
    return fields


def group_of(footer: Struct) -> Struct:
    fields: Struct = footer[4][1][0][1]
    return fields


@pytest.mark.parametrize("number", [5, 6, 7, 11])
@pytest.mark.parametrize("more", [1, -1])
def test_sizes_and_places_of_a_chunk_are_as_said(number: int, more: int) -> None:
    def change(footer: Struct) -> None:
        kind, value = chunk_of(footer)[number]
        chunk_of(footer)[number] = kind, value + more

    refused(simple(change=change).write())


def test_a_chunk_without_a_dictionary_begins_at_its_data() -> None:
    assert layout_of(simple([data_page(3)]).write()).cells == 3

    def change(footer: Struct) -> None:
        chunk_of(footer)[9] = i64(5)

    refused(simple([data_page(3)], change=change).write())


def test_numbers_of_rows() -> None:
    def more_rows(footer: Struct) -> None:
        footer[3] = i64(4)

    refused(simple(change=more_rows).write())
    refused(File([(-1, [Column([data_page(1)])]), (4, [Column([data_page(1)])])]).write())
    assert layout_of(File([(0, [Column([data_page(1)])]), (4, [Column([data_page(1)])])]).write()).rows == 4


OTHER_PAGES: list[list[Struct]] = [
    [{**data_page(3), 3: i32(-1)}],
    [{**data_page(3), 2: i32(-1)}],
    [{**data_page(3), 9: i32(1)}],  # a field that pages do not have
    [{**data_page(3), 4: i32(1)}],  # a checksum, which the writers that are read do not write
    [{**data_page(3), 8: text(b"Alice has hiv")}],  # the header of another kind of page
    [{**data_page(3), 8: part({1: text(b"Alice has hiv")})}],
    [{**data_page(3), 7: part({1: i32(1)})}],
    [{**data_page_2(3), 5: part({1: text(b"Alice has hiv")})}],
    [{**dictionary(2), 8: part({1: text(b"Alice has hiv")})}, data_page(3)],
    [{**dictionary(2), 7: part({1: i32(2), 2: text(b"Alice has hiv"), 3: no()})}, data_page(3)],
    [dictionary(2), dictionary(2), data_page(3)],
    [data_page(3), dictionary(2)],
    [{**data_page(3), 1: i32(1)}],  # an index page
    [{**data_page(3), 1: i32(4)}],
    [data_page(3, {9: i64(1)})],  # statistics that are none
    [data_page(3, {**ENDS, 3: ALICE})],
    [data_page(3, {**ENDS, 8: several(ALICE)})],
    [{**dictionary(2), 7: part({1: i32(2), 2: i32(0), 4: text(b"Alice has hiv")})}, data_page(3)],
    [{**dictionary(2), 7: part({1: i32(2), 2: i32(0), 4: i64(2**60)})}, data_page(3)],
    [{**data_page(3), 5: part({1: i32(3), 2: text(b"Alice has hiv")})}],
    [{**data_page(3), 5: part({1: i32(3), 2: i32(0), 8: part({1: text(b"Alice")})})}],
    [{**data_page(3), 5: part({1: i32(3), 2: i32(0), 6: i64(2**60)})}],
    [{**data_page_2(3), 8: part({1: i32(3), 2: text(b"Alice has hiv")})}],
    [{**data_page_2(3), 8: part({1: i32(3), 5: part({1: text(b"Alice")})})}],
    [{**data_page_2(3), 8: part({1: i32(3), 9: i64(2**60)})}],
]


@pytest.mark.parametrize("pages", OTHER_PAGES, ids=range(len(OTHER_PAGES)))
def test_pages_hold_their_cells_alone(pages: list[Struct]) -> None:
    refused(simple(pages).write())


@pytest.mark.parametrize("number", [3, 4, 7, 8])
def test_the_statistics_of_a_chunk_say_nothing_else(number: int) -> None:
    refused(simple(statistics={**ENDS, number: ALICE}).write())


@pytest.mark.parametrize("number", [2, 4, 5])
def test_parts_are_what_they_should_be(number: int) -> None:
    """A list of texts, where one of structs should be."""

    def change(footer: Struct) -> None:
        footer[number] = several(ALICE)

    refused(simple(change=change).write())


def test_empty_pages_are_read() -> None:
    empty = {**data_page(0), 2: i32(0), 3: i32(0)}
    assert layout_of(simple([dictionary(2), empty, data_page(3)]).write()).cells == 3
    assert layout_of(simple([{**dictionary(0), 2: i32(0), 3: i32(0)}, data_page(3)]).write()).chunks[0][0].entries == 0


# indexes ----------------------------------------------------------------------------------------------------------

PLACES: Struct = {1: several(part({1: i64(4), 2: i32(9), 3: i64(0)})), 2: several(i64(3))}
LEAST: Struct = {
    1: several(no()), 2: several(text(b"g")), 3: several(text(b"h")), 4: i32(0), 5: several(i64(0)),
    6: several(i64(0)), 7: several(i64(0)),
}  # fmt: skip


def test_indexes_are_read() -> None:
    columns = [Column([data_page(3)], column_index=LEAST, offset_index=PLACES)] * 2
    assert [chunk.ends for chunk in layout_of(File([(3, columns)]).write()).chunks[0]] == [(b"g", b"h"), (b"g", b"h")]
    assert layout_of(simple(offset_index=PLACES).write()).chunks[0][0].ends == ()
    other = {**LEAST, 2: several(text(b"x"))}
    columns = [
        Column([data_page(3)], column_index=LEAST),
        Column([data_page(3)]),
        Column([data_page(3)], column_index=other),
    ]
    assert [chunk.ends for chunk in layout_of(File([(3, columns)]).write()).chunks[0]] == [
        (b"g", b"h"),
        (),
        (b"x", b"h"),
    ]
    groups = [(1, [Column([data_page(1)])]), (1, [Column([data_page(1)], column_index=LEAST)])]
    assert [chunks[0].ends for chunks in layout_of(File(groups).write()).chunks] == [(), (b"g", b"h")]


@pytest.mark.parametrize("number", [4, 5, 6, 7])
@pytest.mark.parametrize("more", [1, -1])
def test_indexes_are_where_they_are_said_to_be(number: int, more: int) -> None:
    def change(footer: Struct) -> None:
        kind, value = column_of(footer)[number]
        column_of(footer)[number] = kind, value + more

    layout_of(simple(column_index=LEAST, offset_index=PLACES).write())
    refused(simple(column_index=LEAST, offset_index=PLACES, change=change).write())


@pytest.mark.parametrize(
    "index",
    [
        {"offset_index": {**PLACES, 3: text(b"Alice has hiv")}},
        {"offset_index": {**PLACES, 3: i64(2**60)}},
        {"offset_index": {1: several(part({1: text(b"Alice has hiv")}))}},
        {"column_index": {**LEAST, 8: text(b"Alice has hiv")}},
        {"column_index": {**LEAST, 8: i64(2**60)}},
        {"column_index": {**LEAST, 5: several(text(b"Alice has hiv"))}},
    ],
)
def test_indexes_hold_nothing_but_places_and_values(index: dict[str, Struct]) -> None:
    refused(simple(**index).write())


def test_the_indexes_of_arrow_are_read() -> None:
    table = pl.DataFrame({"age": [1, 2, 3], "ward": ["a", "b", None]})
    out = io.BytesIO()
    pq.write_table(table.to_arrow(), out, write_page_index=True, store_schema=False)
    layout = layout_of(out.getvalue())
    assert {b"a", b"b"} <= {*layout.chunks[0][1].ends}
    assert layout.known


# what has a use ---------------------------------------------------------------------------------------------------


def known(change: Callable[[Struct], Any]) -> bool:
    return layout_of(simple(change=change).write()).known


def element(footer: Struct, number: int = 1) -> Struct:
    fields: Struct = footer[2][1][number][1]
    return fields


USELESS: dict[str, Callable[[Struct], Any]] = {
    "a field of the footer": lambda footer: footer.update({8: i64(1)}),
    "text in a field of the footer": lambda footer: footer.update({1: ALICE}),
    "text in the order of columns": lambda footer: footer.update({7: several(part({1: ALICE}))}),
    "a field of metadata": lambda footer: footer[5][1][0][1].update({3: ALICE}),
    "the name of the root": lambda footer: element(footer, 0).update({4: ALICE}),
    "text in the root": lambda footer: element(footer, 0).update({5: ALICE}),
    "a field of a column": lambda footer: element(footer).update({11: i64(1)}),
    "text in the type of a column": lambda footer: element(footer).update({10: part({1: part({1: ALICE})})}),
    "text in a list": lambda footer: element(footer).update({10: part({1: several(ALICE)})}),
    "a field of a row group": lambda footer: group_of(footer).update({8: i64(1)}),
    "text in a row group": lambda footer: group_of(footer).update({7: ALICE}),
    "a field of a chunk's place": lambda footer: column_of(footer).update({8: i64(1)}),
    "text in a chunk's place": lambda footer: column_of(footer).update({2: ALICE}),
    "a field of a chunk": lambda footer: chunk_of(footer).update({17: i64(1)}),
    "text in a chunk": lambda footer: chunk_of(footer).update({16: part({1: ALICE})}),
}


@pytest.mark.parametrize("what", USELESS)
def test_fields_without_a_use_are_noticed(what: str) -> None:
    assert known(lambda footer: None)
    assert not known(USELESS[what])


@pytest.mark.parametrize("name", [b"root", b"schema", None])
def test_the_root_of_a_schema_has_a_name_that_says_nothing(name: bytes | None) -> None:
    def change(footer: Struct) -> None:
        element(footer, 0).pop(4)
        element(footer, 0).update({4: text(name)} if name else {})
        ordered = sorted(element(footer, 0).items())
        element(footer, 0).clear()
        element(footer, 0).update(ordered)

    assert known(change)


def test_useless_fields_in_any_row_group_are_noticed() -> None:
    def change(footer: Struct) -> None:
        footer[4][1][0][1][8] = i64(1)

    groups = [(1, [Column([data_page(1)])]), (1, [Column([data_page(1)])])]
    assert not layout_of(File(groups, change=change).write()).known


def test_names_are_those_of_the_schema_and_of_chunks() -> None:
    def change(footer: Struct) -> None:
        element(footer)[4] = text(b"b")
        chunk_of(footer)[3] = several(text(b"c"), text(b"a"))

    assert layout_of(simple(change=change).write()).names == (b"a", b"b", b"c")


# Thrift -----------------------------------------------------------------------------------------------------------


def read_with(value: Value, number: int = 40) -> bool:
    """Whether a footer that holds this value, too, is read."""

    def change(footer: Struct) -> None:
        footer[number] = value

    try:
        return not layout_of(simple(change=change).write()).known
    except ReleaseError:
        return False


def deep(levels: int) -> Value:
    value: Value = part({})
    for _ in range(levels - 1):
        value = part({1: value})
    return value


@pytest.mark.parametrize(
    "value",
    [
        yes(), no(), i8(200), (4, -3), i32(-(2**31)), i64(2**62), i64(-(2**62)), real(0.5), text(b""), text(b"abc"),
        several(), several(i64(1), i64(-1)), several(*[i32(7)] * 14), several(*[i32(7)] * 15), several(*[i32(7)] * 300),
        several(yes(), no(), yes()), several(no()), several(i8(1), i8(0)), several(real(1.5)), several(text(b"ab")),
        several(several(i32(1)), several()), (10, (i32(1), i32(2))), part({}), part({1: i32(1), 40: yes(), 41: no()}),
        deep(15), several(deep(15), deep(15)),
    ],
    ids=str,
)  # fmt: skip
def test_values_of_every_kind_are_read(value: Value) -> None:
    assert read_with(value)
    assert read_with(value, 1000)


@pytest.mark.parametrize("value", [(11, None), (13, None), (14, None), deep(16), deep(100)], ids=str)
def test_values_of_other_kinds_or_too_deep_are_refused(value: Value) -> None:
    assert not read_with(value)


@pytest.mark.parametrize(
    ("raw", "fits"),
    [
        (b"\x06" + b"\x80\x01" + b"\x80" * 8 + b"\x01", True),  # ten bytes: 2^63 and no more
        (b"\x06" + b"\x80\x01" + b"\x80" * 9 + b"\x01", True),
        (b"\x06" + b"\x80\x01" + b"\x80" * 10 + b"\x01", False),
        (b"\x08" + b"\x80\x01" + b"\xff\xff\xff\xff\x07", False),  # a text longer than the file
        (b"\x09" + b"\x80\x01" + b"\xf5\xff\xff\xff\xff\x07", False),  # a list longer than the file
        (b"\x06" + b"\x02" + b"\x00", False),  # field 1 once more
        (b"\x06" + b"\x80\x01" + b"\x00", True),
    ],
    ids=range(7),
)
def test_numbers_and_sizes_are_bounded(raw: bytes, fits: bool) -> None:
    """A field written by hand at the end of the footer: its kind, its number, its value."""
    data = simple().write()
    size = int.from_bytes(data[-8:-4], "little")
    other = data[:-9] + raw + b"\0" + (size + len(raw)).to_bytes(4, "little") + b"PAR1"
    if fits:
        assert not layout_of(other).known
    else:
        refused(other)


def test_a_text_may_end_where_the_file_ends() -> None:
    """The last eight bytes of the footer's length and mark are bytes of the file, too."""
    data = simple().write()
    size = int.from_bytes(data[-8:-4], "little")
    start = len(data) - 8 - size
    for more in (0, 1):
        raw = b"\x08\x80\x01" + varint(8 + more)
        footer = data[start:-9] + raw
        other = data[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1"
        refused(other)  # one has no end, the other is too long


def test_places_are_in_the_file() -> None:
    def change(footer: Struct) -> None:
        column_of(footer).update({4: i64(-5), 5: i32(3)})

    refused(simple(change=change).write())


def test_what_the_library_writes_is_read() -> None:
    table = pl.DataFrame({"age": [30, 40, 50], "ward": ["a", "b", None], "s": [["x", "y"], ["x"], ["y"]]})
    out = io.BytesIO()
    table.write_parquet(out)
    layout = layout_of(out.getvalue())
    assert (layout.rows, layout.groups, layout.known) == (3, (3,), True)
    assert [chunk.cells for chunk in layout.chunks[0]] == [3, 3, 4]
    assert layout.names == (b"age", b"element", b"list", b"s", b"ward")
    assert {struct.pack("<q", 30), struct.pack("<q", 50)} == {*layout.chunks[0][0].ends}


# nothing beside the cells -----------------------------------------------------------------------------------------

TABLE = pl.DataFrame({"age": [30, 40, 50, 30], "ward": ["a", "b", None, "a"]})
SCHEMA = (b"ARROW:schema", b"abc")
OWN = Layout(4, (4,), (), "Polars", (SCHEMA,), (b"age", b"ward"), True)


def q(*numbers: int) -> tuple[bytes, ...]:
    return tuple(struct.pack("<q", number) for number in numbers)


def d(*numbers: float) -> tuple[bytes, ...]:
    return tuple(struct.pack("<d", number) for number in numbers)


def layout(**change: Any) -> Layout:
    """What another writer says of TABLE: all in one row group."""
    chunks = ((Chunk(4, 40, 3, q(30, 50)), Chunk(4, 40, 2, (b"a", b"b"))),)
    return Layout(4, (4,), chunks, "Polars version 1.2.3", (), (b"age", b"ward"), True)._replace(**change)


def said_of(other: Layout, table: pl.DataFrame = TABLE) -> str | None:
    try:
        require_nothing_beside(other, table, OWN)
    except ReleaseError as error:
        return str(error)
    return None


BESIDE = "it holds something beside its cells: fields without a use, or names that are no columns."
AGE_ENTRIES = "'age' has a dictionary of other values than its cells."
AGE_ENDS = "'age' has statistics of other values than its cells."


WARD = Chunk(4, 40, 2, (b"a", b"b"))


def chunks(age: Chunk, ward: Chunk = WARD) -> tuple[tuple[Chunk, ...], ...]:
    return ((age, ward),)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, None),
        ({"metadata": (SCHEMA,)}, None),
        ({"names": (b"age", b"element", b"item", b"list", b"ward")}, None),
        ({"chunks": chunks(Chunk(4, 40, None, ()))}, None),
        ({"chunks": chunks(Chunk(4, 40, 3, q(30, 40, 50)))}, None),
        ({"known": False}, BESIDE),
        ({"names": (b"Alice", b"age", b"ward")}, BESIDE),
        ({"names": (b"age",)}, BESIDE),
        (
            {"metadata": ((b"note", b"abc"),)},
            "it was written by 'Polars version 1.2.3', with metadata beside its cells.",
        ),
        (
            {"metadata": ((b"ARROW:schema", b"x"),)},
            "it was written by 'Polars version 1.2.3', with metadata beside its cells.",
        ),
        ({"chunks": ((Chunk(4, 40, None, ()),),)}, "it has other columns than it shows."),
        ({"chunks": chunks(Chunk(4, 40, 4, ()))}, AGE_ENTRIES),
        ({"chunks": chunks(Chunk(4, 40, 2, ()))}, AGE_ENTRIES),
        ({"chunks": chunks(Chunk(4, 40, 3, q(30, 51)))}, AGE_ENDS),
        ({"chunks": chunks(Chunk(4, 40, 3, (b"Alice",)))}, AGE_ENDS),
        (
            {"chunks": chunks(Chunk(4, 40, 3, ()), Chunk(4, 40, 2, (b"a", b"hiv")))},
            "'ward' has statistics of other values than its cells.",
        ),
        (
            {"chunks": chunks(Chunk(4, 40, 3, ()), Chunk(4, 40, 3, ()))},
            "'ward' has a dictionary of other values than its cells.",
        ),
    ],
    ids=range(17),
)
def test_a_file_of_another_writer_holds_its_cells_alone(change: dict[str, Any], message: str | None) -> None:
    assert said_of(layout(**change)) == message


@pytest.mark.parametrize(
    ("writer", "fits"),
    [
        ("Polars", True),
        ("Polars (python)", True),
        ("Polars version 1.2.3-beta.4 (build 0123456789abcdef0123456789abcdef01234567)", True),
        ("parquet-cpp-arrow version 21.0.0", True),
        ("parquet-cpp-arrow version 21.0.0-SNAPSHOT", True),
        ("Polars version Alice has hiv", False),
        ("Alice Polars", False),
        ("parquet-mr version 1.2", False),
        ("", False),
    ],
)
def test_writers_that_are_known(writer: str, fits: bool) -> None:
    unknown = "it was written by a program that Pluralis does not know. Ask for a file of Polars or Arrow."
    assert said_of(layout(writer=writer)) == (None if fits else unknown)


def test_row_groups_hold_what_their_own_rows_hold() -> None:
    ward = Chunk(2, 20, None, ())
    first, second = Chunk(2, 20, 2, q(30, 40)), Chunk(2, 20, 2, q(30, 50))
    assert said_of(layout(groups=(2, 2), chunks=((first, ward), (second, ward)))) is None
    assert said_of(layout(groups=(2, 2), chunks=((second, ward), (second, ward)))) == AGE_ENDS
    assert said_of(layout(groups=(2, 2), chunks=((first, ward), (first, ward)))) == AGE_ENDS
    three = (Chunk(3, 20, 3, q(30, 50)), ward), (Chunk(1, 20, 1, q(30)), ward)
    assert said_of(layout(groups=(3, 1), chunks=three)) is None


def test_numbers_with_fractions_and_both_zeros() -> None:
    table = pl.DataFrame({"age": [0.0, 1.5]})
    one = layout(names=(b"age",), groups=(2,))
    assert said_of(one._replace(chunks=((Chunk(2, 9, 2, d(0.0, 1.5)),),)), table) is None
    assert said_of(one._replace(chunks=((Chunk(2, 9, 2, d(-0.0, 1.5)),),)), table) is None
    assert said_of(one._replace(chunks=((Chunk(2, 9, 2, d(0.0, 2.5)),),)), table) == AGE_ENDS
    assert said_of(one._replace(chunks=((Chunk(2, 9, 2, d(-1.0)),),)), table) == AGE_ENDS
    assert said_of(one._replace(chunks=((Chunk(2, 9, 2, d(1.0)),),)), table) == AGE_ENDS
    others = pl.DataFrame({"age": [1.0, 1.5]})
    assert said_of(one._replace(chunks=((Chunk(2, 9, 2, d(0.0)),),)), others) == AGE_ENDS
    assert said_of(one._replace(chunks=((Chunk(2, 9, 2, d(-0.0)),),)), others) == AGE_ENDS


def test_members_of_sets_are_values() -> None:
    table = pl.DataFrame({"age": [["x", "y"], ["x", "z"]]})
    names = (b"age", b"element", b"list")
    sets = layout(names=names, groups=(2,))
    assert said_of(sets._replace(chunks=((Chunk(4, 9, 3, (b"x", b"z")),),)), table) is None
    assert said_of(sets._replace(chunks=((Chunk(4, 9, 2, ()),),)), table) == AGE_ENTRIES
    assert said_of(sets._replace(chunks=((Chunk(4, 9, 3, (b"hiv",)),),)), table) == AGE_ENDS
