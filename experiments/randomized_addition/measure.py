"""What is measured at a point of each experiment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import polars as pl

from experiments.randomized_addition.asking import BASELINES, OWN, Errors, Source, errors, of_release, original
from experiments.randomized_addition.data import (
    METHODS,
    QUASI,
    SENSITIVE,
    TRAINING,
    acs,
    adult,
    encoded,
    key_of,
    planned,
    queries,
    table_of,
)
from experiments.reproduce.paper import Lab, Point, Value
from pluralis.estimate import crosstab
from pluralis.grouping.addition import Design, posteriors
from pluralis.method.randomized_addition import drawn_sets
from pluralis.metrics.workloads import expected_squared_error, papers_squared_error, squared_error
from pluralis.table.encoding import Table
from pluralis.table.sources import read_table

Rows = Iterator[Mapping[str, Value]]
Reals = npt.NDArray[np.float64]
SHAPES = ("uniform", "gaussian", "poisson")
SKEWED = {3: 0.9, 10: 0.6, 50: 0.5}  # the share of the commonest of m values; the others are alike
RUNS, RELEASES = 500, 20  # of uniform addition, of calibrated
DEFAULT_S, DEFAULT_QD = 0.07, 3


def number_of(point: Point, name: str) -> int:
    return int(str(point[name]))


def shares_of(shape: str, m: int) -> Reals:
    """How common each of m values is: a Gaussian has a deviation of m/6 around the middle, a Poisson a mean of m/4."""
    place = np.arange(m)
    weights = {
        "uniform": np.ones(m),
        "gaussian": np.exp(-((place - m / 2) ** 2) / (2 * (m / 6) ** 2)),
        "poisson": np.exp(place * np.log(m / 4) - np.cumsum(np.log(np.maximum(1, place)))),
    }[shape]
    shares: Reals = weights / weights.sum()
    return shares


def analysis(point: Point, lab: Lab) -> Rows:
    """Figure 1: eq. 19, the exact expectation, and the mean over drawn tables, each published once."""
    m, l, rows, shape = (number_of(point, "m"), number_of(point, "l"), number_of(point, "rows"), str(point["shape"]))
    rng = np.random.default_rng([m, l, rows, SHAPES.index(shape)])
    shares, design = shares_of(shape, m), Design(tuple(range(m)), l)
    runs, releases = (RUNS // 4, RELEASES // 4) if lab.quick else (RUNS, RELEASES)
    of_table, of_all = [], []
    for run in range(runs):
        codes = rng.choice(m, rows, p=shares).astype(np.int32)
        words = rng.integers(0, 2**64, rows, dtype=np.uint64)
        estimated = design.shares(drawn_sets(design, codes, words, (np.uint64(run), np.uint64(7))))
        of_table.append(squared_error(np.bincount(codes, minlength=m).astype(np.float64), estimated * rows))
        of_all.append(squared_error(shares, estimated))
    yield {
        "eq19": papers_squared_error(m, l, rows),
        "exact": expected_squared_error(m, l, rows),
        "simulated": float(np.mean(of_table)),
        "of_population": float(np.mean(of_all)),
        "runs": len(of_table),
        "calibrated": _calibrated(rng, shares, rows, l, releases) if shape == "gaussian" else None,
    }


def _calibrated(rng: np.random.Generator, shares: Reals, rows: int, l: int, releases: int) -> float | None:
    """The error of calibrated addition, given the table; None where it refuses one of the tables."""
    errors = []
    for release in range(releases):
        codes = rng.choice(shares.size, rows, p=shares)
        frame = pl.DataFrame({"id": np.arange(rows), "x": codes}).select(pl.all().cast(pl.String))
        decided = planned(encoded(frame, "x"), "x", l, "calibrated", key_of(release))
        if decided is None:
            return None
        design = decided.drawn.designs["x"]
        estimated = np.zeros(shares.size)  # of values that no row has nothing is published
        estimated[[int(value) for value in design.values]] = design.shares(decided.drawn.sets["x"]) * rows
        errors.append(squared_error(np.bincount(codes, minlength=shares.size).astype(np.float64), estimated))
    return float(np.mean(errors))


def workers(point: Point, lab: Lab) -> Rows:
    """Figures 2 to 4: the mean of eq. 2 over 1,000 queries, for each method."""
    data, d, l = str(point["data"]), number_of(point, "d"), number_of(point, "l")
    asked = queries(data, d, SENSITIVE[data], 100 if lab.quick else 1_000, number_of(point, "qd"), _s(point), lab)
    sources = _sources(data, d, SENSITIVE[data], l, lab)
    yield from _rows(errors(_original(data, d, SENSITIVE[data], lab)[1], sources, asked))


def mixed(point: Point, lab: Lab) -> Rows:
    """Anatomy on SAL, its bins named in a drawn order, so that bins of equal size do not give to groups by income."""
    d, sensitive = number_of(point, "d"), SENSITIVE["SAL, mixed"]
    asked = queries("SAL, mixed", d, sensitive, 100 if lab.quick else 1_000, number_of(point, "qd"), _s(point), lab)
    source = _mixed(d, number_of(point, "l"), lab)
    yield from _rows(errors(_original("SAL, mixed", d, sensitive, lab)[1], {"anatomy": source}, asked), ["anatomy"])


@lru_cache(maxsize=1)
def _mixed(d: int, l: int, lab: Lab) -> Source:
    data, sensitive = "SAL, mixed", SENSITIVE["SAL, mixed"]
    decided = planned(_original(data, d, sensitive, lab)[0], sensitive, l, "anatomy", key_of(0))
    assert decided is not None
    return of_release(decided.release(), table_of(data, d, lab), sensitive)


def on_adult(point: Point, lab: Lab) -> Rows:
    """Figure 5: whether each method publishes Adult with one attribute as the sensitive one, and the mean of eq. 2."""
    sensitive, l = str(point["sensitive"]), number_of(point, "l")
    sources = _sources("Adult", 0, sensitive, l, lab)
    asked = queries("Adult", 0, sensitive, 50 if lab.quick else 300, DEFAULT_QD, DEFAULT_S, lab)
    yield from _rows(errors(_original("Adult", 0, sensitive, lab)[1], sources, asked) if sources else {})


def _s(point: Point) -> float:
    return float(str(point["s"]))


@lru_cache(maxsize=1)
def _original(data: str, d: int, sensitive: str, lab: Lab) -> tuple[Table, Source]:
    """A table as methods see it, and as a source."""
    frame = table_of(data, d, lab)
    return encoded(frame, sensitive), original(frame, sensitive)


@lru_cache(maxsize=1)
def _sources(data: str, d: int, sensitive: str, l: int, lab: Lab) -> dict[str, Source]:
    """A release of each method that makes one."""
    table, frame = _original(data, d, sensitive, lab)[0], table_of(data, d, lab)
    decided = {method: planned(table, sensitive, l, method, key_of(0)) for method in METHODS}
    return {name: of_release(each.release(), frame, sensitive) for name, each in decided.items() if each}


def _rows(errors: Mapping[str, Errors], methods: Sequence[str] = (*METHODS, OWN, *BASELINES)) -> Rows:
    for method in methods:
        own = errors.get(method)
        yield {
            "method": method,
            "done": own is not None,
            "mse": own.mean if own else None,
            "median": own.median if own else None,
            "queries": own.queries if own else 0,
        }


def relationship(point: Point, lab: Lab) -> Rows:
    """Figure 6: the share of each value among men and women, as published with l = 2 under one key."""
    frame, sensitive = adult(lab), "relationship"
    true = frame.group_by("sex", sensitive).len().with_columns(share=pl.col("len") / pl.col("len").sum().over("sex"))
    people = dict(frame["sex"].value_counts().iter_rows())
    coded = encoded(frame, sensitive)
    for method in METHODS:
        decided = planned(coded, sensitive, number_of(point, "l"), method, key_of(number_of(point, "key")))
        assert decided is not None
        table = crosstab(decided.release(), "sex", sensitive).join(true, on=["sex", sensitive], how="left")
        for sex, value, count, share in (
            table.select("sex", sensitive, "value", "share").sort("sex", sensitive).iter_rows()
        ):
            yield {"method": method, "sex": sex, "value": value, "share": count / people[sex], "true": share or 0.0}


def privacy(point: Point, lab: Lab) -> Rows:
    """What sets give away, what calibrated addition costs, and how long Adult takes."""
    what, m, l = str(point["what"]), number_of(point, "m"), number_of(point, "l")
    measures: dict[str, Callable[[], float]] = {
        "posterior": lambda: _guessed(_occupations(lab), "occupation", l, "calibrated"),
        "uniform posterior": lambda: _guessed(_occupations(lab), "occupation", l, "uniform"),
        "condition": lambda: _condition(_occupations(lab), l),
        "hit": lambda: _guessed(_skewed(m), "x", l, "uniform"),
        "twice": lambda: _known_after_two(_skewed(m), l),
        "seeds": lambda: _seeds(m, l, 15),
        "seconds": lambda: _seconds(adult(lab), l),
    }
    yield {"measured": float(measures[what]())}


def _occupations(lab: Lab) -> pl.DataFrame:
    return read_table(lab.file(TRAINING)).select(pl.col("age", "occupation").cast(pl.String))


def _skewed(m: int, rows: int = 20_000) -> pl.DataFrame:
    """A table of m values, one of which SKEWED says how common it is."""
    top = SKEWED[m]
    shares = np.array([top, *[(1 - top) / (m - 1)] * (m - 1)])
    codes = np.random.default_rng(m).choice(m, rows, p=shares)
    return pl.DataFrame({"id": np.arange(rows), "x": codes}).select(pl.all().cast(pl.String))


def _guessed(frame: pl.DataFrame, sensitive: str, l: int, method: str) -> float:
    """How often the likeliest value of a set is the true one, to whoever knows how common values are."""
    table = encoded(frame, sensitive)
    decided = planned(table, sensitive, l, method, key_of(0))
    assert decided is not None
    design, sets, codes = (
        decided.drawn.designs[sensitive],
        decided.drawn.sets[sensitive],
        table.columns[sensitive].codes,
    )
    shares = np.bincount(codes, minlength=design.m) / codes.size
    likely = posteriors(sets.astype(np.int64), shares, design.weight)
    guess = np.take_along_axis(sets, likely.argmax(axis=1)[:, None], axis=1)[:, 0]
    return float((guess == codes).mean())


def _condition(frame: pl.DataFrame, l: int) -> float:
    decided = planned(encoded(frame, "occupation"), "occupation", l, "calibrated", key_of(0))
    assert decided is not None
    return float(np.linalg.cond(decided.drawn.designs["occupation"].membership))


def _known_after_two(frame: pl.DataFrame, l: int) -> float:
    """The share of rows whose two sets, drawn under two keys, have one value in common."""
    table = encoded(frame, "x")
    drawn = [planned(table, "x", l, "uniform", key_of(number)) for number in (0, 1)]
    first, second = (decided.drawn.sets["x"] for decided in drawn if decided is not None)
    return float(((first[:, :, None] == second[:, None, :]).sum(axis=(1, 2)) == 1).mean())


def _seeds(m: int, l: int, rows: int) -> int:
    """How many seeds of 0 … 9,999 give the sets that one of them gave."""
    codes = np.arange(rows, dtype=np.int32) % m
    words = np.arange(rows, dtype=np.uint64)
    design = Design(tuple(range(m)), l)
    published = drawn_sets(design, codes, words, (np.uint64(7_341), np.uint64(0)))
    sets = (drawn_sets(design, codes, words, (np.uint64(seed), np.uint64(0))) for seed in range(10_000))
    return sum(bool((drawn == published).all()) for drawn in sets)


def _seconds(frame: pl.DataFrame, l: int) -> float:
    """Uniform addition to Adult and the estimate of relationship by sex, when all is compiled: the second of two."""
    seconds = 0.0
    for _ in range(2):
        begin = time.perf_counter()
        decided = planned(encoded(frame, "relationship"), "relationship", l, "uniform", key_of(0))
        assert decided is not None
        crosstab(decided.release(), "sex", "relationship")
        seconds = time.perf_counter() - begin
    return seconds


def tables(point: Point, lab: Lab) -> Rows:
    """Tables 6 and 7: how many values each attribute has."""
    frame = adult(lab) if point["table"] == "Adult" else acs(lab)
    yield {"attribute": "(rows)", "values": frame.height}
    for name in frame.columns if point["table"] == "Adult" else (*QUASI, "occupation", "income"):
        yield {"attribute": name, "values": frame[name].n_unique()}
