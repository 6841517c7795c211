"""Forged folders, by what stands beside the cells: every text of a manifest or of a footer is accounted for."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pluralis.auditing import audit
from pluralis.errors import ReleaseError
from pluralis.release.manifest import Claim, Parameters, claim_words
from pluralis.release.reading import inspect_folder
from pluralis.release.release import canonical_order
from pluralis.table.sources import write_parquet_bytes
from support.forged_folders import METHODS, forged, not_read, published, refused, write_manifest
from support.parquet_footers import Fields, field, put, with_footer

ALICE = "Alice is 20 f and has hiv"
Change = Callable[[dict[str, Any]], Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "release"


def saying(key: str, value: Any) -> Change:
    """A manifest that says something else under one of its parameters."""

    def change(manifest: dict[str, Any]) -> None:
        parameters = {**manifest["parameters"], key: value}
        manifest["parameters"] = {name: parameters[name] for name in Parameters.model_fields if name in parameters}

    return change


def columns(roles: tuple[str, ...], key: str, value: Any) -> Change:
    def change(manifest: dict[str, Any]) -> None:
        for info in manifest["tables"]:
            for column in info["columns"]:
                column |= {key: value} if column["role"] in roles else {}

    return change


def with_c(manifest: dict[str, Any]) -> None:
    for claim in manifest["claims"]:
        measured = {key: claim.pop(key) for key in ("bound", "measured") if key in claim}
        claim.update(c=3.5, **measured)


def turned_round(manifest: dict[str, Any]) -> None:
    manifest["breaks"] = [f"{item.split(':')[0]}: cannot happen in this release" for item in manifest["breaks"]]


def two_memberships(manifest: dict[str, Any]) -> None:
    manifest["breaks"].append("membership: nobody can tell who is in the table")


def a_whole_table(manifest: dict[str, Any]) -> None:
    manifest["breaks"].append("note: " + ALICE * 50)


WORDS: dict[str, Change] = {
    "options": saying("options", {"rows": [ALICE]}),
    "an option that is a sentence": saying("options", {"mode": ALICE}),
    "a deep option": saying("options", {"slices": [[["age"]]]}),
    "many marks of missing values": saying("missing", [f"{ALICE} {i}" for i in range(101)]),
    "a long mark of missing values": saying("missing", [ALICE * 5]),
    "missing_as": saying("missing_as", {ALICE: "x"}),
    "weights": saying("weights", {ALICE: 2.0}),
    "case": saying("case", [ALICE]),
    "case twice": saying("case", ["disease", "disease"]),
    "models": saying("models", {ALICE: "entropy"}),
    "a model that is none": saying("models", {"disease": ALICE}),
    "primary": saying("primary", ALICE),
    "domains": saying(
        "domains", {"zz": {"name": "zz", "role": "sensitive", "type": "text", "attribute": "zz", "domain": [ALICE]}}
    ),
    "dependencies": saying("dependencies", [f'"{ALICE}" -> age']),
    "rules": saying("rules", [f'age -> "{ALICE}" : l=2']),
    "rules of nobody": saying("rules", [f'"{ALICE}" -> disease : l=2']),
    "addition": saying("addition", {"zz": {"design": "uniform", "values": [ALICE]}}),
    "adversaries twice": saying("adversaries", [["age", "sex"], ["age", "sex"]]),
    "adversaries out of order": saying("adversaries", [["sex"], ["age"]]),
    "adversaries who know nothing that is there": saying("adversaries", [[ALICE]]),
    "the domain of a group": columns(("group", "count", "attribute", "value"), "domain", [ALICE]),
    "the hierarchy of a group": columns(("group", "count", "attribute", "value"), "hierarchy", [[ALICE, "*"]]),
    "the hierarchy of a secret": columns(("sensitive", "plain"), "hierarchy", [[ALICE, "*"]]),
    "c of a claim": with_c,
    "breaks turned round": turned_round,
    "membership twice": two_memberships,
    "a break as long as a table": a_whole_table,
}


@pytest.mark.parametrize(
    ("what", "method"),
    [(w, m) for w in WORDS for m in METHODS if not (m == "randomized-addition" and w.endswith("of a group"))],
)
def test_a_manifest_says_nothing_that_is_not_accounted_for(folder: Path, what: str, method: str) -> None:
    published(folder, method)
    assert refused(forged(folder, WORDS[what], domains=False))
    not_read(folder)


def test_the_domain_of_sets_is_what_they_were_drawn_from(folder: Path) -> None:
    published(folder, "randomized-addition")
    assert refused(forged(folder, columns(("sensitive",), "domain", [ALICE]), domains=False))


def test_parameters_that_a_kind_needs_are_there(folder: Path) -> None:
    """`linked` decides what is judged: it is said, or the release is none."""
    for i, method in enumerate(METHODS):
        place = published(folder.with_name(f"release{i}"), method)

        def forget(manifest: dict[str, Any]) -> None:
            for key in ("linked", "primary", "addition", "rules"):
                manifest["parameters"].pop(key, None)

        message = refused(forged(place, forget)) if method != "sloms" else "sloms needs none"
        assert "Field required" in message or method == "sloms"


# footers ------------------------------------------------------------------------------------------------------------


def every_column(footer: Fields) -> list[Fields]:
    return [column for group in field(footer, 4)[1] for column in field(group, 1)[1]]


def in_all(parts: list[Fields], number: int, kind: int, value: Any) -> None:
    for part in parts:
        put(part, number, kind, value)


def in_chunks(number: int, kind: int, value: Any) -> Callable[[Fields], None]:
    return lambda footer: in_all([field(column, 3) for column in every_column(footer)], number, kind, value)


def in_schema(number: int, kind: int, value: Any) -> Callable[[Fields], None]:
    return lambda footer: in_all(field(footer, 2)[1], number, kind, value)


def in_groups(number: int, kind: int, value: Any) -> Callable[[Fields], None]:
    return lambda footer: in_all(field(footer, 4)[1], number, kind, value)


def in_a_type(footer: Fields) -> None:
    put(field(footer, 2)[1][1], 10, 12, [[1, 12, [[50, 8, ALICE.encode()]]]])


TEXT = ALICE.encode()
FOOTERS: dict[str, Callable[[Fields], None]] = {
    "the writer": lambda footer: put(footer, 6, 8, TEXT),
    "a field of the footer": lambda footer: put(footer, 20, 8, TEXT),
    "a field of the schema": in_schema(30, 8, TEXT),
    "the name of the schema": lambda footer: put(field(footer, 2)[1][0], 4, 8, TEXT),
    "a field of a type": in_a_type,
    "an identifier of fields": in_schema(9, 5, 20),
    "a field of row groups": in_groups(30, 8, TEXT),
    "columns that are said to be sorted": in_groups(4, 9, (12, [[[1, 5, 0], [2, 2, False], [3, 2, False]]])),
    "key-values of a column": in_chunks(8, 9, (12, [[[1, 8, b"k"], [2, 8, TEXT]]])),
    "a field of a column": in_chunks(40, 8, TEXT),
    "the path of a column": in_chunks(3, 9, (8, [TEXT])),
    "a Bloom filter": in_chunks(14, 6, 4),
}


def by_arrow(table: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    pq.write_table(table.to_arrow().replace_schema_metadata(None), out, store_schema=False)
    return out.getvalue()


@pytest.mark.parametrize("what", FOOTERS)
@pytest.mark.parametrize("writer", ["parquet-cpp-arrow version 9.9.9", "Polars version 9.9.9"])
@pytest.mark.parametrize("write", [by_arrow, write_parquet_bytes])
def test_a_footer_holds_nothing_but_the_table(
    folder: Path, what: str, writer: str, write: Callable[[pl.DataFrame], bytes]
) -> None:
    """Of a writer that is not this one, so that the file cannot be written again and compared."""
    published(folder, "bsgi")
    data = write(pl.read_parquet(folder / "microdata.parquet"))

    def honest(footer: Fields) -> None:
        put(footer, 6, 8, writer.encode())

    def change(footer: Fields) -> None:
        honest(footer)
        FOOTERS[what](footer)

    assert audit(forged(folder, tables={"microdata.parquet": with_footer(data, honest)})).holds
    assert refused(forged(folder, tables={"microdata.parquet": with_footer(data, change)}))
    not_read(folder)


# sizes --------------------------------------------------------------------------------------------------------------


def test_a_long_text_in_a_dictionary_is_counted_as_often_as_it_stands_there(folder: Path) -> None:
    """A thousand rows of one text of a megabyte are a gigabyte, in a file of a few hundred bytes."""
    published(folder, "anatomy")
    rows, long = 6_000, "a" * 1_000_000
    codes = pa.array([0] * rows, pa.int32())
    table = {
        "age": pa.array([20] * rows, pa.int64()),
        "sex": pa.array(["f"] * rows, pa.large_string()),
        "ward": pa.DictionaryArray.from_arrays(codes, pa.array([long], pa.large_string())),
        "group": pa.array([1] * rows, pa.int64()),
    }
    out = io.BytesIO()
    names = pl.read_parquet(folder / "quasi.parquet").columns
    pq.write_table(pa.table({name: table[name] for name in names}), out, compression="zstd", store_schema=False)
    data = out.getvalue()
    assert len(data) < 10_000
    forged(folder, tables={"quasi.parquet": data}, domains=False)
    started = time.monotonic()
    _, tables, problems = inspect_folder(folder)
    assert "letters once they are spelled out" in problems[0]
    assert "quasi" not in tables
    assert time.monotonic() - started < 10


def test_claims_are_counted_before_they_are_listed(folder: Path) -> None:
    """Adversaries times attributes would be millions of claims, in a manifest of a few hundred kilobytes."""
    published(folder, "bsgi")
    manifest = json.loads((folder / "manifest.json").read_text())
    many = [f"q{i}" for i in range(3_000)]
    info = manifest["tables"][0]
    shown = next(column for column in info["columns"] if column["name"] == "sex")
    info["columns"][:1] += [{**shown, "name": name, "attribute": name} for name in many]
    manifest["parameters"]["l"] |= {f"s{i}": 2 for i in range(3_000)}
    manifest["parameters"]["adversaries"] = sorted([name] for name in many)
    manifest["parameters"] = {
        n: manifest["parameters"][n] for n in Parameters.model_fields if n in manifest["parameters"]
    }
    write_manifest(folder, manifest)
    started = time.monotonic()
    assert refused(folder)
    assert time.monotonic() - started < 10


def test_a_design_of_too_many_sets_is_refused_before_they_are_listed(folder: Path) -> None:
    published(folder, "randomized-addition")
    values = [f"v{i:04}" for i in range(1_000)]
    design = {"design": "calibrated", "values": values, "weights": [1_000 + i for i in range(1_000)]}
    started = time.monotonic()

    def change(manifest: dict[str, Any]) -> None:
        manifest["parameters"] |= {"l": {"disease": 500}, "addition": {"disease": design}}
        for claim in manifest["claims"]:
            claim["l"] = 500
            claim["rule"] = claim["rule"].replace("2 values", "500 values")
        saying("options", {})(manifest)

    assert refused(forged(folder, change, domains=False))
    assert time.monotonic() - started < 10


# what looks alike ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("twin", ["flu\U000e0100", "flu\u17b4", "fl\u057d", "\U0001d41flu"])
@pytest.mark.parametrize("method", ["bsgi", "anatomy", "sloms", "gd"])
def test_values_that_look_alike_are_one(folder: Path, twin: str, method: str) -> None:
    published(folder, method)
    changed = False
    for path in sorted(folder.glob("*.parquet")):
        table = pl.read_parquet(path)
        for name in {"disease", "value"} & {*table.columns}:
            if "hiv" in table[name].to_list():
                forged(folder, tables={path.name: table.with_columns(pl.col(name).replace("hiv", twin))})
                changed = True
    assert changed
    assert refused(folder)
    with pytest.raises(ReleaseError):
        inspect_or_raise(folder)


def inspect_or_raise(folder: Path) -> None:
    for problem in inspect_folder(folder)[2]:
        raise ReleaseError(problem)


# numbers and names that carry something -----------------------------------------------------------------------------


@pytest.mark.parametrize("cell", [float("nan"), float("inf"), -0.0])
@pytest.mark.parametrize("column", ["ward", "disease"])
def test_numbers_that_are_none_are_refused(folder: Path, column: str, cell: float) -> None:
    """Nobody counts NaN, and each of its millions of forms can say something else; so can a second zero."""
    published(folder, "bsgi")
    rows = pl.read_parquet(folder / "microdata.parquet")
    numbers = pl.Series(column, [0.0, 1.0, 2.5] * 4)
    table = canonical_order(rows.with_columns(numbers))
    other = table.with_columns(table[column].set(table[column] == 0, cell))

    def change(manifest: dict[str, Any]) -> None:
        described = next(one for one in manifest["tables"][0]["columns"] if one["name"] == column)
        described |= {"type": "number", "domain": [0.0, 2.5]}

    forged(folder, change, tables={"microdata.parquet": other}, domains=False)
    assert "no number" in refused(folder) or "negative zero" in refused(folder)
    not_read(folder)


def test_a_recursive_claim_says_its_c_whole() -> None:
    claim = Claim(rule="", model="recursive", adversary=("age",), attribute="disease", l=2, c=3.000001)
    assert "(3.000001,2)" in claim_words(claim, "generalized")
    assert "(3,2)" in claim_words(claim.model_copy(update={"c": 3.0}), "generalized")


def test_files_are_called_like_their_tables(folder: Path) -> None:
    published(folder, "anatomy")
    (folder / "quasi.parquet").rename(folder / "bob_has_hiv.parquet")

    def change(manifest: dict[str, Any]) -> None:
        next(info for info in manifest["tables"] if info["name"] == "quasi")["file"] = "bob_has_hiv.parquet"

    assert "called like their tables" in refused(forged(folder, change))


def test_slices_are_numbered_from_1(folder: Path) -> None:
    published(folder, "sloms")
    number = "9" * 30
    quasi = pl.read_parquet(folder / "quasi.parquet").rename({"group_1": f"group_{number}"})
    (folder / "slice_1.parquet").rename(folder / f"slice_{number}.parquet")

    def change(manifest: dict[str, Any]) -> None:
        for info in manifest["tables"]:
            if info["name"] == "slice_1":
                info |= {"name": f"slice_{number}", "file": f"slice_{number}.parquet"}
            for column in info["columns"]:
                if column["name"] == "group_1":
                    column["name"] = f"group_{number}"

    assert "numbered from 1" in refused(forged(folder, change, tables={"quasi.parquet": quasi}))


def test_groups_are_numbered_without_gaps(folder: Path) -> None:
    published(folder, "anatomy")
    tables = {path.name: pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))}
    wider = {file: table.with_columns(pl.col("group") * 2 - 1) for file, table in tables.items()}
    assert "without gaps" in refused(forged(folder, tables=wider))


def test_a_table_of_many_columns_is_read_at_once(folder: Path) -> None:
    published(folder, "bsgi")
    rows = pl.read_parquet(folder / "microdata.parquet")
    wide = rows.with_columns(pl.lit("x").alias(f"p{i:04}") for i in range(2_500))

    def change(manifest: dict[str, Any]) -> None:
        info = manifest["tables"][0]
        ward = next(column for column in info["columns"] if column["name"] == "ward")
        info["columns"] += [{**ward, "name": f"p{i:04}", "attribute": f"p{i:04}"} for i in range(2_500)]

    started = time.monotonic()
    forged(folder, change, tables={"microdata.parquet": wide})
    inspect_folder(folder)
    assert time.monotonic() - started < 20
