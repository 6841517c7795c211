"""The quick run of Randomized Addition's experiments: all is written, and what must hold at any size does."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from experiments.reproduce import load
from experiments.reproduce.paper import HOLDS, NOT
from pluralis import Key
from pluralis.estimate import distribution
from pluralis.estimate.conditions import All, Check
from reproduce.quick import Quick, check_written

PAPER = "randomized-addition"
ALWAYS = (
    "The MSE tends to decrease",
    "The MSE of the method increases",
    "With l near |S|",
    "The method can be applied to any database",
    "The method estimates the distribution of relationship",
)
GOLDEN = ("Adult: ", "calibrated, Adult's occupation, l = 2", "uniform, ", "seeds of ")


def test_page_figures_and_results_are_written(quick: Quick) -> None:
    check_written(quick, [f"figure{i}" for i in range(1, 7)])


def test_what_follows_from_the_formulas_holds(quick: Quick) -> None:
    judged = [one for one in quick.claims if one.claim.statement.startswith(ALWAYS)]
    assert len(judged) == len(ALWAYS)
    assert {one.claim.statement: one.numbers for one in judged if one.verdict != HOLDS} == {}


def test_uniform_sets_do_not_keep_to_1_in_l(quick: Quick) -> None:
    (one,) = [one for one in quick.claims if "confidence greater than 1/l" in one.claim.statement]
    assert one.verdict == NOT


def test_golden_numbers_agree(quick: Quick) -> None:
    golden = [number for number in quick.numbers if number.what.startswith(GOLDEN) or "best guess" in number.what]
    assert len(golden) == 26
    assert [(number.what, number.printed, number.ours) for number in golden if not number.agrees] == []
    assert [number.what for number in quick.numbers if not number.agrees and not number.why] == []


def test_simulations_follow_the_exact_form(quick: Quick) -> None:
    """Mean over points of the error given the table, divided by its expectation; each is a mean over 125 tables."""
    rows = quick.results["analysis"]
    ratio = rows["simulated"] / rows["exact"]
    assert ratio.mean() == pytest.approx(1, abs=0.02)
    assert (rows["eq19"] > rows["exact"]).all()


@pytest.mark.parametrize("method", ["uniform", "calibrated", "anatomy", "tp"])
def test_sums_of_all_values_are_those_of_the_estimators(method: str) -> None:
    """What experiments count at once is what `distribution` counts value by value."""
    load(PAPER)
    from experiments.randomized_addition.asking import of_release, original
    from experiments.randomized_addition.data import Query, encoded, planned

    rng = np.random.default_rng(4)
    sizes = {"age": 12, "sex": 2, "town": 5, "job": 9}
    people = pl.DataFrame({name: rng.integers(10, 10 + size, 600) for name, size in sizes.items()}).cast(pl.String)
    decided = planned(encoded(people, "job"), "job", 3, method, Key(bytes(32)))
    assert decided is not None
    release = decided.release()
    source, true = of_release(release, people, "job"), original(people, "job")
    values = {name: people[name].unique().sort().to_list() for name in sizes}
    for names in (("age",), ("sex", "town"), ("age", "sex", "town")):
        query = Query(names, tuple(rng.random(sizes[name]) < 0.6 for name in names))
        some = [
            tuple(np.array(values[name])[marked].tolist()) for name, marked in zip(names, query.allowed, strict=True)
        ]
        where = All(tuple(Check(name, "IN", chosen) for name, chosen in zip(names, some, strict=True)))
        counted = distribution(release, "job", where).sort("job")["value"].to_numpy()
        assert source.counts(query) == pytest.approx(counted, abs=1e-6)
        passing = people.filter(pl.col(name).is_in(chosen) for name, chosen in zip(names, some, strict=True))
        expected = [passing.filter(job=value).height for value in values["job"]]
        assert true.counts(query).tolist() == expected
