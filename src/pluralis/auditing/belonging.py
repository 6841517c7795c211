"""With the original at hand: every group holds the sensitive values of rows that can be in it, all groups at once.

Each table of a release may be true on its own while sensitive values stand in the wrong groups. So rows of the original
are looked for that have the quasi-identifiers and plain values of the published ones, each used once, whose sensitive
values are those of the groups (`assignment`): the same rows for all attributes, also where these stand in lists of
their own or in slices of their own. A set of a decomposed release must hold the value of each of its rows, and each
primary value once.

Values are compared as everywhere in the audit: text without regard to spelling and case. Rows without a sensitive
value are in no release. Where rows were suppressed, those with the same quasi-identifiers may have been any of them.
Tables of a multi release are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.auditing.assignment import Dealing, dealt
from pluralis.auditing.label_boxes import CodedLabels, coded_labels, core, core_columns
from pluralis.auditing.projection import as_text, sensitive_info, true_values
from pluralis.auditing.verdict import Finding
from pluralis.release.manifest import ColumnInfo, Manifest, TableInfo
from pluralis.release.original import original_values
from pluralis.release.release import GROUP

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

PAIRS = 30_000_000  # of kinds and cells that are looked at
COVERS = 500_000_000  # of labels and original values that are compared, STEP at a time
STEP = 4_000_000
CLAIM = "the sensitive values of every group are those of rows of the original that can be in it"
UNCHECKED = "not checked: too many rows look alike"


class GroupValues(NamedTuple):
    """What the groups of one column say of some attributes, side by side.

    `rows` has `group`, the values (each a column named by its attribute) and `count`; without `count` a group may hold
    each of its values any number of times.
    """

    group: str
    attributes: tuple[str, ...]
    rows: pl.DataFrame


def group_values(group: str, info: TableInfo, rows: pl.DataFrame) -> list[GroupValues]:
    """What a table of groups and counts tells: of all its attributes together, or of each alone."""
    if info.named("attribute"):
        return [
            GroupValues(group, (str(name),), part.select(GROUP, pl.col("value").alias(str(name)), "count"))
            for (name,), part in rows.partition_by("attribute", as_dict=True, maintain_order=True).items()
        ]
    names = {column.name: column.attribute or column.name for column in info.named("sensitive")}
    return [GroupValues(group, tuple(names.values()), rows.select(GROUP, *names, "count").rename(names))]


def group_values_of_sets(values: pl.DataFrame, primary: str, sizes: Mapping[int, int]) -> list[GroupValues]:
    """What the sets of a decomposed release tell: of the primary, where a group has a value for each row, each once."""
    listed = []
    for (name,), part in values.partition_by("attribute", as_dict=True, maintain_order=True).items():
        rows = part.select(GROUP, pl.col("value").alias(str(name)))
        sizes_listed = rows.group_by(GROUP).len()
        if name == primary and all(sizes.get(group) == many for group, many in sizes_listed.rows()):
            rows = rows.with_columns(pl.lit(1, pl.Int64).alias("count"))
        listed.append(GroupValues(GROUP, (str(name),), rows))
    return listed


def belonging(
    info: TableInfo, rows: pl.DataFrame, published: Sequence[GroupValues], manifest: Manifest, original: pl.DataFrame
) -> Finding:
    """Whether rows of the original can be in the groups of published rows so that these hold what they say."""
    if not published or any(rows[one.group].null_count() for one in published):
        return Finding(CLAIM, False, note="not checked: some rows have no group", binding=False)
    keep = manifest.parameters.case
    people = _People.from_original(info, published, manifest, original)
    cells = _cells(info, rows, keep, sorted({one.group for one in published}))
    pairs = _exact_pairs(people, cells) if _all_exact(info) else _covered_pairs(info, people, cells, rows, keep)
    if pairs is None:
        return Finding(CLAIM, False, note=UNCHECKED, binding=False)
    kind, cell, tight = pairs
    entries, counts, groups = list[Numbers](), list[Numbers](), list[tuple[str, list[int]]]()
    for one in published:
        entry, count, group = _entries(one, keep, people.kinds, cells, kind, cell)
        allowed = entry >= 0
        kind, cell = kind[allowed], cell[allowed]
        entries = [*(before[allowed] for before in entries), *([] if count is None else [entry[allowed]])]
        if count is not None:
            counts.append(count)
            groups.append((one.group, group))
    result = dealt(
        Dealing(kind, cell, entries, people.kinds["\0rows"].to_numpy(), tight, cells["\0rows"].to_numpy(), counts)
    )
    note = (
        f"not exactly: {result.open:,} pairs of rows and groups were too many to decide" if result.open else "exactly"
    )
    if result.holds:
        return Finding(CLAIM, True, 0.0, 0.0, note=note)
    witness = None
    if result.table >= 0:
        column, names = groups[result.table]
        witness = f"{column.replace('_', ' ')} {names[result.place]}"
    elif result.place >= 0:
        columns = sorted({one.group for one in published})
        witness = ", ".join(f"{name.replace('_', ' ')} {cells[name][result.place]}" for name in columns)
    return Finding(CLAIM, False, 1.0, 0.0, witness=witness)


def _all_exact(info: TableInfo) -> bool:
    return all(column.exact for column in info.named("quasi"))


def _shown(info: TableInfo) -> list[ColumnInfo]:
    """The columns of a table that show a row's own values: all but labels."""
    return [column for column in info.columns if column.role == "plain" or (column.role == "quasi" and column.exact)]


class _People(NamedTuple):
    """The original: `kinds` has what stands in a row as text or numbers of one spelling, and \0rows.

    Columns are "shown <name>", for what is published as it is, "label <name>", a code of `labels`, and each sensitive
    attribute by its name.
    """

    kinds: pl.DataFrame
    values: dict[str, pl.Series]  # the original's values of columns that are published as labels

    @classmethod
    def from_original(
        cls, info: TableInfo, published: Sequence[GroupValues], manifest: Manifest, original: pl.DataFrame
    ) -> _People:
        keep = manifest.parameters.case
        shown = {c.name: original_values(original, c, manifest) for c in _shown(info)}
        columns = {f"shown {name}": core(series, fold_case=name not in keep) for name, series in shown.items()}
        labels = [column for column in info.named("quasi") if not column.exact]
        values = {column.name: original_values(original, column, manifest) for column in labels}
        columns |= {f"label {name}": core(series, fold_case=name not in keep) for name, series in values.items()}
        for one in published:
            for name in one.attributes:
                true = true_values(sensitive_info(name, manifest), manifest, original)
                true = as_text(true) if one.rows[name].dtype == pl.String else true
                columns[name] = core(true, fold_case=name not in keep)
        frame = pl.DataFrame({name: column.alias(name) for name, column in columns.items()})
        sensitive = sorted({name for one in published for name in one.attributes})
        first = {f"\0first {name}": pl.col(f"\0first {name}").first() for name in values}
        frame = frame.with_columns(series.alias(f"\0first {name}") for name, series in values.items()).drop_nulls(
            sensitive
        )
        by = [*columns]
        kinds = frame.group_by(by, maintain_order=True).agg(pl.len().cast(pl.Int64).alias("\0rows"), *first.values())
        return cls(kinds.drop(*first), {name: kinds[f"\0first {name}"] for name in values})


def _cells(info: TableInfo, rows: pl.DataFrame, keep: Collection[str], groups: list[str]) -> pl.DataFrame:
    """Published rows that look alike and are in the same groups, with \0rows, and the place of one of them."""
    columns = {f"shown {c.name}": core(rows[c.name], fold_case=c.name not in keep) for c in _shown(info)}
    columns |= {f"label {c.name}": rows[c.name] for c in info.named("quasi") if not c.exact}
    frame = pl.DataFrame({name: column.alias(name) for name, column in columns.items()} | {g: rows[g] for g in groups})
    counted = frame.with_row_index("\0first").group_by(frame.columns, maintain_order=True)
    return counted.agg(pl.len().cast(pl.Int64).alias("\0rows"), pl.first("\0first"))


def _agreeing_rows(one: pl.DataFrame, other: pl.DataFrame, names: list[str]) -> tuple[Numbers, Numbers]:
    """A number for each row of two frames, the same where rows agree in these columns."""
    if not names:
        return np.zeros(one.height, np.int64), np.zeros(other.height, np.int64)
    every = pl.concat([one.select(names), other.select(names)])
    places = every.unique(maintain_order=True).with_row_index("\0at")
    places_of = every.join(places, on=names, how="left", nulls_equal=True, maintain_order="left")["\0at"]
    numbers = places_of.cast(pl.Int64).to_numpy()
    return numbers[: one.height], numbers[one.height :]


def _exact_pairs(people: _People, cells: pl.DataFrame) -> tuple[Numbers, Numbers, Flags] | None:
    """Kinds and cells of the same values; a kind is tight where all rows of its values are published."""
    names = [name for name in cells.columns if name.startswith("shown ")]
    kind_of, cell_of = _agreeing_rows(people.kinds, cells, names)
    size = int(max(kind_of.max(initial=-1), cell_of.max(initial=-1))) + 1
    supply, asked = people.kinds["\0rows"].to_numpy(), cells["\0rows"].to_numpy()
    tight = (np.bincount(kind_of, supply, size) == np.bincount(cell_of, asked, size))[kind_of]
    here = np.bincount(kind_of, minlength=size)
    order = np.argsort(kind_of, kind="stable")
    first = np.cumsum(here) - here
    width = here[cell_of]
    if int(width.sum()) > PAIRS:
        return None
    cell = np.repeat(np.arange(cells.height), width)
    ends = np.cumsum(width)
    place = np.arange(int(width.sum())) - np.repeat(ends - width, width) + np.repeat(first[cell_of], width)
    return order[place], cell, tight


def _covered_pairs(
    info: TableInfo, people: _People, cells: pl.DataFrame, rows: pl.DataFrame, keep: Collection[str]
) -> tuple[Numbers, Numbers, Flags] | None:
    """Kinds and cells whose labels cover them; kinds are tight where all rows of the original are published."""
    columns = [column for column in info.named("quasi") if not column.exact]
    first_rows = cells["\0first"].to_numpy()
    labels = [
        coded_labels(rows[c.name].gather(first_rows), people.values[c.name], c, fold_case=c.name not in keep)
        for c in columns
    ]
    shown = [name for name in cells.columns if name.startswith("shown ")]
    kind_key, cell_key = _agreeing_rows(people.kinds, cells, shown)
    points, point_of = np.unique(np.stack([kind_key, *(c.value for c in labels)], axis=1), axis=0, return_inverse=True)
    boxes, box_of = np.unique(np.stack([cell_key, *(c.label for c in labels)], axis=1), axis=0, return_inverse=True)
    covers = _covers(labels, boxes, points)
    if covers is None:
        return None
    box, point = covers
    kinds = _by_number(point_of.ravel(), points.shape[0])
    cells_of = _by_number(box_of.ravel(), boxes.shape[0])
    many = np.diff(cells_of.starts)[box] * np.diff(kinds.starts)[point]
    if int(many.sum()) > PAIRS:
        return None
    cell, kind = _products(cells_of, box, kinds, point)
    total = int(people.kinds["\0rows"].sum()) == int(cells["\0rows"].sum())
    return kind, cell, np.full(people.kinds.height, total)


class _Lists(NamedTuple):
    """members[starts[i] : starts[i + 1]] have number i."""

    starts: Numbers
    members: Numbers


def _by_number(number: Numbers, size: int) -> _Lists:
    counts = np.bincount(number, minlength=size)
    return _Lists(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), np.argsort(number, kind="stable"))


def _products(left: _Lists, l: Numbers, right: _Lists, r: Numbers) -> tuple[Numbers, Numbers]:
    """All pairs of a member of list l[i] of the left and one of list r[i] of the right."""
    wide, long = np.diff(left.starts)[l], np.diff(right.starts)[r]
    many = wide * long
    pair_of = np.repeat(np.arange(many.size), many)
    place = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
    return left.members[left.starts[l[pair_of]] + place // long[pair_of]], right.members[
        right.starts[r[pair_of]] + place % long[pair_of]
    ]


def _covers(labels: list[CodedLabels], boxes: Numbers, points: Numbers) -> tuple[Numbers, Numbers] | None:
    """Which boxes cover which points, as pairs; the first column of both must be equal. None where that takes too long.

    Points are sorted by the column that leaves fewest to look at, so that each box looks at a range of them.
    """
    low = np.stack([boxes[:, 0], *(c.low[boxes[:, i]] for i, c in enumerate(labels, 1))], axis=1)
    high = np.stack([boxes[:, 0], *(c.high[boxes[:, i]] for i, c in enumerate(labels, 1))], axis=1)
    ranges = []
    for i in range(points.shape[1]):
        line = np.sort(points[:, i])
        ranges.append((np.searchsorted(line, low[:, i], "left"), np.searchsorted(line, high[:, i], "right")))
    best = int(np.argmin([np.maximum(ends - starts, 0).sum() for starts, ends in ranges]))
    starts, width = ranges[best][0], np.maximum(ranges[best][1] - ranges[best][0], 0)
    sets = {i: _members(column) for i, column in enumerate(labels, 1) if column.gaps.any()}
    if int(width.sum()) > COVERS or any(members is None for members in sets.values()):
        return None
    order = np.argsort(points[:, best], kind="stable")
    covers: list[tuple[Numbers, Numbers]] = []
    for some in np.split(np.arange(boxes.shape[0]), np.flatnonzero(np.diff(np.cumsum(width) // STEP)) + 1):
        box = np.repeat(some, width[some])
        before = np.cumsum(width[some]) - width[some]
        point = order[np.arange(box.size) + np.repeat(starts[some] - before, width[some])]
        for i in range(points.shape[1]):
            value = points[point, i]
            fits = (low[box, i] <= value) & (value <= high[box, i])
            if (members := sets.get(i)) is not None:
                fits &= members[boxes[box, i], value]
            box, point = box[fits], point[fits]
        covers.append((box, point))
    return np.concatenate([box for box, _ in covers]), np.concatenate([point for _, point in covers])


def _members(column: CodedLabels) -> Flags | None:
    """[label, code]: whether a label covers a value, for sets that cover less than their range; None if too large."""
    size = int(max(column.high.max(initial=0), column.value.max(initial=0))) + 1
    if column.low.size * size > COVERS:
        return None
    covered = np.zeros((column.low.size, size), np.bool_)
    covered[np.repeat(np.arange(column.low.size), np.diff(column.starts)), column.members] = True
    covered[~column.gaps] = True
    return covered


def _entries(
    published: GroupValues,
    keep: Collection[str],
    kinds: pl.DataFrame,
    cells: pl.DataFrame,
    kind: Numbers,
    cell: Numbers,
) -> tuple[Numbers, Numbers | None, list[int]]:
    """For each pair the entry to which it counts, -1 where the group has no such value; counts, groups of entries."""
    names = list(published.attributes)
    values = core_columns(published.rows, names, keep)
    entry_value, kind_value = _agreeing_rows(values, kinds, names)
    size = int(max(entry_value.max(initial=-1), kind_value.max(initial=-1))) + 1
    count = (
        published.rows["count"]
        if "count" in published.rows.columns
        else pl.repeat(1, published.rows.height, eager=True)
    )
    entries = pl.DataFrame({"\0g": published.rows[GROUP].cast(pl.Int64), "\0v": entry_value, "\0n": count})
    entries = entries.group_by("\0g", "\0v", maintain_order=True).agg(pl.col("\0n").cast(pl.Int64).sum())
    key = entries["\0g"].to_numpy() * size + entries["\0v"].to_numpy()
    order = np.argsort(key, kind="stable")
    wanted = cells[published.group].cast(pl.Int64).to_numpy()[cell] * size + kind_value[kind]
    place = np.minimum(np.searchsorted(key[order], wanted), max(0, key.size - 1))
    entry = np.where(key[order[place]] == wanted, order[place], -1) if key.size else np.full(kind.size, -1)
    counts = entries["\0n"].to_numpy().astype(np.int64) if "count" in published.rows.columns else None
    return entry, counts, entries["\0g"].to_list()
