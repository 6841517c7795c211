"""Sensitive background knowledge: whoever knows some secrets of a person asks for another.

Definition  For every sensitive attribute and every subset of the others, known exactly, beside all quasi values (and
            for the adversaries that claims name): `worst` is the largest share that one value has among the people of
            a group with one combination of what is known; `success` is how often the likeliest value, given a
            person's true secrets, is right. Of a decomposed release `worst` is as for homogeneity, and also the
            largest share in the sensitive table, where that is published jointly, among its rows with what is known.
Reference   Ye et al.: Decomposition, 2009 (d-SA-l-diversity); Han et al.: SLOMS, 2013.
Exposed     whatever publishes secrets side by side: linked groups and slices, a joint sensitive table. Where they
            stand apart, a known secret tells only which of several groups a person is in, if anything.
Exact       `worst` always; beyond 64 subsets of one attribute's others, the smaller ones and the largest. `success`
            of all people up to `sample`, of a sample above.
"""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from pluralis.attacks.adversary.group_values import secrets_of
from pluralis.attacks.adversary.questions import questions
from pluralis.attacks.base import Attack, Options, Result
from pluralis.attacks.homogeneity import ask
from pluralis.release.release import Release

FEW = 3  # secrets, whose subsets are looked at when a release is made


class Background(Attack):
    name: ClassVar[str] = "background"
    title: ClassVar[str] = "sensitive background knowledge: other secrets of a person"
    reference: ClassVar[str] = "Ye et al. 2009"
    gets: ClassVar[str] = "people's {attribute} guessed right by whoever knows other secrets of theirs"

    def applies(self, release: Release) -> bool:
        return release.kind != "candidates" and bool(questions(release, of_secrets=True))

    def at_publication(self, release: Release) -> bool:
        return super().at_publication(release) and release.kind != "multi" and len(secrets_of(release)) <= FEW

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> list[Result]:
        return ask(self.name, release, original, options, questions(release, of_secrets=True))


ATTACK = Background()
