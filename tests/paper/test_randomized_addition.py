"""Randomized Addition: what the paper prints and can be checked, on its table of 45,222 people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

from pluralis.errors import Infeasible
from pluralis.grouping.addition import Design
from pluralis.method import method_for
from pluralis.method.randomized_addition import drawn_sets
from pluralis.metrics.workloads import expected_squared_error, papers_squared_error, squared_error
from pluralis.randomness import Draw, Key
from pluralis.table.encoding import encode
from pluralis.table.sources import read_table
from support.data_files import data_file
from support.sample_tables import policy_of

TABLE_7 = {
    "age": 74, "workclass": 7, "fnlwgt": 26_741, "education": 16, "education-num": 16, "marital-status": 7,
    "occupation": 14, "relationship": 6, "race": 5, "sex": 2, "capital-gain": 121, "capital-loss": 97,
    "hours-per-week": 96, "native-country": 41,
}  # fmt: skip
LS = range(2, 11)


@pytest.fixture(scope="module")
def adult() -> pl.DataFrame:
    return read_table(data_file("adult_clean_45222.csv.gz")).drop("split")


def test_table_7(adult: pl.DataFrame) -> None:
    assert adult.height == 45_222
    assert adult.width == 15
    assert {name: adult[name].n_unique() for name in TABLE_7} == TABLE_7


def succeeds(adult: pl.DataFrame, secret: str, l: int, **how: Any) -> bool:
    other = "sex" if secret != "sex" else "race"
    attributes = {other: {"role": "quasi"}, secret: {"role": "sensitive", "l": l}}
    policy = policy_of(attributes, others="drop", **how)
    table = encode(adult.select(other, secret), policy)
    try:
        method_for(policy).plan(table, policy, Draw(Key.test()))
    except Infeasible:
        return False
    return True


METHODS: dict[str, dict[str, Any]] = {
    "randomized-addition": {"variant": "paper", "options": {"claim": "set-size"}},
    "anatomy": {},
    "tp": {"variant": "paper"},
}


def outcomes(adult: pl.DataFrame, method: str) -> Iterator[tuple[str, int, bool]]:
    for secret in adult.columns:
        for l in LS:
            yield secret, l, succeeds(adult, secret, l, method=method, **METHODS[method])


@pytest.mark.parametrize("method", list(METHODS))
def test_figure_5a(adult: pl.DataFrame, method: str) -> None:
    """Success over 15 columns: this method wherever l < m, anatomy and tp only where no value fills more than 1/l."""
    ratio = dict.fromkeys(LS, 0)
    for secret, l, done in outcomes(adult, method):
        counts = adult[secret].value_counts()["count"]
        possible = l < counts.len() if method == "randomized-addition" else counts.max() * l <= adult.height
        assert done == possible, (secret, l)
        ratio[l] += done
    expected = {
        "randomized-addition": [13, 13, 13, 12, 11, 9, 9, 9, 9],
        "anatomy": [8, 5, 3, 3, 3, 3, 2, 2, 2],
        "tp": [8, 5, 3, 3, 3, 3, 2, 2, 2],
    }
    assert list(ratio.values()) == expected[method]


@pytest.mark.parametrize(("m", "l", "rows"), [(20, 5, 1_000), (20, 2, 1_000), (100, 18, 1_000), (20, 5, 200)])
@pytest.mark.parametrize("shape", ["uniform", "gaussian", "poisson"])
def test_expected_error(m: int, l: int, rows: int, shape: str) -> None:
    """The error given the table is the exact form, whatever the distribution; eq. 19 counts sampling too."""
    rng = np.random.default_rng(1)
    place = np.arange(m)
    weights = {
        "uniform": np.ones(m),
        "gaussian": np.exp(-((place - m / 2) ** 2) / (2 * (m / 6) ** 2)),
        "poisson": np.exp(place * np.log(m / 4) - np.array([np.sum(np.log(np.arange(1, k + 1))) for k in place])),
    }[shape]
    codes = rng.choice(m, rows, p=weights / weights.sum()).astype(np.int32)
    true = np.bincount(codes, minlength=m).astype(np.float64)
    design = Design(tuple(range(m)), l)
    errors = []
    for run in range(600):
        words = rng.integers(0, 2**64, rows, dtype=np.uint64)
        sets = drawn_sets(design, codes, words, (np.uint64(run), np.uint64(7)))
        errors.append(squared_error(true, design.shares(sets) * rows))
    assert np.mean(errors) == pytest.approx(expected_squared_error(m, l, rows), rel=0.05)
    assert papers_squared_error(m, l, rows) > expected_squared_error(m, l, rows)


def test_nothing_is_lost_without_dummies() -> None:
    assert expected_squared_error(14, 1, 30_162) == 0
    design = Design(("a", "b", "c"), 1)
    assert design.shares(np.array([[0], [0], [2]], np.int32)).tolist() == pytest.approx([2 / 3, 0, 1 / 3])
    assert design.squares(design.scores(np.array([1.0, 0.0, 0.0]))).tolist() == [1.0, 0.0, 0.0]  # no variance
