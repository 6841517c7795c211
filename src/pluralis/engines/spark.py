"""Parts on Apache Spark: executors clean and route rows, and each block is worked on where its rows meet.

Only DataFrames, and functions of them on Arrow batches (`mapInArrow`, `applyInArrow`), as Spark Connect has: no RDDs
and no SparkContext, so that managed platforms can run it. Rows travel in packets, some thousand of one shard together.
Executors need this version of Pluralis, and a release must be written to a folder that they all see. A task that is
started twice writes twice, and what only one of them reports is kept.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from pluralis.engines.base import Block, Result
from pluralis.engines.routing import (
    Cleaning,
    Facts,
    Router,
    Sketch,
    by_shard,
    cleaning_of,
    in_texts,
    published_columns,
)
from pluralis.engines.sizes import CHUNK
from pluralis.errors import InputError, MissingExtra, OutputError, PluralisError
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.randomness import Draw

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    Batches = Iterator[pa.RecordBatch]

LOCAL = "local[*]"
CONNECT = "sc://"
QUIETLY = {
    "spark.pyspark.python": sys.executable,
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
}
_MISSING = "No module named 'pluralis"


@contextmanager
def session(url: str | None) -> Iterator[SparkSession]:
    """A session of a cluster, of a Connect server (sc://…), or on this machine where no URL is given."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra("Spark needs the package pyspark: pip install 'pluralis[spark]'.") from None
    if url is not None and url.startswith(CONNECT):
        builder = SparkSession.builder.remote(url)
    else:
        builder = SparkSession.builder.master(url or LOCAL).config(map=QUIETLY)
    try:
        spark = builder.appName("pluralis").getOrCreate()
    except Exception as error:
        raise InputError(f"There is no Spark at {url or LOCAL}: {_gist(error)}. Check the address.") from error
    try:
        yield spark
    finally:
        spark.stop()


@dataclass
class SparkEngine:
    """A table of Parquet files that all executors see."""

    frame: DataFrame
    _packets: DataFrame = field(init=False)
    _dictionaries: dict[str, pl.Series] = field(init=False)

    @classmethod
    def of_files(cls, spark: SparkSession, paths: Sequence[Path]) -> SparkEngine:
        """The table of some Parquet files."""
        with _telling():
            return cls(spark.read.parquet(*(str(path.absolute()) for path in paths)))

    def learned(self, policy: Policy) -> Cleaning:
        shown = self.frame.select(*map(_quoted, published_columns(policy)))
        with stage("learning the values"), _telling():
            rows = shown.mapInArrow(partial(_facts, policy), "facts binary").collect()
        if not rows:
            raise InputError("The table has no rows. There is nothing to publish.")
        facts: list[Facts] = [pickle.loads(bytes(row.facts)) for row in rows]
        return cleaning_of(reduce(Facts.and_of, facts), policy)

    def different(self, cleaning: Cleaning, draw: Draw, enough: int) -> int:  # noqa: ARG002
        shown = self.frame.select(*map(_quoted, cleaning.columns))
        with stage("counting who differs"), _telling():
            rows = shown.mapInArrow(partial(_sketched, cleaning, draw), "sketch binary").collect()
        sketches: list[Sketch] = [pickle.loads(bytes(row.sketch)) for row in rows]
        return reduce(Sketch.and_of, sketches).different

    def route(self, cleaning: Cleaning, draw: Draw, shards: int) -> Mapping[int, int]:
        shown = self.frame.select(*map(_quoted, cleaning.columns))
        self._dictionaries = cleaning.dictionaries
        schema = "shard int, rows long, packet binary"
        self._packets = shown.mapInArrow(partial(_packed, cleaning, draw, shards), schema)
        with stage(f"routing rows to {shards:,} shards"), _telling():
            counted = self._packets.groupBy("shard").sum("rows").collect()
        return {int(row[0]): int(row[1]) for row in counted}

    def each(
        self, blocks: Sequence[Block], task: Callable[[Block, pl.DataFrame], Result]
    ) -> Iterator[tuple[int, Result]]:
        placed = self._packets.mapInArrow(partial(_placed, tuple(blocks)), "block int, packet binary")
        done = placed.groupBy("block").applyInArrow(
            _worker(tuple(blocks), task, self._dictionaries), "block int, result binary"
        )
        with _telling():
            for row in done.toLocalIterator():
                result = pickle.loads(bytes(row.result))
                if isinstance(result, PluralisError):
                    raise result
                yield int(row.block), result


# on executors ---------------------------------------------------------------------------------------------------------


def _chunks(batches: Batches) -> Iterator[pl.DataFrame]:
    """The rows of batches, which are small, many at a time."""
    waiting: list[pl.DataFrame] = []
    for batch in batches:
        rows = pl.from_arrow(batch)
        assert isinstance(rows, pl.DataFrame)
        waiting.append(rows)
        if sum(own.height for own in waiting) >= CHUNK:
            yield pl.concat(waiting)
            waiting = []
    if any(own.height for own in waiting):
        yield pl.concat(waiting)


def _facts(policy: Policy, batches: Batches) -> Batches:
    """What is known of the rows of a partition."""
    import pyarrow as pa

    facts = [Facts.of_rows(chunk, policy) for chunk in _chunks(batches)]
    if facts:
        yield pa.RecordBatch.from_pydict({"facts": [pickle.dumps(reduce(Facts.and_of, facts))]})


def _sketched(cleaning: Cleaning, draw: Draw, batches: Batches) -> Batches:
    """What the words of a partition tell of how many differ."""
    import pyarrow as pa

    router = Router.of_all(cleaning, draw)
    sketches = [router.sketch(chunk) for chunk in _chunks(batches)]
    if sketches:
        yield pa.RecordBatch.from_pydict({"sketch": [pickle.dumps(reduce(Sketch.and_of, sketches))]})


def _packed(cleaning: Cleaning, draw: Draw, shards: int, batches: Batches) -> Batches:
    """The clean rows of a partition, a packet for each shard."""
    import pyarrow as pa

    types = pa.schema([("shard", pa.int32()), ("rows", pa.int64()), ("packet", pa.binary())])
    router = Router.of_all(cleaning, draw)
    for chunk in _chunks(batches):
        packets = [(shard, rows.height, _packet(rows)) for shard, rows in by_shard(*router.route(chunk, shards))]
        columns = (pa.array(values, kind) for values, kind in zip(zip(*packets, strict=True), types.types, strict=True))
        yield pa.RecordBatch.from_arrays(list(columns), schema=types)


def _packet(rows: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    rows.write_ipc(buffer, compression="lz4")
    return buffer.getvalue()


def _placed(blocks: Sequence[Block], batches: Batches) -> Batches:
    """The packets of these blocks, each with the number of its block."""
    import pyarrow as pa

    block_of = {shard: i for i, block in enumerate(blocks) for shard in range(block.first, block.last)}
    for batch in batches:
        numbers = pa.array([block_of.get(shard) for shard in batch.column(0).to_pylist()], pa.int32())
        both = pa.RecordBatch.from_arrays([numbers, batch.column(2)], names=["block", "packet"])
        yield both.filter(numbers.is_valid())


def _worker(
    blocks: Sequence[Block], task: Callable[[Block, pl.DataFrame], Any], dictionaries: Mapping[str, pl.Series]
) -> Callable[[pa.Table], pa.Table]:
    """A function of the packets of a block; Spark asks for the types of its arguments."""
    import pyarrow as pa

    def worker(packets: Any) -> Any:
        return _worked(blocks, task, dictionaries, packets)

    worker.__annotations__ = {"packets": pa.Table, "return": pa.Table}
    return worker


def _worked(
    blocks: Sequence[Block],
    task: Callable[[Block, pl.DataFrame], Any],
    dictionaries: Mapping[str, pl.Series],
    packets: pa.Table,
) -> pa.Table:
    """What the task gives for the block that has these packets; an error of Pluralis is told, not raised."""
    import pyarrow as pa

    number = packets.column("block")[0].as_py()
    rows = pl.concat([pl.read_ipc(io.BytesIO(packet)) for packet in packets.column("packet").to_pylist()])
    try:
        result = task(blocks[number], in_texts(rows, dictionaries))
    except PluralisError as error:
        result = error
    types = pa.schema([("block", pa.int32()), ("result", pa.binary())])
    return pa.table({"block": [number], "result": [pickle.dumps(result)]}, schema=types)


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
        if _MISSING in str(error):
            raise OutputError(
                "The workers of this cluster do not have Pluralis. Install this version there, beside pyspark: pip "
                "install 'pluralis[spark]'."
            ) from error
        raise OutputError(f"Spark gave up: {_gist(error)}. Nothing was written.") from error


def _gist(error: Exception) -> str:
    """What an error of Spark is about, without the traces of executors."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    about = [line for line in lines if "Error" in line and not line.startswith(("File", "at "))]
    return (about[-1] if about else lines[0] if lines else type(error).__name__)[:300]
