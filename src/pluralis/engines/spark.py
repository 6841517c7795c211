"""Parts on Apache Spark: executors clean and route rows, and each block is worked on where its rows meet.

Only DataFrames, and functions of them on Arrow batches (`mapInArrow`, `applyInArrow`), as Spark Connect has: no RDDs
and no SparkContext, so that managed platforms can run it. Executors need this version of Pluralis (`spark_tasks`), and
see the folders of table and release. Whatever a task writes has a name of its own, and what only one attempt reports is
taken: a task that is started twice, or dies, leaves nothing that counts.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import polars as pl

from pluralis.engines.base import Block, Result
from pluralis.engines.process_pool import ONE_CORE
from pluralis.engines.routing import Cleaning, Facts, Sketch, all_facts, cleaning_of, published_columns
from pluralis.engines.spark_tasks import (
    PACKETS,
    RESULTS,
    Chunks,
    Kinds,
    Versions,
    answer,
    facts,
    handed_over,
    packed,
    rows_of_shards,
    sketch,
    worker,
)
from pluralis.errors import InputError, MissingExtra, OutputError, PluralisError
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.randomness import Draw
from pluralis.table.parquet_files import ParquetFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HERE = "local[*]"
CONNECT = "sc://"
PYTHON = "PYSPARK_PYTHON"
OWN_CLUSTER = {
    **{f"spark.executorEnv.{name}": "1" for name in ONE_CORE},  # a task has one core
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
}
THIS_MACHINE = {  # nothing listens beyond it
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
}
PARTITIONS = 2  # for each block, so that few blocks share one
_MISSING = re.compile(r"No module named '([\w.]+)'")
_GLOB = re.compile(r"[\[\]{}*?\\]")


@contextmanager
def session(url: str | None) -> Iterator[SparkSession]:
    """The session that is open already; else one of a cluster, of a Connect server (sc://…), or of this machine."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra("Spark needs the package pyspark: pip install 'pluralis[spark]'.") from None
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", ".*pandas", FutureWarning
        )  # Spark's own use of pandas, of which this has none
        if url is None and (open_one := SparkSession.getActiveSession()) is not None:
            yield open_one
            return
        spark = _started(SparkSession.builder.appName("pluralis"), url or HERE)
        try:
            yield spark
        finally:
            spark.stop()


def _started(builder: Any, url: str) -> SparkSession:
    try:
        if url.startswith(CONNECT):
            return builder.remote(url).getOrCreate()
        builder = builder.master(url).config(map=OWN_CLUSTER)
        if not url.startswith("local"):
            return builder.getOrCreate()
        with _this_python():
            return builder.config(map=THIS_MACHINE).getOrCreate()
    except Exception as error:
        if "JAVA_GATEWAY_EXITED" in str(error):
            raise InputError("Spark needs Java 17 or later: install it, or say where it is with JAVA_HOME.") from error
        raise InputError(f"There is no Spark at {url}: {_gist(error)}. Check the address.") from error


@contextmanager
def _this_python() -> Iterator[None]:
    """Let workers on this machine be this Python, unless another is asked for; Spark looks for that here alone."""
    if PYTHON in os.environ:
        yield
        return
    os.environ[PYTHON] = sys.executable
    try:
        yield
    finally:
        del os.environ[PYTHON]


@dataclass
class SparkEngine:
    """A table of Parquet files that all executors see."""

    spark: SparkSession
    table: ParquetFile
    _routing: tuple[Cleaning, Draw, int] = field(init=False)

    def __post_init__(self) -> None:
        for path in self.table.paths:
            if _GLOB.search(str(path.absolute())) or path.name.startswith(("_", ".")):
                raise InputError(
                    f"Spark takes {path.name!r} for a pattern, or for no file of a table. Give it a plain name, "
                    "or publish with --engine local."
                )

    def learned(self, policy: Policy) -> Cleaning:
        every: list[Facts] = self._answers(published_columns(policy), partial(facts, policy), "learning the values")
        rows = sum(own.rows for own in every)
        if rows != self.table.height:
            raise InputError(
                f"Spark read {rows:,} of {self.table.height:,} rows. Do executors see the same files as this machine?"
            )
        if not rows:
            raise InputError("The table has no rows. There is nothing to publish.")
        return cleaning_of(all_facts(every), policy)

    def different(self, cleaning: Cleaning, draw: Draw, enough: int) -> int:  # noqa: ARG002
        sketches: list[Sketch] = self._answers(
            cleaning.columns, partial(sketch, cleaning, draw), "counting who differs"
        )
        return reduce(Sketch.and_of, sketches).different

    def route(self, cleaning: Cleaning, draw: Draw, shards: int) -> Mapping[int, int]:
        self._routing = cleaning, draw, shards
        count = partial(rows_of_shards, cleaning, draw, shards)
        counts = self._answers(cleaning.columns, count, f"routing rows to {shards:,} shards")
        return sum((Counter(own) for own in counts), Counter[int]())

    def each(
        self, blocks: Sequence[Block], task: Callable[[Block, pl.DataFrame], Result]
    ) -> Iterator[tuple[int, Result]]:
        cleaning, draw, shards = self._routing
        frame, kinds = self._columns(cleaning.columns)
        packets = frame.mapInArrow(partial(packed, kinds, cleaning, draw, shards, tuple(blocks)), PACKETS)
        work = worker(Versions(), tuple(blocks), task, cleaning.dictionaries)
        met = packets.repartition(PARTITIONS * len(blocks), "block")
        with _telling():
            rows = met.groupBy("block").applyInArrow(work, RESULTS).collect()
        results = {int(row.block): _result(row.result) for row in rows}
        if len(results) != len(rows) or sorted(results) != list(range(len(blocks))):
            raise OutputError("Spark lost parts, or gave some twice. Nothing was written.")
        yield from results.items()

    def _answers(self, names: Sequence[str], call: Callable[[Chunks], object], doing: str) -> list[Any]:
        """What a function makes of each partition of some columns."""
        frame, kinds = self._columns(names)
        with stage(doing), _telling():
            rows = frame.mapInArrow(partial(answer, Versions(), kinds, call), "result binary").collect()
        return [_result(row.result) for row in rows]

    def _columns(self, names: Sequence[str]) -> tuple[DataFrame, Kinds]:
        """Some columns of the table, and their types in its files, which Spark keeps."""
        kinds = {name: self.table.schema[name] for name in names}
        for name, kind in kinds.items():
            if handed_over(kind) is None:
                raise InputError(
                    f"{name!r} is {kind}, which Spark reads in another way. Write it as text first, or publish with "
                    "--engine local."
                )
        with _telling():
            frame = self.spark.read.parquet(*(f"file://{path.absolute()}" for path in self.table.paths))
            numbered = frame.select(*map(_quoted, names)).toDF(*map(str, range(len(names))))  # no name is special there
            return numbered, kinds


def _result(answer: Any) -> Any:
    """What an executor told; its error is raised."""
    result = pickle.loads(bytes(answer))
    if isinstance(result, PluralisError):
        raise result
    return result


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@contextmanager
def _telling() -> Iterator[None]:
    """Say what is wrong where Spark ends with an error of its own."""
    try:
        yield
    except PluralisError:
        raise
    except Exception as error:
        if (missing := _MISSING.search(str(error))) is not None:
            raise OutputError(
                f"The Python of this cluster's executors has no {missing[1]}. Install this version there: pip install "
                "'pluralis[spark]'. Nothing was written."
            ) from error
        if "Can't get attribute" in str(error):
            raise OutputError(
                "The executors have another version of Pluralis. Install one version. Nothing was written."
            ) from error
        if "No space left on device" in str(error):
            raise OutputError(
                "A disk of the cluster is full: rows lie in spark.local.dir while they travel. Nothing was written."
            ) from error
        raise OutputError(f"Spark gave up: {_gist(error)}. Nothing was written.") from error


def _gist(error: Exception) -> str:
    """What an error of Spark is about, without the traces of executors."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    about = [line for line in lines if "Error" in line and not line.startswith(("File", "at "))]
    return (about[-1] if about else lines[0] if lines else type(error).__name__)[:300]
