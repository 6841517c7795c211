"""The maximum posterior of each group: which groups are weakest, for the publisher's eyes alone.

Definition  The maximum posterior of a group is the highest probability that any value gets for any of its rows: `alone`
            by the shares of the group itself, `learned` by the model that the deFinetti attack fits to all groups. A
            guess may be sure and wrong: nothing here is compared with the original. Where no l is asked and values are
            bounded, it is that of the value which comes nearest to its bound; others may be certain.
Exact       `alone` over all groups, or all sets of a candidates release by the shares that the release states or shows.
            `learned` is None where rows of a group look alike, so that nothing is learned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pluralis.attacks.adversary.candidate_rows import ranges
from pluralis.attacks.adversary.group_values import set_posteriors, slice_of
from pluralis.attacks.adversary.published_values import PublishedValues, published_values
from pluralis.attacks.definetti import learn
from pluralis.estimate import estimator_of
from pluralis.estimate.kinds.candidates import Candidates
from pluralis.kernels.order import stable_order
from pluralis.release.manifest import Parameters
from pluralis.release.release import Release

PARTS = 20  # of the way from 0 to 1
WEAKEST = 10  # groups that are named
ROWS, BLOCKS = 1 << 17, 16  # of groups that are looked at together, at least; how many times at most

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


class Weak(NamedTuple):
    """One group, how many rows it has, and its maximum posterior."""

    name: str
    rows: int
    alone: float
    learned: float | None


@dataclass(frozen=True)
class Exposure:
    """How many groups of a table have a maximum posterior in each twentieth from 0 to 1, and the weakest of them.

    `unit` is what is counted: groups, or sets. `attribute` names the value, too, where only that is bounded. `limit` is
    None where nothing bounds a guess.
    """

    attribute: str
    table: str
    limit: float | None
    alone: tuple[int, ...]
    learned: tuple[int, ...] | None
    weakest: tuple[Weak, ...]
    unit: str = "groups"


def exposures(release: Release, *, learning: bool = True) -> tuple[Exposure, ...]:
    """One for each protected attribute of each table that has groups, or sets. Both are numbered from 1.

    What all groups teach takes more time than the rest; without `learning` it is left out.
    """
    return tuple(_of_sets(release) if release.traits.lists_values else _of_groups(release, learning))


def exposures_of_parts(parts: Iterable[tuple[str, Sequence[Exposure]]]) -> tuple[Exposure, ...]:
    """The same of a release in parts, which come with their folders: groups are those of all parts."""
    same: dict[tuple[str, str, str], list[Exposure]] = {}
    for folder, own in parts:
        for one in own:
            weakest = tuple(weak._replace(name=f"{folder}, {weak.name}") for weak in one.weakest)
            same.setdefault((one.attribute, one.table, one.unit), []).append(replace(one, weakest=weakest))
    return tuple(_together(several) for several in same.values())


def _together(several: Sequence[Exposure]) -> Exposure:
    learned = [one.learned for one in several if one.learned is not None]
    limits = [one.limit for one in several if one.limit is not None]
    weakest = sorted((weak for one in several for weak in one.weakest), key=_weakness)
    return replace(
        several[0],
        limit=min(limits, default=None),
        alone=_summed([one.alone for one in several]),
        learned=_summed(learned) if len(learned) == len(several) else None,
        weakest=tuple(weakest[:WEAKEST]),
    )


def _summed(several: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*several, strict=True)))


def _weakness(weak: Weak) -> tuple[float, float, int]:
    """The order of weak groups: the surest guess first, of the smaller group where two are alike."""
    sure = weak.alone if weak.learned is None else weak.learned
    return -round(sure, 9), -round(weak.alone, 9), weak.rows


def _of_groups(release: Release, learning: bool) -> Iterator[Exposure]:
    for values in published_values(release, sets=False):
        groups = np.flatnonzero(np.diff(values.starts) > 0)  # rows that are marked have no group
        rows = values.group_rows[groups]
        where = values.table or slice_of(values.attribute, release)
        name = f"{where}, group" if where else "group"
        words, limit, code = _protected(values, release.manifest.parameters)
        share = values.share if code is None else np.where(values.code == code, values.share, 0.0)
        alone, learned = _highest(share, values.starts[groups]), _learned(values, groups, code) if learning else None
        weakest = _weakest(name, groups + 1, rows, alone, learned)
        parts = None if learned is None else _parts(learned)
        yield Exposure(words, where, limit, _parts(alone), parts, weakest)


def _protected(values: PublishedValues, parameters: Parameters) -> tuple[str, float | None, int | None]:
    """What is protected, in words, its bound, and the code of the value, if it is one: that nearest to its bound."""
    name = values.attribute
    if parameters.l[name] > 1:
        return name, 1 / parameters.l[name], None
    texts = ["" if value is None else str(value) for value in values.values.to_list()]
    named = {value: float(Fraction(bound)) for value, bound in parameters.at_most.get(name, {}).items()}
    gain = parameters.gain.get(name, np.inf)
    bounds = [min(named.get(text, 1.0), gain * prior) for text, prior in zip(texts, values.prior, strict=True)]
    highest = np.zeros(len(texts))
    np.maximum.at(highest, values.code, values.share)
    near = {code: highest[code] / bound for code, bound in enumerate(bounds) if 0 < bound < 1}
    if not near:
        return name, None, None
    code = max(near, key=lambda code: (near[code], -code))
    return f"{name} = {texts[code]}", float(bounds[code]), code


def _of_sets(release: Release) -> Iterator[Exposure]:
    estimator = estimator_of(release)
    assert isinstance(estimator, Candidates)
    for name, drawn in estimator.drawn.items():
        sets, design = drawn.sets, drawn.design
        highest = [likely.max(axis=1, initial=0.0) for likely in set_posteriors(sets, design)]
        posterior = np.concatenate([np.empty(0), *highest])
        weakest = _weakest("row", np.arange(1, len(sets) + 1), np.ones(len(sets), np.int64), posterior, None)
        yield Exposure(name, "", 1 / design.l, _parts(posterior), None, weakest, "sets")


def _weakest(name: str, numbers: Ints, rows: Ints, alone: Reals, learned: Reals | None) -> tuple[Weak, ...]:
    posterior = np.round(alone if learned is None else learned, 9)
    order = np.lexsort((numbers, rows, -np.round(alone, 9), -posterior))[:WEAKEST]
    return tuple(
        Weak(f"{name} {numbers[i]}", int(rows[i]), float(alone[i]), None if learned is None else float(learned[i]))
        for i in order
    )


def _highest(share: Reals, starts: Ints) -> Reals:
    return np.asarray(np.maximum.reduceat(share, starts) if starts.size else np.empty(0))


def _learned(values: PublishedValues, groups: Ints, code: int | None) -> Reals | None:
    """The maximum posterior of each group, or of one value in it, by what all groups teach; some groups at a time."""
    learned = learn(values)
    if not learned.rounds:
        return None
    highest = np.zeros(values.starts.size - 1)
    order, ends = stable_order(values.group_of, highest.size), np.cumsum(values.group_rows)
    block = ends // max(ROWS, order.size // BLOCKS)
    for rows in np.split(order, ends[np.flatnonzero(np.diff(block))]):
        shares = learned.of_rows(rows)
        line = shares.line_of
        width = shares.end[line] - shares.begin[line]
        rows, line, width = (some[width > 0] for some in (rows, line, width))
        each, starts = ranges(shares.begin[line], width), np.cumsum(width) - width
        share = shares.share[each + np.repeat(shares.shift[line], width)]
        if code is not None:
            share = np.where(shares.code[each] == code, share, 0.0)
        np.maximum.at(highest, values.group_of[rows], _highest(share, starts))
    return highest[groups]


def _parts(posterior: Reals) -> tuple[int, ...]:
    """How many lie in each part; what is at an end of a part, but for rounding, is in the part below it.

    >>> [_parts(np.array([share])).index(1) for share in (0.05, 1 / 3, 0.5, 0.501, 1.0)]
    [0, 6, 9, 10, 19]
    """
    place = np.ceil(np.round(posterior * PARTS, 6)).astype(np.int64) - 1
    return tuple(np.bincount(np.clip(place, 0, PARTS - 1), minlength=PARTS).tolist())
