"""What is lost if subtables are all that is known: KL divergence of the likeliest table, in closed form.

A subtable that shows columns as they are says p(A). One that protects S says p(W, g) and p(g, S), with g its groups.
All of these are exact shares of the original. If together they have a junction tree, the likeliest table is their
product over what they share, and each g appears in its own two factors only, so that it can be summed out:

    p~(x) = Π p(A) · Π Σ_g p(W, g) p(S | g)  /  Π p(shared columns)

and KL = Σ p log(p / p~) is a sum with one term for each subtable and one for each set of shared columns. To add a
column to a subtable changes its term and those of what it shares, nothing else: GD's greedy search (Versatile
Publishing, Algorithm 1, step 5) is a few passes over the rows for each column that it tries.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pluralis.grouping.junction_trees import Edge, junction
from pluralis.grouping.subtable_schema import Subtable
from pluralis.kernels.classes import refined
from pluralis.kernels.likelihood import log_likelihood, own_shares
from pluralis.kernels.order import stable_order

Codes = npt.NDArray[np.int32]
KEPT = 64  # sets of columns whose classes are kept


class Groups(NamedTuple):
    """The groups in which a protected column is published: of every row, and the values that each holds."""

    of_row: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    values: npt.NDArray[np.int64]
    shares: npt.NDArray[np.float64]

    @classmethod
    def from_rows(cls, of_row: npt.NDArray[np.int64], codes: Codes, size: int) -> Groups:
        groups = int(of_row.max(initial=-1)) + 1
        pairs, counts = np.unique(of_row * size + codes, return_counts=True)
        group = pairs // size
        starts = np.searchsorted(group, np.arange(groups + 1))
        total = np.bincount(of_row, minlength=groups)
        return cls(of_row, starts, pairs % size, counts / total[group])


class Alike(NamedTuple):
    """Rows that agree in some columns with another row, and the number of their class. All others are alone.

    A row that is alone stays so when more columns must agree. So few rows are left to look at after a few columns.
    """

    rows: Codes
    of_row: Codes
    classes: int

    @classmethod
    def among(cls, rows: Codes, of_row: Codes, classes: int) -> Alike:
        sizes = np.bincount(of_row, minlength=classes)
        several = sizes > 1
        if several.all():
            return cls(rows, of_row, classes)
        kept = several[of_row]
        number = np.cumsum(several, dtype=np.int32) - 1
        return cls(rows[kept], number[of_row[kept]], int(several.sum()))


def entropy(sizes: npt.NDArray[np.int64], rows: int | None = None) -> float:
    """-Σ p log p, in nats, of classes of these sizes; if they are not all of so many rows, others are alone.

    >>> round(entropy(np.array([2, 2])), 4), round(entropy(np.array([2]), 4), 4)
    (0.6931, 1.0397)
    """
    rows = int(sizes.sum()) if rows is None else rows
    shared = sizes[sizes > 1]
    return math.log(rows) - float((shared * np.log(shared)).sum()) / rows


def hanging(tables: Sequence[Subtable]) -> list[Edge] | None:
    """The junction tree of what subtables say, the groups of those that protect being columns of their own.

    Only edges that share columns that can be seen are given; their ends number subtables.
    """
    shown, owner = [], []
    hidden = max((table.shows.bit_length() for table in tables), default=0)
    for i, table in enumerate(tables):
        group = 1 << (hidden + i) if table.protects and table.open else 0
        shown += [table.open | group, table.protects | group] if group else [table.shows]
        owner += [i, i] if group else [i]
    edges = junction(shown)
    if edges is None:
        return None
    return [Edge(owner[e.left], owner[e.right], e.shared) for e in edges if not e.shared >> hidden]


@dataclass
class Likelihood:
    """KL divergence of subtables of one table, whose columns have a bit each; `groups` are those of protected bits."""

    columns: Sequence[tuple[Codes, int]]
    groups: Mapping[int, Groups]
    _alike: dict[int, Alike] = field(default_factory=dict)
    _terms: dict[Subtable, float] = field(default_factory=dict)
    _alone: dict[int, npt.NDArray[np.float64]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return self.columns[0][0].size

    def kl(self, tables: Sequence[Subtable]) -> float | None:
        """KL divergence in nats; None where there is no closed form."""
        edges = hanging(tables)
        if edges is None:
            return None
        terms = sum(self.term(table) for table in tables)
        whole = Subtable((1 << len(self.columns)) - 1)
        return terms - sum(self.term(Subtable(edge.shared)) for edge in edges) - self.term(whole)

    def term(self, table: Subtable) -> float:
        """-Σ p log of what one subtable says."""
        if table not in self._terms:
            protects = table.protects if table.open else 0
            self._terms[table] = self._protected(table) if protects else self._entropy(table.shows)
        return self._terms[table]

    def _entropy(self, bits: int) -> float:
        alike = self.alike(bits)
        return entropy(np.bincount(alike.of_row, minlength=alike.classes), self.rows)

    def _protected(self, table: Subtable) -> float:
        """The same for a subtable that hands out what it protects within groups."""
        codes, size = self.columns[table.protects.bit_length() - 1]
        groups, alike = self.groups[table.protects], self.alike(table.open)
        if table.protects not in self._alone:
            self._alone[table.protects] = own_shares(codes, *groups)
        alone: npt.NDArray[np.float64] = self._alone[table.protects]
        order = alike.rows[stable_order(alike.of_row, alike.classes)]
        starts = np.concatenate([[0], np.cumsum(np.bincount(alike.of_row, minlength=alike.classes))])
        together = log_likelihood(order, starts, codes, *groups, np.zeros(size))
        total = float(alone.sum()) - float(alone[alike.rows].sum()) + together
        return math.log(self.rows) - float(total) / self.rows

    def alike(self, bits: int) -> Alike:
        """The rows that agree in some columns."""
        rows = self._alike.pop(bits, None) or self._rows_alike(bits)
        self._alike[bits] = rows
        while len(self._alike) > KEPT:  # what was not asked for longest
            del self._alike[next(iter(self._alike))]
        return rows

    def _rows_alike(self, bits: int) -> Alike:
        single = [1 << i for i in range(bits.bit_length()) if bits >> i & 1]
        last = next((bit for bit in single if bits ^ bit in self._alike), single[-1])
        codes, size = self.columns[last.bit_length() - 1]
        if len(single) == 1:
            return Alike.among(np.arange(self.rows, dtype=np.int32), codes, size)
        rows, of_row, classes = self.alike(bits ^ last)
        return Alike.among(rows, *refined(of_row, classes, codes[rows], size))
