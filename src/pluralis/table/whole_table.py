"""What a part of a larger table is told of the whole, so that it reads its values as all rows would have them read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pluralis.table.text_trees import Lines


@dataclass(frozen=True)
class WholeTable:
    """Columns of numbers that are not all whole there, and rare values that were joined there already.

    `joined` says of each column whose rare values were joined into which value, `trees` what its tree is then;
    `tables`, where several are published of each row, which attributes each shows and which it protects.
    """

    decimals: frozenset[str] = frozenset()
    joined: Mapping[str, str] = field(default_factory=dict)
    trees: Mapping[str, Lines] = field(default_factory=dict)
    tables: tuple[tuple[frozenset[str], frozenset[str]], ...] = ()


ITSELF = WholeTable()  # of a table that is no part
