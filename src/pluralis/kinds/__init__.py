"""The kinds of release, one file each: the tables that a plan becomes, and what they promise."""

from __future__ import annotations

from pluralis.kinds import bucketized, candidates, decomposed, generalized, multi, sliced
from pluralis.kinds.parts import Kind, Part

__all__ = ["KINDS", "Kind", "Part"]

KINDS: dict[str, Kind] = {
    "bucketized": bucketized,
    "candidates": candidates,
    "decomposed": decomposed,
    "generalized": generalized,
    "multi": multi,
    "sliced": sliced,
}
