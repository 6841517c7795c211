"""Reading a folder, one fault at a time: files, the manifest, sizes, and tables that are not what is said of them."""

from __future__ import annotations

import errno
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from pluralis.errors import ReleaseError
from pluralis.release.manifest import Manifest
from pluralis.release.reading import inspect_folder, parse_manifest, read_release, refusing, require_sealed
from pluralis.release.release import with_set_labels
from pluralis.release.strict_parquet import layout_of
from pluralis.table.csv_files import write_csv_bytes
from pluralis.table.parquet_files import write_parquet_bytes
from support.parquet_footers import Fields, field, put, with_footer
from support.small_releases import CSV_ESCAPE, KINDS, SmallRelease, in_csv, problems

AGAIN = "The release is damaged or was edited; ask for it again."
NOT_WRITTEN_BY_US = "it holds something beside its cells, or was not written by Pluralis."


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("write", [lambda release: release, in_csv], ids=["parquet", "csv"])
def test_what_was_written_is_read(kind: str, write: Callable[[SmallRelease], SmallRelease], tmp_path: Path) -> None:
    release = write(KINDS[kind]())
    read = read_release(release.write(tmp_path / "release"))
    assert json.loads(read.manifest.to_json()) == release.manifest
    assert list(read.tables) == list(release.tables)
    for name, table in release.tables.items():
        plain = {c: pl.List(pl.String) for c, dtype in table.schema.items() if dtype == pl.List(pl.Enum)}
        assert read.tables[name].cast(plain).equals(table.cast(plain))
        numbers = [dtype for dtype in table.dtypes if dtype.is_numeric()]
        assert [dtype for dtype in read.tables[name].dtypes if dtype.is_numeric()] == numbers
        assert [dtype for dtype in read.tables[name].dtypes if dtype == pl.String] == [
            dtype for dtype in table.dtypes if dtype == pl.String
        ]


def test_what_is_wrong_is_raised(tmp_path: Path) -> None:
    folder = KINDS["bucketized"]().write(tmp_path / "release")
    (folder / "notes.txt").touch()
    with pytest.raises(ReleaseError) as refused:
        read_release(folder)
    assert str(refused.value) == "notes.txt is in the folder, but not in the manifest. Ask for the release again."


# files ------------------------------------------------------------------------------------------------------------

MISSING = (
    "{} is missing: it is not a release, or it is damaged. Name the folder that `pluralis publish` wrote, or ask for "
    "the release again."
)


def test_a_folder_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "release").touch()
    message = f"{tmp_path / 'release'} is not a folder. Name the folder that `pluralis publish` wrote."
    assert problems(tmp_path / "release") == [message]
    assert problems(tmp_path / "nowhere") == [message.replace("release is", "nowhere is")]


def link(path: Path) -> None:
    path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


def folder_in_its_place(path: Path) -> None:
    path.unlink()
    path.mkdir()


LINK = "{} cannot be opened as a file (Too many levels of symbolic links). " + AGAIN
NO_FILE = "{} is no regular file. " + AGAIN
FILES: dict[str, tuple[Callable[[Path], Any], dict[str, list[str]]]] = {
    "gone": (
        Path.unlink,
        {
            "manifest.json": [MISSING.format("manifest.json")],
            "README.md": ["README.md is missing.", MISSING.format("README.md")],
            "quasi.parquet": ["quasi.parquet is missing."],
        },
    ),
    "link": (
        link,
        {
            "manifest.json": [LINK.format("manifest.json")],
            "README.md": [LINK.format("README.md")],
            "quasi.parquet": ["quasi.parquet: " + LINK.format("quasi.parquet")],
        },
    ),
    "folder": (
        folder_in_its_place,
        {
            "manifest.json": [NO_FILE.format("manifest.json")],
            "README.md": [NO_FILE.format("README.md")],
            "quasi.parquet": ["quasi.parquet: " + NO_FILE.format("quasi.parquet")],
        },
    ),
}


@pytest.mark.parametrize("name", ["manifest.json", "README.md", "quasi.parquet"])
@pytest.mark.parametrize("how", FILES)
def test_only_regular_files_are_read(how: str, name: str, tmp_path: Path) -> None:
    folder = KINDS["bucketized"]().write(tmp_path / "release")
    change, messages = FILES[how]
    change(folder / name)
    handles = len([*Path("/proc/self/fd").iterdir()])
    assert problems(folder) == messages[name]
    assert len([*Path("/proc/self/fd").iterdir()]) == handles


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    path = KINDS["bucketized"]().write(tmp_path / "release") / "quasi.parquet"
    path.unlink()
    os.mkfifo(path)
    writer = os.open(path, os.O_RDWR | os.O_NONBLOCK)  # so that nobody waits for one
    assert problems(path.parent) == ["quasi.parquet: " + NO_FILE.format("quasi.parquet")]
    os.close(writer)


def test_other_files_are_refused_in_order(tmp_path: Path) -> None:
    folder = KINDS["bucketized"]().write(tmp_path / "release")
    (folder / "b").touch()
    (folder / "a").mkdir()
    assert problems(folder) == [f"{name} is in the folder, but not in the manifest." for name in ("a", "b")]


def test_a_file_that_grows_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = KINDS["bucketized"]().write(tmp_path / "release")
    now = os.fstat

    def before(handle: int) -> os.stat_result:
        about = now(handle)
        return os.stat_result((*about[:6], about.st_size - 1, *about[7:]))

    monkeypatch.setattr(os, "fstat", before)
    assert problems(folder) == ["manifest.json changed while it was read. Read it again."]


@pytest.mark.parametrize("number", [errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_faults_of_the_machine_are_no_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    folder = KINDS["bucketized"]().write(tmp_path / "release")
    open_file = os.open

    def failing(path: Any, *more: Any, **how: Any) -> int:
        if path == "quasi.parquet":
            raise OSError(number, os.strerror(number))
        return open_file(path, *more, **how)

    monkeypatch.setattr(os, "open", failing)
    with pytest.raises(OSError, match=os.strerror(number)):
        problems(folder)


def test_a_table_of_another_size(tmp_path: Path) -> None:
    folder = KINDS["bucketized"]().write(tmp_path / "release")
    path = folder / "quasi.parquet"
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + b"x")
    message = f"quasi.parquet: not the file that the manifest describes: {size + 1:,} bytes, not {size:,}."
    assert problems(folder) == [message]


def test_a_table_of_another_hash(tmp_path: Path) -> None:
    folder = KINDS["bucketized"]().write(tmp_path / "release")
    path = folder / "quasi.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"2")
    assert problems(folder) == ["quasi.parquet: not the file that the manifest describes (its hash differs)."]


def test_a_manifest_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    folder = KINDS["bucketized"]().write(tmp_path / "release")
    os.truncate(folder / "manifest.json", 2**28 + 1)  # a hole, which takes no space
    assert problems(folder) == ["manifest.json has 268,435,457 bytes, and at most 268,435,456 are read."]


def test_two_tables_in_one_file(tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    release.tables["sensitive"] = release.tables["quasi"]
    release.info("sensitive").update(file="quasi.parquet", columns=release.info("quasi")["columns"])
    assert release.problems(tmp_path / "release") == ["two tables have the same file."]


def test_the_readme_is_that_of_the_manifest(tmp_path: Path) -> None:
    folder = KINDS["bucketized"]().write(tmp_path / "release")
    with (folder / "README.md").open("a") as file:
        file.write("Every claim holds.\n")
    assert problems(folder) == ["README.md does not say what the manifest says."]


FORMATS = "tables are not all in the format that the manifest says."


def test_tables_in_csv_are_said_to_be(tmp_path: Path) -> None:
    release = in_csv(KINDS["bucketized"]())
    release.say(csv_escape=None)
    assert release.problems(tmp_path / "release") == [FORMATS]


def test_tables_in_parquet_are_not_said_to_be_csv(tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    release.say(csv_escape=CSV_ESCAPE)
    assert release.problems(tmp_path / "release") == [FORMATS]


def test_tables_are_in_one_format(tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    release.info("quasi")["file"] = "quasi.csv"
    assert release.problems(tmp_path / "release") == [FORMATS]


# what is checked before it becomes visible ------------------------------------------------------------------------


def sealed(folder: Path) -> Manifest:
    KINDS["bucketized"]().write(folder)
    return parse_manifest((folder / "manifest.json").read_bytes())


def test_a_sealed_folder_says_what_was_meant(tmp_path: Path) -> None:
    manifest = sealed(tmp_path / "release")
    require_sealed(tmp_path / "release", manifest)
    other = manifest.model_copy(update={"suppressed": 1})
    with pytest.raises(ReleaseError) as refused:
        require_sealed(tmp_path / "release", other)
    assert str(refused.value) == "manifest.json does not say what was meant."


def test_a_sealed_folder_is_whole(tmp_path: Path) -> None:
    manifest = sealed(tmp_path / "release")
    (tmp_path / "release" / "quasi.parquet").unlink()
    with pytest.raises(ReleaseError, match=r"^quasi\.parquet is missing\.$"):
        require_sealed(tmp_path / "release", manifest)


def test_a_sealed_folder_has_the_readme_of_its_manifest(tmp_path: Path) -> None:
    manifest = sealed(tmp_path / "release")
    (tmp_path / "release" / "README.md").write_text("nothing")
    with pytest.raises(ReleaseError, match=r"^README\.md does not say what the manifest says\.$"):
        require_sealed(tmp_path / "release", manifest)


@pytest.mark.parametrize("fault", [KeyError("x"), pl.exceptions.PanicException("x"), RecursionError(), ValueError()])
def test_whatever_goes_wrong_is_a_refusal(fault: BaseException) -> None:
    with pytest.raises(ReleaseError) as refused, refusing("cannot be read"):
        raise fault
    assert str(refused.value) == f"This release cannot be read ({type(fault).__name__}). {AGAIN}"


@pytest.mark.parametrize("fault", [MemoryError("x"), OSError("x"), ReleaseError("x")])
def test_but_for_what_the_machine_fails_at(fault: Exception) -> None:
    with pytest.raises(type(fault), match=r"^x$"), refusing("cannot be read"):
        raise fault


# sizes ------------------------------------------------------------------------------------------------------------

TOO_LARGE = (
    "its tables unfold to {} GiB, and {} are allowed. If you trust it, allow more with --limit (in Python limit=)."
)


@pytest.mark.parametrize(
    ("kind", "need"),
    [
        ("bucketized", 4 * (8 + 16 + 16 + 8) + 4 * (8 + 16 + 8 + 8)),
        ("generalized", 4 * (3 * 16 + 16 + 16 + 8 + 8)),  # labels of numbers are text
        ("candidates", 4 * (8 + 16 + 16 + 2 * 16 + 2 * 8)),  # sets of two
    ],
)
def test_tables_unfold_to_the_limit_and_no_further(kind: str, need: int, tmp_path: Path) -> None:
    folder = in_csv(KINDS[kind]()).write(tmp_path / "release")
    assert problems(folder, limit=need) == []
    assert problems(folder, limit=need - 1) == [TOO_LARGE.format("0.0", "0.0")]
    assert problems(folder, limit=None) == []


def test_what_tables_unfold_to_is_said_in_gigabytes(tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    release.info("quasi")["rows"] = 2**28
    assert release.problems(tmp_path / "release", limit=3 << 29) == [TOO_LARGE.format("12.0", "1.5")]


def test_the_limit_is_two_gigabytes(tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    release.info("quasi")["rows"] = 44_739_243  # of 48 bytes
    assert release.problems(tmp_path / "release") == [TOO_LARGE.format("2.0", "2.0")]
    release.info("quasi")["rows"] = 44_739_239
    folder = release.write(tmp_path / "another")
    assert problems(folder) == ["quasi.parquet: it has 4 rows, the manifest says 44,739,239."]


MORE = "microdata.parquet: it unfolds to more than the manifest says."
LETTERS = (
    "{}: its texts have more than {:,} letters once they are spelled out. If you trust it, allow more with --limit "
    "(in Python limit=)."
)


def test_pages_unfold_to_the_limit_and_no_further(tmp_path: Path) -> None:
    folder = KINDS["generalized"]().write(tmp_path / "release")
    unfolded = layout_of((folder / "microdata.parquet").read_bytes()).unfolded
    assert unfolded > 384  # which is what the manifest says
    assert problems(folder, limit=unfolded) == []
    assert problems(folder, limit=unfolded - 1) == [MORE]
    assert problems(folder, limit=None) == []


def test_sets_are_not_longer_than_is_allowed(tmp_path: Path) -> None:
    """A few bytes that say a disease a thousand times."""
    release = KINDS["candidates"]()
    sets = pl.Series("disease", [["flu", "gout", "hiv"] * 1000] * 4, pl.List(pl.Enum(["flu", "gout", "hiv"])))
    release.tables["microdata"] = release.tables["microdata"].with_columns(sets)
    folder = release.write(tmp_path / "release")
    layout = layout_of((folder / "microdata.parquet").read_bytes())
    assert layout.unfolded < 8 * 12_000 < 8 * layout.cells
    assert problems(folder, limit=8 * layout.cells - 1) == [MORE]
    assert MORE not in problems(folder, limit=8 * layout.cells)


def test_texts_of_all_columns_are_counted_as_often_as_they_stand_there(tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    long = "x" * 1000
    release.cells("quasi", "ward", [long] * 4, domain=[long])
    folder = release.write(tmp_path / "release")
    assert problems(folder, limit=4004) == []  # and four letters of sex
    assert problems(folder, limit=4003) == [LETTERS.format("quasi.parquet", 4003)]
    assert problems(folder, limit=3999) == [LETTERS.format("quasi.parquet", 3999)]
    assert problems(folder, limit=None) == []


def long_sets(release: SmallRelease, kind: pl.DataType, sets: list[list[str]]) -> None:
    long = "g" * 1000
    table = release.tables["microdata"]
    release.tables["microdata"] = table.with_columns(pl.Series("disease", sets, pl.List(kind)))
    release.column("microdata", "disease")["domain"] = ["flu", long, "hiv"]
    release.parameters["addition"]["disease"]["values"] = ["flu", long, "hiv"]


def test_texts_of_sets_are_counted_by_the_longest(tmp_path: Path) -> None:
    release = KINDS["candidates"]()
    long = "g" * 1000
    long_sets(release, pl.Enum(["flu", long, "hiv"]), [["flu", "hiv"], ["flu", "hiv"], ["flu", long], [long, "hiv"]])
    folder = release.write(tmp_path / "release")
    assert problems(folder, limit=8007) == []  # eight members, four letters of sex and three of ward
    assert problems(folder, limit=8006) == [LETTERS.format("microdata.parquet", 8006)]


def test_texts_of_sets_without_a_dictionary_are_counted_one_by_one(tmp_path: Path) -> None:
    release = KINDS["candidates"]()
    long_sets(release, pl.String(), [["g" * 1000, "hiv"]] * 4)
    data = arrow_bytes(release.tables["microdata"])  # which has one in the file
    folder = release.write(tmp_path / "release", {"microdata.parquet": data})
    need = 4 * 1003 + 4 + 3
    assert layout_of((folder / "microdata.parquet").read_bytes()).unfolded < need
    assert problems(folder, limit=need - 1) == [LETTERS.format("microdata.parquet", need - 1)]
    assert problems(folder, limit=need) == []


# the manifest -----------------------------------------------------------------------------------------------------


def said_of(data: bytes) -> str:
    with pytest.raises(ReleaseError) as refused:
        parse_manifest(data)
    return str(refused.value)


HEAD = '{"format": "pluralis-release", "version": 1'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (HEAD + ', "rows": NaN}', "NaN is no number"),
        (HEAD + ', "rows": -Infinity}', "-Infinity is no number"),
    ],
)
def test_what_is_no_json(text: str, message: str) -> None:
    expected = f"manifest.json is not JSON: {message}. The release is damaged; ask for it again."
    assert said_of(text.encode()) == expected


def test_what_is_no_text_or_too_deep_is_no_json() -> None:
    assert said_of(b"\xff").startswith("manifest.json is not JSON: 'utf-8' codec can't decode byte 0xff")
    assert said_of(b"[" * 100_000).startswith("manifest.json is not JSON: maximum recursion depth exceeded")


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": "other", "version": 1}', "1", "null"])
def test_what_is_no_release(text: str) -> None:
    assert said_of(text.encode()) == (
        'manifest.json does not say format "pluralis-release": this folder is not a release.'
    )


@pytest.mark.parametrize(("version", "shown"), [("2", "2"), ('"' + "a" * 30 + '"', "a" * 20), ("null", "None")])
def test_a_release_of_another_version(version: str, shown: str) -> None:
    assert said_of(f'{{"format": "pluralis-release", "version": {version}}}'.encode()) == (
        f"manifest.json says version {shown}, this Pluralis reads 1. Use the Pluralis that made it."
    )


HIDDEN = f"manifest.json holds characters that cannot be seen. {AGAIN}"
SPELLING = f"manifest.json is not written as Pluralis writes it. {AGAIN}"
NO_METHOD = f"manifest.json: method or variant is none. {AGAIN}"


def damaged(where: str) -> str:
    return f"manifest.json, {where}. The release is damaged; ask for it again."


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m["breaks"].append("note: a\u200bb"), HIDDEN),  # as it is
        (lambda m: m["breaks"].append("note: a\tb"), HIDDEN),  # as an escape
        (lambda m: m.update(note=1), damaged("note: Extra inputs are not permitted")),
        (lambda m: m.update({"a" * 120: 1}), damaged("a" * 100 + ": Extra inputs are not permitted")),
        (lambda m: m.update(rows=-1), damaged("rows: Input should be greater than or equal to 0")),
        (lambda m: m.update(rows="4"), SPELLING),
        (lambda m: m["parameters"].update(linked=1), SPELLING),
        (lambda m: m["tables"][0]["columns"][0].update(hierarchy=None), SPELLING),
        (lambda m: m.update(method="Anatomy"), NO_METHOD),
        (lambda m: m.update(method="a" * 41), NO_METHOD),
        (lambda m: m.update(variant="certified"), NO_METHOD),
    ],
)
def test_a_manifest_has_one_spelling(change: Callable[[dict[str, Any]], Any], message: str, tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    change(release.manifest)
    assert release.problems(tmp_path / "release") == [message]


@pytest.mark.parametrize(
    ("old", "new"),
    [("\n", ""), ('"rows": 4,\n "s', '"rows": 4,\n "rows": 4,\n "s'), ("{\n", "{\n\n")],
)
def test_a_manifest_is_set_in_one_way(old: str, new: str, tmp_path: Path) -> None:
    path = KINDS["bucketized"]().write(tmp_path / "release") / "manifest.json"
    text = path.read_text().replace(old, new)
    assert said_of(text.encode()) == SPELLING


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["breaks"].append('note: "a" \\ b, \\\\ and \\" c'),
        lambda m: m.update(method="a" * 40),
        lambda m: m.update(variant="paper"),
    ],
)
def test_what_can_be_seen_is_read(change: Callable[[dict[str, Any]], Any], tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    change(release.manifest)
    assert release.problems(tmp_path / "release") == []


@pytest.mark.parametrize("name", ["*", "^.*$"])
def test_a_name_is_no_pattern(name: str, tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    release.column("quasi", "ward").update(name=name, attribute=name)
    message = f"manifest.json: {name!r} is no name of a column, but a pattern. {AGAIN}"
    assert release.problems(tmp_path / "release") == [message]


# Parquet ----------------------------------------------------------------------------------------------------------


def with_table(release: SmallRelease, folder: Path, table: str, data: bytes | pl.DataFrame) -> list[str]:
    """What is said of the release with other bytes, or other cells, in one of its files."""
    file = release.info(table)["file"]
    if isinstance(data, pl.DataFrame):
        data = write_csv_bytes(with_set_labels(data)) if file.endswith(".csv") else write_parquet_bytes(data)
    return problems(release.write(folder, {file: data}))


def polars_bytes(table: pl.DataFrame, **how: Any) -> bytes:
    out = io.BytesIO()
    table.write_parquet(out, **how)
    return out.getvalue()


@pytest.mark.parametrize("rows", [3, 5])
def test_a_table_has_the_rows_that_the_manifest_says(rows: int, tmp_path: Path) -> None:
    for i, release in enumerate((KINDS["bucketized"](), in_csv(KINDS["bucketized"]()))):
        release.info("quasi")["rows"] = rows
        file = release.info("quasi")["file"]
        message = f"{file}: it has 4 rows, the manifest says {rows}."
        assert release.problems(tmp_path / f"release{i}") == [message]


def test_a_table_has_the_columns_that_the_manifest_says(tmp_path: Path) -> None:
    for i, other in enumerate((pl.col("age", "sex", "group", "ward"), pl.col("age", "sex", "ward"))):
        release = KINDS["bucketized"]()
        table = release.tables["quasi"].select(other)
        message = f"quasi.parquet: its columns are {', '.join(table.columns)}, not those of the manifest."
        assert with_table(release, tmp_path / f"release{i}", "quasi", table) == [message]


def test_names_of_columns_are_cut_in_a_message(tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    table = release.tables["quasi"].select(pl.lit("x").alias("a" * 300))
    release.info("quasi")["rows"] = 1
    message = f"quasi.parquet: its columns are {'a' * 200}, not those of the manifest."
    assert with_table(release, tmp_path / "release", "quasi", table) == [message]


@pytest.mark.parametrize(
    ("kind", "table", "name", "as_kind", "message"),
    [
        ("bucketized", "quasi", "age", pl.String(), "column 'age' holds String, not number."),
        ("bucketized", "quasi", "age", pl.Int32(), "column 'age' holds Int32, not number."),
        ("bucketized", "quasi", "group", pl.Float64(), "column 'group' holds Float64, not number."),
        ("bucketized", "sensitive", "count", pl.Int32(), "column 'count' holds Int32, not number."),
        ("bucketized", "sensitive", "stay", pl.Float32(), "column 'stay' holds Float32, not number."),
        ("bucketized", "quasi", "sex", pl.Binary(), "column 'sex' holds Binary, not text."),
        ("candidates", "microdata", "stay", pl.List(pl.String()), "column 'stay' holds List(String), not number."),
        ("candidates", "microdata", "stay", pl.List(pl.Int32()), "column 'stay' holds List(Int32), not number."),
    ],
)
def test_a_column_holds_what_the_manifest_says(
    kind: str, table: str, name: str, as_kind: pl.DataType, message: str, tmp_path: Path
) -> None:
    release = KINDS[kind]()
    data = polars_bytes(release.tables[table].cast({name: as_kind}))
    assert with_table(release, tmp_path / "release", table, data) == [f"{table}.parquet: {message}"]


def test_labels_of_numbers_are_text(tmp_path: Path) -> None:
    release = KINDS["generalized"]()
    table = release.tables["microdata"].with_columns(age=pl.Series([20, 20, 50, 50]))
    message = "microdata.parquet: column 'age' holds Int64, not number."
    assert with_table(release, tmp_path / "release", "microdata", table) == [message]


def test_sets_of_text_hold_text(tmp_path: Path) -> None:
    release = KINDS["candidates"]()
    table = release.tables["microdata"].with_columns(disease=pl.Series([[1, 2]] * 4))
    message = "microdata.parquet: column 'disease' holds List(Int64), not text."
    assert with_table(release, tmp_path / "release", "microdata", table) == [message]


def test_a_set_is_no_single_value(tmp_path: Path) -> None:
    release = KINDS["candidates"]()
    table = release.tables["microdata"].with_columns(disease=pl.lit("flu"))
    message = "microdata.parquet: column 'disease' holds String, not text."
    assert with_table(release, tmp_path / "release", "microdata", table) == [message]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([1.5, float("nan"), 2.0, 2.5], "column 'ward' holds something that is no number."),
        ([1.5, float("inf"), 2.0, 2.5], "column 'ward' holds something that is no number."),
        ([-0.0, 1.5, 2.0, 2.5], "column 'ward' holds a negative zero."),
    ],
)
def test_numbers_are_numbers(cells: list[float], message: str, tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    release.column("quasi", "ward").update(type="number", domain=[0.0, 2.5])
    table = release.tables["quasi"].with_columns(ward=pl.Series(cells))
    assert with_table(release, tmp_path / "release", "quasi", table) == [f"quasi.parquet: {message}"]


def test_numbers_may_be_zero_negative_or_missing(tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    release.column("quasi", "ward").update(type="number", domain=[-1.5, 2.5])
    table = release.tables["quasi"].with_columns(ward=pl.Series([0.0, -1.5, 2.5, None]))
    assert with_table(release, tmp_path / "release", "quasi", table) == []


@pytest.mark.parametrize(
    ("cell", "messages"),
    [
        (float("nan"), ["microdata.parquet: column 'stay' holds something that is no number."]),
        (-0.0, ["microdata.parquet: column 'stay' holds a negative zero."]),
        (0.0, []),
    ],
)
def test_numbers_in_sets_are_numbers(cell: float, messages: list[str], tmp_path: Path) -> None:
    release = KINDS["candidates"]()
    release.parameters["addition"]["stay"]["values"] = [0.0, 1.0, 4.5]
    release.column("microdata", "stay")["domain"] = [0.0, 4.5]
    sets = pl.Series("stay", [[cell, 1.0], [1.0, 4.5], [cell, 4.5], [1.0, 4.5]])
    table = release.tables["microdata"].with_columns(sets)
    assert with_table(release, tmp_path / "release", "microdata", table) == messages


def test_a_file_of_another_compression_was_not_written_by_us(tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    data = polars_bytes(release.tables["quasi"], compression="gzip")
    assert with_table(release, tmp_path / "release", "quasi", data) == [f"quasi.parquet: {NOT_WRITTEN_BY_US}"]


def test_what_is_wrong_with_files_is_said_before_what_they_say(tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    release.manifest["breaks"].append("membership: nobody can tell")
    release.info("quasi")["columns"][0]["domain"] = [20, 51]
    data = polars_bytes(release.tables["quasi"], compression="gzip")
    assert with_table(release, tmp_path / "release", "quasi", data) == [
        f"quasi.parquet: {NOT_WRITTEN_BY_US}",
        "quasi: the domain of 'age' is not that of its cells.",
        "of membership it says something else than that it is not hidden.",
    ]


def test_a_file_of_another_version_of_the_writer_is_read(tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    version = pl.__version__.encode()
    data = write_parquet_bytes(release.tables["quasi"])
    assert data.count(version) == 1
    other = data.replace(version, b"0" * len(version))
    assert with_table(release, tmp_path / "release", "quasi", other) == []


def arrow_bytes(table: pl.DataFrame, note: str | None = None) -> bytes:
    out = io.BytesIO()
    noted = table.to_arrow().replace_schema_metadata({"note": note} if note else None)
    pq.write_table(noted, out, store_schema=note is not None)
    return out.getvalue()


def test_a_file_of_another_writer_is_read_if_it_holds_its_cells_alone(tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    table = release.tables["quasi"]
    assert with_table(release, tmp_path / "sound", "quasi", arrow_bytes(table)) == []
    (message,) = with_table(release, tmp_path / "release", "quasi", arrow_bytes(table, "Alice has hiv"))
    assert message.startswith("quasi.parquet: it was written by 'parquet-cpp-arrow version ")
    assert message.endswith("', with metadata beside its cells.")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[list[str] | None]:
    """Which columns were read together, each time that something was: None for all."""
    read, seen = pl.read_parquet, []

    def noted(source: Any, *, columns: list[str] | None = None) -> pl.DataFrame:
        seen.append(columns)
        return read(source, columns=columns)

    monkeypatch.setattr(pl, "read_parquet", noted)
    return seen


def test_a_small_table_is_read_at_once(tmp_path: Path, reads: list[list[str] | None]) -> None:
    assert KINDS["candidates"]().problems(tmp_path / "release") == []
    assert reads == [None]


def test_a_table_of_other_rows_is_not_read(tmp_path: Path, reads: list[list[str] | None]) -> None:
    release = KINDS["candidates"]()
    release.info("microdata")["rows"] = 3
    message = "microdata.parquet: it has 4 rows, the manifest says 3."
    assert release.problems(tmp_path / "release") == [message]
    assert reads == []


def test_a_large_table_is_read_column_by_column(tmp_path: Path, reads: list[list[str] | None]) -> None:
    """So that no more than some of its columns are ever spelled out."""
    release = KINDS["bucketized"]()
    rows = 1_100_000
    release.manifest["rows"] = rows
    table = release.tables["quasi"]
    release.tables["quasi"] = pl.DataFrame(
        [pl.concat([column, column.tail(1).new_from_index(0, rows - 4)]) for column in table]
    )
    manifest, tables, messages = inspect_folder(release.write(tmp_path / "release"))
    assert messages == []
    assert manifest.rows == tables["quasi"].height == rows
    assert tables["quasi"].head(4).equals(table)
    assert sorted(map(str, reads)) == ["None", "['age']", "['group']", "['sex']", "['ward']"]  # None: `sensitive`


def test_an_index_holds_nothing_beside_the_places_of_pages(tmp_path: Path) -> None:
    """Of another version of the writer, so that the file cannot be written again and compared."""
    release = KINDS["bucketized"]()
    version, words = pl.__version__.encode(), b"Alice is 20 and has hiv"
    data = write_parquet_bytes(release.tables["quasi"]).replace(version, b"0" * len(version))
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    assert data[start - 1] == 0  # the end of the last index
    hiding = data[: start - 1] + bytes([2 << 4 | 8, len(words)]) + words + data[start - 1 :]

    def longer(footer: Fields) -> None:
        columns = field(field(footer, 4)[1][0], 1)[1]
        last = max(columns, key=lambda column: field(column, 4))
        put(last, 5, 5, field(last, 5) + 2 + len(words))

    message = "quasi.parquet: not a Parquet file, or one whose parts are not where it says."
    assert with_table(release, tmp_path / "release", "quasi", with_footer(hiding, longer)) == [message]


def test_a_page_that_cannot_be_unpacked(tmp_path: Path) -> None:
    release = KINDS["bucketized"]()
    data = write_parquet_bytes(release.tables["quasi"])
    magic = b"\x28\xb5\x2f\xfd"  # of zstd
    assert magic in data
    (message,) = with_table(release, tmp_path / "release", "quasi", data.replace(magic, b"\0\0\0\0"))
    assert message.startswith("quasi.parquet: not a Parquet file (")


# CSV --------------------------------------------------------------------------------------------------------------


def csv_problems(kind: str, folder: Path, file: str, old: str, new: str) -> list[str]:
    """What is said of a release in CSV, once something in one of its files is replaced."""
    release = in_csv(KINDS[kind]())
    table = release.tables[file.removesuffix(".csv")]
    text = write_csv_bytes(with_set_labels(table)).decode()
    assert old in text
    return problems(release.write(folder, {file: text.replace(old, new).encode()}))


def test_whole_numbers_of_csv_are_written_in_one_way(tmp_path: Path) -> None:
    message = "quasi.csv: 'age' row 1 holds '020', not Int64. Get the release again."
    assert csv_problems("bucketized", tmp_path / "release", "quasi.csv", "20,", "020,") == [message]


def test_numbers_of_csv_are_written_in_one_way(tmp_path: Path) -> None:
    release = in_csv(KINDS["bucketized"]())
    release.tables["quasi"] = release.tables["quasi"].with_columns(ward=pl.Series([0.5, 1.5, 2.5, None]))
    release.column("quasi", "ward").update(type="number", domain=[0.5, 2.5])
    text = write_csv_bytes(release.tables["quasi"]).decode()
    inspected = inspect_folder(release.write(tmp_path / "sound"))
    assert inspected[2] == []
    assert inspected[1]["quasi"]["ward"].to_list() == [0.5, 1.5, 2.5, None]
    folder = release.write(tmp_path / "release", {"quasi.csv": text.replace("1.5", "1.50").encode()})
    assert problems(folder) == ["quasi.csv: it holds numbers that are not written as releases write them."]


def test_columns_of_csv_are_those_of_the_manifest(tmp_path: Path) -> None:
    (message,) = csv_problems("bucketized", tmp_path / "release", "quasi.csv", "age,sex", "sex,age")
    assert message.startswith("quasi.csv: A released table has the columns ['sex', 'age', ")


def test_a_set_is_not_missing(tmp_path: Path) -> None:
    message = "microdata.csv: column 'disease' misses a set."
    assert csv_problems("candidates", tmp_path / "release", "microdata.csv", '"{gout, hiv}"', "") == [message]


def test_numbers_in_sets_are_written_in_one_way(tmp_path: Path) -> None:
    message = "microdata.csv: column 'stay' holds numbers that are not written as releases write them."
    assert csv_problems("candidates", tmp_path / "release", "microdata.csv", "{1, 4}", "{1, 04}") == [message]


def test_sets_of_numbers_hold_numbers(tmp_path: Path) -> None:
    message = "microdata.csv: column 'stay' holds a set of other things than numbers."
    assert csv_problems("candidates", tmp_path / "release", "microdata.csv", "{1, 4}", "{1, x}") == [message]


def test_sets_of_fractions_are_read(tmp_path: Path) -> None:
    release = in_csv(KINDS["candidates"]())
    release.parameters["addition"]["stay"]["values"] = [1.5, 2.0, 4.0]
    release.column("microdata", "stay")["domain"] = [1.5, 4.0]
    sets = [[1.5, 2.0], [1.5, 4.0], [2.0, 4.0], [1.5, 2.0]]
    release.tables["microdata"] = release.tables["microdata"].with_columns(stay=pl.Series(sets))
    _, tables, messages = inspect_folder(release.write(tmp_path / "release"))
    assert messages == []
    assert tables["microdata"]["stay"].to_list() == sets
