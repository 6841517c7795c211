"""Skewness and similarity: how far what a group holds is from what everybody holds, and how alike its values are.

Definition  For each sensitive attribute, over all groups: the largest ratio of a value's share in a group to its
            share in the whole release (skewness: a rare value that a group makes likely); the largest distance
            between the two distributions, variational (half the sum of differences), and for numbers and bins, which
            are ordered, earth mover's (ranks 1 apart, the whole range 1); the share of people in whose group all
            values lie within a tenth of the range (similarity). `success` is how often the likeliest value of the
            rows that a person may be is the person's, beside `prior`, the commonest value overall; `worst` the
            largest share that a value has in any group, whether the group raises it or not. The rest is in the note.
Reference   Li, Li, Venkatasubramanian: t-Closeness. ICDE 2007.
Exposed     every kind: l-diversity of any model says nothing of either. A score, never a promise.
Exact       over all groups; `success` of a sample of people above `sample`. Text has no order and no classes here:
            sensitive attributes have no hierarchy, so that three kinds of cancer cannot be told from three diseases.
            For `decomposed` and `candidates` shares are weighed as `group_values` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.adversary.group_values import (
    GROUP_ID,
    PEOPLE,
    SETS,
    SHARE,
    GroupValues,
    TableView,
    table_views,
)
from pluralis.attacks.adversary.knowledge import Question, prior_guess, quasi_identifiers, sensitive_attributes
from pluralis.attacks.adversary.posterior import Targets
from pluralis.attacks.base import Attack, Options, Result, score
from pluralis.release.attributes import attributes_of, holds_bins, ordered_domain
from pluralis.release.release import GROUP, Release
from pluralis.table.labels import read_interval

ENTRIES = 1 << 18  # of groups that are looked at together, at least
NARROW = 0.1  # of the range of a number: values within it are alike


class Skew(NamedTuple):
    """What is measured over the groups of one attribute; the ordered ones are None for text."""

    ratio: float
    group: int  # of that ratio
    share: float  # of the value there
    prior: float  # and overall
    posterior: float  # the maximum: the largest share of any value
    posterior_group: int  # in this group
    distance: float
    moved: float | None
    narrow: float | None


class Skewness(Attack):
    name: ClassVar[str] = "skewness"
    title: ClassVar[str] = "skewness and similarity: groups unlike the whole, values alike"
    reference: ClassVar[str] = "Li, Li, Venkatasubramanian 2007"
    headline: ClassVar[str] = "people's {attribute} guessed right by the shares published with them"

    def applies(self, release: Release) -> bool:
        return bool(sensitive_attributes(release))

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> list[Result]:
        quasi, results = tuple(quasi_identifiers(release)), []
        for view in table_views(release, quasi):
            names = [name for name in sensitive_attributes(release) if name in view.attributes]
            if not names:
                continue
            targets = Targets(view, original, options)
            for name in names:
                group, parts = _parts(view, name)
                skew = measured(parts, name, _places(view, name))
                if skew is not None:
                    results.append(self._result(targets, name, skew, group, original))
        return results

    def _result(self, targets: Targets, name: str, skew: Skew, group: str, original: pl.DataFrame) -> Result:
        view = targets.view
        question = Question(name, tuple(column.name for column in view.columns), (), None)
        guess = targets.guess(question)
        raised, top = (", ".join(view.group_words(group, number)) for number in (skew.group, skew.posterior_group))
        words = [
            f"a value goes from {skew.prior:.3g} overall to {skew.share:.3g} ({skew.ratio:.3g} times) in {raised}",
            f"distance of distributions {skew.distance:.3g}",
        ]
        if skew.moved is not None and skew.narrow is not None:
            words.append(f"earth mover's {skew.moved:.3g}")
            words.append(f"{skew.narrow:.1%} of people in groups whose values lie within a tenth of the range")
        witness = f"{view.name}, {top}" if view.name else top
        return Result(
            attack=self.name,
            question=str(question),
            attribute=name,
            adversary=question.adversary,
            **score(guess.success, guess.targets, guess.sampled),
            prior=prior_guess(view.release, original, name),
            worst=skew.posterior,
            witness=witness,
            note="; ".join(words),
        )


Parts = Callable[[], Iterable[GroupValues]]


def _parts(view: TableView, name: str) -> tuple[str, Parts]:
    """The column of groups that tell of an attribute, and what these hold; of sets, which are many, some at a time."""
    if not view.release.traits.lists_values:
        (values,) = view.group_values((name,), None)
        return values.group, lambda: [values]
    every = view.rows[GROUP]
    some = [every[begin : begin + SETS] for begin in range(0, every.len(), SETS)]
    return GROUP, lambda: (values for groups in some for values in view.group_values((name,), groups))


def measured(parts: Parts, attribute: str, places: npt.NDArray[np.float64] | None) -> Skew | None:
    """Skewness and similarity of the groups, of which `parts` hold some each, in order.

    `places` are those of the values in their range, if they have an order.

    >>> rows = pl.DataFrame({GROUP_ID: [1, 1, 2, 2], "x": [0, 0, 0, 1], PEOPLE: [1.0] * 4})
    >>> skew = measured(lambda: [GroupValues("group", ("x",), rows)], "x", np.array([0.0, 1.0]))
    >>> skew.ratio, skew.group, skew.share, skew.prior, skew.posterior, skew.posterior_group
    (2.0, 2, 0.5, 0.25, 1.0, 1)
    >>> skew.distance, skew.moved, skew.narrow
    (0.25, 0.25, 0.5)
    """
    rank = None  # codes are in the order of text
    if places is not None:
        rank, places = np.argsort(np.argsort(places, kind="stable")), np.sort(places)
    people = np.zeros(0)
    for part in parts():
        code = part.rows[attribute].to_numpy()
        own = np.bincount(code if rank is None else rank[code], part.rows[PEOPLE].to_numpy())
        size = max(people.size, own.size)
        people = np.pad(people, (0, size - people.size)) + np.pad(own, (0, size - own.size))
    if not people.size:
        return None
    prior = people / people.sum()
    every = [_of_groups(some, prior, places) for part in parts() for some in _some_groups(part, attribute, rank)]
    raised, top = max(every, key=lambda one: one.ratio), max(every, key=lambda one: one.posterior)
    ordered = places is not None and prior.size > 1
    return Skew(
        raised.ratio, raised.group, raised.share, raised.prior, top.posterior, top.posterior_group,
        max(one.distance for one in every),
        max(one.moved or 0.0 for one in every) if ordered else None,
        float(sum(one.narrow or 0.0 for one in every) / people.sum()) if ordered else None,
    )  # fmt: skip


class _Entries(NamedTuple):
    """The values of some groups, in order of groups, and which of them is the first of its group."""

    group: pl.Series
    code: npt.NDArray[np.int64]
    share: npt.NDArray[np.float64]
    people: npt.NDArray[np.float64]
    first: npt.NDArray[np.int64]


def _some_groups(values: GroupValues, attribute: str, rank: npt.NDArray[np.int64] | None) -> Iterator[_Entries]:
    """What groups hold, some groups at a time."""
    counts = values.shares([attribute])
    if rank is not None:
        counts = counts.with_columns(pl.Series(attribute, rank[counts[attribute].to_numpy()]))
    counts = counts.sort(GROUP_ID, attribute)
    group = counts[GROUP_ID].to_numpy()
    first = np.flatnonzero(np.append(group[:1] == group[:1], group[1:] != group[:-1]))
    ends = np.append(first[1:], group.size)
    cuts = ends[np.flatnonzero(np.diff(ends // ENTRIES))].tolist()
    for begin, end in pairwise([0, *cuts, group.size]):
        some = counts[begin:end]
        code, share, people = (some[name].to_numpy() for name in (attribute, SHARE, PEOPLE))
        own = first[np.searchsorted(first, begin) : np.searchsorted(first, end)] - begin
        yield _Entries(some[GROUP_ID], code, share, people, own)


def _of_groups(some: _Entries, prior: npt.NDArray[np.float64], places: npt.NDArray[np.float64] | None) -> Skew:
    """The same of some groups; `narrow` is the number of people."""
    code, share, first = some.code, some.share, some.first
    ratio = share / prior[code]
    top, sure = int(ratio.argmax()), int(share.argmax())
    # half the sum of differences; what a group does not hold differs by its prior
    differs = np.add.reduceat(np.abs(share - prior[code]) - prior[code], first) + 1.0
    moved = narrow = None
    if places is not None and prior.size > 1:
        moved = _earth(code, share, prior, first)
        last = np.append(first[1:], code.size) - 1
        alike = places[code[last]] - places[code[first]] <= NARROW * (places[-1] - places[0])
        narrow = float(np.add.reduceat(some.people, first)[alike].sum())
    return Skew(
        float(ratio[top]), int(some.group[top]), float(share[top]), float(prior[code[top]]),
        float(share[sure]), int(some.group[sure]), float(differs.max() / 2), moved, narrow,
    )  # fmt: skip


def _earth(
    code: npt.NDArray[np.int64], share: npt.NDArray[np.float64], prior: npt.NDArray[np.float64], first: npt.NDArray
) -> float:
    """The largest earth mover's distance of a group from all: the mean difference of the two cumulative shares.

    That of a group is constant, c, from one of its values a to the next, b; that of all, F, rises and is c at s.
    """
    F = np.cumsum(prior)
    P = np.concatenate([[0.0], np.cumsum(F)])
    total = np.cumsum(share)
    before = np.repeat(total[first] - share[first], np.diff(first, append=code.size))
    a, c = code, total - before
    b = np.append(code[1:], prior.size)
    b[np.append(first[1:], code.size) - 1] = prior.size
    s = np.clip(np.searchsorted(F, c), a, b)
    apart = c * (s - a) - (P[s] - P[a]) + (P[b] - P[s]) - c * (b - s)
    sums = np.add.reduceat(apart, first) + P[code[first]]  # below its first value a group has nothing
    return float(sums.max() / (prior.size - 1))


def _places(view: TableView, name: str) -> npt.NDArray[np.float64] | None:
    """Where published numbers, the middles of bins, or ordered values lie; None for other text."""
    texts = view.domain(name).texts.to_list()
    info = attributes_of(view.release)[name]
    if (ordered := ordered_domain(info)) is not None:
        place = {value: float(i) for i, value in enumerate(ordered.values)}
        return np.array([place[text] for text in texts]) if place.keys() >= {*texts} else None
    try:
        if info.type == "number" and not any(text.startswith("[") for text in texts):
            return np.array([float(text) for text in texts])
        if holds_bins(info):
            return np.array([sum(read_interval(text)) / 2 for text in texts])
    except ValueError:
        return None
    return None


ATTACK = Skewness()
