"""The diversity models, from their definitions, measured on published rows.

A class is the set of rows among which an adversary cannot tell a person's row. For each class and sensitive
attribute, with n_1 >= n_2 >= … >= n_d the counts of its values and n their sum:

    frequency        n_1 / n <= 1/l
    distinct         d >= l
    entropy          -sum (n_i/n) log (n_i/n) >= log l
    recursive (c,l)  n_1 < c (n_l + n_{l+1} + … + n_d)
    unique-distinct  every value once, l of them, or l+1 where a residual row joined
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.table.dictionaries import coded, is_text

Numbers = npt.NDArray[np.integer]
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Classes:
    """How many people hold each value: `held`, class by class; the values of a class begin at `first`."""

    held: Numbers
    first: Numbers

    @cached_property
    def size(self) -> Numbers:
        return np.add.reduceat(self.held, self.first)

    @cached_property
    def top(self) -> Numbers:
        return np.maximum.reduceat(self.held, self.first)

    @cached_property
    def values(self) -> Numbers:
        return np.diff(self.first, append=self.held.size)

    def tail(self, l: int) -> Numbers:
        """n_l + n_{l+1} + …"""
        number = np.repeat(np.arange(self.first.size), self.values)
        falling = self.held[np.lexsort((-self.held, number))]
        place = np.arange(self.held.size) - self.first[number]
        return np.add.reduceat(np.where(place >= l - 1, falling, 0), self.first)

    @property
    def perplexity(self) -> npt.NDArray[np.float64]:
        """The exponential of the entropy."""
        share = self.held / np.repeat(self.size, self.values)
        return np.exp(-np.add.reduceat(share * np.log(share), self.first))


class Measure(NamedTuple):
    """A model: what is computed for each class, which end is the weak one, what is enough, and what is promised."""

    value: Callable[[Classes, int], npt.NDArray[np.float64]]
    weakest: Callable[[npt.NDArray[np.float64]], np.intp]
    enough: Callable[[Classes, int, float], npt.NDArray[np.bool_]]
    promised: Callable[[int, float], float]


def _odds(of: Classes, l: int) -> npt.NDArray[np.float64]:
    tail = of.tail(l).astype(np.float64)
    odds: npt.NDArray[np.float64] = np.divide(of.top, tail, out=np.full(tail.size, np.inf), where=tail > 0)
    return odds


MODELS: dict[str, Measure] = {
    "frequency": Measure(
        value=lambda of, l: of.top / of.size,
        weakest=np.argmax,
        enough=lambda of, l, c: of.top * l <= of.size,
        promised=lambda l, c: 1 / l,
    ),
    "distinct": Measure(
        value=lambda of, l: of.values.astype(np.float64),
        weakest=np.argmin,
        enough=lambda of, l, c: of.values >= l,
        promised=lambda l, c: float(l),
    ),
    "entropy": Measure(
        value=lambda of, l: of.perplexity,
        weakest=np.argmin,
        enough=lambda of, l, c: np.log(of.perplexity) >= math.log(l) - _ROUNDING,
        promised=lambda l, c: float(l),
    ),
    "recursive": Measure(
        value=_odds,
        weakest=np.argmax,
        enough=lambda of, l, c: of.top < c * of.tail(l),
        promised=lambda l, c: c,
    ),
    "unique-distinct": Measure(
        value=lambda of, l: of.values.astype(np.float64),
        weakest=np.argmin,
        enough=lambda of, l, c: (of.top == 1) & (of.values >= l) & (of.values <= l + 1),
        promised=lambda l, c: float(l),
    ),
}


class Diversity(NamedTuple):
    """What was measured: the weakest class, its value, and the largest share that any value has in any class."""

    holds: bool
    measured: float
    top_share: float
    witness: dict[str, object]


def diversity(
    rows: pl.DataFrame,
    classes: list[str],
    attribute: str,
    model: str,
    l: int,
    c: float = 0.0,
    count: str | None = None,
) -> Diversity:
    """Measure one model over all classes; `classes` are the columns whose values make a class.

    A row stands for as many people as its column `count` says, or for one.

    >>> rows = pl.DataFrame({"group": [1, 1, 1], "disease": ["flu", "flu", "hiv"]})
    >>> diversity(rows, ["group"], "disease", "frequency", 2)[:3]
    (False, 0.6666666666666666, 0.6666666666666666)
    >>> diversity(rows, ["group"], "disease", "recursive", 2, c=3.0)[:2]
    (True, 2.0)
    """
    measure = MODELS[model]
    number, held, row = counted(rows, classes, attribute, count)
    of = Classes(held, starts_of(number))
    value, enough = measure.value(of, l), measure.enough(of, l, c)
    pool = np.arange(value.size) if enough.all() else np.flatnonzero(~enough)
    weakest = int(pool[measure.weakest(value[pool])])
    witness = int(row[of.first[weakest]])
    return Diversity(
        holds=bool(enough.all()),
        measured=float(value[weakest]),
        top_share=float((of.top / of.size).max()),
        witness={name: rows[name][witness] for name in classes},
    )


def counted(
    rows: pl.DataFrame, classes: list[str], attribute: str, count: str | None = None
) -> tuple[Numbers, Numbers, Numbers]:
    """For each class and value, in order: the number of the class, how many people hold the value, one of its rows."""
    packed: Numbers = np.zeros(rows.height, np.int64)
    for name in [*classes, attribute]:
        place = placed(rows[name])
        size = int(place.max(initial=0)) + 1
        if int(packed.max(initial=0)) >= 2**62 // size:
            packed = np.unique(packed, return_inverse=True)[1]
        packed *= size
        packed += place
    del place
    packed, order = _sorted(packed)
    first = starts_of(packed)
    number = packed[first]
    del packed  # before more of the same size is made
    number = _in_32_bits(number // size)
    if count is None:
        held = np.diff(first, append=rows.height)
    else:
        people = rows[count].to_numpy()
        held = np.add.reduceat(people if order is None else people[order], first, dtype=np.int64)
    return number, held, first if order is None else order[first]


def _sorted(keys: Numbers) -> tuple[Numbers, Numbers | None]:
    """The keys in order, and where each stood, equal ones as they stood; None where they were in order."""
    if not (keys[1:] < keys[:-1]).any():
        return keys, None
    if int(keys.max()) < 2**62 // keys.size:  # each key with its place, in the memory that it has
        keys *= keys.size
        keys += np.arange(keys.size)
        keys.sort()
        order = _in_32_bits(keys % keys.size)
        keys //= keys.size
        return keys, order
    order = _in_32_bits(np.argsort(keys, kind="stable"))
    return keys[order], order


def starts_of(numbers: Numbers) -> Numbers:
    """Where each number stands first; equal ones stand side by side."""
    return _in_32_bits(np.flatnonzero(_new(numbers)))


def _new(numbers: Numbers) -> npt.NDArray[np.bool_]:
    """Whether a number is another than the one before it. Nothing is subtracted: numbers can be far apart."""
    new = np.ones(numbers.size, np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=new[1:])
    return new


def _in_32_bits(numbers: Numbers) -> Numbers:
    """Numbers from 0 in half the memory, if they fit."""
    return numbers.astype(np.int32) if numbers.max(initial=0) < 2**31 else numbers


def placed(series: pl.Series) -> Numbers:
    """A number for each value, in their order; not many more numbers than rows."""
    if series.dtype in (pl.Int64, pl.Int32) and not series.null_count():
        numbers = series.to_numpy()
        if series.is_sorted():
            return np.cumsum(_new(numbers), dtype=np.int32) - 1
        if int(numbers.max()) - int(numbers.min()) <= numbers.size:
            offsets: Numbers = numbers - numbers.min()
            return offsets
    if is_text(series.dtype):
        series = coded(series)
        assert isinstance(series.dtype, pl.Enum)
        codes, missing = series.to_physical(), series.dtype.categories.len()
        return (codes.cast(pl.Int64).fill_null(missing) if codes.null_count() else codes).to_numpy()
    return series.rank("dense").fill_null(0).to_numpy()


def smallest_class(rows: pl.DataFrame, classes: list[str]) -> tuple[int, dict[str, object]]:
    """The size of the smallest class, and which one it is.

    >>> smallest_class(pl.DataFrame({"group": [1, 1, 2]}), ["group"])
    (1, {'group': 2})
    """
    _, held, row = counted(rows.with_columns(pl.lit(0).alias("\0")), classes, "\0", None)
    smallest = int(held.argmin())
    return int(held[smallest]), {name: rows[name][int(row[smallest])] for name in classes}
