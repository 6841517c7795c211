"""Values that a claim bounds, each by itself: how likely the likeliest of them is, beside its own bound.

A claim of 1/l bounds every value alike. `at_most` bounds those that it names, and `gain` each by its share: that others
are likelier is no breach, and no success. So the value that comes nearest its bound is asked about, and guessed of
those people only of whom it is most likely.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import polars as pl

from pluralis.attacks.adversary.candidate_rows import CLASS
from pluralis.attacks.adversary.group_values import GROUP_ID, PEOPLE, SHARE, TableView
from pluralis.attacks.adversary.knowledge import Question
from pluralis.attacks.adversary.posterior import VALUE, Guesses, Targets, Weakest, is_likeliest
from pluralis.release.attributes import attributes_of
from pluralis.release.manifest import Claim

BOUND, NEARNESS = "\0bound", "\0nearness"


class BoundedValue(NamedTuple):
    """The value that comes nearest to its bound in any group."""

    code: int
    text: str
    bound: float
    weakest: Weakest


def bounds_on(view: TableView, question: Question, claims: Sequence[Claim]) -> dict[int, float]:
    """The largest probability that claims allow each value for whoever knows no more than they say; codes by `view`."""
    knows = {*question.adversary}
    about = [claim for claim in claims if claim.attribute == question.attribute and knows <= {*claim.adversary}]
    bounds: dict[int, float] = {}
    info = attributes_of(view.release)[question.attribute]
    for claim in about:
        if claim.model == "at-most":
            (code,) = view.domain(question.attribute).codes(pl.Series([claim.value], dtype=pl.String), info)
            bounds[code] = min(bounds.get(code, 1.0), float(Fraction(claim.at_most or 1)))
        if claim.model == "gain" and claim.gain is not None:
            (values,) = view.group_values((question.attribute,), None)
            people_by_value = values.rows.group_by(question.attribute).agg(pl.col(PEOPLE).sum())
            for code, people in people_by_value.iter_rows():
                bounds[code] = min(bounds.get(code, 1.0), claim.gain * people / view.rows.height)
    return {code: bound for code, bound in bounds.items() if bound < 1}


def nearest_its_bound(view: TableView, question: Question, bounds: Mapping[int, float]) -> BoundedValue | None:
    """The value that comes nearest to its bound, and the group in which it does."""
    names = (question.attribute, *(name for name in question.sensitive if name in view.attributes))
    values = next(values for values in view.group_values(names, None) if question.attribute in values.attributes)
    known = [name for name in question.sensitive if name in values.attributes]
    limits = pl.DataFrame({question.attribute: [*bounds], BOUND: [*bounds.values()]})
    shares = values.shares([question.attribute], given=known)
    limits = limits.cast({question.attribute: shares.schema[question.attribute]})
    shares = shares.join(limits, on=question.attribute).with_columns((pl.col(SHARE) / pl.col(BOUND)).alias(NEARNESS))
    if not shares.height:
        return None
    top = shares.filter(pl.col(NEARNESS) == pl.col(NEARNESS).max()).sort(GROUP_ID, question.attribute, *known)
    row = top.row(0, named=True)
    words = [*([view.name] if view.name else []), *view.group_words(values.group, row[GROUP_ID])]
    words += [f"{name} = {view.domain(name).texts[row[name]]}" for name in known]
    code = row[question.attribute]
    text = str(view.domain(question.attribute).texts[code])
    return BoundedValue(code, text, row[BOUND], Weakest(float(row[SHARE]), ", ".join(words)))


def guess_value(targets: Targets, question: Question, code: int) -> Guesses:
    """How often one value is right of the people of whom it is likeliest."""
    known = [name for name in question.sensitive if name in targets.view.attributes]
    posterior = targets.posterior(question).filter(pl.col(VALUE) == code).select(CLASS, *known, SHARE)
    people = pl.DataFrame({CLASS: targets.class_of, **{name: targets.true_codes(name) for name in known}})
    people = people.with_columns(pl.Series(VALUE, targets.true_codes(question.attribute)))
    believed = people.join(posterior, on=[CLASS, *known])
    if not believed.height:
        return Guesses(0, 0.0, targets.sampled)
    likeliest = believed.filter(is_likeliest(pl.col(SHARE), pl.col(SHARE).max()))
    right = float(np.count_nonzero(likeliest[VALUE].to_numpy() == code))
    return Guesses(likeliest.height, right, targets.sampled)
