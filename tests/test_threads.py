"""Several things at once: results in order, the first error, and every row once."""

from __future__ import annotations

import threading
import time

import numpy as np
import polars as pl
import pytest

from pluralis import threads
from pluralis.threads import at_once, beside, by_rows, in_threads


@pytest.fixture(params=[1, 2, 4])
def number(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many threads Polars is said to have."""
    monkeypatch.setattr(pl, "thread_pool_size", lambda: request.param)
    return int(request.param)


def later(item: int) -> int:
    time.sleep(0.02 / (item + 1))  # the last is done first
    return item


def test_results_come_in_order(number: int) -> None:
    assert in_threads(later, range(5)) == [0, 1, 2, 3, 4]
    assert in_threads(later, []) == []
    assert at_once(lambda: later(0), lambda: later(9)) == [0, 9]


def test_no_more_threads_than_polars_has(number: int) -> None:
    names = in_threads(lambda item: (later(item), threading.current_thread().name)[1], range(20))
    assert len(set(names)) <= number
    if number == 1:
        assert set(names) == {threading.current_thread().name}


def test_of_errors_the_first_is_raised(number: int) -> None:
    def fail(item: int) -> None:
        later(item)
        raise ValueError(item)

    with pytest.raises(ValueError, match=r"^0$"):
        in_threads(fail, range(3))


@pytest.mark.parametrize("rows", [0, 1, 9, 10, 11, 35])
def test_every_row_once(rows: int, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "ROWS", 10)
    times = np.zeros(rows, np.int64)

    def count(some: slice) -> None:
        times[some] += 1

    by_rows(count, rows)
    assert times.tolist() == [1] * rows


def test_beside_gives_the_result_or_the_error(number: int) -> None:
    with beside(lambda: later(3)) as three:
        four = later(4)
    assert (three.result(), four) == (3, 4)
    with beside(lambda: 1 // 0) as nothing:
        pass
    with pytest.raises(ZeroDivisionError):
        nothing.result()
