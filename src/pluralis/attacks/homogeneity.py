"""Homogeneity: the commonest value of a person's group is the person's.

Definition  For whoever knows all quasi-identifiers, or those that a claim names: `worst` is the largest share that one
            value has in any group (text in one spelling); `success` is how often the likeliest value of the rows that
            a person may be is the person's own, ties counted by their chance. Of a decomposed release, which tells no
            shares, `worst` is the larger of the largest share that the tables prove, and 1 / the values that remain
            possible where they are fewest.
Reference   Machanavajjhala et al.: l-Diversity. ICDE 2006.
            Of values that `at_most` or `gain` bounds, the one nearest its bound is asked about by itself: `worst` is
            its largest share in any group, `success` how often those of whom it is likeliest have it.
Exposed     all kinds with groups. A claim of frequency, unique-distinct or recursive diversity bounds it (1/l, 1/l,
            c/(1+c)); distinct and entropy do not say how common a value may be.
Exact       `worst` always. `success` of all people up to `sample`, of a sample above; how the sets of a decomposed
            release are weighed is an estimate. A multi release is looked at table by table.
"""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from pluralis.attacks.adversary.group_guess import guess_results
from pluralis.attacks.adversary.knowledge import questions
from pluralis.attacks.base import Attack, Options, Result
from pluralis.release.release import Release


class Homogeneity(Attack):
    name: ClassVar[str] = "homogeneity"
    title: ClassVar[str] = "homogeneity: the commonest value of a group"
    reference: ClassVar[str] = "Machanavajjhala et al. 2006"
    headline: ClassVar[str] = "people's {attribute} guessed right as the commonest value of their group"

    def applies(self, release: Release) -> bool:
        return not release.traits.lists_values and bool(questions(release, knowing_sensitive=False))

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> list[Result]:
        return guess_results(self.name, release, original, options, questions(release, knowing_sensitive=False))


ATTACK = Homogeneity()
