"""Mondrian and Incognito against literal versions of themselves, and against the definitions."""

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from oracles import mondrian_and_incognito as naive
from oracles.plain_mondrian import ncp, plain_mondrian
from pluralis.errors import Infeasible
from pluralis.grouping.plan import SUPPRESSED, Plan
from pluralis.grouping.separate_persons import separate_persons
from pluralis.kernels.models import DISTINCT, FREQUENCY, Models, room_for
from pluralis.method import method_for, methods
from pluralis.method.incognito import Incognito, Ladder
from pluralis.method.mondrian import Mondrian
from pluralis.policy.policy import Policy
from pluralis.progress import listening
from pluralis.randomness import Draw, Key
from pluralis.table.encoding import Table, encode
from support.sample_tables import adult_policy, sources

DRAW = Draw(Key.test())
MODELS = ["frequency", "distinct", "entropy", "recursive"]
TREE = "a;left;*\nb;left;*\nc;middle;*\nd;right;*\ne;right;*\n"
GENTLE = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trees")
    (folder / "tree.csv").write_text(TREE)
    return folder


@st.composite
def cases(draw, most=40, models=MODELS, person=False, suppress=(0.0,)):
    """A frame and a policy as plain data, small enough for the literal versions."""
    rows = draw(st.integers(2, most))
    rng = random.Random(draw(st.integers(0, 2**32)))
    missing = draw(st.sampled_from([0.0, 0.2]))

    def column(values):
        return [None if rng.random() < missing else rng.choice(values) for _ in range(rows)]

    quasi = {
        "age": (column(list(range(20, 20 + draw(st.integers(1, 30))))), {"type": "number"}),
        "city": (column(["u", "v", "w", "x", "y"][: draw(st.integers(1, 5))]), {}),
        "job": (column(list("abcde")), {"hierarchy": {"file": "tree.csv"}}),
        "pay": (column([0.5, 1.25, 2.0, 7.5]), {"type": "number"}),
    }
    chosen = draw(st.lists(st.sampled_from(sorted(quasi)), min_size=1, max_size=3, unique=True))
    frame = {name: quasi[name][0] for name in chosen}
    attributes = {
        name: {"role": "quasi", "weight": draw(st.sampled_from([1.0, 0.5, 3.0])), **quasi[name][1]} for name in chosen
    }
    for name in ["ill", "rich"][: draw(st.integers(1, 2))]:
        model = draw(st.sampled_from(models))
        attributes[name] = {"role": "sensitive", "l": draw(st.integers(2, 4)), "model": model}
        if model == "recursive":
            attributes[name]["c"] = draw(st.sampled_from([0.9, 1.5, 3.0]))
        frame[name] = [rng.choice("pqrstu") for _ in range(rows)]
    policy = {
        "version": 1,
        "attributes": attributes,
        "publish": {"suppress": draw(st.sampled_from(suppress))},
    }
    if draw(st.booleans()):
        policy["k"] = draw(st.integers(2, 4))
    if person:
        people = draw(st.integers(max(1, rows // 3), rows))
        frame["who"] = [str(rng.randrange(people)) for _ in range(rows)]
        policy["person"] = "who"
    schema = {"age": pl.Int64, "pay": pl.Float64}
    return pl.DataFrame(frame, schema_overrides={n: t for n, t in schema.items() if n in frame}, strict=False), policy


def groups(plan: Plan):
    members: dict[int, set[int]] = {}
    for row, group in enumerate(plan.group_of.tolist()):
        if group != SUPPRESSED:
            members.setdefault(group, set()).add(row)
    return [frozenset(rows) for _, rows in sorted(members.items())]


def check_plan(plan: Plan, table: Table, policy: Policy):
    """What every answer owes: the test in every group, each person once in it, no more left out than allowed."""
    assert plan.group_of.size == table.rows
    assert plan.suppressed <= policy.publish.suppress * table.rows
    assert sorted({*plan.group_of.tolist()} - {SUPPRESSED}) == list(range(plan.groups))
    for rows in groups(plan):
        assert naive.passes(sorted(rows), table, policy)
        if table.person is not None:
            assert len({int(table.person[row]) for row in rows}) == len(rows)


def plan_or_none(method, table, policy):
    try:
        return method.plan(table, policy, DRAW)
    except Infeasible:
        return None


def whole_table_passes(table, policy):
    return naive.passes(list(range(table.rows)), table, policy, splitting=True)


# Mondrian -----------------------------------------------------------------------------------------------------


@GENTLE
@given(case=cases(), mode=st.sampled_from(["strict", "relaxed"]))
def test_mondrian_is_the_literal_one_group_for_group(folder, case, mode):
    policy = Policy.from_dict(case[1], folder=folder)
    table = encode(case[0], policy)
    plan = plan_or_none(Mondrian(mode=mode), table, policy)
    assert (plan is not None) == whole_table_passes(table, policy)
    assume(plan is not None)
    check_plan(plan, table, policy)
    assert set(groups(plan)) == naive.mondrian(table, policy, relaxed=mode == "relaxed")


@GENTLE
@given(case=cases(), mode=st.sampled_from(["strict", "relaxed"]))
def test_the_paper_cuts_at_medians_and_others_only_divide_its_groups(folder, case, mode):
    policy = Policy.from_dict(case[1], folder=folder)
    table = encode(case[0], policy)
    plan = plan_or_none(Mondrian(mode=mode, variant="paper"), table, policy)
    assume(plan is not None)
    medians = groups(plan)
    assert set(medians) == naive.mondrian(table, policy, relaxed=mode == "relaxed", elsewhere=False)
    for rows in groups(Mondrian(mode=mode).plan(table, policy, DRAW)):
        assert sum(rows <= whole for whole in medians) == 1


def test_many_more_values_than_tries_are_cut_as_the_literal_one_cuts_them():
    rng = np.random.default_rng(5)
    ill = rng.choice(list("aaabbc"), 400)
    ill[np.flatnonzero(ill == "a")[: max(0, (ill == "a").sum() - 199)]] = "d"
    frame = pl.DataFrame({"age": rng.permutation(400), "ill": ill})
    policy = Policy.from_dict(
        {
            "version": 1,
            "attributes": {"age": {"role": "quasi", "type": "number"}, "ill": {"role": "sensitive", "l": 2}},
        }
    )
    table = encode(frame, policy)
    assert set(groups(Mondrian().plan(table, policy, DRAW))) == naive.mondrian(table, policy)


@GENTLE
@given(case=cases(person=True, suppress=(0.0, 0.1, 0.5)), mode=st.sampled_from(["strict", "relaxed"]))
def test_mondrian_keeps_the_rows_of_a_person_apart(folder, case, mode):
    policy = Policy.from_dict(case[1], folder=folder)
    table = encode(case[0], policy)
    plan = plan_or_none(Mondrian(mode=mode), table, policy)
    if plan is not None:
        check_plan(plan, table, policy)


@GENTLE
@given(case=cases(models=[*MODELS, "unique-distinct"], suppress=(0.0, 0.3)))
def test_mondrian_meets_every_model_or_refuses(folder, case):
    policy = Policy.from_dict(case[1], folder=folder)
    table = encode(case[0], policy)
    plan = plan_or_none(Mondrian(), table, policy)
    if plan is not None:
        check_plan(plan, table, policy)


def hospital(rows=3000, people=None, seed=1):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "zip": rng.integers(0, 400, rows).astype(str),
            "sex": rng.choice(["f", "m"], rows),
            "ill": rng.choice(list("abcdefgh"), rows),
        }
    )
    attributes = {
        "age": {"role": "quasi", "type": "number"},
        "zip": {"role": "quasi"},
        "sex": {"role": "quasi"},
        "ill": {"role": "sensitive", "l": 3},
    }
    policy = {"version": 1, "attributes": attributes}
    if people is not None:
        # a person's rows have the same quasi-identifiers, as repeated visits do
        first = frame.sample(people, seed=seed).drop("ill")
        who = rng.integers(0, people, rows)
        frame = first[who].with_columns(frame["ill"], who=pl.Series(who.astype(str)))
        policy["person"] = "who"
    return frame, policy


@pytest.mark.parametrize("mode", ["strict", "relaxed"])
def test_mondrian_with_a_flat_attribute_of_many_codes_is_the_literal_one(mode):
    frame, policy = hospital(600)
    policy = Policy.from_dict(policy)
    table = encode(frame, policy)
    plan = Mondrian(mode=mode).plan(table, policy, DRAW)
    assert set(groups(plan)) == naive.mondrian(table, policy, relaxed=mode == "relaxed")


@pytest.mark.parametrize(("l", "plain", "own"), [(5, 0.5972, 0.4182), (7, 0.8744, 0.8214)])
def test_mondrian_loses_less_on_adult_than_a_plain_one(adult, l, plain, own):
    """With the same test of groups: what docs/methods/mondrian.md says."""
    policy = adult_policy(l, method="mondrian")
    table = encode(pl.read_csv(adult), policy)
    plan = Mondrian().plan(table, policy, DRAW)
    ours = [np.array(sorted(rows)) for rows in groups(plan)]
    assert ncp(plain_mondrian(table, policy), table) == pytest.approx(plain, abs=1e-4)
    assert ncp(ours, table) == pytest.approx(own, abs=1e-4)


def test_mondrian_does_not_depend_on_the_order_of_the_input():
    frame, policy = hospital(500)
    policy = Policy.from_dict(policy)

    def published(frame):
        table = encode(frame, policy)
        plan = Mondrian().plan(table, policy, DRAW)
        rows = frame[sources(frame, table)].with_columns(group=pl.Series(plan.group_of))
        return sorted(sorted(part.drop("group").rows()) for _, part in rows.group_by("group"))

    assert published(frame) == published(frame.sample(fraction=1.0, shuffle=True, seed=3))


def test_k_alone_cuts_as_far_as_medians_go():
    policy = Policy.from_dict({"version": 1, "k": 2, "attributes": {"age": {"role": "quasi", "type": "number"}}})
    table = encode(pl.DataFrame({"age": [1, 2, 3, 4, 5, 6, 7, 8]}), policy)
    assert Mondrian().plan(table, policy, DRAW).group_of.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_relaxed_cut_divides_equal_rows_where_a_strict_one_cannot():
    policy = Policy.from_dict({"version": 1, "k": 3, "attributes": {"age": {"role": "quasi", "type": "number"}}})
    table = encode(pl.DataFrame({"age": [1, 5, 5, 5, 5, 9]}), policy)
    assert Mondrian().plan(table, policy, DRAW).groups == 1
    assert Mondrian(mode="relaxed").plan(table, policy, DRAW).groups == 2


def test_a_missing_number_is_its_own_category():
    policy = Policy.from_dict({"version": 1, "k": 2, "attributes": {"age": {"role": "quasi", "type": "number"}}})
    table = encode(pl.DataFrame({"age": [None, None, 30, 31]}), policy)
    assert Mondrian().plan(table, policy, DRAW).group_of.tolist() == [0, 0, 1, 1]


def test_repeated_visits_of_the_same_people_are_published_by_mondrian():
    frame, policy = hospital(3000, people=1200)
    policy = Policy.from_dict({**policy, "publish": {"suppress": 0.01}})
    table = encode(frame, policy)
    plan = Mondrian().plan(table, policy, DRAW)
    check_plan(plan, table, policy)
    assert plan.groups > 20


# people -------------------------------------------------------------------------------------------------------


@GENTLE
@given(data=st.data())
def test_separated_groups_are_parts_of_the_given_ones(data):
    rows = data.draw(st.integers(1, 40))
    sensitive = np.array([data.draw(st.lists(st.integers(0, 4), min_size=rows, max_size=rows))], np.int32)
    person = np.array(data.draw(st.lists(st.integers(0, 9), min_size=rows, max_size=rows)), np.int32)
    group_of = np.array(data.draw(st.lists(st.integers(-1, 3), min_size=rows, max_size=rows)))
    model = data.draw(st.sampled_from([FREQUENCY, DISTINCT]))
    models = Models(sensitive, np.array([model], np.int8), np.array([2]), np.zeros(1), 2, person)
    separated = separate_persons(group_of, models, room_for(models))
    assert (separated.group_of[group_of == SUPPRESSED] == SUPPRESSED).all()
    missing = np.flatnonzero((separated.group_of == SUPPRESSED) & (group_of != SUPPRESSED))
    assert missing.tolist() == sorted(separated.surplus.tolist())
    for group in range(separated.group_of.max(initial=-1) + 1):
        part = np.flatnonzero(separated.group_of == group)
        assert len(set(group_of[part])) == 1
        assert len(set(person[part])) == part.size
        whole = np.flatnonzero(group_of == group_of[part[0]])
        name = {FREQUENCY: "frequency", DISTINCT: "distinct"}[model]
        if naive.is_diverse(sensitive[0, whole].tolist(), name, 2) and whole.size >= 2:
            assert naive.is_diverse(sensitive[0, part].tolist(), name, 2)


def test_two_visits_of_each_person_make_two_groups_with_everybody_in_each():
    person = np.repeat(np.arange(4), 2).astype(np.int32)
    sensitive = np.array([[0, 1, 1, 0, 2, 3, 3, 2]], np.int32)
    models = Models(sensitive, np.array([FREQUENCY], np.int8), np.array([4]), np.zeros(1), 4, person)
    separated = separate_persons(np.zeros(8, np.int64), models, room_for(models))
    assert separated.surplus.size == 0
    assert np.bincount(separated.group_of).tolist() == [4, 4]


# Incognito ----------------------------------------------------------------------------------------------------


def hierarchies(table):
    ladders = [Ladder.from_column(column) for column in table.quasi]
    return {ladder.column.name: (ladder.hierarchy, ladder.leaf_of) for ladder in ladders}


def node_of(plan, table):
    return tuple(plan.levels[column.name].level for column in table.quasi)


@GENTLE
@given(case=cases(most=25))
def test_incognito_finds_the_least_loss_in_the_whole_lattice(folder, case):
    policy = Policy.from_dict(case[1], folder=folder)
    table = encode(case[0], policy)
    plan = plan_or_none(Incognito(), table, policy)
    best, nodes = naive.incognito(table, policy, hierarchies(table))
    assert (plan is None) == (best is None)
    assume(plan is not None)
    check_plan(plan, table, policy)
    assert node_of(plan, table) in nodes
    assert naive.loss_at(table, hierarchies(table), node_of(plan, table)) == pytest.approx(best, abs=1e-12)
    classes = naive.classes_at(table, hierarchies(table), node_of(plan, table))
    assert set(groups(plan)) == {frozenset(rows) for rows in classes}


@GENTLE
@given(case=cases(person=True, models=[*MODELS, "unique-distinct"], suppress=(0.0, 0.1, 0.5)))
def test_incognito_meets_the_policy_or_refuses(folder, case):
    policy = Policy.from_dict(case[1], folder=folder)
    table = encode(case[0], policy)
    plan = plan_or_none(Incognito(), table, policy)
    assume(plan is not None)
    check_plan(plan, table, policy)
    labels = naive.classes_at(table, hierarchies(table), node_of(plan, table))
    class_of = {row: i for i, rows in enumerate(labels) for row in rows}
    for rows in groups(plan):
        assert len({class_of[row] for row in rows}) == 1


@GENTLE
@given(case=cases(most=25, suppress=(0.1, 0.3)))
def test_suppression_is_exact_for_the_published_node(folder, case):
    policy = Policy.from_dict(case[1], folder=folder)
    table = encode(case[0], policy)
    plan = plan_or_none(Incognito(), table, policy)
    assume(plan is not None)
    check_plan(plan, table, policy)
    assume(whole_table_passes(table, policy))  # else a drawn surplus is left out as well
    for rows in naive.classes_at(table, hierarchies(table), node_of(plan, table)):
        published = {int(plan.group_of[row]) != SUPPRESSED for row in rows}
        assert published == {naive.passes(rows, table, policy)}


def test_incognito_with_more_combinations_than_a_key_can_hold():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"q{i}": rng.permutation(3000).astype(str) for i in range(6)})
    attributes = {name: {"role": "quasi"} for name in frame.columns}
    policy = Policy.from_dict({"version": 1, "k": 2, "attributes": attributes, "publish": {"suppress": 0.5}})
    plan = Incognito().plan(encode(frame, policy), policy, DRAW)
    assert plan.groups == 1
    assert plan.suppressed == 0


def test_a_column_that_is_all_missing_is_published():
    policy = Policy.from_dict(
        {
            "version": 1,
            "k": 2,
            "attributes": {"age": {"role": "quasi", "type": "number"}, "sex": {"role": "quasi"}},
        }
    )
    table = encode(pl.DataFrame({"age": pl.Series([None] * 4, dtype=pl.Int64), "sex": ["f", "f", "m", "m"]}), policy)
    assert Incognito().plan(table, policy, DRAW).groups == 2
    assert Mondrian().plan(table, policy, DRAW).groups == 2


# both ---------------------------------------------------------------------------------------------------------

BOTH = pytest.mark.parametrize("method", [Mondrian(), Mondrian(mode="relaxed"), Incognito()])


def small(values, policy=None, **sensitive):
    attributes = {
        "age": {"role": "quasi", "type": "number"},
        "ill": {"role": "sensitive", "l": 2, **sensitive},
    }
    policy = Policy.from_dict({"version": 1, "attributes": attributes, **(policy or {})})
    return encode(pl.DataFrame({"age": range(len(values)), "ill": list(values)}), policy), policy


@BOTH
@pytest.mark.parametrize(
    ("values", "rules", "message"),
    [
        ("aaaaaaaaab", {}, "too skewed"),
        ("aabbccddee", {"l": 6}, "largest l it allows is 5; set l: 5"),
        ("aaaabbbb", {"l": 3, "model": "distinct"}, "largest l it allows is 2; set l: 2"),
        ("aaaaaaabbc", {"l": 3, "model": "entropy"}, "largest l it allows is 2; set l: 2"),
        ("aaaaaaaaab", {"l": 2, "model": "recursive", "c": 2}, "No l of 2 or more"),
    ],
)
def test_what_cannot_be_diverse_is_refused_with_what_can(method, values, rules, message):
    table, policy = small(values, **rules)
    with pytest.raises(Infeasible, match="'ill' cannot be") as caught:
        method.plan(table, policy, DRAW)
    assert message in str(caught.value)


@BOTH
@pytest.mark.parametrize("model", [{}, {"model": "entropy"}, {"model": "recursive", "c": 1.5}])
def test_a_surplus_of_a_common_value_is_left_out_within_the_allowance(method, model):
    table, policy = small("aaaaaabb" + "cd", {"publish": {"suppress": 0.5}}, l=2 if not model else 3, **model)
    plan = method.plan(table, policy, DRAW)
    check_plan(plan, table, policy)
    assert plan.suppressed > 0


@BOTH
def test_nothing_to_test_or_to_generalize_is_refused(method):
    bare = Policy.from_dict({"version": 1, "attributes": {"age": {"role": "quasi", "type": "number"}}})
    with pytest.raises(Infeasible, match="set k: 5"):
        method.plan(encode(pl.DataFrame({"age": [1, 2]}), bare), bare, DRAW)
    few = Policy.from_dict({**bare.model_dump(exclude_unset=True), "k": 9})
    with pytest.raises(Infeasible, match="Set k: 2 or less"):
        method.plan(encode(pl.DataFrame({"age": [1, 2]}), few), few, DRAW)
    secret = Policy.from_dict({"version": 1, "attributes": {"ill": {"role": "sensitive", "l": 2}}})
    with pytest.raises(Infeasible, match="role: quasi"):
        method.plan(encode(pl.DataFrame({"ill": ["a", "b"]}), secret), secret, DRAW)


@BOTH
def test_people_who_cannot_be_kept_apart_are_refused_with_a_remedy(method):
    policy = Policy.from_dict(
        {
            "version": 1,
            "person": "who",
            "attributes": {"age": {"role": "quasi", "type": "number"}, "ill": {"role": "sensitive", "l": 2}},
        }
    )
    table = encode(pl.DataFrame({"age": [1, 2, 3, 4], "ill": list("abab"), "who": ["x", "x", "x", "y"]}), policy)
    with pytest.raises(Infeasible, match=r"2 of 4 rows fit no group.*suppress: 0.5.*bsgi"):
        method.plan(table, policy, DRAW)
    allowed = policy.override(options={"suppress": 0.5})
    plan = method.plan(table, allowed, DRAW)
    check_plan(plan, table, allowed)
    assert plan.suppressed == 2


@BOTH
def test_unique_distinct_is_refused_where_the_groups_are_not(method):
    table, policy = small("aabbab", l=2, model="unique-distinct", policy={"k": 6})
    with pytest.raises(Infeasible, match="method: bsgi"):
        method.plan(table, policy, DRAW)


@BOTH
def test_progress_goes_from_nothing_to_everything(method):
    shares: dict[str, list[float]] = {}

    class Ear:
        def begin(self, what):
            shares[what] = []

        def advance(self, what, share):
            shares[what].append(share)

        def end(self, what):
            pass

    table, policy = small("abcd" * 50)
    with listening(Ear()):
        method.plan(table, policy, DRAW)
    first = next(iter(shares.values()))
    assert first == sorted(first)
    assert first[-1] == 1.0
    assert all(0 <= share <= 1 for each in shares.values() for share in each)


def test_both_are_registered_with_their_options():
    assert {"mondrian", "incognito"} <= set(methods())
    asked = {"version": 1, "attributes": {"a": {"role": "quasi"}}, "publish": {"method": "mondrian"}}
    assert method_for(Policy.from_dict(asked)) == Mondrian()
    asked["publish"]["options"] = {"mode": "relaxed"}
    assert method_for(Policy.from_dict(asked)) == Mondrian(mode="relaxed")
    for name in ("mondrian", "incognito"):
        assert any(line.startswith("minimality") for line in methods()[name].breaks)


def test_a_large_group_is_not_peeled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cuts away from the median leave a 64th of the rows or more on each side, however many others there would be."""
    rows = 600
    rng = random.Random(7)
    ills = rng.sample(["a"] * (rows // 2) + ["b", "c"] * (rows // 4), rows)
    frame = pl.DataFrame({"age": range(rows), "ill": ills})
    policy = Policy(quasi={"age": {"type": "number"}}, sensitive={"ill": 2}, method="mondrian")
    table = encode(frame, policy)
    made = set(groups(Mondrian().plan(table, policy, DRAW)))
    assert made == naive.mondrian(table, policy)
    monkeypatch.setattr(naive, "PART", rows)
    assert made != naive.mondrian(table, policy)
