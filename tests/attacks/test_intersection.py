"""Cross-table intersection: golden releases, planted violations, clean releases."""

from __future__ import annotations

from random import Random
from typing import Any

import polars as pl
import pytest

from oracles.worlds_of_decomposed import Tiny
from pluralis.assembling.assembly import assemble
from pluralis.attacks import intersection
from pluralis.attacks.adversary.consistent_worlds import candidates, piles_of, propagated
from pluralis.attacks.base import Options, Result
from pluralis.attacks.homogeneity import ATTACK as HOMOGENEITY
from pluralis.attacks.intersection import ATTACK
from pluralis.errors import Infeasible
from pluralis.method import method_for
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Draw, Key
from pluralis.release.release import Release
from support.handmade_multi_releases import Sub, multi_release
from support.handmade_releases import decomposed, people_of, sliced
from support.paper_tables import (
    DECOMPOSITION_1,
    DECOMPOSITION_ROLES,
    SLOMS_1,
    SLOMS_ROLES,
    SLOMS_SLICES,
    VERSATILE_1,
    VERSATILE_2,
    VERSATILE_RULES,
    decomposition_table_6,
    versatile_release,
)
from support.random_releases import breached, check_quiet, published
from support.sample_tables import policy_of


def run(release: Release, original: pl.DataFrame, **options: int) -> list[Result]:
    return list(ATTACK.run(release, original, Options(**options)))


# golden ---------------------------------------------------------------------------------------------------------


def test_d1_table_6_gives_a_half_where_a_quarter_is_claimed() -> None:
    plan, table, policy = decomposition_table_6()
    release = assemble(plan, table, policy, method_for(policy), Draw(Key.test()))
    original = DECOMPOSITION_1.cast(pl.String)
    occupation, salary = run(release, original)
    assert (salary.attribute, salary.worst, salary.promised, salary.witness) == ("salary", 0.5, 0.25, "group 1")
    assert salary.breach
    assert not occupation.breach
    assert (salary.targets, salary.sampled) == (8, False)
    assert salary.success == pytest.approx((4 / 3 + 4 / 4) / 8)


def test_d1_fails_on_the_default() -> None:
    original = DECOMPOSITION_1.cast(pl.String)
    for i in range(6):
        for knows in (None, "occupation", "salary"):
            adversaries = [["gender", "zipcode", "birthday", knows]] if knows else None
            policy = policy_of(DECOMPOSITION_ROLES, method="decomposition", adversaries=adversaries)
            release = publish(
                original.select(list(DECOMPOSITION_ROLES)), policy, key=Key(bytes([i] * 32)), attacks=False
            )
            assert not breached(run(release, original))


def test_versatile_tables_2_reveal_four_people() -> None:
    results = run(versatile_release(VERSATILE_2), VERSATILE_1)
    third = results[2]
    assert third.question == "zipcode, knowing hospital, race"
    assert (third.worst, third.promised, third.breach) == (1.0, 0.5, True)
    assert third.note == "every world was counted"
    assert third.success > 4 / 6


def test_propagation_alone_finds_the_four_people() -> None:
    """What a large release would get: pairings of whole tables, no counting of worlds."""
    piles = piles_of(versatile_release(VERSATILE_2))
    assert piles is not None
    asked = VERSATILE_1.select("hospital", "race").unique(maintain_order=True)
    known = {name: piles.code(name, asked[name]) for name in asked.columns}
    may = candidates(piles, propagated(piles), known, "zipcode")
    certain = {
        (*asked.row(i), piles.domains["zipcode"][int(row.argmax())]) for i, row in enumerate(may) if sum(row) == 1
    }
    assert certain == {
        ("111111", "asian", "71000"),
        ("222222", "black", "73000"),
        ("333333", "black", "71000"),
        ("333333", "white", "72000"),
    }


@pytest.mark.parametrize("method", ["gd", "uad"])
def test_versatile_fails_on_the_default(method: str) -> None:
    policy = policy_of({}, rules=VERSATILE_RULES, method=method)
    release = publish(VERSATILE_1, policy, key=Key.test(), attacks=False)
    assert run(release, VERSATILE_1)
    assert not breached(run(release, VERSATILE_1))


V3 = [("q1", "z1", "a"), ("q2", "z2", "b"), ("q3", "z3", "c"), ("q4", "z4", "d")]


def v3(copies: int) -> tuple[list[dict[str, Any]], list[Sub]]:
    """The four people of V3, several times with names of their own."""
    people = [
        {"q": f"{q}{c}", "z": f"{z}{c}", "s": f"{s}{c}"} for c in range(copies) for q, z, s in V3
    ]  # fmt: skip
    first = [2 * c + g for c in range(copies) for g in (1, 1, 2, 2)]
    second = [2 * c + g for c in range(copies) for g in (1, 2, 2, 1)]
    return people, [Sub("qs", "s", first), Sub("zs", "s", second)]


@pytest.mark.parametrize("copies", [1, 20, 400])  # every world, pairings of tables, joins
def test_v3_whoever_knows_both_sides_learns_the_sensitive_value(copies: int) -> None:
    people, subs = v3(copies)
    each = ["q -> s : l=2", "z -> s : l=2"]
    one, two, both = run(multi_release(people, subs, [*each, "q, z -> s : l=2"]), pl.DataFrame(people))
    assert (one.worst, two.worst, both.worst, both.success) == (0.5, 0.5, 1.0, 1.0)
    assert [one.breach, two.breach, both.breach] == [False, False, True]
    assert not breached(run(multi_release(people, subs, each), pl.DataFrame(people)))


def test_v3_fails_on_the_default() -> None:
    people = pl.DataFrame(v3(2)[0])
    for method in ("gd", "uad"):
        policy = policy_of({}, rules=["q -> s : l=2", "z -> s : l=2", "q, z -> s : l=2"], method=method)
        assert not breached(run(publish(people, policy, key=Key.test(), attacks=False), people))


def test_s2_linked_slices() -> None:
    """Whoever knows an occupation learns the salary of the same slice; the default shuffles."""
    knows = [["gender", "zipcode", "age", "occupation"]]
    how: dict[str, Any] = {"method": "sloms", "k": 3, "adversaries": knows, "suppress": 0.7, "options": SLOMS_SLICES}
    paper = run(
        publish(SLOMS_1, policy_of(SLOMS_ROLES, variant="paper", **how), key=Key.test(), attacks=False), SLOMS_1
    )
    assert any("salary" in question for question in breached(paper))
    assert not breached(run(publish(SLOMS_1, policy_of(SLOMS_ROLES, **how), key=Key.test(), attacks=False), SLOMS_1))


# planted and clean ----------------------------------------------------------------------------------------------


def planted_multi(random: Random, rows: int) -> tuple[Release, pl.DataFrame]:
    """Two parts that guard s from q and from z; somewhere the groups of a person have one value in common."""
    while True:
        people = [{"q": f"q{i}", "z": f"z{i}", "s": f"s{random.randrange(rows // 2)}"} for i in range(rows)]
        subs = [Sub(("q", "s"), ("s",), pairs_of(random, people)), Sub(("z", "s"), ("s",), pairs_of(random, people))]
        possible = [
            [{p["s"] for p, g in zip(people, sub.groups, strict=True) if g == sub.groups[i]} for sub in subs]
            for i in range(rows)
            if all(sub.groups for sub in subs)
        ]
        if any(len(a & b) == 1 for a, b in possible):
            return multi_release(people, subs, ["q, z -> s : l=2"]), pl.DataFrame(people)


def pairs_of(random: Random, people: list[dict[str, Any]]) -> list[int]:
    """Groups of two people of different values, or none."""
    for _ in range(200):
        order = random.sample(range(len(people)), len(people))
        groups = [0] * len(people)
        for place, i in enumerate(order):
            groups[i] = place // 2 + 1
        if all(people[a]["s"] != people[b]["s"] for a, b in zip(order[::2], order[1::2], strict=True)):
            return groups
    return []


def test_planted_intersections_are_found() -> None:
    """Of all sizes: worlds counted, tables paired, tables joined."""
    random = Random(5)
    for case in range(30):
        release, people = planted_multi(random, [6, 8, 24, 60, 700, 1000][case % 6])
        (result,) = run(release, people)
        assert result.breach, case
        assert result.worst == 1.0


def test_planted_groups_of_one_value_are_found() -> None:
    """A group of one table that one value fills: no join is needed."""
    random = Random(6)
    for case in range(20):
        rows = [6, 8, 24, 700][case % 4]
        people = [{"q": f"q{i}", "s": f"s{i % (rows // 2)}"} for i in range(rows)]
        groups = [i // 3 if i < rows - rows % 3 else 0 for i in range(rows)]
        bad = random.randrange(rows // 3)
        people = [{**p, "s": "same"} if g == bad else p for p, g in zip(people, groups, strict=True)]
        release = multi_release(people, [Sub("qs", "s", groups)], ["q -> s : l=2"])
        (result,) = run(release, pl.DataFrame(people))
        assert result.breach
        assert result.worst == 1.0


def test_planted_sets_are_found() -> None:
    """A decomposed release in which counts leave one value to a group."""
    random, tried = Random(7), 0
    while tried < 30:
        groups = random.randint(3, 8)
        rows_of_groups = [(("a", f"x{g}"), ("b", f"y{g}")) for g in range(groups)]
        bad = random.randrange(groups)
        sets = {
            g + 1: (frozenset("ab"), frozenset({f"x{g}", f"y{g}", f"x{(g + 1) % groups}", f"y{(g + 1) % groups}"}))
            for g in range(groups)
        }
        sets[bad + 1] = (frozenset("ab"), frozenset({f"x{bad}", f"y{bad}"}))
        tiny = Tiny(
            tuple(row for both in rows_of_groups for row in both),
            tuple(g + 1 for g in range(groups) for _ in "ab"),
            sets,
        )
        original = people_of(tiny)
        for mode, l in (("joint", 2), ("marginals", 4)):
            known = ("s0",) if mode == "joint" else ()
            (result,) = run(decomposed(tiny, mode, (("age", *known), "s1", l)), original)
            assert result.breach
        tried += 1


@pytest.mark.parametrize("linked", [False, True])
def test_planted_slices_are_found(linked: bool) -> None:
    """A class of labels all of whose rows are in one group of a slice, which one value fills."""
    random = Random(11)
    for _ in range(10):
        release, people = sliced(random, linked=linked)
        quasi = pl.DataFrame(
            {"age": ["10"] * 3 + ["50"] * 3, "group_1": [1, 1, 1, 2, 2, 2], "group_2": [1, 1, 1, 2, 2, 2]}
        )
        value = random.choice("abc")
        filled = pl.DataFrame({"group": [1, 2, 2], "s2": [value, "a", "b"], "count": [3, 2, 1]})
        (first, *_) = run(Release(release.manifest, {**release.tables, "quasi": quasi, "slice_2": filled}), people)
        assert (first.attribute, first.worst, first.breach) == ("s2", 1.0, True)


V4 = pl.DataFrame({"hospital": [f"h{i}" for i in range(8)], "race": ["asian", *["white"] * 5, "black", "black"]})


@pytest.mark.parametrize("copies", [1, 20, 400])
def test_v4_whoever_knows_nothing_guesses_a_common_value(copies: int) -> None:
    """In normal form, since race cannot be reached from hospital; five in eight have the same, where 1/2 is claimed."""
    people = [{**row, "hospital": f"{row['hospital']}.{c}"} for c in range(copies) for row in V4.to_dicts()]
    release = multi_release(people, [Sub(("hospital",)), Sub(("race",))], ["hospital -> race : l=2"])
    (result,) = run(release, pl.DataFrame(people))
    assert (result.worst, result.promised, result.breach) == (0.625, 0.5, True)
    assert result.success == pytest.approx(0.625)


@pytest.mark.parametrize("method", ["gd", "uad", "single-attribute", "multi-sa"])
def test_v4_is_refused_by_the_default(method: str) -> None:
    policy = policy_of({}, rules=["hospital -> race : l=2"], method=method)
    with pytest.raises(Infeasible, match="race"):
        publish(V4, policy, key=Key.test(), attacks=False)
    enough = pl.concat([V4, pl.DataFrame({"hospital": ["h8", "h9"], "race": ["asian", "black"]})])
    release = publish(enough, policy, key=Key.test(), attacks=False)
    attack = ATTACK if ATTACK.applies(release) else HOMOGENEITY  # multi-sa makes one table
    results = list(attack.run(release, enough, Options()))
    assert results
    assert not breached(results)


def random_people(random: Random, rows: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [random.randint(20, 60) for _ in range(rows)],
            "sex": [random.choice("fm") for _ in range(rows)],
            "job": random.sample([f"j{i % 5}" for i in range(rows)], rows),
            "pay": random.sample([f"p{i % 4}" for i in range(rows)], rows),
        }
    )


CLEAN: dict[str, dict[str, Any]] = {
    "decomposition": {"adversaries": [["age", "sex"], ["age", "sex", "job"]]},
    "sloms": {"adversaries": [["age", "sex"], ["age", "sex", "job"]], "k": 2, "suppress": 0.5},
}


@pytest.mark.parametrize("method", CLEAN)
def test_clean_releases_stay_quiet(method: str) -> None:
    random = Random(8)
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "sex": {"role": "quasi"}}
    attributes |= {name: {"role": "sensitive", "l": 2} for name in ("job", "pay")}
    policy = policy_of(attributes, method=method, **CLEAN[method])
    asked = ((random_people(random, random.choice([8, 12, 20, 30])), policy) for _ in range(70))
    check_quiet(ATTACK, published(asked), least=60)


@pytest.mark.parametrize("method", ["gd", "uad", "single-attribute"])
def test_clean_multi_releases_stay_quiet(method: str) -> None:
    random = Random(9)
    rules = [["age -> job : l=2", "job -> pay : l=2"], ["age, sex -> pay : l=2", "pay -> job : l=2"]]
    policies = [policy_of({}, rules=both, method=method, others="drop") for both in rules]
    sizes = [6, 8, 20] if method == "single-attribute" else [6, 8, 20, 60]
    asked = ((random_people(random, random.choice(sizes)), policies[i % 2]) for i in range(36))
    check_quiet(ATTACK, published(asked), least=27)


def test_targets_are_drawn_where_there_are_many() -> None:
    people, subs = v3(400)
    (result,) = run(multi_release(people, subs, ["q, z -> s : l=2"]), pl.DataFrame(people), sample=100)
    assert (result.targets, result.sampled, result.success) == (100, True, 1.0)
    assert result.low < 1.0


def test_classes_of_labels_are_drawn_where_there_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    release, people = sliced(Random(10))
    monkeypatch.setattr(intersection, "ROWS", 8)  # three rows of two or three values are few enough, six are not
    monkeypatch.setattr(intersection, "CLASSES", 3)
    first = run(release, people)[0]
    assert (first.targets, first.sampled) == (3, True)
