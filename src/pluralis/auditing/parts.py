"""The verdict on a release in parts: that of every part, each claim where it is weakest.

Theorem: what every part keeps, the whole keeps (`release.parts`). So each part is judged on its own, and a claim holds
if it holds in all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from pluralis.auditing.verdict import Finding, Verdict
from pluralis.display.words import counted
from pluralis.errors import ReleaseError
from pluralis.release.manifest import Manifest
from pluralis.release.parts import Parts
from pluralis.release.recodings import Recoding, joined_counts, too_rare_of


def verdict_of_parts(parts: Parts, verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict on all parts, whose verdicts come in their order.

    >>> from pluralis.release.parts import PartInfo
    >>> from pluralis.release.parts import PartsManifest
    >>> infos = tuple(PartInfo(folder=f"part-0000{i}", rows=4, suppressed=0, sha256="0" * 64) for i in (1, 2))
    >>> both = PartsManifest(method="bsgi", variant="hardened", kind="generalized", rows=8, suppressed=0, claims=("x",),
    ...                      breaks=(), parts=infos)
    >>> one, two = (Verdict((Finding("x", True, measured, 0.5, witness="group 1"),)) for measured in (0.25, 0.5))
    >>> print(verdict_of_parts(Parts(both, (("x",), ("x",))), [one, two]).findings[0])
    x: holds, measured 0.5 in part-00002, group 1
    """
    weakest: dict[str, Finding] = {}
    failing = Counter[str]()
    lists = None
    manifest = parts.manifest
    for info, claims, verdict in zip(manifest.parts, parts.claims, verdicts, strict=True):
        lists = lists or verdict.lists
        of_all = dict(zip(claims, manifest.claims, strict=True))
        for finding in verdict.findings:
            placed = _placed(replace(finding, claim=of_all.get(finding.claim, finding.claim)), info.folder)
            failing[placed.claim] += not placed.holds
            known = weakest.setdefault(placed.claim, placed)
            if _weakness(placed) > _weakness(known):
                weakest[placed.claim] = placed
    assert lists is not None
    return Verdict(tuple(_counted(own, failing[own.claim]) for own in weakest.values()), manifest.breaks, lists)


def _placed(finding: Finding, folder: str) -> Finding:
    """A finding that says in which part it is."""
    if finding.witness is not None:
        return replace(finding, witness=f"{folder}, {finding.witness}")
    if finding.note:
        return replace(finding, note=f"{folder}: {finding.note}")
    return replace(finding, witness=folder) if finding.measured else finding


def _counted(finding: Finding, failing: int) -> Finding:
    """A finding that says in how many parts it fails, where they are several and it is binding."""
    if failing < 2 or not finding.binding:
        return finding
    others = f"and {counted(failing - 1, 'more part')}"
    if finding.witness is not None:
        return replace(finding, witness=f"{finding.witness}, {others}")
    return replace(finding, note=", ".join(filter(None, (finding.note, others))))


def _weakness(finding: Finding) -> tuple[bool, float, float]:
    """How weak a claim is: not kept, then near to what is promised, from whichever side, then the top share."""
    if finding.measured is None or finding.promised is None:
        return not finding.holds, 0.0, finding.top_share or 0.0
    away = abs(finding.measured - finding.promised)
    return not finding.holds, -away if finding.holds else away, finding.top_share or 0.0


class Joined(NamedTuple):
    """How many rows of one part hold each value of the attributes whose rare ones were joined, table by table."""

    recodings: Mapping[str, Recoding]
    suppressed: int
    counts: tuple[tuple[str, pl.DataFrame], ...]

    @classmethod
    def of_part(cls, manifest: Manifest, tables: Mapping[str, pl.DataFrame]) -> Joined:
        """Of a part whose tables are what its manifest says."""
        recodings = manifest.parameters.recodings
        return cls(recodings, manifest.suppressed, tuple(joined_counts(recodings, manifest.tables, tables)))


Judged = tuple[Verdict, Joined | None]  # of one part; nothing is counted in tables that are not what its manifest says


def verdict_of_judged(parts: Parts, judged: Iterable[Judged]) -> Verdict:
    """One verdict on all parts that were judged; ReleaseError if all together have too few rows of a joined value."""
    every: list[Joined] = []

    def verdicts() -> Iterator[Verdict]:
        for verdict, joined in judged:
            if joined is not None:
                every.append(joined)
            yield verdict

    verdict = verdict_of_parts(parts, verdicts())
    for problem in _too_rare_in_all(every):
        raise ReleaseError(f"{problem} Ask for the release again.")
    return verdict


def _too_rare_in_all(parts: Sequence[Joined]) -> Iterator[str]:
    """Values that all parts together have too few rows of."""
    counts: dict[tuple[str, int], list[pl.DataFrame]] = {}  # by attribute and table
    for part in parts:
        for i, (name, own) in enumerate(part.counts):
            counts.setdefault((name, i), []).append(own)
    suppressed = sum(part.suppressed for part in parts)
    for (name, _), every in counts.items():
        yield from too_rare_of(name, parts[0].recodings[name], every, suppressed)
