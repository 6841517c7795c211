"""Labels and values as codes: what each published label covers is a range of codes, or a set within a range."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.errors import ReleaseError
from pluralis.release.manifest import ColumnInfo
from pluralis.table.dictionaries import different_values
from pluralis.table.labels import ALL, OrderedDomain, interval_ends, read_set
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


class CodedLabels(NamedTuple):
    """A quasi-identifier: the value of each original row, the label of each published row, what each label covers."""

    value: Codes
    label: Codes
    low: Codes
    high: Codes
    starts: Numbers  # members[starts[i] : starts[i + 1]] are the codes that label i covers
    members: Codes

    @property
    def gaps(self) -> npt.NDArray[np.bool_]:
        """Which labels cover less than all of their range."""
        sizes = np.diff(self.starts)
        return np.asarray((sizes > 0) & (sizes != self.high - self.low + 1))


def core(series: pl.Series, *, fold_case: bool = True) -> pl.Series:
    """What is compared: numbers as they are, text without regard to spelling, unless capitals make another value.

    >>> core(pl.Series(["MS ", "ms"])).to_list(), core(pl.Series(["MS ", "ms"]), fold_case=False).to_list()
    (['ms', 'ms'], ['MS', 'ms'])
    """
    if series.dtype != pl.String:
        return series.cast(pl.Float64)
    different = series.unique()
    spelled = different.to_frame("x").select(skeleton(pl.col("x"), fold_case=fold_case)).to_series()
    return series.replace_strict(different, spelled, return_dtype=pl.String)


def core_columns(frame: pl.DataFrame, names: Iterable[str], keep: Collection[str], *before: pl.Series) -> pl.DataFrame:
    """Some columns as they are compared; `keep` are the attributes in which capitals make another value."""
    return pl.DataFrame([*before, *(core(frame[n], fold_case=n not in keep).alias(n) for n in names)])


def places_among(rows: pl.DataFrame, among: pl.DataFrame) -> Numbers:
    """Where each row stands among distinct rows, -1 where it does not.

    >>> places_among(pl.DataFrame({"x": ["b", None, "c"]}), pl.DataFrame({"x": ["a", "b", None]})).tolist()
    [1, 2, -1]
    """
    place = among.with_row_index("\0at")
    places = rows.join(place, on=rows.columns, how="left", nulls_equal=True, maintain_order="left")["\0at"]
    return np.array(places.cast(pl.Int64).fill_null(-1))


def coded_labels(labels: pl.Series, values: pl.Series, column: ColumnInfo, *, fold_case: bool = True) -> CodedLabels:
    """The labels and the true values of a column; each different one is read once.

    >>> column = ColumnInfo(name="x", role="quasi", type="text")
    >>> code = coded_labels(pl.Series(["{a, c}", "b", "*"]), pl.Series(["c", "a", "b"]), column)
    >>> code.value.tolist(), [column[code.label].tolist() for column in (code.low, code.high, code.gaps)]
    ([2, 0, 1], [[0, 1, 0], [2, 1, 2], [True, False, False]])
    """
    (kinds, kind_of), (different, value) = different_values(labels), different_values(values)
    label = kind_of.astype(np.int32)
    if column.type == "number":
        coded = _numbers(kinds, label, different)
    else:
        coded = _texts(kinds, label, different, column, fold_case=fold_case)
    return coded._replace(value=coded.value[value])


def _numbers(kinds: pl.Series, label: Codes, values: pl.Series) -> CodedLabels:
    # missing lies at minus infinity, which `*` covers too
    ends = interval_ends(kinds, (-np.inf, np.inf)).fill_null(-np.inf)
    domain, value = np.unique(values.cast(pl.Float64).fill_null(-np.inf).to_numpy(), return_inverse=True)
    low = np.searchsorted(domain, ends["low"].to_numpy(), "left").astype(np.int32)
    high = np.searchsorted(domain, ends["high"].to_numpy(), "right").astype(np.int32) - 1
    nothing = np.empty(0, np.int32)
    return CodedLabels(value.astype(np.int32), label, low, high, np.zeros(kinds.len() + 1, np.int64), nothing)


def _texts(kinds: pl.Series, label: Codes, values: pl.Series, column: ColumnInfo, *, fold_case: bool) -> CodedLabels:
    spelled = core(values, fold_case=fold_case)
    # along the tree, or in order, so that what a label covers is a range
    leaves = [line[0] for line in sorted(column.hierarchy or (), key=lambda line: line[::-1])]
    leaves += _in_order(column)
    listed = core(pl.Series(leaves, dtype=pl.String), fold_case=fold_case)
    domain = pl.concat([listed, spelled.unique().sort()]).unique(maintain_order=True)
    covered = pl.DataFrame(list(_members(kinds, column)), {"label": pl.Int64, "member": pl.String}, orient="row")
    code = places_among(core(covered["member"], fold_case=fold_case).to_frame("x"), domain.to_frame("x"))
    pairs = covered.select("label", code=code).filter(pl.col("code") >= 0).unique().sort("label", "code")
    label_of, members = pairs["label"].to_numpy(), pairs["code"].to_numpy().astype(np.int32)
    starts = np.searchsorted(label_of, np.arange(kinds.len() + 1))
    low, high = np.zeros(kinds.len(), np.int32), np.full(kinds.len(), -1, np.int32)
    covering = np.diff(starts) > 0
    low[covering], high[covering] = members[starts[:-1][covering]], members[starts[1:][covering] - 1]
    high[(kinds == ALL).fill_null(False).to_numpy()] = domain.len() - 1
    value = places_among(spelled.to_frame("x"), domain.to_frame("x"))
    return CodedLabels(value.astype(np.int32), label, low, high, starts, members)


def _members(kinds: pl.Series, column: ColumnInfo) -> Iterator[tuple[int, str | None]]:
    """(label, value) for all values that labels cover; `*`, which covers all, aside."""
    leaves: dict[str, list[str]] = {}
    for line in column.hierarchy or ():
        for node in dict.fromkeys(line):
            leaves.setdefault(node, []).append(line[0])
    ordered = OrderedDomain(_in_order(column))
    for i, label in enumerate(kinds.to_list()):
        if label == ALL:
            continue
        if label is not None and column.ordered:
            low, high = ordered.places(label)
            yield from ((i, value) for value in ordered.values[low : high + 1])
            continue
        if label is not None and column.hierarchy is not None and label not in leaves:
            raise ReleaseError(f"{column.name!r} holds {label!r}, which is not in its hierarchy.")
        values: Sequence[str | None] = [None]
        if label is not None:
            values = read_set(label) if column.hierarchy is None else leaves[label]
        for value in values:
            yield i, value


def _in_order(column: ColumnInfo) -> list[str]:
    """The values of an ordered attribute, none of another one."""
    return [str(value) for value in column.domain or () if value is not None] if column.ordered else []


def join_boxes(columns: list[CodedLabels], key: Numbers) -> tuple[Boxes, Numbers]:
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


def join_points(columns: list[CodedLabels], key: Numbers) -> Points:
    """The original rows."""
    codes = np.empty((key.size, len(columns)), np.int32)
    for i, column in enumerate(columns):
        codes[:, i] = column.value
    return Points(codes, key)
