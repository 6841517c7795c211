"""Every method meets one contract; a new method inherits these checks by being there."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from pluralis.assembling.assembly import assemble
from pluralis.assembling.true_breaks import CASES
from pluralis.auditing import audit
from pluralis.datasets.hospital import hospital_discharges
from pluralis.errors import Infeasible, PolicyError
from pluralis.grouping.plan import SUPPRESSED, MultiPlan, SlicedPlan
from pluralis.method import method_for, methods
from pluralis.metrics import measure
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.publishing.saving import Publication
from pluralis.randomness import Draw, Key
from pluralis.table.encoding import encode
from support.sample_tables import policy_of

ATTRIBUTES: dict[str, dict[str, Any]] = {
    "age": {"role": "quasi", "type": "number"},
    "gender": {"role": "quasi"},
    "zipcode": {"role": "quasi", "hierarchy": {"mask": "right"}, "weight": 2},
    "race": {"role": "quasi"},
    "admission": {"role": "plain"},
    "diagnosis": {"role": "sensitive", "l": 3},
    "insurer": {"role": "sensitive", "l": 2},
}


SUPPRESS = 0.3


@cache
def discharges() -> pl.DataFrame:
    table = hospital_discharges(rows=600)
    gaps = np.arange(table.height) % 17 == 0
    return table.with_columns(
        pl.when(pl.Series(gaps)).then(None).otherwise(pl.col("age")).alias("age"),
        pl.when(pl.Series(np.roll(gaps, 3))).then(None).otherwise(pl.col("race")).alias("race"),
    )


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return discharges()


NEEDS_K = {"kaca", "sloms"}  # they generalize to k-anonymity
WITHOUT_K = {  # they publish quasi-identifiers as they are
    "anatomy", "decomposition", "gd", "msb", "multi-sa", "randomized-addition", "single-attribute", "uad",
}  # fmt: skip
ALONE = {"anatomy", "tp"}  # they protect one attribute
SET_SIZE = {"randomized-addition"}  # of several sensitive attributes, and rows of a person, it promises no more
NOTHING_DRAWN = {"single-attribute"}  # it has no groups


def attributes_for(method: str) -> dict[str, dict[str, Any]]:
    kept = dict(ATTRIBUTES)
    if method in ALONE:
        del kept["insurer"]
    return kept


def policy_for(method: str, **more: Any) -> Policy:
    if method in NEEDS_K:
        more.setdefault("k", 2)
    if method in SET_SIZE:
        more.setdefault("options", {"claim": "set-size"})
    return policy_of(attributes_for(method), others="drop", person="patient", method=method, suppress=SUPPRESS, **more)


@cache
def published(method: str) -> Publication:
    """The release that several checks look at."""
    return publish(discharges(), policy_for(method), key=Key.test())


def every_row_once_or_counted(method: str, people: pl.DataFrame) -> None:
    policy = policy_for(method)
    table = encode(people, policy)
    plan = method_for(policy).plan(table, policy, Draw(Key.test()))
    assert plan.group_of.shape == (table.rows,)
    assert plan.suppressed <= SUPPRESS * table.rows
    assert sorted(set(plan.group_of.tolist()) - {SUPPRESSED}) == list(range(plan.groups))
    release = published(method)
    assert release.manifest.rows + release.manifest.suppressed == people.height


def no_group_holds_a_person_twice(method: str, people: pl.DataFrame) -> None:
    policy = policy_for(method)
    table = encode(people, policy)
    plan = method_for(policy).plan(table, policy, Draw(Key.test()))
    assert table.person is not None
    if plan.kind == "candidates":  # rows stand alone
        return
    groupings = [(plan.group_of, table.person)]
    if isinstance(plan, SlicedPlan):
        groupings = [(slice.group_of, table.person) for slice in plan.slices]
    elif isinstance(plan, MultiPlan):
        groupings = [(part.plan.group_of, part.table.person) for part in plan.subplans if part.plan is not None]
    for group_of, person in groupings:
        kept = group_of != SUPPRESSED
        pairs = list(zip(group_of[kept].tolist(), person[kept].tolist(), strict=True))
        assert len(pairs) == len(set(pairs))


def same_key_same_tables_whatever_the_order(method: str, people: pl.DataFrame) -> None:
    policy = policy_for(method)
    first = published(method)
    shuffled = people.sample(fraction=1.0, shuffle=True, seed=3).select(list(reversed(people.columns)))
    second = publish(shuffled, policy, key=Key.test())
    assert first.manifest == second.manifest
    assert all(table.equals(second.tables[name]) for name, table in first.tables.items())


def another_key_another_numbering(method: str, people: pl.DataFrame) -> None:
    policy = policy_for(method)
    first, second = (publish(people, policy, key=Key(bytes([i] * 32))).tables for i in (1, 2))
    drawn = [name for name, table in first.items() if "group" in table.columns or name == "microdata"]
    assert drawn or method in NOTHING_DRAWN
    assert not any(first[name].equals(second[name]) for name in drawn)


def input_untouched(method: str, people: pl.DataFrame) -> None:
    before = people.clone()
    publish(people, policy_for(method), key=Key.test())
    assert people.equals(before)


def audit_passes(method: str, people: pl.DataFrame) -> None:
    release = published(method)
    verdict = audit(release, original=people, allow_test=True)
    assert verdict.holds, verdict.failures
    rules = {claim.rule for claim in release.manifest.claims}
    assert rules <= {finding.claim for finding in verdict.findings}
    assert sum(finding.claim not in rules for finding in verdict.findings) >= 1 + 1 + 3  # about files, key and original
    assert {claim.attribute for claim in release.manifest.claims} >= set(policy_for(method).sensitive)


def packed_tables_are_those_that_were_built(method: str, people: pl.DataFrame) -> None:
    policy, draw = policy_for(method), Draw(Key.test())
    table = encode(people, policy)
    built = assemble(method_for(policy).plan(table, policy, draw), table, policy, method_for(policy), draw).tables
    tables = published(method).tables
    assert list(tables) == list(built)
    assert all(tables[name].equals(built[name]) for name in built)


def loss_is_that_against_the_original(method: str, people: pl.DataFrame) -> None:
    """Publishing measures against clean columns, which must make no difference."""
    release = published(method)
    ours, again = release.loss, measure(release, people)
    assert (ours.ncp, ours.kl, ours.distortion) == pytest.approx((again.ncp, again.kl, again.distortion))
    assert [d.values for d in ours.distributions] == [d.values for d in again.distributions]
    for one, other in zip(ours.distributions, again.distributions, strict=True):
        assert (*one.before, *one.after) == pytest.approx((*other.before, *other.after))


def missing_values_are_a_category_of_their_own(method: str, people: pl.DataFrame) -> None:
    release = published(method)
    assert release.manifest.rows + release.manifest.suppressed == people.height
    ages = next(table["age"] for table in release.tables.values() if "age" in table.columns)
    assert not ages.cast(pl.String).str.contains("null|nan|NaN").any()


def k_is_kept(method: str, people: pl.DataFrame) -> None:
    if method in WITHOUT_K:
        with pytest.raises(Infeasible, match="as they are"):
            publish(people, policy_for(method, k=3), key=Key.test())
        return
    release = publish(people, policy_for(method, k=3), key=Key.test())
    verdict = audit(release, allow_test=True)
    assert verdict.holds
    assert next(f for f in verdict.findings if "at least 3 rows" in f.claim).measured >= 3


def impossible_l_is_refused(method: str, people: pl.DataFrame) -> None:
    attributes = {**attributes_for(method), "diagnosis": {"role": "sensitive", "l": 500}}
    with pytest.raises(Infeasible, match="diagnosis"):
        publish(people, policy_of(attributes, others="drop", person="patient", method=method), key=Key.test())


def unknown_options_are_refused(method: str, people: pl.DataFrame) -> None:
    with pytest.raises(PolicyError, match="no option 'color'"):
        publish(people, policy_for(method, options={"color": 1}), key=Key.test())


def options_that_stand_elsewhere_are_sent_there(method: str, people: pl.DataFrame) -> None:
    for name, where in {
        "k": "top level",
        "suppress": "under `publish`",
        "variant": "under `publish`",
        "l": "under `attributes`",
    }.items():
        with pytest.raises(PolicyError, match=f"{method} has no option '{name}'.*{where}"):
            publish(people, policy_for(method, options={name: 3}), key=Key.test())


def it_says_what_it_is(method: str, people: pl.DataFrame) -> None:
    known = methods()[method]
    assert known.name == method
    assert known.title
    assert known.paper
    assert known.guarantee
    assert known.breaks
    release = published(method)
    dropped = set(known.breaks) - set(release.manifest.breaks)
    assert {sentence for sentence in dropped if not sentence.startswith(tuple(CASES))} == set()
    assert release.manifest.breaks


CHECKS: list[Callable[[str, pl.DataFrame], None]] = [
    every_row_once_or_counted,
    no_group_holds_a_person_twice,
    same_key_same_tables_whatever_the_order,
    another_key_another_numbering,
    input_untouched,
    audit_passes,
    packed_tables_are_those_that_were_built,
    loss_is_that_against_the_original,
    missing_values_are_a_category_of_their_own,
    k_is_kept,
    impossible_l_is_refused,
    unknown_options_are_refused,
    options_that_stand_elsewhere_are_sent_there,
    it_says_what_it_is,
]


@pytest.mark.parametrize("method", methods())  # what several checks look at is published once
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(method: str, check: Callable[[str, pl.DataFrame], None], people: pl.DataFrame) -> None:
    check(method, people)
