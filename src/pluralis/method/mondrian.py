"""Mondrian: the table is cut in two again and again, at the median of its widest attribute.

Paper      LeFevre, DeWitt, Ramakrishnan: Mondrian Multidimensional K-Anonymity. ICDE 2006. Section 3 (strict and
           relaxed partitionings), section 4 (the greedy algorithm). Its test is k rows; the tests on sensitive
           values are those of Machanavajjhala et al., l-Diversity, ICDE 2006, used as BSGI's authors use them.
Words      cut = two sides of a group, below and above the median of an attribute; it is allowed if both sides pass the
           test; strict = a cut stands between two values; relaxed = rows on the median may go to either side.
Departs    the width of an attribute is its loss (NCP, weighted), so that numbers, codes and trees compare; codes are
           cut in domain order and trees between the children of the lowest common ancestor. Where the cut nearest the
           median is not allowed, the one on the other side of the median value is tried, then the next attribute
           (the paper's chooser tries one cut an attribute). Where no attribute can be cut at its median, the hardened
           variant tries other cuts between two values, those nearest the middle first, again from the widest attribute
           on, up to TRIES of each; `variant: paper` stops there. An attribute in which all rows are equal is not cut:
           it would win nothing. Rows on the median are dealt evenly, in table order. A missing number comes before
           all others. Where a person has several rows, a side must be large and diverse enough to be split once
           more for each of them (`grouping.separate_persons`).

Every group passes the policy's test (k, and each sensitive attribute's model and l), because the whole table does and a
cut that would break it is not made. Where nobody has two rows, every group of the hardened variant lies within one of
the paper's: both cut at medians while they can, and the other cuts only divide what would have stayed whole. So no row
loses more.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from pluralis.grouping.eligibility import require_allowance
from pluralis.grouping.plan import SUPPRESSED, Plan
from pluralis.grouping.points import space_of
from pluralis.grouping.requirements import (
    FOR_PEOPLE,
    models_of,
    require_bounds,
    require_unique,
    rows_that_can_pass,
    splitting,
)
from pluralis.grouping.separate_persons import kept_apart
from pluralis.kernels.models import Models, Room, room_for
from pluralis.kernels.mondrian import DEPTH, DONE, TOP, Cuts, Mode, partition
from pluralis.kernels.space import FLAT, Space
from pluralis.method.base import Method
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.randomness import Draw
from pluralis.table.encoding import Table

Rows = npt.NDArray[np.int64]
STEPS = 50


class Mondrian(Method):
    """Cut until no cut is allowed; then keep the rows of one person apart."""

    name: ClassVar[str] = "mondrian"
    title: ClassVar[str] = "the table cut at medians as long as both sides pass the test"
    paper: ClassVar[str] = "LeFevre, DeWitt, Ramakrishnan, ICDE 2006"
    kind: ClassVar[str] = "generalized"
    draws: ClassVar[bool] = False
    bounds: ClassVar[tuple[str, ...]] = ("at_most", "gain", "t")
    guarantee: ClassVar[str] = (
        "Every group has k rows and is l-diverse in every sensitive attribute, by the model the policy names."
    )
    breaks: ClassVar[tuple[str, ...]] = (
        "minimality: a group was not cut further because its halves would fail, which tells about the values in them",
        "tight intervals: the ends of a published interval are values of members of the group",
        "homogeneity under distinct: with model distinct (or k alone) one value may fill most of a group; "
        "frequency bounds it",
    )

    mode: Literal["strict", "relaxed"] = Field(
        default="strict",
        description="strict: a cut stands between two values; relaxed: rows on the median go to either side",
    )

    def plan(self, table: Table, policy: Policy, draw: Draw) -> Plan:
        kept = rows_that_can_pass(table, policy, draw, self.name)
        models = models_of(table, policy, kept)
        space = space_of(table.quasi, kept)
        room = room_for(models)
        group_of = self._cut(space, splitting(models), room)
        group_of = kept_apart(space, splitting(models), group_of)
        suppressed = table.rows - int((group_of != SUPPRESSED).sum())
        require_allowance(suppressed, table.rows, policy, FOR_PEOPLE)
        require_unique(group_of, models, room, self.name)
        plan = self._generalized(table, policy, kept, group_of)
        require_bounds(table, policy, plan.group_of)
        return plan

    def _cut(self, space: Space, models: Models, room: Room) -> Rows:
        rows, attributes = space.points.shape
        codes = int(space.points[:, space.kinds == FLAT].max(initial=-1)) + 1
        cuts = Cuts(
            order=np.arange(rows),
            group_of=np.empty(rows, np.int64),
            stack=np.zeros((DEPTH, 2), np.int64),
            counters=np.array([1, 0, 0]),
            keys=np.empty(rows),
            places=np.empty(rows, np.int64),
            stamps=np.zeros((attributes, codes + 1), np.int64),
        )
        cuts.stack[0] = 0, rows
        mode = Mode(relaxed=self.mode == "relaxed", elsewhere=self.variant == "hardened")
        with stage("cutting the table") as done:
            while cuts.counters[TOP]:
                until = cuts.counters[DONE] + rows // STEPS + 1
                partition(space, models, room, cuts, mode, until)
                done(cuts.counters[DONE] / rows)
        return cuts.group_of


METHOD = Mondrian
