"""A condition as a table of truth: the values of each attribute in classes that the condition tells apart.

The values that checks name cut an attribute's values, in their order, into places: below the first, the first itself,
between the first and the second, and so on; the missing value is the last place. Within a place every check is
constant. Places that no check tells apart, and those that the whole condition does not, are one class.

Of a missing value a comparison is neither true nor false, as in SQL: a row passes neither `disease = 'flu'` nor
`NOT disease = 'flu'`. So of every condition it is worked out where it is true, and where it is false.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pluralis.errors import QueryError
from pluralis.estimate.conditions import All, Check, Condition, Not, Some, Value
from pluralis.release.attributes import holds_bins, ordered_domain
from pluralis.release.manifest import ColumnInfo

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
MOST = 1 << 16  # combinations of classes


class Truth(NamedTuple):
    """Where something is true, and where it is false. It may be neither, but not both."""

    true: Flags
    false: Flags

    def turned(self) -> Truth:
        return Truth(self.false, self.true)


@dataclass(frozen=True)
class Axis:
    """The classes of one attribute: `class_of[place]`, and for one in bins or bands `class_of[bin, place]`.

    There are 2 n + 2 places for n named values: the odd ones are those values, the last one the missing value.
    """

    attribute: str
    named: tuple[Value, ...]
    class_of: Ints
    classes: int
    lines: tuple[str, ...] = ()  # the bin of each line of `class_of`


@dataclass(frozen=True)
class TruthTable:
    """What a condition asks: its attributes in classes, and the combinations of classes of which it is true."""

    axes: tuple[Axis, ...]
    truth: Flags

    @property
    def constant(self) -> bool | None:
        """Whether it is true, or false, of every row."""
        return bool(self.truth) if not self.axes else None

    def box(self) -> TruthTable | None:
        """The same with class 0 of each attribute as the only combination that is true, if it is so simple."""
        inside = [self.truth.any(axis=tuple(j for j in range(len(self.axes)) if j != i)) for i in range(len(self.axes))]
        product: Flags = np.array(True)
        for part in inside:
            product = np.asarray(np.multiply.outer(product, part))
        if not np.array_equal(product, self.truth):
            return None
        axes = tuple(
            replace(axis, class_of=np.where(np.asarray(part)[axis.class_of], 0, 1), classes=2)
            for axis, part in zip(self.axes, inside, strict=True)
        )
        truth = np.zeros((2,) * len(axes), np.bool_)
        truth[(0,) * len(axes)] = True
        return TruthTable(axes, truth)

    def ordered(self, names: Sequence[str]) -> TruthTable:
        """The same with its attributes in this order."""
        place = {axis.attribute: i for i, axis in enumerate(self.axes)}
        order = [place[name] for name in names]
        return TruthTable(tuple(self.axes[i] for i in order), self.truth.transpose(order))


def truth_table_of(condition: Condition, infos: Mapping[str, ColumnInfo]) -> TruthTable:
    """The classes that a condition tells apart.

    >>> from pluralis.estimate.conditions import col
    >>> age = ColumnInfo(name="age", role="quasi", type="number", domain=(0, 99))
    >>> asked = truth_table_of(col("age").between(30, 40) & (col("age") != 35), {"age": age})
    >>> asked.axes[0].named, asked.axes[0].class_of.tolist(), asked.truth.tolist()
    ((30, 35, 40), [0, 1, 1, 0, 1, 1, 0, 0], [False, True])
    """
    checks = {
        name: [c for c in dict.fromkeys(condition.checks) if c.attribute == name] for name in condition.attributes
    }
    axes: list[Axis] = []
    holds: dict[Check, Truth] = {}
    for i, (name, own) in enumerate(checks.items()):
        axis, truths = _split(name, own, infos[name])
        axes.append(axis)
        shape = [-1 if j == i else 1 for j in range(len(checks))]
        for check, true, false in zip(own, truths.T[::2], truths.T[1::2], strict=True):
            holds[check] = Truth(true.reshape(shape), false.reshape(shape))
    if math.prod(axis.classes for axis in axes) > MOST:
        many = " × ".join(str(axis.classes) for axis in axes)
        raise QueryError(
            f"The condition tells {many} combinations apart, more than {MOST:,}. Ask in several queries with fewer "
            "attributes or comparisons each."
        )
    truth = np.broadcast_to(_truth(condition, holds).true, [axis.classes for axis in axes])
    return _merged(axes, truth)


def _split(name: str, checks: Sequence[Check], info: ColumnInfo) -> tuple[Axis, Flags]:
    """The classes that the checks of an attribute tell apart; of each, for every check, whether true, whether false."""
    bins = _bins(checks, info)
    values = {value for check in checks for value in check.values if not (bins and isinstance(value, str))}
    named = tuple(sorted(values))
    place_of = {value: 2 * i + 1 for i, value in enumerate(named)}
    places = np.arange(2 * len(named) + 2)
    shape = (len(bins), places.size) if bins else places.shape
    # a sensitive value is never missing: such rows are refused or suppressed, or given a value
    never = info.role == "sensitive" and None not in (info.domain or ())
    truths = [
        np.broadcast_to(part, shape).ravel()
        for check in checks
        for part in _passes(check, places, place_of, bins, never)
    ]
    distinct, class_of = _distinct(np.stack(truths, axis=1))
    return Axis(name, named, class_of.reshape(shape), len(distinct), tuple(bins)), distinct


def _bins(checks: Sequence[Check], info: ColumnInfo) -> list[str]:
    """The labels of an attribute in bins, and those of bands of numbers where a number is asked about."""
    if holds_bins(info):
        return [str(label) for label in info.domain or ()]
    domain = ordered_domain(info)
    by_number = any(not isinstance(value, str) for check in checks for value in check.values)
    return list(domain.values) if domain is not None and by_number else []


_COMPARED: dict[str, Callable[[Ints, list[int]], Flags]] = {
    "=": lambda places, values: places == values[0],
    "!=": lambda places, values: places != values[0],
    "<": lambda places, values: places < values[0],
    "<=": lambda places, values: places <= values[0],
    ">": lambda places, values: places > values[0],
    ">=": lambda places, values: places >= values[0],
    "BETWEEN": lambda places, values: (places >= values[0]) & (places <= values[1]),
    "IN": lambda places, values: np.isin(places, values),
}


def _passes(check: Check, places: Ints, place_of: Mapping[Value, int], bins: Sequence[str], never: bool) -> Truth:
    """Of which places a check is true, and false; of the last one, the missing value, only IS NULL is either."""
    missing = np.asarray(places == places[-1])
    if check.comparison == "IS NULL":
        missing = missing & (not never)
        return Truth(missing, ~missing)
    passes = _compared(check, places, place_of, bins)
    if never:  # the last place is empty; it goes with the one before it, so that nothing hangs on it
        passes = passes[..., np.append(np.arange(places.size - 1), places.size - 2)]
        return Truth(passes, ~passes)
    return Truth(passes & ~missing, ~passes & ~missing)


def _compared(check: Check, places: Ints, place_of: Mapping[Value, int], bins: Sequence[str]) -> Flags:
    """Of which places that hold a value a comparison is true. Bins may be named too."""
    value_places = [place_of[value] for value in check.values if value in place_of]
    labels = [value for value in check.values if value not in place_of]
    if not labels:
        return np.asarray(_COMPARED[check.comparison](places, value_places))
    if check.comparison not in ("=", "!=", "IN"):
        raise QueryError(
            f"{check}: a bin can be compared by = != or IN only. Compare {check.attribute!r} with a number."
        )
    named = np.isin(places, value_places) | np.array([label in labels for label in bins])[:, None]
    return np.asarray(~named if check.comparison == "!=" else named)


def _truth(condition: Condition, holds: Mapping[Check, Truth]) -> Truth:
    """Where a condition is true, and where it is false; elsewhere it hangs on a missing value."""
    if isinstance(condition, Check):
        return holds[condition]
    if isinstance(condition, Not):
        return _truth(condition.part, holds).turned()
    assert isinstance(condition, (All, Some))
    # true if all parts are, false if one is; some part is true where not all of them, turned round, are
    parts = [_truth(part, holds) for part in condition.parts]
    if isinstance(condition, Some):
        return _all([part.turned() for part in parts]).turned()
    return _all(parts)


def _all(parts: Sequence[Truth]) -> Truth:
    true, false = np.array(True), np.array(False)
    for part in parts:
        true, false = true & part.true, false | part.false
    return Truth(true, false)


def _merged(axes: Sequence[Axis], truth: Flags) -> TruthTable:
    """Classes that the condition does not tell apart as one; attributes with one class left out."""
    kept = []
    for i, axis in enumerate(axes):
        truth, merged = merge_equal(truth, i)
        if truth.shape[i] > 1:
            kept.append(replace(axis, class_of=merged[axis.class_of], classes=truth.shape[i]))
    return TruthTable(tuple(kept), truth.reshape([axis.classes for axis in kept]))


def merge_equal(truth: Flags, axis: int) -> tuple[Flags, Ints]:
    """The table with equal slices along an axis once, and the new place of each old one.

    >>> table, place = merge_equal(np.array([[True, False, True]]), 1)
    >>> table.tolist(), place.tolist()
    ([[True, False]], [0, 1, 0])
    """
    slices = truth.swapaxes(axis, 0)
    distinct, place = _distinct(slices.reshape(slices.shape[0], -1))
    return distinct.reshape(-1, *slices.shape[1:]).swapaxes(axis, 0), place


def _distinct(lines: Flags) -> tuple[Flags, Ints]:
    """The different lines of a table, and which of them each line is. (For small tables faster than np.unique.)"""
    seen: dict[bytes, int] = {}
    place = [seen.setdefault(line.tobytes(), len(seen)) for line in lines]
    return lines[[place.index(i) for i in range(len(seen))]], np.array(place, np.int64)
