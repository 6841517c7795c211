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
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

_ROUNDING = 1e-9


class Measure(NamedTuple):
    """A model: what is computed for a class, which end is the weak one, and when it is enough."""

    value: Callable[[int], pl.Expr]
    weakest: Callable[[pl.Expr], pl.Expr]
    enough: Callable[[pl.Expr, int, float], pl.Expr]
    promised: Callable[[int, float], float]


def _sorted_counts() -> pl.Expr:
    return pl.col("count").sort(descending=True)


MODELS: dict[str, Measure] = {
    "frequency": Measure(
        value=lambda l: pl.col("count").max() / pl.col("count").sum(),
        weakest=lambda value: value.max(),
        enough=lambda value, l, c: pl.col("top") * l <= pl.col("size"),
        promised=lambda l, c: 1 / l,
    ),
    "distinct": Measure(
        value=lambda l: pl.len().cast(pl.Float64),
        weakest=lambda value: value.min(),
        enough=lambda value, l, c: value >= l,
        promised=lambda l, c: float(l),
    ),
    "entropy": Measure(
        value=lambda l: (pl.col("count") / pl.col("count").sum()).entropy(normalize=False).exp(),
        weakest=lambda value: value.min(),
        enough=lambda value, l, c: value.log() >= math.log(l) - _ROUNDING,
        promised=lambda l, c: float(l),
    ),
    "recursive": Measure(
        value=lambda l: pl.col("count").max() / _sorted_counts().slice(l - 1).sum(),
        weakest=lambda value: value.max(),
        enough=lambda value, l, c: pl.col("top") < c * pl.col("tail"),
        promised=lambda l, c: c,
    ),
    "unique-distinct": Measure(
        value=lambda l: pl.len().cast(pl.Float64),
        weakest=lambda value: value.min(),
        enough=lambda value, l, c: (pl.col("top") == 1) & value.is_between(l, l + 1),
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
    number, held, order = _counted(rows, classes, attribute, count)
    counts = pl.DataFrame({"class": pl.Series(number).set_sorted(), "count": held, "row": order})
    per_class = counts.group_by("class", maintain_order=True).agg(
        measure.value(l).alias("value"),
        pl.col("count").sum().alias("size"),
        pl.col("count").max().alias("top"),
        pl.col("row").first(),
        *([_sorted_counts().slice(l - 1).sum().alias("tail")] if model == "recursive" else []),
    )
    judged = per_class.with_columns(measure.enough(pl.col("value"), l, c).alias("enough"))
    failing = judged.filter(~pl.col("enough"))
    pool = failing if failing.height else judged
    extreme = pool.select(measure.weakest(pl.col("value"))).item()
    weakest = pool.filter(pl.col("value") == extreme).row(0, named=True)
    return Diversity(
        holds=failing.height == 0,
        measured=float(weakest["value"]),
        top_share=float(judged.select((pl.col("top") / pl.col("size")).max()).item()),
        witness={name: rows[name][weakest["row"]] for name in classes},
    )


def _counted(
    rows: pl.DataFrame, classes: list[str], attribute: str, count: str | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For each class and value, in order: the number of the class, how many people hold the value, one of its rows."""
    packed = np.zeros(rows.height, np.int64)
    for name in [*classes, attribute]:
        place = _places(rows[name])
        size = int(place.max(initial=0)) + 1
        if int(packed.max(initial=0)) >= 2**62 // size:
            packed = np.unique(packed, return_inverse=True)[1]
        packed *= size
        packed += place
    order = np.argsort(packed, kind="stable")
    packed = packed[order]
    first = np.flatnonzero(np.diff(packed, prepend=-1))
    if count is None:
        held = np.diff(first, append=packed.size)
    else:
        held = np.add.reduceat(rows[count].to_numpy()[order].astype(np.int64), first)
    return packed[first] // size, held, order[first]


def _places(series: pl.Series) -> npt.NDArray[np.int64]:
    """The place of each value among the different ones."""
    if series.dtype.is_integer() and not series.null_count() and series.is_sorted():
        return np.cumsum(np.diff(series.to_numpy(), prepend=series[0]) > 0, dtype=np.int64)
    return series.rank("dense").fill_null(0).to_numpy().astype(np.int64)


def smallest_class(rows: pl.DataFrame, classes: list[str]) -> tuple[int, dict[str, object]]:
    """The size of the smallest class, and which one it is.

    >>> smallest_class(pl.DataFrame({"group": [1, 1, 2]}), ["group"])
    (1, {'group': 2})
    """
    _, held, row = _counted(rows.with_columns(pl.lit(0).alias("\0")), classes, "\0", None)
    smallest = int(held.argmin())
    return int(held[smallest]), {name: rows[name][int(row[smallest])] for name in classes}
