"""The kinds of release, one file each: what the manifest and the tables of one look like."""

from __future__ import annotations

from collections.abc import Mapping

from pluralis.errors import ReleaseError
from pluralis.release.kinds.base import Kind
from pluralis.release.kinds.bucketized import Bucketized
from pluralis.release.kinds.candidates import Candidates
from pluralis.release.kinds.decomposed import Decomposed
from pluralis.release.kinds.generalized import Generalized
from pluralis.release.kinds.multi import Multi
from pluralis.release.kinds.sliced import Sliced

__all__ = ["KINDS", "Kind", "kind_named"]

KINDS: Mapping[str, Kind] = {
    kind.name: kind for kind in (Bucketized(), Candidates(), Decomposed(), Generalized(), Multi(), Sliced())
}


def kind_named(name: str) -> Kind:
    """A kind of release by its name; ReleaseError for one that this Pluralis does not know."""
    if name not in KINDS:
        raise ReleaseError(f"This Pluralis does not know releases of kind {name!r}. Use the one that made it.")
    return KINDS[name]
