"""Every problem of a policy at once, each with its line and remedy, and a policy without them that publishes."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import pluralis as pls
from pluralis.assembling.building import build
from pluralis.policy.strict_yaml import parse_document
from pluralis.profiling import table_problems
from support.cli_runner import caller

DRAW = random.Random(3)
ROWS = 600
TABLE = pl.DataFrame({
    "patient": [f"p{i % 450}" for i in range(ROWS)],
    "age": ["?" if i % 30 == 0 else str(DRAW.randint(18, 90)) for i in range(ROWS)],
    "zip": [DRAW.choice(["10011", "10012", "10021"]) for _ in range(ROWS)],
    "sex": [DRAW.choice("fm") for _ in range(ROWS)],
    "education": [DRAW.choice(["school", "college", "abroad"]) for _ in range(ROWS)],
    "disease": [DRAW.choice(["flu", "hiv", "gout", "flu", "asthma"]) for _ in range(ROWS)],
    "drug": [None if i % 25 == 0 else DRAW.choice("abcd") for i in range(ROWS)],
    "charge": [DRAW.choice(["5", "5.0", "7", "9", "12", "8"]) for _ in range(ROWS)],
    "steps": [str(DRAW.randint(1, 9_999)) for _ in range(ROWS)],
    "note": ["x"] * ROWS,
    "ill": ["Yes" if DRAW.random() < 0.1 else "No" for _ in range(ROWS)],
})  # fmt: skip
PLANTED = """\
# what our board decided
version: 1
attributes:
  patient:   {role: identifier}
  age:       {role: quasi, type: number}   # as of admission
  zipp:      {role: quasi, hierarchy: {mask: right}}
  sex:       {rol: quasi}  # f or m
  education: {role: quasi, hierarchy: {file: education.csv}}
  disease:   {role: sensitive, l: 9}  # the main one
  drug:      {role: sensitive, l: 3}
  charge:    {role: sensitive, l: 2}
  steps:     {role: decide}  # ask Ann
  ill:       {role: sensitive, at_most: {"Yess": 1/4}}
  sex:       {role: quasi}
person: patient
publish:
  method: bsgj
"""
KINDS = {  # what is planted, in which group and on which line
    "stands twice": ("policy", 14),
    "unknown key 'rol'": ("policy", 7),
    "no method 'bsgj'": ("policy", 16),
    "no such column": ("columns", 6),
    "says nothing about 'note'": ("columns", 2),
    "'steps' is not decided": ("columns", 12),
    "row 1 holds '?'": ("values", 5),
    "education.csv has no line for 'abroad'": ("values", 8),
    "'drug' is sensitive and missing": ("values", 10),
    "'charge' holds '5' and '5.0'": ("values", 11),
    "no row holds 'Yess'": ("values", 13),
    "'disease' cannot be 9-diverse": ("feasibility", 9),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    TABLE.write_csv(tmp_path / "table.csv")
    (tmp_path / "policy.yaml").write_text(PLANTED)
    (tmp_path / "education.csv").write_text("school;*\ncollege;*\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def pluralis(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    return caller(capsys, monkeypatch)


def test_every_planted_problem_is_listed_once_with_its_line(here: Path) -> None:
    check = pls.check_policy("table.csv", "policy.yaml")
    assert len(check.problems) == len(KINDS) >= 10
    for words, (group, line) in KINDS.items():
        (problem,) = (one for one in check.problems if words in one.message)
        assert (problem.group, f"line {line}" in str(problem)) == (group, True), str(problem)
        assert problem.change, words
    assert check.exit_code == 3
    assert not check.feasible


def test_the_mended_policy_publishes_and_keeps_what_was_right(pluralis: Callable[..., Any]) -> None:
    ran = pluralis("check", "table.csv", "--policy", "policy.yaml", "--fix", "fixed.yaml")
    assert (ran.code, ran.err) == (3, "")
    assert all(words in ran.out for words in KINDS)
    text = Path("fixed.yaml").read_text()
    kept = (
        "# what our board decided",
        "  patient:   {role: identifier}",
        "  age:       {role: quasi, type: number}   # as of admission",
        "  zip:       {role: quasi, hierarchy: {mask: right}}",
        "  sex:       {role: quasi}  # f or m",
        "  disease:   {role: sensitive, l: 2}  # the main one",
        "  steps:     {role: identifier}  # ask Ann",
        '  ill:       {role: sensitive, at_most: {"Yes": 1/4}}',
    )
    assert [line for line in kept if line not in text.splitlines()] == []
    ran = pluralis("publish", "table.csv", "--policy", "fixed.yaml", "--out", "release", "--no-attack")
    assert ran.code == 0, ran.err
    assert pluralis("check", "table.csv", "--policy", "fixed.yaml").code == 0
    again = pluralis("check", "table.csv", "--policy", "policy.yaml", "--fix", "fixed.yaml")
    assert (again.code, "exists already" in again.err) == (2, True)


@pytest.mark.parametrize("command", [["publish", "--out", "release"], ["compare"]])
def test_whoever_publishes_or_compares_meets_all_of_them(command: list[str], pluralis: Callable[..., Any]) -> None:
    ran = pluralis(command[0], "table.csv", "--policy", "policy.yaml", *command[1:])
    assert ran.code == 3
    assert [words for words in KINDS if words not in ran.err] == []
    assert not Path("release").exists()


def test_one_problem_is_the_refusal_that_it_was(pluralis: Callable[..., Any]) -> None:
    Path("one.yaml").write_text(
        "version: 1\nothers: drop\nattributes:\n  sex: {role: quasi}\n  disease: {role: sensitive, l: 9}\n"
    )
    ran = pluralis("publish", "table.csv", "--policy", "one.yaml", "--out", "release")
    assert (ran.code, ran.err.startswith("pluralis: 'disease' cannot be 9-diverse")) == (3, True)


def test_what_no_policy_mends_is_listed_and_nothing_is_written(pluralis: Callable[..., Any]) -> None:
    TABLE.with_columns(patient=pl.lit(None, pl.String)).write_csv("table.csv")
    ran = pluralis("check", "table.csv", "--policy", "policy.yaml", "--fix", "fixed.yaml")
    assert ran.code == 3
    assert "'patient' is missing in 600 rows" in ran.out
    assert not Path("fixed.yaml").exists()


def test_the_problems_as_json(pluralis: Callable[..., Any]) -> None:
    ran = pluralis("check", "table.csv", "--policy", "policy.yaml", "--json")
    data = json.loads(ran.out)
    assert len(data["problems"]) == len(KINDS)
    assert pls.Policy.parse(data["mended"]).sensitive == ["charge", "disease", "drug", "ill"]


def test_a_good_policy_has_none(here: Path) -> None:
    policy = pls.Policy(quasi=["sex", "zip"], sensitive={"disease": 2}, others="drop")
    check = pls.check_policy(TABLE, policy)
    assert (check.problems, check.mended, check.exit_code, check.feasible) == ((), None, 0, True)


DISEASE = "disease: {role: sensitive, l: 2}"
CONTRADICTIONS = {
    "attributes: {age: {role: quasi, l: 3}, %s}": "l belongs to sensitive",
    "attributes: {age: {role: quasi}, disease: {role: sensitive}}": "a sensitive attribute needs l",
    "attributes: {age: {role: quasi}, sex: {}, %s}": "needs a role",
    "attributes: {age: {role: quasi}, disease: {role: sensitive, l: 1}}": "greater than or equal to 2",
    "attributes: {age: {role: quasy}, %s}": "'quasy'",
    "attributes: {disease: {role: quasi}}\nrules: ['age -> disease : l=2']": "protected by this rule",
    "attributes: {age: {role: quasi}, %s}\nrules: ['age disease']": "rules.0",
    "attributes: {sex: {role: quasi}, %s}\nadversaries: [{knows: [s]}]": "not a published",
    "attributes: {sex: {role: quasi}, age: {role: quasi}, %s}\nperson: age": "tells people apart",
    "attributes: {age: {role: quasi}, %s}\npublish: {suppress: 2}": "suppress",
    "attributes: {age: {role: quasi, hierarchy: {mask: up}}, %s}": "mask",
    "attributes: {sex: {role: quasi}, %s}\npublish: {options: {refin: 3}}": "no option",
    "attributes: {sex: {role: quasi}, %s}\nk: 9999": "k: 9999",
}


@pytest.mark.parametrize(("text", "words"), CONTRADICTIONS.items(), ids=CONTRADICTIONS.values())
def test_a_contradiction_is_listed_and_mended(text: str, words: str, here: Path) -> None:
    Path("policy.yaml").write_text(f"version: 1\nothers: drop\n{text.replace('%s', DISEASE)}\n")
    check = pls.check_policy("table.csv", "policy.yaml")
    assert any(words in problem.message for problem in check.problems), check
    assert check.mended is not None, check
    mended = pls.Policy.parse(check.mended)
    assert pls.publish("table.csv", mended, attacks=False).manifest.rows == ROWS


def test_what_could_mislead_is_said_and_not_refused(here: Path) -> None:
    policy = pls.Policy(quasi=["sex"], plain=["drug", "note"], sensitive={"disease": 2}, others="drop")
    check = pls.check_policy(TABLE, policy)
    (problem,) = check.problems
    assert (problem.group, problem.code, "'drug' is published as it is" in problem.message) == ("misleading", 0, True)
    assert check.feasible


def test_a_plain_column_that_finds_rows_or_goes_with_a_sensitive_one_could_mislead(here: Path) -> None:
    procedure = pl.Series([f"of {one}" if DRAW.random() < 0.8 else "none" for one in TABLE["disease"]])
    table = TABLE.with_columns(procedure=procedure, wave=pl.Series(range(ROWS)) * 7 % 599, ward=pl.col("zip"))
    policy = pls.Policy(quasi=["sex"], plain=["procedure", "wave", "ward"], sensitive={"disease": 2}, others="drop")
    problems = pls.check_policy(table, policy).problems
    assert all((problem.group, problem.code) == ("misleading", 0) for problem in problems)
    messages = [problem.message for problem in problems]
    assert any("'wave'" in text and "599 different values in 600 rows" in text for text in messages)
    assert any(re.search(r"'procedure' .* goes closely with disease \(0\.[789]\d\)", text) for text in messages)
    assert not any("'ward'" in text for text in messages)


def test_a_text_that_is_no_policy_is_refused(here: Path) -> None:
    for text in ("- a\n- b\n", "version: [1\n", "version: &a 1\n", "version: 1\n"):
        Path("policy.yaml").write_text(text)
        with pytest.raises(pls.PolicyError, match=r"policy\.yaml"):
            pls.check_policy("table.csv", "policy.yaml")


@pytest.mark.parametrize("disease", [["Yes"] * 30 + ["No"] * 170, ["Yes"] * 60 + ["No"] * 70 + ["?"] * 70])
def test_a_value_above_its_bound_is_mended_by_a_higher_bound(disease: list[str]) -> None:
    """Not by suppressing its surplus: all suppressed rows would hold it. And not by an l that nobody asked for."""
    table = pl.DataFrame({"age": [20 + i % 40 for i in range(200)], "ill": disease})
    policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"ill": {"at_most": {"Yes": "1/10"}}})
    check = pls.check_policy(table, policy)
    (problem,) = check.problems
    assert "Suppressing the surplus is no way" in problem.message
    smallest = "15%" if disease[30] == "No" else "30%"
    assert problem.change == f'at_most: {{"Yes": "{smallest}"}} for \'ill\''
    assert f"The smallest bound that works is {smallest}" in problem.message
    assert check.mended is not None
    mended = pls.Policy.from_dict(parse_document(check.mended).data)
    assert mended.publish.suppress == 0
    pls.publish(table, mended, key=pls.Key.test(), attacks=False)


def test_an_l_that_cannot_be_had_becomes_the_largest_that_can() -> None:
    """Of one attribute by itself, and of two together, of which each alone could have more."""
    draw = random.Random(2)
    one = [draw.choice("aaabbccddeeffgghh") for _ in range(400)]
    other = [draw.choice("aaabbccddeeffgghh") if draw.random() < 0.6 else value for value in one]
    table = pl.DataFrame({"age": [20 + i % 40 for i in range(400)], "ill": one, "drug": other})
    policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"ill": 6, "drug": 6})
    check = pls.check_policy(table, policy)
    assert check.mended is not None
    mended = parse_document(check.mended).data
    pls.publish(table, pls.Policy.from_dict(mended), key=pls.Key.test(), attacks=False)
    best = max(keys["l"] for keys in mended["attributes"].values() if "l" in keys)
    assert best >= 4
    for name in ("ill", "drug"):
        mended["attributes"][name]["l"] = best + 1
    with pytest.raises(pls.Infeasible):
        pls.publish(table, pls.Policy.from_dict(mended), key=pls.Key.test(), attacks=False)


MISSPELT = """\
version: 1
others: drop
attributes:
  age:       {role: quasi}
  sex:       {role: quasi}
  educatoin: {role: quasi}  # highest
  disease:   {role: sensitive, l: 2}
  drug:      {role: sensitive, l: 2, if_missing: {as: unknown}}
rules:
  - age, education -> disease : l=2
adversaries:
  - {knows: [age, education, drug]}
  - {knows: [sex, education, disease]}
dependencies:
  - education -> sex
"""


def test_a_misspelt_attribute_is_one_problem_and_keeps_the_right_name_elsewhere(pluralis: Callable[..., Any]) -> None:
    table = TABLE.with_columns(sex=pl.when(pl.col("education") == "school").then(pl.lit("f")).otherwise(pl.lit("m")))
    table.write_csv("table.csv")
    Path("policy.yaml").write_text(MISSPELT)
    ran = pluralis("check", "table.csv", "--policy", "policy.yaml", "--fix", "fixed.yaml")
    assert ran.out.startswith("1 problem for 600 rows")
    assert "Did you mean 'education'?" in ran.out
    assert "policy.yaml line 6" in ran.out
    assert Path("fixed.yaml").read_text() == MISSPELT.replace("educatoin", "education")
    ran = pluralis("publish", "table.csv", "--policy", "policy.yaml", "--out", "release")
    assert (ran.code, "Did you mean 'education'?" in ran.err, "not a published" in ran.err) == (2, True, False)


def test_a_column_of_which_the_policy_speaks_elsewhere_is_nearer(here: Path) -> None:
    text = "version: 1\nothers: drop\nattributes: {note1: {role: quasi}, disease: {role: sensitive, l: 2}}\n"
    table = TABLE.rename({"note": "note2", "drug": "notes"})
    for spoken, meant in (("", "notes"), ("rules: ['note2 -> disease : l=2']\n", "note2")):
        Path("policy.yaml").write_text(text + spoken)
        (first, *_) = pls.check_policy(table, "policy.yaml").problems
        assert first.change == f"'note1' becomes {meant!r}"


def test_a_misspelt_name_in_what_an_adversary_knows_is_mended(here: Path) -> None:
    text = "version: 1\nothers: drop\nattributes: {sex: {role: quasi}, education: {role: quasi}, %s}\n"
    text = text.replace("%s", DISEASE)
    Path("policy.yaml").write_text(text + "adversaries: [{knows: [sex, educatoin]}]\n")
    check = pls.check_policy("table.csv", "policy.yaml")
    (problem,) = check.problems
    assert problem.change == "'educatoin' becomes 'education' in what the adversary knows"
    assert pls.Policy.parse(check.mended or "").adversaries[0].knows == ["sex", "education"]


def test_a_misspelt_attribute_beside_what_is_malformed(here: Path) -> None:
    text = "version: 1\nothers: drop\nattributes: {sx: {role: quasi}, disease: {role: sensitive, l: 2}}\n"
    for spoken in (
        "rules: [[1], 'a b', {x: {y: z}}]\n",
        "adversaries: [3, {knows: 4}, {knows: [[1]]}]\n",
        "rules: 3\n",
    ):
        Path("policy.yaml").write_text(text + spoken)
        check = pls.check_policy("table.csv", "policy.yaml")
        assert check.problems[0].change == "'sx' becomes 'sex'"
        assert check.mended is not None


def test_a_large_table_is_tried_on_drawn_rows_and_refused_by_all(
    pluralis: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_problems, "LARGE", 500)
    monkeypatch.setattr(table_problems, "SAMPLED", 200)
    monkeypatch.setattr(table_problems, "TRIED", (ROWS - 1,))
    sizes = []

    def counting(frame: pl.DataFrame, *rest: Any, **keys: Any) -> Any:
        sizes.append(frame.height)
        return build(frame, *rest, **keys)

    monkeypatch.setattr(table_problems, "build", counting)
    text = "version: 1\nothers: drop\nattributes: {age: {role: quasi}, sex: {role: quasi}, %s}\n"
    Path("policy.yaml").write_text(text.replace("%s", DISEASE))
    ran = pluralis("check", "table.csv", "--policy", "policy.yaml")
    assert (ran.code, sizes) == (0, [200])
    said = "tried on 200 drawn rows of 600; values and counts are those of all"
    assert said in " ".join(ran.out.split())
    sizes.clear()
    Path("policy.yaml").write_text(text.replace("%s", DISEASE) + "k: 601\n")
    ran = pluralis("check", "table.csv", "--policy", "policy.yaml")
    assert (ran.code, sizes[:2]) == (3, [200, ROWS])  # what drawn rows refuse is looked at on all of them
    assert sizes.count(ROWS) == 1
    assert "k: 2" in ran.out
    sizes.clear()
    Path("policy.yaml").write_text(text.replace("%s", DISEASE) + "k: 201\npublish: {method: mondrian}\n")
    ran = pluralis("check", "table.csv", "--policy", "policy.yaml")
    assert (ran.code, sizes) == (0, [200, ROWS])  # 200 rows cannot have it, 600 can
    assert "drawn rows" not in ran.out


def test_drawn_rows_have_the_bins_of_all(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = TABLE.with_columns(pay=pl.Series([0] * 590 + list(range(300, 310))).shuffle(4))
    keys = {"at_most": {">=300": "1/4"}, "type": "number", "bins": {"quantiles": 10}}
    policy = pls.Policy(quasi=["sex"], sensitive={"pay": keys}, others="drop")
    tried = pls.check_policy(table, policy)
    assert tried.feasible
    monkeypatch.setattr(table_problems, "LARGE", 500)
    monkeypatch.setattr(table_problems, "SAMPLED", 200)
    monkeypatch.setattr(table_problems, "TRIED", (ROWS - 1,))
    check = pls.check_policy(table, policy)
    assert (check.problems, check.tried) == ((), 200)


def test_what_drawn_rows_allow_is_tried_on_all(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the table is not too large: 20 rows that no group of 150 takes are not among 200 drawn ones."""
    monkeypatch.setattr(table_problems, "LARGE", 500)
    monkeypatch.setattr(table_problems, "SAMPLED", 200)
    drawn = set(table_problems.drawn_rows(pl.DataFrame({"row": range(ROWS)}), 200, "check")["row"])
    ills = [
        "flu" if i in drawn and i % 4 else "hiv" if i in drawn else "gout" if i % 4 else "asthma" for i in range(ROWS)
    ]
    table = TABLE.with_columns(disease=pl.Series(ills))
    policy = pls.Policy(quasi=["age", "sex"], sensitive={"disease": {"l": 2}}, others="drop")
    check = pls.check_policy(table, policy)
    assert (check.tried, check.sampled) == (ROWS, "")
    assert check.feasible
    pls.publish(table, policy, key=pls.Key.test(), attacks=False)


@pytest.mark.parametrize(("person", "mended"), [("Patient", "patient"), ("patiens", "patient"), ("nobody", None)])
def test_a_person_is_repaired_and_never_dropped(here: Path, person: str, mended: str | None) -> None:
    """Without `person` a group may hold one of them twice, and everything would say that all is well."""
    text = "version: 1\nothers: drop\nattributes: {patient: {role: identifier}, age: {role: quasi}, %s}\nperson: %s\n"
    Path("policy.yaml").write_text(text % (DISEASE, person))
    check = pls.check_policy("table.csv", "policy.yaml")
    (problem,) = (one for one in check.problems if one.code)
    assert repr(person) in problem.message
    if mended is None:
        assert (problem.change, check.mended) == ("", None)
    else:
        assert check.mended is not None
        assert pls.Policy.parse(check.mended).person == mended


def test_people_with_several_rows_are_told_of(here: Path) -> None:
    text = "version: 1\nothers: drop\nattributes: {patient: {role: identifier}, age: {role: quasi}, %s}\n"
    Path("policy.yaml").write_text(text % DISEASE)
    check = pls.check_policy("table.csv", "policy.yaml")
    assert check.feasible
    assert any("add `person: patient`" in problem.message for problem in check.problems)
    Path("policy.yaml").write_text(text % DISEASE + "person: patient\n")
    assert not any(
        "add `person" in problem.message for problem in pls.check_policy("table.csv", "policy.yaml").problems
    )


def test_a_bound_of_a_value_that_no_row_holds_stands_among_the_others(here: Path) -> None:
    """It cannot be mended: which value was meant is not known, and without its bound it would not be protected."""
    text = (
        "version: 1\nothers: drop\nattributes: {agge: {role: quasi}, disease: {role: sensitive, at_most: {Ja: 1/4}}}\n"
    )
    Path("policy.yaml").write_text(text + "publish: {method: bsgy}\n")
    check = pls.check_policy("table.csv", "policy.yaml")
    messages = [problem.message for problem in check.problems]
    assert any("no row holds 'Ja'" in message for message in messages)
    assert any("'agge'" in message for message in messages)
    assert any("bsgy" in message for message in messages)
    assert check.mended is None


def test_what_cannot_be_mended_is_named_at_the_end(pluralis: Callable[..., Any]) -> None:
    bound = "disease: {role: sensitive, at_most: {Ja: 1/4}}"
    Path("policy.yaml").write_text(f"version: 1\nothers: drop\nattributes:\n  agge: {{role: quasi}}\n  {bound}\n")
    ran = pluralis("check", "table.csv", "--policy", "policy.yaml", "--fix", "fixed.yaml")
    _, said, last = ran.out.partition("No change of the policy mends this: correct it yourself, then check again.")
    assert said
    assert "Nothing was written." in last
    assert "no row holds 'Ja'" in last
    assert "agge" not in last
    assert not Path("fixed.yaml").exists()


MISSPELT_WORDS = {  # what is written, and what was meant
    'ill: {role: sensitive, at_most: {"Yess": 1/4}}': 'ill: {role: sensitive, at_most: {"Yes": 1/4}}',
    'ill: {role: sensitive, at_most: {"Yes": 1/3, "YES": 1/4}}': 'ill: {role: sensitive, at_most: {"Yes": 1/4}}',
    "education: {role: quasi, order: [shcool, college, abroad]}": "[school, college, abroad]",
    "sex: {role: quasi, hierarchy: {columns: [sex, wrad]}}": "hierarchy: {columns: [sex, ward]}",
    "sex: {role: quasi, rare: {belwo: 3}}": "rare: {below: 3}",
    "sex: {role: quasi, case: keeep}": "case: keep",
    "drug: {role: sensitive, l: 2, if_missing: dorp}": "if_missing: drop",
    "drug: {role: sensitive, l: 2, if_missing: drop, model: entropi}": "model: entropy",
    "sex: {role: quasi}\npublish: {options: {refin: 3}}": "options: {refine: 3}",
    "sex: {role: quasi}\npublish: {method: decomposition, options: {primary: diseas}}": "{primary: disease}",
}


@pytest.mark.parametrize("text", MISSPELT_WORDS)
def test_a_misspelt_word_becomes_what_was_meant_and_is_not_taken_out(text: str, here: Path) -> None:
    """What is taken out would be published with less protection than was asked for."""
    policy = f"version: 1\nothers: drop\nattributes:\n  ward: {{role: quasi}}\n  {DISEASE}\n  {text}\n"
    Path("policy.yaml").write_text(policy)
    check = pls.check_policy(TABLE.with_columns(ward=pl.lit("w")), "policy.yaml")
    (problem,) = (one for one in check.problems if one.code)
    assert problem.change
    assert MISSPELT_WORDS[text] in (check.mended or "")


def test_of_several_values_that_may_be_meant_none_is_taken(here: Path) -> None:
    table = TABLE.with_columns(disease=pl.Series(["hepatitis b", "hepatitis c", "flu", "gout"] * (ROWS // 4)))
    policy = pls.Policy(quasi=["sex"], sensitive={"disease": {"at_most": {"hepatitis": "1/3"}}}, others="drop")
    check = pls.check_policy(table, policy)
    assert [problem.change for problem in check.problems if problem.code] == [""]
    assert check.mended is None


def test_a_column_whose_name_says_that_it_identifies_people_could_mislead() -> None:
    names = [f"{DRAW.choice(['Ann', 'Bob', 'Eve'])} {DRAW.choice(['Lee', 'Rossi'])}" for _ in range(ROWS)]
    table = TABLE.with_columns(pl.Series("Full Name", names), email=pl.lit("x@y.z"))
    policy = pls.Policy(
        quasi=["sex", "patient"], plain=["email"], sensitive={"disease": 2, "Full Name": 2}, others="drop"
    )
    said = [problem.message for problem in pls.check_policy(table, policy).problems if not problem.code]
    for name, role in (("patient", "quasi"), ("email", "plain"), ("Full Name", "sensitive")):
        assert any(text.startswith(f"{name!r} is {role}, and its name says that it identifies") for text in said), name
    remarks = pls.publish(table, policy, attacks=False).notes
    assert any("'Full Name' is sensitive, and its name says" in remark for remark in remarks)


REPAIRED = {  # what is written, and what stands there instead
    "zip: {role: quasi, type: number, hierarchy: {mask: right}}": "type: text, hierarchy: {mask: right}}",
    "day: {role: quasi, hierarchy: {date: [month, day, year]}}": "hierarchy: {date: [day, month, year]}}",
    "day: {role: quasi, hierarchy: {date: [year, year]}}": "day: {role: quasi, hierarchy: {date: [year]}}",
    "code: {role: quasi, hierarchy: {icd: 9}}": "code: {role: quasi, hierarchy: {icd: 10}}",
    "code: {role: sensitive, l: 2, rare: {below: 2, along: {icd: 9}}}": "rare: {below: 2, along: {icd: 10}}",
}  # fmt: skip


@pytest.mark.parametrize("text", REPAIRED)
def test_what_can_be_repaired_is_not_taken_out(text: str, here: Path) -> None:
    table = TABLE.with_columns(
        pl.Series("day", [f"2023-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(ROWS)]),
        pl.Series("code", ["Z99.1", *(DRAW.choice(["I10", "E11.9", "J45.9", "K24.1"]) for _ in range(ROWS - 1))]),
    )
    Path("policy.yaml").write_text(
        f"version: 1\nothers: drop\nattributes:\n  sex: {{role: quasi}}\n  {DISEASE}\n  {text}\n"
    )
    check = pls.check_policy(table, "policy.yaml")
    assert check.mended is not None
    assert REPAIRED[text] in check.mended


def test_rare_codes_of_no_revision_stay_joined(here: Path) -> None:
    codes = ["A12.0", *(DRAW.choice(["I10", "E11.9", "J45.9", "K24.1"]) for _ in range(ROWS - 1))]
    rare = "code: {role: sensitive, l: 2, rare: {below: 3, along: {icd: 9}}}"
    Path("policy.yaml").write_text(f"version: 1\nothers: drop\nattributes:\n  sex: {{role: quasi}}\n  {rare}\n")
    check = pls.check_policy(TABLE.with_columns(pl.Series("code", codes)), "policy.yaml")
    assert check.mended is not None
    assert "rare: {below: 3, as: other}" in check.mended


def test_what_could_mislead_remains_and_is_named_at_the_end(pluralis: Callable[..., Any]) -> None:
    drug = "drug: {role: plain}"
    text = f"version: 1\nothers: drop\nattributes: {{age: {{role: quai}}, {drug}, {DISEASE}}}\n"
    Path("policy.yaml").write_text(text)
    ran = pluralis("check", "table.csv", "--policy", "policy.yaml", "--fix", "fixed.yaml")
    _, said, last = ran.out.partition("This could mislead, and was not changed: decide yourself")
    assert said
    assert "'drug' is published as it is" in last
    assert "'drug' is published as it is" in pluralis("check", "table.csv", "--policy", "fixed.yaml").out
