"""Randomized addition: how a value becomes a set of l values, and what the set tells.

Uniform addition (Sei and Ohsuga 2014) adds l - 1 of the other values, all equally likely. Calibrated addition draws the
set from a list of sets R of size l, each with a weight q(R), such that value v is in sets of weight l · n(v) in all,
where n(v) says how common v is, and conditions on holding the true value:

    P(R | v) = q(R) / (l n(v)),   so   P(v | R) = n(v) P(R | v) / sum of the same = 1/l   for every v in R.

The list comes from systematic sampling: values lie on a line, l · n(v) long each, in some order; whatever lies at
u, u + n, …, u + (l - 1) n is a set, for each u = 0 … n - 1. No value is longer than n where n(v) <= n/l, so that a set
holds l different values. ORDERS different orders, the same for everybody, make the list. All weights are whole numbers:
the 1/l is exact.

n(v) is published, and is not the number of rows that hold v: whoever knew that exactly, of a value that three rows hold
and four sets list, would know more than 1/l of those four. It is that number, rounded on a scale of square roots from a
hidden start (`blurred`): off by up to half of its square root, as much as a sample of the people would be.

So 1/l is exact by the weights, and nearly so by the true shares. How nearly follows from the weights alone: for each of
them a range of counts can have become it (`possible_counts`), and the posterior is largest in a set where one value has
the most rows that it can have for its weight, and the others the fewest (`Design.bound`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.errors import ReleaseError
from pluralis.threads import member_counts

ORDERS = 64
LARGEST = 1 << 40  # that weights may add up to
MOST = 2_000  # values of a calibrated design: what an analyst has to invert is a matrix of them
MEMBERS = 25_000  # values times l: the members of all sets that ORDERS orders make are so many times ORDERS, at most
_DENSE = 4_000_000  # sets times values up to which a table of them is quicker than a sparse one
FARTHEST = 1.25  # how many times 1/l a guess may reach to whoever knows the true shares

Numbers = npt.NDArray[np.int64]
Reals = npt.NDArray[Any]  # of float64
Value = str | int | float


class Lines(NamedTuple):
    """The values of a calibrated design in each of its orders."""

    starts: Numbers  # [order, value]: where the value begins
    breaks: Numbers  # where, order by order, the set changes
    first: Numbers  # where the breaks of each order begin; one more at the end
    set_of: Numbers  # which set lies at each break


@dataclass(frozen=True, eq=False)
class Design:
    """Sets of `l` of these values. `counts` says how common each of them is; None is uniform addition."""

    values: tuple[Value, ...]
    l: int
    counts: Numbers | None = None
    attempt: int = 0  # which of several draws it was; the publisher's alone
    effect: float = 1.0  # how many rows share a draw, on average over rows: as many times larger is a variance

    @classmethod
    def from_dict(cls, data: Any, l: Any) -> Design:
        """A design as a manifest or a key holds it; ReleaseError where it is none."""
        values, weights = (data.get("values"), data.get("weights")) if isinstance(data, dict) else (None, None)
        attempt = data.get("attempt", 0) if isinstance(data, dict) else 0
        wrong = ReleaseError("it is not said how sets were drawn, or what is said contradicts itself.")
        if not isinstance(values, list) or not (_whole([l]) and 2 <= l < len(values)) or not _whole([attempt]):
            raise wrong
        alike = all(isinstance(v, str) for v in values) or all(_is_number(v) and abs(v) < 2**63 for v in values)
        if not alike or len(set(values)) != len(values):
            raise wrong
        effect = data.get("effect", 1.0)
        if not _is_number(effect) or not 1 <= effect <= LARGEST:
            raise ReleaseError("so many rows cannot share a draw.")
        if weights is None:
            design = cls(tuple(values), l, None, attempt, effect=effect)
        else:
            listed = isinstance(weights, list) and len(weights) == len(values) <= MOST and _whole(weights)
            listed = listed and l * len(values) <= MEMBERS
            if not listed or min(weights) < 1 or sum(weights) > LARGEST or max(weights) * l > sum(weights):
                raise wrong
            design = cls(tuple(values), l, np.array(weights, np.int64), attempt, effect=effect)
        if data.get("design") != design.name:
            raise wrong
        return design

    def to_dict(self) -> dict[str, Any]:
        """As the manifest holds it."""
        entry: dict[str, Any] = {"design": self.name, "values": list(self.values)}
        entry |= {} if self.effect == 1.0 else {"effect": self.effect}
        return entry if self.counts is None else {**entry, "weights": self.counts.tolist()}

    def for_key(self, identity: Sequence[str]) -> dict[str, Any]:
        """As the key keeps it: what must be the same when rows, known by `identity`, are published again."""
        return self.to_dict() | {"l": self.l, "attempt": self.attempt, "identity": list(identity), "effect": 1.0}

    @property
    def name(self) -> str:
        return "uniform" if self.counts is None else "calibrated"

    @property
    def m(self) -> int:
        return len(self.values)

    @cached_property
    def series(self) -> pl.Series:
        return pl.Series(self.values, dtype=pl.String if isinstance(self.values[0], str) else None)

    @property
    def rate(self) -> float:
        """Uniform addition: the probability that another value is added."""
        return (self.l - 1) / (self.m - 1)

    @cached_property
    def weight(self) -> Reals:
        """P(R | v) up to a factor that v does not change: what a prior is multiplied with."""
        return np.ones(self.m) if self.counts is None else 1.0 / self.counts

    # how far the true shares may lie from the weights ---------------------------------------------------------------

    @cached_property
    def ratios(self) -> tuple[Reals, Reals]:
        """The least and the most rows that each value can have for its weight, over that weight."""
        assert self.counts is not None
        low, high = possible_counts(self.counts, self.l)
        return low / self.counts, high / self.counts

    @cached_property
    def largest(self) -> Reals:
        """[set, member]: the largest posterior by any shares that can have become these weights."""
        low, high = (ratio[self.sets] for ratio in self.ratios)
        largest: Reals = high / (high + low.sum(axis=1, keepdims=True) - low)
        return largest

    @cached_property
    def bound(self) -> float:
        """How likely a member of a set is, at most, to whoever knows the true shares; in four digits, rounded up.

        Uniform addition has no weights to tell it from. What is promised of it there must be seen in the sets.

        >>> [Design(("a", "b", "c"), 2, np.array([n] * 3)).bound for n in (2, 30, 100, 10_000)]
        [0.75, 0.55, 0.525, 0.5025]
        """
        return rounded_up(FARTHEST / self.l if self.counts is None else float(self.largest.max()))

    # the list of sets ---------------------------------------------------------------------------------------------

    @cached_property
    def _listed(self) -> tuple[Numbers, Numbers, Lines]:
        """The sets in order, their weights (n · ORDERS in all), and where they lie."""
        assert self.counts is not None
        total, lengths = int(self.counts.sum()), self.l * self.counts
        starts, breaks, sets = np.empty((ORDERS, self.m), np.int64), [], []
        for i, order in enumerate(_orders(self.m)):
            ends = np.cumsum(lengths[order])
            starts[i, order] = ends - lengths[order]
            changes = np.unique(starts[i] % total)
            points = changes[:, None] + total * np.arange(self.l)
            breaks.append(changes)
            sets.append(np.sort(order[np.searchsorted(ends, points, side="right")], axis=1))
        every, set_of = np.unique(np.concatenate(sets), axis=0, return_inverse=True)
        spans = np.concatenate([np.diff(changes, append=total) for changes in breaks])
        weights = np.bincount(set_of.ravel(), spans, len(every)).astype(np.int64)
        first = np.cumsum([0, *(changes.size for changes in breaks)])
        return every, weights, Lines(starts, np.concatenate(breaks), first, set_of.ravel())

    @property
    def sets(self) -> Numbers:
        """Every set that can be published, [set, member], members in order."""
        return self._listed[0]

    @property
    def weights(self) -> Numbers:
        return self._listed[1]

    @property
    def lines(self) -> Lines:
        return self._listed[2]

    def codes(self, sets: pl.Series) -> npt.NDArray[np.int32]:
        """[row, member]: published sets as places among the values; refused where they are not l values in order.

        >>> Design(("a", "b", "c"), 2).codes(pl.Series([["a", "c"], ["b", "c"]])).tolist()
        [[0, 2], [1, 2]]
        """
        members = sets.explode()
        whole = bool((sets.list.len() == self.l).all()) and not members.null_count()
        values = self.series
        if whole and not members.dtype.is_numeric():
            known = isinstance(members.dtype, pl.Enum) and members.dtype.categories.equals(values)
            members = members if known else members.cast(pl.String).cast(pl.Enum(values), strict=False)
            places = members.to_physical()
        elif whole:
            places = values.search_sorted(members).clip(0, self.m - 1)
            whole = bool((values.gather(places) == members).all())
        if not whole or places.null_count():
            raise ReleaseError(f"{sets.name!r} holds sets that are not {self.l} values of its domain.")
        codes = places.cast(pl.Int32).to_numpy().reshape(sets.len(), self.l)
        if (codes[:, 1:] <= codes[:, :-1]).any():
            raise ReleaseError(f"{sets.name!r} holds sets that are not in domain order, or hold a value twice.")
        return codes

    def packed(self, sets: npt.NDArray[np.int32] | Numbers) -> Numbers | None:
        """A number for each set, in their order; None where they would be too large."""
        if self.m**self.l >= 2**63:
            return None
        numbers = sets[:, 0].astype(np.int64)
        for i in range(1, self.l):
            numbers *= self.m
            numbers += sets[:, i]
        return numbers

    def require_possible(self, packed: Numbers | None) -> None:
        """Refuse sets that this design cannot draw."""
        possible = self.packed(self.sets) if self.counts is not None else None
        if (
            packed is not None
            and possible is not None
            and not pl.Series(packed).is_in(pl.Series(possible).implode()).all()
        ):
            raise ReleaseError("there are sets that cannot have been drawn as the manifest says.")

    # what follows for whoever counts ------------------------------------------------------------------------------

    @cached_property
    def membership(self) -> Reals:
        """[j, v]: the probability that the set of a row with value v holds j."""
        if self.counts is None:
            return np.full((self.m, self.m), self.rate) + (1 - self.rate) * np.eye(self.m)
        together = self.together(self.weights)
        membership: Reals = together / np.diag(together)
        return membership

    def together(self, weights: Numbers | Reals) -> Reals:
        """[j, v]: the weight of all sets that hold both, if sets have these weights."""
        if self.m * len(self.sets) <= _DENSE:
            dense = np.zeros((len(self.sets), self.m))
            np.put_along_axis(dense, self.sets, 1.0, axis=1)
            return np.asarray(dense.T @ (dense * weights[:, None]))
        from scipy.sparse import csr_array

        starts = self.l * np.arange(len(self.sets) + 1)
        holds = csr_array((np.ones(self.sets.size), self.sets.ravel(), starts), shape=(len(self.sets), self.m))
        weighed = csr_array((np.repeat(weights, self.l), self.sets.ravel(), starts), shape=holds.shape)
        together: Reals = (holds.T @ weighed).toarray()
        return together

    @cached_property
    def _inverse(self) -> Reals:
        return np.linalg.inv(self.membership)

    def shares(self, sets: npt.NDArray[np.int32]) -> Reals:
        """How common each value is, by these sets: unbiased, so that a rare value may come out below 0."""
        seen = member_counts(sets, self.m) / max(1, len(sets))
        if self.counts is None:
            return (seen - self.rate) / (1 - self.rate)
        return self._inverse @ seen

    def scores(self, wanted: Reals) -> Reals:
        """c such that the sum of c over a row's set has the expectation wanted[v], whatever the row's value v is.

        >>> Design(("a", "b", "c"), 2).scores(np.array([1.0, 0.0, 0.0]))
        array([ 1.5, -0.5, -0.5])
        """
        if self.counts is None:
            scores: Reals = (wanted - self.rate * wanted.sum() / self.l) / (1 - self.rate)
            return scores
        return wanted @ self._inverse

    def squares(self, scores: Reals) -> Reals:
        """For each value v, the expectation of the square of the sum of `scores` over the set of a row that has v."""
        if self.counts is None:
            rest = self.m - 1
            total, squared = scores.sum() - scores, (scores**2).sum() - scores**2
            spread = (squared - total**2 / rest) / max(rest - 1, 1)  # variance of the other values' scores
            variance = (self.l - 1) * (1 - (self.l - 1) / rest) * spread
            squares: Reals = variance + (scores + self.rate * total) ** 2
            return squares
        sums = scores[self.sets].sum(axis=1) ** 2 * self.weights
        return np.bincount(self.sets.ravel(), np.repeat(sums, self.l), self.m) / (ORDERS * self.l * self.counts)

    def added_variances(self, shares: Reals) -> Reals:
        """For each value, the variance that drawing sets adds to its estimated share, times the number of rows."""
        if self.counts is None:
            return np.asarray((1 - shares) * (self.l - 1) / (self.m - self.l))
        of_set = (shares / (ORDERS * self.l * self.counts))[self.sets].sum(axis=1) * self.weights
        squares: Reals = np.einsum("ju,uv,jv->j", self._inverse, self.together(of_set), self._inverse, optimize=True)
        return squares - shares


def _whole(numbers: Sequence[object]) -> bool:
    return all(isinstance(number, int) and not isinstance(number, bool) for number in numbers)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def blurred(counts: Numbers, start: Reals, l: int) -> Numbers:
    """Counts rounded so that 2 √n moves by at most 1/2; no value above 1/l. `start` is between 0 and 1 for each.

    >>> blurred(np.array([400, 400, 9, 1]), np.array([0.0, 0.7, 0.5, 0.9]), 2).tolist()
    [405, 396, 9, 1]
    """
    steps = (np.floor(2 * np.sqrt(counts) + start) + 0.5 - start) / 2
    near: Numbers = np.maximum(1, np.rint(steps**2)).astype(np.int64)
    spare = int(counts.max() * l < counts.sum())  # a value that stands in every set could not be estimated
    while near.max() * l > near.sum() - spare:
        near = np.minimum(near, (near.sum() - spare) // l)
    return near


def possible_counts(near: Numbers, l: int) -> tuple[Numbers, Numbers]:
    """The fewest and the most rows of which `blurred` can have made each weight, whatever the starts were.

    n becomes a whole number from (√n - 1/4)² to (√n + 1/4)², rounded. So w comes from

        16 w - 7 - √(64 w - 32)  <=  16 n  <=  16 w + 9 + √(64 w + 32).

    Weights that 1/l cut are all as large as the largest, M, and were larger before. M is the largest number for which
    M l is at most the sum of all weights cut at M, less `spare`: so for M + 1 it is not, and if k values were cut and S
    is the sum as published, S + k - spare < (M + 1) l. No value had more than 1/l of all rows less `spare`. If the
    values that were not cut have at most H rows, each of the k thus has at most (H - spare) / (l - k).

    >>> [part.tolist() for part in possible_counts(np.array([1, 2, 30, 100]), 2)]
    [[1, 1, 27, 95], [2, 3, 33, 105]]
    >>> [part.tolist() for part in possible_counts(np.array([50, 25, 25]), 2)]
    [[47, 23, 23], [56, 28, 28]]
    """
    root = np.floor(np.sqrt(64.0 * near - 32)).astype(np.int64)
    low = np.maximum(1, -((root + 7 - 16 * near) // 16))
    root = np.floor(np.sqrt(64.0 * near + 32)).astype(np.int64)
    high = (16 * near + 9 + root) // 16
    most, total, top = int(near.max()), int(near.sum()), near == near.max()
    own, every = int(high[top][0]), int(high.sum())
    for spare in (0, 1):
        for cut in range(1, min(int(top.sum()), l - 1, (most + 1) * l - 1 + spare - total) + 1):
            high[top] = np.maximum(high[top], (every - cut * own - spare) // (l - cut))
    return low, high


def rounded_up(share: float) -> float:
    """A share in four digits, none of them too small.

    >>> rounded_up(0.525), rounded_up(0.525001), rounded_up(1 / 3), rounded_up(0.0625)
    (0.525, 0.5251, 0.3334, 0.0625)
    """
    scale: float = 10.0 ** (3 - math.floor(math.log10(share)))
    return math.ceil(share * scale * (1 - 1e-12)) / scale


def _orders(m: int) -> Numbers:
    """ORDERS orders of m values, public and always the same."""
    words = np.frombuffer(hashlib.shake_256(f"calibrated addition {m}".encode()).digest(8 * m * ORDERS), "<u8")
    return np.argsort(words.reshape(ORDERS, m), axis=1, kind="stable").astype(np.int64)


def posteriors(sets: npt.NDArray[np.integer], shares: Reals, weight: Reals) -> Reals:
    """[set, member]: how likely each member is the true value, to whoever takes `shares` for how common values are.

    >>> posteriors(np.array([[0, 1]]), np.array([0.9, 0.05, 0.05]), np.ones(3)).round(3)
    array([[0.947, 0.053]])
    """
    odds = (shares * weight)[sets]
    total = odds.sum(axis=1, keepdims=True)
    likely: Reals = np.divide(odds, total, out=np.full(odds.shape, 1.0 / sets.shape[1]), where=total > 0)
    return likely


def different(sets: npt.NDArray[np.int32], m: int) -> tuple[Numbers, Numbers]:
    """The different sets, in order, and how often each occurs.

    >>> [part.tolist() for part in different(np.array([[0, 2], [0, 1], [0, 2]], np.int32), 3)]
    [[[0, 1], [0, 2]], [1, 2]]
    """
    if m ** sets.shape[1] >= 2**63:
        every, counts = np.unique(sets.astype(np.int64), axis=0, return_counts=True)
        return every, counts
    powers = m ** np.arange(sets.shape[1] - 1, -1, -1)
    keys, counts = np.unique(sets @ powers, return_counts=True)
    return keys[:, None] // powers % m, counts


def likeliest(sets: npt.NDArray[np.int32], weight: Reals, start: Sequence[float] | Reals, steps: int = 2_000) -> Reals:
    """Shares of values under which such sets are most likely, by expectation and maximization: none is negative.

    >>> likeliest(np.array([[0, 1], [0, 2], [0, 1]]), np.ones(3), [1 / 3, 1 / 3, 1 / 3]).round(3) + 0.0
    array([1., 0., 0.])
    """
    shares: Reals = np.asarray(start, np.float64)
    every, count = different(sets, shares.size)
    for _ in range(steps):
        expected = posteriors(every, shares, weight) * count[:, None]
        after = np.bincount(every.ravel(), expected.ravel(), shares.size) / count.sum()
        moved, shares = np.abs(after - shares).max(), after
        if moved < 1e-9:
            break
    return shares
