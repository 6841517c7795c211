"""Cross-table intersection: golden releases, every world of tiny ones, planted violations, clean releases."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import polars as pl
import pytest

import worlds_tables
from multi import Sub, multi_release
from naive_versatile import beliefs, highest, worlds
from paper.test_holes import PEOPLE, SLICES, STAFF, table_6
from paper.test_versatile import RULES, TABLE_1, TABLES_2, release_of
from pluralis.attacks import intersection
from pluralis.attacks.base import Options, Result
from pluralis.attacks.homogeneity import ATTACK as HOMOGENEITY
from pluralis.attacks.intersection import ATTACK
from pluralis.attacks.piles import candidates, piles_of, propagated
from pluralis.errors import Infeasible
from pluralis.methods import method_for
from pluralis.publish import assemble, publish
from pluralis.randomness import Draw, Key
from pluralis.release import Claim, Manifest, Release
from sketches_multi import filled, schema
from tables import DECOMPOSITION_1, SLOMS_1, policy_of
from worlds_decomposed import Tiny, seen
from worlds_decomposed import worlds as worlds_of_sets


def run(release: Release, original: pl.DataFrame, **options: int) -> list[Result]:
    return list(ATTACK.run(release, original, Options(**options)))


def breached(results: list[Result]) -> list[str]:
    return [result.question for result in results if result.breach]


# golden ---------------------------------------------------------------------------------------------------------


def test_d1_table_6_gives_a_half_where_a_quarter_is_claimed() -> None:
    plan, table, policy = table_6()
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
            policy = policy_of(STAFF, method="decomposition", adversaries=adversaries)
            release = publish(original.select(list(STAFF)), policy, key=Key(bytes([i] * 32)), attacks=False)
            assert not breached(run(release, original))


def test_versatile_tables_2_reveal_four_people() -> None:
    results = run(release_of(TABLES_2), TABLE_1)
    third = results[2]
    assert third.question == "zipcode, knowing hospital, race"
    assert (third.worst, third.promised, third.breach) == (1.0, 0.5, True)
    assert third.note == "every world was counted"
    assert third.success > 4 / 6


def test_propagation_alone_finds_the_four_people() -> None:
    """What a large release would get: pairings of whole tables, no counting of worlds."""
    piles = piles_of(release_of(TABLES_2))
    assert piles is not None
    asked = TABLE_1.select("hospital", "race").unique(maintain_order=True)
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
    policy = policy_of({}, rules=RULES, method=method)
    release = publish(TABLE_1, policy, key=Key.test(), attacks=False)
    assert run(release, TABLE_1)
    assert not breached(run(release, TABLE_1))


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
def test_v3_whoever_knows_both_sides_learns_the_secret(copies: int) -> None:
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
    how: dict[str, Any] = {"method": "sloms", "k": 3, "adversaries": knows, "suppress": 0.7, "options": SLICES}
    paper = run(publish(SLOMS_1, policy_of(PEOPLE, variant="paper", **how), key=Key.test(), attacks=False), SLOMS_1)
    assert any("salary" in question for question in breached(paper))
    assert not breached(run(publish(SLOMS_1, policy_of(PEOPLE, **how), key=Key.test(), attacks=False), SLOMS_1))


# every world of tiny releases -----------------------------------------------------------------------------------


def test_multi_agrees_with_all_worlds() -> None:
    random, compared = Random(1), 0
    while compared < 60:
        sketch = filled(random, *schema(random))
        if sketch is None:
            continue
        release, people = sketch.release, pl.DataFrame(sketch.people)
        possible = list(worlds(release))
        for claim, result in zip(release.manifest.claims, run(release, people), strict=True):
            assert result.note == "every world was counted"
            believed = beliefs(possible, claim.adversary, claim.attribute or "")
            real = {tuple(person[name] for name in claim.adversary) for person in sketch.people}
            assert result.worst == pytest.approx(highest({key: believed[key] for key in real}))
            assert result.breach == ((result.worst or 0) > 0.5 + 1e-9)
        compared += 1


def test_multi_rules_out_only_what_is_impossible() -> None:
    """Propagation against all worlds: sound, and exact in most cases."""
    random, compared, equal = Random(2), 0, 0
    while compared < 60:
        sketch = filled(random, *schema(random))
        if sketch is None:
            continue
        release, rule = sketch.release, sketch.rule
        piles = piles_of(release)
        assert piles is not None
        believed = beliefs(worlds(release), rule.knows, rule.protects)
        asked = pl.DataFrame(list(believed), schema=list(rule.knows), orient="row")
        known = {name: piles.code(name, asked[name]) for name in rule.knows}
        may = candidates(piles, propagated(piles), known, rule.protects)
        for flags, counter in zip(may, believed.values(), strict=True):
            left = {piles.domains[rule.protects][i] for i, flag in enumerate(flags) if flag}
            assert left >= set(counter)
            equal += left == set(counter)
            compared += 1
    assert equal > 0.9 * compared


def decomposed(tiny: Tiny, mode: Any, claims: list[tuple[tuple[str, ...], str, int]]) -> Release:
    """Tables of sets as a release."""
    tables = tiny.tables(mode)
    roles: dict[str, Any] = {"group": "group", "count": "count", "attribute": "attribute", "age": "quasi"}
    infos = []
    for name, table in tables.items():
        columns = []
        for column, kind in table.schema.items():
            secret = column in tiny.names or (name.startswith("sensitive_") and column == "value")
            role = "sensitive" if secret else roles.get(column, "value")
            of = column if column in tiny.names else name.removeprefix("sensitive_") if secret else None
            columns.append(
                {"name": column, "role": role, "type": "number" if kind.is_numeric() else "text",
                 "attribute": of, "exact": True if role == "quasi" else None}
            )  # fmt: skip
        infos.append({"name": name, "file": f"{name}.parquet", "columns": columns})
    told = [Claim(rule="", model="candidates", adversary=known, attribute=of, l=l) for known, of, l in claims]
    domains = {name: {"name": name, "role": "sensitive", "type": "text"} for name in tiny.names}
    manifest = Manifest.model_validate(
        {"method": "by hand", "variant": "none", "kind": "decomposed", "rows": len(tiny.rows), "suppressed": 0,
         "claims": told, "breaks": (), "tables": infos,
         "parameters": {"l": dict.fromkeys(tiny.names, 2), "primary": "s0", "domains": domains}}
    )  # fmt: skip
    return Release(manifest, tables)


def people_of(tiny: Tiny) -> pl.DataFrame:
    return pl.DataFrame(list(tiny.rows), schema=tiny.names, orient="row").with_columns(age=pl.int_range(pl.len()))


def tiny_sets(random: Random) -> Tiny | None:
    groups = random.choice([2, 3])
    rows, group_of = [], []
    for group in range(1, groups + 1):
        for primary in random.sample("abcd", 2):
            rows.append((primary, random.choice("xyz")))
            group_of.append(group)
    sets = {}
    for group in range(1, groups + 1):
        held = [row for row, of in zip(rows, group_of, strict=True) if of == group]
        second = {row[1] for row in held} | set(random.sample("xyz", random.choice([0, 1, 1])))
        sets[group] = (frozenset(row[0] for row in held), frozenset(second))
    return Tiny(tuple(rows), tuple(group_of), sets) if all(len(s[1]) > 1 for s in sets.values()) else None


def test_decomposed_agrees_with_all_worlds() -> None:
    random, breaches, compared = Random(3), 0, 0
    while compared < 60:
        tiny = tiny_sets(random)
        if tiny is None or len(list(worlds_of_sets(tiny, "joint"))) > 2000:
            continue
        original = pl.DataFrame(list(tiny.rows), schema=tiny.names, orient="row").with_columns(
            age=pl.int_range(pl.len())
        )
        for known, mode in (((), "joint"), (("s0",), "joint"), ((), "marginals")):
            (result,) = run(decomposed(tiny, mode, [(("age", *known), "s1", 2)]), original)
            places = seen(tiny, mode, [0] if known else [], 1)
            fewest = min(len(place.candidates) for place in places.values())
            share = max(float(place.share) for place in places.values())
            whole = Counter((row[0] if known else "", row[1]) for row in tiny.rows)
            of = Counter(row[0] if known else "" for row in tiny.rows)
            joint = max(n / of[key] for (key, _), n in whole.items()) if known else 0.0
            assert result.worst == pytest.approx(max(share, 1 / fewest, joint))
            candidates_of = [
                len(places[group, (row[0],) if known else ()].candidates)
                for group, row in zip(tiny.group_of, tiny.rows, strict=True)
            ]
            assert result.success == pytest.approx(sum(1 / n for n in candidates_of) / len(candidates_of))
            breaches += result.breach
        compared += 1
    assert breaches > 20


def sliced(random: Random, rows: int = 6, linked: bool = False) -> tuple[Release, pl.DataFrame]:
    """Two classes of three rows, two slices: (s0, s1) and (s2), groups by hand."""
    people = pl.DataFrame(
        {
            "age": [10, 10, 10, 50, 50, 50][:rows],
            **{name: [random.choice("abc") for _ in range(rows)] for name in ("s0", "s1", "s2")},
        }
    )
    groups = {f"group_{i}": random.sample([1, 1, 1, 2, 2, 2][:rows], rows) for i in (1, 2)}
    whole = people.with_columns(**{name: pl.Series(of) for name, of in groups.items()})
    quasi = whole.select(pl.col("age").cast(pl.String), "group_1", "group_2").sort("age", "group_1", "group_2")
    tables = {"quasi": quasi}
    for i, names in ((1, ["s0", "s1"]), (2, ["s2"])):
        mine = whole.select(pl.col(f"group_{i}").alias("group"), *names)
        if linked or len(names) == 1:
            tables[f"slice_{i}"] = mine.group_by(pl.all()).len("count").sort(pl.all())
        else:
            apart = mine.unpivot(index="group", variable_name="attribute").group_by(pl.all()).len("count")
            tables[f"slice_{i}"] = apart.sort("group", "attribute", "value")
    tables = {name: table.with_columns(pl.col("^count$").cast(pl.Int64)) for name, table in tables.items()}
    roles: dict[str, str] = {"age": "quasi", "s0": "sensitive", "s1": "sensitive", "s2": "sensitive"}
    roles |= dict.fromkeys(("group", "group_1", "group_2"), "group")
    infos = [
        {"name": name, "file": f"{name}.parquet",
         "columns": [{"name": c, "role": roles.get(c, c), "attribute": c if c in ("age", "s0", "s1", "s2") else None,
                      "type": "number" if t.is_numeric() or c == "age" else "text"} for c, t in table.schema.items()]}
        for name, table in tables.items()
    ]  # fmt: skip
    told = [
        Claim(rule="", model="frequency", adversary=("age", *known), attribute=of, l=2)
        for of, known in (("s2", ()), ("s2", ("s0",)), ("s1", ("s0",)), ("s0", ("s1", "s2")))
    ]
    domains = {name: {"name": name, "role": "sensitive", "type": "text"} for name in ("s0", "s1", "s2")}
    manifest = Manifest.model_validate(
        {"method": "by hand", "variant": "none", "kind": "sliced", "rows": rows, "suppressed": 0, "claims": told,
         "breaks": (), "tables": infos, "parameters": {"l": {"s0": 2, "s1": 2, "s2": 2}, "domains": domains}}
    )  # fmt: skip
    return Release(manifest, tables), people


@pytest.mark.parametrize("linked", [False, True])
def test_sliced_agrees_with_all_worlds(linked: bool) -> None:
    """Worlds count people of a class, as the attack does: the highest posterior over all that may be known."""
    random = Random(4)
    for _ in range(6):
        release, people = sliced(random, linked=linked)
        for result in run(release, people):
            known = [name for name in result.adversary if name != "age"]
            tallies = all_places(release, people, known, result.attribute or "")
            most = max(max(counter.values()) / counter.total() for counter in tallies.values())
            assert result.worst is not None
            assert result.worst == pytest.approx(max(most, 1 / min(map(len, tallies.values()))))
            expected = sum(max(counter.values()) for counter in tallies.values())
            assert result.success == pytest.approx(expected / sum(counter.total() for counter in tallies.values()))


def all_places(release: Release, people: pl.DataFrame, known: list[str], target: str) -> dict[Any, Counter[Any]]:
    """For each class and known values: how often each value, over every way to hand values out."""
    published = list(release.tables["quasi"].iter_rows(named=True))
    tallies: dict[Any, Counter[Any]] = {}
    wanted = {target, *known}
    for age in people["age"].unique():
        mine = [row for row in published if row["age"] == str(age)]
        for row in mine:  # each row's values are a draw from its groups
            draws: list[tuple[dict[str, Any], float]] = [({}, 1.0)]
            for column, hands in worlds_tables._hands(release):
                held = hands[row[column]]
                if wanted & set(held[0]):
                    draws = [({**d, **hand}, p / len(held)) for d, p in draws for hand in held]
            for values, p in draws:
                key = (age, *(values[name] for name in known))
                tallies.setdefault(key, Counter())[values[target]] += p  # type: ignore[assignment]
    return tallies


# planted and clean ----------------------------------------------------------------------------------------------


def planted_multi(random: Random, rows: int) -> tuple[Release, pl.DataFrame]:
    """Two parts that guard s from q and from z; somewhere the groups of a person have one value in common."""
    while True:
        people = [{"q": f"q{i}", "z": f"z{i}", "s": f"s{random.randrange(rows // 2)}"} for i in range(rows)]
        subs = [Sub(("q", "s"), ("s",), pairs_of(random, people)), Sub(("z", "s"), ("s",), pairs_of(random, people))]
        held = [
            [{p["s"] for p, g in zip(people, sub.groups, strict=True) if g == sub.groups[i]} for sub in subs]
            for i in range(rows)
            if all(sub.groups for sub in subs)
        ]
        if any(len(a & b) == 1 for a, b in held):
            return multi_release(people, subs, ["q, z -> s : l=2"]), pl.DataFrame(people)


def pairs_of(random: Random, people: list[dict[str, Any]]) -> list[int]:
    """Groups of two people of different values, or none."""
    for _ in range(200):
        order = random.sample(range(len(people)), len(people))
        groups = [0] * len(people)
        for at, i in enumerate(order):
            groups[i] = at // 2 + 1
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
    random, found = Random(7), 0
    while found < 30:
        groups = random.randint(3, 8)
        held = [(("a", f"x{g}"), ("b", f"y{g}")) for g in range(groups)]
        bad = random.randrange(groups)
        sets = {
            g + 1: (frozenset("ab"), frozenset({f"x{g}", f"y{g}", f"x{(g + 1) % groups}", f"y{(g + 1) % groups}"}))
            for g in range(groups)
        }
        sets[bad + 1] = (frozenset("ab"), frozenset({f"x{bad}", f"y{bad}"}))
        tiny = Tiny(
            tuple(row for both in held for row in both), tuple(g + 1 for g in range(groups) for _ in "ab"), sets
        )
        original = pl.DataFrame(list(tiny.rows), schema=tiny.names, orient="row").with_columns(
            age=pl.int_range(pl.len())
        )
        for mode, l in (("joint", 2), ("marginals", 4)):
            known = ("s0",) if mode == "joint" else ()
            (result,) = run(decomposed(tiny, mode, [(("age", *known), "s1", l)]), original)
            assert result.breach
        found += 1


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
    random, made = Random(8), 0
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "sex": {"role": "quasi"}}
    attributes |= {name: {"role": "sensitive", "l": 2} for name in ("job", "pay")}
    for i in range(70):
        people = random_people(random, random.choice([8, 12, 20, 30]))
        policy = policy_of(attributes, method=method, **CLEAN[method])
        try:
            release = publish(people, policy, key=Key(bytes([i] * 32)), attacks=False)
        except Infeasible:
            continue
        results = run(release, people)
        assert any(result.promised is not None and result.worst is not None for result in results)
        assert not breached(results)
        made += 1
    assert made >= 60


@pytest.mark.parametrize("method", ["gd", "uad", "single-attribute"])
def test_clean_multi_releases_stay_quiet(method: str) -> None:
    random, made = Random(9), 0
    rules = [["age -> job : l=2", "job -> pay : l=2"], ["age, sex -> pay : l=2", "pay -> job : l=2"]]
    for i in range(36):
        people = random_people(random, random.choice([6, 8, 20] if method == "single-attribute" else [6, 8, 20, 60]))
        policy = policy_of({}, rules=rules[i % 2], method=method, others="drop")
        try:
            release = publish(people, policy, key=Key(bytes([i] * 32)), attacks=False)
        except Infeasible:
            continue
        results = run(release, people)
        assert any(result.promised is not None and result.worst is not None for result in results)
        assert not breached(results)
        made += 1
    assert made >= 27


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
