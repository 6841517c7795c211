"""The deFinetti attack: learns what goes with what where something does, and nothing where nothing does."""

from __future__ import annotations

import math
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from pluralis import Key, Policy, publish
from pluralis.attacks.adversary.posterior import Posterior
from pluralis.attacks.adversary.published_values import PublishedValues, RowShares, published_values
from pluralis.attacks.base import Options, Result
from pluralis.attacks.definetti import ATTACK, learn
from pluralis.release.release import Release
from pluralis.table.sources import read_table
from support.handmade_multi_releases import Sub, multi_release
from support.random_releases import released
from support.sample_tables import adult_policy, policy_of

VALUES = 6
SHARES = [0.21, 0.2, 0.18, 0.16, 0.14, 0.11]
FORMS: dict[str, dict[str, Any]] = {
    "anatomy": {},
    "msb": {"suppress": 0.5},
    "decomposition": {},
    "sloms": {"suppress": 0.9},
    "multi": {},
    "bsgi": {},
    "mondrian": {},
}


def people(rng: np.random.Generator, rows: int, *, planted: bool) -> pl.DataFrame:
    """Jobs, towns and ages, with a disease that the job decides, or that has nothing to do with anything."""
    disease = rng.choice(VALUES, rows, p=SHARES)  # were they equally common, anatomy would always pair the same ones
    job = (disease + 2) % VALUES if planted else rng.integers(0, VALUES, rows)
    return pl.DataFrame(
        {
            "age": np.arange(rows) % 60 + 20,
            "job": pl.Series([f"job {j}" for j in job]),
            "town": pl.Series([f"town {t}" for t in rng.permutation(rows)]),
            "disease": pl.Series([f"d{d}" for d in disease]),
            "insurer": pl.Series([f"i{i}" for i in rng.integers(0, 4, rows)]),
        }
    )


def published(table: pl.DataFrame, form: str, l: int, key: int) -> Release:
    if form == "multi":  # dealt like cards
        order = np.argsort(table["disease"].to_numpy(), kind="stable")
        groups = np.empty(table.height, np.int64)
        groups[order] = np.arange(table.height) % (table.height // l) + 1
        sub = Sub(["age", "job", "town", "disease"], ["disease"], groups.tolist())
        return multi_release(table.to_dicts(), [sub, Sub(["insurer"])], [f"age, job, town -> disease : l={l}"])
    return released(table, form, l, key, **FORMS[form])


def attack(release: Release, table: pl.DataFrame) -> Result:
    return next(result for result in ATTACK.run(release, table, Options()) if result.attribute == "disease")


@pytest.mark.parametrize("form", [form for form in FORMS if form not in ("bsgi", "mondrian")])
def test_a_sensitive_value_that_a_quasi_value_decides_is_found(form: str) -> None:
    for seed in range(11):
        rng = np.random.default_rng(seed)
        l = 2 + seed % 3
        table = people(rng, 240 + 30 * (seed % 3), planted=True)
        result = attack(published(table, form, l, seed + 1), table)
        assert result.success > max(0.9, 1.5 / l), (seed, result)
        assert result.above_chance
        assert not result.breach
        assert result.promised is None


@pytest.mark.parametrize("form", ["anatomy", "decomposition", "multi"])
def test_a_sensitive_value_that_mostly_goes_with_a_quasi_value_is_found(form: str) -> None:
    """Three in four have what goes with their job."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        table = people(rng, 300, planted=True)
        job = [
            f"job {j}" if rng.random() > 0.75 else usual
            for usual, j in zip(table["job"], rng.integers(0, 6, 300), strict=True)
        ]
        result = attack(
            published(table.with_columns(job=pl.Series(job)), form, 3, seed + 1), table.with_columns(job=pl.Series(job))
        )
        assert result.success > 1.5 / 3, (seed, result)
        assert result.above_chance


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_learnt_where_nothing_goes_together(form: str) -> None:
    right = targets = 0.0
    for seed in range(29):  # 203 of all forms
        l = 2 + seed % 2
        table = people(np.random.default_rng(100 + seed), 120, planted=False)
        result = attack(published(table, form, l, seed + 1), table)
        assert not result.breach
        assert result.success < 1 / l + 5 * math.sqrt(1 / l * (1 - 1 / l) / result.targets), (seed, result)
        right, targets = right + (result.success - 1 / l) * result.targets, targets + result.targets
    assert right / targets < 4 * 0.5 / math.sqrt(targets)


def test_a_large_share_of_rows_is_a_sample() -> None:
    table = people(np.random.default_rng(1), 240, planted=True)
    release = published(table, "anatomy", 3, 1)
    (result,) = ATTACK.run(release, table, Options(sample=100, seed=3))
    assert (result.targets, result.sampled) == (100, True)
    assert result.low < result.success <= result.high + 1e-9
    assert result == ATTACK.run(release, table, Options(sample=100, seed=3))[0]


def naive(disease: PublishedValues) -> list[dict[str, float]]:
    """The probabilities of each row's values, over all ways to hand them out, by the same rule of ending."""
    n, lines = disease.group_of.size, disease.rows.codes
    groups = [np.flatnonzero(disease.group_of == g).tolist() for g in range(disease.starts.size - 1)]
    values_of_groups = [
        [
            int(disease.code[e])
            for e in range(disease.starts[g], disease.starts[g + 1])
            for _ in range(int(disease.count[e]))
        ]
        for g in range(len(groups))
    ]
    chance = [dict.fromkeys(range(disease.values.len()), 0.0) for _ in range(n)]
    for rows, values in zip(groups, values_of_groups, strict=True):
        for row in rows:
            for value in values:
                chance[row][value] += 1 / len(values)
    best: list[int | None] = [None] * n
    for last in (False, True):
        for _ in range(1 if last else 50):
            both = list(zip(_model(lines, chance, disease.values.len()), lines, strict=True))
            chance = [dict.fromkeys(range(disease.values.len()), 0.0) for _ in range(n)]
            for rows, values in zip(groups, values_of_groups, strict=True):
                ways = list(permutations(values))
                weigh = [
                    math.exp(sum(log[line[r], v] for log, line in both for r, v in zip(rows, way, strict=True)))
                    for way in ways
                ]
                for way, weight in zip(ways, weigh, strict=True):
                    for row, value in zip(rows, way, strict=True):
                        chance[row][value] += weight / sum(weigh)
            now = [max(c, key=lambda v, c=c: (round(c[v], 12), -v)) for c in chance]
            moved, best = sum(a != b for a, b in zip(now, best, strict=True)), list(now)
            if moved <= 0.01 * n:
                break
    return [{str(disease.values[v]): p for v, p in c.items() if p > 0} for c in chance]


def _model(lines: np.ndarray, chance: list[dict[int, float]], values: int) -> list[np.ndarray]:
    logs = []
    for line in lines:
        tally = np.ones((int(line.max()) + 1, values))
        for row, code in enumerate(line):
            for value, p in chance[row].items():
                tally[code, value] += p
        logs.append(np.log(tally / tally.sum(axis=0)))
    return logs


def said(shares: RowShares, row: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """The values that a row says, and how likely each is."""
    line = shares.line_of[row]
    span = np.arange(shares.begin[line], shares.end[line])
    return shares.code[span], shares.share[span + shares.shift[line]]


@pytest.mark.parametrize("seed", range(40))
def test_probabilities_are_those_of_all_ways_to_hand_out_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(4, 9))
    table = pl.DataFrame(
        {
            "job": [f"j{v}" for v in rng.integers(0, 3, rows)],
            "town": [f"t{v}" for v in rng.integers(0, 4, rows)],
            "disease": [f"d{v}" for v in rng.permutation(rows) % 4],
        }
    )
    attributes: dict[str, Any] = {
        "job": {"role": "quasi"},
        "town": {"role": "quasi"},
        "disease": {"role": "sensitive", "l": min(2 + seed % 2, rows // -(-rows // 4))},
    }
    policy = Policy.from_dict({"version": 1, "attributes": attributes, "publish": {"method": "anatomy"}})
    (disease,) = published_values(publish(table, policy, key=Key(bytes([seed + 1] * 32)), attacks=False))
    shares = learn(disease).of_rows(np.arange(disease.group_of.size))
    for row, expected in enumerate(naive(disease)):
        codes, own = said(shares, row)
        probabilities = {str(disease.values[int(code)]): share for code, share in zip(codes, own, strict=True)}
        assert probabilities == pytest.approx(expected, abs=1e-9)


def test_groups_of_many_rows_keep_their_sums() -> None:
    table = people(np.random.default_rng(5), 60, planted=True)
    release = published(table, "anatomy", 2, 1)
    one = release.tables["quasi"].with_columns(group=(pl.col("group") - 1) // 6 + 1)
    values = release.tables["sensitive"].with_columns(group=(pl.col("group") - 1) // 6 + 1)
    values = values.group_by("group", "disease").agg(pl.col("count").sum()).sort("group", "disease")
    merged = Release(release.manifest, {"quasi": one.sort("group"), "sensitive": values})
    (disease,) = published_values(merged)
    shares = learn(disease).of_rows(np.arange(disease.group_of.size))
    totals = np.zeros((disease.starts.size - 1, disease.values.len()))
    for row, group in enumerate(disease.group_of):
        codes, own = said(shares, row)
        assert own.sum() == pytest.approx(1)
        np.add.at(totals[group], codes, own)
    group = np.repeat(np.arange(disease.starts.size - 1), np.diff(disease.starts))
    assert totals[group, disease.code] == pytest.approx(disease.count, abs=0.05)


def test_whoever_may_be_several_rows_is_believed_by_their_mean() -> None:
    table = pl.DataFrame({"job": list("aabb"), "disease": ["flu", "hiv", "flu", "gout"]})
    attributes: dict[str, Any] = {"job": {"role": "quasi"}, "disease": {"role": "sensitive", "l": 2}}
    policy = Policy.from_dict({"version": 1, "attributes": attributes, "publish": {"method": "anatomy"}})
    (disease,) = published_values(publish(table, policy, key=Key.test(), attacks=False))
    ((_, probability, rows),) = Posterior.by_groups(disease, ["job"]).of_people(table, np.arange(4))
    assert rows.tolist() == [2, 2, 2, 2]
    assert probability.sum(axis=1) == pytest.approx(np.ones(4))
    assert probability[0].tolist() == probability[1].tolist()


@pytest.mark.parametrize(("l", "expected"), [(2, 0.81), (3, 0.63), (5, 0.42)])
def test_adult(adult: Path, l: int, expected: float) -> None:
    """Anatomized Adult, occupation; the seven quasi-identifiers of `adult_policy`."""
    table = read_table(adult)
    release = publish(table, adult_policy(l, method="anatomy"), key=Key(bytes([1] * 32)), attacks=False)
    (result,) = ATTACK.run(release, table, Options(sample=100_000))
    assert result.success == pytest.approx(expected, abs=0.03)
    assert not result.sampled
    assert result.prior == pytest.approx(0.134, abs=0.001)


def test_people_are_found_however_their_values_are_spelled() -> None:
    """Of a sample, too: `Oslo` and `oslo ` are one town, published in one spelling."""
    rng = np.random.default_rng(3)
    town = rng.choice(["oslo", "bergen", "narvik"], 600)
    disease = np.where(rng.random(600) < 0.4, np.char.add(town, "itis"), rng.choice(["a", "b", "c"], 600))
    tidy = pl.DataFrame({"town": town, "disease": disease})
    odd = np.where(rng.random(600) < 0.3, np.char.add(np.char.capitalize(town), " "), town)
    spelled = tidy.with_columns(town=pl.Series(odd))
    attributes = {"town": {"role": "quasi"}, "disease": {"role": "sensitive", "l": 2}}
    release = publish(spelled, policy_of(attributes, method="anatomy"), key=Key.test(), attacks=False)
    few = Options(sample=50)
    (one,), (other,) = (ATTACK.run(release, table, few) for table in (spelled, tidy))
    assert one == other
