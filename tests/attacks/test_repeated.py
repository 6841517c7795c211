"""Repeated publication: two keys for the same table are found, one key tells nothing more. A score, not a promise."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oracles.worlds_of_several_releases import fitting
from pluralis import Key, Policy, key_for, publish
from pluralis.attacks import attack
from pluralis.attacks.base import Options
from pluralis.attacks.repeated import ATTACK
from pluralis.release.release import Release
from support.effort import tries
from support.random_releases import BY_ANATOMY, FORMS, beyond, dealt_multi, people, policy, released, with_others

DRAWN = ("anatomy", "msb", "decomposition", "bsgi", "randomized-addition")  # labels of sloms cover too many rows
repeated = partial(with_others, ATTACK)


@pytest.mark.parametrize("form", DRAWN)
def test_two_keys_are_found(form: str) -> None:
    for seed in range(10):
        table, l = people(seed, 80 + 8 * seed), 2 + seed % 3
        one, two = released(table, form, l, 1 + seed), released(table, form, l, 100 + seed)
        result = repeated(one, [two], table)
        assert beyond(result, l), (seed, result)
        assert "fewer values remain" in str(result.note)


def test_two_draws_of_groups_of_several_tables_are_found() -> None:
    for seed in range(6):
        table = people(seed, 90)
        result = repeated(dealt_multi(table, 3, seed), [dealt_multi(table, 3, seed + 50)], table)
        assert beyond(result, 3)


@pytest.mark.parametrize("form", FORMS)
def test_the_same_key_tells_nothing_more(form: str) -> None:
    for seed in range(tries(23)):  # 207 of all forms in a long run
        table, l = people(300 + seed, 40 + 10 * (seed % 5)), 2 + seed % 2
        one = released(table, form, l, seed + 1)
        shuffled = table[np.random.default_rng(seed).permutation(table.height)]
        two = publish(shuffled, policy(form, l), key=one.key, attacks=False)
        assert all(two.tables[name].equals(one.tables[name]) for name in one.tables)
        assert list(ATTACK.run(one, table, Options())) == []
        results = ATTACK.run(one, table, Options(others=(two,)))
        assert results
        for result in results:
            assert (result.promised, result.worst) == (None, None)
            assert "add nothing" in str(result.note)


def skewed(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    disease = rng.choice(8, rows, p=[0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05])
    return pl.DataFrame({"town": [f"t{i}" for i in range(rows)], "disease": [f"d{d}" for d in disease]})


def towns(variant: str, **options: Any) -> Policy:
    attributes: dict[str, Any] = {"town": {"role": "quasi"}, "disease": {"role": "sensitive", "l": 2}}
    publish: dict[str, Any] = {"method": "randomized-addition", "variant": variant, "options": options}
    return Policy.from_dict({"version": 1, "attributes": attributes, "publish": publish, "accept": ["set-size"]})


def test_drawing_sets_again_gives_most_values_away(tmp_path: Path) -> None:
    """Golden: the paper's randomized addition, drawn twice; ours keeps design and key, and repeats its sets."""
    table = skewed(400, 1)
    paper = [publish(table, towns("paper", claim="set-size"), key=Key(bytes([k] * 32)), attacks=False) for k in (1, 2)]
    result = repeated(paper[0], paper[1:], table)
    assert result.worst == 1.0
    assert not result.breach
    assert result.success > 0.85  # 6 of 7 pairs of sets share nothing but the truth

    ours = publish(table, towns("hardened"), key=Key(bytes([3] * 32)), attacks=False)
    ours.save(tmp_path / "release")
    again = publish(table, towns("hardened"), key=key_for(tmp_path / "release"), attacks=False)
    assert again.tables["microdata"].equals(ours.tables["microdata"])
    assert repeated(again, [ours], table).worst is None


def test_what_remains_is_what_both_leave() -> None:
    """Against sets made by hand, on tables of up to eight rows."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = int(rng.integers(4, 9))
        table = pl.DataFrame(
            {
                "job": [f"j{v}" for v in rng.integers(0, 3, rows)],
                "disease": [f"d{v}" for v in rng.permutation(rows) % 4],
            }
        )
        both = [publish(table, BY_ANATOMY, key=Key(bytes([k + 1] * 32)), attacks=False) for k in (seed, seed + 100)]
        sets = [_possible(release) for release in both]
        left = [sets[0][job] & sets[1][job] for job in table["job"]]
        alone = [sets[0][job] for job in table["job"]]
        gained = [len(some) for some, before in zip(left, alone, strict=True) if len(some) < len(before)]
        (result,) = ATTACK.run(both[0], table, Options(others=(both[1],)))
        assert result.worst == (1 / min(gained) if gained else None)
        assert all(value in some for value, some in zip(table["disease"], left, strict=True))


def _possible(release: Release) -> dict[str, set[str]]:
    """For each job the values of the groups that a person of that job may be in."""
    joined = release.tables["quasi"].join(release.tables["sensitive"], on="group")
    return {job: set(part["disease"]) for (job,), part in joined.partition_by("job", as_dict=True).items()}


def test_in_all_worlds_of_both_somebody_is_as_sure_as_it_says() -> None:
    """Tables that both releases could be of: what was ruled out is in none; the maximum posterior is no lower."""
    gained = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        table = pl.DataFrame({"job": [f"j{i}" for i in range(6)], "disease": [f"d{v}" for v in rng.permutation(6) % 5]})
        both = [publish(table, BY_ANATOMY, key=Key(bytes([k + 1] * 32)), attacks=False) for k in (seed, seed + 100)]
        worlds = fitting(table, both)
        tops = [max(Counter(column).values()) / len(worlds) for column in zip(*worlds, strict=True)]
        (result,) = ATTACK.run(both[0], table, Options(others=(both[1],)))
        assert tuple(table["disease"]) in worlds
        if result.worst is not None:
            assert max(tops) >= result.worst - 1e-9
            gained += 1
    assert gained >= 10


def test_a_release_of_other_people_is_none_of_the_same() -> None:
    table = people(1, 60)
    one, two = released(table, "anatomy", 2, 1), released(people(2, 60), "anatomy", 2, 2)
    assert list(ATTACK.run(one, table, Options(others=(two,)))) == []


def test_it_runs_with_all_attacks() -> None:
    table = people(1, 60)
    one, two = released(table, "anatomy", 3, 1), released(table, "anatomy", 3, 2)
    results = attack(one, table, only=["repeated", "successive"], options=Options(others=(two,)))
    assert [result.attack for result in results] == ["repeated"]
