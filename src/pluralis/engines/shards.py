"""Large tables in shards: rows are grouped in each shard on its own, so that time grows with the table, on all cores.

Words      shard = rows that are grouped together; block = shards that were joined.
Hash       the shard of a row is a keyed hash of its quasi-identifiers, or of its person where the policy has one.
Cuts       the table is cut in the middle where its quasi-identifiers differ most, again and again, as in Mondrian; the
           places of the cuts come from a keyed sample of rows, drawn by the same hash.

Theorem: given which of the two it is, the shard of a row is a function of its quasi-identifiers (hash: of its person,
where there is one), the key, the number of rows and, by cuts, of the quasi-identifiers of all rows: never of a
sensitive value, of the order of rows, or of who does the work. So shards tell whoever sees them nothing that
quasi-identifiers do not.

What is decided with sensitive values is which shards are joined, because in one alone some value is too common, and
which of the two ways is taken: the one that joins few, or that loses less on a sample. docs/scale.md says what both can
tell somebody who knows the method.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from pluralis.grouping.eligibility import fixed_caps, most_kept_under
from pluralis.grouping.points import space_of
from pluralis.grouping.row_identity import people_words, value_words
from pluralis.kernels.cuts import CutTree, leaves_of
from pluralis.kernels.siphash import add_column
from pluralis.kernels.space import FLAT, NUMBER, Space
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.table.encoding import Table
from pluralis.threads import by_rows

Way = Literal["hash", "cuts"]
Rows = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Keeps = Callable[[int, int], bool]  # whether the shards from the first up to the last, without it, keep a promise

SHARD = 100_000  # rows of a shard, at most or about; a table of no more is one
SAMPLE = 100_000  # rows from which the places of cuts are taken
LEAST = 2  # rows on each side of a cut


def number_of_shards(rows: int, most: int = SHARD) -> int:
    """How many shards a table of so many rows is cut into.

    >>> number_of_shards(100_000), number_of_shards(100_001), number_of_shards(1_000_000)
    (1, 2, 10)
    """
    return max(1, ceil(rows / most))


def shard_of(table: Table, draw: Draw, way: Way, shards: int) -> Rows:
    """The shard of every row, numbered from 0; some may have no rows."""
    words = row_words(table, draw)
    if way == "hash":
        return (words % np.uint64(shards)).astype(np.int64)
    sample = sampled(words, SAMPLE)
    tree = cut_tree(space_of(table.quasi, sample), np.arange(sample.size), shards)
    leaf_of = np.empty(table.rows, np.int64)

    def place(some: slice) -> None:
        leaves_of(tree, space_of(table.quasi, np.arange(some.start, some.stop)).points, leaf_of[some])

    by_rows(place, table.rows)
    return leaf_of


def row_words(table: Table, draw: Draw) -> Words:
    """A word for each row, of its person where the table has people, else of its quasi-identifiers."""
    draw = draw.for_part("shards")
    if table.person is not None and table.people is not None:
        return people_words(table.people, draw)[table.person]
    words = np.zeros(table.rows, np.uint64)
    for column in table.quasi:
        add_column(*draw.pair("row"), words, column.codes, value_words(column, draw))
    return words


def sampled(words: Words, most: int) -> Rows:
    """The rows whose words are the smallest: about `most` of them, and all rows of one word or none.

    >>> sampled(np.array([2**63, 5, 2**62, 7], np.uint64), 2).tolist()
    [1, 3]
    """
    if words.size <= most:
        return np.arange(words.size)
    threshold = np.partition(words, most - 1)[most - 1]
    return np.flatnonzero(words <= threshold)


# cuts -------------------------------------------------------------------------------------------------------------


class _Node(NamedTuple):
    """Points of the sample that are still to be cut into so many leaves."""

    number: int
    rows: Rows
    leaves: int


def cut_tree(space: Space, sample: Rows, leaves: int) -> CutTree:
    """Cuts of a space into so many leaves of about as many points each, or fewer where points are equal."""
    attribute, threshold, left, leaf = [-1], [0.0], [-1], [-1]
    waiting, leaves_made = [_Node(0, sample, leaves)], 0
    while waiting:
        node = waiting.pop()
        cut = _cut(space, node.rows, (node.leaves // 2) / node.leaves) if node.leaves > 1 else None
        if cut is None:
            leaf[node.number] = leaves_made
            leaves_made += 1
            continue
        j, place = cut
        below = space.points[node.rows, j] <= place
        attribute[node.number], threshold[node.number], left[node.number] = j, place, len(left)
        for some, number in ((below, node.leaves // 2), (~below, node.leaves - node.leaves // 2)):
            waiting.append(_Node(len(left), node.rows[some], number))
            attribute.append(-1)
            threshold.append(0.0)
            left.append(-1)
            leaf.append(-1)
    return CutTree(np.array(attribute), np.array(threshold), np.array(left), np.array(leaf))


def _cut(space: Space, rows: Rows, share: float) -> tuple[int, float] | None:
    """The attribute in which points differ most, and the last value of the lower part, which has about `share` of them.

    None where all points are equal, or nearly all.
    """
    for j in sorted(range(space.kinds.size), key=lambda j: -_spread(space, rows, j)):
        values, counts = np.unique(space.points[rows, j], return_counts=True)
        if values.size < 2:
            continue
        below = np.cumsum(counts)[:-1]
        place = int(np.abs(below - share * rows.size).argmin())
        if LEAST <= below[place] <= rows.size - LEAST:
            return j, float(values[place])
    return None


def _spread(space: Space, rows: Rows, j: int) -> float:
    """About what rows lose in an attribute by being together; equal spreads are taken in the order of attributes."""
    points = space.points[rows, j]
    if points.size == 0 or points.min() == points.max():
        return 0.0
    if space.kinds[j] == NUMBER:
        return float(space.unit[j] * 4 * points.std())
    if space.kinds[j] == FLAT:
        return float(4 * space.unit[j])
    return float(space.unit[j])


# blocks -----------------------------------------------------------------------------------------------------------


def blocks_of(table: Table, policy: Policy, shard: Rows, shards: int) -> Rows:
    """The block of every row: shards next to each other that are joined until no value is too common in any.

    Theorem: every block keeps every cap (1/l and `at_most`) of every sensitive attribute, if the table does.
    """
    counts = [
        np.bincount(shard * column.size + column.codes, minlength=shards * column.size).reshape(shards, column.size)
        for column in table.sensitive
    ]
    caps = [fixed_caps(column, policy) for column in table.sensitive]

    def keeps(first: int, last: int) -> bool:
        for number, cap in zip(counts, caps, strict=True):
            own = number[first:last].sum(axis=0)
            if not own.sum() or not (most_kept_under(own, cap) == own).all():
                return False
        return True

    block_of_shard = np.empty(shards, np.int64)
    for block, (first, last) in enumerate(joined(shards, keeps)):
        block_of_shard[first:last] = block
    return block_of_shard[shard]


def joined(shards: int, keeps: Keeps) -> list[tuple[int, int]]:
    """Ranges of shards, each the shortest that keeps its promise; the last one takes in what is left over.

    >>> joined(5, lambda first, last: last - first >= 2)
    [(0, 2), (2, 5)]
    >>> joined(3, lambda first, last: False)
    [(0, 3)]
    """
    blocks: list[tuple[int, int]] = []
    first = 0
    for last in range(1, shards + 1):
        if keeps(first, last):
            blocks.append((first, last))
            first = last
    while first < shards and blocks:
        first, _ = blocks.pop()
        if keeps(first, shards):
            return [*blocks, (first, shards)]
    return blocks if first == shards else [(0, shards)]
