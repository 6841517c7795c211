"""CSV as bytes: loading files whole and unharmed, and the canonical CSV in which releases are written.

Nothing here guesses. A file is unpacked and decoded chunk by chunk, and refused where its bytes are not what
its name and encoding say. A released table has one spelling only, and reading it back checks that it has it.
No kernels are used, so that the audit can read releases without them.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import unicodedata
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import polars as pl

from pluralis.errors import InputError, OutputError, ReleaseError
from pluralis.progress import stage

MAX_BYTES = 32 << 30
MAX_ROWS = 2**32 - 2
MAX_RATIO = 200
RATIO_FROM = 64 << 20
CHUNK = 16 << 20

_MARKS = (  # the longer first: a UTF-32 mark begins like a UTF-16 one
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_OTHER_KINDS = (
    (b"\x1f\x8b", "gzip", "Rename it to end in .gz."),
    (b"PK\x03\x04", "ZIP or Excel", "Save it as CSV."),
    (b"PAR1", "Parquet", "Rename it to end in .parquet."),
    (b"\xd0\xcf\x11\xe0", "old Excel", "Save it as CSV."),
)
_NOT_CHARACTER_SETS = ("idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined")
_NUMBER = r"^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?$"
_AGAIN = "Get the release again."
_WHOLE = r"^(0|-?[1-9][0-9]*)$"


# loading ----------------------------------------------------------------------------------------------------


def load_text(path: Path, encoding: str) -> io.BytesIO:
    """A file as UTF-8 bytes in memory; what is not `encoding` is refused with its line."""
    codec = _codec(encoding)
    plain = codec.name in ("utf-8", "utf-8-sig")
    decoder = codecs.getincrementaldecoder("utf-8" if plain else encoding)("strict")
    buffer = io.BytesIO()
    with stage(f"reading {path.name}") as done:
        for chunk, share, last in _chunks(path):
            if not buffer.tell():
                _check_mark(chunk, path.name, "utf-8" if plain else codec.name)
            state = decoder.getstate()
            try:
                if not plain:
                    text = decoder.decode(chunk, last)
                    chunk = (text if buffer.tell() else text.removeprefix("\ufeff")).encode("utf-8")
                elif state[0] or last or not chunk.isascii():
                    decoder.decode(chunk, last)
            except UnicodeError as error:
                offset = max(0, getattr(error, "start", 0) - len(state[0]))
                decoder.setstate(state)
                line = buffer.getvalue().count(b"\n") + decoder.decode(chunk[:offset]).count("\n") + 1
                name, remedy = ("UTF-8", "Save it as UTF-8, or declare") if plain else (codec.name, "Declare")
                raise InputError(
                    f"{path.name} line {line}: not {name}. {remedy} the encoding in which it was written, "
                    'such as cp1252 or latin-1: `--encoding cp1252`, in Python encoding="cp1252".'
                ) from None
            buffer.write(chunk)
            check_memory(path.name, buffer.tell())
            done(share)
    return buffer


def _codec(encoding: str) -> codecs.CodecInfo:
    try:
        codec = codecs.lookup(encoding)
    except (LookupError, ValueError):
        codec = None
    if codec is None or not codec._is_text_encoding or codec.name in _NOT_CHARACTER_SETS:
        raise InputError(f"{encoding!r} is no encoding of text. Use utf-8, utf-16, latin-1 or cp1252, for example.")
    return codec


def _chunks(path: Path) -> Iterator[tuple[bytes, float, bool]]:
    """The bytes of a file, unpacked if it ends in .gz: chunk, share read so far, whether it is the last."""
    packed = path.name.lower().endswith(".gz")
    try:
        with path.open("rb") as raw:
            size = os.fstat(raw.fileno()).st_size
            file = cast("io.BufferedIOBase", gzip.GzipFile(fileobj=raw) if packed else raw)
            total = 0
            chunk = file.read(CHUNK)
            while True:
                total += len(chunk)
                if packed and total > RATIO_FROM and total > MAX_RATIO * size:
                    raise InputError(
                        f"{path.name} unpacks to more than {MAX_RATIO} times its size, the limit against "
                        "compressed bombs. If it is sound, unpack it first."
                    )
                if total > MAX_BYTES:
                    raise InputError(
                        f"{path.name} holds more than {MAX_BYTES / 2**30:g} GiB, the limit for CSV. Split it "
                        "or save it as Parquet."
                    )
                following = file.read(CHUNK) if chunk else b""
                yield chunk, raw.tell() / max(size, 1), not following
                if not following:
                    return
                chunk = following
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path.name} is damaged or no gzip file ({gist(error)}). Get it again.") from None
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror or error}. Check its permissions.") from None


def _check_mark(chunk: bytes, name: str, encoding: str) -> None:
    """Refuse a file whose first bytes contradict its name or encoding."""
    for magic, kind, remedy in _OTHER_KINDS:
        if chunk.startswith(magic):
            raise InputError(f"{name} is a {kind} file, whatever its name says. {remedy}")
    mark = next((encoded for bom, encoded in _MARKS if chunk.startswith(bom)), None)
    if mark is not None and not encoding.startswith(mark):
        raise InputError(
            f"{name} line 1: it begins with the mark of {mark.upper()}, but was to be read as {encoding}. "
            f"Declare the encoding {mark} (`--encoding {mark}`), or save it as UTF-8."
        )
    if mark is None and encoding in ("utf-16", "utf-32"):
        raise InputError(f"{name} line 1: no byte order mark. Declare {encoding}-le or {encoding}-be by `--encoding`.")


# checks that every source shares ----------------------------------------------------------------------------


def check_names(names: Sequence[object], where: str) -> None:
    """Refuse column names that are empty or that a reader could take for one another.

    >>> check_names(["Age", "age "], "people.csv line 1")
    Traceback (most recent call last):
    pluralis.errors.InputError: people.csv line 1: columns 1 and 2 ('Age', 'age ') read the same. Rename one.
    """
    seen: dict[str, int] = {}
    for i, name in enumerate(names):
        if not isinstance(name, str):
            raise InputError(f"{where}: column {i + 1} is named {name!r}, which is not text. Name columns with text.")
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).strip()
        if not folded:
            raise InputError(f"{where}: column {i + 1} has no name. Name every column.")
        if is_pattern(name):
            raise InputError(
                f"{where}: column {i + 1} is named {name!r}, which programs take for a pattern of names. Rename it."
            )
        if folded in seen:
            first = seen[folded]
            both = f"columns {first + 1} and {i + 1}"
            if names[first] == name:
                raise InputError(f"{where}: {both} are both named {name!r}. Rename one.")
            raise InputError(f"{where}: {both} ({names[first]!r}, {name!r}) read the same. Rename one.")
        seen[folded] = i


def is_pattern(name: str) -> bool:
    """Whether Polars would take a name for others, too."""
    return name == "*" or (name.startswith("^") and name.endswith("$")) or "\0" in name


def check_rows(name: str, rows: int) -> None:
    """Refuse a table of more rows than can be numbered."""
    if rows > MAX_ROWS:
        raise InputError(f"{name} has {rows:,} rows, the limit is {MAX_ROWS:,}. Split it.")


def check_memory(name: str, need: int) -> None:
    """Refuse what would not fit in this machine's memory."""
    have = physical_memory()
    if have is not None and need > have:
        raise InputError(
            f"{name} needs about {need / 2**30:,.1f} GiB in memory, this machine has {have / 2**30:,.1f} GiB."
            " Leave out columns or rows, or use a larger machine."
        )


def physical_memory() -> int | None:
    """Bytes of memory in this machine, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def gist(error: BaseException) -> str:
    """The gist of another library's message."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


# released tables --------------------------------------------------------------------------------------------


def write_csv_bytes(frame: pl.DataFrame) -> bytes:
    r"""A frame as CSV (RFC 4180, line feeds). Null is the empty field; a leading ' makes a formula harmless.

    >>> write_csv_bytes(pl.DataFrame({"note": ["=1+2", "-5", None], "n": [1, 2, 3]}))
    b"note,n\n'=1+2,1\n-5,2\n,3\n"
    """
    columns = []
    for name, kind in frame.schema.items():
        column = frame[name]
        if isinstance(kind, (pl.String, pl.Categorical, pl.Enum)):
            column = column.cast(pl.String)
            if (column == "").any():
                raise OutputError(f"{name!r} holds empty text, which in CSV would be missing. Use Parquet.")
            column = _escaped(column)
        elif not (kind.is_integer() or kind.is_float()):
            raise OutputError(f"{name!r} holds {kind}, which CSV cannot carry. Use Parquet.")
        elif kind.is_float() and not column.is_finite().all():
            raise OutputError(f"{name!r} holds NaN or an infinite value, which CSV cannot carry. Use Parquet.")
        columns.append(column)
    plain = pl.DataFrame(columns)
    plain.columns = _escaped(pl.Series("header", plain.columns, pl.String)).to_list()
    return _csv(plain)


def read_release_csv(data: bytes, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """What `write_csv_bytes` wrote, as `schema` says (String, Int64, Float64); anything else is refused."""
    header = _header(data)
    names = _unescaped(pl.Series("header", header, pl.String)).to_list()
    if names != list(schema):
        raise ReleaseError(f"A released table has the columns {names}, its manifest {list(schema)}. {_AGAIN}")
    try:
        text = pl.read_csv(
            io.BytesIO(data),
            has_header=False,
            skip_rows=1,
            schema=dict.fromkeys(header, pl.String()),
            infer_schema=False,
            raise_if_empty=False,
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ReleaseError(f"A released table is damaged ({gist(error)}). {_AGAIN}") from None
    text = text.with_columns(pl.when(pl.all() != "").then(pl.all()))
    # short rows, stray quotes, blank lines, other line ends: none of them is written again as it stood
    if _csv(text) != data:
        raise ReleaseError(f"A released table is not written as releases are: it was edited. {_AGAIN}")
    return pl.DataFrame([_as_declared(text[:, i].rename(name), schema[name]) for i, name in enumerate(names)])


def _header(data: bytes) -> list[str]:
    """The first record, by Python's reader: polars keeps doubled quotes in column names."""
    try:
        return next(csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8", newline=""), strict=True))
    except (StopIteration, csv.Error, UnicodeDecodeError) as error:
        raise ReleaseError(f"A released table has no header ({gist(error)}). {_AGAIN}") from None


def _csv(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    # in a table of one column a bare empty field would be a blank line
    frame.write_csv(buffer, line_terminator="\n", null_value='""' if frame.width == 1 else "")
    return buffer.getvalue()


def _as_declared(column: pl.Series, kind: pl.DataType) -> pl.Series:
    """Released text as its declared type, exactly."""
    if kind == pl.String:
        return _unescaped(column)
    if kind not in (pl.Int64, pl.Float64):
        raise ReleaseError(f"{column.name!r} is declared as {kind}, which a CSV release cannot hold.")
    fits = column.str.contains(_WHOLE if kind == pl.Int64 else _NUMBER)
    numbers = column.cast(kind, strict=False)
    if kind == pl.Float64:
        fits = fits & numbers.is_finite()
    wrong = column.is_not_null() & ~(fits & numbers.is_not_null()).fill_null(False)
    if wrong.any():
        row = int(wrong.arg_true()[0])
        raise ReleaseError(f"{column.name!r} row {row + 1} holds {column[row]!r}, not {kind}. {_AGAIN}")
    return numbers


def _escaped(text: pl.Series) -> pl.Series:
    """Text that a spreadsheet would run gets a leading ', and so does text that begins with one."""
    number = text.str.contains(_NUMBER) & text.cast(pl.Float64, strict=False).is_finite().fill_null(False)
    risky = text.str.contains("^[-=+@\t\r']") & ~number
    return text.to_frame("t").select(pl.when(risky).then("'" + pl.col("t")).otherwise("t").alias(text.name)).to_series()


def _unescaped(text: pl.Series) -> pl.Series:
    plain = text.str.strip_prefix("'")
    wrong = (_escaped(plain) != text).fill_null(False)
    if wrong.any():
        row = int(wrong.arg_true()[0])
        raise ReleaseError(f"{text.name!r} row {row + 1} holds {text[row]!r}, which is not escaped. {_AGAIN}")
    return plain
