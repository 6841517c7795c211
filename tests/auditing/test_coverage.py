"""Matching published to original rows, against a literal matching: clean releases, planted faults, a stopped search."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.random import Generator, default_rng
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from pluralis.auditing import Finding, audit, coverage, matching
from pluralis.auditing.label_boxes import Boxes, Points
from pluralis.auditing.matching import match
from pluralis.publishing.pipeline import publish
from pluralis.release.release import Release, canonical_order
from pluralis.table.labels import read_interval, read_set
from pluralis.table.sources import read_table
from support.sample_tables import KEY, adult_policy, policy_of

PLENTY = 10**9
CLAIM = "every published row covers a row of its own in the original"
QUASI = {
    "age": {"role": "quasi", "type": "number"},
    "sex": {"role": "quasi"},
    "zip": {"role": "quasi", "hierarchy": {"mask": "right"}},
}


def most_pairs(fits: np.ndarray) -> int:
    """The size of the largest matching of rows to columns."""
    if not fits.any():
        return 0
    return int((maximum_bipartite_matching(csr_array(fits), perm_type="column") >= 0).sum())


def random_problem(rng: Generator) -> tuple[Boxes, Points, np.ndarray]:
    """Boxes, points, and which box covers which point."""
    boxes, points, columns, size = rng.integers(1, 12), rng.integers(0, 40), rng.integers(1, 4), rng.integers(1, 7)
    codes = rng.integers(0, size, (points, columns))
    covered = rng.random((boxes, columns, size)) < rng.choice([0.3, 0.6, 0.9])
    middle = rng.integers(0, size, (boxes, columns, 1))
    near = np.abs(np.arange(size) - middle) <= rng.integers(0, 3, (boxes, columns, 1))
    covered = np.where(rng.random((boxes, columns, 1)) < 0.5, near, covered)
    key, point_key = rng.integers(0, 3, boxes), rng.integers(0, 3, points)
    fits = key[:, None] == point_key
    for c in range(columns):
        fits &= covered[:, c][:, codes[:, c]]
    low, high = covered.argmax(axis=2), size - 1 - covered[:, :, ::-1].argmax(axis=2)
    high[~covered.any(axis=2)] = -1
    sets = np.arange(boxes * columns).reshape(boxes, columns)
    sets[covered.sum(axis=2) == high - low + 1] = -1
    flat = covered.reshape(-1, size)
    ends = np.cumsum(np.concatenate([[0], flat.sum(axis=1)]))
    members = np.nonzero(flat)[1].astype(np.int32)
    rows = rng.integers(1, 4, boxes)
    return (
        Boxes(low.astype(np.int32), high.astype(np.int32), sets, ends, members, key, rows),
        Points(codes.astype(np.int32), point_key),
        fits,
    )


def test_a_matching_is_the_largest_and_a_shortage_is_one() -> None:
    rng = default_rng(1)
    complete = 0
    for _ in range(1500):
        boxes, points, fits = random_problem(rng)
        result = match(boxes, points, PLENTY)
        assert (result.placed, result.untried) == (most_pairs(np.repeat(fits, boxes.rows, axis=0)), 0)
        if result.short.size:
            assert fits[result.short].any(axis=0).sum() == result.shared < boxes.rows[result.short].sum()
        complete += not result.short.size
        assert (result.short.size == 0) == (result.placed == boxes.rows.sum())
    assert 100 < complete < 1400


@pytest.mark.parametrize("listed", [True, False])
def test_a_matching_is_the_largest_with_lists_of_points_and_by_trees_alone(
    listed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Boxes of many points, some of which compete for the same few: trees of several levels, searched from anywhere."""
    rng = default_rng(5)
    lists = matching._listed

    def no_lists(*asked: Any) -> Any:
        few, *rest = lists(*asked)
        return np.zeros_like(few), *rest

    if not listed:
        monkeypatch.setattr(matching, "_listed", no_lists)
    short = 0
    for _ in range(60):
        points, boxes, size = 300, int(rng.integers(100, 310)), 30
        codes = rng.integers(0, size, (points, 2)).astype(np.int32)
        low = rng.integers(0, size, (boxes, 2)).astype(np.int32)
        high = np.minimum(low + rng.integers(0, rng.choice([8, 30]), (boxes, 2)), size - 1).astype(np.int32)
        none, nobody = np.full((boxes, 2), -1, np.int64), np.empty(0, np.int32)
        ones, keys = np.ones(boxes, np.int64), np.zeros(boxes, np.int64)
        asked = Boxes(low, high, none, np.zeros(1, np.int64), nobody, keys, ones)
        fits = ((low[:, None] <= codes) & (codes <= high[:, None])).all(axis=2)
        result = match(asked, Points(codes, np.zeros(points, np.int64)), PLENTY)
        assert (result.placed, result.untried) == (most_pairs(fits), 0)
        if result.short.size:
            short += 1
            assert fits[result.short].any(axis=0).sum() == result.shared < result.short.size
    assert 5 < short < 60


@pytest.mark.parametrize("part", [1, 10, 40])
def test_keys_are_matched_apart_as_together(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = default_rng(8)
    for _ in range(200):
        boxes, points, fits = random_problem(rng)
        whole = match(boxes, points, PLENTY)
        with monkeypatch.context() as patch:
            patch.setattr(matching, "PART", part)
            result = match(boxes, points, PLENTY)
            stopped = match(boxes, points, 60)
        assert (result.placed, result.untried) == (whole.placed, 0)
        assert (result.short.tolist(), result.shared) == (whole.short.tolist(), whole.shared)
        assert stopped.placed <= whole.placed <= stopped.placed + stopped.untried
        assert not stopped.short.size or fits[stopped.short].any(axis=0).sum() < boxes.rows[stopped.short].sum()


def test_steps_that_one_part_does_not_need_go_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many boxes of one point each, and a few that all have to move when the last one bids."""
    many, few = np.arange(400), np.arange(40)[::-1]
    low = np.concatenate([many, few]).astype(np.int32)[:, None]
    high = np.concatenate([many, few + 1]).astype(np.int32)[:, None]
    key = np.repeat([0, 1], [400, 40])
    none = np.full((440, 1), -1, np.int64)
    boxes = Boxes(low, high, none, np.zeros(1, np.int64), np.empty(0, np.int32), key, np.ones(440, np.int64))
    points = Points(np.concatenate([many, few + 1]).astype(np.int32)[:, None], key)

    def needed(some: np.ndarray) -> int:
        one = boxes._replace(low=low[some], high=high[some], sets=none[some], key=key[some], rows=boxes.rows[some])
        return next(steps for steps in range(0, 100_000, 10) if not match(one, points, steps).untried)

    first, second = needed(np.flatnonzero(key == 0)), needed(np.flatnonzero(key))
    steps = 11 * first // 10 + 2 * second
    assert steps * 40 // 440 < second
    monkeypatch.setattr(matching, "PART", 1)
    result = match(boxes, points, steps)
    assert (result.placed, result.untried) == (440, 0)


@pytest.mark.parametrize("steps", [0, 5, 20, 100])
def test_a_stopped_search_tells_what_it_knows(steps: int) -> None:
    rng = default_rng(2)
    untried = 0
    for _ in range(300):
        boxes, points, fits = random_problem(rng)
        result = match(boxes, points, steps)
        best = most_pairs(np.repeat(fits, boxes.rows, axis=0))
        assert result.placed <= best <= result.placed + result.untried
        if result.short.size:
            assert fits[result.short].any(axis=0).sum() == result.shared < boxes.rows[result.short].sum()
        if not fits.any(axis=1).all():
            assert (result.short.size, result.shared) == (1, 0)
        untried += result.untried
    assert untried


def test_a_long_row_of_boxes_that_all_have_to_move() -> None:
    """Boxes [i, i + 1] and one point fewer or more: the only matching moves every one of them."""
    n = 300
    low = np.arange(n, dtype=np.int32)[:, None]
    none = np.full((n, 1), -1, np.int64)
    boxes = Boxes(
        low, low + 1, none, np.zeros(1, np.int64), np.empty(0, np.int32), np.zeros(n, np.int64), np.ones(n, np.int64)
    )
    for left_out in (0, n // 2, n):
        codes = np.delete(np.arange(n + 1, dtype=np.int32), left_out)[:, None]
        assert match(boxes, Points(codes, np.zeros(n, np.int64)), PLENTY).placed == n
    codes = np.delete(np.arange(n + 1, dtype=np.int32), [0, n])[:, None]
    result = match(boxes, Points(codes, np.zeros(n - 1, np.int64)), PLENTY)
    assert (result.placed, result.short.size, result.shared) == (n - 1, n, n - 1)


def people(rng: Generator, rows: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": rng.integers(20, 40, rows),
            "sex": [None if rng.random() < 0.1 else str(rng.choice(["f", "m", "x"])) for _ in range(rows)],
            "zip": [f"10{rng.integers(0, 3)}{rng.integers(0, 3)}" for _ in range(rows)],
            "s": [f"s{i % 5}" for i in range(rows)],
            "t": [f"t{i % 3}" for i in rng.permutation(rows)],
        }
    )


def covers(label: str | None, value: Any, column: str) -> bool:
    """Whether a label covers a value, read literally."""
    if label == "*" or label is None or value is None:
        return label == "*" or (label is None and value is None) or (label is not None and "null" in label)
    if column == "age":
        low, high = read_interval(label)
        return low <= value <= high
    return value.startswith(label.rstrip("*")) if column == "zip" else value in read_set(label)


def placeable(rows: pl.DataFrame, original: pl.DataFrame, secrets: list[str]) -> int:
    """How many published rows can be given an original row of their own."""
    fits = [
        [all(p[n] == o[n] for n in secrets) and all(covers(p[n], o[n], n) for n in QUASI) for o in original.to_dicts()]
        for p in rows.to_dicts()
    ]
    return most_pairs(np.array(fits))


def finding(release: Release, original: pl.DataFrame) -> Finding:
    return next(one for one in audit(release, original=original).findings if one.claim == CLAIM)


def invent(rows: pl.DataFrame, group: int, other: int, rng: Generator) -> pl.DataFrame:
    """A group moves to where nobody may live."""
    return rows.with_columns(age=pl.when(pl.col("group") == group).then(pl.lit("[18, 20]")).otherwise("age"))


def narrow(rows: pl.DataFrame, group: int, other: int, rng: Generator) -> pl.DataFrame:
    """A group's labels no longer cover all of its rows."""
    age = rows.filter(pl.col("group") == group)["age"][0]
    low = str(read_interval(age)[0])
    return rows.with_columns(age=pl.when(pl.col("group") == group).then(pl.lit(low)).otherwise("age"))


def swap(rows: pl.DataFrame, group: int, other: int, rng: Generator) -> pl.DataFrame:
    """Two groups exchange a sensitive value."""
    a, b = (rng.choice(rows.with_row_index().filter(pl.col("group") == g)["index"].to_numpy()) for g in (group, other))
    values = rows["s"].to_list()
    values[a], values[b] = values[b], values[a]
    return rows.with_columns(s=pl.Series(values))


def repeat(rows: pl.DataFrame, group: int, other: int, rng: Generator) -> pl.DataFrame:
    """A group is published twice, the second time in place of another."""
    again = rows.filter(pl.col("group") == group).with_columns(group=pl.lit(other, pl.Int64))
    kept = rows.filter(pl.col("group") != other)
    return pl.concat([kept, again])


FAULTS: list[Callable[..., pl.DataFrame]] = [invent, narrow, swap, repeat]


@pytest.mark.parametrize("change", FAULTS)
@pytest.mark.parametrize("method", ["bsgi", "mondrian"])
def test_planted_faults_are_counted_as_a_literal_matching_counts_them(
    change: Callable[..., pl.DataFrame], method: str
) -> None:
    rng = default_rng(3)
    policy = policy_of({**QUASI, "s": {"role": "sensitive", "l": 2}}, others="drop", method=method)
    found_out = 0
    for _ in range(12):
        original = people(rng, 30)
        release = publish(original, policy, key=KEY)
        rows = release.tables["microdata"]
        clean = finding(release, original)
        assert (clean.holds, clean.measured, clean.note) == (True, 30.0, "by matching, exactly")
        groups = rows["group"].unique().to_list()
        group, other = (int(g) for g in rng.choice(groups, 2, replace=False)) if len(groups) > 1 else (1, 1)
        changed = canonical_order(change(rows, group, other, rng))
        manifest = release.manifest.model_copy(update={"rows": changed.height})
        judged = finding(Release(manifest, {"microdata": changed}), original)
        assert judged.measured == placeable(changed, original, ["s"])
        assert judged.holds == (judged.measured == changed.height)
        if not judged.holds:
            found_out += 1
            assert judged.witness is not None
            assert int(judged.witness.removeprefix("group ")) in groups
            assert str(judged.note).startswith("by matching, exactly: ")
    assert found_out > 2


def test_shuffled_columns_are_matched_one_by_one() -> None:
    """Where links are cut, a value that moved to another group is found in the column in which it moved."""
    rng = default_rng(4)
    attributes = {**QUASI, "s": {"role": "sensitive", "l": 3}, "t": {"role": "sensitive", "l": 2}}
    policy = policy_of(attributes, adversaries=[["age", "sex", "zip", "t"]], rules=None)
    found_out = 0
    for _ in range(10):
        original = people(rng, 30)
        release = publish(original, policy, key=KEY)
        assert release.manifest.parameters.linked is False
        rows = release.tables["microdata"]
        assert finding(release, original).holds
        group, other = rng.choice(rows["group"].unique().to_numpy(), 2, replace=False)
        changed = canonical_order(swap(rows, group, other, rng))
        judged = finding(Release(release.manifest, {"microdata": changed}), original)
        assert judged.measured == min(placeable(changed, original, [name]) for name in ("s", "t"))
        assert "for each sensitive attribute alone" in str(judged.note)
        found_out += not judged.holds
    assert found_out


def test_a_search_that_is_stopped_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "STEPS", 0)
    original = people(default_rng(5), 30)
    release = publish(original, policy_of({**QUASI, "s": {"role": "sensitive", "l": 2}}, others="drop"), key=KEY)
    judged = finding(release, original)
    assert judged.holds
    assert "not exactly: the search for a matching was stopped after 0 steps" in str(judged.note)
    far = release.tables["microdata"].with_columns(age=pl.lit("[1, 2]"))
    judged = finding(Release(release.manifest, {"microdata": canonical_order(far)}), original)
    assert (judged.holds, judged.measured) == (False, 0.0)
    assert str(judged.witness).startswith("group ")


def test_tables_without_groups_or_secrets_are_matched_by_their_labels() -> None:
    original = people(default_rng(6), 30)
    release = publish(original, policy_of({**QUASI, "s": {"role": "sensitive", "l": 2}}, others="drop"), key=KEY)
    info = release.info("microdata")
    labels = info.model_copy(update={"columns": tuple(info.named("quasi"))})
    rows = release.tables["microdata"].drop("group", "s")
    true = original.with_columns(pl.col("age").cast(pl.Float64))
    assert coverage.covered(labels, rows, true, linked=True, keep=()).holds
    narrowed = rows.with_columns(age=pl.lit("20"))
    judged = coverage.covered(labels, narrowed, true, linked=True, keep=())
    assert judged.measured == placeable(narrowed, original, [])
    assert str(judged.witness).startswith("age = 20, sex = ")


def test_a_release_without_secrets_is_compared_too() -> None:
    original = people(default_rng(7), 30)
    release = publish(original, policy_of(QUASI, k=3, others="drop", method="mondrian"), key=KEY)
    assert audit(release, original=original).holds


@pytest.mark.parametrize("publishing", [{"method": "bsgi", "options": {"variant": "paper"}}, {"method": "mondrian"}])
def test_adult_is_matched_exactly(adult: Path, publishing: dict[str, Any]) -> None:
    original = read_table(adult)
    release = publish(original, adult_policy(5).override(**publishing), key=KEY)
    judged = finding(release, original)
    assert (judged.holds, judged.measured, judged.note) == (True, 30162.0, "by matching, exactly")
    rows = release.tables["microdata"]
    moved = rows.with_columns(occupation=pl.col("occupation").shuffle(1))
    assert not finding(Release(release.manifest, {"microdata": canonical_order(moved)}), original).holds
