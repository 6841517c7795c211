"""`candidates`: one table, `microdata`: rows as they are, a set of values in the place of each sensitive one."""

from __future__ import annotations

from pluralis.release import parameters
from pluralis.release.kinds.base import EXACT, Kind, with_or_without
from pluralis.release.parameters import Drawn


class Parameters(parameters.Parameters):
    """`addition`: how the sets of each attribute were drawn."""

    never = frozenset({"at_most", "dependencies", "domains", "gain", "models", "primary", "t"})

    linked: bool
    addition: dict[str, Drawn]


class Candidates(Kind):
    name = "candidates"
    parameters = Parameters
    lists_values = True
    has_groups = False
    weakest = "Weakest set"
    sensitive_as = "among drawn values"
    order = "- Rows are sorted; their order tells nothing.\n"
    how_to_read = f"""\
{EXACT}
- A sensitive column holds a set of values: the true one, and others that were drawn. `manifest.json` says how, under
  `addition`. Do not count members of sets: `pluralis query` estimates how often each value occurs, with error bars.
"""

    def roles(self, table: str) -> set[frozenset[str]]:
        return with_or_without(frozenset({"quasi", "plain", "sensitive"}), "plain")
