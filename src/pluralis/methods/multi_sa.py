"""Multi-SA publishing: one table, in whose groups every protected attribute is diverse given all the others.

Paper      Versatile Publishing, section 1.3 and appendix B, Algorithm 3: the baseline.
Words      vector = the protected values of a row, all of them. Rows of one vector are alike to the integer program, so
           it has a variable for each vector, how many of its rows a group takes, and not a bit for each row.
Departs    the paper's program takes as many rows as it can, which makes one huge group (`variant: paper`). Here it
           takes as few as it can, of the fullest vectors, which loses less. A group is repeated until half of some
           vector is used up. Rows that fit no group join one that lacks their value, if there is one attribute only, or
           are left out, where the paper suppresses their protected values.

Theorem: let a group hold x(v, r) rows with value v of an attribute and r of the others. l x(v, r) <= x(·, r) for all v
and r: so whoever knows the quasi attributes of a person and all of its other protected values gives no value more than
1/l.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from pluralis.eligibility import refuse_k, require_allowance, require_eligible, require_sensitive
from pluralis.errors import Infeasible
from pluralis.kernels.exchange import Alike, exchanged
from pluralis.kernels.order import stable_order
from pluralis.kernels.vectors import kinds_of
from pluralis.methods.base import Method
from pluralis.plan import LEFT_OUT, Plan
from pluralis.policy import Policy
from pluralis.progress import stage
from pluralis.randomness import Draw
from pluralis.table import Table

Ints = npt.NDArray[np.int64]
FULLER = 1e-4  # how much it counts that a vector is full, beside one row more or less
SECONDS = 10.0  # for one group


class MultiSa(Method):
    """Solve an integer program for a group, deal it out, and again."""

    name: ClassVar[str] = "multi-sa"
    title: ClassVar[str] = "groups in which each sensitive attribute is diverse, whatever is known of the others"
    paper: ClassVar[str] = "Jin, Zhang, Zhang, Das, Versatile Publishing, Algorithm 3"
    kind: ClassVar[str] = "bucketized"
    guarantee: ClassVar[str] = (
        "In every group, among rows that agree in all other sensitive attributes, each value fills at most 1/l."
    )
    breaks: ClassVar[tuple[str, ...]] = (
        "correlation: how quasi and sensitive values go together can be learnt from all groups and used on one",
    )

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
        ls = np.array([policy.l(column.name) for column in columns])
        alike = _by_vector(vector_of, len(values))
        group_of = self._dealt(alike, values, ls)
        if len(columns) == 1:
            _join(group_of, vector_of)
        if table.person is not None:
            group_of = exchanged(table.person[order], alike, group_of)
        plan = replace(self._plan_of(table, policy, order, group_of), linked=True)  # known values tell too little
        if not plan.groups:
            names = ", ".join(column.name for column in columns)
            raise Infeasible(
                f"No group of rows is diverse in each of {names} whatever is known of the others. Lower l, or use "
                "method: gd or uad, which publish several tables."
            )
        require_allowance(plan.left_out, table.rows, policy.publish.suppress, "lower l, or use method: gd or uad")
        return plan

    def _dealt(self, alike: Alike, values: npt.NDArray[np.int32], ls: Ints) -> Ints:
        """The group of every row, in drawn order, or LEFT_OUT."""
        left = np.diff(alike.starts)
        next_of = alike.starts[:-1].copy()
        group_of = np.full(alike.rows.size, LEFT_OUT, np.int64)
        groups = 0
        with stage("solving for groups") as done:
            while left.any():
                group = largest_group(values, left, ls) if self.variant == "paper" else smallest_group(values, left, ls)
                if group is None:  # no group takes a row of the fullest vector, now or later
                    left[left.argmax() if self.variant != "paper" else slice(None)] = 0
                    continue
                used = np.flatnonzero(group)
                times = max(1, int((left[used] // (2 * group[used])).min()))
                for vector in used:
                    rows = alike.rows[next_of[vector] : next_of[vector] + times * group[vector]]
                    group_of[rows] = groups + np.repeat(np.arange(times), group[vector])
                next_of += times * group
                left -= times * group
                groups += times
                done(1 - float(left.sum() / group_of.size))
        return group_of


def _join(group_of: Ints, value_of: Ints) -> None:
    """Rows that are left over join groups that lack their value, if there is but one attribute; each group once.

    With several attributes no group is good with one row more, which would have nobody beside it that differs in one.
    """
    left = np.flatnonzero(group_of == LEFT_OUT)
    groups = int(group_of.max(initial=LEFT_OUT)) + 1
    full = np.zeros(groups, np.bool_)
    for value in np.unique(value_of[left]):
        rows = left[value_of[left] == value]
        holds = full.copy()
        mine = group_of[value_of == value]
        holds[mine[mine != LEFT_OUT]] = True
        free = np.flatnonzero(~holds)[: rows.size]
        group_of[rows[: free.size]] = free
        full[free] = True


def smallest_group(values: npt.NDArray[np.int32], left: Ints, ls: Ints) -> Ints | None:
    """How many rows of each vector the smallest group takes that takes one of the fullest; None if there is none.

    `values` has a line for each vector, of which so many rows are `left`. That the fullest is taken makes the program
    easy: without it, a fraction of every vector makes a group as well.
    """
    there = np.flatnonzero(left)
    low = np.zeros(there.size)
    low[left[there].argmax()] = 1
    return _solved(values, left, ls, low, 1 - FULLER * left[there] / left[there].max())


def largest_group(values: npt.NDArray[np.int32], left: Ints, ls: Ints) -> Ints | None:
    """The same for the group that takes most rows."""
    there = np.flatnonzero(left)
    return _solved(values, left, ls, np.zeros(there.size), -np.ones(there.size))


def _solved(
    values: npt.NDArray[np.int32], left: Ints, ls: Ints, low: npt.NDArray[np.float64], cost: npt.NDArray[np.float64]
) -> Ints | None:
    there = np.flatnonzero(left)
    found = milp(
        cost,
        constraints=[_diverse(values[there], i, int(l)) for i, l in enumerate(ls)],
        integrality=np.ones(there.size),
        bounds=Bounds(low, left[there]),
        options={"time_limit": SECONDS, "mip_rel_gap": 0.01},
    )
    if found.x is None:
        return None
    group = np.zeros(left.size, np.int64)
    group[there] = np.round(found.x).astype(np.int64)
    return group if group.any() else None


def _diverse(values: npt.NDArray[np.int32], i: int, l: int) -> LinearConstraint:
    """l x(v, r) - x(·, r) <= 0 for every value v of attribute i and all r of the others: a line for each vector."""
    rest = np.delete(values, i, axis=1)
    _, rest_of = np.unique(rest, axis=0, return_inverse=True) if rest.shape[1] else (None, np.zeros(len(values), int))
    order = stable_order(rest_of, int(rest_of.max()) + 1)
    starts = np.flatnonzero(np.diff(rest_of[order], prepend=-1))
    sizes = np.diff(starts, append=order.size)
    lines = np.repeat(order, np.repeat(sizes, sizes))
    others = np.concatenate([np.tile(order[s : s + n], n) for s, n in zip(starts, sizes, strict=True)])
    weights = np.where(lines == others, l - 1.0, -1.0)
    matrix = coo_array((weights, (lines, others)), shape=(len(values), len(values))).tocsr()
    return LinearConstraint(matrix, -np.inf, 0)


def _by_vector(vector_of: Ints, vectors: int) -> Alike:
    starts = np.concatenate([[0], np.cumsum(np.bincount(vector_of, minlength=vectors))]).astype(np.int64)
    return Alike(stable_order(vector_of, vectors), vector_of, starts, np.arange(vectors), np.arange(vectors + 1))


METHOD = MultiSa
