"""Forged folders, by their bytes: one spelling of a release is read, and nobody who reads another comes to harm."""

from __future__ import annotations

import inspect
import io
import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pluralis.auditing import audit
from pluralis.cli.audit import audit as audit_command
from pluralis.errors import ReleaseError
from pluralis.estimate.analyst_release import read_release
from pluralis.release.reading import LIMIT, inspect_folder
from pluralis.table.labels import read_set
from pluralis.table.sources import write_parquet_bytes
from support.cli_runner import caller
from support.forged_folders import (
    METHODS,
    PEOPLE,
    canonical,
    forged,
    not_read,
    published,
    refused,
    reworded,
    write_manifest,
)

Change = Callable[[dict[str, Any]], Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "release"


# F4, C3: numbers and nesting ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [2**62, 2**63, 2**64, 10**30, -1, 0, 1])
@pytest.mark.parametrize("where", ["l", "k", "rows", "bytes", "table rows", "domain"])
def test_numbers_are_checked_before_anything_is_computed(folder: Path, number: int, where: str) -> None:
    published(folder, "bsgi")
    manifest = json.loads((folder / "manifest.json").read_text())
    table, claim = manifest["tables"][0], manifest["claims"][0]
    if where == "l":
        manifest["parameters"]["l"]["disease"] = claim["l"] = number
        claim["rule"] = claim["rule"].replace("1/2", f"1/{number}")
    elif where == "k":
        manifest["parameters"]["k"] = number
        rule = f"{number}-anonymity: every group has at least {number} rows"
        manifest["claims"].insert(0, {"rule": rule, "model": "k-anonymity", "adversary": ["age", "sex"], "k": number})
    elif where == "domain":
        next(column for column in table["columns"] if column["name"] == "age")["domain"] = [number, number]
    else:
        (table if where != "rows" else manifest)[where.removeprefix("table ")] = number
    write_manifest(folder, manifest)
    assert refused(folder)
    not_read(folder)


@pytest.mark.parametrize("key", ["rows", "suppressed", "bytes", "l", "disease"])
def test_a_number_of_5000_digits_is_a_refusal(folder: Path, key: str) -> None:
    text = (published(folder, "bsgi") / "manifest.json").read_text()
    changed = re.sub(rf'"{key}": \d+', f'"{key}": 1{"0" * 5000}', text)
    assert changed != text
    (folder / "manifest.json").write_text(changed)
    assert "not JSON" in refused(folder)
    not_read(folder)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"format": "pluralis-release", "version": 1, "x": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"format": "pluralis-release", "version": 1, "rows": NaN}',
        '{"format": "pluralis-release", "version": 1, "rows": 1e400}',
        '{"format": "pluralis-release", "version": ' + "9" * 5000 + "}",
        '{"format": "pluralis-release", "version": 1, "method": "\\ud800"}',
        '"pluralis-release"',
        "",
        "\x00",
        "null",
    ],
    ids=range(10),
)
def test_json_that_is_no_manifest_is_a_refusal(folder: Path, text: str) -> None:
    published(folder, "bsgi")
    (folder / "manifest.json").write_text(text, encoding="utf-8")
    with pytest.raises(ReleaseError):
        audit(folder)
    not_read(folder)


def test_lone_surrogates_are_a_refusal(folder: Path) -> None:
    published(folder, "bsgi")
    text = (folder / "manifest.json").read_text()
    for place in ("flu", "bsgi", "disease"):
        (folder / "manifest.json").write_text(text.replace(f'"{place}"', '"\\ud800"'))
        not_read(folder)


@pytest.mark.parametrize(
    "lines", [[["a", "*"], ["b"]], [[]], [], [["a", "x", "*"], ["b", "*"]], [["a", "*"], ["a", "*"]]]
)
def test_ragged_hierarchies_are_a_refusal(folder: Path, lines: list[list[str]]) -> None:
    published(folder, "bsgi")

    def tree(manifest: dict[str, Any]) -> None:
        next(c for c in manifest["tables"][0]["columns"] if c["name"] == "sex")["hierarchy"] = lines

    assert refused(forged(folder, tree))
    not_read(folder)


# F5: everything is accounted for --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize(
    "edit",
    [
        lambda data: data + b"\nEvery claim holds.\n",
        lambda data: data.replace(b"# How", b"# Why"),
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: b"",
    ],
)
def test_the_readme_is_the_one_that_the_manifest_gives(folder: Path, method: str, edit: Any) -> None:
    path = published(folder, method) / "README.md"
    path.write_bytes(edit(path.read_bytes()))
    assert "README.md does not say" in refused(folder)
    not_read(folder)


def test_a_release_without_readme_is_refused(folder: Path) -> None:
    (published(folder, "bsgi") / "README.md").unlink()
    assert "README.md is missing" in refused(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.update(breaks=[]),
        lambda m: m.update(suppressed=5),
        lambda m: m.update(method="anatomy"),
        lambda m: m["claims"][0].update(measured=0.1),
    ],
)
def test_what_the_readme_says_too_is_not_changed_alone(folder: Path, change: Change) -> None:
    published(folder, "bsgi")
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(canonical(manifest))
    assert "README.md does not say" in refused(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(method="a proof that nobody learns anything"), "method"),
        (lambda m: m.update(method="bsgi\u200b"), "cannot be seen"),
        (lambda m: m.update(breaks=["\x1b[2JEvery claim holds"]), "cannot be seen"),
        (lambda m: m.update(breaks=["nothing\nEvery claim holds"]), "cannot be seen"),
        (lambda m: m.update(breaks=["\u202eecnanetniam"]), "cannot be seen"),
        (lambda m: m.update(variant="certified"), "variant"),
        (lambda m: m.update(test=0), "not written as"),
        (lambda m: m.update(rows=12.0), "not written as"),
        (lambda m: m.update(rows="12"), "not written as"),
        (lambda m: m["parameters"].update(note="audited"), "note"),
        (lambda m: m["parameters"].update(linked=1), "not written as"),
        (lambda m: m["parameters"]["l"].update(disease=2.0), "not written as"),
        (lambda m: m["tables"][0].update(sha256="0" * 63), "sha256"),
        (lambda m: m["tables"][0].update(file="../manifest.parquet"), "file"),
        (lambda m: m["tables"][0]["columns"][0].update(comment="x"), "comment"),
        (lambda m: m["tables"][0]["columns"][0].update(hierarchy=None), "not written as"),
    ],
)
def test_a_manifest_has_one_spelling(folder: Path, change: Change, message: str) -> None:
    published(folder, "bsgi")
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    write_manifest(folder, manifest)
    with pytest.raises(ReleaseError, match=message):
        audit(folder)
    not_read(folder)


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.encode("utf-16"),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.replace('"rows": 12', '"rows": 13,\n "rows": 12').encode(),
        lambda text: text.replace('"l": {', '"l": {\n   "disease": 5,').encode(),
        lambda text: text.replace("\n", "").encode(),
        lambda text: (text + " ").encode(),
        lambda text: text.replace("flu", "\\u0066lu").encode(),
        lambda text: text.encode() + b"\x00",
    ],
    ids=range(8),
)
def test_bytes_that_say_the_same_in_another_way_are_refused(folder: Path, edit: Any) -> None:
    published(folder, "bsgi")
    path = folder / "manifest.json"
    data = edit(path.read_text(encoding="utf-8"))
    assert data != path.read_bytes()
    path.write_bytes(data)
    with pytest.raises(ReleaseError):
        audit(folder)
    not_read(folder)


@pytest.mark.parametrize(
    "name", ["notes.txt", ".hidden", "README.md~", "Manifest.json", "quasi.parquet", "microdata.csv"]
)
def test_other_files_are_refused(folder: Path, name: str) -> None:
    (published(folder, "bsgi") / name).write_text("x")
    assert "not in the manifest" in refused(folder)
    not_read(folder)


@pytest.mark.parametrize("name", ["manifest.json", "README.md", "microdata.parquet"])
@pytest.mark.parametrize("how", ["link", "folder", "pipe", "device"])
def test_only_regular_files_are_read(folder: Path, tmp_path: Path, name: str, how: str) -> None:
    path = published(folder, "bsgi") / name
    path.rename(tmp_path / "elsewhere")
    if how == "link":
        path.symlink_to(tmp_path / "elsewhere")
    elif how == "folder":
        path.mkdir()
    elif how == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    started = time.monotonic()
    refused(folder)
    not_read(folder)
    assert time.monotonic() - started < 5


def test_a_folder_in_the_folder_is_refused(folder: Path) -> None:
    (published(folder, "bsgi") / "more").mkdir()
    assert "not in the manifest" in refused(folder)


def test_a_domain_is_that_of_the_cells(folder: Path) -> None:
    for i, method in enumerate(sorted(METHODS)):
        place = published(folder.with_name(f"release{i}"), method)

        def add(manifest: dict[str, Any]) -> None:
            for info in manifest["tables"]:
                for column in info["columns"]:
                    if column.get("attribute") in ("disease", "sex") and column["type"] == "text":
                        column["domain"] = ["Alice", *column["domain"]]
            for described in manifest["parameters"].get("domains", {}).values():
                if described["type"] == "text":
                    described["domain"] = ["Alice", *described["domain"]]

        assert refused(forged(place, add, domains=False)), method
        not_read(place)


# Parquet: nothing beside the cells ------------------------------------------------------------------------------------


def arrow(table: pl.DataFrame, **how: Any) -> bytes:
    out = io.BytesIO()
    metadata = how.pop("metadata", None)
    pq.write_table(table.to_arrow().replace_schema_metadata(metadata), out, **how)
    return out.getvalue()


def with_surplus_dictionary(table: pl.DataFrame) -> bytes:
    whole = table.to_arrow()
    coded = whole["disease"].combine_chunks().cast(pa.string()).dictionary_encode()
    values = pa.concat_arrays([coded.dictionary, pa.array(["Alice has hiv"], pa.string())])
    surplus = pa.DictionaryArray.from_arrays(coded.indices, values)
    index = whole.schema.get_field_index("disease")
    out = io.BytesIO()
    pq.write_table(whole.set_column(index, "disease", surplus).replace_schema_metadata(None), out, store_schema=False)
    return out.getvalue()


def polars(table: pl.DataFrame, **how: Any) -> bytes:
    out = io.BytesIO()
    table.write_parquet(out, **how)
    return out.getvalue()


def between(data: bytes) -> bytes:
    """Bytes between the pages and the footer."""
    size = int.from_bytes(data[-8:-4], "little")
    end = len(data) - 8 - size
    return data[:end] + b"Alice has hiv" + data[end:]


HIDDEN = {
    "metadata": lambda table: arrow(table, metadata={"note": "Alice has hiv"}),
    "arrow's schema": lambda table: arrow(table, store_schema=True),
    "a dictionary": with_surplus_dictionary,
    "metadata of polars": lambda table: polars(table, metadata={"note": "Alice has hiv"}),
    "another compression": lambda table: polars(table, compression="gzip"),
    "other pages": lambda table: polars(table, compression="zstd", row_group_size=3),
    "bytes before the footer": lambda table: between(write_parquet_bytes(table)),
    "bytes before the footer of another writer": lambda table: between(arrow(table, store_schema=False)),
    "bytes behind": lambda table: write_parquet_bytes(table) + b"Alice has hiv",
    "bytes in front": lambda table: b"Alice has hiv" + write_parquet_bytes(table),
    "a cut": lambda table: write_parquet_bytes(table)[:-9],
    "nothing": lambda table: b"",
    "marks alone": lambda table: b"PAR1PAR1",
    "an empty footer": lambda table: b"PAR1\x00\x00\x00\x00PAR1",
}


@pytest.mark.parametrize("how", HIDDEN)
def test_a_parquet_file_holds_its_cells_and_nothing_else(folder: Path, how: str) -> None:
    published(folder, "bsgi")
    table = pl.read_parquet(folder / "microdata.parquet")
    assert refused(forged(folder, tables={"microdata.parquet": HIDDEN[how](table)}))
    not_read(folder)


def test_the_dictionary_of_sets_holds_what_the_sets_hold(folder: Path) -> None:
    """Only sets are written with a dictionary; a value that no set holds must not hide there."""
    path = published(folder, "randomized-addition") / "microdata.parquet"
    table = pl.read_parquet(path)
    values = table["disease"].dtype.inner.categories  # type: ignore[attr-defined]
    more = pl.List(pl.Enum([*values, "Alice has hiv"]))
    hiding = table.with_columns(pl.col("disease").cast(pl.List(pl.String)).cast(more))
    size = {"compression": "zstd", "row_group_size": 1 << 13}
    assert polars(table, **size) == path.read_bytes()
    assert b"Alice" in polars(hiding, **size)
    assert "beside its cells" in refused(forged(folder, tables={path.name: polars(hiding, **size)}, domains=False))
    not_read(folder)


def test_a_file_of_another_writer_with_nothing_beside_its_cells_is_read(folder: Path) -> None:
    for i, (method, file) in enumerate([("bsgi", "microdata.parquet"), ("anatomy", "quasi.parquet"),
                                        ("anatomy", "sensitive.parquet")]):  # fmt: skip
        place = published(folder.with_name(f"release{i}"), method)
        table = pl.read_parquet(place / file)
        plain = arrow(table, store_schema=False)
        assert audit(forged(place, tables={file: plain})).holds
        assert read_release(place).tables[file.removesuffix(".parquet")].equals(table)


def test_a_file_of_another_version_of_the_same_writer_is_read(folder: Path) -> None:
    published(folder, "bsgi")
    data = (folder / "microdata.parquet").read_bytes()
    version = pl.__version__.encode()
    assert data.count(version) == 1
    other = data.replace(version, b"0" * len(version))
    assert audit(forged(folder, tables={"microdata.parquet": other})).holds


@pytest.mark.parametrize("seed", range(200))
def test_a_flipped_byte_is_a_refusal_or_hides_nothing(folder: Path, seed: int) -> None:
    """With its hash mended. If it is read at all, it holds what it held, or what is written for its cells."""
    path = published(folder, "bsgi") / "microdata.parquet"
    before, data = pl.read_parquet(path), bytearray(path.read_bytes())
    rng = np.random.default_rng(seed)
    data[int(rng.integers(0, len(data)))] ^= 1 << int(rng.integers(0, 8))
    if seed % 3 == 0:
        data = data[: int(rng.integers(1, len(data)))]
    forged(folder, tables={"microdata.parquet": bytes(data)}, domains=False)
    _, tables, problems = inspect_folder(folder)
    if not problems:
        rows = tables["microdata"]
        assert write_parquet_bytes(rows) == data or rows.cast(pl.String).equals(before.cast(pl.String))


# C2: sizes ------------------------------------------------------------------------------------------------------------


def test_a_small_file_of_many_rows_is_refused_before_it_is_unfolded(folder: Path) -> None:
    """Millions of rows of one value in a few bytes."""
    published(folder, "anatomy")
    many = pl.DataFrame({"group": pl.repeat(1, 5_000_000, dtype=pl.Int64, eager=True)})
    out = io.BytesIO()
    many.lazy().with_columns(disease=pl.lit("flu"), count=pl.lit(1, pl.Int64)).sink_parquet(out, compression="zstd")
    assert len(out.getvalue()) < 50_000
    forged(folder, tables={"sensitive.parquet": out.getvalue()}, domains=False)
    _, tables, problems = inspect_folder(folder, limit=100 << 20)
    assert not tables  # none was unfolded
    assert "--limit" in problems[0]
    manifest = json.loads((folder / "manifest.json").read_text())
    next(info for info in manifest["tables"] if info["name"] == "sensitive")["rows"] = 12
    write_manifest(folder, manifest)
    _, tables, problems = inspect_folder(folder, limit=100 << 20)
    assert "sensitive" not in tables
    assert problems == ["sensitive.parquet: it has 5,000,000 rows, the manifest says 12."]


def measured(run: Callable[[], Any]) -> tuple[Any, float, int]:
    """What it gives, seconds, and by how many bytes the most memory so far has grown."""
    import resource

    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    result = run()
    return result, time.monotonic() - started, 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


def test_the_caller_can_raise_the_limit(folder: Path) -> None:
    published(folder, "bsgi")
    _, _, problems = inspect_folder(folder, limit=100)
    assert any("--limit" in problem for problem in problems)
    assert not audit(folder, limit=100).holds
    assert audit(folder, limit=None).holds
    assert audit(folder, limit=1 << 20).holds


@pytest.mark.parametrize(
    "label",
    [
        "{a" + " " * 400_000 + "b, c}",
        "{" + '"' * 400_001 + "}",
        '{"' + "\\a" * 200_000 + '"}',
        "{" + ", ".join(f"v{i}" for i in range(100_000)) + "}",
        "{" + "," * 400_000 + "}",
        "{" + " " * 400_000 + "}",
    ],
    ids=range(6),
)
def test_sets_are_read_in_one_pass(label: str) -> None:
    started = time.monotonic()
    message = ""
    try:
        read_set(label)
    except ReleaseError as error:
        message = str(error)
    assert time.monotonic() - started < 1
    assert len(message) < 500


def test_a_manifest_is_read_within_its_own_size(folder: Path) -> None:
    """Lists of many values in few bytes: what is made of them is bounded, too."""
    published(folder, "randomized-addition")

    def many(manifest: dict[str, Any]) -> None:
        values = [f"v{i:04}" for i in range(2_000)]
        manifest["parameters"]["l"]["disease"] = manifest["claims"][0]["l"] = 1_000
        manifest["claims"][0]["model"] = "posterior"
        manifest["parameters"]["addition"]["disease"] = {
            "design": "calibrated", "values": values, "weights": [1] * 2_000}  # fmt: skip
        next(c for c in manifest["tables"][0]["columns"] if c["name"] == "disease")["domain"] = values
        reworded(manifest)

    forged(folder, many)
    message, seconds, grown = measured(lambda: refused(folder))
    assert message
    assert seconds < 5
    assert grown < 500 << 20


def test_the_commands_take_a_limit(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    call, place = caller(capsys, monkeypatch), str(published(folder, "bsgi"))
    PEOPLE.write_csv(folder.with_name("people.csv"))
    original = ["--original", str(folder.with_name("people.csv"))]
    for words in (["audit"], ["query", "sex = 'f'"], ["query", "SELECT 1", "--sql"], ["attack", "--explain", "1"],
                  ["attack", *original], ["measure", *original]):  # fmt: skip
        command, *more = words
        ran = call(command, place, *more, "--limit", "0")
        assert ran.code == (1 if command == "audit" else 2)
        assert "--limit" in ran.out + ran.err
    assert call("audit", place).code == 0
    assert inspect.signature(audit_command).parameters["limit"].default * 2**30 == LIMIT
