"""Sensitive background knowledge: planted violations are found, and the papers' own releases."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from pluralis.attacks.background import ATTACK
from pluralis.attacks.base import Options, Result
from pluralis.attacks.homogeneity import ATTACK as HOMOGENEITY
from pluralis.auditing import audit
from pluralis.errors import Infeasible
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from support.paper_tables import DECOMPOSITION_1, SLOMS_1
from support.planted_releases import (
    DISEASES,
    JOBS,
    KINDS,
    QUASI,
    Published,
    by_hand,
    claim,
    people_in_groups,
    planted,
    with_values,
)
from support.sample_tables import policy_of

OPTIONS = Options()
STAFF: dict[str, Any] = {name: {"role": "quasi"} for name in ("gender", "zipcode", "birthday")}
STAFF |= {name: {"role": "sensitive", "l": 2} for name in ("occupation", "salary")}


def run(one: Published) -> list[Result]:
    return ATTACK.run(one.release, one.original, OPTIONS) if ATTACK.applies(one.release) else []


@pytest.mark.parametrize("kind", KINDS)
def test_planted_links_are_found(kind: str) -> None:
    """Each sensitive attribute alone keeps 1/l: only whoever knows the job learns the disease."""
    for seed in range(18):
        one = planted("linked", kind, seed)
        assert not any(result.breach for result in HOMOGENEITY.run(one.release, one.original, OPTIONS))
        (breach,) = [result for result in run(one) if result.breach]
        assert (breach.attribute, breach.worst) == ("disease", 1.0)
        assert "job = " in (breach.witness or "")
        assert "job" in breach.adversary


@pytest.mark.parametrize("kind", KINDS)
def test_planted_leanings_are_found(kind: str) -> None:
    """Nobody learns a disease for certain: of those of one job two in three have the same, where 1/2 is promised."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        people, group_of = people_in_groups(rng, 3, 6)
        members = rng.permutation(np.flatnonzero(group_of == rng.integers(0, 6)))[:3]
        people = with_values(people, members, "job", ["nurse"] * 3)
        people = with_values(people, members[:2], "disease", ["flu"] * 2)
        people = with_values(people, members[2:], "disease", ["hiv"])
        others = np.setdiff1d(np.flatnonzero(group_of == group_of[members[0]]), members)
        people = with_values(people, others, "disease", [f"rare {i}" for i in range(others.size)])
        people = with_values(people, others, "job", [f"job {i}" for i in range(others.size)])
        release = by_hand(kind, people, group_of, [claim("disease", 2, *QUASI, "job")])
        breaches = [result for result in run(Published(release, people)) if result.breach]
        assert breaches, seed
        assert max(result.worst or 0 for result in breaches) >= 2 / 3


def test_s2_whoever_knows_an_occupation_learns_the_salary() -> None:
    people: dict[str, Any] = {"gender": {"role": "quasi"}, "zipcode": {"role": "quasi"}}
    people |= {"age": {"role": "quasi", "type": "number"}}
    people |= {name: {"role": "sensitive", "l": 3} for name in ("occupation", "salary", "physician", "disease")}
    slices = {"slices": [["occupation", "salary"], ["physician", "disease"]]}
    knows = [["gender", "zipcode", "age", "occupation"]]
    how: dict[str, Any] = {"method": "sloms", "k": 3, "adversaries": knows, "suppress": 0.7, "options": slices}
    paper = publish(SLOMS_1, policy_of(people, variant="paper", **how), key=Key.test(), attacks=False)
    (breach,) = [result for result in ATTACK.run(paper, SLOMS_1, OPTIONS) if result.breach]
    assert (breach.attribute, breach.adversary[-1], breach.worst) == ("salary", "occupation", 1.0)
    assert breach.success > 0.6
    default = publish(SLOMS_1, policy_of(people, **how), key=Key.test(), attacks=False)
    results = ATTACK.run(default, SLOMS_1, OPTIONS)
    assert not any(result.breach for result in results)
    assert len({(result.attribute, result.adversary) for result in results}) == 4 * 7  # every subset of three others


def test_d1_the_occupation_gives_the_salary() -> None:
    table = DECOMPOSITION_1.select(list(STAFF)).cast(pl.String)
    knows = [["gender", "zipcode", "birthday", "occupation"]]
    for i in range(5):
        key = Key(bytes([i] * 32))
        paper = publish(
            table, policy_of(STAFF, method="decomposition", variant="paper", adversaries=knows), key=key, attacks=False
        )
        salary = next(r for r in ATTACK.run(paper, table, OPTIONS) if r.attribute == "salary")
        assert salary.breach
        assert salary.worst == 1.0
        assert salary.success > 0.5
        default = publish(table, policy_of(STAFF, method="decomposition", adversaries=knows), key=key, attacks=False)
        assert not any(result.breach for result in ATTACK.run(default, table, OPTIONS))


def two_sensitive_attributes(seed: int, rows: int = 12) -> tuple[pl.DataFrame, dict[str, Any]]:
    rng = np.random.default_rng(seed)
    columns = {"age": rng.permutation(rows)}
    columns |= {n: rng.choice(d[:4], rows) for n, d in (("disease", DISEASES), ("job", JOBS))}
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}}
    attributes |= {name: {"role": "sensitive", "l": 2} for name in ("disease", "job")}
    return pl.DataFrame(columns), attributes


@pytest.mark.parametrize("method", ["bsgi", "decomposition"])
def test_b3_d2_random_tables_as_the_papers_publish_them(method: str) -> None:
    """A breach is reported exactly where the audit refuses the release; the default has none, or refuses."""
    refused = 0
    for seed in range(30):
        table, attributes = two_sensitive_attributes(seed)
        knows = [["age"], ["age", "job"]] if seed % 2 else None
        for variant in ("paper", "hardened"):
            policy = policy_of(attributes, method=method, variant=variant, adversaries=knows)
            try:
                release = publish(table, policy, key=Key(bytes([seed] * 32)), attacks=False)
            except Infeasible:
                continue
            results = [*ATTACK.run(release, table, OPTIONS), *HOMOGENEITY.run(release, table, OPTIONS)]
            holds = audit(release, allow_test=True).holds
            assert any(result.breach for result in results) == (not holds), (seed, variant)
            assert holds or variant == "paper"
            refused += not holds
    assert refused >= 5
