"""Values that are too rare for a method: all of them named, and the one line of a policy that mends it.

The line is tried before it is said: the values of the table are joined as it asks, and the method says whether what is
left would do. No line is said that was not tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pluralis.policy.attributes import Attribute
from pluralis.policy.recoding import OTHER
from pluralis.table.encoding import Column
from pluralis.table.icd import icd_line
from pluralis.table.recoding import join_along, join_rare
from pluralis.table.text_trees import Lines

BELOWS = (2, 3, 5, 8, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 250, 300, 400, 500, 750, 1_000, 2_000, 5_000)

Counts = npt.NDArray[np.int64]


class Joining(NamedTuple):
    """A line of a policy that joins rare values: what it says, and how many values and rows it joins."""

    line: str
    values: int
    rows: int

    def __str__(self) -> str:
        return f"Add `{self.line}`, which joins {self.values:,} values in {self.rows:,} rows"


def joining_that_works(
    column: Column, attribute: Attribute, works: Callable[[Counts], bool], least: int = 2
) -> Joining | None:
    """The line that joins fewest values such that the counts of those that are left work; None where none does.

    Values of numbers and in order are not joined, nor those that were joined along a hierarchy before.
    """
    before = attribute.rare
    if column.has_order or attribute.type == "number" or (before is not None and before.along is not None):
        return None
    counts = {column.text(code): int(rows) for code, rows in enumerate(column.counts[: len(column.values)]) if rows}
    into = OTHER if before is None else before.as_
    for along, lines in _trees(counts):
        last: Mapping[str, str] = {}
        for below in (below for below in BELOWS if below >= least):
            becomes = _joined(counts, below, into, lines)
            if becomes == last:
                continue
            last = becomes
            after = Counter[str]()
            for text, rows in counts.items():
                after[becomes.get(text, text)] += rows
            if works(np.array(sorted(after.values()), np.int64)):
                gone = [text for text in becomes if text != into]
                rows = sum(counts[text] for text in gone)
                return Joining(f"rare: {{below: {below}, {along or f'as: {into}'}}}", len(gone), rows)
    return None


def _joined(counts: Mapping[str, int], below: int, into: str, lines: Lines) -> dict[str, str]:
    if not lines:
        return dict.fromkeys(join_rare(counts, below, into), into)
    return join_along(counts, below, into, lines)


def _trees(counts: Mapping[str, int]) -> Iterator[tuple[str, Lines]]:
    """No hierarchy first; then those of codes, where all values are codes."""
    yield "", {}
    for revision in (9, 10):
        lines = {text: line for text in counts if (line := icd_line(text, revision)) is not None}
        if len(lines) == len(counts):
            yield f"along: {{icd: {revision}}}", lines
