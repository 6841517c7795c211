"""Several releases that tell of the same people: what of a person all of them leave possible.

In each release a person may be some rows, and has a value that one of them may have. Whoever has several releases keeps
the values that are possible in all. That is certain: so a person of whom n values remain is guessed, by the best guess
that there is, with 1/n at least, however the releases depend on each other. The guess that is scored weighs what is
left by the product of what each release says.

A release promises 1/l to whoever has it alone; no claim names whoever has others, too. So what several tell together
breaks no promise: it is a score (`promised` is None), and the note says of how many people fewer than l values remain.
`worst` is 1/n of the person of whom fewest remain, if these are fewer than by the release alone; else None.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.adversary.knowledge import commonest_share
from pluralis.attacks.adversary.posterior import CELLS, Posterior, chance_of_right
from pluralis.attacks.adversary.published_values import PublishedValues, published_values
from pluralis.attacks.base import Options, Result, score
from pluralis.release.manifest import Claim
from pluralis.release.release import Release
from pluralis.table.labels import number_texts
from pluralis.table.spelling import cores

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


class Remaining(NamedTuple):
    """What several releases leave possible of the people of a claim.

    `right` are guessed by all releases, `alone` by the first. Of `gained` people fewer values remain than by the first
    alone, of `short` also fewer than l, of `certain` one; `fewest` is how many remain where they are fewest.
    """

    claim: Claim
    targets: int
    sampled: bool
    right: float
    alone: float
    prior: float
    gained: int
    short: int
    certain: int
    fewest: int


def joint_results(name: str, release: Release, others: Sequence[Release], original: pl.DataFrame, options: Options,
             whom: str) -> Iterator[Result]:  # fmt: skip
    """A result for each claim of a release: what it and some other releases say together."""
    for left in remaining(release, others, original, options):
        yield _result(name, left, whom)


def remaining(
    release: Release, others: Sequence[Release], original: pl.DataFrame, options: Options
) -> Iterator[Remaining]:
    """For each claim of a release what it and some other releases leave possible."""
    every = [published_values(one) for one in (release, *others)]
    for claim in _strictest_claims(release):
        about = [[values for values in some if values.attribute == claim.attribute] for some in every]
        if about[0] and any(about[1:]):
            yield _remaining_of_claim(claim, about, original, options)


def _strictest_claims(release: Release) -> list[Claim]:
    """One claim for each adversary and attribute, the strictest."""
    claims = [claim for claim in release.manifest.claims if claim.attribute is not None and claim.l is not None]
    strict = sorted(claims, key=lambda claim: -(claim.l or 0))
    return list({(claim.attribute, claim.adversary): claim for claim in reversed(strict)}.values())


def _remaining_of_claim(
    claim: Claim, published: Sequence[Sequence[PublishedValues]], original: pl.DataFrame, options: Options
) -> Remaining:
    targets = options.targets(original.height)
    releases = SeveralReleases(published, claim.adversary)
    truth = releases.true_codes(original)
    right = alone = 0.0
    gained = short = certain = 0
    fewest, step = releases.values + 1, max(1, CELLS // max(1, 3 * releases.values))
    for begin in range(0, targets.size, step):
        some = targets[begin : begin + step]
        first, *rest = (releases.posterior(i, original, some) for i in range(len(published)))
        all_of_them = first * np.prod(rest, axis=0)
        true = truth[some]
        possible = (all_of_them > 0).sum(axis=1)
        true_remains = (all_of_them[np.arange(some.size), np.maximum(true, 0)] > 0) & (true >= 0)
        fewer = true_remains & (possible < (first > 0).sum(axis=1))
        right += float(chance_of_right(all_of_them, true).sum())
        alone += float(chance_of_right(first, true).sum())
        gained += int(fewer.sum())
        short += int(((possible < (claim.l or 0)) & fewer).sum())
        certain += int(((possible == 1) & fewer).sum())
        fewest = min(fewest, int(possible[fewer].min(initial=fewest)))
    sampled = targets.size < original.height
    prior = commonest_share(truth)
    return Remaining(claim, targets.size, sampled, right, alone, prior, gained, short, certain, fewest)


def _result(name: str, left: Remaining, whom: str) -> Result:
    claim, size = left.claim, max(1, left.targets)
    before = f"{left.alone / size:.3f} are guessed by this release alone"
    more = f"fewer values remain for {left.gained:,}, fewer than {claim.l} for {left.short:,}" if left.gained else ""
    return Result(
        attack=name,
        question=f"{claim.attribute}, knowing {', '.join(claim.adversary) or 'nothing'} and {whom}",
        attribute=claim.attribute,
        adversary=claim.adversary,
        **score(left.right / size, left.targets, left.sampled),
        prior=left.prior,
        worst=1 / left.fewest if left.gained else None,
        note=f"{before}; {more or 'the others add nothing'}; 1/{claim.l} is promised to whoever has this release alone",
    )


@dataclass(frozen=True, eq=False)
class SeveralReleases:
    """What releases say of an attribute, each in one or several tables, to whoever knows some columns."""

    published: Sequence[Sequence[PublishedValues]]
    known: Sequence[str]

    @cached_property
    def _texts(self) -> list[list[pl.Series]]:
        return [[_spelled(values) for values in some] for some in self.published]

    @cached_property
    def _domain(self) -> pl.Series:
        return pl.concat([text for some in self._texts for text in some]).unique(maintain_order=True)

    @property
    def values(self) -> int:
        return self._domain.len()

    @cached_property
    def _posteriors(self) -> list[list[tuple[Posterior, Ints]]]:
        """What each table says, and the places of its values among all."""
        domain = self._domain.to_frame("value").with_row_index("place")
        posteriors: list[list[tuple[Posterior, Ints]]] = []
        for some, texts in zip(self.published, self._texts, strict=True):
            posteriors.append([])
            for values, text in zip(some, texts, strict=True):
                known = [name for name in values.quasi if name in self.known]
                places = text.to_frame("value").join(
                    domain, on="value", how="left", nulls_equal=True, maintain_order="left"
                )["place"]
                posteriors[-1].append((Posterior.by_groups(values, known), places.cast(pl.Int64).to_numpy()))
        return posteriors

    def true_codes(self, original: pl.DataFrame) -> npt.NDArray[np.int32]:
        """The place of everybody's true value among all; -1 where no release has it."""
        _, places = self._posteriors[0][0]
        codes = self.published[0][0].true_codes(original)
        return np.where(codes >= 0, places[np.maximum(codes, 0)] if places.size else -1, -1).astype(np.int32)

    def posterior(self, i: int, original: pl.DataFrame, targets: Ints) -> Reals:
        """[target, value]: what release i says; every value alike where it has no row of the person."""
        out = np.ones((targets.size, self.values))
        for posterior, places in self._posteriors[i]:
            for part in posterior.of_people(original, targets):
                here = np.zeros((part.targets.size, self.values))
                here[:, places] = part.probability
                here[part.rows == 0] = 1.0
                out[part.targets] *= here
        return out


def _spelled(published: PublishedValues) -> pl.Series:
    """Values as text, in one spelling for all releases."""
    if published.values.dtype == pl.String:
        keep_case = published.attribute in published.manifest.parameters.case
        return cores(published.values, fold_case=not keep_case)
    return number_texts(published.values)


def same_people(one: Release, other: Release) -> bool | None:
    """Whether two releases are of the same people, as far as they show it: as many, of the same quasi-identifiers.

    None where that cannot be told: quasi-identifiers are labels, or rows were suppressed.
    """
    total = [release.manifest.rows + release.manifest.suppressed for release in (one, other)]
    if total[0] != total[1] or one.kind != other.kind:
        return False
    shown = [_quasi_values(release) for release in (one, other)]
    if shown[0] is None or shown[1] is None or one.manifest.suppressed or other.manifest.suppressed:
        return None
    return shown[0].equals(shown[1])


def _quasi_values(release: Release) -> pl.DataFrame | None:
    """The quasi-identifiers of everybody in the first table that has them, sorted; None where they are labels."""
    info = next((info for info in release.manifest.tables if info.named("quasi")), None)
    if info is None or not all(column.exact for column in info.named("quasi")):
        return None
    names = sorted(info.names("quasi"))
    return release.tables[info.name].select(names).sort(names)
