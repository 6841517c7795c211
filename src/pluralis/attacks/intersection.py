"""Cross-table intersection: what all tables of a release leave possible together.

Definition  For each claim "knowing Q, S at most 1/l": the values of S that a person of known Q may have in some world,
            a world being a table of which every published table is what it shows. F of them leave a best guess of 1/F
            at least, whatever is believed about the worlds.
            decomposed  feasible candidates and provable shares by matching (auditing.decomposed_worlds): the largest of
                        1/candidates, of the share that every world gives to one value, and, if the joint table is
                        there, of the share of a value among its rows that agree with what is known. Whoever is
                        attacked is taken to be known by group. The guess: any of the candidates.
            sliced      the rows of equal labels; a person is any of them. Their groups in all slices are joined: a
                        known value of one slice tells which rows are likely, and so which groups of the others.
            multi       up to 8 rows every world is counted. Else what each table says of S, for what is known in it
                        or in a table that shares columns with it, is intersected; up to 300 different rows in each
                        table also what no pairing of whole tables leaves possible (consistent_worlds.py).
Reference   Ye et al., Decomposition, and its Table 6 (D1); Jin et al., Versatile Publishing, Tables 2 (a)-(c), V3.
Exposed     decomposed, sliced, multi.
Exact       decomposed: `worst` for all people. sliced: where nobody is covered by the labels of two classes, else for
            whoever knows the class; of all classes, or drawn ones if there is too much to join. multi: up to 8 rows, if
            there are not too many worlds; above, what is ruled out is impossible, but more may be, and only for drawn
            targets. Scores are of drawn targets above `sample`; those of `sliced` are expected ones, over all ways
            to hand values out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.adversary.candidate_rows import row_numbers, shared_codes
from pluralis.attacks.adversary.consistent_worlds import COUNT, piles_of, propagated, world_counts
from pluralis.attacks.adversary.group_guess import weakest_in_joint_table
from pluralis.attacks.adversary.posterior import VALUE
from pluralis.attacks.adversary.subtable_posterior import (
    FEW,
    ROWS,
    RULED_OUT,
    SHARES,
    TID,
    P,
    claim_result,
    counted_posterior,
    guess_result,
    intersected_posterior,
    original_column,
    original_columns,
    protecting_claims,
    shown_attributes,
    subtable_shares,
    without_impossible,
)
from pluralis.attacks.base import Attack, Options, Result
from pluralis.auditing.decomposed_tables import NotJudged, number
from pluralis.auditing.decomposed_worlds import Worlds, judge_claim, worlds_of
from pluralis.auditing.decomposed_worlds_joint import JointWorlds
from pluralis.auditing.label_boxes import core
from pluralis.release.attributes import attributes_of
from pluralis.release.manifest import Claim
from pluralis.release.original import original_values
from pluralis.release.release import GROUP, Release
from pluralis.release.subtables import subtables
from pluralis.table.labels import number_texts

CLASSES = 200_000  # rows of label classes that are drawn

Reals = npt.NDArray[np.float64]


class Intersection(Attack):
    name: ClassVar[str] = "intersection"
    title: ClassVar[str] = "joining all tables"
    reference: ClassVar[str] = "Ye et al. 2009 (Table 6); Jin, Zhang, Zhang, Das 2010 (Tables 2)"
    headline: ClassVar[str] = "people's {attribute} guessed right from all tables joined"

    def applies(self, release: Release) -> bool:
        return _joining(release) is not None and any(claim.attribute for claim in release.manifest.claims)

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> Sequence[Result]:
        joined = _joining(release)
        return [] if joined is None else list(joined(release, original, options))


# decomposed -----------------------------------------------------------------------------------------------------


def _decomposed(release: Release, original: pl.DataFrame, options: Options) -> Iterator[Result]:
    manifest, tables = release.manifest, dict(release.tables)
    names, keep_case = sorted(manifest.parameters.l), manifest.parameters.case
    try:
        worlds = worlds_of(tables, manifest.parameters.primary, names, keep_case)
    except NotJudged as no:
        for claim in protecting_claims(release):
            yield claim_result(
                ATTACK.name,
                claim,
                original_column(release, original, claim.attribute or ""),
                targets=0,
                sampled=False,
                success=0.0,
                note=no.note,
            )
        return
    targets = options.targets(original.height)
    people = original[targets]
    groups, sensitive = _groups_of(release, people), original_columns(release, people, names)
    for claim in protecting_claims(release):
        attribute = claim.attribute or ""
        known, true = (
            (frozenset(claim.adversary) & set(names)) - {attribute},
            original_column(release, original, attribute),
        )
        try:
            judged = judge_claim(worlds, known, attribute, claim.l or 1)
            right = _chances_of_right(worlds, known, attribute, groups, sensitive)
        except NotJudged as no:
            yield claim_result(ATTACK.name, claim, true, targets=0, sampled=False, success=0.0, note=no.note)
            continue
        witness = judged.witness.partition(",")[0]
        worst = {judged.share: witness, 1 / judged.measured: witness}
        if "sensitive" in tables and known:
            joint = weakest_in_joint_table(tables["sensitive"], sorted(known), attribute)
            worst.setdefault(joint.share, "the joint table")
        yield claim_result(
            ATTACK.name,
            claim,
            true,
            targets=right.size,
            sampled=targets.size < original.height,
            success=float(right.mean()) if right.size else 0.0,
            worst=max(worst),
            witness=worst[max(worst)],
            note=judged.note,
        )


def _groups_of(release: Release, original: pl.DataFrame) -> pl.DataFrame:
    """Each target with the groups in which somebody has the same quasi-identifiers; at most a few of the latter."""
    info, quasi = release.info("quasi"), release.tables["quasi"]
    names = info.names("quasi")
    people = pl.DataFrame({TID: np.arange(original.height)})
    if not names:
        return people.with_columns(pl.lit(quasi[GROUP][0]).alias(GROUP)).select(TID, GROUP)
    columns = ((quasi[c.name], original_values(original, c, release.manifest)) for c in info.named("quasi"))
    number = row_numbers((np.concatenate(shared_codes(both)) for both in columns), quasi.height + original.height)
    shown, of_people = number[: quasi.height], number[quasi.height :]
    near = np.isin(shown, of_people)
    groups = pl.DataFrame({"alike": shown[near], GROUP: quasi[GROUP].filter(near)}).unique()
    groups = groups.group_by("alike").agg(pl.col(GROUP).sort().head(100)).explode(GROUP)
    return people.with_columns(alike=of_people).join(groups, on="alike").select(TID, GROUP)


def _chances_of_right(
    worlds: Worlds, known: frozenset[str], protected: str, groups: pl.DataFrame, sensitive: pl.DataFrame
) -> Reals:
    """For each target the chance of a guess among all candidates."""
    places = pl.concat(
        [p.select("class", "known", "candidates") for p in worlds.places(known, protected)], how="vertical"
    )
    here = groups.join(worlds.members(protected), on=GROUP)
    if isinstance(worlds, JointWorlds):
        here = here.join(_known_codes(worlds, known, sensitive), on=TID)
    else:
        here = here.with_columns(pl.lit(0, pl.Int64).alias("known"))
    each = here.join(places.unique(["class", "known"]), on=["class", "known"])
    each = each.group_by(TID).agg((1 / pl.col("candidates")).mean().alias(P))
    return each[P].to_numpy()


def _known_codes(worlds: JointWorlds, known: frozenset[str], sensitive: pl.DataFrame) -> pl.DataFrame:
    """The number of what is known of each target, as `places` counts it."""
    beside = [str(i) for i, name in enumerate(worlds.names) if name in known]
    frame = pl.DataFrame({TID: np.arange(sensitive.height)})
    for i in beside:
        name = worlds.names[int(i)]
        domain = core(pl.Series(worlds.coded.domains[name], dtype=pl.String)).to_frame("x").with_row_index(i)
        values = core(_text(sensitive[name])).to_frame("x").join(domain.unique("x"), on="x", how="left",
                                                               maintain_order="left")  # fmt: skip
        frame = frame.with_columns(values[i].cast(pl.Int64))
    numbers = worlds.rows.select(*beside, number(beside).alias("known")).unique()
    if not beside:
        return frame.with_columns(pl.lit(0, pl.Int64).alias("known"))
    numbers = numbers.with_columns(pl.col(i).cast(pl.Int64) for i in beside)
    return frame.join(numbers, on=beside).select(TID, "known")


def _text(values: pl.Series) -> pl.Series:
    return values if values.dtype == pl.String else number_texts(values)


# sliced ---------------------------------------------------------------------------------------------------------


def _sliced(release: Release, original: pl.DataFrame, options: Options) -> Iterator[Result]:
    every = _label_classes(release)
    for claim in protecting_claims(release):
        assert claim.attribute is not None
        true = original_column(release, original, claim.attribute)
        known = sorted(set(claim.adversary) & set(release.manifest.parameters.l) - {claim.attribute})
        rows, places = every, _places(release, every, claim.attribute, known)
        if places is None:
            rows = _some_classes(every, options)
            places = _places(release, rows, claim.attribute, known)
        if places is None or not places.height:
            yield claim_result(
                ATTACK.name,
                claim,
                true,
                targets=0,
                sampled=False,
                success=0.0,
                note="too many rows have the same labels",
            )
            continue
        share = pl.col(P) / pl.col(P).sum().over("class", *known)
        top = places.with_columns(share.alias("share")).sort("share").row(-1, named=True)
        # knowing the value of the others, the guess is right as often as the likeliest value is held
        right = places.group_by("class", *known).agg(pl.col(P).max())[P].sum()
        yield claim_result(
            ATTACK.name,
            claim,
            true,
            targets=rows.height,
            sampled=rows.height < every.height,
            success=float(right) / rows.height,
            worst=_worst(claim, top["share"], _fewest(places, known)),
            witness=f"the rows labeled like row {top['first'] + 1} of quasi",
        )


def _label_classes(release: Release) -> pl.DataFrame:
    """Rows of quasi with a group in every slice, by `class` of equal labels."""
    info, quasi = release.info("quasi"), release.tables["quasi"]
    shown, groups = info.names("quasi"), info.names("group")
    rows = quasi.select(*groups, (pl.struct(shown) if shown else pl.lit(0)).rank("dense").alias("class"))
    return rows.with_columns(pl.int_range(pl.len()).min().over("class").alias("first")).drop_nulls(groups)


def _some_classes(rows: pl.DataFrame, options: Options) -> pl.DataFrame:
    """Whole classes, drawn alike whatever their size, as long as they have not too many rows."""
    sizes = rows.group_by("class").len().sort("class")
    sizes = sizes[np.random.default_rng(options.seed).permutation(sizes.height)]
    kept = sizes.filter((pl.col("len").cum_sum() <= CLASSES) | (pl.int_range(pl.len()) == 0))["class"]
    return rows.filter(pl.col("class").is_in(kept.implode()))


def _places(release: Release, rows: pl.DataFrame, attribute: str, known: list[str]) -> pl.DataFrame | None:
    """`class`, values of `known`, a value of the attribute, and how many people are expected to have them."""
    weighed = rows.with_columns(pl.lit(1.0).alias(P))
    for info in release.manifest.tables:
        if info.named("quasi"):
            continue
        column, slice_rows = f"group_{info.name.removeprefix('slice_')}", release.tables[info.name]
        wanted = [attribute, *known]
        if info.named("attribute"):
            apart = [
                slice_rows.filter(pl.col("attribute") == name).select(GROUP, pl.col("value").alias(name), COUNT)
                for name in slice_rows["attribute"].unique().sort()
                if name in wanted
            ]
        else:
            beside = [name for name in info.names("sensitive") if name in wanted]
            apart = [slice_rows.group_by(GROUP, *beside).agg(pl.col(COUNT).sum())] if beside else []
        for values in apart:
            shares = values.with_columns(pl.col(COUNT) / pl.col(COUNT).sum().over(GROUP)).rename({GROUP: column})
            many = weighed.join(shares.group_by(column).len(), on=column)["len"].sum()
            if many > ROWS:
                return None
            weighed = weighed.join(shares, on=column).with_columns(pl.col(P) * pl.col(COUNT)).drop(COUNT)
    return weighed.group_by("class", *known, attribute).agg(pl.col(P).sum(), pl.col("first").min())


def _fewest(places: pl.DataFrame, known: list[str]) -> int:
    least = places.group_by("class", *known).len()["len"].min()
    return least if isinstance(least, int) else 1


def _worst(claim: Claim, share: float, fewest: int) -> float:
    """What a model that bounds shares has to bear, or one that counts values."""
    return max(share, 1 / fewest) if claim.model in SHARES else 1 / fewest


# multi ----------------------------------------------------------------------------------------------------------


def _multi(release: Release, original: pl.DataFrame, options: Options) -> Iterator[Result]:
    parts = subtables(release)
    infos = attributes_of(release)
    shown = {name for part in parts for name in shown_attributes(part)}
    piles = piles_of(release)
    pairs, note = None, None
    try:
        pairs = propagated(piles) if piles else None
    except NotJudged as no:
        note = no.note
    drawn = options.targets(original.height)
    for claim in protecting_claims(release):
        attribute = claim.attribute or ""
        if attribute not in shown or attribute not in original.columns:
            continue
        knows = sorted(name for name in set(claim.adversary) if name in shown and name in infos)
        people = original_columns(release, original, [*knows, attribute])
        asked = people[drawn].with_columns(pl.Series(TID, np.arange(drawn.size))).rename({attribute: VALUE})
        worlds = None
        if piles and pairs is not None and piles.people <= FEW:
            worlds = world_counts(piles, pairs, knows, attribute)
        if piles and worlds is not None:
            posterior = counted_posterior(piles, worlds, knows, attribute, asked)
            how = "every world was counted"
        else:
            notes: list[str] = []
            shares = subtable_shares(parts, knows, attribute, notes)
            posterior, how = intersected_posterior(shares, attribute, asked, notes), RULED_OUT
            if piles and pairs is not None:
                posterior = without_impossible(posterior, piles, pairs, knows, attribute, asked)
        known = [name for name in knows if name not in release.manifest.parameters.l]
        sampled = drawn.size < original.height
        yield guess_result(ATTACK.name, claim, people[attribute], posterior, asked, known, sampled, note or how)


def _joining(release: Release) -> Callable[[Release, pl.DataFrame, Options], Iterator[Result]] | None:
    """How the tables of a release are joined, if several tell of the same values."""
    kind = release.traits
    return (
        _decomposed if kind.lists_of_groups else _sliced if kind.has_slices else _multi if kind.has_subtables else None
    )


ATTACK = Intersection()
