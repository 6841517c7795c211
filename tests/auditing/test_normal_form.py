"""The normal form against its definitions written twice, and against all worlds of tiny releases."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracles.gd_and_normal_form import guards, in_normal_form
from oracles.worlds_of_subtables import beliefs, highest, highest_knowing_everybody
from pluralis.auditing import Finding, audit
from pluralis.auditing.normal_form import known, normal_form
from pluralis.policy.rules import Dependency, Rule
from support.effort import tries
from support.handmade_multi_releases import Sub, parts_of
from support.random_multi_releases import Sketch, filled, halves, names_of, schema

SEEDS = st.integers(0, 2**32 - 1)


def finding_of(sketch: Sketch) -> Finding:
    """What the audit says of the rule."""
    agreement, first, *_ = audit(sketch.release).findings
    assert agreement.holds, agreement.note
    return first


# the definitions ------------------------------------------------------------------------------------------------


@given(SEEDS)
@settings(max_examples=tries(500))
def test_the_checker_is_the_definitions(seed: int) -> None:
    subs, rule = schema(Random(seed))
    parts = parts_of(subs)
    tables = [(set(sub.attributes), set(sub.protects)) for sub in subs]
    (standing,) = normal_form([rule], parts)
    assert standing.holds == in_normal_form(rule.knows, rule.protects, tables)
    if standing.reached:
        guarding = [part for i, part in enumerate(parts) if guards(i, rule.knows, rule.protects, tables)]
        assert guarding == ([standing.guardian] if standing.guardian else [])


# the theorem ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tied", [False, True], ids=["alone", "with a known dependency"])
@given(seed=SEEDS)
@settings(max_examples=tries(120))
def test_what_the_audit_measures_bounds_every_belief(tied: bool, seed: int) -> None:
    """Whoever knows Q of one person, or of everybody: no belief is above what the audit measured."""
    sketch = in_form(Random(seed), tied)
    assume(sketch is not None)
    bounded(sketch)


def in_form(random: Random, tied: bool) -> Sketch | None:
    """People for a schema in normal form, guarded twice as often as out of reach."""
    reached = random.random() < 2 / 3
    while True:
        subs, rule = schema(random)
        one, other = random.sample(names_of(subs), 2)
        tie = Dependency(knows=(one,), decides=other) if tied else None
        parts = [*parts_of(subs), *([known(tie)] if tie else [])]
        (standing,) = normal_form([rule], parts)
        if standing.holds and standing.reached == reached:
            return filled(random, subs, rule, tie)


def bounded(sketch: Sketch) -> None:
    rule, finding = sketch.rule, finding_of(sketch)
    assert finding.measured is not None
    possible = sketch.worlds
    everybody = highest_knowing_everybody(possible, rule.knows, rule.protects)
    assert everybody <= finding.measured + 1e-12
    assert highest(beliefs(possible, rule.knows, rule.protects)) <= everybody + 1e-12
    if "cannot be reached" in str(finding.note):
        assert everybody == pytest.approx(finding.measured, abs=1e-12)


def test_attributes_protected_together_are_cut_together() -> None:
    """Taking only S, or all of P, out of its part would not do: what stands beside S tells S.

    a is known; t1 shows b beside a; t2 shows c for b; and t1 publishes c and d side by side.
    """
    people = [dict(zip("abcd", values, strict=True)) for values in ("0000", "1111")]
    people = [{name: f"{name}{value}" for name, value in person.items()} for person in people]
    subs = [Sub("abcd", "cd", [1, 1]), Sub("bc")]
    rule = Rule.parse("a -> d : l=2")
    (standing,) = normal_form([rule], parts_of(subs))
    assert standing.why == "nothing guards a - t1 - d; t1 protects d, but a - t1 - b - t2 - c - t1 - d leads around"
    assert highest(beliefs(Sketch(people, subs, rule).worlds, "a", "d")) == 1


# what is not in normal form --------------------------------------------------------------------------------------

OPEN = {
    "nothing protects": ([Sub("ab")], "a -> b"),
    "two steps": ([Sub("ab"), Sub("bc")], "a -> c"),
    "protected in the wrong part": ([Sub("ab", "b"), Sub("bc")], "a -> c"),
    "shown elsewhere": ([Sub("abc", "c"), Sub("bc")], "a -> c"),
    "two parts that protect it": ([Sub("ac", "c"), Sub("bc", "c")], "a, b -> c"),
    "around its guardian": ([Sub("abc", "c"), Sub("bd"), Sub("cd", "d")], "a -> c"),
    "the intersection attack": ([Sub("abc", "c"), Sub("bd", "d"), Sub("cd", "d")], "a, b -> c"),
    "known beside it": ([Sub("abc", "bc")], "a, b -> c"),
}


def breach(subs: list[Sub], rule: Rule, random: Random, tries: int) -> Sketch | None:
    """People whom somebody who knows Q guesses with more than 1/2, though all groups and the column keep to it."""
    for _ in range(tries):
        sketch = filled(random, subs, rule)
        if sketch and halves(sketch.people, [1] * len(sketch.people), rule.protects):
            believed = beliefs(sketch.worlds, rule.knows, rule.protects)
            true = {tuple(person[name] for name in rule.knows) for person in sketch.people}
            if highest({q: believed[q] for q in true}) > 0.5 + 1e-12:
                return sketch
    return None


@pytest.mark.parametrize("name", OPEN)
def test_rules_that_are_not_in_normal_form_are_broken(name: str) -> None:
    subs, text = OPEN[name]
    rule = Rule.parse(f"{text} : l=2")
    (standing,) = normal_form([rule], parts_of(subs))
    assert not standing.holds
    sketch = breach(subs, rule, Random(1), 200)
    assert sketch is not None
    assert not finding_of(sketch).holds


def test_most_schemas_that_are_not_in_normal_form_are_broken_by_some_table() -> None:
    """119 of 120 by 100 tables of four or five people each; here fewer are tried."""
    random = Random(5)
    tried = broken = 0
    while tried < 60:
        subs, rule = schema(random)
        if not normal_form([rule], parts_of(subs))[0].holds:
            tried += 1
            broken += breach(subs, rule, random, 40) is not None
    assert broken / tried >= 0.9, broken


def test_a_dependency_opens_a_rule_and_the_worlds_agree() -> None:
    """t1 guards drg, and t2 shows mdc to whoever knows sex; who knows drg -> mdc learns drg from it."""
    subs = [Sub(["sex", "drg"], ["drg"], [1, 1, 2, 2]), Sub(["sex", "mdc"])]
    people = [
        {"sex": sex, "drg": drg, "mdc": drg[0]} for sex, drg in [("f", "a1"), ("m", "b1"), ("f", "a2"), ("m", "b2")]
    ]
    rule = Rule.parse("sex -> drg : l=2")
    alone, tied = Sketch(people, subs, rule), Sketch(people, subs, rule, Dependency.parse("drg -> mdc"))
    assert finding_of(alone).holds
    assert highest(beliefs(alone.worlds, ["sex"], "drg")) == 0.25
    finding = finding_of(tied)
    assert not finding.holds
    assert finding.note == (
        "nothing guards sex - t1 - drg; t1 protects drg, but sex - t2 - mdc - (drg -> mdc) - drg leads around; "
        "(drg -> mdc) does not protect drg"
    )
    assert highest(beliefs(tied.worlds, ["sex"], "drg")) == 0.5


def test_a_dependency_may_be_protected_whole() -> None:
    drg = known(Dependency.parse("drg -> mdc"))
    (standing,) = normal_form(
        [Rule.parse("sex -> drg : l=2")], [*parts_of([Sub(["sex", "drg", "mdc"], ["drg", "mdc"])]), drg]
    )
    assert standing.why == "guarded by t1"
