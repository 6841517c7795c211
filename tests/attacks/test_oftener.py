"""Guesses that are no surer than promised, and come true more often: secrets go with what is known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from pluralis.attacks import Result, attack
from pluralis.attacks.at_publication import measured, not_stopped
from pluralis.attacks.base import OFTENER
from pluralis.publishing.pipeline import publish
from pluralis.publishing.saving import Publication
from pluralis.randomness import Key
from pluralis.report.risk import who_learns_what
from tables import policy_of


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """Of men 60 % have a, of women 60 % have b; of all, neither is above 35 %."""
    rng = np.random.default_rng(7)
    sex = np.repeat(["m", "f"], 1500)
    common = np.where(sex == "m", "a", "b")
    other = np.where(sex == "m", "b", "a")
    drawn = rng.random(sex.size)
    return pl.DataFrame({"sex": sex, "disease": np.where(drawn < 0.6, common, np.where(drawn < 0.7, other, "c"))})


@pytest.fixture(scope="module")
def release(table: pl.DataFrame) -> Publication:
    attributes = {"sex": {"role": "quasi"}, "disease": {"role": "sensitive", "l": 2}}
    return publish(table, policy_of(attributes, method="anatomy"), key=Key.test(), attacks=False)


def test_it_is_no_breach_and_is_said(table: pl.DataFrame, release: Publication) -> None:
    (result,) = attack(release, table, only=["homogeneity"])
    assert result.promised == 0.5
    assert result.worst is not None
    assert result.worst <= 0.5
    assert result.success > 0.55
    assert result.standing == OFTENER
    assert f"✗ {OFTENER}" in who_learns_what([result])


def test_the_release_says_it(table: pl.DataFrame, release: Publication) -> None:
    said = [line for line in not_stopped(release, measured(release, table), 3000) if line.startswith("homogeneity")]
    assert len(said) == 1
    assert "above the 50 % of equally likely rows; blind guess 3" in said[0]


def test_chance_alone_does_not_count() -> None:
    """Of 1,000 people 525 may be right by chance where half are promised, 560 hardly ever."""
    by_chance, beyond = (
        Result("homogeneity", "", 1000, False, s, s, s, 0.1, promised=0.5, worst=0.5) for s in (0.525, 0.56)
    )
    assert (by_chance.standing, beyond.standing) == ("within the promise", OFTENER)


def test_a_breach_stays_a_breach() -> None:
    assert Result("homogeneity", "", 1000, False, 0.9, 0.9, 0.9, 0.1, promised=0.5, worst=1.0).standing == "breach"
