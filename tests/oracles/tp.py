"""A slow, literal version of TP, and the least residue by trying everything: the oracles.

Nothing here uses a kernel. Groups are dicts from a value to its rows; a row that leaves is the last of its value.
"""

from __future__ import annotations

from collections import Counter
from itertools import product

LOOKS = 64


def eligible(counts, l):
    """No value in more than 1/l of the rows."""
    return sum(counts.values()) >= l * height(counts)


def height(counts):
    return max(counts.values(), default=0)


def pillars(counts):
    """The commonest values; of nothing, none."""
    return {value for value, count in counts.items() if count == height(counts) > 0}


class Tp:
    """The three phases on rows given as (quasi key, value), in drawn order."""

    def __init__(self, rows, l):
        self.l = l
        groups = {}
        for row, (key, value) in enumerate(rows):
            groups.setdefault(key, {}).setdefault(value, []).append(row)
        self.groups = list(groups.values())
        self.values = sorted({value for _, value in rows})
        self.residue = {}
        self.begin = dict.fromkeys(self.values, 0)
        self.phase = 0

    def run(self):
        self.one()
        if not eligible(self.residue_counts(), self.l):
            self.line_up()
            self.two()
        while not eligible(self.residue_counts(), self.l):
            self.three()
            self.two(again=True)
        for group in self.groups:
            assert eligible(counted(group), self.l)
        return self

    def residue_counts(self):
        """The residue's histogram."""
        return counted(self.residue)

    def give(self, group, value):
        self.residue.setdefault(value, []).append(group[value].pop())

    # the phases -----------------------------------------------------------------------------------------------

    def one(self):
        self.phase = 1
        for group in self.groups:
            while not eligible(counted(group), self.l):
                self.give(group, min(pillars(counted(group))))

    def two(self, again=False):
        self.phase = self.phase if again else 2
        while not eligible(self.residue_counts(), self.l) and (choice := self.rarest()) is not None:
            number, value = choice
            group, before = self.groups[number], self.residue_counts()
            if self.is_fat(group):
                self.give(group, value)
            else:
                self.give_pillars(number)
            assert height(self.residue_counts()) == height(before)
            assert eligible(counted(group), self.l)

    def three(self):
        self.phase = 3
        assert all(self.is_dead(group) for group in self.groups)
        before, top = height(self.residue_counts()), pillars(self.residue_counts())
        chosen = self.cover(sorted(top))
        for number in chosen:
            if not eligible(self.residue_counts(), self.l):
                self.give_pillars(number)
        assert height(self.residue_counts()) <= before + len(chosen) - 1 <= before + self.l - 2
        if not top <= pillars(self.residue_counts()):
            self.line_up()

    # what a group can do --------------------------------------------------------------------------------------

    def is_fat(self, group):
        counts = counted(group)
        return sum(counts.values()) > self.l * height(counts)

    def is_dead(self, group):
        """Thin and in conflict, or empty."""
        counts = counted(group)
        return not counts or not (self.is_fat(group) or pillars(counts).isdisjoint(pillars(self.residue_counts())))

    def can_give(self, number, value):
        group = self.groups[number]
        counts = counted(group)
        if not counts[value] or value in pillars(self.residue_counts()) or self.is_dead(group):
            return False
        return self.is_fat(group) or value in pillars(counts)

    def give_pillars(self, number):
        group = self.groups[number]
        present = [value for value in sorted(group) if group[value]]
        for value in sorted(pillars(counted(group))):
            self.give(group, value)
        for value in present:
            if group[value] and number not in self.line[value]:
                self.line[value].append(number)

    # who is asked ---------------------------------------------------------------------------------------------

    def line_up(self):
        """Every group stands in the line of each of its values, the first one in front: at the end of the list."""
        numbers = range(len(self.groups) - 1, -1, -1)
        self.line = {value: [n for n in numbers if self.groups[n].get(value)] for value in self.values}

    def rarest(self):
        """The value that is rarest in the residue, of those that can be given, and the group that gives it."""
        counts = self.residue_counts()
        for value in sorted(self.values, key=lambda value: (counts[value], value)):
            if value in pillars(counts):
                continue
            line = self.line[value]
            while line and not self.can_give(line[-1], value):
                line.pop()
            able = [n for n in range(len(self.groups)) if self.can_give(n, value)]
            assert set(able) <= set(line)  # nobody who can give is missing from the line
            if line:
                return line[-1], value
        return None

    def cover(self, open_):
        """Groups such that no pillar of the residue is a pillar of all of them."""
        chosen = []
        while open_:
            first, best, most, looks = open_[0], None, 0, 0
            for step in range(len(self.groups)):
                number = (self.begin[first] + step) % len(self.groups)
                counts = counted(self.groups[number])
                covered = [value for value in open_ if value not in pillars(counts)]
                if not counts or first not in covered or looks == LOOKS:
                    continue
                looks += 1
                if len(covered) > most:
                    best, most = number, len(covered)
                if len(covered) == len(open_):
                    break
            assert best is not None  # else `first` would fill more than 1/l of the table
            self.begin[first] = best
            chosen.append(best)
            open_ = [value for value in open_ if value in pillars(counted(self.groups[best]))]
        return chosen


def counted(group):
    return Counter({value: len(rows) for value, rows in group.items() if rows})


def least_residue(rows, l):
    """OPT: the fewest rows that can leave so that every group and the residue are l-eligible."""
    groups = {}
    for key, value in rows:
        groups.setdefault(key, Counter())[value] += 1
    values = sorted({value for _, value in rows})
    residues = {(0,) * len(values)}
    for counts in groups.values():
        gone = []
        for stay in product(*(range(counts[value] + 1) for value in values)):
            if sum(stay) >= l * max(stay):
                gone.append([counts[value] - count for value, count in zip(values, stay, strict=True)])
        residues = {tuple(a + b for a, b in zip(residue, more, strict=True)) for residue in residues for more in gone}
    return min(sum(residue) for residue in residues if sum(residue) >= l * max(residue))
