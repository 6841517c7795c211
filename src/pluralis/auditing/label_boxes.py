"""Labels and values as codes: what each published label covers is a range of codes, or a set within a range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.errors import ReleaseError
from pluralis.release.manifest import ColumnInfo
from pluralis.table.labels import ALL, interval_ends, read_set
from pluralis.table.spelling import skeleton

Codes = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]


class Boxes(NamedTuple):
    """What each distinct published row covers: a range of codes in each column, and which of them if not all."""

    low: Codes
    high: Codes
    sets: Numbers  # members[starts[s] : starts[s + 1]] are what set s holds of the range, sorted; -1 for all of it
    starts: Numbers
    members: Codes
    key: Numbers
    rows: Numbers  # how many published rows it is


class Points(NamedTuple):
    """The codes of original rows, column by column, and their keys."""

    codes: Codes
    key: Numbers


class Coded(NamedTuple):
    """A quasi column: the value of each original row, the label of each published row, what each label covers."""

    value: Codes
    label: Codes
    low: Codes
    high: Codes
    starts: Numbers  # members[starts[i] : starts[i + 1]] are the codes that label i covers
    members: Codes

    @property
    def gaps(self) -> npt.NDArray[np.bool_]:
        """Which labels cover less than all of their range."""
        held = np.diff(self.starts)
        return np.asarray((held > 0) & (held != self.high - self.low + 1))


def core(series: pl.Series) -> pl.Series:
    """What is compared: numbers as they are, text without regard to spelling."""
    if series.dtype != pl.String:
        return series.cast(pl.Float64)
    return series.to_frame("x").select(skeleton(pl.col("x"), fold_case=True)).to_series()


def numbered(rows: pl.DataFrame, among: pl.DataFrame) -> Numbers:
    """Where each row stands among distinct rows, -1 where it does not.

    >>> numbered(pl.DataFrame({"x": ["b", None, "c"]}), pl.DataFrame({"x": ["a", "b", None]})).tolist()
    [1, 2, -1]
    """
    place = among.with_row_index("\0at")
    found = rows.join(place, on=rows.columns, how="left", nulls_equal=True, maintain_order="left")["\0at"]
    return np.array(found.cast(pl.Int64).fill_null(-1))


def coded(labels: pl.Series, values: pl.Series, column: ColumnInfo) -> Coded:
    """The labels and the true values of a column.

    >>> column = ColumnInfo(name="x", role="quasi", type="text")
    >>> code = coded(pl.Series(["{a, c}", "b", "*"]), pl.Series(["c", "a", "b"]), column)
    >>> code.value.tolist(), [column[code.label].tolist() for column in (code.low, code.high, code.gaps)]
    ([2, 0, 1], [[0, 1, 0], [2, 1, 2], [True, False, False]])
    """
    kinds = labels.unique()
    label = numbered(labels.to_frame("x"), kinds.to_frame("x")).astype(np.int32)
    if column.type == "number":
        return _numbers(kinds, label, values)
    return _texts(kinds, label, values, column)


def _numbers(kinds: pl.Series, label: Codes, values: pl.Series) -> Coded:
    # missing lies at minus infinity, which `*` covers too
    ends = interval_ends(kinds, (-np.inf, np.inf)).fill_null(-np.inf)
    domain, value = np.unique(values.cast(pl.Float64).fill_null(-np.inf).to_numpy(), return_inverse=True)
    low = np.searchsorted(domain, ends["low"].to_numpy(), "left").astype(np.int32)
    high = np.searchsorted(domain, ends["high"].to_numpy(), "right").astype(np.int32) - 1
    nothing = np.empty(0, np.int32)
    return Coded(value.astype(np.int32), label, low, high, np.zeros(kinds.len() + 1, np.int64), nothing)


def _texts(kinds: pl.Series, label: Codes, values: pl.Series, column: ColumnInfo) -> Coded:
    spelled = core(values)
    # along the tree, so that what a node covers is a range
    leaves = [line[0] for line in sorted(column.hierarchy or (), key=lambda line: line[::-1])]
    domain = pl.concat([core(pl.Series(leaves, dtype=pl.String)), spelled.unique().sort()]).unique(maintain_order=True)
    covered = pl.DataFrame(list(_members(kinds, column)), {"label": pl.Int64, "member": pl.String}, orient="row")
    code = numbered(core(covered["member"]).to_frame("x"), domain.to_frame("x"))
    pairs = covered.select("label", code=code).filter(pl.col("code") >= 0).unique().sort("label", "code")
    of, members = pairs["label"].to_numpy(), pairs["code"].to_numpy().astype(np.int32)
    starts = np.searchsorted(of, np.arange(kinds.len() + 1))
    low, high = np.zeros(kinds.len(), np.int32), np.full(kinds.len(), -1, np.int32)
    held = np.diff(starts) > 0
    low[held], high[held] = members[starts[:-1][held]], members[starts[1:][held] - 1]
    high[(kinds == ALL).fill_null(False).to_numpy()] = domain.len() - 1
    value = numbered(spelled.to_frame("x"), domain.to_frame("x"))
    return Coded(value.astype(np.int32), label, low, high, starts, members)


def _members(kinds: pl.Series, column: ColumnInfo) -> Iterator[tuple[int, str | None]]:
    """(label, value) for all values that labels cover; `*`, which covers all, aside."""
    leaves: dict[str, list[str]] = {}
    for line in column.hierarchy or ():
        for node in dict.fromkeys(line):
            leaves.setdefault(node, []).append(line[0])
    for i, label in enumerate(kinds.to_list()):
        if label == ALL:
            continue
        if label is not None and column.hierarchy is not None and label not in leaves:
            raise ReleaseError(f"{column.name!r} holds {label!r}, which is not in its hierarchy.")
        held: Sequence[str | None] = [None]
        if label is not None:
            held = read_set(label) if column.hierarchy is None else leaves[label]
        for value in held:
            yield i, value


def join_boxes(columns: list[Coded], key: Numbers) -> tuple[Boxes, Numbers]:
    """The distinct published rows, and where each of them occurs first."""
    labels = pl.DataFrame({"key": key, **{str(i): column.label for i, column in enumerate(columns)}})
    rows = labels.with_row_index("at").group_by(labels.columns, maintain_order=True).agg(pl.first("at"), pl.len())
    first = rows["at"].to_numpy().astype(np.int64)
    shape = (first.size, len(columns))
    low, high, sets = np.empty(shape, np.int32), np.empty(shape, np.int32), np.full(shape, -1, np.int64)
    starts, members = [np.zeros(1, np.int64)], [np.empty(0, np.int32)]
    for i, column in enumerate(columns):
        label = column.label[first]
        low[:, i], high[:, i] = column.low[label], column.high[label]
        before = sum(part.size for part in starts) - 1
        sets[:, i] = np.where(column.gaps[label], before + label, -1)
        starts.append(starts[-1][-1] + column.starts[1:])
        members.append(column.members)
    counts = rows["len"].to_numpy().astype(np.int64)
    return Boxes(low, high, sets, np.concatenate(starts), np.concatenate(members), key[first], counts), first


def join_points(columns: list[Coded], key: Numbers) -> Points:
    """The original rows."""
    codes = np.empty((key.size, len(columns)), np.int32)
    for i, column in enumerate(columns):
        codes[:, i] = column.value
    return Points(codes, key)
