"""The keys of a policy that recode: what is refused, with its line and what to do, and what is written again."""

from __future__ import annotations

import pytest

from pluralis.errors import PolicyError
from pluralis.policy.attributes import Attribute
from pluralis.policy.policy import Policy

GOOD = """\
version: 1
attributes:
  age:     {{role: quasi, {age}}}
  zip:     {{role: quasi, {zip}}}
  disease: {{role: sensitive, l: 2, {disease}}}
"""


def policy(age: str = "type: number", zip: str = "weight: 1", disease: str = "model: frequency") -> str:
    return GOOD.format(age=age, zip=zip, disease=disease)


@pytest.mark.parametrize(
    ("text", "match"),
    [(policy(age="top: 90"), "line 3, attributes.age.top: top is for numbers. Add type: number"),
     (policy(age="type: number, top: old"), "line 3, attributes.age.top: .*Write a number"),
     (policy(age="type: number, top: .inf"), "line 3, attributes.age.top"),
     (policy(age="type: number, top: 18, bottom: 18"), "line 3, attributes.age.bottom: 18 is not below top: 18"),
     (policy(age="type: number, rare: {below: 5}"), "line 3, attributes.age.rare: rare is for text"),
     (policy(age="type: number, hierarchy: {icd: 9}"), "line 3, attributes.age.hierarchy: ICD-9 is for text"),
     (policy(age="type: number, missing: '?'"), "line 3, attributes.age.missing: .*Write a list"),
     (policy(age="type: number, missing: ['?', '?']"), "line 3, attributes.age.missing: a mark stands twice"),
     (policy(zip="hierarchy: {columns: []}"), "line 4, attributes.zip.hierarchy.columns"),
     (policy(zip="hierarchy: {columns: [zip]}"), "line 4, .*name those that 'zip' decides"),
     (policy(zip="hierarchy: {columns: [county, county]}"), "line 4, .*a column stands twice"),
     (policy(zip="hierarchy: {columns: [county, disease]}"), "line 4, .*'disease' is sensitive.*Leave it out"),
     (policy(zip="hierarchy: {colums: [county]}"), r"line 4, attributes.zip.hierarchy: write .*\{columns: "),
     (policy(zip="hierarchy: {icd: 11}"), "line 4, attributes.zip.hierarchy.icd: .*9 or 10, not 11"),
     (policy(zip="hierarchy: {date: [year, month]}"), "line 4, .*the shortest first"),
     (policy(zip="hierarchy: {date: [week]}"), "line 4, attributes.zip.hierarchy.date.0: .*Write one of these"),
     (policy(disease="rare: 20"), r"line 5, attributes.disease.rare: .*in braces"),
     (policy(disease="rare: {as: other}"), "line 5, attributes.disease.rare.below: .*required; add it"),
     (policy(disease="rare: {below: 1}"), "line 5, attributes.disease.rare.below: .*Write that or more"),
     (policy(disease="rare: {below: 5, ass: x}"), "line 5, .*rare.ass: unknown key 'ass'. Did you mean 'as'"),
     (policy(disease="rare: {below: 5, along: {intervals: [5]}}"), "line 5, .*rare: intervals are for numbers"),
     (policy(disease="rare: {below: 5, along: {icd: 8}}"), "line 5, attributes.disease.rare.along.icd"),
     (policy() + "  id: {role: identifier, rare: {below: 5}}\n", "line 6, attributes.id.rare: .*never published"),
     (policy() + "  ward: {role: plain, rare: {below: 5}}\n", "line 6, attributes.ward.rare: .*plain")],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_its_line_and_remedy(text: str, match: str) -> None:
    with pytest.raises(PolicyError, match=match):
        Policy.parse(text)


def test_a_policy_of_keywords_takes_the_same_keys_and_is_written_again() -> None:
    made = Policy(
        quasi={"age": {"type": "number", "top": 90, "bottom": 18, "missing": ["?"]},
               "zip": {"hierarchy": {"columns": ["zip", "county"]}}, "day": {"hierarchy": {"date": ["month", "year"]}}},
        sensitive={"disease": {"l": 3, "rare": {"below": 20, "as": "rest", "along": {"icd": 9}}}},
    )  # fmt: skip
    assert Policy.parse(made.to_yaml()) == made
    assert made.needed == ["age", "day", "disease", "zip", "county"]
    shown = repr(made)
    for words in (
        "bottom 18, top 90",
        "missing: '?'",
        "columns zip, county",
        "date month, year",
        "rare below 20 along ICD-9 as rest",
    ):
        assert words in shown


def test_a_column_of_wider_values_needs_no_role_and_identifiers_are_none() -> None:
    Policy(quasi={"zip": {"hierarchy": {"columns": ["county"]}}}, sensitive={"disease": 2}).check_columns(
        ["zip", "county", "disease"]
    )
    with pytest.raises(PolicyError, match="'name' is identifier"):
        Policy(quasi={"zip": {"hierarchy": {"columns": ["name"]}}}, sensitive={"disease": 2}, identifier=["name"])
    with pytest.raises(PolicyError, match="'who' tells people apart"):
        Policy(quasi={"zip": {"hierarchy": {"columns": ["who"]}}}, sensitive={"disease": 2}, person="who")


def test_what_is_asked_is_said_in_few_words() -> None:
    assert Attribute.model_validate({"rare": {"below": 9}}).brief() == "rare below 9 as other"
