"""BSGI on Adult: group sizes, diversity and information loss, as the paper and a prototype measured them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from oracles.mondrian_and_incognito import plain_mondrian
from pluralis.auditing import audit
from pluralis.metrics import measure
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.table.sources import read_table
from support.sample_tables import adult_policy

PAPER_NCP = {2: 0.085, 3: 0.132, 4: 0.167, 5: 0.197, 6: 0.233, 7: 0.244}
DEFAULT_NCP = {2: 0.0125, 3: 0.031, 4: 0.060, 5: 0.098, 6: 0.140, 7: 0.190}


@pytest.fixture(scope="module")
def table(adult: Path) -> pl.DataFrame:
    return read_table(adult)


@pytest.mark.parametrize("variant", ["paper", "hardened"])
@pytest.mark.parametrize("l", range(2, 8))
def test_groups_of_exactly_l_with_little_loss(table: pl.DataFrame, l: int, variant: str) -> None:
    release = publish(table, adult_policy(l, method="bsgi", variant=variant), key=Key.test())
    loss = measure(release, table)
    assert round(loss.average_group, 2) == l
    residual = 30_162 % l
    assert loss.groups == 30_162 // l
    assert sum(count * (size - l) for size, count in loss.group_sizes.items()) == residual <= l - 1
    assert audit(release, allow_test=True).holds
    if variant == "paper":
        # at most 3 % above the prototype's figure; below it the bound is wider, for l = 7 lies 3.9 % under 0.244
        assert 0.95 * PAPER_NCP[l] <= loss.ncp <= 1.03 * PAPER_NCP[l]
    else:
        assert loss.ncp <= DEFAULT_NCP[l]


@pytest.mark.parametrize("l", range(2, 8))
def test_mondrian_loses_less_than_a_plain_one_with_the_same_test(table: pl.DataFrame, l: int) -> None:
    policy = adult_policy(l, method="mondrian")
    numbers = [name for name, about in policy.columns.items() if about.role == "quasi" and about.type == "number"]
    names = [name for name, about in policy.columns.items() if about.role == "quasi"]
    columns = {
        name: table[name].cast(pl.Float64).to_list() if name in numbers else table[name].to_list() for name in names
    }
    loss = measure(publish(table, policy, key=Key.test()), table)
    assert loss.ncp <= plain_mondrian(columns, numbers, table["occupation"].to_list(), l)


@pytest.mark.parametrize("model", ["distinct", "entropy", "unique-distinct", "frequency"])
def test_its_groups_keep_every_model(table: pl.DataFrame, model: str) -> None:
    policy = adult_policy(4)
    attributes = {**policy.model_dump(by_alias=True, exclude_unset=True)["attributes"]}
    attributes["occupation"] = {"role": "sensitive", "l": 4, "model": model}
    release = publish(
        table, type(policy).from_dict({"version": 1, "attributes": attributes, "others": "drop"}), key=Key.test()
    )
    verdict = audit(release, allow_test=True)
    assert verdict.holds
    assert verdict.findings[-1].top_share == 0.25


def test_hierarchies_weights_and_several_secrets(table: pl.DataFrame, adult: Path) -> None:
    policy = type(adult_policy(2)).from_dict(
        {
            "version": 1,
            "attributes": {
                "age": {"role": "quasi", "type": "number", "hierarchy": {"intervals": [5, 10, 20]}},
                "education": {"role": "quasi", "hierarchy": {"file": "adult_hierarchy_education.csv"}, "weight": 3},
                "native-country": {"role": "quasi", "hierarchy": {"file": "adult_hierarchy_native-country.csv"}},
                "sex": {"role": "quasi"},
                "occupation": {"role": "sensitive", "l": 5},
                "relationship": {"role": "sensitive", "l": 2},
            },
            "others": "drop",
            "adversaries": [{"knows": ["age", "education", "native-country", "sex", "relationship"]}],
        },
        folder=adult.parent / "arx",
    )
    release = publish(table, policy, key=Key.test())
    verdict = audit(release, original=table, allow_test=True)
    assert verdict.holds, verdict.failures
    assert release.manifest.rows == 30_162
    assert measure(release, table).average_group < 6.01  # groups of six: three of a value that fills 41 %
