"""Random queries of tiny releases, and what their answer must be: counted in the original, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Node:
    """A condition: a comparison of an attribute with values, or AND, OR, NOT of others."""

    word: str
    name: str = ""
    values: tuple[Any, ...] = ()
    parts: tuple[Node, ...] = ()

    def text(self) -> str:
        if self.word in ("AND", "OR"):
            return "(" + f" {self.word} ".join(part.text() for part in self.parts) + ")"
        if self.word == "NOT":
            return f"NOT {self.parts[0].text()}"
        written = [
            str(value) if not isinstance(value, str) else "'" + value.replace("'", "''") + "'" for value in self.values
        ]
        if self.word in ("IN", "NOT IN"):
            return f"{self.name} {self.word} ({', '.join(written)})"
        if self.word in ("BETWEEN", "NOT BETWEEN"):
            return f"{self.name} {self.word} {written[0]} AND {written[1]}"
        return f"{self.name} {self.word}" + (f" {written[0]}" if written else "")

    def passes(self, row: Row) -> bool:
        """Whether a row of the original passes."""
        if self.word == "AND":
            return all(part.passes(row) for part in self.parts)
        if self.word == "OR":
            return any(part.passes(row) for part in self.parts)
        if self.word == "NOT":
            return not self.parts[0].passes(row)
        value = row[self.name]
        if self.word in ("IS NULL", "IS NOT NULL"):
            return (value is None) == (self.word == "IS NULL")
        first = self.values[0]
        answers: dict[str, Any] = {
            "=": lambda: value == first,
            "!=": lambda: value != first,
            "<": lambda: value < first,
            "<=": lambda: value <= first,
            ">": lambda: value > first,
            ">=": lambda: value >= first,
            "IN": lambda: value in self.values,
            "NOT IN": lambda: value not in self.values,
            "BETWEEN": lambda: first <= value <= self.values[1],
            "NOT BETWEEN": lambda: not first <= value <= self.values[1],
        }
        return bool(answers[self.word]())


def condition(random: Random, people: list[Row], names: list[str], depth: int = 0) -> Node:
    """A condition about some attributes, with values that occur, or lie beside them."""
    if depth < 3 and random.random() < 0.4:
        word = random.choice(["AND", "OR", "NOT"])
        parts = tuple(
            condition(random, people, names, depth + 1) for _ in range(1 if word == "NOT" else random.choice([2, 2, 3]))
        )
        return Node(word, parts=parts)
    name = random.choice(names)
    occurring = sorted({row[name] for row in people})
    if isinstance(occurring[0], str):
        word = random.choice(["=", "!=", "IN", "NOT IN", "IS NULL", "IS NOT NULL"])
        values = (
            tuple(random.sample(occurring, random.randint(1, len(occurring))))
            if "IN" in word
            else (random.choice(occurring),)
        )
    else:
        word = random.choice(["=", "!=", "<", "<=", ">", ">=", "IN", "BETWEEN", "NOT BETWEEN", "IS NULL"])
        near = [value + random.choice([0, 0, 1, -1, 0.5]) for value in random.sample(occurring, 2)]
        values = tuple(sorted(near)) if "BETWEEN" in word else tuple(near[:1])
    return Node(word, name, () if "NULL" in word else values)
