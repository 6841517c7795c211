"""Counting in `multi` releases: subtables of the same people, and nobody says who of the one is who of the other.

What one subtable tells alone is counted in it, by its own rules: exactly, or with the values of a group handed out to
its rows. What several tell together is counted over every way in which their people may be the same, all equally
likely. Tables that have a junction tree (table_tree.py) are linked by one bijection for each class of shared values,
each of them free. So

expected   is exact: the sum over the people of one table of a product, over the tables that hang on it, of the share
           that is as asked in their class. It is n times what the likeliest table says (subtable_divergence.py).
variance   If B of n people of a class are as asked and n weights w are given to them at random, the sum of the B
           weights has the variance B (n - B) / (n (n - 1)) · (Σ w² - (Σ w)² / n); if B varies by itself, (Σ w / n)²
           times its variance comes on top. Table after table (law of total variance) that is exact where all tables
           hang on one; so for any three in a row. Deeper down, the numbers of different classes are taken to be
           uncorrelated. They compete for the same people: the variance was never too small in thousands of
           enumerated releases, and up to 3.4 times too large in some of them.
certain    in each class at least a + b - n, and at most the smaller of a and b. Of several tables that hang on one:
           the smallest of these, and all but those that miss one or another.

A condition that is no product over the tables is cut into products, or what it excludes is. Their counts depend on each
other; the standard deviation of the sum is at most the sum of theirs, and that is taken.

Labels that stand for several values of a shared column link people only roughly (tree_nodes.py): then everybody is as
asked by a chance of their own, and certain is what the tables say one by one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pluralis.errors import QueryError
from pluralis.estimate.conditions import Condition
from pluralis.estimate.group_counts import CodedColumns, Grouped, Sums
from pluralis.estimate.kinds import bucketized, generalized
from pluralis.estimate.label_distribution import Codes, LabelDistribution
from pluralis.estimate.message_passing import Answer, Message, beside, is_soft, passed
from pluralis.estimate.result import Estimate, interval
from pluralis.estimate.table_tree import Floats, Forest, Node, forest_for
from pluralis.estimate.tree_nodes import nodes_of
from pluralis.estimate.truth_table import Axis, Flags, TruthTable, merge_equal, truth_table_of
from pluralis.kernels.links import lines_among, lines_with
from pluralis.release.attributes import attributes_of, holds_bins
from pluralis.release.manifest import ColumnInfo
from pluralis.release.release import Release
from pluralis.release.subtables import PLAIN, ROWS, Subtable, subtables

MOST_BOXES = 100


def prepare(release: Release) -> Multi:
    return Multi(release.manifest.rows, subtables(release), attributes_of(release))


@dataclass(eq=False)
class Multi:
    """An estimator."""

    count_of_rows: int
    subtables: Sequence[Subtable]
    infos: Mapping[str, ColumnInfo]
    _alone: dict[str, Grouped] = field(default_factory=dict)
    _forests: dict[frozenset[str], Forest] = field(default_factory=dict)

    @cached_property
    def nodes(self) -> list[Node]:
        return nodes_of(self.subtables, self.infos)

    @cached_property
    def _whole(self) -> Forest | None:
        return Forest.from_nodes(self.nodes)

    def forest(self, names: frozenset[str]) -> Forest:
        """The tree to ask about some attributes."""
        if self._whole is not None and names <= self._whole.names:
            return self._whole
        for name in sorted(names - {name for node in self.nodes for name in node.names}):
            raise QueryError(f"{name!r} is published in sets of intervals only, which cannot be counted. Leave it out.")
        if names not in self._forests:
            self._forests[names] = forest_for(names, self.nodes)
        return self._forests[names]

    def missing(self, name: str) -> bool:
        """Whether a row is published without a value of this attribute."""
        columns = [node.columns[name] for node in self.nodes if name in node.columns]
        return any(bool(getattr(column, "missing", False)) for column in columns)

    def alone(self, names: frozenset[str]) -> Subtable | None:
        """The subtable that tells of some attributes by itself, as they are if there is one."""
        parts = [part for part in self.subtables if names <= self._countable[part.name]]
        order = {PLAIN: 0, "bucketized": 1, "generalized": 2}
        return min(parts, key=lambda part: (order[part.kind], len(part.attributes)), default=None)

    @cached_property
    def _countable(self) -> dict[str, frozenset[str]]:
        """What can be asked of each subtable alone: all but sets of bins, which have no numbers."""
        own = {part.name: attributes_of(part.release) for part in self.subtables}
        bins = {name for name, info in self.infos.items() if holds_bins(info)}
        return {
            part: frozenset(name for name, info in infos.items() if name not in bins or holds_bins(info))
            for part, infos in own.items()
        }

    def estimator(self, part: Subtable) -> Grouped:
        """What counts in one subtable."""
        if part.name not in self._alone:
            kinds = {"bucketized": bucketized.prepare, "generalized": generalized.prepare, PLAIN: _plain}
            self._alone[part.name] = replace(kinds[part.kind](part.release), infos=self.infos)
        return self._alone[part.name]

    def count(self, where: Condition | None, confidence: float) -> Estimate:
        """How many published rows pass a condition that was resolved."""
        asked = None if where is None else truth_table_of(where, self.infos)
        if where is None or asked is None or asked.constant is not None:
            count = self.count_of_rows if asked is None or asked.constant else 0
            return interval(count, 0.0, confidence, "exact", count, count)
        part = self.alone(frozenset(axis.attribute for axis in asked.axes))
        if part is not None:
            return self.estimator(part).count(where, confidence)
        expected, variance, least, most = self._across(asked)
        if least == most:
            return interval(least, 0.0, confidence, "exact", least, most)
        return interval(min(max(expected, least), most), variance, confidence, "independent-across-tables", least, most)

    def sums(self, where: Condition) -> Sums:
        """How many rows pass a condition: expected, its variance, and what is certain: at least, at most."""
        asked = truth_table_of(where, self.infos)
        if asked.constant is not None:
            count = self.count_of_rows if asked.constant else 0
            return count, 0.0, count, count
        part = self.alone(frozenset(axis.attribute for axis in asked.axes))
        return self.estimator(part).sums(where) if part is not None else self._across(asked)

    # several tables -----------------------------------------------------------------------------------------------

    def _across(self, asked: TruthTable) -> Sums:
        forest = self.forest(frozenset(axis.attribute for axis in asked.axes))
        teller = forest.tellers(axis.attribute for axis in asked.axes)
        nodes = list(dict.fromkeys(teller.values()))
        names = [[axis.attribute for axis in asked.axes if teller[axis.attribute] is node] for node in nodes]
        ordered = asked.ordered([name for some in names for name in some])
        axes = {axis.attribute: axis for axis in ordered.axes}
        questions = [
            Question.from_axes(node, [axes[name] for name in some]) for node, some in zip(nodes, names, strict=True)
        ]
        truth = ordered.truth.reshape([question.combinations for question in questions])
        inside, outside = boxes(truth), boxes(~truth)
        if inside is None and outside is None:
            raise QueryError(
                f"Over several tables the condition falls into more than {MOST_BOXES} products. Ask in several "
                "queries, with AND between attributes of different tables."
            )
        n = self.count_of_rows
        estimates = [] if inside is None else [self._summed(inside, forest, questions)]
        if outside is not None and (inside is None or len(inside) > 1):
            expected, variance, least, most = self._summed(outside, forest, questions)
            estimates.append((n - expected, variance, n - most, n - least))
        expected, variance, _, _ = min(estimates, key=lambda sums: sums[1])
        return expected, variance, max(sums[2] for sums in estimates), min(sums[3] for sums in estimates)

    def _summed(self, products: Sequence[Sequence[Flags]], forest: Forest, questions: Sequence[Question]) -> Sums:
        """Of disjoint products together."""
        each = [self._in_box(box, forest, questions) for box in products]
        expected, least, most = (sum(sums[i] for sums in each) for i in (0, 2, 3))
        deviation = sum(math.sqrt(max(0.0, sums[1])) for sums in each)
        return expected, deviation**2, int(least), int(min(most, self.count_of_rows))

    def _in_box(self, box: Sequence[Flags], forest: Forest, questions: Sequence[Question]) -> Sums:
        answers = {q.node: q.answered(allowed) for q, allowed in zip(questions, box, strict=True) if not allowed.all()}
        n = float(self.count_of_rows)
        whole = Message(np.array([n]), np.zeros(1), np.array([n]), np.array([n]))
        exactly = True
        for root in forest.rooted(frozenset(answers)):
            exactly = exactly and not is_soft(root)
            one = passed(root, answers)
            whole = beside(whole, one, n)
        if not exactly:
            least, most = self._one_by_one(box, questions)
            whole = whole._replace(least=np.array([least]), most=np.array([most]))
        mean, variance, least, most = (float(part[0]) for part in whole)
        return mean, variance, math.ceil(least - 1e-6), math.floor(most + 1e-6)

    def _one_by_one(self, box: Sequence[Flags], questions: Sequence[Question]) -> tuple[float, float]:
        """(least, most) people in a product, from what each table says of its part of it."""
        n = self.count_of_rows
        least, most = float(n), float(n)
        for question, allowed in zip(questions, box, strict=True):
            if not allowed.all():
                must, can = question.certain(allowed)
                least, most = least + must - n, min(most, can)
        return max(0.0, least), most


def _plain(release: Release) -> Grouped:
    rows, infos = release.tables[ROWS], attributes_of(release)
    return Grouped(
        CodedColumns.from_series({name: rows[name] for name in infos}, infos), rows.height, infos, lambda names: ()
    )


def boxes(truth: Flags) -> list[list[Flags]] | None:
    """The combinations that are true as disjoint products, one set of places of each axis; None if there are too many.

    >>> [[part.tolist() for part in box] for box in boxes(np.array([[True, True], [True, False]]))]
    [[[True, False], [True, True]], [[False, True], [True, False]]]
    """
    if not truth.any():
        return []
    if truth.ndim == 1:
        return [[truth]]
    slices = [merge_equal(truth, axis)[1] for axis in range(truth.ndim)]
    axis = min(range(truth.ndim), key=lambda i: (int(slices[i].max()), i))
    products: list[list[Flags]] = []
    for number in range(int(slices[axis].max()) + 1):
        places = slices[axis] == number
        rest = boxes(np.asarray(truth.take(int(np.argmax(places)), axis)))
        if rest is None or len(products) + len(rest) > MOST_BOXES:
            return None
        products += [[*box[:axis], places, *box[axis:]] for box in rest]
    return products


# what is asked of one table ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Question:
    """The attributes of a table that a condition asks about, in classes."""

    node: Node
    axes: Sequence[Axis]
    distributions: Sequence[LabelDistribution]

    @classmethod
    def from_axes(cls, node: Node, axes: Sequence[Axis]) -> Question:
        return cls(node, axes, [node.columns[axis.attribute].distribution(axis) for axis in axes])

    @property
    def combinations(self) -> int:
        return math.prod(axis.classes for axis in self.axes)

    def answered(self, allowed: Flags) -> Answer:
        """Which lines have an allowed combination of classes."""
        table = allowed.reshape([axis.classes for axis in self.axes])
        lines: Codes | None = None
        single = True
        for i, (axis, distribution) in enumerate(zip(self.axes, self.distributions, strict=True)):
            some = table.any(axis=tuple(j for j in range(table.ndim) if j != i))
            can = distribution.possible[some].any(axis=0)
            single = single and not bool((distribution.possible.sum(axis=0) > 1).any())
            codes = self.node.codes[axis.attribute]
            lines = lines_with(codes, can) if lines is None else lines_among(lines, codes, can)
        assert lines is not None
        if single and (table.ndim == 1 or _is_product(table)):
            return Answer(lines)
        chance = self._contracted(table, lines, [distribution.probability for distribution in self.distributions])
        possible = [distribution.possible.astype(np.float64) for distribution in self.distributions]
        can_be = self._contracted(table, lines, possible) > 0
        must = self._contracted(~table, lines, possible) == 0
        return Answer(lines[can_be], np.minimum(chance[can_be], 1.0), must[can_be].astype(np.float64))

    def _contracted(self, table: Flags, lines: Codes, probabilities: Sequence[npt.NDArray]) -> Floats:
        """Of each line the sum, over the combinations of a table, of the product of its probabilities."""
        contracted = np.broadcast_to(table.astype(np.float64), (lines.size, *table.shape))
        for axis, of_class in zip(self.axes, probabilities, strict=True):
            weights = of_class[:, self.node.codes[axis.attribute][lines]]
            contracted = np.einsum("cl,lc...->l...", weights, contracted)
        return np.asarray(contracted)

    def certain(self, allowed: Flags) -> tuple[float, float]:
        """How many people must and can have an allowed combination."""
        if self.node.soft:  # lines are parts of people
            return 0.0, float(self.node.weight.sum())
        answer = self.answered(allowed)
        weight = self.node.weight[answer.lines]
        return float((weight if answer.must is None else weight * answer.must).sum()), float(weight.sum())


def _is_product(table: Flags) -> bool:
    parts = [table.any(axis=tuple(j for j in range(table.ndim) if j != i)) for i in range(table.ndim)]
    return int(table.sum()) == math.prod(int(part.sum()) for part in parts)
