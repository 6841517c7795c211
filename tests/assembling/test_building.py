"""A guarantee that is weaker than what is asked is refused, unless the policy accepts it."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pluralis.assembling.building import build
from pluralis.errors import Infeasible, PolicyError
from pluralis.policy.policy import Policy
from pluralis.randomness import Key
from support.sample_tables import policy_of

PEOPLE = pl.DataFrame(
    {
        "age": [20 + i for i in range(24)],
        "disease": ["flu", "hiv", "gout", "ulcer"] * 6,
        "job": ["cook", "nurse", "clerk"] * 8,
    }
)
AGE = {"age": {"role": "quasi", "type": "number"}}
DISEASE = {"disease": {"role": "sensitive", "l": 2}}


def asked(job: dict[str, Any] | None = None, **more: Any) -> Policy:
    return policy_of(AGE | DISEASE | ({} if job is None else {"job": job}), others="drop", **more)


SETS = {
    "sets of a second attribute": asked({"role": "sensitive", "l": 2}, method="decomposition", accept=[]),
    "the first, from whoever knows the second": asked(
        {"role": "sensitive", "l": 2, "model": "distinct"},
        adversaries=[["age", "job"]], method="decomposition", options={"primary": "disease"}, accept=[],
    ),
    "drawn sets": asked(method="randomized-addition", options={"claim": "set-size"}, accept=[]),
}  # fmt: skip


@pytest.mark.parametrize("case", SETS)
def test_sets_are_refused_with_the_line_to_write(case: str) -> None:
    policy = SETS[case]
    with pytest.raises(Infeasible) as refused:
        build(PEOPLE, policy, Key.test())
    words = str(refused.value)
    assert words.startswith(f"{policy.publish.method} does not bound a guess of ")
    assert "bsgi, mondrian, msb and anatomy bound the guess of every attribute by 1/l" in words
    assert "`accept: set-size`" in words
    accepting = Policy.from_dict({**policy.model_dump(by_alias=True, exclude_unset=True), "accept": "set-size"})
    claims = build(PEOPLE, accepting, Key.test()).release.manifest.claims
    assert {claim.model for claim in claims} & {"candidates", "set-size"}


@pytest.mark.parametrize(
    "policy",
    [
        asked(method="decomposition", accept=[]),
        asked({"role": "sensitive", "l": 2, "model": "distinct"}, method="decomposition", accept=[]),
        asked({"role": "sensitive", "l": 2}, method="msb", accept=[]),
        asked({"role": "sensitive", "l": 2}, method="gd", accept=[]),
    ],
    ids=["one attribute", "the policy asks for distinct values", "msb", "gd"],
)
def test_what_is_promised_as_asked_needs_no_word(policy: Policy) -> None:
    assert build(PEOPLE, policy, Key.test()).release.manifest.claims


def test_accept_is_a_word_or_words() -> None:
    text = "version: 1\nrules: ['age -> disease : l=2']\naccept: {}\n"
    for word in ("set-size", "[set-size]"):
        policy = Policy.parse(text.format(word))
        assert policy.accept == ["set-size"]
        assert Policy.parse(policy.to_yaml()) == policy
    assert Policy(sensitive={"disease": 2}, accept="set-size").accept == ["set-size"]
    assert asked().override(options={"accept": "set-size"}).accept == ["set-size"]
    assert "accept" not in asked().to_yaml()
    with pytest.raises(PolicyError, match="accept"):
        Policy.parse(text.format("anything"))
