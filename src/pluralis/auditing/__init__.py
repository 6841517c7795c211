"""The audit: what a release's own bytes say about its claims.

Nothing here imports a method, a kernel or a plan. The definitions are written again, on the published tables, so
that a mistake in a method is not repeated by the one who checks it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import isclose
from pathlib import Path

import polars as pl

from pluralis.auditing.judging import Judge
from pluralis.auditing.kinds import bucketized, candidates, decomposed, generalized, multi, sliced
from pluralis.auditing.parts import Joined, Judged, verdict_of_judged
from pluralis.auditing.verdict import Finding, Verdict
from pluralis.display.words import counted
from pluralis.errors import SECRET_KEY, InputError, ReleaseError
from pluralis.progress import stage
from pluralis.release.attribute_lists import AttributeLists
from pluralis.release.domains import told_apart
from pluralis.release.form import form_problems
from pluralis.release.manifest import Manifest
from pluralis.release.original import recoded
from pluralis.release.parts import PartInfo, PartsManifest
from pluralis.release.reading import LIMIT, Inspection, inspecting, parts_of, refusing
from pluralis.release.release import Release
from pluralis.table.dictionaries import decode_table, dictionary_encode_table
from pluralis.table.sources import read_table

__all__ = ["Finding", "Verdict", "audit"]

AT_ONCE = 2_000_000  # rows of parts that are judged at the same time, so that memory is bounded however many cores are


def audit(
    release: Release | str | Path,
    original: object = None,
    *,
    allow_test: bool = False,
    limit: int | None = LIMIT,
    encoding: str = "utf-8",
    separator: str | None = None,
) -> Verdict:
    """Judge every claim of a release from its published bytes; with its original, also whether it shows that.

    A release in parts is judged part by part. The rows of a part are those of no other, so its original is not taken
    here: `verbs.audit` knows which rows are whose.
    """
    if not isinstance(release, Release) and (parts := parts_of(release)) is not None:
        if original is not None:
            raise InputError("Which rows of the original are in which part is not known here. Use pluralis.audit.")
        verdict = verdict_of_judged(parts, _each_part(Path(release), parts.manifest, allow_test, limit))
        if parts_of(release) != parts:
            raise ReleaseError(f"{release} changed while it was read. Read it again.")
        return verdict
    with stage("reading"):
        frame = None if original is None else read_table(original, encoding=encoding, separator=separator)
    if isinstance(release, Release):
        tables = {name: dictionary_encode_table(table) for name, table in release.tables.items()}
        problems = list(form_problems(release.manifest, tables))
        return _judged(release.manifest, tables, problems, frame, allow_test)
    with inspecting(Path(release), limit=limit) as inspection:
        return _inspected(inspection, frame, allow_test)


def _inspected(inspection: Inspection, original: pl.DataFrame | None, allow_test: bool) -> Verdict:
    """The verdict on a folder whose tables were read."""
    verdict = _judged(inspection.manifest, inspection.tables, inspection.problems, original, allow_test)
    if not (late := inspection.wait()):
        return verdict
    return _judged(inspection.manifest, inspection.tables, late, original, allow_test)


def audit_part(folder: Path, original: pl.DataFrame | None, *, allow_test: bool, limit: int | None) -> Judged:
    """The verdict on one part of a release, also beside its own rows, and what is counted in all parts together."""
    with inspecting(folder, limit=limit) as inspection:
        verdict = _inspected(inspection, original, allow_test)
        if not verdict.findings[0].holds:  # its tables are not those of its manifest
            return verdict, None
        return verdict, Joined.of_part(inspection.manifest, inspection.tables)


def _each_part(folder: Path, parts: PartsManifest, allow_test: bool, limit: int | None) -> Iterator[Judged]:
    """The parts of a release as they are judged, in their order: as many at a time as there are threads and room."""

    def judged(info: PartInfo) -> Judged:
        return audit_part(folder / info.folder, None, allow_test=allow_test, limit=limit)

    room = AT_ONCE // max(1, *(info.rows for info in parts.parts))
    with stage("auditing the parts") as done, ThreadPoolExecutor(max(1, min(pl.thread_pool_size(), room))) as pool:
        for i, one in enumerate(pool.map(judged, parts.parts)):
            yield one
            done((i + 1) / len(parts.parts))


def _judged(
    manifest: Manifest,
    tables: dict[str, pl.DataFrame],
    problems: list[str],
    original: pl.DataFrame | None,
    allow_test: bool,
) -> Verdict:
    with refusing("cannot be judged"):
        if original is not None and not original.height:
            raise InputError("The original has no rows. Give the table that was published.")
        if manifest.kind not in _JUDGES:
            raise ReleaseError(f"This Pluralis cannot judge a {manifest.kind!r} release. Use the one that made it.")
        judge = _JUDGES[manifest.kind]
        problems = problems or list(judge.problems(manifest, tables))
        findings = [_agreement(problems)]
        if manifest.test:
            findings.append(Finding(SECRET_KEY, allow_test, note="it was made with the test key, which everybody has"))
        if findings[0].holds:
            if not manifest.claims:
                findings.append(Finding("the release makes at least one claim", False, 0.0, 1.0))
            with stage(f"judging {counted(len(manifest.claims), 'claim')}"):
                findings += judge.judge(manifest, tables)
            findings += _certificate(manifest, findings)
            findings += _by_spelling(manifest, tables)
            if original is not None:
                with stage("comparing with the original"):
                    spelled = {name: decode_table(table) for name, table in tables.items()}
                    findings += judge.compare(manifest, spelled, recoded(original, manifest))
        return Verdict(tuple(findings), manifest.breaks, AttributeLists.of_manifest(manifest))


def _certificate(manifest: Manifest, findings: Sequence[Finding]) -> list[Finding]:
    """Whether what the manifest says was measured is what its tables give."""
    measured = {finding.claim: finding.measured for finding in findings}
    stated = {claim.rule: claim.measured for claim in manifest.claims if claim.measured is not None}
    wrong = [rule for rule, value in stated.items() if not isclose(value, measured.get(rule) or 0.0, rel_tol=1e-9)]
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
