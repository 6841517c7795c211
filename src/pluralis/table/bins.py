"""Numbers in bins, and texts in the order that a policy lists: each a function of the values of one column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.errors import InputError, PolicyError
from pluralis.table.bands import bands_of_breaks
from pluralis.table.labels import band_text, shortened
from pluralis.table.spelling import cores

NAMED = 8  # values that an error names


def quantile_breaks(numbers: pl.Series, quantiles: int) -> list[float]:
    """Where bins begin that hold about as many rows each; equal numbers are never divided.

    Each break is a number of the column. Where numbers repeat there are fewer bins.

    >>> quantile_breaks(pl.Series([1, 2, 3, 4, 5, 6, 7, 8]), 4)
    [3, 5, 7]
    >>> quantile_breaks(pl.Series([0, 0, 0, 0, 0, 9]), 3), quantile_breaks(pl.Series([4, 4]), 2)
    ([9], [])
    """
    known = numbers.drop_nulls().sort()
    values = known.unique(maintain_order=True)
    starts = known.search_sorted(values).to_numpy()
    return quantile_breaks_of(values, pl.Series(np.diff(starts, append=known.len())), quantiles)


def quantile_breaks_of(values: pl.Series, rows: pl.Series, quantiles: int) -> list[float]:
    """The same of different numbers, in order, that so many rows hold each.

    >>> quantile_breaks_of(pl.Series([0, 9]), pl.Series([5, 1]), 3)
    [9]
    """
    after = rows.cum_sum().to_numpy()
    starts, breaks = after - rows.to_numpy(), []
    for part in range(1, quantiles) if after.size else ():
        wanted = int(after[-1]) * part / quantiles
        next_ = int(np.searchsorted(starts, wanted))
        near = [int(place) for place in range(max(0, next_ - 1), min(next_ + 1, starts.size)) if starts[place]]
        if near:
            breaks.append(values[min(near, key=lambda place: (abs(starts[place] - wanted), place))])
    return list(dict.fromkeys(breaks))


def whole_breaks(name: str, breaks: Sequence[float]) -> list[float]:
    """The breaks of a column, whole ones as whole numbers; an error where there are none.

    >>> whole_breaks("age", [18.0, 65.5])
    [18, 65.5]
    """
    if not breaks:
        raise PolicyError(
            f"attributes.{name}.bins: its numbers are all the same, and equal ones are never divided. Remove bins."
        )
    return [int(number) if float(number).is_integer() else number for number in breaks]


def break_labels(breaks: Sequence[float]) -> list[str]:
    """How the bins that breaks make are written.

    >>> break_labels([18, 65])
    ['<18', '[18, 65)', '>=65']
    """
    return [band_text(band) for band in bands_of_breaks(breaks)]


def bin_places(numbers: pl.Series, breaks: Sequence[float]) -> npt.NDArray[np.int64]:
    """The bin of each number, none of which is missing.

    >>> bin_places(pl.Series([17, 18, 99]), [18, 65]).tolist()
    [0, 1, 2]
    """
    whole = numbers.dtype.is_integer() and all(float(number).is_integer() for number in breaks)
    ends = np.array(breaks, np.int64 if whole else np.float64)
    return np.searchsorted(ends, numbers.to_numpy(), "right").astype(np.int64)


def in_bins(numbers: pl.Series, breaks: Sequence[float]) -> pl.Series:
    """Each number as the label of its bin; a missing one stays missing.

    >>> in_bins(pl.Series([17, None, 18]), [18, 65]).to_list()
    ['<18', None, '[18, 65)']
    """
    gaps = numbers.is_null()
    places = bin_places(numbers.fill_null(breaks[0]), breaks)
    return pl.Series(break_labels(breaks)).gather(places).set(gaps, None).rename(numbers.name)


def ordered_values(values: Sequence[str], order: Sequence[str], name: str, *, fold_case: bool) -> list[str]:
    """The values of a column in the order that the policy lists, or an error that names those it does not list.

    >>> ordered_values(["high", "low"], ["Low", "mid", "High"], "risk", fold_case=True)
    ['low', 'high']
    """
    listed = cores(pl.Series(order, dtype=pl.String), fold_case=fold_case).to_list()
    place = {core: i for i, core in enumerate(listed)}
    if len(place) < len(listed):
        first = next(i for i, core in enumerate(listed) if core in listed[:i])
        raise PolicyError(f"attributes.{name}.order: {order[first]!r} is listed twice, in two spellings. Remove one.")
    own = cores(pl.Series(values, dtype=pl.String), fold_case=fold_case).to_list()
    unlisted = [value for value, core in zip(values, own, strict=True) if core not in place]
    if unlisted:
        more = f" and {len(unlisted) - NAMED:,} more" if len(unlisted) > NAMED else ""
        raise InputError(
            f"{name!r} holds {', '.join(map(shortened, unlisted[:NAMED]))}{more}, which its `order` does not list. "
            "List every value where it belongs, or declare those that mean missing in `missing`."
        )
    return [value for _, value in sorted(zip((place[core] for core in own), values, strict=True))]
