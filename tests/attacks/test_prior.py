"""Non-uniform prior: the paper's sets on skewed data, calibrated ones, and what people who are alike give away."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

from pluralis.assembling.columns import stated
from pluralis.attacks.base import Options, Result
from pluralis.attacks.prior import ATTACK
from pluralis.grouping.addition import Design, posteriors
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.release.release import Release
from support.sample_tables import policy_of

OPTIONS = Options()


def table(rng: np.random.Generator, rows: int, shares: list[float]) -> pl.DataFrame:
    values = [f"v{i}" for i in range(len(shares))]
    return pl.DataFrame(
        {"age": np.arange(rows), "sex": rng.choice(["f", "m"], rows), "x": rng.choice(values, rows, p=shares)}
    )


def released(people: pl.DataFrame, l: int, seed: int = 0, **how: Any) -> Release:
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "sex": {"role": "quasi"}}
    attributes |= {"x": {"role": "sensitive", "l": l}}
    policy = policy_of(attributes, method="randomized-addition", **how)
    return publish(people, policy, key=Key(bytes([seed] * 32)), attacks=False)


def promising(release: Release, l: int) -> Release:
    """The same release, claiming 1/l: the method itself refuses to where that is false."""
    (claim,) = release.manifest.claims
    claims = [
        stated(claim.adversary, "candidates", model=model, attribute="x", l=l, **bound)
        for model, bound in (("posterior", {}), ("posterior-shares", {"bound": 1.25 / l}))
    ]
    return Release(release.manifest.model_copy(update={"claims": tuple(claims)}), dict(release.tables))


def overall(release: Release, people: pl.DataFrame) -> Result:
    return ATTACK.run(release, people, OPTIONS)[0]


def test_the_paper_s_sets_on_skewed_data() -> None:
    """A value of 90 % and l = 2: 0.9 / (0.9 + 0.05) in every set that holds it."""
    people = table(np.random.default_rng(1), 4_000, [0.9, 0.05, 0.05])
    release = released(people, 2, variant="paper", options={"claim": "set-size"})
    result = overall(release, people)
    assert result.worst == pytest.approx(0.95, abs=0.01)
    assert result.success > 0.9
    assert result.success >= result.prior
    assert result.promised is None
    assert overall(promising(release, 2), people).breach


@pytest.mark.parametrize("l", [2, 3, 4])
def test_calibrated_sets_keep_their_promise(l: int) -> None:
    shares = [0.24, 0.2, 0.15, 0.1, 0.1, 0.08, 0.07, 0.06]
    people = table(np.random.default_rng(l), 3_000, shares)
    release = released(people, l)
    result = overall(release, people)
    assert result.worst == result.promised == 1 / l
    assert not result.breach
    assert result.success == pytest.approx(1 / l, abs=0.04)
    known = ATTACK.run(release, people, OPTIONS)[-1]
    assert 1 / l < (known.worst or 0) <= (known.promised or 0) < 1.1 / l


@pytest.mark.parametrize("l", [2, 3])
def test_planted_skew_is_found(l: int) -> None:
    """Uniform sets that promise 1/l, on tables with a common value: 60 of them."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        top = float(rng.uniform(0.7, 0.95))
        others = rng.dirichlet(np.ones(5)) * (1 - top)
        people = table(rng, 1_000, [top, *others])
        release = promising(released(people, l, seed, variant="paper", options={"claim": "set-size"}), l)
        assert overall(release, people).breach, (seed, top)
        assert ATTACK.run(release, people, OPTIONS)[-1].breach, (seed, top)


def test_people_who_are_alike_give_each_other_away() -> None:
    """All women have one value: their sets have it in common, whatever was promised of the whole table."""
    rng = np.random.default_rng(3)
    people = table(rng, 4_000, [0.0, 0.25, 0.25, 0.25, 0.25])
    people = people.with_columns(pl.when(pl.col("sex") == "f").then(pl.lit("v0")).otherwise("x").alias("x"))
    people = people.filter(pl.int_range(pl.len()).over("sex") < pl.when(pl.col("sex") == "f").then(400).otherwise(1600))
    release = released(people, 3)
    whole, alike, known = ATTACK.run(release, people, OPTIONS)
    assert not whole.breach
    assert not known.breach
    assert alike.witness == "sex = f"
    assert alike.worst is not None
    assert alike.worst > 0.95
    assert alike.promised is None
    assert alike.success > whole.success + 0.1


def test_planted_kinds_of_people_are_found() -> None:
    """All women have one value, in tables of all sorts, and nothing else goes together."""
    for seed in range(15):
        rng = np.random.default_rng(seed)
        rest = int(rng.integers(4, 7))
        people = table(rng, 1_200, [0.0, *[1 / rest] * rest])
        women = pl.int_range(pl.len()) < 1_200 // (rest + 1)
        people = people.with_columns(
            pl.when(women).then(pl.lit("f")).otherwise(pl.lit("m")).alias("sex"),
            pl.when(women).then(pl.lit("v0")).otherwise("x").alias("x"),
        )
        whole, alike, known = ATTACK.run(released(people, 2, seed), people, OPTIONS)
        assert not known.breach
        assert not whole.breach
        assert alike.witness == "sex = f"
        assert (alike.worst or 0) > 0.9


def test_beliefs_are_bayes_rule_over_all_draws() -> None:
    """One row: of the ways to draw its set, weighed by how common values are, the share of each value."""
    shares = np.array([0.5, 0.3, 0.2])
    design = Design(("a", "b", "c"), 2)
    for members in combinations(range(3), 2):
        ways = np.array([shares[v] / 2 if v in members else 0.0 for v in range(3)])  # two sets hold v
        expected = ways[list(members)] / ways.sum()
        assert posteriors(np.array([members]), shares, design.weight)[0] == pytest.approx(expected)


def test_clean_releases_raise_no_alarm() -> None:
    for seed in range(170):  # with those of test_clean.py, 200
        people = table(np.random.default_rng(seed), 60, [0.3, 0.25, 0.25, 0.2])
        assert not overall(released(people, 2, seed), people).breach
