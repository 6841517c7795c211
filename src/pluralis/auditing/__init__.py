"""The audit: what a release's own bytes say about its claims.

Nothing here imports a method, a kernel or a plan. The definitions are written again, on the published tables, so
that a mistake in a method is not repeated by the one who checks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose
from pathlib import Path

import polars as pl

from pluralis.auditing.judging import Judge
from pluralis.auditing.kinds import bucketized, candidates, decomposed, generalized, multi, sliced
from pluralis.auditing.verdict import Finding, Verdict
from pluralis.errors import ReleaseError
from pluralis.release.domains import told_apart
from pluralis.release.form import form_problems
from pluralis.release.manifest import Manifest
from pluralis.release.reading import LIMIT, inspecting, refusing
from pluralis.release.release import Release
from pluralis.table.dictionaries import coded_table, spelled_out_table

__all__ = ["Finding", "Verdict", "audit"]


def audit(
    release: Release | str | Path,
    *,
    original: pl.DataFrame | None = None,
    allow_test: bool = False,
    limit: int | None = LIMIT,
) -> Verdict:
    """Judge every claim of a release; with the original, also that its rows are those of the original.

    A folder is judged by its bytes, and only if it is exactly one release (`reading` says what that proves). Its tables
    may unfold to `limit` bytes. A release made with the test key is refused unless `allow_test`.
    """
    if isinstance(release, Release):
        tables = {name: coded_table(table) for name, table in release.tables.items()}
        problems = list(form_problems(release.manifest, tables))
        return _judged(release.manifest, tables, problems, original, allow_test)
    with inspecting(Path(release), limit=limit) as found:
        verdict = _judged(found.manifest, found.tables, found.problems, original, allow_test)
        if not (late := found.wait()):
            return verdict
        return _judged(found.manifest, found.tables, late, original, allow_test)


def _judged(
    manifest: Manifest,
    tables: dict[str, pl.DataFrame],
    problems: list[str],
    original: pl.DataFrame | None,
    allow_test: bool,
) -> Verdict:
    with refusing("cannot be judged"):
        if manifest.kind not in _JUDGES:
            raise ReleaseError(f"This Pluralis cannot judge a {manifest.kind!r} release. Use the one that made it.")
        judge = _JUDGES[manifest.kind]
        problems = problems or list(judge.problems(manifest, tables))
        findings = [_agreement(problems)]
        if manifest.test:
            findings.append(
                Finding("made with a secret key", allow_test, note="it was made with the test key, which everybody has")
            )
        if findings[0].holds:
            if not manifest.claims:
                findings.append(Finding("the release makes at least one claim", False, 0.0, 1.0))
            findings += judge.judge(manifest, tables)
            findings += _certificate(manifest, findings)
            findings += _by_spelling(manifest, tables)
            if original is not None:
                spelled = {name: spelled_out_table(table) for name, table in tables.items()}
                findings += judge.compare(manifest, spelled, original)
        return Verdict(tuple(findings), manifest.breaks)


def _certificate(manifest: Manifest, findings: Sequence[Finding]) -> list[Finding]:
    """Whether what the manifest says was measured is what its tables give."""
    found = {finding.claim: finding.measured for finding in findings}
    stated = {claim.rule: claim.measured for claim in manifest.claims if claim.measured is not None}
    wrong = [rule for rule, value in stated.items() if not isclose(value, found.get(rule) or 0.0, rel_tol=1e-9)]
    if not stated:
        return []
    claim = "what the manifest says was measured is what its tables give"
    return [Finding(claim, not wrong, float(len(wrong)), 0.0, note="; ".join(wrong) or None)]


def _by_spelling(manifest: Manifest, tables: dict[str, pl.DataFrame]) -> list[Finding]:
    """Whether spellings that elsewhere are one value were counted as several: the manifest says so, and is believed."""
    claim = "no two values differ in spelling alone"
    return [
        Finding(f"{name}: {claim}", False, note=f"{one!r} and {two!r} do; not promised", binding=False)
        for name, one, two in told_apart(manifest, tables)
    ]


def _agreement(problems: list[str]) -> Finding:
    """Whether files, hashes, columns and counts are those of the manifest."""
    return Finding(
        "tables, hashes and manifest agree",
        not problems,
        measured=float(len(problems)),
        promised=0.0,
        note=" ".join([*problems[:20], *([f"{len(problems) - 20:,} more."] if len(problems) > 20 else [])]) or None,
    )


_JUDGES: dict[str, Judge] = {
    "bucketized": bucketized,
    "candidates": candidates,
    "decomposed": decomposed,
    "generalized": generalized,
    "multi": multi,
    "sliced": sliced,
}
