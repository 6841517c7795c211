"""What an engine does for a release in parts: it learns of all rows, routes them to shards, and hands blocks out.

An engine only moves rows. What is learned of them, which shard a row is in, and what becomes of a block are the same
functions in every engine, so that all give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

import polars as pl

from pluralis.engines.routing import Cleaning
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw

Result = TypeVar("Result")


class Block(NamedTuple):
    """Shards that are published together: from `first` up to `last`, without it; `sample`: attacks look at it."""

    first: int
    last: int
    rows: int
    sample: bool = False

    def joined(self, other: Block) -> Block:
        """Both as one, this being the first."""
        return Block(self.first, other.last, self.rows + other.rows, self.sample)


class Engine(Protocol):
    """Where rows are, and who works on them."""

    def learned(self, policy: Policy) -> Cleaning:
        """What must be known of all rows before any are cleaned."""

    def different(self, cleaning: Cleaning, draw: Draw, enough: int) -> int:
        """About how many people, or quasi-identifiers, differ: exactly where they are few.

        Counting may end where they are `enough`: more rows never make it less.
        """

    def route(self, cleaning: Cleaning, draw: Draw, shards: int) -> Mapping[int, int]:
        """Route clean rows to so many shards; how many rows each shard has that has any."""

    def each(
        self, blocks: Sequence[Block], task: Callable[[Block, pl.DataFrame], Result]
    ) -> Iterator[tuple[int, Result]]:
        """The number of each block, and what the task gave for it and its rows, as they are done.

        A task may be started more than once for a block; one result of each is given.
        """
