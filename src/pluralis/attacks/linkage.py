"""Linkage: how many published rows a person may be, by quasi-identifiers alone.

Definition  A person's candidates are the published rows whose quasi-identifier cells cover what is known: all
            quasi-identifiers, or those that a claim of k-anonymity names. Whoever picks one of them at random finds the
            person's own with probability 1 / candidates. `worst` is 1 / the fewest that any person has, and no more
            than k-anonymity lets it be: 1 / k, measured on the smallest group, or in a sliced release the smallest set
            of rows with equal labels. Finding a row tells no sensitive value; it tells the group.
Reference   Sweeney: k-anonymity. IJUFKS 2002.
Exposed     every kind. Quasi-identifiers that are published as they are make nearly everybody's row findable: a score,
            unless k is promised.
Exact       the smallest group always; people's candidates of all people up to `sample`, of a sample above. Where rows
            were suppressed, nobody knows whose: people whom no row covers are not counted, and others as if published.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl

from pluralis.attacks.adversary.candidate_rows import row_numbers, shared_codes
from pluralis.attacks.adversary.group_values import TableView, table_views
from pluralis.attacks.adversary.knowledge import quasi_identifiers
from pluralis.attacks.adversary.posterior import Targets
from pluralis.attacks.base import Attack, Options, Result, score
from pluralis.release.manifest import Claim
from pluralis.release.release import GROUP, Release
from pluralis.table.dictionaries import different_values


class Linkage(Attack):
    name: ClassVar[str] = "linkage"
    title: ClassVar[str] = "linkage: finding a person's row"
    reference: ClassVar[str] = "Sweeney 2002"
    headline: ClassVar[str] = "people's rows found by their quasi-identifiers"

    def applies(self, release: Release) -> bool:
        return any(table.named("quasi") for table in release.manifest.tables)

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> list[Result]:
        promises = [claim for claim in release.manifest.claims if claim.k is not None]
        asked: dict[tuple[str, ...], Claim | None] = {tuple(quasi_identifiers(release)): None}
        for claim in sorted(promises, key=lambda claim: claim.k or 0):
            asked[tuple(sorted(claim.adversary))] = claim
        results = []
        for known, promise in asked.items():
            by_table = {view.name: view for view in table_views(release, known) if view.columns}
            results += [self._result(view, promise, original, options) for view in by_table.values()]
        return results

    def _result(self, view: TableView, claim: Claim | None, original: pl.DataFrame, options: Options) -> Result:
        targets = Targets(view, original, options)
        candidates = targets.candidates
        covered = candidates[candidates > 0]
        success = float((1 / covered).mean()) if covered.size else 0.0
        fewest = float(covered.min()) if covered.size else float(view.rows.height)
        smallest, witness = _fewest_alike(view)
        if smallest < fewest or not covered.size:
            fewest = smallest
        else:
            witness = None
        names = tuple(column.name for column in view.columns)
        left = int(candidates.size - covered.size)
        return Result(
            attack=self.name,
            question=f"the row of a person{f' in {view.name}' if view.name else ''}, knowing {', '.join(names)}",
            attribute=None,
            **score(success, int(covered.size), targets.sampled),
            prior=1 / max(1, view.rows.height),
            adversary=names,
            promised=None if claim is None or claim.k is None else 1 / claim.k,
            worst=1 / fewest if fewest else None,
            witness=witness,
            note=f"{left:,} people are covered by no row" if left else None,
        )


def _fewest_alike(view: TableView) -> tuple[float, str | None]:
    """The fewest rows that look alike: of a group, or with equal labels where there are several groups, or values."""
    rows = view.rows
    if not rows.height:
        return 0.0, None
    if GROUP in rows.columns and not all(column.exact for column in view.columns):
        groups, place = different_values(rows[GROUP])
        sizes = np.bincount(place)
        return float(sizes.min()), f"group {groups[int(sizes.argmin())]}"
    number = row_numbers((shared_codes([rows[column.name]])[0] for column in view.columns), rows.height)
    alike = np.bincount(number)
    row = int(np.flatnonzero(number == alike.argmin())[0])
    labels = ", ".join(f"{column.name} = {rows[column.name][row]}" for column in view.columns)
    return float(alike.min()), labels


ATTACK = Linkage()
