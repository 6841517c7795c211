"""Homogeneity: planted violations are found, by hand and in the papers' own releases."""

from __future__ import annotations

from math import ceil
from typing import Any

import polars as pl
import pytest

from pluralis.attacks.adversary.published_values import published_values
from pluralis.attacks.base import Options, Result
from pluralis.attacks.homogeneity import ATTACK
from pluralis.auditing import audit
from pluralis.errors import Infeasible
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.release.release import Release
from pluralis.report.exposure import PARTS, exposures
from support.planted_releases import KINDS, Published, by_hand, claim, planted, planted_multi
from support.sample_tables import PATIENTS, patients_policy, policy_of

OPTIONS = Options()


def run(one: Published) -> list[Result]:
    return ATTACK.run(one.release, one.original, OPTIONS) if ATTACK.applies(one.release) else []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["homogeneous", "too common", "spelled differently"])
def test_planted_violations_are_found(form: str, kind: str) -> None:
    for seed in range(6):
        one = planted(form, kind, seed)
        results = [result for result in run(one) if result.breach]
        assert results, (form, kind, seed)
        assert not audit(one.release).holds
        assert all(result.attribute == "disease" for result in results)
        if form == "homogeneous":
            assert max(result.worst or 0 for result in results) == 1.0


@pytest.mark.parametrize("seed", range(6))
def test_planted_in_a_table_of_several(seed: int) -> None:
    for form in ("homogeneous", "linked"):
        assert any(result.breach for result in run(planted_multi(form, seed)))


@pytest.mark.parametrize("kind", [*KINDS, "multi"])
def test_the_maximum_posterior_of_groups_alone_is_the_worst_one(kind: str) -> None:
    """What the publisher sees of the weakest groups is what the attack found, also where a value is there twice."""
    for seed in range(6):
        for form in ("homogeneous",) if kind == "multi" else ("homogeneous", "too common"):
            one = planted_multi(form, seed) if kind == "multi" else planted(form, kind, seed)
            worst = max(result.worst or 0 for result in run(one) if result.attribute == "disease")
            published = [
                values for values in published_values(one.release, sets=False) if values.attribute == "disease"
            ]
            assert max(values.share.max() for values in published) == pytest.approx(worst)
            (shown,) = [exposure for exposure in exposures(one.release) if exposure.attribute == "disease"]
            assert max(i for i, groups in enumerate(shown.alone) if groups) == ceil(round(worst * PARTS, 6)) - 1
            if kind == "generalized":  # nothing is learned, so that they are in order of this
                assert shown.weakest[0].alone == pytest.approx(worst)


def test_patients_by_hand() -> None:
    """Two rows of flu and one of hiv in one group, hiv and gout in the other: 2/3, and 2/3 · 3/5 + 1/2 · 2/5 right."""
    people = pl.DataFrame(
        {
            "age": [1, 2, 3, 4, 5],
            "zip": ["z0"] * 5,
            "disease": ["flu", "flu", "hiv", "hiv", "gout"],
            "job": list("abcde"),
        }
    )
    release = by_hand("bucketized", people, [0, 0, 0, 1, 1], [claim("disease", 2, "age", "zip")])
    (disease,) = [r for r in ATTACK.run(release, people, OPTIONS) if r.attribute == "disease"]
    assert (disease.worst, disease.promised, disease.breach, disease.witness) == (2 / 3, 0.5, True, "group 1")
    assert disease.success == pytest.approx(2 / 5 + 1 / 5)
    assert (disease.prior, disease.targets, disease.low, disease.high) == (0.4, 5, disease.success, disease.success)


def test_b2_a_skewed_attribute_in_the_paper_s_variant() -> None:
    """9 flu and 1 hiv become one class that is 90 % flu; the default refuses to publish."""
    table = pl.DataFrame({"age": range(10), "disease": ["flu"] * 9 + ["hiv"]})
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "disease": {"role": "sensitive", "l": 2}}
    people = table.with_columns(pl.lit("z0").alias("zip"), pl.Series("job", [f"j{i}" for i in range(10)]))
    release = by_hand("generalized", people, [0] * 10, [claim("disease", 2, "age", "zip")])
    result = next(r for r in ATTACK.run(release, people, OPTIONS) if r.attribute == "disease")
    assert (result.worst, result.breach) == (0.9, True)
    with pytest.raises(Infeasible, match="cannot be 2-diverse"):
        publish(table, policy_of(attributes, method="bsgi"), key=Key.test(), attacks=False)


def test_d4_a_residual_row_that_doubles_the_primary_value() -> None:
    table = pl.DataFrame({"age": range(5), "job": list("abbcc"), "pay": list("vwxyz")})
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}}
    attributes |= {name: {"role": "sensitive", "l": 2} for name in ("job", "pay")}
    for i in range(5):
        key = Key(bytes([i] * 32))
        paper = publish(table, policy_of(attributes, method="decomposition", variant="paper"), key=key, attacks=False)
        (job,) = [result for result in ATTACK.run(paper, table, OPTIONS) if result.attribute == "job"]
        assert job.breach
        assert job.worst == pytest.approx(2 / 3)  # both rows of one value are in the group of three
        default = publish(table, policy_of(attributes, method="decomposition"), key=key, attacks=False)
        assert not any(result.breach for result in ATTACK.run(default, table, OPTIONS))


def test_distinct_diversity_promises_no_share() -> None:
    policy = patients_policy(2)
    release = publish(PATIENTS, policy, key=Key.test(), attacks=False)
    distinct = tuple(c.model_copy(update={"model": "distinct"}) for c in release.manifest.claims)
    weak = Release(release.manifest.model_copy(update={"claims": distinct}), release.tables)
    (result,) = ATTACK.run(weak, PATIENTS, OPTIONS)
    assert result.promised is None
    assert not result.breach
