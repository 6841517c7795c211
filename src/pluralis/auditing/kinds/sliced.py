"""Judging `sliced` releases: generalised rows with a group in each slice of the sensitive columns.

In each slice a value's probability is its share of the group (see bucketized.py). Knowing a value of another slice
tells which rows of the same labels a person's may be, and each of them is in a group that keeps 1/l, so a mixture of
them does. A row without a group in some slice is protected by nothing there: values that no group could take are
the commonest ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from pluralis.auditing.belonging import belonging, told_by
from pluralis.auditing.judging import (
    Secrets,
    Tables,
    group_sizes,
    info_of,
    judge_diversity,
    judge_size,
    secrets_in,
    table_problems,
    value_problems,
)
from pluralis.auditing.projection import projections
from pluralis.auditing.verdict import Finding
from pluralis.release.manifest import Claim, Manifest


def problems(manifest: Manifest, tables: Tables) -> Iterator[str]:
    slices = _slices(manifest)
    yield from table_problems(manifest, tables, ["quasi", *slices])
    if set(tables) != {"quasi", *slices}:
        return
    rows = tables["quasi"]
    if rows.height != manifest.rows:
        yield f"the manifest says {manifest.rows:,} rows, quasi has {rows.height:,}."
    if info_of(manifest, "quasi").names("group") != list(slices.values()):
        yield "quasi does not have one group column for each slice."
        return
    for name, group in slices.items():
        yield from value_problems(manifest, name, tables[name], group_sizes(rows, group))


def judge(manifest: Manifest, tables: Tables) -> list[Finding]:
    quasi = tables["quasi"]
    findings = [_everyone_in_a_group(manifest, quasi)]
    for claim in manifest.claims:
        if claim.k is not None:
            findings.append(judge_size(claim, quasi, info_of(manifest, "quasi").names("quasi")))
        else:
            name, secrets = _secrets(claim, manifest, tables)
            finding = judge_diversity(claim, manifest, secrets)
            findings.append(replace(finding, witness=f"{name}, {finding.witness}"))
    return findings


def _everyone_in_a_group(manifest: Manifest, quasi: pl.DataFrame) -> Finding:
    gaps = {name: quasi[group].null_count() for name, group in _slices(manifest).items()}
    worst = max(gaps, key=lambda name: gaps[name], default="")
    note = f"{worst}: whoever has no group there holds one of the values that were too common for one"
    bad = any(gaps.values())
    return Finding(
        "every row has a group in every slice",
        not bad,
        float(max(gaps.values(), default=0)),
        0.0,
        witness=worst if bad else None,
        note=note if bad else None,
    )


def _secrets(claim: Claim, manifest: Manifest, tables: Tables) -> tuple[str, Secrets | None]:
    """The slice that tells of an attribute, and what it tells."""
    for name in _slices(manifest):
        found = secrets_in(info_of(manifest, name), tables[name], claim.attribute or "")
        if found is not None:
            return name, found
    return "", None


def _slices(manifest: Manifest) -> dict[str, str]:
    """The tables of slices, and the column of `quasi` that holds their groups."""
    names = (info.name for info in manifest.tables if info.name.startswith("slice_"))
    return {name: f"group_{name.removeprefix('slice_')}" for name in names}


def compare(manifest: Manifest, tables: Tables, original: pl.DataFrame) -> list[Finding]:
    slices = _slices(manifest).items()
    told = [one for name, group in slices for one in told_by(group, info_of(manifest, name), tables[name])]
    belongs = belonging(info_of(manifest, "quasi"), tables["quasi"], told, manifest, original)
    return [*projections(manifest, tables, original), belongs]
