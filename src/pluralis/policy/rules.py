"""Privacy rules and functional dependencies: `hospital, race -> zipcode : l=3` and `zipcode -> county`.

A rule says: whoever knows hospital and race must not guess zipcode with more than 1/3. A dependency says: whoever knows
zipcode knows county. A name that holds a comma, a colon, a quote or an arrow stands in double quotes: `"a, b" -> c`.

Paper      Jin, Zhang, Zhang, Das: Versatile Publishing for Privacy Preservation. Sections 2 and 3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

_TOKEN = re.compile(r'\s*(?:(?P<arrow>->)|(?P<mark>[,:])|(?P<quoted>"(?:[^"]|"")*")|(?P<name>(?:(?!->)[^,:"])+))')
_L = re.compile(r"l\s*=\s*(?P<l>\S+)")


class Rule(BaseModel):
    """Knowing these attributes must not reveal that one.

    >>> print(Rule.parse("race, hospital -> zipcode : l=3"))
    hospital, race -> zipcode : l=3
    >>> Rule.parse("race, -> zipcode : l=3")
    Traceback (most recent call last):
    pluralis.policy.rules.Pointed: an attribute is missing here:
        race, -> zipcode : l=3
              ^
    Write `age, sex -> disease : l=3`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    knows: tuple[str, ...]
    protects: str
    l: int

    @classmethod
    def parse(cls, text: str) -> Rule:
        arrow = _read(text, "age, sex -> disease : l=3")
        if arrow.right.text in arrow.known:
            problem = f"{arrow.right.text!r} stands on both sides. Whoever knows it has nothing to learn; remove it"
            raise arrow.fault(arrow.right.position, problem)
        strength = _L.fullmatch(arrow.rest.text)
        if strength is None or not re.fullmatch(r"\d{1,9}", strength["l"]) or int(strength["l"]) < 2:
            raise arrow.fault(arrow.rest.position, "end the rule with `: l=2` or a larger whole number")
        return cls(knows=arrow.known, protects=arrow.right.text, l=int(strength["l"]))

    def implies(self, other: Rule) -> bool:
        """Whether whatever keeps this rule keeps the other one (Theorem 3.1, with an l for each rule)."""
        return self.protects == other.protects and set(other.knows) <= set(self.knows) and other.l <= self.l

    def __str__(self) -> str:
        return f"{', '.join(map(_written, self.knows))} -> {_written(self.protects)} : l={self.l}"


class Dependency(BaseModel):
    """Whoever knows these attributes of a person knows that one: the data, or the world, leave no other.

    >>> print(Dependency.parse("zipcode -> county"))
    zipcode -> county
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    knows: tuple[str, ...]
    decides: str

    @classmethod
    def parse(cls, text: str) -> Dependency:
        arrow = _read(text, "zipcode -> county")
        if arrow.rest.text:
            raise arrow.fault(arrow.rest.position, "a dependency ends with the attribute that is decided")
        if arrow.right.text in arrow.known:
            raise arrow.fault(arrow.right.position, f"{arrow.right.text!r} stands on both sides; remove it")
        return cls(knows=arrow.known, decides=arrow.right.text)

    @property
    def attributes(self) -> frozenset[str]:
        return frozenset({*self.knows, self.decides})

    def __str__(self) -> str:
        return f"{', '.join(map(_written, self.knows))} -> {_written(self.decides)}"


# sets of rules --------------------------------------------------------------------------------------------------


def irreducible(rules: Iterable[Rule]) -> list[Rule]:
    """The rules that no other one implies, in their order (Definition 2). Of equal ones the first stays.

    >>> [str(rule) for rule in irreducible([Rule.parse("a -> c : l=2"), Rule.parse("a, b -> c : l=2")])]
    ['a, b -> c : l=2']
    """
    different = list(dict.fromkeys(rules))
    return [rule for rule in different if not any(other.implies(rule) for other in different if other != rule)]


def closure(known: Iterable[str], dependencies: Iterable[Dependency]) -> frozenset[str]:
    """Everything that is known once these attributes are.

    >>> sorted(closure({"zip"}, [Dependency.parse("zip -> county"), Dependency.parse("county -> state")]))
    ['county', 'state', 'zip']
    """
    reached = set(known)
    while new := {d.decides for d in dependencies if reached.issuperset(d.knows)} - reached:
        reached |= new
    return frozenset(reached)


def expanded(rules: Iterable[Rule], dependencies: Sequence[Dependency]) -> Iterator[tuple[Rule, Dependency]]:
    """The rules that dependencies add, each with its reason (Theorem 3.2): where X -> S is known, Q -> S needs Q -> X.

    Of several attributes that decide S together, no single one has to be protected; those are left to whoever decides
    what is published side by side (`schema.tied`).

    >>> for rule, reason in expanded([Rule.parse("sex -> mdc : l=3")], [Dependency.parse("drg -> mdc")]):
    ...     print(rule, "| because", reason)
    sex -> drg : l=3 | because drg -> mdc
    """
    waiting = list(rules)
    seen = set(waiting)
    while waiting:
        rule = waiting.pop(0)
        for dependency in dependencies:
            if dependency.decides != rule.protects or len(dependency.knows) > 1 or dependency.knows[0] in rule.knows:
                continue
            new = Rule(knows=rule.knows, protects=dependency.knows[0], l=rule.l)
            if new not in seen:
                seen.add(new)
                waiting.append(new)
                yield new, dependency


# reading --------------------------------------------------------------------------------------------------------


class _Named(NamedTuple):
    text: str
    position: int


class _Arrow(NamedTuple):
    """`left -> right : rest`, and where each stands."""

    text: str
    example: str
    left: list[_Named]
    right: _Named
    rest: _Named

    @property
    def known(self) -> tuple[str, ...]:
        return tuple(sorted({name.text for name in self.left}))

    def fault(self, position: int, problem: str) -> ValueError:
        return _fault(self.text, position, problem, self.example)


def _read(text: str, example: str) -> _Arrow:
    sides: list[list[_Named]] = [[]]
    rest = _Named("", len(text))
    named = 0  # where the last name ends
    position, wanted = 0, True  # whether a name must come next
    while position < len(text.rstrip()):
        token = _TOKEN.match(text, position)
        if token is None:
            raise _fault(
                text, position + len(text[position:]) - len(text[position:].lstrip()), "a quote is not closed", example
            )
        position, kind = token.end(), token.lastgroup or ""
        start, word = token.start(kind), token[kind]
        if kind in ("name", "quoted"):
            if not wanted:
                raise _fault(text, start, "write a comma between attributes", example)
            if kind == "quoted" and not _unquoted(word).strip():
                raise _fault(text, start, "an attribute has a name", example)
            if kind == "name" and not word.strip():  # blanks before a quote that is not closed
                raise _fault(text, position, "a quote is not closed", example)
            sides[-1].append(_Named(_unquoted(word), start))
            named = start + len(word.rstrip())
            wanted = False
            continue
        if wanted:
            raise _fault(text, start, "an attribute is missing here", example)
        if word == ":":
            after = text[position:]
            rest = _Named(after.strip(), position + len(after) - len(after.lstrip()))
            break
        if word == "->":
            sides.append([])
        wanted = True
    if wanted:
        raise _fault(text, len(text.rstrip()), "an attribute is missing here", example)
    if len(sides) == 1:
        raise _fault(text, named, "no arrow: write `->` between what is known and what is not", example)
    if len(sides) > 2 or len(sides[1]) > 1:
        place = sides[2][0] if len(sides) > 2 else sides[1][1]
        raise _fault(text, place.position, "write one attribute after the arrow, and a rule for each", example)
    return _Arrow(text, example, sides[0], sides[1][0], rest)


class Pointed(ValueError):
    """A fault in a rule, in several lines: one shows the rule, the next points at the place."""


def _fault(text: str, position: int, problem: str, example: str) -> Pointed:
    line = "".join(c if c.isprintable() else " " for c in text)  # one line, and the mark below the right letter
    return Pointed(f"{problem}:\n    {line}\n    {' ' * position}^\nWrite `{example}`.")


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.strip()


def _written(name: str) -> str:
    plain = name == name.strip() and not re.search(r'[,:"]|->', name)
    return name if plain else '"' + name.replace('"', '""') + '"'
