"""Versatile Publishing's running example: Tables 1-4, the intersection attack, and what the normal form leaves open."""

from __future__ import annotations

from oracles.worlds_of_subtables import beliefs, highest, worlds
from pluralis.auditing import audit
from pluralis.auditing.normal_form import Part, guardian, normal_form, objections
from pluralis.policy.rules import Rule
from support.handmade_multi_releases import Sub, multi_release
from support.paper_tables import VERSATILE_1 as TABLE_1
from support.paper_tables import VERSATILE_2 as TABLES_2
from support.paper_tables import VERSATILE_RULES as RULES
from support.paper_tables import versatile_release as release_of

RULE_1, RULE_2, RULE_3 = map(Rule.parse, RULES)

# Table 3(b) enforces race -> zipcode in one bucket of all, as printed
TABLES_3 = [Sub(("gender", "icd9cm", "hospital", "age")), Sub(("race", "zipcode"), ("zipcode",), (1,) * 6)]


def part(name: str, attributes: str, protects: str = "", enforced: str | None = None) -> Part:
    left = None if enforced is None else frozenset(enforced.split())
    return Part(name, frozenset(attributes.split()), frozenset(protects.split()), left)


# Table 2: the intersection attack -------------------------------------------------------------------------------


def test_table_2_is_what_the_paper_prints() -> None:
    shown = release_of(TABLES_2).tables
    buckets = {name: frame.drop("group", "count").rows() for name, frame in shown.items() if name.endswith("sensitive")}
    assert buckets["t1_sensitive"] == [("asian",), ("white",), ("black",), ("white",), ("black",), ("white",)]
    assert buckets["t2_sensitive"] == [("71000",), ("72000",), ("71000",), ("74000",), ("72000",), ("73000",)]
    assert buckets["t3_sensitive"] == [("71000",), ("73000",), ("72000",), ("74000",), ("71000",), ("72000",)]


def test_each_of_tables_2_keeps_its_rule_alone() -> None:
    for sub, rule in zip(TABLES_2, (RULE_1, RULE_2, RULE_3), strict=True):
        release = release_of([sub], [str(rule)])
        assert audit(release, original=TABLE_1).holds
        assert highest(beliefs(worlds(release), rule.knows, rule.protects)) == 0.5


def test_tables_2_together_reveal_four_people() -> None:
    """The paper misprints two of them: Table 1 has (333333, black, 71000) and (333333, white, 72000)."""
    believed = beliefs(worlds(release_of(TABLES_2)), ("hospital", "race"), "zipcode")
    certain = {(*known, *counter) for known, counter in believed.items() if len(counter) == 1}
    assert certain == {
        ("111111", "asian", "71000"),
        ("222222", "black", "73000"),
        ("333333", "black", "71000"),
        ("333333", "white", "72000"),
    }
    assert certain <= set(TABLE_1.select("hospital", "race", "zipcode").rows())


def test_the_audit_refuses_tables_2_together() -> None:
    verdict = audit(release_of(TABLES_2), original=TABLE_1)
    assert [finding.claim for finding in verdict.failures] == [
        "P(race | age, icd9cm) ≤ 1/2",
        "P(zipcode | gender, icd9cm) ≤ 1/2",
        "P(zipcode | hospital, race) ≤ 1/2",
    ]
    assert verdict.failures[2].note == (
        "nothing guards hospital - t3 - zipcode; t2 protects zipcode, but hospital - t3 - zipcode leads around; "
        "t3 protects zipcode, but race - t1 - icd9cm - t2 - zipcode leads around"
    )


# Table 3: in normal form ----------------------------------------------------------------------------------------


def test_table_3_is_in_normal_form() -> None:
    tables = [part("a", "gender icd9cm hospital age"), part("b", "race zipcode", "zipcode", "race")]
    one, two, three = normal_form([RULE_1, RULE_2, RULE_3], tables)
    assert (one.why, two.why) == (
        "race cannot be reached from age, icd9cm",
        "zipcode cannot be reached from gender, icd9cm",
    )
    assert three.guardian is tables[1]


def test_the_audit_passes_table_3_and_all_worlds_agree() -> None:
    release = release_of(TABLES_3)
    verdict = audit(release, original=TABLE_1)
    assert verdict.holds
    _, race, far, near, other, *_ = verdict.findings
    assert (race.measured, race.witness) == (0.5, "the whole column")
    assert (far.measured, far.note) == (1 / 3, "zipcode cannot be reached from gender, icd9cm")
    assert (near.measured, near.note, near.witness) == (1 / 3, "guarded by t2", "t2, group 1")
    assert (other.holds, other.binding, other.measured, other.note) == (False, False, 0.5, "not race")
    possible = list(worlds(release))
    for rule, finding in zip((RULE_1, RULE_2, RULE_3), (race, far, near), strict=True):
        assert abs(highest(beliefs(possible, rule.knows, rule.protects)) - finding.measured) < 1e-12


# Table 4: not in normal form ------------------------------------------------------------------------------------

TABLE_4 = [
    part("t1", "gender icd9cm hospital", "hospital"),
    part("t2", "age hospital zipcode", "zipcode", enforced="hospital"),
    part("t3", "age hospital gender race", "race"),
    part("t4", "age zipcode"),
]


def test_table_4_guards_rule_1_and_not_rule_2() -> None:
    one, two, three = normal_form([RULE_1, RULE_2, RULE_3], TABLE_4)
    assert one.guardian is TABLE_4[2]
    assert (two.reached, two.guardian, three.guardian) == (True, None, None)
    assert two.why == (
        "nothing guards gender - t1 - hospital - t2 - zipcode; "
        "t2 does not protect zipcode from age and protects zipcode, but gender - t3 - age - t4 - zipcode leads around; "
        "t4 does not protect zipcode"
    )


def test_table_4_condition_by_condition() -> None:
    """Only t2 and t4 contain zipcode (i); t2 enforces too little (ii); without either, zipcode is reached (iii)."""
    assert [bool(list(objections(RULE_2, table, TABLE_4))) for table in TABLE_4] == [True] * 4
    assert list(objections(RULE_2, TABLE_4[0], TABLE_4)) == ["does not contain zipcode"]
    assert len(list(objections(RULE_2, TABLE_4[1], TABLE_4))) == 2
    more = [*TABLE_4[:1], part("t2", "age hospital zipcode", "zipcode"), *TABLE_4[2:]]
    assert list(objections(RULE_2, more[1], more)) == [
        "protects zipcode, but gender - t3 - age - t4 - zipcode leads around"
    ]
    assert guardian(RULE_2, [*more[:3]]) is more[1]


# V3: normal form is about each rule alone -----------------------------------------------------------------------


def test_v3_rules_hold_one_by_one_and_their_union_does_not() -> None:
    """Tables {q, s} and {z, s} are in normal form for q -> s and z -> s; whoever knows q and z learns s."""
    people = [
        {"q": q, "z": z, "s": s}
        for q, z, s in [("q1", "z1", "a"), ("q2", "z2", "b"), ("q3", "z3", "c"), ("q4", "z4", "d")]
    ]
    subs = [Sub("qs", "s", (1, 1, 2, 2)), Sub("zs", "s", (1, 2, 2, 1))]
    each = ["q -> s : l=2", "z -> s : l=2"]
    release = multi_release(people, subs, each)
    verdict = audit(release)
    assert verdict.holds
    assert [finding.note for finding in verdict.findings[1:]] == ["guarded by t1", "guarded by t2", "not s"]
    possible = list(worlds(release))
    assert highest(beliefs(possible, "q", "s")) == highest(beliefs(possible, "z", "s")) == 0.5
    assert highest(beliefs(possible, "qz", "s")) == 1
    union = audit(multi_release(people, subs, [*each, "q, z -> s : l=2"]))
    assert [finding.claim for finding in union.failures] == ["P(s | q, z) ≤ 1/2"]


# V4: Lemma 1 needs every attribute to be diverse on its own -----------------------------------------------------


def test_v4_a_column_that_is_not_diverse_is_refused_though_it_cannot_be_reached() -> None:
    subs = [Sub(("hospital",)), Sub(("race",))]
    release = release_of(subs, ["hospital -> race : l=3"])
    (failure,) = audit(release).failures
    assert (failure.measured, failure.witness) == (0.5, "the whole column")
    assert highest(beliefs(worlds(release), ["hospital"], "race")) == 0.5
