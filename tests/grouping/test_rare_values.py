"""A method that refuses rare values names all of them, with one line that mends it: the line is believed and tried."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

from pluralis.attacks import attack
from pluralis.auditing import assignment, audit
from pluralis.errors import Infeasible
from pluralis.grouping.rare_values import joining_that_works
from pluralis.policy.attributes import Attribute
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.table.encoding import encode
from pluralis.table.icd import sections
from support.cli_runner import caller
from support.data_files import data_file

COMMON = ["25000", "4019", "41401", "4280", "486", "V5861", "5849", "2724"]


def stays(rows: int = 3_000) -> pl.DataFrame:
    """Hospital stays with eight common diagnoses and hundreds of rare ones, in the shape of codes of ICD-9."""
    draw = np.random.default_rng(18)
    rare = [f"{category}{i}" for category in sorted(sections(9))[140:180] for i in range(9)]
    codes = np.where(draw.random(rows) < 0.8, draw.choice(COMMON, rows), draw.choice(rare, rows))
    return pl.DataFrame({"age": draw.integers(20, 95, rows), "sex": draw.choice(["f", "m"], rows), "diagnosis": codes})


def asked(method: str, **keys: Any) -> Policy:
    return Policy(
        quasi={"age": {"type": "number"}, "sex": {}}, sensitive={"diagnosis": {"l": 3, **keys}}, method=method
    )


def proposed(refusal: Infeasible) -> dict[str, Any]:
    """The keys of the line that a refusal says."""
    line = re.search(r"`(rare: \{.*?\}+)`", str(refusal))
    assert line is not None, refusal
    keys = yaml.safe_load(line[1])
    assert isinstance(keys, dict)
    return keys


@pytest.fixture(scope="module")
def line() -> dict[str, Any]:
    with pytest.raises(Infeasible) as refusal:
        publish(stays(), asked("randomized-addition"), key=Key.test())
    text = str(refusal.value)
    joined = re.search(r"joins (\d+) values", text)
    assert joined is not None
    named = re.findall(r"'(\d{3,5})'", text)
    assert "more" not in text.partition("too rare")[0]
    counts = dict(stays()["diagnosis"].value_counts().iter_rows())
    assert {value for value, rows in counts.items() if rows <= 3} <= {*named}  # all of them
    assert 250 < len(named) <= int(joined[1])
    return proposed(refusal.value)


@pytest.mark.parametrize("method", ["randomized-addition", "bsgi", "decomposition", "gd"])
def test_codes_with_hundreds_of_rare_values_are_published_after_the_one_line(
    method: str, line: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assignment, "SECONDS", 1.0)  # whose values are in which group is then not decided to the end
    table = stays()
    counts = dict(table["diagnosis"].value_counts().iter_rows())
    true = sum(rows for rows in counts.values() if rows < line["rare"]["below"])
    assert len(counts) > 300
    for key in (Key.test(), Key(bytes([7] * 32))):  # whatever the key
        release = publish(table, asked(method, **line), key=key, attacks=False)
        assert audit(release, table, allow_test=True).holds
        estimate = release.count("diagnosis = 'other'")
        if method == "randomized-addition":
            assert abs(estimate.value - true) < estimate.high - estimate.low  # 95 % of intervals hold it: see below
        else:
            assert (estimate.value, estimate.basis) == (true, "exact")


def test_nothing_is_exceeded_after_the_line(line: dict[str, Any]) -> None:
    table = stays()
    release = publish(table, asked("bsgi", **line), key=Key.test(), attacks=False)
    assert not attack(release, table, only=["homogeneity", "skewness", "downcoding"]).breaches


def test_intervals_of_the_joined_value_hold_its_sum(line: dict[str, Any]) -> None:
    table = stays()
    counts = dict(table["diagnosis"].value_counts().iter_rows())
    true = sum(rows for rows in counts.values() if rows < line["rare"]["below"])
    covered = 0
    for i in range(12):
        release = publish(table, asked("randomized-addition", **line), key=Key(bytes([i] * 32)), attacks=False)
        estimate = release.count("diagnosis = 'other'")
        covered += estimate.low <= true <= estimate.high
    assert covered >= 10


def test_no_line_is_said_where_none_was_found_to_work() -> None:
    table = encode(stays(300), asked("bsgi"))
    attribute = Attribute(role="sensitive", l=3)
    assert joining_that_works(table["diagnosis"], attribute, lambda counts: False) is None
    seen: list[list[int]] = []

    def works(counts: Any) -> bool:
        seen.append(counts.tolist())
        return len(seen) == 4

    line = joining_that_works(table["diagnosis"], attribute, works)
    assert line is not None
    below = yaml.safe_load(line.line)["rare"]["below"]
    assert min(seen[-1]) >= below  # what was tried is what the line does
    again = encode(stays(300), asked("bsgi", rare={"below": below}))["diagnosis"]
    assert sorted(again.counts.tolist()) == seen[-1]
    assert joining_that_works(table["diagnosis"], Attribute(type="number"), works) is None


def test_codes_are_joined_along_their_hierarchy_where_one_value_for_all_would_be_too_common() -> None:
    draw = np.random.default_rng(5)
    rare = [f"{category}{i}" for category in sorted(sections(9))[140:220] for i in range(9)]
    table = encode(stays(2_000).with_columns(diagnosis=pl.Series(draw.choice(rare, 2_000))), asked("bsgi"))
    line = joining_that_works(
        table["diagnosis"],
        Attribute(role="sensitive", l=3),
        lambda counts: counts.min() > 40 and 3 * counts.max() < 2_000,
    )
    assert line is not None
    assert "along: {icd: 9}" in line.line


def test_a_terminal_names_two_hundred_and_says_how_to_see_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stays().write_csv("table.csv")
    Path("policy.yaml").write_text(asked("randomized-addition").to_yaml())
    pluralis = caller(capsys, monkeypatch)
    ran = pluralis("publish", "table.csv", "--policy", "policy.yaml", "--out", "release")
    assert len(re.findall(r"'\d{3,5}'", ran.err)) == 200
    assert re.search(r"and \d+ more \(`pluralis check --json` names all\)", " ".join(ran.err.split()))
    ran = pluralis("check", "table.csv", "--policy", "policy.yaml", "--json")
    (refusal,) = json.loads(ran.out)["refusals"]
    assert len(re.findall(r"'\d{3,5}'", refusal)) > 250


def test_real_claims_are_published_after_the_line() -> None:
    claims = pl.read_parquet(data_file("desynpuf_inpatient_claims.parquet")).head(4_000).drop_nulls("icd9_dx1")
    quasi = {"age": {"type": "number", "top": 95}, "sex": {}, "race": {}}
    policy = Policy(quasi=quasi, sensitive={"icd9_dx1": 2}, method="randomized-addition", others="drop")
    with pytest.raises(Infeasible) as refusal:
        publish(claims, policy, key=Key.test(), attacks=False)
    sensitive = {"icd9_dx1": {"l": 2, **proposed(refusal.value)}}
    policy = Policy(quasi=quasi, sensitive=sensitive, method="randomized-addition", others="drop")
    release = publish(claims, policy, key=Key.test(), attacks=False)
    assert audit(release, claims, allow_test=True).holds
