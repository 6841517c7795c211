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
        stated = claim.get("adversary")
        knows = list(stated) if isinstance(stated, list) else []  # an earlier change may have put a number there
        way = random.randrange(5)
        if way == 0 and knows:
            place = random.randrange(len(knows))
            knows[place] = respelled(str(knows[place]), random)
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
    parameters = draft.manifest.get("parameters")
    ls = parameters.get("l") if isinstance(parameters, dict) else None
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
def other_bound(draft: Draft, random: Random) -> None:
    """Another bound of a value, in the parameters and in all claims that it is about, or only in one of both."""
    parameters = draft.manifest.get("parameters")
    key = random.choice(["at_most", "gain", "t"])
    bounds = parameters.get(key) if isinstance(parameters, dict) else None
    if not isinstance(bounds, dict) or not bounds:
        return
    name = random.choice(sorted(bounds))
    bound = random.choice(["1/9", "2/4", "9/9", "1/0", "0.2", 2.0, 0.01, 0.999999, 1.0, 1e300, -1, True, None, 3])
    value = random.choice(["hiv", "HIV", "flu", "hiv ", "none", ""]) if key == "at_most" else None
    where = random.choice(["both", "both", "parameters", "claims"])
    if where != "claims":
        bounds[name] = {value: bound} if key == "at_most" else bound
    for claim in _claims(draft) if where != "parameters" else []:
        if claim.get("attribute") == name and key in claim:
            claim[key] = bound
            claim.update({"value": value} if key == "at_most" else {})


@mutation
def other_order(draft: Draft, random: Random) -> None:
    """The values of an attribute in another order, wherever they are listed, and a distance that it may keep by it."""
    parameters = draft.manifest.get("parameters")
    said: dict[str, Any] = parameters if isinstance(parameters, dict) else {}
    domains = said.get("domains")
    columns = [column for sheet in draft.sheets for column in draft.columns(sheet)]
    columns += [column for column in domains.values() if isinstance(column, dict)] if isinstance(domains, dict) else []
    ordered = [column for column in columns if column.get("ordered") is True and isinstance(column.get("domain"), list)]
    if not ordered:
        return
    name = random.choice(sorted({str(column.get("attribute") or column.get("name")) for column in ordered}))
    own = [column for column in ordered if (column.get("attribute") or column.get("name")) == name]
    values = sorted({value for column in own for value in column["domain"] if isinstance(value, str)})
    if random.random() < 0.7:
        random.shuffle(values)
        place = {value: i for i, value in enumerate(values)}
        for column in own:
            column["domain"].sort(key=lambda value: place.get(value, len(place)) if isinstance(value, str) else 10**9)
    if isinstance(said.get("t"), dict) and name in said["t"]:
        t = said["t"][name] = random.randrange(20, 70) / 100
        for claim in _claims(draft):
            if claim.get("attribute") == name and "t" in claim:
                claim["t"] = t


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
                "at-most",
                "gain",
                "closeness",
                "ordered-closeness",
                "none",
            ]
        )
        if claim["model"] == "recursive":
            claim["c"] = random.choice([0.5, 2.0, 1e9, -1])


@mutation
def claim_dropped_or_doubled(draft: Draft, random: Random) -> None:
    claims = draft.manifest.get("claims")
    if isinstance(claims, list) and claims:
        place = random.randrange(len(claims))
        if random.random() < 0.6:
            claims.pop(place)
        else:
            claims.insert(place, copy.deepcopy(random.choice(claims)))


@mutation
def claims_swapped(draft: Draft, random: Random) -> None:
    """A field of one claim with that of another."""
    claims = _claims(draft)
    if len(claims) > 1:
        one, other = random.sample(claims, 2)
        key = random.choice(["adversary", "attribute", "l", "model", "k", "value", "at_most", "gain", "t", "measured"])
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
