"""The section of the report that says what holds: claim by claim, promised and measured."""

from __future__ import annotations

import math

from pluralis.auditing.verdict import Finding, Verdict
from pluralis.policy.policy import Policy
from pluralis.release.manifest import Claim, Manifest
from pluralis.report import charts
from pluralis.report.charts import NOTHING, Html, fit, joined, named, percentage, plain, share, table, tag
from pluralis.report.markup import count

MANY = 8  # attributes that a claim can name before it only counts them
SECRET_KEY = "made with a secret key"  # the audit's finding that `allow_test` waives
UNITS = {
    "set-size": " values",
    "k-anonymity": " rows",
    "distinct": " values",
    "unique-distinct": " values",
    "entropy": " even values",
    "candidates": " values",
}
TOP_SHARE_OVER_TABLES = (
    "The top share is the largest share that one value has in any group of the table that guards it, or "
    "in all rows, where it cannot be reached from what is known. The tick in its bar marks 1/l."
)


def holds(policy: Policy, manifest: Manifest, verdict: Verdict) -> list[Html]:
    """Every claim with what was promised and measured, and the other checks of the audit."""
    by_rule = {finding.claim: finding for finding in verdict.findings}
    claims = [_claim_row(claim, by_rule.get(claim.rule), policy) for claim in manifest.claims]
    rules = {claim.rule for claim in manifest.claims}
    checks = [_check_row(finding, manifest) for finding in verdict.findings if finding.claim not in rules]
    parts = [
        tag("p", "The audit measured each claim on the tables of the release, without regard to how they were made.")
    ]
    if claims:
        weakest = {"candidates": "Weakest set", "multi": "Weakest"}.get(manifest.kind, "Weakest group")
        head = ["Claim", "Promised", "Measured", "Top share", weakest, "Holds"]
        parts.append(table("Claim by claim", head, claims, 1, 2))
    if any(claim.l is not None for claim in manifest.claims):
        about = "The top share is the largest share that one value has in any group. The tick in its bar marks 1/l."
        if manifest.kind == "decomposed":
            about = "The top share is the largest that one value can be shown to have in any group. The tick marks 1/l."
        if manifest.kind == "multi":
            about = TOP_SHARE_OVER_TABLES
        if manifest.kind == "candidates":
            about = "The top share is the best guess that any set allows, by the weights that the manifest states, or, "
            about += "where it states none, by the shares that all sets show together. The tick marks 1/l."
        if not manifest.parameters.get("linked", True):
            about += " Sensitive columns are shuffled within each group, each on its own."
        parts.append(tag("p", about, class_="small"))
    if checks:
        parts.append(table("Other checks", ["Check", "Expected", "Found", "Where", "Holds"], checks, 1, 2))
    return parts


def _claim_row(claim: Claim, finding: Finding | None, policy: Policy) -> list[str]:
    said = _claim_words(claim, policy)
    if finding is None:
        return [said, _promise(claim, None), NOTHING, NOTHING, NOTHING, tag("b", "✗ not judged", class_="no")]
    top, limit = finding.top_share, claim.bound or (1 / claim.l if claim.l else None)
    look = None
    if top is not None and limit is not None and finding.holds and top > limit + 1e-9:
        look = f"Look at the top share: one value fills {share(top)} of a group."
    return [
        joined([said, *_notes(look, finding.note)]),
        _promise(claim, finding.promised),
        _measured(claim, finding.measured),
        NOTHING if top is None else joined([share(top), charts.gauge(top, limit)]),
        _where(finding),
        _mark(finding.holds),
    ]


def _check_row(finding: Finding, manifest: Manifest) -> list[str]:
    waived = manifest.test and finding.claim == SECRET_KEY and finding.holds
    mark = tag("b", "✗ no, allowed for a test", class_="no") if waived else _mark(finding.holds)
    if not finding.binding:
        mark = tag("span", f"{'yes' if finding.holds else 'no'}, not promised")
    said = joined([named(finding.claim, 400), *_notes(finding.note)])
    return [said, plain(finding.promised), plain(finding.measured), _where(finding), mark]


def _claim_words(claim: Claim, policy: Policy) -> Html:
    """The claim as the manifest has it; where an adversary knows very many attributes, they are counted, not listed."""
    said, listed = claim.rule, f"knowing {', '.join(claim.adversary)}: "
    if said.startswith(listed) and (len(claim.adversary) > MANY or len(listed) > 160):
        beside = [name for name in claim.adversary if name not in policy.quasi]
        known = [count(len(claim.adversary) - len(beside), "quasi attribute"), *beside]
        said = f"knowing {' and '.join(known)}: {said.removeprefix(listed)}"
    short = fit(said, 200)
    return tag("bdi", short, title=None if short == claim.rule else claim.rule)


def _promise(claim: Claim, promised: float | None) -> str:
    if claim.k is not None:
        return f"at least {claim.k:,} rows"
    if claim.l is None:
        return plain(promised)
    return {
        "frequency": f"at most {percentage(1 / claim.l)}",
        "posterior": f"at most {percentage(1 / claim.l)}",
        "posterior-shares": f"at most {percentage(claim.bound or 0.0)}",
        "set-size": f"{claim.l} values",
        "distinct": f"at least {claim.l} values",
        "entropy": f"at least {claim.l} even values",
        "recursive": f"ratio below {claim.c or 0:g}",
        "unique-distinct": f"{claim.l} values, each once",
        "candidates": f"at least {claim.l} values",
    }.get(claim.model, plain(promised))


def _measured(claim: Claim, value: float | None) -> str:
    if value is None or math.isnan(value):
        return NOTHING
    if claim.model in ("frequency", "posterior", "posterior-shares") and claim.l:
        return percentage(value, beside=claim.bound or 1 / claim.l)
    return plain(value) + UNITS.get(claim.model, "")


def _notes(*notes: str | None) -> list[Html]:
    return [tag("span", note, class_="note") for note in notes if note]


def _where(finding: Finding) -> str:
    return NOTHING if finding.witness is None else named(finding.witness, 44)


def _mark(holds: bool) -> Html:
    return tag("b", "✓ yes", class_="yes") if holds else tag("b", "✗ no", class_="no")
