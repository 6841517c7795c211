"""The posterior: how likely each sensitive value of a person is, by what is known and what the release says.

An adversary knows of a person that the person is published, some quasi-identifiers, and perhaps some sensitive ones
(`knowledge`). Every published row whose cells cover these quasi-identifiers is equally likely to be the person's
(`candidate_rows`). A row says which group it is in, and a group says how many of its rows hold each value; which of
them holds which is not said, so every way to hand them out is equally likely (`group_values`, `published_values`).
Where the values of two attributes do not stand side by side they are handed out independently. Hence

    P(v | quasi-identifiers q, sensitive values k)  =  sum of P(k, v | row)  /  sum of P(k | row),   over rows that
    cover q.

That is what an enumeration of all worlds gives for this adversary, exactly, for every kind but one: a `decomposed`
release tells sets and not shares, which are weighed as `estimate.kinds.decomposed` weighs them (what remains possible,
exactly, is in `group_guess`). A `multi` release is looked at table by table; whoever joins several of its tables is in
`subtable_posterior`.

`Posterior` has no k, and rows may say what an attack has learned of each; `Targets` has any k, and the values that
their groups hold. Nobody's posterior exceeds the share of a value in one of the groups. So `weakest` looks at groups,
all of them, and needs no original; of people a sample is enough. Text is compared in one spelling.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.adversary.candidate_rows import BOX, CLASS, CandidateRows, Covering, ranges
from pluralis.attacks.adversary.group_values import GROUP_ID, PEOPLE, SHARE, GroupValues, TableView, added_up
from pluralis.attacks.adversary.knowledge import Question
from pluralis.attacks.adversary.published_values import PublishedValues, Saying, group_shares
from pluralis.attacks.base import Options
from pluralis.kernels.posterior import Items, posterior_of_kinds
from pluralis.release.release import GROUP

VALUE = "\0value"
TIE = 1e-12  # by which probabilities that are equal may differ: rounding
CELLS = 20_000_000  # probabilities that are held at a time
PAIRS = 1_000_000  # of people and boxes around them, at a time
JOINED = 60_000  # pairs of a class of people and a box around it, joined with the values of its groups at a time
ALL_PAIRS = 4_000_000  # of a person and rows that it may be: beyond, fewer people are looked at

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Reals = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


# the likeliest value --------------------------------------------------------------------------------------------


@overload
def is_likeliest(probability: Reals, highest: Reals | np.float64) -> Flags: ...
@overload
def is_likeliest(probability: pl.Expr, highest: pl.Expr) -> pl.Expr: ...
def is_likeliest(probability: Reals | pl.Expr, highest: Reals | np.float64 | pl.Expr) -> Flags | pl.Expr:
    """The tie rule: all values whose probability is the highest, but for rounding, are the likeliest.

    Whoever guesses takes one of them at random, so that the true one is guessed with 1 / their number.

    >>> is_likeliest(np.array([0.3, 0.1 + 0.2, 0.2]), np.float64(0.3)).tolist()
    [True, True, False]
    """
    return probability >= highest - TIE


def chance_of_right(posterior: Reals, truth: npt.NDArray[np.integer]) -> Reals:
    """How likely whoever guesses the likeliest value is right: 1, 0, or a share where several are as likely."""
    if not posterior.shape[1]:
        return np.zeros(truth.size)
    highest = posterior.max(axis=1, keepdims=True)
    likeliest = is_likeliest(posterior, highest)
    right = likeliest[np.arange(truth.size), np.maximum(truth, 0)] & (truth >= 0)
    return np.where(right & (highest[:, 0] > 0), 1 / likeliest.sum(axis=1), 0.0)


class Guesses(NamedTuple):
    """How guesses of the likeliest value went: of so many people so many right, ties counted by their chance.

    `highest` is the highest probability that a true value got, where that is asked.
    """

    targets: int
    right: float
    sampled: bool = False
    highest: float = 0.0

    @property
    def success(self) -> float:
        """The share that was right."""
        return self.right / max(1, self.targets)


# by what every row says -----------------------------------------------------------------------------------------


class SomePosteriors(NamedTuple):
    """Which of the targets; [target, value] the probability of each value; how many rows each target may be."""

    targets: Ints
    probability: Reals
    rows: Reals


@dataclass(frozen=True, eq=False)
class Posterior:
    """The rows of a table as whoever knows some of its columns sees them, and what each says."""

    published: PublishedValues
    known: Sequence[str]
    shares: Saying

    @classmethod
    def by_groups(cls, published: PublishedValues, known: Sequence[str]) -> Posterior:
        """Rows say what their groups say."""
        return cls(published, known, group_shares(published))

    def of_people(self, original: pl.DataFrame, targets: Ints) -> Iterator[SomePosteriors]:
        """The mean of what the rows say that each target may be, part by part."""
        published, values = self.published, self.published.values.len()
        columns = [published.infos[name] for name in self.known]
        candidates = CandidateRows.by_columns(published.shown, columns, original[targets], published.manifest)
        kind_of = np.full(int(candidates.class_of.max(initial=-1)) + 1, -1, np.int64)
        for part in candidates.coverings(PAIRS):
            items = self._items(part, candidates.box_of)
            kind_of[part.classes] = np.where(np.diff(part.starts) > 0, np.arange(part.classes.size), -1)
            people = np.flatnonzero(np.isin(candidates.class_of, part.classes))
            step = max(1, CELLS // max(1, values))
            for some in np.split(people, range(step, people.size, step)):
                probability, count = np.zeros((some.size, values)), np.zeros(some.size)
                posterior_of_kinds(kind_of[candidates.class_of[some]], items, probability, count)
                yield SomePosteriors(some, probability, count)

    def _items(self, part: Covering, box_of: Codes) -> Items:
        """The boxes around some classes, and what the rows in them say; rows of no such box are not asked."""
        boxes = np.unique(part.boxes)
        place = np.full(int(box_of.max(initial=-1)) + 1, -1, np.int64)
        place[boxes] = np.arange(boxes.size)
        rows = np.flatnonzero(place[box_of] >= 0)
        published = self.shares.of_rows(rows)
        lines = max(1, published.begin.size)
        number = place[box_of[rows]] * lines
        number += published.line_of
        number.sort()
        first = np.flatnonzero(np.diff(number, prepend=-1))
        weight = np.diff(first, append=number.size).astype(np.float64)
        box, line = np.divmod(number[first], lines)
        begins = np.searchsorted(box, np.arange(boxes.size + 1))
        return Items(
            part.starts,
            place[part.boxes],
            begins,
            weight,
            line,
            published.begin,
            published.end,
            published.code,
            published.share,
            published.shift,
        )


def guess_likeliest(posteriors: Iterable[SomePosteriors], truth: Codes, *, everybody: bool = False) -> Guesses:
    """How often the likeliest value is right; whom no row fits is not asked about, unless `everybody` is."""
    targets, right, highest = 0, 0.0, 0.0
    for part in posteriors:
        true = truth[part.targets]
        asked = part.probability.any(axis=1) | everybody
        right += float(chance_of_right(part.probability, true)[asked].sum())
        targets += int(asked.sum())
        if part.probability.size:
            of_true = part.probability[np.arange(true.size), np.maximum(true, 0)]
            highest = max(highest, float(of_true[true >= 0].max(initial=0.0)))
    return Guesses(targets, right, highest=highest)


# the weakest group ----------------------------------------------------------------------------------------------


class Weakest(NamedTuple):
    """The largest share that one value has among people whom the adversary cannot tell apart, and where."""

    share: float
    witness: str


def weakest(view: TableView, question: Question) -> Weakest | None:
    """The weakest group for a question, by the group and what is known beside; None if it is not told of."""
    if question.attribute not in view.attributes:
        return None
    names = (question.attribute, *(name for name in question.sensitive if name in view.attributes))
    values = next(values for values in view.group_values(names, None) if question.attribute in values.attributes)
    known = [name for name in question.sensitive if name in values.attributes]
    shares = values.shares([question.attribute], given=known)
    if not shares.height:
        return None
    top = shares.filter(pl.col(SHARE) == pl.col(SHARE).max()).sort(GROUP_ID, *known).row(0, named=True)
    words = [*([view.name] if view.name else []), *view.group_words(values.group, top[GROUP_ID])]
    words += [f"{name} = {view.domain(name).texts[top[name]]}" for name in known]
    return Weakest(float(top[SHARE]), ", ".join(words))


# by groups, and known sensitive values --------------------------------------------------------------------------


class Targets:
    """Some people of the original, in classes of equal quasi-identifiers, and the published rows that each may be.

    `rows` are those of the original, `class_of` the class of each. Published rows that look alike are a box: `near` has
    the boxes that cover each class; `boxes` has BOX, the groups, and PEOPLE.
    """

    def __init__(self, view: TableView, original: pl.DataFrame, options: Options) -> None:
        self.view, self.manifest = view, view.release.manifest
        self.rows = options.targets(original.height)
        self.people = original if self.rows.size == original.height else original[self.rows]
        candidates = CandidateRows.by_columns(view.rows, view.columns, self.people, self.manifest)
        self.near = next(candidates.coverings(ALL_PAIRS, options.seed))
        self.class_of = candidates.class_of
        looked = np.isin(self.class_of, self.near.classes)
        if not looked.all():
            self.rows, self.class_of = self.rows[looked], self.class_of[looked]
            self.people = original[self.rows]
        self.sampled = self.rows.size < original.height
        wanted = np.zeros(int(candidates.box_of.max(initial=-1)) + 1, np.bool_)
        wanted[self.near.boxes] = True
        rows = np.flatnonzero(wanted[candidates.box_of])
        boxes = view.rows.select(view.groups)[rows].with_columns(pl.Series(BOX, candidates.box_of[rows]))
        self.boxes = added_up(boxes.with_columns(pl.lit(1.0).alias(PEOPLE)), [BOX, *view.groups])

    @property
    def covering(self) -> pl.DataFrame:
        """CLASS and BOX for every box that covers a class."""
        return self.near.pairs

    @cached_property
    def candidates(self) -> npt.NDArray[np.float64]:
        """How many published rows each of the people may be."""
        box = self.boxes[BOX].to_numpy()
        rows = np.bincount(box, self.boxes[PEOPLE].to_numpy())
        candidates = np.zeros(int(self.class_of.max(initial=-1)) + 1)
        for part in self.near.parts(JOINED):
            place = np.repeat(np.arange(part.classes.size), np.diff(part.starts))
            candidates[part.classes] = np.bincount(place, rows[part.boxes], part.classes.size)
        return candidates[self.class_of]

    def true_codes(self, name: str) -> Codes:
        """The code of a sensitive value of each of the people."""
        return self.view.true_codes(self.people, name).to_numpy()

    def posterior(self, question: Question, values: GroupValues | None = None) -> pl.DataFrame:
        """CLASS, what somebody of it has of the known sensitive values, VALUE and its SHARE, wherever any row fits.

        Groups hold the values that the release says, or others (`values`, of the attribute that is asked for alone).
        """
        attribute, known = question.attribute, self._known(question)
        groups = self.boxes[GROUP].unique() if self.view.groups == [GROUP] else None
        every = self.view.group_values((attribute, *known), groups) if values is None else [values]
        asked = next(values for values in every if attribute in values.attributes)
        beside = _in(asked, known)
        shares = asked.shares([*beside, attribute]).select(GROUP_ID, *beside, attribute, SHARE)
        people = pl.DataFrame({CLASS: self._class_codes, **{name: self.true_codes(name) for name in known}}).unique()
        if len(every) == 1:
            weighed = self.boxes.join(shares, left_on=asked.group, right_on=GROUP_ID)
            weighed = weighed.select(BOX, *beside, attribute, (pl.col(PEOPLE) * pl.col(SHARE)).alias(PEOPLE))
            weighed = added_up(weighed, [BOX, *beside, attribute]).rename({PEOPLE: SHARE})
            first = np.searchsorted(weighed[BOX].to_numpy(), np.arange(int(self.near.boxes.max(initial=-1)) + 2))
            weighed = weighed.drop(BOX)
        else:
            people = self._few(people)
            others = [(other, _in(other, known)) for other in every if other is not asked]
            by_others = [(other.group, inside, other.shares(inside)) for other, inside in others]

        def joined(part: Covering) -> pl.DataFrame:
            if len(every) == 1:
                width = first[part.boxes + 1] - first[part.boxes]
                classes = np.repeat(np.repeat(part.classes.astype(np.int32), np.diff(part.starts)), width)
                joint = weighed[ranges(first[part.boxes], width)].with_columns(pl.Series(CLASS, classes))
                return people.join(joint, on=[CLASS, *beside]) if known else joint
            joint = people.join(part.pairs, on=CLASS).join(self.boxes, on=BOX)
            for group, inside, by_other in by_others:
                share = by_other.select(GROUP_ID, *inside, pl.col(SHARE).alias("\0by"))
                joint = joint.join(share, left_on=[group, *inside], right_on=[GROUP_ID, *inside])
                joint = joint.with_columns(pl.col(PEOPLE) * pl.col("\0by")).drop("\0by")
            joint = joint.group_by(CLASS, *known, asked.group).agg(pl.col(PEOPLE).sum())
            joint = joint.join(shares, left_on=[asked.group, *beside], right_on=[GROUP_ID, *beside])
            return joint.with_columns((pl.col(PEOPLE) * pl.col(SHARE)).alias(SHARE))

        each = map(joined, self.near.parts(JOINED))
        joint = pl.concat(part.group_by(CLASS, *known, attribute).agg(pl.col(SHARE).sum()) for part in each)
        total = pl.col(SHARE).sum().over(CLASS, *known)
        return joint.with_columns(pl.col(SHARE) / total).rename({attribute: VALUE})

    @property
    def _class_codes(self) -> Codes:
        return self.class_of.astype(np.int32)

    def _known(self, question: Question) -> list[str]:
        """The sensitive attributes that are known, and of which the table tells."""
        return [name for name in question.sensitive if name in self.view.attributes]

    def _few(self, people: pl.DataFrame) -> pl.DataFrame:
        """As many of those that are asked about as can be looked at."""
        rows = self.covering.join(self.boxes.group_by(BOX).len("\0rows"), on=BOX)
        sizes = people.join(rows.group_by(CLASS).agg(pl.col("\0rows").sum().cast(pl.Int64)), on=CLASS)
        order = sizes.sample(fraction=1.0, shuffle=True, seed=0).with_columns(pl.col("\0rows").cum_sum())
        most = max(ALL_PAIRS, int(order["\0rows"][0]) if order.height else 0)
        return order.filter(pl.col("\0rows") <= most).select(people.columns)

    def guess(self, question: Question, values: GroupValues | None = None) -> Guesses:
        """How often the likeliest value is right, as `posterior` has it; whom no row fits is not asked about."""
        posterior, known = self.posterior(question, values), self._known(question)
        same = [CLASS, *known]
        likeliest = posterior.filter(is_likeliest(pl.col(SHARE), pl.col(SHARE).max().over(same)))
        likeliest = likeliest.with_columns((1 / pl.len().over(same)).alias("\0chance"))
        columns = {name: self.true_codes(name) for name in known}
        people = pl.DataFrame({CLASS: self._class_codes, **columns, VALUE: self.true_codes(question.attribute)})
        people = people.group_by(*same, VALUE).agg(pl.len().cast(pl.Float64).alias(PEOPLE))
        reached = people.join(posterior.select(same).unique(), on=same, how="semi")
        hits = reached.join(likeliest, on=[*same, VALUE])
        targets, right = float(reached[PEOPLE].sum()), float((hits[PEOPLE] * hits["\0chance"]).sum())
        covered = self.near.classes[np.diff(self.near.starts) > 0]
        fewer = int(np.isin(people[CLASS].to_numpy(), covered).sum()) > reached.height
        return Guesses(int(targets), right, sampled=self.sampled or (fewer and not self.manifest.suppressed))


def _in(values: GroupValues, names: Iterable[str]) -> list[str]:
    """Those of the attributes that groups hold values of."""
    return [name for name in names if name in values.attributes]
