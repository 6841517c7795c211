"""The certificate: what was measured stands in the manifest, and is what the tables give; so do scores of attacks."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pluralis.attacks import Options, Result, attack
from pluralis.attacks.definetti import NOTHING_LEARNED
from pluralis.attacks.worst_guess import worst_in_words
from pluralis.auditing import audit
from pluralis.display.escaping import markdown
from pluralis.display.words import percent
from pluralis.errors import AuditFailed, Breached
from pluralis.policy.policy import Policy
from pluralis.publishing.attack_scores import PEOPLE, TARGETS, measured, not_stopped, remarks_on_plain
from pluralis.publishing.pipeline import publish
from pluralis.publishing.private_folder import keep_results
from pluralis.publishing.saving import Publication
from pluralis.release.form import worst_and_others
from pluralis.release.release import Release
from support.forged_folders import forged
from support.sample_tables import KEY, PATIENTS, patients_policy, policy_of

SCORE = re.compile(r"^([a-z-]+): (\d+|under 1|over 99) % of (.+); prior (\d+|under 1|over 99) %$")


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
            f"- `{claim['rule']}` (measured {claim['measured']:.4g})"
            in (tmp_path / "release" / "README.md").read_text()
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
    matches = (SCORE.match(item) for item in publication.manifest.breaks)
    return {f"{score[1]}: {score[3]}": score[2] for score in matches if score}


def test_scores_of_attacks_that_are_not_stopped_stand_in_the_manifest(tmp_path: Path) -> None:
    publication = publish(workers(2 * PEOPLE), policy_for("anatomy"), key=KEY)
    assert publication.attacked
    learned = next(result for result in publication.attacked if result.attack == "definetti")
    assert learned.success > 1 / 3 + 0.2  # towns tell of jobs
    scores = scores_of(publication)
    assert scores["definetti: people's job guessed right from the groups alone"] == f"{100 * learned.success:.0f}"
    assert "linkage: people's rows found by their quasi-identifiers" in scores
    plain = [item for item in publication.manifest.breaks if item.startswith("homogeneity")]
    assert len(plain) == 1  # 1/l bounds how sure it is, not how often it is right
    assert "above the 33 % of equally likely rows" in plain[0]
    assert publication.save(tmp_path / "release").holds
    readme = (tmp_path / "release" / "README.md").read_text()
    worst, others = worst_and_others(publication.manifest.breaks)
    assert worst is not None
    assert worst.startswith("Worst measured guess: job, ")
    assert f"{markdown(worst)}\n" in readme
    assert all(f"- {markdown(item)}\n" in readme for item in others)
    assert audit(tmp_path / "release").holds


def test_of_few_people_no_score_is_published_and_the_private_folder_has_it(tmp_path: Path) -> None:
    publication = publish(workers(PEOPLE - 1), policy_for("anatomy"), key=KEY)
    publication.save(tmp_path / "release")
    assert not scores_of(publication)
    sentence = "definetti: people's job guessed right from the groups alone, more often than by the prior"
    assert sentence in publication.manifest.breaks
    public = "".join(file.read_text() for file in (tmp_path / "release").glob("*.[jm]*"))
    assert "%" not in public
    kept = json.loads((tmp_path / "release.private" / "attack.json").read_text())
    assert [Result.from_dict(one) for one in kept["results"]] == [*(publication.attacked or ())]
    assert next(one["success"] for one in kept["results"] if one["attack"] == "definetti") > 0.5


def test_scores_are_rounded_and_never_nothing_or_all() -> None:
    release = publish(workers(2 * PEOPLE), policy_for("anatomy"), key=KEY)
    base = Result("definetti", "job", PEOPLE, False, 0.8174, 0.8174, 0.8174, 0.134, attribute="job")
    beside = [replace(base, attribute="pay", success=0.9999, low=0.9999, high=0.9999, prior=0.0001), base]
    assert list(not_stopped(release, beside, PEOPLE))[:3] == [
        "worst measured guess: pay, over 99 % of people, prior under 1 % (definetti)",
        "definetti: over 99 % of people's pay guessed right from the groups alone; prior under 1 %",
        "definetti: 82 % of people's job guessed right from the groups alone; prior 13 %",
    ]
    quiet = [replace(base, low=0.1), replace(base, promised=0.9, worst=0.9)]
    assert [item for item in not_stopped(release, quiet, PEOPLE) if item.startswith("definetti")] == []


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
    learned = Result("definetti", "job", PEOPLE, False, 0.8, 0.8, 0.8, 0.1, attribute="job", note="3 rounds over town")
    plain = replace(learned, attack="homogeneity", note=None)
    _, sentence = [item for item in not_stopped(release, [learned, plain], PEOPLE) if "80 %" in item]
    assert sentence.startswith("homogeneity: ")
    assert worst_in_words([learned, plain]) == "job, 80 % of people, prior 10 % (homogeneity)"
    idle = replace(learned, note=f"a score, not a promise; {NOTHING_LEARNED}; groups say 0.800 by themselves")
    assert not [item for item in not_stopped(release, [idle], PEOPLE) if item.startswith("definetti: 80 %")]
    assert [item for item in not_stopped(release, [learned], PEOPLE) if item.startswith("definetti: 80 %")]


def test_what_was_not_measured_is_said(tmp_path: Path) -> None:
    off = publish(PATIENTS, patients_policy(2), key=KEY, attacks=False)
    assert off.attacked is None
    sentence = "attacks: what they get was not measured at publication; `pluralis attack` measures it"
    assert sentence in off.manifest.breaks
    off.save(tmp_path / "release")
    assert not (tmp_path / "release.private" / "attack.json").exists()
    assert "was not measured at publication" in (tmp_path / "release.private" / "report.html").read_text()
    on = publish(PATIENTS, patients_policy(2), key=KEY)
    assert sentence not in on.manifest.breaks
    assert any(re.search(r"files.*: not measured at publication", item) for item in on.manifest.breaks)


def test_of_a_large_table_some_people_are_attacked() -> None:
    few = {"age": {"role": "quasi", "type": "number"}, "job": {"role": "sensitive", "l": 2}}
    policy, table = policy_of(few, others="drop", method="anatomy"), workers(20 * TARGETS + 1)
    publication = publish(table, policy, key=KEY)
    assert {(one.targets, one.sampled) for one in publication.attacked or ()} == {(TARGETS, True)}
    assert publish(table, policy, key=KEY).attacked == publication.attacked


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
        Breached, match=r"homogeneity \(disease, knowing .* reaches a posterior of 1, .* 0\.5 is promised"
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
    later = attack(publication, table, only=["files", "homogeneity"])
    assert {result.attack for result in later} == {"files", "homogeneity"}
    keep_results(tmp_path / "release", later)
    assert kept() == [*later, *(one for one in before if one.attack != "homogeneity")]
    marked = json.loads((private / "attack.json").read_text())["after_publication"]
    assert [kept()[i] for i in marked] == later
    page = (private / "report.html").read_text()
    assert "job, by the place of rows and values" in page
    assert page.count('<section id="learned">') == 1
    assert {file.name for file in private.iterdir() if file.name.startswith(".")} == set()


def test_of_two_results_that_of_more_people_is_kept(tmp_path: Path) -> None:
    table = workers(200)
    publication = publish(table, policy_for("anatomy"), key=KEY)
    publication.save(tmp_path / "release")

    def kept() -> dict[tuple[str, str], Result]:
        results = json.loads((tmp_path / "release.private" / "attack.json").read_text())["results"]
        return {(one["attack"], one["question"]): Result.from_dict(one) for one in results}

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


def test_a_guess_of_one_value_is_no_guess_of_its_attribute() -> None:
    """Of a few people Yes is likeliest, and right for a third; what is right for most people is No, by the prior."""
    rng = np.random.default_rng(5)
    ages = rng.integers(18, 80, 12_000)
    ill = np.where(rng.random(ages.size) < 0.05 + 0.25 * (ages > 60), "Yes", "No")
    people = pl.DataFrame({"age": ages, "sex": rng.choice(["F", "M"], ages.size), "ill": ill})
    sensitive = {"ill": {"at_most": {"Yes": "1/4"}}}
    policy = Policy(quasi={"age": {"type": "number"}, "sex": {}}, sensitive=sensitive, method="bsgi")
    release = publish(people, policy, key=KEY)
    (of_value,) = [one for one in release.attacked or () if one.value is not None]
    assert (of_value.value, of_value.guessed, of_value.promised) == ("Yes", "ill = Yes", 0.25)
    assert of_value.share is not None
    assert of_value.share == pytest.approx(of_value.targets / 5_000)
    whom = f"the {percent(of_value.share)} of people of whom it is likeliest"
    right, prior = percent(of_value.success), percent(of_value.prior)
    assert (
        f"worst measured guess: ill = Yes, right for {right} of {whom}, prior {prior} (homogeneity)"
        in release.manifest.breaks
    )
    about = [one for one in release.manifest.breaks if one.startswith("homogeneity: ")]
    assert about == [
        f"homogeneity: {right} of {whom} rightly taken to have ill = Yes, above the 25 % of equally likely rows; "
        f"prior {prior}"
    ]
    assert not any("people's ill" in sentence for sentence in release.manifest.breaks)
    assert not list(remarks_on_plain(release.attacked or ()))


def test_the_largest_share_of_a_group_stands_beside_what_is_right_of_many() -> None:
    """Two values in every group, of which one may fill nearly all of it."""
    rng = np.random.default_rng(2)
    ages = rng.integers(18, 80, 4_000)
    young = np.where(rng.random(ages.size) < 0.97, "flu", "hiv")
    disease = np.where(ages < 30, young, rng.choice(["hiv", "gout", "acne", "cold"], ages.size))
    people = pl.DataFrame({"age": ages, "disease": disease})
    sensitive = {"disease": {"l": 2, "model": "distinct"}}
    policy = Policy(quasi={"age": {"type": "number"}}, sensitive=sensitive, method="mondrian", k=5)
    release = publish(people, policy, key=KEY)
    (one,) = [one for one in release.attacked or () if one.attack == "homogeneity"]
    assert one.worst is not None
    assert one.worst > 0.9
    (said,) = [sentence for sentence in release.manifest.breaks if sentence.startswith("worst measured guess: ")]
    assert said == (
        f"worst measured guess: disease, {percent(one.success)} of people, in the weakest group {percent(one.worst)}, "
        f"prior {percent(one.prior)} (homogeneity)"
    )
