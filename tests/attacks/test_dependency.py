"""Functional dependencies: joined to several tables, to sets and to slices."""

from __future__ import annotations

from random import Random
from typing import Any

import polars as pl
import pytest

from oracles.worlds_of_decomposed import Tiny
from oracles.worlds_of_subtables import beliefs, highest
from pluralis.attacks.base import Options, Result
from pluralis.attacks.dependency import ATTACK, dependencies_of
from pluralis.policy.policy import Policy
from pluralis.policy.rules import Dependency
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.release.manifest import Claim
from pluralis.release.release import Release
from support.handmade_multi_releases import Sub, multi_release
from support.handmade_releases import decomposed, handmade, people_of
from support.random_multi_releases import filled, names_of, schema
from support.random_releases import breached, check_quiet, published
from support.sample_tables import policy_of


def run(release: Release, original: pl.DataFrame) -> list[Result]:
    return list(ATTACK.run(release, original, Options()))


# several tables -------------------------------------------------------------------------------------------------


def chained(rows: int, declared: bool = True) -> tuple[Release, pl.DataFrame]:
    """q beside x, and s alone: s cannot be reached from q, unless one knows which s goes with x."""
    people = [{"q": f"q{i}", "x": f"x{i % 12}", "s": f"s{i % 12 % 4}"} for i in range(rows)]
    release = multi_release(people, [Sub("qx"), Sub("s")], ["q -> s : l=2"], ["x -> s"] if declared else [])
    return release, pl.DataFrame(people)


@pytest.mark.parametrize("rows", [6, 8, 48, 1200])
def test_a_dependency_leads_around(rows: int) -> None:
    (result,) = run(*chained(rows))
    assert result.question == "s, knowing q, and that x -> s"
    assert (result.worst, result.success, result.promised, result.breach) == (1.0, 1.0, 0.5, True)
    assert result.prior < 0.5
    assert result.above_chance


def test_what_is_only_found_is_measured_and_binds_nobody() -> None:
    release, people = chained(1200, declared=False)
    (result,) = run(release, people)
    assert (result.worst, result.promised, result.breach) == (1.0, None, False)
    assert result.note is not None
    assert result.note.endswith("found in the original, not declared")
    assert dependencies_of(release, people)[0].dependency == Dependency.parse("x -> s")


def test_whoever_knows_the_left_side_needs_no_release() -> None:
    people = chained(48)[1]
    more = multi_release(people.to_dicts(), [Sub("qx"), Sub("s")], ["x -> s : l=2"], ["x -> s"])
    (result,) = run(more, people)
    assert (result.worst, result.prior, result.above_chance) == (1.0, 1.0, False)


@pytest.mark.parametrize("method", ["gd", "uad"])
def test_the_default_is_not_broken(method: str) -> None:
    random = Random(1)
    policy = Policy.from_dict(
        {
            "version": 1,
            "rules": ["q -> s : l=2", "z -> s : l=2"],
            "dependencies": ["x -> s"],
            "attributes": {"x": {"role": "quasi"}},
            "publish": {"method": method},
        }
    )

    def people() -> pl.DataFrame:
        kinds = [random.randrange(6) for _ in range(random.choice([8, 24, 80]))]
        return pl.DataFrame(
            {"q": [f"q{random.randrange(5)}" for _ in kinds], "x": [f"x{k}" for k in kinds],
             "s": [f"s{k % 4}" for k in kinds], "z": [f"z{random.randrange(3)}" for _ in kinds]}
        )  # fmt: skip

    check_quiet(ATTACK, published((people(), policy) for _ in range(30)), least=20)


def test_agrees_with_all_worlds() -> None:
    random, compared, beyond = Random(2), 0, 0
    while compared < 40:
        subs, rule = schema(random)
        names = names_of(subs)
        x = random.choice([name for name in names if name != rule.protects])
        sketch = filled(random, subs, rule, Dependency(knows=(x,), decides=rule.protects))
        if sketch is None:
            continue
        possible = sketch.worlds
        results = [r for r in run(sketch.release, pl.DataFrame(sketch.people)) if r.question.endswith(f"{sketch.tie}")]
        claims = [claim for claim in sketch.release.manifest.claims if claim.attribute == rule.protects]
        for claim, result in zip(claims, results, strict=True):
            believed = beliefs(possible, claim.adversary, rule.protects)
            real = {tuple(person[name] for name in claim.adversary) for person in sketch.people}
            assert result.note == "every world was counted"
            assert result.worst == pytest.approx(highest({key: believed[key] for key in real}))
            beyond += result.breach
            compared += 1
    assert beyond > 10


# sets and slices ------------------------------------------------------------------------------------------------


def noisy(random: Random, groups: int, planted: set[int]) -> tuple[Release, pl.DataFrame]:
    """Two jobs and two pays in each group, which go together; where planted, both jobs have one, the other is noise."""
    rows, group_of, sets = [], [], {}
    for g in range(1, groups + 1):
        pay = random.choice("uvw")
        jobs = random.sample([f"{pay}{i}" for i in range(4)], 2)
        other = random.choice([p for p in "uvw" if p != pay])
        jobs = jobs if g in planted else [jobs[0], f"{other}{random.randrange(4)}"]
        rows += [(job, job[0]) for job in jobs]
        group_of += [g, g]
        sets[g] = (frozenset(jobs), frozenset({pay, other}))
    tiny = Tiny(tuple(rows), tuple(group_of), sets)
    return decomposed(tiny, "none", (("age",), "s1", 2), dependencies=["s0 -> s1"]), people_of(tiny)


def test_planted_noise_is_struck_out() -> None:
    """A pay that no job of the group goes with: one candidate is left where two are published."""
    random = Random(3)
    for _ in range(30):
        groups = random.randint(4, 12)
        release, people = noisy(random, groups, {random.randint(1, groups), random.randint(1, groups)})
        (result,) = run(release, people)
        assert (result.worst, result.promised, result.breach) == (1.0, 0.5, True)


def test_sets_without_noise_stay_quiet() -> None:
    random = Random(7)
    for _ in range(90):
        release, people = noisy(random, random.randint(4, 12), set())
        (result,) = run(release, people)
        assert (result.worst, result.promised, result.breach) == (0.5, 0.5, False)


def sliced(groups: list[tuple[list[str], list[str]]]) -> tuple[Release, pl.DataFrame]:
    """Pairs of groups: the jobs of one slice and the pays of the other; a row for each pair of places."""
    rows, jobs, pays = [], [], []
    for g, (some, others) in enumerate(groups, 1):
        rows += [(g, g)] * len(some)
        jobs += [(g, job, some.count(job)) for job in sorted(set(some))]
        pays += [(g, pay, others.count(pay)) for pay in sorted(set(others))]
    tables = {
        "quasi": pl.DataFrame([("*", *row) for row in rows], schema=["age", "group_1", "group_2"], orient="row"),
        "slice_1": pl.DataFrame(jobs, schema=["group", "job", "count"], orient="row"),
        "slice_2": pl.DataFrame(pays, schema=["group", "pay", "count"], orient="row"),
    }
    claim = Claim(rule="", model="frequency", adversary=("age",), attribute="pay", l=2)
    release = handmade("sliced", tables, [claim], ("job", "pay"), dependencies=["job -> pay"])
    people = [(job, job[0]) for some, _ in groups for job in some]
    return release, pl.DataFrame(people, schema=["job", "pay"], orient="row").with_columns(age=0)


def test_planted_slices_are_joined() -> None:
    """Jobs of one pay in one slice leave one of the pays of the other."""
    random = Random(4)
    for _ in range(80):
        clean = [(["u1", "v1"], ["u", "v"]), (["u2", "w1"], ["u", "w"]), (["v2", "w2"], ["v", "w"])]
        groups = [random.choice(clean) for _ in range(random.randint(3, 8))]
        (quiet,) = run(*sliced(groups))
        assert (quiet.promised, quiet.breach) == (0.5, False)
        pay = random.choice("uvw")
        groups.insert(random.randrange(len(groups)), ([f"{pay}1", f"{pay}2"], [pay, "u" if pay != "u" else "v"]))
        (result,) = run(*sliced(groups))
        assert (result.worst, result.breach) == (1.0, True)
        assert result.witness is not None
        assert result.witness.startswith("group ")


# clean releases of other kinds ----------------------------------------------------------------------------------

ATTRIBUTES: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}}
ATTRIBUTES |= {name: {"role": "sensitive", "l": 2} for name in ("job", "pay")}


@pytest.mark.parametrize("method", ["bsgi", "mondrian", "decomposition", "sloms", "msb"])
def test_no_false_alarm(method: str) -> None:
    """Nothing is promised of dependencies there; what is measured is shown."""
    random = Random(5)
    policy = policy_of(ATTRIBUTES, method=method, suppress=0.3)

    def people() -> pl.DataFrame:
        kinds = random.sample([k % 8 for k in range(48)], 48)
        return pl.DataFrame(
            {"age": [random.randint(1, 90) for _ in kinds], "job": [f"j{k}" for k in kinds],
             "pay": [f"p{k % 4}" for k in kinds]}
        )  # fmt: skip

    clean = list(published((people(), policy) for _ in range(12)))
    assert len(clean) >= 8
    for one in clean:
        results = run(*one)
        assert [result.attribute for result in results] == ["pay"] * len(results)
        assert results
        assert not breached(results)


def test_a_table_without_dependencies_gives_no_result() -> None:
    random = Random(6)
    people = pl.DataFrame({"age": [random.randint(1, 5) for _ in range(40)], "ill": ["a", "b", "c", "d"] * 10})
    attributes = {"age": {"role": "quasi", "type": "number"}, "ill": {"role": "sensitive", "l": 2}}
    release = publish(people, policy_of(attributes, method="anatomy"), key=Key.test(), attacks=False)
    assert ATTACK.applies(release)
    assert run(release, people) == []


def test_a_quasi_attribute_that_decides_the_sensitive_one() -> None:
    people = pl.DataFrame({"job": [f"j{i % 8}" for i in range(48)], "pay": [f"p{i % 8 % 4}" for i in range(48)]})
    attributes = {"job": {"role": "quasi"}, "pay": {"role": "sensitive", "l": 2}}
    (result,) = run(publish(people, policy_of(attributes, method="anatomy"), key=Key.test(), attacks=False), people)
    assert (result.worst, result.success, result.prior, result.promised) == (1.0, 1.0, 1.0, None)
