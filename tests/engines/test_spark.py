"""Spark gives the same bytes as one machine; what goes wrong there is said, and leaves nothing."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import pluralis as pls
from pluralis.engines.spark import _quoted, session
from pluralis.errors import InputError, MissingExtra
from pluralis.publishing.parts import publish_in_parts

HERE = importlib.util.find_spec("pyspark") is not None
needs_spark = pytest.mark.skipif(not HERE, reason="Spark is not there: pip install 'pluralis[spark]' and Java 17")


def people(rows: int = 3_000) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "person": [f"p{i}" for i in rng.integers(0, rows // 2, rows)],
            "age": rng.integers(20, 60, rows),
            "sex": rng.choice(["f", "F", "m"], rows),
            "ill": rng.choice([f"d{i}" for i in range(12)], rows),
        }
    )


def digests(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def publish(table: Path, folder: Path, method: str, person: str | None = None, **engine: object) -> None:
    policy = pls.Policy(
        quasi={"age": {"type": "number"}, "sex": {}}, sensitive={"ill": 3}, method=method, person=person, others="drop"
    )
    settings = {"key": pls.Key.test(), "part": 1_000, "workers": 0, "attacks": False, "allow_test": True, **engine}
    publish_in_parts(table, policy, folder, **settings)  # type: ignore[arg-type]


@needs_spark
@pytest.mark.parametrize(("method", "person"), [("anatomy", None), ("bsgi", "person"), ("randomized-addition", None)])
def test_the_same_bytes_as_on_one_machine(method: str, person: str | None, tmp_path: Path) -> None:
    people().write_parquet(tmp_path / "people.parquet", row_group_size=400)
    publish(tmp_path / "people.parquet", tmp_path / "one", method, person)
    publish(tmp_path / "people.parquet", tmp_path / "two", method, person, engine="spark", spark="local[2]")
    assert digests(tmp_path / "one") == digests(tmp_path / "two")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "one", "one.private", "people.parquet", "two", "two.private",
    ]  # fmt: skip


@needs_spark
def test_an_error_of_a_worker_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    table = people().with_columns(age=pl.when(pl.int_range(pl.len()) == 7).then(float("inf")).otherwise("age"))
    table.write_parquet(tmp_path / "people.parquet")
    with pytest.raises(InputError, match="infinite value"):
        publish(tmp_path / "people.parquet", tmp_path / "release", "anatomy", engine="spark", spark="local[1]")
    assert [path.name for path in tmp_path.iterdir()] == ["people.parquet"]


@needs_spark
def test_a_cluster_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no Spark at"), session("nothing://nowhere"):
        pass


@pytest.mark.skipif(HERE, reason="Spark is there, so that its absence cannot be seen")
def test_without_spark_it_is_said_how_to_get_it(tmp_path: Path) -> None:
    people().write_parquet(tmp_path / "people.parquet")
    with pytest.raises(MissingExtra, match=r"pip install 'pluralis\[spark\]'"):
        publish(tmp_path / "people.parquet", tmp_path / "release", "anatomy", engine="spark")
    assert [path.name for path in tmp_path.iterdir()] == ["people.parquet"]


def test_spark_reads_parquet(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Spark reads Parquet"):
        publish(people(), tmp_path / "release", "anatomy", engine="spark")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_names_of_columns_are_quoted() -> None:
    assert _quoted("a`b c") == "`a``b c`"
