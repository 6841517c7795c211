"""Sound release folders of four rows, written by hand, one of each kind: a test changes one thing and reads the folder.

Nothing here publishes: a folder takes milliseconds. Sizes, hashes and the README always fit what was changed.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pluralis.errors import ReleaseError
from pluralis.release.manifest import Manifest
from pluralis.release.reading import LIMIT, inspect_folder
from pluralis.release.readme import release_readme
from pluralis.release.release import with_set_labels
from pluralis.table.csv_files import write_csv_bytes
from pluralis.table.parquet_files import write_parquet_bytes

MEMBERSHIP = "membership: that a person is in the table is not hidden"
EXACT = (
    "linkage: quasi-identifiers are published as they are, so that a person's row, though not its sensitive values, "
    "can be found"
)
LINKED = "sensitive background knowledge: whoever knows one sensitive value of a person may learn the others"
CSV_ESCAPE = "a text cell that starts with = + - @ ' tab or CR has a ' before it"

Change = Callable[["SmallRelease"], Any]


@dataclass
class SmallRelease:
    """A manifest as JSON has it, and tables by name."""

    manifest: dict[str, Any]
    tables: dict[str, pl.DataFrame]

    @property
    def parameters(self) -> dict[str, Any]:
        return self.manifest["parameters"]

    @property
    def claims(self) -> list[dict[str, Any]]:
        return self.manifest["claims"]

    def info(self, table: str) -> dict[str, Any]:
        return next(info for info in self.manifest["tables"] if info["name"] == table)

    def column(self, table: str, name: str) -> dict[str, Any]:
        return next(column for column in self.info(table)["columns"] if column["name"] == name)

    def cells(self, table: str, name: str, cells: list[Any], **fields: Any) -> None:
        """Other cells, and what else the manifest says of the column."""
        frame = self.tables[table]
        kind = frame.schema[name] if any(isinstance(cell, str) for cell in cells) else None
        self.tables[table] = frame.with_columns(pl.Series(name, cells, kind))
        self.column(table, name).update(fields)

    def add_column(self, table: str, name: str, cells: list[Any], role: str, **fields: Any) -> None:
        """One more column, the last."""
        self.tables[table] = pl.DataFrame([*self.tables[table], pl.Series(name, cells)])
        kind = "text" if isinstance(cells[0], str) else "number"
        column = {"name": name, "role": role, "type": kind}
        if role in ("quasi", "plain", "sensitive"):
            column["attribute"] = name
        self.info(table)["columns"].append({**column, **copy.deepcopy(fields)})

    def drop_column(self, table: str, name: str) -> None:
        self.tables[table] = self.tables[table].drop(name)
        self.info(table)["columns"].remove(self.column(table, name))

    def say(self, **parameters: Any) -> None:
        """Other parameters, in the order in which they stand in a manifest; None takes one away."""
        merged = {**self.parameters, **parameters}
        self.manifest["parameters"] = {name: merged[name] for name in PARAMETERS if merged.get(name) is not None}

    def claim(self, adversary: str, attribute: str, promise: str, **more: Any) -> None:
        """One more claim, in its words."""
        known = adversary.split(", ") if adversary else []
        self.claims.append(
            {
                "rule": promise.format(f"{attribute} | {adversary}" if adversary else attribute),
                "model": more.pop("model", "frequency"),
                "adversary": known,
                "attribute": attribute,
                "l": more.pop("l", 2),
                **more,
            }
        )

    def write(self, folder: Path, files: Mapping[str, bytes] | None = None) -> Path:
        """The folder; `files` are written in place of tables."""
        folder.mkdir()
        for info in self.manifest["tables"]:
            data = (files or {}).get(info["file"])
            if data is None:
                table = self.tables[info["name"]]
                csv = info["file"].endswith(".csv")
                data = write_csv_bytes(with_set_labels(table)) if csv else write_parquet_bytes(table)
            (folder / info["file"]).write_bytes(data)
            info.setdefault("rows", self.tables[info["name"]].height)
            info.update(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
        write_texts(folder, self.manifest)
        return folder

    def problems(self, folder: Path, *, limit: int | None = LIMIT) -> list[str]:
        """Everything that is wrong with the folder, or why it cannot be read at all."""
        return problems(self.write(folder), limit=limit)


# the order in which a manifest says them
PARAMETERS = (
    "linked", "l", "options", "adversaries", "models", "k", "primary", "domains", "addition", "rules", "dependencies",
    "weights", "missing", "missing_as", "case", "recodings", "persons", "csv_escape",
)  # fmt: skip


def problems(folder: Path, *, limit: int | None = LIMIT) -> list[str]:
    try:
        return inspect_folder(folder, limit=limit)[2]
    except ReleaseError as error:
        return [str(error)]


def write_texts(folder: Path, manifest: dict[str, Any]) -> None:
    """The manifest in its one spelling, and the README that it gives, if it gives one."""
    for info in manifest["tables"]:
        ordered = {key: info[key] for key in ("name", "file", "rows", "bytes", "sha256", "columns")}
        info.clear()
        info.update(ordered)
        order = ("name", "role", "type", "attribute", "exact", "sets", "ordered", "domain", "hierarchy")
        info["columns"] = [
            {key: column[key] for key in sorted(column, key=lambda key: order.index(key) if key in order else 99)}
            for column in info["columns"]
        ]
    text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
    (folder / "manifest.json").write_text(text, encoding="utf-8")
    try:
        readme = release_readme(Manifest.model_validate(manifest))
    except (ValueError, KeyError):  # no README can be right then
        readme = ""
    (folder / "README.md").write_text(readme, encoding="utf-8")


def _manifest(kind: str, method: str, breaks: list[str], parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "format": "pluralis-release",
        "version": 1,
        "method": method,
        "variant": "hardened",
        "kind": kind,
        "rows": 4,
        "suppressed": 0,
        "claims": [],
        "breaks": breaks,
        "parameters": parameters,
        "tables": [],
        "test": False,
    }


def _table(release: SmallRelease, name: str, *columns: tuple[str, str, list[Any], dict[str, Any]]) -> None:
    release.manifest["tables"].append({"name": name, "file": f"{name}.parquet", "columns": []})
    release.tables[name] = pl.DataFrame()
    for column, role, cells, fields in columns:
        release.add_column(name, column, cells, role, **fields)


TREE = [["cook", "kitchen", "*"], ["baker", "kitchen", "*"], ["nurse", "ward", "*"], ["doctor", "ward", "*"]]
_AGE = ("age", "quasi", [20, 30, 40, 50], {"exact": True, "domain": [20, 50]})
_SEX = ("sex", "quasi", ["f", "m", "f", "m"], {"exact": True, "domain": ["f", "m"]})
_WARD = ("ward", "plain", ["a", "b", "a", None], {"domain": ["a", "b", None]})
_GROUP = ("group", "group", [1, 1, 2, 2], {})
_COUNT = ("count", "count", [1, 1, 1, 1], {})
_DISEASE = ("disease", "sensitive", ["flu", "hiv", "flu", "gout"], {"domain": ["flu", "gout", "hiv"]})
_STAY = ("stay", "sensitive", [1, 2, 3, 4], {"domain": [1, 4]})


def generalized() -> SmallRelease:
    """`microdata`: an interval, a set, a node of a hierarchy; a plain, a text and a number that is protected."""
    release = SmallRelease(
        _manifest(
            "generalized", "bsgi", [MEMBERSHIP, LINKED], {"linked": True, "l": {"disease": 2, "stay": 2}, "options": {}}
        ),
        {},
    )
    _table(
        release,
        "microdata",
        ("age", "quasi", ["[20, 30]", "[20, 30]", "[40, 50]", "[40, 50]"], {"type": "number", "domain": [20, 50]}),
        ("town", "quasi", ["{x, y}", "{x, y}", "z", "z"], {"domain": ["x", "y", "z"]}),
        (
            "work",
            "quasi",
            ["kitchen", "kitchen", "nurse", "nurse"],
            {"domain": ["cook", "baker", "nurse"], "hierarchy": TREE},
        ),
        _WARD,
        _DISEASE,
        _STAY,
        _GROUP,
    )
    release.claim("age, town, work", "disease", "P({}) ≤ 1/2")
    release.claim("age, town, work", "stay", "P({}) ≤ 1/2")
    return release


def bucketized() -> SmallRelease:
    """`quasi`, and `sensitive` with both attributes side by side."""
    release = SmallRelease(
        _manifest(
            "bucketized",
            "anatomy",
            [MEMBERSHIP, EXACT, LINKED],
            {"linked": True, "l": {"disease": 2, "stay": 2}, "options": {}},
        ),
        {},
    )
    _table(release, "quasi", _AGE, _SEX, _WARD, _GROUP)
    _table(release, "sensitive", _GROUP, _DISEASE, _STAY, _COUNT)
    release.claim("age, sex", "disease", "P({}) ≤ 1/2")
    release.claim("age, sex", "stay", "P({}) ≤ 1/2")
    return release


_PAIRS: tuple[tuple[str, str, list[Any], dict[str, Any]], ...] = (
    ("group", "group", [1, 1, 1, 1, 2, 2, 2, 2], {}),
    ("attribute", "attribute", ["disease", "disease", "stay", "stay"] * 2, {}),
    ("value", "value", ["flu", "hiv", "1", "2", "flu", "gout", "3", "4"], {}),
)
_DOMAINS = {
    "disease": {"name": "disease", "role": "sensitive", "type": "text", "attribute": "disease",
                "domain": ["flu", "gout", "hiv"]},
    "stay": {"name": "stay", "role": "sensitive", "type": "number", "attribute": "stay", "domain": [1, 4]},
}  # fmt: skip


def unlinked() -> SmallRelease:
    """`quasi`, and `sensitive` with each attribute on its own."""
    parameters = {
        "linked": False,
        "l": {"disease": 2, "stay": 2},
        "options": {},
        "domains": copy.deepcopy(_DOMAINS),
    }
    release = SmallRelease(_manifest("bucketized", "msb", [MEMBERSHIP, EXACT], parameters), {})
    _table(release, "quasi", _AGE, _SEX, _WARD, _GROUP)
    _table(release, "sensitive", *_PAIRS, ("count", "count", [1] * 8, {}))
    release.claim("age, sex", "disease", "P({}) ≤ 1/2")
    release.claim("age, sex", "stay", "P({}) ≤ 1/2")
    return release


def decomposed() -> SmallRelease:
    """`quasi`, `values`, and how often each disease occurs."""
    parameters = {
        "linked": True,
        "l": {"disease": 2, "stay": 2},
        "options": {},
        "primary": "disease",
        "domains": copy.deepcopy(_DOMAINS),
    }
    release = SmallRelease(_manifest("decomposed", "decomposition", [MEMBERSHIP, EXACT], parameters), {})
    _table(release, "quasi", _AGE, _SEX, _WARD, _GROUP)
    _table(release, "values", *_PAIRS)
    fields = {"attribute": "disease", "domain": ["flu", "gout", "hiv"]}
    _table(
        release,
        "sensitive_disease",
        ("value", "sensitive", ["flu", "gout", "hiv"], fields),
        ("count", "count", [2, 1, 1], {}),
    )
    release.claim("age, sex", "disease", "P({}) ≤ 1/2")
    release.claim("age, sex", "stay", "2 or more values possible of {}", model="candidates")
    return release


def sliced() -> SmallRelease:
    """`quasi` with two groups for each row, and a slice for each attribute."""
    release = SmallRelease(
        _manifest("sliced", "sloms", [MEMBERSHIP], {"l": {"disease": 2, "stay": 2}, "options": {}}), {}
    )
    age = ("age", "quasi", ["[20, 30]", "[20, 30]", "[40, 50]", "[40, 50]"], {"type": "number", "domain": [20, 50]})
    _table(release, "quasi", age, _WARD, ("group_1", "group", [1, 1, 2, 2], {}), ("group_2", "group", [1, 2, 2, 1], {}))
    _table(release, "slice_1", _GROUP, _DISEASE, _COUNT)
    _table(release, "slice_2", _GROUP, _STAY, _COUNT)
    release.claim("age", "disease", "P({}) ≤ 1/2")
    release.claim("age", "stay", "P({}) ≤ 1/2")
    return release


def candidates() -> SmallRelease:
    """`microdata` with a set of diseases and one of numbers for each row."""
    several = "several sensitive attributes: sets of one row are drawn apart"
    parameters = {
        "linked": True,
        "l": {"disease": 2, "stay": 2},
        "options": {},
        "addition": {
            "disease": {"design": "uniform", "values": ["flu", "gout", "hiv"]},
            "stay": {"design": "uniform", "values": [1, 2, 4]},
        },
    }
    manifest = _manifest("candidates", "randomized-addition", [MEMBERSHIP, EXACT, several], parameters)
    release = SmallRelease(manifest, {})
    sets = [["flu", "hiv"], ["flu", "hiv"], ["flu", "gout"], ["gout", "hiv"]]
    numbers = [[1, 2], [1, 4], [2, 4], [1, 2]]
    _table(
        release,
        "microdata",
        _AGE,
        _SEX,
        _WARD,
        ("disease", "sensitive", sets, {"type": "text", "sets": True, "domain": ["flu", "gout", "hiv"]}),
        ("stay", "sensitive", numbers, {"sets": True, "domain": [1, 4]}),
    )
    kind = pl.List(pl.Enum(["flu", "gout", "hiv"]))
    release.tables["microdata"] = release.tables["microdata"].with_columns(pl.col("disease").cast(kind))
    release.claim("age, sex", "disease", "every row lists 2 values of {}", model="set-size")
    release.claim("age, sex", "stay", "every row lists 2 values of {}", model="set-size")
    return release


def multi() -> SmallRelease:
    """`t1` as it is, `t2` bucketized, `t3` generalized; two rules."""
    rules = ["age -> disease : l=2", "sex -> stay : l=2"]
    parameters = {"l": {"disease": 2, "stay": 2}, "options": {}, "rules": rules}
    release = SmallRelease(_manifest("multi", "gd", [MEMBERSHIP, EXACT], parameters), {})
    _table(release, "t1", _AGE, _SEX)
    _table(release, "t2_quasi", _AGE, _GROUP)
    _table(release, "t2_sensitive", _GROUP, _DISEASE, _COUNT)
    _table(
        release,
        "t3",
        ("sex", "quasi", ["{f, m}", "{f, m}", "*", "*"], {"domain": ["f", "m"]}),
        _GROUP,
        _STAY,
    )
    release.claim("age", "disease", "P({}) ≤ 1/2")
    release.claim("sex", "stay", "P({}) ≤ 1/2")
    return release


def in_csv(release: SmallRelease) -> SmallRelease:
    """The same with its tables in CSV."""
    for info in release.manifest["tables"]:
        info["file"] = info["file"].replace(".parquet", ".csv")
    release.say(csv_escape=CSV_ESCAPE)
    return release


KINDS: dict[str, Callable[[], SmallRelease]] = {
    "generalized": generalized,
    "bucketized": bucketized,
    "unlinked": unlinked,
    "decomposed": decomposed,
    "sliced": sliced,
    "candidates": candidates,
    "multi": multi,
}


class Cases:
    """Sound folders with one thing changed, each with exactly what is said of it: `@cases("bucketized", "refusal")`.

    Nothing is said of what is still sound.
    """

    def __init__(self) -> None:
        self.params: list[Any] = []

    def __call__(self, kind: str, *messages: str) -> Callable[[Change], Change]:
        def add(change: Change) -> Change:
            self.params.append(pytest.param(kind, change, [*messages], id=f"{change.__name__}-{kind}"))
            return change

        return add
