"""With the original at hand: every published row covers a row of the original, and none is invented.

A release is true to its original where some one-to-one matching gives every published row an original row that its
labels cover and whose sensitive values it holds. Finding one is a bipartite matching (Hopcroft and Karp, scipy). Its
cost is bounded: above CANDIDATES comparisons or PAIRS edges the matching is replaced by two necessary
conditions, which the finding then says: the sensitive values are those of the original, and each of a spread of
published rows covers at least one original row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from pluralis.audit.verdict import Finding
from pluralis.errors import ReleaseError
from pluralis.labels import ALL, interval_ends, read_set
from pluralis.original import original_values
from pluralis.release import ColumnInfo, Manifest, TableInfo
from pluralis.spelling import skeleton

CANDIDATES = 150_000_000
PAIRS = 600_000
SPREAD = 2_000

Flags = npt.NDArray[np.bool_]


def coverage(manifest: Manifest, tables: dict[str, pl.DataFrame], original: pl.DataFrame) -> list[Finding]:
    """Findings about a generalized release and its original."""
    rows = tables["microdata"]
    info = next(info for info in manifest.tables if info.name == "microdata")
    true = pl.DataFrame(
        {c.name: original_values(original, c, manifest) for c in (*info.named("quasi"), *info.named("sensitive"))}
    )
    counted = Finding(
        "published and left-out rows are the rows of the original",
        rows.height + manifest.suppressed == original.height,
        measured=float(rows.height + manifest.suppressed),
        promised=float(original.height),
    )
    linked = bool(manifest.parameters.get("linked", True))
    return [counted, _no_secret_invented(info, rows, true, linked), _covered(info, rows, true, linked)]


def _no_secret_invented(info: TableInfo, rows: pl.DataFrame, original: pl.DataFrame, linked: bool) -> Finding:
    """Published sensitive values, jointly where rows are linked, occur at least as often in the original."""
    columns = info.named("sensitive")
    published = pl.DataFrame({column.name: _core(rows[column.name]) for column in columns})
    true = pl.DataFrame({column.name: _core(original[column.name]) for column in columns})
    surplus = 0
    witness = None
    for names in [[column.name for column in columns]] if linked else [[column.name] for column in columns]:
        counts = (
            published.group_by(names)
            .len("published")
            .join(true.group_by(names).len("true"), on=names, how="left", nulls_equal=True)
        )
        excess = counts.with_columns((pl.col("published").cast(pl.Int64) - pl.col("true").fill_null(0)).alias("over"))
        over = excess.filter(pl.col("over") > 0).sort(names)
        surplus += int(over["over"].sum())
        if over.height and witness is None:
            witness = ", ".join(f"{name} = {over[name][0]}" for name in names)
    return Finding("no sensitive value is invented", surplus == 0, float(surplus), 0.0, witness=witness)


def _core(series: pl.Series) -> pl.Series:
    """What is compared: numbers as they are, text without regard to spelling."""
    if series.dtype != pl.String:
        return series.cast(pl.Float64)
    return series.to_frame("x").select(skeleton(pl.col("x"), fold_case=True)).to_series()


def _covered(info: TableInfo, rows: pl.DataFrame, original: pl.DataFrame, linked: bool) -> Finding:
    claim = "every published row covers a row of its own in the original"
    quasi = info.named("quasi")
    secrets = [column.name for column in info.named("sensitive")] if linked else []
    published_key = _keys(pl.DataFrame({n: _core(rows[n]) for n in secrets}), rows.height)
    true_key = _keys(pl.DataFrame({n: _core(original[n]) for n in secrets}), original.height)
    names = [column.name for column in quasi]
    boxes, box_of = _distinct(rows.select(names), published_key)
    points, point_of = _distinct(original.select(names), true_key)
    tests = [_Cover(boxes[column.name], points[column.name], column) for column in quasi]
    same = [
        (np.flatnonzero(boxes["key"] == key), np.flatnonzero(points["key"] == key)) for key in boxes["key"].unique()
    ]
    box_count = np.bincount(box_of, minlength=boxes.height)
    point_count = np.bincount(point_of, minlength=points.height)
    if sum(left.size * right.size for left, right in same) > CANDIDATES:
        return _spread(claim, boxes, points, tests, int(rows.height))
    edges, pairs = [], 0
    for left, right in _edges(same, tests):
        edges.append((left, right))
        pairs += int((box_count[left] * point_count[right]).sum())
        if pairs > PAIRS:
            return _spread(claim, boxes, points, tests, int(rows.height))
    placed = _matched(edges, box_count, point_count)
    return Finding(claim, placed == rows.height, float(placed), float(rows.height), note="by matching, exactly")


def _keys(frame: pl.DataFrame, height: int) -> pl.Series:
    """One text per row for all sensitive values together."""
    if not frame.width:
        return pl.repeat("", height, eager=True)
    return frame.select(pl.concat_str(pl.all().cast(pl.String).fill_null("\x00"), separator="\x1f")).to_series()


def _distinct(frame: pl.DataFrame, key: pl.Series) -> tuple[pl.DataFrame, npt.NDArray[np.int64]]:
    """The distinct rows, and which of them each row is."""
    keyed = frame.with_columns(key.alias("\x00key"))
    unique = keyed.unique(maintain_order=True).with_row_index("\x00at")
    at = keyed.join(unique, on=keyed.columns, how="left", nulls_equal=True, maintain_order="left")["\x00at"]
    return unique.drop("\x00at").rename({"\x00key": "key"}), at.to_numpy().astype(np.int64)


class _Cover:
    """Whether a label covers a value, for one column, by code."""

    def __init__(self, labels: pl.Series, values: pl.Series, column: ColumnInfo) -> None:
        self.number = column.type == "number"
        if self.number:
            # missing lies at minus infinity, which `*` covers too
            ends = interval_ends(labels, (-np.inf, np.inf)).fill_null(-np.inf)
            self.low, self.high = ends["low"].to_numpy(), ends["high"].to_numpy()
            self.value = values.cast(pl.Float64).fill_null(-np.inf).to_numpy()
            return
        spelled = _core(values)
        domain = spelled.unique().sort()
        place = {value: i for i, value in enumerate(domain.to_list())}
        self.value = np.array([place[value] for value in spelled.to_list()], np.int64)
        kinds = labels.unique().to_list()
        covers = np.zeros((len(kinds), len(place)), np.bool_)
        leaves = _leaves_of(column)
        for i, label in enumerate(kinds):
            for value in _members(label, column, leaves):
                core = _core(pl.Series([value], dtype=pl.String))[0]
                if core in place:
                    covers[i, place[core]] = True
            if label == ALL:
                covers[i] = True
        self.covers = covers
        self.label = np.array(
            [{label: i for i, label in enumerate(kinds)}[label] for label in labels.to_list()], np.int64
        )

    def __call__(self, boxes: npt.NDArray[np.int64], points: npt.NDArray[np.int64]) -> Flags:
        if self.number:
            return np.asarray((self.low[boxes] <= self.value[points]) & (self.value[points] <= self.high[boxes]))
        return np.asarray(self.covers[self.label[boxes], self.value[points]])


def _leaves_of(column: ColumnInfo) -> dict[str, list[str | None]]:
    leaves: dict[str, list[str | None]] = {}
    for line in column.hierarchy or ():
        for label in dict.fromkeys(line):
            leaves.setdefault(label, []).append(line[0])
    return leaves


def _members(label: str | None, column: ColumnInfo, leaves: dict[str, list[str | None]]) -> list[str | None]:
    if label is None or label == ALL:
        return [label]
    if column.hierarchy is None:
        return read_set(label)
    if label not in leaves:
        raise ReleaseError(f"{column.name!r} holds {label!r}, which is not in its hierarchy.")
    return leaves[label]


def _edges(
    same: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]], tests: list[_Cover]
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Pairs of a published row and an original row that it covers, a block of candidates at a time."""
    for left, right in same:
        if not right.size:
            continue
        step = max(1, 4_000_000 // right.size)
        for at in range(0, left.size, step):
            boxes = np.repeat(left[at : at + step], right.size)
            points = np.tile(right, min(step, left.size - at))
            for test in tests:
                keep = test(boxes, points)
                boxes, points = boxes[keep], points[keep]
            yield boxes, points


def _matched(
    edges: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]],
    box_count: npt.NDArray[np.int64],
    point_count: npt.NDArray[np.int64],
) -> int:
    """How many published rows can be given an original row of their own."""
    boxes = np.concatenate([left for left, _ in edges] or [np.empty(0, np.int64)])
    points = np.concatenate([right for _, right in edges] or [np.empty(0, np.int64)])
    # equal rows are several nodes with the same edges
    box_start = np.concatenate([[0], np.cumsum(box_count)])
    point_start = np.concatenate([[0], np.cumsum(point_count)])
    times = box_count[boxes] * point_count[points]
    pair = np.repeat(np.arange(boxes.size), times)
    nth = np.arange(pair.size) - np.repeat(np.cumsum(times) - times, times)
    left = box_start[boxes[pair]] + nth // point_count[points[pair]]
    right = point_start[points[pair]] + nth % point_count[points[pair]]
    graph = coo_array(
        (np.ones(left.size, np.bool_), (left, right)), shape=(int(box_count.sum()), int(point_count.sum()))
    ).tocsr()
    return int((maximum_bipartite_matching(graph, perm_type="column") >= 0).sum())


def _spread(claim: str, boxes: pl.DataFrame, points: pl.DataFrame, tests: list[_Cover], rows: int) -> Finding:
    """The necessary condition on evenly spread published rows, for tables too large for a matching."""
    chosen = np.unique(np.linspace(0, boxes.height - 1, SPREAD).astype(np.int64))
    box_key, point_key = boxes["key"].to_numpy(), points["key"].to_numpy()
    alone = 0
    for box in chosen:
        candidates = np.flatnonzero(point_key == box_key[box])
        for test in tests:
            candidates = candidates[test(np.full(candidates.size, box), candidates)]
        alone += candidates.size == 0
    note = f"{rows:,} rows are too many for a matching; {chosen.size:,} spread evenly were tested one by one"
    return Finding(claim, alone == 0, float(chosen.size - alone), float(chosen.size), note=note)
