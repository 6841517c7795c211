"""GD and UAD: what they make is in normal form, judged by the audit's own checker, and GD's search is what it says."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.versatile.schemas import drawn_schema
from oracles.gd_and_normal_form import guardian_decomposition
from pluralis.auditing import audit
from pluralis.auditing.normal_form import Part, known, normal_form
from pluralis.errors import Infeasible
from pluralis.grouping.subtable_divergence import Groups, Likelihood, hanging
from pluralis.grouping.subtable_schema import Schema, Subtable
from pluralis.method.gd import filled_up, starts
from pluralis.method.uad import split
from pluralis.policy.policy import Policy
from pluralis.policy.rules import Dependency
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key

SETS = int(os.environ.get("PLURALIS_RULE_SETS", "4000"))  # 100,000 gave no failure either (docs/methods/uad.md)


def parts_of(schema: Schema, tables: Sequence[Subtable]) -> list[Part]:
    return [
        Part(f"t{i}", frozenset(schema.names(t.shows)), frozenset(schema.names(t.protects) if t.open else ()))
        for i, t in enumerate(tables, 1)
    ] + [known(dependency) for dependency in schema.dependencies]


def require_sound(schema: Schema, tables: Sequence[Subtable]) -> None:
    assert all(standing.holds for standing in normal_form(schema.rules, parts_of(schema, tables))), (
        schema.rules,
        tables,
    )
    assert {name for table in tables for name in schema.names(table.shows)} == set(schema.attributes)
    assert hanging(tables) is not None
    assert all(table.protects.bit_count() <= 1 for table in tables)


def goes_in_circles(schema: Schema) -> bool:
    edges = {(name, rule.protects) for rule in schema.rules for name in rule.knows}
    while new := {(a, d) for a, b in edges for c, d in edges if b == c} - edges:
        edges |= new
    return any(a == b for a, b in edges)


@pytest.mark.parametrize("seed", range(4))
def test_what_uad_and_gd_split_is_in_normal_form(seed: int) -> None:
    rng = random.Random(seed)
    circles = 0
    for _ in range(SETS // 4):
        schema = drawn_schema(rng)
        circles += goes_in_circles(schema)
        require_sound(schema, split(schema.whole, schema.arrows))
        for tables in starts(schema):
            require_sound(schema, tables)
            assert schema.in_normal_form(tables)
    assert circles > SETS // 40


@pytest.mark.parametrize("seed", range(2))
def test_what_gd_adds_back_leaves_it_in_normal_form_and_loses_less(seed: int) -> None:
    rng = random.Random(seed)
    grown = 0
    for _ in range(max(60, SETS // 100)):
        schema = drawn_schema(rng)
        likelihood = drawn_likelihood(len(schema.tied), rng.randrange(2**32))
        for before in starts(schema):
            after = filled_up(before, schema, likelihood)
            require_sound(schema, after)
            kl = [likelihood.kl(tables) for tables in (before, after)]
            assert kl[0] is not None
            assert kl[1] is not None
            assert kl[1] <= kl[0] + 1e-9
            assert not more_can_be_added(schema, after)
            grown += sum(t.shows.bit_count() for t in after) > sum(t.shows.bit_count() for t in before)
    assert grown > 10


def drawn_likelihood(columns: int, seed: int, rows: int = 40) -> Likelihood:
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, 3, rows).astype(np.int32) for _ in range(columns)]
    groups = {1 << i: Groups.from_rows(rng.integers(0, 8, rows), line, 3) for i, line in enumerate(codes)}
    return Likelihood([(line, 3) for line in codes], groups)


def more_can_be_added(schema: Schema, tables: Sequence[Subtable]) -> bool:
    for i, table in enumerate(tables):
        for bit in (1 << j for j in range(len(schema.tied)) if not table.shows >> j & 1):
            tried = [*tables[:i], Subtable(table.shows | bit, table.protects), *tables[i + 1 :]]
            if hanging(tried) is not None and schema.in_normal_form(tried):
                return True
    return False


def test_the_papers_loop_ends_where_rules_do_not_go_in_circles_and_mostly_not_elsewhere() -> None:
    """Where it ends it ends in normal form, as the split of gd does, which has no fewer attributes."""
    rng = random.Random(9)
    ended, circles = {True: 0, False: 0}, {True: 0, False: 0}
    for _ in range(60):
        schema = drawn_schema(rng)
        circular = goes_in_circles(schema)
        rules = [(frozenset(rule.knows), rule.protects) for rule in schema.rules]
        rng.shuffle(rules)
        circles[circular] += 1
        ended[circular] += guardian_decomposition(set(schema.attributes), rules) is not None
    assert ended[False] == circles[False] > 10
    assert ended[True] < 0.3 * circles[True]
    assert guardian_decomposition({"a", "b"}, [(frozenset("a"), "b"), (frozenset("b"), "a")]) is None


def test_rules_in_a_circle_end_with_a_release() -> None:
    people = pl.DataFrame({"a": list("xyzxyz"), "b": list("uvwvwu"), "c": list("112233")})
    for method in ("gd", "uad"):
        rules = ["a -> b : l=2", "b -> a : l=2"]
        policy = Policy.from_dict(
            {"version": 1, "attributes": {"c": {"role": "plain"}}, "rules": rules, "publish": {"method": method}}
        )
        release = publish(people, policy, key=Key.test())
        verdict = audit(release, original=people, allow_test=True)
        assert verdict.holds, verdict.failures
        assert not any({"a", "b"} <= set(table.columns) for table in release.tables.values())


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_tied_attributes_stand_together_or_are_refused(seed: int) -> None:
    rng = random.Random(seed)
    plain = drawn_schema(rng)
    pairs = [rng.sample(plain.attributes, 2) for _ in range(rng.randint(1, 2))]
    dependencies = [Dependency(knows=(left,), decides=right) for left, right in pairs]
    ties = [set(dependency.attributes) for dependency in dependencies]
    if len(ties) == 2 and ties[0] & ties[1]:
        ties = [ties[0] | ties[1]]
    if any(rule.protects in tie and tie & set(rule.knows) for rule in plain.rules for tie in ties):
        with pytest.raises(Infeasible, match="cannot be kept"):
            Schema.from_rules(plain.attributes, plain.rules, dependencies)
        return
    schema = Schema.from_rules(plain.attributes, plain.rules, dependencies)
    for tables in (split(schema.whole, schema.arrows), *starts(schema)):
        require_sound(schema, tables)
        for tie in ties:
            for table in tables:
                assert tie & set(schema.names(table.shows)) in (set(), tie)
