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
from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.adversary.candidate_rows import one_spelling, ranges, row_numbers, shared_codes
from pluralis.attacks.adversary.knowledge import commonest_share, quasi_identifiers, row_bound
from pluralis.attacks.adversary.posterior import CELLS, Guesses, Posterior, SomePosteriors, guess_likeliest
from pluralis.attacks.adversary.published_values import PublishedValues, RowShares, group_shares, published_values
from pluralis.attacks.base import Attack, Options, Result, beyond_doubt, interval, score
from pluralis.estimate import estimator_of
from pluralis.estimate.kinds.candidates import Candidates
from pluralis.kernels.association import Side, learn_pairs, weigh_by_other, weigh_pairs
from pluralis.release.release import Release

STEPS = 200
STABLE = 1e-5  # by which the log likelihood of a row grows in the last step
PAIRS = 1_000_000  # of values, in all lines that are learned from
LINES = 100_000  # that are learned from
ASKED = 4_000_000  # of values, in all lines that people are guessed by
DOMAIN = 4_000_000  # pairs of values that two attributes may have
KNOWN = 20_000  # the same where one of them is known
NOTHING_LEARNED = "how sensitive attributes go together tells no more"

Ints = npt.NDArray[np.int64]
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

    line_of: Ints
    starts: Ints
    code: npt.NDArray[np.int32]
    like: Reals


class Pairs(NamedTuple):
    """The different lines that rows say of two attributes, how many rows say each, and which line is each row's.

    Rows that say nothing of the other attribute are in line -1.
    """

    one: Side
    other: Side
    rows: Reals
    line_of: Ints


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
        return OtherAttribute(there.group_of.astype(np.int64), there.starts, there.code, other.like)
    keep = there.manifest.parameters.case
    columns = []
    for name in links:
        both = [one_spelling(frame[name], fold_case=name not in keep) for frame in (here.shown, there.shown)]
        columns.append(np.concatenate(shared_codes(both)))
    line = row_numbers(columns)
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


def _pairs(one: Likelihoods, beside: OtherAttribute) -> Pairs:
    published = one.published
    packed = published.group_of.astype(np.int64) * (beside.starts.size + 1) + beside.line_of + 1
    different, pair_of, rows = np.unique(packed, return_inverse=True, return_counts=True)
    group, line = different // (beside.starts.size + 1), different % (beside.starts.size + 1) - 1
    known = line >= 0
    number = np.where(known, np.cumsum(known) - 1, -1)
    group, line = group[known], line[known]
    return Pairs(
        Side(published.starts[group], published.starts[group + 1], published.code, one.like),
        Side(beside.starts[line], beside.starts[line + 1], beside.code, beside.like),
        rows[known].astype(np.float64),
        number[pair_of.ravel()],
    )


def _some_lines(pairs: Pairs, seed: int) -> Pairs:
    """As many lines as can be learned from, drawn at random."""
    size = (pairs.one.end - pairs.one.begin) * (pairs.other.end - pairs.other.begin)
    if size.size <= LINES and int(size.sum()) <= PAIRS:
        return pairs
    order = np.random.default_rng(seed).permutation(size.size)[:LINES]
    kept = np.sort(order[: max(1, int(np.searchsorted(np.cumsum(size[order]), PAIRS)))])
    one, other = (side._replace(begin=side.begin[kept], end=side.end[kept]) for side in (pairs.one, pairs.other))
    return Pairs(one, other, pairs.rows[kept], pairs.line_of[:0])


def learn(pairs: Pairs, one: Reals, other: Reals, steps: int = STEPS) -> Reals:
    """[a, b]: how common pairs of values are, by all rows; `one` and `other` are how common each value is."""
    alone = np.outer(one, other)
    joint, before, rows = alone, -np.inf, max(1.0, float(pairs.rows.sum()))
    for _ in range(steps):
        tally = np.zeros_like(joint)
        likelihood = learn_pairs(pairs.one, pairs.other, pairs.rows, joint, tally)
        joint = tally / max(tally.sum(), 1e-300)
        if likelihood - before < STABLE * rows:
            break
        before = likelihood
    learned: Reals = (rows * joint + alone) / (rows + 1)  # no pair is impossible because nobody drawn has it
    return learned


def _stated_joint(release: Release, one: PublishedValues, other: PublishedValues) -> Reals | None:
    """How common pairs are, where a release says so itself: a decomposed one whose sensitive table is joint."""
    if not release.traits.lists_of_groups or "sensitive" not in release.tables:
        return None
    table, shown = release.tables["sensitive"], {column.name for column in release.info("sensitive").named("sensitive")}
    if not {one.attribute, other.attribute} <= shown:  # a plain column may be called `count`
        return None
    joint = np.zeros((one.values.len(), other.values.len()))
    counts = table.group_by(one.attribute, other.attribute).agg(pl.col("count").sum())
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
                joint = learn(_some_lines(pairs, self.seed), one.prior, other.prior)
            self.learned[asked], self.learned[asked[::-1]] = joint, joint.T.copy()
        return self.learned[asked]


# what follows for people ----------------------------------------------------------------------------------------


def _messages(
    release: Release, one: Likelihoods, others: Sequence[Likelihoods], shares: RowShares, joints: Joints
) -> Iterator[tuple[str, Reals]]:
    """For each other attribute how likely each share makes what its row says of that; nothing where it is too much."""
    entries = shares.end - shares.begin
    for other in others:
        links = _links(release, one.published, other.published)
        if links is None or _pairs_of_values(one.published, other.published) > DOMAIN:
            continue
        pairs = _pairs(one, _other_attribute(one, other, links))
        joint = joints.joint(one.published, other.published, pairs)
        total = joint.sum(axis=1, keepdims=True)
        given = np.where(total > 0, joint / np.where(total > 0, total, 1.0), other.published.prior)
        width = pairs.one.end - pairs.one.begin
        starts = np.cumsum(width) - width
        out = np.empty(int(width.sum()))
        weigh_by_other(pairs.one, pairs.other, given, starts, out)
        message = np.ones(int(entries.sum()))
        rows = np.flatnonzero((pairs.line_of >= 0) & (entries > 0))
        places = ranges(np.cumsum(entries)[rows] - entries[rows], entries[rows])
        message[places] = out[ranges(starts[pairs.line_of[rows]], entries[rows])]
        where = f" ({other.published.table})" if other.published.table else ""
        yield f"{other.published.attribute}{where}", message


def weighed_shares(
    release: Release, one: Likelihoods, others: Sequence[Likelihoods], joints: Joints
) -> tuple[RowShares, list[str]]:
    """What each row says by all that is told of its other attributes, and which these are."""
    whole = group_shares(one.published)
    within = np.cumsum(whole.end - whole.begin) <= CELLS  # rows beyond stay as their groups are
    some = RowShares(whole.begin, np.where(within, whole.end, whole.begin), whole.code, whole.share)
    entries = some.end - some.begin
    entry, row = ranges(some.begin, entries), np.repeat(np.arange(entries.size), entries)
    share, names = whole.share[entry], []
    for name, message in _messages(release, one, others, some, joints):
        names.append(name)
        share = share * message
        total = np.bincount(row, share, entries.size)[row]
        share = np.divide(share, total, out=whole.share[entry].copy(), where=total > 0)
    first = np.cumsum(entries) - entries + whole.code.size
    begin, end = np.where(within, first, whole.begin), np.where(within, first + entries, whole.end)
    return RowShares(begin, end, np.append(whole.code, whole.code[entry]), np.append(whole.share, share)), names


def _pair_shares(pairs: Pairs, joint: Reals) -> RowShares:
    """What each row says of pairs of values; rows beyond ASKED of them say nothing."""
    size = (pairs.one.end - pairs.one.begin) * (pairs.other.end - pairs.other.begin)
    ends = np.cumsum(size)
    kept = int(np.searchsorted(ends, ASKED, side="right"))
    code, share = np.empty(int(ends[kept - 1]) if kept else 0, np.int32), np.empty(int(ends[kept - 1]) if kept else 0)
    weigh_pairs(pairs.one, pairs.other, joint, ends[:kept] - size[:kept], code, share)
    weighed = (pairs.line_of >= 0) & (pairs.line_of < kept)
    line = np.where(weighed, pairs.line_of, 0)
    begin = np.where(weighed, (ends - size)[line], 0) if size.size else np.zeros(line.size, np.int64)
    end = np.where(weighed, ends[line], 0) if size.size else begin
    return RowShares(begin, end, code, share)


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
    shares, names = weighed_shares(release, one, others, joints)
    left = [other.published.attribute for other in others if _pairs_of_values(here, other.published) > DOMAIN]
    note = f"; too many pairs of values with {', '.join(left)}" if left else ""
    how = f"by how it goes with {', '.join(names)} in all rows" if names else "by itself"
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
        pairs = _pairs(one, _other_attribute(one, other, links))
        shares = _pair_shares(pairs, joints.joint(here, there, pairs))
        apart = _pair_shares(pairs, np.outer(here.prior, there.prior))
        how = f"knowing {there.attribute} and how both go together"
        results.append(_result(release, here, shares, apart, original, options, other=there, how=how))
    yield from (result for result in results if result.promised is not None)
    if free := [result for result in results if result.promised is None]:
        yield max(free, key=lambda result: result.success)


def _result(
    release: Release,
    one: PublishedValues,
    shares: RowShares,
    apart: RowShares,
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

    def guessed(by: RowShares) -> Guesses:
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
