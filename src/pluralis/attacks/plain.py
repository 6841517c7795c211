"""Plain columns: what the release tells of them, and what they tell of the sensitive values beside them.

Definition  A plain column is published as it is, and no claim speaks of it. Two questions of each. What is a person's
            value, for whoever knows every quasi-identifier? By the rows that the person may be: `success` is how often
            the likeliest value is right, `certain` the share of people of whom all these rows have one value, where not
            everybody has it. And what does it tell of each sensitive attribute, for whoever knows every
            quasi-identifier, and finds or knows the plain value p of the row? By the rows that show p and that the
            person may be, each weighed by how values go with p in all rows,

                P(v | row)  ~  p(v, p) L(v),

            learned as in `association`, L(v) being what the row says of v by itself; where sensitive values stand in
            their rows, by these. People are looked at by what they have in the plain column. Where guesses come true
            more often than without that column, beyond doubt (4.5 standard errors), it tells: the result is about the
            people of all such values, `share` of everybody. Where none does, it is about everybody.
Reference   Dempster, Laird, Rubin: Maximum Likelihood from Incomplete Data. J. R. Stat. Soc. B 1977.
Exposed     all kinds but multi, in which every column that is not protected counts as a quasi-identifier.
Exact       the first question of people up to `sample`, fewer of a column of very many values. The second of as many
            people for each plain value; numbers of more than VALUES are cut into PARTS of as many rows, and of texts
            the commonest are told apart. Of more than ASKED pairs of a plain and a sensitive column those are looked at
            that go together most.
Promise     none, but where a claim names an adversary who knows the plain column: of rows that show their sensitive
            values `worst` is then the maximum posterior.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.adversary.candidate_rows import CLASS, CandidateRows
from pluralis.attacks.adversary.group_values import person_table
from pluralis.attacks.adversary.knowledge import commonest_share, promised, quasi_identifiers
from pluralis.attacks.adversary.posterior import TIE, Posterior, chance_of_right
from pluralis.attacks.adversary.published_values import (
    PublishedValues,
    Saying,
    group_shares,
    own_values,
    published_values,
)
from pluralis.attacks.association import Joints, Likelihoods, WeighedShares
from pluralis.attacks.base import DOUBT, PEOPLE, Attack, Options, Result, interval, score
from pluralis.release.manifest import ColumnInfo, quoted
from pluralis.release.release import Release

VALUES, PARTS = 500, 50  # of a plain column that are told apart; numbers of more are cut into parts
LEAST = 12  # people of each value that are looked at, where there are so many
ASKED, FEWEST = 60, 6  # pairs of a plain and a sensitive column; of a large table fewer
MANY, LABELS = 200_000, 4  # rows beyond which a table is large, and how much longer labels take
ENOUGH, NEAR = 1_000, 4_000_000  # people who are enough where they may be so many rows
WORK = 50_000_000  # probabilities that are worked out for one plain column
NOTHING_TOLD = "it tells no more of it than the release without it"

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Reals = npt.NDArray[np.float64]


class PlainColumns(Attack):
    name: ClassVar[str] = "plain"
    title: ClassVar[str] = "plain columns: what is learned of them, and from them"
    reference: ClassVar[str] = "Dempster, Laird and Rubin 1977"
    headline: ClassVar[str] = "people's {attribute} guessed right"

    def applies(self, release: Release) -> bool:
        return bool(plain_columns(release))

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> list[Result]:
        plain = [own_values(release, name) for name in plain_columns(release)]
        rows = Findable.by_release(release, plain[0], original)
        columns = [ToldApart.by_values(published, original) for published in plain]
        results = [_learned_of(column, rows, options) for column in columns]
        sensitives = [_Sensitive.by_release(release, published, original) for published in published_values(release)]
        pairs = [(column, sensitive) for column in columns for sensitive in sensitives]
        pairs.sort(key=lambda pair: -_most_telling(pair[0], pair[1].truth))
        asked = _as_many_as(ASKED, rows)
        results += [_learned_from(release, *pair, rows, options) for pair in pairs[:asked]]
        left = [f"{sensitive.published.attribute} from {column.name}" for column, sensitive in pairs[asked:]]
        if left:
            results[-1] = replace(
                results[-1], note=f"{results[-1].note}; not asked, for want of time: {', '.join(left)}"
            )
        return results


def plain_columns(release: Release) -> list[str]:
    """The plain columns of a release, sorted by name; none where its tables are releases of their own."""
    return [] if release.traits.has_subtables else sorted(person_table(release).names("plain"))


# how rows are found ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Findable:
    """By what whoever knows every quasi-identifier finds rows: their columns, those of people, and their names.

    Where all are published as they are, one number stands for all of them, so that they are compared once.
    """

    known: tuple[str, ...]
    quasi: tuple[str, ...]
    shown: pl.DataFrame
    people: pl.DataFrame
    infos: Mapping[str, ColumnInfo]

    @classmethod
    def by_release(cls, release: Release, published: PublishedValues, original: pl.DataFrame) -> Findable:
        quasi = tuple(name for name in published.quasi if name in quasi_identifiers(release))
        infos = {name: published.infos[name] for name in quasi}
        if not all(info.exact for info in infos.values()):
            return cls(quasi, quasi, published.shown.select(quasi), original.select(quasi), infos)
        same = CandidateRows.by_columns(published.shown, [*infos.values()], original, published.manifest)
        number = ColumnInfo(name=CLASS, role="quasi", type="number", attribute=CLASS, exact=True)
        shown = pl.DataFrame({CLASS: same.box_of.astype(np.float64)})
        return cls((CLASS,), quasi, shown, pl.DataFrame({CLASS: same.class_of}), {CLASS: number})

    @property
    def exact(self) -> bool:
        """Whether one number stands for all that is known."""
        return self.known == (CLASS,)

    def look(self, published: PublishedValues, shares: Saying, people: Ints, truth: Codes) -> _Looked:
        """What somebody learns of each of these people from the rows that they may be."""
        return self._looked(replace(published, shown=self.shown, infos=self.infos), self.known, shares, people, truth)

    def look_beside(
        self, column: ToldApart, published: PublishedValues, shares: Saying, people: Ints, truth: Codes
    ) -> _Looked:
        """The same where the plain value of the row is known, too, or seen in it."""
        info = ColumnInfo(name=column.name, role="plain", type="number", attribute=column.name)
        values = pl.Series(column.name, column.rows).cast(pl.Float64 if self.exact else pl.String)
        shown, infos = self.shown.with_columns(values), {**self.infos, column.name: info}
        rows = Findable(
            self.known, self.quasi, shown, self.people.with_columns(pl.Series(column.name, column.people)), infos
        )
        beside = replace(published, shown=shown, infos=infos)
        return rows._looked(beside, (*self.known, column.name), shares, people, truth)

    def _looked(
        self, published: PublishedValues, known: Sequence[str], shares: Saying, people: Ints, truth: Codes
    ) -> _Looked:
        right, top, fits = np.zeros(people.size), np.zeros(people.size), np.zeros(people.size, np.bool_)
        near = 0.0
        for part in Posterior(published, known, shares).of_people(self.people, people):
            right[part.targets] = chance_of_right(part.probability, truth[people][part.targets])
            top[part.targets] = part.probability.max(axis=1, initial=0.0)
            fits[part.targets] = part.probability.any(axis=1)
            near += float(part.rows.sum())
            if near > NEAR and int(fits.sum()) >= ENOUGH:
                break
        return _Looked(right, top, fits)


class _Looked(NamedTuple):
    """Of each person how likely the guess is right, how likely the likeliest value is, and whether any row fits."""

    right: Reals
    top: Reals
    fits: npt.NDArray[np.bool_]


def _as_many_as(most: int, rows: Findable) -> int:
    """Fewer pairs of columns in a large table, and where rows are found by labels."""
    cells = rows.people.height * (1 if rows.exact else LABELS)
    return max(FEWEST, min(most, most * MANY // max(1, cells)))


# what is learned of a plain column ------------------------------------------------------------------------------


def _learned_of(column: ToldApart, rows: Findable, options: Options) -> Result:
    """How sure whoever knows every quasi-identifier is of a plain value."""
    plain, truth = column.published, column.truth
    fewer = max(LEAST, min(options.sample, WORK // max(1, plain.values.len())))
    people = replace(options, sample=fewer).targets(truth.size)
    looked = rows.look(plain, group_shares(plain), people, truth)
    asked, prior = int(looked.fits.sum()), commonest_share(truth)
    success = float(looked.right[looked.fits].mean()) if asked else 0.0
    sure = looked.fits & (looked.top >= 1 - TIE)
    certain = float(sure.sum() / max(1, asked)) if prior < 1 else 0.0
    sampled = people.size < truth.size
    return Result(
        attack=ATTACK.name,
        question=f"{column.name}, a plain column, knowing {', '.join(rows.quasi) or 'nothing'}",
        attribute=column.name,
        adversary=rows.quasi,
        **score(success, asked, sampled),
        prior=prior,
        worst=float(looked.top.max(initial=0.0)),
        note=f"certain of {certain:.1%} of people" if certain else None,
        certain=certain,
    )


# what is learned from a plain column ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ToldApart:
    """The values of a plain column that are told apart: the part of each row, of each of the people, and in words."""

    published: PublishedValues
    truth: Codes
    rows: Ints
    people: Ints
    words: tuple[str, ...]

    @classmethod
    def by_values(cls, published: PublishedValues, original: pl.DataFrame) -> ToldApart:
        code, truth = published.code.astype(np.int64), published.true_codes(original)
        counts = np.bincount(code, minlength=published.values.len())
        texts = ["missing" if value is None else str(value) for value in published.values.to_list()]
        if counts.size <= VALUES:
            return cls(published, truth, code, truth.astype(np.int64), tuple(texts))
        if published.info.type == "number" and published.values.dtype.is_numeric():
            part_of = np.minimum((np.cumsum(counts) - counts) * PARTS // max(1, code.size), PARTS - 1)
            first, last = (
                np.searchsorted(part_of, np.arange(PARTS)),
                np.searchsorted(part_of, np.arange(PARTS), "right"),
            )
            words = [f"{texts[a]} to {texts[b - 1]}" if a < b else "" for a, b in zip(first, last, strict=True)]
        else:
            commonest = np.argsort(-counts, kind="stable")[: VALUES - 1]
            part_of = np.full(counts.size, VALUES - 1)
            part_of[commonest] = np.arange(commonest.size)
            words = [*(texts[i] for i in commonest), "a rare value"]
        people = np.where(truth < 0, -1, part_of[np.maximum(truth, 0)])
        return cls(published, truth, part_of[code], people, tuple(words))

    @property
    def name(self) -> str:
        return self.published.attribute

    @property
    def parts(self) -> PublishedValues:
        """The column as rows that each say their part."""
        numbers = pl.Series(range(len(self.words)), dtype=pl.Int64)
        return replace(self.published, code=self.rows.astype(np.int32), values=numbers)

    def some_people(self, sample: int, seed: int) -> Ints:
        """As many people of each part, or all that it has; of a smaller sample some of the same."""
        each = max(LEAST, sample // max(1, len(self.words)))
        order = np.random.default_rng(seed).permutation(self.people.size)
        order = order[np.argsort(self.people[order], kind="stable")]
        parts = self.people[order]
        begin = np.searchsorted(parts, parts)
        return np.sort(order[(np.arange(order.size) - begin < each) & (parts >= 0)])


class _Sensitive(NamedTuple):
    """What a release says of a sensitive attribute, and everybody's true value; the same where rows show their own."""

    published: PublishedValues
    truth: Codes
    own: PublishedValues | None
    own_truth: Codes

    @classmethod
    def by_release(cls, release: Release, published: PublishedValues, original: pl.DataFrame) -> _Sensitive:
        truth = published.true_codes(original)
        if not (release.traits.sensitive_in_rows and release.manifest.parameters.linked):
            return cls(published, truth, None, truth)
        own = own_values(release, published.attribute)
        return cls(published, truth, own, own.true_codes(original))


def _most_telling(column: ToldApart, truth: Codes) -> float:
    """How far above its share in the table a value is in the part of which it is, beyond doubt, most."""
    known = (column.people >= 0) & (truth >= 0)
    pairs = pl.DataFrame({"part": column.people[known], "value": truth[known]}).group_by("part", "value").len("rows")
    pairs = pairs.with_columns(pl.col("rows").sum().over("part").alias("people"))
    top = pairs.filter(pl.col("rows") == pl.col("rows").max().over("part")).unique("part").sort("part")
    least = (interval(rows / people, people, DOUBT)[0] for _, _, rows, people in top.iter_rows())
    return max(least, default=0.0) - commonest_share(truth)


def _learned_from(
    release: Release, column: ToldApart, sensitive: _Sensitive, rows: Findable, options: Options
) -> Result:
    """How often a sensitive value is guessed right by whoever sees, or knows, the plain value of the row."""
    people = column.some_people(options.sample, options.seed)
    shares = _shares_beside(release, column, sensitive, options.seed)
    seen = rows.look_beside(column, sensitive.own or sensitive.published, shares, people, sensitive.own_truth)
    fewer = column.some_people(min(options.sample, ENOUGH), options.seed)
    alone = rows.look(sensitive.published, group_shares(sensitive.published), fewer, sensitive.truth)
    parts = _Parts.by_people(column, (people, seen), (fewer, alone), commonest_share(sensitive.truth))
    bound = promised(release.manifest.claims, sensitive.published.attribute, rows.quasi, (column.name,))
    return _result(column, sensitive, parts, (people, seen), rows.quasi, bound)


def _shares_beside(release: Release, column: ToldApart, sensitive: _Sensitive, seed: int) -> Saying:
    """What every row says of a sensitive attribute by its plain value; its own value, where it shows that."""
    if sensitive.own is not None:
        return group_shares(sensitive.own)
    one, beside = Likelihoods.by_release(release, sensitive.published), column.parts
    other = Likelihoods(beside, 1 / beside.prior[beside.code])
    return WeighedShares.by_others(one, [other], Joints(release, seed))


@dataclass(frozen=True, eq=False)
class _Parts:
    """For each part of a plain column: its people, how many were looked at, and how guesses went.

    `alone` is how often guesses come true without the column: as often as they are sure to, or did, or by the prior.
    """

    people: Ints
    targets: Ints
    right: Reals
    alone: Reals

    @classmethod
    def by_people(
        cls, column: ToldApart, seen: tuple[Ints, _Looked], alone: tuple[Ints, _Looked], prior: float
    ) -> _Parts:
        size = len(column.words)

        def means(people: Ints, fits: npt.NDArray[np.bool_], *figures: Reals) -> Iterator[Reals]:
            part = column.people[people][fits]
            counts = np.bincount(part, minlength=size)
            yield counts.astype(np.float64)
            yield from (np.bincount(part, one[fits], size) / np.maximum(counts, 1) for one in figures)

        targets, right = means(seen[0], seen[1].fits, seen[1].right)
        _, without, sure = means(alone[0], alone[1].fits, alone[1].right, alone[1].top)
        everybody = np.bincount(column.people[column.people >= 0], minlength=size)
        return cls(everybody, targets.astype(np.int64), right, np.maximum(np.maximum(without, sure), prior))

    @property
    def telling(self) -> Ints:
        """The parts of which guesses come true more often than without the column, beyond doubt.

        A column may tell a little of many and all of a few: parts that tell less than half as much as another are left.
        """
        some = np.flatnonzero(self.targets)
        least = (interval(float(self.right[i]), int(self.targets[i]), DOUBT)[0] for i in some)
        telling = np.array([i for i, sure in zip(some, least, strict=True) if sure > self.alone[i]], np.int64)
        gain = (self.right - self.alone)[telling]
        most: Ints = telling[gain >= gain.max(initial=0.0) / 2]
        return most


def _result(
    column: ToldApart,
    sensitive: _Sensitive,
    parts: _Parts,
    looked: tuple[Ints, _Looked],
    quasi: Sequence[str],
    bound: float | None,
) -> Result:
    """About the people of the parts that tell, if any does; each part counts by its people."""
    telling = parts.telling
    picked = telling if telling.size else np.flatnonzero(parts.targets)
    targets, everybody = int(parts.targets[picked].sum()), int(parts.people[picked].sum())
    success = float((parts.people[picked] * parts.right[picked]).sum() / max(1, everybody))
    name, sampled = sensitive.published.attribute, targets < everybody
    witness, note, where = None, NOTHING_TOLD, ""
    if telling.size:
        most = int(telling[np.argmax(parts.right[telling] - parts.alone[telling])])
        witness, where = f"{column.name} = {column.words[most]}", f" where {column.name} tells of it"
        note = f"{parts.right[most]:.1%} of {parts.people[most]:,} people there; {parts.alone[most]:.1%} without it"
    people, seen = looked
    inside = np.isin(column.people[people], picked) & seen.fits
    exact = sensitive.own is not None and bound is not None
    return Result(
        attack=ATTACK.name,
        question=f"{name}{where}, knowing {', '.join([*quasi, column.name])}",
        attribute=name,
        adversary=(*quasi, column.name),
        **score(success, targets, sampled),
        prior=commonest_share(sensitive.truth),
        promised=bound,
        worst=float(seen.top[inside].max(initial=0.0)) if exact else None,
        witness=witness,
        note=note,
        share=everybody / max(1, column.people.size) if telling.size else None,
        whom=f"people of whom {quoted(column.name)} tells it" if telling.size else PEOPLE,
    )


ATTACK = PlainColumns()
