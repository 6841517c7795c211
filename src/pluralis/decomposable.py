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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pluralis.junction import Edge, junction
from pluralis.kernels.classes import refined
from pluralis.kernels.likelihood import cross_entropy, entropy
from pluralis.kernels.order import stable_order
from pluralis.schema import Subtable

Codes = npt.NDArray[np.int32]
KEPT = 64  # sets of columns whose classes are kept


class Groups(NamedTuple):
    """The groups in which a protected column is published: of every row, and the values that each holds."""

    of_row: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    values: npt.NDArray[np.int64]
    shares: npt.NDArray[np.float64]

    @classmethod
    def of(cls, of_row: npt.NDArray[np.int64], codes: Codes, size: int) -> Groups:
        groups = int(of_row.max(initial=-1)) + 1
        pairs, counts = np.unique(of_row * size + codes, return_counts=True)
        group = pairs // size
        starts = np.searchsorted(group, np.arange(groups + 1))
        total = np.bincount(of_row, minlength=groups)
        return cls(of_row, starts, pairs % size, counts / total[group])


def hanging(tables: Sequence[Subtable]) -> list[Edge] | None:
    """The junction tree of what subtables say, the groups of those that protect being columns of their own.

    Only edges that share columns that can be seen are given; their ends number subtables.
    """
    said, whose = [], []
    hidden = max((table.shows.bit_length() for table in tables), default=0)
    for i, table in enumerate(tables):
        group = 1 << (hidden + i) if table.protects and table.open else 0
        said += [table.open | group, table.protects | group] if group else [table.shows]
        whose += [i, i] if group else [i]
    edges = junction(said)
    if edges is None:
        return None
    return [Edge(whose[e.left], whose[e.right], e.shared) for e in edges if not e.shared >> hidden]


@dataclass
class Likelihood:
    """KL divergence of subtables of one table, whose columns have a bit each; `groups` are those of protected bits."""

    columns: Sequence[tuple[Codes, int]]
    groups: Mapping[int, Groups]
    _classes: dict[int, tuple[Codes, int]] = field(default_factory=dict)
    _terms: dict[Subtable, float] = field(default_factory=dict)
    _keys: list[int] = field(default_factory=list)

    def kl(self, tables: Sequence[Subtable]) -> float | None:
        """KL divergence in nats; None where there is no closed form."""
        edges = hanging(tables)
        if edges is None:
            return None
        said = sum(self.term(table) for table in tables)
        return said - sum(self.term(Subtable(edge.shared)) for edge in edges) - self.term(Subtable(self._whole))

    def term(self, table: Subtable) -> float:
        """-Σ p log of what one subtable says."""
        if self._tells_apart(table.open):  # then it does not matter by what
            table = Subtable(self._whole, table.protects)
        if table not in self._terms:
            classes, count = self.classes(table.open or table.shows)
            if not (table.protects and table.open):
                self._terms[table] = entropy(classes, count)
            else:
                codes, size = self._joint(table.protects)
                order = stable_order(classes, count)
                self._terms[table] = cross_entropy(classes, order, codes, *self.groups[table.protects], np.zeros(size))
        return self._terms[table]

    @property
    def _whole(self) -> int:
        return (1 << len(self.columns)) - 1

    def _tells_apart(self, bits: int) -> bool:
        """Whether it is known that no two rows agree in some columns."""
        return any(key & ~bits == 0 for key in self._keys)

    def _joint(self, bits: int) -> tuple[Codes, int]:
        return self.columns[bits.bit_length() - 1]

    def classes(self, bits: int) -> tuple[Codes, int]:
        """Rows that agree in some columns, numbered."""
        found = self._classes.pop(bits, None) or self._refined(bits)
        self._classes[bits] = found
        while len(self._classes) > KEPT:  # what was not asked for longest
            del self._classes[next(iter(self._classes))]
        return found

    def _refined(self, bits: int) -> tuple[Codes, int]:
        single = [1 << i for i in range(bits.bit_length()) if bits >> i & 1]
        if len(single) == 1:
            return self.columns[bits.bit_length() - 1]
        last = next((bit for bit in single if bits ^ bit in self._classes), single[-1])
        classes, count = self.classes(bits ^ last)
        if count == classes.size:  # no two rows agree
            return classes, count
        codes, size = self.columns[last.bit_length() - 1]
        finer: tuple[Codes, int] = refined(classes, count, codes, size)
        if finer[1] == classes.size:
            self._keys.append(bits)
        return finer
