"""Functional dependencies that a table shows: whoever knows x knows s.

Words      x -> s holds where all rows of equal x have equal s. It is a *coincidence* where that would happen by chance
           once in a million or more: if the rows of each value of x drew their s from all values, as common as they
           are. So a column of nearly unique values decides nothing. Where several attributes decide s together and none
           of them can be spared, each must matter: rows draw s from those that agree in all the others.
Paper      Jin, Zhang, Zhang, Das: Versatile Publishing for Privacy Preservation, Theorem 3.2, says what follows.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.kernels.classes import refined
from pluralis.kernels.dependencies import agrees, could_be_chance
from pluralis.policy.policy import Policy
from pluralis.policy.rules import Dependency, Rule, closure
from pluralis.table.dictionaries import different_values
from pluralis.table.encoding import Table

Codes = npt.NDArray[np.int32]
CHANCE = 1e-6
_SAMPLE = 20_000  # rows that pairs are tried on first


class CodedColumn(NamedTuple):
    """A column as codes below `size`, each of which some row has."""

    name: str
    codes: Codes
    size: int

    @classmethod
    def from_series(cls, series: pl.Series) -> CodedColumn:
        """Equal values get equal codes; a missing value is one more.

        >>> column = CodedColumn.from_series(pl.Series("zip", ["10", None, "10"]))
        >>> bool(column.codes[0] == column.codes[2] != column.codes[1]), column.size
        (True, 2)
        """
        values, places = different_values(series)
        return cls(series.name, places.astype(np.int32), values.len())


class RowClasses(NamedTuple):
    """A class for every row, below `number`."""

    class_of: Codes
    number: int


class Hole(NamedTuple):
    """A rule that nothing can keep: what it says is known, or a part of it, decides what it protects."""

    rule: Rule
    because: Dependency


def dependencies_in(table: Table) -> list[Dependency]:
    """Every x -> s between two published attributes that holds in this table and is no coincidence.

    All of them: one that follows from two others is listed too.
    """
    return list(singles(_coded(table)))


def assumed(table: Table, policy: Policy) -> list[Dependency]:
    """What an adversary may know beside what the policy declares: what the table shows, without its coincidences."""
    spared = {*policy.dependencies, *policy.coincidences}
    return [dependency for dependency in dependencies_in(table) if dependency not in spared]


def decided_by(
    table: Table, known: Iterable[str], attribute: str, coincidences: Iterable[Dependency] = ()
) -> Dependency | None:
    """What it takes of `known` to decide an attribute, or None where that is impossible or a coincidence.

    One attribute if one is enough. Else they are dropped one by one, those of most values first, as long as the rest
    still decides. What the policy calls a coincidence is none of it.
    """
    columns = {column.name: column for column in _coded(table)}
    target = columns[attribute]
    spared = [set(c.knows) for c in coincidences if c.decides == attribute]
    used = [columns[name] for name in set(known) if {name} not in spared]
    rest = sorted(used, key=lambda column: (-column.size, column.name))
    if not rest or target.size < 2 or not _holds(_classes(rest), target):
        return None
    alone = (column for column in rest if _holds(_classes([column]), target) and _matters([column], target))
    if (one := next(alone, None)) is not None:
        rest = [one]
    for column in list(rest):
        without = [other for other in rest if other is not column]
        if without and _holds(_classes(without), target):
            rest = without
    names = {column.name for column in rest}
    if any(names <= some for some in spared) or not _matters(rest, target):
        return None
    return Dependency(knows=tuple(sorted(names)), decides=attribute)


def open_holes(
    rules: Iterable[Rule],
    table: Table,
    coincidences: Sequence[Dependency] = (),
    dependencies: Sequence[Dependency] = (),
) -> list[Hole]:
    """The rules whose left side decides their right side, each with what decides it.

    It does so in this table, unless that is a coincidence, or by known dependencies, one after the other.
    """
    holes = []
    for rule in rules:
        because = decided_by(table, rule.knows, rule.protects, coincidences)
        if because is None and rule.protects in closure(rule.knows, dependencies):
            because = Dependency(knows=rule.knows, decides=rule.protects)
        if because is not None:
            holes.append(Hole(rule, because))
    return holes


def contradicted(dependency: Dependency, table: Table) -> bool:
    """Whether two rows agree in what is known and not in what that should decide."""
    columns = {column.name: column for column in _coded(table)}
    return not _holds(_classes([columns[name] for name in dependency.knows]), columns[dependency.decides])


# columns by themselves ------------------------------------------------------------------------------------------


def singles(columns: Sequence[CodedColumn], decided: Collection[str] | None = None) -> Iterator[Dependency]:
    """Every x -> s between two columns, but for coincidences; s are those of `decided`, or all."""
    for x in columns:
        for s in columns:
            if x is not s and (decided is None or s.name in decided) and _holds(_classes([x]), s) and _matters([x], s):
                yield Dependency(knows=(x.name,), decides=s.name)


def pairs(columns: Sequence[CodedColumn]) -> Iterator[Dependency]:
    """Every a, b -> s where neither a nor b alone decides s, but for coincidences."""
    rows = columns[0].codes.size if columns else 0
    some = slice(0, rows, max(1, rows // _SAMPLE))
    sample = [column._replace(codes=np.ascontiguousarray(column.codes[some])) for column in columns]
    alone = {(x.name, s.name) for x in columns for s in columns if _holds(_classes([x]), s)}
    for a, b in combinations(range(len(columns)), 2):
        known = {columns[a].name, columns[b].name}
        open_ = [
            s for s, column in enumerate(columns) if column.size > 1 and column.name not in known
            and not any((name, column.name) in alone for name in known)
        ]  # fmt: skip
        if rows > 2 * _SAMPLE and open_:
            few = _classes([sample[a], sample[b]])
            open_ = [s for s in open_ if _holds(few, sample[s])]
        if open_:
            classes = _classes([columns[a], columns[b]])
            for s in open_:
                if _holds(classes, columns[s]) and _matters([columns[a], columns[b]], columns[s]):
                    yield Dependency(knows=tuple(sorted(known)), decides=columns[s].name)


def _coded(table: Table) -> list[CodedColumn]:
    return [CodedColumn(column.name, column.codes, column.size) for column in table.columns.values()]


def _classes(columns: Sequence[CodedColumn]) -> RowClasses:
    """Rows that agree in all of these columns."""
    first, *others = columns
    classes = RowClasses(first.codes, first.size)
    for column in others:
        if classes.number == classes.class_of.size:  # every row is alone already
            break
        classes = RowClasses(*refined(classes.class_of, classes.number, column.codes, column.size))
    return classes


def _holds(classes: RowClasses, target: CodedColumn) -> bool:
    """Whether rows of one class have one value; more values than classes cannot be decided."""
    return target.size <= classes.number and bool(
        agrees(classes.class_of, target.codes, np.full(classes.number, -1, np.int32))
    )


def _matters(known: Sequence[CodedColumn], target: CodedColumn) -> bool:
    """Whether each of the known attributes decides more than chance would, among rows that agree in the others."""
    if target.size < 2:
        return False
    fine = _classes(known)
    sizes = np.bincount(fine.class_of, minlength=fine.number)
    for column in known:
        others = [other for other in known if other is not column]
        coarse = _classes(others) if others else RowClasses(np.zeros(fine.class_of.size, np.int32), 1)
        parents = np.zeros(fine.number, np.int64)
        parents[fine.class_of] = coarse.class_of
        cells = RowClasses(*refined(coarse.class_of, coarse.number, target.codes, target.size))
        parent_of = np.zeros(cells.number, np.int64)
        parent_of[cells.class_of] = coarse.class_of
        order = np.argsort(parent_of, kind="stable")
        rows = np.bincount(coarse.class_of, minlength=coarse.number)
        shares = np.bincount(cells.class_of, minlength=cells.number)[order] / rows[parent_of[order]]
        starts = np.searchsorted(parent_of[order], np.arange(coarse.number + 1))
        if could_be_chance(sizes, parents, starts, np.log(shares), math.log(CHANCE)):
            return False
    return True
