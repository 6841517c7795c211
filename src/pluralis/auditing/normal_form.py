"""Guardian Normal Form: whether tables that are published together keep a rule, told from their columns alone.

Paper      Jin, Zhang, Zhang, Das, Versatile Publishing for Privacy Preservation, Definitions 3-5.
Words      part = a published table of some attributes of the same people; it protects none of them, or some, by groups
           that show what stands in them but not what belongs together. rule Q -> S = knowing Q must not reveal S.
Departs    a part may protect several attributes, which it publishes side by side. Definition 4 takes S alone out of
           the part; here all that the part protects is cut from the rest and stays together, since a value beside S
           tells S as well as any other. For one attribute it is the same.

Theorem. A world gives everybody a full tuple and, in every part, a group, so that each table is what is published. All
worlds that fit are equally likely. Then whoever knows Q of anybody, or of everybody, gives a value of S

- its share of the whole column, if S cannot be reached from Q;
- a mixture of its shares in the groups of the guardian, if there is one. So at most the largest of them.

Argument. Take two people, of one group of the guardian, and exchange their values of all attributes that hang on
what it protects once that is cut from the rest, with their groups in all parts of these attributes. Every table is
as before, so this is a world too; and S changed hands, while all that can be reached from Q stayed where it was. So
within a group every way to hand out S is equally likely, whatever stands on Q's side. If S cannot be reached at all,
the same is true of any two people.

A functional dependency X -> S that everybody knows is one more part, of X and S, that protects nothing: it leaves
fewer worlds, but people who exchange both X and S still obey it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pluralis.policy.rules import Dependency, Rule


@dataclass(frozen=True)
class Part:
    """A published table: its attributes, those that it protects, and from which it does (all others, unless told)."""

    name: str
    attributes: frozenset[str]
    protects: frozenset[str] = frozenset()
    enforced: frozenset[str] | None = None

    @property
    def left(self) -> frozenset[str]:
        """The left side of what its groups enforce."""
        return self.attributes - self.protects if self.enforced is None else self.enforced

    def cut(self) -> list[Part]:
        """The part without what its groups hide: how the protected attributes belong to the others."""
        return [Part(self.name, self.attributes - self.protects), Part(self.name, self.protects)]


def known(dependency: Dependency) -> Part:
    """What everybody knows of how attributes go together, as a part.

    >>> known(Dependency.parse("drg -> mdc")).name
    '(drg -> mdc)'
    """
    return Part(f"({dependency})", dependency.attributes)


@dataclass(frozen=True)
class Standing:
    """How a rule stands: whether its sensitive attribute can be reached, by what it is guarded, and why, in words."""

    rule: Rule
    reached: bool
    guardian: Part | None
    why: str

    @property
    def holds(self) -> bool:
        return not self.reached or self.guardian is not None


def normal_form(rules: Iterable[Rule], parts: Sequence[Part]) -> list[Standing]:
    r"""Definition 5: each rule's sensitive attribute cannot be reached, or has a guardian.

    The paper's running example, as its Table 3 publishes it:

    >>> a = Part("a", frozenset({"gender", "icd9cm", "hospital", "age"}))
    >>> b = Part("b", frozenset({"race", "zipcode"}), protects=frozenset({"zipcode"}))
    >>> rules = [Rule.parse(text + ": l=2") for text in ("gender, icd9cm -> zipcode", "hospital, race -> zipcode")]
    >>> for standing in normal_form(rules, [a, b]):
    ...     print(standing.holds, standing.why)
    True zipcode cannot be reached from gender, icd9cm
    True guarded by b
    >>> bridge = Part("c", frozenset({"age", "zipcode"}))
    >>> _, third = normal_form(rules, [a, b, bridge])
    >>> print(third.why.replace("; ", "\n"))
    nothing guards race - b - zipcode
    b protects zipcode, but hospital - a - age - c - zipcode leads around
    c does not protect zipcode
    """
    return [_standing(rule, parts) for rule in rules]


def _standing(rule: Rule, parts: Sequence[Part]) -> Standing:
    sensitive = rule.protects
    path = paths(rule.knows, parts).get(sensitive)
    if path is None:
        return Standing(rule, False, None, f"{sensitive} cannot be reached from {', '.join(rule.knows) or 'nothing'}")
    guard = guardian(rule, parts)
    if guard is not None:
        return Standing(rule, True, guard, f"guarded by {guard.name}")
    tried = (
        f"{part.name} {' and '.join(objections(rule, part, parts))}" for part in parts if sensitive in part.attributes
    )
    return Standing(rule, True, None, "; ".join([f"nothing guards {' - '.join(path)}", *tried]))


def guardian(rule: Rule, parts: Sequence[Part]) -> Part | None:
    """Definition 4: the part that guards a rule. Where the sensitive attribute can be reached there is at most one.

    >>> t1 = Part("t1", frozenset({"age", "disease"}), protects=frozenset({"disease"}))
    >>> t2 = Part("t2", frozenset({"job", "disease"}), protects=frozenset({"disease"}))
    >>> guardian(Rule.parse("age -> disease : l=2"), [t1, t2]).name
    't1'
    >>> guardian(Rule.parse("age, job -> disease : l=2"), [t1, t2]) is None
    True
    """
    return next((part for part in parts if not any(objections(rule, part, parts))), None)


def objections(rule: Rule, part: Part, parts: Sequence[Part]) -> Iterator[str]:
    """Which of the three conditions of Definition 4 a part does not meet."""
    sensitive, known = rule.protects, frozenset(rule.knows)
    others = [other for other in parts if other is not part]
    # (i) It contains S,
    if sensitive not in part.attributes:
        yield f"does not contain {sensitive}"
        return
    # (ii) and by itself protects it from what is known of its attributes, or can be reached from Q by the others.
    if sensitive not in part.protects:
        yield f"does not protect {sensitive}"
        return
    learned = reachable(known, others) & part.attributes - {sensitive}
    if not learned <= part.left:
        yield f"does not protect {sensitive} from {', '.join(sorted(learned - part.left))}"
    # (iii) Cut from the rest of the part, S can no longer be reached from Q.
    around = paths(known, [*others, *part.cut()]).get(sensitive)
    if around is not None:
        yield f"protects {sensitive}, but {' - '.join(around)} leads around"


def reachable(start: Collection[str], parts: Sequence[Part]) -> frozenset[str]:
    """Definition 3: the attributes that a chain of parts, each sharing one with the next, joins to some of `start`.

    >>> chain = [Part("t1", frozenset({"age", "sex"})), Part("t2", frozenset({"sex", "zip"}))]
    >>> sorted(reachable({"age"}, chain))
    ['age', 'sex', 'zip']
    """
    return frozenset(paths(start, parts))


def paths(start: Collection[str], parts: Sequence[Part]) -> dict[str, tuple[str, ...]]:
    """A shortest path to each attribute that can be reached: attribute, part, attribute, part, …, attribute."""
    shortest: dict[str, tuple[str, ...]] = {name: (name,) for name in sorted(start)}
    queue = deque(shortest)
    while queue:
        here = queue.popleft()
        for part in parts:
            if here in part.attributes:
                new = sorted(part.attributes - shortest.keys())
                shortest |= {there: (*shortest[here], part.name, there) for there in new}
                queue.extend(new)
    return shortest
