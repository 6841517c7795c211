"""`at_most`, `gain` and `t` in a policy: what is read, and what is refused, with its remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pluralis.errors import Infeasible, PolicyError
from pluralis.method import methods
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from support.cli_runner import caller

ASKED: list[tuple[dict[str, Any], str]] = [
    ({"at_most": {"Yes": 0}}, "write a share between 0 and 1, such as 1/4, 25% or 0.25, not 0"),
    ({"at_most": {"Yes": 1}}, "write a share between 0 and 1"),
    ({"at_most": {"Yes": 1.5}}, "write a share between 0 and 1"),
    ({"at_most": {"Yes": "4/4"}}, "A value that may be certain needs no bound: leave it out."),
    ({"at_most": {"Yes": "0%"}}, "write a share between 0 and 1"),
    ({"at_most": {"Yes": "1/0"}}, "write a share between 0 and 1"),
    ({"at_most": {"Yes": True}}, "write a share between 0 and 1"),
    ({"at_most": {"Yes": "a quarter"}}, "not 'a quarter'"),
    ({"at_most": {"Yes": float("nan")}}, "write a share between 0 and 1"),
    ({"at_most": {}}, "write the values that must not be guessed"),
    ({"at_most": 0.25}, 'write the values that must not be guessed, and their bounds: {"Yes": 1/4}.'),
    ({"at_most": {1: 0.2, "1": 0.3}}, "'1' is bounded twice"),
    ({"gain": 1}, "write a number above 1, such as 3, not 1"),
    ({"gain": 0.5}, "write a number above 1"),
    ({"gain": True}, "write a number above 1"),
    ({"gain": float("inf")}, "write a number above 1"),
    ({"gain": float("nan")}, "write a number above 1"),
    ({"gain": "3"}, "write a number above 1"),
    ({"t": 0}, "write a distance between 0 and 1, such as 0.2, not 0"),
    ({"t": 1}, "write a distance between 0 and 1"),
    ({"t": -0.1}, "write a distance between 0 and 1"),
    ({"t": float("nan")}, "write a distance between 0 and 1"),
    ({"gain": 3, "model": "entropy"}, "model says how l is counted, and there is no l. Add l: 2, or remove model."),
    ({"l": 2, "model": "unique-distinct", "at_most": {"Yes": "1/3"}}, "Remove model, or at_most."),
    ({}, "a sensitive attribute needs l. Add l: 2 or more"),
]


@pytest.mark.parametrize(("keys", "words"), ASKED, ids=[str(keys) for keys, _ in ASKED])
def test_a_bound_that_is_none_is_refused(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Policy(quasi=["age"], sensitive={"ill": keys})
    assert words in str(caught.value)
    assert "ill" in str(caught.value)


@pytest.mark.parametrize("key", ["at_most", "gain", "t"])
def test_only_sensitive_attributes_have_bounds(key: str) -> None:
    bound: Any = {"x": "1/3"} if key == "at_most" else 0.5 if key == "t" else 2
    with pytest.raises(PolicyError, match=f"{key} belongs to sensitive attributes, this one is quasi"):
        Policy(quasi={"age": {key: bound}}, sensitive={"ill": 2})


def test_a_share_is_read_in_any_form_and_written_in_one() -> None:
    text = "version: 1\nattributes:\n  ill: {role: sensitive, at_most: {Yes: 25%, Perhaps: 2/6, No: .5, 7: 0.125}}\n"
    policy = Policy.parse(text)
    assert policy.columns["ill"].at_most == {"Yes": "1/4", "Perhaps": "1/3", "No": "1/2", "7": "1/8"}
    assert Policy.parse(policy.to_yaml()) == policy
    assert policy.l("ill") == 1


PEOPLE = pl.DataFrame(
    {"age": [20, 21, 22, 23, 24, 25, 26, 27], "ill": ["Yes", "No", "No", "No", "No", "No", "No", "No"], "pay": [5] * 8}
)


def ask(method: str = "bsgi", people: pl.DataFrame = PEOPLE, suppress: float = 0.0, **keys: Any) -> Any:
    policy = Policy(quasi=["age"], sensitive={"ill": keys}, others="drop", method=method, suppress=suppress)
    return publish(people, policy, key=Key.test(), attacks=False)


def test_a_value_that_no_row_holds_is_refused_with_what_was_meant() -> None:
    with pytest.raises(PolicyError, match=r"at_most: no row holds 'Yess'\. Did you mean 'Yes'\?"):
        ask(at_most={"Yess": "1/3"})
    with pytest.raises(PolicyError, match="'Yes' is bounded twice"):
        ask(at_most={"Yes": "1/3", "YES": "1/4"})
    numbers = PEOPLE.with_columns(ill=pl.Series([1, 0, 0, 0, 0, 0, 0, 0]))
    with pytest.raises(PolicyError, match=r"at_most: no row holds '2'\. Known: 0, 1\."):
        ask(people=numbers, at_most={"2": "1/3"}, type="number")
    release = ask(people=numbers, at_most={"1.0": "1/3"}, type="number")
    assert release.manifest.parameters.at_most == {"ill": {"1": "1/3"}}


def test_the_manifest_has_the_spelling_of_the_table() -> None:
    release = ask(at_most={" yes": "1/3"})
    assert release.manifest.parameters.at_most == {"ill": {"Yes": "1/3"}}
    assert [claim.rule for claim in release.manifest.claims] == ["P(ill = Yes | age) ≤ 1/3"]
    assert release.manifest.parameters.l == {"ill": 1}


@pytest.mark.parametrize("method", ["bsgi", "anatomy", "mondrian", "incognito", "kaca"])
def test_a_value_more_common_than_its_bound_is_refused(method: str) -> None:
    """However many rows may be suppressed: all of them would hold it, and absence would tell."""
    many = PEOPLE.with_columns(ill=pl.Series(["Yes"] * 3 + ["No"] * 5))
    for suppress in (0, 0.25, 0.9):
        with pytest.raises(Infeasible) as caught:
            ask(method, many, suppress=suppress, at_most={"Yes": "1/4"})
        assert str(caught.value) == (
            "'ill': 'Yes' fills 3 of 8 rows (37.5%), and may have at most 1/4 of any group. The smallest bound that "
            'works is 37.5%; set at_most: {"Yes": 37.5%}, or do not publish the attribute. Suppressing the surplus is '
            "no way: every suppressed row would hold 'Yes'."
        )
    assert ask(method, many, suppress=0.9, at_most={"Yes": "37.5%"}).manifest.suppressed == 0


def test_what_l_makes_too_common_is_not_suppressed_where_it_is_bounded() -> None:
    """'Yes' may fill half of a group by its bound, and a quarter by l; and of the others one is too common."""
    values = ["Yes"] * 3 + ["a", "b", "c", "d", "e"]
    common = PEOPLE.with_columns(ill=pl.Series(values))
    with pytest.raises(Infeasible, match=r"'ill' cannot be 4-diverse: 'Yes' fills 3 of 8 .* set l: 2\.$"):
        ask(people=common, suppress=0.5, l=4, at_most={"Yes": "1/2"})
    others = PEOPLE.with_columns(ill=pl.Series(["a"] * 5 + ["Yes", "b", "c"]))
    with pytest.raises(Infeasible, match=r"'ill' cannot be 2-diverse: 'a' fills 5 of 8 rows .* do not publish it\.$"):
        ask(people=others, suppress=0.5, l=2, at_most={"Yes": "1/8"})
    assert ask(people=others, suppress=0.5, l=2, at_most={"Yes": "1/4"}).manifest.suppressed == 2


@pytest.mark.parametrize("method", ["bsgi", "mondrian", "incognito", "kaca"])
def test_what_another_attribute_gives_up_keeps_the_bounds(method: str) -> None:
    """Rows that l takes from the ward are mostly of those who are ill; where they are not, they go."""
    ward = ["x"] * 16 + [*"abcdefgh"]
    quasi, other = {"age": {"type": "number"}}, {"l": 2}

    def published(ill: list[str]) -> Any:
        people = pl.DataFrame({"age": range(24), "ward": ward, "ill": ill})
        sensitive = {"ward": other, "ill": {"at_most": {"Yes": "1/2"}}}
        policy = Policy(quasi=quasi, sensitive=sensitive, method=method, suppress=0.5)
        return publish(people, policy, key=Key.test(), attacks=False)

    with pytest.raises(Infeasible, match=r"'ill': 8 rows would be suppressed, of which \d hold 'Yes', more than"):
        published(["Yes"] * 12 + ["No"] * 12)
    assert published(["No"] * 16 + ["Yes"] * 4 + ["No"] * 4).manifest.suppressed == 8


def test_a_method_that_cannot_says_which_can() -> None:
    able = {"at_most": {"Yes": "1/2"}, "gain": 3, "t": 0.4}
    refused = {key: {method: why for method in methods() if (why := refusal(method, {key: able[key]}))} for key in able}
    for key, reasons in refused.items():
        for method, why in reasons.items():
            assert why.startswith(f"'ill' asks for {key}, which {method} cannot aim at. Use method: ")
    every = set(methods())
    caps = {"anatomy", "bsgi", "incognito", "kaca", "mondrian"}
    assert every - set(refused["at_most"]) == every - set(refused["gain"]) == caps
    assert every - set(refused["t"]) == {"incognito", "kaca", "mondrian"}


def refusal(method: str, keys: dict[str, Any]) -> str:
    try:
        ask(method, **keys)
    except Infeasible as error:
        return str(error)
    return ""


def test_the_top_share_beside_a_claim_about_one_value_says_that_it_is_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No fills three quarters of a group, and what stands there is the quarter of Yes."""
    many = pl.DataFrame({"age": range(40), "ill": ["Yes", "No", "No", "No"] * 10})
    policy = Policy(quasi=["age"], sensitive={"ill": {"at_most": {"Yes": "1/4"}}}, method="anatomy")
    release = publish(many, policy, key=Key(bytes(32)))
    verdict = release.save(tmp_path / "release")
    (claim,) = [one for one in verdict.findings if one.claim.startswith("P(")]
    assert (claim.top_share, claim.top_value) == (0.25, "Yes")
    assert "25.0% Yes" in caller(capsys, monkeypatch, "audit")(str(tmp_path / "release")).out
    assert "of Yes" in (tmp_path / "release.private" / "report.html").read_text()
