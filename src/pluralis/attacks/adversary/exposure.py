"""How sure the surest guess is in each group: which groups are weakest, for the publisher's eyes alone.

Definition  The surest guess of a group is the highest probability that any value gets for any of its rows: `alone` by
            the shares of the group itself, `learnt` by the model that the deFinetti attack fits to all groups. A guess
            may be sure and wrong: nothing here is compared with the original.
Exact       `alone` over all groups, or all sets of a candidates release by the shares that the release states or shows.
            `learnt` is None where rows of a group look alike, so that nothing is learnt.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pluralis.attacks.adversary.group_values import slice_of, weighed
from pluralis.attacks.adversary.posterior import Said, ranges, said_by
from pluralis.attacks.definetti import learn
from pluralis.estimate import estimator_of
from pluralis.estimate.kinds.candidates import Candidates
from pluralis.release.release import Release

PARTS = 20  # of the way from 0 to 1
WEAKEST = 10  # groups that are named

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


class Weak(NamedTuple):
    """One group, how many rows it has, and its surest guess."""

    name: str
    rows: int
    alone: float
    learnt: float | None


@dataclass(frozen=True)
class Exposure:
    """How many groups of a table have a surest guess in each twentieth from 0 to 1, and the weakest of them.

    `unit` is what is counted: groups, or sets.
    """

    attribute: str
    table: str
    limit: float
    alone: tuple[int, ...]
    learnt: tuple[int, ...] | None
    weakest: tuple[Weak, ...]
    unit: str = "groups"


def exposures(release: Release) -> tuple[Exposure, ...]:
    """One for each protected attribute of each table that has groups, or sets. Both are numbered from 1."""
    return tuple(_of_sets(release) if release.kind == "candidates" else _of_groups(release))


def _of_groups(release: Release) -> Iterator[Exposure]:
    for said in said_by(release, sets=False):
        held = np.flatnonzero(np.diff(said.starts) > 0)  # rows that are marked have no group
        rows = np.bincount(said.of_row, minlength=said.starts.size - 1)[held]
        where = said.table or slice_of(said.attribute, release)
        name = f"{where}, group" if where else "group"
        alone, learnt = _highest(said.share, said.starts[held]), _learnt(said, held)
        limit = 1 / release.manifest.parameters["l"][said.attribute]
        weakest = _weakest(name, held + 1, rows, alone, learnt)
        parts = None if learnt is None else _parts(learnt)
        yield Exposure(said.attribute, where, limit, _parts(alone), parts, weakest)


def _of_sets(release: Release) -> Iterator[Exposure]:
    estimator = estimator_of(release)
    assert isinstance(estimator, Candidates)
    for name, drawn in estimator.drawn.items():
        sets, design = drawn.sets, drawn.design
        surest = weighed(sets, design).max(axis=1, initial=0.0)
        weakest = _weakest("row", np.arange(1, len(sets) + 1), np.ones(len(sets), np.int64), surest, None)
        yield Exposure(name, "", 1 / design.l, _parts(surest), None, weakest, "sets")


def _weakest(name: str, numbers: Ints, rows: Ints, alone: Reals, learnt: Reals | None) -> tuple[Weak, ...]:
    surest = np.round(alone if learnt is None else learnt, 9)
    order = np.lexsort((numbers, rows, -np.round(alone, 9), -surest))[:WEAKEST]
    return tuple(
        Weak(f"{name} {numbers[i]}", int(rows[i]), float(alone[i]), None if learnt is None else float(learnt[i]))
        for i in order
    )


def _highest(share: Reals, starts: Ints) -> Reals:
    return np.asarray(np.maximum.reduceat(share, starts) if starts.size else np.empty(0))


def _learnt(said: Said, held: Ints) -> Reals | None:
    """The surest guess of each group by what all groups teach."""
    found = learn(said)
    if not found.rounds:
        return None
    cells = found.cells
    width = cells.end - cells.begin
    rows = np.flatnonzero(width)
    starts = np.cumsum(width[rows]) - width[rows]
    each = ranges(cells.begin[rows], width[rows])
    highest = np.zeros(said.starts.size - 1)
    np.maximum.at(highest, said.of_row[rows], _highest(cells.share[each], starts))
    return highest[held]


def _parts(surest: Reals) -> tuple[int, ...]:
    """How many lie in each part; what is at an end of a part, but for rounding, is in the part below it.

    >>> [_parts(np.array([share])).index(1) for share in (0.05, 1 / 3, 0.5, 0.501, 1.0)]
    [0, 6, 9, 10, 19]
    """
    place = np.ceil(np.round(surest * PARTS, 6)).astype(np.int64) - 1
    return tuple(np.bincount(np.clip(place, 0, PARTS - 1), minlength=PARTS).tolist())
