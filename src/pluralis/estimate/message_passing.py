"""What tables say of each class of people that they share with the next, passed on from leaf to root.

The words and the argument are in kinds/multi.py: a message is the number of people of a class who are as asked, its
variance, and what is certain of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pluralis.estimate.label_distribution import Codes
from pluralis.estimate.table_tree import Branch, Floats, Link, Node
from pluralis.kernels.links import (
    bound_over,
    hand_over,
    spread_apart,
    spread_over,
    tally,
    tally_people,
    times_share,
)


class Answer(NamedTuple):
    """The lines of a table that can be as asked: how likely each is, and whether it must be; if not told, all are."""

    lines: Codes
    chance: Floats | None = None
    must: Floats | None = None


class Message(NamedTuple):
    """What a branch says of each class of people: how many are as asked, its variance, at least, at most."""

    mean: Floats
    variance: Floats
    least: Floats
    most: Floats

    @classmethod
    def zero(cls, classes: int) -> Message:
        return cls(*(np.zeros(classes) for _ in range(4)))


class _Child(NamedTuple):
    """What hangs on a table, by classes of a link: of the `people` of each, those that are as asked."""

    link: Link
    people: Floats
    message: Message

    @property
    def share(self) -> Floats:
        """Of each class; of one that nobody is in, where labels were spread, as of all."""
        share = np.full(self.people.size, self.message.mean.sum() / self.people.sum())
        np.divide(self.message.mean, self.people, out=share, where=self.people > 0)
        return share


def passed(branch: Branch, answers: Mapping[Node, Answer]) -> Message:
    """What a branch says of the classes of the link above it, or of everybody."""
    below = [_Child(b.up, b.up.totals(b.node), passed(b, answers)) for b in branch.below if b.up is not None]
    by = () if branch.up is None else (branch.up,)
    return _Passing(branch.node, answers.get(branch.node), by, below).message()


@dataclass(frozen=True)
class _Passing:
    """One table, its lines that can be as asked (or all), what hangs on it, and the link that it reports to, if any."""

    node: Node
    answer: Answer | None
    by: tuple[Link, ...]
    below: Sequence[_Child]

    @cached_property
    def _lines(self) -> Codes:
        return self.node.every if self.answer is None else self.answer.lines

    @cached_property
    def _weight(self) -> Floats:
        return self.node.weight if self.answer is None else self.node.weight[self.answer.lines]

    @cached_property
    def _certain(self) -> bool:
        """Whether every line is as asked by itself that can be."""
        return self.answer is None or self.answer.chance is None

    def message(self) -> Message:
        here = self._people(self.by)
        if not self.below and self._certain:
            return Message(here, np.zeros(here.size), here, here)
        if len(self.below) == 1 and self._certain and not self.below[0].link.soft:
            (child,), out = self.below, Message.zero(here.size)
            links = (*self.by, child.link)
            hand_over(self._people(links), self.node.cells(links).parts, child.people, child.message, out)
            return out
        mean = self._tallied(self.by, self._weight * self._chance(self.below))
        return Message(mean, self._variance(self.by, self.below, None), *self._bounds())

    def _people(self, links: tuple[Link, ...]) -> Floats:
        """How many people of each cell can be as asked by themselves."""
        cells = self.node.cells(links)
        if self.answer is None:
            return cells.people
        out = np.zeros(cells.size)
        tally_people(cells.of_line, self._lines, self.node.weight, out)
        return out

    def _tallied(self, links: tuple[Link, ...], values: Floats) -> Floats:
        cells = self.node.cells(links)
        out = np.zeros(cells.size)
        tally(cells.of_line, self._lines, values, out)
        return out

    def _chance(self, below: Sequence[_Child]) -> Floats:
        """How likely each line is as asked, by itself and by some of what hangs on it."""
        own = None if self.answer is None else self.answer.chance
        chance = np.ones(self._lines.size) if own is None else own.copy()
        for child in below:
            times_share(child.link.classes(self.node), self._lines, child.share, chance)
        return chance

    def _variance(self, by: tuple[Link, ...], below: Sequence[_Child], weights: Floats | None) -> Floats:
        """In each cell, of the sum of weights (or 1) of the lines that are as asked by some of what hangs on them."""
        own = None if self.answer is None else self.answer.chance
        if not below:
            if own is None:
                return np.zeros(self.node.cells(by).size)
            squares = self._weight * own * (1 - own)
            return self._tallied(by, squares if weights is None else squares * weights**2)
        *before, last = below
        links = (*by, last.link)
        likely = self._weight * self._chance(before)
        sums = self._tallied(links, likely if weights is None else likely * weights)
        squares = sums if weights is None else self._tallied(links, likely * weights**2)
        out = np.zeros(self.node.cells(by).size)
        parts = self.node.cells(links).parts
        if last.link.soft:
            spread_apart(squares, parts, last.share, out)
        else:
            squared = sums**2 if not before and own is None else sums**2 + self._variance(links, before, weights)
            spread_over(sums, squares, squared, parts, last.people, last.message.mean, last.message.variance, out)
        if before or own is not None:
            finer = np.ones(self._lines.size) if weights is None else weights.copy()
            times_share(last.link.classes(self.node), self._lines, last.share, finer)
            out += self._variance(by, before, finer)
        return out

    def _bounds(self) -> tuple[Floats, Floats]:
        """In each cell, how many people must and can be as asked."""
        surely = None if self.answer is None or self.answer.must is None else self._weight * self.answer.must
        most = self._people(self.by)
        must = most if surely is None else self._tallied(self.by, surely)
        least = must
        for child in self.below:
            links = (*self.by, child.link)
            here = self._people(links)
            sure = here if surely is None else self._tallied(links, surely)
            low, high = np.zeros(most.size), np.zeros(most.size)
            message, parts = child.message, self.node.cells(links).parts
            bound_over(here, sure, parts, child.people, message.least, message.most, low, high)
            least, most = least + low - must, np.minimum(most, high)
        return np.maximum(least, 0.0), most


def beside(one: Message, other: Message, n: float) -> Message:
    """Of everybody, how many are as asked by both of two trees that share nothing."""
    pairs = [np.maximum(0.0, n * m.mean - m.mean**2 - m.variance) for m in (one, other)]
    drawn = pairs[0] * pairs[1] / max(1.0, n * n * (n - 1))
    moved = one.variance * other.variance + one.variance * other.mean**2 + other.variance * one.mean**2
    least = np.maximum(0.0, one.least + other.least - n)
    return Message(one.mean * other.mean / n, drawn + moved / n**2, least, np.minimum(one.most, other.most))


def is_soft(branch: Branch) -> bool:
    return bool(branch.node.soft) or any(is_soft(below) for below in branch.below)
