"""The section of the report that says what holds: claim by claim, promised and measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from pluralis.auditing.verdict import Finding, Verdict
from pluralis.release.attribute_lists import AttributeLists
from pluralis.release.manifest import Claim, Manifest
from pluralis.report import charts
from pluralis.report.charts import NOTHING, Html, fit, joined, named, percentage, plain, share, table, tag
from pluralis.report.markup import count, more

LONGEST = 1_000  # letters of a claim; names are at most some hundreds
MOST = 30  # claims that are shown at once; of more, the nearest to its bound for each attribute
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
    "in all rows, where it cannot be reached from what is known. The tick in its bar marks what is promised."
)


def claims_section(manifest: Manifest, verdict: Verdict) -> list[Html]:
    """Every claim with what was promised and measured, and the other checks of the audit."""
    by_rule = {finding.claim: finding for finding in verdict.findings}
    lists = AttributeLists.of_manifest(manifest)
    claims = [_claim_row(claim, by_rule.get(claim.rule), lists) for claim in manifest.claims]
    rules = {claim.rule for claim in manifest.claims}
    checks = [_check_row(finding, manifest) for finding in verdict.findings if finding.claim not in rules]
    parts = [
        tag("p", "The audit measured each claim on the tables of the release, without regard to how they were made.")
    ]
    if claims:
        head = ["Claim", "Promised", "Measured", "Top share", manifest.traits.weakest, "Holds"]
        first = _first(manifest.claims, by_rule)
        parts.append(table("Claim by claim", head, [claims[i] for i in first], 1, 2))
        if rest := [row for i, row in enumerate(claims) if i not in first]:
            title = f"{count(len(rest), 'more claim')}, which {'holds' if len(rest) == 1 else 'hold'}"
            about = f"{title}, of the same attributes, and {'is' if len(rest) == 1 else 'are'} no nearer to the bound"
            parts.append(more(about, table("The others", head, rest, 1, 2)))
    if any(claim.l is not None for claim in manifest.claims):
        about = "The top share is the largest share that one value has in any group. "
        about += "The tick in its bar marks what is promised."
        if manifest.traits.lists_of_groups:
            about = "The top share is the largest that one value can be shown to have in any group. "
            about += "The tick marks what is promised."
        if manifest.traits.has_subtables:
            about = TOP_SHARE_OVER_TABLES
        if manifest.traits.lists_values:
            about = "The top share is the best guess that any set allows, by the weights that the manifest states, or, "
            about += "where it states none, by the shares that all sets show together. The tick marks what is promised."
        if not manifest.parameters.linked:
            about += " Sensitive columns are shuffled within each group, each on its own."
        parts.append(tag("p", about, class_="small"))
    if checks:
        parts.append(table("Other checks", ["Check", "Expected", "Found", "Where", "Holds"], checks, 1, 2))
    return parts


def _first(claims: Sequence[Claim], by_rule: Mapping[str, Finding]) -> list[int]:
    """The claims that are shown at once: all, or, of many, those that do not hold and the nearest of each attribute."""
    if len(claims) <= MOST:
        return list(range(len(claims)))
    shown, nearest = set(), dict[str | None, tuple[float, int]]()
    for i, claim in enumerate(claims):
        finding = by_rule.get(claim.rule)
        if finding is None or not finding.holds:
            shown.add(i)
            continue
        ratio = (finding.measured or 0.0) / finding.promised if finding.promised else 0.0
        near = min(ratio, 1 / ratio) if ratio > 0 else 0.0  # some promise at most, others at least
        nearest[claim.attribute] = max(nearest.get(claim.attribute, (-1.0, 0)), (near, -i))
    return sorted(shown | {-i for _, i in nearest.values()})


def _claim_row(claim: Claim, finding: Finding | None, lists: AttributeLists) -> list[str]:
    words = _claim_words(claim, lists)
    if finding is None:
        return [words, _promise(claim, None), NOTHING, NOTHING, NOTHING, tag("b", "✗ not judged", class_="no")]
    top, limit = finding.top_share, claim.bound or (1 / claim.l if claim.l else None)
    limit = float(Fraction(claim.at_most)) if claim.at_most is not None else limit
    look = None
    if top is not None and limit is not None and finding.holds and top > limit + 1e-9:
        look = f"Look at the top share: one value fills {share(top)} of a group."
    return [
        joined([words, *_notes(look, finding.note)]),
        _promise(claim, finding.promised),
        _measured(claim, finding.measured),
        NOTHING if top is None else joined([share(top), *_notes(_of_value(finding)), charts.gauge(top, limit)]),
        _where(finding),
        _mark(finding.holds),
    ]


def _of_value(finding: Finding) -> str | None:
    """What the top share is the share of, where that is one value and others may be commoner."""
    return None if finding.top_value is None else f"of {finding.top_value}"


def _check_row(finding: Finding, manifest: Manifest) -> list[str]:
    waived = manifest.test and finding.claim == SECRET_KEY and finding.holds
    mark = tag("b", "✗ no, allowed for a test", class_="no") if waived else _mark(finding.holds)
    if not finding.binding:
        mark = tag("span", f"{'yes' if finding.holds else 'no'}, not promised")
    check = joined([named(finding.claim, 400), *_notes(finding.note)])
    return [check, plain(finding.promised), plain(finding.measured), _where(finding), mark]


def _claim_words(claim: Claim, lists: AttributeLists) -> Html:
    """The claim as the manifest has it, with letters for lists that the section before has said."""
    short = fit(lists.shortened(claim.rule), LONGEST)
    return tag("bdi", short, title=None if short == claim.rule else claim.rule)


def _promise(claim: Claim, promised: float | None) -> str:
    if claim.k is not None:
        return f"at least {claim.k:,} rows"
    if claim.at_most is not None:
        return f"at most {percentage(float(Fraction(claim.at_most)))}"
    if claim.gain is not None:
        return f"at most {claim.gain:g} times its share"
    if claim.l is None:
        return plain(promised) if claim.t is None else f"at most {claim.t:g}"
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
    if claim.at_most is not None:
        return percentage(value, beside=float(Fraction(claim.at_most)))
    return plain(value) + UNITS.get(claim.model, "")


def _notes(*notes: str | None) -> list[Html]:
    return [tag("span", note, class_="note") for note in notes if note]


def _where(finding: Finding) -> str:
    return NOTHING if finding.witness is None else named(finding.witness, 400)


def _mark(holds: bool) -> Html:
    return tag("b", "✓ yes", class_="yes") if holds else tag("b", "✗ no", class_="no")
