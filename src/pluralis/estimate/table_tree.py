"""The tables of a `multi` release as one tree: what each says of how many people, and how they hang together.

A subtable that protects something says two things, who is in which group and what each group holds: two tables, linked
by the group. All tables are the same people's, so two that share columns have in each class of shared values as many
people, and who of the one is who of the other is not said. If the tables have a junction tree, every way to say so
consists of one bijection for each link and each class, all of them free: `multi` counts over those.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pluralis.errors import QueryError, ReleaseError
from pluralis.estimate.label_distribution import Codes, Column
from pluralis.grouping.junction_trees import junction
from pluralis.kernels.classes import refined

Floats = npt.NDArray[np.float64]
KEPT = 256  # partitions of lines that a table remembers
TRIED = 10_000  # sets of subtables, where not all of them have a tree


@dataclass(eq=False)
class Node:
    """A table: lines of codes, each of which tells of `weight` people. `soft` columns were spread over their labels."""

    subtable: str
    codes: dict[str, Codes]
    columns: dict[str, Column]
    weight: Floats
    soft: frozenset[str] = frozenset()
    _cells: dict[tuple[Link, ...], LineParts] = field(default_factory=dict)

    @property
    def lines(self) -> int:
        return self.weight.size

    @cached_property
    def every(self) -> Codes:
        """All lines."""
        return np.arange(self.lines, dtype=np.int32)

    @property
    def names(self) -> frozenset[str]:
        """Its columns, the group among them."""
        return frozenset(self.codes)

    def cells(self, links: tuple[Link, ...]) -> LineParts:
        """Lines that are in the same class of each of some links."""
        cells = self._cells.pop(links, None) or self._cells_of(links)
        self._cells[links] = cells
        if len(self._cells) > KEPT:  # what was not asked for longest
            del self._cells[next(iter(self._cells))]
        return cells

    def _cells_of(self, links: tuple[Link, ...]) -> LineParts:
        if not links:
            return self._parts(np.zeros(self.lines, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32))
        classes, count = links[-1].classes(self), links[-1].count
        if len(links) == 1:
            return self._parts(classes, np.arange(count, dtype=np.int32), np.zeros(count, np.int32))
        whole = self.cells(links[:-1])
        of_line, parts = refined(whole.of_line, whole.size, classes, count)
        first = np.empty(parts, np.int64)
        first[of_line] = np.arange(self.lines)
        return self._parts(of_line, classes[first], whole.of_line[first])

    def _parts(self, of_line: Codes, of_class: Codes, whole: Codes) -> LineParts:
        return LineParts(of_line, (of_class, whole), summed(of_line, self.weight, of_class.size))


class LineParts(NamedTuple):
    """Lines in parts: the part of each line; the class of each part, and the larger part that it is of; its people."""

    of_line: Codes
    parts: tuple[Codes, Codes]
    people: Floats

    @property
    def size(self) -> int:
        return self.people.size


@dataclass(eq=False)
class Link:
    """Two tables and the columns that they share."""

    left: Node
    right: Node
    shared: tuple[str, ...]

    @cached_property
    def _classes_of_lines(self) -> tuple[Codes, int]:
        both = [np.concatenate([self.left.codes[name], self.right.codes[name]]) for name in self.shared]
        return agreeing(both)

    @cached_property
    def soft(self) -> bool:
        """Whether a table has only parts of people in its classes."""
        return any(name in node.soft for node in (self.left, self.right) for name in self.shared)

    @property
    def count(self) -> int:
        return self._classes_of_lines[1]

    def classes(self, node: Node) -> Codes:
        """The class of each line of one of the two."""
        lines = self._classes_of_lines[0]
        return lines[: self.left.lines] if node is self.left else lines[self.left.lines :]

    @cached_property
    def _totals(self) -> tuple[Floats, Floats]:
        left, right = (summed(self.classes(node), node.weight, self.count) for node in (self.left, self.right))
        if not self.soft and not np.array_equal(left, right):
            raise ReleaseError(
                f"{self.left.subtable} and {self.right.subtable} do not tell of the same people: "
                f"{', '.join(self.shared)} differ. Ask for the release again."
            )
        return left, right

    def totals(self, node: Node) -> Floats:
        """How many people of one of the two are in each class."""
        return self._totals[0 if node is self.left else 1]

    def other(self, node: Node) -> Node:
        return self.right if node is self.left else self.left


def summed(cells: Codes, weight: Floats, count: int) -> Floats:
    return np.bincount(cells, weight, count).astype(np.float64, copy=False)


def agreeing(columns: Sequence[Codes]) -> tuple[Codes, int]:
    """(the class of each line, how many there are): lines of a class agree in all columns."""
    classes, count = np.zeros(columns[0].size, np.int32), 1
    for codes in columns:
        classes, count = refined(classes, count, codes, int(codes.max(initial=0)) + 1)
    return classes, count


class Branch(NamedTuple):
    """A table of a rooted tree, the link to the one above it, and what hangs on it."""

    node: Node
    up: Link | None
    below: tuple[Branch, ...]


@dataclass(eq=False)
class Forest:
    """Tables that have a junction tree, or several that share nothing."""

    nodes: Sequence[Node]
    links: Sequence[Link]
    _rooted: dict[frozenset[Node], list[Branch]] = field(default_factory=dict)

    @classmethod
    def from_nodes(cls, nodes: Sequence[Node]) -> Forest | None:
        """None where there is no tree."""
        every = sorted({name for node in nodes for name in node.names})
        bit = {name: 1 << i for i, name in enumerate(every)}
        edges = junction([sum(bit[name] for name in node.names) for node in nodes])
        if edges is None:
            return None
        shared = [tuple(name for name in every if edge.shared & bit[name]) for edge in edges]
        links = [Link(nodes[e.left], nodes[e.right], names) for e, names in zip(edges, shared, strict=True)]
        return cls(nodes, links)

    @property
    def names(self) -> frozenset[str]:
        return frozenset[str]().union(*(node.names for node in self.nodes))

    def tellers(self, names: Iterable[str]) -> dict[str, Node]:
        """Of some attributes, the table that is asked about each: as few as can be, values rather than labels."""
        asked = set(names)
        near = {node: [link for link in self.links if node in (link.left, link.right)] for node in self.nodes}
        kept = dict.fromkeys(self.nodes)
        order = sorted(self.nodes, key=lambda node: (-len(node.soft & asked), -node.lines))
        done = False
        while not done:  # a table goes that has one neighbor, which tells all that is asked of it
            done = True
            for node in [node for node in order if node in kept]:
                links = [link for link in near[node] if link.other(node) in kept]
                shared = set(links[0].shared) if links else set()
                if len(links) <= 1 and asked & node.names <= shared:
                    del kept[node]
                    done = False
        teller: dict[str, Node] = {}
        while left := asked - teller.keys():
            best = max(kept, key=lambda node: (len(left & (node.names - node.soft)), len(left & node.names)))
            new = left & (best.names - best.soft) or left & best.names
            assert new, f"no table tells of {sorted(left)}"
            teller |= dict.fromkeys(sorted(new), best)
        return teller

    def rooted(self, nodes: frozenset[Node]) -> list[Branch]:
        """The smallest trees that hold some tables, each hung up in its middle."""
        if nodes not in self._rooted:
            kept = set(self.nodes)
            while spare := [node for node in kept - nodes if len(self._near(node, kept)) <= 1]:
                kept -= set(spare[:1])
            self._rooted[nodes] = [self._hung(tree) for tree in self._apart(kept)]
        return self._rooted[nodes]

    def _near(self, node: Node, kept: Iterable[Node]) -> list[Link]:
        links = [link for link in self.links if node in (link.left, link.right)]
        return [link for link in links if link.other(node) in kept]

    def _apart(self, kept: set[Node]) -> Iterator[list[Node]]:
        left = [node for node in self.nodes if node in kept]
        while left:
            tree, new = [left[0]], [left[0]]
            while new:
                near = [link.other(node) for node in new for link in self._near(node, left)]
                new = [node for node in near if node not in tree]
                tree += new
            left = [node for node in left if node not in tree]
            yield tree

    def _hung(self, tree: list[Node]) -> Branch:
        def branch(node: Node, up: Link | None) -> Branch:
            below = [link for link in self._near(node, tree) if link is not up]
            return Branch(node, up, tuple(branch(link.other(node), link) for link in below))

        return min((branch(node, None) for node in tree), key=lambda root: (_softest(root), _height(root)))


def _height(branch: Branch) -> int:
    return 1 + max(map(_height, branch.below), default=0)


def _softest(root: Branch) -> bool:
    return bool(root.node.soft)


# where not all tables have a tree -----------------------------------------------------------------------------------


def forest_for(names: frozenset[str], nodes: Sequence[Node]) -> Forest:
    """A tree that tells of some attributes: of as few subtables as can be, and then all others that fit in."""
    every = list(dict.fromkeys(node.subtable for node in nodes))
    some = (chosen for size in range(1, len(every) + 1) for chosen in combinations(every, size))
    for chosen in islice(some, TRIED):
        forest = _tree(chosen, nodes)
        if forest is None or not names <= forest.names:
            continue
        for name in every:
            more = None if name in chosen else _tree([*chosen, name], nodes)
            if more is not None:
                chosen, forest = (*chosen, name), more
        return forest
    raise QueryError(
        f"The tables that tell of {', '.join(sorted(names))} go round in circles: they share columns so that no "
        "product of what they say is a table. Ask about attributes of one table, or fewer at once."
    )


def _tree(chosen: Sequence[str], nodes: Sequence[Node]) -> Forest | None:
    return Forest.from_nodes([node for node in nodes if node.subtable in chosen])
