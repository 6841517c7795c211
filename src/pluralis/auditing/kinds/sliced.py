"""Judging `sliced` releases: generalized rows with a group in each slice of the sensitive columns.

In each slice a value's probability is its share of the group (see bucketized.py). Knowing a value of another slice
tells which rows of the same labels a person's may be, and each of them is in a group that keeps 1/l, so a mixture of
them does. A row without a group in some slice is protected by nothing there: values that no group could take are
the commonest ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from pluralis.auditing.belonging import belonging, group_values
from pluralis.auditing.judging import (
    SensitiveValues,
    Tables,
    group_sizes,
    info_of,
    judge_size,
    judge_together,
    sensitive_values,
    table_problems,
    value_problems,
)
from pluralis.auditing.projection import projections
from pluralis.auditing.verdict import Finding
from pluralis.release.manifest import Manifest


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
    labels = info_of(manifest, "quasi").names("quasi")
    slice_of = {name: table for table in _slices(manifest) for name in _attributes(manifest, tables, table)}
    of_slice = {name: sensitive_values(info_of(manifest, name), tables[name]) for name in {*slice_of.values()}}

    def values_of(attribute: str) -> SensitiveValues | None:
        return of_slice[slice_of[attribute]](attribute) if attribute in slice_of else None

    about = [claim for claim in manifest.claims if claim.k is None]
    judged = (
        replace(finding, witness=f"{slice_of[claim.attribute or '']}, {finding.witness}")
        for claim, finding in zip(about, judge_together(about, manifest, values_of), strict=True)
    )
    return [
        _everyone_in_a_group(manifest, quasi),
        *(next(judged) if claim.k is None else judge_size(claim, quasi, labels) for claim in manifest.claims),
    ]


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


def _attributes(manifest: Manifest, tables: Tables, table: str) -> list[str]:
    """The sensitive attributes that a slice tells of."""
    info = info_of(manifest, table)
    if info.named("attribute"):
        return tables[table]["attribute"].unique().cast(pl.String).to_list()
    return info.names("sensitive")


def _slices(manifest: Manifest) -> dict[str, str]:
    """The tables of slices, and the column of `quasi` that holds their groups."""
    names = (info.name for info in manifest.tables if info.name.startswith("slice_"))
    return {name: f"group_{name.removeprefix('slice_')}" for name in names}


def compare(manifest: Manifest, tables: Tables, original: pl.DataFrame) -> list[Finding]:
    slices = _slices(manifest).items()
    published = [one for name, group in slices for one in group_values(group, info_of(manifest, name), tables[name])]
    belongs = belonging(info_of(manifest, "quasi"), tables["quasi"], published, manifest, original)
    return [*projections(manifest, tables, original), belongs]
