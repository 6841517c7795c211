"""Release folders as a forger would leave them: whatever was changed, sizes, hashes, domains and README fit again."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pluralis.auditing import audit
from pluralis.errors import ReleaseError
from pluralis.estimate.analyst_release import read_release
from pluralis.publishing.pipeline import publish
from pluralis.release.manifest import Manifest, claim_words
from pluralis.release.readme import release_readme
from pluralis.table.sources import write_parquet_bytes
from support.sample_tables import KEY, policy_of

Change = Callable[[dict[str, Any]], Any]

PEOPLE = pl.DataFrame(
    {
        "age": [20, 20, 30, 30, 40, 40, 50, 50, 60, 60, 70, 70],
        "sex": ["f", "m"] * 6,
        "ward": ["a", "b", "a", "b", "a", "b", "a", "b", "a", "b", "a", "b"],
        "disease": ["flu", "hiv", "gout", "flu", "hiv", "gout", "flu", "hiv", "gout", "flu", "hiv", "gout"],
        "stay": [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6],
    }
)
AGE = {"role": "quasi", "type": "number"}
ONE = {"age": AGE, "sex": {"role": "quasi"}, "ward": {"role": "plain"}, "disease": {"role": "sensitive", "l": 2}}
TWO = {**ONE, "stay": {"role": "sensitive", "l": 2, "type": "number"}}
METHODS = {
    "bsgi": (ONE, {}),
    "anatomy": (ONE, {}),
    "msb": (TWO, {}),
    "decomposition": (TWO, {"options": {"sensitive_table": "none"}}),
    "sloms": (TWO, {}),
    "randomized-addition": (ONE, {"variant": "paper", "options": {"claim": "set-size"}}),
    "gd": ({**ONE, "ward": {"role": "quasi"}}, {}),
}


def published(folder: Path, method: str, **more: Any) -> Path:
    """A sound release of PEOPLE by a method; `more` is of its policy."""
    shutil.copytree(_published(method, json.dumps(more)), folder)
    return folder


@cache
def _published(method: str, more: str) -> Path:
    attributes, publishing = METHODS[method]
    policy = policy_of(attributes, others="drop", method=method, **publishing, **json.loads(more))
    folder = Path(tempfile.mkdtemp(prefix="pluralis-sound-")) / "release"
    publish(PEOPLE, policy, key=KEY).save(folder)
    assert audit(folder).holds
    return folder


def refused(folder: Path) -> str:
    """Why the audit does not say that all holds: what it says first, or why the folder is not even judged."""
    try:
        verdict = audit(folder)
    except ReleaseError as error:
        return str(error)
    assert not verdict.holds
    return str(verdict.failures[0])


def not_read(folder: Path) -> str:
    """Why the folder is not read."""
    with pytest.raises(ReleaseError) as caught:
        read_release(folder)
    return str(caught.value)


def forged(
    folder: Path,
    change: Change | None = None,
    tables: Mapping[str, pl.DataFrame | bytes] | None = None,
    *,
    domains: bool = True,
) -> Path:
    """The folder with other tables (by file) and another manifest, sealed again; what was measured is left out."""
    for file, content in (tables or {}).items():
        (folder / file).write_bytes(content if isinstance(content, bytes) else write_parquet_bytes(content))
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    for claim in manifest["claims"]:
        claim.pop("measured", None)
    if change is not None:
        change(manifest)
    return sealed(folder, manifest, domains=domains)


def sealed(folder: Path, manifest: dict[str, Any], *, domains: bool = True) -> Path:
    """Write a manifest, and all that follows from it and from the tables."""
    for info in manifest["tables"]:
        path = folder / info["file"]
        if not path.is_file():
            continue
        data = path.read_bytes()
        frame = None
        if path.suffix == ".parquet":
            try:
                frame = pl.read_parquet(io.BytesIO(data))
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
                frame = None
        rows = info["rows"] if frame is None else frame.height
        info.update(rows=rows, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
        if domains and frame is not None:
            _mend_domains(info, frame)
    write_manifest(folder, manifest)
    return folder


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    (folder / "manifest.json").write_text(canonical(manifest), encoding="utf-8")
    try:
        readme = release_readme(Manifest.model_validate(manifest))
    except (ValueError, KeyError):  # the manifest is refused before the README is looked at
        return
    (folder / "README.md").write_text(readme, encoding="utf-8")


def canonical(manifest: dict[str, Any]) -> str:
    return json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"


def reworded(manifest: dict[str, Any]) -> None:
    """Give every claim the sentence that its fields have."""
    whole = Manifest.model_validate(manifest)
    for claim, written in zip(whole.claims, manifest["claims"], strict=True):
        written["rule"] = claim_words(claim, whole.kind)


def _mend_domains(info: dict[str, Any], frame: pl.DataFrame) -> None:
    for column in info["columns"]:
        exact = column["role"] in ("plain", "sensitive") or column.get("exact")
        if not exact or column.get("sets") or column["name"] not in frame.columns:
            continue
        cells = frame[column["name"]]
        values = cells.unique().drop_nulls().sort()
        if column["type"] == "number":
            column["domain"] = [values[0], values[-1]] if values.len() else []
        else:
            column["domain"] = [*values.cast(pl.String), *([None] if cells.null_count() else [])]
