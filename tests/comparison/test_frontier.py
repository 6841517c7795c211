"""Which trial is taken: no baseline and no paper variant; and what `accept` changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from pluralis.assembling.building import build
from pluralis.comparison.choice import choose
from pluralis.comparison.comparing import compare
from pluralis.comparison.frontier import Comparison
from pluralis.comparison.trials import Measured, Trial, workload_error
from pluralis.datasets.hospital import hospital_discharges
from pluralis.errors import Infeasible
from pluralis.method import methods
from pluralis.policy.policy import Policy
from pluralis.randomness import Key
from support.sample_tables import policy_of

pytestmark = pytest.mark.usefixtures("trials_in_this_process")
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "age": {"role": "quasi", "type": "number"},
    "gender": {"role": "quasi"},
    "diagnosis": {"role": "sensitive", "l": 3},
    "insurer": {"role": "sensitive", "l": 2},
}


def measured(error: float) -> Measured:
    return Measured("bucketized", (), error=error, kl=None, ncp=None, suppressed=0.0, seconds=1.0)


def comparison(policy: Policy, **errors: float) -> Comparison:
    trials = tuple(Trial(name.replace("_", "-"), None, measured(error)) for name, error in errors.items())
    return Comparison(policy, "error", trials, 100)


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return hospital_discharges(1_500).select(*ATTRIBUTES)


def test_the_baselines_are_these() -> None:
    assert [name for name, method in methods().items() if method.baseline] == ["multi-sa", "single-attribute"]


def test_a_baseline_that_loses_least_is_shown_and_not_taken() -> None:
    compared = comparison(policy_of(ATTRIBUTES), single_attribute=0.01, gd=0.2, multi_sa=0.1)
    assert compared.taken is not None
    assert compared.taken.method == "gd"
    assert [trial.method for trial, _ in compared.made] == ["single-attribute", "gd", "multi-sa"]
    assert repr(compared).count("a baseline") == 2
    assert "Shown to compare with, and never taken: multi-sa, single-attribute." in list(compared.advice())
    assert {one["method"]: one["baseline"] for one in compared.to_dict()["trials"]}["single-attribute"]


def test_only_baselines_are_none() -> None:
    compared = comparison(policy_of(ATTRIBUTES), single_attribute=0.01)
    assert compared.taken is None
    (sentence,) = compared.advice()
    assert sentence.startswith("Only baselines keep the policy, and none is taken by itself: single-attribute.")


def test_a_paper_variant_is_not_taken() -> None:
    compared = comparison(policy_of(ATTRIBUTES, variant="paper"), bsgi=0.1)
    assert compared.taken is None
    assert "No paper variant is taken" in next(iter(compared.advice()))


def test_auto_refuses_a_baseline_by_name(people: pl.DataFrame) -> None:
    policy = policy_of(ATTRIBUTES, method="auto", options={"methods": ["single-attribute"]})
    with pytest.raises(Infeasible, match="Only baselines keep the policy"):
        choose(people, policy)


def test_sets_are_refused_or_accepted(people: pl.DataFrame) -> None:
    named = {"methods": ["decomposition"], "cache": False, "workers": 0}
    refused = compare(people, policy_of(ATTRIBUTES), **named)
    assert refused.taken is None
    (reason,) = (trial.refused for trial in refused.refused)
    assert reason is not None
    assert "write `accept: set-size`" in reason
    accepted = compare(people, policy_of(ATTRIBUTES, accept=["set-size"]), **named)
    assert accepted.taken is not None
    assert accepted.taken.method == "decomposition"


def test_tables_of_one_column_lose_what_goes_together() -> None:
    """Two attributes that are one: who publishes them apart counts each without error, and both together with much."""
    rng = np.random.default_rng(0)
    disease = rng.choice(["a", "b", "c", "d", "e", "f"], 2_000)
    table = pl.DataFrame({"age": rng.integers(20, 60, 2_000), "disease": disease, "drug": disease})
    roles = {"age": {"role": "quasi", "type": "number"}, "disease": {"role": "sensitive", "l": 2},
             "drug": {"role": "sensitive", "l": 2}}  # fmt: skip
    errors = {}
    for method in ("single-attribute", "bsgi"):
        policy = policy_of(roles, method=method, options={})
        release = build(table, policy, Key.test()).release.decoded()
        errors[method] = workload_error(release, table, policy)
    assert errors["bsgi"] is not None
    assert errors["single-attribute"] is not None
    assert errors["single-attribute"] > 2 * errors["bsgi"]
