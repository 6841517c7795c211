"""`pluralis rules`: what it says, what it draws, how it exits. And what profile and init say of dependencies."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pluralis.datasets.hospital import hospital_discharges
from pluralis.policy.policy import Policy
from pluralis.table.csv_files import write_csv_bytes
from support.cli_runner import caller

TOWNS = pl.DataFrame(
    {
        "name": [f"p{i}" for i in range(240)],
        "zipcode": [f"1{i % 12:02}" for i in range(240)],
        "county": ["abcd"[i % 12 // 3] for i in range(240)],
        "sex": ["fm"[i // 12 % 2] for i in range(240)],
        "age": [20 + i * 7 % 31 for i in range(240)],
        "plan": ["basic" if i % 10 < 7 else "full" for i in range(240)],
    }
)
POLICY = """\
version: 1
others: drop
rules:
  - sex -> county : l=2
  - age, sex -> county : l=3
  - county -> age : l=4
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "towns.csv").write_bytes(write_csv_bytes(TOWNS))
    (tmp_path / "policy.yaml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def pluralis(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    return caller(capsys, monkeypatch)


def squeezed(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_without_a_table(pluralis: Any) -> None:
    ran = pluralis("rules", "policy.yaml")
    assert ran.code == 0, ran.err
    lines = squeezed(ran.out)
    assert lines[0].startswith("2 rules in force")
    assert "1 age, sex ─▶ county 3 rules" in lines
    assert "2 county ─▶ age 4 rules" in lines
    assert "sex ─▶ county 2 rules rule 1" in lines
    assert "age, county: rules 1, 2" in lines
    assert "county sensitive age age, sex" in lines
    assert "found in the table" not in ran.out


def test_a_table_adds_rules_for_what_it_shows(pluralis: Any, here: Path) -> None:
    (here / "policy.yaml").write_text(POLICY + "attributes: {zipcode: {role: plain}}\n")
    ran = pluralis("rules", "policy.yaml", "towns.csv")
    assert ran.code == 0, ran.err
    assert "zipcode → county (found in the table) adds rule 3" in squeezed(ran.out)
    assert "3 age, sex ─▶ zipcode 3 the dependency zipcode -> county" in squeezed(ran.out)
    (here / "policy.yaml").write_text(
        POLICY + "attributes: {zipcode: {role: plain}}\ncoincidences: [zipcode -> county]\n"
    )
    spared = pluralis("rules", "policy.yaml", "towns.csv", "--json").json
    assert len(spared["rules"]) == 2
    assert spared["coincidences"] == ["zipcode -> county"]
    (here / "policy.yaml").write_text(
        POLICY + "attributes: {zipcode: {role: plain}}\ndependencies: [zipcode -> county, age -> zipcode]\n"
    )
    ran = pluralis("rules", "policy.yaml")
    assert ran.code == 2  # age -> zipcode -> county: a hole that the policy itself shows
    assert "dependencies say that the left side decides the right" in ran.err


def test_an_open_hole_exits_3(pluralis: Any, here: Path) -> None:
    (here / "policy.yaml").write_text("version: 1\nothers: drop\nrules: ['sex, zipcode -> county : l=2']\n")
    assert pluralis("rules", "policy.yaml").code == 0
    ran = pluralis("rules", "policy.yaml", "towns.csv")
    assert ran.code == 3
    assert "Open holes" in ran.out
    assert "`sex, zipcode -> county : l=2` cannot be kept: zipcode -> county in this table. Drop the rule" in ran.err
    as_data = pluralis("rules", "policy.yaml", "towns.csv", "--json")
    assert as_data.code == 3
    assert as_data.json["holes"] == [{"rule": "sex, zipcode -> county : l=2", "because": "zipcode -> county"}]
    assert len(as_data.json["impossible"]) == 1


@pytest.mark.parametrize("known", ["", "dependencies: [zipcode -> county]\n"])
def test_a_rule_that_keeps_apart_what_is_tied_exits_3_as_publish_does(pluralis: Any, here: Path, known: str) -> None:
    """county -> zipcode: whoever knows the county knows that nearly all zipcodes are not it."""
    text = "version: 1\nothers: drop\nrules: ['county -> zipcode : l=3']\npublish: {method: uad}\n"
    (here / "policy.yaml").write_text(text + known)
    assert pluralis("rules", "policy.yaml").code == (3 if known else 0)
    ran = pluralis("rules", "policy.yaml", "towns.csv")
    assert ran.code == 3
    assert "zipcode → county" in ran.out.split("Known dependencies")[1]
    assert "rule 1: knowing one side rules out most values of the other" in ran.out
    assert "`county -> zipcode : l=3` cannot be kept: county and zipcode go together" in ran.err
    refused = pluralis("publish", "towns.csv", "--policy", "policy.yaml", "--out", "release")
    assert (refused.code, refused.err) == (ran.code, ran.err)
    explained = pluralis("rules", "policy.yaml", "towns.csv", "--json").json
    assert [torn["rule"] for torn in explained["torn"]] == ["county -> zipcode : l=3"]
    (here / "policy.yaml").write_text(text + "coincidences: [zipcode -> county]\n")
    assert pluralis("rules", "policy.yaml", "towns.csv").code == 0


def test_a_dependency_matters_if_a_rule_speaks_of_either_end(pluralis: Any, here: Path) -> None:
    for rule, matters in (("zipcode -> age", True), ("age -> zipcode", True), ("sex -> age", False)):
        plain = "{county: {role: plain}}" if matters else "{county: {role: plain}, zipcode: {role: plain}}"
        (here / "policy.yaml").write_text(f"version: 1\nothers: drop\nrules: ['{rule} : l=2']\nattributes: {plain}\n")
        explained = pluralis("rules", "policy.yaml", "towns.csv", "--json").json
        known = {"dependency": "zipcode -> county", "declared": False, "adds": []}
        assert (explained["dependencies"], explained["unimportant"]) == (
            ([known], []) if matters else ([], ["zipcode -> county"])
        )


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        ("l=2']", 3, "is too skewed for any l; make it an identifier, which is not published, or allow suppress: 0.4."),
        ("l=2']\npublish: {suppress: 0.4}", 0, "96 rows will be suppressed for it, as suppress allows"),
        ("l=2']\npublish: {suppress: 0.39}", 3, "too skewed for any l"),
        ("l=2']\nattributes: {plan: {model: distinct}}", 0, "1 rule in force"),
    ],
)
def test_a_value_that_is_too_common(pluralis: Any, here: Path, more: str, code: int, message: str) -> None:
    (here / "policy.yaml").write_text(f"version: 1\nothers: drop\nrules: ['sex -> plan : {more}\n")
    ran = pluralis("rules", "policy.yaml", "towns.csv")
    assert ran.code == code
    assert message in ran.out


def test_the_largest_l_is_said(pluralis: Any, here: Path) -> None:
    (here / "policy.yaml").write_text("version: 1\nothers: drop\nrules: ['sex -> county : l=5']\n")
    ran = pluralis("rules", "policy.yaml", "towns.csv")
    assert ran.code == 3
    assert "'a' fills 25.0% of county. The largest l it allows is 4; set l=4." in ran.err


def test_roles_adversaries_and_gaps(pluralis: Any, here: Path) -> None:
    (here / "policy.yaml").write_text(
        "version: 1\nattributes:\n  age: {role: quasi}\n  sex: {role: quasi}\n  county: {role: sensitive, l: 3}\n"
        "  plan: {role: plain}\n  name: {role: identifier}\nadversaries: [{knows: [plan]}]\n"
        "rules: ['age, sex -> county : l=3']\n"
    )
    explained = pluralis("rules", "policy.yaml", "--json").json
    assert [(r["rule"], r["origins"]) for r in explained["rules"]] == [
        ("age, sex -> county : l=3", ["rules", "the role of county"]),
        ("plan -> county : l=3", ["adversary 1"]),
    ]
    assert explained["gaps"] == [{"attribute": "county", "knows": ["age", "plan", "sex"]}]
    assert "name" not in [vertex["name"] for vertex in explained["attributes"]]


def test_a_declared_dependency_that_the_table_contradicts(pluralis: Any, here: Path) -> None:
    (here / "policy.yaml").write_text(POLICY + "dependencies: [age -> sex]\n")
    ran = pluralis("rules", "policy.yaml", "towns.csv")
    assert ran.code == 0, ran.err
    assert "age → sex: rows agree on the left and differ on the right. Remove it." in ran.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rules", "nowhere.yaml"], "nowhere.yaml"),
        (["rules", "policy.yaml", "nowhere.csv"], "nowhere.csv"),
        (["rules", "towns.csv"], "towns.csv"),
        (["rules", "policy.yaml", "--graph", "towns.csv"], "Let it end in .svg"),
        (["rules", "policy.yaml", "--graph", "no/where.svg"], "Cannot write"),
    ],
)
def test_bad_usage_exits_2(pluralis: Any, here: Path, words: list[str], message: str) -> None:
    ran = pluralis(*words)
    assert ran.code == 2
    assert message in ran.err
    assert (here / "towns.csv").read_bytes() == write_csv_bytes(TOWNS)


def test_a_policy_for_another_table(pluralis: Any, here: Path) -> None:
    (here / "policy.yaml").write_text(POLICY.replace("county", "country"))
    ran = pluralis("rules", "policy.yaml", "towns.csv")
    assert ran.code == 2
    message = "The rule `sex -> country : l=2` names 'country', the table has no such column. Did you mean 'county'?"
    assert message in ran.err
    (here / "policy.yaml").write_text(POLICY + "attributes: {zip: {role: plain}}\n")
    assert "The policy names 'zip'" in pluralis("rules", "policy.yaml", "towns.csv").err


# the picture ----------------------------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture_has_every_attribute_and_arrow(pluralis: Any, here: Path) -> None:
    (here / "policy.yaml").write_text(POLICY + "attributes: {zipcode: {role: plain}}\n")
    for _ in range(2):  # a picture is drawn over
        assert pluralis("rules", "policy.yaml", "towns.csv", "--graph", "rules.svg").code == 0
    picture = ET.parse(here / "rules.svg").getroot()
    groups = {str(g.findtext(f"{SVG}title")): g for g in reversed(picture.findall(f"{SVG}g"))}
    assert {"age", "county", "sex", "zipcode"} <= groups.keys()
    assert len(groups["age, sex -> county : l=3"].findall(f"{SVG}line")) == 3  # two to the knot, one from it
    assert len(groups["county -> age : l=4"].findall(f"{SVG}polygon")) == 1
    assert "zipcode -> county is known" in groups
    texts = [str(text.text) for text in picture.iter(f"{SVG}text")]
    assert "age, sex ─▶ county, l = 3 (rules)" in texts
    dashes = [line.get("stroke-dasharray") for line in picture.findall(f"{SVG}line")]
    assert len(dashes) == len(set(dashes)) == 3  # told apart without color


def test_nothing_of_a_name_becomes_markup(pluralis: Any, here: Path) -> None:
    (here / "policy.yaml").write_text("""version: 1\nrules: ['"<b>&[red]", x -> "a -> b" : l=2']\n""")
    ran = pluralis("rules", "policy.yaml", "--graph", "odd.svg")
    assert ran.code == 0, ran.err
    assert '<b>&[red], x ─▶ "a -> b"' in squeezed(ran.out)[3]
    texts = [str(text.text) for text in ET.parse(here / "odd.svg").getroot().iter(f"{SVG}text")]
    assert {"<b>&[red]", "a -> b"} <= set(texts)


@pytest.mark.parametrize("count", [1, 2, 45])
def test_few_and_many_attributes_are_drawn(pluralis: Any, here: Path, count: int) -> None:
    names = [f"a{i}" for i in range(count)]
    rules = [f"{names[i]} -> {names[i - 1]} : l=2" for i in range(1, count)]
    attributes = "attributes: {a0: {role: quasi}}\n" if count == 1 else ""
    (here / "policy.yaml").write_text(f"version: 1\n{attributes}rules: {rules}\n")
    ran = pluralis("rules", "policy.yaml", "--graph", "all.svg")
    assert ran.code == 0, ran.err
    assert ("No rule is in force" in ran.out) == (count == 1)
    picture = ET.parse(here / "all.svg").getroot()
    assert len([g for g in picture.findall(f"{SVG}g") if g.findtext(f"{SVG}title") in names]) == count
    width, height = (float(picture.get(key, "nan")) for key in ("width", "height"))
    circles = list(picture.iter(f"{SVG}circle"))
    assert all(0 < float(c.get("cx", "nan")) < width and 0 < float(c.get("cy", "nan")) < height for c in circles)


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "rules.md").read_text(encoding="utf-8")


def test_the_page_shows_what_the_program_says_and_draws(pluralis: Any, here: Path) -> None:
    """The rest of docs/rules.md runs in tests/docs/test_pages.py."""
    (here / "policy.yaml").write_text("version: 1\nrules:\n  - age, -> zipcode : l=3\n")
    refused = pluralis("rules", "policy.yaml")
    assert refused.code == 2
    assert f"```\n{refused.err}```" in PAGE
    example = next(part for part in PAGE.split("```yaml\n") if "knows: [age" in part and part.startswith("version"))
    (here / "policy.yaml").write_text(example.split("```")[0])
    (here / "table.csv").write_bytes(write_csv_bytes(hospital_discharges()))
    assert pluralis("rules", "policy.yaml", "table.csv", "--graph", "rules.svg").code == 0
    shown = Path(__file__).resolve().parents[2] / "docs" / "rules.svg"
    assert (here / "rules.svg").read_text() == shown.read_text()


# profile and init -----------------------------------------------------------------------------------------------


def test_profile_proposes_dependencies(pluralis: Any, here: Path) -> None:
    look = pluralis("profile", "towns.csv", "--json").json
    assert look["dependencies"] == [{"knows": ["zipcode"], "decides": "county"}]
    assert "  zipcode → county" in pluralis("profile", "towns.csv").out.splitlines()
    pairs = pl.DataFrame(
        {
            "a": [i % 5 for i in range(400)],
            "b": [i // 5 % 4 for i in range(400)],
            "c": [(i % 5 + i // 5 % 4) % 3 for i in range(400)],
        }
    )
    (here / "pairs.csv").write_bytes(write_csv_bytes(pairs))
    assert "  a, b → c" in pluralis("profile", "pairs.csv").out.splitlines()


def test_init_leaves_dependencies_to_the_user(pluralis: Any, here: Path) -> None:
    odd = TOWNS.rename({"county": "county: where", "zipcode": "zip, code"})
    (here / "odd.csv").write_bytes(write_csv_bytes(odd))
    assert pluralis("init", "odd.csv", "-o", "first.yaml").code == 0
    text = (here / "first.yaml").read_text()
    assert Policy.parse(text).dependencies == []
    uncommented = text.replace("# dependencies:", "dependencies:").replace("#   - ", "  - ")
    assert [(d.knows, d.decides) for d in Policy.parse(uncommented).dependencies] == [(("zip, code",), "county: where")]


def test_bounds_of_values_are_not_said_to_protect_nothing(pluralis: Any, here: Path) -> None:
    ill = "{role: sensitive, at_most: {Yes: 1/4}, gain: 3}"
    (here / "policy.yaml").write_text(f"version: 1\nattributes:\n  age: {{role: quasi}}\n  ill: {ill}\n")
    ran = pluralis("rules", "policy.yaml")
    assert ran.code == 0, ran.err
    assert "all quasi-identifiers: ill Yes at most 1/4, gain 3" in " ".join(ran.out.split())
    assert "nothing is protected" not in ran.out
