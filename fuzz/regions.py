"""What a cell of a table leaves open: a value stands for itself, a label for every value that it covers."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from fuzz.slow_reader import Column, Unreadable, Value, interval, set_members
from fuzz.worlds import Cell, World


def region(value: Value, column: Column, spelled: Callable[[Value, str], Value]) -> Hashable:
    """The values that a cell stands for: a set of them, or the two ends of numbers."""
    name = column.attribute
    if column.exact or column.role == "plain" or value is None:
        return frozenset({spelled(value, name)})
    text = str(value)
    if column.type == "number":
        ends = interval(text)
        whole = tuple(interval(end) for end in column.domain)
        if ends is None and text != "*":
            raise Unreadable("a label that is no interval")
        if ends is None:
            ends = (min(end[0] for end in whole if end), max(end[1] for end in whole if end))
        return frozenset({spelled(str(ends[0]), name)}) if ends[0] == ends[1] else ends
    leaves: list[Value] = [line[0] for line in column.hierarchy if text in line]
    if text == "*":
        leaves = [line[0] for line in column.hierarchy] or list(column.domain)
    elif not leaves:
        leaves = list(set_members(text)) if text.startswith("{") else [text]
    return frozenset(spelled(leaf, name) for leaf in leaves)


def common(_name: str, one: Cell, other: Cell) -> Cell | None:
    """What two regions have in common, if anything; groups are equal or not."""
    if isinstance(one, frozenset) and isinstance(other, frozenset):
        return (one & other) or None
    if isinstance(one, tuple) and isinstance(other, tuple):
        low, high = max(one[0], other[0]), min(one[1], other[1])
        return (low, high) if low <= high else None
    if isinstance(one, tuple) or isinstance(other, tuple):
        ends, values = (one, other) if isinstance(one, tuple) else (other, one)
        assert isinstance(ends, tuple)
        assert isinstance(values, frozenset)
        inside = frozenset(
            v
            for v in values
            if (ends_of_value := interval(str(v).removeprefix("number "))) and ends[0] <= ends_of_value[0] <= ends[1]
        )
        return inside or None
    return one if one == other else None


def obeys(world: World, knows: str, decides: str) -> bool:
    """Whether what is known decides the other attribute in this world."""
    names = [name.strip() for name in knows.split(",")]
    if not all(name in world[0] for name in (*names, decides)):
        return True
    seen: dict[tuple[Cell, ...], Cell] = {}
    return all(seen.setdefault(tuple(row[n] for n in names), row[decides]) == row[decides] for row in world)
