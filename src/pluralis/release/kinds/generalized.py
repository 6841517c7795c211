"""`generalized`: one table, `microdata`, in which rows of one group have the same labels of quasi-identifiers."""

from __future__ import annotations

from pluralis.release import parameters
from pluralis.release.kinds.base import LABELS, QUASI, Kind, with_or_without


class Parameters(parameters.Parameters):
    """`linked`: the sensitive values of a row stand side by side; if not, each column is shuffled within its group."""

    never = frozenset({"addition", "dependencies", "domains", "primary"})

    linked: bool


class Generalized(Kind):
    name = "generalized"
    parameters = Parameters
    generalizes = True
    links_rows = True
    sensitive_in_rows = True
    how_to_read = f"""\
{LABELS} Rows of one `group` share their labels.
- Sensitive and plain columns hold the values themselves.
"""

    def roles(self, table: str) -> set[frozenset[str]]:
        return with_or_without(QUASI | {"sensitive"}, "plain", "sensitive", "quasi")
