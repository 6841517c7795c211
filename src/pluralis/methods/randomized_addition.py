"""Randomized addition: quasi values stay as they are, a sensitive value becomes a set of l values that holds it.

Paper      Sei, Ohsuga: Randomized Addition of Sensitive Attributes for l-diversity. SECRYPT 2014. Algorithm 1.
Words      design = how sets are drawn; dummy = a value of the set that is not the true one.
Departs    dummies are drawn from a calibrated design (`addition`): the paper's, all equally likely, leave a value that
           fills 90 % of the rows to be guessed with 90 %. `variant: paper` restores them; the audit then refuses the
           claim 1/l wherever the data are skewed, and `claim: set-size` promises l values in a set and no more.
           Sets are a keyed function of the row or person, so that publishing again repeats them.

Theorem (n1/n <= 1/l): to whoever takes the published weights for how common values are, and people to be alike in that,
each value of a published set is the true one with probability 1/l, exactly. The weights are the counts but for a
rounding that hides them (`addition`). Nothing is promised against who knows more: that people of some quasi values have
one secret more often than others (`breaks`), or a person's other secrets.

Every value stands in l sets or more, or sets are drawn again in the next `attempt`: a value that one set lists is
known to be true there. (Where only the size of sets is promised, this is not.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import Field

from pluralis.addition import MOST, Design, Value, blurred, posteriors
from pluralis.eligibility import refuse_k, require_eligible, require_sensitive
from pluralis.errors import Infeasible, InputError, ReleaseError
from pluralis.identity import identity_of, row_words, shared_draws, value_words
from pluralis.kernels.addition import calibrated_sets, tally, uniform_sets
from pluralis.methods.base import Method
from pluralis.plan import LEFT_OUT, Plan
from pluralis.policy import Policy
from pluralis.progress import stage
from pluralis.randomness import Draw
from pluralis.spelling import cores
from pluralis.table import Column, Table

ATTEMPTS = 100
DRIFT = 1.1  # how many times 1/l a design that is used again may come to
SINGULAR = 1e8


class RandomizedAddition(Method):
    """Draw dummies, the same ones whenever the row is published."""

    name: ClassVar[str] = "randomized-addition"
    title: ClassVar[str] = "quasi values as they are, each secret among l - 1 drawn ones; counts with exact error bars"
    paper: ClassVar[str] = "Sei and Ohsuga, SECRYPT 2014"
    kind: ClassVar[str] = "candidates"
    keeps: ClassVar[bool] = True
    guarantee: ClassVar[str] = (
        "Each value of a published set is the true one with probability 1/l, to whoever knows how common each value is."
    )
    breaks: ClassVar[tuple[str, ...]] = (
        "non-uniform prior: whoever knows, or learns from all sets, that people of some quasi values have a secret "
        "more often weighs a set by that; where people who are alike all have it, their sets give it away",
        "exact totals: whoever knows to the person how many have a rare value can tell more of the sets that list it",
    )

    claim: Literal["posterior", "set-size"] = Field(
        default="posterior", description="what is promised: a guess of at most 1/l, or l values in every set"
    )

    def plan(self, table: Table, policy: Policy, draw: Draw) -> Plan:
        require_sensitive(table, self.name)
        refuse_k(policy, self.name)
        _refuse_models(policy)
        if self.claim == "posterior":
            _refuse_known_secrets(policy)
        uniform = self.variant == "paper"
        for column in table.sensitive:
            if column.size > 2:
                _require_others(column, policy.l(column.name))
        kept = np.arange(table.rows) if uniform else require_eligible(table, policy, draw)
        for column in table.sensitive:  # of one or two values it is better to say first that they are too skewed
            _require_others(column, policy.l(column.name))
        group_of = np.full(table.rows, LEFT_OUT, np.int64)
        group_of[kept] = 0
        designs, sets = {}, {}
        with stage("drawing sets"):
            for column in table.sensitive:
                counts = np.bincount(column.codes[kept], minlength=column.size)
                _require_same_rows(column, identity_of(table, policy.person), draw)
                design, place = _design(column, policy.l(column.name), None if uniform else counts, draw)
                crowd = design.l if self.claim == "posterior" else 0
                designs[column.name], sets[column.name] = _drawn(table, column, place, kept, design, draw, crowd)
        return Plan(kind=self.kind, group_of=group_of, sets=sets, designs=designs, claim=self.claim)


def _refuse_models(policy: Policy) -> None:
    for name in policy.sensitive:
        model = policy.columns[name].model
        if model != "frequency":
            raise Infeasible(
                f"{name!r} asks for model: {model}, which is about groups; randomized-addition makes none. Remove it; "
                "options: {claim: set-size} promises l values and no more."
            )


def _refuse_known_secrets(policy: Policy) -> None:
    for known, name in policy.promises:
        if known & set(policy.sensitive):
            raise Infeasible(
                f"Randomized addition cannot promise 1/l for {name!r} against whoever knows "
                f"{', '.join(sorted(known & set(policy.sensitive)))}: secrets that go together tell of each other. "
                "Remove that adversary, use method: sloms or decomposition, or promise options: {claim: set-size}."
            )


def _require_others(column: Column, l: int) -> None:
    if l >= column.size:
        raise Infeasible(
            f"{column.name!r} has {column.size} values, and sets of {l} would hold "
            f"{'all of them and tell nothing' if l == column.size else 'more'}. "
            + (f"Set l: {column.size - 1} or less." if column.size > 2 else "Use another method, such as anatomy.")
        )


def _require_same_rows(column: Column, identity: list[str], draw: Draw) -> None:
    """Refuse to draw again for rows that were other rows: who they are is what sets are drawn for."""
    earlier = draw.key.designs.get(column.name, {}).get("identity", identity)
    if earlier != identity:
        raise Infeasible(
            f"{column.name!r} was published under this key for rows known by {', '.join(earlier)}; now they would be "
            f"known by {', '.join(identity)}, and get other sets, which can be intersected with the first. Keep those "
            "columns and `person`, or publish to another folder with a new key, knowing that."
        )


def _design(
    column: Column, l: int, counts: npt.NDArray[np.int64] | None, draw: Draw
) -> tuple[Design, npt.NDArray[np.int32]]:
    """The design for a column, and the place in it of each code: the one that the key holds, or a new one."""
    earlier = draw.key.designs.get(column.name)
    if earlier is None:
        held = np.arange(column.size) if counts is None else np.flatnonzero(counts)
        place = np.zeros(column.size, np.int32)
        place[held] = np.arange(held.size)
        values = tuple(column.values[code] for code in held.tolist())
        near = None if counts is None else blurred(counts[held], value_words(column, draw)[held] / 2.0**64, l)
        design = Design(values, l, near, true=None if counts is None else counts[held])
        _require_estimable(design, column)
        return design, place
    try:
        design = Design.of(earlier, earlier.get("l"))
        then = np.array(earlier["counts"], np.float64) if counts is not None else np.empty(0)
    except (ReleaseError, KeyError, ValueError, TypeError):
        raise InputError("The key holds a damaged design. Restore the private folder.") from None
    place_of = {core: i for i, core in enumerate(_cores(design.values))}
    mine = _cores(column.values)
    new = [value for value, core in zip(column.values, mine, strict=True) if core not in place_of]
    name = f"{column.name!r} was published under this key"
    if design.l != l or (design.counts is None) != (counts is None):
        raise Infeasible(
            f"{name} in sets of {design.l} values by {design.name} addition. Other sets of the same people can be "
            "intersected with those: keep l and variant, or publish to another folder with a new key, knowing that."
        )
    if new:
        raise Infeasible(
            f"{name} without the value {new[0]!r}. A set that may hold it shows that it is new: leave such rows out, "
            "or publish to another folder with a new key, knowing that both releases can be intersected."
        )
    place = np.array([place_of[core] for core in mine], np.int32)
    if counts is not None:
        now = np.zeros(design.m)
        np.add.at(now, place, counts)
        worst = float(posteriors(design.sets, now, 1 / then).max())
        if worst * l > DRIFT:
            raise Infeasible(
                f"{name} when its values were more evenly spread for that design: some value would now be guessed with "
                f"{worst:.1%}, not {1 / l:.1%}. Publish to another folder with a new key, knowing that both releases "
                "can be intersected."
            )
    return design, place


def _cores(values: Sequence[Value]) -> list[Value]:
    """Values whatever their spelling, so that the commonest one may change."""
    return cores(pl.Series(values)).to_list() if isinstance(values[0], str) else list(values)


def _require_estimable(design: Design, column: Column) -> None:
    """Refuse a design of which nothing could be estimated."""
    if design.counts is None:
        return
    if design.m > MOST:
        raise Infeasible(
            f"{column.name!r} has {design.m:,} values; calibrated addition takes up to {MOST:,}. Add bin: to round "
            "numbers, or use variant: paper with options: {claim: set-size}."
        )
    if np.linalg.cond(design.held) > SINGULAR:
        top = column.text(int(column.counts.argmax()))
        lower = f"Set l: {design.l - 1}, or use" if design.l > 2 else "Use"
        raise Infeasible(
            f"{column.name!r} at l = {design.l}: {top!r} would stand in every set, so that nothing could be estimated "
            f"of it. {lower} variant: paper with options: {{claim: set-size}}."
        )


def _drawn(
    table: Table,
    column: Column,
    place: npt.NDArray[np.int32],
    kept: npt.NDArray[np.int64],
    design: Design,
    draw: Draw,
    crowd: int,
) -> tuple[Design, npt.NDArray[np.int32]]:
    """The set of each row, and the design with the attempt that gave them: the first with values in `crowd` sets."""
    words = row_words(table, column, draw)
    codes = place[column.codes]
    again = column.name in draw.key.designs
    for attempt in [design.attempt] if again else range(ATTEMPTS):
        pair = draw.pair(f"set of {column.name}, {attempt}")
        if design.counts is None:
            sets: npt.NDArray[np.int32] = uniform_sets(codes, words, *pair, design.m, design.l)
        else:
            total = int(design.counts.sum())
            sets = calibrated_sets(codes, words, *pair, design.counts, total, design.l, design.sets, *design.lines)
        listed = tally(sets if kept.size == len(sets) else sets[kept], design.m)
        alone = np.flatnonzero((listed > 0) & (listed < crowd))
        if not alone.size:
            return replace(design, attempt=attempt, effect=shared_draws(table, column)), sets
    value = column.text(int(np.flatnonzero(place == alone[0])[0]))
    raise Infeasible(
        f"{value!r} of {column.name!r} is so rare that fewer than {crowd} sets would list it: whoever sees them would "
        "know more than 1/l. Join it with another value, leave its rows out, or promise options: {claim: set-size}."
    )


METHOD = RandomizedAddition
