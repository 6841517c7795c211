"""A release folder taken apart, to be changed and sealed again.

`sealed` makes a changed folder look as true as it can: rows sorted, sentences and domains rewritten, hashes and sizes
recomputed, the README written anew. Otherwise one check of many, the hash, would hide all others.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from pluralis.policy.rules import Rule
from pluralis.release.manifest import Claim, Manifest, claim_words
from pluralis.release.readme import release_readme
from pluralis.release.release import canonical_order
from pluralis.table.parquet_files import write_parquet_bytes

MANIFEST, README = "manifest.json", "README.md"


@dataclass
class Sheet:
    """One table: its columns by name with the type of each, and rows of cells. Cells of CSV are text."""

    file: str
    names: list[str]
    kinds: list[Any]
    rows: list[list[Any]]

    @property
    def is_csv(self) -> bool:
        return self.file.endswith(".csv")

    @classmethod
    def read(cls, file: str, data: bytes) -> Sheet:
        if file.endswith(".csv"):
            lines = list(csv.reader(io.StringIO(data.decode(), newline="")))
            return cls(file, lines[0], [None] * len(lines[0]), lines[1:])
        frame = pl.read_parquet(io.BytesIO(data))
        return cls(file, frame.columns, frame.dtypes, [list(row) for row in frame.rows()])

    def frame(self) -> pl.DataFrame:
        """As Polars holds it; a cell that does not fit its column makes the column text."""
        series = []
        for place, (name, kind) in enumerate(zip(self.names, self.kinds, strict=True)):
            cells = [row[place] for row in self.rows]
            try:
                series.append(pl.Series(name, cells, dtype=kind, strict=True))
            except (TypeError, OverflowError, pl.exceptions.PolarsError):
                series.append(pl.Series(name, [None if c is None else str(c) for c in cells], dtype=pl.String))
        return pl.DataFrame(series)

    def data(self, *, in_order: bool) -> bytes:
        if not self.is_csv:
            frame = self.frame()
            lists = any(isinstance(kind, pl.List) for kind in frame.dtypes)
            return write_parquet_bytes(canonical_order(frame) if in_order and not lists else frame)
        rows = sorted(self.rows, key=self._order) if in_order else self.rows
        out = io.StringIO(newline="")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerows([self.names, *rows])
        return out.getvalue().encode("utf-8", "surrogatepass")

    def _order(self, row: list[str]) -> list[Any]:
        cells = sorted(zip(self.names, row, strict=True), key=lambda pair: pair[0] != "group")
        return [(cell == "", (0, float(cell), "") if _is_number(cell) else (1, 0.0, cell)) for _, cell in cells]


def _is_number(text: str) -> bool:
    return text.removeprefix("-").replace(".", "", 1).isdecimal()


@dataclass
class Draft:
    """A folder in parts. `raw` and `links` have the last word: bytes of files, and what is no file."""

    manifest: dict[str, Any]
    sheets: list[Sheet]
    readme: bytes
    in_order: bool = True
    sentences: bool = True
    domains: bool = True
    spelled: bytes | None = None  # the manifest, if not as it is always written
    raw: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)  # name -> "fifo", "folder", or what a link points to
    removed: set[str] = field(default_factory=set)
    hidden: list[str] = field(default_factory=list)  # what was put where no table and no claim shows it
    hidden_in: dict[str, str] = field(default_factory=dict)  # the same inside files that were written otherwise
    new_readme: bytes | None = None

    @classmethod
    def from_files(cls, files: dict[str, bytes]) -> Draft:
        manifest = json.loads(files[MANIFEST])
        sheets = [Sheet.read(info["file"], files[info["file"]]) for info in manifest["tables"]]
        return cls(manifest, sheets, files[README])

    def info(self, sheet: Sheet) -> dict[str, Any]:
        """What the manifest says of a table; an empty answer where it says nothing any more."""
        tables = self.manifest.get("tables")
        for info in tables if isinstance(tables, list) else []:
            if isinstance(info, dict) and info.get("file") == sheet.file:
                return info
        return {}

    def columns(self, sheet: Sheet) -> list[dict[str, Any]]:
        columns = self.info(sheet).get("columns")
        return [column for column in columns if isinstance(column, dict)] if isinstance(columns, list) else []

    def sealed(self) -> dict[str, bytes]:
        """The files, everything made to agree that can be."""
        files = {}
        for sheet in self.sheets:
            files[sheet.file] = self.raw.get(sheet.file) or sheet.data(in_order=self.in_order)
        manifest = self.manifest
        if self.domains:
            for sheet in self.sheets:
                _rewrite_domains(sheet, self.columns(sheet))
        if self.sentences:
            _rewrite_sentences(manifest)
        _rehash(manifest, files, {sheet.file: len(sheet.rows) for sheet in self.sheets})
        readme = self.readme
        with suppress(Exception):  # of a manifest that is none, the README stays as it was
            readme = release_readme(Manifest.model_validate(manifest)).encode()
        files[README] = readme if self.new_readme is None else self.new_readme
        _rehash(manifest, files, {})
        files[MANIFEST] = self.spelled or to_json(manifest)
        return {name: data for name, data in {**files, **self.raw}.items() if name not in self.removed}

    def write(self, folder: Path) -> None:
        """Make the folder."""
        folder.mkdir()
        for name, data in self.sealed().items():
            (folder / name).write_bytes(data)
        for name, target in self.links.items():
            path = folder / name
            path.unlink(missing_ok=True)
            if target == "fifo":
                os.mkfifo(path)
            elif target == "folder":
                path.mkdir()
            else:
                path.symlink_to(target)


def to_json(manifest: Any) -> bytes:
    """The one spelling of a manifest, numbers of thousands of digits included."""
    sys.set_int_max_str_digits(0)
    try:
        return _spelled(manifest)
    finally:
        sys.set_int_max_str_digits(sys.int_info.default_max_str_digits)


def _spelled(manifest: Any) -> bytes:
    return (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


def _rewrite_sentences(manifest: dict[str, Any]) -> None:
    stated = manifest.get("claims")
    claims: list[dict[str, Any]] = stated if isinstance(stated, list) else []
    for claim in claims:
        with suppress(Exception):  # a claim that is none keeps its sentence
            claim["rule"] = claim_words(Claim.model_validate({**claim, "rule": ""}), str(manifest.get("kind")))
    with suppress(Exception):  # the rules of a multi release are its claims
        if manifest["parameters"].get("rules"):
            rules = (Rule(knows=tuple(sorted(c["adversary"])), protects=c["attribute"], l=c["l"]) for c in claims)
            manifest["parameters"]["rules"] = [str(rule) for rule in rules]


def _rewrite_domains(sheet: Sheet, columns: list[dict[str, Any]]) -> None:
    """Domains as they follow from the cells, of columns that hold values and had a domain."""
    for column in columns:
        name = column.get("name")
        if not isinstance(column.get("domain"), list) or name not in sheet.names or column.get("hierarchy"):
            continue
        if column.get("role") == "quasi" and not column.get("exact"):
            continue
        place = sheet.names.index(name)
        cells = [row[place] for row in sheet.rows]
        if column.get("sets"):
            continue
        values = [cell for cell in cells if cell is not None and cell != ""]
        if column.get("type") == "number" and all(isinstance(c, int | float) for c in values) and values:
            column["domain"] = [min(values), max(values)]
        elif column.get("type") == "text" and all(isinstance(c, str) for c in values):
            missing = [None] if len(values) < len(cells) else []
            held = sorted(set(values))
            if column.get("ordered"):  # an order is what it is said to be
                order = [value for value in column["domain"] if isinstance(value, str)]
                held = [*(value for value in order if value in held), *(value for value in held if value not in order)]
            column["domain"] = [*held, *missing]


def _rehash(value: Any, files: dict[str, bytes], rows: dict[str, int]) -> None:
    """Hashes and sizes of files, wherever the manifest has them, and of the README under a key that is called so."""
    if isinstance(value, list):
        for inner in value:
            _rehash(inner, files, rows)
    if not isinstance(value, dict):
        return
    file = value.get("file")
    if isinstance(file, str):
        _restate(value, files.get(file))
        if "rows" in value and file in rows:
            value["rows"] = rows[file]
    for key, inner in value.items():
        data = files.get(README)
        if "readme" in key.lower() and data is not None:
            if isinstance(inner, dict):
                _restate(inner, data)
            elif isinstance(inner, str) and len(inner) == 64:
                value[key] = hashlib.sha256(data).hexdigest()
            elif type(inner) is int:
                value[key] = len(data)
        else:
            _rehash(inner, files, rows)


def _restate(value: dict[str, Any], data: bytes | None) -> None:
    if data is None:
        return
    if "sha256" in value:
        value["sha256"] = hashlib.sha256(data).hexdigest()
    for key in ("size", "bytes"):
        if key in value:
            value[key] = len(data)
