"""Sensitive background knowledge: whoever knows some sensitive values of a person asks for another.

Definition  For every sensitive attribute and every subset of the others, known exactly, beside all quasi-identifiers
            (and for the adversaries that claims name): `worst` is the largest share that one value has among the people
            of a group with one combination of what is known; `success` is how often the likeliest value, given a
            person's true values, is right. Of a decomposed release `worst` is as for homogeneity, and also the
            largest share in the sensitive table, where that is published jointly, among its rows with what is known.
Reference   Ye et al.: Decomposition, 2009 (d-SA-l-diversity); Han et al.: SLOMS, 2013.
Exposed     whatever publishes such values side by side: linked groups and slices, a joint sensitive table. Where they
            stand apart, a known value tells only which of several groups a person is in, if anything.
Exact       `worst` always; beyond 64 subsets of one attribute's others, the smaller ones and the largest. `success`
            of all people up to `sample`, of a sample above.
"""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from pluralis.attacks.adversary.group_guess import guess_results
from pluralis.attacks.adversary.knowledge import questions, sensitive_attributes
from pluralis.attacks.base import Attack, Options, Result
from pluralis.release.release import Release

FEW = 3  # sensitive attributes, whose subsets are looked at when a release is made


class Background(Attack):
    name: ClassVar[str] = "background"
    title: ClassVar[str] = "sensitive background knowledge: other sensitive values of a person"
    reference: ClassVar[str] = "Ye et al. 2009"
    headline: ClassVar[str] = "people's {attribute} guessed right by whoever knows their other sensitive values"

    def applies(self, release: Release) -> bool:
        return not release.traits.lists_values and bool(questions(release, knowing_sensitive=True))

    def at_publication(self, release: Release) -> bool:
        return (
            super().at_publication(release)
            and not release.traits.has_subtables
            and len(sensitive_attributes(release)) <= FEW
        )

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> list[Result]:
        return guess_results(self.name, release, original, options, questions(release, knowing_sensitive=True))


ATTACK = Background()
