"""Multi-SA publishing: one table, in whose groups every protected attribute is diverse given all the others.

Paper      Versatile Publishing, section 1.3 and appendix B, Algorithm 3: the baseline.
Words      vector = the protected values of a row, all of them. Rows of one vector are alike to the integer program, so
           it has a variable for each vector, how many of its rows a group takes, and not a bit for each row.
           line = vectors that agree in all attributes but one. grid = l values of each attribute, in all combinations.
Departs    the paper's program takes as many rows as it can, which makes one huge group (`variant: paper`). Here it
           takes as few as it can, of the fullest vectors, which loses less: grids, and programs only for what grids
           leave, while they are small. A group is repeated until half of some vector is used up. Rows that fit no group
           join one that lacks their value, if there is one attribute only, or are suppressed, where the paper
           suppresses their protected values. Limits count vectors, programs and their nodes, never seconds: the same
           key gives the same groups.

Theorem: let a group hold x(v, r) rows with value v of an attribute and r of the others. l x(v, r) <= x(·, r) for all v
and r: so whoever knows the quasi-identifiers of a person and all of its other protected values gives no value more than
1/l.

Lemma: no group is smaller than a grid. Every line of a group that holds a row holds l vectors; so l slices of the last
attribute hold rows, each a group in the attributes before it, which by induction holds a grid's rows of those.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from pluralis.errors import Infeasible
from pluralis.grouping.eligibility import refuse_k, require_allowance, require_eligible, require_sensitive
from pluralis.grouping.plan import SUPPRESSED, BucketizedPlan, Plan
from pluralis.kernels.exchange import Alike, exchanged
from pluralis.kernels.order import stable_order
from pluralis.kernels.vectors import kinds_of
from pluralis.method.base import CORRELATION, Method, in_table
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.randomness import Draw
from pluralis.table.encoding import Table

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Values = npt.NDArray[np.int32]
FULLER = 1e-4  # how much it counts that a vector is full, beside one row more or less
VECTORS = 20_000  # more are refused
PROGRAM = 400  # vectors of a program for a smallest group; what is left of more is suppressed
PROGRAMS = 100  # that are solved
NODES = 100  # of one program
ELSE = "Lower l, protect fewer attributes, or take gd or uad, which publish several tables."


class MultiSa(Method):
    """Find a grid, or solve an integer program, for a group, deal it out, and again."""

    name: ClassVar[str] = "multi-sa"
    title: ClassVar[str] = "groups in which each sensitive attribute is diverse, whatever is known of the others"
    paper: ClassVar[str] = "Jin, Zhang, Zhang, Das, Versatile Publishing, Algorithm 3"
    baseline: ClassVar[bool] = True
    kind: ClassVar[str] = "bucketized"
    guarantee: ClassVar[str] = (
        "In every group, among rows that agree in all other sensitive attributes, each value fills at most 1/l."
    )
    breaks: ClassVar[tuple[str, ...]] = (CORRELATION,)

    def plan(self, table: Table, policy: Policy, draw: Draw) -> Plan:
        require_sensitive(table, self.name)
        refuse_k(policy, self.name)
        for column in table.sensitive:
            if policy.columns[column.name].model not in ("frequency", "distinct", "entropy"):
                raise Infeasible(f"{column.name!r}: {self.name} keeps model: frequency, distinct or entropy. Use one.")
        require_eligible(table, policy, draw)
        columns = table.sensitive
        order = draw.permutation(table.rows, "rows")
        vector_of, values = kinds_of([column.codes[order] for column in columns], [column.size for column in columns])
        alike = _by_vector(vector_of, len(values))
        ls = np.array([policy.l(column.name) for column in columns])
        group_of = self._dealt(alike, Stock(values, np.diff(alike.starts), ls))
        if len(columns) == 1:
            _join(group_of, vector_of)
        if table.person is not None:
            group_of = exchanged(table.person[order], alike, group_of)
        plan = BucketizedPlan(in_table(table.rows, order, group_of))  # linked: known values tell too little
        if not plan.groups:
            names = ", ".join(column.name for column in columns)
            raise Infeasible(
                f"No group of rows is diverse in each of {names} whatever is known of the others. Lower l, or use "
                "method: gd or uad, which publish several tables."
            )
        require_allowance(plan.suppressed, table.rows, policy, "lower l, or use method: gd or uad")
        return plan

    def _dealt(self, alike: Alike, stock: Stock) -> Ints:
        """The group of every row, in drawn order, or SUPPRESSED."""
        next_of = alike.starts[:-1].copy()
        group_of = np.full(alike.rows.size, SUPPRESSED, np.int64)
        groups = 0
        with stage("forming groups") as done:
            for group in stock.largest_groups() if self.variant == "paper" else stock.smallest_groups():
                used = np.flatnonzero(group)
                times = max(1, int((stock.left[used] // (2 * group[used])).min()))
                for vector in used:
                    rows = alike.rows[next_of[vector] : next_of[vector] + times * group[vector]]
                    group_of[rows] = groups + np.repeat(np.arange(times), group[vector])
                next_of += times * group
                stock.left -= times * group
                groups += times
                done(1 - float(stock.left.sum() / group_of.size))
        return group_of


def _join(group_of: Ints, value_of: Ints) -> None:
    """Rows that are left over join groups that lack their value, if there is but one attribute; each group once.

    With several attributes no group is good with one row more, which would have nobody beside it that differs in one.
    """
    left = np.flatnonzero(group_of == SUPPRESSED)
    groups = int(group_of.max(initial=SUPPRESSED)) + 1
    full = np.zeros(groups, np.bool_)
    for value in np.unique(value_of[left]):
        rows = left[value_of[left] == value]
        holds = full.copy()
        holders = group_of[value_of == value]
        holds[holders[holders != SUPPRESSED]] = True
        free = np.flatnonzero(~holds)[: rows.size]
        group_of[rows[: free.size]] = free
        full[free] = True


class Lines(NamedTuple):
    """Vectors that agree in all attributes but one, line after line."""

    line_of: Ints  # the line of each vector
    vectors: Ints
    starts: Ints

    @classmethod
    def along(cls, values: Values, i: int) -> Lines:
        others = np.delete(values, i, axis=1)
        line_of = (
            np.unique(others, axis=0, return_inverse=True)[1].ravel() if others.size else np.zeros(len(values), int)
        )
        count = int(line_of.max(initial=-1)) + 1
        starts = np.concatenate([[0], np.cumsum(np.bincount(line_of, minlength=count))]).astype(np.int64)
        return cls(line_of, stable_order(line_of, count), starts)

    def across(self, vectors: Ints) -> Ints:
        """All vectors of the lines that some are of."""
        lines = self.line_of[vectors]
        return np.concatenate(
            [self.vectors[a:b] for a, b in zip(self.starts[lines], self.starts[lines + 1], strict=True)]
        )


class Stock:
    """How many rows of each vector are left, and the groups that can be made of them.

    `values` has a line for each vector, `ls` says how diverse each attribute must be.
    """

    def __init__(self, values: Values, left: Ints, ls: Ints) -> None:
        if len(values) > VECTORS:
            raise Infeasible(
                f"The sensitive attributes have {len(values):,} combinations of values; multi-sa takes at most "
                f"{VECTORS:,}. {ELSE}"
            )
        self.values, self.left, self.ls = values, left.copy(), ls
        self.lines = [Lines.along(values, i) for i in range(len(ls))]
        self.programs = 0  # solved so far

    def smallest_groups(self) -> Iterator[Ints]:
        """Groups of least rows, one after the other: how many rows of each vector. Whoever asks takes them from `left`.

        Each takes a row of the fullest vector that has not failed: first in grids, then, of what is left, by programs.
        """
        for make in (self.grid, self.smallest):
            fails = np.zeros(self.left.size, np.bool_)
            while (open_ := np.where(fails, 0, self.possible())).any():
                vector = int(open_.argmax())
                group = make(vector)
                if group is None:  # and it will not be in one later, when less is left
                    fails[vector] = True
                else:
                    yield group

    def largest_groups(self) -> Iterator[Ints]:
        """The groups that take most rows of what is left, as in the paper."""
        while self.programs < PROGRAMS and self.possible().any() and (group := self.largest()) is not None:
            yield group

    def possible(self) -> Ints:
        """What is left, without vectors that no group can hold: a line of fewer than l vectors is in none."""
        while True:
            there = self.left > 0
            short = np.zeros(there.size, np.bool_)
            for line, l in zip(self.lines, self.ls, strict=True):
                short |= np.bincount(line.line_of, there)[line.line_of] < l
            if not (short & there).any():
                return self.left
            self.left[short] = 0

    def grid(self, vector: int) -> Ints | None:
        """A group of one row of each cell of a grid around a vector; None if none is found.

        Attributes are taken one after the other, each with the values that leave most rows of the fewest, in several
        orders, first those with least choice.
        """
        start = np.array([vector])
        choice = [
            np.count_nonzero(self.left[line.across(start)]) / l for line, l in zip(self.lines, self.ls, strict=True)
        ]
        order = sorted(range(len(choice)), key=choice.__getitem__)
        for turn in range(len(order)):
            cells: Ints | None = start
            for i in order[turn:] + order[:turn]:
                cells = self._extended(cells, i) if cells is not None else None
            if cells is not None:
                return np.bincount(cells, minlength=self.left.size)
        return None

    def smallest(self, vector: int) -> Ints | None:
        """The smallest group that takes a row of a vector; None if there is none, or the program is too large.

        That a certain vector is taken makes the program easy: without it, a fraction of every vector is a group too.
        """
        there = np.flatnonzero(self.left)
        if there.size > PROGRAM or self.programs == PROGRAMS:
            return None
        return self._solve((there == vector).astype(float), 1 - FULLER * self.left[there] / self.left[there].max())

    def largest(self) -> Ints | None:
        """The group that takes most rows."""
        there = np.flatnonzero(self.left)
        return self._solve(np.zeros(there.size), -np.ones(there.size))

    def _extended(self, cells: Ints, i: int) -> Ints | None:
        """These vectors, which agree in attribute i, with their like for l - 1 other values of it; None if too few."""
        near = self.lines[i].across(cells)
        near = near[self.left[near] > 0]
        near = near[np.argsort(self.values[near, i], kind="stable")]
        value, starts, counts = np.unique(self.values[near, i], return_index=True, return_counts=True)
        fewest = np.minimum.reduceat(self.left[near], starts)
        fewest[value == self.values[cells[0], i]] = np.iinfo(np.int64).max  # its own comes first
        fewest[counts < cells.size] = 0
        best = np.argsort(-fewest, kind="stable")[: self.ls[i]]
        if best.size < self.ls[i] or not fewest[best[-1]]:
            return None
        return np.concatenate([near[starts[b] : starts[b] + cells.size] for b in best])

    def _solve(self, low: Reals, cost: Reals) -> Ints | None:
        """The group of least cost that takes so many of each vector at least."""
        there = np.flatnonzero(self.left)
        self.programs += 1
        constraints, rests = self._diverse(there)
        solution = milp(
            np.concatenate([cost, np.zeros(rests)]),
            constraints=constraints,
            integrality=np.repeat([1, 0], [there.size, rests]),
            bounds=Bounds(
                np.concatenate([low, np.zeros(rests)]), np.concatenate([self.left[there], np.full(rests, np.inf)])
            ),
            options={"node_limit": NODES, "mip_rel_gap": 0.01},
        )
        if solution.x is None:
            return None
        group = np.zeros(self.left.size, np.int64)
        group[there] = np.round(solution.x[: there.size]).astype(np.int64)
        return group if group.any() and self.is_good(group) else None

    def _diverse(self, there: Ints) -> tuple[LinearConstraint, int]:
        """l x(v, r) <= y(r) and y(r) = x(·, r), for every attribute, value v of it and r of the others; how many y."""
        x, entries, low = np.arange(there.size), [], []
        row, y = 0, there.size  # the next row, the next column
        for line, l in zip(self.lines, self.ls, strict=True):
            rests, rest_of = np.unique(line.line_of[there], return_inverse=True)
            rest, sums = np.arange(rests.size), row + there.size
            entries += [
                (l, row + x, x),
                (-1, row + x, y + rest_of),
                (1, sums + rest_of, x),
                (-1, sums + rest, y + rest),
            ]
            low += [np.full(there.size, -np.inf), np.zeros(rests.size)]
            row, y = sums + rests.size, y + rests.size
        weights, rows, columns = (
            np.concatenate(part)
            for part in zip(*((np.full(r.size, float(w)), r, c) for w, r, c in entries), strict=True)
        )
        matrix = coo_array((weights, (rows, columns)), shape=(row, y)).tocsr()
        return LinearConstraint(matrix, np.concatenate(low), 0), y - there.size

    def is_good(self, group: Ints) -> bool:
        """Whether l x(v, r) <= x(·, r) throughout."""
        return all(
            (l * group <= np.bincount(line.line_of, group)[line.line_of]).all()
            for line, l in zip(self.lines, self.ls, strict=True)
        )


def _by_vector(vector_of: Ints, vectors: int) -> Alike:
    starts = np.concatenate([[0], np.cumsum(np.bincount(vector_of, minlength=vectors))]).astype(np.int64)
    return Alike(stable_order(vector_of, vectors), vector_of, starts, np.arange(vectors), np.arange(vectors + 1))


METHOD = MultiSa
