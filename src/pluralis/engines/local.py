"""Parts on one machine: rows are routed to files, and processes work on them, one on each core."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

import polars as pl

from pluralis.engines.base import Block, Result
from pluralis.engines.process_pool import Died, how_many, share_out
from pluralis.engines.routing import Cleaning, Router, Shards, Sketch, Source, chunks_of, in_texts, learned, routed
from pluralis.errors import OutputError
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.randomness import Draw

LONGEST = 24 * 3600.0  # seconds that a block may take
TASK = "pluralis.engines.local:work"


@dataclass
class LocalEngine:
    """A table of files, or in memory; shards below `folder`; so many processes, 0 for none beside this one."""

    source: Source
    folder: Path
    workers: int | None = None
    _shards: Shards = field(init=False)
    _dictionaries: dict[str, pl.Series] = field(init=False)

    def learned(self, policy: Policy) -> Cleaning:
        return learned(self.source, policy)

    def different(self, cleaning: Cleaning, draw: Draw) -> int:
        router = Router.of_all(cleaning, draw)
        sketches = (router.sketch(chunk) for chunk in chunks_of(self.source, cleaning.columns))
        with stage("counting who differs"):
            return reduce(Sketch.and_of, sketches).different

    def route(self, cleaning: Cleaning, draw: Draw, shards: int) -> Mapping[int, int]:
        self._dictionaries = cleaning.dictionaries
        self._shards = routed(self.source, cleaning, draw, shards, self.folder)
        return self._shards.rows

    def each(
        self, blocks: Sequence[Block], task: Callable[[Block, pl.DataFrame], Result]
    ) -> Iterator[tuple[int, Result]]:
        tasks = [(block, self._files(block)) for block in blocks]
        shared = pickle.dumps((task, self._dictionaries))
        if self.workers == 0:
            yield from ((i, work(shared, one)) for i, one in enumerate(tasks))
            return
        size = max(sum(path.stat().st_size for path in files) for _, files in tasks)
        for i, result in share_out(TASK, shared, tasks, self.workers or how_many(len(tasks), size), LONGEST):
            if isinstance(result, Died):
                raise OutputError(
                    f"A worker ended while it worked on a part ({result.code}). Is memory short? Try smaller parts, "
                    "with --part-rows of publish."
                )
            yield i, result

    def _files(self, block: Block) -> list[Path]:
        return [path for shard in range(block.first, block.last) for path in self._shards.files.get(shard, ())]


def work(shared: bytes, task: tuple[Block, list[Path]]) -> Any:
    """Read the rows of a block, and do what is to be done with them; a worker's task."""
    block, files = task
    call, dictionaries = pickle.loads(shared)
    rows = pl.concat([pl.read_ipc(path) for path in files], rechunk=True)
    return call(block, in_texts(rows, dictionaries))
