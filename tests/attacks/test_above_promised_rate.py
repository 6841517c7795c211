"""Guesses that are no surer than promised, and come true more often: sensitive values go with what is known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from pluralis.attacks import Result, attack
from pluralis.attacks.base import ABOVE_PROMISED_RATE
from pluralis.publishing.attack_scores import measured, not_stopped
from pluralis.publishing.pipeline import publish
from pluralis.publishing.saving import Publication
from pluralis.randomness import Key
from pluralis.release.attribute_lists import AttributeLists
from pluralis.report.risk import who_learns_what
from support.sample_tables import policy_of


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
    assert result.standing == ABOVE_PROMISED_RATE
    assert f"✗ {ABOVE_PROMISED_RATE}" in who_learns_what([result], AttributeLists.of_manifest(release.manifest))


def test_the_release_says_it(table: pl.DataFrame, release: Publication) -> None:
    sentences = [
        line for line in not_stopped(release, measured(release, table), 3000) if line.startswith("homogeneity")
    ]
    assert len(sentences) == 1
    assert "above the 50 % of equally likely rows; prior 3" in sentences[0]


def test_chance_alone_does_not_count() -> None:
    """Of 1,000 people 525 may be right by chance where half are promised, 560 hardly ever."""
    by_chance, beyond = (
        Result("homogeneity", "", 1000, False, s, s, s, 0.1, promised=0.5, worst=0.5) for s in (0.525, 0.56)
    )
    assert (by_chance.standing, beyond.standing) == ("within the promise", ABOVE_PROMISED_RATE)


def test_two_people_are_no_rate() -> None:
    few = Result("homogeneity", "", 2, False, 1.0, 1.0, 1.0, 0.2, promised=0.25, worst=0.25)
    assert few.standing == "within the promise"  # one time in sixteen both are right by chance


def test_a_breach_stays_a_breach() -> None:
    assert Result("homogeneity", "", 1000, False, 0.9, 0.9, 0.9, 0.1, promised=0.5, worst=1.0).standing == "breach"
