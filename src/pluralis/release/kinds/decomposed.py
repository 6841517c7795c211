"""`decomposed`: `quasi` has every row with its group; `values` lists what each group may hold, without counts."""

from __future__ import annotations

from pluralis.release import parameters
from pluralis.release.columns import ColumnInfo, TableInfo
from pluralis.release.kinds.base import EXACT, QUASI, Kind, with_or_without


class Parameters(parameters.Parameters):
    """`primary`: the attribute of which every group holds each of its values once."""

    never = frozenset({"addition", "at_most", "dependencies", "gain", "models", "t"})

    linked: bool
    primary: str


class Decomposed(Kind):
    name = "decomposed"
    parameters = Parameters
    lists_of_groups = True
    repeats = True
    sensitive_as = "as a set for each group"
    how_to_read = f"""\
{EXACT}
- `quasi` has a row for each person. `values` lists, for every `group` and sensitive attribute, the values that its rows
  may have: all that occur, and some that do not. It does not say how often.
- `sensitive`, or the tables `sensitive_…`, say how often values occur in the whole table (`count`).
"""

    def roles(self, table: str) -> set[frozenset[str]]:
        if table == "quasi":
            return with_or_without(QUASI, "plain")
        return {frozenset({"group", "attribute", "value"} if table == "values" else {"sensitive", "count"})}

    def is_called(self, column: ColumnInfo, info: TableInfo) -> bool:
        if column.role == "sensitive" and info.name.startswith("sensitive_"):
            return column.name == "value" and info.name == f"sensitive_{column.attribute}"
        return super().is_called(column, info)
