"""A table of people, a policy for them, and its publication in parts under the test key, in this process."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import polars as pl

import pluralis as pls
from pluralis.publishing.parts import PublishedParts, publish_in_parts

ROWS = 1_200


def people(rows: int = ROWS, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "person": [f"p{i}" for i in rng.integers(0, rows // 2, rows)],
            "age": rng.integers(20, 60, rows),
            "sex": rng.choice(["f", "m"], rows),
            "ward": rng.choice(["a", "b", "c"], rows),
            "ill": rng.choice([f"d{i}" for i in range(12)], rows),
        }
    )


def policy_of(method: str, **more: object) -> pls.Policy:
    attributes = {"age": {"role": "quasi", "type": "number"}, "sex": {"role": "quasi"}, "ward": {"role": "plain"}}
    sensitive = {"ill": {"role": "sensitive", "l": 3}}
    publish = {"method": method, "suppress": 0.2}
    return pls.Policy.from_dict(
        {"version": 1, "attributes": attributes | sensitive, "others": "drop", "publish": publish, **more}
    )


def digests(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def published(table: object, policy: pls.Policy, folder: Path, **options: object) -> PublishedParts:
    settings = {"key": pls.Key.test(), "part": 400, "workers": 0, "attacks": False, "allow_test": True}
    return publish_in_parts(table, policy, folder, **{**settings, **options})  # type: ignore[arg-type]


def written_in_files(table: pl.DataFrame, folder: Path, files: int = 3) -> Path:
    """The rows of a table in another order, its columns in another, in so many Parquet files of small row groups."""
    folder.mkdir()
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=5).select(reversed(table.columns))
    rows = -(-table.height // files)
    for i in range(files):
        shuffled.slice(i * rows, rows).write_parquet(folder / f"{i}.parquet", row_group_size=110)
    return folder
