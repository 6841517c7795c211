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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.table.dictionaries import dictionary_encode, is_text

Numbers = npt.NDArray[np.integer]
_ROUNDING = 1e-9


@dataclass(frozen=True)
class ClassCounts:
    """How many people hold each value: `counts`, class by class; the values of a class begin at `first`."""

    counts: Numbers
    first: Numbers

    @cached_property
    def size(self) -> Numbers:
        return np.add.reduceat(self.counts, self.first)

    @cached_property
    def top(self) -> Numbers:
        return np.maximum.reduceat(self.counts, self.first)

    @cached_property
    def values(self) -> Numbers:
        return np.diff(self.first, append=self.counts.size)

    def tail(self, l: int) -> Numbers:
        """n_l + n_{l+1} + …"""
        number = np.repeat(np.arange(self.first.size), self.values)
        falling = self.counts[np.lexsort((-self.counts, number))]
        place = np.arange(self.counts.size) - self.first[number]
        return np.add.reduceat(np.where(place >= l - 1, falling, 0), self.first)

    @property
    def perplexity(self) -> npt.NDArray[np.float64]:
        """The exponential of the entropy."""
        share = self.counts / np.repeat(self.size, self.values)
        return np.exp(-np.add.reduceat(share * np.log(share), self.first))


class Measure(NamedTuple):
    """A model: what is computed for each class, which end is the weak one, what is enough, and what is promised."""

    value: Callable[[ClassCounts, int], npt.NDArray[np.float64]]
    weakest: Callable[[npt.NDArray[np.float64]], np.intp]
    enough: Callable[[ClassCounts, int, float], npt.NDArray[np.bool_]]
    promised: Callable[[int, float], float]


def _odds(classes: ClassCounts, l: int) -> npt.NDArray[np.float64]:
    tail = classes.tail(l).astype(np.float64)
    odds: npt.NDArray[np.float64] = np.divide(classes.top, tail, out=np.full(tail.size, np.inf), where=tail > 0)
    return odds


MODELS: dict[str, Measure] = {
    "frequency": Measure(
        value=lambda classes, l: classes.top / classes.size,
        weakest=np.argmax,
        enough=lambda classes, l, c: classes.top * l <= classes.size,
        promised=lambda l, c: 1 / l,
    ),
    "distinct": Measure(
        value=lambda classes, l: classes.values.astype(np.float64),
        weakest=np.argmin,
        enough=lambda classes, l, c: classes.values >= l,
        promised=lambda l, c: float(l),
    ),
    "entropy": Measure(
        value=lambda classes, l: classes.perplexity,
        weakest=np.argmin,
        enough=lambda classes, l, c: np.log(classes.perplexity) >= math.log(l) - _ROUNDING,
        promised=lambda l, c: float(l),
    ),
    "recursive": Measure(
        value=_odds,
        weakest=np.argmax,
        enough=lambda classes, l, c: classes.top < c * classes.tail(l),
        promised=lambda l, c: c,
    ),
    "unique-distinct": Measure(
        value=lambda classes, l: classes.values.astype(np.float64),
        weakest=np.argmin,
        enough=lambda classes, l, c: (classes.top == 1) & (classes.values >= l) & (classes.values <= l + 1),
        promised=lambda l, c: float(l),
    ),
}


class Diversity(NamedTuple):
    """What was measured: the weakest class, its value, and the largest share that any value has in any class."""

    holds: bool
    measured: float
    top_share: float
    witness: dict[str, object]


@dataclass(frozen=True, eq=False)
class CountedValues:
    """How many people of each class hold each value of an attribute: counted once for all that is claimed of them."""

    rows: pl.DataFrame
    names: tuple[str, ...]  # of the columns whose values make a class
    attribute: str
    classes: ClassCounts
    row: Numbers  # one of each class and value

    @classmethod
    def from_rows(
        cls, rows: pl.DataFrame, classes: Sequence[str], attribute: str, count: str | None = None
    ) -> CountedValues:
        """Count them; a row stands for as many people as its column `count` says, or for one."""
        number, counts, row = count_values(rows, classes, attribute, count)
        return cls(rows, tuple(classes), attribute, ClassCounts(counts, starts_of(number)), row)

    def place(self, which: int) -> dict[str, object]:
        """The values that make a class."""
        row = int(self.row[self.classes.first[which]])
        return {name: self.rows[name][row] for name in self.names}

    @cached_property
    def top_share(self) -> float:
        """The largest share that any value has in any class."""
        return float((self.classes.top / self.classes.size).max())

    @cached_property
    def value(self) -> Numbers:
        """The value of each of `classes.counts`: a number for each, in their order."""
        return placed(self.rows[self.attribute].gather(self.row))

    @cached_property
    def number(self) -> Numbers:
        """The class of each of `classes.counts`."""
        return np.repeat(np.arange(self.classes.first.size), self.classes.values)

    @cached_property
    def share(self) -> npt.NDArray[np.float64]:
        """The share of each value in its class."""
        shares: npt.NDArray[np.float64] = self.classes.counts / np.repeat(self.classes.size, self.classes.values)
        return shares


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
    return diversity_of(CountedValues.from_rows(rows, classes, attribute, count), model, l, c)


def diversity_of(values: CountedValues, model: str, l: int, c: float = 0.0) -> Diversity:
    """The same of values that are counted already."""
    measure, classes = MODELS[model], values.classes
    value, enough = measure.value(classes, l), measure.enough(classes, l, c)
    pool = np.arange(value.size) if enough.all() else np.flatnonzero(~enough)
    weakest = int(pool[measure.weakest(value[pool])])
    return Diversity(
        holds=bool(enough.all()),
        measured=float(value[weakest]),
        top_share=values.top_share,
        witness=values.place(weakest),
    )


def count_values(
    rows: pl.DataFrame, classes: Sequence[str], attribute: str, count: str | None = None
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
        counts = np.diff(first, append=rows.height)
    else:
        people = rows[count].to_numpy()
        counts = np.add.reduceat(people if order is None else people[order], first, dtype=np.int64)
    return number, counts, first if order is None else order[first]


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
        series = dictionary_encode(series)
        assert isinstance(series.dtype, pl.Enum)
        codes, missing = series.to_physical(), series.dtype.categories.len()
        return (codes.cast(pl.Int64).fill_null(missing) if codes.null_count() else codes).to_numpy()
    return series.rank("dense").fill_null(0).to_numpy()


def smallest_class(rows: pl.DataFrame, classes: list[str]) -> tuple[int, dict[str, object]]:
    """The size of the smallest class, and which one it is.

    >>> smallest_class(pl.DataFrame({"group": [1, 1, 2]}), ["group"])
    (1, {'group': 2})
    """
    _, counts, row = count_values(rows.with_columns(pl.lit(0).alias("\0")), classes, "\0", None)
    smallest = int(counts.argmin())
    return int(counts[smallest]), {name: rows[name][int(row[smallest])] for name in classes}
