"""Bounds for the values of an attribute that is too skewed for any l: which are bounded, and which one stays open.

Rarer      every value but the commonest is bounded, where these are few: what a yes or no needs whose Yes is rare.
Both       where nobody can see which of two values is the one to protect (codes such as 1 and 2), or where it is the
           commoner one (Yes, or the 1 of 0 and 1), both are bounded: then neither becomes certain, whichever it is.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from pluralis.table.encoding import Table

MOST_NAMED = 6  # values that at_most names
RARER = {"1/4": 1 / 4, "1/3": 1 / 3, "1/2": 1 / 2, "2/3": 2 / 3}
COMMONER = {"2/3": 2 / 3, "3/4": 3 / 4, "4/5": 4 / 5, "9/10": 9 / 10, "19/20": 19 / 20}
LEFT = 0.5  # how many of the rarer rows, at most, the bound of the commoner asks for: groups are of few rows
_NO = frozenset({"no", "n", "false", "f", "negative", "neg", "absent", "none", "never", "0"})
_YES = frozenset({"yes", "y", "true", "t", "positive", "pos", "present"})


class Bounds(NamedTuple):
    """What `at_most` says, the commonest value and its share, and whether that is bounded, too."""

    at_most: dict[str, str]
    common: str
    share: float

    @property
    def both(self) -> bool:
        return self.common in self.at_most

    def rarer(self) -> Bounds:
        """The same, with the commonest value open."""
        return self._replace(at_most={value: text for value, text in self.at_most.items() if value != self.common})

    def words(self) -> str:
        """What is bounded and what stays open.

        >>> print(Bounds({"2": "1/3"}, "1", 0.723).words())
        too skewed for any l: '2' is bounded, '1' (72 % of rows) may become certain; if that is the one to protect, \
use gain or t
        >>> print(Bounds({"2": "1/3", "1": "4/5"}, "1", 0.723).words())
        too skewed for any l: both values are bounded, '1' (72 % of rows) too, since it may be the one to protect; \
where it is not, take it out of at_most
        """
        about = f"{self.common!r} ({self.share * 100:.0f} % of rows)"
        if self.both:
            return (
                f"too skewed for any l: both values are bounded, {about} too, since it may be the one to protect; "
                "where it is not, take it out of at_most"
            )
        bounded = f"{next(iter(self.at_most))!r} is" if len(self.at_most) == 1 else "the values named are"
        return (
            f"too skewed for any l: {bounded} bounded, {about} may become certain; if that is the one to protect, use "
            "gain or t"
        )


def bounds_for(table: Table, name: str, keys: dict[str, Any]) -> Bounds | None:
    """A bound for each value but the commonest, where these are few; for both of two where either may be sensitive."""
    encoded = table[name]
    counts = {encoded.text(code): int(encoded.counts[code]) for code in range(encoded.size)}
    common = max(counts, key=lambda value: (counts[value], value))
    shares = {value: count / table.rows for value, count in counts.items() if value != common}
    if not shares or len(shares) > MOST_NAMED or "bin" in keys:
        return None
    share = counts[common] / table.rows
    if len(shares) == 1 and may_be_protected(common, next(iter(shares))):
        ((other, rare),) = shares.items()
        least = bound_above(rare)
        most = next((text for text, bound in COMMONER.items() if 1 - bound <= LEFT * rare), None)
        if least is not None and most is not None:
            return Bounds({other: least, common: most}, common, share)
    bounds = {value: text for value, rare in shares.items() if (text := bound_above(rare)) is not None}
    return Bounds(bounds, common, share) if len(bounds) == len(shares) else None


def bound_above(share: float) -> str | None:
    """The next of a few shares that a value of this share can be bound by; None where it is too common.

    >>> bound_above(0.143), bound_above(0.3), bound_above(0.9)
    ('1/4', '1/3', None)
    """
    return next((text for text, bound in RARER.items() if share <= bound), None)


def may_be_protected(common: str, other: str) -> bool:
    """Whether the commoner of two values may be the one that nobody should learn: a yes, or a code without words.

    >>> [may_be_protected(*pair) for pair in (("1", "2"), ("2", "1"), ("1", "0"), ("Yes", "No"))]
    [True, True, True, True]
    >>> [may_be_protected(*pair) for pair in (("0", "1"), ("No", "Yes"), ("0", "Y"), ("- 50000", "50000+"))]
    [False, False, False, False]
    """
    word = common.casefold()
    if word in _NO:
        return False
    return word in _YES or bool(re.fullmatch(r"\d+|[a-z]", word) and re.fullmatch(r"\d+|[a-z]", other.casefold()))
