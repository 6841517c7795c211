"""What the labels of a column stand for, value by value."""

from __future__ import annotations

import numpy as np
import polars as pl

from pluralis.errors import QueryError
from pluralis.estimate.label_distribution import Bins, Column, Exact, Intervals, Members, Ordered
from pluralis.estimate.truth_table import Ints

MOST = 5_000_000  # lines of what labels stand for
POINTS = 100  # that stand for an interval of numbers that are not whole


def members(column: Column) -> pl.DataFrame:
    """What the labels of a column stand for: `code`, `value`, and the `share` of each."""
    if isinstance(column, Exact):
        values = pl.Series(list(column.values) if not isinstance(column.values, np.ndarray) else column.values)
        codes = np.arange(column.size + column.missing, dtype=np.int32)
        padded = values.extend_constant(None, 1) if column.missing else values
        return pl.DataFrame({"code": codes, "value": padded, "share": np.ones(codes.size)})
    if isinstance(column, Members):
        values = pl.Series([*column.values, None], dtype=pl.String)
        sizes = np.diff(column.starts)
        codes = np.repeat(np.arange(sizes.size, dtype=np.int32), sizes)
        frame = pl.DataFrame({"code": codes, "value": values.gather(column.members), "share": 1 / sizes[codes]})
        return _with_missing(frame, sizes.size) if column.missing else frame
    if isinstance(column, Ordered):
        return _ordered(column)
    assert isinstance(column, (Intervals, Bins))
    frame = _numbers(column.low, column.high)
    return _with_missing(frame, column.low.size) if isinstance(column, Intervals) and column.missing else frame


def meanings(column: Column) -> Ints:
    """How many values each label of a column stands for, one that is missing included; points count as one."""
    missing = [1] * bool(getattr(column, "missing", False))
    if isinstance(column, Members):
        return np.append(np.diff(column.starts), missing).astype(np.int64)
    if isinstance(column, Ordered):
        return np.append(column.high - column.low + 1 + column.open, missing).astype(np.int64)
    if isinstance(column, Intervals) and column.low.dtype == np.int64:
        return np.append(column.high - column.low + 1, missing).astype(np.int64)
    size = column.size if isinstance(column, Exact) else column.low.size  # type: ignore[attr-defined]
    return np.ones(size + len(missing), np.int64)


def _ordered(column: Ordered) -> pl.DataFrame:
    """Values from one place to another, and the missing one where a label may be that too."""
    labels = zip(column.low.tolist(), column.high.tolist(), column.open.tolist(), strict=True)
    places = [[*range(low, high + 1), *([-1] if may_miss else [])] for low, high, may_miss in labels]
    sizes = np.array([len(several) for several in places], np.int64)
    codes = np.repeat(np.arange(sizes.size, dtype=np.int32), sizes)
    values = pl.Series([*column.domain.values, None], dtype=pl.String)
    members = np.array([place % values.len() for several in places for place in several], np.int64)
    frame = pl.DataFrame({"code": codes, "value": values.gather(members), "share": 1 / sizes[codes]})
    return _with_missing(frame, sizes.size) if column.missing else frame


def _with_missing(frame: pl.DataFrame, code: int) -> pl.DataFrame:
    missing = pl.DataFrame({"code": [code], "value": [None], "share": [1.0]}, schema=frame.schema)
    return pl.concat([frame, missing])


def _numbers(low: np.ndarray, high: np.ndarray) -> pl.DataFrame:
    """Whole numbers from low to high, or points spread evenly between them."""
    whole = low.dtype == np.int64
    sizes = high - low + 1 if whole else np.where(high > low, POINTS, 1)
    if sizes.sum() > MOST:
        raise QueryError(f"Labels stand for {int(sizes.sum()):,} numbers, more than {MOST:,}. Leave the attribute out.")
    codes = np.repeat(np.arange(low.size, dtype=np.int32), sizes)
    place = np.arange(codes.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    values = low[codes] + (place if whole else (high - low)[codes] * (place + 0.5) / POINTS)
    return pl.DataFrame({"code": codes, "value": values, "share": 1 / sizes[codes]})
