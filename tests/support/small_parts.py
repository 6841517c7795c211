"""Small releases in parts, made with the test key in this process."""

from __future__ import annotations

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


def published(table: object, policy: pls.Policy, folder: Path, **options: object) -> PublishedParts:
    settings = {"key": pls.Key.test(), "part": 400, "workers": 0, "attacks": False, "allow_test": True}
    return publish_in_parts(table, policy, folder, **{**settings, **options})  # type: ignore[arg-type]
