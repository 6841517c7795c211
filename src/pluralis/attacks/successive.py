"""Successive releases: a person's values that all releases of a changing table leave possible.

Definition as in `several_releases`, with all other releases (`Options.others`) together, if one of them is not of the
           same people. A release that has no row of a person says nothing of that person.
Reference  Byun, Sohn, Bertino, Li: Secure Anonymization for Incremental Datasets. SDM 2006; Xiao, Tao: m-invariance.
           SIGMOD 2007.
Exposed    all methods: groups change with the rows. Sets of randomized addition do not, as long as the key is kept.
Promised   nothing: 1/l is promised to whoever has a release alone (`several_releases`), and a release says that several
           can be intersected (LIMITATIONS.md).
Exact      what remains possible of people who are in all releases. Whoever has come since, and shares the
           quasi-identifiers of somebody who was there before, is taken to have been there, and counted only if the true
           value remains.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pluralis.attacks.adversary.several_releases import joint_results, same_people
from pluralis.attacks.base import Attack, Options, Result
from pluralis.release.release import Release


class Successive(Attack):
    """Keep what every release of a person leaves possible."""

    name = "successive"
    title = "releases of a changing table, one after the other"
    reference = "Byun et al., SDM 2006; Xiao and Tao, SIGMOD 2007"
    quick = False

    def applies(self, release: Release) -> bool:
        return any(claim.attribute is not None for claim in release.manifest.claims)

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> Sequence[Result]:
        if all(same_people(release, other) for other in options.others):
            return []
        others = len(options.others)
        whom = f"{others} other release{'s' if others > 1 else ''} of these people"
        return [*joint_results(self.name, release, options.others, original, options, whom)]


ATTACK = Successive()
