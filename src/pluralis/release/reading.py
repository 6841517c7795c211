"""The one reader of release folders: it accepts exactly one spelling of a release, and nothing beside it.

A folder may come from a stranger who wants it to pass for more than it is, or wants to harm whoever reads it. This is
the wall: `audit`, `query`, `attack` and everything else that opens a folder goes through `inspect_folder`. Whatever it
returns without a problem has been shown to be

- **whole and alone**: the manifest, the README and the tables that the manifest lists, all regular files, nothing else;
- **of one spelling**: the manifest is the bytes that `Manifest.to_json` writes for what was read from it, so no key
  stands twice, none is unknown, no number has another form; no text in it has characters that cannot be seen. The
  README is the one that this manifest gives. A CSV table is the bytes that are written for its cells. A Parquet table
  is, too, where the same version of the writer made it; one of another version has no metadata, gaps, dictionary
  entries or statistics beside its cells (`strict_parquet`);
- **as large as it says**: sizes and numbers of rows stand in the manifest and are compared before anything is
  unfolded; all tables together unfold to no more than `limit` bytes, or the caller raises it;
- **of one mind** (`form`, `domains`): columns have the roles, types and names that their kind of release has; every
  name in a claim is a published attribute; claims are those that follow from the parameters, no fewer; domains are
  those of the cells; no protected value is spelled in two ways; what such tables never stop stands in `breaks`.

On this the audit then judges the claims, from the cells alone. So of a stranger's folder an audit that passes proves:
*whatever table it was made from, if the tables show rows of that table as the manifest says, nobody who knows what a
claim names becomes surer than the claim says.* It does not prove that there is such a table, or that the publisher
told the truth where no byte shows it: what was suppressed (`suppressed`), which method made it (`method`, `variant`),
what attacks got (the figures in `breaks`), that columns were shuffled (`linked: false`), that sets were drawn
(`addition`), that a quasi or plain column is not a sensitive one under another name. Who has the original can see.

Nothing here believes a mark, a size or an order that a file states of itself, runs longer than in proportion to the
bytes and rows that it may have, or lets another exception through than `ReleaseError`, but for what the machine itself
fails at: reading a disk, finding memory.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from pydantic import ValidationError

from pluralis.errors import InputError, ReleaseError
from pluralis.progress import stage
from pluralis.release.domains import domain_problems
from pluralis.release.form import form_problems, unsaid
from pluralis.release.manifest import FORMAT, MANIFEST, README, VERSION, ColumnInfo, Manifest, TableInfo
from pluralis.release.parts import PARTS_FORMAT, OfAll, Parts, PartsManifest, part_folder, parts_readme
from pluralis.release.readme import release_readme
from pluralis.release.release import Release
from pluralis.release.strict_parquet import layout_of, require_nothing_beside
from pluralis.table.csv_files import is_pattern, read_release_csv, write_csv_bytes
from pluralis.table.dictionaries import clear_sorted_flag, dictionary_encode, dictionary_encode_table, narrow
from pluralis.table.labels import number_texts, read_set
from pluralis.table.parquet_files import written_again
from pluralis.table.spelling import hides_characters

LIMIT = 2 << 30  # bytes that the tables of a release may unfold to, unless the caller allows more
_MANIFEST_BYTES = 256 << 20
_TEXT, _NUMBER = 16, 8  # bytes of a cell in memory
_COLUMNS = 2  # read at a time
_AT_ONCE = 1 << 26  # bytes up to which a table is read whole: column by column, its footer is read as often
_ESCAPED = re.compile(r"(?<!\\)(?:\\\\)*\\[^\"\\]")
_DAMAGED = "The release is damaged or was edited; ask for it again."


def read_release(folder: str | Path, *, limit: int | None = LIMIT) -> Release:
    """The manifest and tables of a folder that is exactly one release; ReleaseError, and nothing believed, else."""
    manifest, tables, problems = inspect_folder(Path(folder), limit=limit)
    for problem in problems:
        raise ReleaseError(f"{problem} Ask for the release again.")
    return Release(manifest, tables)


def inspect_folder(folder: Path, *, limit: int | None = LIMIT) -> tuple[Manifest, dict[str, pl.DataFrame], list[str]]:
    """The manifest, the tables that could be read, and every way in which the folder is not one release.

    A manifest that cannot be read is a ReleaseError: nothing can be said of the rest.
    """
    with inspecting(folder, limit=limit) as inspection:
        tables = {n: table.with_columns(_spelled(column) for column in table) for n, table in inspection.tables.items()}
        return inspection.manifest, tables, inspection.wait()


@dataclass
class Inspection:
    """A folder that is being read: its tables, text as codes, and what is wrong with it so far.

    Files are still written again and compared. Nothing that was read may be believed before `wait` has come back.
    """

    manifest: Manifest
    tables: dict[str, pl.DataFrame]
    problems: list[str]
    written: list[tuple[TableInfo, Future[None]]]

    def wait(self) -> list[str]:
        """Every way in which the folder is not one release."""
        with refusing("cannot be read"), stage("checking every byte") as done:
            for i, (info, check) in enumerate(self.written):
                try:
                    check.result()
                except ReleaseError as error:
                    self.problems.insert(0, f"{info.file}: {error}")
                done((i + 1) / len(self.written))
        self.written = []
        return self.problems


@contextmanager
def inspecting(folder: Path, *, limit: int | None = LIMIT) -> Iterator[Inspection]:
    """The same for whoever has something to do with the tables meanwhile, and waits before telling of it."""
    with ThreadPoolExecutor(1) as behind:
        with refusing("cannot be read"):
            place = _opened(folder)
            try:
                manifest = parse_manifest(_read(place, MANIFEST, _MANIFEST_BYTES))
                problems = [*_files(place, manifest), *_readme(place, manifest), *_sizes(manifest, limit)]
                inspection = Inspection(manifest, {}, problems, [])
                if not problems:
                    _read_tables(place, inspection, behind, limit)
            finally:
                os.close(place)
        yield inspection


def _read_tables(place: int, inspection: Inspection, behind: ThreadPoolExecutor, limit: int | None) -> None:
    """Read the tables. Files are written again behind, while the next one is read."""
    manifest, tables = inspection.manifest, inspection.tables
    with stage("reading the release") as done:
        for i, info in enumerate(manifest.tables):
            _read_one(place, info, inspection, behind, limit)
            done((i + 1) / len(manifest.tables))
    if not inspection.problems:
        inspection.problems += [
            *form_problems(manifest, tables),
            *domain_problems(manifest, tables),
            *unsaid(manifest),
        ]


def _read_one(
    place: int, info: TableInfo, inspection: Inspection, behind: ThreadPoolExecutor, limit: int | None
) -> None:
    """Read one table, or note why it cannot be."""
    try:
        data, inspection.tables[info.name] = _table(place, info, limit=limit)
        if info.file.endswith(".parquet"):
            checked = behind.submit(_require_cells_alone, data, inspection.tables[info.name])
            inspection.written.append((info, checked))
    except ReleaseError as error:
        inspection.problems.append(f"{info.file}: {error}")


def parts_of(folder: str | Path) -> Parts | None:
    """What a release in parts says of itself, and everything but the parts themselves was checked; None for any other.

    ReleaseError for one that is not exactly a release in parts. Each of its folders is then read as a release.
    """
    folder = Path(folder)
    with refusing("cannot be read"):
        place = _opened(folder)
        try:
            data = _read(place, MANIFEST, _MANIFEST_BYTES)
            _, plain = _json(data)
            if not isinstance(plain, dict) or plain.get("format") != PARTS_FORMAT:
                return None
            manifest = _parsed(data, PartsManifest, PARTS_FORMAT)
            every = OfAll(manifest.orders)
            for problem in _parts_problems(place, manifest, every):
                raise ReleaseError(f"{problem} Ask for the release again.")
            return Parts(manifest, tuple(every.claims))
        finally:
            os.close(place)


def manifest_of(folder: Path) -> Manifest:
    """The manifest of a release folder, in its one spelling; nothing else of the folder is looked at."""
    with refusing("cannot be read"):
        place = _opened(folder)
        try:
            return parse_manifest(_read(place, MANIFEST, _MANIFEST_BYTES))
        finally:
            os.close(place)


def _parts_problems(place: int, manifest: PartsManifest, every: OfAll) -> Iterator[str]:
    """Folders that should not be there, or should, or are not what the manifest says of all of them together."""
    folders = [info.folder for info in manifest.parts]
    if folders != [part_folder(i) for i in range(1, len(folders) + 1)]:
        yield "its parts are not numbered from 1 without gaps."
        return
    listed, present = {MANIFEST, README, *folders}, set(os.listdir(place))
    yield from (f"{name} is in the folder, but not in the manifest." for name in sorted(present - listed))
    yield from (f"{name} is missing." for name in sorted(listed - present))
    if listed != present:
        return
    yield from _says(place, parts_readme(manifest))
    size = 0
    for info in manifest.parts:
        data = _part_manifest(place, info.folder)
        size += len(data)
        if size > _MANIFEST_BYTES:
            yield f"the manifests of its parts have more than {_MANIFEST_BYTES:,} bytes."
            return
        if hashlib.sha256(data).hexdigest() != info.sha256:
            yield f"{info.folder}: not the part that the manifest describes (its hash differs)."
            return
        problems = list(every.add(parse_manifest(data), info.sha256))
        if problems:
            yield from problems
            return
    yield from every.problems()
    if manifest != every.manifest():
        yield "what the manifest says of all parts is not what their manifests say."


def _part_manifest(place: int, folder: str) -> bytes:
    try:
        inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
    except OSError as error:
        raise ReleaseError(f"{folder} cannot be opened as a folder ({error.strerror}). {_DAMAGED}") from None
    try:
        return _read(inside, MANIFEST, _MANIFEST_BYTES)
    finally:
        os.close(inside)


def require_sealed(folder: Path, manifest: Manifest) -> None:
    """Refuse a staged folder whose manifest or README are not in their one spelling, or whose files are not all there.

    What was written after the audit of the tables is checked by this, before it becomes visible.
    """
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        again = parse_manifest(_read(place, MANIFEST, _MANIFEST_BYTES))
        for problem in [*_files(place, again), *_readme(place, again)]:
            raise ReleaseError(problem)
    finally:
        os.close(place)
    if again != manifest:
        raise ReleaseError(f"{MANIFEST} does not say what was meant.")


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Turn whatever a stranger's release makes go wrong into a refusal; InputError is about the original beside it."""
    try:
        yield
    except (ReleaseError, InputError, MemoryError, OSError):
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        raise ReleaseError(f"This release {what} ({type(error).__name__}). {_DAMAGED}") from error


# files ------------------------------------------------------------------------------------------------------------


def _opened(folder: Path) -> int:
    if not folder.is_dir():
        raise ReleaseError(f"{folder} is not a folder. Name the folder that `pluralis publish` wrote.")
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)


def _read(place: int, name: str, most: int, exactly: int | None = None) -> bytes:
    """The bytes of a regular file of a folder, if it is as large as it should be."""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
    except OSError as error:
        if error.errno == errno.ENOENT:
            fault = "it is not a release, or it is damaged. Name the folder that `pluralis publish` wrote"
            raise ReleaseError(f"{name} is missing: {fault}, or ask for the release again.") from None
        if error.errno in (errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM):
            raise  # the machine's fault, not the folder's
        raise ReleaseError(f"{name} cannot be opened as a file ({error.strerror}). {_DAMAGED}") from None
    about = os.fstat(handle)
    if not stat.S_ISREG(about.st_mode):
        os.close(handle)
        raise ReleaseError(f"{name} is no regular file. {_DAMAGED}")
    with os.fdopen(handle, "rb") as file:
        if exactly is not None and about.st_size != exactly:
            raise ReleaseError(f"not the file that the manifest describes: {about.st_size:,} bytes, not {exactly:,}.")
        if about.st_size > most:
            raise ReleaseError(f"{name} has {about.st_size:,} bytes, and at most {most:,} are read.")
        data = file.read(about.st_size + 1)
    if len(data) != about.st_size:
        raise ReleaseError(f"{name} changed while it was read. Read it again.")
    return data


def _files(place: int, manifest: Manifest) -> Iterator[str]:
    """Files that should not be there, or should."""
    listed = [MANIFEST, README, *(info.file for info in manifest.tables)]
    if len(set(listed)) < len(listed):
        yield "two tables have the same file."
    present = set(os.listdir(place))
    for name in sorted(present - set(listed)):
        yield f"{name} is in the folder, but not in the manifest."
    for name in sorted(set(listed) - present):
        yield f"{name} is missing."
    endings = {Path(info.file).suffix for info in manifest.tables}
    if len(endings) > 1 or (endings == {".csv"}) != (manifest.parameters.csv_escape is not None):
        yield "tables are not all in the format that the manifest says."


def _readme(place: int, manifest: Manifest) -> Iterator[str]:
    """Whether the README is what the manifest says, in the words in which Pluralis says it."""
    yield from _says(place, release_readme(manifest))


def _says(place: int, expected: str) -> Iterator[str]:
    try:
        if _read(place, README, _MANIFEST_BYTES) != expected.encode("utf-8"):
            yield f"{README} does not say what the manifest says."
    except ReleaseError as error:
        yield str(error)


def _sizes(manifest: Manifest, limit: int | None) -> Iterator[str]:
    """Whether the tables would unfold to more than is allowed, by the numbers of rows that they state."""
    need = sum(info.rows * sum(_width(column, manifest) for column in info.columns) for info in manifest.tables)
    if limit is not None and need > limit:
        yield (
            f"its tables unfold to {need / 2**30:,.1f} GiB, and {limit / 2**30:,.1f} are allowed. If you trust it, "
            "allow more with --limit (in Python limit=)."
        )


def _width(column: ColumnInfo, manifest: Manifest) -> int:
    """About how many bytes a cell of a column takes in memory."""
    cell = _NUMBER if _is_number(column) or column.role in ("group", "count") else _TEXT
    l = manifest.parameters.l.get(column.name, 1) if column.sets else 1
    return int(cell * l)


# the manifest -----------------------------------------------------------------------------------------------------


def parse_manifest(data: bytes) -> Manifest:
    """A manifest in its one spelling; ReleaseError for any other bytes."""
    manifest = _parsed(data, Manifest, FORMAT)
    _require_words(manifest)
    return manifest


_M = TypeVar("_M", Manifest, PartsManifest)


def _parsed(data: bytes, model: type[_M], format: str) -> _M:
    """A manifest of one of the two formats."""
    text, plain = _json(data)
    if isinstance(plain, dict) and plain.get("format") == PARTS_FORMAT != format:
        raise ReleaseError(
            "This release is in parts, which are read one by one. Name the folder of a part, part-00001. `pluralis "
            "query` and, in Python, read_parts count in all of them."
        )
    if not isinstance(plain, dict) or plain.get("format") != format:
        raise ReleaseError(f'{MANIFEST} does not say format "{format}": this folder is not a release.')
    if plain.get("version") != VERSION:
        raise ReleaseError(
            f"{MANIFEST} says version {str(plain.get('version'))[:20]}, this Pluralis reads {VERSION}. Use the "
            "Pluralis that made it."
        )
    if _ESCAPED.search(text) or hides_characters(text.replace("\n", "")):
        raise ReleaseError(f"{MANIFEST} holds characters that cannot be seen. {_DAMAGED}")
    try:
        manifest = model.model_validate(plain)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))[:100]
        raise ReleaseError(f"{MANIFEST}, {where}: {first['msg']}. The release is damaged; ask for it again.") from None
    if manifest.to_json().encode("utf-8", "surrogatepass") != data:
        raise ReleaseError(f"{MANIFEST} is not written as Pluralis writes it. {_DAMAGED}")
    return manifest


def _json(data: bytes) -> tuple[str, Any]:
    """Bytes as text, and what it says."""
    try:
        text = data.decode("utf-8")
        return text, json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ReleaseError(
            f"{MANIFEST} is not JSON: {_gist(error)}. The release is damaged; ask for it again."
        ) from None


def _require_words(manifest: Manifest) -> None:
    """What the manifest says of the method are words, and no sentences that a reader would take for a promise."""
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,39}", manifest.method) or manifest.variant not in ("hardened", "paper"):
        raise ReleaseError(f"{MANIFEST}: method or variant is none. {_DAMAGED}")
    for name in (column.name for info in manifest.tables for column in info.columns):
        if is_pattern(name):
            raise ReleaseError(f"{MANIFEST}: {name!r} is no name of a column, but a pattern. {_DAMAGED}")


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number")


def _gist(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__


# tables -----------------------------------------------------------------------------------------------------------


def _table(place: int, info: TableInfo, *, limit: int | None) -> tuple[bytes, pl.DataFrame]:
    """The bytes of a table of the folder and its cells, if it is the file that the manifest describes."""
    data = _read(place, info.file, info.bytes, exactly=info.bytes)
    if hashlib.sha256(data).hexdigest() != info.sha256:
        raise ReleaseError("not the file that the manifest describes (its hash differs).")
    table = _from_csv(data, info) if info.file.endswith(".csv") else _from_parquet(data, info, limit)
    if table.height != info.rows:
        raise ReleaseError(f"it has {table.height:,} rows, the manifest says {info.rows:,}.")
    for column in table:
        _require_numbers(column)
    return data, table


def _require_numbers(cells: pl.Series) -> None:
    """Refuse numbers that are none, or two ways to write zero: nobody counts them, and they can say anything."""
    cells = cells.explode() if isinstance(cells.dtype, pl.List) else cells
    if cells.dtype.is_float() and not (cells.is_finite() | cells.is_null()).all():
        raise ReleaseError(f"column {cells.name!r} holds something that is no number.")
    if cells.dtype.is_float() and (1 / cells.filter(cells == 0) < 0).any():
        raise ReleaseError(f"column {cells.name!r} holds a negative zero.")


def _from_csv(data: bytes, info: TableInfo) -> pl.DataFrame:
    """The cells of a CSV file, text as codes, of a file that is what is written for them."""
    frame = read_release_csv(data, {column.name: csv_type(column) for column in info.columns})
    _require_columns(frame.columns, info)
    if write_csv_bytes(frame) != data:
        raise ReleaseError("it holds numbers that are not written as releases write them.")
    frame = frame.with_columns(_read_sets(frame[column.name], column) for column in info.columns if column.sets)
    _require_types(frame.schema, info)
    return dictionary_encode_table(frame)


def _from_parquet(data: bytes, info: TableInfo, limit: int | None) -> pl.DataFrame:
    """The cells of a Parquet file, text as codes."""
    layout = layout_of(data)
    if layout.rows != info.rows:
        raise ReleaseError(f"it has {layout.rows:,} rows, the manifest says {info.rows:,}.")
    if limit is not None and max(layout.unfolded, _NUMBER * layout.cells) > limit:
        raise ReleaseError("it unfolds to more than the manifest says.")
    try:
        schema = pl.read_parquet_schema(io.BytesIO(data))
        _require_columns(list(schema), info)
        _require_types(schema, info)
        small = layout.unfolded + _TEXT * layout.cells < _AT_ONCE
        whole = pl.read_parquet(io.BytesIO(data)) if small else None

        def column_of(column: ColumnInfo) -> tuple[int, pl.Series]:
            frame = pl.read_parquet(io.BytesIO(data), columns=[column.name]) if whole is None else whole
            cells = frame[column.name]
            letters = _letters(cells)
            _require_letters(letters, limit)
            return letters, _small(cells, column)

        columns, letters = list[pl.Series](), 0
        with ThreadPoolExecutor(_COLUMNS) as pool:  # of a large table only so many are ever spelled out
            for count, cells in pool.map(column_of, info.columns):
                letters += count
                _require_letters(letters, limit)
                columns.append(cells)
        return pl.DataFrame(columns)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise ReleaseError(f"not a Parquet file ({type(error).__name__}).") from None


def _require_letters(letters: int, limit: int | None) -> None:
    if limit is not None and letters > limit:
        raise ReleaseError(
            f"its texts have more than {limit:,} letters once they are spelled out. If you trust it, allow more with "
            "--limit (in Python limit=)."
        )


def _letters(cells: pl.Series) -> int:
    """Bytes of the texts of a column, of sets at most: a dictionary says in a few bytes how many there are."""
    if isinstance(cells.dtype, pl.List) and isinstance(cells.dtype.inner, pl.Enum):
        longest = cells.dtype.inner.categories.str.len_bytes().max() or 0
        return int(cells.list.len().cast(pl.UInt64).sum()) * int(str(longest))  # sums of less go round
    cells = cells.explode() if isinstance(cells.dtype, pl.List) else cells
    return int(cells.str.len_bytes().cast(pl.UInt64).sum() or 0) if cells.dtype == pl.String else 0


def _require_cells_alone(data: bytes, table: pl.DataFrame) -> None:
    """Refuse a Parquet file that is not what is written for its cells, or holds something beside them."""
    try:
        again = written_again(data, table)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise ReleaseError(f"not a Parquet file ({type(error).__name__}).") from None
    if again == data:
        return
    layout, own = layout_of(data), layout_of(again)
    if layout.writer == own.writer:
        raise ReleaseError("it holds something beside its cells, or was not written by Pluralis.")
    require_nothing_beside(layout, table, own)


def _small(values: pl.Series, column: ColumnInfo) -> pl.Series:
    """Text as codes, groups in 32 bits; what is counted with keeps its 64."""
    values = clear_sorted_flag(values)
    return narrow(values) if column.role == "group" else dictionary_encode(values)


def _spelled(values: pl.Series) -> pl.Series:
    """Text spelled out, numbers in 64 bits; sets as they are."""
    if isinstance(values.dtype, (pl.Enum, pl.Categorical)):
        return values.cast(pl.String)
    return values.cast(pl.Int64) if values.dtype == pl.Int32 else values


def _require_columns(names: list[str], info: TableInfo) -> None:
    if names != [column.name for column in info.columns]:
        raise ReleaseError(f"its columns are {', '.join(names)[:200]}, not those of the manifest.")


def _require_types(schema: Mapping[str, pl.DataType], info: TableInfo) -> None:
    for column in info.columns:
        if not _fits(schema[column.name], column):
            raise ReleaseError(f"column {column.name!r} holds {schema[column.name]}, not {column.type}.")


def _is_number(column: ColumnInfo) -> bool:
    return column.type == "number" and (column.role != "quasi" or bool(column.exact))


def _fits(kind: pl.DataType, column: ColumnInfo) -> bool:
    if column.role in ("group", "count"):
        return kind == pl.Int64
    if column.sets:
        inner = kind.inner if isinstance(kind, pl.List) else None
        inner = pl.String() if isinstance(inner, pl.Enum) else inner
        return isinstance(inner, pl.DataType) and _fits(inner, column.model_copy(update={"sets": None}))
    return kind in (pl.Int64, pl.Float64) if _is_number(column) else kind == pl.String


def csv_type(column: ColumnInfo) -> pl.DataType:
    """The type that a column of a CSV table is read as."""
    if column.role in ("group", "count"):
        return pl.Int64()
    if not _is_number(column) or column.sets:
        return pl.String()
    whole = all(isinstance(end, int) for end in column.domain or ())
    return pl.Int64() if whole else pl.Float64()


def _read_sets(labels: pl.Series, column: ColumnInfo) -> pl.Series:
    """Sets as they stand in a CSV file, as lists."""
    if labels.null_count():
        raise ReleaseError(f"column {column.name!r} misses a set.")
    inner = csv_type(column.model_copy(update={"sets": None}))
    texts = labels.unique()
    lists = pl.Series([read_set(text) for text in texts], dtype=pl.List(pl.String))
    try:
        members = lists.explode().unique()
        if inner != pl.String and not number_texts(members.cast(inner)).equals(members):
            raise ReleaseError(f"column {column.name!r} holds numbers that are not written as releases write them.")
        return lists.cast(pl.List(inner)).gather(labels.cast(pl.Enum(texts)).to_physical()).rename(column.name)
    except pl.exceptions.PolarsError:
        raise ReleaseError(f"column {column.name!r} holds a set of other things than numbers.") from None
