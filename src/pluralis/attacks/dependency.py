"""Functional dependency: whoever knows that x decides s learns s from what is published of x.

Definition  For each claim "knowing Q, S at most 1/l" and each dependency X -> S, the adversary also knows which value
            of S goes with each X. What the tables leave possible of X for a person of known Q is turned into values of
            S, and intersected with what they leave possible of S itself.
            multi     as in the intersection attack, the dependency being one more table; up to 8 rows every world
                      in which people obey it is counted. `worst` is the largest posterior, or where worlds are not
                      counted the largest share that a table with X gives to a value of S, and 1/candidates.
            others    a row's candidates are the values of S of its group that go with a value of X of its group (of X,
                      which need not be the same): 1/candidates. So noise is struck out, and slices are joined.
            Where Q holds X, or decides it, S is known without the release: `prior` is 1.
Reference   Jin, Zhang, Zhang, Das: Versatile Publishing for Privacy Preservation, Theorem 3.2.
Exposed     multi, sliced, decomposed; bucketized and generalized tell no more by it than their groups do.
Exact       what is ruled out is impossible; up to 8 rows of `multi` the posterior. Scores of `multi` are of drawn
            targets above `sample`; those of other kinds are expected ones, of all rows.
Promise     1/l where the release says that adversaries are taken to know the dependency (`dependencies` in its
            parameters). Those that are only found in the original are measured, and bind nobody: the policy may have
            called them coincidences.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np
import polars as pl

from pluralis.attacks.adversary.consistent_worlds import Law, Piles, comparable, piles_of, propagated, world_counts
from pluralis.attacks.adversary.posterior import VALUE
from pluralis.attacks.adversary.subtable_posterior import (
    FEW,
    ROWS,
    RULED_OUT,
    TID,
    P,
    SubtableShares,
    TargetPosterior,
    counted_posterior,
    guess_result,
    intersected_posterior,
    join_size,
    original_column,
    original_columns,
    protecting_claims,
    shown_attributes,
    subtable_shares,
)
from pluralis.attacks.base import Attack, Options, Result
from pluralis.auditing.decomposed_tables import NotJudged
from pluralis.grouping.dependencies import CodedColumn, singles
from pluralis.policy.rules import Dependency, closure
from pluralis.release.attributes import attributes_of
from pluralis.release.manifest import Claim
from pluralis.release.release import GROUP, Release
from pluralis.release.subtables import Subtable, subtables
from pluralis.table.dictionaries import decode, decode_table, is_text

_KEY = "\0group"


class Known(NamedTuple):
    """A dependency, and whether the release says that adversaries know it."""

    dependency: Dependency
    declared: bool


class FunctionalDependency(Attack):
    name: ClassVar[str] = "dependency"
    title: ClassVar[str] = "what one attribute tells of another"
    reference: ClassVar[str] = "Jin, Zhang, Zhang, Das 2010, Theorem 3.2"
    headline: ClassVar[str] = "people's {attribute} guessed right by what decides it"

    def applies(self, release: Release) -> bool:
        return not release.traits.lists_values and any(claim.attribute for claim in release.manifest.claims)

    def run(self, release: Release, original: pl.DataFrame, options: Options) -> Sequence[Result]:
        known = dependencies_of(release, original)
        if not known:
            return []
        if release.traits.has_subtables:
            return [*_results_of_parts(release, original, options, known)]
        return [*_results_of_groups(release, original, known)]


def dependencies_of(release: Release, original: pl.DataFrame) -> list[Known]:
    """What decides a protected attribute: what the release says, and what else the original shows."""
    names = [name for name in attributes_of(release) if name in original.columns]
    protected = {claim.attribute for claim in release.manifest.claims if claim.attribute is not None}
    declared = [Dependency.parse(text) for text in release.manifest.parameters.dependencies]
    columns = [CodedColumn.from_series(original_column(release, original, name)) for name in names]
    observed = [d for d in singles(columns, protected) if d not in declared] if original.height else []
    every = [*(Known(d, True) for d in declared), *(Known(d, False) for d in observed)]
    return [k for k in every if k.dependency.decides in protected and k.dependency.attributes <= set(names)]


def _knowing(result: Result, known: Known) -> Result:
    """The result as one about a dependency; what nobody declared binds nobody."""
    question = f"{result.question}, and that {known.dependency}"
    if known.declared:
        return replace(result, question=question)
    note = "; ".join(filter(None, [result.note, "found in the original, not declared"]))
    return replace(result, question=question, promised=None, note=note)


def _function(release: Release, original: pl.DataFrame, dependency: Dependency) -> pl.DataFrame:
    """The combinations of X and S that people have."""
    columns = [original_column(release, original, name) for name in (*dependency.knows, dependency.decides)]
    return decode_table(pl.DataFrame(columns).unique().drop_nulls())


# multi ----------------------------------------------------------------------------------------------------------


def _results_of_parts(
    release: Release, original: pl.DataFrame, options: Options, known: list[Known]
) -> Iterator[Result]:
    parts, piles = subtables(release), piles_of(release)
    shown = {name for part in parts for name in shown_attributes(part)}
    drawn = options.targets(original.height)
    for claim in protecting_claims(release):
        attribute = claim.attribute or ""
        for one in known:
            if one.dependency.decides != attribute or not one.dependency.attributes <= shown:
                continue
            knows = sorted(name for name in set(claim.adversary) if name in shown)
            people = original_columns(release, original, [*knows, attribute])
            asked = people[drawn].with_columns(pl.Series(TID, np.arange(drawn.size))).rename({attribute: VALUE})
            function = _function(release, original, one.dependency)
            posterior = _posterior_by_worlds(piles, one.dependency, function, knows, asked) if piles else None
            note = "every world was counted"
            if posterior is None:
                note, notes = RULED_OUT, list[str]()
                shares = [
                    *subtable_shares(parts, knows, attribute, notes),
                    *_decided_shares(parts, knows, one.dependency, function, notes),
                ]
                posterior = intersected_posterior(shares, attribute, asked, notes)
            sampled = drawn.size < original.height
            result = guess_result(ATTACK.name, claim, people[attribute], posterior, asked, [], sampled, note)
            open_ = attribute in closure(knows, [k.dependency for k in known])
            yield _knowing(replace(result, prior=1.0) if open_ else result, one)


def _decided_shares(
    parts: list[Subtable], knows: list[str], dependency: Dependency, function: pl.DataFrame, notes: list[str]
) -> Iterator[SubtableShares]:
    """What parts say of X, turned into values of S."""
    if len(dependency.knows) > 1:
        return  # only where every world is counted
    (x,) = dependency.knows
    if x in knows:
        yield SubtableShares(function.select(x, dependency.decides, pl.lit(1.0).alias(P)), [x], "the dependency")
        return
    for rows, by, name in subtable_shares(parts, knows, x, notes):
        weighed = rows if P in rows.columns else rows.with_columns(pl.lit(1.0).alias(P))
        if join_size(weighed, function, [x]) > ROWS:
            continue
        turned = weighed.join(function, on=x).group_by(*by, dependency.decides).agg(pl.col(P).sum())
        yield SubtableShares(turned, by, name)


def _posterior_by_worlds(
    piles: Piles, dependency: Dependency, function: pl.DataFrame, knows: list[str], asked: pl.DataFrame
) -> TargetPosterior | None:
    """The share of worlds that obey the dependency, where there are few people."""
    if piles.people > FEW:
        return None
    names = [*dependency.knows, dependency.decides]
    codes = [piles.code(name, function[name]) for name in names]
    law: Law = (names, set(zip(*(line.tolist() for line in codes), strict=True)))
    try:
        worlds = world_counts(piles, propagated(piles), knows, dependency.decides, [law])
    except NotJudged:
        return None
    return None if worlds is None else counted_posterior(piles, worlds, knows, dependency.decides, asked)


# groups ---------------------------------------------------------------------------------------------------------


def _results_of_groups(release: Release, original: pl.DataFrame, known: list[Known]) -> Iterator[Result]:
    asked = [
        (claim, claim.attribute or "", one.dependency.knows[0], one)
        for claim in protecting_claims(release)
        for one in known
        if one.dependency.decides == claim.attribute and len(one.dependency.knows) == 1
    ]
    needed = {name for claim, attribute, x, _ in asked if x not in claim.adversary for name in (x, attribute)}
    values = _weighed_values(release, needed)
    for claim, attribute, x, one in asked:
        true = original_column(release, original, attribute)
        if x in claim.adversary:
            yield _knowing(_certain_result(claim, true, release.manifest.rows), one)
        elif x in values and attribute in values:
            function = _function(release, original, one.dependency)
            result = _result_of_rows(claim, true, values[x], values[attribute], function, attribute)
            if result is not None:
                yield _knowing(result, one)


def _certain_result(claim: Claim, true: pl.Series, rows: int) -> Result:
    """What is known without any release."""
    asked = pl.DataFrame({TID: [0], VALUE: true.head(1)})
    certain = TargetPosterior(asked.with_columns(pl.lit(1.0).alias(P)), exact=True)
    result = guess_result(ATTACK.name, claim, true, certain, asked, [], False, "known without the release")
    return replace(result, targets=rows, prior=1.0, promised=None)


class WeighedValues(NamedTuple):
    """The group of every row, and the values of each group with a weight."""

    group: pl.Series
    values: pl.DataFrame


def _weighed_values(release: Release, names: Collection[str]) -> dict[str, WeighedValues]:
    """For each of these attributes that is protected the values that rows may have."""
    tables, by_attribute = release.tables, {}
    for info in release.manifest.tables:
        if info.named("quasi") and not info.named("sensitive"):
            continue
        rows = tables[info.name]
        if release.traits.sensitive_in_rows:
            group = rows[GROUP]
        elif info.named("group"):
            column = GROUP if not release.traits.has_slices else f"group_{info.name.removeprefix('slice_')}"
            group = tables["quasi"][column]
        else:
            continue
        weight = pl.col("count").sum() if info.named("count") else pl.len()
        if info.named("attribute"):
            apart = ((name, rows.filter(pl.col("attribute") == name).rename({"value": name})) for name in names)
            parts = {name: part for name, part in apart if part.height}
        else:
            parts = {name: rows for name in info.names("sensitive") if name in names}
        for name, part in parts.items():
            typed = _read_again(part[name], release, name)
            values = part.select(pl.col(GROUP).alias(_KEY), typed.alias(VALUE), pl.col("^count$"))
            weighed = values.group_by(_KEY, VALUE).agg(weight.cast(pl.Float64).alias(P))
            by_attribute[name] = WeighedValues(group, weighed)
    return by_attribute


def _read_again(values: pl.Series, release: Release, name: str) -> pl.Series:
    """Numbers that stand as text read again."""
    number = attributes_of(release)[name].type == "number"
    return decode(values).cast(pl.Float64) if number and is_text(values.dtype) else comparable(values)


def _result_of_rows(
    claim: Claim, true: pl.Series, x: WeighedValues, s: WeighedValues, function: pl.DataFrame, attribute: str
) -> Result | None:
    """Rows by their groups of x and of s; each pair of groups once, with its number of rows."""
    pairs = pl.DataFrame({"x": x.group, "s": s.group}).drop_nulls().group_by("x", "s").agg(pl.len().alias("rows"))
    pairs = pairs.with_row_index(TID)
    name = next(column for column in function.columns if column != attribute)
    turned = x.values.rename({VALUE: name, P: "\0x"}).join(function, on=name)
    turned = turned.group_by(_KEY, attribute).agg(pl.col("\0x").sum()).rename({attribute: VALUE})
    one = pairs.select(TID, pl.col("x").alias(_KEY))
    beside = pairs.select(pl.col("s").alias(_KEY))
    if join_size(one, turned, [_KEY]) > ROWS or join_size(beside, s.values, [_KEY]) > ROWS:
        return None
    by_x = one.join(turned, on=_KEY).select(TID, VALUE, "\0x")
    by_s = pairs.select(TID, pl.col("s").alias(_KEY)).join(s.values, on=_KEY).select(TID, VALUE, P)
    both = by_x.join(by_s, on=[TID, VALUE]).select(TID, VALUE, pl.col(P) * pl.col("\0x"))
    each = both.group_by(TID).agg(pl.len().alias("fewest"), (pl.col(P).max() / pl.col(P).sum()).alias("top"))
    each = each.join(pairs, on=TID)
    if not each.height:
        return None
    worst = each.sort("fewest", "s").row(0, named=True)
    asked = pl.DataFrame({TID: [0], VALUE: true.head(1)})
    empty = both.clear().with_columns(pl.col(TID).cast(pl.Int64))
    result = guess_result(ATTACK.name, claim, true, TargetPosterior(empty), asked, [], False, RULED_OUT)
    rows = int(each["rows"].sum())
    success = float((each["top"] * each["rows"]).sum()) / rows
    where = f"group {worst['s']}"
    return replace(
        result, targets=rows, success=success, low=success, high=success, worst=1 / worst["fewest"], witness=where
    )


ATTACK = FunctionalDependency()
