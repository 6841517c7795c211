"""Changes of what a manifest says: names, claims, roles, parameters, kind."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

from fuzz.draft import Draft
from fuzz.mutations import mutation, respelled


def _claims(draft: Draft) -> list[dict[str, Any]]:
    claims = draft.manifest.get("claims")
    return [claim for claim in claims if isinstance(claim, dict)] if isinstance(claims, list) else []


def _attributes(draft: Draft) -> list[str]:
    return sorted({str(c.get("attribute") or c.get("name")) for sheet in draft.sheets for c in draft.columns(sheet)})


@mutation
def adversary(draft: Draft, random: Random) -> None:
    """Somebody who knows another thing, or the same under another name."""
    for claim in random.sample(_claims(draft), min(len(_claims(draft)), random.choice([1, 1, 9]))):
        knows = list(claim.get("adversary") or [])
        way = random.randrange(5)
        if way == 0 and knows:
            at = random.randrange(len(knows))
            knows[at] = respelled(str(knows[at]), random)
        elif way == 1:
            knows.append(random.choice([*_attributes(draft), "weather", ""]))
        elif way == 2 and knows:
            knows.pop(random.randrange(len(knows)))
        elif way == 3:
            knows = sorted({*knows, *_attributes(draft)} - {str(claim.get("attribute"))})
        else:
            knows = [respelled(str(name), random) for name in knows]
        claim["adversary"] = knows


@mutation
def other_l(draft: Draft, random: Random) -> None:
    """Another l, in the parameters and in all claims of the attribute."""
    ls = draft.manifest.get("parameters", {}).get("l")
    if isinstance(ls, dict) and ls:
        name, l = (
            random.choice(sorted(ls)),
            random.choice([1, 2, 3, 4, 5, 8, 2**31, 2**62, 2**63, 2**64, 1.5, True, "2"]),
        )
        ls[name] = l
        for claim in _claims(draft):
            if claim.get("attribute") == name:
                claim["l"] = l
        rules = draft.manifest["parameters"].get("rules")
        if isinstance(rules, list):
            changed = [r.rpartition("=")[0] + f"={l}" if f"-> {name} " in str(r) else r for r in rules]
            draft.manifest["parameters"]["rules"] = changed


@mutation
def other_model(draft: Draft, random: Random) -> None:
    for claim in _claims(draft)[:1] if random.random() < 0.5 else _claims(draft):
        claim["model"] = random.choice(
            [
                "frequency",
                "distinct",
                "entropy",
                "recursive",
                "unique-distinct",
                "candidates",
                "posterior",
                "set-size",
                "k-anonymity",
                "none",
            ]
        )
        if claim["model"] == "recursive":
            claim["c"] = random.choice([0.5, 2.0, 1e9, -1])


@mutation
def claim_dropped_or_doubled(draft: Draft, random: Random) -> None:
    claims = draft.manifest.get("claims")
    if isinstance(claims, list) and claims:
        at = random.randrange(len(claims))
        if random.random() < 0.6:
            claims.pop(at)
        else:
            claims.insert(at, copy.deepcopy(random.choice(claims)))


@mutation
def claims_swapped(draft: Draft, random: Random) -> None:
    """A field of one claim with that of another."""
    claims = _claims(draft)
    if len(claims) > 1:
        one, other = random.sample(claims, 2)
        key = random.choice(["adversary", "attribute", "l", "model", "k", "measured"])
        one[key], other[key] = other.get(key), one.get(key)


@mutation
def without_certificate(draft: Draft, random: Random) -> None:
    for claim in _claims(draft):
        claim.pop("measured", None)


@mutation
def renamed_everywhere(draft: Draft, random: Random) -> None:
    """An attribute under another name, in claims, parameters, columns or tables, or only some of them."""
    names = _attributes(draft)
    if not names:
        return
    old = random.choice(names)
    new = random.choice([respelled(old, random), random.choice(names), "group", "count", "*", "real"])
    places = random.sample(["claims", "parameters", "name", "attribute", "rules"], random.randint(1, 5))

    def put(value: Any) -> Any:
        if isinstance(value, dict):
            return {new if key == old else key: put(inner) for key, inner in value.items()}
        return [put(inner) for inner in value] if isinstance(value, list) else new if value == old else value

    for key in ("claims", "parameters"):
        if key in places and key in draft.manifest:
            draft.manifest[key] = put(draft.manifest[key])
    for sheet in draft.sheets:
        for column in draft.columns(sheet):
            if "attribute" in places and column.get("attribute") == old:
                column["attribute"] = new
            if "name" in places and column.get("name") == old:
                column["name"] = new
                if old in sheet.names and new not in sheet.names:
                    sheet.names[sheet.names.index(old)] = new


@mutation
def other_role(draft: Draft, random: Random) -> None:
    columns = [column for sheet in draft.sheets for column in draft.columns(sheet)]
    if columns:
        column = random.choice(columns)
        column["role"] = random.choice(["quasi", "plain", "sensitive", "group", "count", "value", "attribute"])
        if random.random() < 0.3:
            column["exact"] = True


@mutation
def other_parameter(draft: Draft, random: Random) -> None:
    parameters = draft.manifest.get("parameters")
    if not isinstance(parameters, dict):
        return
    key = random.choice([*parameters, "linked", "case", "primary", "dependencies", "persons", "note"])
    name = random.choice([*_attributes(draft), "x"])
    parameters[key] = random.choice([True, False, 0, 1, "no", [], {}, [name], name, None, {name: 2}, ["a -> b"]])


@mutation
def other_kind(draft: Draft, random: Random) -> None:
    kinds = ["generalized", "bucketized", "sliced", "decomposed", "candidates", "multi", "none"]
    draft.manifest["kind"] = random.choice(kinds)
