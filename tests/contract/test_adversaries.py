"""Whatever an adversary knows of quasi, plain and sensitive columns: a judged claim, or a refusal that says why."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import polars as pl
import pytest

from pluralis.auditing import audit
from pluralis.errors import Infeasible
from pluralis.method import methods
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from support.sample_tables import KEY, policy_of

ROWS = 24
PEOPLE = pl.DataFrame(
    {
        "age": [20 + 7 * i % 10 for i in range(ROWS)],
        "sex": ["fm"[i * i % 7 % 2] for i in range(ROWS)],
        "ward": ["north", "south", "east"] * (ROWS // 3),
        "shift": [i // 3 % 2 for i in range(ROWS)],
        "disease": ["flu", "gout", "hiv", "asthma"] * (ROWS // 4),
        "job": [["cook", "nurse", "clerk", "actor"][i // 4 % 4] for i in range(ROWS)],
    }
)
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "age": {"role": "quasi", "type": "number"},
    "sex": {"role": "quasi"},
    "ward": {"role": "plain"},
    "shift": {"role": "plain", "type": "number"},
    "disease": {"role": "sensitive", "l": 2},
    "job": {"role": "sensitive", "l": 2},
}
NEEDS_K = {"kaca", "sloms"}

# every subset of a quasi, a plain and a sensitive column, and two plain ones
KNOWN = [known for size in range(1, 4) for known in combinations(("age", "ward", "disease"), size)]
KNOWN.append(("ward", "shift"))
OF_ONE = [known for known in KNOWN if "disease" not in known]  # the adversary must be left something to ask for


def _policy(method: str, known: tuple[str, ...], sensitive: int, **more: Any) -> Policy:
    attributes = dict(ATTRIBUTES)
    if sensitive == 1:
        del attributes["job"]
    if method in NEEDS_K:
        more["k"] = 2
    return policy_of(attributes, adversaries=[list(known)], others="drop", method=method, **more)


def _published_with_a_claim(policy: Policy, known: tuple[str, ...]) -> bool:
    """Whether it is published, not refused. If so, each sensitive one is promised to this adversary, and measured."""
    try:
        publication = publish(PEOPLE, policy, key=KEY, attacks=True)
    except Infeasible:
        return False
    verdict = audit(publication, original=PEOPLE)
    assert verdict.holds, verdict.failures
    assert publication.attacked is not None
    assert not [one for one in publication.attacked if one.breach]
    measured = {finding.claim for finding in verdict.findings if finding.measured is not None}
    for name in set(policy.sensitive) - {*known}:
        about = [claim for claim in publication.manifest.claims if claim.attribute == name]
        assert any({*known} <= {*claim.adversary} and claim.rule in measured for claim in about), name
    return True


@pytest.mark.parametrize("method", sorted(methods()))
def test_one_sensitive_attribute(method: str) -> None:
    published = {_published_with_a_claim(_policy(method, known, 1), known) for known in OF_ONE}
    assert published == {method != "sloms"}  # it slices several


@pytest.mark.parametrize("method", sorted(methods()))
def test_several_sensitive_attributes(method: str) -> None:
    published = {known: _published_with_a_claim(_policy(method, known, 2), known) for known in KNOWN}
    if method in ("anatomy", "tp"):
        assert not any(published.values())
    elif method != "randomized-addition":
        assert all(published.values())


@pytest.mark.parametrize("shown", ["joint", "marginals", "none"])
@pytest.mark.parametrize("sensitive", [1, 2])
def test_decomposition_whatever_it_shows_of_sensitive_attributes(shown: str, sensitive: int) -> None:
    for known in OF_ONE if sensitive == 1 else KNOWN:
        policy = _policy("decomposition", known, sensitive, options={"sensitive_table": shown})
        if shown == "joint" and "disease" in known:
            continue  # the table itself shows which job goes with a disease: tests/paper/test_decomposition_holes.py
        assert _published_with_a_claim(policy, known)


@pytest.mark.parametrize("method", sorted(methods()))
def test_a_rule_about_whoever_knows_a_plain_column(method: str) -> None:
    policy = _policy(method, ("ward",), 1)
    data = policy.model_dump(mode="json", by_alias=True, exclude_unset=True)
    del data["adversaries"]
    data["attributes"].pop("disease")
    data["rules"] = ["age, ward -> disease : l=2"]
    published = _published_with_a_claim(Policy.from_dict(data), ("age", "ward"))
    assert published == (method != "sloms")
