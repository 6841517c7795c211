"""Whether rows of an original can be dealt to published cells so that every group holds what it says: for all at once.

Words     a *kind* is original rows that agree in quasi-identifiers and sensitive values, `supply` how many they are; a
          *cell* is published rows that look alike and are in the same groups, `rows` many; an *entry* is what a group
          says that it holds, with a count. A pair says that rows of a kind may be in a cell; each table of groups then
          has one entry to which they count.
Asked     a number of rows for every pair, so that each cell is filled, each entry holds its count, and no kind is used
          up more than once (a `tight` one: exactly once).
Cost      that is a matching in three dimensions: hard in general, easy wherever quasi-identifiers tell people apart.
          Bounds settle it then: of a cell with a single pair all rows are its own, and so on, round after round, each
          linear. What is left falls into parts that share nothing; these are integer programs, which HiGHS solves. A
          part of more than VARIABLES, or parts beyond ALL or SECONDS, are not decided: only what bounds rule out is
          refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

ROUNDS = 200  # of bounds, each of which settles something
VARIABLES = 10_000  # of one program: parts are solved together up to it
ALL = 200_000  # of all programs
SECONDS = 20.0  # for one program, most of which take far less than one


class Dealing(NamedTuple):
    """Pair i: rows of `kind[i]` may be in `cell[i]`, and then count to `entries[t][i]` of each table t of groups."""

    kind: Numbers
    cell: Numbers
    entries: Sequence[Numbers]
    supply: Numbers
    tight: npt.NDArray[np.bool_]
    rows: Numbers
    counts: Sequence[Numbers]


class Dealt(NamedTuple):
    """Whether the original can be dealt so; if not, what cannot be filled: a cell (-1) or an entry of a table.

    Where it may be, `open` are the pairs of which it is not proved.
    """

    holds: bool
    open: int = 0
    table: int = -1
    place: int = -1


class _Limit(NamedTuple):
    """Something that pairs add up to: exactly, or at most."""

    place: Numbers  # of each pair
    left: Numbers
    exact: npt.NDArray[np.bool_]


def dealt(problem: Dealing) -> Dealt:
    """Whether all cells and entries can be filled.

    >>> one, two = np.array([1, 1]), np.array([0, 1])
    >>> same = Dealing(two, two, [two], one, one > 0, one, [one])
    >>> dealt(same).holds, dealt(same._replace(entries=[np.array([0, 0])])).holds
    (True, False)
    """
    left = _settle(problem)
    if isinstance(left, Dealt):
        return left
    return _search(left) if left[0].place.size else Dealt(True)


def _limits(problem: Dealing) -> list[_Limit]:
    everywhere = [(problem.cell, problem.rows), *zip(problem.entries, problem.counts, strict=True)]
    filled = [_Limit(place, left.copy(), np.ones(left.size, np.bool_)) for place, left in everywhere]
    return [*filled, _Limit(problem.kind, problem.supply.copy(), problem.tight)]


def _settle(problem: Dealing) -> list[_Limit] | Dealt:
    """What remains once bounds settle nothing more; or what they show cannot be filled."""
    limits = _limits(problem)
    for _ in range(ROUNDS):
        most = np.min([limit.left[limit.place] for limit in limits], axis=0)
        able = most > 0
        limits = [limit._replace(place=limit.place[able]) for limit in limits]
        most = most[able]
        least = np.zeros(most.size, np.int64)
        for i, limit in enumerate(limits):
            reach = np.bincount(limit.place, most, limit.left.size).astype(np.int64)
            short = np.flatnonzero(limit.exact & (reach < limit.left))
            if short.size:
                return _refused(i, int(short[0]), len(limits))
            owed = limit.left[limit.place] - (reach[limit.place] - most)
            least = np.maximum(least, np.where(limit.exact[limit.place], owed, 0))
        if not least.any():
            break
        for i, limit in enumerate(limits):
            limit.left[:] -= np.bincount(limit.place, least, limit.left.size).astype(np.int64)
            over = np.flatnonzero(limit.left < 0)
            if over.size:
                return _refused(i, int(over[0]), len(limits))
    return limits


def _refused(limit: int, place: int, limits: int) -> Dealt:
    """A cell, an entry, or, where a kind cannot be placed, nothing that has a name in the release."""
    return Dealt(False) if limit == limits - 1 else Dealt(False, table=limit - 1, place=place)


def _search(limits: list[_Limit]) -> Dealt:
    """The same by integer programs, part by part; parts that share nothing are solved together while they are small."""
    part = _parts(limits)
    sizes = np.bincount(part)
    order = np.argsort(part, kind="stable")
    ends = np.cumsum(sizes)
    small = np.flatnonzero(sizes <= VARIABLES)
    small = small[np.cumsum(sizes[small]) <= ALL]
    undecided = int(sizes.sum() - sizes[small].sum())
    for batch in np.split(small, np.flatnonzero(np.diff(np.cumsum(sizes[small]) // VARIABLES)) + 1):
        if not batch.size:
            continue
        pairs = np.concatenate([order[ends[one] - sizes[one] : ends[one]] for one in batch])
        answer = _program(limits, pairs)
        if answer == "open":
            undecided += pairs.size
        elif answer == "none":
            return _witness(limits, [order[ends[one] - sizes[one] : ends[one]] for one in batch])
    return Dealt(True, undecided)


def _witness(limits: list[_Limit], parts: list[Numbers]) -> Dealt:
    """A cell of a part that cannot be filled, found by halving."""
    while len(parts) > 1:
        half = parts[: len(parts) // 2]
        parts = half if _program(limits, np.concatenate(half)) == "none" else parts[len(half) :]
    return Dealt(False, place=int(limits[0].place[parts[0][0]]))


def _parts(limits: list[_Limit]) -> Numbers:
    """For each pair the number of the part that it is in: pairs that share a cell, an entry or a kind are in one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    offsets = np.cumsum([0, *(limit.left.size for limit in limits)])
    first = limits[0].place
    rows = np.concatenate([first] * (len(limits) - 1))
    columns = np.concatenate([limit.place + offset for limit, offset in zip(limits[1:], offsets[1:-1], strict=True)])
    shape = (int(offsets[-1]), int(offsets[-1]))
    graph = csr_array((np.ones(rows.size, np.int8), (rows, columns)), shape=shape)
    _, label = connected_components(graph, directed=False)
    return np.asarray(np.unique(label[first], return_inverse=True)[1], np.int64)


def _program(limits: list[_Limit], pairs: Numbers) -> Literal["some", "none", "open"]:
    """Whether some of the pairs can be given rows so that all limits that they meet are kept."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, vstack

    blocks, low, high = [], [], []
    for limit in limits:
        used, place = np.unique(limit.place[pairs], return_inverse=True)
        shape = (used.size, pairs.size)
        blocks.append(csr_array((np.ones(pairs.size), (place, np.arange(pairs.size))), shape=shape))
        high.append(limit.left[used])
        low.append(np.where(limit.exact[used], limit.left[used], 0))
    most = np.min([limit.left[limit.place[pairs]] for limit in limits], axis=0)
    solution = milp(
        np.zeros(pairs.size),
        integrality=np.ones(pairs.size),
        bounds=Bounds(0, most),
        constraints=LinearConstraint(vstack(blocks), np.concatenate(low), np.concatenate(high)),
        options={"time_limit": SECONDS},
    )
    if solution.status == 2:
        return "none"
    return "some" if solution.status == 0 else "open"
