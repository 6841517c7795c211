"""Randomized addition: quasi-identifiers stay as they are, a sensitive value becomes a set of l values that holds it.

Paper      Sei, Ohsuga: Randomized Addition of Sensitive Attributes for l-diversity. SECRYPT 2014. Algorithm 1.
Words      design = how sets are drawn; dummy = a value of the set that is not the true one.
Departs    dummies are drawn from a calibrated design (`addition`): the paper's, all equally likely, leave a value that
           fills 90 % of the rows to be guessed with 90 %. `variant: paper` restores them; the audit then refuses the
           claim 1/l wherever the data are skewed, and `claim: set-size` promises l values in a set and no more.
           Sets are a keyed function of the row or person, so that publishing again repeats them.

Theorem 1 (n1/n <= 1/l): to whoever takes the published weights for how common values are, and people to be alike in
that, each value of a published set is the true one with probability 1/l, exactly. The weights are the counts but for a
rounding that hides them (`addition`); by the true shares it is no more than `Design.bound`, which is claimed beside
1/l, and refused where it exceeds FARTHEST/l: values are then too rare to be hidden. Nothing is promised against who
knows more: that people of some quasi-identifiers have one sensitive value more often than others (`breaks`).

Theorem 2: where all rows of a person hold one value, all of them together tell as much as one. They have one draw, for
the person and the value, so one set; P(all rows show R | v) = P(R | v), and the posterior is that of theorem 1. Rows
that hold several values cannot be drawn so: equal sets for different values would have to be drawn for what the values
have in common, and different sets show that values differ (l = 2, six values, four rows: 63 % guessed right). The
same is true of several attributes: the sets of all rows show how they go together, and that picks the pair in a row
(74 % of 25 promised). Both are refused where 1/l is claimed.

Every value stands in l sets or more, or sets are drawn again in the next `attempt`: a value that one set lists is
known to be true there. (Where only the size of sets is promised, none of this is.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import Field

from pluralis.errors import Infeasible, InputError, ReleaseError
from pluralis.grouping.addition import FARTHEST, MEMBERS, MOST, Design, Value, blurred, possible_counts, posteriors
from pluralis.grouping.eligibility import refuse_k, require_eligible, require_sensitive
from pluralis.grouping.plan import SUPPRESSED, CandidatesPlan, Plan
from pluralis.grouping.rare_values import joining_that_works
from pluralis.grouping.row_identity import identity_of, row_words, shared_draws, value_words
from pluralis.kernels.addition import calibrated_sets, tally, uniform_sets
from pluralis.method.base import Method
from pluralis.policy.attributes import Attribute
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.randomness import Draw
from pluralis.table.encoding import Column, Table
from pluralis.table.spelling import cores
from pluralis.threads import by_rows

ATTEMPTS = 100
SINGULAR = 1e8
SLACK = 1e-12
STARTS = np.arange(16) / 16  # of `blurred`, which a key decides


class RandomizedAddition(Method):
    """Draw dummies, the same ones whenever the row is published."""

    name: ClassVar[str] = "randomized-addition"
    title: ClassVar[str] = (
        "quasi-identifiers as they are, each sensitive value among l - 1 drawn ones; counts with exact error bars"
    )
    paper: ClassVar[str] = "Sei and Ohsuga, SECRYPT 2014"
    kind: ClassVar[str] = "candidates"
    keeps: ClassVar[bool] = True
    guarantee: ClassVar[str] = (
        "Each value of a published set is the true one with probability 1/l by the published weights, and by the true "
        "shares of values with no more than a bound that is stated."
    )
    breaks: ClassVar[tuple[str, ...]] = (
        "non-uniform prior: whoever knows, or learns from all sets, that people of some quasi-identifiers have a "
        "sensitive value more often weighs a set by that; where people who are alike all have it, their sets give it "
        "away",
        "exact totals: whoever knows to the person how many have a rare value can tell more of the sets that list it",
    )

    claim: Literal["posterior", "set-size"] = Field(
        default="posterior", description="what is promised: a guess of at most 1/l, or l values in every set"
    )

    def set_sized(self, policy: Policy) -> list[str]:
        return policy.sensitive if self.claim == "set-size" else []

    def plan(self, table: Table, policy: Policy, draw: Draw) -> Plan:
        require_sensitive(table, self.name)
        refuse_k(policy, self.name)
        _refuse_models(policy)
        if self.claim == "posterior":
            _refuse_several(policy)
        uniform = self.variant == "paper"
        for column in table.sensitive:
            if column.size > 2:
                _require_others(column, policy.l(column.name))
        kept = np.arange(table.rows) if uniform else require_eligible(table, policy, draw)
        for column in table.sensitive:  # of one or two values it is better to say first that they are too skewed
            _require_others(column, policy.l(column.name))
        group_of = np.full(table.rows, SUPPRESSED, np.int64)
        group_of[kept] = 0
        if self.claim == "posterior":
            _require_one_value(table, table.sensitive[0], kept)
        designs, sets, breaks = {}, {}, list[str]()
        with stage("drawing sets"):
            for column in table.sensitive:
                counts = np.bincount(column.codes[kept], minlength=column.size)
                _require_same_rows(column, identity_of(table, policy.person), draw)
                attribute = policy.columns[column.name]
                design, place = _design(column, policy.l(column.name), None if uniform else counts, draw, attribute)
                if self.claim == "posterior":
                    _require_near(design, column, place, counts, attribute)
                    breaks += _by_people(design, table, column, place, kept)
                crowd = design.l if self.claim == "posterior" else 0
                drawn = _drawn(table, column, place, kept, design, draw, crowd, attribute)
                designs[column.name], sets[column.name] = drawn
        notes = tuple(_rarity_notes(designs)) if self.claim == "posterior" else ()
        return CandidatesPlan(
            group_of=group_of,
            sets=sets,
            designs=designs,
            claim=self.claim,
            breaks=tuple(breaks),
            notes=notes,
        )


def _refuse_models(policy: Policy) -> None:
    for name in policy.sensitive:
        model = policy.columns[name].model
        if model != "frequency":
            raise Infeasible(
                f"{name!r} asks for model: {model}, which is about groups; randomized-addition makes none. Remove it; "
                "options: {claim: set-size} promises l values and no more."
            )


def _refuse_several(policy: Policy) -> None:
    """1/l is for one attribute, and for somebody who does not know it."""
    if len(policy.sensitive) > 1:
        raise Infeasible(
            f"Randomized addition cannot promise 1/l for {', '.join(policy.sensitive)} together: the sets of all rows "
            "show how these attributes go together, and that picks the true values in a row. Use method: msb or sloms, "
            "protect one of them only and drop the others, or promise l values in each set and no more: "
            "options: {claim: set-size}."
        )
    for known, name in policy.promises:
        if name in known:
            raise Infeasible(f"{name!r} cannot be protected against whoever knows it. Remove that adversary.")


def _require_one_value(table: Table, column: Column, kept: npt.NDArray[np.int64]) -> None:
    """Refuse people whose rows hold several values: what all of them tell together is not bounded by 1/l."""
    if table.person is None:
        return
    pairs = np.unique(table.person[kept].astype(np.int64) * column.size + column.codes[kept])
    several = int((np.unique(pairs // column.size, return_counts=True)[1] > 1).sum())
    if several:
        raise Infeasible(
            f"{several:,} people have rows with different values of {column.name!r}. Each value gets a set of its own, "
            "and sets that differ show that values do: whoever finds several rows of a person learns more than 1/l. "
            "Keep one row of each person, such as the latest, or give all rows of a person one value; or use method: "
            "anatomy or bsgi, which keep rows of a person apart and say what several of them tell; or promise l "
            "values in each set and no more: options: {claim: set-size}."
        )


def _require_near(
    design: Design,
    column: Column,
    place: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int64],
    attribute: Attribute,
) -> None:
    """Refuse a design that the true shares, of the table now, would not keep to its bound, or one without a bound."""
    now = np.zeros(design.m)
    np.add.at(now, place[counts > 0], counts[counts > 0])
    if design.counts is None:
        rare = np.sort(now)[: design.l - 1]
        worst = float(now.max() / (now.max() + rare.sum()))
        if worst > design.bound + SLACK:
            top = column.text(int(counts.argmax()))
            raise Infeasible(
                f"{column.name!r} at l = {design.l}: {top!r} is so common that it would be guessed with {worst:.1%} "
                f"in sets where all values are equally likely, not {1 / design.l:.1%}. Use variant: hardened, or "
                "promise options: {claim: set-size}."
            )
        return
    if float(design.largest.max()) > FARTHEST / design.l + SLACK:
        raise Infeasible(_too_rare(design, column, attribute))
    worst = float(posteriors(design.sets, now, design.weight).max())
    if worst > design.bound + SLACK:
        raise Infeasible(
            f"{column.name!r} was published under this key when its values were more evenly spread for that design: "
            f"some value would now be guessed with {worst:.1%}, and no more than {design.bound:.2%} is promised. "
            "Publish to another folder with a new key, knowing that both releases can be intersected."
        )


def _by_people(
    design: Design, table: Table, column: Column, place: npt.NDArray[np.int32], kept: npt.NDArray[np.int64]
) -> Iterator[str]:
    """What a set tells of a person, not of a row: people count once, however many rows they have.

    Weights and shares are those of rows. Where people with one value have more rows than others, a value is rarer among
    people than among rows, and whoever finds all rows of a person weighs the set by people. Refused beyond FARTHEST/l,
    said in `breaks` below.
    """
    if table.person is None:
        return
    _, first = np.unique(table.person[kept], return_index=True)
    people = np.zeros(design.m)
    np.add.at(people, place[column.codes[kept[first]]], 1)
    every = design.sets if design.counts is not None else np.sort(np.argsort(people)[[*range(design.l - 1), -1]])[None]
    worst = float(posteriors(every, people, design.weight).max())
    if worst > FARTHEST / design.l + SLACK:
        raise Infeasible(
            f"People with some values of {column.name!r} have more rows than others. Sets hide how common values are "
            "among rows; by how common they are among people, whoever finds all rows of a person could guess with up "
            f"to {worst:.1%}, not {1 / design.l:.1%}, and {FARTHEST:g} times that is the most. Keep one row of each "
            "person, such as the latest, or promise l values in each set and no more: options: {claim: set-size}."
        )
    yield (
        f"shares of people: promises are by the shares of rows; by those of people, who count once, a value of "
        f"{column.name} is likely up to {5 * math.ceil(20 * worst - SLACK)} %; whoever also knows that people with "
        "many rows have some values more often learns more from the number of rows"
    )


def _too_rare(design: Design, column: Column, attribute: Attribute) -> str:
    """Which values are so rare, or so near 1/l, that their weights leave open too much, and what to do."""
    low, high = design.ratios
    allowed = FARTHEST / design.l + SLACK
    wrong = design.largest > allowed
    sets, wrong = design.sets[wrong.any(axis=1)], wrong[wrong.any(axis=1)]
    rare = (high > allowed * (high + (design.l - 1) * low))[sets]  # in a set of values that are as rare
    named = np.zeros(design.m, np.bool_)
    named[sets[np.where(rare.any(axis=1, keepdims=True), rare, wrong)]] = True
    values = [str(design.values[i]) for i in np.flatnonzero(named)]
    return (
        f"{column.name!r} at l = {design.l}: {', '.join(map(repr, values))} "
        f"{'are' if named.sum() > 1 else 'is'} too rare, or too near 1/{design.l} of all rows: whoever knows how many "
        f"hold each value could guess with up to {design.bound:.1%}, not {1 / design.l:.1%}, and {FARTHEST:g} times "
        f"that is the most. {_mended(column, attribute, design.l)}"
    )


def _mended(column: Column, attribute: Attribute, l: int) -> str:
    """What to do about values that are too rare: the line that joins them, if there is one, and a smaller l."""
    less = f"set l: {l - 1}, or " if l > 2 else ""
    for lower in range(l, 1, -1):
        line = joining_that_works(column, attribute, lambda counts, lower=lower: _would_do(counts, lower), lower)  # type: ignore[misc]
        if line is not None:
            with_l = "" if lower == l else f", and set l: {lower}"
            return f"{line}{with_l}. Or {less}promise l values in each set and no more: options: {{claim: set-size}}."
    how = "Use wider bins, or top: and bottom:" if attribute.type == "number" else "Join rare values"
    if column.is_ordered:
        how = "Use wider bins" if attribute.is_banded else "Join neighbors in its `order`, in the table"
    return f"{how}, {less or 'or '}promise l values in each set and no more: options: {{claim: set-size}}."


def _would_do(counts: npt.NDArray[np.int64], l: int) -> bool:
    """Whether values of these counts could be published, whatever the key: sufficient, and cheap but for the last."""
    if counts.size <= l or counts.max() * l > counts.sum() or counts.size > min(MOST, MEMBERS // l):
        return False
    for start in STARTS:
        near = blurred(counts, np.full(counts.size, start), l)
        low, high = (rows / near for rows in possible_counts(near, l))
        if (high > FARTHEST / l * (high + (l - 1) * low.min())).any():
            return False
    design = Design(tuple(map(str, range(counts.size))), l, blurred(counts, np.full(counts.size, 0.5), l))
    return bool(np.linalg.cond(design.membership) <= SINGULAR)


def _rarity_notes(designs: Mapping[str, Design]) -> Iterator[str]:
    """What the publisher should know of a promise that is kept nearly, not exactly, by the true shares."""
    for name, design in designs.items():
        if design.counts is not None:
            yield (
                f"{name}: at most 1/{design.l} by the published weights, {design.bound:.4g} by the true shares of "
                f"values. To keep 1/{design.l} against whoever knows those exactly, too, set l: {design.l + 1}."
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
    column: Column, l: int, counts: npt.NDArray[np.int64] | None, draw: Draw, attribute: Attribute
) -> tuple[Design, npt.NDArray[np.int32]]:
    """The design for a column, and the place in it of each code: the one that the key holds, or a new one."""
    earlier = draw.key.designs.get(column.name)
    if earlier is None:
        present = np.arange(column.size) if counts is None else np.flatnonzero(counts)
        place = np.zeros(column.size, np.int32)
        place[present] = np.arange(present.size)
        values = tuple(column.values[code] for code in present.tolist())
        near = None if counts is None else blurred(counts[present], value_words(column, draw)[present] / 2.0**64, l)
        design = Design(values, l, near)
        _require_estimable(design, column, attribute)
        return design, place
    try:
        design = Design.from_dict(earlier, earlier.get("l"))
    except ReleaseError:
        raise InputError("The key holds a damaged design. Restore the private folder.") from None
    place_of = {core: i for i, core in enumerate(_cores(design.values))}
    own_cores = _cores(column.values)
    new = [value for value, core in zip(column.values, own_cores, strict=True) if core not in place_of]
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
    return design, np.array([place_of[core] for core in own_cores], np.int32)


def _cores(values: Sequence[Value]) -> list[Value]:
    """Values whatever their spelling, so that the commonest one may change."""
    return cores(pl.Series(values)).to_list() if isinstance(values[0], str) else list(values)


def _require_estimable(design: Design, column: Column, attribute: Attribute) -> None:
    """Refuse a design of which nothing could be estimated."""
    if design.counts is None:
        return
    most = min(MOST, MEMBERS // design.l)
    if design.m > most:
        raise Infeasible(
            f"{column.name!r} has {design.m:,} values; calibrated addition at l = {design.l} takes up to {most:,}. "
            f"{_mended(column, attribute, design.l)}"
        )
    if np.linalg.cond(design.membership) > SINGULAR:
        top = column.text(int(column.counts.argmax()))
        lower = f"Set l: {design.l - 1}, or use" if design.l > 2 else "Use"
        raise Infeasible(
            f"{column.name!r} at l = {design.l}: {top!r} would stand in every set, so that nothing could be estimated "
            f"of it. {lower} variant: paper with options: {{claim: set-size}}."
        )


def drawn_sets(
    design: Design, codes: npt.NDArray[np.int32], words: npt.NDArray[np.uint64], pair: tuple[np.uint64, np.uint64]
) -> npt.NDArray[np.int32]:
    """[row, member]: the set of each row, drawn by its word."""
    sets = np.empty((codes.size, design.l), np.int32)
    counts, l = design.counts, design.l
    total = 0 if counts is None else int(counts.sum())

    def draw_some(some: slice) -> None:
        whose = codes[some], words[some], *pair
        if counts is None:
            uniform_sets(*whose, design.m, l, sets[some])
        else:
            calibrated_sets(*whose, counts, total, l, design.sets, *design.lines, sets[some])

    by_rows(draw_some, codes.size)
    return sets


def _drawn(
    table: Table,
    column: Column,
    place: npt.NDArray[np.int32],
    kept: npt.NDArray[np.int64],
    design: Design,
    draw: Draw,
    crowd: int,
    attribute: Attribute,
) -> tuple[Design, npt.NDArray[np.int32]]:
    """The set of each row, and the design with the attempt that gave them: the first with values in `crowd` sets."""
    words = row_words(table, column, draw)
    codes = place[column.codes]
    again = column.name in draw.key.designs
    for attempt in [design.attempt] if again else range(ATTEMPTS):
        sets = drawn_sets(design, codes, words, draw.pair(f"set of {column.name}, {attempt}"))
        listed = tally(sets if kept.size == len(sets) else sets[kept], design.m)
        alone = np.flatnonzero((listed > 0) & (listed < crowd))
        if not alone.size:
            return replace(design, attempt=attempt, effect=shared_draws(table, column, kept)), sets
    values = [column.text(int(code)) for code in np.flatnonzero(np.isin(place, alone))]
    are, each = ("are", "each") if len(values) > 1 else ("is", "it")
    raise Infeasible(
        f"{column.name!r}: {', '.join(map(repr, values))} {are} so rare that fewer than {crowd} sets would "
        f"list {each}: whoever sees them would know more than 1/l. {_mended(column, attribute, design.l)}"
    )


METHOD = RandomizedAddition
