"""`sliced`: `quasi` has every row with labels and a group in each slice; `slice_1`, … have the values of these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pluralis.release import parameters
from pluralis.release.columns import ColumnInfo, TableInfo
from pluralis.release.kinds.base import APART, LABELS, LINKED, QUASI, UNLINKED, Kind, with_or_without


class Parameters(parameters.Parameters):
    """What a slice links is seen in its table."""

    never = frozenset({"addition", "at_most", "dependencies", "gain", "linked", "primary", "t"})


class Sliced(Kind):
    name = "sliced"
    parameters = Parameters
    generalizes = True
    has_slices = True
    counts_groups = True
    alike = "combination of quasi-identifier labels"
    sensitive_as = "counted for each group of its slice"
    how_to_read = f"""\
{LABELS}
- `quasi` has a row for each person, with a group in each slice. The table `slice_1` says which sensitive values the
  rows of each `group_1` have, and how many rows have them (`count`); `slice_2` and `group_2` likewise.
{APART}
"""

    def roles(self, table: str) -> set[frozenset[str]]:
        return with_or_without(QUASI, "plain") if table == "quasi" else {LINKED, UNLINKED}

    def is_called(self, column: ColumnInfo, info: TableInfo) -> bool:
        if info.name == "quasi" and column.role == "group" and column.name.startswith("group_"):
            return column.attribute is None and column.name[6:].isdecimal()
        return super().is_called(column, info)

    def table_problems(self, tables: Sequence[TableInfo]) -> Iterator[str]:
        numbers = range(1, len(tables))
        groups = [column.name for info in tables if info.name == "quasi" for column in info.named("group")]
        expected = {"quasi", *(f"slice_{i}" for i in numbers)}
        if {info.name for info in tables} != expected or groups != [f"group_{i}" for i in numbers]:
            yield "slices and their groups are not numbered from 1."
