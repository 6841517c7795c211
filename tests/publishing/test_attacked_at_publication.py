"""What is measured before a release becomes visible, of tables of any size and of methods that leave much to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

import pluralis as pls
from pluralis.publishing.attack_scores import TARGETS

MANY = 100_001


def workers(rows: int) -> pl.DataFrame:
    """People of few ages in few towns, each with jobs that are common there, and a pay that goes with nothing."""
    draw = np.random.default_rng(6)
    towns, jobs = draw.integers(0, 5, rows), np.array(["clerk", "nurse", "smith", "cook", "judge"])
    return pl.DataFrame({
        "age": draw.integers(20, 60, rows), "town": np.array(list("ABCDE"))[towns],
        "job": jobs[np.where(draw.random(rows) < 0.5, towns, draw.integers(0, 5, rows))],
        "pay": draw.choice(["low", "fair", "good", "high"], rows),
    })  # fmt: skip


def test_a_table_of_more_than_a_hundred_thousand_rows_is_attacked() -> None:
    policy = pls.Policy(quasi=["age", "town"], sensitive={"job": 3}, others="drop", method="anatomy")
    release = pls.publish(workers(MANY), policy, key=pls.Key.test())
    assert release.manifest.rows == MANY
    results = release.attacked or ()
    assert {"homogeneity", "definetti", "linkage"} <= {one.attack for one in results}
    assert {one.sampled for one in results} == {True}
    assert {one.targets for one in results} == {TARGETS}
    (worst,) = (item for item in release.manifest.breaks if item.startswith("worst measured guess: "))
    assert "% of people" in worst


def test_sloms_without_k_says_that_quasi_identifiers_stand_as_they_are_and_measures_linkage(tmp_path: Path) -> None:
    sensitive = {"job": {"l": 2}, "pay": {"l": 2}}
    said = {}
    for k in (None, 5):
        policy = pls.Policy(quasi=["age", "town"], sensitive=sensitive, method="sloms", k=k)
        release = pls.publish(workers(400), policy, key=pls.Key.test())
        assert release.save(tmp_path / f"release {k}", allow_test=True).holds
        (linkage,) = (one for one in release.attacked or () if one.attack == "linkage")
        said[k] = (
            any("quasi-identifiers as they are" in note for note in release.notes),
            any("quasi-identifiers are published as they are" in item for item in release.manifest.breaks),
            "quasi-identifiers are published as they are" in (tmp_path / f"release {k}" / "README.md").read_text(),
            linkage.success,
        )
    assert said[None][:3] == (True, True, True)
    assert said[5][:3] == (False, False, False)
    assert said[None][3] > 0.05 > said[5][3]
