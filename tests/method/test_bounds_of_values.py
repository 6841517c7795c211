"""Rare and yes/no values: published under `at_most`, `gain` and `t`, audited and attacked; real tables too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from pluralis.attacks import attack, attacks, minimality
from pluralis.attacks.base import Options, interval
from pluralis.attacks.minimality import DOUBT, attribute_posteriors
from pluralis.auditing import audit
from pluralis.errors import Breached, Infeasible
from pluralis.estimate.analyst_release import read_release
from pluralis.metrics import measure
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.release.release import Release
from support.data_files import data_file
from support.sample_tables import KEY

FOR_CAPS = ["bsgi", "anatomy", "mondrian", "incognito", "kaca"]


def survey(rows: int = 2_000) -> pl.DataFrame:
    """A health survey with a disease that 9 % of people have, more of them when old."""
    random = np.random.default_rng(7)
    age = random.integers(18, 90, rows)
    ill = random.random(rows) < 0.03 + 0.0025 * (age - 18) * 0.66
    return pl.DataFrame(
        {"age": age, "sex": random.choice(["f", "m"], rows), "HeartDisease": np.where(ill, "Yes", "No")}
    )


def policy(method: str, **more: Any) -> Policy:
    quasi = {"age": {"type": "number"}, "sex": {}}
    return Policy(quasi=quasi, sensitive={"HeartDisease": {"at_most": {"Yes": "1/4"}, **more}}, method=method)


def posterior_by_group(release: Release, attribute: str, value: str) -> pl.Series:
    """The share of a value in every group, from the published tables."""
    rows = release.tables["sensitive" if "sensitive" in release.tables else "microdata"]
    people = rows if "count" in rows.columns else rows.with_columns(count=1)
    having = pl.col("count").filter(pl.col(attribute) == value).sum() / pl.col("count").sum()
    return people.group_by("group").agg(having.alias("share"))["share"]


@pytest.mark.parametrize("method", FOR_CAPS)
def test_a_rare_value_is_published_within_its_bound(method: str, tmp_path: Path) -> None:
    table = survey()
    assert 0.08 < (table["HeartDisease"] == "Yes").mean() < 0.10
    publish(table, policy(method), key=KEY).save(tmp_path / "release")
    verdict = audit(tmp_path / "release", table)
    assert verdict.holds
    (finding,) = [one for one in verdict.findings if one.claim == "P(HeartDisease = Yes | age, sex) ≤ 1/4"]
    release = read_release(tmp_path / "release")
    shares = posterior_by_group(release, "HeartDisease", "Yes")
    assert shares.max() == finding.measured
    assert 0 < float(shares.max()) <= 0.25  # type: ignore[arg-type]
    results = attack(tmp_path / "release", table)
    assert [one for one in results if one.breach] == []
    (asked,) = [one for one in results if one.attack == "homogeneity" and one.question.startswith("HeartDisease = Yes")]
    assert (asked.promised, asked.worst) == (0.25, finding.measured)
    whole = [one for one in results if one.attack == "homogeneity" and one is not asked]
    assert [one.promised for one in whole] == [None]  # No may be certain
    loss = measure(release, table)
    if loss.ncp is not None:
        assert loss.ncp < 0.5  # far from one group of all


@pytest.mark.parametrize("method", ["bsgi", "anatomy"])
def test_counts_under_a_bound_are_near_those_of_the_unprotected_table(method: str) -> None:
    """The same random counts, asked of the release and of the table itself; and those of one group of everybody."""
    table = survey(4_000)
    release = publish(table, policy(method), key=Key.test(), attacks=False)
    asked = measure(release, table, queries=200, dimensions=2).queries["HeartDisease"]
    everybody = Policy(
        quasi={"age": {"type": "number"}, "sex": {}},
        sensitive={"HeartDisease": {"gain": 50}},
        k=table.height,
        method="mondrian",
    )
    whole = publish(table, everybody, key=Key.test(), attacks=False)
    blind = measure(whole, table, queries=200, dimensions=2).queries["HeartDisease"]
    assert asked.median_error < 0.04
    assert asked.median_error < blind.median_error


@pytest.mark.parametrize("method", FOR_CAPS)
def test_what_the_manifest_does_not_promise_is_attacked_as_before(method: str) -> None:
    release = publish(survey(400), policy(method, gain=5), key=Key.test(), attacks=False)
    models = [claim.model for claim in release.manifest.claims]
    assert models == ["at-most", "gain"]
    assert release.manifest.parameters.l == {"HeartDisease": 1}


def test_a_breached_bound_is_found_by_the_attacks() -> None:
    """A release whose groups hold more than they may, as a mistake of a method would make it."""
    table = survey(400)
    release = publish(table, policy("mondrian"), key=Key.test(), attacks=False)
    rows = release.tables["microdata"]
    yes = rows.filter(pl.col("HeartDisease") == "Yes")["group"]
    joined = rows.with_columns(group=pl.when(pl.col("HeartDisease") == "Yes").then(yes[0]).otherwise(pl.col("group")))
    wrong = Release(release.manifest, {"microdata": joined.sort("group")})
    breaches = [one for one in attack(wrong, table) if one.breach]
    assert {one.attack for one in breaches} == {"homogeneity"}
    assert all(one.question.startswith("HeartDisease = Yes") and one.promised == 0.25 for one in breaches)
    assert "Yes" in str(Breached(breaches)) or "HeartDisease" in str(Breached(breaches))


@pytest.mark.parametrize("bound", ["1/2", "1/3"])
def test_who_knows_anatomy_learns_no_more(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pseudo-values are dealt in drawn order: every original that fits is as likely, by enumeration over keys."""
    monkeypatch.setattr(minimality, "HITS", 60)
    monkeypatch.setattr(minimality, "RUNS", 400)
    random = np.random.default_rng(3)
    for i, rows in enumerate([6, 7, 8, 8]):
        ill = random.permutation(["Yes"] * (rows // 4) + ["No"] * (rows - rows // 4)).tolist()
        table = pl.DataFrame({"age": random.permutation(90)[:rows], "ill": ill})
        asked = Policy(
            quasi={"age": {"type": "number"}}, sensitive={"ill": {"at_most": {"Yes": bound}}}, method="anatomy"
        )
        release = publish(table, asked, key=Key(bytes([i] * 32)), attacks=False)
        counted = attribute_posteriors(Release(release.manifest, dict(release.tables)), table, 0)["ill"]
        place = sorted(["Yes", "No"]).index("Yes")
        total = counted.times.sum(axis=1)
        surely = [interval(t / n, int(n), DOUBT)[0] for t, n in zip(counted.times[:, place], total, strict=True) if n]
        assert len(surely) == rows
        assert max(surely) <= 1 / int(bound[-1]) + 1e-9


# real tables ------------------------------------------------------------------------------------------------------


ADULT = Policy(
    quasi={"age": {"type": "number"}, "sex": {}, "race": {}, "education": {}},
    sensitive={"income": {"gain": 2.5}},
    others="drop",
)
CENSUS = Policy(
    quasi={"age": {"type": "number"}, "sex": {}, "race": {}, "education": {}},
    sensitive={"income": {"at_most": {"50000+": "20%"}}, "member_of_labor_union": {"at_most": {"Yes": "1/8"}}},
    others="drop",
)
ACS = Policy(
    quasi={"Age": {"type": "number"}, "Gender": {}, "Race": {}},
    sensitive={"Hearing difficulty": {"at_most": {"Yes": "1/10"}}},
    others="drop",
)
REAL = {
    "adult": ("adult_clean_30162.csv.gz", ADULT, 10_000),
    "census": ("census_income_kdd_test.parquet", CENSUS, 10_000),
    "acs": ("acs2018_us_workers_295k.parquet", ACS, 10_000),
}


@pytest.mark.parametrize(
    ("name", "method"),
    [("adult", method) for method in FOR_CAPS]
    + [("census", method) for method in ("bsgi", "mondrian", "kaca")]
    + [("acs", method) for method in ("bsgi", "anatomy", "mondrian")],
)
def test_real_tables_are_published_within_their_bounds(name: str, method: str) -> None:
    file, asked, rows = REAL[name]
    path: Path = data_file(file)
    whole = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path)
    table = whole.select(asked.needed).sample(rows, seed=1)
    release = publish(table, asked.override(method=method), key=Key.test(), attacks=False)
    verdict = audit(release, table, allow_test=True)
    assert verdict.holds
    assert release.manifest.suppressed == 0
    results = commonest_values(release, table)
    assert [one for one in results if one.breach] == []
    bounded = [one for one in results if " = " in one.question]
    assert len(bounded) == len(asked.sensitive)
    for result in bounded:
        assert result.promised is not None
        assert result.worst is not None
        assert 0 < result.worst <= result.promised


def commonest_values(release: Release, table: pl.DataFrame) -> list[Any]:
    """The attack on the commonest value of groups alone: others take long on such tables."""
    return [*attacks()["homogeneity"].run(release, table, Options())]


@pytest.mark.parametrize("t", [0.1, 0.3])
@pytest.mark.parametrize("method", ["mondrian", "incognito", "kaca"])
def test_numbers_are_close_by_their_order(method: str, t: float) -> None:
    """By cumulative shares, worked out again: no group is farther than t, and some go as far as half of it."""
    random = np.random.default_rng(5)
    table = pl.DataFrame({"age": random.integers(20, 60, 1_000), "pay": random.integers(1, 40, 1_000) * 100})
    asked = Policy(quasi={"age": {"type": "number"}}, sensitive={"pay": {"t": t, "type": "number"}}, method=method)
    release = publish(table, asked, key=Key.test(), attacks=False)
    assert audit(release, table, allow_test=True).holds
    shares = table["pay"].value_counts().sort("pay")
    overall = (shares["count"] / table.height).to_numpy()
    farthest = 0.0
    for group in release.tables["microdata"].partition_by("group"):
        counted = (
            shares.join(group["pay"].value_counts(name="here"), on="pay", how="left").sort("pay")["here"].fill_null(0)
        )
        moved = np.cumsum(counted.to_numpy() / group.height - overall)
        farthest = max(farthest, float(np.abs(moved).sum()) / (overall.size - 1))
    assert t / 2 < farthest <= t + 1e-9


@pytest.mark.parametrize("method", ["mondrian", "incognito", "kaca"])
@pytest.mark.parametrize("suppress", [0.6, 0.8])
def test_rows_that_l_gives_up_may_be_those_that_a_bound_needs(method: str, suppress: float) -> None:
    """One row too many of a value is suppressed; of the rest, another attribute's value is more than it may be."""
    ill = ["u", "yes", "no", "yes", "no"]
    table = pl.DataFrame({"age": [1, 2, 3, 4, 5], "stay": [20, 10, 20, 10, 10], "ill": ill})
    sensitive = {"stay": {"l": 2, "type": "number"}, "ill": {"at_most": {"yes": "2/5"}}}
    asked = Policy(quasi={"age": {"type": "number"}}, sensitive=sensitive, method=method, suppress=suppress)
    refused: list[str] = []
    for i in range(20):
        try:
            release = publish(table, asked, key=Key(bytes([i] * 32)), attacks=False)
        except Infeasible as refusal:
            refused.append(str(refusal))
        else:
            assert audit(release).holds
    assert all("'ill'" in reason or "'stay'" in reason for reason in refused)


@pytest.mark.parametrize("asked", [{"at_most": {"Yes": "1/4"}}, {"gain": 2}, {"t": 0.2}])
def test_incognito_suppresses_no_class_for_what_its_values_are(asked: dict[str, Any]) -> None:
    """Most people of the first town are ill: whoever lives there and is missing would be known to be likely ill."""
    town = ["a"] * 4 + [*"bcdefghi"] * 4
    table = pl.DataFrame({"town": town, "ill": ["Yes"] * 3 + ["No"] * 33})
    released = {
        suppress: publish(
            table,
            Policy(quasi=["town"], sensitive={"ill": asked}, method="incognito", suppress=suppress),
            key=Key.test(),
            attacks=False,
        )
        for suppress in (0, 0.2)
    }
    assert released[0.2].manifest.suppressed == 0
    assert released[0.2].tables["microdata"].equals(released[0].tables["microdata"])
