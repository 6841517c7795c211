"""Originals drawn at random among those that fit a release: the values of every group dealt anew to its people.

People are the rows of an encoded table. Who is in which published group is told by labels or values, also sensitive;
where that leaves a choice, people stand where they are at the ends of labels, which are as narrow as they can be. What
a group is seen as (its labels or quasi-identifiers, and the values it holds) is a word of 64 bits, so that whether a
method made a group again is one comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from pluralis.attacks.adversary.enumerated_originals import DoesNotApply, covered, labels_of_groups
from pluralis.auditing.label_boxes import core, places_among
from pluralis.grouping.generalization import Grouped, quasi_labels
from pluralis.grouping.plan import DecomposedPlan, GeneralizedPlan, Plan
from pluralis.release.release import GROUP, Release
from pluralis.table.encoding import Column, Table
from pluralis.table.labels import number_text

SWAPS = 10  # rounds in which hands of decomposed groups are exchanged before each draw

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]


class Deck(NamedTuple):
    """Attributes that are dealt side by side; [attribute, place] codes, the places group by group."""

    names: tuple[str, ...]
    codes: Ints


@dataclass(frozen=True, eq=False)
class Dealt:
    """The people of a release in its groups, numbered from 0; what is dealt; how each group is seen."""

    release: Release
    table: Table
    kinds: Ints  # people of equal quasi-identifiers have equal numbers
    group_of: Ints
    decks: tuple[Deck, ...]
    sets: Mapping[str, Flags]  # decomposed: [group, code] what is published
    seen: Words

    @classmethod
    def from_release(cls, release: Release, table: Table) -> Dealt:
        if table.named("plain"):
            raise DoesNotApply("it does not weigh plain columns")
        shown = _Shown.from_release(release, table)
        group_of, kinds = shown.seated(table), _kinds(table)
        decks, seen = shown.decks, np.zeros(shown.sizes.size, np.uint64)
        if release.traits.lists_of_groups:
            order = np.argsort(group_of, kind="stable")
            by_group = {column.name: column.codes.astype(np.int64)[order] for column in table.sensitive}
            decks = (Deck(tuple(by_group), np.stack(list(by_group.values()))),)
            seen += _sets_seen(shown.sets)
        else:
            seen += _hands_seen(decks, table, np.sort(group_of), seen.size)
        seen += shown.labels if release.traits.sensitive_in_rows else _summed(_words(kinds), group_of, seen.size)
        return cls(release, table, kinds, group_of, decks, shown.sets, seen)

    def draws(self, rng: np.random.Generator) -> Iterator[dict[str, Ints]]:
        """Codes of everybody's sensitive values, again and again: each way to deal is as likely."""
        decks = self.decks
        while True:
            if self.release.traits.lists_of_groups:
                decks = (self._exchanged(decks[0], rng),)
            dealt: dict[str, Ints] = {}
            for deck in decks:
                order = np.lexsort((rng.random(self.group_of.size), self.group_of))
                for name, codes in zip(deck.names, deck.codes, strict=True):
                    dealt[name] = np.empty_like(codes)
                    dealt[name][order] = codes
            yield dealt

    def _exchanged(self, deck: Deck, rng: np.random.Generator) -> Deck:
        """Pairs of places exchange values, where the sets of both groups allow it and what is counted stays.

        A joint sensitive table counts hands: places of one primary value exchange all that is beside it. Where each
        attribute is counted on its own, any places exchange values of one; where nothing is, any value of the set is
        as likely.
        """
        codes, group = deck.codes.copy(), np.sort(self.group_of)
        first = deck.names.index(self.release.manifest.parameters.primary)
        others = [i for i in range(len(deck.names)) if i != first]
        allowed = [self.sets[name] for name in deck.names]
        if len(self.release.tables) == 2:
            for i in others:
                codes[i] = np.argmax(rng.random((group.size, allowed[i].shape[1])) * allowed[i][group], axis=1)
            return Deck(deck.names, codes)
        joint = "sensitive" in self.release.tables
        for together in ([others] if joint else [[i] for i in others]) * SWAPS:
            order = rng.permutation(group.size)
            order = order[np.argsort(codes[first][order], kind="stable")] if joint else order
            a, b = order[: order.size // 2 * 2 : 2], order[1::2]
            fits = (codes[first][a] == codes[first][b]) | (not joint)
            for i in together:
                fits &= allowed[i][group[a], codes[i][b]] & allowed[i][group[b], codes[i][a]]
            a, b = a[fits], b[fits]
            for i in together:
                codes[i][a], codes[i][b] = codes[i][b], codes[i][a]
        return Deck(deck.names, codes)

    def tabled(self, sensitive: Mapping[str, Ints]) -> Table:
        """The table of these sensitive values, its rows in canonical order."""
        lines = [self.kinds, *(sensitive[column.name] for column in self.table.sensitive)]
        lines += [self.table.person.astype(np.int64)] if self.table.person is not None else []
        order = np.lexsort(lines[::-1])
        columns = {
            name: replace(
                column, codes=(sensitive[name].astype(np.int32) if name in sensitive else column.codes)[order]
            )
            for name, column in self.table.columns.items()
        }
        person = None if self.table.person is None else self.table.person[order]
        return replace(self.table, columns=columns, person=person)

    def made(self, plan: Plan, table: Table) -> Flags:
        """Which of the published groups a plan makes of a table."""
        groups, group_of = plan.groups, plan.group_of
        if plan.suppressed:
            return np.zeros(self.seen.size, np.bool_)
        if self.release.traits.lists_of_groups:
            assert isinstance(plan, DecomposedPlan)
            words = _sets_seen({column.name: _set_of(column, plan) for column in table.sensitive})
        else:
            words = _hands_seen(self.decks, table, group_of, groups, dealt=False)
        if isinstance(plan, GeneralizedPlan):
            words += _label_words(_labels(plan, table))
        else:
            words += _summed(_words(self.kinds), group_of, groups)
        return np.isin(self.seen, words)


def _labels(plan: GeneralizedPlan, table: Table) -> list[pl.Series]:
    """The labels of the groups of a plan, column by column."""
    if plan.levels or any(c.hierarchy is not None or not c.is_number or c.has_missing for c in table.quasi):
        rows = Grouped.from_plan(plan)
        first = np.flatnonzero(np.diff(rows.group, prepend=-1))
        return [values.gather(codes[first]) for values, codes in quasi_labels(table, rows, plan.levels).values()]
    order = np.argsort(plan.group_of, kind="stable")  # numbers alone: the same, without the detours of small frames
    starts = np.searchsorted(plan.group_of[order], np.arange(plan.groups))
    labels = []
    for column in table.quasi:
        texts, codes = [column.text(code) for code in range(column.size)], column.codes[order]
        ends = zip(np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts), strict=True)
        labels.append(pl.Series([texts[a] if a == b else f"[{texts[a]}, {texts[b]}]" for a, b in ends]))
    return labels


def _set_of(column: Column, plan: DecomposedPlan) -> Flags:
    """[group, code] what a group of a plan would publish."""
    has = np.zeros((plan.groups, column.size), np.bool_)
    has[plan.group_of, column.codes] = True
    added = plan.added.get(column.name, np.empty((0, 2), np.int64))
    has[added[:, 0], added[:, 1]] = True
    return has


# who is in which group ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Shown:
    """What a release shows of its groups, place by place in the order of their numbers."""

    sizes: Ints
    covers: Flags  # [place, person]
    inside: Ints  # [group, person] the labels at neither end of which the person is
    decks: tuple[Deck, ...]
    sets: Mapping[str, Flags]
    labels: Words

    @classmethod
    def from_release(cls, release: Release, table: Table) -> _Shown:
        rows = release.tables["microdata" if release.traits.sensitive_in_rows else "quasi"].sort(GROUP)
        counts = rows.group_by(GROUP, maintain_order=True).len()
        numbers, sizes = counts.select(GROUP), counts["len"].to_numpy().astype(np.int64)
        known = pl.DataFrame({column.name: column.series.gather(column.codes) for column in table.quasi})
        inside, labels = np.zeros((sizes.size, table.rows), np.int64), np.zeros(sizes.size, np.uint64)
        if release.traits.sensitive_in_rows:
            covers, inside = covered(release, known).repeat(sizes, axis=0), _inside(release, known)
            labels = _label_words([rows.unique(GROUP, keep="first").sort(GROUP)[name] for name in known.columns])
        else:
            shown, people = (pl.DataFrame({n: core(frame[n]) for n in known.columns}) for frame in (rows, known))
            different = shown.unique(maintain_order=True)
            covers = places_among(shown, different)[:, None] == places_among(people, different)
        return cls(sizes, covers, inside, *_decks_and_sets(release, table, numbers), labels)

    def seated(self, table: Table) -> Ints:
        """A group for everybody, by labels and sensitive values."""
        group, fits = np.repeat(np.arange(self.sizes.size), self.sizes), self.covers.copy()
        for name, has in self.sets.items():
            fits &= has[group][:, table[name].codes]
        for deck in self.decks:
            both = np.concatenate([_tuples(deck, table), _tuples(_of_rows(deck, table), table)])
            of_place, of_person = np.unique(both, return_inverse=True)[1].reshape(2, -1)
            has = np.zeros((self.sizes.size, 2 * table.rows), np.bool_)
            has[group, of_place] = True
            fits &= has[group][:, of_person]
            if len(self.decks) == 1 and self.labels.any():  # a place has a label and a hand
                fits &= of_place[:, None] == of_person
        place, person = np.nonzero(fits)
        cost = csr_array((1.0 + self.inside[group[place], person], (person, place)), shape=fits.shape)
        try:
            chosen, seat = min_weight_full_bipartite_matching(cost)
        except ValueError:
            raise DoesNotApply("no original fits the tables") from None
        group_of = np.empty(table.rows, np.int64)
        group_of[chosen] = group[seat]
        return group_of


def _inside(release: Release, known: pl.DataFrame) -> Ints:
    """[group, person] of how many quasi-identifiers a value lies strictly inside the label of a group."""
    inside = np.zeros((release.tables["microdata"][GROUP].n_unique(), known.height), np.int64)
    for code in labels_of_groups(release, known):
        low, high = code.low[code.label][:, None], code.high[code.label][:, None]
        inside += (low < code.value) & (code.value < high)
    return inside


def _decks_and_sets(release: Release, table: Table, numbers: pl.DataFrame) -> tuple[tuple[Deck, ...], dict[str, Flags]]:
    """What is dealt in each group, or the sets that it shows."""
    names = [column.name for column in table.sensitive]
    if release.traits.lists_of_groups:
        sets, values = {}, release.tables["values"]
        for name in names:
            members = values.filter(pl.col("attribute") == name)
            has = np.zeros((numbers.height, table[name].size), np.bool_)
            has[places_among(members.select(GROUP), numbers), _codes(table[name], members["value"])] = True
            sets[name] = has
        return (), sets
    shown = "microdata" if release.traits.sensitive_in_rows else "sensitive"
    rows, info = release.tables[shown], release.info(shown)
    if info.named("count"):
        rows = rows.select(pl.exclude("count").repeat_by("count").explode())
    apart: list[tuple[tuple[str, ...], pl.DataFrame]]
    if info.named("attribute"):
        parts = [(name, rows.filter(pl.col("attribute") == name).rename({"value": name})) for name in names]
        apart = [((name,), part.sort(GROUP)) for name, part in parts]
    elif release.manifest.parameters.linked:
        apart = [(tuple(names), rows.sort(GROUP))]
    else:
        apart = [((name,), rows.sort(GROUP)) for name in names]
    decks = [Deck(some, np.stack([_codes(table[name], part[name]) for name in some])) for some, part in apart]
    return tuple(decks), {}


def _codes(column: Column, values: pl.Series) -> Ints:
    """Published values of a sensitive column as its codes."""
    texts = {column.text(code): code for code in range(len(column.values))}
    spelled = [value if isinstance(value, str) else number_text(value) for value in values.to_list()]
    if not all(text in texts for text in spelled):
        raise DoesNotApply("no original fits the tables")
    return np.array([texts[text] for text in spelled], np.int64)


# words ----------------------------------------------------------------------------------------------------------


def _words(numbers: npt.NDArray[np.integer], salt: int = 0) -> Words:
    """A word for each number (splitmix64): equal for equal ones, and unlike any sum of others but by chance."""
    word = (numbers.astype(np.uint64) + np.uint64(1 + 1_000_003 * salt)) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def _summed(words: Words, group_of: Ints, groups: int) -> Words:
    out = np.zeros(groups, np.uint64)
    np.add.at(out, group_of, words)
    return out


def _tuples(deck: Deck, table: Table) -> Ints:
    """One number for the codes of several attributes."""
    number = np.zeros(deck.codes.shape[1], np.int64)
    for name, line in zip(deck.names, deck.codes, strict=True):
        number = number * table[name].size + line
    return number


def _of_rows(deck: Deck, table: Table) -> Deck:
    """What the rows of a table hold of a deck's attributes."""
    return Deck(deck.names, np.stack([table[name].codes.astype(np.int64) for name in deck.names]))


def _hands_seen(decks: Sequence[Deck], table: Table, group_of: Ints, groups: int, *, dealt: bool = True) -> Words:
    """The word of what each group holds: of the decks, or of the rows of a table."""
    total = np.zeros(groups, np.uint64)
    for i, deck in enumerate(decks):
        total += _summed(_words(_tuples(deck if dealt else _of_rows(deck, table), table), i + 1), group_of, groups)
    return total


def _sets_seen(sets: Mapping[str, Flags]) -> Words:
    """The word of each group's sets."""
    total = np.zeros(next(iter(sets.values())).shape[0], np.uint64)
    for i, name in enumerate(sorted(sets)):
        group, code = np.nonzero(sets[name])
        total += _summed(_words(code, i + 1), group, total.size)
    return total


def _label_words(labels: Sequence[pl.Series]) -> Words:
    total = np.zeros(labels[0].len() if labels else 0, np.uint64)
    for i, column in enumerate(labels):
        total += column.cast(pl.String).hash(seed=i).to_numpy()
    return total


def _kinds(table: Table) -> Ints:
    """A number for each row by its quasi-identifier codes, in their order: rows stand in it."""
    new = np.zeros(table.rows, np.bool_)
    for column in table.quasi:
        new[1:] |= column.codes[1:] != column.codes[:-1]
    return np.cumsum(new)
