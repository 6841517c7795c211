"""Lists of attributes, each written once under a letter and then referred to.

A policy of 40 columns has claims that differ in one word and repeat 40 names. Here the quasi-identifiers are Q, and
whoever knows more knows `Q, insurer`. Other long lists are A, B, …, said by what they have more or less than Q where
that is shorter. A letter is never the name of an attribute. Lists that are short and occur once are left as they are.
"""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from pluralis.release.manifest import Manifest, quoted

EVERY = "every quasi-identifier"
SHORT = 40  # letters of a list that needs no letter of its own, unless it occurs twice
FEW = 3  # names that may stand beside Q, or be left out of it in a question


@dataclass(frozen=True)
class AttributeLists:
    """Which letter stands for which attributes, and sentences in which they are put to use.

    Examples
    --------
    >>> rules = {"P(job | age, sex) ≤ 1/2": ("age", "sex"), "P(pay | age, job, sex) ≤ 1/2": ("age", "job", "sex")}
    >>> lists = AttributeLists.over(["age", "sex"], rules.items())
    >>> lists.defined
    {'Q': 'every quasi-identifier: age, sex'}
    >>> [lists.shortened(rule) for rule in rules]
    ['P(job | Q) ≤ 1/2', 'P(pay | Q, job) ≤ 1/2']
    >>> lists.in_question("job, knowing age, sex, pay")
    'job, knowing Q, pay'
    """

    defined: dict[str, str] = field(default_factory=dict)
    sentences: dict[str, str] = field(default_factory=dict)
    quasi: tuple[str, ...] = ()
    written: dict[frozenset[str], str] = field(default_factory=dict)

    @classmethod
    def of_manifest(cls, manifest: Manifest) -> AttributeLists:
        """Those of the claims of a release."""
        columns = [column for info in manifest.tables for column in info.columns]
        names = {column.attribute or column.name for column in columns} | set(manifest.parameters.l)
        quasi = {column.attribute or column.name for column in columns if column.role == "quasi"}
        rules = [(claim.rule, claim.adversary) for claim in manifest.claims]
        return cls.over(quasi - set(manifest.parameters.l), rules, names)

    @classmethod
    def over(
        cls, quasi: Collection[str], rules: Iterable[tuple[str, Sequence[str]]], names: Collection[str] = ()
    ) -> AttributeLists:
        """Those of these sentences, each with what its adversary knows; no letter is one of `names`."""
        rules = list(rules)
        known = [frozenset(whom) for _, whom in rules]
        every = frozenset(quasi)
        taken = {name.casefold() for whom in (every, *known, names) for name in whom}
        letters = ("Q", *string.ascii_uppercase.replace("Q", ""))
        free = [letter for letter in letters if letter.casefold() not in taken]
        uses = sum(every <= whom for whom in known)
        if not free or len(every) < 2 or not uses or (uses < 2 and len(_listed(every)) <= SHORT):
            return cls(quasi=tuple(sorted(every)))
        first, *others = free
        defined = {first: f"{EVERY}: {_listed(every)}"}
        written = {every: first}
        for whom in known:
            if whom in written:
                continue
            if every < whom and len(whom - every) <= FEW:
                written[whom] = f"{first}, {_listed(whom - every)}"
            elif len(_listed(whom)) <= SHORT or not others:
                written[whom] = _listed(whom)
            else:
                written[whom] = letter = others.pop(0)
                defined[letter] = _beside(first, every, whom)
        shorter = {
            rule: rule.replace(f" | {_listed(whom)}", f" | {written[frozenset(whom)]}", 1) for rule, whom in rules
        }
        return cls(defined, shorter, tuple(sorted(every)), written)

    def shortened(self, sentence: str) -> str:
        """A claim by its letters; what is no claim, as it is."""
        return self.sentences.get(sentence, sentence)

    def in_question(self, question: str, known: Sequence[str] = ()) -> str:
        """The question of an attack by its letters: `knowing` every quasi-identifier, perhaps more, or all but a few.

        `known` is what the question says of the adversary, in its order.
        """
        if not self.defined:
            return question
        listed, less, letter = f"knowing {', '.join(known)}", {*self.quasi} - {*known}, next(iter(self.defined))
        if known and less and listed in question:
            short = self.written.get(frozenset(known))
            if short is None and {*known} < {*self.quasi} and len(less) <= FEW:
                short = f"{letter} without {_listed(less)}"
            if short is not None:
                return question.replace(listed, f"knowing {short}", 1)
        every = re.escape(", ".join(self.quasi))
        return re.sub(rf"\bknowing {every}(?=$|, | and )", f"knowing {next(iter(self.defined))}", question, count=1)


def _beside(letter: str, every: frozenset[str], whom: frozenset[str]) -> str:
    """A list by what it lacks and has beside every quasi-identifier, or in full, whichever is shorter."""
    less, more = every - whom, whom - every
    parts = [letter, f" without {_listed(less)}" if less else "", f", and {_listed(more)}" if more else ""]
    return min("".join(parts), _listed(whom), key=len)


def _listed(names: Collection[str]) -> str:
    return ", ".join(quoted(name) for name in sorted(names))
