"""The certificate: what was measured stands in the manifest, and is what the tables give; so do scores of attacks."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from forging import forged
from pluralis.attacks import Options, Result, attack
from pluralis.attacks.at_publication import MOST_ROWS, PEOPLE, measured, not_stopped
from pluralis.attacks.definetti import NOTHING_LEARNT
from pluralis.auditing import audit
from pluralis.errors import AuditFailed, Breached
from pluralis.escaping import markdown
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.publishing.private_folder import keep_results
from pluralis.publishing.saving import Publication
from pluralis.release.release import Release
from tables import KEY, PATIENTS, patients_policy, policy_of

SCORE = re.compile(r"^([a-z-]+): (\d+|under 1|over 99) % of (.+); blind guess (\d+|under 1|over 99) %$")


@pytest.mark.parametrize("method", ["bsgi", "anatomy", "mondrian", "randomized-addition", "decomposition", "uad"])
def test_the_manifest_says_what_the_audit_measured(method: str, tmp_path: Path) -> None:
    l = 2
    verdict = publish(PATIENTS, patients_policy(l, method=method), key=KEY).save(tmp_path / "release")
    measured = {finding.claim: finding.measured for finding in verdict.findings}
    manifest = json.loads((tmp_path / "release" / "manifest.json").read_text())
    assert manifest["claims"]
    for claim in manifest["claims"]:
        assert claim["measured"] == measured[claim["rule"]]
        assert (
            f"- {claim['rule']} (measured {claim['measured']:.4g})" in (tmp_path / "release" / "README.md").read_text()
        )
    again = audit(tmp_path / "release")
    assert again.holds
    assert "what the manifest says was measured is what its tables give" in {f.claim for f in again.findings}


def test_a_certificate_that_says_something_else_is_refused(tmp_path: Path) -> None:
    publish(PATIENTS, patients_policy(2), key=KEY).save(tmp_path / "release")
    forged(tmp_path / "release", lambda manifest: manifest["claims"][0].update(measured=0.25))
    verdict = audit(tmp_path / "release")
    manifest = json.loads((tmp_path / "release" / "manifest.json").read_text())
    assert [finding.claim for finding in verdict.failures] == [
        "what the manifest says was measured is what its tables give"
    ]
    assert verdict.failures[0].note == manifest["claims"][0]["rule"]


def workers(rows: int) -> pl.DataFrame:
    """People whose job follows from their town four times of five, and an insurer that has nothing to do with it."""
    rng = np.random.default_rng(7)
    town = rng.integers(0, 6, rows)
    job = np.where(rng.random(rows) < 0.8, town, rng.integers(0, 6, rows))
    return pl.DataFrame(
        {
            "age": 20 + rng.integers(0, 50, rows),
            "town": [f"town {i}" for i in town],
            "job": [f"job {i}" for i in job],
            "insurer": [f"insurer {i}" for i in rng.integers(0, 5, rows)],
        }
    )


def policy_for(method: str) -> Policy:
    attributes = {
        "age": {"role": "quasi", "type": "number"},
        "town": {"role": "quasi"},
        "job": {"role": "sensitive", "l": 3},
        "insurer": {"role": "sensitive", "l": 2},
    }
    if method in ("anatomy", "randomized-addition"):
        del attributes["insurer"]
    more = {"k": 2} if method == "sloms" else {}
    return policy_of(attributes, others="drop", method=method, suppress=0.5, **more)


def scores_of(publication: Publication) -> dict[str, str]:
    """The sentences with a score, by attack and subject."""
    found = (SCORE.match(item) for item in publication.manifest.breaks)
    return {f"{score[1]}: {score[3]}": score[2] for score in found if score}


def test_scores_of_attacks_that_are_not_stopped_stand_in_the_manifest(tmp_path: Path) -> None:
    publication = publish(workers(2 * PEOPLE), policy_for("anatomy"), key=KEY)
    assert publication.attacked
    learnt = next(result for result in publication.attacked if result.attack == "definetti")
    assert learnt.success > 1 / 3 + 0.2  # towns tell of jobs
    scores = scores_of(publication)
    assert scores["definetti: people's job guessed right from the groups alone"] == f"{100 * learnt.success:.0f}"
    assert "linkage: people's rows found by their quasi values" in scores
    plain = [item for item in publication.manifest.breaks if item.startswith("homogeneity")]
    assert len(plain) == 1  # 1/l bounds how sure it is, not how often it is right
    assert "above the 33 % of equally likely rows" in plain[0]
    assert publication.save(tmp_path / "release").holds
    readme = (tmp_path / "release" / "README.md").read_text()
    assert all(f"- {markdown(item)}\n" in readme for item in publication.manifest.breaks)
    assert audit(tmp_path / "release").holds


def test_of_few_people_no_score_is_published_and_the_private_folder_has_it(tmp_path: Path) -> None:
    publication = publish(workers(PEOPLE - 1), policy_for("anatomy"), key=KEY)
    publication.save(tmp_path / "release")
    assert not scores_of(publication)
    said = "definetti: people's job guessed right from the groups alone, more often than by a blind guess"
    assert said in publication.manifest.breaks
    public = "".join(file.read_text() for file in (tmp_path / "release").glob("*.[jm]*"))
    assert "%" not in public
    kept = json.loads((tmp_path / "release.private" / "attack.json").read_text())
    assert [Result.from_dict(one) for one in kept["results"]] == [*(publication.attacked or ())]
    assert next(one["success"] for one in kept["results"] if one["attack"] == "definetti") > 0.5


def test_scores_are_rounded_and_never_nothing_or_all() -> None:
    release = publish(workers(2 * PEOPLE), policy_for("anatomy"), key=KEY)
    base = Result("definetti", "job", PEOPLE, False, 0.8174, 0.8174, 0.8174, 0.134, attribute="job")
    beside = [replace(base, attribute="pay", success=0.9999, low=0.9999, high=0.9999, blind=0.0001), base]
    assert list(not_stopped(release, beside, PEOPLE))[:2] == [
        "definetti: over 99 % of people's pay guessed right from the groups alone; blind guess under 1 %",
        "definetti: 82 % of people's job guessed right from the groups alone; blind guess 13 %",
    ]
    quiet = [replace(base, low=0.1), replace(base, promised=0.9, worst=0.9)]
    assert [item for item in not_stopped(release, quiet, PEOPLE) if "definetti" in item] == []


@pytest.mark.parametrize("persons", [PEOPLE - 1, PEOPLE])
def test_several_rows_of_one_person_are_one_of_the_people(persons: int) -> None:
    table = workers(2 * PEOPLE).with_columns(who=pl.int_range(2 * PEOPLE) % persons)
    attributes = {
        "who": {"role": "identifier"},
        "age": {"role": "quasi", "type": "number"},
        "town": {"role": "quasi"},
        "job": {"role": "sensitive", "l": 3},
    }
    publication = publish(table, policy_of(attributes, person="who", others="drop", method="anatomy"), key=KEY)
    assert publication.manifest.suppressed == 0
    assert any(item.startswith("definetti: ") for item in publication.manifest.breaks)
    assert bool(scores_of(publication)) == (persons >= PEOPLE)


def test_the_same_guess_is_credited_to_the_plainer_attack() -> None:
    release = publish(workers(200), policy_for("anatomy"), key=KEY, attacks=False)
    learnt = Result("definetti", "job", PEOPLE, False, 0.8, 0.8, 0.8, 0.1, attribute="job", note="3 rounds over town")
    plain = replace(learnt, attack="homogeneity", note=None)
    (said,) = [item for item in not_stopped(release, [learnt, plain], PEOPLE) if "80 %" in item]
    assert said.startswith("homogeneity: ")
    idle = replace(learnt, note=f"a score, not a promise; {NOTHING_LEARNT}; groups say 0.800 by themselves")
    assert not [item for item in not_stopped(release, [idle], PEOPLE) if "80 %" in item]
    assert [item for item in not_stopped(release, [learnt], PEOPLE) if item.startswith("definetti: 80 %")]


def test_what_was_not_measured_is_said(tmp_path: Path) -> None:
    off = publish(PATIENTS, patients_policy(2), key=KEY, attacks=False)
    assert off.attacked is None
    said = "attacks: what they get was not measured at publication; `pluralis attack` measures it"
    assert said in off.manifest.breaks
    off.save(tmp_path / "release")
    assert not (tmp_path / "release.private" / "attack.json").exists()
    assert "was not measured at publication" in (tmp_path / "release.private" / "report.html").read_text()
    on = publish(PATIENTS, patients_policy(2), key=KEY)
    assert said not in on.manifest.breaks
    assert any(re.search(r"files.*: not measured at publication", item) for item in on.manifest.breaks)


def test_large_tables_are_attacked_only_if_told_to() -> None:
    few = {"age": {"role": "quasi", "type": "number"}, "job": {"role": "sensitive", "l": 2}}
    policy, table = policy_of(few, others="drop", method="anatomy"), workers(MOST_ROWS + 1)
    assert publish(table, policy, key=KEY).attacked is None
    assert publish(table, policy, key=KEY, attacks=True).attacked


@pytest.mark.parametrize("method", ["bsgi", "anatomy", "sloms", "randomized-addition", "decomposition", "uad"])
def test_the_order_of_rows_changes_no_score(method: str) -> None:
    table = workers(2 * PEOPLE)
    first = publish(table, policy_for(method), key=KEY)
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=3).select(reversed(table.columns))
    second = publish(shuffled, policy_for(method), key=KEY)
    assert first.attacked
    assert scores_of(first)
    assert first.attacked == second.attacked
    assert first.exposures == second.exposures
    assert first.manifest.to_json() == second.manifest.to_json()


def test_an_attack_that_exceeds_a_promise_stops_the_release(tmp_path: Path) -> None:
    sound = publish(PATIENTS, patients_policy(2), key=KEY)
    rows = sound.tables["microdata"]
    broken = Release(sound.manifest, {"microdata": rows.with_columns(disease=rows["disease"].sort())})
    results = measured(broken, PATIENTS)
    assert [result.attack for result in results if result.breach] == ["homogeneity"]
    with pytest.raises(
        Breached, match=r"homogeneity \(disease, knowing .* sure of a guess with 1, .* 0\.5 is promised"
    ):
        replace(sound, attacked=results).save(tmp_path / "release")
    assert not [*tmp_path.iterdir()]
    assert Breached.exit_code == 1
    with pytest.raises(AuditFailed):  # what the audit sees, it says first
        replace(sound, tables=broken.tables, attacked=results).save(tmp_path / "release")
    assert not [*tmp_path.iterdir()]
    assert sound.save(tmp_path / "release").holds


def test_later_results_join_those_of_publication(tmp_path: Path) -> None:
    table = workers(200)
    publication = publish(table, policy_for("anatomy"), key=KEY)
    publication.save(tmp_path / "release")
    private = tmp_path / "release.private"

    def kept() -> list[Result]:
        return [Result.from_dict(one) for one in json.loads((private / "attack.json").read_text())["results"]]

    before = kept()
    found = attack(publication, table, only=["files", "homogeneity"])
    assert {result.attack for result in found} == {"files", "homogeneity"}
    keep_results(tmp_path / "release", found)
    assert kept() == [*found, *(one for one in before if one.attack != "homogeneity")]
    page = (private / "report.html").read_text()
    assert "job, by the place of rows and values" in page
    assert page.count('<section id="learnt">') == 1
    assert {file.name for file in private.iterdir() if file.name.startswith(".")} == set()


def test_of_two_results_that_of_more_people_is_kept(tmp_path: Path) -> None:
    table = workers(200)
    publication = publish(table, policy_for("anatomy"), key=KEY)
    publication.save(tmp_path / "release")

    def kept() -> dict[tuple[str, str], Result]:
        held = json.loads((tmp_path / "release.private" / "attack.json").read_text())["results"]
        return {(one["attack"], one["question"]): Result.from_dict(one) for one in held}

    before = kept()
    fewer = attack(publication, table, only=["homogeneity", "definetti"], options=Options(sample=20))
    assert {result.targets for result in fewer} == {20}
    keep_results(tmp_path / "release", fewer)
    assert kept() == before
    asked, old = next((asked, one) for asked, one in before.items() if asked[0] == "homogeneity")
    for targets in (old.targets, old.targets + 1):
        keep_results(tmp_path / "release", [replace(old, targets=targets, note="again")])
        assert kept() == {**before, asked: replace(old, targets=targets, note="again")}
    beside = replace(old, question="another", targets=1)
    keep_results(tmp_path / "release", [beside])
    assert kept()[beside.attack, beside.question] == beside
    assert asked in kept()
