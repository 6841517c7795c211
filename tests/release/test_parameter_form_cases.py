"""Parameters of a manifest, one fault at a time, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from pluralis.release.columns import ColumnInfo
from pluralis.release.kinds import kind_named
from pluralis.release.manifest import Manifest
from pluralis.release.parameter_form import attributes_named, parameter_problems
from pluralis.release.recodings import LETTERS, MARKS
from support.manifests import columns, manifest

COLUMNS = columns(age="quasi number", sex="quasi", ward="plain", ill="sensitive", group="group")
ILL = ColumnInfo(name="ill", role="sensitive", type="text", attribute="ill", domain=("flu", "hiv"))


def made(*shown: ColumnInfo, kind: str = "generalized", **parameters: Any) -> Manifest:
    tables = {"microdata": (*COLUMNS, *shown)}
    links = {"linked": True} if kind in ("generalized", "bucketized", "decomposed") else {}
    given = {"l": {"ill": 2}, "options": {}, **links, **parameters}
    typed = kind_named(kind).parameters.model_validate(given)
    return manifest(kind, tables, rows=4).model_copy(update={"parameters": typed})


def said(*shown: ColumnInfo, **parameters: Any) -> list[str]:
    return list(parameter_problems(made(*shown, **parameters)))


def test_nothing_is_said_where_nothing_is_wrong() -> None:
    assert said() == []
    assert (
        said(
            case=["ill", "ward"],
            missing_as={"ill": "unknown"},
            models={"ill": "recursive 1.5"},
            weights={"age": 2.0, "sex": 0.5},
            adversaries=[["age"], ["age", "ward"]],
            rules=["age -> ill : l=2"],
            missing=["", "?"],
            options={"mode": "relaxed", "refine": 3, "share": 0.5, "none": None, "slices": [["ill"], "age"]},
        )
        == []
    )


def test_the_attributes_of_a_release_are_those_of_its_columns_and_of_what_it_protects() -> None:
    assert attributes_named(made(l={"ill": 2, "pay": 3})) == {"age", "sex", "ward", "ill", "pay"}
    renamed = ColumnInfo(name="label", role="sensitive", type="text", attribute="wage")
    assert attributes_named(made(renamed)) == {"age", "sex", "ward", "ill", "wage"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("case", ["nobody"]),
        ("missing_as", {"nobody": "unknown"}),
        ("models", {"nobody": "distinct"}),
        ("models", {"ward": "distinct"}),  # not protected
        ("weights", {"nobody": 2.0}),
        ("weights", {"ward": 2.0}),  # no quasi-identifier
        ("recodings", {"nobody": {"top": 3}}),
    ],
)
def test_names_that_are_no_attributes(key: str, value: Any) -> None:
    name = next(iter(value))
    assert f"parameters: {key} speaks of {name!r}, which is no such attribute of the release." in said(**{key: value})


def test_a_domain_is_of_a_protected_attribute() -> None:
    assert said(kind="bucketized", domains={"ill": ILL}) == []
    assert said(kind="bucketized", domains={"ward": ILL}) == [
        "parameters: domains speaks of 'ward', which is no such attribute of the release."
    ]


def test_a_name_is_cut_after_forty_letters() -> None:
    assert said(case=["x" * 60]) == [
        f"parameters: case speaks of {'x' * 40!r}, which is no such attribute of the release."
    ]
    assert said(options={"X" * 60: 1}) == [f"parameters: {'X' * 40!r} is not an option that a method has."]
    assert said(models={"ill": "y" * 60}) == [f"parameters: {'y' * 40!r} is no model."]


def test_the_primary_attribute_is_a_protected_one() -> None:
    assert said(kind="decomposed", primary="ill") == []
    assert len(said(kind="decomposed", primary="ward")) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"Refine": 1},
        {"refine": "Every claim holds"},
        {"refine": 2**53},
        {"refine": -(2**53)},
        {"refine": float("inf")},
        {"refine": ["nobody"]},
        {"refine": [["ill", "nobody"]]},
        {"refine": [3]},
        {"refine": {"a": 1}},
        {"x" * 41: 1},
        {"refine": "x" * 41},
    ],
)
def test_what_no_method_has_as_an_option(options: dict[str, Any]) -> None:
    (name,) = options
    assert said(options=options) == [f"parameters: {name[:40]!r} is not an option that a method has."]


@pytest.mark.parametrize("value", [2**53 - 1, 1 - 2**53, "x" * 40, "a-1", True, 1e300, [], [["age", "ill"], "sex"]])
def test_what_may_be_an_option(value: Any) -> None:
    assert said(options={"x" * 40: value}) == []


@pytest.mark.parametrize("model", ["frequency", "recursive", "recursive x", "distinct ", "recursive " + "1" * 25])
def test_what_is_no_model(model: str) -> None:
    assert said(models={"ill": model}) == [f"parameters: {model[:40]!r} is no model."]


@pytest.mark.parametrize("model", ["distinct", "entropy", "unique-distinct", "recursive 2", "recursive " + "1" * 24])
def test_what_is_a_model(model: str) -> None:
    assert said(models={"ill": model}) == []


ORDER = "parameters: adversaries are not listed once, in order."
KNOWS = "parameters: an adversary knows something that is no attribute of the release, or knows it twice."


@pytest.mark.parametrize(
    ("adversaries", "problems"),
    [
        ([["sex"], ["age"]], [ORDER]),
        ([["age"], ["age"]], [ORDER]),
        ([["sex", "age"]], [KNOWS]),
        ([["age", "age"]], [KNOWS]),
        ([["age", "nobody"]], [KNOWS]),
        ([["ward"], ["age", "nobody"]], [ORDER, KNOWS]),
    ],
)
def test_adversaries(adversaries: list[list[str]], problems: list[str]) -> None:
    assert said(adversaries=adversaries) == problems


@pytest.mark.parametrize("key", ["case", "missing", "rules"])
def test_lists_hold_nothing_twice(key: str) -> None:
    assert said(**{key: ["ill", "ill"]}) == [f"parameters: {key} says something twice."]


def test_dependencies_hold_nothing_twice() -> None:
    problems = said(kind="multi", rules=[], dependencies=["age -> sex", "age -> sex"])
    assert problems == ["parameters: dependencies says something twice."]


def test_marks_of_missing_values_are_few_and_short() -> None:
    words = f"parameters: missing values have more than {MARKS} marks, or one of more than {LETTERS} letters."
    marks = [str(i) for i in range(MARKS)]
    assert said(missing=marks) == []
    assert said(missing=[*marks, "one more"]) == [words]
    assert said(missing=marks, missing_as={"ill": "unknown"}) == [words]
    assert said(missing=["x" * LETTERS]) == []
    assert said(missing=["x" * (LETTERS + 1)]) == [words]
    assert said(missing_as={"ill": "x" * (LETTERS + 1)}) == [words]


def test_values_stand_in_one_order() -> None:
    def stage(
        *values: str | None, ordered: bool = True, name: str = "stage", attribute: str | None = None
    ) -> ColumnInfo:
        return ColumnInfo(
            name=name, role="plain", type="text", domain=values, attribute=attribute, ordered=True if ordered else None
        )

    one, other = stage("a", "b", None), stage("b", "c")
    assert said(one, other) == []
    assert said(one, stage("a", "b", ordered=False)) == [
        "parameters: 'stage' is ordered in one place and not in another."
    ]
    assert said(stage("b", "a", ordered=False), stage("a", "b", ordered=False)) == []
    turned = ["parameters: the values of 'stage' stand in different orders."]
    assert said(one, stage("b", "a")) == turned
    assert said(one, other, stage("c", "a")) == turned
    assert said(stage("a", "b", name="x", attribute="ill"), stage("b", "a", name="y", attribute="ill")) == [
        "parameters: the values of 'ill' stand in different orders."
    ]
    ill = ILL.model_copy(update={"ordered": True})
    assert said(stage("hiv", "flu", attribute="ill"), kind="bucketized", domains={"ill": ill}) == [
        "parameters: the values of 'ill' stand in different orders."
    ]
