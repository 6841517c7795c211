"""Policies and hierarchies that are not well formed: each refused with its line and a remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pluralis.errors import InputError, PolicyError
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.table.encoding import encode
from pluralis.table.hierarchies import read_hierarchy
from support.sample_tables import PATIENTS, patients_policy, policy_of

GOOD = """\
version: 1
attributes:
  age:     {role: quasi, type: number}
  disease: {role: sensitive, l: 2}
"""


def refused(text: str, match: str, name: str = "policy.yaml", folder: Path | None = None) -> None:
    if folder is not None:
        (folder / name).write_text(text)
    with pytest.raises(PolicyError, match=match):
        Policy.parse(text) if folder is None else Policy.read(folder / name)


@pytest.mark.parametrize("l", ["1", "0", "-1", "2.5", '"three"', "three", "true", "null", "1e3"])
def test_30_l_that_is_no_whole_number_from_two(l: str) -> None:
    refused(GOOD.replace("l: 2", f"l: {l}"), "line 4, attributes.disease")


def test_34_sensitive_and_quasi_at_once() -> None:
    refused(GOOD + "rules:\n  - disease -> age : l=2\n", "line 6.*elsewhere")
    refused(GOOD.replace("role: sensitive, l: 2", "role: quasi, l: 2"), "l belongs to sensitive")
    refused(GOOD + "  age: {role: sensitive, l: 2}\n", "line 5: the key 'age' stands twice")


def test_35_a_rule_with_an_attribute_on_both_sides() -> None:
    refused(GOOD + "rules:\n  - age, disease -> disease : l=2\n", "both sides.*remove it")


@pytest.mark.parametrize(
    ("rule", "message"),
    [("age -> disease", "l=2"), ("age disease", "line 6.*no arrow"), ("-> disease : l=2", "missing here"),
     ("age -> : l=2", "missing here"), ("age -> disease : l=one", "l=2"), ("age -> disease : l=1", "l=2")],
)  # fmt: skip
def test_rules_that_cannot_be_read(rule: str, message: str) -> None:
    refused(GOOD + f"rules:\n  - '{rule}'\n", message)


def test_rules_stand_for_roles() -> None:
    policy = Policy.parse("version: 1\nrules:\n  - age, sex -> disease : l=3\n  - sex -> disease : l=5\n")
    assert (policy.quasi, policy.sensitive, policy.l("disease")) == (["age", "sex"], ["disease"], 5)


def test_36_unknown_keys_and_columns() -> None:
    refused(GOOD + "publsh: {}\n", "line 5.*unknown key 'publsh'. Did you mean 'publish'")
    refused(GOOD.replace("type:", "typ:"), "line 3.*Did you mean 'type'")
    refused(GOOD + "adversaries: [{knows: [agee]}]\n", "Did you mean 'age'")
    with pytest.raises(PolicyError, match=r"no such column. Did you mean 'agge'"):
        encode(pl.DataFrame({"agge": [1], "disease": ["x"]}), Policy.parse(GOOD))
    with pytest.raises(PolicyError, match=r"says nothing about 'ward'.*others: drop"):
        encode(pl.DataFrame({"age": [1], "disease": ["x"], "ward": ["w"]}), Policy.parse(GOOD))


@pytest.mark.parametrize("knows", ["disease, job", "age, disease, job"])
def test_an_adversary_from_whom_nothing_is_left_to_protect(knows: str) -> None:
    text = GOOD + f"  job:     {{role: sensitive, l: 2}}\nadversaries:\n  - {{knows: [{knows}]}}\n"
    refused(text, "line 7, adversaries.0: .*disease, job.*nothing is left to protect.* out of `knows`, or remove")
    Policy.parse(text.replace(knows, "age, disease"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a;x;*\nb;x;*\na;y;*\n", "line 3: the leaf 'a' stands on line 1 too"),
        ("a;x;*\nb;y;*\nc;x;all\n", "line 3: a second root"),
        ("a;x;*\nb;*\n", "line 2: 2 fields where line 1 has 3"),
        ("a;x;p;*\nb;x;q;*\n", "line 2: 'x' is below 'q' here and below 'p' on line 1"),
        ("a;b;*\nb;a;*\n", "a cycle or an ambiguous label"),
        ("a;;*\n", "line 1: an empty field"),
        ("a;*;*\n", "below the root"),
        ("", "is empty"),
        ("a\nb\n", "without a wider value"),
        ('"a;x;*\n', "quotes"),
    ],
)
def test_39_hierarchies_that_are_no_trees(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "tree.csv").write_text(text)
    with pytest.raises(PolicyError, match=message):
        read_hierarchy(tmp_path / "tree.csv")


@pytest.mark.parametrize("separator", [";", ","])
def test_hierarchies_with_either_separator(tmp_path: Path, separator: str) -> None:
    (tmp_path / "tree.csv").write_text("\ufeff" + "b;x;*\na;x;*\nc;y;*\n".replace(";", separator), encoding="utf-8")
    assert read_hierarchy(tmp_path / "tree.csv").leaves == ("a", "b", "c")


def test_39_a_missing_leaf_is_named(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("F;*\n")
    policy = patients_policy()
    data = policy.model_dump(by_alias=True, exclude_unset=True)
    data["attributes"]["gender"]["hierarchy"] = {"file": "tree.csv"}
    with pytest.raises(InputError, match=r"tree.csv has no line for 'M', which 'gender' holds. Add it."):
        publish(PATIENTS, Policy.from_dict(data, folder=tmp_path), key=Key.test())
    data["attributes"]["gender"]["hierarchy"] = {"file": "nowhere.csv"}
    with pytest.raises(PolicyError, match=r"nowhere.csv.*beside the policy"):
        publish(PATIENTS, Policy.from_dict(data, folder=tmp_path), key=Key.test())


def test_a_place_is_named_as_it_is_written() -> None:
    refused(
        GOOD.replace("type: number", "type: number, hierarchy: {intervals: [0]}"), "age.hierarchy.intervals.0: Input"
    )


def test_intervals_must_nest() -> None:
    refused(GOOD.replace("type: number", "type: number, hierarchy: {intervals: [5, 12]}"), "12 is not a multiple of 5")


def test_40_yaml_is_read_strictly(tmp_path: Path) -> None:
    refused(GOOD + "version: 1\n", "stands twice")
    refused(GOOD.replace("l: 2", "l: &two 2"), "line 4: anchors and aliases")
    refused(GOOD.replace("l: 2", "l: !!int 2"), "line 4: tags")
    refused(GOOD.replace("l: 2", "l: " + "9" * 5000), "5000 digits")
    refused(GOOD + "x: [" * 400 + "]" * 400, "nested too deeply|unknown key")
    refused("#" * (1 << 20) + "\n" + GOOD, "larger than 1 MiB", folder=tmp_path)
    refused("a: [1\nb: 2\n", "line 2")
    refused("- 1\n- 2\n", "holds no policy")
    refused("", "holds no policy")
    refused('{"version": 1, "version": 1}', "stands twice", "policy.json", tmp_path)
    refused('{"version": NaN}', "NaN", "policy.json", tmp_path)
    refused('{"version": 1,}', "line 1", "policy.json", tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"version: 1 # caf\xe9\n")
    with pytest.raises(PolicyError, match="not UTF-8"):
        Policy.read(tmp_path / "latin.yaml")


def test_40_no_is_a_word() -> None:
    policy = Policy.parse(GOOD + "missing: [NO, no, off, 01234]\n")
    assert policy.missing == ["NO", "no", "off", "01234"]


def test_json_and_yaml_say_the_same(tmp_path: Path) -> None:
    policy = Policy.parse(GOOD + "rules:\n  - age -> disease : l=3\nk: 3\n")
    (tmp_path / "policy.json").write_text(policy.model_dump_json(by_alias=True, exclude_unset=True))
    assert Policy.read(tmp_path / "policy.json").model_dump() == policy.model_dump()
    assert Policy.parse(policy.to_yaml()).model_dump() == policy.model_dump()


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ({"role": "sensitive", "l": 2, "hierarchy": {"mask": "right"}}, "only quasi-identifiers are generalized"),
        ({"role": "sensitive", "l": 2, "weight": 2}, "weight"),
        ({"role": "sensitive", "l": 2, "model": "recursive"}, "needs c"),
        ({"role": "sensitive", "l": 2, "c": 2}, "model: recursive"),
        ({"role": "sensitive", "l": 2, "bin": 5}, "type: number"),
        ({"role": "quasi", "type": "number", "hierarchy": {"mask": "right"}}, "mask hides characters"),
        ({"role": "quasi", "hierarchy": {"intervals": [5]}}, "type: number"),
        ({"role": "quasi", "if_missing": "drop"}, "its own category"),
        ({"role": "sensitive"}, "needs l"),
    ],
)
def test_attributes_that_contradict_themselves(attribute: dict[str, object], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        policy_of({"x": attribute})


def test_a_published_person_column_is_refused() -> None:
    with pytest.raises(PolicyError, match="identifier"):
        policy_of({"x": {"role": "quasi"}, "s": {"role": "sensitive", "l": 2}}, person="x")


SECRET = {"role": "sensitive", "l": 2}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"missing": [f"m{i}" for i in range(150)]}, "at most 100 marks"),
        ({"missing": ["m" * 150]}, "up to 100 letters"),
        ({"missing": ["\u200b", ""]}, "that can be seen"),
        (
            {"attributes": {"disease": {"role": "sensitive", "l": 2, "if_missing": {"as": "u" * 150}}}},
            "up to 100 letters",
        ),
        ({"attributes": {"disease": {"role": "sensitive", "l": 2}, "d\u0456sease": {"role": "plain"}}}, "reads like"),
        ({"attributes": {"disease": {"role": "sensitive", "l": 2}, "q" * 300: {"role": "quasi"}}}, "longer than 200"),
    ],
)
def test_what_no_reader_would_accept_is_refused_before_anything_is_published(
    change: dict[str, Any], message: str
) -> None:
    names = [*change.get("attributes", {"disease": SECRET})]
    table = pl.DataFrame({"age": range(6)} | {name: ["flu", "hiv"] * 3 for name in names})
    attributes = {"age": {"role": "quasi", "type": "number"}, "disease": SECRET}
    data = {"version": 1, **change, "attributes": attributes | change.get("attributes", {})}
    with pytest.raises(PolicyError, match=message):
        publish(table, Policy.from_dict(data), key=Key.test())
