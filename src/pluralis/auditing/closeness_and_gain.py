"""What bounds values beside l, from its definitions, measured on published rows.

In every class, with p_v the share of the value v in it, and q_v that among all published rows:

    at most              p_v <= the share that is named for v
    gain                 p_v <= gain q_v for every v ((beta + 1)-likeness)
    closeness            sum over v of |p_v - q_v| / 2 <= t: the earth mover's distance, all values 1 apart
    ordered closeness    sum over i of |p_1 + ... + p_i - q_1 - ... - q_i| / (m - 1) <= t, values in order: the same,
                         each of the m values 1 / (m - 1) from the next

A class is what an adversary cannot tell apart: a group, or those of it who have the values that are known. Where a
person may be in one of several classes, what is believed of the person is a mean over them, which keeps all four.

Values are numbered, in the order that is published for them where there is one (`release.bounds.in_order`), and counted
once for all that is claimed of them. What is claimed of one value looks at the classes that hold it; the ordered
distance of a class looks at its own values, and takes what lies between them from sums over all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.auditing.diversity_models import CountedValues, Diversity, Numbers
from pluralis.table.dictionaries import dictionary_encode, is_text
from pluralis.table.labels import number_texts
from pluralis.table.spelling import canonical_values

_ROUNDING = 1e-9

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BoundedValues:
    """The values of classes by number: `code_of` has that of each published text."""

    counted: CountedValues
    value: Numbers  # of each of `counted.classes.counts`, from 0, in order where values have one
    code_of: Mapping[str, int]

    @classmethod
    def from_rows(
        cls,
        rows: pl.DataFrame,
        classes: Sequence[str],
        attribute: str,
        count: str | None = None,
        *,
        order: Sequence[str] | None = None,
        fold_case: bool = True,
    ) -> BoundedValues:
        """Number and count them. Numbers have their own order, text the one that is given, if it has one."""
        codes, code_of = ordered_codes(rows[attribute], order, fold_case=fold_case)
        counted = CountedValues.from_rows(rows.with_columns(codes.alias(attribute)), classes, attribute, count)
        return cls(counted, codes.gather(counted.row).to_numpy(), code_of)

    @cached_property
    def totals(self) -> Numbers:
        """How many people hold each value."""
        size = int(self.value.max()) + 1
        return np.bincount(self.value, weights=self.counted.classes.counts, minlength=size).astype(np.int64)

    @cached_property
    def _by_value(self) -> tuple[Numbers, Numbers]:
        """Places among the counts, value by value, and where each value begins."""
        order = np.argsort(self.value, kind="stable")
        return order, np.searchsorted(self.value[order], np.arange(self.totals.size + 1))

    def places(self, text: str) -> Numbers:
        """Where the counts of a published text stand; nowhere if nobody holds it."""
        order, starts = self._by_value
        code = self.code_of.get(text, self.totals.size)
        return order[starts[code] : starts[code + 1]] if code < self.totals.size else order[:0]


def ordered_codes(
    cells: pl.Series, order: Sequence[str] | None, *, fold_case: bool
) -> tuple[pl.Series, dict[str, int]]:
    """A number for each value, the same for its spellings; of text in this order, which lists each that is held.

    >>> codes, code_of = ordered_codes(pl.Series(["high", "low", "Low"]), ["low", "Low", "high"], fold_case=True)
    >>> codes.to_list(), code_of
    ([1, 0, 0], {'Low': 0, 'high': 1, 'low': 0})
    """
    if not is_text(cells.dtype):
        values = cells.unique().drop_nulls().sort()
        return values.search_sorted(cells).cast(pl.Int64), dict(
            zip(number_texts(values), range(len(values)), strict=True)
        )
    coded = dictionary_encode(cells)
    assert isinstance(coded.dtype, pl.Enum)
    texts = coded.dtype.categories
    own = canonical_values(texts, fold_case=fold_case)
    if order is None:
        codes = own.rank("dense").cast(pl.Int64) - 1
    else:
        place: dict[str, int] = {}
        for core in canonical_values(pl.Series(order, dtype=pl.String), fold_case=fold_case):
            place.setdefault(core, len(place))
        codes = own.replace_strict(list(place), list(place.values()), return_dtype=pl.Int64)
    return codes.gather(coded.to_physical()), dict(zip(texts, codes, strict=True))


def value_share(values: BoundedValues, named: str, bound: Fraction) -> Diversity:
    """The largest share that a value has in any class.

    >>> rows = pl.DataFrame({"group": [1, 1, 1, 2], "ill": ["no", "no", "yes", "no"]})
    >>> value_share(BoundedValues.from_rows(rows, ["group"], "ill"), "yes", Fraction(1, 4))[:2]
    (False, 0.3333333333333333)
    """
    classes, places = values.counted.classes, values.places(named)
    number = values.counted.number[places]
    having, size = classes.counts[places].astype(np.int64), classes.size[number].astype(np.int64)
    enough = having * bound.denominator <= size * bound.numerator
    share = having / size
    weakest = _weakest(share, enough) if places.size else 0
    top, where = (float(share.max()), int(number[weakest])) if places.size else (0.0, 0)
    return Diversity(
        bool(enough.all()), float(share[weakest]) if places.size else 0.0, top, values.counted.place(where)
    )


def gain(values: BoundedValues, bound: float) -> Diversity:
    """How many times likelier a value is in a class than among all rows, at most.

    >>> rows = pl.DataFrame({"group": [1, 1, 2, 2], "ill": ["no", "yes", "no", "no"]})
    >>> gain(BoundedValues.from_rows(rows, ["group"], "ill"), 2.0)[:3]
    (True, 2.0, 1.0)
    """
    ratio = values.counted.share * values.totals.sum() / values.totals[values.value]
    worst = np.maximum.reduceat(ratio, values.counted.classes.first)
    return _finding(values, worst, bound * (1 + _ROUNDING))


def closeness(values: BoundedValues, bound: float, *, ordered: bool) -> Diversity:
    """How far the distribution of a class is from that of all rows, at most; `ordered` by the order of the values.

    >>> rows = pl.DataFrame({"group": [1, 1, 2, 2], "pay": [10, 10, 20, 30]})
    >>> closeness(BoundedValues.from_rows(rows, ["group"], "pay"), 0.5, ordered=False)[:2]
    (True, 0.5)
    >>> closeness(BoundedValues.from_rows(rows, ["group"], "pay"), 0.3, ordered=True)[:2]
    (False, 0.375)
    >>> rows = rows.with_columns(pay=pl.Series(["1", "1", "2", "3"]))
    >>> closeness(BoundedValues.from_rows(rows, ["group"], "pay", order=["2", "1", "3"]), 0.3, ordered=True)[:2]
    (True, 0.25)
    """
    if ordered:
        distance = _moved(values)
    else:
        overall = values.totals / values.totals.sum()
        above = np.maximum(values.counted.share - overall[values.value], 0.0)
        distance = np.add.reduceat(above, values.counted.classes.first)
    return _finding(values, distance, bound + _ROUNDING)


def _moved(values: BoundedValues) -> Reals:
    """The ordered distance of each class.

    From one value of a class to its next, the share of the class up to there stays as it is, c, and that of all rows
    up to a value, Q, only grows: |c - Q| is c - Q up to a place, and Q - c from there on. So the sum over all values
    between them follows from sums of Q up to four places.
    """
    classes, number = values.counted.classes, values.counted.number
    occurs = values.totals > 0
    place = (np.cumsum(occurs) - 1)[values.value]
    in_order = np.lexsort((place, number))
    place, counts = place[in_order], classes.counts[in_order].astype(np.int64)
    below = np.cumsum(values.totals[occurs])  # how many people hold a value up to this one
    people, size = int(below[-1]), classes.size.astype(np.int64)
    sums = np.concatenate([[0], np.cumsum(below)])
    upto = np.cumsum(counts)
    own = upto - np.repeat(upto[classes.first] - counts[classes.first], classes.values)  # of the class, up to the value
    last = np.append(classes.first[1:], place.size) - 1
    end = np.append(place[1:], 0)
    end[last] = below.size
    size_of = np.repeat(size, classes.values)
    turn = np.clip(np.searchsorted(below, own * people // size_of, "right"), place, end)
    level = own / size_of
    apart = level * (2 * turn - place - end) + (sums[end] + sums[place] - 2 * sums[turn]) / people
    before = sums[place[classes.first]] / people  # where the class has nothing yet
    far: Reals = (np.add.reduceat(apart, classes.first) + before) / max(1, below.size - 1)
    return far


def _finding(values: BoundedValues, worst: Reals, bound: float) -> Diversity:
    enough = worst <= bound
    weakest = _weakest(worst, enough)
    top = values.counted.top_share
    return Diversity(bool(enough.all()), float(worst[weakest]), top, values.counted.place(weakest))


def _weakest(figures: Reals, enough: npt.NDArray[np.bool_]) -> int:
    pool = np.arange(figures.size) if enough.all() else np.flatnonzero(~enough)
    return int(pool[figures[pool].argmax()])
