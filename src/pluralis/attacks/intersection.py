"""Cross-table intersection: what all tables of a release leave possible together.

Definition  For each claim "knowing Q, S at most 1/l": the values of S that a person of known Q may have in some world,
            a world being a table of which every published table is what it shows. F of them leave a best guess of 1/F
            at least, whatever is believed about the worlds.
            decomposed  feasible candidates and provable shares by matching (audit.candidates): the largest of
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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.attacks.adversary.consistent_worlds import (
    COUNT,
    Piles,
    beliefs,
    candidates,
    comparable,
    piles_of,
    propagated,
)
from pluralis.attacks.base import Attack, Options, Result, bounds
from pluralis.auditing.decomposed_tables import NotJudged, number
from pluralis.auditing.joint_worlds import JointWorlds
from pluralis.auditing.label_boxes import core
from pluralis.auditing.worlds import Worlds, judge_claim, worlds_of
from pluralis.release.attributes import attributes_of
from pluralis.release.manifest import Claim
from pluralis.release.original import original_values
from pluralis.release.release import GROUP, Release
from pluralis.release.subtables import Subtable, subtables
from pluralis.table.labels import number_text, number_texts

FEW = 8  # rows of which every world is counted
ROWS = 20_000_000  # that a join may make
CLASSES = 200_000  # rows of label classes that are drawn
TID, _PEOPLE, P, VALUE = "\0target", "\0people", "\0p", "\0value"
_SHARES = ("frequency", "unique-distinct", "candidates", "posterior")  # models that bound a share by 1/l

Reals = npt.NDArray[np.float64]


class Intersection(Attack):
    name: ClassVar[str] = "intersection"
    title: ClassVar[str] = "joining all tables"
    reference: ClassVar[str] = "Ye et al. 2009 (Table 6); Jin, Zhang, Zhang, Das 2010 (Tables 2)"
    gets: ClassVar[str] = "people's {attribute} guessed right from all tables joined"

    def applies(self, release: Release) -> bool:
        return release.kind in _ATTACKS and any(claim.attribute for claim in release.manifest.claims)

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> Sequence[Result]:
        return list(_ATTACKS[release.kind](release, original, options))


def _result(claim: Claim, original: pl.Series, **found: Any) -> Result:
    assert claim.attribute is not None
    knows = ", ".join(sorted(claim.adversary)) or "nothing"
    counts = original.drop_nulls().value_counts(name=_PEOPLE)[_PEOPLE].to_numpy()
    low, high = (bounds(found["success"], found["targets"], found["sampled"])[end] for end in ("low", "high"))
    return Result(
        attack=Intersection.name,
        question=f"{claim.attribute}, knowing {knows}",
        attribute=claim.attribute,
        adversary=tuple(claim.adversary),
        promised=1 / claim.l if claim.l else None,
        blind=float(counts.max() / counts.sum()) if counts.size else 0.0,
        low=low,
        high=high,
        **found,
    )


def protecting(release: Release) -> list[Claim]:
    return [claim for claim in release.manifest.claims if claim.attribute is not None and claim.l is not None]


def values_of(release: Release, original: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Columns of the original, as the release spells them; numbers as one type."""
    infos = attributes_of(release)
    return pl.DataFrame({n: comparable(original_values(original, infos[n], release.manifest)) for n in names})


# decomposed -----------------------------------------------------------------------------------------------------


def _decomposed(release: Release, original: pl.DataFrame, options: Options) -> Iterator[Result]:
    manifest, tables = release.manifest, dict(release.tables)
    names, keep_case = sorted(manifest.parameters["l"]), manifest.parameters.get("case", [])
    secrets = values_of(release, original, names)
    try:
        worlds = worlds_of(tables, manifest.parameters["primary"], names, keep_case)
    except NotJudged as no:
        for claim in protecting(release):
            yield _result(claim, secrets[claim.attribute or ""], targets=0, sampled=False, success=0.0, note=no.note)
        return
    targets = options.targets(original.height)
    groups = _groups_of(release, original[targets])
    for claim in protecting(release):
        attribute = claim.attribute or ""
        known = (frozenset(claim.adversary) & set(names)) - {attribute}
        try:
            found = judge_claim(worlds, known, attribute, claim.l or 1)
            scores = _guesses(worlds, known, attribute, groups, secrets[targets])
        except NotJudged as no:
            yield _result(claim, secrets[attribute], targets=0, sampled=False, success=0.0, note=no.note)
            continue
        of = {found.share: found.witness.partition(",")[0], 1 / found.measured: found.witness.partition(",")[0]}
        if "sensitive" in tables and known:
            of.setdefault(_in_joint_table(tables["sensitive"], sorted(known), attribute), "the joint table")
        yield _result(
            claim,
            secrets[attribute],
            targets=scores.size,
            sampled=targets.size < original.height,
            success=float(scores.mean()) if scores.size else 0.0,
            worst=max(of),
            witness=of[max(of)],
            note=found.note,
        )


def _groups_of(release: Release, original: pl.DataFrame) -> pl.DataFrame:
    """Each target with the groups in which somebody has the same quasi values; at most a few of the latter."""
    info, quasi = release.info("quasi"), release.tables["quasi"]
    names = info.names("quasi")
    people = pl.DataFrame({n: core(original_values(original, c, release.manifest)) for n, c in _named(info)})
    people = people.with_columns(pl.Series(TID, np.arange(original.height)))
    if not names:
        return people.with_columns(pl.lit(quasi[GROUP][0]).alias(GROUP)).select(TID, GROUP)
    shown = quasi.select(*(core(quasi[name]).alias(name) for name in names), GROUP).unique()
    shown = shown.group_by(names).agg(pl.col(GROUP).sort().head(100)).explode(GROUP)
    return people.join(shown, on=names, nulls_equal=True).select(TID, GROUP)


def _named(info: Any) -> list[tuple[str, Any]]:
    return [(column.name, column) for column in info.named("quasi")]


def _guesses(
    worlds: Worlds, known: frozenset[str], protected: str, groups: pl.DataFrame, secrets: pl.DataFrame
) -> Reals:
    """For each target the chance of a guess among all candidates."""
    places = pl.concat(
        [p.select("class", "known", "candidates") for p in worlds.places(known, protected)], how="vertical"
    )
    here = groups.join(worlds.members(protected), on=GROUP)
    if isinstance(worlds, JointWorlds):
        here = here.join(_known_codes(worlds, known, secrets), on=TID)
    else:
        here = here.with_columns(pl.lit(0, pl.Int64).alias("known"))
    each = here.join(places.unique(["class", "known"]), on=["class", "known"])
    each = each.group_by(TID).agg((1 / pl.col("candidates")).mean().alias(P))
    return each[P].to_numpy()


def _known_codes(worlds: JointWorlds, known: frozenset[str], secrets: pl.DataFrame) -> pl.DataFrame:
    """The number of what is known of each target, as `places` counts it."""
    beside = [str(i) for i, name in enumerate(worlds.names) if name in known]
    frame = pl.DataFrame({TID: np.arange(secrets.height)})
    for i in beside:
        name = worlds.names[int(i)]
        domain = core(pl.Series(worlds.coded.domains[name], dtype=pl.String)).to_frame("x").with_row_index(i)
        values = core(_text(secrets[name])).to_frame("x").join(domain.unique("x"), on="x", how="left",
                                                               maintain_order="left")  # fmt: skip
        frame = frame.with_columns(values[i].cast(pl.Int64))
    told = worlds.rows.select(*beside, number(beside).alias("known")).unique()
    if not beside:
        return frame.with_columns(pl.lit(0, pl.Int64).alias("known"))
    told = told.with_columns(pl.col(i).cast(pl.Int64) for i in beside)
    return frame.join(told, on=beside).select(TID, "known")


def _text(values: pl.Series) -> pl.Series:
    return values if values.dtype == pl.String else number_texts(values)


def _in_joint_table(joint: pl.DataFrame, known: list[str], attribute: str) -> float:
    """The largest share of a value among the rows of the joint table that agree with what is known."""
    counts = joint.group_by(*known, attribute).agg(pl.col(COUNT).sum().alias(_PEOPLE))
    share = counts.select((pl.col(_PEOPLE) / pl.col(_PEOPLE).sum().over(known)).max()).item()
    return float(share)


# sliced ---------------------------------------------------------------------------------------------------------


def _sliced(release: Release, original: pl.DataFrame, options: Options) -> Iterator[Result]:
    every = _label_classes(release)
    for claim in protecting(release):
        assert claim.attribute is not None
        secret = values_of(release, original, [claim.attribute])[claim.attribute]
        known = sorted(set(claim.adversary) & set(release.manifest.parameters["l"]) - {claim.attribute})
        rows, places = every, _places(release, every, claim.attribute, known)
        if places is None:
            rows = _some_classes(every, options)
            places = _places(release, rows, claim.attribute, known)
        if places is None or not places.height:
            yield _result(
                claim, secret, targets=0, sampled=False, success=0.0, note="too many rows have the same labels"
            )
            continue
        share = pl.col(P) / pl.col(P).sum().over("class", *known)
        top = places.with_columns(share.alias("share")).sort("share").row(-1, named=True)
        # knowing the value of the others, the guess is right as often as the likeliest value is held
        right = places.group_by("class", *known).agg(pl.col(P).max())[P].sum()
        yield _result(
            claim,
            secret,
            targets=rows.height,
            sampled=rows.height < every.height,
            success=float(right) / rows.height,
            worst=_worst(claim, top["share"], _fewest(places, known)),
            witness=f"the rows labelled like row {top['first'] + 1} of quasi",
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
        column, held = f"group_{info.name.removeprefix('slice_')}", release.tables[info.name]
        wanted = [attribute, *known]
        if info.named("attribute"):
            apart = [
                held.filter(pl.col("attribute") == name).select(GROUP, pl.col("value").alias(name), COUNT)
                for name in held["attribute"].unique().sort()
                if name in wanted
            ]
        else:
            beside = [name for name in info.names("sensitive") if name in wanted]
            apart = [held.group_by(GROUP, *beside).agg(pl.col(COUNT).sum())] if beside else []
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
    return max(share, 1 / fewest) if claim.model in _SHARES else 1 / fewest


# multi ----------------------------------------------------------------------------------------------------------


def _multi(release: Release, original: pl.DataFrame, options: Options) -> Iterator[Result]:
    parts = subtables(release)
    infos = attributes_of(release)
    shown = {name for part in parts for name in shown_by(part)}
    piles = piles_of(release)
    pairs, note = None, None
    try:
        pairs = propagated(piles) if piles else None
    except NotJudged as no:
        note = no.note
    drawn = options.targets(original.height)
    for claim in protecting(release):
        attribute = claim.attribute or ""
        if attribute not in shown or attribute not in original.columns:
            continue
        knows = sorted(name for name in set(claim.adversary) if name in shown and name in infos)
        people = values_of(release, original, [*knows, attribute])
        asked = people[drawn].with_columns(pl.Series(TID, np.arange(drawn.size))).rename({attribute: VALUE})
        exact = None
        if piles and pairs is not None and piles.people <= FEW:
            exact = beliefs(piles, pairs, knows, attribute)
        if piles and exact is not None:
            scores = believed(piles, exact, knows, attribute, asked)
            how = "every world was counted"
        else:
            notes: list[str] = []
            scores = joined(sources(parts, knows, attribute, notes), attribute, asked, notes)
            how = "what is ruled out is impossible; more may be"
            if piles and pairs is not None:
                scores = _propagated(piles, pairs, knows, attribute, asked, scores)
        known = [name for name in knows if name not in release.manifest.parameters["l"]]
        yield scored(claim, people[attribute], scores, asked, known, drawn.size < original.height, note or how)


@dataclass(frozen=True)
class Scores:
    """`likely`: target, value, how likely (or, if not `exact`, a weight); `single`: the largest share in one table."""

    likely: pl.DataFrame
    exact: bool = False
    single: float = 0.0
    where: str | None = None
    notes: list[str] = field(default_factory=list)


def scored(
    claim: Claim,
    secret: pl.Series,
    scores: Scores,
    asked: pl.DataFrame,
    known: list[str],
    sampled: bool,
    note: str,
) -> Result:
    likely = scores.likely.with_columns((pl.col(P) / pl.col(P).sum().over(TID)).alias(P))
    each = likely.group_by(TID).agg(pl.len().alias("fewest"), pl.col(P).max().alias("top"))
    best = likely.join(each, on=TID).filter(pl.col(P) >= pl.col("top") * (1 - 1e-9))
    best = best.join(asked.select(TID, pl.col(VALUE).alias("\0true")), on=TID)
    right = best.group_by(TID).agg((pl.col(VALUE) == pl.col("\0true")).mean().alias("right"))
    worst, where = scores.single if claim.model in _SHARES else 0.0, scores.where
    if each.height:
        column = pl.col("top") if scores.exact and claim.model in _SHARES else 1 / pl.col("fewest")
        top = each.with_columns(column.alias("worst")).sort("worst", TID, descending=[True, False]).row(0, named=True)
        if top["worst"] > worst:
            who = asked.filter(pl.col(TID) == top[TID]).row(0, named=True)
            worst, where = top["worst"], ", ".join(f"{n} = {_said(who[n])}" for n in known) or None
    return _result(
        claim,
        secret,
        targets=right.height,
        sampled=sampled,
        success=float(right["right"].sum()) / right.height if right.height else 0.0,
        worst=worst,
        witness=where,
        note="; ".join([note, *scores.notes]),
    )


def _said(value: Any) -> str:
    return number_text(value) if isinstance(value, int | float) else str(value)


def believed(piles: Piles, exact: Any, knows: list[str], attribute: str, asked: pl.DataFrame) -> Scores:
    """The share of worlds that give each value to a target."""
    codes = [piles.code(name, asked[name]) for name in knows]
    found = []
    for target, key in enumerate(zip(*codes, strict=True) if codes else [()] * asked.height):
        counter = exact.get(tuple(map(int, key)), {})
        total = sum(counter.values())
        found += [(target, piles.domains[attribute][code], ways / total) for code, ways in counter.items()]
    schema: dict[str, Any] = {TID: pl.Int64, VALUE: piles.domains[attribute].dtype, P: pl.Float64}
    return Scores(pl.DataFrame(found, schema=schema, orient="row"), exact=True)


def _propagated(
    piles: Piles, pairs: Any, knows: list[str], attribute: str, asked: pl.DataFrame, scores: Scores
) -> Scores:
    """The same scores without what pairings of whole tables rule out."""
    different = asked.unique(knows, maintain_order=True) if knows else asked.head(1)
    known = {name: piles.code(name, different[name]) for name in knows}
    target, code = np.nonzero(candidates(piles, pairs, known, attribute))
    values = {name: different[name].gather(target) for name in knows}
    may = pl.DataFrame({**values, VALUE: piles.domains[attribute].gather(code)})
    may = asked.select(TID, *knows).join(may, on=knows, nulls_equal=True) if knows else asked.select(TID).join(
        may, how="cross"
    )  # fmt: skip
    likely = may.select(TID, VALUE).join(scores.likely, on=[TID, VALUE])
    return Scores(likely, False, scores.single, scores.where, scores.notes)


def shown_by(part: Subtable) -> list[str]:
    """The attributes of a part that stand there as values, not labels."""
    columns = [c for info in part.release.manifest.tables for c in info.columns]
    return [c.name for c in columns if c.exact or c.role == "sensitive"]


def _held(part: Subtable, names: Sequence[str]) -> pl.DataFrame | None:
    """How many people of a part are expected to have each combination of some attributes; None if too many."""
    tables = part.release.tables
    mine = [name for name in names if name in shown_by(part)]
    if part.kind != "bucketized":
        rows = next(iter(tables.values()))
        return _typed(rows.select(mine)).group_by(mine).agg(pl.len().cast(pl.Float64).alias(P))
    quasi, values = tables["quasi"], tables["sensitive"]
    left, right = [n for n in mine if n in quasi.columns], [n for n in mine if n not in quasi.columns]
    if not right:
        return _typed(quasi.select(left)).group_by(left).agg(pl.len().cast(pl.Float64).alias(P))
    rows = _typed(quasi.select(GROUP, *left)).group_by(GROUP, *left).agg(pl.len().alias(_PEOPLE))
    held = _typed(values.select(GROUP, *right, COUNT)).group_by(GROUP, *right).agg(pl.col(COUNT).sum())
    share = held.with_columns(pl.col(COUNT) / pl.col(COUNT).sum().over(GROUP))
    if size(rows, share, [GROUP]) > ROWS:
        return None
    return rows.join(share, on=GROUP).group_by(mine).agg((pl.col(_PEOPLE) * pl.col(COUNT)).sum().alias(P))


def _typed(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(comparable(rows[name]) for name in rows.columns)


def size(one: pl.DataFrame, other: pl.DataFrame, on: list[str]) -> int:
    """How many rows a join would make."""
    counts = one.group_by(on).agg(pl.len().cast(pl.Int64).alias("\0one"))
    both = counts.join(other.group_by(on).agg(pl.len().cast(pl.Int64).alias("\0other")), on=on, nulls_equal=True)
    return int((both["\0one"] * both["\0other"]).sum())


def joined(told: Iterable[Source], attribute: str, asked: pl.DataFrame, notes: list[str]) -> Scores:
    """Values of the attribute that no source rules out for what is known, weighed by what each table says alone."""
    likely: pl.DataFrame | None = None
    single, where = 0.0, None
    for source, by, name in told:
        rows = source.rename({attribute: VALUE})
        if name is not None:
            total = pl.col(P).sum().over(by) if by else pl.col(P).sum()
            rows = rows.with_columns(pl.col(P) / total)
            top = float(rows[P].max() or 0.0)  # type: ignore[arg-type]
            if top > single:
                single, where = top, name
        else:
            rows = rows.with_columns(pl.lit(1.0).alias(P))
        if by and size(asked, rows, by) > ROWS:
            notes.append("not all tables were joined: there was too much to look at")
            continue
        keys = asked.select(TID, *by)
        mine = keys.join(rows, on=by, nulls_equal=True) if by else keys.join(rows, how="cross")
        mine = mine.select(TID, VALUE, P)
        if likely is not None:
            mine = likely.join(mine, on=[TID, VALUE], suffix="\0").select(TID, VALUE, pl.col(P) * pl.col(f"{P}\0"))
        likely = mine
    empty = pl.DataFrame(schema={TID: pl.Int64, VALUE: asked[VALUE].dtype, P: pl.Float64})
    return Scores(empty if likely is None else likely, False, single, where, notes)


Source = tuple[pl.DataFrame, list[str], str | None]


def sources(parts: list[Subtable], knows: list[str], attribute: str, notes: list[str]) -> Iterator[Source]:
    """What a part says of the attribute for what is known in it (with its name), or joined to another part."""
    for part in parts:
        if attribute not in shown_by(part):
            continue
        by = [name for name in knows if name in shown_by(part)]
        held = _held(part, [*by, attribute])
        if held is None:
            notes.append(f"{part.name} was not looked at: there was too much")
            continue
        yield held, by, part.name
        for other in parts:
            shared = sorted({*shown_by(part)} & {*shown_by(other)} - {attribute})
            beyond = [name for name in knows if name in shown_by(other) and name not in by]
            if other is part or not shared or not beyond:
                continue
            told, here = _held(other, [*shared, *beyond]), _held(part, list(dict.fromkeys([*shared, *by, attribute])))
            if told is None or here is None or size(told, here, shared) > ROWS:
                notes.append(f"{part.name} and {other.name} were not joined: there was too much to look at")
                continue
            both = told.join(here, on=shared, nulls_equal=True).select(*by, *beyond, attribute).unique()
            yield both, [*by, *beyond], None


_ATTACKS = {"decomposed": _decomposed, "sliced": _sliced, "multi": _multi}

ATTACK = Intersection()
