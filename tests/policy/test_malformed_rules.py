"""Rules and dependencies that cannot be read or kept: each refused with its place and a remedy."""

from __future__ import annotations

import pytest

from pluralis.errors import PolicyError
from pluralis.policy.policy import Policy
from pluralis.policy.rules import Dependency, Rule
from pluralis.profiling.explaining import explain

GOOD = """\
version: 1
attributes:
  age:     {role: quasi, type: number}
  ward:    {role: plain}
  disease: {role: sensitive, l: 2}
"""


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "$", "an attribute is missing"),
        ("   ", "", "an attribute is missing"),
        ("-> disease : l=2", "->", "an attribute is missing"),
        ("age -> : l=2", ": l", "an attribute is missing"),
        ("age ->", "$", "an attribute is missing"),
        ("age,, sex -> disease : l=2", ", sex", "an attribute is missing"),
        (", age -> disease : l=2", ", age", "an attribute is missing"),
        ("age sex disease", "$", "no arrow"),
        ("age : l=2", " : l", "no arrow"),
        ("age, sex   : l=3", "   :", "no arrow"),
        ('age, "sex: x" : l=3', " : l", "no arrow"),
        ("age -> sex -> disease : l=2", "disease", "one attribute after the arrow"),
        ("age -> disease, drug : l=2", "drug", "one attribute after the arrow"),
        ("age, sex -> sex : l=2", "sex :", "'sex' stands on both sides"),
        ('"age" -> age : l=2', "age :", "'age' stands on both sides"),
        ('age, "sex -> disease : l=2', '"sex', "a quote is not closed"),
        ('"age" sex -> disease : l=2', "sex", "a comma between attributes"),
        ("age -> disease", "$", "end the rule with"),
        ("age -> disease : l=1", "l=1", "end the rule with"),
        ("age -> disease : l=2.5", "l=2.5", "end the rule with"),
        ("age -> disease : k=2", "k=2", "end the rule with"),
        ("age -> disease : l=2 : l=3", "l=2", "end the rule with"),
        ("age -> disease : l=" + "9" * 10, "l=9", "end the rule with"),
    ],
)
def test_the_mark_stands_below_the_place(text: str, place: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        Rule.parse(text)
    first, shown, mark, example = str(refusal.value).split("\n")
    assert first.endswith(":")
    assert shown == f"    {text}"
    assert mark.index("^") - 4 == (
        len(text) if place == "$" else text.rindex(place) if place == "sex :" else text.index(place)
    )
    assert example == "Write `age, sex -> disease : l=3`."


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("zip -> zip", 7, "both sides"),
        ("zip -> county : l=2", 16, "ends with the attribute that is decided"),
        ("zip", 3, "no arrow"),
        ("zip -> ", 6, "missing here"),
    ],
)
def test_dependencies_that_cannot_be_read(text: str, position: int, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        Dependency.parse(text)
    assert str(refusal.value).split("\n")[2].index("^") - 4 == position
    assert str(refusal.value).endswith("Write `zipcode -> county`.")


@pytest.mark.parametrize("key", ["rules", "dependencies", "coincidences"])
def test_a_policy_says_which_line(key: str) -> None:
    end = " : l=2" if key == "rules" else ""
    with pytest.raises(PolicyError, match=rf"line 8, {key}\.1: .*missing here"):
        Policy.parse(GOOD + f"{key}:\n  - 'age -> disease{end}'\n  - 'age, -> disease{end}'\n")


@pytest.mark.parametrize("key", ["dependencies", "coincidences"])
def test_unknown_attributes(key: str) -> None:
    with pytest.raises(
        PolicyError, match=rf"line 7, {key}\.0: 'wrad' is not a published attribute. Did you mean 'ward'"
    ):
        Policy.parse(GOOD + f"{key}:\n  - age -> wrad\n")
    with pytest.raises(PolicyError, match="'age2' is not a published attribute"):
        Policy.parse(GOOD.replace("plain", "identifier") + f"{key}:\n  - age2 -> age\n")


def test_an_identifier_is_neither_known_nor_decided() -> None:
    hidden = GOOD.replace("plain", "identifier")
    with pytest.raises(PolicyError, match="'ward' is an identifier, which is never published"):
        Policy.parse(hidden + "rules: ['ward -> disease : l=2']\n")
    with pytest.raises(PolicyError, match="'ward' is not a published attribute"):
        Policy.parse(hidden + "dependencies: [age -> ward]\n")


def test_declared_dependencies_that_leave_a_rule_open() -> None:
    with pytest.raises(PolicyError, match=r"cannot be kept: dependencies say that the left side decides the right"):
        Policy.parse(GOOD + "dependencies: [age -> ward, ward -> disease]\n")
    Policy.parse(GOOD + "coincidences: [age -> ward, ward -> disease]\n")


def test_no_rule_at_all() -> None:
    policy = Policy.parse("version: 1\nattributes: {age: {role: quasi}}\n")
    assert policy.in_force() == []
    explanation = explain(policy)
    assert (explanation.rules, explanation.impossible) == ((), [])
    assert [vertex.name for vertex in explanation.attributes] == ["age"]
    with pytest.raises(PolicyError, match=r"the policy names no attribute and no rule\. Run `pluralis init"):
        Policy.parse("version: 1\nrules: []\n")


ODD = ["a, b", "l: 2", 'the "best"', "x -> y", " padded ", "<b>", "[red]", "Größe", "-", "->"]


@pytest.mark.parametrize("name", ODD)
def test_quoted_names_come_back(name: str) -> None:
    rule = Rule(knows=(name, "z z"), protects="s", l=3)
    assert Rule.parse(str(rule)) == rule
    turned = Rule(knows=("z",), protects=name, l=3)
    assert Rule.parse(str(turned)) == turned
    known = Dependency(knows=("z",), decides=name)
    assert Dependency.parse(str(known)) == known


def test_quotes_in_a_policy_file() -> None:
    rules = ['"a, b", c -> "x -> y" : l=3', '"say ""hi""" -> c : l=2']
    policy = Policy.parse(f"version: 1\nrules: {rules}\n")
    assert policy.rules[0].knows == ("a, b", "c")
    assert policy.rules[0].protects == "x -> y"
    assert policy.rules[1].knows == ('say "hi"',)
    assert Policy.parse(policy.to_yaml()).rules == policy.rules
