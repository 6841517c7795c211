"""Cross-table intersection against every world of tiny releases."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import polars as pl
import pytest

from oracles import worlds_of_bucketized
from oracles.worlds_of_decomposed import Tiny, seen
from oracles.worlds_of_decomposed import worlds as worlds_of_sets
from oracles.worlds_of_subtables import beliefs, highest, worlds
from pluralis.attacks.adversary.consistent_worlds import candidates, piles_of, propagated
from pluralis.attacks.base import Options, Result
from pluralis.attacks.intersection import ATTACK
from pluralis.release.release import Release
from support.handmade_releases import decomposed, people_of, sliced
from support.random_multi_releases import filled, schema


def run(release: Release, original: pl.DataFrame) -> list[Result]:
    return list(ATTACK.run(release, original, Options()))


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


def tiny_sets(random: Random) -> Tiny | None:
    groups = random.choice([2, 3])
    rows, group_of = [], []
    for group in range(1, groups + 1):
        for primary in random.sample("abcd", 2):
            rows.append((primary, random.choice("xyz")))
            group_of.append(group)
    sets = {}
    for group in range(1, groups + 1):
        members = [row for row, number in zip(rows, group_of, strict=True) if number == group]
        second = {row[1] for row in members} | set(random.sample("xyz", random.choice([0, 1, 1])))
        sets[group] = (frozenset(row[0] for row in members), frozenset(second))
    return Tiny(tuple(rows), tuple(group_of), sets) if all(len(s[1]) > 1 for s in sets.values()) else None


def test_decomposed_agrees_with_all_worlds() -> None:
    random, breaches, compared = Random(3), 0, 0
    while compared < 60:
        tiny = tiny_sets(random)
        if tiny is None or len(list(worlds_of_sets(tiny, "joint"))) > 2000:
            continue
        original = people_of(tiny)
        for known, mode in (((), "joint"), (("s0",), "joint"), ((), "marginals")):
            (result,) = run(decomposed(tiny, mode, (("age", *known), "s1", 2)), original)
            places = seen(tiny, mode, [0] if known else [], 1)
            fewest = min(len(place.candidates) for place in places.values())
            share = max(float(place.share) for place in places.values())
            whole = Counter((row[0] if known else "", row[1]) for row in tiny.rows)
            counts = Counter(row[0] if known else "" for row in tiny.rows)
            joint = max(n / counts[key] for (key, _), n in whole.items()) if known else 0.0
            assert result.worst == pytest.approx(max(share, 1 / fewest, joint))
            candidates_of = [
                len(places[group, (row[0],) if known else ()].candidates)
                for group, row in zip(tiny.group_of, tiny.rows, strict=True)
            ]
            assert result.success == pytest.approx(sum(1 / n for n in candidates_of) / len(candidates_of))
            breaches += result.breach
        compared += 1
    assert breaches > 20


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
        rows = [row for row in published if row["age"] == str(age)]
        for row in rows:  # each row's values are a draw from its groups
            draws: list[tuple[dict[str, Any], float]] = [({}, 1.0)]
            for column, hands in worlds_of_bucketized.hands_of(release):
                choices = hands[row[column]]
                if wanted & set(choices[0]):
                    draws = [({**d, **hand}, p / len(choices)) for d, p in draws for hand in choices]
            for values, p in draws:
                key = (age, *(values[name] for name in known))
                tallies.setdefault(key, Counter())[values[target]] += p  # type: ignore[assignment]
    return tallies
