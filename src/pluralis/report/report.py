"""The report that a data protection officer reads before signing a release.

One page that needs nothing else: no script, font or picture from elsewhere. The same release gives the same text; no
time, host, user or path is in it. It is private: it shows how often each value occurs in the original, and which groups
are weakest.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from pluralis.attacks import Result
from pluralis.auditing.verdict import Verdict
from pluralis.metrics.loss import Loss
from pluralis.policy.policy import Policy
from pluralis.release.attribute_lists import AttributeLists
from pluralis.release.form import told_by_plain_column, worst_and_others
from pluralis.release.manifest import MANIFEST, README, Claim, Manifest
from pluralis.release.parts import PartInfo
from pluralis.report.charts import Html, table, tag
from pluralis.report.claims import claims_section
from pluralis.report.exposure import Exposure
from pluralis.report.markup import count, defined, items, more, section, several, subtables, were
from pluralis.report.policy import policy_section
from pluralis.report.risk import (
    BREACHED,
    EVERY,
    beside_verdict,
    heading,
    of_a_sample,
    weakest_groups,
    who_can_be_found,
    who_learns_what,
)
from pluralis.report.utility import utility_section

HEAD = Html(
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="robots" content="noindex"><meta name="color-scheme" content="light dark">'
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
)


LOST_IN_PARTS = (
    "Put together from all parts. What a part lost is measured by its own values, as its readers see it: a label that "
    "spans all values of the part has lost everything."
)
FEW_PARTS = 12  # whose hashes are shown at once


def render_report(
    policy: Policy,
    manifest: Manifest,
    verdict: Verdict,
    loss: Loss,
    notes: Sequence[str],
    attacked: Sequence[Result] | None = None,
    exposures: Sequence[Exposure] = (),
    parts: Sequence[PartInfo] = (),
) -> str:
    """The whole page, as text; `attacked` is None where no attack was run.

    Of a release in `parts` the manifest is that of the first one with what is true of all of them, and only that one
    was attacked.
    """
    main = tag(
        "main",
        _headline(manifest, verdict, loss, attacked, parts),
        section("What was asked", *policy_section(policy, manifest)),
        section("What holds", *claims_section(manifest, verdict)),
        who_learns_what(attacked, AttributeLists.of_manifest(manifest), sample=of_a_sample(parts)),
        who_can_be_found(loss.risk, AttributeLists.of_manifest(manifest), in_parts=bool(parts)),
        section("What was lost", *([tag("p", LOST_IN_PARTS)] * bool(parts)), *utility_section(manifest, loss)),
        weakest_groups(exposures, attacked is not None, in_parts=bool(parts)),
        section("What this method does not stop", *_not_stopped(manifest, verdict), id_="open"),
        section("Notes and handling", *_handling(manifest, verdict, notes, attacked, parts)),
    )
    style = Html(files("pluralis.report").joinpath("report.css").read_text(encoding="utf-8"))
    head = tag("head", HEAD, tag("title", "Release report"), tag("style", style))
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', main), lang='en')}\n"


def _unjudged(manifest: Manifest, verdict: Verdict) -> list[Claim]:
    judged = {finding.claim for finding in verdict.findings}
    return [claim for claim in manifest.claims if claim.rule not in judged]


def _may_go_out(manifest: Manifest, verdict: Verdict, attacked: Sequence[Result] | None) -> bool:
    judged = bool(manifest.claims) and not _unjudged(manifest, verdict)
    return verdict.holds and judged and not manifest.test and not any(result.breach for result in attacked or ())


def _title(manifest: Manifest, verdict: Verdict, attacked: Sequence[Result] | None) -> str:
    claims = {claim.rule for claim in manifest.claims}
    of_all = f"of {count(len(claims), 'claim')}"
    if broken := sum(finding.claim in claims for finding in verdict.failures):
        return f"{broken} {of_all} {'does' if broken == 1 else 'do'} not hold"
    if unjudged := len(_unjudged(manifest, verdict)):
        return f"{unjudged} {of_all} {were(unjudged)} not judged"
    if not verdict.holds:
        return "A check failed"
    if not claims:
        return "Nothing was promised"
    if any(result.breach for result in attacked or ()):
        return BREACHED
    given_away = told_by_plain_column(manifest.breaks)
    return EVERY + (f", but {given_away}" if given_away else ", but the key is not secret" if manifest.test else "")


def _headline(
    manifest: Manifest,
    verdict: Verdict,
    loss: Loss,
    attacked: Sequence[Result] | None,
    parts: Sequence[PartInfo],
) -> Html:
    good = _may_go_out(manifest, verdict, attacked)
    suppressed = count(manifest.suppressed, "row") if manifest.suppressed else "No row"
    alike = "class of equal labels" if manifest.traits.has_slices else "group"
    groups = f" in {loss.groups:,} {several(alike, loss.groups)}" if not manifest.traits.lists_values else ""
    if manifest.traits.has_subtables:
        apart = f", in {count(loss.groups, 'group')}" if loss.groups else ""
        groups = f" in {count(len(subtables(manifest)), 'table')}{apart}"
    in_parts = f", published in {count(len(parts), 'part')}" if parts else ""
    lead: list[str] = [f"{count(manifest.rows, 'row')}{groups}{in_parts}. "]
    lead.append(f"{suppressed} {were(manifest.suppressed or 1)} suppressed. ")
    if good:
        lead += ["Before you sign, read ", tag("a", "what this method does not stop", href="#open"), "."]
    else:
        lead.append(tag("b", "Do not hand this release out."))
    test = " Everybody has that key, so this release protects nobody."
    warning = tag("p", tag("b", "Made with the test key."), test, class_="warning")
    facts = {
        "Method": manifest.method,
        "Variant": manifest.variant,
        **({"Parts": f"{len(parts):,}"} if parts else {}),
        "Rows published": f"{manifest.rows:,}",
        "Rows suppressed": f"{manifest.suppressed:,}",
    }
    return tag(
        "header",
        tag("p", "Release report", tag("span", "private"), class_="overline"),
        heading(_title(manifest, verdict, attacked), good=good, but=told_by_plain_column(manifest.breaks) is not None),
        beside_verdict(attacked),
        tag("p", *lead, class_="lead"),
        *([warning] if manifest.test else []),
        defined("facts", ((name, [tag("dd", fact)]) for name, fact in facts.items())),
    )


def _not_stopped(manifest: Manifest, verdict: Verdict) -> list[Html]:
    _, breaks = worst_and_others(tuple(dict.fromkeys([*manifest.breaks, *verdict.breaks])))
    if not breaks:
        return [tag("p", "No attack is listed. This does not prove that there is none.")]
    items = []
    for item in breaks:
        title, colon, rest = item.partition(": ")
        items.append(tag("li", tag("b", title), tag("span", rest)) if colon else tag("li", tag("span", item)))
    lead = "The claims speak of the adversaries listed above and of no others. These ways to learn more stay open:"
    return [tag("p", lead), tag("ul", *items, class_="breaks")]


def _handling(
    manifest: Manifest,
    verdict: Verdict,
    notes: Sequence[str],
    attacked: Sequence[Result] | None,
    parts: Sequence[PartInfo],
) -> list[Html]:
    private: list[list[str]] = [
        [tag("b", "The key. "), "The random choices that protect people can be repeated with it."],
        [tag("b", "The private folder. "), "This report, the audit and the measures tell of the original."],
        [tag("b", "The original table.")],
    ]
    keep = "Use the same key for the next release of this table: releases under two keys can be intersected."
    out = "Nothing. This release must not be handed out."
    if _may_go_out(manifest, verdict, attacked):
        below = "parts" if parts else "tables"
        out = f"The release folder, whole and unchanged: {MANIFEST}, {README} and the {below} below."
    signature = (tag("p", name, tag("span")) for name in ("Decision", "Name", "Date and signature"))
    return [
        tag("h3", "Notes from reading"),
        *(items([note] for note in notes) or [tag("p", "Nothing was noted.")]),
        tag("h3", "Keep secret"),
        *items(private),
        tag("p", keep),
        tag("h3", "Hand out"),
        tag("p", out),
        *_audited(manifest, parts),
        tag("div", *signature, class_="signature"),
    ]


def _audited(manifest: Manifest, parts: Sequence[PartInfo]) -> list[Html]:
    """The hashes of tables; of a release in parts those of the manifests, which have those of the tables."""
    if not parts:
        hashes = ([tag("code", info.file), tag("code", info.sha256 or "not written yet")] for info in manifest.tables)
        return [table("What was audited", ["File", "SHA-256"], hashes)]
    head = ["Part", "Rows", "SHA-256 of its manifest"]
    rows = [[tag("code", info.folder), f"{info.rows:,}", tag("code", info.sha256)] for info in parts]
    first = table("What was audited", head, rows[:FEW_PARTS], 1)
    rest = rows[FEW_PARTS:]
    return [first, *([more(count(len(rest), "more part"), table("The other parts", head, rest, 1))] if rest else [])]
