"""Association: all rows together tell how two sensitive attributes go together, and that picks the pair in each row.

Definition  Several sensitive attributes of a row are told of apart: a set for each, or a group for each. A row says
            value a of one attribute with the likelihood L(a): its belief, divided by how common a is overall (of drawn
            sets, P(set | a) itself). How common each pair (a, b) is is learned from all rows by expectation and
            maximization, beginning with independence:

                P(a, b | row)  ~  p(a, b) L(a) L(b),        p(a, b)  =  the mean of P(a, b | row).

            Two questions, each by the mean of the rows a person may be. Nothing but quasi-identifiers is known: each
            row is weighed by all its other attributes, as if these went together by way of the guessed one alone,

                P(a | row)  ~  p(a) L(a) · product over the others of the sum over b of p(b | a) L(b).

            This needs sets or groups that differ by attribute: in a group that is the same for both, how they go
            together tells no row from another. Or another value b is known as well: P(a | row, b) ~ p(a, b) L(a).
Reference   Dempster, Laird, Rubin: Maximum Likelihood from Incomplete Data. J. R. Stat. Soc. B 1977.
Exposed     candidates, decomposed, sliced, unlinked bucketized and generalized releases; multi, where two tables show
            columns in common. A claim about one attribute takes its values to be as likely as they are by themselves;
            whoever has learned how attributes go together is right more often. Against a claim of `posterior`, which
            names a design and no groups, that is a breach: `worst` is then what came true beyond doubt (4.5 standard
            errors), where that is more than row by row.
Exact       the step itself. Pairs are learned from at most PAIRS pairs of values, of rows drawn at random; attributes
            with more than DOMAIN pairs of values (KNOWN, where one is known) are not asked about; people are a sample
            above `sample`. Of multi releases the second question is asked where a claim bounds it. Groups are weighed
            row by row: that each value of a group is held as often as counted is not used again. A joint sensitive
            table of a decomposed release is taken as it is: nothing is to be learned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.adversary.candidate_rows import ranges, row_numbers, shared_codes
from pluralis.attacks.adversary.knowledge import commonest_share, quasi_identifiers, row_bound
from pluralis.attacks.adversary.posterior import CELLS, Guesses, Posterior, SomePosteriors, guess_likeliest
from pluralis.attacks.adversary.published_values import (
    PublishedValues,
    RowShares,
    Saying,
    group_shares,
    published_values,
)
from pluralis.attacks.base import Attack, Options, Result, beyond_doubt, interval, score
from pluralis.estimate import estimator_of
from pluralis.estimate.kinds.candidates import Candidates
from pluralis.kernels.association import Side, learn_pairs, weigh_by_other, weigh_pairs
from pluralis.release.release import Release
from pluralis.table.dictionaries import decode_table, different_numbers

STEPS = 200
STABLE = 1e-5  # by which the log likelihood of a row grows in the last step
PAIRS = 1_000_000  # of values, in all lines that are learned from
LINES = 100_000  # that are learned from
ASKED = 4_000_000  # of values, in all lines that people are guessed by
DOMAIN = 4_000_000  # pairs of values that two attributes may have
KNOWN = 20_000  # the same where one of them is known
NOTHING_LEARNED = "how sensitive attributes go together tells no more"

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Reals = npt.NDArray[np.float64]


class Association(Attack):
    name: ClassVar[str] = "association"
    title: ClassVar[str] = "association: how attributes that are published apart go together"
    reference: ClassVar[str] = "Dempster, Laird and Rubin 1977"
    headline: ClassVar[str] = "guesses right of people's {question}"

    def applies(self, release: Release) -> bool:
        every = published_values(release)
        return any(_links(release, one, other) is not None for one in every for other in every)

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> list[Result]:
        every = [Likelihoods.by_release(release, published) for published in published_values(release)]
        joints, results = Joints(release, options.seed), list[Result]()
        for one in every:
            hidden = _result_of_hidden(release, one, every, joints, original, options)
            results += [
                *([hidden] if hidden is not None else []),
                *_results_of_known(release, one, every, joints, original, options),
            ]
        return results


class Likelihoods(NamedTuple):
    """What a release says of one attribute: how likely each value makes what each entry of a group says."""

    published: PublishedValues
    like: Reals

    @classmethod
    def by_release(cls, release: Release, published: PublishedValues) -> Likelihoods:
        estimator = estimator_of(release) if release.traits.lists_values else None
        code, share = published.code, published.share
        if isinstance(estimator, Candidates):
            like = estimator.drawn[published.attribute].design.weight[code]
        else:
            like = np.divide(share, published.prior[code], out=np.zeros(code.size), where=share > 0)
        return cls(published, np.asarray(like, np.float64))


class OtherAttribute(NamedTuple):
    """What is told of another attribute of the rows of a table: row r is in line `line_of[r]`, -1 if nothing is."""

    line_of: Codes
    starts: Ints
    code: Codes
    like: Reals


@dataclass(frozen=True, eq=False)
class Pairs:
    """The different lines that rows say of two attributes, how many rows say each, and which line is each row's.

    Line i is that of group `group[i]` and of line `beside[i]` of the other attribute. Rows that say nothing of that are
    in line -1.
    """

    one: Likelihoods
    other: OtherAttribute
    group: Codes
    beside: Codes
    rows: Codes
    line_of: Codes

    @classmethod
    def by_rows(cls, one: Likelihoods, other: OtherAttribute) -> Pairs:
        width = other.starts.size + 1
        packed = one.published.group_of.astype(np.int64)
        packed *= width
        packed += other.line_of
        packed += 1
        different, place = different_numbers(packed)
        rows = np.bincount(place)
        group, line = np.divmod(different, width)
        known = line > 0
        number = np.where(known, np.cumsum(known) - 1, -1).astype(np.int32)
        line_of = number[place]
        of_known = [some[known].astype(np.int32) for some in (group, line - 1, rows)]
        return cls(one, other, of_known[0], of_known[1], of_known[2], line_of)

    @property
    def sizes(self) -> Ints:
        """How many pairs of values each line says."""
        of_groups, of_lines = np.diff(self.one.published.starts), np.diff(self.other.starts)
        return np.asarray(of_groups[self.group] * of_lines[self.beside])

    def sides(self, lines: npt.NDArray[np.integer]) -> tuple[Side, Side]:
        """What some lines say of either attribute."""
        (one, like), other = self.one, self.other
        group, beside = self.group[lines], self.beside[lines]
        return (
            Side(one.starts[group], one.starts[group + 1], one.code, like),
            Side(other.starts[beside], other.starts[beside + 1], other.code, other.like),
        )

    def learn(self, one: Reals, other: Reals, seed: int) -> Reals:
        """[a, b]: how common pairs of values are, by all rows; `one` and `other` are how common each value is.

        Where lines are more than can be learned from, by lines that are drawn at random.
        """
        lines, size = np.arange(self.group.size), self.sizes
        if size.size > LINES or int(size.sum()) > PAIRS:
            order = np.random.default_rng(seed).permutation(size.size)[:LINES]
            lines = np.sort(order[: max(1, int(np.searchsorted(np.cumsum(size[order]), PAIRS)))])
        return learn(*self.sides(lines), self.rows[lines].astype(np.float64), one, other)


def _links(release: Release, one: PublishedValues, other: PublishedValues) -> list[str] | None:
    """The columns by which rows of two tables are linked, none within a table; None where nothing is to be learned.

    That is so where both attributes stand side by side, and where nothing links the two.
    """
    if one.attribute == other.attribute:
        return None
    if one.table != other.table:
        return [name for name in one.shown.columns if name in other.shown.columns and _exact(one, other, name)] or None
    return None if _side_by_side(release, one, other) else []


def _same_groups(one: PublishedValues, other: PublishedValues) -> bool:
    """Whether rows share the same groups for both: how these go together then tells no row from another."""
    grouped = one.table == other.table and one.starts.size - 1 < one.group_of.size
    return grouped and bool(np.array_equal(one.group_of, other.group_of))


def _pairs_of_values(one: PublishedValues, other: PublishedValues) -> int:
    return one.values.len() * other.values.len()


def _exact(one: PublishedValues, other: PublishedValues, name: str) -> bool:
    return bool(one.infos[name].exact and other.infos[name].exact)


def _side_by_side(release: Release, one: PublishedValues, other: PublishedValues) -> bool:
    """Whether a table shows both in one row, of a person or of a group."""
    if not release.manifest.parameters.linked:
        return False
    for info in release.manifest.tables:
        if one.table and info.name.split("_")[0] != one.table:
            continue
        beside = {c.name for c in info.columns if not c.sets and (c.role == "sensitive" or c.exact)}
        grouped = info.named("group") or info.name == one.table
        if grouped and {one.attribute, other.attribute} <= beside:
            return True
    return False


# what is learned -------------------------------------------------------------------------------------------------


def _other_attribute(one: Likelihoods, other: Likelihoods, links: Sequence[str]) -> OtherAttribute:
    """What a release tells of another attribute of each row: by its own group, or by rows of another table."""
    here, there = one.published, other.published
    if not links:
        return OtherAttribute(there.group_of, there.starts, there.code, other.like)
    keep, shown = there.manifest.parameters.case, (here.shown, there.shown)
    codes = (shared_codes([frame[name] for frame in shown], fold_case=name not in keep) for name in links)
    line = row_numbers(map(np.concatenate, codes), here.shown.height + there.shown.height)
    line_here, line_there = line[: here.shown.height], line[here.shown.height :]
    groups = pl.DataFrame({"line": line_there, "group": there.group_of}).group_by("line", "group").len("rows")
    entries = pl.DataFrame({"group": there.entry_group, "code": there.code, "share": there.share})
    shares = groups.join(entries, on="group").group_by("line", "code").agg((pl.col("rows") * pl.col("share")).sum())
    shares = shares.with_columns(pl.col("rows") / pl.col("rows").sum().over("line")).sort("line", "code")
    code = shares["code"].to_numpy().astype(np.int32)
    starts = np.searchsorted(shares["line"].to_numpy(), np.arange(int(line.max(initial=-1)) + 2)).astype(np.int64)
    linked = np.diff(starts) > 0
    like = shares["rows"].to_numpy() / there.prior[code]
    return OtherAttribute(np.where(linked[line_here], line_here, -1), starts, code, like)


def learn(one: Side, other: Side, rows: Reals, prior: Reals, other_prior: Reals, steps: int = STEPS) -> Reals:
    """[a, b]: how common pairs of values are, by lines of so many rows; the priors are how common each value is."""
    alone = np.outer(prior, other_prior)
    joint, before, total = alone, -np.inf, max(1.0, float(rows.sum()))
    for _ in range(steps):
        tally = np.zeros_like(joint)
        likelihood = learn_pairs(one, other, rows, joint, tally)
        joint = tally / max(tally.sum(), 1e-300)
        if likelihood - before < STABLE * total:
            break
        before = likelihood
    learned: Reals = (total * joint + alone) / (total + 1)  # no pair is impossible because nobody drawn has it
    return learned


def _stated_joint(release: Release, one: PublishedValues, other: PublishedValues) -> Reals | None:
    """How common pairs are, where a release says so itself: a decomposed one whose sensitive table is joint."""
    if not release.traits.lists_of_groups or "sensitive" not in release.tables:
        return None
    table, shown = release.tables["sensitive"], {column.name for column in release.info("sensitive").named("sensitive")}
    if not {one.attribute, other.attribute} <= shown:  # a plain column may be called `count`
        return None
    joint = np.zeros((one.values.len(), other.values.len()))
    counts = decode_table(table.group_by(one.attribute, other.attribute).agg(pl.col("count").sum()))
    for published in (one, other):
        name = published.attribute
        codes = pl.DataFrame({name: published.values.cast(counts[name].dtype)}).with_row_index(f"\0{name}")
        counts = counts.join(codes, on=name)
    joint[counts[f"\0{one.attribute}"].to_numpy(), counts[f"\0{other.attribute}"].to_numpy()] = counts["count"]
    stated: Reals = joint / max(1.0, joint.sum())
    return stated


class Joints:
    """How common pairs of values are, as a release says or as all its rows show; each pair is learned once."""

    def __init__(self, release: Release, seed: int) -> None:
        self.release, self.seed = release, seed
        self.learned: dict[tuple[tuple[str, str], tuple[str, str]], Reals] = {}

    def joint(self, one: PublishedValues, other: PublishedValues, pairs: Pairs) -> Reals:
        """[a, b]: how common it is that a row has a and b."""
        asked = (one.table, one.attribute), (other.table, other.attribute)
        if asked not in self.learned:
            joint = _stated_joint(self.release, one, other)
            if joint is None:
                joint = pairs.learn(one.prior, other.prior, self.seed)
            self.learned[asked], self.learned[asked[::-1]] = joint, joint.T.copy()
        return self.learned[asked]


# what follows for people ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Message:
    """What another attribute of each row says of one; given[a, b] is how common b is among those who have a."""

    name: str
    pairs: Pairs
    given: Reals

    def of_rows(self, rows: Ints) -> tuple[npt.NDArray[np.bool_], Reals]:
        """Which of these rows are told of, and how likely each share of those makes what is told, row by row."""
        line_of = self.pairs.line_of[rows]
        covered = line_of >= 0
        lines, place = np.unique(line_of[covered], return_inverse=True)
        one, other = self.pairs.sides(lines)
        width = one.end - one.begin
        starts = np.cumsum(width) - width
        out = np.empty(int(width.sum()))
        weigh_by_other(one, other, self.given, starts, out)
        return covered, out[ranges(starts[place], width[place])]


def _messages(one: Likelihoods, others: Sequence[Likelihoods], joints: Joints) -> Iterator[_Message]:
    """What each other attribute says; nothing where it is too much."""
    for other in others:
        links = _links(joints.release, one.published, other.published)
        if links is None or _pairs_of_values(one.published, other.published) > DOMAIN:
            continue
        pairs = Pairs.by_rows(one, _other_attribute(one, other, links))
        joint = joints.joint(one.published, other.published, pairs)
        total = joint.sum(axis=1, keepdims=True)
        given = np.where(total > 0, joint / np.where(total > 0, total, 1.0), other.published.prior)
        where = f" ({other.published.table})" if other.published.table else ""
        yield _Message(f"{other.published.attribute}{where}", pairs, given)


@dataclass(frozen=True, eq=False)
class WeighedShares:
    """What each row says by all that is told of its other attributes, worked out for the rows that are asked about.

    Rows from `beyond` on stay as their groups are.
    """

    one: PublishedValues
    messages: Sequence[_Message]
    beyond: int

    @classmethod
    def by_others(cls, one: Likelihoods, others: Sequence[Likelihoods], joints: Joints) -> WeighedShares:
        width = np.diff(one.published.starts)[one.published.group_of]
        beyond = int(np.searchsorted(np.cumsum(width), CELLS, side="right"))
        return cls(one.published, [*_messages(one, others, joints)], beyond)

    @property
    def names(self) -> list[str]:
        """The other attributes."""
        return [message.name for message in self.messages]

    def of_rows(self, rows: Ints) -> RowShares:
        whole = group_shares(self.one)
        own = np.flatnonzero(rows < self.beyond)
        group = self.one.group_of[rows[own]]
        begin, end = whole.begin[group], whole.end[group]
        width = end - begin
        first = np.cumsum(width) - width
        alone = whole.share[ranges(begin, width)]
        share = alone
        for message in self.messages:
            covered, weight = message.of_rows(rows[own])
            weighed = share.copy()
            weighed[np.repeat(covered, width)] *= weight
            total = np.repeat(_sums(weighed, width), width)
            share = np.divide(weighed, total, out=alone.copy(), where=total > 0)
        line_of = self.one.group_of[rows].astype(np.int64)
        line_of[own] = whole.begin.size + np.arange(own.size)
        shift = np.append(whole.shift, whole.code.size + first - begin)
        begin, end = np.append(whole.begin, begin), np.append(whole.end, end)
        return RowShares(line_of, begin, end, whole.code, np.append(whole.share, share), shift)


def _sums(values: Reals, width: Ints) -> Reals:
    """The sums of so many values each, one after the other."""
    row = np.repeat(np.arange(width.size), width)
    return np.asarray(np.bincount(row, values, width.size), np.float64)


@dataclass(frozen=True, eq=False)
class PairShares:
    """What each row says of pairs of values, worked out for the rows that are asked about.

    Rows whose lines are beyond ASKED of them say nothing.
    """

    pairs: Pairs
    joint: Reals

    def of_rows(self, rows: Ints) -> RowShares:
        sizes, line_of = self.pairs.sizes, self.pairs.line_of[rows]
        kept = int(np.searchsorted(np.cumsum(sizes), ASKED, side="right"))
        says = (line_of >= 0) & (line_of < kept)
        lines, place = np.unique(line_of[says], return_inverse=True)
        ends = np.cumsum(sizes[lines])
        begin, values = ends - sizes[lines], int(sizes[lines].sum())
        code, share = np.empty(values, np.int32), np.empty(values)
        weigh_pairs(*self.pairs.sides(lines), self.joint, begin, code, share)
        line = np.full(rows.size, lines.size)  # that of nothing
        line[says] = place
        return RowShares.unshifted(line, np.append(begin, 0), np.append(ends, 0), code, share)


def _given(posteriors: Iterator[SomePosteriors], known: npt.NDArray[np.int32], width: int) -> Iterator[SomePosteriors]:
    """The posterior of one attribute by that of pairs (code · width + that of the other), the other being known."""
    for part in posteriors:
        other = known[part.targets]
        pairs = part.probability.reshape(part.targets.size, -1, width)
        one = pairs[np.arange(part.targets.size), :, np.maximum(other, 0)]
        one = np.where(other[:, None] >= 0, one, 0.0)
        yield part._replace(probability=one / np.maximum(one.sum(axis=1, keepdims=True), 1e-300))


def _result_of_hidden(
    release: Release,
    one: Likelihoods,
    every: Sequence[Likelihoods],
    joints: Joints,
    original: pl.DataFrame,
    options: Options,
) -> Result | None:
    """Nothing is known but quasi-identifiers: each row is weighed by what it says of its other attributes."""
    here = one.published
    others = [
        other
        for other in every
        if _links(release, here, other.published) is not None and not _same_groups(here, other.published)
    ]
    if not others:
        return None
    shares = WeighedShares.by_others(one, others, joints)
    left = [other.published.attribute for other in others if _pairs_of_values(here, other.published) > DOMAIN]
    note = f"; too many pairs of values with {', '.join(left)}" if left else ""
    how = f"by how it goes with {', '.join(shares.names)} in all rows" if shares.names else "by itself"
    return _result(release, here, shares, group_shares(here), original, options, how=how, note=note)


def _results_of_known(
    release: Release,
    one: Likelihoods,
    every: Sequence[Likelihoods],
    joints: Joints,
    original: pl.DataFrame,
    options: Options,
) -> Iterator[Result]:
    """Another sensitive value is known, too: whatever is promised, and else the one that tells most.

    Of several tables only what is promised: people may be many rows there, which takes long.
    """
    results, here = [], one.published
    for other in every:
        there = other.published
        links = _links(release, here, there)
        if links is None or _pairs_of_values(here, there) > KNOWN:
            continue
        known = [*quasi_identifiers(release), there.attribute]
        if release.traits.has_subtables and row_bound(release.manifest.claims, here.attribute, known)[0] is None:
            continue
        pairs = Pairs.by_rows(one, _other_attribute(one, other, links))
        shares = PairShares(pairs, joints.joint(here, there, pairs))
        apart = PairShares(pairs, np.outer(here.prior, there.prior))
        how = f"knowing {there.attribute} and how both go together"
        results.append(_result(release, here, shares, apart, original, options, other=there, how=how))
    yield from (result for result in results if result.promised is not None)
    if free := [result for result in results if result.promised is None]:
        yield max(free, key=lambda result: result.success)


def _result(
    release: Release,
    one: PublishedValues,
    shares: Saying,
    apart: Saying,
    original: pl.DataFrame,
    options: Options,
    *,
    other: PublishedValues | None = None,
    how: str,
    note: str = "",
) -> Result:
    """The score against one attribute, in one table; `other` is a sensitive attribute that is known, too.

    `apart` is what rows say if attributes have nothing to do with each other.
    """
    quasi = [name for name in one.quasi if name in quasi_identifiers(release)]
    known = [*quasi, *([other.attribute] if other is not None else [])]
    targets, truth = options.targets(original.height), one.true_codes(original)
    width = 0 if other is None else other.values.len()
    asked = one if other is None else replace(one, values=pl.Series(range(one.values.len() * width)))

    def guessed(by: Saying) -> Guesses:
        posteriors = Posterior(asked, quasi, by).of_people(original, targets)
        if other is not None:
            posteriors = _given(posteriors, other.true_codes(original)[targets], width)
        return guess_likeliest(posteriors, truth[targets])

    guesses, alone = guessed(shares), guessed(apart)
    learned = interval(guesses.success, guesses.targets)[0] > alone.success
    sampled = targets.size < original.height
    bound, drawn = row_bound(release.manifest.claims, one.attribute, known)
    where = f" in {one.table}" if one.table else ""
    worst = None
    if drawn and bound is not None:
        worst = beyond_doubt(guesses.success, alone.success, guesses.targets, bound)
    return Result(
        attack=ATTACK.name,
        question=f"{one.attribute}{where}, {how}",
        attribute=one.attribute,
        adversary=tuple(known),
        **score(guesses.success, guesses.targets, sampled),
        prior=commonest_share(truth),
        promised=bound,
        worst=worst,
        note=f"row by row {alone.success:.1%}{'' if learned else f': {NOTHING_LEARNED}'}{note}",
    )


ATTACK = Association()
