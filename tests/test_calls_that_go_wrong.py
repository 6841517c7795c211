"""Calls from Python that cannot be carried out: each is refused by what is wrong with it, with what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import pluralis as pls
from pluralis.report.rule_graph import write_graph

PEOPLE = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
POLICY = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2})


@pytest.fixture(scope="module")
def release() -> pls.Publication:
    return pls.publish(PEOPLE, POLICY, key=pls.Key.test(), attacks=False)


@pytest.mark.parametrize("original", [PEOPLE.drop("age"), PEOPLE.clear()], ids=["no column", "no rows"])
def test_an_original_that_cannot_be_it_is_not_the_fault_of_the_release(
    release: pls.Publication, original: pl.DataFrame
) -> None:
    with pytest.raises(pls.InputError, match="The original has no"):
        pls.audit(release, original, allow_test=True)


@pytest.mark.parametrize("key", ["missing", "rules", "adversaries", "dependencies"])
def test_a_text_is_no_list(key: str) -> None:
    with pytest.raises(pls.PolicyError, match=rf"{key}: 'age' is one text. Write a list"):
        pls.Policy(quasi=["age"], sensitive={"disease": 2}, **{key: "age"})  # type: ignore[arg-type]


def test_one_name_may_stand_for_a_list_of_one(release: pls.Publication) -> None:
    assert {one.attack for one in pls.attack(release, PEOPLE, only="linkage")} == {"linkage"}
    again = pls.attack(release, PEOPLE, only="repeated", others=release)
    assert {one.attack for one in again} == {"repeated"}
    compared = pls.compare(PEOPLE, POLICY, methods="bsgi", attacks="all", cache=False, workers=0)
    assert [trial.method for trial in compared.trials] == ["bsgi"]


def test_an_attack_that_asks_nothing_is_no_pass(release: pls.Publication) -> None:
    assert repr(pls.attack(release, PEOPLE, only=["persons"])) == "Attack results: nothing here to attack in this way"


def test_what_was_not_checked_is_not_called_feasible() -> None:
    assert pls.check_policy(None, pls.Policy(quasi=["age"], sensitive={"disease": 400})).feasible is None


def test_a_graph_is_written_to_a_path_that_is_text(tmp_path: Path) -> None:
    write_graph(pls.check_policy(PEOPLE, POLICY).explanation, str(tmp_path / "rules.svg"))
    assert (tmp_path / "rules.svg").read_text().startswith("<svg")


def test_a_test_key_is_named_as_what_is_wrong(release: pls.Publication, tmp_path: Path) -> None:
    with pytest.raises(pls.AuditFailed, match="Publish without the test key, or allow it: allow_test"):
        release.save(tmp_path / "release")


NESTED = pl.DataFrame({"age": [[1], [2]]})
REFUSED: dict[str, tuple[Callable[[pls.Publication], object], type[pls.PluralisError], str]] = {
    "format": (lambda one: one.save("x", format="json"), pls.OutputError, "parquet or csv, not as 'json'"),  # type: ignore[arg-type]
    "table": (lambda one: one.info("microdat"), pls.InputError, "Did you mean 'microdata'"),
    "sample": (lambda one: pls.attack(one, PEOPLE, sample=0), pls.InputError, "1 or more"),
    "attack": (lambda one: pls.attack(one, PEOPLE, only="linkag"), pls.InputError, "Did you mean 'linkage'"),
    "workers": (lambda one: pls.compare(PEOPLE, POLICY, workers=-1), pls.InputError, "0 or more"),
    "policy": (lambda one: pls.publish(PEOPLE, {"version": 1}), pls.PolicyError, "Policy.from_dict"),  # type: ignore[arg-type]
    "no policy": (lambda one: pls.Policy.read("nowhere.yaml"), pls.PolicyError, "`pluralis init` writes a first"),
    "lists": (lambda one: pls.profile(NESTED), pls.InputError, "Unnest it"),
    "lists in a draft": (lambda one: pls.draft_policy(NESTED), pls.InputError, "Unnest it"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_in_words(release: pls.Publication, what: str) -> None:
    call, error, words = REFUSED[what]
    with pytest.raises(error, match=words):
        call(release)
