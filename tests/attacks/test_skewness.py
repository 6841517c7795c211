"""Skewness and similarity: against definitions written out, planted, and never a promise."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from pluralis.attacks.adversary.group_values import GROUP_ID, PEOPLE, GroupValues
from pluralis.attacks.base import Options
from pluralis.attacks.skewness import ATTACK, measured
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from support.planted_releases import DISEASES, KINDS, by_hand, people_in_groups, with_values
from support.sample_tables import policy_of

OPTIONS = Options()


def naive(groups: dict[int, list[int]], places: list[float]) -> tuple[float, ...]:
    """(ratio, largest share, variational distance, earth mover's, share within a tenth of the range)"""
    everybody = [v for values in groups.values() for v in values]
    order = sorted(set(everybody), key=lambda v: places[v])

    def share(values: list[int], value: int) -> float:
        return values.count(value) / len(values)

    ratio = max(share(values, v) / share(everybody, v) for values in groups.values() for v in values)
    maximum_posterior = max(share(values, v) for values in groups.values() for v in values)
    apart = max(sum(abs(share(values, v) - share(everybody, v)) for v in order) / 2 for values in groups.values())
    earth = 0.0
    for values in groups.values():
        carried = moved = 0.0
        for v in order[:-1]:
            carried += share(values, v) - share(everybody, v)
            moved += abs(carried)
        earth = max(earth, moved / (len(order) - 1))
    width = 0.1 * (max(places) - min(places))
    alike = sum(len(h) for h in groups.values() if max(places[v] for v in h) - min(places[v] for v in h) <= width)
    return ratio, maximum_posterior, apart, earth, alike / len(everybody)


@pytest.mark.parametrize("seed", range(20))
def test_as_defined(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = int(rng.integers(2, 9))
    codes = np.concatenate([np.arange(values), rng.integers(0, values, 30)])
    group_of = rng.integers(0, 8, codes.size)
    places = rng.permutation(100)[:values].astype(np.float64)
    rows = pl.DataFrame({GROUP_ID: group_of, "x": codes.astype(np.int32), PEOPLE: np.ones(codes.size)})
    skew = measured(lambda: [GroupValues("group", ("x",), rows)], "x", places)
    assert skew is not None
    groups = {g: codes[group_of == g].tolist() for g in set(group_of.tolist())}
    figures = (skew.ratio, skew.posterior, skew.distance, skew.moved, skew.narrow)
    assert figures == pytest.approx(naive(groups, places.tolist()))
    assert (
        max(groups[skew.posterior_group].count(v) / len(groups[skew.posterior_group]) for v in range(values))
        == skew.posterior
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_rare_value_that_fills_a_group_is_found(kind: str) -> None:
    """A value that nobody else has, in some rows of one group."""
    for seed in range(18):
        rng = np.random.default_rng(seed)
        people, group_of = people_in_groups(rng, 3, 20)
        group = int(rng.integers(0, 20))
        members = np.flatnonzero(group_of == group)[: int(rng.integers(2, 4))]
        people = with_values(people, members, "disease", ["plague"] * members.size)
        release = by_hand(kind, people, group_of, linked=kind != "sliced")
        result = next(r for r in ATTACK.run(release, people, OPTIONS) if r.attribute == "disease")
        size = np.count_nonzero(group_of == group)
        assert f"to {members.size / size:.3g} ({people.height / size:.3g} times) in" in (result.note or "")
        assert f"group {group + 1};" in (result.note or "")
        diseases = pl.DataFrame({"group": group_of, "disease": people["disease"]})
        shares = diseases.group_by("group").agg(pl.col("disease").unique_counts().max() / pl.len())
        assert result.worst == pytest.approx(shares["disease"].max())  # a commoner value may fill another group more
        assert result.promised is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_common_value_that_fills_a_group_is_found(kind: str) -> None:
    """A disease of everywhere, which everybody of one group has."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        people, group_of = people_in_groups(rng, 5, 20)
        group = int(rng.integers(0, 20))
        members = np.flatnonzero(group_of == group)
        people = with_values(people, members, "disease", ["flu"] * members.size)
        release = by_hand(kind, people, group_of, linked=kind != "sliced")
        result = next(r for r in ATTACK.run(release, people, OPTIONS) if r.attribute == "disease")
        assert result.worst == 1.0
        assert (result.witness or "").endswith(f"group {group + 1}")


@pytest.mark.parametrize("kind", KINDS)
def test_groups_like_the_whole_are_quiet(kind: str) -> None:
    """Every group holds the same diseases, each once: no value is likelier there, no guess beats the prior."""
    for seed in range(70):
        rng = np.random.default_rng(seed)
        l, groups = int(rng.integers(2, 7)), int(rng.integers(3, 9))
        group_of = np.repeat(np.arange(groups), l)
        values = np.concatenate([rng.permutation(DISEASES[:l]) for _ in range(groups)])
        columns = {"age": rng.permutation(group_of.size), "zip": ["z0"] * group_of.size, "disease": values}
        people = pl.DataFrame({**columns, "job": values})
        release = by_hand(kind, people, group_of, linked=kind != "sliced")
        for result in ATTACK.run(release, people, OPTIONS):
            assert "(1 times) in" in (result.note or "")
            assert float((result.note or "").rpartition(" ")[2]) < 1e-12
            assert result.worst == pytest.approx(1 / l)
            assert result.success == pytest.approx(result.prior)
            assert not result.above_chance


def test_numbers_close_to_each_other() -> None:
    """l different salaries that are nearly the same: half of the people are in such a group."""
    people = pl.DataFrame({"age": [1, 2, 3, 4], "pay": [1000, 1001, 5000, 9000]})
    attributes = {"age": {"role": "quasi", "type": "number"}, "pay": {"role": "sensitive", "type": "number", "l": 2}}
    release = publish(people, policy_of(attributes, method="mondrian"), key=Key.test(), attacks=False)
    (result,) = ATTACK.run(release, people, OPTIONS)
    assert "50.0% of people in groups whose values lie within a tenth of the range" in (result.note or "")
    assert "earth mover's" in (result.note or "")
