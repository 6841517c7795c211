"""With the original at hand: every published row covers a row of the original, and none is invented.

A release is true to its original where some one-to-one matching gives every published row an original row that its
labels cover and whose sensitive values it holds. It is looked for by auction (auction.py), and the answer is exact.
Where sensitive columns were shuffled within groups, each of them must have such a matching of its own. That the same
original rows explain all of them would be a matching in three dimensions or more; it is not checked.

There is one bound: after STEPS visits of nodes, a minute or two, the search stops. Published rows that then have no row
of their own are tested one by one, whether they cover any at all, and the finding says so.
"""

from __future__ import annotations

import polars as pl

from pluralis.auditing.label_boxes import Coded, coded, core, join_boxes, join_points, numbered
from pluralis.auditing.verdict import Finding
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
        "published and left-out rows are the rows of the original",
        rows.height + manifest.suppressed == original.height,
        measured=float(rows.height + manifest.suppressed),
        promised=float(original.height),
    )
    linked = bool(manifest.parameters.get("linked", True))
    return [counted, _no_secret_invented(info, rows, true, linked), covered(info, rows, true, linked)]


def _no_secret_invented(info: TableInfo, rows: pl.DataFrame, original: pl.DataFrame, linked: bool) -> Finding:
    """Published sensitive values, jointly where rows are linked, occur at least as often in the original."""
    secrets = [column.name for column in info.named("sensitive")]
    published = pl.DataFrame({name: core(rows[name]) for name in secrets})
    true = pl.DataFrame({name: core(original[name]) for name in secrets})
    surplus = 0
    witness = None
    for names in [secrets] if linked and secrets else [[name] for name in secrets]:
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


def covered(info: TableInfo, rows: pl.DataFrame, original: pl.DataFrame, linked: bool) -> Finding:
    """Whether every published row can be given an original row of its own."""
    quasi = [coded(rows[column.name], original[column.name], column) for column in info.named("quasi")]
    secrets = [column.name for column in info.named("sensitive")]
    if linked or len(secrets) < 2:
        return _matched(quasi, rows, original, secrets, "by matching, exactly")
    apart = "by matching, exactly for each sensitive attribute alone"
    findings = [_matched(quasi, rows, original, [name], apart) for name in secrets]
    return min(findings, key=lambda finding: (finding.holds, finding.measured, finding.note == apart))


def _matched(quasi: list[Coded], rows: pl.DataFrame, original: pl.DataFrame, secrets: list[str], how: str) -> Finding:
    """Whether every published row can be given an original row of its own that holds the same secrets."""
    from pluralis.auditing.matching import match  # takes a moment to load, and not every audit needs it

    published, true = (
        pl.DataFrame({"\0": pl.repeat(0, frame.height, eager=True)} | {name: core(frame[name]) for name in secrets})
        for frame in (rows, original)
    )
    values = pl.concat([published, true]).unique()
    boxes, first = join_boxes(quasi, numbered(published, values))
    found = match(boxes, join_points(quasi, numbered(true, values)), STEPS)
    witness = None
    if found.short.size:
        row = rows.row(int(first[found.short[0]]), named=True)
        witness = f"group {row[GROUP]}" if GROUP in row else ", ".join(f"{name} = {row[name]}" for name in row)
        asked = int(boxes.rows[found.short].sum())
        together = f"{asked:,} published rows, one of them there, cover only {found.shared:,} original rows"
        how += f": {together if found.shared else 'a row there covers no original row'}"
    elif found.untried:
        how = (
            f"not exactly: the search for a matching was stopped after {STEPS:,} steps; {found.placed:,} rows have a "
            f"row of their own, the other {found.untried:,} were tested one by one"
        )
    fit = found.placed + found.untried
    claim = "every published row covers a row of its own in the original"
    return Finding(claim, fit == rows.height, float(fit), float(rows.height), witness=witness, note=how)
