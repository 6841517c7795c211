"""Decomposition: groups that hold, for each of several sensitive attributes, a set of l_i values or more.

Paper      Ye, Liu, Lv, Feng: Decomposition: Privacy Preservation for Multiple Sensitive Attributes. DASFAA 2009.
           Figure 1; Definitions 3 ((l1, …, ld)-diversity), 4 (linkable values), 5 (diversity penalty).
Words      primary = the sensitive attribute whose values make the buckets; vector = the sensitive values of a row;
           residual = rows left when fewer than l buckets remain; added = "noise", values that no row of a group holds.
Departs    `variant: hardened` lets any bucket give the next row as long as what remains is eligible (slack, as in
           BSGI), keeps sets from growing beyond what is asked and values from filling more than 1/l_i of a group where
           there is a choice, puts residual rows only where their primary value is not yet, and merges or suppresses
           groups for which linkable values run out. `variant: paper` is Figure 1; what it leaves open is decided in
           docs/methods/decomposition.md. Both keep rows of one person apart.

Theorem (hardened; no primary value in more than n/l rows): every group holds l or more rows, each of another primary
value; for every other attribute i its set holds l_i values or more, each of them held by a row of the group or, in the
published sensitive table, beside one of the group's primary values. Without persons there are ⌊n/l⌋ groups, less
those that were merged or suppressed because linkable values ran out.
"""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from pluralis.errors import Infeasible, PolicyError, did_you_mean
from pluralis.grouping.eligibility import allowance, refuse_k, require_allowance, require_eligible, require_sensitive
from pluralis.grouping.plan import SUPPRESSED, DecomposedPlan, Plan
from pluralis.kernels.decomposition import form_as_printed, form_by_slack, groups_for
from pluralis.kernels.exchange import FEWER, keep_apart
from pluralis.kernels.noise import (
    LOOKS,
    best_neighbor,
    count_distinct,
    draw_added,
    linkable_to,
    links_of,
    marks_for,
    merge,
)
from pluralis.kernels.place import Groups, chains
from pluralis.kernels.schedule import resorted_schedule
from pluralis.kernels.vectors import Vectors, empty_composition, kinds_of, waiting
from pluralis.method.base import CORRELATION, Method
from pluralis.policy.policy import Policy
from pluralis.progress import stage
from pluralis.randomness import Draw
from pluralis.table.encoding import Column, Table

Rows = npt.NDArray[np.int64]
People = npt.NDArray[np.int32]


class ProtectedAttributes(NamedTuple):
    """The sensitive attributes, the primary one first, and how many values each set must hold."""

    columns: tuple[Column, ...]
    ls: Rows

    @property
    def sizes(self) -> list[int]:
        return [column.size for column in self.columns]


class Decomposition(Method):
    """Form groups, place what is left, keep people apart, add values."""

    name: ClassVar[str] = "decomposition"
    title: ClassVar[str] = "groups with a set of l values for each of several sensitive attributes"
    paper: ClassVar[str] = "Ye et al., DASFAA 2009"
    kind: ClassVar[str] = "decomposed"
    guarantee: ClassVar[str] = (
        "In every group each primary value fills at most 1/l of the rows, and the set of every other sensitive "
        "attribute holds at least l values."
    )
    breaks: ClassVar[tuple[str, ...]] = (
        CORRELATION,
        "algorithm: rows are picked by what a group lacks and holds, so someone who knows the method may learn more",
    )

    primary: str | None = Field(
        default=None, description="the attribute whose values make the groups; the one of largest l"
    )
    sensitive_table: Literal["auto", "joint", "marginals", "none"] = Field(
        default="auto", description="publish the sensitive columns jointly, by attribute (marginals), or not (none)"
    )

    def plan(self, table: Table, policy: Policy, draw: Draw) -> Plan:
        require_sensitive(table, self.name)
        refuse_k(policy, self.name)
        protected = self._protected(table, policy)
        kept = require_eligible(table, policy, draw)
        with stage("forming groups"):
            order = kept[draw.permutation(kept.size, "rows")]
            vectors = vectors_of(protected, order)
            group_of = self.grouped(vectors, protected, draw)
            person = np.empty(0, np.int32) if table.person is None else table.person[order]
            if person.size:
                group_of = keep_apart(person, vectors.alike, group_of, int(protected.ls[0]))
                placed = int((group_of != SUPPRESSED).sum())
                require_allowance(table.rows - placed, table.rows, policy, FEWER)
        with stage("adding values"):
            sets = Sets(vectors, protected, person, group_of)
            self._make_linkable(sets, table.rows, policy.publish.suppress)
            added = sets.added(draw)
        _require_exact(sets.group_of, protected, policy)
        return self._plan(table.rows, order, protected, sets, added)

    def _protected(self, table: Table, policy: Policy) -> ProtectedAttributes:
        """The attributes in the order of their vectors: the primary one, then those of fewest values."""
        names = [column.name for column in table.sensitive]
        if self.primary is not None and self.primary not in names:
            raise PolicyError(
                f"publish.options.primary: {self.primary!r} is not a sensitive attribute. "
                f"{did_you_mean(self.primary, names)}"
            )
        first = self._first(policy)
        ordered = sorted(names, key=lambda name: (name != first, table[name].size, name))
        for name in ordered:
            _refuse(table[name], policy, primary=name == first)
        return ProtectedAttributes(
            tuple(table[name] for name in ordered), np.array([policy.l(name) for name in ordered], np.int64)
        )

    def _first(self, policy: Policy) -> str:
        """The primary attribute."""
        return self.primary or min(policy.sensitive, key=lambda name: (-policy.l(name), name))

    def set_sized(self, policy: Policy) -> list[str]:
        if len(policy.sensitive) < 2:
            return []
        first, sensitive = self._first(policy), {*policy.sensitive}
        promised = {name for known, name in policy.promises if name != first or known & sensitive}
        return sorted(name for name in promised if policy.columns[name].model != "distinct")

    def grouped(self, vectors: Vectors, protected: ProtectedAttributes, draw: Draw) -> Rows:
        """The group of every row, whoever it is."""
        l, rows = int(protected.ls[0]), vectors.alike.rows.size
        composition = empty_composition(protected.sizes, protected.ls, common_values(vectors, protected))
        if self.variant == "paper":
            buckets = np.diff(vectors.alike.starts[vectors.alike.first])
            schedule = resorted_schedule(buckets, l)
            formed = np.empty_like(schedule)
            form_as_printed(vectors, composition, schedule, draw.words(schedule.size, "picks"), formed)
        else:
            formed = np.empty((rows // l, l), np.int64)
            formed = formed[: form_by_slack(vectors, composition, formed, rows_near(rows))]
        group_of = np.full(rows, SUPPRESSED, np.int64)
        group_of[formed] = np.arange(formed.shape[0])[:, None]
        residual = np.flatnonzero(~vectors.taken)
        group_of[residual] = groups_for(vectors, composition, formed, residual, self.variant == "paper")
        return group_of

    def _make_linkable(self, sets: Sets, rows: int, suppress: float) -> None:
        """Merge or suppress groups for which linkable values run out; refuse where neither is possible."""
        while (stuck := sets.stuck()).size:
            why = sets.why(int(stuck[0]))
            if self.variant == "paper":
                raise Infeasible(why)
            sets.merge_or_suppress(stuck)
            suppressed = rows - int((sets.group_of != SUPPRESSED).sum())
            if suppressed > allowance(suppress, rows):
                share = np.ceil(1000 * suppressed / rows) / 1000
                raise Infeasible(why + (f" Or allow suppress: {share:g}." if share < 1 else ""))

    def _plan(self, rows: int, order: Rows, protected: ProtectedAttributes, sets: Sets, added: dict[str, Rows]) -> Plan:
        """The plan in which groups are numbered without gaps."""
        alive = np.bincount(sets.group_of[sets.group_of != SUPPRESSED], minlength=sets.groups.size.size) > 0
        number = np.append(np.cumsum(alive) - 1, SUPPRESSED)
        group_of = np.full(rows, SUPPRESSED, np.int64)
        group_of[order] = number[sets.group_of]
        joint = self.variant == "paper" and self.sensitive_table == "auto"
        return DecomposedPlan(
            group_of=group_of,
            added={name: np.stack([number[pairs[:, 0]], pairs[:, 1]], axis=1) for name, pairs in added.items()},
            primary=protected.columns[0].name,
            sensitive_table="joint" if joint else self.sensitive_table,
            notes=tuple(_notes(protected, sets, added)),
        )


def vectors_of(protected: ProtectedAttributes, order: Rows) -> Vectors:
    """The rows in drawn order, by the sensitive values they hold."""
    codes = [column.codes for column in protected.columns]
    if order.size < codes[0].size:
        kinds, values = kinds_of([code[order] for code in codes], protected.sizes)
    else:
        kinds, values = kinds_of(codes, protected.sizes)
        kinds = kinds[order]
    vectors: Vectors = waiting(kinds, values, protected.sizes[0])
    return vectors


def rows_near(rows: int) -> int:
    """Among how many waiting rows to look for the best: thousands in small tables, fewer where that would take long."""
    return max(128, min(4096, 2**26 // max(rows, 1)))


def common_values(vectors: Vectors, protected: ProtectedAttributes) -> npt.NDArray[np.bool_]:
    """Whether a value stands in twice as many rows as a group has: l_i of these leave each other in doubt."""
    rows = np.diff(vectors.alike.starts)
    counts = [np.bincount(vectors.values[:, a], rows, size) for a, size in enumerate(protected.sizes)]
    common: npt.NDArray[np.bool_] = np.concatenate(counts) >= 2 * protected.ls[0]
    return common


class Sets:
    """The groups, what their sets hold, and what they could hold."""

    def __init__(self, vectors: Vectors, protected: ProtectedAttributes, person: People, group_of: Rows) -> None:
        self.values = vectors.values
        self.kind_of = vectors.alike.kind_of
        self.protected = protected
        self.person = person
        self.group_of = group_of
        self.merged = self.suppressed = 0
        self.groups: Groups = chains(group_of, int(group_of.max(initial=SUPPRESSED)) + 1)
        self.marks = marks_for(protected.sizes, int(person.max(initial=-1)) + 1, group_of.size)
        self._look()

    def _look(self) -> None:
        """Count the values that groups hold, and, where some hold too few, find what is linkable."""
        distinct = count_distinct(self.values, self.kind_of, self.groups, self.marks)
        self.missing = np.where(self.groups.size[:, None] > 0, np.maximum(self.protected.ls - distinct, 0), 0)
        self.missing[:, 0] = 0
        if self.missing.any():
            counts = np.bincount(self.kind_of[self.group_of != SUPPRESSED], minlength=self.values.shape[0])
            self.links = links_of(self.values, counts, self.protected.sizes)

    def stuck(self) -> Rows:
        """The groups that cannot be given enough values of some attribute."""
        stuck = [short[self._linkable(a, short) < self.protected.ls[a]] for a, short in self._short()]
        return np.unique(np.concatenate([np.empty(0, np.int64), *stuck]))

    def _short(self) -> list[tuple[int, Rows]]:
        """(attribute, groups that hold too few values of it)."""
        return [
            (a, short) for a in range(1, self.protected.ls.size) if (short := np.flatnonzero(self.missing[:, a])).size
        ]

    def _linkable(self, attribute: int, groups: Rows) -> Rows:
        counts: Rows = linkable_to(self.values, self.kind_of, self.groups, self.marks, attribute, self.links, groups)
        return counts

    def merge_or_suppress(self, stuck: Rows) -> None:
        """Merge each of these groups with its best neighbor; suppress those that have none."""
        looks = LOOKS
        for group in stuck:
            if self.groups.size[group] == 0:
                continue  # merged with one before it
            other, looks = best_neighbor(
                self.values,
                self.kind_of,
                self.person,
                self.groups,
                self.marks,
                self.protected.ls,
                self.links,
                group,
                looks,
            )
            if other >= 0:
                merge(self.groups, group, other, self.group_of)
                self.merged += 1
            else:
                self.group_of[self.group_of == group] = SUPPRESSED
                self.groups.size[group] = 0
                self.suppressed += 1
        self.groups = chains(self.group_of, self.groups.size.size)
        self._look()

    def added(self, draw: Draw) -> dict[str, Rows]:
        """Per attribute the (group, code) pairs that complete the sets, in order."""
        added = {}
        for a, short in self._short():
            name, needed = self.protected.columns[a].name, self.missing[short, a]
            words = draw.words(int(needed.sum()), f"added {name}")
            pairs = draw_added(self.values, self.kind_of, self.groups, self.marks, a, self.links, short, needed, words)
            added[name] = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
        return dict(sorted(added.items()))

    def why(self, group: int) -> str:
        """Why a group cannot be completed, and what would help."""
        primary = self.protected.columns[0]
        rows = np.flatnonzero(self.group_of == group)
        shown = ", ".join(repr(primary.text(code)) for code in np.unique(self.values[self.kind_of[rows], 0])[:5])
        linkable = {a: int(self._linkable(a, np.array([group]))[0]) for a, short in self._short() if group in short}
        a = min(linkable, key=lambda a: linkable[a] - self.protected.ls[a])
        name, l = self.protected.columns[a].name, int(self.protected.ls[a])
        best = f"Set l: {linkable[a]} for {name!r}" if linkable[a] >= 2 else f"Do not publish {name!r}"
        return (
            f"{name!r} cannot have {l} values in every group: beside {primary.name} {shown} the table holds "
            f"{linkable[a]:,} of them, and any other would be ruled out by joining the tables. {best}, or name another "
            "primary attribute."
        )


def _refuse(column: Column, policy: Policy, primary: bool) -> None:
    """Refuse attributes and models that no set can honor."""
    attribute, l = policy.columns[column.name], policy.l(column.name)
    codes = np.flatnonzero(column.counts)
    if codes.size == 1:
        raise Infeasible(
            f"{column.name!r} holds {column.text(int(codes[0]))!r} in every row: there is nothing to protect. "
            "Give it role: plain, or identifier, which is not published."
        )
    if primary and attribute.c is not None and attribute.c <= 1:
        raise Infeasible(
            f"{column.name!r}: a group holds {l} primary values once each, so recursive diversity needs c above 1, not "
            f"{attribute.c:g}."
        )
    if not primary and attribute.model not in ("frequency", "distinct"):
        raise Infeasible(
            f"{column.name!r} asks for {attribute.model} diversity. A set shows which values there are, not how often. "
            "Use model: distinct, or make it the primary attribute."
        )


def _require_exact(group_of: Rows, protected: ProtectedAttributes, policy: Policy) -> None:
    """Refuse groups that hold more values than unique-distinct allows."""
    name, l = protected.columns[0].name, int(protected.ls[0])
    largest = int(np.bincount(group_of[group_of != SUPPRESSED]).max(initial=0))
    if policy.columns[name].model == "unique-distinct" and largest > l + 1:
        raise Infeasible(
            f"{name!r} asks for exactly {l} values, and a group of {largest} rows cannot be avoided. Use model: "
            "distinct or frequency."
        )


def _notes(protected: ProtectedAttributes, sets: Sets, added: dict[str, Rows]) -> list[str]:
    """What was done to the sets, for the publisher."""
    first = protected.columns[0].name
    notes = []
    for column, l in zip(protected.columns[1:], protected.ls[1:], strict=True):
        if l > protected.ls[0]:
            notes.append(f"l of {column.name} is above that of {first}, the primary attribute: values must be added.")
    for column, l in zip(protected.columns[1:], protected.ls[1:], strict=True):
        if column.name in added:
            count = added[column.name].shape[0]
            notes.append(
                f"{count:,} value{'s' * (count > 1)} added to sets of {column.name} so that every group holds {l}."
            )
    for count, fate in ((sets.merged, "merged with another"), (sets.suppressed, "suppressed")):
        if count:
            notes.append(f"{count:,} group{'s' * (count > 1)} {fate} because linkable values ran out.")
    return notes


METHOD = Decomposition
