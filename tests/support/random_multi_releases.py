"""Random schemas, tiny tables and groups for `multi` releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from oracles.worlds_of_subtables import World, function_of, worlds
from pluralis.policy.rules import Dependency, Rule
from pluralis.release.release import Release
from support.handmade_multi_releases import Sub, multi_release

Person = dict[str, Any]


class Sketch(NamedTuple):
    """People, the parts that tell of them, a rule, and a dependency of one attribute on another that people obey."""

    people: list[Person]
    subs: list[Sub]
    rule: Rule
    tie: Dependency | None = None

    @property
    def rules(self) -> list[str]:
        """The rule, and for every protected attribute the one that its part enforces."""
        own = [
            Rule(knows=tuple(sorted({*sub.attributes} - {*sub.protects})), protects=name, l=2)
            for sub in self.subs
            for name in sub.protects
        ]
        return list(dict.fromkeys(map(str, [self.rule, *own])))

    @property
    def release(self) -> Release:
        return multi_release(self.people, self.subs, self.rules, [str(self.tie)] if self.tie else [])

    @property
    def worlds(self) -> list[World]:
        """All worlds of the release in which people obey the dependency."""
        obeyed = [function_of(self.people, self.tie.knows, self.tie.decides)] if self.tie else []
        return list(worlds(self.release, obeyed))


def schema(random: Random) -> tuple[list[Sub], Rule]:
    """Two or three parts of three to five attributes, some of which protect one or two of theirs, and a rule."""
    letters = "abcde"[: random.choice([3, 4, 4, 5])]
    subs = []
    for _ in range(random.choice([2, 2, 3])):
        some = random.sample(letters, random.choice([2, 2, 3]))
        protected = random.choice([0, 1, 1, 1, 2] if len(some) == 3 else [0, 1, 1])
        subs.append(Sub(sorted(some), sorted(some[:protected])))
    names = names_of(subs)
    secret, *others = random.sample(names, len(names))
    knows = others[: random.randint(1, min(3, len(others)))]
    return subs, Rule(knows=tuple(sorted(knows)), protects=secret, l=2)


def names_of(subs: Sequence[Sub]) -> list[str]:
    return sorted({name for sub in subs for name in sub.attributes})


def filled(random: Random, subs: list[Sub], rule: Rule, tie: Dependency | None = None) -> Sketch | None:
    """People for a schema, in groups of which no protected value fills more than half; None if none were found."""
    size = 4 if len(subs) > 2 else random.choice([4, 5])
    for _ in range(50):
        people = [{name: f"{name}{random.randrange(3)}" for name in names_of(subs)} for _ in range(size)]
        if tie:
            (known,) = tie.knows
            values = {f"{known}{i}": f"{tie.decides}{random.randrange(3)}" for i in range(3)}
            people = [person | {tie.decides: values[person[known]]} for person in people]
        groups = [_groups(random, people, sub) for sub in subs]
        if all(some is not None for some in groups):
            grouped = [sub._replace(groups=some or ()) for sub, some in zip(subs, groups, strict=True)]
            return Sketch(people, grouped, rule, tie)
    return None


def _groups(random: Random, people: list[Person], sub: Sub) -> list[int] | None:
    for _ in range(20):
        number = random.choice([1, 2])
        groups = random.sample([i % number + 1 for i in range(len(people))], len(people))
        if all(halves(people, groups, name) for name in sub.protects):
            return groups
    return None


def halves(people: Sequence[Person], groups: Sequence[int], name: str) -> bool:
    """Whether no value fills more than half of a group."""
    counts = Counter((group, person[name]) for group, person in zip(groups, people, strict=True))
    return all(2 * number <= groups.count(group) for (group, _), number in counts.items())
