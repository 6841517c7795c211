"""`multi`: the tables `t1`, `t2`, … tell of the same people, each of some attributes (`release.subtables`)."""

from __future__ import annotations

from pluralis.release import parameters
from pluralis.release.columns import ColumnInfo
from pluralis.release.kinds.base import EXACT, LABELS, LINKED, Kind


class Parameters(parameters.Parameters):
    """`rules`: what all tables together keep; `dependencies`: what an adversary is taken to know."""

    never = frozenset({"addition", "adversaries", "at_most", "gain", "k", "linked", "primary", "t", "weights"})

    rules: tuple[str, ...]


class Multi(Kind):
    name = "multi"
    parameters = Parameters
    has_subtables = True
    repeats = True
    weakest = "Weakest"
    how_to_read = f"""\
- The tables `t1`, `t2`, … tell of the same people, each of some attributes; which row of one belongs to which of
  another is not published, beyond what the columns say that they share.
- A table without a `group` column holds the values themselves. `t1_quasi` has a row for each person; `t1_sensitive`
  says which values the rows of a `group` have, and how many rows have them (`count`), in any order.
{LABELS}
"""

    def roles(self, table: str) -> set[frozenset[str]]:
        if table.endswith("_sensitive"):
            return {LINKED}
        if table.endswith("_quasi"):
            return {frozenset({"quasi", "group"})}
        return {frozenset({"quasi"}), frozenset({"quasi", "group", "sensitive"})}

    def is_exact(self, column: ColumnInfo) -> bool:
        """Some tables are generalized, others are not."""
        return column.role == "quasi" and bool(column.exact)


class Plain(Kind):
    """One of its tables in which nothing is hidden. No release by itself."""

    name = "plain"
    parameters = Parameters
    has_groups = False
    how_to_read = EXACT

    def roles(self, table: str) -> set[frozenset[str]]:
        return {frozenset({"quasi"})}
