"""The posterior by several subtables of a `multi` release: what all of them leave possible, and how likely that is.

Up to a few people every world is counted (`consistent_worlds`). Else what each subtable says of an attribute, for what
is known in it or in a subtable that shares columns with it, is intersected, and weighed by what each says alone. What
is ruled out is impossible; more may be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from pluralis.attacks.adversary.consistent_worlds import COUNT, Pairs, Piles, WorldCounts, candidates, comparable
from pluralis.attacks.adversary.posterior import VALUE, is_likeliest
from pluralis.attacks.base import Result, score
from pluralis.release.attributes import attributes_of
from pluralis.release.manifest import Claim
from pluralis.release.original import original_values
from pluralis.release.release import GROUP, Release
from pluralis.release.subtables import Subtable
from pluralis.table.dictionaries import decode
from pluralis.table.labels import number_text

FEW = 8  # people of whom every world is counted
ROWS = 20_000_000  # that a join may make
TID, PEOPLE, P = "\0target", "\0people", "\0p"
SHARES = ("frequency", "unique-distinct", "candidates", "posterior")  # models that bound a share by 1/l
RULED_OUT = "what is ruled out is impossible; more may be"


def protecting_claims(release: Release) -> list[Claim]:
    """The claims that protect an attribute by an l."""
    return [claim for claim in release.manifest.claims if claim.attribute is not None and claim.l is not None]


def original_columns(release: Release, original: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Columns of the original, as the release spells them; numbers as one type."""
    return pl.DataFrame([decode(original_column(release, original, name)) for name in names])


def original_column(release: Release, original: pl.DataFrame, name: str) -> pl.Series:
    """One of them, its text as codes."""
    values = original_values(original, attributes_of(release)[name], release.manifest, in_codes=True)
    return (values.cast(pl.Float64) if values.dtype.is_numeric() else values).rename(name)


def claim_result(
    attack: str, claim: Claim, true: pl.Series, *, success: float, targets: int, sampled: bool, **more: Any
) -> Result:
    """What was measured of a claim, beside what it promises; `true` are everybody's values of its attribute."""
    assert claim.attribute is not None
    knows = ", ".join(sorted(claim.adversary)) or "nothing"
    counts = true.drop_nulls().value_counts(name=PEOPLE)[PEOPLE].to_numpy()
    return Result(
        attack=attack,
        question=f"{claim.attribute}, knowing {knows}",
        attribute=claim.attribute,
        adversary=tuple(claim.adversary),
        promised=1 / claim.l if claim.l else None,
        prior=float(counts.max() / counts.sum()) if counts.size else 0.0,
        **score(success, targets, sampled),
        **more,
    )


# posteriors of targets ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TargetPosterior:
    """Target, value, how likely: the share of worlds if `exact`, else a weight.

    `table_share` is the largest share of a value in one table, `table` which that is.
    """

    rows: pl.DataFrame
    exact: bool = False
    table_share: float = 0.0
    table: str | None = None
    notes: list[str] = field(default_factory=list)


def guess_result(
    attack: str,
    claim: Claim,
    true: pl.Series,
    posterior: TargetPosterior,
    asked: pl.DataFrame,
    known: list[str],
    sampled: bool,
    note: str,
) -> Result:
    """How the likeliest value of each target goes, and the worst that the posterior gives to anybody."""
    values = posterior.rows.with_columns((pl.col(P) / pl.col(P).sum().over(TID)).alias(P))
    each = values.group_by(TID).agg(pl.len().alias("fewest"), pl.col(P).max().alias("top"))
    likeliest = values.join(each, on=TID).filter(is_likeliest(pl.col(P), pl.col("top")))
    likeliest = likeliest.join(asked.select(TID, pl.col(VALUE).alias("\0true")), on=TID)
    right = likeliest.group_by(TID).agg((pl.col(VALUE) == pl.col("\0true")).mean().alias("right"))
    worst, witness = posterior.table_share if claim.model in SHARES else 0.0, posterior.table
    if each.height:
        column = pl.col("top") if posterior.exact and claim.model in SHARES else 1 / pl.col("fewest")
        top = each.with_columns(column.alias("worst")).sort("worst", TID, descending=[True, False]).row(0, named=True)
        if top["worst"] > worst:
            who = asked.filter(pl.col(TID) == top[TID]).row(0, named=True)
            worst, witness = top["worst"], ", ".join(f"{n} = {_text(who[n])}" for n in known) or None
    return claim_result(
        attack,
        claim,
        true,
        targets=right.height,
        sampled=sampled,
        success=float(right["right"].sum()) / right.height if right.height else 0.0,
        worst=worst,
        witness=witness,
        note="; ".join([note, *posterior.notes]),
    )


def _text(value: Any) -> str:
    return number_text(value) if isinstance(value, int | float) else str(value)


def counted_posterior(
    piles: Piles, worlds: WorldCounts, knows: list[str], attribute: str, asked: pl.DataFrame
) -> TargetPosterior:
    """The share of worlds that give each value to a target."""
    codes = [piles.code(name, asked[name]) for name in knows]
    rows = []
    for target, key in enumerate(zip(*codes, strict=True) if codes else [()] * asked.height):
        counter: Mapping[int, int] = worlds.get(tuple(map(int, key)), {})
        total = sum(counter.values())
        rows += [(target, piles.domains[attribute][code], ways / total) for code, ways in counter.items()]
    schema: dict[str, Any] = {TID: pl.Int64, VALUE: piles.domains[attribute].dtype, P: pl.Float64}
    return TargetPosterior(pl.DataFrame(rows, schema=schema, orient="row"), exact=True)


def without_impossible(
    posterior: TargetPosterior, piles: Piles, pairs: Pairs, knows: list[str], attribute: str, asked: pl.DataFrame
) -> TargetPosterior:
    """The same posterior without what pairings of whole tables rule out."""
    different = asked.unique(knows, maintain_order=True) if knows else asked.head(1)
    known = {name: piles.code(name, different[name]) for name in knows}
    target, code = np.nonzero(candidates(piles, pairs, known, attribute))
    values = {name: different[name].gather(target) for name in knows}
    may = pl.DataFrame({**values, VALUE: piles.domains[attribute].gather(code)})
    may = asked.select(TID, *knows).join(may, on=knows, nulls_equal=True) if knows else asked.select(TID).join(
        may, how="cross"
    )  # fmt: skip
    return replace(posterior, rows=may.select(TID, VALUE).join(posterior.rows, on=[TID, VALUE]))


# what subtables say ---------------------------------------------------------------------------------------------


def shown_attributes(part: Subtable) -> list[str]:
    """The attributes of a part that stand there as values, not labels."""
    columns = [c for info in part.release.manifest.tables for c in info.columns]
    return [c.name for c in columns if c.exact or c.role == "sensitive"]


class SubtableShares(NamedTuple):
    """How many people, or how likely, have each value for what is `known`; `table` is the one part that says so."""

    rows: pl.DataFrame
    known: list[str]
    table: str | None


def subtable_shares(
    parts: list[Subtable], knows: list[str], attribute: str, notes: list[str]
) -> Iterator[SubtableShares]:
    """What a part says of the attribute for what is known in it (with its name), or joined to another part."""
    for part in parts:
        if attribute not in shown_attributes(part):
            continue
        by = [name for name in knows if name in shown_attributes(part)]
        counts = _expected_people(part, [*by, attribute])
        if counts is None:
            notes.append(f"{part.name} was not looked at: there was too much")
            continue
        yield SubtableShares(counts, by, part.name)
        for other in parts:
            shared = sorted({*shown_attributes(part)} & {*shown_attributes(other)} - {attribute})
            beyond = [name for name in knows if name in shown_attributes(other) and name not in by]
            if other is part or not shared or not beyond:
                continue
            there = _expected_people(other, [*shared, *beyond])
            here = _expected_people(part, list(dict.fromkeys([*shared, *by, attribute])))
            if there is None or here is None or join_size(there, here, shared) > ROWS:
                notes.append(f"{part.name} and {other.name} were not joined: there was too much to look at")
                continue
            both = there.join(here, on=shared, nulls_equal=True).select(*by, *beyond, attribute).unique()
            yield SubtableShares(both, [*by, *beyond], None)


def intersected_posterior(
    subtables: Iterable[SubtableShares], attribute: str, asked: pl.DataFrame, notes: list[str]
) -> TargetPosterior:
    """Values of the attribute that no source rules out for what is known, weighed by what each table says alone."""
    remaining: pl.DataFrame | None = None
    table_share, table = 0.0, None
    for shares, by, name in subtables:
        rows = shares.rename({attribute: VALUE})
        if name is not None:
            total = pl.col(P).sum().over(by) if by else pl.col(P).sum()
            rows = rows.with_columns(pl.col(P) / total)
            top = float(rows[P].max() or 0.0)  # type: ignore[arg-type]
            if top > table_share:
                table_share, table = top, name
        else:
            rows = rows.with_columns(pl.lit(1.0).alias(P))
        if by and join_size(asked, rows, by) > ROWS:
            notes.append("not all tables were joined: there was too much to look at")
            continue
        keys = asked.select(TID, *by)
        values = keys.join(rows, on=by, nulls_equal=True) if by else keys.join(rows, how="cross")
        values = values.select(TID, VALUE, P)
        if remaining is not None:
            values = remaining.join(values, on=[TID, VALUE], suffix="\0")
            values = values.select(TID, VALUE, pl.col(P) * pl.col(f"{P}\0"))
        remaining = values
    empty = pl.DataFrame(schema={TID: pl.Int64, VALUE: asked[VALUE].dtype, P: pl.Float64})
    return TargetPosterior(empty if remaining is None else remaining, False, table_share, table, notes)


def _expected_people(part: Subtable, names: Sequence[str]) -> pl.DataFrame | None:
    """How many people of a part are expected to have each combination of some attributes; None if too many."""
    tables = part.release.tables
    shown = [name for name in names if name in shown_attributes(part)]
    if not part.release.traits.counts_groups:
        rows = next(iter(tables.values()))
        return _comparable_columns(rows.select(shown)).group_by(shown).agg(pl.len().cast(pl.Float64).alias(P))
    quasi, values = tables["quasi"], tables["sensitive"]
    left, right = [n for n in shown if n in quasi.columns], [n for n in shown if n not in quasi.columns]
    if not right:
        return _comparable_columns(quasi.select(left)).group_by(left).agg(pl.len().cast(pl.Float64).alias(P))
    rows = _comparable_columns(quasi.select(GROUP, *left)).group_by(GROUP, *left).agg(pl.len().alias(PEOPLE))
    counts = _comparable_columns(values.select(GROUP, *right, COUNT)).group_by(GROUP, *right).agg(pl.col(COUNT).sum())
    share = counts.with_columns(pl.col(COUNT) / pl.col(COUNT).sum().over(GROUP))
    if join_size(rows, share, [GROUP]) > ROWS:
        return None
    return rows.join(share, on=GROUP).group_by(shown).agg((pl.col(PEOPLE) * pl.col(COUNT)).sum().alias(P))


def _comparable_columns(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(comparable(rows[name]) for name in rows.columns)


def join_size(one: pl.DataFrame, other: pl.DataFrame, on: list[str]) -> int:
    """How many rows a join would make."""
    counts = one.group_by(on).agg(pl.len().cast(pl.Int64).alias("\0one"))
    both = counts.join(other.group_by(on).agg(pl.len().cast(pl.Int64).alias("\0other")), on=on, nulls_equal=True)
    return int((both["\0one"] * both["\0other"]).sum())
