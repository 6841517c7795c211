"""Judging `bucketized` releases: rows with their own quasi-identifiers in groups, and how often a group has each value.

Whoever finds a person's row knows its group and nothing of which value of the group is whose: every way to hand the
group's values to its rows is a possible world. So a value's probability is its share of the group, or, where the
sensitive columns stand side by side, its share of those that match what is known. Where they do not, a value of
another attribute tells nothing: the values of each attribute are handed out on their own.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from pluralis.auditing.belonging import belonging, group_values
from pluralis.auditing.decomposed_worlds import linked_d_sa_diverse
from pluralis.auditing.judging import (
    D_SA,
    Tables,
    group_sizes,
    info_of,
    judge_together,
    sensitive_values,
    table_problems,
    value_problems,
)
from pluralis.auditing.projection import projections
from pluralis.auditing.verdict import Finding
from pluralis.release.manifest import Manifest
from pluralis.release.release import GROUP


def problems(manifest: Manifest, tables: Tables) -> Iterator[str]:
    yield from table_problems(manifest, tables, ["quasi", "sensitive"])
    if set(tables) == {"quasi", "sensitive"}:
        yield from quasi_problems(manifest, tables["quasi"])
        yield from value_problems(manifest, "sensitive", tables["sensitive"], group_sizes(tables["quasi"], GROUP))


def quasi_problems(manifest: Manifest, rows: pl.DataFrame) -> Iterator[str]:
    """Whether `quasi` has a row for each person, each in a group."""
    if rows.height != manifest.rows:
        yield f"the manifest says {manifest.rows:,} rows, quasi has {rows.height:,}."
    if rows[GROUP].null_count():
        yield "quasi: some rows have no group."


def judge(manifest: Manifest, tables: Tables) -> list[Finding]:
    info, rows = info_of(manifest, "sensitive"), tables["sensitive"]
    findings = judge_together(manifest.claims, manifest, sensitive_values(info, rows))
    names = info.names("sensitive")
    if len(names) > 1:
        share = linked_d_sa_diverse(rows, names, manifest.parameters.l)
        findings.append(Finding(D_SA, share == 1.0, share, 1.0, binding=False))
    return findings


def compare(manifest: Manifest, tables: Tables, original: pl.DataFrame) -> list[Finding]:
    published = group_values(GROUP, info_of(manifest, "sensitive"), tables["sensitive"])
    belongs = belonging(info_of(manifest, "quasi"), tables["quasi"], published, manifest, original)
    return [*projections(manifest, tables, original), belongs]
