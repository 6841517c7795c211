"""Tables that tests of Spark publish, and what tells releases apart."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import polars as pl

import pluralis as pls
from pluralis.publishing.parts import PublishedParts, publish_in_parts


def people(rows: int = 3_000) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "person": [f"p{i}" for i in rng.integers(0, rows // 2, rows)],
            "age": rng.integers(20, 60, rows),
            "sex": rng.choice(["f", "F", "m"], rows),
            "place": rng.choice([f"place {i}" for i in range(rows // 20)], rows),
            "ill": rng.choice([f"d{i}" for i in range(12)], rows),
        }
    )


def digests(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def published(table: object, folder: Path, method: str, person: str | None = None, **options: object) -> PublishedParts:
    quasi = {"age": {"type": "number"}, "sex": {}} | ({} if method in ("mondrian", "bsgi") else {"place": {}})
    policy = pls.Policy(quasi=quasi, sensitive={"ill": 3}, method=method, person=person, others="drop", suppress=0.1)
    settings = {"key": pls.Key.test(), "part": 1_000, "workers": 0, "attacks": False, "allow_test": True, **options}
    return publish_in_parts(table, policy, folder, **settings)  # type: ignore[arg-type]
