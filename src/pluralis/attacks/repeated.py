"""Repeated publication: the same people published twice, each time drawn anew.

Definition as in `several_releases`, with each other release (`Options.others`) of the same input one by one: the values
           that both leave possible. Where it cannot be told whether the input was the same, `successive` looks, too.
Reference  Ganta, Kasiviswanathan, Smith (2008), composition attacks: sets drawn again are intersected.
Exposed    every method that draws. Published again under the same key a release is the same to the byte, and nothing is
           gained (`worst` is None); that is why the key is kept, and why a second key for the same private folder is
           refused.
Promised   nothing: 1/l is promised to whoever has a release alone (`several_releases`).
Exact      what remains possible; people are a sample where there are more than `sample`.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pluralis.attacks.adversary.several_releases import joint_results, same_people
from pluralis.attacks.base import Attack, Options, Result
from pluralis.release.release import Release


class Repeated(Attack):
    """Keep what every publication of the same people leaves possible."""

    name = "repeated"
    title = "the same people published twice"
    reference = "Sei and Ohsuga, SECRYPT 2014: sets that are drawn anew; docs/attacks.md"
    quick = False

    def applies(self, release: Release) -> bool:
        return any(claim.attribute is not None for claim in release.manifest.claims)

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> Sequence[Result]:
        again = [other for other in options.others if same_people(release, other) is not False]
        return [
            result
            for i, other in enumerate(again, 1)
            for result in joint_results(
                self.name, release, [other], original, options,
                "another release of the same table" + (f" ({i})" if len(again) > 1 else ""),
            )
        ]  # fmt: skip


ATTACK = Repeated()
