"""Changes to release folders, one function each, found by being defined.

A change takes a Draft and a generator and changes the draft, or does nothing where it does not apply. One that puts
something where no reader of tables and claims would see it says so in `draft.hidden`: such a folder must not pass.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from fuzz.draft import Draft

Mutation = Callable[[Draft, Random], None]
MUTATIONS: dict[str, Mutation] = {}
HOMOGLYPHS = str.maketrans("aeopcxy", "аеорсху")  # Cyrillic
FULL_WIDTH = str.maketrans({chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)})
NASTY: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 2**31, 2**53 + 1, 2**62, 2**63, 2**64, 10**30),
    *(0.5, 1.0, 2.0, 1e308, float("nan"), float("inf")),
    *("", " ", "x", "2", "null", "*", "{", "[1, 2]", "a" * 5000, "\x1b[2J", "\u202e", "\ud800", "../../etc/passwd"),
    *("group", "count", "attribute", "value", "t1", "^.*$"),
    *([], {}, [[]], {"l": 2}),
)


def mutation(function: Mutation) -> Mutation:
    """Count a function among the changes."""
    MUTATIONS[function.__name__] = function
    return function


def every() -> dict[str, Mutation]:
    """All changes, by name."""
    from fuzz import mutate_claims, mutate_files, mutate_manifest, mutate_tables  # noqa: F401

    return dict(sorted(MUTATIONS.items()))


def respelled(text: str, random: Random) -> str:
    """Another text that looks, or counts, the same."""
    ways: list[Callable[[str], str]] = [
        *(lambda t, end=end: t + end for end in (" ", "\u200b", "\u00ad", "\n", "\t", "\x00", ".0", ".00", "e0")),
        *(lambda t, start=start: start + t for start in (" ", "\ufeff", "0", "+")),
        *(lambda t, table=table: t.translate(table) for table in (HOMOGLYPHS, FULL_WIDTH)),
        *(str.upper, str.title, str.swapcase),
    ]
    return random.choice(ways)(text)
