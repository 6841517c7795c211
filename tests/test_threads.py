"""Several things at once: results in order, the first error, and every row once."""

from __future__ import annotations

import threading
import time

import numpy as np
import polars as pl
import pytest

from pluralis import threads
from pluralis.threads import FEW, at_once, beside, by_rows, in_threads

MANY = FEW


@pytest.fixture(params=[1, 2, 4])
def number(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many threads Polars is said to have."""
    monkeypatch.setattr(pl, "thread_pool_size", lambda: request.param)
    return int(request.param)


def later(item: int) -> int:
    time.sleep(0.02 / (item + 1))  # the last is done first
    return item


def test_results_come_in_order(number: int) -> None:
    assert in_threads(later, range(5), MANY) == [0, 1, 2, 3, 4]
    assert in_threads(later, [], MANY) == []
    assert at_once(lambda: later(0), lambda: later(9), rows=MANY) == [0, 9]


def test_no_more_threads_than_polars_has(number: int) -> None:
    names = in_threads(lambda item: (later(item), threading.current_thread().name)[1], range(20), MANY)
    assert len(set(names)) <= number
    if number == 1:
        assert set(names) == {threading.current_thread().name}


def test_few_rows_are_worked_on_one_after_the_other(number: int) -> None:
    here = threading.current_thread().name
    assert {*in_threads(lambda item: threading.current_thread().name, range(20), FEW - 1)} == {here}
    with beside(lambda: threading.current_thread().name, FEW - 1) as name:
        assert name.result() == here


def test_of_errors_the_first_is_raised(number: int) -> None:
    def fail(item: int) -> None:
        later(item)
        raise ValueError(item)

    with pytest.raises(ValueError, match=r"^0$"):
        in_threads(fail, range(3), MANY)


@pytest.mark.parametrize("rows", [0, 1, 9, 10, 11, 35])
def test_every_row_once(rows: int, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "ROWS", 10)
    times = np.zeros(rows, np.int64)

    def count(some: slice) -> None:
        times[some] += 1

    by_rows(count, rows)
    assert times.tolist() == [1] * rows


def test_beside_gives_the_result_or_the_error(number: int) -> None:
    with beside(lambda: later(3), MANY) as three:
        four = later(4)
    assert (three.result(), four) == (3, 4)
    with pytest.raises(ZeroDivisionError), beside(lambda: 1 // 0, MANY) as nothing:
        nothing.result()
