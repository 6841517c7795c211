"""Association: all rows together tell how two secrets go together, and that picks the pair in each row.

Definition  Several sensitive attributes of a row are told of apart: a set for each, or a group for each. A row says
            value a of one attribute with the likelihood L(a): its belief, divided by how common a is overall (of drawn
            sets, P(set | a) itself). How common each pair (a, b) is is learnt from all rows by expectation and
            maximisation, beginning with independence:

                P(a, b | row)  ~  p(a, b) L(a) L(b),        p(a, b)  =  the mean of P(a, b | row).

            Two questions, each by the mean of the rows a person may be. Nothing but quasi values is known: each row is
            weighed by all its other attributes, as if these went together by way of the guessed one alone,

                P(a | row)  ~  p(a) L(a) · product over the others of the sum over b of p(b | a) L(b).

            This needs sets or groups that differ by attribute: in a group that is the same for both, how they go
            together tells no row from another. Or another secret b is known as well: P(a | row, b) ~ p(a, b) L(a).
Reference   Dempster, Laird, Rubin: Maximum Likelihood from Incomplete Data. J. R. Stat. Soc. B 1977.
Exposed     candidates, decomposed, sliced, unlinked bucketized and generalized releases; multi, where two tables show
            columns in common. A claim about one attribute takes its values to be as likely as they are by themselves;
            whoever has learnt how attributes go together is right more often. Against a claim of `posterior`, which
            names a design and no groups, that is a breach: `worst` is then what came true beyond doubt (4.5 standard
            errors), where that is more than row by row.
Exact       the step itself. Pairs are learnt from at most PAIRS pairs of values, of rows drawn at random; attributes
            with more than DOMAIN pairs of values (KNOWN, where one is known) are not asked about; people are a sample
            above `sample`. Of multi releases the second question is asked where a claim bounds it. Groups are weighed
            row by row: that each value of a group is held as often as counted is not used again. A joint sensitive
            table of a decomposed release is taken as it is: nothing is to be learnt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.adversary.group_values import codes_of, core_of, dense
from pluralis.attacks.adversary.posterior import (
    CELLS,
    Cells,
    Said,
    View,
    chance_of_right,
    commonest,
    of_groups,
    overall_of,
    ranges,
    said_by,
)
from pluralis.attacks.adversary.questions import quasi_of, row_bound
from pluralis.attacks.base import Attack, Options, Result, beyond_doubt, bounds, interval
from pluralis.estimate import estimator_of
from pluralis.estimate.kinds.candidates import Candidates
from pluralis.kernels.association import Side, learn_pairs, weigh_by_other, weigh_pairs
from pluralis.release.release import Release

STEPS = 200
STABLE = 1e-5  # by which the log likelihood of a row grows in the last step
PAIRS = 1_000_000  # of values, in all lines that are learnt from
LINES = 100_000  # that are learnt from
ASKED = 4_000_000  # of values, in all lines that people are guessed by
DOMAIN = 4_000_000  # pairs of values that two attributes may have
KNOWN = 20_000  # the same where one of them is known
NOTHING_LEARNT = "how secrets go together tells no more"

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


class Association(Attack):
    name: ClassVar[str] = "association"
    title: ClassVar[str] = "association: how secrets that are published apart go together"
    reference: ClassVar[str] = "Dempster, Laird and Rubin 1977"
    gets: ClassVar[str] = "guesses right of people's {question}"

    def applies(self, release: Release) -> bool:
        said = said_by(release)
        return any(_linked(release, one, other) is not None for one in said for other in said)

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> list[Result]:
        told = [Told.of(release, said) for said in said_by(release)]
        joints, results = Joints(release, options.seed), list[Result]()
        for one in told:
            hidden = _hidden(release, one, told, joints, original, options)
            results += [
                *([hidden] if hidden is not None else []),
                *_known(release, one, told, joints, original, options),
            ]
        return results


class Told(NamedTuple):
    """What a release says of one attribute: groups, entry by entry, with how likely each is and how common overall."""

    said: Said
    like: Reals
    overall: Reals

    @classmethod
    def of(cls, release: Release, said: Said) -> Told:
        overall = overall_of(said)
        estimator = estimator_of(release) if release.kind == "candidates" else None
        if isinstance(estimator, Candidates):
            like = estimator.drawn[said.attribute].design.weight[said.code]
        else:
            like = np.divide(said.share, overall[said.code], out=np.zeros(said.code.size), where=said.share > 0)
        return cls(said, np.asarray(like, np.float64), overall)


class Beside(NamedTuple):
    """What is told of another attribute of the rows of a table: row r is in line `of_row[r]`, -1 if nothing is."""

    of_row: Ints
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
    of_row: Ints


def _linked(release: Release, one: Said, other: Said) -> list[str] | None:
    """The columns by which rows of two tables are linked, none within a table; None where nothing is to be learnt.

    That is so where both attributes stand side by side, and where nothing links the two.
    """
    if one.attribute == other.attribute:
        return None
    if one.table != other.table:
        return [name for name in one.shown.columns if name in other.shown.columns and _exact(one, other, name)] or None
    return None if _side_by_side(release, one, other) else []


def _alike(one: Told, other: Told) -> bool:
    """Whether rows share the same groups for both: how these go together then tells no row from another."""
    grouped = one.said.table == other.said.table and one.said.starts.size - 1 < one.said.of_row.size
    return grouped and bool(np.array_equal(one.said.of_row, other.said.of_row))


def _pairs_of_values(one: Told, other: Told) -> int:
    return one.said.values.len() * other.said.values.len()


def _exact(one: Said, other: Said, name: str) -> bool:
    return bool(one.infos[name].exact and other.infos[name].exact)


def _side_by_side(release: Release, one: Said, other: Said) -> bool:
    """Whether a table shows both in one row, of a person or of a group."""
    if not release.manifest.parameters.get("linked", True):
        return False
    mine = (info for info in release.manifest.tables if not one.table or info.name.split("_")[0] == one.table)
    for info in mine:
        beside = {c.name for c in info.columns if not c.sets and (c.role == "sensitive" or c.exact)}
        grouped = info.named("group") or info.name == one.table
        if grouped and {one.attribute, other.attribute} <= beside:
            return True
    return False


# what is learnt -------------------------------------------------------------------------------------------------


def _beside(one: Told, other: Told, linked: Sequence[str]) -> Beside:
    """What a release tells of another attribute of each row: by its own group, or by rows of another table."""
    said = other.said
    if not linked:
        return Beside(said.of_row.astype(np.int64), said.starts, said.code, other.like)
    keep = said.manifest.parameters.get("case", [])
    columns = []
    for name in linked:
        both = [core_of(frame[name], fold_case=name not in keep) for frame in (one.said.shown, said.shown)]
        columns.append(np.concatenate(codes_of(both)))
    line = dense(columns)
    mine, theirs = line[: one.said.shown.height], line[one.said.shown.height :]
    groups = pl.DataFrame({"line": theirs, "group": said.of_row}).group_by("line", "group").len("rows")
    entries = pl.DataFrame({"group": said.of_entry, "code": said.code, "share": said.share})
    held = groups.join(entries, on="group").group_by("line", "code").agg((pl.col("rows") * pl.col("share")).sum())
    held = held.with_columns(pl.col("rows") / pl.col("rows").sum().over("line")).sort("line", "code")
    code = held["code"].to_numpy().astype(np.int32)
    starts = np.searchsorted(held["line"].to_numpy(), np.arange(int(line.max(initial=-1)) + 2)).astype(np.int64)
    found = np.diff(starts) > 0
    return Beside(np.where(found[mine], mine, -1), starts, code, held["rows"].to_numpy() / other.overall[code])


def _pairs(one: Told, beside: Beside) -> Pairs:
    said = one.said
    packed = said.of_row.astype(np.int64) * (beside.starts.size + 1) + beside.of_row + 1
    different, of_row, rows = np.unique(packed, return_inverse=True, return_counts=True)
    group, line = different // (beside.starts.size + 1), different % (beside.starts.size + 1) - 1
    known = line >= 0
    number = np.where(known, np.cumsum(known) - 1, -1)
    group, line = group[known], line[known]
    return Pairs(
        Side(said.starts[group], said.starts[group + 1], said.code, one.like),
        Side(beside.starts[line], beside.starts[line + 1], beside.code, beside.like),
        rows[known].astype(np.float64),
        number[of_row.ravel()],
    )


def _some(pairs: Pairs, seed: int) -> Pairs:
    """As many lines as can be learnt from, drawn at random."""
    size = (pairs.one.end - pairs.one.begin) * (pairs.other.end - pairs.other.begin)
    if size.size <= LINES and int(size.sum()) <= PAIRS:
        return pairs
    order = np.random.default_rng(seed).permutation(size.size)[:LINES]
    kept = np.sort(order[: max(1, int(np.searchsorted(np.cumsum(size[order]), PAIRS)))])
    one, other = (side._replace(begin=side.begin[kept], end=side.end[kept]) for side in (pairs.one, pairs.other))
    return Pairs(one, other, pairs.rows[kept], pairs.of_row[:0])


def learn(pairs: Pairs, one: Reals, other: Reals, steps: int = STEPS) -> Reals:
    """[a, b]: how common pairs of values are, by all rows; `one` and `other` are how common each value is."""
    alone = np.outer(one, other)
    joint, before, rows = alone, -np.inf, max(1.0, float(pairs.rows.sum()))
    for _ in range(steps):
        tally = np.zeros_like(joint)
        said = learn_pairs(pairs.one, pairs.other, pairs.rows, joint, tally)
        joint = tally / max(tally.sum(), 1e-300)
        if said - before < STABLE * rows:
            break
        before = said
    learnt: Reals = (rows * joint + alone) / (rows + 1)  # no pair is impossible because nobody drawn has it
    return learnt


def _stated(release: Release, one: Said, other: Said) -> Reals | None:
    """How common pairs are, where a release says so itself: a decomposed one whose sensitive table is joint."""
    table = release.tables.get("sensitive") if release.kind == "decomposed" else None
    if table is None or not {one.attribute, other.attribute} <= {*table.columns}:
        return None
    joint = np.zeros((one.values.len(), other.values.len()))
    counts = table.group_by(one.attribute, other.attribute).agg(pl.col("count").sum())
    for said in (one, other):
        known = pl.DataFrame({said.attribute: said.values.cast(counts[said.attribute].dtype)}).with_row_index(
            f"\0{said.attribute}"
        )
        counts = counts.join(known, on=said.attribute)
    joint[counts[f"\0{one.attribute}"].to_numpy(), counts[f"\0{other.attribute}"].to_numpy()] = counts["count"]
    stated: Reals = joint / max(1.0, joint.sum())
    return stated


class Joints:
    """How common pairs of values are, as a release says or as all its rows show; each pair is learnt once."""

    def __init__(self, release: Release, seed: int) -> None:
        self.release, self.seed = release, seed
        self.found: dict[tuple[tuple[str, str], tuple[str, str]], Reals] = {}

    def of(self, one: Told, other: Told, pairs: Pairs) -> Reals:
        """[a, b]: how common it is that a row has a and b."""
        asked = (one.said.table, one.said.attribute), (other.said.table, other.said.attribute)
        if asked not in self.found:
            joint = _stated(self.release, one.said, other.said)
            if joint is None:
                joint = learn(_some(pairs, self.seed), one.overall, other.overall)
            self.found[asked], self.found[asked[::-1]] = joint, joint.T.copy()
        return self.found[asked]


# what follows for people ----------------------------------------------------------------------------------------


def _messages(
    release: Release, one: Told, others: Sequence[Told], cells: Cells, joints: Joints
) -> Iterator[tuple[str, Reals]]:
    """For each other attribute how likely each cell makes what its row says of that; nothing where it is too much."""
    held = cells.end - cells.begin
    for other in others:
        linked = _linked(release, one.said, other.said)
        if linked is None or _pairs_of_values(one, other) > DOMAIN:
            continue
        pairs = _pairs(one, _beside(one, other, linked))
        joint = joints.of(one, other, pairs)
        of = joint.sum(axis=1, keepdims=True)
        given = np.where(of > 0, joint / np.where(of > 0, of, 1.0), other.overall)
        width = pairs.one.end - pairs.one.begin
        starts = np.cumsum(width) - width
        out = np.empty(int(width.sum()))
        weigh_by_other(pairs.one, pairs.other, given, starts, out)
        message = np.ones(int(held.sum()))
        rows = np.flatnonzero((pairs.of_row >= 0) & (held > 0))
        at = ranges(np.cumsum(held)[rows] - held[rows], held[rows])
        message[at] = out[ranges(starts[pairs.of_row[rows]], held[rows])]
        where = f" ({other.said.table})" if other.said.table else ""
        yield f"{other.said.attribute}{where}", message


def _weighed(release: Release, one: Told, others: Sequence[Told], joints: Joints) -> tuple[Cells, list[str]]:
    """What each row says by all that is told of its other attributes, and which these are."""
    whole = of_groups(one.said)
    within = np.cumsum(whole.end - whole.begin) <= CELLS  # rows beyond stay as their groups are
    mine = Cells(whole.begin, np.where(within, whole.end, whole.begin), whole.code, whole.share)
    held = mine.end - mine.begin
    entry, row = ranges(mine.begin, held), np.repeat(np.arange(held.size), held)
    share, names = whole.share[entry], []
    for name, message in _messages(release, one, others, mine, joints):
        names.append(name)
        share = share * message
        total = np.bincount(row, share, held.size)[row]
        share = np.divide(share, total, out=whole.share[entry].copy(), where=total > 0)
    at = np.cumsum(held) - held + whole.code.size
    begin, end = np.where(within, at, whole.begin), np.where(within, at + held, whole.end)
    return Cells(begin, end, np.append(whole.code, whole.code[entry]), np.append(whole.share, share)), names


def _joint_cells(pairs: Pairs, joint: Reals) -> Cells:
    """What each row says of pairs of values; rows beyond ASKED of them say nothing."""
    size = (pairs.one.end - pairs.one.begin) * (pairs.other.end - pairs.other.begin)
    ends = np.cumsum(size)
    kept = int(np.searchsorted(ends, ASKED, side="right"))
    code, share = np.empty(int(ends[kept - 1]) if kept else 0, np.int32), np.empty(int(ends[kept - 1]) if kept else 0)
    weigh_pairs(pairs.one, pairs.other, joint, ends[:kept] - size[:kept], code, share)
    told = (pairs.of_row >= 0) & (pairs.of_row < kept)
    line = np.where(told, pairs.of_row, 0)
    begin = np.where(told, (ends - size)[line], 0) if size.size else np.zeros(line.size, np.int64)
    end = np.where(told, ends[line], 0) if size.size else begin
    return Cells(begin, end, code, share)


class Score(NamedTuple):
    """People whom a row fits, and the share of them that was guessed right."""

    targets: int
    success: float


def scored(
    view: View,
    original: pl.DataFrame,
    targets: Ints,
    truth: npt.NDArray[np.int32],
    beside: npt.NDArray[np.int32] | None = None,
    width: int = 0,
) -> Score:
    """How often the likeliest value is right; whom no row fits is not asked about.

    Where the value of another attribute is known (`beside`), cells are of pairs: code · width + that value.
    """
    right, asked = 0.0, 0
    for part, beliefs, _ in view.beliefs(original, targets):
        if beside is not None:
            told = beliefs.reshape(part.size, -1, width)[np.arange(part.size), :, np.maximum(beside[part], 0)]
            beliefs = np.where(beside[part, None] >= 0, told, 0.0)
            beliefs /= np.maximum(beliefs.sum(axis=1, keepdims=True), 1e-300)
        found = beliefs.sum(axis=1) > 0
        right += float(chance_of_right(beliefs, truth[part])[found].sum())
        asked += int(found.sum())
    return Score(asked, right / max(1, asked))


def _hidden(
    release: Release, one: Told, told: Sequence[Told], joints: Joints, original: pl.DataFrame, options: Options
) -> Result | None:
    """Nothing is known but quasi values: each row is weighed by what it says of its other attributes."""
    others = [other for other in told if _linked(release, one.said, other.said) is not None and not _alike(one, other)]
    if not others:
        return None
    cells, names = _weighed(release, one, others, joints)
    left = [other.said.attribute for other in others if _pairs_of_values(one, other) > DOMAIN]
    note = f"; too many pairs of values with {', '.join(left)}" if left else ""
    how = f"by how it goes with {', '.join(names)} in all rows" if names else "by itself"
    return _scored(release, one, cells, of_groups(one.said), original, options, how=how, note=note)


def _known(
    release: Release, one: Told, told: Sequence[Told], joints: Joints, original: pl.DataFrame, options: Options
) -> Iterator[Result]:
    """Another secret is known, too: whatever is promised, and else the one that tells most.

    Of several tables only what is promised: people may be many rows there, which takes long.
    """
    found, claims = [], release.manifest.claims
    for other in told:
        linked = _linked(release, one.said, other.said)
        if linked is None or _pairs_of_values(one, other) > KNOWN:
            continue
        known = [*quasi_of(release), other.said.attribute]
        if release.kind == "multi" and row_bound(claims, one.said.attribute, known)[0] is None:
            continue
        pairs = _pairs(one, _beside(one, other, linked))
        cells = _joint_cells(pairs, joints.of(one, other, pairs))
        apart = _joint_cells(pairs, np.outer(one.overall, other.overall))
        how = f"knowing {other.said.attribute} and how both go together"
        found.append(_scored(release, one, cells, apart, original, options, other=other, how=how))
    yield from (result for result in found if result.promised is not None)
    if free := [result for result in found if result.promised is None]:
        yield max(free, key=lambda result: result.success)


def _scored(
    release: Release,
    one: Told,
    cells: Cells,
    apart: Cells,
    original: pl.DataFrame,
    options: Options,
    *,
    other: Told | None = None,
    how: str,
    note: str = "",
) -> Result:
    """The score against one attribute, in one table; `other` is a secret that is known, too.

    `apart` is what rows say if attributes have nothing to do with each other.
    """
    said = one.said
    quasi = [name for name in said.quasi if name in quasi_of(release)]
    known = [*quasi, *([other.said.attribute] if other is not None else [])]
    targets, true = options.targets(original.height), said.truth(original)
    beside = None if other is None else other.said.truth(original)[targets]
    width = 0 if other is None else other.said.values.len()
    asked = said if other is None else replace(said, values=pl.Series(range(said.values.len() * width)))
    score, alone = (
        scored(View.of(asked, quasi, by), original, targets, true[targets], beside, width) for by in (cells, apart)
    )
    learnt = interval(score.success, score.targets)[0] > alone.success
    sampled = targets.size < original.height
    bound, drawn = row_bound(release.manifest.claims, said.attribute, known)
    ends = bounds(score.success, score.targets, sampled)
    where = f" in {said.table}" if said.table else ""
    return Result(
        attack=ATTACK.name,
        question=f"{said.attribute}{where}, {how}",
        attribute=said.attribute,
        adversary=tuple(known),
        targets=score.targets,
        sampled=sampled,
        success=score.success,
        low=ends["low"],
        high=ends["high"],
        blind=commonest(true),
        promised=bound,
        worst=beyond_doubt(score.success, alone.success, score.targets, bound) if drawn and bound is not None else None,
        note=f"row by row {alone.success:.1%}{'' if learnt else f': {NOTHING_LEARNT}'}{note}",
    )


ATTACK = Association()
