"""`pluralis attack --explain`: a group in words, from the release alone."""

from __future__ import annotations

import pytest

from pluralis.errors import InputError
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.report.explain_group import explanation_of
from support.sample_tables import PATIENTS, patients_policy


def test_a_group_of_labels() -> None:
    release = publish(PATIENTS, patients_policy(2), key=Key.test(), attacks=False)
    rows = release.tables["microdata"].filter(group=1)
    steps = explanation_of(release, "1")
    assert steps[0] == "Somebody looks for a person of whom age, gender, postcode are known, and finds group 1:"
    assert f"  age is {rows['age'][0]}" in steps
    assert f"{rows.height} published rows are in it. Nothing says which of them is the person." in steps
    values = ", ".join(f"{value} 1" for value in sorted(rows["disease"]))
    assert f"disease of these people: {values}." in steps
    assert any(f"is right with 1 of {rows.height}, {1 / rows.height:.1%}." in step for step in steps)
    assert "  Promised: P(disease | age, gender, postcode) ≤ 1/2." in steps


@pytest.mark.parametrize("method", ["anatomy", "decomposition"])
def test_a_group_of_exact_rows(method: str) -> None:
    release = publish(PATIENTS, patients_policy(2, method=method), key=Key.test(), attacks=False)
    steps = explanation_of(release, "1")
    assert any("own can be found" in step for step in steps)
    assert any(step.startswith("disease of these") for step in steps)


def test_groups_of_several_tables() -> None:
    rules = ["gender -> disease : l=2", "disease, gender -> postcode : l=2"]
    policy = Policy.from_dict({"version": 1, "rules": rules, "others": "drop", "publish": {"method": "gd"}})
    release = publish(PATIENTS, policy, key=Key.test(), attacks=False)
    assert explanation_of(release, "t1:1")
    with pytest.raises(InputError, match=r"Groups stand in t1.*Write t1:1"):
        explanation_of(release, "1")


@pytest.mark.parametrize(
    ("place", "message"), [("first", "names no group"), ("99", "There is no group 99. Groups are 1 to 3")]
)
def test_what_is_no_group(place: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        explanation_of(publish(PATIENTS, patients_policy(2), key=Key.test(), attacks=False), place)


def test_sets_have_no_groups() -> None:
    release = publish(PATIENTS, patients_policy(2, method="randomized-addition"), key=Key.test(), attacks=False)
    with pytest.raises(InputError, match="stand in no groups"):
        explanation_of(release, "1")
