"""Footers of Parquet files, taken apart and put together again: Thrift's compact protocol, fields in order."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

Fields = list[list[Any]]  # [number, kind, value]


class _Reader:
    def __init__(self, data: bytes, position: int) -> None:
        self.data, self.position = data, position

    def byte(self) -> int:
        self.position += 1
        return self.data[self.position - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def signed(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def value(self, kind: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self.byte()
        if kind in (4, 5, 6):
            return self.signed()
        if kind == 7:
            self.position += 8
            return struct.unpack("<d", self.data[self.position - 8 : self.position])[0]
        if kind == 8:
            size = self.varint()
            self.position += size
            return bytes(self.data[self.position - size : self.position])
        if kind == 12:
            return self.struct()
        head = self.byte()
        size, inner = head >> 4, head & 15
        size = self.varint() if size == 15 else size
        return inner, [self.byte() if inner in (1, 2) else self.value(inner) for _ in range(size)]

    def struct(self) -> Fields:
        fields: Fields = []
        number = 0
        while (head := self.byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self.signed()
            fields.append([number, head & 15, self.value(head & 15)])
        return fields


def _varint(number: int) -> bytes:
    out = b""
    while True:
        byte, number = number & 0x7F, number >> 7
        out += bytes([byte | 0x80 if number else byte])
        if not number:
            return out


def _signed(number: int) -> bytes:
    return _varint(number << 1 if number >= 0 else (-number << 1) - 1)


def _value(kind: int, value: Any) -> bytes:
    if kind in (1, 2):
        return b""
    if kind == 3:
        return bytes([value])
    if kind in (4, 5, 6):
        return _signed(value)
    if kind == 7:
        return struct.pack("<d", value)
    if kind == 8:
        return _varint(len(value)) + value
    if kind == 12:
        return _struct(value)
    inner, items = value
    head = bytes([len(items) << 4 | inner]) if len(items) < 15 else bytes([0xF0 | inner]) + _varint(len(items))
    return head + b"".join(bytes([item]) if inner in (1, 2) else _value(inner, item) for item in items)


def _struct(fields: Fields) -> bytes:
    out, last = b"", 0
    for number, kind, value in sorted(fields, key=lambda field: field[0]):
        kind = (1 if value else 2) if kind in (1, 2) else kind
        step = number - last
        out += bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + _signed(number)
        out += _value(kind, value)
        last = number
    return out + b"\0"


def field(fields: Fields, number: int) -> Any:
    """The value of a field."""
    return next(value for known, _, value in fields if known == number)


def put(fields: Fields, number: int, kind: int, value: Any) -> None:
    """Set a field, or add it."""
    fields[:] = [one for one in fields if one[0] != number] + [[number, kind, value]]


def with_footer(data: bytes, change: Callable[[Fields], None]) -> bytes:
    """A Parquet file with another footer."""
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    footer = _Reader(data, start).struct()
    change(footer)
    written = _struct(footer)
    return data[:start] + written + len(written).to_bytes(4, "little") + b"PAR1"
