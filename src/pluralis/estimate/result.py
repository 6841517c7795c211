"""What an analyst gets: a count with its interval, and what the interval rests on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any, Literal

Basis = Literal["exact", "sampling", "uniform-within-group", "independent-across-tables"]


@dataclass(frozen=True)
class Estimate:
    """How many rows of the original pass a condition.

    basis  exact                 nothing was changed that the condition asks about: the value is the count
           sampling              chance alone separates value and count, and the interval covers it as often as it says
           uniform-within-group  values that were published together are taken to be spread evenly over their rows.
                                 Where they are not, that error comes on top, and the interval may miss the count
           independent-across-tables  values of different tables are taken to go together only by what the tables
                                 share. Where more ties them, that error comes on top, and the interval may miss the
                                 count
    least, most                  what the release makes certain: the count lies between, whatever is assumed
    """

    value: float
    low: float
    high: float
    confidence: float
    basis: Basis
    least: int
    most: int

    @property
    def share(self) -> float:
        """The half-width of the interval, as a share of the value."""
        return (self.high - self.low) / 2 / self.value if self.value else float("inf")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        if self.basis == "exact":
            return f"{self.value:,.0f} (exact)"
        return f"{self.value:,.1f} ({self.confidence:.0%} interval {self.low:,.1f} to {self.high:,.1f}; {self.basis})"


def interval(value: float, variance: float, confidence: float, basis: Basis, least: int, most: int) -> Estimate:
    """The estimate with its normal interval, cut to what is certain.

    >>> print(interval(100.0, 25.0, 0.95, "sampling", 0, 500))
    100.0 (95% interval 90.2 to 109.8; sampling)
    >>> print(interval(-30.0, 25.0, 0.95, "sampling", 0, 500))
    -30.0 (95% interval 0.0 to 9.8; sampling)
    """
    half = NormalDist().inv_cdf((1 + confidence) / 2) * max(variance, 0.0) ** 0.5
    low, high = min(max(value - half, least), most), max(min(value + half, most), least)
    if low == high and half > 0:  # all of it lies outside: what is certain, and as far as chance reaches from there
        low, high = (least, min(least + half, most)) if value < least else (max(most - half, least), most)
    return Estimate(float(value), float(low), float(high), confidence, basis, least, most)
