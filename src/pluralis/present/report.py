"""The report that a data protection officer reads before signing a release.

One page that needs nothing else: no script, font or picture from elsewhere. The same release gives the same text; no
time, host, user or path is in it. It is private: it shows how often each value occurs in the original.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import PureWindowsPath

from pluralis.attribute import Attribute, FileHierarchy, IntervalHierarchy, MaskHierarchy, MissingAs
from pluralis.audit.verdict import Finding, Verdict
from pluralis.metrics.distributions import SHOWN, Distribution
from pluralis.metrics.loss import Loss
from pluralis.policy import Policy
from pluralis.present import charts
from pluralis.present.charts import NOTHING, Html, fit, joined, named, percentage, plain, share, table, tag
from pluralis.release import MANIFEST, README, Claim, ColumnInfo, Manifest

MANY = 8  # attributes that a claim can name before it only counts them
SECRET_KEY = "made with a secret key"  # the audit's finding that `allow_test` waives

HEAD = Html(
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="robots" content="noindex"><meta name="color-scheme" content="light dark">'
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
)
MODELS = {
    "frequency": "no value fills more than 1/l of any group.",
    "distinct": "every group holds at least l different values. One may still be far more common: see the top share.",
    "entropy": "the values of every group are spread at least as evenly as l equally common ones.",
    "recursive": "in every group the commonest value occurs less than c times as often as those from rank l on.",
    "unique-distinct": "every group holds l different values, each once; l + 1 where a left-over row joined.",
}
AS_THEY_ARE = ("bucketized", "candidates", "decomposed")  # kinds that publish quasi values unchanged
BY_GROUP = {
    "bucketized": ", counted for each group",
    "candidates": ", among drawn values",
    "decomposed": ", as a set for each group",
    "sliced": ", counted for each group of its slice",
}
POSSIBLE = (
    "at least l values remain possible for everybody in a group, and no value can be shown to fill more than 1/l of "
    "it, whichever way the tables are joined. How likely each of them is, a set does not tell. Of the primary "
    "attribute, {primary}, a group holds each value once: at most 1/l."
)
ADDED = {
    "posterior": "each value of a set is the true one with probability 1/l, to whoever knows how common each value is.",
    "set-size": "every set holds l values. How likely each of them is, is not promised: see the top share.",
}
UNITS = {
    "set-size": " values",
    "k-anonymity": " rows",
    "distinct": " values",
    "unique-distinct": " values",
    "entropy": " even values",
    "candidates": " values",
}
OVER_TABLES = {  # in a release of several tables
    "frequency": "no value fills more than 1/l of any group of the table that guards it, nor of all rows, where it "
    "cannot be reached.",
    "top share": "The top share is the largest share that one value has in any group of the table that guards it, or "
    "in all rows, where it cannot be reached from what is known. The tick in its bar marks 1/l.",
    "Groups": "Of all tables that protect something. Rows of one share its protected values. More keep more detail.",
}
BEFORE_AND_AFTER = (
    "How often each value occurs. The outline is the original. The filled bar is what an analyst sees who {how}. "
    "The distance is the share of rows that would have to change their "
    "value to get from one to the other (total variation)."
)


def render_report(policy: Policy, manifest: Manifest, verdict: Verdict, loss: Loss, notes: Sequence[str]) -> str:
    """The whole page, as text."""
    main = tag(
        "main",
        _headline(manifest, verdict, loss),
        _section("What was asked", *_asked(policy, manifest)),
        _section("What holds", *_holds(policy, manifest, verdict)),
        _section("What was lost", *_lost(manifest, loss)),
        _section("What this method does not stop", *_not_stopped(manifest, verdict), id_="open"),
        _section("Notes and handling", *_handling(manifest, verdict, notes)),
    )
    style = Html(files("pluralis.present").joinpath("report.css").read_text(encoding="utf-8"))
    head = tag("head", HEAD, tag("title", "Release report"), tag("style", style))
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', main), lang='en')}\n"


def _section(title: str, *parts: str, id_: str | None = None) -> Html:
    return tag("section", tag("h2", title), *parts, id=id_)


# 1 the verdict -------------------------------------------------------------------------------------------------


def _unjudged(manifest: Manifest, verdict: Verdict) -> list[Claim]:
    judged = {finding.claim for finding in verdict.findings}
    return [claim for claim in manifest.claims if claim.rule not in judged]


def _may_go_out(manifest: Manifest, verdict: Verdict) -> bool:
    judged = bool(manifest.claims) and not _unjudged(manifest, verdict)
    return verdict.holds and judged and not manifest.test


def _title(manifest: Manifest, verdict: Verdict) -> str:
    claims = {claim.rule for claim in manifest.claims}
    of_all = f"of {_count(len(claims), 'claim')}"
    if broken := sum(finding.claim in claims for finding in verdict.failures):
        return f"{broken} {of_all} {'does' if broken == 1 else 'do'} not hold"
    if unjudged := len(_unjudged(manifest, verdict)):
        return f"{unjudged} {of_all} {_were(unjudged)} not judged"
    if not verdict.holds:
        return "A check failed"
    if not claims:
        return "Nothing was promised"
    return "Every claim holds" + (", but the key is not secret" if manifest.test else "")


def _headline(manifest: Manifest, verdict: Verdict, loss: Loss) -> Html:
    good = _may_go_out(manifest, verdict)
    mark = tag("span", "✓" if good else "✗", class_="mark", aria_hidden="true")
    left_out = _count(manifest.suppressed, "row") if manifest.suppressed else "No row"
    alike = "class of equal labels" if manifest.kind == "sliced" else "group"
    groups = f" in {loss.groups:,} {_several(alike, loss.groups)}" if manifest.kind != "candidates" else ""
    if manifest.kind == "multi":
        apart = f", in {_count(loss.groups, 'group')}" if loss.groups else ""
        groups = f" in {_count(len(_subtables(manifest)), 'table')}{apart}"
    lead: list[str] = [f"{_count(manifest.rows, 'row')}{groups}. "]
    lead.append(f"{left_out} {_were(manifest.suppressed or 1)} left out. ")
    if good:
        lead += ["Before you sign, read ", tag("a", "what this method does not stop", href="#open"), "."]
    else:
        lead.append(tag("b", "Do not hand this release out."))
    test = " Everybody has that key, so this release protects nobody."
    warning = tag("p", tag("b", "Made with the test key."), test, class_="warning")
    facts = {
        "Method": manifest.method,
        "Variant": manifest.variant,
        "Rows published": f"{manifest.rows:,}",
        "Rows left out": f"{manifest.suppressed:,}",
    }
    return tag(
        "header",
        tag("p", "Release report", tag("span", "private"), class_="overline"),
        tag("h1", mark, _title(manifest, verdict), class_=None if good else "bad"),
        tag("p", *lead, class_="lead"),
        *([warning] if manifest.test else []),
        _defined("facts", ((name, [tag("dd", said)]) for name, said in facts.items())),
    )


# 2 the policy --------------------------------------------------------------------------------------------------


def _asked(policy: Policy, manifest: Manifest) -> list[Html]:
    rows = []
    for role in ("identifier", "quasi", "sensitive", "plain"):
        for name in policy.named(role):
            attribute = policy.columns[name]
            asked = [str(policy.l(name)), attribute.model] if role == "sensitive" else [NOTHING, NOTHING]
            how = _published_as(attribute, manifest.kind)
            if manifest.kind == "multi" and role != "identifier":
                how = "; ".join([_tables_of(name, manifest), *how.split("; ")[1:]])
            rows.append([named(name, 40), role, attribute.type, *asked, how])
    intro = "The number l says among how many values the true one must hide. The model says how that is counted."
    if not policy.sensitive:
        intro = "No attribute is sensitive: nothing is protected but the size of groups."
    facts = ((name, [tag("dd", *words)]) for name, words in _facts(policy, manifest).items() if words)
    head = ["Attribute", "Role", "Type", "l", "Model", "How it is published"]
    return [tag("p", intro), table("The policy", head, rows, 3), _defined("list", facts), *_tables(manifest)]


def _tables(manifest: Manifest) -> list[Html]:
    """The tables that a release was split into."""
    if manifest.kind != "multi":
        return []
    rows = []
    for name, columns in _subtables(manifest).items():
        hidden = [column.name for column in columns if column.role == "sensitive"]
        shown = [column.name for column in columns if column.role != "sensitive"]
        rows.append([name, named(", ".join(shown), 200), named(", ".join(hidden), 80) if hidden else NOTHING])
    return [table("What stands together", ["Table", "Side by side", "In groups, hidden from these"], rows)]


def _subtables(manifest: Manifest) -> dict[str, list[ColumnInfo]]:
    """The attributes of each table of a release of several, those in groups among them."""
    found: dict[str, list[ColumnInfo]] = {}
    for info in manifest.tables:
        shown = [column for column in info.columns if column.role in ("quasi", "plain", "sensitive")]
        found.setdefault(info.name.partition("_")[0], []).extend(shown)
    return found


def _tables_of(name: str, manifest: Manifest) -> str:
    """In which tables an attribute stands, and how."""
    how: dict[str, list[str]] = {}
    for table_name, columns in _subtables(manifest).items():
        for column in columns:
            if column.name == name:
                words = (
                    "in groups in" if column.role == "sensitive" else "as it is in" if column.exact else "as labels in"
                )
                how.setdefault(words, []).append(table_name)
    return ", ".join(f"{words} {' and '.join(tables)}" for words, tables in how.items())


def _facts(policy: Policy, manifest: Manifest) -> dict[str, Sequence[str]]:
    """What a policy asks for beside its attributes, in words."""
    alike = "combination of quasi labels" if manifest.kind == "sliced" else "group"
    person, limit, method = policy.person, policy.publish.suppress, policy.publish.method
    if method != manifest.method:
        method += f"; {manifest.method} was used"
    options = "".join(f"; {key} {value}" for key, value in policy.publish.options.items())
    one_person = ["Rows with the same ", named(person or ""), " are one person. It is not published."]
    asked = dict.fromkeys(policy.columns[name].model for name in policy.sensitive)
    models: dict[str, str] = {model: MODELS[model] for model in asked}
    if manifest.kind == "decomposed":
        models = {"sets": POSSIBLE.format(primary=manifest.parameters.get("primary"))}
    if manifest.kind == "candidates":
        models = {model: ADDED[model] for model in dict.fromkeys(claim.model for claim in manifest.claims)}
    knowledge = policy.knowledge
    if manifest.kind == "multi":
        models |= {"frequency": OVER_TABLES["frequency"]} if "frequency" in models else {}
        knowledge = [frozenset(adversary.knows) for adversary in policy.adversaries]
    return {
        "Adversaries": _items(_someone(names, policy.quasi) for names in knowledge),
        "Group size": [f"Every {alike} has at least {policy.k} rows."] if policy.k else [],
        "Rules": _items([str(rule)] for rule in policy.rules),
        "Models": _items([tag("b", model), f": {means}"] for model, means in models.items()),
        "Person": one_person if person else ["Every row is taken for a person of its own."],
        "Leaving out": [f"Up to {share(limit)} of the rows may be left out." if limit else "No row may be left out."],
        "Other columns": ["Columns not named here are dropped." if policy.others else "There may be none."],
        "Method": [f"{method}{options}, {policy.publish.variant} variant."],
    }


def _someone(names: Iterable[str], quasi: Sequence[str]) -> list[str]:
    known = sorted(names)
    if not known:
        return ["Someone who knows that a person is in the table, and nothing else."]
    listed: list[str] = []
    for i, name in enumerate(known):
        listed += ["" if i == 0 else " and " if i == len(known) - 1 else ", ", named(name)]
    every = " This is every quasi attribute." if known == sorted(quasi) else ""
    return ["Someone who knows a person’s ", *listed, f", exactly.{every}"]


def _published_as(attribute: Attribute, kind: str) -> str:
    tree = attribute.hierarchy
    if attribute.role == "identifier":
        return "never"
    if attribute.role == "quasi" and kind in AS_THEY_ARE:
        return "as it is"
    if isinstance(tree, MaskHierarchy):
        words = f"characters hidden from the {tree.mask}"
    elif isinstance(tree, IntervalHierarchy):
        words = "in intervals of " + ", ".join(f"{width:g}" for width in tree.intervals)
    elif isinstance(tree, FileHierarchy):
        words = f"by the tree in {PureWindowsPath(tree.file).name}"  # either slash
    elif attribute.role == "quasi":
        words = "as intervals" if attribute.type == "number" else "as sets of values"
    else:
        words = "as it is" if attribute.bin is None else f"in bins of {attribute.bin:g}"
        words += BY_GROUP.get(kind, "") if attribute.role == "sensitive" else ""
    words += f"; weight {attribute.weight:g}" if attribute.weight != 1 else ""
    words += f"; c = {attribute.c:g}" if attribute.c is not None else ""
    if isinstance(attribute.if_missing, MissingAs):
        return f"{words}; missing as {attribute.if_missing.as_}"
    return words + ("; rows without it left out" if attribute.if_missing == "drop" else "")


# 3 the claims --------------------------------------------------------------------------------------------------


def _holds(policy: Policy, manifest: Manifest, verdict: Verdict) -> list[Html]:
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
            about = OVER_TABLES["top share"]
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
    top, limit = finding.top_share, 1 / claim.l if claim.l else None
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
        known = [_count(len(claim.adversary) - len(beside), "quasi attribute"), *beside]
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
    if claim.model in ("frequency", "posterior") and claim.l:
        return percentage(value, beside=1 / claim.l)
    return plain(value) + UNITS.get(claim.model, "")


def _notes(*notes: str | None) -> list[Html]:
    return [tag("span", note, class_="note") for note in notes if note]


def _where(finding: Finding) -> str:
    return NOTHING if finding.witness is None else named(finding.witness, 44)


def _mark(holds: bool) -> Html:
    return tag("b", "✓ yes", class_="yes") if holds else tag("b", "✗ no", class_="no")


# 4 the loss ----------------------------------------------------------------------------------------------------


def _lost(manifest: Manifest, loss: Loss) -> list[Html]:
    tiles = (
        (name, [tag("dd", figure), tag("dd", means)]) for name, (figure, means) in _figures(manifest, loss).items()
    )
    by_loss = sorted(loss.ncp_by_attribute.items(), key=lambda item: (-item[1], item[0]))
    pictures = [_figure(tag("b", "Group sizes"), charts.group_sizes(loss.group_sizes))] if loss.group_sizes else []
    if any(lost for _, lost in by_loss):
        bars = charts.bars(by_loss, "detail lost (NCP)")
        pictures.append(_figure(tag("b", "Loss of each quasi attribute"), bars))
    parts = [_defined("tiles", tiles), *([tag("div", *pictures, class_="figures two")] if pictures else [])]
    if loss.distributions:
        numbers = {c.attribute or c.name for table in manifest.tables for c in table.columns if c.type == "number"}
        several = (_comparison(of, of.attribute in numbers) for of in loss.distributions)
        parts += [
            tag("h3", "Before and after"),
            tag("p", _before_and_after(manifest)),
            tag("div", *several, class_="figures"),
        ]
    return parts


def _before_and_after(manifest: Manifest) -> str:
    sets = "estimates it from the sets" if manifest.kind == "candidates" else ""
    return BEFORE_AND_AFTER.format(how=sets or "spreads every published label evenly over its values")


def _figures(manifest: Manifest, loss: Loss) -> dict[str, tuple[str, str]]:
    """The key figures: value and meaning."""
    total = loss.rows + loss.suppressed
    alike = f"Each row counts the rows it cannot be told from: {loss.discernibility / max(1, total):,.1f} on average."
    figures = {
        "NCP": (
            share(loss.ncp),
            "Detail that quasi values gave up, on average: from 0\xa0% for none to 100\xa0% for all.",
        ),
        "NCP with left-out rows": (share(loss.ncp_with_suppressed), "The same; a left-out row has lost everything."),
        "Rows left out": (share(loss.suppressed_share), f"{loss.suppressed:,} of {_count(total, 'row')}."),
        "Groups": (f"{loss.groups:,}", "Rows of one group carry the same quasi values. More groups keep more detail."),
        "Average group size": (f"{loss.average_group:,.2f}", "Rows in a group, on average. Fewer keep more detail."),
        "Discernibility": (f"{loss.discernibility:,}", f"{alike} A left-out row counts them all. Less is better."),
    }
    if manifest.kind in AS_THEY_ARE:
        del figures["NCP"], figures["NCP with left-out rows"]
        figures["Groups"] = (f"{loss.groups:,}", "Rows of one group share its sensitive values. More keep more detail.")
    if manifest.kind == "multi":
        figures["Groups"] = (f"{loss.groups:,}", OVER_TABLES["Groups"])
        labels = any(
            column.role == "quasi" and not column.exact for of in _subtables(manifest).values() for column in of
        )
        unknown = ["Discernibility", *([] if loss.groups else ["Groups", "Average group size"])]
        for name in [*unknown, *([] if labels else ["NCP", "NCP with left-out rows"])]:
            del figures[name]
    if manifest.kind == "candidates":
        figures["Groups"] = (f"{loss.groups:,}", "Different combinations of quasi values.")
    if loss.distortion is not None:
        figures["Distortion"] = (f"{loss.distortion:,.1f}", "How far labels lie above values in their trees, in all.")
    if loss.kl is not None:
        about = "Distance of what an analyst would believe from the truth, in nats; 0 where nothing was lost."
        figures["KL divergence"] = (f"{loss.kl:.3f}", about)
    if loss.additional_loss is not None:
        figures["Additional loss"] = (share(loss.additional_loss), "By how much groups are larger than l, on average.")
    if loss.added_values is not None:
        figures["Values added"] = (
            f"{loss.added_values:,}",
            "Put into sets that held too few. They are not true of them.",
        )
    return figures


def _comparison(of: Distribution, is_number: bool) -> Html:
    said = f"{of.attribute}: shares of rows before and after"
    # a column published in bins has no value in common with its original
    comparable = any(of.before) or not any(of.after)
    distance = f"distance {of.distance:.3f}" if comparable else "before: not comparable"
    caption = joined([tag("b", named(of.attribute, 24)), tag("i", of.role), tag("span", distance)])
    edges = _edges(of.values) if is_number else None
    if edges is not None:
        return _figure(caption, charts.paired_steps(edges, of.before, of.after, said, of.attribute))
    return _figure(caption, charts.paired_bars(of.values, of.before, of.after, said, rest=len(of.values) > SHOWN))


def _edges(starts: Sequence[str]) -> list[float] | None:
    """The edges of bins, from where they start; the last is as wide as the one before."""
    try:
        edges = [float(start) for start in starts]
    except ValueError:
        return None
    return [*edges, 2 * edges[-1] - edges[-2]] if len(edges) > 1 else None


def _figure(caption: str, picture: Html) -> Html:
    return tag("figure", tag("figcaption", caption), picture)


# 5 and 6 what is left to decide --------------------------------------------------------------------------------


def _not_stopped(manifest: Manifest, verdict: Verdict) -> list[Html]:
    breaks = list(dict.fromkeys([*manifest.breaks, *verdict.breaks]))
    if not breaks:
        return [tag("p", "No attack is listed. This does not prove that there is none.")]
    items = []
    for item in breaks:
        title, colon, rest = item.partition(": ")
        items.append(tag("li", tag("b", title), tag("span", rest)) if colon else tag("li", tag("span", item)))
    said = "The claims speak of the adversaries listed above and of no others. These ways to learn more stay open:"
    return [tag("p", said), tag("ul", *items, class_="breaks")]


def _handling(manifest: Manifest, verdict: Verdict, notes: Sequence[str]) -> list[Html]:
    hashes = ([tag("code", info.file), tag("code", info.sha256 or "not written yet")] for info in manifest.tables)
    secret: list[list[str]] = [
        [tag("b", "The key. "), "The random choices that protect people can be repeated with it."],
        [tag("b", "The private folder. "), "This report, the audit and the measures tell of the original."],
        [tag("b", "The original table.")],
    ]
    keep = "Use the same key for the next release of this table: releases under two keys can be intersected."
    out = "Nothing. This release must not be handed out."
    if _may_go_out(manifest, verdict):
        out = f"The release folder, whole and unchanged: {MANIFEST}, {README} and the tables below."
    signature = (tag("p", name, tag("span")) for name in ("Decision", "Name", "Date and signature"))
    return [
        tag("h3", "Notes from reading"),
        *(_items([note] for note in notes) or [tag("p", "Nothing was noted.")]),
        tag("h3", "Keep secret"),
        *_items(secret),
        tag("p", keep),
        tag("h3", "Hand out"),
        tag("p", out),
        table("What was audited", ["File", "SHA-256"], hashes),
        tag("div", *signature, class_="signature"),
    ]


def _items(items: Iterable[Iterable[str]]) -> list[Html]:
    """A list, if there is anything to list."""
    listed = [tag("li", *words) for words in items]
    return [tag("ul", *listed)] if listed else []


def _defined(class_: str, pairs: Iterable[tuple[str, list[Html]]]) -> Html:
    return tag("dl", *(tag("div", tag("dt", name), *said) for name, said in pairs), class_=class_)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _several(noun: str, number: int) -> str:
    """The noun for so many: classes of equal labels, groups."""
    first, *rest = noun.split(" ", 1)
    plural = first if number == 1 else first + ("es" if first.endswith("s") else "s")
    return " ".join([plural, *rest])


def _were(number: int) -> str:
    return "was" if number == 1 else "were"
