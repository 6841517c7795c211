"""Decomposition's experiments, quick: results, figures and page are there, and what must hold at any size holds."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import product

import numpy as np
import polars as pl
import pytest

from experiments.reproduce import load
from experiments.reproduce.paper import HOLDS, NOT
from pluralis.assembling.assembly import assemble
from pluralis.method import method_for
from pluralis.randomness import Draw, Key
from pluralis.release.release import Release
from pluralis.table.encoding import Table, encode
from reproduce.quick import Quick, check_explained, check_written
from support.sample_tables import policy_of

PAPER = "decomposition"
ALWAYS = (  # theorems, or so far from the edge that no draw matters
    "The Largest-l procedure creates",
    "d-SA-l-diversity is almost unachievable",
    "If the attribute with largest l is not chosen",
    "The KL-divergence of the generalized table grows",
    "KL grows with the number of sensitive attributes",
    "… because it reduces the necessity",
)
NEVER = ("Any background knowledge", "A noise value that is linkable")
LITERAL = "decomposition, paper"


def test_results_figures_and_page_are_written(quick: Quick) -> None:
    check_written(quick, ("figure2-5", "figure2-5-weights", *(f"figure{i}" for i in range(6, 10)), "growth", "joined"))
    for experiment in quick.paper.experiments:
        assert quick.results[experiment.name].height == len(experiment.quick)


@pytest.mark.parametrize(("starts", "verdict"), [*((s, HOLDS) for s in ALWAYS), *((s, NOT) for s in NEVER)])
def test_claims_that_no_draw_decides(quick: Quick, starts: str, verdict: str) -> None:
    (claim,) = (claim for claim in quick.claims if claim.claim.statement.startswith(starts))
    assert claim.verdict == verdict, claim.numbers


def test_a_claim_that_fails_has_a_reason(quick: Quick) -> None:
    check_explained(quick.claims)


def test_residual_rows_break_one_in_seven_as_printed_only(quick: Quick) -> None:
    """30,162 = 7 * 4,308 + 6: six residual rows, which the paper's rule puts into one group."""
    rows = quick.results["utility"].filter(pl.col("l") == 7, pl.col("q") == 5)
    risk = dict(rows.filter(pl.col("weights") == "equal counts").select("method", "risk").rows())
    assert risk[LITERAL] > 1 / 7 + 1e-4
    assert risk["decomposition"] == pytest.approx(1 / 7, abs=1e-5)


def test_golden_numbers(quick: Quick) -> None:
    """Table 7 but for its three slips, and what a prototype measured."""
    sources = ("Table 7", "a prototype")
    off = {number.what for number in quick.numbers if not number.agrees and number.source in sources}
    draws = ("people", "random tables", "default")  # other rows, other tables, fewer than it asks for
    assert {what for what in off if not any(word in what for word in draws)} == {
        "different values of age",
        "different values of hours-per-week",
        "largest l of relationship",
    }
    ours = {number.what: number.ours for number in quick.numbers}
    assert ours["noises at (5, 3), decomposition, default"] < 110
    assert ours["noises at (5, 5), paper, ties among rows"] < ours["noises at (5, 5), decomposition, paper"]


# KL divergence of generalized tables ------------------------------------------------------------------------------


@pytest.fixture
def kl() -> Callable[[Release, pl.DataFrame], float]:
    load(PAPER)
    function: Callable[[Release, pl.DataFrame], float] = import_module("experiments.decomposition.kl").kl_of_generalized
    return function


def cut(frame: pl.DataFrame, l: int) -> tuple[Release, Table, np.ndarray]:
    asked = policy_of(
        {
            "age": {"role": "quasi", "type": "number"},
            "job": {"role": "quasi"},
            "s": {"role": "sensitive", "l": l, "model": "distinct"},
        },
        method="mondrian",
    )
    table = encode(frame, asked)
    plan = method_for(asked).plan(table, asked, Draw(Key.test()))
    return assemble(plan, table, asked, method_for(asked), Draw(Key.test())), table, plan.group_of


def test_one_box_of_two_points(kl: Callable[[Release, pl.DataFrame], float]) -> None:
    """Two people, two ages, two sensitive values: both ages of the box are as likely: half of the truth is left."""
    frame = pl.DataFrame({"age": [1, 2], "job": ["a", "a"], "s": ["x", "y"]})
    assert kl(cut(frame, 2)[0], frame) == pytest.approx(math.log(2))


def test_nothing_is_lost_where_boxes_are_points(kl: Callable[[Release, pl.DataFrame], float]) -> None:
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "job": ["a"] * 4, "s": ["x", "y", "x", "y"]})
    assert kl(cut(frame, 2)[0], frame) == pytest.approx(0)


def spread(table: Table, group_of: np.ndarray) -> Iterator[tuple[tuple[int, int, int], float]]:
    """What each row gives to each point that its group covers: ages in a range, jobs in a set."""
    age, job, s = (table[name].codes for name in ("age", "job", "s"))
    for row in range(table.rows):
        own_group = group_of == group_of[row]
        ages, jobs = range(age[own_group].min(), age[own_group].max() + 1), sorted(set(job[own_group].tolist()))
        for point in product(ages, jobs, [int(s[row])]):
            yield point, 1 / (len(ages) * len(jobs) * table.rows)


@pytest.mark.parametrize("seed", range(12))
def test_kl_as_defined(kl: Callable[[Release, pl.DataFrame], float], seed: int) -> None:
    rng = random.Random(seed)
    rows = [(rng.randint(1, 6), rng.choice("abc"), rng.choice("wxyz")) for _ in range(30)]
    frame = pl.DataFrame(rows, schema=["age", "job", "s"], orient="row")
    release, table, group_of = cut(frame, 2 + seed % 2)
    published: Counter[tuple[int, int, int]] = Counter()
    for point, share in spread(table, group_of):
        published[point] += share
    assert sum(published.values()) == pytest.approx(1)
    true = Counter(zip(*(table[name].codes.tolist() for name in ("age", "job", "s")), strict=True))
    defined = sum(n / 30 * math.log(n / 30 / published[point]) for point, n in true.items())
    assert kl(release, frame) == pytest.approx(defined)
    assert defined > 0
