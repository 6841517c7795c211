"""Decomposition and Anatomy against literal versions, and the theorems that their docs state."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oracles import bsgi as naive
from oracles import decomposition as naive_decomposition
from pluralis.assembling.kinds import decomposed
from pluralis.errors import Infeasible, PolicyError
from pluralis.grouping.eligibility import allowance, require_eligible
from pluralis.grouping.plan import SUPPRESSED, Plan
from pluralis.kernels.schedule import FEW, larger_than, max_l_schedule, resorted_schedule, tournament
from pluralis.kernels.shuffle import order_of_words
from pluralis.method import anatomy, decomposition, method_for
from pluralis.method.anatomy import Anatomy
from pluralis.method.decomposition import Decomposition
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw, Key
from pluralis.table.encoding import Table, encode
from support.effort import tries

DRAW = Draw(Key.test())
EXAMPLES = settings(deadline=None, max_examples=tries(150), suppress_health_check=list(HealthCheck))
VARIANTS = ["paper", "hardened"]


class Case(NamedTuple):
    """A table and its policy."""

    table: Table
    policy: Policy

    @property
    def kept(self) -> np.ndarray:
        return require_eligible(self.table, self.policy, DRAW)

    @property
    def order(self) -> np.ndarray:
        return self.kept[DRAW.permutation(self.kept.size, "rows")]


def case_of(columns: dict[str, list[Any]], ls: dict[str, int], person: bool = False, **publish: Any) -> Case:
    """A number tells rows apart; the columns of `ls` are sensitive."""
    rows = len(next(iter(columns.values())))
    attributes: dict[str, Any] = {"q": {"role": "quasi", "type": "number"}}
    attributes |= {name: {"role": "sensitive", "l": l} for name, l in ls.items()}
    data: dict[str, Any] = {"version": 1, "attributes": attributes, "publish": publish}
    if person:
        data["person"] = "who"
    policy = Policy.from_dict(data)
    return Case(encode(pl.DataFrame({"q": list(range(rows)), **columns}), policy), policy)


@st.composite
def cases(
    draw: st.DrawFn, *, rows: int = 40, sensitive: int = 3, people: bool = True, skew: bool = True, **publish: Any
) -> Case:
    """Small tables, most of them eligible for every sensitive attribute."""
    n = draw(st.integers(4, rows))
    skewed = skew and draw(st.integers(0, 4)) == 0
    columns: dict[str, list[Any]] = {}
    ls: dict[str, int] = {}
    for i in range(draw(st.integers(1, sensitive))):
        width = draw(st.integers(2, 7))
        values = draw(st.lists(st.sampled_from("klmnopq"[:width]), min_size=n, max_size=n))
        if i and draw(st.booleans()):  # follows from the first: few linkable values
            values = ["xyzw"["klmnopq".index(v) % width % 4] for v in columns["s0"]]
        if max(Counter(values).values()) * 2 > n and not skewed:
            values = [("klmnopq" if i == 0 else "xyzwvut")[row * width // n] for row in range(n)]
        if max(Counter(values).values()) * 2 > n and not skewed:
            values = ["klmnopq"[row % 7] for row in range(n)]
        columns[f"s{i}"] = values
        ls[f"s{i}"] = draw(st.integers(2, max(2, min(4, n // max(Counter(values).values())))))
    has_people = people and draw(st.booleans())
    if has_people:
        columns["who"] = draw(st.lists(st.integers(0, draw(st.sampled_from([3, n, 3 * n]))), min_size=n, max_size=n))
    if draw(st.booleans()):
        publish["options"] = {"primary": draw(st.sampled_from(sorted(ls)))}
    return case_of(columns, ls, has_people, suppress=draw(st.sampled_from([0.0, 0.3, 0.9])), **publish)


def planned(case: Case, variant: str = "hardened") -> Plan | None:
    """The plan, or None where the method refuses the table."""
    policy = case.policy.override(method="decomposition", options={**case.policy.publish.options, "variant": variant})
    try:
        return method_for(policy).plan(case.table, policy, DRAW)
    except Infeasible:
        return None


def groups_of(plan: Plan) -> list[list[int]]:
    return [np.flatnonzero(plan.group_of == g).tolist() for g in range(plan.groups)]


def sets_of(case: Case, plan: Plan) -> list[dict[str, set[int]]]:
    """What is published of each group: the values that it holds and those that were added."""
    sets = [
        {column.name: set(column.codes[group].tolist()) for column in case.table.sensitive} for group in groups_of(plan)
    ]
    for name, pairs in plan.added.items():
        for group, code in pairs.tolist():
            assert code not in sets[group][name]
            sets[group][name].add(code)
    return sets


# the literal version ------------------------------------------------------------------------------------------


@given(case=cases(), variant=st.sampled_from(VARIANTS), near=st.sampled_from([1, 5, 4096]))
@settings(EXAMPLES, max_examples=tries(400))
def test_plans_are_the_literal_ones(case, variant, near):
    assert_same_as_naive(case, variant, near)


def assert_same_as_naive(case: Case, variant: str, near: int = 4096) -> None:
    with patch.object(decomposition, "rows_near", lambda rows: near):
        plan = planned(case, variant)
    primary = case.policy.publish.options.get("primary")
    try:
        expected = naive_decomposition.decompose(case.table, case.policy, case.order, DRAW, variant, primary, near)
    except (naive_decomposition.Stuck, Infeasible):
        assert plan is None
        return
    left_out = case.table.rows - sum(map(len, expected.groups))
    if left_out > allowance(case.policy.publish.suppress, case.table.rows):
        assert plan is None
        return
    assert plan is not None
    assert plan.suppressed == left_out
    assert groups_of(plan) == [sorted(group) for group in expected.groups]
    added = {(group, name, code) for name, pairs in plan.added.items() for group, code in pairs.tolist()}
    assert added == {
        (group, name, code)
        for group, sets in enumerate(expected.added)
        for name, codes in sets.items()
        for code in codes
    }  # fmt: skip


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("values", "ls", "people"),
    [
        ((30, 5, 4), (3, 3, 2), 0),  # many buckets
        ((6, 90, 3), (5, 4, 2), 0),  # more vectors than a leaf of the tree holds, in every bucket
        ((6, 3, 3), (6, 3, 3), 0),  # every bucket is bound
        ((80, 5, 4), (2, 2, 2), 90),  # the tournament of many buckets
        ((7, 4, 3), (4, 2, 2), 60),
        ((6, 30, 3), (3, 2, 2), 0),  # values in 8 rows, which is common from 6 on
    ],
)
def test_larger_tables_agree_too(variant, values, ls, people):
    rng = random.Random(str((values, ls, variant)))
    n = 240
    columns = {f"s{i}": [f"v{v % width:02}" for v in rng.sample(range(n), n)] for i, width in enumerate(values)}
    if people:
        columns["who"] = [rng.randrange(people) for _ in range(n)]
    case = case_of(columns, {f"s{i}": l for i, l in enumerate(ls)}, bool(people), suppress=0.5)
    for near in (7, 60, 4096):
        assert_same_as_naive(case, variant, near)
    assert planned(case, variant) is not None


def test_a_search_beyond_the_window_agrees():
    """The first hundred rows in drawn order are alike; what differs waits far behind them."""
    n = 300
    drawn = np.argsort(DRAW.permutation(n, "rows"))  # row i is drawn as number drawn[i]; the rows are in this order
    columns = {
        "s0": [f"b{row % 6}" for row in range(n)],
        "s1": ["x" if drawn[row] < 140 else f"y{row % 3}" for row in range(n)],
        "s2": ["u" if drawn[row] % 2 else f"w{row % 2}" for row in range(n)],
    }
    assert_same_as_naive(case_of(columns, {"s0": 3, "s1": 2, "s2": 2}), "hardened", near=128)


# theorems -----------------------------------------------------------------------------------------------------


@given(case=cases(), variant=st.sampled_from(VARIANTS))
@EXAMPLES
def test_every_set_holds_l_values_and_added_ones_are_linkable(case, variant):
    plan = planned(case, variant)
    if plan is None:
        return
    assert plan.suppressed <= allowance(case.policy.publish.suppress, case.table.rows)
    published = np.flatnonzero(plan.group_of != SUPPRESSED).tolist()
    for group, sets in zip(groups_of(plan), sets_of(case, plan), strict=True):
        for name, codes in sets.items():
            assert len(codes) >= case.policy.l(name)
            linked = naive_decomposition.linkable(case.table, plan.primary, name, group, published)
            assert codes <= set(linked)
        if case.table.person is not None:
            assert len(set(case.table.person[group].tolist())) == len(group)


@given(case=cases())
@EXAMPLES
def test_hardened_groups_hold_a_primary_value_once(case):
    plan = planned(case)
    if plan is None:
        return
    primary = case.table[plan.primary]
    for group in groups_of(plan):
        assert len(group) >= case.policy.l(plan.primary)
        assert len(set(primary.codes[group].tolist())) == len(group)


@given(case=cases(), mode=st.sampled_from(["joint", "marginals"]), variant=st.sampled_from(VARIANTS))
@EXAMPLES
def test_the_best_guess_that_a_release_states_is_the_one_by_hand(case, mode, variant):
    """Each row of a group brings the values of the set as often as they stand beside its primary value, or at all."""
    plan = planned(case, variant)
    if plan is None or len(case.table.sensitive) < 2:
        return
    assert plan.primary is not None
    kept = np.flatnonzero(plan.group_of != SUPPRESSED)
    primary, best = case.table[plan.primary].codes, Fraction(0)
    for column in case.table.sensitive:
        if column.name == plan.primary:
            continue
        for members, sets in zip(groups_of(plan), sets_of(case, plan), strict=True):
            belief: Counter[int] = Counter()
            for member in members:
                beside = [row for row in kept if mode == "marginals" or primary[row] == primary[member]]
                counts = {value: sum(column.codes[row] == value for row in beside) for value in sets[column.name]}
                for value, count in counts.items():
                    belief[value] += Fraction(int(count), int(sum(counts.values())) * len(members))
            best = max(best, *belief.values())
    stated = decomposed.breaks(replace(plan, sensitive_table=mode), case.table)
    (skewness,) = (sentence for sentence in stated if sentence.startswith("skewness: a set"))
    assert re.search(r"with (\d+) % or more", skewness)[1] == str(math.floor(100 * best + Fraction(1, 10**9)))


@given(case=cases(people=False), variant=st.sampled_from(VARIANTS))
@EXAMPLES
def test_there_are_as_many_groups_as_can_be(case, variant):
    """The schedule's number, except where linkable values ran out."""
    plan = planned(case, variant)
    if plan is None or any("ran out" in note for note in plan.notes):
        return
    l = case.policy.l(plan.primary)
    sizes = np.bincount(case.table[plan.primary].codes[case.kept])
    assert plan.groups == len(max_l_schedule(sizes, l)) == case.kept.size // l
    assert sorted(plan.sizes().tolist())[0] >= l
    assert plan.suppressed == case.table.rows - case.kept.size


@given(case=cases(sensitive=1, people=False, skew=False), variant=st.sampled_from(VARIANTS))
@EXAMPLES
def test_one_attribute_is_enough(case, variant):
    plan = planned(case, variant)
    assert plan is not None
    assert plan.added == {}
    assert plan.suppressed == 0


@given(case=cases(rows=25), variant=st.sampled_from(VARIANTS), seed=st.integers(0, 99))
@settings(EXAMPLES, max_examples=tries(60))
def test_the_order_of_the_input_changes_nothing(case, variant, seed):
    plan = planned(case, variant)
    columns = {c.name: [c.text(code) for code in c.codes] for c in case.table.sensitive}
    frame = pl.DataFrame({"q": case.table["q"].codes.tolist(), **columns})
    if case.table.person is not None:
        frame = frame.with_columns(who=pl.Series(case.table.person))
    shuffled = frame.with_columns(pl.col("q").cast(pl.Int64)).sample(fraction=1.0, shuffle=True, seed=seed)
    again = planned(Case(encode(shuffled, case.policy), case.policy), variant)
    assert (plan is None) == (again is None)
    if plan is not None:
        assert plan.group_of.tolist() == again.group_of.tolist()
        assert {n: p.tolist() for n, p in plan.added.items()} == {n: p.tolist() for n, p in again.added.items()}


# schedules ----------------------------------------------------------------------------------------------------


@given(sizes=st.lists(st.integers(0, 9), min_size=FEW + 1, max_size=FEW + 9), l=st.integers(2, 6))
@settings(EXAMPLES, max_examples=tries(60))
def test_many_buckets_have_the_literal_schedule(sizes, l):
    assert max_l_schedule(np.array(sizes), l).tolist() == naive.max_l_schedule(sizes, l)


@given(sizes=st.lists(st.integers(0, 9), min_size=1, max_size=12), l=st.integers(2, 5))
@EXAMPLES
def test_equal_buckets_keep_their_order_in_the_resorted_schedule(sizes, l):
    left = dict(sorted(enumerate(sizes), key=lambda item: -item[1]))
    expected = []
    while sum(size > 0 for size in left.values()) >= l:
        if len({size for size in left.values() if size}) == 1:
            left = dict(sorted(left.items(), key=lambda item: (-item[1], item[0])))
        expected.append(list(left)[:l])
        left = {bucket: size - (bucket in expected[-1]) for bucket, size in left.items()}
        left = dict(sorted(left.items(), key=lambda item: -item[1]))
    assert resorted_schedule(np.array(sizes), l).tolist() == expected
    assert len(expected) == len(naive.max_l_schedule(sizes, l))


@given(sizes=st.lists(st.integers(0, 9), min_size=1, max_size=20), limit=st.integers(0, 9))
@EXAMPLES
def test_a_tournament_finds_the_larger_buckets(sizes, limit):
    buckets = np.empty(len(sizes), np.int64)
    count = larger_than(np.array(sizes), tournament(np.array(sizes)), limit, buckets)
    assert buckets[:count].tolist() == [bucket for bucket, size in enumerate(sizes) if size > limit]


@pytest.mark.parametrize("count", [0, 1, 2, 1000, 70_000])
def test_drawn_orders_are_those_of_draw(count):
    assert order_of_words(DRAW.words(count, "rows")).tolist() == np.argsort(DRAW.words(count, "rows")).tolist()
    clashing = DRAW.words(count, "rows") % np.uint64(7)
    assert order_of_words(clashing).tolist() == np.argsort(clashing, kind="stable").tolist()


# what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "ls", "message"),
    [
        ({"s": list("aaab"), "t": list("xyxy")}, {"s": 2, "t": 2}, "The largest l it allows is|too skewed"),
        ({"s": list("abcd"), "t": list("xxyz")}, {"s": 4, "t": 3}, "'t' cannot be 3-diverse.*set l: 2"),
        ({"s": list("abcd"), "t": list("xxxx")}, {"s": 2, "t": 2}, "'t' holds 'x' in every row.*role: plain"),
        # any two primary values stand beside two values of t, and no two groups have different ones
        ({"s": list("abcabc"), "t": list("xyzxyz")}, {"s": 2, "t": 3}, "'t' cannot have 3 values.*Set l: 2 for 't'"),
    ],
)
@pytest.mark.parametrize("variant", VARIANTS)
def test_what_cannot_be_done_is_said_with_a_remedy(columns, ls, message, variant):
    policy = {"method": "decomposition", "variant": variant, "options": {"primary": "s"}}
    case = case_of(columns, ls, **policy)
    with pytest.raises(Infeasible, match=message):
        method_for(case.policy).plan(case.table, case.policy, DRAW)


def test_groups_that_share_no_primary_value_are_merged_where_linkable_values_run_out():
    columns = {"s": list("abcdabcd"), "t": list("xyzwxyzw")}
    case = case_of(columns, {"s": 2, "t": 4}, options={"primary": "s"})
    plan = planned(case)
    assert plan is not None
    assert plan.groups == 2
    assert plan.notes == (
        "l of t is above that of s, the primary attribute: values must be added.",
        "2 groups merged with another because linkable values ran out.",
    )
    for group in groups_of(plan):
        assert sorted(case.table["t"].codes[group].tolist()) == [0, 1, 2, 3]


def test_a_primary_attribute_must_be_a_sensitive_one():
    case = case_of({"disease": list("abab")}, {"disease": 2})
    with pytest.raises(PolicyError, match="Did you mean 'disease'"):
        Decomposition(primary="diseases").plan(case.table, case.policy, DRAW)


@pytest.mark.parametrize("method", ["anatomy", "decomposition"])
def test_k_is_refused(method):
    case = case_of({"s": list("abab")}, {"s": 2})
    policy = Policy.from_dict({**case.policy.model_dump(by_alias=True, exclude_unset=True), "k": 2}).override(
        method=method
    )
    with pytest.raises(Infeasible, match="sloms or bsgi"):
        method_for(policy).plan(case.table, policy, DRAW)


# Anatomy ------------------------------------------------------------------------------------------------------


def dealt(case: Case) -> Plan | None:
    try:
        return Anatomy().plan(case.table, case.policy, DRAW)
    except Infeasible:
        return None


@given(case=cases(sensitive=1, people=False, skew=False))
@EXAMPLES
def test_anatomy_deals_what_the_schedule_says(case):
    plan = dealt(case)
    column, l = case.table["s0"], case.policy.l("s0")
    schedule = naive.max_l_schedule(column.counts.tolist(), l)
    waiting = {
        value: [row for row in case.order.tolist() if column.codes[row] == value] for value in range(column.size)
    }
    expected = [{waiting[value].pop(0) for value in values} for values in schedule]
    residual = {row for rows in waiting.values() for row in rows}
    assert len(residual) <= l - 1
    assert [set(group) - residual for group in groups_of(plan)] == expected
    for group in groups_of(plan):
        assert len(set(column.codes[group].tolist())) == len(group) >= l
    crowded = [len(group) for group in groups_of(plan) if len(group) > l + 1]
    assert not crowded or len(residual) > 1
    assert plan.suppressed == 0


@given(case=cases(sensitive=1, skew=False))
@EXAMPLES
def test_anatomy_keeps_people_apart_and_groups_diverse(case):
    plan = dealt(case)
    if plan is None:
        assert case.table.person is not None
        return
    assert plan.suppressed <= allowance(case.policy.publish.suppress, case.table.rows)
    for group in groups_of(plan):
        top = max(Counter(case.table["s0"].codes[group].tolist()).values())
        assert top * case.policy.l("s0") <= len(group)
        if case.table.person is not None:
            assert len(set(case.table.person[group].tolist())) == len(group)


def test_anatomy_finds_the_only_way_to_keep_two_people_apart():
    columns = {"s": list("abab"), "who": [1, 1, 2, 2]}
    plan = dealt(case_of(columns, {"s": 2}, person=True))
    assert plan is not None
    assert plan.groups == 2


def test_anatomy_protects_one_attribute():
    case = case_of({"s": list("abab"), "t": list("aabb")}, {"s": 2, "t": 2})
    with pytest.raises(Infeasible, match="decomposition, msb or sloms"):
        Anatomy().plan(case.table, case.policy, DRAW)


def test_every_pair_of_rows_of_two_buckets_is_equally_likely_to_meet():
    """Uniform picks: over many keys each of three partners is met about as often."""
    case = case_of({"s": list("aaabbb")}, {"s": 2})
    met: Counter[tuple[int, int]] = Counter()
    for i in range(600):
        plan = Anatomy().plan(case.table, case.policy, Draw(Key(i.to_bytes(32, "big"))))
        met.update(pair for pair in combinations(range(6), 2) if len(set(plan.group_of[list(pair)].tolist())) == 1)
    assert len(met) == 9
    assert min(met.values()) > 150
    assert max(met.values()) < 250


class InThisOrder(Draw):
    """Rows come in a given order, and every other word is a given one."""

    order: tuple[int, ...] = ()
    word: int = 0

    def words(self, count: int, purpose: str) -> Any:
        drawn = np.argsort(self.order) if purpose == "rows" else np.full(count, self.word)
        return drawn.astype(np.uint64)


def test_knowing_the_method_adds_nothing(monkeypatch):
    """Anatomy of five rows, l = 2: over all tables and all draws, a secret has the chance count / size, exactly."""
    seen: dict[frozenset[tuple[tuple[int, ...], str]], Counter[tuple[str, ...]]] = {}
    for sensitive in sorted(set(permutations("aabbc"))):
        case = case_of({"s": list(sensitive)}, {"s": 2})
        for order in permutations(range(5)):
            for word in range(2):  # the row left over has one group to choose from, or two
                monkeypatch.setattr(InThisOrder, "order", order)
                monkeypatch.setattr(InThisOrder, "word", word)
                groups = groups_of(Anatomy().plan(case.table, case.policy, InThisOrder(Key.test())))
                shown = frozenset((tuple(group), "".join(sorted(sensitive[row] for row in group))) for group in groups)
                seen.setdefault(shown, Counter())[sensitive] += 1
    for shown, worlds in seen.items():
        for group, values in shown:
            for row in group:
                chances: Counter[str] = Counter()
                for sensitive, times in worlds.items():
                    chances[sensitive[row]] += times
                total = worlds.total()
                assert {value: Fraction(times, total) for value, times in chances.items()} == {
                    value: Fraction(values.count(value), len(values)) for value in values
                }


def test_a_group_that_keeping_people_apart_empties_leaves_no_gap(monkeypatch):
    """Seven of eight rows in three groups, numbered 0 to 2, though one of the four that were dealt was emptied."""
    emptied = []
    keep_apart = anatomy.keep_apart

    def watched(person, alike, group_of, l):
        apart = keep_apart(person, alike, group_of, l)
        numbers = np.unique(apart[apart != SUPPRESSED])
        emptied.append(numbers.size <= numbers.max())
        return apart

    monkeypatch.setattr(anatomy, "keep_apart", watched)
    columns = {"s": [1, 2, 1, 0, 1, 2, 1, 3], "who": [1, 3, 3, 4, 2, 0, 3, 2]}
    case = case_of(columns, {"s": 2}, person=True, suppress=0.7)
    plan = Anatomy().plan(case.table, case.policy, DRAW)
    assert emptied == [True]
    assert np.unique(plan.group_of).tolist() == [SUPPRESSED, 0, 1, 2]
