"""A release folder read by simple code of its own: json, csv and pyarrow, nothing of Pluralis.

It accepts one spelling of a release. Whatever it refuses, or notes under `odd`, no reader of strangers' folders should
believe: what is neither read nor hashed can say anything.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import stat
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

MANIFEST, README = "manifest.json", "README.md"
LARGEST = 2**63  # of any number in a manifest: no cell holds more
DEEPEST = 100
ESCAPED = "=+-@'\t\r"
Value = str | int | float | tuple[Any, ...] | None
Row = dict[str, Value]


class Unreadable(Exception):
    """The folder is not a release that simple code can read; the text says why, in few words."""


@dataclass(frozen=True)
class Column:
    name: str
    role: str
    type: str
    attribute: str
    exact: bool
    sets: bool
    ordered: bool
    domain: tuple[Any, ...]
    hierarchy: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Table:
    name: str
    columns: tuple[Column, ...]
    rows: list[Row]

    def role(self, *roles: str) -> list[Column]:
        return [column for column in self.columns if column.role in roles]


@dataclass
class Folder:
    """What a folder says, and in which ways it is not the one spelling of a release."""

    manifest: dict[str, Any]
    tables: list[Table]
    odd: list[str] = field(default_factory=list)

    def table(self, name: str) -> Table:
        named = [table for table in self.tables if table.name == name]
        if len(named) != 1:
            raise Unreadable(f"not one table {name}")
        return named[0]


def read_folder(folder: Path, known_parameters: Iterable[str]) -> Folder:
    """Everything in the folder, or Unreadable. `known_parameters` are those that some release of the library has."""
    for name in (MANIFEST, README):
        if not stat.S_ISREG(_mode(folder / name)):
            raise Unreadable(f"{name} is not a file")
    data = (folder / MANIFEST).read_bytes()
    manifest = _json(data)
    odd = []
    if not isinstance(manifest, dict):
        raise Unreadable("the manifest is not an object")
    if data != (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass"):
        odd.append("the manifest is not in its one spelling")
    parameters = _of(manifest, "parameters", dict)
    odd += [f"parameters: {name}" for name in sorted(set(parameters) - set(known_parameters))]
    if not isinstance(parameters.get("options", {}), dict):
        odd.append("parameters: options are no options")
    infos = _of(manifest, "tables", list)
    files = [_of(info, "file", str) for info in infos]
    if len(set(files)) < len(files) or set(files) & {MANIFEST, README}:
        raise Unreadable("two tables share a file")
    if any("/" in name or name in ("", ".", "..") for name in files):
        raise Unreadable("a file in another folder")
    for name in sorted(os.listdir(folder)):  # noqa: PTH208
        if name not in {MANIFEST, README, *files}:
            odd.append("a file that is not listed")
        if not stat.S_ISREG(_mode(folder / name)):
            odd.append("something that is not a file")
    tables = []
    for info, file in zip(infos, files, strict=True):
        if not stat.S_ISREG(_mode(folder / file)):
            raise Unreadable("a table that is not a file")
        columns = tuple(described(column) for column in _of(info, "columns", list))
        content = (folder / file).read_bytes()
        read = _csv_rows if file.endswith(".csv") else _parquet_rows
        tables.append(Table(_of(info, "name", str), columns, read(content, columns, odd)))
    return Folder(manifest, tables, odd)


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except OSError as error:
        raise Unreadable(f"a file is missing ({type(error).__name__})") from None


def _json(data: bytes) -> Any:
    """Strict JSON: UTF-8 without a mark, no key twice, no NaN, no huge number, not deep."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise Unreadable("a key of the manifest stands twice")
        return dict(pairs)

    def refuse(word: str) -> Any:
        raise Unreadable(f"{word} in the manifest")

    def whole(digits: str) -> int:
        if len(digits) > 20:
            raise Unreadable("a huge number in the manifest")
        return int(digits)

    try:
        text = data.decode("utf-8")
        plain = json.loads(text, object_pairs_hook=once, parse_constant=refuse, parse_int=whole)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise Unreadable(f"the manifest is not JSON ({type(error).__name__})") from None
    _check(plain, 0)
    return plain


def _check(value: Any, depth: int) -> None:
    if depth > DEEPEST:
        raise Unreadable("the manifest is too deep")
    if isinstance(value, str) and any(0xD800 <= ord(letter) < 0xE000 for letter in value):
        raise Unreadable("half a character in the manifest")
    if isinstance(value, int | float) and abs(value) > LARGEST:
        raise Unreadable("a huge number in the manifest")
    for inner in [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []:
        _check(inner, depth + 1)


def _of(value: Any, key: str, kind: type) -> Any:
    member = value.get(key) if isinstance(value, dict) else None
    if type(member) is not kind:  # True is no number
        raise Unreadable(f"{key} is not what it should be")
    return member


def described(column: Any) -> Column:
    """What the manifest says of a column, or of an attribute that has none."""
    role, type_ = _of(column, "role", str), _of(column, "type", str)
    name = _of(column, "name", str)
    attribute = column.get("attribute") or name
    if role not in ("quasi", "sensitive", "plain", "group", "attribute", "value", "count"):
        raise Unreadable("a role that there is not")
    lines = column.get("hierarchy") or []
    return Column(
        name,
        role,
        type_,
        attribute,
        column.get("exact") is True,
        column.get("sets") is True,
        column.get("ordered") is True,
        tuple(column.get("domain") or ()),
        tuple(tuple(line) for line in lines),
    )


# tables --------------------------------------------------------------------------------------------------------------


def _parquet_rows(data: bytes, columns: tuple[Column, ...], odd: list[str]) -> list[Row]:
    try:
        file = pq.ParquetFile(io.BytesIO(data))
        texts = [
            name for name in file.schema_arrow.names if pa.types.is_large_string(file.schema_arrow.field(name).type)
        ]
        table = pq.read_table(io.BytesIO(data), read_dictionary=texts)
        table.validate(full=True)
        plain = [column.to_pylist() for column in table.columns]
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise Unreadable(f"not Parquet ({type(error).__name__})") from None
    if table.column_names != [column.name for column in columns]:
        raise Unreadable("other columns than the manifest says")
    for column in table.columns:
        for chunk in column.chunks:
            if pa.types.is_dictionary(chunk.type) and len(chunk.dictionary) > len(chunk.indices.drop_null().unique()):
                odd.append("Parquet: values that no row has in a dictionary")
    if set(file.metadata.metadata or {}) - {b"ARROW:schema"}:
        odd.append("Parquet: metadata")
    return [
        {c.name: tuple(cell) if isinstance(cell, list) else cell for c, cell in zip(columns, row, strict=True)}
        for row in zip(*plain, strict=True)
    ]


def _csv_rows(data: bytes, columns: tuple[Column, ...], odd: list[str]) -> list[Row]:
    try:
        lines = list(csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise Unreadable(f"not CSV ({type(error).__name__})") from None
    if not lines or lines[0] != [column.name for column in columns]:
        raise Unreadable("other columns than the manifest says")
    if any(len(line) != len(columns) for line in lines):
        raise Unreadable("a line of another length")
    if not data.endswith(b"\n") or b"\r" in data or data.startswith(b"\xef\xbb\xbf"):
        odd.append("CSV: other line ends, or a mark")
    return [{c.name: _cell(text, c) for c, text in zip(columns, line, strict=True)} for line in lines[1:]]


def _cell(text: str, column: Column) -> Value:
    if text == "":
        return None
    if column.sets:
        return tuple(_members(text, column))
    if column.role in ("group", "count") or (column.type == "number" and (column.role != "quasi" or column.exact)):
        return _number(text)
    return text[1:] if len(text) > 1 and text[0] == "'" and text[1] in ESCAPED else text


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        raise Unreadable("a cell that is not a number") from None
    if not math.isfinite(value):
        raise Unreadable("a cell that is not a number")
    return value


def _members(text: str, column: Column) -> list[Value]:
    text = text.removeprefix("'")
    if not (text.startswith("{") and text.endswith("}")):
        raise Unreadable("a cell that is not a set")
    members = set_members(text)
    return [_number(str(m)) for m in members] if column.type == "number" else list(members)


def set_members(label: str) -> list[str | None]:
    """The members of `{a, "b, c", null}`."""
    inner, members, decoder, position = label[1:-1], list[str | None](), json.JSONDecoder(), 0
    while position <= len(inner):
        while inner[position : position + 1] == " ":
            position += 1
        if inner[position : position + 1] == '"':
            try:
                member, position = decoder.raw_decode(inner, position)
            except json.JSONDecodeError:
                raise Unreadable("a set that cannot be read") from None
            members.append(member)
            if inner[position : position + 1] not in ("", ","):
                raise Unreadable("a set that cannot be read")
            position += 1
        else:
            end = inner.find(",", position)
            end = len(inner) if end < 0 else end
            member = inner[position:end].strip()
            members.append(None if member == "null" else member)
            position = end + 1
    return members


# values ---------------------------------------------------------------------------------------------------------------


def canonical(value: Value, *, number: bool, keep_case: bool) -> Value:
    """What spellings of one value have in common: `5` and `5.0`, `FLU` and `flu `."""
    if value is None or isinstance(value, tuple):
        return value
    if number or not isinstance(value, str):
        try:
            return f"number {Decimal(str(value)).normalize()}"
        except InvalidOperation:
            value = str(value)
    text = "".join(" " if unicodedata.category(c) == "Zs" or c in "\t\n\r\x0b\x0c\x85⠀" else c for c in value)
    text = unicodedata.normalize("NFKC", text)
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Cc"))
    text = " ".join(text.split())
    return text if keep_case else unicodedata.normalize("NFKC", text.upper().lower())


def interval(value: Value) -> tuple[Decimal, Decimal] | None:
    """The two ends of `[25, 40]`, or of a number; None of anything else."""
    text = str(value)
    ends = text[1:-1].split(", ") if text.startswith("[") and text.endswith("]") else [text, text]
    try:
        low, high = (Decimal(end) for end in ends)
    except (InvalidOperation, ValueError):
        return None
    return (low, high) if low.is_finite() and high.is_finite() else None
