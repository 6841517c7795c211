"""Guardian Normal Form on schemas of a few tables, worked out by hand."""

from __future__ import annotations

import pytest

from pluralis.auditing.normal_form import Part, guardian, known, normal_form, objections, paths, reachable
from pluralis.policy.rules import Dependency, Rule


def part(name: str, attributes: str, protects: str = "", enforced: str | None = None) -> Part:
    left = None if enforced is None else frozenset(enforced.split())
    return Part(name, frozenset(attributes.split()), frozenset(protects.split()), left)


def rule(text: str) -> Rule:
    return Rule.parse(f"{text} : l=2")


AGE_ILL = part("t1", "age ill", "ill")
AGE_JOB = part("t2", "age job")
JOB_ILL = part("t3", "job ill")
ZIP_PAY = part("t4", "zip pay")


@pytest.mark.parametrize(
    ("text", "parts", "holds", "reached", "guard", "why"),
    [
        ("zip -> ill", [AGE_ILL, ZIP_PAY], True, False, None, "ill cannot be reached from zip"),
        ("zip, age -> ill", [AGE_ILL, ZIP_PAY], True, True, "t1", "guarded by t1"),
        ("job -> ill", [AGE_JOB, AGE_ILL], True, True, "t1", "guarded by t1"),
        ("age -> job", [AGE_JOB], False, True, None, "nothing guards age - t2 - job; t2 does not protect job"),
        (
            "age -> ill",
            [AGE_ILL, AGE_JOB, JOB_ILL],
            False,
            True,
            None,
            "nothing guards age - t1 - ill; t1 protects ill, but age - t2 - job - t3 - ill leads around; "
            "t3 does not protect ill",
        ),
    ],
)
def test_a_rule_holds_if_its_secret_is_out_of_reach_or_guarded(
    text: str, parts: list[Part], holds: bool, reached: bool, guard: str | None, why: str
) -> None:
    (standing,) = normal_form([rule(text)], parts)
    assert (standing.holds, standing.reached, standing.why) == (holds, reached, why)
    assert (standing.guardian.name if standing.guardian else None) == guard


def test_from_nothing_nothing_is_reached() -> None:
    (standing,) = normal_form([Rule(knows=(), protects="ill", l=2)], [AGE_ILL])
    assert (standing.holds, standing.why) == (True, "ill cannot be reached from nothing")


def test_each_rule_is_judged_on_its_own_and_in_order() -> None:
    standings = normal_form([rule("age -> job"), rule("age -> ill")], [AGE_ILL, AGE_JOB])
    assert [standing.holds for standing in standings] == [False, True]


def test_what_is_protected_together_stays_together_when_it_is_cut_off() -> None:
    """Whoever can reach job by another table finds ill beside it: the part guards neither."""
    both = part("t1", "age ill job", "ill job")
    assert guardian(rule("age -> ill"), [both]) is both
    around = [both, part("t2", "age job")]
    assert guardian(rule("age -> ill"), around) is None
    assert list(objections(rule("age -> ill"), both, around)) == [
        "does not protect ill from job",
        "protects ill, but age - t2 - job - t1 - ill leads around",
    ]


def test_a_part_need_only_protect_from_what_can_be_known() -> None:
    """t1 enforces age -> ill only; zip of t1 is told where somebody can reach it by another table."""
    narrow = part("t1", "age zip ill", "ill", enforced="age")
    assert guardian(rule("age -> ill"), [narrow]) is narrow
    assert guardian(rule("age -> ill"), [narrow, part("t2", "age zip")]) is None
    assert list(objections(rule("job -> ill"), narrow, [narrow, part("t2", "job zip")])) == [
        "does not protect ill from zip"
    ]
    assert guardian(rule("age, zip -> ill"), [part("t1", "age zip ill", "ill")]) is not None


def test_objections_name_the_first_condition_that_is_not_met() -> None:
    assert list(objections(rule("age -> ill"), ZIP_PAY, [ZIP_PAY])) == ["does not contain ill"]
    assert list(objections(rule("age -> ill"), JOB_ILL, [JOB_ILL])) == ["does not protect ill"]
    assert list(objections(rule("age -> ill"), AGE_ILL, [AGE_ILL])) == []


def test_two_equal_parts_are_two_ways() -> None:
    """A second table of the same columns is another part, though it looks the same."""
    again = part("t1", "age ill", "ill")
    assert guardian(rule("age -> ill"), [AGE_ILL, again]) is None


def test_what_everybody_knows_is_a_part_that_protects_nothing() -> None:
    drg = known(Dependency.parse("drg -> mdc"))
    assert (drg.attributes, drg.protects) == (frozenset({"drg", "mdc"}), frozenset())
    hidden = part("t1", "sex mdc", "mdc")
    shown = part("t2", "sex drg")
    assert guardian(rule("sex -> mdc"), [hidden, shown]) is hidden
    assert guardian(rule("sex -> mdc"), [hidden, shown, drg]) is None


def test_paths_are_shortest_and_go_from_table_to_table() -> None:
    parts = [AGE_JOB, JOB_ILL, part("t5", "age zip"), part("t6", "zip ill pay")]
    assert paths(["age"], parts) == {
        "age": ("age",),
        "job": ("age", "t2", "job"),
        "zip": ("age", "t5", "zip"),
        "ill": ("age", "t2", "job", "t3", "ill"),
        "pay": ("age", "t5", "zip", "t6", "pay"),
    }
    assert reachable(["nobody"], parts) == {"nobody"}
    assert reachable(["zip", "job"], [AGE_JOB, ZIP_PAY]) == {"age", "job", "zip", "pay"}
