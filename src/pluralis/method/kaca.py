"""KACA: classes of equal rows are merged with their nearest until every class passes the test.

Paper      Li, Wong, Fu, Pei: Achieving k-Anonymity by Clustering in Attribute Hierarchical Structures. DaWaK 2006. As
           SLOMS (Han et al. 2013) uses it: definitions 6-11, algorithm 1, lines 7-13.
Words      class = rows that are published under the same labels; distance of two classes = what all their rows lose, by
           weighted hierarchical distance, if both are published under what covers them (equation 7).
Departs    "randomly choose a class": the failing class that is first in the drawn order, a class being named by its
           first row; so it grows until it passes. Equally near classes: the first in that order. Numbers without a
           hierarchy are measured in intervals that grow, but published as tight as each class allows. The test may be
           any that the policy states: k, and each sensitive attribute's model and l. Attribute weights count. Where a
           person has several rows, a class must be large and diverse enough to be split for them (`separate_persons`).

Theorem: every group passes the policy's test. A class that fails is merged on; the last one would be the whole table,
and that passes, or the policy is refused.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from pluralis.grouping.eligibility import require_allowance
from pluralis.grouping.hierarchical_distance import climbing, ladder_of
from pluralis.grouping.plan import Plan, numbered
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
from pluralis.kernels.kaca import Climb, Tree, classes_of, growing_for, merge_classes, numbers, plant, survey
from pluralis.kernels.models import Models, room_for
from pluralis.kernels.order import stable_order
from pluralis.kernels.points import BITS, distinct, inverse, pack, renumber, sizes, turns
from pluralis.method.base import Method
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.randomness import Draw
from pluralis.table.encoding import Column, Table

Rows = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]  # of rows, points and classes
UNIT = 2.0**32  # costs are whole numbers of this fineness, so that equal distances are equal
STEPS = 100


class Kaca(Method):
    """Merge classes until all pass; then keep the rows of one person apart."""

    name: ClassVar[str] = "kaca"
    title: ClassVar[str] = "classes of equal rows merged with their nearest until all pass the test"
    paper: ClassVar[str] = "Li, Wong, Fu, Pei, DaWaK 2006"
    kind: ClassVar[str] = "generalized"
    bounds: ClassVar[tuple[str, ...]] = ("at_most", "gain", "t")
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
        order = _drawn(rows_that_can_pass(table, policy, draw, self.name), draw)
        models = models_of(table, policy, order)
        group_of = merged_apart(table, order, splitting(models))
        require_unique(group_of, models, room_for(models), self.name)
        plan = self._generalized(table, policy, order.astype(np.int64), group_of.astype(np.int64))
        require_allowance(plan.suppressed, table.rows, policy, FOR_PEOPLE)
        require_bounds(table, policy, plan.group_of)
        return plan


def _drawn(rows: Rows, draw: Draw) -> Numbers:
    """Rows in drawn order."""
    return rows[draw.permutation(rows.size, "rows")].astype(np.int32)


def classes_of_k(table: Table, rows: Numbers, k: int) -> Numbers:
    """Classes of k rows or more; SUPPRESSED for rows that no class can take, for their person has too many."""
    person = table.person[rows] if table.person is not None else np.empty(0, np.int32)
    nothing = np.zeros(0, np.int64)
    models = Models(np.zeros((0, rows.size), np.int32), nothing.astype(np.int8), nothing, np.zeros(0), k, person)
    return merged_apart(table, rows, models)


def merged_apart(table: Table, rows: Numbers, models: Models) -> Numbers:
    """Classes that pass the test, none with a person twice; SUPPRESSED for rows that find no place."""
    group_of = merged(table.quasi, rows, models)
    if table.person is None:
        return group_of
    return kept_apart(space_of(table.quasi, rows), models, numbered(group_of)).astype(np.int32)


def merged(columns: list[Column], order: Numbers, models: Models) -> Numbers:
    """The class of each of the rows `order`, which the models know under numbers from 0."""
    climb, tree, point_of = _planted(columns, order)
    size = sizes(point_of, climb.drawn.size)
    classes = classes_of(climb, size)
    survey(climb, classes, tree)
    growing = growing_for(models)
    rows, starts = _by_point(point_of, size, models)
    with stage("merging classes") as report:
        done = 0
        for part in np.array_split(point_of, min(point_of.size, STEPS)):
            done = merge_classes(climb, models, classes, tree, growing, rows, starts, part, done)
            report(done / climb.drawn.size)
    del climb, tree, growing, rows, starts
    renumber(point_of, numbers(classes))
    return point_of


def _planted(columns: list[Column], order: Numbers) -> tuple[Climb, Tree, Numbers]:
    """The points of rows in the order of the tree over them, that tree, and the point of each row."""
    climb, point_of = climb_of(columns, order)
    tree, renumbered = plant(climb)
    renumber(point_of, inverse(renumbered))
    return climb._replace(points=climb.points[renumbered], drawn=climb.drawn[renumbered]), tree, point_of


def _by_point(point_of: Numbers, size: Numbers, models: Models) -> tuple[Numbers, Numbers]:
    """(rows by their point, where those of each point begin); nothing where a size is all that the models ask for."""
    if not (models.ls.size or models.person.size):
        return np.empty(0, np.int32), np.empty(0, np.int32)
    starts = np.zeros(size.size + 1, np.int32)
    np.cumsum(size, out=starts[1:])
    return stable_order(point_of, size.size).astype(np.int32), starts


class Ladders(NamedTuple):
    """The trees of several columns, their leaves and nodes numbered together."""

    leaf_of: list[Numbers]  # [column][code]
    leaves: list[int]
    depths: list[int]
    parent: Numbers
    upper: Numbers


def climb_of(columns: list[Column], order: Numbers) -> tuple[Climb, Numbers]:
    """The points of rows with the trees over their attributes, and the point of each row."""
    ladders = _ladders(columns)
    word, shift, bits = _packing(ladders.leaves)
    words = np.zeros((word[-1] + 1, order.size), np.int64)
    for j, column in enumerate(columns):
        pack(words[word[j]], shift[j], ladders.leaf_of[j], column.codes, order)
    point_of, points = distinct(words, np.lexsort(words))
    del words
    climb = Climb(
        points=points,
        drawn=turns(point_of, points.shape[0]),
        word=word,
        shift=shift,
        mask=(1 << bits) - 1,
        first=np.cumsum([0, *ladders.leaves[:-1]]),
        parent=ladders.parent,
        upper=ladders.upper,
        cost=_costs(columns, ladders.depths),
    )
    return climb, point_of


def _ladders(columns: list[Column]) -> Ladders:
    """The trees of columns; a long one is cut down to what a climb needs before the next is made."""
    leaf_of, parents, uppers = [], [], []
    nodes = 0
    for column in columns:
        ladder = ladder_of(column)
        begins = np.flatnonzero(np.diff(ladder.nodes[:, 1], prepend=-1))
        leaf_of.append(ladder.leaf_of)
        parents.append(ladder.nodes[:, 1] + np.int32(nodes))
        uppers.append(ladder.nodes[begins, 1:])
        nodes += begins.size
        del ladder
    levels = max(upper.shape[1] for upper in uppers)
    return Ladders(
        leaf_of=leaf_of,
        leaves=[parent.size for parent in parents],
        depths=[1 + upper.shape[1] for upper in uppers],
        parent=np.concatenate(parents),
        upper=np.vstack([np.pad(upper, ((0, 0), (0, levels - upper.shape[1])), "edge") for upper in uppers]),
    )


def _packing(leaves: list[int]) -> tuple[Rows, Rows, Rows]:
    """(word, first bit, bits) of each attribute, where a point's leaves stand side by side in as few words as fit."""
    bits = [max(1, (count - 1).bit_length()) for count in leaves]
    places, word, used = [], 0, 0
    for width in bits:
        if used + width > BITS:
            word, used = word + 1, 0
        places.append((word, used))
        used += width
    words, shifts = zip(*places, strict=True)
    return np.array(words), np.array(shifts), np.array(bits)


def _costs(columns: list[Column], depths: list[int]) -> Rows:
    """What it costs to climb from the leaves of each column to each level."""
    heaviest = max(column.weight for column in columns)
    costs = [climbing(depth) * column.weight / heaviest for column, depth in zip(columns, depths, strict=True)]
    return np.stack([np.pad(np.rint(cost * UNIT), (0, max(depths) - cost.size), "edge") for cost in costs]).astype(
        np.int64
    )


METHOD = Kaca
