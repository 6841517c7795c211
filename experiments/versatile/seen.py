"""Results, asked by their settings."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from experiments.reproduce import Results
from experiments.reproduce.line_figures import Line
from experiments.reproduce.paper import Value
from experiments.versatile.releases import GD, MULTI, MULTI_PAPER, SINGLE, UAD

TABLES = {"Texas": "generated", "claims": "claims"}
NUMBERS = {GD: 0, UAD: 1, MULTI_PAPER: 2, MULTI: 3, SINGLE: 4}
LABELS = {
    GD: "GD",
    UAD: "UAD",
    MULTI_PAPER: "multi-SA, paper",
    MULTI: "multi-SA, ours",
    SINGLE: "single-attribute",
}


def rows(results: Results, experiment: str, **where: Value) -> pl.DataFrame:
    return results[experiment].filter(*(pl.col(name) == value for name, value in where.items()))


def mean(results: Results, experiment: str, measure: str, **where: Value) -> float:
    """The mean of a measure over all rows of these settings."""
    average = rows(results, experiment, **where)[measure].mean()
    assert isinstance(average, float | int)
    return float(average)


def settings(results: Results, experiment: str, name: str, **where: Value) -> list[int]:
    """The values of a setting that were measured."""
    return rows(results, experiment, **where)[name].unique().sort().to_list()


def line(results: Results, experiment: str, across: str, measure: str, method: str, **where: Value) -> Line:
    """A measure of one method against a setting, the mean of all sets."""
    xs: Sequence[float] = settings(results, experiment, across, method=method, **where)
    ys = [mean(results, experiment, measure, method=method, **{**where, across: x}) for x in xs]
    return Line(LABELS[method], xs, ys, NUMBERS[method])


def short(value: float) -> str:
    """A number in two or three digits.

    >>> short(0.03251), short(0.2), short(7.0), short(14.39), short(177148)
    ('0.033', '0.20', '7', '14', '177,148')
    """
    if abs(value) >= 10 or value == round(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"
