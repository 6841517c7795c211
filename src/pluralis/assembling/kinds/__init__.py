"""The kinds of release, one file each: the tables that a plan becomes, and what they promise."""

from __future__ import annotations

from pluralis.assembling.columns import Part, TablesModule
from pluralis.assembling.kinds import bucketized, candidates, decomposed, generalized, multi, sliced

__all__ = ["KINDS", "Part", "TablesModule"]

KINDS: dict[str, TablesModule] = {
    "bucketized": bucketized,
    "candidates": candidates,
    "decomposed": decomposed,
    "generalized": generalized,
    "multi": multi,
    "sliced": sliced,
}
