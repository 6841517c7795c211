"""What sets tell that were drawn as a manifest says: how common values are by them, and how likely each member is.

This is the audit's own arithmetic. It knows the format, and nothing of what drew the sets, whose mistakes it must not
repeat.

**The format.** Sets have l of the m values. Uniform: the true value, and l - 1 of the others, all equally likely.
Calibrated: value v has a weight n(v), n in all, none above n/l. ORDERS public orders of the values are derived from m.
In each of them the values lie one behind the other on a circle that is n around, v on an arc of length l n(v); the arcs
go round l times, so that every point u of the circle lies on l of them, which are the set at u. All n points of all
orders are equally likely, under the condition that the true value is in the set:

    P(R | v) = q(R) / (l n(v)),   q(R) = how many points have the set R, over the number of orders.

**What follows.** Whoever takes s(v) for how common values are believes v in R with s(v)/n(v) over the sum of the same
in R: by s = n that is 1/l. Where H[j, v] is the probability that the set of a row with value v holds j, the shares that
sets show are H⁻¹ times how many of them hold each value, unbiased, with the variance

    E[(H⁻¹ 1_R)_j²] - s(j)   of one row, given the true values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.errors import ReleaseError
from pluralis.release.parameters import Drawn
from pluralis.table.dictionaries import dictionary_encode, is_text
from pluralis.threads import member_counts

ORDERS = 64
MOST_WEIGHT = 1 << 40  # in all: what is computed with it fits in 64 bits
MOST_VALUES = 2_000  # of a calibrated design
MOST_MEMBERS = 25_000  # values times l
_PAIRS = 1 << 22  # pairs of members that are counted at a time

Codes = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]
Reals = npt.NDArray[Any]  # of float64


@dataclass(frozen=True, eq=False)
class DrawnSets:
    """Sets of `l` of these values, drawn with these weights; without weights uniformly."""

    values: pl.Series
    l: int
    weights: Numbers | None
    effect: float

    @classmethod
    def stated(cls, drawn: Drawn | None, l: int) -> DrawnSets:
        """What a manifest says; ReleaseError where sets cannot have been drawn like that."""
        wrong = ReleaseError("it is not said how sets were drawn, or what is said contradicts itself.")
        if drawn is None or not 2 <= l < len(drawn.values) or len(set(drawn.values)) < len(drawn.values):
            raise wrong
        texts = {isinstance(value, str) for value in drawn.values}
        if len(texts) > 1 or (drawn.design == "uniform") != (drawn.weights is None):
            raise wrong
        values = pl.Series(drawn.values, dtype=pl.String if texts == {True} else None)
        weights = None
        if drawn.weights is not None:
            many = len(drawn.values) > MOST_VALUES or l * len(drawn.values) > MOST_MEMBERS
            total = sum(drawn.weights)
            if len(drawn.weights) != len(drawn.values) or many or total > MOST_WEIGHT:
                raise wrong
            if max(drawn.weights) * l > total:
                raise wrong
            weights = np.array(drawn.weights, np.int64)
        return cls(values, l, weights, drawn.effect or 1.0)

    @property
    def m(self) -> int:
        return self.values.len()

    # sets as codes -------------------------------------------------------------------------------------------------

    def codes(self, sets: pl.Series) -> Codes:
        """[row, member]: published sets as places among the values; refused where they are not l values in order.

        >>> DrawnSets(pl.Series(["a", "b", "c"]), 2, None, 1.0).codes(pl.Series([["a", "c"], ["b", "c"]])).tolist()
        [[0, 2], [1, 2]]
        """
        members = sets.explode()
        strange = ReleaseError(f"{sets.name!r} holds sets that are not {self.l} values of its domain.")
        if not (sets.list.len() == self.l).all() or members.null_count():
            raise strange
        if self.values.dtype == pl.String and is_text(members.dtype):
            members = dictionary_encode(members)
            assert isinstance(members.dtype, pl.Enum)
            known = members.dtype.categories.cast(pl.Enum(self.values), strict=False).to_physical()
            places = known.gather(members.to_physical())
        elif self.values.dtype.is_numeric() and members.dtype.is_numeric():
            order = self.values.arg_sort()
            ordered = self.values.gather(order)
            near = ordered.search_sorted(members).clip(0, self.m - 1)
            places = order.gather(near).set(ordered.gather(near) != members, None)
        else:
            raise strange
        if places.null_count():
            raise strange
        codes = places.cast(pl.Int32).to_numpy().reshape(sets.len(), self.l)
        if (codes[:, 1:] <= codes[:, :-1]).any():
            raise ReleaseError(f"{sets.name!r} holds sets that are not in domain order, or hold a value twice.")
        return codes

    def require_possible(self, codes: Codes) -> None:
        """Refuse sets that cannot have been drawn: uniformly every set can."""
        if self.weights is None:
            return
        published, possible = codes[pl.Series(set_numbers(codes)).arg_unique()], self.possible[0]
        numbers = set_numbers(np.concatenate([published, possible]))
        if not np.isin(numbers[: len(published)], numbers[len(published) :]).all():
            raise ReleaseError("there are sets that cannot have been drawn as the manifest says.")

    @cached_property
    def possible(self) -> tuple[Numbers, Numbers]:
        """[set, member], in order, and how many points of all orders have the set."""
        assert self.weights is not None
        by_order = zip(*self._by_order(self.weights), strict=True)
        sets, points = (np.concatenate(parts) for parts in by_order)
        _, first, which = np.unique(set_numbers(sets), return_index=True, return_inverse=True)
        total = np.zeros(first.size, np.int64)
        np.add.at(total, which, points)
        return sets[first], total

    def _by_order(self, weights: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
        around, arcs = int(weights.sum()), self.l * weights
        for order in public_orders(self.m):
            starts = np.zeros(self.m, np.int64)
            starts[order[1:]] = np.cumsum(arcs[order])[:-1]
            starts %= around
            points = np.unique(starts)  # where the set changes; 0 is among them
            behind = points[:, None] - starts
            covered = np.where(behind < 0, behind + around, behind) < arcs
            yield np.nonzero(covered)[1].reshape(points.size, self.l), np.diff(points, append=around)

    # how common values are by sets ---------------------------------------------------------------------------------

    @property
    def _rate(self) -> float:
        """Uniform: the probability that a value other than the true one is added."""
        return (self.l - 1) / (self.m - 1)

    @property
    def likelihood(self) -> Reals:
        """P(R | v) for the members v of any set R, up to a factor."""
        return np.ones(self.m) if self.weights is None else 1.0 / self.weights

    def _together(self, weights: Reals) -> Reals:
        """[j, v]: the weight of all possible sets that hold both."""
        sets, total = self.possible[0], np.zeros(self.m * self.m)
        step = max(1, _PAIRS // (self.l * self.l))
        for first in range(0, len(sets), step):
            some = sets[first : first + step]
            pairs = some[:, :, None] * self.m + some[:, None, :]
            weight = np.repeat(weights[first : first + step], self.l * self.l)
            total += np.bincount(pairs.ravel(), weight, total.size)
        return total.reshape(self.m, self.m)

    @cached_property
    def _inverse(self) -> Reals:
        """H⁻¹."""
        together = self._together(self.possible[1].astype(np.float64))
        return np.linalg.inv(together / np.diag(together))

    def shares(self, codes: Codes) -> Reals:
        """How common each value is by these sets: unbiased, so that a rare value may come out below 0."""
        seen = member_counts(codes, self.m) / max(1, len(codes))
        return (seen - self._rate) / (1 - self._rate) if self.weights is None else self._inverse @ seen

    def share_errors(self, codes: Codes) -> Reals:
        """The standard error of each of these shares: of as many independent draws as there are rows over `effect`."""
        shares = np.clip(self.shares(codes), 0.0, 1.0)
        if self.weights is None:
            variance = (1 - shares) * self._rate / (1 - self._rate)
        else:
            sets, points = self.possible
            chance = (shares / (ORDERS * self.l * self.weights))[sets].sum(axis=1) * points
            variance = ((self._inverse @ self._together(chance)) * self._inverse).sum(axis=1) - shares
        errors: Reals = np.sqrt(np.maximum(0.0, variance) * self.effect / max(1, len(codes)))
        return errors

    def likeliest_shares(self, codes: Codes, steps: int) -> Reals:
        """Shares, none below 0, under which these sets are likely: so many steps of expectation and maximization."""
        shares: Reals = np.full(self.m, 1 / self.m)
        sets, rows = different(codes)
        for _ in range(steps):
            expected = self.posteriors(sets, shares) * rows[:, None]
            after = np.bincount(sets.ravel(), expected.ravel(), self.m) / rows.sum()
            moved, shares = np.abs(after - shares).max(), after
            if moved < 1e-9:
                break
        return shares

    def posteriors(self, sets: Codes | Numbers, shares: Reals) -> Reals:
        """[set, member]: how likely each member is the true value, by these shares; even where none has a share.

        >>> drawn = DrawnSets(pl.Series(["a", "b", "c"]), 2, None, 1.0)
        >>> drawn.posteriors(np.array([[0, 1]]), np.array([0.9, 0.05, 0.05])).round(3)
        array([[0.947, 0.053]])
        """
        odds = (shares * self.likelihood)[sets]
        total = odds.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, odds / np.where(total > 0, total, 1.0), 1.0 / self.l))


def public_orders(m: int) -> Iterator[Numbers]:
    """The ORDERS orders of m values, always the same."""
    words = hashlib.shake_256(f"calibrated addition {m}".encode()).digest(8 * m * ORDERS)
    for row in np.frombuffer(words, "<u8").reshape(ORDERS, m):
        yield np.argsort(row, kind="stable")


def set_numbers(codes: Codes | Numbers) -> Numbers:
    """A number for each set: in the order of sets, and the same for equal ones.

    >>> set_numbers(np.array([[0, 2], [0, 1], [0, 2]])).tolist()
    [2, 1, 2]
    >>> set_numbers(np.array([[2**40, 2], [0, 1], [0, 2]])).tolist()
    [2, 0, 1]
    """
    base = int(codes.max(initial=0)) + 1
    if base ** codes.shape[1] >= 2**63:
        return np.asarray(np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1), np.int64)
    numbers = codes[:, 0].astype(np.int64)
    for member in codes.T[1:]:
        numbers *= base
        numbers += member
    return numbers


def different(codes: Codes) -> tuple[Codes, Numbers]:
    """The different sets, in order, and how often each occurs.

    >>> [part.tolist() for part in different(np.array([[0, 2], [0, 1], [0, 2]], np.int32))]
    [[[0, 1], [0, 2]], [1, 2]]
    """
    _, first, rows = np.unique(set_numbers(codes), return_index=True, return_counts=True)
    return codes[first], rows
