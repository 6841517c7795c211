"""Slow, literal versions of what the kernels do fast: the oracles of the tests. Plain Python, no kernel is used.

Rows are row numbers of a Table. Where the papers say "random", the drawn order decides: rows are looked at in that
order, the first one is the random one, and equal losses go to the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import combinations

from pluralis.policy.policy import Policy
from pluralis.table.encoding import Column, Table

GIVE_UP = 64
Group = list[int]
Codes = list[int]


# the IL metric (NCP) ------------------------------------------------------------------------------------------


def loss(rows: Sequence[int], columns: Sequence[Column]) -> float:
    """What one row loses when these rows are published alike: the weighted loss of every attribute, summed.

    Attributes are added in the order of pluralis.grouping.points (flat, tree, number), so that equal losses are equal.
    """
    return sum((attribute_loss(rows, column) for column in sorted(columns, key=_kind)), 0.0)


def attribute_loss(rows: Sequence[int], column: Column) -> float:
    codes = {int(column.codes[row]) for row in rows}
    if len(codes) == 1:
        return 0.0
    if column.hierarchy is not None:
        return column.weight * _share_of_common_ancestor(codes, column)
    if not column.is_number:
        return column.weight / column.size * len(codes)
    if max(codes) >= len(column.values):  # a missing number among others: two categories, all of the domain
        return column.weight
    low, high = column.values[0], column.values[-1]
    places = [(column.values[code] - low) / (high - low) for code in codes]
    return column.weight * min(1.0, max(places) - min(places))


def _share_of_common_ancestor(codes: set[int], column: Column) -> float:
    leaves = [int(column.leaf_of[code]) for code in codes]
    for level, labels in enumerate(column.hierarchy.labels):
        if len({labels[leaf] for leaf in leaves}) == 1:
            return float(column.hierarchy.share[leaves[0], level])
    raise AssertionError("a hierarchy has one root")


def _kind(column: Column) -> int:
    if column.hierarchy is not None:
        return 1
    return 2 if column.is_number else 0


def total_loss(groups: Sequence[Group], columns: Sequence[Column]) -> float:
    """The loss of the whole table: of every group, once for each of its rows."""
    return sum(len(group) * loss(group, columns) for group in groups)


# Max-l --------------------------------------------------------------------------------------------------------


def max_l_schedule(sizes: Sequence[int], l: int) -> list[list[int]]:
    """One row from each of the l fullest buckets, again and again (Figure 2); equal buckets in domain order."""
    left = list(sizes)
    schedule = []
    while sum(size > 0 for size in left) >= l:
        fullest = sorted(range(len(left)), key=lambda bucket: -left[bucket])[:l]
        for bucket in fullest:
            left[bucket] -= 1
        schedule.append(fullest)
    return schedule


def most_groups(sizes: Sequence[int], l: int) -> int:
    """The largest number of groups of l rows from l different buckets, by trying every choice."""
    return _most_groups(tuple(sorted(size for size in sizes if size)), l)


@cache
def _most_groups(sizes: tuple[int, ...], l: int) -> int:
    best = 0
    for chosen in {tuple(sizes[i] for i in places): places for places in combinations(range(len(sizes)), l)}.values():
        left = [size - (i in chosen) for i, size in enumerate(sizes)]
        best = max(best, 1 + _most_groups(tuple(sorted(size for size in left if size)), l))
    return best


# BSGI ---------------------------------------------------------------------------------------------------------


def bsgi(table: Table, policy: Policy, order: Sequence[int], variant: str = "paper") -> tuple[list[Group], Group]:
    """Figure 1: bucketize, select and group, incorporate. `order` holds the rows to publish in drawn order.

    Returns the groups, and the rows that no group can take; under the paper's own rule any group can.
    """
    return _Bsgi(table, policy, [int(row) for row in order], variant).run()


def asked(table: Table, policy: Policy, variant: str) -> dict[str, int]:
    """How diverse each sensitive attribute must be; the first one makes the buckets and sets the size of groups.

    That is the one of largest l, at least k. Hardened groups grow until the commonest value of every other attribute
    finds room in them, unless an attribute wants exactly l values.
    """
    names = sorted((column.name for column in table.sensitive), key=lambda name: (-policy.l(name), name))
    first, others = names[0], names[1:]
    least = max(policy.l(first), policy.k or 0)
    size = least
    if variant == "hardened" and all(policy.columns[name].model != "unique-distinct" for name in names):
        roomy = [
            size
            for size in range(least, table.rows // int(table[first].counts.max()) + 1)
            if all(size // policy.l(name) * (table.rows // size) >= table[name].counts.max() for name in others)
        ]
        size = min(roomy, default=least)
    return {first: size, **{name: policy.l(name) for name in others}}


def givers(unused: list[Group], bound: list[Group], places: int) -> list[Group]:
    """Slack: which of the unused buckets may give the next row, where those in `bound` must all give one in the end."""
    if len(bound) < places:
        return unused
    if len(bound) == places:
        return bound
    return [bucket for bucket in bound if len(bucket) == max(map(len, bound))]


class _Bsgi:
    def __init__(self, table: Table, policy: Policy, order: Group, variant: str) -> None:
        ls = asked(table, policy, variant)
        self.quasi = table.quasi
        self.order = order
        self.drawn = {row: i for i, row in enumerate(order)}
        self.sensitive = [table[name].codes.tolist() for name in ls]
        self.ls = list(ls.values())
        self.l = max(self.ls)
        self.person = None if table.person is None else table.person.tolist()
        self.literal = variant == "paper"

    def run(self) -> tuple[list[Group], Group]:
        groups, residual = self.select_and_group()
        unplaced = []
        for row in residual:
            group = self.incorporate(groups, row) if self.literal else self.incorporate_safely(groups, row)
            if group is None:
                unplaced.append(row)
            else:
                group.append(row)
        return groups, unplaced

    # Figure 1, lines 2-5

    def select_and_group(self) -> tuple[list[Group], Group]:
        buckets: dict[int, Group] = {value: [] for value in sorted({self.sensitive[0][row] for row in self.order})}
        for row in self.order:
            buckets[self.sensitive[0][row]].append(row)
        groups, residual, failures = [], [], 0
        while sum(bool(bucket) for bucket in buckets.values()) >= self.l and failures < GIVE_UP:
            group = self.select(buckets) if self.literal else self.select_by_slack(buckets)
            if len(group) == self.l:
                groups.append(group)
                failures = 0
            else:
                group = group[:1]
                residual += group
                failures += 1
            for row in group:
                buckets[self.sensitive[0][row]].remove(row)
        residual += [row for bucket in buckets.values() for row in bucket]
        return groups, sorted(residual, key=self.drawn.__getitem__)

    def fits(self, group: Group, row: int) -> bool:
        """Section 5.2: another person, and unequal on all sensitive attributes; hardened: l_i-diverse on each."""
        if self.person is not None and any(self.person[other] == self.person[row] for other in group):
            return False
        for attribute, l_i in zip(self.sensitive, self.ls, strict=True):
            same = sum(attribute[other] == attribute[row] for other in group)
            if (same > 0) if self.literal else ((same + 1) * l_i > self.l):
                return False
        return True

    def nearest(self, group: Group, rows: Sequence[int]) -> int | None:
        fitting = [row for row in sorted(rows, key=self.drawn.__getitem__) if self.fits(group, row)]
        return min(fitting, key=lambda row: loss([*group, row], self.quasi), default=None)

    def select(self, buckets: dict[int, Group]) -> Group:
        """Figure 2; a bucket without a fitting row is passed over."""
        fullest = sorted(buckets.values(), key=lambda bucket: -len(bucket))
        group = [fullest[0][0]]
        for bucket in fullest[1:]:
            if len(group) == self.l:
                break
            row = self.nearest(group, bucket)
            if row is not None:
                group.append(row)
        return group

    def select_by_slack(self, buckets: dict[int, Group]) -> Group:
        """Only buckets with more than (remaining - l) // l rows must give one; every other place is free."""
        remaining = sum(len(bucket) for bucket in buckets.values())
        later = (remaining - self.l) // self.l
        quotas = self.quotas(buckets, later)
        group = [max(buckets.values(), key=len)[0]]
        while len(group) < self.l:
            used = {self.sensitive[0][row] for row in group}
            unused = [bucket for value, bucket in buckets.items() if value not in used]
            bound = [bucket for bucket in unused if len(bucket) > later]
            rows = [row for bucket in givers(unused, bound, self.l - len(group)) for row in bucket]
            row = self.nearest(group, [row for row in rows if self.holds_what_is_needed(group, row, quotas)])
            if row is None:
                row = self.nearest(group, rows)
            if row is None:
                break
            group.append(row)
        return group

    def quotas(self, buckets: dict[int, Group], later: int) -> list[tuple[Codes, int, int]]:
        """The commonest value of every other attribute, and how many rows of it later groups cannot take."""
        quotas = []
        for attribute, l_i in zip(self.sensitive[1:], self.ls[1:], strict=True):
            counts = Counter(sorted(attribute[row] for bucket in buckets.values() for row in bucket))
            value, count = counts.most_common(1)[0]
            cap = self.l // l_i
            quotas.append((attribute, value, min(cap, count - cap * later)))
        return quotas

    def holds_what_is_needed(self, group: Group, row: int, quotas: list[tuple[Codes, int, int]]) -> bool:
        """Where the places left are just enough for a quota, the row must count toward it."""
        for attribute, value, quota in quotas:
            missing = quota - sum(attribute[other] == value for other in group)
            if missing >= self.l - len(group) and attribute[row] != value:
                return False
        return True

    # Figure 1, lines 6-7

    def incorporate(self, groups: list[Group], row: int) -> Group | None:
        """Figure 3, among groups without the person."""
        value = self.sensitive[0]
        if self.person is not None:
            groups = [group for group in groups if self.person[row] not in {self.person[other] for other in group}]
        lacking = [group for group in groups if value[row] not in {value[other] for other in group}]
        candidates = lacking or groups
        return min(candidates, key=lambda group: loss([*group, row], self.quasi) * (len(group) + 1), default=None)

    def incorporate_safely(self, groups: list[Group], row: int) -> Group | None:
        """Where every attribute stays l-diverse: a group of l rows first, one without the values first."""
        safe = []
        for group in groups:
            if self.person is not None and any(self.person[other] == self.person[row] for other in group):
                continue
            same = [sum(attribute[other] == attribute[row] for other in group) for attribute in self.sensitive]
            if all((n + 1) * l_i <= len(group) + 1 for n, l_i in zip(same, self.ls, strict=True)):
                wider = loss([*group, row], self.quasi) * (len(group) + 1)
                growth = wider - loss(group, self.quasi) * len(group)
                safe.append((len(group) != self.l, any(same), growth, group))
        return min(safe, key=lambda choice: choice[:3])[3] if safe else None
