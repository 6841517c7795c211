"""Dealing rows to cells: every small problem against a search through all numbers, and each way to refuse by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from pluralis.auditing import assignment
from pluralis.auditing.assignment import Dealing, Dealt, dealt


def dealing(
    pairs: Sequence[tuple[int, ...]],
    supply: Sequence[int],
    rows: Sequence[int],
    *counts: Sequence[int],
    tight: bool | Sequence[bool] = False,
) -> Dealing:
    """Pairs of a kind and a cell, followed by the entry of each table; how many there are of each."""
    columns = np.array(pairs, np.int64).reshape(len(pairs), 2 + len(counts)).T
    flags = np.broadcast_to(np.array(tight, np.bool_), (len(supply),))
    sizes = [np.array(numbers, np.int64) for numbers in (supply, rows, *counts)]
    return Dealing(columns[0], columns[1], list(columns[2:]), sizes[0], flags, sizes[1], sizes[2:])


def by_search(problem: Dealing) -> bool:
    """Whether some number for every pair fills all, by trying them."""
    supply, rows, counts = list(problem.supply), list(problem.rows), [list(count) for count in problem.counts]

    def search(i: int) -> bool:
        if i == problem.kind.size:
            used = all(not left for left, tight in zip(supply, problem.tight, strict=True) if tight)
            return used and not any(rows) and not any(map(any, counts))
        limits = [(supply, problem.kind[i]), (rows, problem.cell[i])]
        limits += [(count, entry[i]) for count, entry in zip(counts, problem.entries, strict=True)]
        most = min(numbers[place] for numbers, place in limits)
        for units in range(most + 1):
            for numbers, place in limits:
                numbers[place] -= units
            filled = search(i + 1)
            for numbers, place in limits:
                numbers[place] += units
            if filled:
                return True
        return False

    return search(0)


@pytest.mark.parametrize("tables", [0, 1, 2])
def test_what_a_search_through_all_numbers_finds_is_found(tables: int) -> None:
    rng = np.random.default_rng(tables)
    ends = []
    for _ in range(120):
        kinds, cells, entries = rng.integers(1, 4, 3)
        every = [(k, c) for k in range(kinds) for c in range(cells) if rng.random() < 0.8]
        pairs = [(*pair, *rng.integers(0, entries, tables)) for pair in every]
        # what some numbers add up to, now and then with one more or less
        units = rng.integers(0, 3, len(pairs)) * (rng.random(len(pairs)) < 0.7)
        columns = np.array(pairs, np.int64).reshape(len(pairs), 2 + tables).T
        sums = [np.bincount(place, units, size).astype(int) for place, size in
                zip(columns, (kinds, cells, *[entries] * tables), strict=True)]  # fmt: skip
        if rng.random() < 0.5:
            which = sums[rng.integers(0, 2 + tables)]
            which[rng.integers(0, which.size)] += 1
        if tables and rng.random() < 0.5:
            sums[2] = rng.permutation(sums[2])
        tight = rng.random(kinds) < 0.6
        sums[0] += (rng.random(kinds) < 0.3) & ~tight
        problem = dealing(pairs, sums[0], *sums[1:], tight=list(tight))
        result = dealt(problem)
        assert result.open == 0
        assert result.holds == by_search(problem), problem
        ends.append(result.holds)
    assert 20 < sum(ends) < 110


# who is named -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "table", "place"),
    [
        (dealing([(0, 0)], [2], [1, 1]), -1, 1),  # cell 1 has nobody
        (dealing([(0, 0), (1, 1)], [1, 1], [1, 2]), -1, 1),  # cell 1 asks for two
        (dealing([(0, 0, 0), (1, 1, 1)], [1, 1], [1, 1], [1, 1, 1]), 0, 2),  # entry 2 is nobody's
        (dealing([(0, 0, 0, 0), (1, 1, 0, 1)], [1, 1], [1, 1], [2], [1, 1, 1]), 1, 2),  # the second table's
        (dealing([(0, 0, 0), (1, 1, 0)], [1, 1], [1, 1], [1]), 0, 0),  # both must go where one may
        (dealing([(0, 0)], [1, 1], [1], tight=True), -1, -1),  # kind 1 is nowhere, and has no name
        (dealing([(0, 0), (0, 1)], [1], [1, 1]), -1, -1),  # kind 0 would be used twice
    ],
)
def test_what_cannot_be_filled_is_named(problem: Dealing, table: int, place: int) -> None:
    assert dealt(problem) == Dealt(False, 0, table, place)


def test_a_kind_may_stay_over_unless_it_is_tight() -> None:
    assert dealt(dealing([(0, 0)], [2], [1])).holds
    assert not dealt(dealing([(0, 0)], [2], [1], tight=True)).holds
    assert dealt(dealing([(0, 0)], [2], [2], tight=True)) == Dealt(True)


def test_a_chain_is_settled_link_by_link() -> None:
    """Cell i takes kind i or i - 1; the first can take only the first, so the second only the second, and so on."""
    many = 30
    pairs = [(0, 0), *((k, c) for c in range(1, many) for k in (c - 1, c))]
    assert dealt(dealing(pairs, [1] * many, [1] * many)).holds
    assert not dealt(dealing(pairs[:-1], [1] * many, [1] * many)).holds


# what bounds do not settle ----------------------------------------------------------------------------------------

KNOT = [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)]  # halves would do: whole rows fill one entry twice
FREE = [(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1)]


def together(parts: Sequence[Sequence[tuple[int, ...]]]) -> Dealing:
    """Parts that share nothing: two kinds, two cells, two entries each."""
    pairs = [tuple(2 * i + place for place in pair) for i, part in enumerate(parts) for pair in part]
    ones = [1] * (2 * len(parts))
    return dealing(pairs, ones, ones, ones, tight=True)


def test_rows_are_not_cut_into_halves() -> None:
    assert dealt(together([FREE])) == Dealt(True)
    assert dealt(together([KNOT])) == Dealt(False, place=0)


@pytest.mark.parametrize("part", range(5))
@pytest.mark.parametrize("variables", [4, 8, 9, 10_000])
def test_the_part_that_cannot_be_filled_is_found_among_others(
    part: int, variables: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assignment, "VARIABLES", variables)
    parts = [FREE] * 5
    parts[part] = KNOT
    result = dealt(together(parts))
    assert (result.holds, result.table, result.place // 2) == (False, -1, part)
    assert dealt(together([FREE] * 5)) == Dealt(True)


@pytest.mark.parametrize(
    ("variables", "every", "open_"), [(3, 100, 12), (4, 100, 0), (4, 8, 4), (4, 7, 8), (4, 11, 4), (4, 12, 0)]
)
def test_parts_that_are_too_large_or_too_many_are_left_open(
    variables: int, every: int, open_: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assignment, "VARIABLES", variables)
    monkeypatch.setattr(assignment, "ALL", every)
    assert dealt(together([FREE] * 3)) == Dealt(True, open_)
    hidden = dealt(together([FREE, FREE, KNOT]))
    assert hidden.holds == (open_ > 0)


def test_large_parts_are_left_open_and_small_ones_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignment, "VARIABLES", 4)
    large = [(k, c, 0) for k in range(3) for c in range(3)]
    pairs = [*large, *((3 + k, 3 + c, 1 + e) for k, c, e in KNOT)]
    problem = dealing(pairs, [1] * 5, [1] * 5, [3, 1, 1], tight=True)
    assert dealt(problem) == Dealt(False, place=3)
    pairs = [*large, *((3 + k, 3 + c, 1 + e) for k, c, e in FREE)]
    assert dealt(dealing(pairs, [1] * 5, [1] * 5, [3, 1, 1], tight=True)) == Dealt(True, 9)


def test_a_program_that_takes_too_long_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped:
        status = 1

    def stopped(*_: Any, options: dict[str, float], **__: Any) -> Stopped:
        assert 1 < options["time_limit"] < 60
        return Stopped()

    monkeypatch.setattr("scipy.optimize.milp", stopped)
    assert dealt(together([FREE, KNOT])) == Dealt(True, 8)
