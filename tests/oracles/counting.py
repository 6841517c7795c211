"""Slow, literal counting in releases: the oracle of the estimators. Plain Python, row by row; no kernel, no classes.

A row's cell is a list of (value, weight): the values it may be, each with how likely it is. A value of an attribute in
bins is (label, number). Numbers that are not whole are looked at where a condition cuts them: the pieces between the
cuts, each by its middle, and the cuts themselves, which are possible and have no weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, permutations, product
from typing import Any, NamedTuple

import polars as pl

from pluralis.estimate.conditions import All, Check, Condition, Not, Some
from pluralis.release.attributes import attributes_of
from pluralis.release.manifest import ColumnInfo
from pluralis.release.release import Release
from pluralis.table.labels import ALL, is_binned, read_interval, read_set

Cell = list[tuple[Any, float]]
Values = dict[str, Any]


class Counted(NamedTuple):
    expected: float
    variance: float
    least: int
    most: int


# what is true of a row ----------------------------------------------------------------------------------------


def is_true(condition: Condition, row: Values) -> bool:
    return known(condition, row) is True


def known(condition: Condition, row: Values) -> bool | None:
    """Whether a condition is true or false of a row, or None for neither, as in SQL."""
    if isinstance(condition, Check):
        return passes(condition, row[condition.attribute])
    if isinstance(condition, Not):
        inner = known(condition.part, row)
        return None if inner is None else not inner
    assert isinstance(condition, (All, Some))
    decides = isinstance(condition, Some)  # one true part makes an OR true, one false part an AND false
    parts = [known(part, row) for part in condition.parts]
    if decides in parts:
        return decides
    return None if None in parts else not decides


def passes(check: Check, value: Any) -> bool | None:
    if check.comparison == "IS NULL":
        return value is None
    if value is None:
        return None
    spelled = value if isinstance(value, tuple) else (value, value)  # a bin is known by its label and by its number

    def like(x: Any) -> Any:
        return spelled[0] if isinstance(x, str) else spelled[1]

    first = check.values[0]
    return {
        "=": lambda: like(first) == first,
        "!=": lambda: like(first) != first,
        "<": lambda: like(first) < first,
        "<=": lambda: like(first) <= first,
        ">": lambda: like(first) > first,
        ">=": lambda: like(first) >= first,
        "BETWEEN": lambda: check.values[0] <= like(first) <= check.values[1],
        "IN": lambda: any(like(x) == x for x in check.values),
    }[check.comparison]()


def relevant(condition: Condition, infos: dict[str, ColumnInfo]) -> tuple[list[str], dict[str, Any]]:
    """The attributes whose value can make a difference to a condition, whatever they are; of the others any value."""
    every: dict[str, list[Any]] = {}
    for name in condition.attributes:
        named = sorted({v for check in condition.checks if check.attribute == name for v in check.values}, key=_sorting)
        numbers = [v for v in named if not isinstance(v, str)]
        between = [(a + b) / 2 for a, b in pairwise(numbers)]
        values = [*named, *between, *([numbers[0] - 1, numbers[-1] + 1] if numbers else ["\0 other"]), None]
        if infos[name].role == "sensitive" and None not in infos[name].domain:
            values.remove(None)  # a sensitive value is never missing, unless its domain says so
        if is_binned(infos[name].domain) and infos[name].role == "sensitive":
            numbers = [v for v in values if not isinstance(v, str) and v is not None] or [0]
            values = [(label, number) for label in infos[name].domain for number in numbers]
        kinds: dict[tuple[bool | None, ...], Any] = {}
        for value in values:
            kinds[tuple(passes(c, value) for c in condition.checks if c.attribute == name)] = value
        every[name] = list(kinds.values())
    out = []
    for name in every:
        others = [other for other in every if other != name]
        for values in product(*(every[other] for other in others)):
            row = dict(zip(others, values, strict=True))
            if len({is_true(condition, {**row, name: value}) for value in every[name]}) > 1:
                out.append(name)
                break
    return out, {name: values[0] for name, values in every.items() if name not in out}


def _sorting(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value


# what a label stands for --------------------------------------------------------------------------------------


def cell_of(label: Any, info: ColumnInfo, cuts: list[float]) -> Cell:
    """The values that a published cell may be."""
    if label is None:
        return [(None, 1.0)]
    if info.role == "sensitive" and is_binned(info.domain):
        low, high = read_interval(label)
        return [((label, number), weight) for number, weight in _numbers(low, high, _whole_bins(info), cuts)]
    if info.role != "quasi" or info.exact:
        if info.type == "number" and isinstance(label, str):
            return [(float(label), 1.0)]
        return [(label, 1.0)]
    if info.type == "number":
        low, high = info.domain if label == ALL else read_interval(label)
        low, high = max(low, info.domain[0]), min(high, info.domain[1])
        whole = all(isinstance(end, int) for end in info.domain)
        return [*_numbers(low, high, whole, cuts), *([(None, 0.0)] if label == ALL else [])]
    if label == ALL:
        members = list(info.domain)
    elif info.hierarchy:
        members = [line[0] for line in info.hierarchy if label in line and line[0] in info.domain]
    else:
        members = read_set(label)
    return [(member, 1 / len(members)) for member in members]


def _whole_bins(info: ColumnInfo) -> bool:
    ends = [read_interval(label) for label in info.domain]
    return all(isinstance(end, int) for pair in ends for end in pair) and any(a % (b - a) for a, b in ends)


def _numbers(low: float, high: float, whole: bool, cuts: list[float]) -> Cell:
    if low == high:
        return [(low, 1.0)]
    if whole:
        return [(number, 1 / (high - low + 1)) for number in range(low, high + 1)]
    inside = sorted({low, high, *(cut for cut in cuts if low < cut < high)})
    pieces = [((a + b) / 2, (b - a) / (high - low)) for a, b in pairwise(inside)]
    return [*pieces, *((point, 0.0) for point in inside)]


# rows and the values of their groups --------------------------------------------------------------------------


class Row(NamedTuple):
    own: dict[str, Cell]
    groups: tuple[Any, ...]


class Share(NamedTuple):
    """What a group says of some attributes: combinations of cells, `times` or by weight; anything where `unknown`."""

    values: list[tuple[dict[str, Cell], float]]
    handed_out: bool
    unknown: bool = False


def worlds(row: Row, condition: Condition, given: dict[str, Cell]) -> Iterator[tuple[bool, float]]:
    """Every way in which the cells of a row can be, with its weight."""
    cells = {**row.own, **given}
    for values in product(*cells.values()):
        weight = 1.0
        for _, part in values:
            weight *= part
        yield is_true(condition, dict(zip(cells, (value for value, _ in values), strict=True))), weight


def chance(row: Row, condition: Condition, given: dict[str, Cell]) -> tuple[float, bool, bool]:
    """(how likely, certain, possible)"""
    seen = list(worlds(row, condition, given))
    return sum(w for true, w in seen if true), all(true for true, _ in seen), any(true for true, _ in seen)


def handed_out(rows: list[Row], condition: Condition, share: Share) -> Counted:
    """A group whose values are handed out to its rows at random, one to each."""
    values = [cells for cells, times in share.values for _ in range(int(times))]
    n = len(rows)
    assert n == len(values)
    pairs = [[chance(row, condition, cells) for cells in values] for row in rows]
    p = [[pair[0] for pair in line] for line in pairs]
    mean = sum(map(sum, p)) / n
    both = sum(
        p[i][a] * p[j][b] for i in range(n) for j in range(n) if i != j for a in range(n) for b in range(n) if a != b
    )
    variance = mean + (both / n / (n - 1) if n > 1 else 0.0) - mean**2
    if n > 5:
        return Counted(mean, variance, 0, n)
    ways = list(permutations(range(n)))
    sums = [sum(p[i][a] for i, a in enumerate(way)) for way in ways]
    assert abs(mean - sum(sums) / len(ways)) < 1e-9
    within = sum(p[i][a] * (1 - p[i][a]) for way in ways for i, a in enumerate(way)) / len(ways)
    assert abs(variance - within - sum((s - mean) ** 2 for s in sums) / len(ways)) < 1e-9
    least = min(sum(pairs[i][a][1] for i, a in enumerate(way)) for way in ways)
    most = max(sum(pairs[i][a][2] for i, a in enumerate(way)) for way in ways)
    return Counted(mean, variance, least, most)


def on_their_own(
    rows: list[Row], condition: Condition, shares: list[dict[Any, Share]], group_columns: list[int]
) -> Counted:
    """Rows one by one, each with a value of each of some blocks; `group_columns` says by which of its groups."""
    expected, variance, least, most = 0.0, 0.0, 0, 0
    for row in rows:
        row_shares = [share[row.groups[k]] for share, k in zip(shares, group_columns, strict=True)]
        p, certain, possible = 0.0, True, False
        for combination in product(*(share.values for share in row_shares)):
            weight, given = 1.0, {}
            for share, (cells, times) in zip(row_shares, combination, strict=True):
                weight *= times / sum(t for _, t in share.values)
                given |= cells
            if weight > 0:
                one = chance(row, condition, given)
                p, certain, possible = p + weight * one[0], certain and one[1], possible or one[2]
        unknown = any(share.unknown for share in row_shares)
        expected, variance = expected + p, variance + p * (1 - p)
        least, most = least + (certain and not unknown), most + (possible or unknown)
    return Counted(expected, variance, least, most)


def counted(release: Release, condition: Condition) -> Counted:
    """How many rows pass, by the literal reading of the release's kind."""
    return _Reader(release, condition).counted()


class _Reader:
    def __init__(self, release: Release, condition: Condition) -> None:
        self.release, self.condition = release, condition
        self.infos = attributes_of(release)
        self.asked, self.whatever = relevant(condition, self.infos)
        self.cuts = {
            name: [
                v
                for check in condition.checks
                if check.attribute == name
                for v in check.values
                if not isinstance(v, str)
            ]
            for name in self.asked
        }

    def counted(self) -> Counted:
        rows, shares, group_columns = getattr(self, self.release.kind)()
        if len(shares) == 1:
            parts = []
            for group, share in shares[0].items():
                members = [row for row in rows if row.groups[group_columns[0]] == group]
                if share.handed_out:
                    parts.append(handed_out(members, self.condition, share))
                else:
                    parts.append(on_their_own(members, self.condition, shares, group_columns))
            return Counted(*(sum(part[i] for part in parts) for i in range(4)))
        return on_their_own(rows, self.condition, shares, group_columns)

    def cell(self, name: str, label: Any) -> Cell:
        return cell_of(label, self.infos[name], self.cuts[name])

    def rows(self, table: pl.DataFrame, own: list[str], groups: list[str]) -> list[Row]:
        asked = [name for name in self.asked if name in own]
        return [
            Row(
                {
                    **{name: [(value, 1.0)] for name, value in self.whatever.items()},
                    **{name: self.cell(name, row[name]) for name in asked},
                },
                tuple(row[group] for group in groups),
            )
            for row in table.iter_rows(named=True)
        ]

    def shares(self, table: pl.DataFrame, names: list[str], count: str | None) -> dict[Any, Share]:
        out: dict[Any, Share] = {}
        for row in table.iter_rows(named=True):
            cells = {name: self.cell(name, row[name]) for name in names if name in self.asked}
            out.setdefault(row["group"], Share([], True)).values.append((cells, row[count] if count else 1))
        return out

    def blocks(self, name: str) -> list[dict[Any, Share]]:
        """The blocks of one table of groups, values and counts that are asked about."""
        table, info = self.release.tables[name], self.release.info(name)
        if info.named("attribute"):
            attributes = [a for a in self.asked if a in table["attribute"].to_list()]
            return [
                self.shares(table.filter(pl.col("attribute") == a).rename({"value": a}), [a], "count")
                for a in attributes
            ]
        names = info.names("sensitive")
        return [self.shares(table, names, "count")] if set(names) & set(self.asked) else []

    def generalized(self) -> tuple[list[Row], list[dict[Any, Share]], list[int]]:
        table, info = self.release.tables["microdata"], self.release.info("microdata")
        sensitive = [] if self.release.manifest.parameters.linked else info.names("sensitive")
        own = [column.name for column in info.columns if column.name not in sensitive]
        shares = [self.shares(table, [name], None) for name in sensitive if name in self.asked]
        return self.rows(table, own, ["group"]), shares, [0] * len(shares)

    def bucketized(self) -> tuple[list[Row], list[dict[Any, Share]], list[int]]:
        table = self.release.tables["quasi"]
        shares = self.blocks("sensitive")
        return self.rows(table, table.columns, ["group"]), shares, [0] * len(shares)

    def sliced(self) -> tuple[list[Row], list[dict[Any, Share]], list[int]]:
        table = self.release.tables["quasi"]
        slices = [name for name in self.release.tables if name.startswith("slice_")]
        shares, group_columns = [], []
        for i, name in enumerate(slices):
            for block in self.blocks(name):
                pooled = [value for share in block.values() for value in share.values]
                shares.append(
                    {**block, **({None: Share(pooled, False, True)} if table[f"group_{i + 1}"].null_count() else {})}
                )
                group_columns.append(i)
        return self.rows(table, table.columns, [f"group_{i + 1}" for i in range(len(slices))]), shares, group_columns

    def decomposed(self) -> tuple[list[Row], list[dict[Any, Share]], list[int]]:
        table, tables = self.release.tables["quasi"], self.release.tables
        rows = self.rows(table, table.columns, ["group"])
        names = [name for name in self.infos if name in self.asked and name not in table.columns]
        if whole := self.whole_table(names):
            return [row._replace(groups=("all",)) for row in rows], [{"all": whole}], [0]
        sizes = {group: table.filter(pl.col("group") == group).height for group in table["group"].unique()}
        primary = self.release.manifest.parameters.primary
        values = tables["values"]
        shares: list[dict[Any, Share]] = []
        joint = "sensitive" in tables
        for shown in [names] if joint and len(names) > 1 else [[name] for name in names]:
            part = [*shown, primary] if joint and len(shown) == 1 and shown != [primary] else shown
            block: dict[Any, Share] = {}
            for group, size in sizes.items():
                sets = [
                    values.filter((pl.col("group") == group) & (pl.col("attribute") == name))["value"].to_list()
                    for name in part
                ]
                once = primary in part and len(sets[part.index(primary)]) == size
                if part == [primary] and once:
                    block[group] = Share([({primary: self.cell(primary, v)}, 1) for v in sets[0]], True)
                    continue
                weights = {way: self.weight(part, way) for way in product(*sets)}
                for bundle in sets[part.index(primary)] if once else [None]:
                    here = {w for w in weights if not once or w[part.index(primary)] == bundle}
                    total = sum(weights[way] for way in here)
                    for way in here:
                        alone = 1.0
                        for name, value in zip(part, way, strict=True):
                            alone *= self.weight([name], (value,)) if self.is_weighed(name) else 1.0
                        weights[way] = weights[way] / total if total else alone
                cells = [
                    ({name: self.cell(name, v) for name, v in zip(part, way, strict=True) if name in shown}, weight)
                    for way, weight in weights.items()
                    if weight > 0
                ]
                block[group] = Share(cells, False)
            shares.append(block)
        return rows, shares, [0] * len(shares)

    def whole_table(self, names: list[str]) -> Share | None:
        """The counts of all rows, where they tell of everything that is asked."""
        tables = self.release.tables
        if not names or set(names) != set(self.asked):
            return None
        counts = tables.get("sensitive")
        if counts is None and len(names) == 1 and f"sensitive_{names[0]}" in tables:
            counts = tables[f"sensitive_{names[0]}"].rename({"value": names[0]})
        if counts is None:
            return None
        return Share(
            [({n: self.cell(n, row[n]) for n in names}, row["count"]) for row in counts.iter_rows(named=True)], True
        )

    def is_weighed(self, name: str) -> bool:
        return "sensitive" in self.release.tables or f"sensitive_{name}" in self.release.tables

    def weight(self, names: list[str], values: tuple[str, ...]) -> float:
        """How often the sensitive table has these values; 1 where there is none."""
        tables = self.release.tables
        table = tables.get("sensitive")
        if table is None and f"sensitive_{names[0]}" in tables:
            table = tables[f"sensitive_{names[0]}"].rename({"value": names[0]})
        if table is None:
            return 1.0
        return float(
            sum(
                row["count"]
                for row in table.iter_rows(named=True)
                if all(str(row[name]) == str(value) for name, value in zip(names, values, strict=True))
            )
        )
