"""What Spark's executors do: functions of Arrow batches, which read rows as the local engine does.

An error of Pluralis is a result, as any other: Spark would try a task that raises again, and drown what it says. So is
another version of Pluralis or Polars than the driver's, which might write other bytes.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from pluralis import __version__
from pluralis.engines.base import Block
from pluralis.engines.routing import Cleaning, Facts, Router, Sketch, all_facts, by_shard, in_texts
from pluralis.engines.sizes import CHUNK
from pluralis.errors import InputError, OutputError, PluralisError
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw

if TYPE_CHECKING:
    import pyarrow as pa

    Batches = Iterator[pa.RecordBatch]

Kinds = Mapping[str, pl.DataType]
Chunks = Iterator[pl.DataFrame]

PACKETS = "block int, rows long, packet binary"
RESULTS = "block int, result binary"
_WIDER: dict[pl.DataType, pl.DataType] = {  # Spark has no unsigned numbers, and no other unit of time
    pl.UInt8(): pl.Int16(),
    pl.UInt16(): pl.Int32(),
    pl.UInt32(): pl.Int64(),
    pl.UInt64(): pl.Decimal(20, 0),
    pl.Datetime("ms"): pl.Datetime("us"),
}
_AS_IT_IS = (
    pl.Boolean(), pl.Int8(), pl.Int16(), pl.Int32(), pl.Int64(), pl.Float32(), pl.Float64(), pl.String(), pl.Date(),
    pl.Datetime("us"),
)  # fmt: skip


class Versions(NamedTuple):
    """What decides which bytes are written."""

    pluralis: str = __version__
    polars: str = pl.__version__


def handed_over(kind: pl.DataType) -> pl.DataType | None:
    """The type that Spark hands a column of a Parquet file over as; None if its values may not be the same then."""
    if isinstance(kind, (pl.Enum, pl.Categorical)):
        return pl.String()
    if kind in _AS_IT_IS or isinstance(kind, pl.Decimal):
        return kind
    return _WIDER.get(kind)


def answer(versions: Versions, kinds: Kinds, call: Callable[[Chunks], object], batches: Batches) -> Batches:
    """What a function makes of the rows of a partition, as one row of bytes; none where there are no rows."""
    import pyarrow as pa

    try:
        _require_same(versions)
        result = call(_chunks(batches, kinds))
    except PluralisError as error:
        result = error
    if result is not None:
        yield pa.RecordBatch.from_pydict({"result": [pickle.dumps(result)]})


def facts(policy: Policy, chunks: Chunks) -> Facts | None:
    """What is known of the rows of a partition."""
    if (first := next(chunks, None)) is None:
        return None
    return all_facts(Facts.of_rows(chunk, policy) for chunk in chain((first,), chunks))


def sketch(cleaning: Cleaning, draw: Draw, chunks: Chunks) -> Sketch:
    """What the words of a partition tell of how many differ."""
    router = Router.of_all(cleaning, draw)
    return reduce(Sketch.and_of, map(router.sketch, chunks), Sketch.of_none())


def rows_of_shards(cleaning: Cleaning, draw: Draw, shards: int, chunks: Chunks) -> dict[int, int]:
    """How many rows of a partition each shard has that has any."""
    router, rows = Router.of_all(cleaning, draw), dict[int, int]()
    for chunk in chunks:
        _, shard = router.route(chunk, shards)
        numbers, counts = np.unique(shard, return_counts=True)
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            rows[number] = rows.get(number, 0) + count
    return rows


def packed(
    kinds: Kinds, cleaning: Cleaning, draw: Draw, shards: int, blocks: Sequence[Block], batches: Batches
) -> Batches:
    """The clean rows of these blocks in a partition: some thousand of a shard together, with their block's number."""
    import pyarrow as pa

    types = pa.schema([("block", pa.int32()), ("rows", pa.int64()), ("packet", pa.binary())])
    block_of = {shard: i for i, block in enumerate(blocks) for shard in range(block.first, block.last)}
    router = Router.of_all(cleaning, draw)
    for chunk in _chunks(batches, kinds):
        routed = by_shard(*router.route(chunk, shards))
        packets = [(block_of[shard], rows.height, _packet(rows)) for shard, rows in routed if shard in block_of]
        columns = zip(*packets, strict=True) if packets else ((), (), ())
        arrays = [pa.array(values, kind) for values, kind in zip(columns, types.types, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=types)


def worker(
    versions: Versions,
    blocks: Sequence[Block],
    task: Callable[[Block, pl.DataFrame], Any],
    dictionaries: Mapping[str, pl.Series],
) -> Callable[[pa.Table], pa.Table]:
    """A function of the packets of a block; Spark asks for the types of its arguments."""
    import pyarrow as pa

    def work(packets: Any) -> Any:
        return _worked(versions, blocks, task, dictionaries, packets)

    work.__annotations__ = {"packets": pa.Table, "return": pa.Table}
    return work


def _worked(
    versions: Versions,
    blocks: Sequence[Block],
    task: Callable[[Block, pl.DataFrame], Any],
    dictionaries: Mapping[str, pl.Series],
    packets: pa.Table,
) -> pa.Table:
    """What the task gives for the block that has these packets."""
    import pyarrow as pa

    number = packets.column("block")[0].as_py()
    rows = pl.concat([pl.read_ipc(io.BytesIO(packet)) for packet in packets.column("packet").to_pylist()])
    try:
        _require_same(versions)
        if rows.height != blocks[number].rows:
            raise InputError(
                f"A part has {rows.height:,} rows, and had {blocks[number].rows:,} when they were counted: the table "
                "changed while it was read. Wait until it is written, then start again."
            )
        result = task(blocks[number], in_texts(rows, dictionaries))
    except PluralisError as error:
        result = error
    types = pa.schema([("block", pa.int32()), ("result", pa.binary())])
    return pa.table({"block": [number], "result": [pickle.dumps(result)]}, schema=types)


def _chunks(batches: Batches, kinds: Kinds) -> Chunks:
    """The rows of batches, which are small, many at a time, in the types that the files have."""
    waiting: list[pl.DataFrame] = []
    for batch in batches:
        rows = pl.from_arrow(batch)
        assert isinstance(rows, pl.DataFrame)
        waiting.append(_as_in_files(rows, kinds))
        if sum(own.height for own in waiting) >= CHUNK:
            yield pl.concat(waiting, rechunk=True)
            waiting = []
    if any(own.height for own in waiting):
        yield pl.concat(waiting, rechunk=True)


def _as_in_files(rows: pl.DataFrame, kinds: Kinds) -> pl.DataFrame:
    """Rows with the names and types that their files have, text spelled out."""
    rows.columns = list(kinds)
    for name, own in rows.schema.items():
        if own not in (kinds[name], handed_over(kinds[name])):
            raise InputError(
                f"{name!r} is {kinds[name]} in the files, and Spark hands it over as {own}. Write it as text first, or "
                "publish with --engine local."
            )
    text = (pl.Enum, pl.Categorical)
    return rows.cast({name: pl.String() if isinstance(kinds[name], text) else kinds[name] for name in rows.columns})


def _packet(rows: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    rows.write_ipc(buffer, compression="lz4")
    return buffer.getvalue()


def _require_same(versions: Versions) -> None:
    own = Versions()
    for package, here, there in zip(own._fields, own, versions, strict=True):
        if here != there:
            raise OutputError(
                f"The executors have {package} {here}, and whoever publishes has {there}. Install one version."
            )
