"""Suppression: what being suppressed, or without a group in a slice, says of a person.

Definition  Somebody known to be in the table whom no published row covers was suppressed, and what is suppressed are
            mostly the commonest values. `success` is how often the commonest published value is theirs, `worst` the
            share of the value that most of them have; beside `prior`, the commonest value of everybody. The same for
            people all of whose candidate rows have no group in a slice (the SLOMS paper's NA).
            Where rows without a value were dropped (`if_missing: drop`), being suppressed says that: `success` is then
            how many of those suppressed have none, beside `prior`, how many of everybody.
            Of values that `at_most` or `gain` bounds, the one that comes nearest its bound, or exceeds it most, is
            asked about by itself, beside its bound: `success` is how many of those suppressed have it, `worst` how
            many beyond doubt.
Reference   Han et al.: SLOMS, 2013, and S1 in docs/methods/sloms.md.
Exposed     whatever suppresses rows: a score, since a claim of l speaks of people who are published. Claims of at_most
            and gain are kept for these, too, and compared. A row without a group is published, so that claims speak
            of it, and it is protected by nothing: there the claim's bound is compared.
Exact       where quasi-identifiers are published as they are; by labels, of a sample of people above `sample`. People
            whose value is missing are not asked for it. Who is suppressed, but covered by rows of others, cannot
            be told.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.adversary.bounded_values import bounds_on
from pluralis.attacks.adversary.candidate_rows import BOX, CLASS
from pluralis.attacks.adversary.group_values import PEOPLE, TableView, table_views
from pluralis.attacks.adversary.knowledge import (
    Question,
    prior_guess,
    promised,
    quasi_identifiers,
    sensitive_attributes,
)
from pluralis.attacks.adversary.posterior import Targets, is_likeliest
from pluralis.attacks.base import DOUBT, Attack, Options, Result, interval, score
from pluralis.release.attributes import attributes_of
from pluralis.release.original import original_values
from pluralis.release.release import Release

Flags = npt.NDArray[np.bool_]
UNCOVERED = "people whom no row covers"
NO = "no "  # before the name of an attribute: that its value is missing


class Suppression(Attack):
    name: ClassVar[str] = "suppression"
    title: ClassVar[str] = "suppression: what being suppressed, or without a group, says"
    reference: ClassVar[str] = "Han et al. 2013"
    headline: ClassVar[str] = "the {attribute} of people who are suppressed or without a group guessed right"

    def applies(self, release: Release) -> bool:
        return bool(sensitive_attributes(release)) and (
            release.manifest.suppressed > 0 or bool(_marked_slices(release))
        )

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> list[Result]:
        seen = table_views(release, quasi_identifiers(release))
        exact = all(column.exact for view in seen for column in view.columns)
        everybody = replace(options, sample=max(options.sample, original.height)) if exact else options
        looked = [Targets(view, original, everybody) for view in seen if view.columns]
        results: list[Result] = []
        if not looked:
            return results
        if release.manifest.suppressed:
            gone = _uncovered(looked, original.height)
            for name in sensitive_attributes(release):
                results += self._values(looked, name, gone, original, marked=None)
                results += self._bounded_value(looked, name, gone, original)
                results += self._missing(looked, name, gone, original)
        for slice in _marked_slices(release):
            marked = _without_group(looked[0], slice, original.height)
            for name in sensitive_attributes(release):
                (values,) = looked[0].view.group_values((name,), None)
                if values.group == slice:
                    results += self._values(looked, name, marked, original, marked=slice)
        return results

    def _values(
        self, looked: list[Targets], name: str, chosen: Flags, original: pl.DataFrame, *, marked: str | None
    ) -> list[Result]:
        """What the chosen people have of an attribute, guessed to be the commonest published value."""
        view = _view_with(looked, name)
        if view is None:
            return []
        release = view.release
        values = original_values(original.filter(pl.Series(chosen)), attributes_of(release)[name], release.manifest)
        values = values.drop_nulls()
        if not values.len():
            return []
        published = _published_shares(view, name)
        likeliest = np.flatnonzero(is_likeliest(published, published.max()))
        codes = view.domain(name).codes(values, attributes_of(release)[name]).to_numpy()
        success = float(np.isin(codes, likeliest).mean() / likeliest.size)
        top = np.bincount(codes + 1)
        share, usual = float(top.max() / codes.size), np.append(0.0, published)[top.argmax()]
        targets = int(codes.size)
        sampled = any(some.sampled for some in looked)
        question = Question(name, tuple(quasi_identifiers(release)), (), None)
        whom = UNCOVERED if marked is None else f"people whose rows have no {marked}"
        return [
            Result(
                attack=self.name,
                question=f"{question}, of {whom}",
                attribute=name,
                adversary=question.adversary,
                **score(success, targets, sampled),
                prior=prior_guess(release, original, name),
                promised=None if marked is None else promised(release.manifest.claims, name, question.quasi),
                worst=share,
                witness=None if marked is None else f"{marked} is empty",
                whom=whom,
                note=f"{share:.0%} of them share a value, which {usual:.0%} of the published rows have",
            )
        ]

    def _bounded_value(self, looked: list[Targets], name: str, gone: Flags, original: pl.DataFrame) -> list[Result]:
        """How many of those suppressed have the value that comes nearest to a bound of its own, or exceeds it most.

        `worst` is what is beyond doubt by so many people: of few, who happen to have it, nothing is learned.
        """
        view = _view_with(looked, name)
        question = Question(name, tuple(quasi_identifiers(looked[0].view.release)), (), None)
        bounds_of_values = bounds_on(view, question, view.release.manifest.claims) if view is not None else {}
        if view is None or not bounds_of_values:
            return []
        info = attributes_of(view.release)[name]
        values = original_values(original, info, view.release.manifest)
        codes = view.domain(name).codes(values, info).to_numpy()
        theirs = codes[gone & values.is_not_null().to_numpy()]
        if not theirs.size:
            return []
        shares = {code: float((theirs == code).mean()) for code in bounds_of_values}
        code = max(shares, key=lambda one: (shares[one] / bounds_of_values[one], -one))
        text, sampled = str(view.domain(name).texts[code]), any(targets.sampled for targets in looked)
        return [
            Result(
                attack=self.name,
                question=f"{name} = {text}, knowing {', '.join(question.quasi) or 'nothing'}, of {UNCOVERED}",
                attribute=name,
                adversary=question.adversary,
                **score(shares[code], int(theirs.size), sampled),
                prior=float((codes == code).mean()),
                promised=bounds_of_values[code],
                worst=interval(shares[code], int(theirs.size), DOUBT)[0],
                note=f"{shares[code]:.0%} of {theirs.size:,} have it; `worst` is what is beyond doubt",
                value=text,
                whom=UNCOVERED,
            )
        ]

    def _missing(self, looked: list[Targets], name: str, gone: Flags, original: pl.DataFrame) -> list[Result]:
        """Whether people are suppressed because they have no value. No claim is about that: `attribute` is None."""
        view = _view_with(looked, name)
        if view is None:
            return []
        release = view.release
        missing = original_values(original, attributes_of(release)[name], release.manifest).is_null().to_numpy()
        if not (missing & gone).any():
            return []
        success, sampled = float(missing[gone].mean()), any(targets.sampled for targets in looked)
        known = tuple(quasi_identifiers(release))
        return [
            Result(
                attack=self.name,
                question=f"{NO}{name}, knowing {', '.join(known) or 'nothing'}, of {UNCOVERED}",
                attribute=None,
                adversary=known,
                **score(success, int(gone.sum()), sampled),
                prior=float(missing.mean()),
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


def _view_with(looked: list[Targets], name: str) -> TableView | None:
    """The first table that tells of an attribute."""
    return next((targets.view for targets in looked if name in targets.view.attributes), None)


def _published_shares(view: TableView, name: str) -> npt.NDArray[np.float64]:
    """How common each published value is."""
    (values,) = view.group_values((name,), None)
    counts = np.bincount(values.rows[name].to_numpy(), values.rows[PEOPLE].to_numpy(), view.domain(name).keys.len())
    return np.asarray(counts / counts.sum(), np.float64)


def _marked_slices(release: Release) -> list[str]:
    """The group columns with an empty cell."""
    if not release.traits.has_slices:
        return []
    rows = release.tables["quasi"]
    return [name for name in release.info("quasi").names("group") if rows[name].null_count()]


def _uncovered(looked: list[Targets], rows: int) -> Flags:
    """The people whom some table does not cover."""
    gone = np.zeros(rows, np.bool_)
    for targets in looked:
        gone[targets.rows[targets.candidates == 0]] = True
    return gone


def _without_group(targets: Targets, column: str, rows: int) -> Flags:
    """The people all of whose candidate rows lack a group."""
    boxes = targets.boxes.group_by(BOX).agg(pl.col(column).is_null().all().alias("\0none"))
    classes = targets.covering.join(boxes, on=BOX).group_by(CLASS).agg(pl.col("\0none").all())
    bare = classes.filter(pl.col("\0none"))[CLASS].to_numpy()
    chosen = np.zeros(rows, np.bool_)
    chosen[targets.rows[np.isin(targets.class_of, bare)]] = True
    return chosen


ATTACK = Suppression()
