"""A policy's text changed by lines: what is not touched stays, with its comments."""

from __future__ import annotations

import pytest

from pluralis.policy.strict_yaml import parse_document
from pluralis.profiling.patching import patched, without_doubles

TEXT = """\
# decided by the board
version: 1
attributes:
  age:   {role: quasi, type: number}  # in years
  # the next one was asked for
  pay:   {role: sensitive, l: 9}  # wages
  sick:
    role: sensitive
    l: 4  # as before
rules:
  - age -> pay : l=2
  - sex -> pay : l=2  # later
publish: {method: bsgi}
"""


def changed(**new: object) -> dict[str, object]:
    return {**parse_document(TEXT).data, **new}


def test_only_the_line_of_what_changed_is_changed() -> None:
    data = changed()
    data["attributes"] = {**parse_document(TEXT).data["attributes"], "pay": {"role": "sensitive", "l": 4}}
    assert patched(TEXT, "p.yaml", data) == TEXT.replace("l: 9", "l: 4")


def test_a_mapping_in_lines_keeps_them() -> None:
    data = changed()
    data["attributes"] = {**parse_document(TEXT).data["attributes"], "sick": {"role": "sensitive", "l": 2}}
    assert patched(TEXT, "p.yaml", data) == TEXT.replace("    l: 4  # as before", "    l: 2  # as before")


def test_a_column_is_renamed_where_it_stands() -> None:
    attributes = {
        ("wage" if name == "pay" else name): keys for name, keys in parse_document(TEXT).data["attributes"].items()
    }
    assert "  wage:  {role: sensitive, l: 9}  # wages\n" in patched(TEXT, "p.yaml", changed(attributes=attributes))


def test_an_item_of_a_list_goes_and_others_stay() -> None:
    rules = parse_document(TEXT).data["rules"][:1]
    text = patched(TEXT, "p.yaml", changed(rules=rules))
    assert text == TEXT.replace("  - sex -> pay : l=2  # later\n", "")


@pytest.mark.parametrize("name", ["p.yaml", "p.json"])
def test_what_comes_of_it_is_what_was_asked_for(name: str) -> None:
    data = changed(
        others="drop", missing=["", "?"], rules=["age -> sick : l=3"], publish={"method": "mondrian", "suppress": 0.1}
    )
    text = TEXT if name == "p.yaml" else "{}"
    assert parse_document(patched(text, name, data), name).data == data


def test_a_policy_in_one_line_is_written_anew() -> None:
    assert parse_document(patched("{version: 1, k: 2}", "p.yaml", {"version": 1, "k": 3})).data == {
        "version": 1,
        "k": 3,
    }


def test_the_second_of_two_keys_goes_and_lines_stay() -> None:
    text = "a: {b: 1, b: 2}\nc: 1\na:\n  d: 1\n  e: 2\nf: 1\n"
    cleaned, twice = without_doubles(text)
    assert [(one.key, one.line) for one in twice] == [("b", 1), ("a", 3)]
    assert parse_document(cleaned).data == {"a": {"b": 1}, "c": 1, "f": 1}
    assert cleaned.count("\n") == text.count("\n")
