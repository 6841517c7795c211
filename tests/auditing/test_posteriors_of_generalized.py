"""What the audit says is what enumeration of every possible world says, on tiny tables."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracles.worlds_of_generalized import highest_posterior
from pluralis.auditing import audit
from pluralis.errors import Infeasible
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.table.labels import ALL, read_interval, read_set
from support.effort import tries
from support.sample_tables import policy_of


def covers(row: Any, person: Any) -> bool:
    low, high = (0, 99) if row["age"] == ALL else read_interval(row["age"])
    return low <= person["age"] <= high and (row["sex"] == ALL or person["sex"] in read_set(row["sex"]))


def tiny(draw: Any, secrets: int) -> pl.DataFrame:
    rows = draw(st.integers(3, 6 if secrets == 1 else 5))
    columns: dict[str, Any] = {
        "age": draw(st.lists(st.integers(20, 29), min_size=rows, max_size=rows)),
        "sex": draw(st.lists(st.sampled_from("fm"), min_size=rows, max_size=rows)),
    }
    for i in range(secrets):
        columns[f"s{i}"] = draw(st.lists(st.sampled_from("abcd"), min_size=rows, max_size=rows))
    return pl.DataFrame(columns)


def tiny_policy(secrets: int, adversaries: list[list[str]] | None = None, **publish_options: Any) -> Any:
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "sex": {"role": "quasi"}}
    for i in range(secrets):
        attributes[f"s{i}"] = {"role": "sensitive", "l": 2}
    return policy_of(attributes, adversaries=adversaries, **publish_options)


@pytest.mark.parametrize("method", ["bsgi", "mondrian", "incognito"])
@settings(max_examples=tries(60))
@given(data=st.data())
def test_no_world_beats_one_over_l(method: str, data: Any) -> None:
    table = tiny(data.draw, 1)
    try:
        release = publish(table, tiny_policy(1, method=method), key=Key.test())
    except Infeasible:
        assume(False)
    posterior = highest_posterior(
        list(table.iter_rows(named=True)), release.tables["microdata"], covers, ["s0"], "s0", [], linked=True
    )
    finding = next(f for f in audit(release, allow_test=True).findings if "s0" in f.claim)
    assert posterior <= 1 / 2 + 1e-12
    assert posterior <= finding.measured + 1e-12


@settings(max_examples=tries(40))
@given(data=st.data())
def test_knowing_one_secret_does_not_give_the_other(data: Any) -> None:
    """B3 mended: where such an adversary is declared, secrets are dealt within groups and 1/l holds all the same."""
    table = tiny(data.draw, 2)
    try:
        release = publish(table, tiny_policy(2, [["age", "sex", "s0"]], method="bsgi"), key=Key.test())
    except Infeasible:
        assume(False)
    assert release.manifest.parameters.linked is False
    assert audit(release, allow_test=True).holds
    posterior = highest_posterior(
        list(table.iter_rows(named=True)), release.tables["microdata"], covers, ["s0", "s1"], "s1", ["s0"], linked=False
    )
    assert posterior <= 1 / 2 + 1e-12


@settings(max_examples=tries(40))
@given(data=st.data())
def test_the_audit_finds_what_linked_secrets_give_away(data: Any) -> None:
    """B3: the paper variant leaves secrets linked; the audit measures at least what enumeration finds, and refuses."""
    table = tiny(data.draw, 2)
    try:
        release = publish(table, tiny_policy(2, [["age", "sex", "s0"]], variant="paper"), key=Key.test())
    except Infeasible:
        assume(False)
    verdict = audit(release, allow_test=True)
    finding = next(f for f in verdict.findings if f.claim.startswith("P(s1 | age, s0, sex)"))
    posterior = highest_posterior(
        list(table.iter_rows(named=True)), release.tables["microdata"], covers, ["s0", "s1"], "s1", ["s0"], linked=True
    )
    assert posterior <= finding.measured + 1e-12
    assert not (posterior > 1 / 2 and verdict.holds)


def test_a_rule_about_a_plain_attribute_is_kept() -> None:
    """Whoever knows the ward must not learn the disease, so the two are not published side by side."""
    wards, diseases = ["oncology", "infectious"] * 3, ["cancer", "flu"] * 3
    table = pl.DataFrame({"age": range(6), "ward": wards, "disease": diseases})
    attributes = {"age": {"role": "quasi", "type": "number"}, "ward": {"role": "plain"},
                  "disease": {"role": "sensitive", "l": 2}}  # fmt: skip
    policy = policy_of(attributes, rules=["ward -> disease : l=2"])
    release = publish(table, policy, key=Key.test())
    assert release.manifest.parameters.linked is False
    assert any(claim.adversary == ("ward",) for claim in release.manifest.claims)
    paper = publish(table, policy.override(options={"variant": "paper"}), key=Key.test())
    assert [f.measured for f in audit(paper, allow_test=True).failures] == [1.0]


def test_linked_secrets_are_refused_where_an_adversary_knows_one() -> None:
    table = pl.DataFrame({"age": [20, 21, 22, 23], "sex": list("ffmm"), "s0": list("abab"), "s1": list("cdcd")})
    release = publish(table, tiny_policy(2, [["age", "sex", "s0"]], variant="paper"), key=Key.test())
    verdict = audit(release, allow_test=True)
    assert [f.measured for f in verdict.failures] == [1.0]
    assert publish(table, tiny_policy(2, [["age", "sex", "s0"]]), key=Key.test()).manifest.parameters.linked is False
