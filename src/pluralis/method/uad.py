"""UAD: attributes are split by coloring the graph of rules; each table protects at most one of them.

Paper      Versatile Publishing, section 5.4, Algorithm 2.
Words      an edge goes from what a rule knows to what it protects. Attributes of one color share no edge.
Departs    ties go to the first by name; attributes that a known dependency ties together count as one. Both variants
           are the same.

Theorem: every attribute stands in one table. A rule Q -> S is kept, since S stands either with no attribute of Q, or
with some in the one table that protects it: a color holds no two ends of an edge, and the attribute that is added to
it has no edge into it. 100,000 random sets of rules agree (docs/methods/uad.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pluralis.errors import optional
from pluralis.grouping.subtable_schema import Arrow, Subtable
from pluralis.method.subtables import Guarded, Task


class Uad(Guarded):
    """Color, take the largest color, add one attribute that it protects; again with what is left."""

    name: ClassVar[str] = "uad"
    title: ClassVar[str] = "tables of attributes that no rule keeps apart, each with one more that it protects"
    paper: ClassVar[str] = "Jin, Zhang, Zhang, Das, Versatile Publishing, Algorithm 2"

    def decompose(self, task: Task) -> Sequence[Subtable]:
        return split(task.schema.whole, task.schema.arrows)


def split(attributes: int, rules: Sequence[Arrow]) -> list[Subtable]:
    """Subtables in normal form that show every attribute once.

    >>> [(bin(t.shows), bin(t.protects)) for t in split(0b111, [Arrow(0b011, 0b100)])]
    [('0b111', '0b100')]
    """
    left = [1 << i for i in range(attributes.bit_length()) if attributes >> i & 1]
    tables = []
    while left:
        largest = _largest_color(left, rules)
        shows = sum(largest)
        others = [bit for bit in left if bit not in largest and not _known_into(bit, shows, rules)]
        added = max(others, key=lambda bit: (_edges_from(shows, bit, rules), -bit), default=0)
        protects = added if added and _edges_from(shows, added, rules) else 0
        tables.append(Subtable(shows | added, protects))
        left = [bit for bit in left if not bit & (shows | added)]
    return tables


def _largest_color(attributes: Sequence[int], rules: Sequence[Arrow]) -> list[int]:
    nx = optional("networkx", "The method uad", "publish")
    graph = nx.Graph()
    graph.add_nodes_from(attributes)
    graph.add_edges_from(
        (bit, rule.protects) for rule in rules for bit in attributes if bit & rule.knows and rule.protects in graph
    )
    color_of = nx.greedy_color(graph, strategy="saturation_largest_first")  # DSATUR
    colors: dict[int, list[int]] = {}
    for bit in attributes:
        colors.setdefault(color_of[bit], []).append(bit)
    for members in colors.values():  # an attribute in no rule could have any color: it has all that it can
        for bit in attributes:
            if bit not in members and not any(graph.has_edge(bit, other) for other in members):
                members.append(bit)
    return max(colors.values(), key=lambda members: (len(members), sorted(-bit for bit in members)))


def _known_into(bit: int, shows: int, rules: Sequence[Arrow]) -> bool:
    """Whether an edge goes from an attribute into a table."""
    return any(rule.knows & bit and rule.protects & shows for rule in rules)


def _edges_from(shows: int, bit: int, rules: Sequence[Arrow]) -> int:
    """How many attributes of a table have an edge to another one."""
    known = 0
    for rule in rules:
        if rule.protects == bit:
            known |= rule.knows & shows
    return known.bit_count()


METHOD = Uad
