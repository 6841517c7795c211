"""The audit: what a release's own bytes say about its claims.

Nothing here imports a method, a kernel or a plan. The definitions are written again, on the published tables, so
that a mistake in a method is not repeated by the one who checks it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from pluralis.audit.coverage import coverage
from pluralis.audit.definitions import MODELS, diversity, smallest_class
from pluralis.audit.verdict import Finding, Verdict
from pluralis.errors import ReleaseError
from pluralis.release import GROUP, Claim, Manifest, Release, TableInfo, canonical_order, inspect_folder
from pluralis.spelling import skeleton

__all__ = ["Finding", "Verdict", "audit"]


def audit(release: Release | str | Path, *, original: pl.DataFrame | None = None, allow_test: bool = False) -> Verdict:
    """Judge every claim of a release; with the original, also that its rows are those of the original.

    A folder is judged by its bytes: hashes, columns and row counts must agree with the manifest before any claim is
    looked at. A release made with the test key is refused unless `allow_test`.
    """
    if isinstance(release, Release):
        manifest, tables, problems = release.manifest, release.tables, list[str]()
    else:
        manifest, tables, problems = inspect_folder(Path(release))
    findings = [_agreement(manifest, tables, problems)]
    if manifest.test:
        findings.append(
            Finding("made with a secret key", allow_test, note="it was made with the test key, which everybody has")
        )
    if findings[0].holds:
        if manifest.kind not in _JUDGES:
            raise ReleaseError(
                f"This Pluralis cannot judge releases of kind {manifest.kind!r}. Use the one that made it."
            )
        if not manifest.claims:
            findings.append(Finding("the release makes at least one claim", False, 0.0, 1.0))
        findings += _JUDGES[manifest.kind](manifest, tables)
        if original is not None:
            findings += coverage(manifest, tables, original)
    return Verdict(tuple(findings), manifest.breaks)


def _agreement(manifest: Manifest, tables: dict[str, pl.DataFrame], problems: list[str]) -> Finding:
    """Whether files, hashes, columns and counts are those of the manifest."""
    if not problems and manifest.kind == "generalized":
        problems = list(_microdata_problems(manifest, tables))
    return Finding(
        "tables, hashes and manifest agree",
        not problems,
        measured=float(len(problems)),
        promised=0.0,
        note=" ".join(problems) or None,
    )


def _microdata_problems(manifest: Manifest, tables: dict[str, pl.DataFrame]) -> Iterator[str]:
    if set(tables) != {"microdata"}:
        yield f"a generalized release has one table, microdata, not {', '.join(sorted(tables)) or 'none'}."
        return
    rows = tables["microdata"]
    info = next(info for info in manifest.tables if info.name == "microdata")
    if rows.height != manifest.rows:
        yield f"the manifest says {manifest.rows:,} rows, microdata has {rows.height:,}."
    if [column.name for column in info.named("group")] != [GROUP]:
        yield f"microdata has no column {GROUP!r}."
        return
    if rows[GROUP].null_count():
        yield "some rows have no group."
    for name in info_names(info, "sensitive"):
        if rows[name].null_count():
            yield f"some rows have no {name}."
    quasi = info_names(info, "quasi")
    groups = rows[GROUP].n_unique()
    if quasi and rows.select(GROUP, *quasi).n_unique() != groups:
        yield "some group is published under more than one set of labels."
    if not rows.equals(canonical_order(rows)):
        yield "rows are not in canonical order, so their order may tell something."


def info_names(info: TableInfo, role: str) -> list[str]:
    return [column.name for column in info.named(role)]


def _judge_generalized(manifest: Manifest, tables: dict[str, pl.DataFrame]) -> list[Finding]:
    return [_judge_claim(claim, manifest, tables["microdata"]) for claim in manifest.claims]


def _judge_claim(claim: Claim, manifest: Manifest, rows: pl.DataFrame) -> Finding:
    if claim.model == "k-anonymity" and claim.k is not None:
        size, group = smallest_class(rows, GROUP)
        return Finding(claim.rule, size >= claim.k, float(size), float(claim.k), witness=f"group {group}")
    if claim.model not in MODELS or claim.attribute not in rows.columns or claim.l is None:
        raise ReleaseError(f"The claim {claim.rule!r} ({claim.model}) is not one that this kind of release can make.")
    info = next(info for info in manifest.tables if info.name == "microdata")
    beside = set(info_names(info, "sensitive")) | set(info_names(info, "plain"))
    known = sorted(beside & set(claim.adversary)) if manifest.parameters.get("linked", True) else []
    keep = claim.attribute in manifest.parameters.get("case", [])
    if rows[claim.attribute].dtype == pl.String:
        rows = rows.with_columns(skeleton(pl.col(claim.attribute), fold_case=not keep))
    measured = diversity(rows, [GROUP, *known], claim.attribute, claim.model, claim.l, claim.c or 0.0)
    where = ", ".join(
        f"{name} {value}" if name == GROUP else f"{name} = {value}" for name, value in measured.witness.items()
    )
    promised = MODELS[claim.model].promised(claim.l, claim.c or 0.0)
    return Finding(claim.rule, measured.holds, measured.measured, promised, measured.top_share, where)


_JUDGES = {"generalized": _judge_generalized}
