"""With the original at hand: every published table, on its own, holds rows of the original and no others.

A release in several tables shows projections of its original. Each is compared with the same projection of the
original, counting how often a row occurs. That the projections belong to the same rows, group by group, is looked at in
`belonging`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import polars as pl

from pluralis.auditing.coverage import covered
from pluralis.auditing.judging import Tables
from pluralis.auditing.label_boxes import core_columns
from pluralis.auditing.verdict import COUNTED, Finding
from pluralis.release.manifest import ColumnInfo, Manifest, TableInfo
from pluralis.release.original import original_values
from pluralis.table.labels import number_texts

APART = "each table on its own"


def projections(manifest: Manifest, tables: Tables, original: pl.DataFrame) -> list[Finding]:
    """Findings about a release in several tables and its original."""
    total = manifest.rows + manifest.suppressed
    findings = [
        Finding(
            COUNTED,
            total == original.height,
            measured=float(total),
            promised=float(original.height),
        )
    ]
    for info in manifest.tables:
        rows = tables[info.name]
        if info.named("quasi"):
            findings.append(_quasi(info, rows, manifest, original))
        for names, published, true in _sensitive_values(info, rows, manifest, original):
            keep = {name for name, own in zip(true.columns, names, strict=True) if own in manifest.parameters.case}
            surplus, witness = _surplus(published, true, keep)
            claim = f"no {' with '.join(names)} is invented in {info.name}"
            findings.append(Finding(claim, not surplus, float(surplus), 0.0, witness=witness, note=APART))
    return findings


def _quasi(info: TableInfo, rows: pl.DataFrame, manifest: Manifest, original: pl.DataFrame) -> Finding:
    columns = info.named("quasi")
    true = pl.DataFrame({column.name: original_values(original, column, manifest) for column in columns})
    if not all(column.exact for column in columns):
        return covered(info, rows, true, True, manifest.parameters.case)
    surplus, witness = _surplus(rows.select(true.columns), true, manifest.parameters.case)
    claim = "every published row has the quasi-identifiers of a row of its own in the original"
    return Finding(claim, not surplus, float(surplus), 0.0, witness=witness, note=APART)


def _sensitive_values(
    info: TableInfo, rows: pl.DataFrame, manifest: Manifest, original: pl.DataFrame
) -> Iterator[tuple[list[str], pl.DataFrame, pl.DataFrame]]:
    """(attributes, published values with their counts, true values) for whatever a table tells of sensitive ones."""
    if info.named("sensitive"):
        columns = info.named("sensitive")
        true = pl.DataFrame({column.name: true_values(column, manifest, original) for column in columns})
        yield [column.attribute or column.name for column in columns], rows.select(*true.columns, "count"), true
    elif info.named("attribute") and info.named("count"):
        for (name,), part in rows.partition_by("attribute", as_dict=True).items():
            true = as_text(true_values(sensitive_info(str(name), manifest), manifest, original)).to_frame("value")
            yield [str(name)], part.select("value", "count"), true


def true_values(column: ColumnInfo, manifest: Manifest, original: pl.DataFrame) -> pl.Series:
    """The original's values of a sensitive attribute, whatever its column is called."""
    named = column.model_copy(update={"name": column.attribute or column.name})
    return original_values(original, named, manifest)


def sensitive_info(name: str, manifest: Manifest) -> ColumnInfo:
    """A sensitive attribute as some table describes it; where only values are published, numbers are text."""
    for table in manifest.tables:
        for column in table.named("sensitive"):
            if (column.attribute or column.name) == name:
                return column
    return manifest.parameters.domains.get(name) or ColumnInfo(name=name, role="sensitive", type="text")


def as_text(series: pl.Series) -> pl.Series:
    return series if series.dtype == pl.String else number_texts(series)


def _surplus(published: pl.DataFrame, true: pl.DataFrame, keep: Collection[str]) -> tuple[int, str | None]:
    """How many published rows are more than the original has, and one of them."""
    names = true.columns
    weight = pl.col("count").sum() if "count" in published.columns and "count" not in names else pl.len()
    shown = published.with_columns(core_columns(published, names, keep)).group_by(names)
    real = core_columns(true, names, keep).group_by(names)
    both = shown.agg(weight.cast(pl.Int64).alias("\0shown")).join(
        real.agg(pl.len().cast(pl.Int64).alias("\0true")), on=names, how="left", nulls_equal=True
    )
    over = both.filter(pl.col("\0shown") > pl.col("\0true").fill_null(0)).sort(names)
    if not over.height:
        return 0, None
    surplus = int((over["\0shown"] - over["\0true"].fill_null(0)).sum())
    return surplus, ", ".join(f"{name} = {over[name][0]}" for name in names)
