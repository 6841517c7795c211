"""Re-identification risk: tables of four rows worked by hand, and populations that are known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import pluralis as pls
from pluralis.errors import InputError
from pluralis.metrics.risk import (
    SAMPLED,
    Classes,
    ClassRisk,
    Pitman,
    expected_share,
    fitted,
    log_new_classes,
    population_uniqueness,
    reidentification_risk,
    risk_of_classes,
    uniqueness_if_sampled,
    zayatz,
)
from support.sample_tables import policy_of

FOUR = pl.DataFrame({"age": [20, 30, 40, 40], "sex": ["f", "f", "m", "m"], "disease": ["flu", "hiv", "flu", "gout"]})
SENSITIVE = {"disease": {"role": "sensitive", "l": 2}}
QUASI = {"age": {"role": "quasi", "type": "number"}, "sex": {"role": "quasi"}}


def classes(sizes: object) -> Classes:
    return Classes.of_sizes(np.asarray(sizes))


def published(method: str, table: pl.DataFrame = FOUR, quasi: dict[str, dict[str, str]] = QUASI) -> pls.Release:
    return pls.publish(table, policy_of(quasi | SENSITIVE, method=method), key=pls.Key.test(), attacks=False)


@pytest.mark.parametrize(
    ("sizes", "highest", "average", "unique"),
    [([1, 1, 1, 1], 1, 1, 1), ([1, 1, 2], 1, 3 / 4, 1 / 2), ([2, 2], 1 / 2, 1 / 2, 0), ([1, 3], 1, 1 / 2, 1 / 4),
     ([4], 1 / 4, 1 / 4, 0)],
)  # fmt: skip
def test_four_rows_by_hand(sizes: list[int], highest: float, average: float, unique: float) -> None:
    risk = risk_of_classes(classes(sizes))
    assert (risk.prosecutor_highest, risk.prosecutor_average, risk.unique) == (highest, average, unique)
    assert (risk.journalist_highest, risk.journalist_average, risk.population_unique) == (highest, average, None)
    whole = risk_of_classes(classes(sizes), 4)
    assert whole == ClassRisk(4, len(sizes), highest, average, highest, average, unique, unique)


def test_a_generalized_release_and_its_original() -> None:
    """Two are alone before; in groups of two nobody is."""
    risk = published("bsgi").loss.risk  # type: ignore[attr-defined]
    assert risk.quasi == ("age", "sex")
    assert (risk.original.classes, risk.original.prosecutor_average, risk.original.unique) == (3, 0.75, 0.5)
    assert risk.release.prosecutor_highest == 0.5
    assert (risk.release.classes, risk.release.unique) == (2, 0.0)


def test_quasi_identifiers_as_they_are_change_nothing() -> None:
    risk = reidentification_risk(published("anatomy"), FOUR)
    assert risk is not None
    assert risk.release == risk.original == risk_of_classes(classes([1, 1, 2]))


def test_of_several_tables_the_worst_counts() -> None:
    rules = ["age, sex -> disease : l=2"]
    release = pls.publish(FOUR, pls.Policy(rules=rules, method="gd"), key=pls.Key.test(), attacks=False)
    risk = reidentification_risk(release, FOUR)
    assert risk is not None
    assert risk.release.prosecutor_highest == 1.0


def test_a_missing_value_is_one_of_its_own() -> None:
    table = FOUR.with_columns(age=pl.Series([None, 30, 40, None]))
    risk = reidentification_risk(published("anatomy", table), table)
    assert risk is not None
    assert risk.original == risk_of_classes(classes([1, 1, 1, 1]))


def test_zayatz_by_hand() -> None:
    """3 of 6 people are in the table, in a class of one and a class of two.

    A class of one of the population shows one row with C(5, 2) / C(6, 3) = 10/20, one of two with 2 C(4, 2) / C(6, 3) =
    12/20. So 10/22 of what is alone in the table is alone; and a third of the rows are alone in it.
    """
    assert zayatz(classes([1, 2]), 6) == pytest.approx(10 / 22 / 3)


def test_expected_share_is_that_of_all_ways_to_grow() -> None:
    """Two more people, each joining a class as likely as Pitman's rule says."""
    alpha, theta, f, n = 0.3, 2.0, 1, 4
    joins = [(f + j - alpha) for j in range(2)]
    first, second = joins[0] / (n + theta), joins[1] / (n + 1 + theta)
    again = joins[0] / (n + 1 + theta)
    by_hand = first * second / 3 + (first * (1 - second) + (1 - first) * again) / 2 + (1 - first) * (1 - again)
    assert expected_share(np.array([f]), n, n + 2, Pitman(alpha, theta))[0] == pytest.approx(by_hand)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.7])
def test_estimates_are_near_a_population_that_is_known(share: float) -> None:
    rng, people = np.random.default_rng(0), 100_000
    of_person = rng.zipf(1.3, people) % 300_000
    class_size = np.bincount(of_person)
    drawn = of_person[rng.random(people) < share]
    sizes = np.bincount(drawn)
    risk = risk_of_classes(classes(sizes[sizes > 0]), people)
    assert risk.population_unique == pytest.approx((class_size == 1).sum() / people, rel=0.2)
    assert risk.journalist_average == pytest.approx((1 / class_size[drawn]).mean(), rel=0.15)
    assert risk.journalist_average < risk.prosecutor_average


@pytest.mark.parametrize("times", [10, 100])
def test_without_its_size_populations_of_two_sizes_are_estimated(times: int) -> None:
    """A tenth, or a hundredth, of a known population: the estimate for the right size is near what is true."""
    rng, people = np.random.default_rng(1), 1_000_000
    of_person = rng.zipf(1.3, people) % 3_000_000
    sizes = np.bincount(of_person[rng.random(people) < 1 / times])
    estimated = dict(zip(SAMPLED, uniqueness_if_sampled(classes(sizes[sizes > 0])), strict=True))
    assert estimated[times] == pytest.approx((np.bincount(of_person) == 1).sum() / people, rel=0.25)


def test_the_report_of_a_table_says_how_many_would_be_alone() -> None:
    loss = pls.measure(published("anatomy"), FOUR)
    assert loss.risk is not None
    (tenth, before, after), (_, hundredth, _) = loss.risk.if_sampled
    assert (tenth, before) == (10, after)
    assert loss.risk.original.unique > before > hundredth > 0
    assert "alone in a population 100 times as large" in repr(loss)


def test_the_product_of_the_model_is_what_its_factors_give() -> None:
    alpha, theta, classes = 0.3, -0.1, 1_000
    factors = np.log(theta + np.arange(1, classes) * alpha).sum()
    assert log_new_classes(Pitman(alpha, theta), classes) == pytest.approx(factors, rel=1e-12)


def test_where_no_model_fits_the_table_is_the_population() -> None:
    alone = np.ones(10, np.int64)
    assert fitted(classes(alone)) is None
    risk = risk_of_classes(classes(alone), 1_000)
    assert (risk.journalist_highest, risk.journalist_average) == (1.0, 1.0)
    assert population_uniqueness(classes(alone), 1_000, None) == pytest.approx(1.0)
    assert population_uniqueness(classes([2, 2]), 1_000, None) == 0.0


def test_measure_takes_a_population() -> None:
    loss = pls.measure(published("anatomy"), FOUR, population=8)
    assert loss.risk is not None
    assert (loss.risk.population, loss.risk.model) == (8, "Zayatz")
    assert loss.risk.original.population_unique is not None
    assert "alone in the population (Zayatz)" in repr(loss)
    assert loss.to_dict()["risk"]["release"]["prosecutor_highest"] == 1.0


def test_a_population_below_the_table_is_refused() -> None:
    with pytest.raises(InputError, match="A population of 3 people is smaller than the table, which has 4 rows"):
        pls.measure(published("anatomy"), FOUR, population=3)
