"""Successive releases: rows that come and go change groups, and what is left of a person is found."""

from __future__ import annotations

from collections import Counter
from functools import partial

import numpy as np
import polars as pl
import pytest

from oracles.worlds_of_several_releases import fitting
from pluralis import Key, publish
from pluralis.attacks.base import Options
from pluralis.attacks.successive import ATTACK
from pluralis.errors import Infeasible
from pluralis.release.release import Release, canonical_order
from support.effort import tries
from support.random_releases import BY_ANATOMY, beyond, dealt_multi, people, policy, released, with_others

CHANGING = ("anatomy", "msb", "decomposition", "bsgi")
successive = partial(with_others, ATTACK)


@pytest.mark.parametrize("form", CHANGING)
def test_rows_that_come_and_go_give_others_away(form: str) -> None:
    for seed in range(11):
        whole, l = people(seed, 120), 2 + seed % 2
        before, after = whole.head(100), whole.tail(100)
        one = released(before, form, l, seed + 1)
        two = publish(after, policy(form, l), key=one.key, attacks=False)  # the key does not help: groups change
        result = successive(two, [one], after)
        assert beyond(result, l), (seed, result)


def test_three_releases_tell_more_than_two() -> None:
    for seed in range(6):
        whole = people(seed, 140)
        tables = [whole.slice(20 * i, 100) for i in range(3)]
        releases = [released(table, "anatomy", 4, seed + 1) for table in tables]
        two, three = (successive(releases[2], releases[i:2], tables[2]) for i in (1, 0))
        assert three.success >= two.success > 0.3
        assert beyond(three, 4)


def test_groups_of_several_tables_that_change_are_found() -> None:
    for seed in range(5):
        whole = people(seed, 100)
        result = successive(dealt_multi(whole, 3, seed), [dealt_multi(whole.head(80), 3, seed + 50)], whole)
        assert beyond(result, 3)


@pytest.mark.parametrize("l", [2, 3, 4])
def test_sets_that_are_drawn_for_each_row_stay(l: int) -> None:
    """Randomized addition repeats the set of every row under its key, whoever comes and goes."""
    looked = 0
    for seed in range(24):
        whole = people(seed, 240)
        one = released(whole.head(225), "randomized-addition", l, seed + 1)
        try:
            two = publish(whole, policy("randomized-addition", l), key=one.key, attacks=False)
        except Infeasible:  # values became too unevenly spread for the design: nothing is published
            continue
        result = successive(two, [one], whole)
        assert (result.promised, result.worst) == (None, None)
        looked += 1
    assert looked >= 16


@pytest.mark.parametrize("form", ["anatomy", "decomposition", "msb"])
def test_groups_that_stay_as_they_are_tell_nothing(form: str) -> None:
    """New people in groups of their own: what was published before is published again.

    With sets that stay, more than two hundred clean releases: 80 by anatomy, 80 by msb, 48 at least by addition.
    """
    for seed in range(tries(80)):
        whole = people(seed, 60)
        before, after = whole.head(40), whole.tail(20)
        one, new = (released(part, form, 2, seed + i) for part, i in ((before, 1), (after, 60)))
        if "sensitive" in one.tables and form == "decomposition":
            continue  # a joint table counts everybody's
        offset = int(one.tables["quasi"]["group"].max())  # type: ignore[call-overload]
        moved = {
            name: rows.with_columns(pl.col("group") + offset) if "group" in rows.columns else rows
            for name, rows in new.tables.items()
        }
        tables = {name: canonical_order(pl.concat([one.tables[name], moved[name]])) for name in one.tables}
        both = Release(one.manifest.model_copy(update={"rows": 60}), tables)
        result = successive(both, [one], whole)
        assert (result.promised, result.worst) == (None, None), (form, seed, result)
        assert "add nothing" in str(result.note)


@pytest.mark.parametrize("form", [*CHANGING, "sloms", "mondrian", "randomized-addition", "uad"])
def test_without_other_releases_there_is_nothing_to_attack(form: str) -> None:
    for seed in range(3):
        table = people(seed, 60)
        release = released(table, form, 2, seed + 1)
        assert ATTACK.applies(release)
        assert list(ATTACK.run(release, table, Options())) == []
        for result in ATTACK.run(release, table, Options(others=(release,))):  # of labels it cannot be told
            assert result.worst is None


def test_people_who_are_in_no_other_release_are_as_safe_as_before() -> None:
    one, table = released(people(1, 60), "anatomy", 2, 1), people(2, 80).with_columns(town=pl.col("town") + " new")
    result = successive(released(table, "anatomy", 2, 2), [one], table)
    assert result.worst is None


def test_in_all_worlds_of_both_somebody_is_as_sure_as_it_says() -> None:
    """Two people leave. Tables of all eight that both releases could be of: the maximum posterior is no lower."""
    gained = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        table = pl.DataFrame({"job": [f"j{i}" for i in range(8)], "disease": [f"d{v}" for v in rng.permutation(8) % 4]})
        before = publish(table, BY_ANATOMY, key=Key(bytes([seed + 1] * 32)), attacks=False)
        try:
            after = publish(table.head(6), BY_ANATOMY, key=before.key, attacks=False)
        except Infeasible:
            continue
        worlds = fitting(table, [before, after])
        tops = [max(Counter(column).values()) / len(worlds) for column in zip(*worlds, strict=True)]
        assert tuple(table["disease"]) in worlds
        result = successive(after, [before], table.head(6))
        if result.worst is not None:
            assert max(tops[:6]) >= result.worst - 1e-9
            gained += 1
    assert gained >= 10
