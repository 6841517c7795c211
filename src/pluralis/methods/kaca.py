"""KACA: classes of equal rows are merged with their nearest until every class passes the test.

Paper      Li, Wong, Fu, Pei: Achieving k-Anonymity by Clustering in Attribute Hierarchical Structures. DaWaK 2006. As
           SLOMS (Han et al. 2013) uses it: definitions 6-11, algorithm 1, lines 7-13.
Words      class = rows that are published under the same labels; distance of two classes = what all their rows lose, by
           weighted hierarchical distance, if both are published under what covers them (equation 7).
Departs    "randomly choose a class": the failing class that is first in the drawn order, a class being named by its
           first row; so it grows until it passes. Equally near classes: the first in that order. Numbers without a
           hierarchy are measured in intervals that grow, but published as tight as each class allows. The test may be
           any that the policy states: k, and each sensitive attribute's model and l. Attribute weights count. Where a
           person has several rows, a class must be large and diverse enough to be split for them (persons.py).

Theorem: every group passes the policy's test. A class that fails is merged on; the last one would be the whole table,
and that passes, or the policy is refused.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from pluralis.apart import kept_apart
from pluralis.demands import FOR_PEOPLE, models_of, require_unique, rows_that_can_pass, splitting
from pluralis.eligibility import require_allowance
from pluralis.kernels.kaca import Climb, classes_of, growing_for, merge_classes, numbers, plant, survey
from pluralis.kernels.models import Models, room_for
from pluralis.kernels.order import stable_order
from pluralis.kernels.vectors import kinds_of
from pluralis.methods.base import Method
from pluralis.plan import Plan, numbered
from pluralis.policy import Policy
from pluralis.progress import stage
from pluralis.randomness import Draw
from pluralis.space import space_of
from pluralis.table import Column, Table
from pluralis.whd import climbing, ladder_of

Rows = npt.NDArray[np.int64]
UNIT = 2.0**32  # costs are whole numbers of this fineness, so that equal distances are equal
STEPS = 100


class Kaca(Method):
    """Merge classes until all pass; then keep the rows of one person apart."""

    name: ClassVar[str] = "kaca"
    title: ClassVar[str] = "classes of equal rows merged with their nearest until all pass the test"
    paper: ClassVar[str] = "Li, Wong, Fu, Pei, DaWaK 2006"
    kind: ClassVar[str] = "generalized"
    guarantee: ClassVar[str] = (
        "Every group has k rows and is l-diverse in every sensitive attribute, by the model the policy names."
    )
    breaks: ClassVar[tuple[str, ...]] = (
        "downcoding: a class is published under the lowest labels that cover it, so its members spread over all",
        "tight intervals: the ends of a published interval are values of members of the group",
        "homogeneity under distinct: with model distinct (or k alone) one value may fill most of a group; "
        "frequency bounds it",
    )

    def plan(self, table: Table, policy: Policy, draw: Draw) -> Plan:
        kept = rows_that_can_pass(table, policy, draw, self.name)
        order = kept[draw.permutation(kept.size, "rows")]
        models = models_of(table, policy, order)
        group_of = merged_apart(table, order, splitting(models))
        require_unique(group_of, models, room_for(models), self.name)
        plan = self._plan_of(table, policy, order, group_of)
        require_allowance(plan.left_out, table.rows, policy.publish.suppress, FOR_PEOPLE)
        return plan


def classes_of_k(table: Table, rows: Rows, k: int) -> Rows:
    """Classes of k rows or more; LEFT_OUT for rows that no class can take, for their person has too many."""
    person = table.person[rows] if table.person is not None else np.empty(0, np.int32)
    nothing = np.zeros(0, np.int64)
    models = Models(np.zeros((0, rows.size), np.int32), nothing.astype(np.int8), nothing, np.zeros(0), k, person)
    return merged_apart(table, rows, models)


def merged_apart(table: Table, rows: Rows, models: Models) -> Rows:
    """Classes that pass the test, none with a person twice; LEFT_OUT for rows that find no place."""
    group_of = merged(table.quasi, rows, models)
    if table.person is None:
        return group_of
    return kept_apart(space_of(table.quasi, rows), models, numbered(group_of))


def merged(columns: list[Column], order: Rows, models: Models) -> Rows:
    """The class of each of the rows `order`, which the models know under numbers from 0."""
    climb, point_of = climb_of(columns, order)
    tree, renumbered = plant(climb)
    climb = climb._replace(points=climb.points[renumbered], drawn=climb.drawn[renumbered])
    point_of = _inverse(renumbered)[point_of]
    points = renumbered.size
    size = np.bincount(point_of, minlength=points)
    classes = classes_of(climb.points, size)
    survey(climb, classes, tree)
    growing = growing_for(models)
    rows, starts = stable_order(point_of, points), np.concatenate([[0], np.cumsum(size)])
    with stage("merging classes") as done:
        for turn in np.array_split(_inverse(climb.drawn), min(points, STEPS)):
            merge_classes(climb, models, classes, tree, growing, rows, starts, turn)
            done(int(climb.drawn[turn[-1]]) / points)
    found: Rows = numbers(classes)[point_of]
    return found


def climb_of(columns: list[Column], order: Rows) -> tuple[Climb, Rows]:
    """The points of rows with the trees over their attributes, and the point of each row."""
    ladders = [ladder_of(column) for column in columns]
    depth = max(ladder.depth for ladder in ladders)
    leaves = [ladder.leaf_of[column.codes[order]] for ladder, column in zip(ladders, columns, strict=True)]
    point_of, points = kinds_of(leaves, [ladder.nodes.shape[0] for ladder in ladders])
    first = np.full(points.shape[0], order.size)
    np.minimum.at(first, point_of, np.arange(order.size))
    begins = np.zeros(order.size, np.bool_)
    begins[first] = True
    heaviest = max(column.weight for column in columns)
    costs = [climbing(ladder.depth) * column.weight / heaviest for ladder, column in zip(ladders, columns, strict=True)]
    climb = Climb(
        points=points,
        drawn=(np.cumsum(begins) - 1)[first],
        lineage=np.vstack([np.pad(ladder.nodes, ((0, 0), (0, depth - ladder.depth)), "edge") for ladder in ladders]),
        first=np.concatenate([[0], np.cumsum([ladder.nodes.shape[0] for ladder in ladders])[:-1]]),
        cost=np.stack([np.pad(np.rint(cost * UNIT), (0, depth - cost.size), "edge") for cost in costs]).astype(
            np.int64
        ),
    )
    return climb, point_of


def _inverse(order: Rows) -> Rows:
    """The place of each number in an order."""
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return place


METHOD = Kaca
