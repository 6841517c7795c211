"""Feasible candidates and provable shares are those of all possible worlds, one by one."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.worlds_of_decomposed import MODES, Mode, Place, Tiny, seen, seen_of
from pluralis.auditing import audit, decomposed_worlds_joint, transport
from pluralis.auditing.decomposed_worlds import (
    NOT_JUDGED,
    Candidates,
    d_sa_diverse,
    judge,
    linked_d_sa_diverse,
    worlds_of,
)
from pluralis.auditing.transport import Transport, flow_of, most_forced, possible
from pluralis.errors import ReleaseError
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from support.effort import tries
from support.tiny_decomposed import answers, questions, require_weakest

PRODUCTS: tuple[Mode, ...] = ("marginals", "none")


@st.composite
def tiny_releases(draw: st.DrawFn, rows: int = 8, attributes: int = 3) -> Tiny:
    """Groups whose primary values differ, with any noise in the other sets."""
    n, d = draw(st.integers(2, rows)), draw(st.integers(1, attributes))
    width = draw(st.integers(2, 4))
    people = draw(
        st.lists(
            st.tuples(st.sampled_from("abcde"), *(st.sampled_from("uvwxyz"[:width]) for _ in range(d - 1))),
            min_size=n,
            max_size=n,
        )
    )
    groups: list[list[int]] = []
    for i, row in enumerate(people):
        free = [g for g, members in enumerate(groups) if all(people[j][0] != row[0] for j in members)]
        place = draw(st.sampled_from([*free, len(groups)])) if draw(st.integers(0, 3)) == 0 or not free else free[-1]
        if place == len(groups):
            groups.append([])
        groups[place].append(i)
    order = [i for members in groups for i in members]
    noise = st.frozensets(st.sampled_from("uvwxyz"[: width + 1]), max_size=2)
    sets = {
        g + 7: (
            frozenset(people[i][0] for i in members),
            *(frozenset(people[i][a] for i in members) | draw(noise) for a in range(1, d)),
        )
        for g, members in enumerate(groups)
    }
    group_of = tuple(g + 7 for g, members in enumerate(groups) for _ in members)
    return Tiny(tuple(people[i] for i in order), group_of, sets)


# against enumeration ------------------------------------------------------------------------------------------


@given(tiny=tiny_releases())
@settings(max_examples=tries(200))
def test_joint_candidates_and_shares_are_those_of_all_worlds(tiny: Tiny) -> None:
    """For every protected attribute and every subset of known others, the weakest place is the enumerated one."""
    asked = questions(tiny, known=True)
    for (protected, known, l), result in zip(asked, answers(tiny, "joint", asked), strict=True):
        require_weakest(result, seen(tiny, "joint", known, protected), known, l)


@given(tiny=tiny_releases(), mode=st.sampled_from(PRODUCTS))
@settings(max_examples=tries(300))
def test_candidates_and_shares_by_attribute_are_those_of_all_worlds(tiny: Tiny, mode: Mode) -> None:
    asked = questions(tiny, known=False)
    for (protected, _, l), result in zip(asked, answers(tiny, mode, asked), strict=True):
        require_weakest(result, seen_of(tiny, mode, protected), (), l)


@given(tiny=tiny_releases())
@settings(max_examples=tries(100))
def test_without_a_sensitive_table_all_values_of_a_set_are_equally_likely(tiny: Tiny) -> None:
    for protected in range(1, len(tiny.names)):
        for place in seen_of(tiny, "none", protected).values():
            assert place.posterior == Fraction(1, len(place.candidates))


def test_of_like_groups_the_largest_is_the_one_with_the_largest_share():
    """Five u and one v in places of two and four: at least one u in the first, three in the second."""
    rows = (("a", "u"), ("b", "u"), ("a", "u"), ("b", "u"), ("c", "u"), ("d", "v"))
    sets = {1: (frozenset("ab"), frozenset("uv")), 2: (frozenset("abcd"), frozenset("uv"))}
    tiny = Tiny(rows, (1, 1, 2, 2, 2, 2), sets)
    (result,) = answers(tiny, "marginals", [(1, (), 2)])
    assert result == Candidates(False, 2, 0.75, "group 2", None)
    require_weakest(result, seen_of(tiny, "marginals", 1), (), 2)


@given(tiny=tiny_releases(rows=4), mode=st.sampled_from(PRODUCTS))
@settings(max_examples=tries(60))
def test_knowing_another_attribute_tells_nothing_where_worlds_are_a_product(tiny: Tiny, mode: Mode) -> None:
    """Candidates and posteriors of every group, whatever is known of the others; so the verdict is the same too."""
    asked = questions(tiny, known=True)
    results = dict(zip(asked, answers(tiny, mode, asked), strict=True))
    for protected, known, l in asked:
        alone = seen_of(tiny, mode, protected)
        for (group, _), place in seen(tiny, mode, known, protected).items():
            assert place.candidates == alone[group, ()].candidates
            assert place.posterior == alone[group, ()].posterior
        assert results[protected, known, l] == results[protected, (), l]


@given(tiny=tiny_releases(), mode=st.sampled_from(MODES), data=st.data())
@settings(max_examples=tries(100))
def test_every_place_is_the_enumerated_one(tiny: Tiny, mode: Mode, data: Any) -> None:
    """Not the weakest only. Where T^S is not joint, shares other than the largest are not asked for."""
    protected, known, _ = data.draw(st.sampled_from(questions(tiny, known=mode == "joint")))
    places = seen(tiny, mode, known, protected) if mode == "joint" else seen_of(tiny, mode, protected)
    worlds, names = worlds_of(tiny.tables(mode), "s0", tiny.names), frozenset(tiny.names[k] for k in known)
    members = worlds.members(tiny.names[protected])
    judged: dict[Place, tuple[int, Fraction]] = {}
    for frame in worlds.places(names, tiny.names[protected]):
        for row in frame.sort("part").iter_rows(named=True):
            key = tuple(words.split(" = ")[1] for words in worlds.combination(names, row["known"]))
            for group in members.filter(pl.col("class") == row["class"])["group"]:
                share = max(Fraction(row["part"], row["among"]), judged.get((group, key), (0, Fraction(0)))[1])
                assert judged.get((group, key), (row["candidates"],))[0] == row["candidates"]
                judged[group, key] = (row["candidates"], share)
    assert {where: count for where, (count, _) in judged.items()} == {
        where: len(p.candidates) for where, p in places.items()
    }
    if mode == "joint":
        assert {where: share for where, (_, share) in judged.items()} == {
            where: place.share for where, place in places.items()
        }


@given(tiny=tiny_releases())
@settings(max_examples=tries(60))
def test_a_posterior_is_never_below_a_provable_share(tiny: Tiny) -> None:
    for protected, known, _ in questions(tiny, known=True):
        for place in seen(tiny, "joint", known, protected).values():
            assert place.posterior >= max(place.share, Fraction(1, len(place.candidates)))


# the transport problem ----------------------------------------------------------------------------------------


class Places:
    """A transport problem made from a flow, so that there is one; targets stand for several places of equal edges."""

    def __init__(self, random: random.Random, sources: int, targets: int, size: int) -> None:
        allowed = [sorted(random.sample(range(sources), random.randint(1, min(4, sources)))) for _ in range(targets)]
        allowed = [list(some) for some in sorted({tuple(some) for some in allowed})]
        self.sizes = [[random.randint(1, size) for _ in range(random.choice([1, 1, 1, 2, 3]))] for _ in allowed]
        supply, weights = np.zeros(sources, np.int64), [random.choice([1, 1, 5, 60]) for _ in range(sources)]
        for some, sizes in zip(allowed, self.sizes, strict=True):
            for source in random.choices(some, [weights[v] for v in some], k=sum(sizes)):
                supply[source] += 1
        edges = sorted((source, target) for target, some in enumerate(allowed) for source in some)
        self.problem = Transport(supply, np.array([sum(s) for s in self.sizes]), *np.array(edges, np.int64).T)
        self.largest = np.array([max(sizes) for sizes in self.sizes])

    def feasible_with(self, edge: int, units: int) -> bool:
        """Whether some flow sends exactly so many units along an edge into the largest place of its target."""
        supply, demand, source, target = self.problem
        v, t = int(source[edge]), int(target[edge])
        rest, largest = int(demand[t] - self.largest[t]), int(self.largest[t])
        if units > min(largest, supply[v]):
            return False
        # the largest place becomes a target of its own, without the edge
        inside = (target == t) & (source != v)
        left = supply.copy()
        left[v] -= units
        asked = np.append(np.where(np.arange(demand.size) == t, rest, demand), largest - units)
        ends = np.append(source, source[inside]), np.append(target, np.full(inside.sum(), demand.size))
        return flow_of(Transport(left, asked, *ends)) is not None


@given(random=st.randoms(use_true_random=False), size=st.integers(1, 4), sources=st.integers(1, 7))
@settings(max_examples=tries(250))
def test_possible_edges_and_the_most_forced_share_are_those_of_all_flows(random, size, sources):
    """Every edge on its own: with so many units along it, is there a flow for the rest?"""
    places = Places(random, sources, random.randint(1, 14), size)
    problem = places.problem
    flow = flow_of(problem)
    assert np.bincount(problem.source, flow, problem.supply.size).tolist() == problem.supply.tolist()
    assert np.bincount(problem.target, flow, problem.demand.size).tolist() == problem.demand.tolist()
    edges = range(problem.source.size)
    some = [any(places.feasible_with(e, u) for u in range(1, size + 1)) for e in edges]
    assert possible(problem, flow).tolist() == some
    least = [next(u for u in range(size + 1) if places.feasible_with(e, u)) for e in edges]
    shares = [Fraction(units, int(places.largest[t])) for units, t in zip(least, problem.target, strict=True)]
    for few in (0, 100):  # with and without flows in other orders
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(transport, "FEW", few)
            result = most_forced(problem, flow, places.largest)
        assert result.exact
        assert Fraction(result.units, result.among) == max(shares)
        assert max(shares) in [share for share, t in zip(shares, problem.target, strict=True) if t == result.target]


def test_sources_that_replace_each_other_are_common_in_what_is_tested():
    """The tables above are not all too small for the shortcut."""
    merged = 0
    for seed in range(100):
        places = Places(random.Random(seed), 6, 14, 1)
        kinds = transport._replaceable(places.problem, flow_of(places.problem), 2 * int(places.largest.max()))
        merged += 1 < len(set(kinds.tolist())) < 6
    assert merged > 30


def test_too_many_looks_give_an_upper_bound(monkeypatch):
    problem = Transport(*(np.array(x) for x in ([2, 2], [2, 2], [0, 0, 1, 1], [0, 1, 0, 1])))
    flow = np.array([2, 0, 0, 2])
    assert most_forced(problem, flow, np.array([2, 2])) == (0, 1, 0, True)
    monkeypatch.setattr(transport, "STEPS", 0)
    assert most_forced(problem, flow, np.array([2, 2])) == (2, 2, 0, False)


def test_no_flow_where_supply_finds_no_place():
    assert flow_of(Transport(*(np.array(x) for x in ([1, 2], [2, 1], [0, 0, 1], [0, 1, 1])))) is None
    assert flow_of(Transport(*(np.array(x) for x in ([1], [2], [0], [0])))) is None


# tables that cannot be judged -----------------------------------------------------------------------------------

SOUND = Tiny(
    (("a", "u"), ("b", "v"), ("a", "v"), ("b", "u")),
    (1, 1, 2, 2),
    dict.fromkeys((1, 2), (frozenset("ab"), frozenset("uv"))),
)
CLAIMS = [(frozenset[str](), "s0", 2), (frozenset({"s0"}), "s1", 2)]


@pytest.mark.parametrize("mode", MODES)
def test_a_sound_release_holds(mode):
    assert [result.holds for result in judge(SOUND.tables(mode), "s0", ["s0", "s1"], CLAIMS)] == [True, True]


def spoilt(mode: Mode, table: str, change: Any) -> list[Candidates]:
    tables = SOUND.tables(mode)
    tables[table] = change(tables[table])
    results = judge(tables, "s0", ["s0", "s1"], CLAIMS)
    assert [(f.holds, f.measured, f.share) for f in results] == [(False, 0, 1.0)] * 2
    return results


@pytest.mark.parametrize(
    ("mode", "table", "change", "note"),
    [
        ("none", "quasi", lambda t: t.head(3), "group 2 has 1 rows and 2 values of 's0'"),
        ("none", "quasi", lambda t: t.with_columns(group=pl.lit(1)), "group 2 has values of 's0', but no rows"),
        ("none", "values", lambda t: t.filter(pl.col("attribute") == "s0"), "group 1 has 2 rows and 0 values of 's1'"),
        ("none", "values", lambda t: t.with_columns(pl.col("value").replace("b", "A")), "1 values of 's0': some value"),
        ("joint", "sensitive", lambda t: t.with_columns(pl.lit(2).alias("count")), "counts 8 rows, quasi 4"),
        (
            "joint",
            "sensitive",
            lambda t: t.with_columns(pl.col("s0").replace("b", "a")),
            "s0 = a stands in 4 sensitive",
        ),
        ("joint", "sensitive", lambda t: t.with_columns(pl.col("s1").replace("v", "w")), "contradict each other"),
        ("marginals", "sensitive_s1", lambda t: t.with_columns(pl.lit(1).alias("count")), "counts 2 rows, quasi 4"),
        ("marginals", "sensitive_s1", lambda t: t.with_columns(pl.col("value").replace("v", "w")), "the sets of 's1'"),
        ("marginals", "sensitive_s0", lambda t: t.with_columns(pl.col("value").replace("b", "c")), "the sets of 's0'"),
    ],
)
def test_tables_that_contradict_each_other_hold_nothing(mode, table, change, note):
    assert note in spoilt(mode, table, change)[0].note


def test_what_is_too_much_is_not_said_to_hold(monkeypatch):
    monkeypatch.setattr(decomposed_worlds_joint, "EDGES", 3)
    results = judge(SOUND.tables("joint"), "s0", ["s0", "s1"], CLAIMS)
    assert [(f.holds, f.note.startswith(NOT_JUDGED)) for f in results] == [(False, True)] * 2
    monkeypatch.setattr(decomposed_worlds_joint, "EDGES", 4)
    monkeypatch.setattr(decomposed_worlds_joint, "PLACES", 3)
    assert judge(SOUND.tables("joint"), "s0", ["s0", "s1"], CLAIMS)[1].note.startswith(NOT_JUDGED)


@given(tiny=tiny_releases())
@settings(max_examples=tries(30))
def test_pieces_are_judged_like_the_whole(tiny: Tiny) -> None:
    asked = questions(tiny, known=True)
    whole = answers(tiny, "joint", asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decomposed_worlds_joint, "PIECE", 3)
        assert answers(tiny, "joint", asked) == whole


def test_a_missing_group_is_an_error():
    tables = SOUND.tables("none")
    tables["values"] = tables["values"].with_columns(pl.lit(None, pl.String).alias("value"))
    with pytest.raises(ReleaseError, match="no group or no value"):
        judge(tables, "s0", ["s0", "s1"], CLAIMS)


# values and their spellings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("numbers", [[8, 9, 9, 8], [8.0, 9.0, 9.0, 8.0], ["8", "9", "9", "8"]])
@pytest.mark.parametrize("mode", MODES)
def test_numbers_and_their_text_are_the_same_value(mode, numbers):
    texts = dict(zip("uv", ["8", "9.0" if not isinstance(numbers[0], str) else "9"], strict=True))
    tables = SOUND.tables(mode)
    tables["values"] = tables["values"].with_columns(pl.col("value").replace(texts))
    number = dict(zip("uvvu", numbers, strict=True))
    for name, column in (("sensitive", "s1"), ("sensitive_s1", "value")):
        if name in tables:
            tables[name] = tables[name].with_columns(pl.col(column).replace_strict(number))
    assert all(result.holds for result in judge(tables, "s0", ["s0", "s1"], CLAIMS))


def test_two_spellings_are_one_candidate_unless_case_is_kept():
    values = {"u": "Flu", "v": "flu"}
    tables = SOUND.tables("marginals")
    tables["values"] = tables["values"].with_columns(pl.col("value").replace(values))
    tables["sensitive_s1"] = tables["sensitive_s1"].with_columns(pl.col("value").replace(values))
    assert judge(tables, "s0", ["s0", "s1"], CLAIMS)[1].measured == 1
    assert judge(tables, "s0", ["s0", "s1"], CLAIMS, keep_case=["s1"])[1].measured == 2


def test_a_witness_is_spelled_as_published():
    values = {"a": "Nurse", "b": "Police", "u": "Poor", "v": "Rich"}
    tables = {
        name: table.with_columns(pl.col(pl.String).replace(values)) for name, table in SOUND.tables("joint").items()
    }
    assert judge(tables, "s0", ["s0", "s1"], CLAIMS)[1].witness == "group 1, s0 = Nurse"


def test_attributes_may_be_called_anything():
    names = {"s0": "count", "s1": "group known"}
    tables = SOUND.tables("marginals")
    tables = {f"sensitive_{names[k[-2:]]}" if k.startswith("sens") else k: table for k, table in tables.items()}
    tables["values"] = tables["values"].with_columns(pl.col("attribute").replace(names))
    assert all(
        f.holds for f in judge(tables, "count", list(names.values()), [(frozenset({"count"}), "group known", 2)])
    )


# d-SA-l-diversity -----------------------------------------------------------------------------------------------


@given(tiny=tiny_releases(), mode=st.sampled_from(MODES))
@settings(max_examples=tries(60))
def test_d_sa_diversity_is_what_all_worlds_leave_of_the_last_attribute(tiny: Tiny, mode: Mode) -> None:
    bad = set()
    for protected in range(len(tiny.names)):
        known = tuple(a for a in range(len(tiny.names)) if a != protected) if mode == "joint" else ()
        places = seen(tiny, mode, known, protected) if mode == "joint" else seen_of(tiny, mode, protected)
        bad |= {group for (group, _), place in places.items() if len(place.candidates) < 2}
    share = d_sa_diverse(tiny.tables(mode), "s0", tiny.names, dict.fromkeys(tiny.names, 2))
    assert share == pytest.approx(1 - len(bad) / len(tiny.sets))


@given(rows=st.sets(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=27), l=st.integers(1, 3))
@settings(max_examples=tries(200))
def test_a_d_sa_diverse_group_has_at_least_l_to_the_d_rows(rows, l):
    """What is true of Theorem 1; and the definition, literally."""
    frame = pl.DataFrame(sorted(rows), schema=["a", "b", "c"], orient="row").with_columns(pl.lit(1).alias("group"))
    diverse = all(
        len({r[i] for r in rows if r[:i] + r[i + 1 :] == q[:i] + q[i + 1 :]}) >= l for q in rows for i in range(3)
    )
    assert linked_d_sa_diverse(frame, ["a", "b", "c"], dict.fromkeys("abc", l)) == float(diverse)
    assert not diverse or len(rows) >= l**3


def test_a_joint_table_of_many_rows_is_judged_where_nothing_beside_is_known():
    """Polars refuses a literal as the condition on so many rows."""
    draw = np.random.default_rng(1)
    values = {
        "age": draw.integers(20, 90, 20_000),
        "a": draw.integers(0, 400, 20_000),
        "b": draw.integers(0, 400, 20_000),
    }
    people = pl.DataFrame(values).with_columns(pl.col("a", "b").cast(pl.String))
    options = {"sensitive_table": "joint"}
    sensitive, how = {"a": 3, "b": 3}, {"accept": ["set-size"], "method": "decomposition", "options": options}
    policy = Policy(quasi={"age": {"type": "number"}}, sensitive=sensitive, **how)
    assert audit(publish(people, policy, key=Key.test(), attacks=False), allow_test=True).holds
