"""A rule set explained: what is in force and why, what is redundant, what conflicts, and what a table says to it.

Paper      Jin, Zhang, Zhang, Das: Versatile Publishing for Privacy Preservation. Sections 3 to 5.
Words      cycle = attributes that rules protect from each other, all around; gap = somebody who knows what two rules
           speak of, of whom no rule speaks; hole = a rule whose left side decides its right side; torn = a rule that
           keeps apart what a dependency ties together, in whichever direction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pluralis.errors import Infeasible
from pluralis.grouping.dependencies import Hole, assumed, contradicted, open_holes
from pluralis.grouping.eligibility import allowance, allowing, largest_l, most_kept
from pluralis.grouping.subtable_schema import Schema
from pluralis.policy.policy import Policy
from pluralis.policy.rules import Dependency, Rule, irreducible
from pluralis.policy.settings import Stated
from pluralis.table.encoding import Table

_BY_SHARE = ("frequency", "unique-distinct")  # models that bound how common a value may be


@dataclass(frozen=True)
class InForce:
    """A rule that no other implies, and everything in the policy that says it."""

    rule: Rule
    origins: tuple[str, ...]


@dataclass(frozen=True)
class Redundant:
    """A rule that another one implies."""

    rule: Rule
    origins: tuple[str, ...]
    implied_by: Rule


@dataclass(frozen=True)
class Cycle:
    """Attributes that rules protect from each other, all around, and those rules."""

    attributes: tuple[str, ...]
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Gap:
    """Several rules protect an attribute, and none speaks of whoever knows all that these know."""

    attribute: str
    knows: tuple[str, ...]


@dataclass(frozen=True)
class Known:
    """A dependency of an attribute that stands in a rule, where it comes from, and the rules that it adds."""

    dependency: Dependency
    declared: bool
    adds: tuple[Rule, ...]


@dataclass(frozen=True)
class Torn:
    """A rule that keeps apart what dependencies tie together, and what to say of it."""

    rule: Rule
    because: str


@dataclass(frozen=True)
class Skewed:
    """A rule whose right column alone breaks it: one value fills more than 1/l of the rows."""

    rule: Rule
    value: str
    share: float
    largest_l: int
    suppressed: int  # rows to suppress for it
    allowed: bool  # whether the policy lets them be suppressed
    allowing: str | None  # the line that would let them; None if none would

    def __str__(self) -> str:
        text = f"{self.value!r} fills {self.share:.1%} of {said_of((self.rule.protects,))}. "
        if self.allowed:
            return text + f"{self.suppressed:,} rows will be suppressed for it, as suppress allows."
        if self.largest_l < 2:
            text += "It is too skewed for any l; make it an identifier, which is not published"
        else:
            text += f"The largest l it allows is {self.largest_l}; set l={self.largest_l}"
        return text + (f", or allow {self.allowing}." if self.allowing is not None else ".")


@dataclass(frozen=True)
class Vertex:
    """An attribute in the graph of rules."""

    name: str
    role: str
    must_not_reveal: tuple[str, ...]
    must_not_follow_from: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """What `pluralis rules` shows. Without a table, what only a table can say is empty."""

    rules: tuple[InForce, ...]
    redundant: tuple[Redundant, ...]
    cycles: tuple[Cycle, ...]
    gaps: tuple[Gap, ...]
    dependencies: tuple[Known, ...]
    unimportant: tuple[Dependency, ...]  # found in the table, or declared, and no rule speaks of what they tie
    coincidences: tuple[Dependency, ...]
    contradicted: tuple[Dependency, ...]  # the policy says them, as one or the other, and the table does not show them
    holes: tuple[Hole, ...]
    torn: tuple[Torn, ...]
    skewed: tuple[Skewed, ...]
    attributes: tuple[Vertex, ...]
    with_table: bool
    bounded: tuple[str, ...] = ()  # attributes whose values have bounds beside l, and which

    @property
    def impossible(self) -> list[str]:
        """Why some rules cannot be kept, and what to do; a sentence or two for each."""
        holes = [
            f"`{hole.rule}` cannot be kept: {hole.because} in this table. Drop the rule, make one of these attributes "
            "an identifier, which is not published, or list that under coincidences if nobody could know it."
            for hole in self.holes
        ]
        skewed = [f"`{skew.rule}` cannot be kept: {skew}" for skew in self.skewed if not skew.allowed]
        return [*holes, *(torn.because for torn in self.torn), *skewed]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, rules and dependencies as the policy writes them."""
        return {**_plain(asdict(self)), "impossible": self.impossible}


def explain(policy: Policy, table: Table | None = None) -> Explanation:
    """What the rules of a policy ask for, and, with a table, whether it can be had.

    >>> explanation = explain(Policy.parse('''
    ... version: 1
    ... rules: ["age -> race : l=2", "age, sex -> race : l=3", "race -> age : l=2"]
    ... '''))
    >>> [str(in_force.rule) for in_force in explanation.rules], explanation.cycles[0].attributes
    (['age, sex -> race : l=3', 'race -> age : l=2'], ('age', 'race'))
    """
    dependencies = assumed(table, policy) if table is not None else []
    known = [*policy.dependencies, *dependencies]
    stated = policy.stated(dependencies)
    rules = irreducible(statement.rule for statement in stated)
    named = {name for rule in rules for name in (*rule.knows, rule.protects)}
    holes = open_holes(rules, table, policy.coincidences, known) if table is not None else []
    return Explanation(
        rules=tuple(InForce(rule, _origins(stated, rule)) for rule in rules),
        redundant=tuple(_redundant(stated, rules)),
        cycles=tuple(_cycles(rules)),
        gaps=tuple(_gaps(rules)),
        dependencies=tuple(
            Known(d, d in policy.dependencies, _added(stated, d)) for d in known if d.attributes & named
        ),
        unimportant=tuple(d for d in known if not d.attributes & named),
        coincidences=tuple(policy.coincidences),
        contradicted=tuple(
            d for d in (*policy.dependencies, *policy.coincidences) if table is not None and contradicted(d, table)
        ),
        holes=tuple(holes),
        torn=tuple(_torn([rule for rule in rules if rule not in [hole.rule for hole in holes]], known)),
        skewed=tuple(_skewed(rules, table, policy)) if table is not None else (),
        attributes=tuple(_vertices(policy, rules)),
        with_table=table is not None,
        bounded=tuple(
            f"{name} {attribute.asked_in_words(1)}"
            for name, attribute in policy.columns.items()
            if attribute.role == "sensitive" and attribute.bounds
        ),
    )


def said_of(names: Sequence[str]) -> str:
    """Names as a policy writes them, quoted where they must be.

    >>> said_of(("age", "a, b"))
    'age, "a, b"'
    """
    return str(Dependency(knows=tuple(names), decides="x")).removesuffix(" -> x")


def _origins(stated: Sequence[Stated], rule: Rule) -> tuple[str, ...]:
    return tuple(dict.fromkeys(statement.origin for statement in stated if statement.rule == rule))


def _added(stated: Sequence[Stated], dependency: Dependency) -> tuple[Rule, ...]:
    return tuple(statement.rule for statement in stated if statement.origin == f"the dependency {dependency}")


def _redundant(stated: Sequence[Stated], rules: Sequence[Rule]) -> Iterator[Redundant]:
    for rule in dict.fromkeys(statement.rule for statement in stated):
        if rule not in rules:
            yield Redundant(rule, _origins(stated, rule), next(other for other in rules if other.implies(rule)))


def _cycles(rules: Sequence[Rule]) -> Iterator[Cycle]:
    """Attributes that arrows from known to protected lead to from each other."""
    reached = {name: _reached(name, rules) for rule in rules for name in (*rule.knows, rule.protects)}
    done: set[str] = set()
    for name in sorted(reached):
        round_ = {other for other in reached[name] if name in reached.get(other, ())}
        if round_ and name not in done:
            done |= round_
            inside = [rule for rule in rules if rule.protects in round_ and round_ & set(rule.knows)]
            yield Cycle(tuple(sorted(round_)), tuple(inside))


def _reached(name: str, rules: Sequence[Rule]) -> set[str]:
    reached: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        new = {rule.protects for rule in rules if current in rule.knows} - reached
        reached |= new
        waiting += new
    return reached


def _gaps(rules: Sequence[Rule]) -> Iterator[Gap]:
    known_to = defaultdict(list)
    for rule in rules:
        known_to[rule.protects].append(frozenset(rule.knows))
    for attribute, sides in known_to.items():
        union = frozenset().union(*sides)
        if union not in sides:
            yield Gap(attribute, tuple(sorted(union)))


def _torn(rules: Sequence[Rule], dependencies: Sequence[Dependency]) -> Iterator[Torn]:
    """The rules that methods for several tables refuse, for tied attributes always stand together."""
    tied = {name for dependency in dependencies for name in dependency.attributes}
    for rule in rules:
        try:
            Schema.from_rules({*tied, *rule.knows, rule.protects}, [rule], dependencies)
        except Infeasible as refusal:
            yield Torn(rule, str(refusal))


def _skewed(rules: Sequence[Rule], table: Table, policy: Policy) -> Iterator[Skewed]:
    """Where nothing ties the right side to the left, its own distribution still tells."""
    for rule in rules:
        counts = table[rule.protects].counts
        top = int(counts.argmax())
        if policy.columns[rule.protects].model not in _BY_SHARE or counts[top] * rule.l <= table.rows:
            continue
        suppressed = int(counts.sum() - most_kept(counts, rule.l).sum())
        allowed = suppressed < table.rows and suppressed <= allowance(policy.publish.suppress, table.rows)
        value, share = table[rule.protects].text(top), float(counts[top]) / table.rows
        yield Skewed(
            rule, value, share, largest_l(counts), suppressed, allowed, allowing(suppressed, table.rows, policy)
        )


def _vertices(policy: Policy, rules: Sequence[Rule]) -> Iterator[Vertex]:
    for name, attribute in policy.columns.items():
        if attribute.role != "identifier":
            out = {rule.protects for rule in rules if name in rule.knows}
            into = {known for rule in rules if rule.protects == name for known in rule.knows}
            yield Vertex(name, str(attribute.role), tuple(sorted(out)), tuple(sorted(into)))


def _plain(value: Any) -> Any:
    if isinstance(value, Rule | Dependency):
        return str(value)
    if isinstance(value, Hole):
        return _plain(value._asdict())
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_plain(inner) for inner in value]
    return value
