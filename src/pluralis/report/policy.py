"""The section of the report that says what was asked: the policy in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PureWindowsPath

from pluralis.policy.attributes import Attribute, FileHierarchy, IntervalHierarchy, MaskHierarchy, MissingAs
from pluralis.policy.policy import Policy
from pluralis.release.manifest import Manifest
from pluralis.report.charts import NOTHING, Html, named, share, table, tag
from pluralis.report.markup import AS_THEY_ARE, defined, items, subtables

MODELS = {
    "frequency": "no value fills more than 1/l of any group.",
    "distinct": "every group holds at least l different values. One may still be far more common: see the top share.",
    "entropy": "the values of every group are spread at least as evenly as l equally common ones.",
    "recursive": "in every group the commonest value occurs less than c times as often as those from rank l on.",
    "unique-distinct": "every group holds l different values, each once; l + 1 where a left-over row joined.",
}
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
    "posterior": "each value of a set is the true one with probability 1/l, by the weights that the manifest states.",
    "posterior-shares": "by the true shares of values, which lie near the weights, with no more than the bound.",
    "set-size": "every set holds l values. How likely each of them is, is not promised: see the top share.",
}
OVER_TABLES = {  # in a release of several tables
    "frequency": "no value fills more than 1/l of any group of the table that guards it, nor of all rows, where it "
    "cannot be reached.",
}


def asked(policy: Policy, manifest: Manifest) -> list[Html]:
    """The policy in words, and how each attribute is published."""
    rows = []
    for role in ("identifier", "quasi", "sensitive", "plain"):
        for name in policy.named(role):
            attribute = policy.columns[name]
            diverse = [str(policy.l(name)), attribute.model] if role == "sensitive" else [NOTHING, NOTHING]
            how = _published_as(attribute, manifest.kind)
            if manifest.kind == "multi" and role != "identifier":
                how = "; ".join([_tables_of(name, manifest), *how.split("; ")[1:]])
            rows.append([named(name, 40), role, attribute.type, *diverse, how])
    intro = "The number l says among how many values the true one must hide. The model says how that is counted."
    if not policy.sensitive:
        intro = "No attribute is sensitive: nothing is protected but the size of groups."
    facts = ((name, [tag("dd", *words)]) for name, words in _facts(policy, manifest).items() if words)
    head = ["Attribute", "Role", "Type", "l", "Model", "How it is published"]
    return [tag("p", intro), table("The policy", head, rows, 3), defined("list", facts), *_tables(manifest)]


def _tables(manifest: Manifest) -> list[Html]:
    """The tables that a release was split into."""
    if manifest.kind != "multi":
        return []
    rows = []
    for name, columns in subtables(manifest).items():
        hidden = [column.name for column in columns if column.role == "sensitive"]
        shown = [column.name for column in columns if column.role != "sensitive"]
        rows.append([name, named(", ".join(shown), 200), named(", ".join(hidden), 80) if hidden else NOTHING])
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
        models |= OVER_TABLES if "frequency" in models else {}
        knowledge = [frozenset(adversary.knows) for adversary in policy.adversaries]
    return {
        "Adversaries": items(_someone(names, policy.quasi) for names in knowledge),
        "Group size": [f"Every {alike} has at least {policy.k} rows."] if policy.k else [],
        "Rules": items([str(rule)] for rule in policy.rules),
        "Models": items([tag("b", model), f": {means}"] for model, means in models.items()),
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
