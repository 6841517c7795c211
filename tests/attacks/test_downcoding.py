"""Downcoding: the ends of narrow intervals and the members of narrow sets are somebody's values."""

from __future__ import annotations

from random import Random
from typing import Any

import polars as pl
import pytest

from pluralis.attacks.base import Options, Result
from pluralis.attacks.downcoding import ATTACK
from pluralis.errors import Infeasible
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Key
from pluralis.release.manifest import Manifest
from pluralis.release.release import Release, canonical_order
from pluralis.table.labels import ALL, read_interval, read_set, set_label
from support.paper_tables import SLOMS_1
from support.sample_tables import PATIENTS, patients_policy, policy_of

AGE: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}}
ILL: dict[str, Any] = {"ill": {"role": "sensitive", "l": 2}}


def run(release: Release, original: pl.DataFrame, **options: int) -> list[Result]:
    return list(ATTACK.run(release, original, Options(**options)))


def people(random: Random, rows: int, job: bool = False) -> pl.DataFrame:
    frame = {"age": [random.randint(1, 90) for _ in range(rows)]}
    more = {"job": [random.choice("abcdefgh") for _ in range(rows)]} if job else {}
    return pl.DataFrame({**frame, **more, "ill": random.sample([f"i{i % 4}" for i in range(rows)], rows)})


def by_hand(groups: list[list[int]], labels: list[str]) -> tuple[Release, pl.DataFrame]:
    """Ages in groups, each under a label."""
    rows = [(label, f"i{i}", g + 1) for g, (ages, label) in enumerate(zip(groups, labels, strict=True))
            for i, _ in enumerate(ages)]  # fmt: skip
    table = pl.DataFrame(rows, schema=["age", "ill", "group"], orient="row")
    every = [age for ages in groups for age in ages]
    columns = [
        {"name": "age", "role": "quasi", "type": "number", "attribute": "age", "domain": [min(every), max(every)]},
        {"name": "ill", "role": "sensitive", "type": "text", "attribute": "ill"},
        {"name": "group", "role": "group", "type": "number"},
    ]
    manifest = Manifest.model_validate(
        {"method": "by hand", "variant": "none", "kind": "generalized", "rows": len(every), "suppressed": 0,
         "claims": [], "breaks": [], "parameters": {"linked": True, "l": {"ill": 2}, "options": {}},
         "tables": [{"name": "microdata", "file": "microdata.parquet", "columns": columns}]}
    )  # fmt: skip
    original = pl.DataFrame({"age": every, "ill": [f"i{i}" for ages in groups for i, _ in enumerate(ages)]})
    return Release(manifest, {"microdata": canonical_order(table)}), original


def test_four_people_by_hand() -> None:
    """Two groups of two: all four ages are known, and each is one person's."""
    cells, singled = run(*by_hand([[20, 30], [41, 77]], ["[20, 30]", "[41, 77]"]))
    assert (cells.targets, cells.success, cells.sampled) == (4, 1.0, False)
    assert (singled.targets, singled.success) == (4, 1.0)
    assert cells.promised is None
    assert not cells.breach
    assert cells.prior < 0.6


def test_three_in_a_group_leave_one_open() -> None:
    cells, singled = run(*by_hand([[20, 25, 30], [41, 50, 77]], ["[20, 30]", "[41, 77]"]))
    assert (cells.targets, cells.success) == (6, pytest.approx(4 / 6))
    assert singled.success == 1.0


def test_the_bsgi_paper() -> None:
    release = publish(PATIENTS, patients_policy(), key=Key.test(), attacks=False)
    cells, singled = run(release, PATIENTS)
    assert cells.success > cells.prior
    assert singled.targets > 0


# agreement with a literal count ---------------------------------------------------------------------------------


def literal(release: Release, original: pl.DataFrame) -> tuple[int, int, int, int]:
    """(hidden cells, known cells, predicates, those that fit one person), group by group and person by person."""
    cells = known = predicates = alone = 0
    quasi = release.info("microdata").names("quasi")
    number = {c.name for c in release.info("microdata").named("quasi") if c.type == "number"}
    domain = {name: set(original[name]) for name in quasi}
    everybody = original.rows(named=True)
    for (_,), rows in release.tables["microdata"].partition_by("group", as_dict=True).items():
        labels = {name: rows[name][0] for name in quasi}
        covers: dict[str, Any] = {}
        for name, label in labels.items():
            if label == ALL:
                covers[name] = domain[name]
            elif name in number:
                low, high = read_interval(label)
                covers[name] = {v for v in domain[name] if low <= v <= high}
            else:
                covers[name] = set(read_set(label))
        under = [p for p in everybody if all(p[name] in covers[name] for name in quasi)]
        for name, label in labels.items():
            if len(covers[name]) < 2 and label != ALL:
                continue
            cells += rows.height
            values = [] if label == ALL else read_interval(label) if name in number else read_set(label)
            counts = [sum(p[name] == value for p in under) for value in values]
            known += min(rows.height, sum(n > 0 for n in counts))
            predicates += len(counts)
            alone += sum(n == 1 for n in counts)
    return cells, known, predicates, alone


@pytest.mark.parametrize("method", ["bsgi", "mondrian", "tp"])
def test_agrees_with_a_literal_count(method: str) -> None:
    random = Random(1)
    for i in range(10):
        original = people(random, random.choice([6, 8, 24]), job=True)
        policy = policy_of({**AGE, "job": {"role": "quasi"}, **ILL}, method=method)
        release = publish(original, policy, key=Key(bytes([i] * 32)), attacks=False)
        hidden, known, predicates, alone = literal(release, original)
        cells, singled = run(release, original)
        assert (cells.targets, singled.targets) == (hidden, predicates)
        assert cells.success == pytest.approx(known / max(hidden, 1))
        assert singled.success == pytest.approx(alone / max(predicates, 1))


# planted and clean ----------------------------------------------------------------------------------------------


def test_planted_narrow_labels_are_found() -> None:
    """Half of the labels are narrow: exactly their ends are known, wherever they stand."""
    random = Random(2)
    for _ in range(50):
        size = random.choice([2, 3, 4])
        bases = [100 * g for g in range(10)]
        groups = [sorted(base + age for age in random.sample(range(20, 70), size)) for base in bases]
        narrow = set(random.sample(range(10), 5))
        labels = [
            f"[{ages[0]}, {ages[-1]}]" if g in narrow else f"[{bases[g] + 10}, {bases[g] + 80}]"
            for g, ages in enumerate(groups)
        ]
        cells, singled = run(*by_hand(groups, labels))
        assert cells.success == pytest.approx(5 * 2 / (10 * size))
        assert singled.success == pytest.approx(0.5)
        assert cells.above_chance
        assert singled.above_chance


def with_jobs(groups: list[list[str]], labels: list[str], tree: bool = False) -> tuple[Release, pl.DataFrame]:
    """Jobs in groups, each under a set, a node of a tree (a job's letter, then `*`) or `*`."""
    release, original = by_hand(
        [[g] * len(jobs) for g, jobs in enumerate(groups)], [str(g) for g in range(len(groups))]
    )
    jobs = [job for some in groups for job in some]
    shown = [label for some, label in zip(groups, labels, strict=True) for _ in some]
    names = sorted(set(jobs))
    column = {"name": "job", "role": "quasi", "type": "text", "attribute": "job"}
    column |= {"hierarchy": [[job, f"{job[0]}*", ALL] for job in names]} if tree else {"domain": names}
    table = pl.DataFrame({"job": shown, "ill": original["ill"], "group": original["age"] + 1})
    infos = [column, *(c.model_dump(exclude_none=True) for c in release.info("microdata").columns[1:])]
    manifest = {**release.manifest.model_dump(exclude_none=True),
                "tables": [{"name": "microdata", "file": "microdata.parquet", "columns": infos}]}  # fmt: skip
    original = pl.DataFrame({"job": jobs, "ill": original["ill"]})
    return Release(Manifest.model_validate(manifest), {"microdata": canonical_order(table)}), original


def jobs_of(random: Random, groups: int, size: int) -> list[list[str]]:
    """Different jobs, each group those of a letter."""
    return [random.sample([f"{chr(97 + g)}{i}" for i in range(9)], size) for g in range(groups)]


def test_planted_narrow_sets_are_found() -> None:
    """Half of the groups name their jobs and no others: each of these is somebody's, and one person's."""
    random = Random(5)
    for _ in range(30):
        size = random.choice([2, 3, 4])
        groups = jobs_of(random, 10, size)
        narrow = set(random.sample(range(10), 5))
        labels = [set_label(sorted(jobs)) if g in narrow else ALL for g, jobs in enumerate(groups)]
        cells, singled = run(*with_jobs(groups, labels))
        assert (cells.targets, cells.success) == (10 * size, pytest.approx(0.5))
        assert (singled.targets, singled.success) == (5 * size, 1.0)
        assert cells.above_chance
        assert singled.above_chance


def test_wide_labels_stay_quiet() -> None:
    random = Random(3)
    for _ in range(70):
        bases = [100 * g for g in range(10)]
        groups = [sorted(base + age for age in random.sample(range(20, 70), 3)) for base in bases]
        cells, singled = run(*by_hand(groups, [f"[{base + 10}, {base + 80}]" for base in bases]))
        assert (cells.success, singled.success) == (0.0, 0.0)
        assert not cells.above_chance


@pytest.mark.parametrize("label", ["node", "root", "set"])
def test_nodes_stars_and_sets_of_more_stay_quiet(label: str) -> None:
    """A node or `*` names no job. A set of everybody's jobs is right no more often than luck."""
    random, right, luck = Random(4), 0.0, 0.0
    for _ in range(45):
        groups = jobs_of(random, 6, random.choice([2, 3]))
        every = sorted(job for jobs in groups for job in jobs)
        labels = [
            f"{jobs[0][0]}*" if label == "node" else ALL if label == "root" else set_label(every) for jobs in groups
        ]
        cells, singled = run(*with_jobs(groups, labels, tree=label != "set"))
        assert cells.targets == len(every)  # all of them are hidden: something could be told
        if label != "set":
            assert (cells.success, singled.targets, cells.above_chance) == (0.0, 0, False)
        right, luck = right + singled.success, luck + singled.prior
    assert right == pytest.approx(luck)  # of one set that covers all, what is drawn is somebody's just as often


KACA: dict[str, Any] = {"job": {"role": "quasi", "hierarchy": {"mask": "right"}}}


@pytest.mark.parametrize("method", ["kaca", "incognito"])
def test_releases_by_a_tree_tell_no_values(method: str) -> None:
    random, made = Random(6), 0
    for i in range(20):
        rows = random.choice([12, 24])
        jobs = [f"{random.choice('ab')}{random.choice('ab')}{random.choice('abc')}" for _ in range(rows)]
        original = pl.DataFrame({"job": jobs, "ill": random.sample([f"i{i % 4}" for i in range(rows)], rows)})
        try:
            release = publish(
                original, policy_of({**KACA, **ILL}, method=method), key=Key(bytes([i] * 32)), attacks=False
            )
        except Infeasible:
            continue
        cells, singled = run(release, original)
        assert (cells.success, singled.targets) == (0.0, 0)
        assert not cells.above_chance
        made += cells.targets > 0
    assert made >= 15


def test_no_promise_is_broken_and_wide_hierarchies_tell_less() -> None:
    random, made = Random(4), 0
    for i in range(10):
        original = people(random, 30)
        scores = {}
        for method in ("bsgi", "incognito", "kaca"):
            attributes = {"age": {**AGE["age"], "hierarchy": {"intervals": [10, 50]}}} if method != "bsgi" else AGE
            try:
                release = publish(
                    original, policy_of({**attributes, **ILL}, method=method), key=Key(bytes([i] * 32)), attacks=False
                )
            except Infeasible:
                continue
            results = run(release, original)
            assert not any(result.breach for result in results)
            scores[method] = results[0].success
            made += 1
        assert scores["bsgi"] > max(score for method, score in scores.items() if method != "bsgi")
    assert made >= 20


def test_sliced_and_multi_releases() -> None:
    attributes: dict[str, Any] = {name: {"role": "quasi"} for name in ("gender", "zipcode")}
    attributes |= {**AGE, **{name: {"role": "sensitive", "l": 2} for name in ("occupation", "disease")}}
    policy = policy_of(attributes, method="sloms", k=3, suppress=0.7, others="drop")
    cells, _ = run(publish(SLOMS_1, policy, key=Key.test(), attacks=False), SLOMS_1)
    assert cells.targets > 0
    exact = publish(SLOMS_1, policy_of({**AGE, "disease": {"role": "sensitive", "l": 2}}, method="anatomy",
                                       others="drop"), key=Key.test(), attacks=False)  # fmt: skip
    assert not ATTACK.applies(exact)


def test_groups_are_drawn_where_there_are_many() -> None:
    groups = [[3 * g, 3 * g + 1] for g in range(1500)]
    cells, singled = run(*by_hand(groups, [f"[{a}, {b}]" for a, b in groups]))
    assert (cells.targets, cells.sampled, cells.success) == (2000, True, 1.0)
    assert cells.low < 1.0
    assert singled.success == 1.0
