"""Adversary knowledge: who knows what of a person, asks for which sensitive attribute, and what is promised then.

An adversary knows of a person that the person is published, some quasi-identifiers, and perhaps some sensitive values.
The prior is what somebody without the release would guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.release.attributes import attributes_of
from pluralis.release.manifest import Claim
from pluralis.release.original import original_values
from pluralis.release.release import Release

SUBSETS = 64  # of known sensitive attributes that are tried for one attribute


class Question(NamedTuple):
    """What somebody knows of a person: quasi-identifiers and sensitive attributes; and which other one is asked for.

    `promised` is the bound on the guess, if there is one.
    """

    attribute: str
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    promised: float | None

    @property
    def adversary(self) -> tuple[str, ...]:
        return (*self.quasi, *self.sensitive)

    def __str__(self) -> str:
        return f"{self.attribute}, knowing {', '.join(self.adversary) or 'nothing'}"


def sensitive_attributes(release: Release) -> list[str]:
    """The attributes that a release protects."""
    return sorted(release.manifest.parameters.l)


def quasi_identifiers(release: Release) -> list[str]:
    """The attributes by which a person may be found: all that are published and not protected."""
    columns = (column for table in release.manifest.tables for column in table.named("quasi"))
    return sorted({column.attribute or column.name for column in columns} - {*sensitive_attributes(release)})


def questions(release: Release, *, knowing_sensitive: bool) -> list[Question]:
    """What whoever knows all quasi-identifiers, and whoever a claim names, asks; sensitive values may be known, too."""
    sensitive, quasi = sensitive_attributes(release), quasi_identifiers(release)
    asked: dict[tuple[str, tuple[str, ...], tuple[str, ...]], None] = {}
    for name in sensitive:
        others = [other for other in sensitive if other != name]
        for known in _subsets(others) if knowing_sensitive else [()]:
            asked[name, tuple(quasi), known] = None
    for claim in release.manifest.claims:
        if claim.attribute is None:
            continue
        named = tuple(sorted({*claim.adversary} & {*quasi}))
        beside = tuple(sorted({*claim.adversary} - {*quasi, claim.attribute}))
        if bool(beside) == knowing_sensitive:
            asked[claim.attribute, named, beside] = None
    return [Question(*key, promised(release.manifest.claims, *key)) for key in asked]


def _subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """All subsets but the empty one; of many names the small ones and the largest."""
    every = (known for size in range(1, len(names) + 1) for known in combinations(names, size))
    for i, known in enumerate(every):
        if i == SUBSETS - 1:
            yield tuple(names)
            return
        yield known


def promised(
    claims: Iterable[Claim], attribute: str, quasi: Iterable[str], sensitive: Iterable[str] = ()
) -> float | None:
    """The least bound that claims put on a guess of somebody who knows no more than they allow for."""
    knows = {*quasi, *sensitive}
    bounds = [bound_of(claim) for claim in claims if claim.attribute == attribute and knows <= {*claim.adversary}]
    return min((bound for bound in bounds if bound is not None), default=None)


def row_bound(claims: Iterable[Claim], attribute: str, knows: Iterable[str]) -> tuple[float | None, bool]:
    """The bound on a guess that also uses other rows or attributes, and whether a claim about drawn sets puts it."""
    about = [claim for claim in claims if claim.attribute == attribute and {*knows} <= {*claim.adversary}]
    drawn = [1 / claim.l for claim in about if claim.model == "posterior" and claim.l]
    return (min(drawn), True) if drawn else (promised(about, attribute, knows), False)


def bound_of(claim: Claim) -> float | None:
    """How likely a value may be by a claim; None where the claim does not say.

    >>> bound_of(Claim(rule="", model="recursive", adversary=(), attribute="x", l=2, c=3.0))
    0.75
    """
    if claim.model in ("frequency", "unique-distinct", "candidates") and claim.l is not None:
        return 1 / claim.l
    if claim.model == "recursive" and claim.c is not None:
        return claim.c / (1 + claim.c)
    return None


# the prior --------------------------------------------------------------------------------------------------


def prior_guess(release: Release, original: pl.DataFrame, attribute: str) -> float:
    """The share of the commonest value: the best guess of somebody who has no release and knows nothing of a person."""
    values = original_values(original, attributes_of(release)[attribute], release.manifest, in_codes=True)
    return float(values.alias("\0value").value_counts()["count"].max() or 0) / max(1, values.len())  # type: ignore[arg-type]


def commonest_share(truth: npt.NDArray[np.int32]) -> float:
    """The same by codes: the share of the commonest value among all people; -1 is a value that no table has."""
    return float(np.bincount(truth[truth >= 0]).max(initial=0) / max(1, truth.size))
