"""Decomposition as slow, literal Python: the oracle of its kernels. No kernel is used.

Rows are row numbers of a Table, and `order` holds them in drawn order. A vector is the tuple of a row's sensitive
values, the primary one first. Where the paper says "random" a drawn word decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from oracles.bsgi import givers
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.table.encoding import Table

TRIES = 32
Group = list[int]
Vector = tuple[int, ...]


class Stuck(Exception):
    """Linkable values ran out, and the paper says nothing about it."""


class Decomposed(NamedTuple):
    """Groups, and the values added to each, per attribute."""

    groups: list[Group]
    added: list[dict[str, set[int]]]


def decompose(
    table: Table,
    policy: Policy,
    order: Sequence[int],
    draw: Draw,
    variant: str,
    primary: str | None = None,
    near: int = 4096,
) -> Decomposed:
    """`near`: among how many waiting rows to look for the best."""
    return _Decomposition(table, policy, [int(row) for row in order], draw, variant, primary, near).run()


def linkable(table: Table, primary: str, attribute: str, group: Sequence[int], rows: Sequence[int]) -> Counter[int]:
    """LSV(S, G) of Definition 4, with the number of rows in which each value stands beside the group's primary ones."""
    primary_values = {int(table[primary].codes[row]) for row in group}
    return Counter(int(table[attribute].codes[row]) for row in rows if int(table[primary].codes[row]) in primary_values)


class _Decomposition:
    def __init__(
        self, table: Table, policy: Policy, order: Group, draw: Draw, variant: str, primary: str | None, near: int
    ) -> None:
        names = [column.name for column in table.sensitive]
        first = primary or min(names, key=lambda name: (-policy.l(name), name))
        self.names = sorted(names, key=lambda name: (name != first, table[name].size, name))
        self.ls = [policy.l(name) for name in self.names]
        self.l = self.ls[0]
        self.table = table
        self.order = order
        self.drawn = {row: i for i, row in enumerate(order)}
        self.vector = {row: tuple(int(table[name].codes[row]) for name in self.names) for row in order}
        self.person = None if table.person is None else {row: int(table.person[row]) for row in order}
        counts = [Counter(vector[a] for vector in self.vector.values()) for a in range(len(self.ls))]
        self.common = [{value for value, rows in count.items() if rows >= 2 * self.l} for count in counts]
        self.near = near
        self.draw = draw
        self.literal = variant == "paper"

    def run(self) -> Decomposed:
        groups = self.printed_groups() if self.literal else self.slack_groups()
        self.place_residual_rows(groups)
        if self.person is not None:
            self.keep_people_apart(groups)
        self.make_linkable(groups)
        groups = [group for group in groups if group]
        return Decomposed(groups, self.add_values(groups))

    # Definition 5

    def penalty(self, vector: Vector, group: Group) -> int:
        """P(t, G)."""
        total = 0
        for a in range(1, len(self.ls)):
            values = {self.vector[row][a] for row in group}
            if vector[a] in values and len(values) < self.ls[a]:
                total += self.ls[a] - len(values)
        return total

    # beyond the paper

    def excess(self, vector: Vector, group: Group) -> int:
        """How many of the values the group holds in its share of rows already, or has enough without."""
        total = 0
        for a in range(1, len(self.ls)):
            counts = Counter(self.vector[row][a] for row in group)
            if vector[a] in counts:
                total += counts[vector[a]] >= max(self.l // self.ls[a], 1)
            else:
                total += len(self.common[a] & set(counts)) >= self.ls[a]
        return total

    def buckets(self) -> dict[int, Group]:
        buckets: dict[int, Group] = {value: [] for value in sorted({self.vector[row][0] for row in self.order})}
        for row in self.order:
            buckets[self.vector[row][0]].append(row)
        return buckets

    # Figure 1, lines 2-11

    def printed_groups(self) -> list[Group]:
        """A random row of the fullest bucket, then a random vector of least penalty from each of the next ones."""
        urns = [_Urn(bucket, self.vector) for bucket in self.buckets().values()]
        words = iter(self.draw.words(len(self.order), "picks").tolist())
        groups = []
        while sum(bool(urn.rows) for urn in urns) >= self.l:
            urns.sort(key=lambda urn: -len(urn.rows))  # a stable sort: equal ones keep their order
            if len({len(urn.rows) for urn in urns if urn.rows}) == 1:
                urns.sort(key=lambda urn: (not urn.rows, urn.value))
            group: Group = []
            for i, urn in enumerate(urns[: self.l]):
                word = next(words)
                row = urn.rows[word % len(urn.rows)] if i == 0 else urn.first_of(self.pick(urn.vectors, group, word))
                urn.take(row)
                group.append(row)
            groups.append(group)
        return groups

    def pick(self, vectors: list[Vector], group: Group, word: int) -> Vector:
        """A few tries for one without penalty, then any of the best."""
        for step in range(TRIES):
            vector = vectors[mixed(word, step) % len(vectors)]
            if self.penalty(vector, group) == 0:
                return vector
        least = min(self.penalty(vector, group) for vector in vectors)
        best = [vector for vector in vectors if self.penalty(vector, group) == least]
        return best[mixed(word, TRIES) % len(best)]

    # slack

    def slack_groups(self) -> list[Group]:
        """Only buckets with more than (remaining - l) // l rows must give one; every other place is free.

        A free one goes to the best of the first rows that wait, if these hold what is lacking.
        """
        buckets = self.buckets()
        groups = []
        while sum(bool(bucket) for bucket in buckets.values()) >= self.l:
            later = (sum(map(len, buckets.values())) - self.l) // self.l
            group: Group = []
            near = self.in_drawn_order(buckets.values())[: self.near]
            while len(group) < self.l:
                used = {self.vector[row][0] for row in group}
                unused = [bucket for value, bucket in buckets.items() if value not in used]
                bound = [bucket for bucket in unused if len(bucket) > later]
                giving = givers(unused, bound, self.l - len(group))
                rows = self.in_drawn_order(giving)
                good = [row for row in rows if row in near and self.penalty(self.vector[row], group) == 0]
                if good and giving is unused:
                    group.append(min(good, key=lambda row: self.excess(self.vector[row], group)))
                else:
                    group.append(min(rows, key=lambda row: self.penalty(self.vector[row], group)))
            for row in group:
                buckets[self.vector[row][0]].remove(row)
            groups.append(group)
        return groups

    def in_drawn_order(self, buckets: Iterable[Group]) -> Group:
        return sorted((row for bucket in buckets for row in bucket), key=self.drawn.__getitem__)

    # Figure 1, lines 12-15

    def place_residual_rows(self, groups: list[Group]) -> None:
        placed = {row for group in groups for row in group}
        for row in self.order:
            if row in placed:
                continue
            if self.literal:
                candidates = groups
            else:
                lacking = [g for g in groups if self.vector[row][0] not in {self.vector[other][0] for other in g}]
                candidates = [g for g in lacking if len(g) == self.l] or lacking
            min(candidates, key=lambda g: self.penalty(self.vector[row], g)).append(row)

    # people

    def keep_people_apart(self, groups: list[Group]) -> None:
        """A row whose person is in its group changes places with its like; what cannot leaves, and joins elsewhere."""
        assert self.person is not None
        alike = sorted(self.order, key=lambda row: (self.vector[row], self.drawn[row]))
        stuck = []
        for group in groups:
            group.sort(key=self.drawn.__getitem__)
            seen = set()
            for i, row in enumerate(list(group)):
                if self.person[row] in seen:
                    partner = next(self.partners(groups, group, row, alike), None)
                    if partner is None:
                        stuck.append(row)
                        continue
                    other, place = partner
                    other[place], group[i] = row, other[place]
                seen.add(self.person[group[i]])
        for group in groups:
            group[:] = [row for row in group if row not in stuck]
            if len(group) < self.l:
                group.clear()
        placed = {row for group in groups for row in group}
        for row in self.order:
            if row in placed:
                continue
            for group in groups:
                if group and all(
                    self.person[other] != self.person[row] and self.vector[other][0] != self.vector[row][0]
                    for other in group
                ):
                    group.append(row)
                    break

    def partners(self, groups: list[Group], group: Group, row: int, alike: Group) -> Iterator[tuple[Group, int]]:
        """Rows after this one, and then those before it, first of the same vector, then of the same bucket."""
        for same in (slice(None), slice(1)):
            kin = [other for other in alike if self.vector[other][same] == self.vector[row][same]]
            place = kin.index(row)
            for other in kin[place + 1 :] + kin[:place]:
                theirs = next(g for g in groups if other in g)
                if theirs is group:
                    continue
                if self.stands(row, theirs, other) or self.stands(other, group, row):
                    continue
                yield theirs, theirs.index(other)

    def stands(self, row: int, group: Group, but: int) -> bool:
        assert self.person is not None
        return any(self.person[other] == self.person[row] for other in group if other != but)

    # Figure 1, lines 16-22

    def values(self, group: Group, a: int) -> set[int]:
        return {self.vector[row][a] for row in group}

    def weights(self, groups: list[Group], group: Group, a: int) -> Counter[int]:
        rows = [row for g in groups for row in g]
        return linkable(self.table, self.names[0], self.names[a], group, rows)

    def is_stuck(self, groups: list[Group], group: Group) -> bool:
        return any(
            len(self.values(group, a) | set(self.weights(groups, group, a))) < self.ls[a]
            for a in range(1, len(self.ls))
        )

    def make_linkable(self, groups: list[Group]) -> None:
        """Merge groups that cannot be completed with their best neighbor, or leave them out."""
        while stuck := [group for group in groups if group and self.is_stuck(groups, group)]:
            if self.literal:
                raise Stuck
            published = [list(group) for group in groups]
            for group in stuck:
                if not group:
                    continue
                neighbors = [
                    other
                    for other in groups
                    if other
                    and other is not group
                    and not self.values(group, 0) & self.values(other, 0)
                    and not (self.person and {self.person[r] for r in group} & {self.person[r] for r in other})
                    and not self.is_stuck(published, group + other)
                ]
                if neighbors:
                    best = min(neighbors, key=lambda other: self.missing(group + other))
                    group += best
                    best.clear()
                else:
                    group.clear()

    def missing(self, group: Group) -> int:
        return sum(max(0, self.ls[a] - len(self.values(group, a))) for a in range(1, len(self.ls)))

    def add_values(self, groups: list[Group]) -> list[dict[str, set[int]]]:
        """Linkable values, one after the other, each drawn in proportion to the rows that link it."""
        added: list[dict[str, set[int]]] = [{} for _ in groups]
        for a in range(1, len(self.ls)):
            needed = [max(0, self.ls[a] - len(self.values(group, a))) for group in groups]
            words = iter(self.draw.words(sum(needed), f"added {self.names[a]}").tolist())
            for group, sets, count in zip(groups, added, needed, strict=True):
                weights = self.weights(groups, group, a)
                for value in self.values(group, a):
                    del weights[value]
                for _ in range(count):
                    spot = next(words) % weights.total()
                    value = next(v for v in sorted(weights) if (spot := spot - weights[v]) < 0)
                    sets.setdefault(self.names[a], set()).add(value)
                    del weights[value]
        return added


class _Urn:
    """The rows and the vectors of a bucket; the last one takes the place of one that is taken."""

    def __init__(self, rows: Group, vector: dict[int, Vector]) -> None:
        self.value = vector[rows[0]][0]
        self.rows = list(rows)
        self.vector = vector
        self.waiting: dict[Vector, Group] = {}
        for row in rows:
            self.waiting.setdefault(vector[row], []).append(row)
        self.vectors = sorted(self.waiting)

    def first_of(self, vector: Vector) -> int:
        return self.waiting[vector][0]

    def take(self, row: int) -> None:
        self.waiting[self.vector[row]].remove(row)
        _replace_by_last(self.rows, row)
        if not self.waiting[self.vector[row]]:
            _replace_by_last(self.vectors, self.vector[row])


def _replace_by_last(things: list, thing: object) -> None:
    things[things.index(thing)] = things[-1]
    things.pop()


def mixed(word: int, step: int) -> int:
    """SplitMix64."""
    full = 2**64 - 1
    z = (word + step * 0x9E3779B97F4A7C15) & full
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & full
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & full
    return z ^ (z >> 31)
