"""The kinds of release, one file each: the tables that a plan becomes, and what they promise."""

from __future__ import annotations

from pluralis.assembling.columns import Kind, Part
from pluralis.assembling.kinds import bucketized, candidates, decomposed, generalized, multi, sliced

__all__ = ["KINDS", "Kind", "Part"]

KINDS: dict[str, Kind] = {
    "bucketized": bucketized,
    "candidates": candidates,
    "decomposed": decomposed,
    "generalized": generalized,
    "multi": multi,
    "sliced": sliced,
}
