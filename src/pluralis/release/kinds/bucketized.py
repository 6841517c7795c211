"""`bucketized`: `quasi` has every row as it is, with its group; `sensitive` has the values of each group, counted."""

from __future__ import annotations

from pluralis.release import parameters
from pluralis.release.kinds.base import APART, EXACT, LINKED, QUASI, UNLINKED, Kind, with_or_without


class Parameters(parameters.Parameters):
    """`linked`: the sensitive values of a row are counted side by side; if not, each attribute is on its own."""

    never = frozenset({"addition", "dependencies", "primary"})

    linked: bool


class Bucketized(Kind):
    name = "bucketized"
    parameters = Parameters
    links_rows = True
    counts_groups = True
    sensitive_as = "counted for each group"
    how_to_read = f"""\
{EXACT}
- `quasi` has a row for each person. `sensitive` says which sensitive values the rows of a `group` have, and how many
  rows have them (`count`). Which row has which value is not published: within a group every way to hand them out is
  equally likely.
{APART}
"""

    def roles(self, table: str) -> set[frozenset[str]]:
        return with_or_without(QUASI, "plain") if table == "quasi" else {LINKED, UNLINKED}
