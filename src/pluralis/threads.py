"""Doing several things at once, in threads: columns of a table, tables of a release.

What is done releases Python's lock (Polars, numpy, kernels with `nogil`), so that all cores work. Results come in the
order of what was asked, and nothing depends on how many threads there were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
ROWS = 1 << 18  # that one thread works on at a time, where rows are shared out
FEW = 1 << 13  # rows: of fewer, threads take longer to start than to work


def in_threads(call: Callable[[_Item], _Result], items: Iterable[_Item], rows: int) -> list[_Result]:
    """The result for each item, in order; as many at a time as Polars has threads (POLARS_MAX_THREADS).

    Each works on so many rows; where they are few, one after the other. Of errors, that of the first item is raised.

    >>> in_threads(abs, [3, -4], rows=1_000_000)
    [3, 4]
    """
    asked = list(items)
    threads = min(pl.thread_pool_size(), len(asked))
    if threads < 2 or rows < FEW:
        return [call(item) for item in asked]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(call, asked))


def at_once(*calls: Callable[[], _Result], rows: int) -> list[_Result]:
    """What each call gives, in order.

    >>> at_once(lambda: 3, lambda: 4, rows=1_000_000)
    [3, 4]
    """
    return in_threads(lambda call: call(), calls, rows)


@contextmanager
def beside(call: Callable[[], _Result], rows: int) -> Iterator[Future[_Result]]:
    """A call that is made while what stands in the block is done; where Polars has one thread, or rows are few, before.

    >>> with beside(lambda: 3, rows=1_000_000) as three:
    ...     four = 4
    >>> three.result(), four
    (3, 4)
    """
    if pl.thread_pool_size() < 2 or rows < FEW:
        called = Future[_Result]()
        called.set_result(call())
        yield called
        return
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(call)


def by_rows(call: Callable[[slice], object], rows: int) -> None:
    """Call for some rows at a time, until all are done; calls write to places of their own.

    >>> squares = [0] * 3
    >>> by_rows(lambda some: squares.__setitem__(some, [i * i for i in range(some.start, some.stop)]), 3)
    >>> squares
    [0, 1, 4]
    """
    in_threads(call, row_blocks(rows), rows)


def row_blocks(rows: int) -> list[slice]:
    """All rows, some at a time; one block at least, which may be empty.

    >>> row_blocks(ROWS + 2)
    [slice(0, 262144, None), slice(262144, 262146, None)]
    """
    return [slice(first, min(first + ROWS, rows)) for first in range(0, max(1, rows), ROWS)]


def member_counts(sets: npt.NDArray[np.int32], values: int) -> npt.NDArray[np.int64]:
    """How many of the sets [row, member] hold each value.

    >>> member_counts(np.array([[0, 1], [1, 3]], np.int32), 4).tolist()
    [1, 2, 0, 1]
    """
    parts = in_threads(lambda some: np.bincount(sets[some].ravel(), minlength=values), row_blocks(len(sets)), len(sets))
    counts: npt.NDArray[np.int64] = np.sum(parts, axis=0)
    return counts
