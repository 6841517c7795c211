"""Flows, possible edges and forced shares, against an enumeration of all flows of small problems."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from pluralis.auditing import transport
from pluralis.auditing.transport import Transport, flow_of, most_forced, possible


def problem_of(supply: list[int], demand: list[int], edges: list[tuple[int, int]]) -> Transport:
    ends = np.array(edges, np.int64).reshape(-1, 2).T
    return Transport(np.array(supply, np.int64), np.array(demand, np.int64), ends[0], ends[1])


def flows(problem: Transport) -> Iterator[list[int]]:
    """All flows, edge by edge."""
    supply, demand, edges = (
        problem.supply.tolist(),
        problem.demand.tolist(),
        list(zip(problem.source, problem.target, strict=True)),
    )

    def search(i: int, so_far: list[int]) -> Iterator[list[int]]:
        if i == len(edges):
            if not any(supply) and not any(demand):
                yield so_far
            return
        u, t = edges[i]
        for units in range(min(supply[u], demand[t]) + 1):
            supply[u] -= units
            demand[t] -= units
            yield from search(i + 1, [*so_far, units])
            supply[u] += units
            demand[t] += units

    return search(0, [])


def random_problem(rng: Generator, sources: int, targets: int, most: int) -> Transport:
    """Supplies and demands that some flow has, and edges in any order."""
    every = [(u, t) for u in range(sources) for t in range(targets)]
    kept = [edge for edge in every if rng.random() < 0.75] or every[:1]
    rng.shuffle(kept)
    units = rng.integers(0, most + 1, len(kept))
    ends = np.array(kept).T
    supply = np.bincount(ends[0], units, sources).astype(np.int64)
    demand = np.bincount(ends[1], units, targets).astype(np.int64)
    return Transport(supply, demand, ends[0].astype(np.int64), ends[1].astype(np.int64))


@pytest.mark.parametrize("seed", range(3))
def test_a_flow_uses_all_up_and_possible_edges_are_those_of_some_flow(seed: int) -> None:
    rng = default_rng(seed)
    ruled_out = 0
    for _ in range(40):
        problem = random_problem(rng, *rng.integers(1, 4, 2), 2)
        every = np.array(list(flows(problem)))
        flow = flow_of(problem)
        assert flow is not None
        assert flow.tolist() in every.tolist()
        may = possible(problem, flow)
        assert may.tolist() == every.any(axis=0).tolist()
        ruled_out += (~may).sum()
    assert ruled_out > 10


@pytest.mark.parametrize(
    ("supply", "demand", "edges"),
    [
        ([1], [2], [(0, 0)]),
        ([2], [1], [(0, 0)]),
        ([1, 1], [2, 0], [(0, 0), (1, 1)]),
        ([0, 2], [1, 1], [(0, 0), (1, 1)]),
        ([1, 1, 1], [1, 1, 1], [(0, 0), (1, 0), (2, 1), (2, 2)]),
    ],
)
def test_where_something_stays_over_there_is_no_flow(
    supply: list[int], demand: list[int], edges: list[tuple[int, int]]
) -> None:
    assert flow_of(problem_of(supply, demand, edges)) is None


def test_an_edge_of_a_chain_that_would_leave_somebody_out_is_impossible() -> None:
    problem = problem_of([1, 1, 1], [1, 1, 1], [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2)])
    flow = flow_of(problem)
    assert flow is not None
    assert possible(problem, flow).tolist() == [True, False, True, False, True]


# shares that every flow gives -------------------------------------------------------------------------------------


def by_enumeration(problem: Transport, largest: np.ndarray) -> Fraction:
    """The largest share of a largest place that one source has in every flow."""
    fewest = np.array(list(flows(problem))).min(axis=0)
    spare = (problem.demand - largest)[problem.target]
    among = largest[problem.target]
    forced = [Fraction(int(max(0, units)), int(n)) for units, n in zip(fewest - spare, among, strict=True)]
    return max(forced)


def sized(rng: Generator, problem: Transport, *, small: bool) -> np.ndarray:
    """What the largest place of each target holds: all of it, or less."""
    most = np.maximum(problem.demand, 1)
    if small:
        return np.minimum(most, 1)
    return np.where(rng.random(most.size) < 0.6, most, np.maximum(1, most - rng.integers(0, 3, most.size)))


@pytest.mark.parametrize("few", [0, 100])
@pytest.mark.parametrize("small", [False, True])
def test_the_most_forced_share_is_that_of_an_enumeration(
    few: int, small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "FEW", few)
    rng = default_rng(7)
    shares = []
    for _ in range(120):
        problem = random_problem(rng, int(rng.integers(1, 4)), int(rng.integers(1, 4)), 3)
        if not problem.supply.sum() or not problem.demand.all():
            continue
        flow = flow_of(problem)
        assert flow is not None
        largest = sized(rng, problem, small=small)
        forced = most_forced(problem, flow, largest)
        assert forced.exact
        assert Fraction(forced.units, forced.among) == by_enumeration(problem, largest)
        if forced.units:
            assert forced.among == largest[forced.target]
            only = problem.target == forced.target
            fewest = np.array(list(flows(problem))).min(axis=0)[only].max()
            assert forced.units == fewest - (problem.demand - largest)[forced.target]
        shares.append(forced.units / forced.among)
    assert len(set(shares)) > (1 if small else 2)


def test_values_that_stand_in_for_each_other_widely_are_not_forced() -> None:
    """Three values in four classes of many places of one row: any of them can go anywhere."""
    edges = [(u, t) for u in range(3) for t in range(4)]
    problem = problem_of([8, 8, 8], [6, 6, 6, 6], edges)
    flow = flow_of(problem)
    assert flow is not None
    for largest in (1, 2, 5, 6):
        assert most_forced(problem, flow, np.full(4, largest)).units == 0


def test_a_common_value_is_forced_into_a_large_place() -> None:
    """9 of 12 units are the first value's; a place of 4 holds at least one of them, for the others are 3."""
    problem = problem_of([9, 3], [4, 8], [(0, 0), (1, 0), (0, 1), (1, 1)])
    flow = flow_of(problem)
    assert flow is not None
    assert most_forced(problem, flow, np.array([4, 8])) == (5, 8, 1, True)
    assert most_forced(problem, flow, np.array([4, 5])) == (2, 5, 1, True)
    assert most_forced(problem, flow, np.array([4, 1])) == (1, 4, 0, True)


def test_of_equal_shares_the_first_target_is_named() -> None:
    problem = problem_of([2, 2], [2, 2], [(1, 1), (0, 0)])
    flow = flow_of(problem)
    assert flow is not None
    assert most_forced(problem, flow, np.array([2, 2])) == (2, 2, 0, True)


def test_where_there_is_too_much_to_look_at_an_upper_bound_is_said_to_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = default_rng(9)
    looser = 0
    for _ in range(60):
        problem = random_problem(rng, 3, 3, 3)
        if not problem.demand.all():
            continue
        flow = flow_of(problem)
        assert flow is not None
        largest = sized(rng, problem, small=False)
        exact = most_forced(problem, flow, largest)
        with monkeypatch.context() as patch:
            patch.setattr(transport, "STEPS", 0)
            bound = most_forced(problem, flow, largest)
        assert Fraction(bound.units, bound.among) >= Fraction(exact.units, exact.among)
        assert bound.units <= bound.among
        assert not bound.exact or bound == exact
        looser += not bound.exact
    assert looser > 20


def test_as_many_edges_as_steps_allow_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first edge looked at is the one with the largest bound; the second is one too many."""
    edges = [(0, 0), (1, 0), (0, 1), (1, 1)]
    problem = problem_of([4, 4], [4, 4], edges)
    flow = np.array([4, 0, 0, 4])
    monkeypatch.setattr(transport, "STEPS", 4)
    assert most_forced(problem, flow, np.array([4, 4])) == (4, 4, 1, False)
    monkeypatch.setattr(transport, "STEPS", 5)
    assert most_forced(problem, flow, np.array([4, 4])) == (0, 1, 0, True)
