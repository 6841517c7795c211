"""Trees of tables: how tables that share columns hang together, so that what they say can be multiplied.

A set of tables has a junction tree if the tables that share a column always hang together in it. Then the likeliest
table of which they are projections has a closed form: the product of what the tables say, over what their shared
columns say (Lauritzen 1996). Columns are bits of a whole number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Edge(NamedTuple):
    """Two tables that hang together, and the columns that they share."""

    left: int
    right: int
    shared: int


def junction(tables: Sequence[int]) -> list[Edge] | None:
    """The edges of a junction tree (or forest), or None if there is none.

    It is a spanning tree of the most shared columns: there is a junction tree exactly if those are, in all, as many as
    columns stand in tables more than once (Maier 1983).

    >>> junction([0b011, 0b110]), junction([0b011, 0b110, 0b101])
    ([Edge(left=0, right=1, shared=2)], None)
    """
    pairs = [
        Edge(i, j, tables[i] & tables[j])
        for i in range(len(tables))
        for j in range(i + 1, len(tables))
        if tables[i] & tables[j]
    ]
    pairs.sort(key=lambda edge: (-edge.shared.bit_count(), edge.left, edge.right))
    tree_of = list(range(len(tables)))
    edges = []
    for edge in pairs:
        left, right = tree_of[edge.left], tree_of[edge.right]
        if left != right:
            edges.append(edge)
            tree_of = [left if tree == right else tree for tree in tree_of]
    everything = 0
    for table in tables:
        everything |= table
    repeated = sum(table.bit_count() for table in tables) - everything.bit_count()
    return edges if sum(edge.shared.bit_count() for edge in edges) == repeated else None
