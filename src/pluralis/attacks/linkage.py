"""Linkage: how many published rows a person may be, by quasi values alone.

Definition  A person's candidates are the published rows whose quasi cells cover what is known: all quasi values, or
            those that a claim of k-anonymity names. Whoever picks one of them at random finds the person's own with
            probability 1 / candidates. `worst` is 1 / the fewest that any person has, and no more than k-anonymity
            lets it be: 1 / k, measured on the smallest group, or in a sliced release the smallest set of rows with
            equal labels. Finding a row tells no secret; it tells the group.
Reference   Sweeney: k-anonymity. IJUFKS 2002.
Exposed     every kind. Quasi values that are published as they are make nearly everybody's row findable: a score,
            unless k is promised.
Exact       the smallest group always; people's candidates of all people up to `sample`, of a sample above. Where rows
            were left out, nobody knows whose: people whom no row covers are not counted, and others as if published.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl

from pluralis.attacks.adversary.group_values import View, codes_of, core_of, dense, views
from pluralis.attacks.adversary.questions import Targets, quasi_of
from pluralis.attacks.base import Attack, Options, Result, bounds
from pluralis.release.manifest import Claim
from pluralis.release.release import GROUP, Release


class Linkage(Attack):
    name: ClassVar[str] = "linkage"
    title: ClassVar[str] = "linkage: finding a person's row"
    reference: ClassVar[str] = "Sweeney 2002"
    gets: ClassVar[str] = "people's rows found by their quasi values"

    def applies(self, release: Release) -> bool:
        return any(table.named("quasi") for table in release.manifest.tables)

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> list[Result]:
        promises = [claim for claim in release.manifest.claims if claim.k is not None]
        asked: dict[tuple[str, ...], Claim | None] = {tuple(quasi_of(release)): None}
        for claim in sorted(promises, key=lambda claim: claim.k or 0):
            asked[tuple(sorted(claim.adversary))] = claim
        results = []
        for known, promise in asked.items():
            by_table = {view.name: view for view in views(release, known) if view.columns}
            results += [self._of(view, promise, original, options) for view in by_table.values()]
        return results

    def _of(self, view: View, claim: Claim | None, original: pl.DataFrame, options: Options) -> Result:
        targets = Targets(view, original, options)
        candidates = targets.candidates
        found = candidates[candidates > 0]
        success = float((1 / found).mean()) if found.size else 0.0
        fewest = float(found.min()) if found.size else float(view.rows.height)
        smallest, witness = _smallest(view)
        if smallest < fewest or not found.size:
            fewest = smallest
        else:
            witness = None
        names = tuple(column.name for column in view.columns)
        left = int(candidates.size - found.size)
        return Result(
            attack=self.name,
            question=f"the row of a person{f' in {view.name}' if view.name else ''}, knowing {', '.join(names)}",
            attribute=None,
            targets=int(found.size),
            sampled=targets.sampled,
            success=success,
            **bounds(success, int(found.size), targets.sampled),
            blind=1 / max(1, view.rows.height),
            adversary=names,
            promised=None if claim is None or claim.k is None else 1 / claim.k,
            worst=1 / fewest if fewest else None,
            witness=witness,
            note=f"{left:,} people are covered by no row" if left else None,
        )


def _smallest(view: View) -> tuple[float, str | None]:
    """The fewest rows that look alike: of a group, or with equal labels where there are several groups, or values."""
    rows = view.rows
    if not rows.height:
        return 0.0, None
    if GROUP in rows.columns and not all(column.exact for column in view.columns):
        sizes = rows.group_by(GROUP).len().sort("len", GROUP)
        return float(sizes["len"][0]), f"group {sizes[GROUP][0]}"
    number = dense([codes_of([core_of(rows[column.name])])[0] for column in view.columns])
    rows_of = np.bincount(number)
    row = int(np.flatnonzero(number == rows_of.argmin())[0])
    labels = ", ".join(f"{column.name} = {rows[column.name][row]}" for column in view.columns)
    return float(rows_of.min()), labels


ATTACK = Linkage()
