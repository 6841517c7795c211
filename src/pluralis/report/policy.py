"""The section of the report that says what was asked: the policy in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PureWindowsPath

from pluralis.policy.attributes import Attribute, MissingAs
from pluralis.policy.hierarchies import (
    ColumnsHierarchy,
    DateHierarchy,
    FileHierarchy,
    IcdHierarchy,
    IntervalHierarchy,
    MaskHierarchy,
)
from pluralis.policy.policy import Policy
from pluralis.release.attribute_lists import AttributeLists
from pluralis.release.kinds import Kind
from pluralis.release.manifest import Manifest
from pluralis.report.charts import NOTHING, Html, joined, named, share, table, tag
from pluralis.report.markup import defined, items, subtables

MODELS = {
    "frequency": "no value fills more than 1/l of any group.",
    "distinct": "every group holds at least l different values. One may still be far more common: see the top share.",
    "entropy": "the values of every group are spread at least as evenly as l equally common ones.",
    "recursive": "in every group the commonest value occurs less than c times as often as those from rank l on.",
    "unique-distinct": "every group holds l different values, each once; l + 1 where a left-over row joined.",
}
BOUNDS = {
    "at_most": "a value that is named fills no more than its share of any group. Other values may fill all of one.",
    "gain": "no value is more than so many times as common in a group as it is among all published rows.",
    "t": "the values of every group are distributed nearly as those of all published rows: no farther than t, where 0 "
    "is alike and 1 has nothing in common. Of numbers, near ones count as nearly the same.",
}
MANY = 12  # attributes, above which those that are treated alike share a row
POSSIBLE = (
    "at least l values remain possible for everybody in a group, and no value can be shown to fill more than 1/l of "
    "it, whichever way the tables are joined. How likely each of them is, a set does not tell. Of the primary "
    "attribute, {primary}, a group holds each value once: at most 1/l."
)
ADDED = {
    "posterior": "each value of a set is the true one with probability 1/l, by the weights that the manifest states.",
    "posterior-shares": "by the true shares of values, which lie near the weights, with no more than the bound.",
    "set-size": "every set holds l values. How likely each of them is, is not promised: see the top share.",
}
OVER_TABLES = {  # in a release of several tables
    "frequency": "no value fills more than 1/l of any group of the table that guards it, nor of all rows, where it "
    "cannot be reached.",
}


def policy_section(policy: Policy, manifest: Manifest) -> list[Html]:
    """The policy in words, and how each attribute is published."""
    attributes: dict[tuple[str, ...], list[str]] = {}
    for role in ("identifier", "quasi", "sensitive", "plain"):
        for name in policy.named(role):
            attribute = policy.columns[name]
            diverse = [NOTHING, NOTHING]
            if role == "sensitive":
                diverse = [_hidden_among(policy, name), _model_of(policy, name)]
            how = _published_as(attribute, manifest.traits)
            if manifest.traits.has_subtables and role != "identifier":
                how = "; ".join([_tables_of(name, manifest), *how.split("; ")[1:]])
            apart = "" if len(policy.columns) > MANY else name
            attributes.setdefault((apart, role, attribute.type, *diverse, how), []).append(name)
    rows = [[_names(names), *how] for (_, *how), names in attributes.items()]
    intro = "The number l says among how many values the true one must hide. The model says how that is counted."
    if not policy.sensitive:
        intro = "No attribute is sensitive: nothing is protected but the size of groups."
    facts = ((name, [tag("dd", *words)]) for name, words in _facts(policy, manifest).items() if words)
    head = ["Attribute", "Role", "Type", "l", "Model", "How it is published"]
    return [
        tag("p", intro),
        table("The policy", head, rows, 3, class_="scroll names"),
        defined("list", facts),
        *_tables(manifest),
    ]


def _hidden_among(policy: Policy, name: str) -> str:
    """Its l, if one is asked."""
    return str(policy.l(name)) if policy.l(name) > 1 else NOTHING


def _model_of(policy: Policy, name: str) -> str:
    """The model by which l is counted, and what bounds values beside it: all of them, for they are what is promised."""
    attribute = policy.columns[name]
    model = [attribute.model] * (policy.l(name) > 1)
    return named(", ".join([*model, *([attribute.asked_in_words(1)] if attribute.bounds else [])]), 1_000)


def _names(names: Sequence[str]) -> Html:
    """All of them, whole: they are what tells rows apart."""
    return joined(part for i, name in enumerate(names) for part in (", " * bool(i), named(name, 400)))


def _tables(manifest: Manifest) -> list[Html]:
    """The tables that a release was split into."""
    if not manifest.traits.has_subtables:
        return []
    rows = []
    for name, columns in subtables(manifest).items():
        hidden = [column.name for column in columns if column.role == "sensitive"]
        shown = [column.name for column in columns if column.role != "sensitive"]
        rows.append([name, _names(shown), _names(hidden) if hidden else NOTHING])
    return [table("What stands together", ["Table", "Side by side", "In groups, hidden from these"], rows)]


def _tables_of(name: str, manifest: Manifest) -> str:
    """In which tables an attribute stands, and how."""
    how: dict[str, list[str]] = {}
    for table_name, columns in subtables(manifest).items():
        for column in columns:
            if column.name == name:
                words = (
                    "in groups in" if column.role == "sensitive" else "as it is in" if column.exact else "as labels in"
                )
                how.setdefault(words, []).append(table_name)
    return ", ".join(f"{words} {' and '.join(tables)}" for words, tables in how.items())


def _facts(policy: Policy, manifest: Manifest) -> dict[str, Sequence[str]]:
    """What a policy asks for beside its attributes, in words."""
    alike = manifest.traits.alike
    person, limit, method = policy.person, policy.publish.suppress, policy.publish.method
    if method != manifest.method:
        method += f"; {manifest.method} was used"
    options = "".join(f"; {key} {value}" for key, value in policy.publish.options.items())
    one_person = ["Rows with the same ", named(person or ""), " are one person. It is not published."]
    asked = dict.fromkeys(policy.columns[name].model for name in policy.sensitive if policy.l(name) > 1)
    bounds = dict.fromkeys(key for name in policy.sensitive for key in policy.columns[name].bounds)
    models: dict[str, str] = {model: MODELS[model] for model in asked} | {key: BOUNDS[key] for key in bounds}
    if manifest.traits.lists_of_groups:
        models = {"sets": POSSIBLE.format(primary=manifest.parameters.primary)}
    if manifest.traits.lists_values:
        models = {model: ADDED[model] for model in dict.fromkeys(claim.model for claim in manifest.claims)}
    knowledge, lists = policy.knowledge, AttributeLists.of_manifest(manifest)
    if manifest.traits.has_subtables:
        models |= OVER_TABLES if "frequency" in models else {}
        knowledge = [frozenset(adversary.knows) for adversary in policy.adversaries]
    return {
        "Lists": items([tag("b", letter), f" stands for {names}."] for letter, names in lists.defined.items()),
        "Adversaries": items(_someone(names, policy.quasi, lists) for names in knowledge),
        "Group size": [f"Every {alike} has at least {policy.k} rows."] if policy.k else [],
        "Rules": items([str(rule)] for rule in policy.rules),
        "Models": items([tag("b", model), f": {means}"] for model, means in models.items()),
        "Person": one_person if person else ["Every row is taken for a person of its own."],
        "Suppression": [f"{f'Up to {share(limit)} of the rows' if limit else 'No row'} may be suppressed."],
        "Other columns": ["Columns not named here are dropped." if policy.others else "There may be none."],
        "Method": [f"{method}{options}, {policy.publish.variant} variant."],
    }


def _someone(names: Iterable[str], quasi: Sequence[str], lists: AttributeLists) -> list[str]:
    known = sorted(names)
    letter, _, more = lists.written.get(frozenset(known), "").partition(", ")
    if letter in lists.defined:
        return ["Someone who knows ", tag("b", letter), *([" and ", named(more, 1_000)] if more else []), ", exactly."]
    if not known:
        return ["Someone who knows that a person is in the table, and nothing else."]
    listed: list[str] = []
    for i, name in enumerate(known):
        listed += ["" if i == 0 else " and " if i == len(known) - 1 else ", ", named(name)]
    every = " This is every quasi-identifier." if known == sorted(quasi) else ""
    return ["Someone who knows a person’s ", *listed, f", exactly.{every}"]


def _published_as(attribute: Attribute, kind: Kind) -> str:
    tree = attribute.hierarchy
    as_sensitive = f", {kind.sensitive_as}" if attribute.role == "sensitive" and kind.sensitive_as else ""
    if attribute.role == "identifier":
        return "never"
    if attribute.role == "quasi" and kind.shows_quasi:
        return "as it is" + _recoded(attribute)
    if isinstance(tree, MaskHierarchy):
        words = f"characters hidden from the {tree.mask}"
    elif isinstance(tree, IntervalHierarchy):
        words = "in intervals of " + ", ".join(f"{width:g}" for width in tree.intervals)
    elif isinstance(tree, FileHierarchy):
        words = f"by the tree in {PureWindowsPath(tree.file).name}"  # either slash
    elif isinstance(tree, ColumnsHierarchy):
        words = "by the columns " + ", ".join(tree.columns)
    elif isinstance(tree, IcdHierarchy):
        words = f"by category, section and chapter of {tree.brief()}"
    elif isinstance(tree, DateHierarchy):
        words = "by " + ", ".join(tree.date)
    elif attribute.role == "quasi":
        words = "as intervals" if attribute.type == "number" or attribute.order is not None else "as sets of values"
        words += " of bins" if attribute.is_banded else ""
    elif attribute.is_banded:
        words = "in bins" + as_sensitive
    else:
        words = "as it is" if attribute.bin is None else f"in bins of {attribute.bin:g}"
        words += as_sensitive
    words += _recoded(attribute)
    words += f"; weight {attribute.weight:g}" if attribute.weight != 1 else ""
    words += f"; c = {attribute.c:g}" if attribute.c is not None else ""
    if isinstance(attribute.if_missing, MissingAs):
        return f"{words}; missing as {attribute.if_missing.as_}"
    return words + ("; rows without it suppressed" if attribute.if_missing == "drop" else "")


def _recoded(attribute: Attribute) -> str:
    """What was done to values before anything else."""
    words = f"; {attribute.bottom:g} means that or less" if attribute.bottom is not None else ""
    words += f"; {attribute.top:g} means that or more" if attribute.top is not None else ""
    if (rare := attribute.rare) is not None:
        along = "" if rare.along is None else f" along {rare.along.brief()}, or"
        words += f"; values of fewer than {rare.below:,} rows joined{along} as {rare.as_}"
    if attribute.missing is not None:
        words += "; missing where it says " + ", ".join(map(repr, attribute.missing))
    return words
