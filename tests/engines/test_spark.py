"""Spark gives the same bytes as one machine; what goes wrong there is said, and leaves nothing.

Sail speaks as Spark Connect does and starts at once, so that most is tested with it; Spark itself does some on this
machine. Clusters are in `test_spark_clusters.py`.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Collection, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import pluralis as pls
from benchmarks.clusters import sail_server
from pluralis.engines import spark as engine
from pluralis.engines.spark import _quoted, session
from pluralis.engines.spark_tasks import Versions, handed_over
from pluralis.errors import AuditFailed, InputError, MissingExtra, OutputError
from pluralis.publishing import parts
from pluralis.publishing.parts import publish_in_parts
from support.spark_tables import digests, people, published

HERE = importlib.util.find_spec("pyspark") is not None
SAIL = importlib.util.find_spec("pysail") is not None
needs_spark = pytest.mark.skipif(
    not HERE or shutil.which("java") is None, reason="Spark is not there: pip install 'pluralis[spark]' and Java 17"
)
needs_sail = pytest.mark.skipif(not HERE or not SAIL, reason="Sail is not there: make test-spark")
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

SAME = {
    "u8": pl.Series([0, 255, None], dtype=pl.UInt8),
    "u16": pl.Series([0, 65_535, 7], dtype=pl.UInt16),
    "u32": pl.Series([0, 2**32 - 1, None], dtype=pl.UInt32),
    "u64": pl.Series([0, 2**63 - 1, 5], dtype=pl.UInt64),
    "i8": pl.Series([-128, 127, None], dtype=pl.Int8),
    "i16": pl.Series([-(2**15), 2**15 - 1, 0], dtype=pl.Int16),
    "i64": pl.Series([-(2**62), 2**62, 3]),
    "f32": pl.Series([0.1, -1.5, None], dtype=pl.Float32),
    "f64": pl.Series([0.1, 1e-300, 2.0]),
    "flag": pl.Series([True, False, None]),
    "text": pl.Series(["a", " É\N{COMBINING ACUTE ACCENT}", None]),
    "category": pl.Series(["x", "y", None], dtype=pl.Categorical),
    "enum": pl.Series(["x", "y", "x"], dtype=pl.Enum(["y", "x"])),
    "day": pl.Series([date(2024, 2, 29), date(1900, 1, 1), None]),
    "old": pl.Series([date(1500, 1, 1), date(1, 1, 1), None]),
    "micro": pl.Series([datetime(2024, 1, 1, 2, 3, 4, 5), datetime(1900, 3, 25, 2, 30), None]),
    "milli": pl.Series([datetime(2024, 3, 31, 2, 30), None, datetime(1960, 1, 1)], dtype=pl.Datetime("ms")),
    "decimal": pl.Series([Decimal("1.10"), Decimal("-7.00"), None], dtype=pl.Decimal(9, 2)),
}
NUMBERS = ("u8", "u16", "u32", "u64", "i8", "i16", "i64", "f32", "f64")
OTHER = {
    "zone": pl.Series([datetime(2024, 1, 1)], dtype=pl.Datetime("us", "Europe/Paris")),
    "nano": pl.Series([datetime(2024, 1, 1)], dtype=pl.Datetime("ns")),
    "clock": pl.Series([time(1, 2, 3)]),
    "span": pl.Series([timedelta(days=1)]),
    "bytes": pl.Series([b"a"]),
    "list": pl.Series([[1, 2]]),
    "struct": pl.Series([{"a": 1}]),
    "nothing": pl.Series([None]),
    "wide": pl.Series([2**100], dtype=pl.Int128),
}


@pytest.fixture(scope="module")
def sail() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as own, sail_server() as url:
        own.setenv("SPARK_CONNECT_MODE_ENABLED", "1")  # a session of Connect sets it, and then none of Spark can be
        yield url


@needs_sail
@pytest.mark.parametrize(
    ("method", "person"),
    [("anatomy", None), ("bsgi", "person"), ("decomposition", None), ("mondrian", None), ("randomized-addition", None)],
)
@pytest.mark.parametrize("files", [1, 5])
def test_the_same_bytes_as_on_one_machine(
    files: int, method: str, person: str | None, sail: str, tmp_path: Path
) -> None:
    people().write_parquet(tmp_path / "one.parquet", row_group_size=400)
    rows = people().sample(fraction=1.0, shuffle=True, seed=3)
    several = [tmp_path / f"several-{i}.parquet" for i in range(files)]
    for i, path in enumerate(several):
        rows[i::files].write_parquet(path)
    published(tmp_path / "one.parquet", tmp_path / "local", method, person)
    made = published(several, tmp_path / "spark", method, person, engine="spark", spark=sail)
    assert digests(tmp_path / "local") == digests(tmp_path / "spark")
    assert made.verdict.findings == pls.audit(tmp_path / "spark", allow_test=True).findings[:-1]  # but the certificate
    assert {path.name for path in tmp_path.iterdir() if not path.name.endswith(".parquet")} == {
        "local", "local.private", "spark", "spark.private",
    }  # fmt: skip


@needs_spark
def test_spark_itself_gives_the_same_bytes_with_columns_of_every_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPARK_CONNECT_MODE_ENABLED", raising=False)  # which sessions of Sail have set
    assert_same_of_every_type(tmp_path, "local[2]", SAME)


@needs_sail
def test_columns_of_every_type_give_the_same_bytes(sail: str, tmp_path: Path) -> None:
    assert_same_of_every_type(tmp_path, sail, SAME.keys() - {"category", "enum"})  # Sail refuses dictionaries


def assert_same_of_every_type(folder: Path, url: str, names: Collection[str]) -> None:
    rows = 300
    columns = {name: SAME[name].gather(np.arange(rows) % 3) for name in SAME if name in names}
    own = {"ill": [f"d{i % 7}" for i in range(rows)], "a`b c": [i % 2 for i in range(rows)], "a.b": "x"}
    table = pl.DataFrame({**columns, **own})
    table.write_parquet(folder / "people.parquet", row_group_size=100)
    kinds = {name: {"type": "number"} if name in NUMBERS else {} for name in columns}
    policy = pls.Policy(quasi={**kinds, "a`b c": {"type": "number"}, "a.b": {}}, sensitive={"ill": 3}, method="anatomy")
    settings = {"key": pls.Key.test(), "part": 100, "workers": 0, "attacks": False, "allow_test": True}
    publish_in_parts(folder / "people.parquet", policy, folder / "local", **settings)
    publish_in_parts(folder / "people.parquet", policy, folder / "spark", engine="spark", spark=url, **settings)
    assert digests(folder / "local") == digests(folder / "spark")


@needs_sail
@pytest.mark.parametrize("name", OTHER)
def test_types_that_spark_reads_in_another_way_are_refused(name: str, sail: str, tmp_path: Path) -> None:
    few = OTHER[name].gather(np.zeros(300, int)).rename("odd")
    people(300).with_columns(few).write_parquet(tmp_path / "people.parquet")
    policy = pls.Policy(quasi={"odd": {}, "age": {"type": "number"}}, sensitive={"ill": 2}, others="drop")
    with pytest.raises(InputError, match=r"'odd' is .* Write it as text first, or publish with --engine local"):
        publish_in_parts(tmp_path / "people.parquet", policy, tmp_path / "release", engine="spark", spark=sail)
    assert [path.name for path in tmp_path.iterdir()] == ["people.parquet"]


@needs_sail
def test_a_column_that_is_not_published_may_have_any_type(sail: str, tmp_path: Path) -> None:
    zone = pl.lit(datetime(2024, 1, 1)).dt.replace_time_zone("Asia/Tokyo")
    people().with_columns(zone=zone).write_parquet(tmp_path / "people.parquet")
    assert published(tmp_path / "people.parquet", tmp_path / "r", "anatomy", engine="spark", spark=sail).verdict.holds


def test_every_type_that_is_kept_is_handed_over_as_one_that_holds_its_values() -> None:
    for values in SAME.values():
        kind = handed_over(values.dtype)
        assert kind is not None
        text = isinstance(values.dtype, (pl.Enum, pl.Categorical))
        assert (
            values.cast(kind)
            .cast(pl.String if text else values.dtype)
            .equals(values.cast(pl.String) if text else values, null_equal=True)
        )
    assert not any(handed_over(values.dtype) for values in OTHER.values())


# what goes wrong ------------------------------------------------------------------------------------------------------


@needs_sail
def test_an_error_of_a_worker_is_told_and_leaves_nothing(sail: str, tmp_path: Path) -> None:
    table = people().with_columns(age=pl.when(pl.int_range(pl.len()) == 7).then(float("inf")).otherwise("age"))
    assert_refused(table, InputError, "'age' holds an infinite value", tmp_path, sail)


@needs_sail
def test_a_table_without_rows(sail: str, tmp_path: Path) -> None:
    assert_refused(people().clear(), InputError, "The table has no rows", tmp_path, sail)


@needs_sail
def test_executors_with_another_version(sail: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "Versions", lambda: Versions(polars="1.0"))
    assert_refused(people(), OutputError, "executors have polars .* and whoever publishes has 1.0", tmp_path, sail)


@needs_sail
def test_rows_that_executors_do_not_see(sail: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_table = engine.SparkEngine.__post_init__

    def other(self: Any) -> None:
        of_table(self)
        self.table.height += 1

    monkeypatch.setattr(engine.SparkEngine, "__post_init__", other)
    assert_refused(people(), InputError, "Spark read 3,000 of 3,001 rows", tmp_path, sail)


@needs_sail
def test_a_table_that_changes_while_it_is_read(sail: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    each = engine.SparkEngine.each

    def changed(self: Any, blocks: Any, task: Any) -> Any:
        people(2_900).write_parquet(tmp_path / "people.parquet")
        return each(self, blocks, task)

    monkeypatch.setattr(engine.SparkEngine, "each", changed)
    assert_refused(people(), InputError, "the table changed while it was read", tmp_path, sail)


@needs_sail
def test_parts_that_were_damaged_after_their_audit(sail: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executors found every claim kept; what is read here is what counts."""
    blocks = parts.published_blocks

    def damaged(working: Any, asked: Any, *more: Any) -> Any:
        done = blocks(working, asked, *more)
        table = sorted(asked.folder.glob("block-*/*.parquet"))[0]
        data = bytearray(table.read_bytes())
        data[len(data) // 2] ^= 1
        table.write_bytes(data)
        return done

    monkeypatch.setattr(parts, "published_blocks", damaged)
    assert_refused(people(), AuditFailed, "agree", tmp_path, sail)


@needs_sail
def test_what_a_task_leaves_that_was_started_twice_is_not_published(
    sail: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = parts.published_blocks

    def twice(working: Any, asked: Any, *more: Any) -> Any:
        done = blocks(working, asked, *more)
        blocks(working, asked, *more)
        (asked.folder / "block-00000-unfinished").mkdir()
        return done

    people().write_parquet(tmp_path / "people.parquet")
    published(tmp_path / "people.parquet", tmp_path / "one", "anatomy")
    monkeypatch.setattr(parts, "published_blocks", twice)
    published(tmp_path / "people.parquet", tmp_path / "two", "anatomy", engine="spark", spark=sail)
    assert digests(tmp_path / "one") == digests(tmp_path / "two")
    assert len(list(tmp_path.iterdir())) == 5


@needs_sail
@pytest.mark.parametrize("name", ["_people.parquet", ".people.parquet", "people[1].parquet", "a*.parquet"])
def test_files_that_spark_would_not_read_as_they_are(name: str, sail: str, tmp_path: Path) -> None:
    people().write_parquet(tmp_path / name)
    with pytest.raises(InputError, match="plain name"):
        published([tmp_path / name], tmp_path / "release", "anatomy", engine="spark", spark=sail)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def assert_refused(table: pl.DataFrame, error: type[Exception], says: str, folder: Path, url: str) -> None:
    """Nothing is left but the table."""
    table.write_parquet(folder / "people.parquet")
    with pytest.raises(error, match=says):
        published(folder / "people.parquet", folder / "release", "anatomy", engine="spark", spark=url)
    assert [path.name for path in folder.iterdir()] == ["people.parquet"]


@needs_spark
def test_a_cluster_that_is_not_there() -> None:
    with pytest.raises(InputError, match="There is no Spark at nothing://nowhere"), session("nothing://nowhere"):
        pass


@pytest.mark.skipif(HERE, reason="Spark is there, so that its absence cannot be seen")
def test_without_spark_it_is_said_how_to_get_it(tmp_path: Path) -> None:
    people().write_parquet(tmp_path / "people.parquet")
    with pytest.raises(MissingExtra, match=r"pip install 'pluralis\[spark\]'"):
        published(tmp_path / "people.parquet", tmp_path / "release", "anatomy", engine="spark")
    assert [path.name for path in tmp_path.iterdir()] == ["people.parquet"]


def test_spark_reads_parquet(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Spark reads Parquet"):
        published(people(), tmp_path / "release", "anatomy", engine="spark")
    assert list(tmp_path.iterdir()) == []


def test_names_of_columns_are_quoted() -> None:
    assert _quoted("a`b c") == "`a``b c`"
