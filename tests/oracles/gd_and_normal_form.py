"""The normal form of Versatile Publishing by its definitions, and its Algorithm 1 as printed: slow and literal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def islands(tables: Iterable[Iterable[str]]) -> list[set[str]]:
    """Tables that share an attribute poured together, until none do."""
    apart: list[set[str]] = []
    for table in tables:
        touching = [island for island in apart if island & set(table)]
        apart = [island for island in apart if not island & set(table)] + [set(table).union(*touching)]
    return apart


def joined(one: str, other: str, tables: Iterable[Iterable[str]]) -> bool:
    """Definition 3."""
    return any({one, other} <= island for island in islands(tables))


def guards(i: int, knows: Iterable[str], sensitive: str, tables: Sequence[tuple[set[str], set[str]]]) -> bool:
    """Definition 4 for table i. A table is (its attributes, those that it protects), which stay together."""
    whole, protected = tables[i]
    others = [attributes for j, (attributes, _) in enumerate(tables) if j != i]
    if sensitive not in whole:  # (i)
        return False
    reached = {a for a in whole - {sensitive} for q in knows if joined(a, q, others)}
    needed = (set(knows) & whole) | reached
    if sensitive not in protected or not needed <= whole - protected:  # (ii)
        return False
    return not any(joined(q, sensitive, [*others, whole - protected, protected]) for q in knows)  # (iii)


def in_normal_form(knows: Iterable[str], sensitive: str, tables: Sequence[tuple[set[str], set[str]]]) -> bool:
    """Definition 5 for one rule."""
    if not any(joined(q, sensitive, [attributes for attributes, _ in tables]) for q in knows):
        return True
    return any(guards(i, knows, sensitive, tables) for i in range(len(tables)))


# Algorithm 1, steps 1-4 -----------------------------------------------------------------------------------------


def guardian_decomposition(
    attributes: set[str], rules: Sequence[tuple[frozenset[str], str]], steps: int = 40
) -> list[tuple[set[str], set[str]]] | None:
    """The paper's loop as printed, rules in the order given; None if it did not end in so many steps."""
    tables: list[tuple[set[str], set[str]]] = [(set(attributes), {rules[0][1]})]
    for _ in range(steps):
        broken = next((rule for rule in rules if not in_normal_form(*rule, tables)), None)
        if broken is None:
            return tables
        knows, sensitive = broken
        tables = [(shows - {sensitive}, protects - {sensitive}) for shows, protects in tables if shows != {sensitive}]
        tables.append(({*knows, sensitive}, {sensitive}))
    return None
