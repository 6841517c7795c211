"""What is done to the values of a column before anything else: the parts of a policy that say so.

`table/recoding.py` and `table/bins.py` do it. What was asked is recorded in the manifest, and nothing undoes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from pluralis.policy.hierarchies import AnyHierarchy
from pluralis.policy.strict import Strict, Whole
from pluralis.policy.strict_yaml import Place

OTHER = "other"
MOST_BREAKS = 1_000
MOST_ORDERED = 10_000


class Rare(Strict):
    """Values that fewer than `below` rows hold become one value, or their lowest ancestor that is common enough."""

    below: Annotated[Whole, Field(ge=2)]
    as_: str = Field(default=OTHER, alias="as", min_length=1)
    along: AnyHierarchy | None = None

    def brief(self) -> str:
        where = "" if self.along is None else f" along {self.along.brief()}"
        return f"rare below {self.below}{where} as {self.as_}"


class Quantiles(Strict):
    """Bins that hold about as many rows each; equal values stay in one bin.

    >>> Quantiles(quantiles=10).brief()
    '10 quantiles'
    """

    quantiles: Annotated[Whole, Field(ge=2, le=MOST_BREAKS)]

    def brief(self) -> str:
        return f"{self.quantiles} quantiles"


def _read_break(number: Any) -> Any:
    """Numbers only, whole ones as they are."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise ValueError("write numbers, such as [18, 40, 65]")  # noqa: TRY004, pydantic asks for it
    return number


def _read_value(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Break = Annotated[int | float, BeforeValidator(_read_break)]
Breaks = Annotated[list[Break], Field(min_length=1, max_length=MOST_BREAKS)]
OrderedValue = Annotated[str, BeforeValidator(_read_value)]
Order = Annotated[list[OrderedValue], Field(min_length=2, max_length=MOST_ORDERED)]


def break_faults(breaks: Sequence[float]) -> Iterator[tuple[Place, str]]:
    """What is wrong with a list of breaks."""
    if any(not math.isfinite(number) or abs(number) >= 2**53 for number in breaks):
        yield ("breaks",), "a break is a number below 2^53. Correct it."
        return
    for one, two in pairwise(breaks):
        if one >= two:
            yield ("breaks",), f"{two:g} stands after {one:g}: breaks stand in order, each once. Sort them."


def order_faults(order: Sequence[str]) -> Iterator[tuple[Place, str]]:
    """What is wrong with a list of values."""
    for value in order:
        if not value.strip():
            yield ("order",), "it lists a blank. A missing value has no place: leave it out."
    twice = {value for value in order if order.count(value) > 1} if len(set(order)) < len(order) else set()
    if twice:
        yield ("order",), f"{sorted(twice)[0]!r} is listed twice. Remove one."
