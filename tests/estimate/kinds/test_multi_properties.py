"""Counting in `multi` releases against all worlds, and against the likeliest table found by fitting."""

from __future__ import annotations

from itertools import count as numbers
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import counting_in_subtables as naive
from pluralis.errors import QueryError
from pluralis.estimate import estimator_of
from pluralis.estimate.analyst_release import AnalystRelease
from pluralis.estimate.conditions import All, Check, Condition, Not, Some
from pluralis.estimate.kinds.multi import Multi
from pluralis.grouping.subtable_divergence import Groups, Likelihood, hanging
from pluralis.grouping.subtable_schema import Subtable
from pluralis.metrics import measure
from pluralis.release.manifest import Manifest
from pluralis.release.release import Release
from support.handmade_multi_releases import Sub, multi_release

Person = dict[str, Any]
WORLDS = 3_000


def schema(random: Random, rows: int) -> list[Sub]:
    """Parts that share columns with one before them, or none; some protect a column."""
    letters = iter("abcdefghij")
    subs: list[Sub] = []
    for _ in range(random.choice([2, 2, 3, 3, 4])):
        near = random.choice(subs).attributes if subs else []
        shared = random.sample(near, min(len(near), random.choice([0, 1, 1, 2])))
        names = sorted({*shared, *(next(letters) for _ in range(random.choice([1, 1, 2])))})
        hidden = [random.choice(names)] if len(names) > 1 and random.random() < 0.5 else []
        groups = [random.randrange(2) for _ in range(rows)] if hidden else ()
        subs.append(Sub(names, hidden, groups))
    return subs


def sketch(random: Random) -> tuple[list[Person], list[Sub]]:
    """A few people, and parts that have a junction tree."""
    rows = random.choice([3, 4, 4])
    for _ in numbers():
        subs = schema(random, rows)
        names = sorted({name for sub in subs for name in sub.attributes})
        bit = {name: 1 << i for i, name in enumerate(names)}
        bits = [Subtable(sum(bit[n] for n in s.attributes), sum(bit[n] for n in s.protects)) for s in subs]
        if len(names) < 7 and hanging(bits) is not None:
            break
    return [{name: f"{name}{random.randrange(2)}" for name in names} for _ in range(rows)], subs


def described(release: Release, people: list[Person]) -> AnalystRelease:
    """With the domains that a release has which was not made by hand."""

    def domain(name: str) -> tuple[str, ...]:
        return tuple(sorted({person[name] for person in people}))

    tables = []
    for info in release.manifest.tables:
        columns = [c.model_copy(update={"domain": domain(c.name)}) if c.name in people[0] else c for c in info.columns]
        tables.append(info.model_copy(update={"columns": tuple(columns)}))
    manifest: Manifest = release.manifest.model_copy(update={"tables": tuple(tables)})
    return AnalystRelease(manifest, release.tables)


def condition(random: Random, people: list[Person], depth: int = 2) -> Condition:
    """A box of some attributes, or AND, OR and NOT of such."""
    names = sorted(people[0])
    if depth == 2 and random.random() < 0.5:
        some = random.sample(names, min(len(names), random.choice([2, 3, 4])))
        return All(tuple(Check(name, "=", (random.choice(people)[name],)) for name in some))
    if depth == 0 or random.random() < 0.3:
        name = random.choice(names)
        return Check(name, random.choice(["=", "!="]), (random.choice(people)[name],))
    if random.random() < 0.2:
        return Not(condition(random, people, depth - 1))
    kind = random.choice([All, Some])
    return kind(tuple(condition(random, people, depth - 1) for _ in range(random.choice([2, 3]))))


def made(seed: int) -> tuple[Random, list[Person], list[Sub], Release]:
    random = Random(seed)
    people, subs = sketch(random)
    return random, people, subs, described(multi_release(people, subs, []), people)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_counts_are_those_of_all_worlds(seed: int) -> None:
    """The expectation is exact, what is certain holds in every world, and chance is not understated."""
    random, people, _, release = made(seed)
    asked = [condition(random, people) for _ in range(12)]
    every = naive.counted(release, asked, WORLDS)
    if every is None:
        return
    estimator = estimator_of(release)
    assert isinstance(estimator, Multi)
    for query, true in zip(asked, every, strict=True):
        expected, variance, least, most = estimator.sums(query)
        assert expected == pytest.approx(true.mean, abs=1e-9)
        assert least <= true.least <= true.most <= most
        assert variance >= true.variance - 1e-9
        shown = release.count(query)
        assert (shown.least, shown.most) == (least, most)
        assert shown.basis != "exact" or true.least == true.most == shown.value


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32))
def test_variance_is_exact_where_all_tables_hang_on_one(seed: int) -> None:
    random = Random(seed)
    people = [{name: f"{name}{random.randrange(2)}" for name in "wxabc"} for _ in range(4)]
    groups = [random.randrange(2) for _ in people]
    kinds = [
        [Sub("wa"), Sub("wb")],
        [Sub("wxa"), Sub("wb"), Sub("xc")],
        [Sub("wab", "a", groups), Sub("wc")],
        [Sub("wa", "a", groups), Sub("ab"), Sub("c")],
        [Sub("ab", "a", groups), Sub("cw", "c", random.sample(groups, len(groups)))],
    ]
    release = described(multi_release(people, random.choice(kinds), []), people)
    known = {column.name for info in release.manifest.tables for column in info.named("quasi")}
    known |= {column.name for info in release.manifest.tables for column in info.named("sensitive")}
    for _ in range(5):
        some = random.sample(sorted(known), min(len(known), random.choice([2, 3, 4])))
        query = All(tuple(Check(name, "=", (random.choice(people)[name],)) for name in some))
        counts = naive.counted(release, [query], 20_000)
        if counts is not None:
            estimator = estimator_of(release)
            assert isinstance(estimator, Multi)
            assert estimator.sums(query)[1] == pytest.approx(counts[0].variance, abs=1e-9)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32))
def test_counts_are_those_of_the_likeliest_table(seed: int) -> None:
    random, people, _, release = made(seed)
    fitted = naive.likeliest(release)
    estimator = estimator_of(release)
    assert isinstance(estimator, Multi)
    for _ in range(12):
        query = condition(random, people)
        expected = len(people) * naive.share_of(fitted, query)
        assert estimator.sums(query)[0] == pytest.approx(expected, abs=1e-9)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32))
def test_kl_divergence_is_that_of_the_likeliest_table(seed: int) -> None:
    _, people, subs, release = made(seed)
    names = sorted(people[0])
    expected = naive.kl(naive.likeliest(release), people, names)
    assert measure(release, pl.DataFrame(people)).kl == pytest.approx(expected, abs=1e-9)
    bit = {name: 1 << i for i, name in enumerate(names)}
    columns = [
        (np.array([int(p[name][1:]) for p in people], np.int32), 1 + max(int(p[name][1:]) for p in people))
        for name in names
    ]
    if len({name for sub in subs for name in sub.protects}) < sum(len(sub.protects) for sub in subs):
        return  # of each protected column it knows one set of groups
    every = {
        bit[sub.protects[0]]: Groups.from_rows(
            np.unique(sub.groups, return_inverse=True)[1].astype(np.int64), *columns[names.index(sub.protects[0])]
        )
        for sub in subs
        if sub.protects
    }
    tables = [Subtable(sum(bit[n] for n in s.attributes), sum(bit[n] for n in s.protects)) for s in subs]
    assert Likelihood(columns, every).kl(tables) == pytest.approx(expected, abs=1e-9)


def test_tables_that_go_round_in_circles() -> None:
    """There is no closed form; what some of the tables say is counted, and what only all of them could is refused."""
    people = [{name: f"{name}{i * (k + 1) % 3 % 2}" for k, name in enumerate("abcd")} for i in range(6)]
    release = described(multi_release(people, [Sub("ab"), Sub("bc"), Sub("ca"), Sub("d")], []), people)
    assert measure(release, pl.DataFrame(people)).kl is None
    assert release.count("a = 'a0' AND c = 'c0'").basis == "exact"
    assert release.count("a = 'a0' AND d = 'd1'").basis == "independent-across-tables"
    three = release.count("a = 'a0' AND b = 'b0' AND c = 'c0'")
    true = sum(p["a"] == "a0" and p["b"] == "b0" and p["c"] == "c0" for p in people)
    assert three.least <= true <= three.most
    people = [person | {"x": f"x{i % 2}", "y": f"y{i % 3}"} for i, person in enumerate(people)]
    needed = described(multi_release(people, [Sub("abx"), Sub("bcy"), Sub("cad")], []), people)
    assert needed.count("x = 'x0' AND y = 'y0'").basis == "independent-across-tables"
    with pytest.raises(QueryError, match="tell of d, x, y go round in circles"):
        needed.count("x = 'x0' AND y = 'y0' AND d = 'd0'")


def test_a_condition_in_too_many_pieces_is_refused() -> None:
    people = [{"a": f"a{i}", "b": f"b{i}"} for i in range(130)]
    release = described(multi_release(people, [Sub("a"), Sub("b")], []), people)
    pairs = [All((Check("a", "=", (f"a{i}",)), Check("b", "=", (f"b{i}",)))) for i in range(120)]
    assert release.count(Some(tuple(pairs[:60]))).value == pytest.approx(60 / 130)
    with pytest.raises(QueryError, match="100 products"):
        release.count(Some(tuple(pairs)))
