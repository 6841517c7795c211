"""Slow, literal versions of MSB, KACA and what SLOMS does with them: the oracles of the tests. No kernel is used.

Rows are row numbers of a Table. Where the papers say "random", the drawn order decides: `order` holds the rows in it,
and whatever stands first in it is the random one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from pluralis.grouping.hierarchical_distance import climbing, ladder_of
from pluralis.table.encoding import Column

Group = list[int]
STEPS_BACK = 16
ATTEMPTS = 64
LOOKS_A_ROW, LEAST_LOOKS = 16, 1 << 20


# MSB ------------------------------------------------------------------------------------------------------------


class Msb:
    """Algorithm MSB over some sensitive attributes; `ls` says how diverse each must be."""

    def __init__(
        self,
        columns: Sequence[Column],
        ls: Sequence[int],
        order: Iterable[int],
        priority: str = "mmdcf",
        person: Sequence[int] | None = None,
        exact: bool = True,
        size: int | None = None,
    ) -> None:
        self.columns = [column.codes.tolist() for column in columns]
        self.ls = list(ls)
        self.l = size or max(ls)
        self.most = [1 if exact else self.l // l_i for l_i in ls]
        self.priority = priority
        self.person = person
        self.left = [int(row) for row in order]
        self.drawn = {row: i for i, row in enumerate(self.left)}
        self.groups: list[Group] = []

    def run(self, exchange: bool = False) -> tuple[list[Group], Group]:
        """The groups, and the rows that no group can take. With `exchange`, as SLOMS places rows (hardened)."""
        self.form_groups()
        if self.l > max(self.ls):  # and then smaller ones
            size, most = self.l, self.most
            self.l, self.most = max(self.ls), [max(self.ls) // l_i for l_i in self.ls]
            self.form_groups()
            self.l, self.most = size, most
        self.groups = [sorted(group, key=self.drawn.__getitem__, reverse=True) for group in self.groups]
        self.next = 0
        self.looks = max(LOOKS_A_ROW * len(self.drawn), LEAST_LOOKS)
        if exchange and self.groups:
            self.form_new_groups()
        self.place_the_rest()
        if exchange:
            self.take_places()
        return self.groups, self.left

    def values(self, row: int) -> tuple[int, ...]:
        return tuple(codes[row] for codes in self.columns)

    def buckets(self) -> list[tuple[int, int, Group]]:
        """(priority, first row in drawn order that ever was in it, rows) of every bucket, the best first."""
        buckets: dict[tuple[int, ...], Group] = {}
        for row in self.left:
            buckets.setdefault(self.values(row), []).append(row)
        capacity = [Counter(codes[row] for row in self.left) for codes in self.columns]
        ranked = []
        for values, rows in buckets.items():
            capacities = [count[value] for count, value in zip(capacity, values, strict=True)]
            priority = {"mbf": 0, "msdcf": max(capacities), "mmdcf": sum(capacities)}[self.priority] + len(rows)
            ranked.append((priority, self.first[values], rows))
        return sorted(ranked, key=lambda bucket: (-bucket[0], bucket[1]))

    def form_groups(self) -> None:
        self.first: dict[tuple[int, ...], int] = {}
        for row in self.left:
            self.first.setdefault(self.values(row), self.drawn[row])
        barren: set[tuple[int, ...]] = set()
        while True:
            ranked = self.buckets()
            group = None
            for _, _, rows in ranked:
                if self.values(rows[0]) in barren:
                    continue
                group = self.completed(rows[0], ranked)
                if group is not None:
                    break
                barren.add(self.values(rows[0]))
            if group is None:
                return
            self.groups.append(group)
            self.left = [row for row in self.left if row not in group]

    def completed(self, seed: int, ranked: list[tuple[int, int, Group]]) -> Group | None:
        """A group of l rows that begins with `seed`: the best bucket that fits each time, with a few steps back."""
        group, places, begin, steps = [seed], [-1], 0, 0
        while len(group) < self.l:
            place = next((i for i in range(begin, len(ranked)) if self.fitting(group, ranked[i][2]) is not None), None)
            if place is not None:
                row = self.fitting(group, ranked[place][2])
                assert row is not None
                group.append(row)
                places.append(place)
                begin = place
                continue
            begin = places.pop() + 1
            group.pop()
            steps += 1
            if not group or steps > STEPS_BACK:
                return None
        return group

    def fitting(self, group: Group, rows: Group) -> int | None:
        """The first row of a bucket that may join: no value too often, no person twice."""
        for codes, most in zip(self.columns, self.most, strict=True):
            if sum(codes[other] == codes[rows[0]] for other in group) >= most:
                return None
        return next((row for row in rows if row not in group and not self.holds_person(group, row)), None)

    def holds_person(self, group: Group, row: int) -> bool:
        return self.person is not None and any(self.person[other] == self.person[row] for other in group)

    def accepts(self, group: Group, row: int) -> bool:
        """Whether every attribute stays l_i-diverse, with no person twice."""
        for codes, l_i in zip(self.columns, self.ls, strict=True):
            if (sum(codes[other] == codes[row] for other in group) + 1) * l_i > len(group) + 1:
                return False
        return not self.holds_person(group, row)

    def turn(self) -> list[int]:
        """Groups in the order in which they are asked: on from the last one that changed."""
        return [(self.next + i) % len(self.groups) for i in range(len(self.groups))]

    def changed(self, group: int) -> None:
        self.next = (group + 1) % len(self.groups)

    def find(self, row: int, but: int | None = None) -> int | None:
        return next((g for g in self.turn() if g != but and self.accepts(self.groups[g], row)), None)

    def enter(self, group: int, row: int) -> None:
        self.groups[group].insert(0, row)
        self.changed(group)

    def place_the_rest(self) -> None:
        """Each row, in drawn order, joins the next group that accepts it."""
        unplaced = []
        for row in self.left:
            group = self.find(row)
            if group is None:
                unplaced.append(row)
            else:
                self.enter(group, row)
        self.left = unplaced

    # what SLOMS adds

    def can_replace(self, group: Group, row: int, old: int) -> bool:
        others = [other for other in group if other != old]
        for codes, l_i in zip(self.columns, self.ls, strict=True):
            if (sum(codes[other] == codes[row] for other in others) + 1) * l_i > len(group):
                return False
        return not self.holds_person(others, row)

    def replace(self, group: int, row: int, old: int) -> None:
        members = self.groups[group]
        members[members.index(old)] = row
        self.changed(group)

    def form_new_groups(self) -> None:
        """New groups of loose rows, and of members whose place a loose row takes."""
        failed = 0
        while len(self.left) >= self.l and failed < ATTEMPTS:
            new: Group = []
            stay = []
            for row in self.left:
                entering = self.entering(row, new) if len(new) < self.l else None
                if entering is None:
                    stay.append(row)
                else:
                    new.append(entering)
            if len(new) == self.l:
                self.groups.append(new[::-1])
                self.left, failed = stay, 0
            else:
                self.left, failed = stay + new, failed + 1
        self.left.sort(key=self.drawn.__getitem__)

    def entering(self, row: int, new: Group) -> int | None:
        if self.fitting(new, [row]) is not None:
            return row
        for g in self.turn():
            for old in self.groups[g]:
                self.looks -= 1
                if self.looks < 0:
                    return None
                if self.can_replace(self.groups[g], row, old) and self.fitting(new, [old]) is not None:
                    self.replace(g, row, old)
                    return old
        return None

    def take_places(self) -> None:
        """Each row that is left takes the place of a member that another group accepts."""
        unplaced = []
        for row in self.left:
            change = self.change(row)
            if change is None:
                unplaced.append(row)
            else:
                group, old, other = change
                self.replace(group, row, old)
                self.enter(other, old)
        self.left = unplaced

    def change(self, row: int) -> tuple[int, int, int] | None:
        for g in self.turn():
            for old in self.groups[g]:
                self.looks -= 1
                if self.looks < 0:
                    return None
                if self.can_replace(self.groups[g], row, old):
                    other = self.find(old, but=g)
                    if other is not None:
                        return g, old, other
        return None


# KACA -----------------------------------------------------------------------------------------------------------


class Kaca:
    """Classes of equal rows, merged with their nearest by equation 7 until `passes` says that a class may stay."""

    def __init__(self, columns: Sequence[Column], order: Iterable[int], passes: Callable[[Group], bool]) -> None:
        self.columns = columns
        self.ladders = [ladder_of(column) for column in columns]
        heaviest = max(column.weight for column in columns)
        self.costs = [
            [round(cost * column.weight / heaviest * 2**32) for cost in climbing(ladder.depth)]
            for column, ladder in zip(columns, self.ladders, strict=True)
        ]
        self.passes = passes
        equal: dict[tuple[int, ...], Group] = {}
        for row in order:
            equal.setdefault(tuple(int(column.codes[row]) for column in columns), []).append(int(row))
        self.classes = list(equal.values())  # in drawn order of their first rows

    def run(self) -> list[Group]:
        while True:
            failing = next((rows for rows in self.classes if not self.passes(rows)), None)
            others = [rows for rows in self.classes if rows is not failing]
            if failing is None or not others:
                return self.classes
            nearest = min(others, key=lambda rows: self.distance(failing, rows))
            first, last = sorted((failing, nearest), key=self.classes.index)
            self.classes[self.classes.index(first)] = first + last
            self.classes.remove(last)

    def distance(self, one: Group, other: Group) -> int:
        """Equation 7, in whole numbers."""
        return sum(
            len(rows) * (self.lost([*one, *other], j) - self.lost(rows, j))
            for rows in (one, other)
            for j in range(len(self.columns))
        )

    def lost(self, rows: Group, j: int) -> int:
        """What it costs to publish an attribute of these rows under what covers them all."""
        nodes, leaf_of = self.ladders[j]
        leaves = [int(leaf_of[self.columns[j].codes[row]]) for row in rows]
        level = next(h for h in range(nodes.shape[1]) if len({int(nodes[leaf, h]) for leaf in leaves}) == 1)
        return self.costs[j][level]
