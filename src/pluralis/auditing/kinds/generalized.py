"""Judging `generalized` releases: one table in which rows of a group carry the same labels."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from pluralis.auditing.coverage import coverage
from pluralis.auditing.judging import (
    SensitiveValues,
    Tables,
    alike_in_groups,
    info_of,
    judge_size,
    judge_together,
    table_problems,
)
from pluralis.auditing.verdict import Finding
from pluralis.release.manifest import Manifest
from pluralis.release.release import GROUP


def problems(manifest: Manifest, tables: Tables) -> Iterator[str]:
    yield from table_problems(manifest, tables, ["microdata"])
    if set(tables) != {"microdata"}:
        return
    rows, info = tables["microdata"], info_of(manifest, "microdata")
    if rows.height != manifest.rows:
        yield f"the manifest says {manifest.rows:,} rows, microdata has {rows.height:,}."
    if info.names("group") != [GROUP]:
        yield f"microdata has no column {GROUP!r}."
        return
    if rows[GROUP].null_count():
        yield "some rows have no group."
    quasi = info.names("quasi")
    if not alike_in_groups(rows, quasi):
        yield "some group is published under more than one set of labels."


def judge(manifest: Manifest, tables: Tables) -> list[Finding]:
    rows, info = tables["microdata"], info_of(manifest, "microdata")
    beside = [*info.names("sensitive"), *info.names("plain")] if manifest.parameters.linked else []
    shown = set(rows.columns)

    def values_of(attribute: str) -> SensitiveValues | None:
        known = [name for name in beside if name != attribute]
        return SensitiveValues(rows, known) if attribute in shown else None

    judged = iter(judge_together([claim for claim in manifest.claims if claim.k is None], manifest, values_of))
    return [next(judged) if claim.k is None else judge_size(claim, rows, [GROUP]) for claim in manifest.claims]


def compare(manifest: Manifest, tables: Tables, original: pl.DataFrame) -> list[Finding]:
    return coverage(manifest, tables, original)
