"""Shards: what they depend on, that they keep what is promised, and what somebody who sees them could learn."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluralis.assembling.assembly import assemble
from pluralis.auditing import audit
from pluralis.engines import memory
from pluralis.engines.memory import better_blocks, plan_of
from pluralis.engines.shards import blocks_of, joined, number_of_shards, row_words, sampled, shard_of
from pluralis.errors import Infeasible
from pluralis.grouping.plan import SUPPRESSED
from pluralis.method import methods
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw, Key
from pluralis.table.encoding import Table, encode
from support.sample_tables import KEY
from support.strategies import EXAMPLES, TREE, seeded, sketches

DRAW = Draw(KEY)
WAYS = pytest.mark.parametrize("way", ["hash", "cuts"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("hierarchies")
    (place / "tree.csv").write_text(TREE, encoding="utf-8")
    return place


def shards_by_cell(table: Table, way: memory.Way, shards: int, key: Key = KEY) -> dict[tuple, set[int]]:
    """The shards of the rows of each combination of quasi-identifiers."""
    shard = shard_of(table, Draw(key), way, shards)
    seen: dict[tuple, set[int]] = defaultdict(set)
    texts = [[column.text(code) for code in column.codes] for column in table.quasi]
    for row, cell in enumerate(zip(*texts, strict=True)):
        seen[cell].add(int(shard[row]))
    return seen


# what a shard depends on ------------------------------------------------------------------------------------------


@WAYS
@given(sketch=sketches(people=False), data=st.data())
@EXAMPLES
def test_a_shard_is_a_function_of_quasi_identifiers_key_and_size(way, sketch, data, folder):
    """Other sensitive values, and another order of rows: every person is in the same shard as before."""
    case = sketch.placed(folder)
    shards = data.draw(st.integers(2, 5))
    before = shards_by_cell(case.table(), way, shards)
    assert all(len(numbers) == 1 for numbers in before.values()), "rows that look alike are in one shard"
    secrets = [name for name in case.frame.columns if name.startswith("s")]
    order = data.draw(st.permutations(range(case.frame.height)))
    mixed = case.frame.with_columns(case.frame[name].gather(order) for name in secrets)
    mixed = mixed[data.draw(st.permutations(range(mixed.height)))]
    assert shards_by_cell(encode(mixed, case.policy), way, shards) == before


@given(sketch=sketches(people=True), shards=st.integers(2, 5))
@EXAMPLES
def test_rows_of_one_person_are_in_one_shard(sketch, shards, folder):
    table = sketch.placed(folder).table()
    if table.person is None:
        return
    shard = shard_of(table, DRAW, "hash", shards)
    assert all(len(set(shard[table.person == person].tolist())) == 1 for person in np.unique(table.person))


def test_another_key_makes_other_shards():
    table = seeded(400, 3, 6, 90).table()
    one, other = (shard_of(table, Draw(key), "hash", 8) for key in (KEY, Key(bytes(32))))
    assert (one == other).mean() < 0.3
    assert min(np.bincount(one, minlength=8)) > 20


def test_cuts_lie_in_the_middle_and_keep_equal_values_together():
    table = seeded(4_000, 5, 6, 90).table()
    sizes = np.bincount(shard_of(table, DRAW, "cuts", 8), minlength=8)
    assert sizes.sum() == 4_000
    assert sizes.max() <= 2 * 500


def told_by_shards(shard: np.ndarray, cells: np.ndarray, secret: np.ndarray) -> float:
    """How much more often people who look alike are in one shard where their secrets are equal than where they are not.

    0 where shards tell nothing of secrets beyond quasi-identifiers.
    """
    together: dict[bool, list[bool]] = {True: [], False: []}
    for cell in np.unique(cells):
        rows = np.flatnonzero(cells == cell)
        for i, row in enumerate(rows):
            for other in rows[i + 1 :]:
                together[bool(secret[row] == secret[other])].append(bool(shard[row] == shard[other]))
    return float(np.mean(together[True]) - np.mean(together[False]))


@WAYS
def test_the_shard_attack_finds_a_hash_of_whole_rows_and_nothing_in_ours(way):
    """A hash of the whole row puts people who look alike into one shard if they have the same secret."""
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"age": rng.integers(20, 60, 600), "disease": [f"d{v}" for v in rng.integers(0, 5, 600)]})
    policy = Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 3})
    table = encode(frame, policy)
    cells, secret = table["age"].codes, table["disease"].codes
    whole = np.array([hash((int(cell), int(value))) % 10 for cell, value in zip(cells, secret, strict=True)])
    assert told_by_shards(whole, cells, secret) > 0.8
    assert told_by_shards(shard_of(table, DRAW, way, 10), cells, secret) == 0.0


# joining ----------------------------------------------------------------------------------------------------------


@WAYS
@given(sketch=sketches(), shards=st.integers(2, 8))
@EXAMPLES
def test_every_block_is_eligible_and_made_of_whole_shards(way, sketch, shards, folder):
    case = sketch.placed(folder)
    table, policy = case.table(), case.policy
    shard = shard_of(table, DRAW, way, shards)
    block = blocks_of(table, policy, shard, shards)
    for number in np.unique(shard):
        assert len(set(block[shard == number].tolist())) == 1
    assert (np.diff(block[np.argsort(shard, kind="stable")]) >= 0).all(), "blocks are ranges of shards"
    for number in np.unique(block):
        for column in table.sensitive:
            held = np.bincount(column.codes[block == number])
            assert held.max() * policy.l(column.name) <= held.sum()


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9))
def test_joined_shards_are_ranges_and_as_many_as_a_greedy_walk_finds(slack):
    """A range keeps its promise where its slack is not below 0: shorter ones before it do not."""
    ranges = joined(len(slack), lambda first, last: sum(slack[first:last]) >= 0)
    assert [first for first, _ in ranges] == [0, *(last for _, last in ranges[:-1])]
    assert ranges[-1][1] == len(slack)
    if sum(slack) >= 0:
        assert all(sum(slack[first:last]) >= 0 for first, last in ranges)
    else:
        assert len(ranges) == 1
    for first, last in ranges[:-1]:
        assert all(sum(slack[first:end]) < 0 for end in range(first + 1, last))


def test_a_value_at_exactly_one_in_l_still_publishes():
    """Shards in which it is too common by chance are joined; with an exact share that may be all of them."""
    ages = np.arange(600)
    for seed in range(5):
        values = np.random.default_rng(seed).permutation(np.repeat(["a", "b", "c"], 200))
        policy = Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 3})
        table = encode(pl.DataFrame({"age": ages, "disease": values}), policy)
        plan = plan_of(methods()["bsgi"](), table, policy, DRAW, most=50)
        assert (plan.sizes() == 3).all()
        assert plan.suppressed == 0


# plans ------------------------------------------------------------------------------------------------------------


@given(sketch=sketches(), most=st.integers(4, 12))
@EXAMPLES
def test_a_plan_in_shards_keeps_what_a_plan_keeps(sketch, most, folder):
    """The audit of the assembled release judges it; nobody shares a group with a person twice."""
    case = sketch.placed(folder, suppress=0.5)
    table, policy, method = case.table(), case.policy, methods()["bsgi"]()
    try:
        plan = plan_of(method, table, policy, DRAW, most=most)
    except Infeasible:
        with pytest.raises(Infeasible):
            method.plan(table, policy, DRAW)
        return
    release = assemble(plan, table, policy, method, DRAW)
    assert audit(release, case.frame, allow_test=True).holds
    if table.person is not None:
        pairs = Counter(zip(plan.group_of.tolist(), table.person.tolist(), strict=True))
        assert all(count == 1 for (group, _), count in pairs.items() if group != SUPPRESSED)


def test_no_group_straddles_blocks_and_the_order_of_work_changes_nothing(monkeypatch):
    case = seeded(900, 11, 7, 40)
    table, method = case.table(), methods()["bsgi"]()
    plans = []
    for order in (1, -1):
        backward = lambda call, items, rows, order=order: [call(item) for item in list(items)[::order]][::order]  # noqa: E731
        monkeypatch.setattr(memory, "in_threads", backward)
        plans.append(plan_of(method, table, case.policy, DRAW, most=100))
    assert (plans[0].group_of == plans[1].group_of).all()
    block = better_blocks(method, table, case.policy, DRAW, 9)
    groups = plans[0].group_of
    assert len(set(block.tolist())) > 1
    assert all(len(set(block[groups == group].tolist())) == 1 for group in np.unique(groups))


def test_cuts_that_leave_rows_in_few_large_blocks_are_not_taken():
    """Old people share a disease, so that by cuts most shards are joined; with the hash each stands alone."""
    age = np.arange(3_600)
    rng = np.random.default_rng(3)
    disease = np.where((age >= 1_800) & (rng.random(age.size) < 0.5), 0, rng.integers(1, 9, age.size))
    policy = Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 3})
    table = encode(pl.DataFrame({"age": age, "disease": [f"d{v}" for v in disease]}), policy)
    by_way = {way: blocks_of(table, policy, shard_of(table, DRAW, way, 8), 8) for way in ("cuts", "hash")}
    largest = {way: np.bincount(block).max() for way, block in by_way.items()}
    assert largest["cuts"] > 2.5 * table.rows / 8 > largest["hash"]
    assert (better_blocks(methods()["bsgi"](), table, policy, DRAW, 8) == by_way["hash"]).all()


def test_of_two_even_ways_the_one_that_loses_less_on_a_sample_is_taken(monkeypatch):
    case = seeded(4_000, 5, 6, 90)
    table, policy = case.table(), case.policy
    by_way = {way: blocks_of(table, policy, shard_of(table, DRAW, way, 4), 4) for way in ("cuts", "hash")}
    assert all(np.bincount(block).max() <= 2_500 for block in by_way.values())
    for losses, better in ((iter([1.0, 2.0]), "cuts"), (iter([2.0, 1.0]), "hash")):
        monkeypatch.setattr(memory, "_loss", lambda table, plan, losses=losses: next(losses))
        assert (better_blocks(methods()["bsgi"](), table, policy, DRAW, 4) == by_way[better]).all()


def test_small_tables_the_paper_s_variant_and_bounds_of_the_whole_table_are_planned_whole():
    case = seeded(300, 11, 7, 40)
    table, bsgi = case.table(), methods()["bsgi"]
    whole = bsgi().plan(table, case.policy, DRAW)
    assert (plan_of(bsgi(), table, case.policy, DRAW).group_of == whole.group_of).all()
    paper = bsgi(variant="paper")
    assert (
        plan_of(paper, table, case.policy, DRAW, most=50).group_of == paper.plan(table, case.policy, DRAW).group_of
    ).all()
    gain = Policy.from_dict({"version": 1, "attributes": {"age": {"role": "quasi", "type": "number"},
                             "s0": {"role": "sensitive", "gain": 3}}, "others": "drop"})  # fmt: skip
    other = encode(case.frame, gain)
    asked = bsgi().plan(other, gain, DRAW)
    assert (plan_of(bsgi(), other, gain, DRAW, most=50).group_of == asked.group_of).all()
    assert not (plan_of(bsgi(), table, case.policy, DRAW, most=50).group_of == whole.group_of).all()


# small things -----------------------------------------------------------------------------------------------------


@given(rows=st.integers(1, 10**6), most=st.integers(1, 10**5))
def test_shards_are_no_larger_than_asked_on_average(rows, most):
    shards = number_of_shards(rows, most)
    assert rows <= shards * most
    assert shards == 1 or (shards - 1) * most < rows


@given(st.lists(st.integers(0, 20), min_size=1, max_size=30), st.integers(1, 10))
def test_a_sample_has_all_rows_of_a_word_or_none(words, most):
    chosen = sampled(np.array(words, np.uint64), most)
    inside = {words[row] for row in chosen}
    assert [row for row, word in enumerate(words) if word in inside] == chosen.tolist()
    assert chosen.size >= min(most, len(words))
    assert sum(word < max(inside) for word in words) < most


def test_a_word_depends_on_values_and_not_on_how_many_there_are():
    """Rows that are in both of two tables have the same word in both: their codes differ, their values do not."""
    policy = Policy(quasi={"age": {"type": "number"}, "sex": {}}, sensitive={"disease": 2})
    frame = pl.DataFrame({"age": [30, 40, 50], "sex": ["f", "m", "m"], "disease": ["flu", "hiv", "gout"]})
    large = pl.concat([frame, pl.DataFrame({"age": [20], "sex": ["d"], "disease": ["cold"]})])
    small, more = (row_words(encode(table, policy), DRAW).tolist() for table in (frame, large))
    assert set(small) < set(more)
