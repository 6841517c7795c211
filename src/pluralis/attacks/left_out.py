"""Left-out rows: what being suppressed or marked says of a person.

Definition  Somebody known to be in the table whom no published row covers was left out, and what is left out are
            mostly the commonest values. `success` is how often the commonest published value is theirs, `worst` the
            share of the value that most of them have; beside `blind`, the commonest value of everybody. The same for
            people all of whose candidate rows are marked: they have no group in a slice (the SLOMS paper's NA).
            Where rows without a value were dropped (`if_missing: drop`), being left out says that: `success` is then
            how many of those left out have none, beside `blind`, how many of everybody.
Reference   Han et al.: SLOMS, 2013, and its hole S1.
Exposed     whatever leaves rows out: a score, since no claim speaks of people who are not published. A marked row is
            published, so that claims speak of it, and it is protected by nothing: there the claim's bound is
            compared.
Exact       where quasi values are published as they are; by labels, of a sample of people above `sample`. People
            whose secret is missing are not asked for its value. Who is left out, but covered by rows of others, cannot
            be told.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.adversary.group_values import PEOPLE, View, secrets_of, views
from pluralis.attacks.adversary.posterior import BOX, CLASS
from pluralis.attacks.adversary.questions import Question, Targets, blind_guess, promised, quasi_of
from pluralis.attacks.base import Attack, Options, Result, bounds
from pluralis.release.attributes import attributes_of
from pluralis.release.original import original_values
from pluralis.release.release import Release

Flags = npt.NDArray[np.bool_]
NO = "no "  # before the name of an attribute: that its value is missing


class LeftOut(Attack):
    name: ClassVar[str] = "left-out"
    title: ClassVar[str] = "left-out rows: what being left out or marked says"
    reference: ClassVar[str] = "Han et al. 2013"
    gets: ClassVar[str] = "the {attribute} of people who are left out or marked guessed right"

    def applies(self, release: Release) -> bool:
        return bool(secrets_of(release)) and (release.manifest.suppressed > 0 or bool(_marked_slices(release)))

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> list[Result]:
        quasi = quasi_of(release)
        seen = views(release, quasi)
        exact = all(column.exact for view in seen for column in view.columns)
        everybody = replace(options, sample=max(options.sample, original.height)) if exact else options
        looked = [Targets(view, original, everybody) for view in seen if view.columns]
        results: list[Result] = []
        if not looked:
            return results
        if release.manifest.suppressed:
            gone = _uncovered(looked, original.height)
            for name in secrets_of(release):
                results += self._told(looked, name, gone, original, marked=None)
                results += self._missing(looked, name, gone, original)
        for slice in _marked_slices(release):
            marked = _without_group(looked[0], slice, original.height)
            for name in secrets_of(release):
                (held,) = looked[0].view.holding((name,), None)
                if held.group == slice:
                    results += self._told(looked, name, marked, original, marked=slice)
        return results

    def _told(
        self, looked: list[Targets], name: str, chosen: Flags, original: pl.DataFrame, *, marked: str | None
    ) -> list[Result]:
        told = next((of for of in looked if name in of.view.attributes), None)
        if told is None:
            return []
        release, view = told.view.release, told.view
        values = original_values(original.filter(pl.Series(chosen)), attributes_of(release)[name], release.manifest)
        values = values.drop_nulls()
        if not values.len():
            return []
        published = _published(view, name)
        best = np.flatnonzero(published >= published.max() - 1e-9)
        codes = view.domain(name).codes(values, attributes_of(release)[name]).to_numpy()
        success = float(np.isin(codes, best).mean() / best.size)
        top = np.bincount(codes + 1)
        share, prior = float(top.max() / codes.size), np.append(0.0, published / published.sum())[top.argmax()]
        targets = int(codes.size)
        sampled = any(of.sampled for of in looked)
        question = Question(name, tuple(quasi_of(release)), (), None)
        how = "whom no row covers" if marked is None else f"whose rows have no {marked}"
        return [
            Result(
                attack=self.name,
                question=f"{question}, of people {how}",
                attribute=name,
                adversary=question.adversary,
                targets=targets,
                sampled=sampled,
                success=success,
                **bounds(success, targets, sampled),
                blind=blind_guess(release, original, name),
                promised=None if marked is None else promised(release.manifest.claims, name, question.quasi),
                worst=share,
                witness=None if marked is None else f"{marked} is empty",
                note=f"{share:.0%} of them share a value, which {prior:.0%} of the published rows have",
            )
        ]

    def _missing(self, looked: list[Targets], name: str, gone: Flags, original: pl.DataFrame) -> list[Result]:
        """Whether people are left out because they have no value. No claim is about that: `attribute` is None."""
        told = next((of for of in looked if name in of.view.attributes), None)
        if told is None:
            return []
        release = told.view.release
        missing = original_values(original, attributes_of(release)[name], release.manifest).is_null().to_numpy()
        if not (missing & gone).any():
            return []
        success, sampled = float(missing[gone].mean()), any(of.sampled for of in looked)
        ends = bounds(success, int(gone.sum()), sampled)
        known = tuple(quasi_of(release))
        return [
            Result(
                attack=self.name,
                question=f"{NO}{name}, knowing {', '.join(known) or 'nothing'}, of people whom no row covers",
                attribute=None,
                adversary=known,
                targets=int(gone.sum()),
                sampled=sampled,
                success=success,
                low=ends["low"],
                high=ends["high"],
                blind=float(missing.mean()),
                promised=None,
                worst=success,
                witness=None,
                note=f"{success:.0%} of them have no {name}, of everybody {missing.mean():.0%}",
            )
        ]

    def subject(self, result: Result) -> str:
        if result.attribute is None:
            return f"people whom no row covers rightly taken to have {result.question.partition(', knowing ')[0]}"
        return super().subject(result)


def _published(view: View, name: str) -> npt.NDArray[np.float64]:
    """How common each published value is."""
    (held,) = view.holding((name,), None)
    counts = np.bincount(held.rows[name].to_numpy(), held.rows[PEOPLE].to_numpy(), view.domain(name).keys.len())
    return counts.astype(np.float64)


def _marked_slices(release: Release) -> list[str]:
    """The group columns with an empty cell."""
    if release.kind != "sliced":
        return []
    rows = release.tables["quasi"]
    return [name for name in release.info("quasi").names("group") if rows[name].null_count()]


def _uncovered(looked: list[Targets], rows: int) -> Flags:
    """The people whom some table does not cover."""
    gone = np.zeros(rows, np.bool_)
    for of in looked:
        gone[of.of_row[of.candidates == 0]] = True
    return gone


def _without_group(of: Targets, column: str, rows: int) -> Flags:
    """The people all of whose candidate rows lack a group."""
    boxes = of.boxes.group_by(BOX).agg(pl.col(column).is_null().all().alias("\0none"))
    classes = of.around.join(boxes, on=BOX).group_by(CLASS).agg(pl.col("\0none").all())
    bare = classes.filter(pl.col("\0none"))[CLASS].to_numpy()
    chosen = np.zeros(rows, np.bool_)
    chosen[of.of_row[np.isin(of.number, bare)]] = True
    return chosen


ATTACK = LeftOut()
