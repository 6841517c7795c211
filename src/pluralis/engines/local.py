"""Parts on one machine: processes, one on each core, learn of rows, route them to files, and work on blocks."""

from __future__ import annotations

import errno
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from pluralis.engines.base import Block, Result
from pluralis.engines.process_pool import Died, Workers
from pluralis.engines.routing import (
    Cleaning,
    Facts,
    Reading,
    Router,
    Run,
    Sketch,
    Source,
    all_facts,
    cleaning_of,
    facts_of,
    in_texts,
    written_run,
)
from pluralis.engines.sizes import Sizes
from pluralis.errors import OutputError
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.randomness import Draw
from pluralis.table.parquet_files import ParquetFile, Piece

LONGEST = 24 * 3600.0  # seconds that a task may take
TASK = "pluralis.engines.local:work"
FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def local_engine(source: Source, folder: Path, sizes: Sizes) -> Iterator[LocalEngine]:
    """The engine for a table, with so many workers, which end with it; 0 for none beside this process."""
    with Workers(sizes.workers) as pool:
        yield LocalEngine(source, folder, sizes, pool if sizes.workers else None)


@dataclass
class LocalEngine:
    """A table of files, or in memory; its clean rows lie in files below `folder`."""

    source: Source
    folder: Path
    sizes: Sizes
    pool: Workers | None
    _runs: list[Run] = field(init=False, default_factory=list)
    _dictionaries: dict[str, pl.Series] = field(init=False, default_factory=dict)

    @property
    def _pieces(self) -> list[Piece]:
        return Reading(self.source, self.sizes.chunk).pieces(self.sizes.piece)

    def resize(self, sizes: Sizes) -> None:
        """Go on in other sizes, with fewer workers."""
        self.sizes = sizes
        if self.pool is not None:
            self.pool.keep(sizes.workers)

    def learned(self, policy: Policy) -> Cleaning:
        with stage("learning the values") as done:
            facts = self._of_pieces(learn, policy, self._pieces, "learned the values", done)
            return cleaning_of(all_facts(own for _, own in facts), policy)

    def different(self, cleaning: Cleaning, draw: Draw, enough: int) -> int:
        router, pieces, seen = Router.of_all(cleaning, draw), self._pieces, Sketch.of_none()
        at_once = self.pool.number if self.pool else 1
        with stage("counting who differs") as done:
            while pieces and seen.different < enough:
                for _, own in self._of_pieces(sketch, router, pieces[:at_once], "counted who differs", done):
                    seen = seen.and_of(own)
                pieces = pieces[at_once:]
        return seen.different

    def route(self, cleaning: Cleaning, draw: Draw, shards: int) -> Mapping[int, int]:
        self._dictionaries = cleaning.dictionaries
        how = Router.of_all(cleaning, draw), shards, self.folder
        with stage(f"routing rows to {shards:,} shards") as done:
            runs = dict(self._of_pieces(route, how, self._pieces, "routed rows", done))
        self._runs = [runs[i] for i in sorted(runs)]
        rows = np.sum([np.diff(run.starts) for run in self._runs], axis=0)
        return {shard: int(rows[shard]) for shard in np.flatnonzero(rows).tolist()}

    def each(
        self, blocks: Sequence[Block], task: Callable[[Block, pl.DataFrame], Result]
    ) -> Iterator[tuple[int, Result]]:
        return self._done(publish, (task, self._dictionaries, self._runs), blocks, self.pool, "worked on a part")

    def _of_pieces(
        self,
        call: Callable[[Any, Any], Result],
        shared: Any,
        pieces: Sequence[Piece],
        what: str,
        done: Callable[[float], None],
    ) -> Iterator[tuple[int, Result]]:
        """What a call gives for each piece; a table in memory stays in this process."""
        pool = self.pool if isinstance(self.source, ParquetFile) else None
        seen, every = 0, sum(piece.rows for piece in pieces)
        for i, result in self._done(
            call, (Reading(self.source, self.sizes.chunk), shared), list(enumerate(pieces)), pool, what
        ):
            seen += pieces[i].rows
            done(seen / every)
            yield i, result

    @staticmethod
    def _done(
        call: Callable[[Any, Any], Result], shared: Any, tasks: Sequence[Any], pool: Workers | None, what: str
    ) -> Iterator[tuple[int, Result]]:
        """The number of each task and what the call gave, by workers, or here where there are none."""
        if pool is None:
            yield from ((i, call(shared, task)) for i, task in enumerate(tasks))
            return
        for i, result in pool.share_out(TASK, pickle.dumps((call, shared)), tasks, LONGEST):
            if isinstance(result, Died):
                raise OutputError(
                    f"A worker ended while it {what} ({result.code}). Is memory short? Try smaller parts, with "
                    "--part-rows of publish."
                )
            yield i, result


# what workers do ------------------------------------------------------------------------------------------------------


def work(shared: bytes, task: Any) -> Any:
    """Call what is to be called for a task; a full disk is told."""
    call, more = _unpacked(shared)
    return call(more, task)


@lru_cache(maxsize=1)
def _unpacked(shared: bytes) -> tuple[Callable[[Any, Any], Any], Any]:
    """What all tasks of a lot share, unpacked once."""
    call, more = pickle.loads(shared)
    return call, more


def learn(shared: tuple[Reading, Policy], task: tuple[int, Piece]) -> Facts:
    """What is known of the rows of a piece."""
    reading, policy = shared
    return facts_of(reading, task[1], policy)


def sketch(shared: tuple[Reading, Router], task: tuple[int, Piece]) -> Sketch:
    """What the words of a piece tell of how many differ."""
    reading, router = shared
    chunks = reading.chunks(task[1], router.cleaning.columns)
    return reduce(Sketch.and_of, (router.sketch(chunk) for chunk in chunks))


def route(shared: tuple[Reading, tuple[Router, int, Path]], task: tuple[int, Piece]) -> Run:
    """The clean rows of a piece in a file, in the order of their shards."""
    reading, (router, shards, folder) = shared
    number, piece = task
    try:
        return written_run(reading, piece, router, shards, folder / f"rows-{number:06}.arrow")
    except (OSError, pl.exceptions.PolarsError) as error:
        full = getattr(error, "errno", None) in FULL or "No space left" in str(error)
        reason = "the disk is full" if full else str(error)
        raise OutputError(f"The rows of this table could not be kept beside the release: {reason}.") from error


def publish(
    shared: tuple[Callable[[Block, pl.DataFrame], Result], Mapping[str, pl.Series], Sequence[Run]], block: Block
) -> Result:
    """Read the rows of a block, and do what is to be done with them."""
    call, dictionaries, runs = shared
    rows = pl.concat([run.rows_of(block.first, block.last) for run in runs], rechunk=True)
    return call(block, in_texts(rows, dictionaries))
