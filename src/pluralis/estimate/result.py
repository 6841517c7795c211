"""What an analyst gets: a count with its interval, and what the interval rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any, Literal, get_args

from pluralis.display.objects import Columns, Shown

Basis = Literal["exact", "sampling", "uniform-within-group", "independent-across-tables"]
BASES: Sequence[Basis] = get_args(Basis)  # each assumes more than the one before


@dataclass(frozen=True, repr=False)
class Estimate(Shown):
    """How many rows of the original pass a condition.

    Parameters
    ----------
    value : float
        The estimate of the count.
    low, high : float
        The interval around it.
    confidence : float
        How often such an interval covers the count.
    basis : {"exact", "sampling", "uniform-within-group", "independent-across-tables"}
        What the interval rests on:

        exact
            Nothing was changed that the condition asks about: the value is the count.
        sampling
            Chance alone separates value and count, and the interval covers it as often as it says.
        uniform-within-group
            Values that were published together are taken to be spread evenly over their rows. Where they are not, that
            error comes on top, and the interval may miss the count.
        independent-across-tables
            Values of different tables are taken to go together only by what the tables share. Where more ties them,
            that error comes on top, and the interval may miss the count.
    least, most : int
        What the release makes certain: the count lies between, whatever is assumed.
    variance : float
        Of the value, by its basis; the interval is cut to what is certain, this is not.

    Examples
    --------
    >>> estimate = Estimate(113.2, 96.0, 130.4, 0.95, "uniform-within-group", 40, 310)
    >>> estimate
    Estimate(value=113.2, low=96.0, high=130.4, confidence=0.95, basis='uniform-within-group')
    >>> print(estimate)
    113.2 (95% interval 96.0 to 130.4; uniform-within-group)
    >>> round(estimate.relative_margin, 2)
    0.15
    """

    value: float
    low: float
    high: float
    confidence: float
    basis: Basis
    least: int
    most: int
    variance: float = 0.0

    @property
    def relative_margin(self) -> float:
        """The half-width of the interval, as a share of the value; infinite where that is 0."""
        return (self.high - self.low) / 2 / self.value if self.value else float("inf")

    def to_dict(self) -> dict[str, Any]:
        """The estimate as plain data.

        Returns
        -------
        dict
            All its fields.

        Examples
        --------
        >>> Estimate(4.0, 4.0, 4.0, 0.95, "exact", 4, 4).to_dict()["basis"]
        'exact'
        """
        return asdict(self)

    def __repr__(self) -> str:
        figures = ", ".join(f"{name}={getattr(self, name):.1f}" for name in ("value", "low", "high"))
        return f"Estimate({figures}, confidence={self.confidence:g}, basis={self.basis!r})"

    def _parts(self) -> Iterator[str | Columns]:
        yield f"{self.value:,.0f} rows" if self.basis == "exact" else f"About {self.value:,.1f} rows"
        if self.basis != "exact":
            yield Columns(("", ""), [
                [f"{self.confidence:.0%} interval", f"{self.low:,.1f} to {self.high:,.1f}"],
                ["certain", f"{self.least:,} to {self.most:,}"],
                ["basis", self.basis],
            ])  # fmt: skip

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
    return Estimate(float(value), float(low), float(high), confidence, basis, least, most, max(float(variance), 0.0))


def summed(parts: Sequence[Estimate]) -> Estimate:
    """The count of several tables of different people, each counted on its own, at the same confidence.

    >>> one = interval(50.0, 16.0, 0.95, "sampling", 0, 250)
    >>> print(summed([one, one, interval(10, 0.0, 0.95, "exact", 10, 10)]))
    110.0 (95% interval 98.9 to 121.1; sampling)
    """
    assumed = [part.basis for part in parts if part.basis != "exact"]
    return interval(
        sum(part.value for part in parts),
        sum(part.variance for part in parts),
        parts[0].confidence,
        max(assumed, key=BASES.index) if assumed else "exact",
        sum(part.least for part in parts),
        sum(part.most for part in parts),
    )
