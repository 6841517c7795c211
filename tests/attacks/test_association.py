"""Association: attributes published apart that go together, planted and clean; the step against a literal one."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from oracles import association as naive
from pluralis.attacks import Options, Result, attack
from pluralis.attacks.association import ATTACK, NOTHING_LEARNED, learn
from pluralis.datasets.hospital import hospital_discharges
from pluralis.errors import Breached
from pluralis.kernels.association import Side
from pluralis.publishing.attack_scores import measured
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.release.manifest import Claim
from pluralis.release.release import Release
from support.effort import tries
from support.handmade_multi_releases import Sub, multi_release
from support.planted_releases import DISEASES, JOBS, QUASI, Published, by_hand, claim, people_in_groups
from support.sample_tables import policy_of

ATTRIBUTES: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "zip": {"role": "quasi"}}


# releases that tell of two attributes apart ------------------------------------------------------------------------


def people_of(rng: np.random.Generator, recode: bool) -> pl.DataFrame:
    """People of whom each has a disease and a job, which follows from the disease or has nothing to do with it."""
    rows = 840
    jobs = rng.permutation(JOBS)
    disease = rng.permutation(np.arange(rows) % len(DISEASES))
    job = disease if recode else rng.permutation(disease)
    columns = {"zip": [f"z{i}" for i in rng.integers(0, 4, rows)], "disease": np.array(DISEASES)[disease]}
    return pl.DataFrame({"age": rng.permutation(rows), **columns, "job": jobs[job]})


def in_groups(values: pl.Series, l: int, rng: np.random.Generator) -> np.ndarray:
    """Groups of l rows of different values."""
    shuffled = rng.permutation(values.len())
    order = shuffled[np.argsort(values.to_numpy()[shuffled], kind="stable")]
    group_of = np.empty(values.len(), np.int64)
    group_of[order] = np.arange(values.len()) % (values.len() // l)
    return group_of


def made(kind: str, seed: int, *, recode: bool) -> Published:
    """A release of people in groups of l, both sensitive attributes apart, which promises 1/l of each."""
    rng = np.random.default_rng(seed)
    l = 2 + seed % 2
    people = people_of(rng, recode)
    if kind in ("candidates", "decomposed"):
        method = {"candidates": "randomized-addition", "decomposed": "decomposition"}[kind]
        sensitive = {name: {"role": "sensitive", "l": l} for name in ("disease", "job")}
        how: dict[str, Any] = {"options": {"claim": "set-size"}} if kind == "candidates" else {"suppress": 0.3}
        policy = policy_of({**ATTRIBUTES, **sensitive}, method=method, **how)
        release: Release = publish(people, policy, key=Key(bytes([seed] * 32)), attacks=False)
        return Published(promising(release, "posterior") if kind == "candidates" else release, people)
    group_of, second = (in_groups(people[name], l, rng) for name in ("disease", "job"))
    if kind == "multi":
        subs = [Sub(["age", "disease"], ["disease"], group_of.tolist()), Sub(["age", "job"], ["job"], second.tolist())]
        rules = [f"age -> disease : l={l}", f"age -> job : l={l}"]
        return Published(multi_release(list(people.iter_rows(named=True)), subs, rules), people)
    people = people.with_columns(age=np.argsort(np.argsort(group_of, kind="stable")))  # groups are told by their ages
    claims = [claim("disease", l, *QUASI, "job")]
    if kind == "sliced":  # elsewhere groups are made for diseases
        claims.append(claim("job", l, *QUASI, "disease"))
    apart = second if kind == "sliced" else None
    return Published(by_hand(kind, people, group_of, claims, linked=False, second=apart, l=l), people)


def promising(release: Release, model: str) -> Release:
    """The same release, its claims of another model."""
    claims = [one.model_copy(update={"model": model}) for one in release.manifest.claims]
    return Release(release.manifest.model_copy(update={"claims": tuple(claims)}), release.tables)


KINDS = ("candidates", "decomposed", "sliced", "multi", "bucketized", "generalized")
HIDDEN = ("candidates", "multi")  # where nothing but quasi-identifiers need be known
ASKED = (*HIDDEN, "sliced")  # whose rows of a group show the same labels: that is asked, and tells nothing
PLANTED, CLEAN = 10, tries(35)  # of each kind: 60, and 210 in a long run


@pytest.mark.parametrize("kind", KINDS)
def test_planted_associations_are_found(kind: str) -> None:
    """One attribute recodes the other: both are guessed far more often than row by row, and than was promised."""
    for seed in range(PLANTED):
        one = made(kind, seed, recode=True)
        results = ATTACK.run(one.release, one.original, Options())
        assert {result.attribute for result in results} == {"disease", "job"}
        hidden = [result for result in results if " by how " in result.question]
        assert bool(hidden) == (kind in ASKED)
        for result in results if kind in HIDDEN else [result for result in results if result not in hidden]:
            assert NOTHING_LEARNED not in (result.note or ""), (seed, result)
            assert result.success > 0.6, (seed, result)
            if result.promised is not None:
                assert result.breach if kind == "candidates" else result.above_promised_rate
        assert any(result.promised is not None for result in results) or kind == "decomposed"


@pytest.mark.parametrize("kind", KINDS)
def test_attributes_that_have_nothing_to_do_with_each_other_raise_no_alarm(kind: str) -> None:
    """No breach ever; beyond the promise as seldom as chance is beyond an interval of 95 %."""
    often = asked = 0
    for seed in range(CLEAN):
        one = made(kind, 100 + seed, recode=False)
        results = ATTACK.run(one.release, one.original, Options())
        assert results
        assert not any(result.breach for result in results)
        often += sum(result.above_promised_rate for result in results)
        asked += len(results)
    assert often <= 0.06 * asked


# the demo -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo() -> pl.DataFrame:
    """Discharges, of which each can be found: the attack is on its sets, not on who is alike."""
    return hospital_discharges(rows=20_000).with_columns(age=pl.int_range(pl.len()))


def drawn(people: pl.DataFrame, **how: Any) -> Release:
    attributes = {"age": {"role": "quasi", "type": "number"}, "diagnosis": {"role": "sensitive", "l": 4},
                  "procedure": {"role": "sensitive", "l": 3}}  # fmt: skip
    policy = policy_of(attributes, others="drop", method="randomized-addition", options={"claim": "set-size"})
    return publish(people, policy, key=Key.test(), **how)


def test_diagnoses_of_the_demo_by_their_procedures(demo: pl.DataFrame) -> None:
    """l = 4 promises 25 %; 74 % of diagnoses are right, and 88 % or more where the procedure recodes the diagnosis."""
    release = drawn(demo, attacks=False)
    result = _hidden(attack(release, demo, only=["association"]), "diagnosis")
    assert 0.72 < result.success < 0.76
    assert result.standing == "above chance"
    assert result.promised is None
    reversed_demo = demo.with_columns(procedure=pl.col("diagnosis").str.reverse())
    assert (
        _hidden(attack(drawn(reversed_demo, attacks=False), reversed_demo, only=["association"]), "diagnosis").success
        > 0.88
    )


def test_the_score_is_published_in_whole_percent(demo: pl.DataFrame) -> None:
    release = drawn(demo, attacks=True)
    sentences = [text for text in release.manifest.breaks if "right of people's diagnosis, by" in text]
    assert sentences == [
        "association: 73 % of guesses right of people's diagnosis, by how it goes with procedure in all rows; prior 8 %"
    ]
    few = drawn(demo.head(900), attacks=True)
    assert (
        "association: guesses right of people's diagnosis, by how it goes with procedure in all rows, more often "
        "than by the prior" in few.manifest.breaks
    )


def test_a_promise_of_drawn_sets_is_breached_and_nothing_is_written(demo: pl.DataFrame, tmp_path: Any) -> None:
    people = demo.head(3_000)
    release = drawn(people)
    promise = promising(release, "posterior")
    results = attack(promise, people, only=["association"])
    assert all(result.breach for result in results if result.promised is not None)
    assert {result.promised for result in results} == {1 / 4, 1 / 3, None}
    object.__setattr__(release, "attacked", tuple(results))
    with pytest.raises(Breached, match="association"):
        release.save(tmp_path / "out", allow_test=True)  # type: ignore[attr-defined]
    assert not (tmp_path / "out").exists()


def test_what_alike_people_tell_is_no_breach() -> None:
    """All of a kind have one value: guesses exceed 1/l row by row, and no association adds to it."""
    rng = np.random.default_rng(5)
    kind = rng.integers(0, 5, 2_000)
    people = pl.DataFrame(
        {"age": kind, "zip": "z", "x": [f"x{i}" for i in kind], "y": [f"y{i}" for i in rng.integers(0, 5, 2_000)]}
    )
    attributes = {**ATTRIBUTES, "x": {"role": "sensitive", "l": 2}, "y": {"role": "sensitive", "l": 2}}
    policy = policy_of(attributes, method="randomized-addition", options={"claim": "set-size"})
    release = promising(publish(people, policy, key=Key.test(), attacks=False), "posterior")
    result = _hidden(ATTACK.run(release, people, Options()), "x")
    assert result.success > 0.9
    assert not result.breach
    assert NOTHING_LEARNED in (result.note or "")


def _hidden(results: list[Result], attribute: str) -> Result:
    return next(result for result in results if result.attribute == attribute and " by how " in result.question)


# where nothing is to be learned ----------------------------------------------------------------------------------


def test_it_does_not_ask_where_sensitive_values_stand_side_by_side() -> None:
    people, group_of = people_in_groups(np.random.default_rng(0), 2, 5)
    for kind in ("generalized", "bucketized", "sliced"):
        assert not ATTACK.applies(by_hand(kind, people, group_of, linked=True))
        assert ATTACK.applies(by_hand(kind, people, group_of, linked=False))
    alone = people.drop("job")
    assert not ATTACK.applies(by_hand("bucketized", alone, group_of, linked=False))


def test_tables_without_a_column_in_common_tell_nothing_of_each_other() -> None:
    people, group_of = people_in_groups(np.random.default_rng(0), 2, 5)
    subs = [Sub(["age", "disease"], ["disease"], group_of.tolist()), Sub(["zip", "job"], ["job"], group_of.tolist())]
    rules = ["age -> disease : l=2", "zip -> job : l=2"]
    assert not ATTACK.applies(multi_release(list(people.iter_rows(named=True)), subs, rules))


def test_the_same_release_gets_the_same_scores_whatever_the_order_of_rows() -> None:
    one = made("candidates", 1, recode=True)
    first = [r for r in measured(one.release, one.original) if r.attack == "association"]
    again = measured(one.release, one.original.sample(fraction=1.0, shuffle=True, seed=3))
    assert first == [r for r in again if r.attack == "association"]


# the step -------------------------------------------------------------------------------------------------------


def rows_of(
    rng: np.random.Generator, rows: int, values: int, size: int
) -> list[tuple[dict[str, float], dict[str, float]]]:
    """Random rows that say some values of each of two attributes with random likelihoods."""
    return [
        tuple({f"{n}{i}": float(rng.uniform(0.2, 2)) for i in rng.permutation(values)[:size]} for n in "ab")
        for _ in range(rows)
    ]  # type: ignore[misc]


def pairs_of(rows: list[tuple[dict[str, float], dict[str, float]]]) -> tuple[Side, Side, npt.NDArray[np.float64]]:
    sides = []
    for which in range(2):
        ends = np.cumsum([len(row[which]) for row in rows])
        code = np.array([int(value[1:]) for row in rows for value in row[which]], np.int32)
        like = np.array([likely for row in rows for likely in row[which].values()])
        sides.append(Side(np.concatenate([[0], ends[:-1]]), ends, code, like))
    return sides[0], sides[1], np.ones(len(rows))


@pytest.mark.parametrize("seed", range(20))
def test_pairs_are_learnt_as_by_the_literal_steps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = int(rng.integers(3, 6))
    rows = rows_of(rng, 30, values, 2)
    start = rng.dirichlet(np.ones(values)), rng.dirichlet(np.ones(values))
    steps = int(rng.integers(1, 12))
    learned = learn(*pairs_of(rows), *start, steps=steps)
    alone = {(f"a{i}", f"b{j}"): float(start[0][i] * start[1][j]) for i, j in product(range(values), repeat=2)}
    expected = naive.learned(rows, alone, steps)
    for i, j in product(range(values), repeat=2):
        pair = (f"a{i}", f"b{j}")
        assert learned[i, j] == pytest.approx((30 * expected[pair] + alone[pair]) / 31, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_steps_climb_the_likelihood_that_enumerated_worlds_give(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rows_of(rng, 5, 3, 2)
    joint = {(f"a{i}", f"b{j}"): 1 / 9 for i, j in product(range(3), repeat=2)}
    before = naive.likelihood(rows, joint)
    for _ in range(4):
        joint = naive.learned(rows, joint, 1)
        after = naive.likelihood(rows, joint)
        assert after >= before * (1 - 1e-12)
        before = after
    for row in range(len(rows)):
        assert naive.in_worlds(rows, joint, row) == pytest.approx(naive.posterior(joint, rows[row]))


def test_claims_of_groups_are_read_as_homogeneity_reads_them() -> None:
    one = made("sliced", 0, recode=True)
    promises = {r.promised for r in ATTACK.run(one.release, one.original, Options())}
    assert promises == {1 / 2}
    bare = Release(one.release.manifest.model_copy(update={"claims": tuple[Claim, ...]()}), one.release.tables)
    assert {r.promised for r in ATTACK.run(bare, one.original, Options())} == {None}
