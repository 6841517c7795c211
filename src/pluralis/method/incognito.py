"""Incognito: every column published at one level of its hierarchy, as low as the test allows.

Paper      LeFevre, DeWitt, Ramakrishnan: Incognito: Efficient Full-Domain K-Anonymity. SIGMOD 2005. Section 3: the
           algorithm and its three properties (generalization, roll-up, subset). The tests on sensitive values are
           those of Machanavajjhala et al., l-Diversity, ICDE 2006.
Words      node = a level for each attribute of a subset; class = rows that are equal once generalized to a node; a
           node satisfies the test if every class does; minimal = no lower node satisfies it.
Departs    after the single attributes the table is compressed to cells (combinations at the lowest levels that are
           left, with the histograms of their sensitive values), once more for every subset; the paper keeps
           frequency sets of rows. Among the minimal nodes the one of least loss (NCP, weighted) is published; the
           paper names them all.

Every subset of attributes is searched from below, small subsets first. A node is tried only if its projections on all
subsets one smaller satisfy the test, and not if a lower node does: k, all models of diversity but unique-distinct, caps
of values and closeness are kept when classes are merged, so both prunings are exact.

With `suppress` above 0, classes that fail are suppressed while the allowance lasts; none is where values are bounded,
for in a class that fails one is likelier than it may be, and absence would tell. Then diversity is no longer kept
under merging: a failing class can spoil the one it is merged with. The prunings then only guide the search: what is
published is tested on its own, class by class, but a lower node may have been passed over, so minimal is a word of the
search. The same is so for people with several rows and for unique-distinct, which are tested node by node at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import prod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from pluralis.errors import Infeasible
from pluralis.grouping.eligibility import allowance, require_allowance
from pluralis.grouping.plan import SUPPRESSED, Level, Plan
from pluralis.grouping.requirements import (
    FOR_PEOPLE,
    SHARES_CHANGED,
    failing_groups,
    models_of,
    rows_that_can_pass,
    splitting,
    still_within_bounds,
)
from pluralis.grouping.separate_persons import separate_persons
from pluralis.kernels.incognito import (
    CellsByClass,
    Demand,
    Histograms,
    classes_of,
    extend_keys,
    judge,
    merged,
    numbered_keys,
)
from pluralis.kernels.models import UNIQUE, Models, Room, room_for
from pluralis.kernels.persons import absorb
from pluralis.kernels.place import chains
from pluralis.method.base import Method
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.randomness import Draw
from pluralis.table.encoding import Column, Table
from pluralis.table.hierarchies import Hierarchy, automatic_hierarchy
from pluralis.table.labels import ALL, MISSING

Rows = npt.NDArray[np.int64]
Subset = tuple[int, ...]
Node = tuple[int, ...]
Satisfied = npt.NDArray[np.bool_]  # one axis for each attribute of a subset, one place for each level

LARGEST_LATTICE = 10**8
LARGEST_KEY = 2**62
FEWEST_TRIES, ROWS_TRIED = 50, 10_000_000


@dataclass(frozen=True)
class Ladder:
    """The levels of one attribute: `node_of[h][leaf]` is the ancestor at level h."""

    column: Column
    hierarchy: Hierarchy
    leaf_of: npt.NDArray[np.int32]
    node_of: npt.NDArray[np.int32]
    _lifts: dict[tuple[int, int], npt.NDArray[np.int32]] = field(default_factory=dict)

    @classmethod
    def from_column(cls, column: Column) -> Ladder:
        tree, leaf_of = column.hierarchy, column.leaf_of
        if tree is None or leaf_of is None:
            tree, leaf_of = _own_hierarchy(column)
        return cls(column, tree, leaf_of, np.ascontiguousarray(tree.nodes().T))

    @property
    def levels(self) -> int:
        return self.hierarchy.depth

    @cached_property
    def widths(self) -> list[int]:
        """How many nodes each level has."""
        return [int(nodes.max()) + 1 for nodes in self.node_of]

    def lift(self, low: int, high: int) -> npt.NDArray[np.int32]:
        """The node at level `high` above each node of level `low`."""
        if (low, high) not in self._lifts:
            self._lifts[low, high] = np.empty(self.widths[low], np.int32)
            self._lifts[low, high][self.node_of[low]] = self.node_of[high]
        return self._lifts[low, high]

    def share(self, level: int) -> npt.NDArray[np.float64]:
        """The part of the domain that each node of a level covers."""
        out = np.empty(self.widths[level])
        out[self.node_of[level]] = self.hierarchy.share[:, level]
        return out


@dataclass(frozen=True)
class LevelCells:
    """Rows that are equal in some attributes, each at one level: their nodes, how many, and their sensitive values."""

    subset: Subset
    levels: Node
    nodes: dict[int, npt.NDArray[np.int32]]
    sizes: Rows
    histograms: list[Histograms]


class Incognito(Method):
    """Search the lattice of levels, subset by subset; publish the minimal node of least loss."""

    name: ClassVar[str] = "incognito"
    title: ClassVar[str] = (
        "each column at one level of its hierarchy, the least loss among the lowest that pass the test"
    )
    paper: ClassVar[str] = "LeFevre, DeWitt, Ramakrishnan, SIGMOD 2005"
    kind: ClassVar[str] = "generalized"
    draws: ClassVar[bool] = False
    bounds: ClassVar[tuple[str, ...]] = ("at_most", "gain", "t")
    guarantee: ClassVar[str] = (
        "Every group has k rows and is l-diverse in every sensitive attribute, by the model the policy names."
    )
    breaks: ClassVar[tuple[str, ...]] = (
        "minimality: lower levels were not published because some class would fail, which tells about the values in it",
        "downcoding: minimal generalization can be inverted in part by someone who knows the hierarchies and "
        "the method",
        "homogeneity under distinct: with model distinct (or k alone) one value may fill most of a group; "
        "frequency bounds it",
    )

    def plan(self, table: Table, policy: Policy, draw: Draw) -> Plan:
        kept = rows_that_can_pass(table, policy, draw, self.name)
        models = models_of(table, policy, kept)
        spare = allowance(policy.publish.suppress, table.rows) - (table.rows - kept.size)
        if any(policy.columns[column.name].bounds for column in table.sensitive):
            spare = 0  # a class that fails is one in which a bounded value is likelier than it may be
        lattice = Lattice([Ladder.from_column(column) for column in table.quasi], kept, models, spare, policy.k or 1)
        satisfied = lattice.search()
        group_of, node = self._first_that_works(lattice, satisfied, table, policy)
        levels = {
            ladder.column.name: Level(ladder.hierarchy, ladder.leaf_of, level)
            for ladder, level in zip(lattice.ladders, node, strict=True)
        }
        return self._generalized(table, policy, kept, group_of, levels)

    def _first_that_works(
        self, lattice: Lattice, satisfied: Satisfied, table: Table, policy: Policy
    ) -> tuple[Rows, Node]:
        """The groups of the best node; with people or unique-distinct, of the best one for which they can be kept."""
        fewest, unlike = table.rows + 1, False
        with stage("choosing among levels") as done:
            nodes = lattice.by_loss(satisfied)
            for tried, node in enumerate(nodes):
                done(tried / len(nodes))
                group_of = lattice.groups(node)
                surplus = int((group_of == SUPPRESSED).sum())
                if surplus <= lattice.allowance:
                    if still_within_bounds(table, policy, lattice.rows, group_of):
                        return group_of, node
                    unlike = True
                fewest = min(fewest, surplus)
        if UNIQUE in lattice.models.model:
            raise Infeasible(
                f"{self.name} cannot aim at unique-distinct diversity: no levels give classes of exactly l "
                "different values. "
                "Use method: bsgi, or model: distinct or frequency."
            )
        if unlike:
            raise Infeasible(SHARES_CHANGED)
        suppressed = table.rows - lattice.rows.size + fewest
        require_allowance(suppressed, table.rows, policy, FOR_PEOPLE)
        raise AssertionError("a node whose surplus is within the allowance was not taken")


class Lattice:
    """All combinations of levels, and which of them satisfy the test."""

    def __init__(self, ladders: list[Ladder], rows: Rows, models: Models, allowance: int, k: int) -> None:
        self.ladders, self.rows, self.models, self.allowance, self.k = ladders, rows, models, allowance, k
        size = prod(ladder.levels + 1 for ladder in ladders)
        if size > LARGEST_LATTICE:
            raise Infeasible(
                f"incognito would search {size:.1g} combinations of levels. Declare hierarchies with fewer "
                "levels, make fewer "
                "attributes quasi, or use method: mondrian."
            )
        self.room: Room = room_for(models)
        test = splitting(models)
        self.demands = [
            Demand(i, *each)
            for i, each in enumerate(zip(test.model.tolist(), test.ls.tolist(), test.c.tolist(), strict=True))
        ]
        leaves = {j: ladder.leaf_of[ladder.column.codes[rows]] for j, ladder in enumerate(ladders)}
        ones, single = np.ones(rows.size, np.int64), np.arange(rows.size + 1)
        histograms = [Histograms(single, codes, ones) for codes in models.sensitive]
        self.table = LevelCells(tuple(leaves), (0,) * len(ladders), leaves, ones, histograms)
        self.cells = self.table
        self.losses: dict[Node, float] = {}

    def search(self) -> Satisfied:
        """Which nodes over all attributes satisfy the test, from smaller subsets to larger ones."""
        everything = tuple(range(len(self.ladders)))
        subsets = [subset for size in range(1, len(everything) + 1) for subset in combinations(everything, size)]
        nodes = sum(prod(self.ladders[j].levels for j in subset) for subset in subsets)
        satisfied: dict[Subset, Satisfied] = {}
        visited = 0
        with stage("searching the lattice") as done:
            for subset in subsets:
                if len(subset) == 2 and self.cells is self.table:
                    lowest = tuple(int(satisfied[(j,)].argmax()) for j in everything)
                    self.cells = self._compressed(self.table, everything, lowest)
                satisfied[subset] = self._search(subset, self._candidates(subset, satisfied))
                visited += satisfied[subset].size
                done(visited / nodes)
        return satisfied[everything]

    def _candidates(self, subset: Subset, satisfied: dict[Subset, Satisfied]) -> Satisfied:
        """The nodes whose projections on every subset one smaller satisfy the test."""
        out = np.ones([self.ladders[j].levels for j in subset], np.bool_)
        if len(subset) > 1:
            for axis in range(len(subset)):
                out &= np.expand_dims(satisfied[subset[:axis] + subset[axis + 1 :]], axis)
        return out

    def _search(self, subset: Subset, candidates: Satisfied) -> Satisfied:
        """The candidates that satisfy the test, lowest first; all above one that does are taken with it."""
        nodes = np.argwhere(candidates)
        base = self._compressed(self.cells, subset, tuple(nodes.min(axis=0).tolist()))
        widest = sorted(range(len(subset)), key=lambda i: -self.ladders[subset[i]].widths[base.levels[i]])[:2]
        raised: dict[Node, LevelCells] = {}  # by the levels of the two widest attributes, the others as in `base`
        failed: dict[
            int, dict[Node, LevelCells]
        ] = {}  # by height; a node's classes are made from those of one below it
        satisfied = np.zeros_like(candidates)
        for i in np.argsort(nodes.sum(axis=1), kind="stable"):
            node = tuple(nodes[i].tolist())
            if satisfied[node]:
                continue
            low = tuple(node[i] if i in widest else level for i, level in enumerate(base.levels))
            if low not in raised:
                raised[low] = self._compressed(base, subset, low)
            below = failed.get(sum(node) - 1, {})
            sources = [raised[low], *(below[lower] for lower in _directly_below(node) if lower in below)]
            cells = min(sources, key=lambda cells: cells.sizes.size)
            classes, bad, lost = self._test(cells, node)
            if lost <= self.allowance:
                satisfied[tuple(slice(level, None) for level in node)] = True
                if len(subset) == len(self.ladders):
                    self.losses[node] = self._loss(cells, node, classes, bad)
            else:
                failed.setdefault(sum(node), {})[node] = self._compressed(cells, subset, node)
                failed.pop(sum(node) - 2, None)
        return satisfied & candidates

    def _classes(self, cells: LevelCells, subset: Subset, node: Node) -> tuple[Rows, int]:
        """The class of each cell once it is generalized to a node, and how many classes there are."""
        keys, size = np.zeros(cells.sizes.size, np.int64), 1
        for j, level in zip(subset, node, strict=True):
            width = self.ladders[j].widths[level]
            if size * width > LARGEST_KEY:
                keys, size = numbered_keys(keys)
            extend_keys(keys, width, self._lift(cells, j, level), cells.nodes[j])
            size *= width
        class_of, count = numbered_keys(keys)
        return class_of, int(count)

    def _lift(self, cells: LevelCells, j: int, level: int) -> npt.NDArray[np.int32]:
        return self.ladders[j].lift(cells.levels[cells.subset.index(j)], level)

    def _compressed(self, cells: LevelCells, subset: Subset, node: Node) -> LevelCells:
        """The classes of a node as cells; the cells as they are where that would hardly make them fewer."""
        class_of, count = self._classes(cells, subset, node)
        if 4 * count > 3 * cells.sizes.size and subset == cells.subset:
            return cells
        classes = classes_of(class_of, count, cells.sizes)
        first = classes.cells[classes.starts[:-1]]
        return LevelCells(
            subset=subset,
            levels=node,
            nodes={
                j: self._lift(cells, j, level)[cells.nodes[j][first]] for j, level in zip(subset, node, strict=True)
            },
            sizes=classes.sizes,
            histograms=[merged(classes, histograms, self.room) for histograms in cells.histograms],
        )

    def _test(self, cells: LevelCells, node: Node) -> tuple[CellsByClass, Satisfied, int]:
        """The classes of a node, which of them fail, and their rows; cut short where it exceeds the allowance."""
        classes: CellsByClass = classes_of(*self._classes(cells, cells.subset, node), cells.sizes)
        bad = classes.sizes < self.k
        lost = int(classes.sizes[bad].sum())
        for demand, histograms in zip(self.demands, cells.histograms, strict=True):
            if lost > self.allowance:
                break
            lost = int(judge(classes, histograms, demand, self.models.bounds, self.room, bad, self.allowance))
        return classes, bad, lost

    def _loss(self, cells: LevelCells, node: Node, classes: CellsByClass, bad: Satisfied) -> float:
        """The weighted mean share of a row; a suppressed row loses everything."""
        first = classes.cells[classes.starts[:-1]]
        losses = np.zeros(classes.sizes.size)
        for j, level in enumerate(node):
            ladder = self.ladders[j]
            losses += ladder.column.weight * ladder.share(level)[self._lift(cells, j, level)[cells.nodes[j][first]]]
        losses /= sum(ladder.column.weight for ladder in self.ladders)
        return float((np.where(bad, 1.0, losses) * classes.sizes).sum() / self.rows.size)

    def by_loss(self, satisfied: Satisfied) -> list[Node]:
        """The minimal node of least loss; then other minimal ones and some above them, up to the top, by loss.

        >>> ladder = Ladder.from_column(Column("x", "quasi", "text", np.array([0, 1], np.int32), ("a", "b")))
        >>> models = Models(np.zeros((0, 2), np.int32), *(np.zeros(0),) * 3, 2, np.empty(0, np.int32))
        >>> lattice = Lattice([ladder], np.arange(2), models, allowance=0, k=2)
        >>> lattice.by_loss(lattice.search())
        [(1,)]
        """
        minimal = satisfied.copy()
        for axis in range(satisfied.ndim):
            lower = np.roll(satisfied, 1, axis)
            lower[(slice(None),) * axis + (0,)] = False
            minimal &= ~lower
        nodes = [tuple(node) for node in np.argwhere(minimal).tolist()]
        by_loss = sorted((round(self.losses[node], 12), node) for node in nodes)
        # the first of them passes, unless people or unique-distinct refuse it
        tries = max(FEWEST_TRIES, ROWS_TRIED // self.rows.size)
        others = np.argwhere(satisfied & ~minimal)
        losses = np.zeros(len(others))
        for j, ladder in enumerate(self.ladders):
            losses += ladder.column.weight * ladder.hierarchy.share[self.table.nodes[j]].mean(axis=0)[others[:, j]]
        losses /= sum(ladder.column.weight for ladder in self.ladders)
        order = np.argsort(losses, kind="stable")
        chosen = order[np.unique(np.linspace(0, order.size - 1, min(tries, order.size)).astype(int))]
        wider = [(float(losses[i]), tuple(others[i].tolist())) for i in chosen]
        return [by_loss[0][1], *(node for _, node in sorted(by_loss[1:tries] + wider))]

    def groups(self, node: Node) -> Rows:
        """The group of every row at a node; SUPPRESSED for rows of failing classes and for people's surplus rows."""
        test = splitting(self.models)
        class_of, _ = self._classes(self.table, self.table.subset, node)
        _, bad, _ = self._test(self.table, node)
        group_of = np.where(bad[class_of], SUPPRESSED, class_of)
        if self.models.person.size:
            kept = group_of
            group_of = separate_persons(group_of, test, self.room).group_of.copy()
            class_of_group = np.full(int(group_of.max(initial=-1)) + 1, -1, np.int64)
            class_of_group[group_of[group_of >= 0]] = kept[group_of >= 0]
            absorb(test, self.room, chains(group_of, class_of_group.size), class_of_group, kept, group_of)
        if UNIQUE in self.models.model:
            failing = failing_groups(group_of, self.models, self.room)
            group_of = np.where(np.isin(group_of, failing), SUPPRESSED, group_of)
        return group_of


def _directly_below(node: Node) -> Iterator[Node]:
    """The nodes one level lower in one attribute."""
    return ((*node[:j], level - 1, *node[j + 1 :]) for j, level in enumerate(node))


def _own_hierarchy(column: Column) -> tuple[Hierarchy, npt.NDArray[np.int32]]:
    """Where the policy names no hierarchy: intervals for numbers, value and `*` for the rest."""
    if not column.values:
        return Hierarchy(((MISSING,), (ALL,)), np.array([[0.0, 1.0]])), np.zeros(1, np.int32)
    places = range(len(column.values))  # of ordered values, whose labels are made of those that are published
    tree = automatic_hierarchy(places if column.is_ordered else column.values, column.has_order, column.name)
    place = {leaf: i for i, leaf in enumerate(tree.leaves)}
    leaf_of = (
        list(range(len(column.values)))
        if column.has_order
        else [place[column.text(i)] for i in range(len(column.values))]
    )
    if column.has_missing:
        leaf_of.append(len(tree.leaves))
        tree = tree.with_missing()
    return tree, np.array(leaf_of, np.int32)


METHOD = Incognito
