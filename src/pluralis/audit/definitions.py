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


def diversity(rows: pl.DataFrame, classes: list[str], attribute: str, model: str, l: int, c: float = 0.0) -> Diversity:
    """Measure one model over all classes; `classes` are the columns whose values make a class.

    >>> rows = pl.DataFrame({"group": [1, 1, 1], "disease": ["flu", "flu", "hiv"]})
    >>> diversity(rows, ["group"], "disease", "frequency", 2)[:3]
    (False, 0.6666666666666666, 0.6666666666666666)
    >>> diversity(rows, ["group"], "disease", "recursive", 2, c=3.0)[:2]
    (True, 2.0)
    """
    measure = MODELS[model]
    keys = [f"class{i}" for i in range(len(classes))]
    # names of our own, so that no attribute can be taken for a count
    named = rows.select(*(pl.col(name).alias(key) for name, key in zip(classes, keys, strict=True)), secret=attribute)
    counts = named.group_by([*keys, "secret"]).agg(pl.len().cast(pl.Int64).alias("count"))
    per_class = counts.group_by(keys).agg(
        measure.value(l).alias("value"),
        pl.col("count").sum().alias("size"),
        pl.col("count").max().alias("top"),
        _sorted_counts().slice(l - 1).sum().alias("tail"),
    )
    judged = per_class.with_columns(measure.enough(pl.col("value"), l, c).alias("enough"))
    failing = judged.filter(~pl.col("enough"))
    pool = failing if failing.height else judged
    extreme = pool.select(measure.weakest(pl.col("value"))).item()
    weakest = pool.filter(pl.col("value") == extreme).sort(keys).row(0, named=True)
    return Diversity(
        holds=failing.height == 0,
        measured=float(weakest["value"]),
        top_share=float(judged.select((pl.col("top") / pl.col("size")).max()).item()),
        witness={name: weakest[key] for name, key in zip(classes, keys, strict=True)},
    )


def smallest_class(rows: pl.DataFrame, group: str) -> tuple[int, object]:
    """The size of the smallest group, and which one it is.

    >>> smallest_class(pl.DataFrame({"group": [1, 1, 2]}), "group")
    (1, 2)
    """
    sizes = rows.group_by(pl.col(group).alias("group")).agg(pl.len().alias("rows")).sort("rows", "group")
    return int(sizes["rows"][0]), sizes["group"][0]
