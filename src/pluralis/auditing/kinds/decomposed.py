"""Judging `decomposed` releases: rows with their own quasi-identifiers in groups, and a set of values for each group.

A set does not say how often a value occurs, and the sensitive table can be joined to the sets. What is measured is how
many values remain possible for a person once every world that contradicts a table is put aside (decomposed_worlds).
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from pluralis.auditing.belonging import belonging, group_values_of_sets
from pluralis.auditing.decomposed_worlds import Candidates, NotJudged, d_sa_share, judge_claim, worlds_of
from pluralis.auditing.judging import D_SA, Tables, info_of, sensitive_names, table_problems
from pluralis.auditing.kinds.bucketized import quasi_problems
from pluralis.auditing.projection import projections
from pluralis.auditing.verdict import Finding
from pluralis.errors import ReleaseError
from pluralis.release.manifest import Claim, Manifest
from pluralis.release.release import GROUP


def problems(manifest: Manifest, tables: Tables) -> Iterator[str]:
    names = sensitive_names(manifest)
    beside = {info.name for info in manifest.tables} - {"quasi", "values"}
    if beside not in ({"sensitive"}, {f"sensitive_{name}" for name in names}, set()):
        yield f"beside quasi and values stand {', '.join(sorted(beside))}, not the sensitive columns."
    expected = ["quasi", "values", *sorted(beside)]
    yield from table_problems(manifest, tables, expected)
    if set(tables) != set(expected):
        return
    yield from quasi_problems(manifest, tables["quasi"])
    values = tables["values"]
    if set(values["attribute"].unique()) != set(names):
        yield "values: it tells of other attributes than the sensitive ones."
    for name in sorted(beside):
        if tables[name]["count"].sum() != manifest.rows:
            yield f"{name}: its counts are not the number of rows."
    if manifest.parameters.primary not in names:
        yield "the manifest names no primary attribute."


def judge(manifest: Manifest, tables: Tables) -> list[Finding]:
    names = sensitive_names(manifest)
    asked = [
        (frozenset(claim.adversary) & set(names), claim.attribute or "", claim.l or 0) for claim in manifest.claims
    ]
    for claim, (known, protected, _) in zip(manifest.claims, asked, strict=True):
        shares_are_known = protected == manifest.parameters.primary and not known
        if claim.model not in ("candidates", "frequency") or (claim.model == "frequency" and not shares_are_known):
            subject = f"The claim {claim.rule!r} ({claim.model})"
            raise ReleaseError(f"{subject} is not one that this kind of release can make.")
    keep_case = manifest.parameters.case
    try:
        worlds = worlds_of(tables, manifest.parameters.primary, names, keep_case)
        results = [_whole_table(tables, judge_claim(worlds, *question), *question) for question in asked]
        findings = [_finding(claim, result) for claim, result in zip(manifest.claims, results, strict=True)]
        if len(names) > 1:
            share = d_sa_share(worlds, tables["quasi"][GROUP].n_unique(), manifest.parameters.l)
            findings.append(Finding(D_SA, share == 1.0, share, 1.0, binding=False))
    except NotJudged as no:
        findings = [Finding(claim.rule, False, witness=no.witness or None, note=no.note) for claim in manifest.claims]
    return findings


def _whole_table(tables: Tables, result: Candidates, known: frozenset[str], protected: str, l: int) -> Candidates:
    """Also for whoever knows no quasi-identifier: of all matching rows of the joint table, no value fills over 1/l."""
    if "sensitive" not in tables or not known or not result.holds:
        return result
    by = sorted(known)
    counts = tables["sensitive"].group_by(*by, protected).agg(pl.col("count").sum().alias("\0here"))
    whole = counts.with_columns(pl.col("\0here").sum().over(by).alias("\0of"))
    top = whole.sort(pl.col("\0here") / pl.col("\0of"), *by, protected).row(-1, named=True)
    if top["\0here"] * l <= top["\0of"]:
        return result
    where = ", ".join(f"{name} = {top[name]}" for name in by)
    return Candidates(False, result.measured, top["\0here"] / top["\0of"], where, "by the joint table alone")


def _finding(claim: Claim, result: Candidates) -> Finding:
    assert claim.l is not None
    enough = result.measured >= claim.l
    if claim.model == "frequency" or (enough and not result.holds):  # there are values enough, but one is too common
        share, note = result.share, result.note
        remark = note if claim.model == "frequency" else f"a share that can be proved{f', {note}' if note else ''}"
        return Finding(claim.rule, result.holds, share, 1 / claim.l, share, result.witness, remark)
    top = result.share or None
    return Finding(claim.rule, result.holds, float(result.measured), float(claim.l), top, result.witness, result.note)


def compare(manifest: Manifest, tables: Tables, original: pl.DataFrame) -> list[Finding]:
    quasi = tables["quasi"]
    sizes = dict(quasi.group_by(GROUP).len().rows())
    published = group_values_of_sets(tables["values"], manifest.parameters.primary, sizes)
    belongs = belonging(info_of(manifest, "quasi"), quasi, published, manifest, original)
    return [*projections(manifest, tables, original), belongs]
