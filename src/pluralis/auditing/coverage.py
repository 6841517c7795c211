"""With the original at hand: every published row covers a row of the original, and none is invented.

A release is true to its original where some one-to-one matching gives every published row an original row that its
labels cover and whose sensitive values it holds. It is looked for by auction (`matching`), and the answer is exact.
Where sensitive columns were shuffled within groups, each of them must have such a matching of its own. That the same
original rows explain all of them would be a matching in three dimensions or more; it is not checked.

There is one bound: after STEPS visits of nodes, a minute or two, the search stops, that of each shuffled column after
its part of them. Published rows that then have no row of their own are tested one by one, whether they cover any at
all, and the finding says so.
"""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from pluralis.auditing.label_boxes import CodedLabels, coded_labels, core_columns, join_boxes, join_points, places_among
from pluralis.auditing.verdict import COUNTED, Finding
from pluralis.release.manifest import Manifest, TableInfo
from pluralis.release.original import original_values
from pluralis.release.release import GROUP

STEPS = 5_000_000_000


def coverage(manifest: Manifest, tables: dict[str, pl.DataFrame], original: pl.DataFrame) -> list[Finding]:
    """Findings about a generalized release and its original."""
    rows = tables["microdata"]
    info = next(info for info in manifest.tables if info.name == "microdata")
    true = pl.DataFrame(
        {c.name: original_values(original, c, manifest) for c in (*info.named("quasi"), *info.named("sensitive"))}
    )
    counted = Finding(
        COUNTED,
        rows.height + manifest.suppressed == original.height,
        measured=float(rows.height + manifest.suppressed),
        promised=float(original.height),
    )
    linked, keep = bool(manifest.parameters.linked), manifest.parameters.case
    invented = _no_sensitive_value_invented(info, rows, true, linked, keep)
    return [counted, invented, covered(info, rows, true, linked, keep)]


def _no_sensitive_value_invented(
    info: TableInfo, rows: pl.DataFrame, original: pl.DataFrame, linked: bool, keep: Collection[str]
) -> Finding:
    """Published sensitive values, jointly where rows are linked, occur at least as often in the original."""
    sensitive = [column.name for column in info.named("sensitive")]
    published, true = (core_columns(frame, sensitive, keep) for frame in (rows, original))
    surplus = 0
    witness = None
    for names in [sensitive] if linked and sensitive else [[name] for name in sensitive]:
        counts = (
            published.group_by(names)
            .len("published")
            .join(true.group_by(names).len("true"), on=names, how="left", nulls_equal=True)
        )
        excess = counts.with_columns((pl.col("published").cast(pl.Int64) - pl.col("true").fill_null(0)).alias("over"))
        over = excess.filter(pl.col("over") > 0).sort(names)
        surplus += int(over["over"].sum())
        if over.height and witness is None:
            witness = ", ".join(f"{name} = {over[name][0]}" for name in names)
    return Finding("no sensitive value is invented", surplus == 0, float(surplus), 0.0, witness=witness)


def covered(
    info: TableInfo, rows: pl.DataFrame, original: pl.DataFrame, linked: bool, keep: Collection[str]
) -> Finding:
    """Whether every published row can be given an original row of its own; in `keep` capitals make another value."""
    quasi = [
        coded_labels(rows[column.name], original[column.name], column, fold_case=column.name not in keep)
        for column in info.named("quasi")
    ]
    sensitive = [column.name for column in info.named("sensitive")]
    if linked or len(sensitive) < 2:
        return _matched(quasi, rows, original, sensitive, "by matching, exactly", keep, STEPS)
    apart = "by matching, exactly for each sensitive attribute alone"
    findings = [_matched(quasi, rows, original, [name], apart, keep, STEPS // len(sensitive)) for name in sensitive]
    return min(findings, key=lambda finding: (finding.holds, finding.measured, finding.note == apart))


def _matched(
    quasi: list[CodedLabels],
    rows: pl.DataFrame,
    original: pl.DataFrame,
    sensitive: list[str],
    how: str,
    keep: Collection[str],
    steps: int,
) -> Finding:
    """Whether every published row can be given an original row of its own that holds the same sensitive values."""
    from pluralis.auditing.matching import match  # takes a moment to load, and not every audit needs it

    published, true = (
        core_columns(frame, sensitive, keep, pl.repeat(0, frame.height, eager=True).alias("\0"))
        for frame in (rows, original)
    )
    values = pl.concat([published, true]).unique()
    boxes, first = join_boxes(quasi, places_among(published, values))
    matching = match(boxes, join_points(quasi, places_among(true, values)), steps)
    witness = None
    if matching.short.size:
        row = rows.row(int(first[matching.short[0]]), named=True)
        witness = f"group {row[GROUP]}" if GROUP in row else ", ".join(f"{name} = {row[name]}" for name in row)
        asked = int(boxes.rows[matching.short].sum())
        together = f"{asked:,} published rows, one of them there, cover only {matching.shared:,} original rows"
        how += f": {together if matching.shared else 'a row there covers no original row'}"
    elif matching.untried:
        how = (
            f"not exactly: the search for a matching was stopped after {steps:,} steps; {matching.placed:,} rows have "
            f"a row of their own, the other {matching.untried:,} were tested one by one"
        )
    fit = matching.placed + matching.untried
    claim = "every published row covers a row of its own in the original"
    return Finding(claim, fit == rows.height, float(fit), float(rows.height), witness=witness, note=how)
