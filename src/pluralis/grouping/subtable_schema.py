"""Which attributes are published side by side: subtables, and whether rules hold over all of them together.

Paper      Versatile Publishing, sections 4 and 5.
Words      a subtable shows its attributes; those it protects stand in groups (Anatomy), so that knowing the others does
           not reveal them. Attributes that a known dependency ties together are tied: they always stand together, and
           are known or protected together, for the dependency would join them again.

Attributes are bits of a whole number here, so that the thousands of schemas that GD looks at take no time. The audit
has the definitions again, on the published tables (auditing/normal_form.py); tests hold one against the other.

Theorem. If `keeps` is true of every rule Q -> S : l, no value of S fills more than 1/l of a group that protects it, nor
of the table, then whoever knows Q of a person gives no value of S more than 1/l. Where S cannot be reached from Q,
nothing that is published tells which row of the one side belongs to which of the other. Where a subtable guards S, in
every possible world what hangs on its protected attributes can be exchanged among the rows of a group, which changes
nothing on the side of Q; so each value has its share of the group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pluralis.errors import Infeasible
from pluralis.policy.rules import Dependency, Rule, closure


class Subtable(NamedTuple):
    """The attributes that stand side by side, and those of them that it protects from the others; both as bits."""

    shows: int
    protects: int = 0

    @property
    def open(self) -> int:
        """What it shows of every row."""
        return self.shows & ~self.protects


class Arrow(NamedTuple):
    """A rule in bits: `knows` must not tell `protects`, a single one."""

    knows: int
    protects: int


def reached(start: int, tables: Iterable[int]) -> int:
    """Everything that can be reached from some attributes, over tables that share one (Definition 3)."""
    left = list(tables)
    while True:
        near = [table for table in left if table & start]
        if not near:
            return start
        left = [table for table in left if not table & start]
        for table in near:
            start |= table


def guard(rule: Arrow, tables: Sequence[Subtable]) -> int | None:
    """Which subtable guards a rule (Definition 4): without what it protects, S is out of reach. None if there is none.

    A subtable protects from all its other attributes, so conditions (i) and (ii) are that it protects S.
    """
    for i, table in enumerate(tables):
        if table.protects & rule.protects:
            rest = (other.shows if j != i else other.open for j, other in enumerate(tables))
            if not reached(rule.knows, rest) & rule.protects:
                return i
    return None


def keeps(rule: Arrow, tables: Sequence[Subtable]) -> bool:
    """Whether tables keep a rule: S is out of reach, or guarded (Definition 5 for one rule)."""
    if not reached(rule.knows, (table.shows for table in tables)) & rule.protects:
        return True
    return guard(rule, tables) is not None


def exchanged(rule: Arrow, tables: Sequence[Subtable]) -> int:
    """What changes places with S among the rows of a group that guards it; of the table, where S is out of reach.

    >>> bin(exchanged(Arrow(0b001, 0b010), [Subtable(0b011, 0b010), Subtable(0b110)]))
    '0b110'
    """
    i = guard(rule, tables)
    if i is None:
        return reached(rule.protects, (table.shows for table in tables))
    rest = [other.shows if j != i else other.open for j, other in enumerate(tables)]
    return reached(tables[i].protects, rest)


@dataclass(frozen=True)
class Schema:
    """The attributes to publish and the rules to keep, with a bit for each set of tied attributes."""

    attributes: tuple[str, ...]
    rules: tuple[Rule, ...]
    dependencies: tuple[Dependency, ...] = ()

    @classmethod
    def from_rules(
        cls, attributes: Iterable[str], rules: Iterable[Rule], dependencies: Iterable[Dependency] = ()
    ) -> Schema:
        """Raises Infeasible where a dependency ties what a rule keeps apart."""
        schema = cls(tuple(sorted(attributes)), tuple(rules), tuple(dependencies))
        for rule in schema.rules:
            for name in rule.knows:
                if schema.bit[name] == schema.bit[rule.protects]:
                    raise Infeasible(_tied_apart(rule, name, schema.dependencies))
        return schema

    @cached_property
    def tied(self) -> tuple[tuple[str, ...], ...]:
        """Attributes that dependencies tie together, most of them alone; in order of their first name."""
        sets = [{name} for name in self.attributes]
        for dependency in self.dependencies:
            met = [names for names in sets if names & dependency.attributes]
            sets = [names for names in sets if not names & dependency.attributes] + [set().union(*met)]
        return tuple(sorted(tuple(sorted(names)) for names in sets))

    @cached_property
    def bit(self) -> dict[str, int]:
        return {name: 1 << i for i, names in enumerate(self.tied) for name in names}

    @cached_property
    def arrows(self) -> tuple[Arrow, ...]:
        """The rules in bits, none twice."""
        return tuple(dict.fromkeys(map(self.arrow, self.rules)))

    def bits(self, names: Iterable[str]) -> int:
        """The bits that some attributes stand for."""
        return sum({self.bit[name] for name in names})

    def arrow(self, rule: Rule) -> Arrow:
        return Arrow(self.bits(rule.knows), self.bit[rule.protects])

    @property
    def whole(self) -> int:
        return (1 << len(self.tied)) - 1

    def names(self, bits: int) -> tuple[str, ...]:
        """The attributes that some bits stand for, in order."""
        return tuple(sorted(name for i, names in enumerate(self.tied) if bits >> i & 1 for name in names))

    def in_normal_form(self, tables: Sequence[Subtable]) -> bool:
        """Whether every rule is kept (Definition 5)."""
        return all(keeps(arrow, tables) for arrow in self.arrows)

    def split_by(self, attributes: Iterable[str], tables: Sequence[Subtable]) -> Rule | None:
        """A rule for which some of these attributes are exchanged and others are not; None where there is none."""
        bits = self.bits(attributes)
        return next((rule for rule in self.rules if 0 != exchanged(self.arrow(rule), tables) & bits != bits), None)

    def asked(self, tables: Sequence[Subtable], i: int) -> dict[str, int]:
        """How diverse each attribute must be that subtable i protects: the largest l of the rules it guards."""
        ls: dict[str, int] = {}
        for rule in self.rules:
            arrow = self.arrow(rule)
            if arrow.protects & tables[i].protects & reached(arrow.knows, (table.shows for table in tables)):
                ls[rule.protects] = max(rule.l, ls.get(rule.protects, 2))
        return ls


def _tied_apart(rule: Rule, name: str, dependencies: Sequence[Dependency]) -> str:
    reason = f"`{rule}` cannot be kept: "
    if rule.protects in closure(rule.knows, dependencies):
        reason += f"whoever knows {', '.join(rule.knows)} knows {rule.protects}"
    else:
        reason += f"{name} and {rule.protects} go together, so that knowing one rules out most values of the other"
    reasons = ", ".join(f"`{dependency}`" for dependency in dependencies)
    return (
        f"{reason} (dependencies {reasons}). Drop the rule, make one of the attributes an identifier, which is not "
        "published, or, if nobody could know the dependency, list it under `coincidences`."
    )
