"""Linkage: how many rows a person may be, by hand and planted."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

from pluralis.attacks.base import Options, Result
from pluralis.attacks.linkage import ATTACK
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.release.release import Release, canonical_order
from support.planted_releases import (
    KINDS,
    QUASI,
    Published,
    by_hand,
    claim,
    clean_by_hand,
    covers,
    people_in_groups,
    tiny,
)
from support.sample_tables import PATIENTS, patients_policy

OPTIONS = Options()


def run(one: Published) -> list[Result]:
    return ATTACK.run(one.release, one.original, OPTIONS)


def test_rows_that_are_published_as_they_are() -> None:
    """Three people of whom two are alike: 1/2, 1/2 and 1."""
    people = pl.DataFrame(
        {"age": [1, 1, 2], "zip": ["z0", "z0", "z1"], "disease": ["flu", "hiv", "gout"], "job": list("abc")}
    )
    (result,) = ATTACK.run(by_hand("bucketized", people, [0, 0, 0]), people, OPTIONS)
    assert (result.success, result.worst, result.prior, result.promised) == (2 / 3, 1.0, 1 / 3, None)
    assert not result.breach


def test_labels_that_cover_others() -> None:
    """Ages 1 and 5 as [1, 5], 3 and 4 as [3, 4]: whoever is 3 or 4 may be any of four rows, the others one of two."""
    people = pl.DataFrame(
        {"age": [1, 5, 3, 4], "zip": ["z0"] * 4, "disease": ["flu", "hiv", "flu", "gout"], "job": list("abcd")}
    )
    (result,) = ATTACK.run(by_hand("generalized", people, [0, 0, 1, 1]), people, OPTIONS)
    assert result.success == pytest.approx((1 / 2 + 1 / 2 + 1 / 4 + 1 / 4) / 4)
    assert result.worst == 0.5


def planted_small_group(kind: str, seed: int) -> Published:
    """A claim of k-anonymity, and one group with fewer rows."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    people, group_of = people_in_groups(rng, k, 6)
    group = int(rng.integers(0, 6))
    members = rng.permutation(np.flatnonzero(group_of == group))
    kept = np.ones(people.height, np.bool_)
    kept[members[int(rng.integers(1, k)) :]] = False
    claims = [claim(None, 0, *QUASI, model="k-anonymity", k=k)]
    people = people.filter(pl.Series(kept))
    return Published(by_hand(kind, people, group_of[kept], claims), people)


@pytest.mark.parametrize("kind", ["generalized", "sliced"])
def test_planted_small_groups_are_found(kind: str) -> None:
    for seed in range(30):
        breaches = [result for result in run(planted_small_group(kind, seed)) if result.breach]
        assert breaches, seed


def test_planted_labels_of_few_rows_are_found() -> None:
    """Groups are large enough, and one row of a sliced release stands under a label that no other has."""
    for seed in range(20):
        one = clean_by_hand("sliced", seed)
        row = int(np.random.default_rng(seed).integers(0, one.original.height))
        quasi = one.release.tables["quasi"]
        age = pl.when(pl.int_range(pl.len()) == row).then(pl.lit("[0, 99]")).otherwise("age").alias("age")
        tables = {**one.release.tables, "quasi": canonical_order(quasi.with_columns(age))}
        (breach,) = [r for r in run(Published(Release(one.release.manifest, tables), one.original)) if r.breach]
        assert breach.worst == 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_of_few_rows_candidates_are_counted_one_by_one(kind: str) -> None:
    for seed in range(10):
        people, groups, _ = tiny(seed)
        release = by_hand(kind, people, groups)
        shown = [*release.tables["microdata" if kind == "generalized" else "quasi"].iter_rows(named=True)]
        counts = [sum(covers(row, person) for row in shown) for person in people.iter_rows(named=True)]
        (result,) = ATTACK.run(release, people, OPTIONS)
        assert result.success == pytest.approx(sum(1 / n for n in counts) / len(counts))
        smallest = min(Counter(groups).values()) if kind == "generalized" else min(counts)
        alike = min(Counter((row["age"], row["zip"]) for row in shown).values()) if kind == "sliced" else smallest
        assert result.worst == 1 / min(*counts, alike)


def test_k_is_what_is_promised() -> None:
    policy = patients_policy(2, method="mondrian").model_copy(update={"k": 3})
    release = publish(PATIENTS, policy, key=Key.test(), attacks=False)
    (result,) = run(Published(release, PATIENTS))
    assert result.promised == 1 / 3
    assert result.worst is not None
    assert result.worst <= 1 / 3


def test_of_many_people_some_are_attacked() -> None:
    rng = np.random.default_rng(1)
    people, group_of = people_in_groups(rng, 3, 60)
    release = by_hand("generalized", people, group_of)
    (everybody,) = ATTACK.run(release, people, OPTIONS)
    (some,) = ATTACK.run(release, people, Options(sample=100))
    assert some.sampled
    assert some.targets == 100
    assert some.low <= everybody.success <= some.high
