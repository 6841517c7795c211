"""Changes of the manifest as a tree of JSON, and as bytes."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any

from fuzz.draft import Draft, to_json
from fuzz.mutations import NASTY, mutation, respelled


def _nodes(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a tree."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []:
        yield value, key
        yield from _nodes(value[key])


@mutation
def leaf(draft: Draft, random: Random) -> None:
    """Some value of the manifest is another, or gone, or one more."""
    nodes = list(_nodes(draft.manifest))
    if not nodes:
        return
    inside, key = random.choice(nodes)
    way = random.randrange(6)
    if way == 0:
        del inside[key]
    elif way == 1 and isinstance(inside[key], str):
        inside[key] = respelled(inside[key], random)
    elif way == 2:
        other, there = random.choice(nodes)
        try:
            inside[key] = copy.deepcopy(other[there])
        except (KeyError, IndexError):
            return
    elif way == 3 and isinstance(inside[key], int | float):
        inside[key] = random.choice([inside[key] + 1, -inside[key], float(inside[key]), str(inside[key]), 10**5000])
    elif way == 4 and isinstance(inside, dict):
        inside[random.choice(["note", "Kind", "rows ", "__class__", ""])] = random.choice(NASTY)
    else:
        inside[key] = copy.deepcopy(random.choice(NASTY))


@mutation
def a_text_beside(draft: Draft, random: Random) -> None:
    """A sentence where a name, a word or a number stands, or beside them: nobody who reads the tables sees it."""
    parameters = draft.manifest.get("parameters")
    if not isinstance(parameters, dict) or draft.spelled is not None:
        return
    leak = random.choice(["Ann has hiv", "Ann, 20, f: hiv"])
    key = random.choice(
        [
            "options",
            "weights",
            "case",
            "models",
            "primary",
            "domains",
            "dependencies",
            "missing_as",
            "addition",
        ]
    )
    planted = {
        "case": [leak],
        "dependencies": [f'"{leak}" -> age'],
        "domains": {leak: {"name": leak, "role": "sensitive", "type": "text", "attribute": leak, "domain": []}},
        "options": {"rows": leak},
        "primary": leak,
        "addition": {leak: {"design": "uniform", "values": ["a", "b", "c"]}},
    }.get(key, {leak: 1.0 if key == "weights" else leak})
    old = parameters.get(key)
    parameters[key] = {**old, **planted} if isinstance(old, dict) and isinstance(planted, dict) else planted
    draft.hidden.append(f"a text in {key}")


@mutation
def deep(draft: Draft, random: Random) -> None:
    draft.hidden = [what for what in draft.hidden if what != "the manifest in other bytes"]
    nested: Any = "x"
    for _ in range(random.choice([50, 900, 5000])):
        nested = [nested] if random.random() < 0.5 else {"a": nested}
    text = to_json(draft.manifest).decode("utf-8", "surrogatepass")
    shell = "[" * random.choice([60, 100_000])
    draft.spelled = text.replace('"options": {}', f'"options": {shell}', 1).encode("utf-8", "surrogatepass")
    if random.random() < 0.5:
        draft.spelled = None
        parameters = draft.manifest.get("parameters")
        if isinstance(parameters, dict) and len(str(type(nested))) < 50:
            holder: Any = "x"
            for _ in range(random.choice([50, 300])):
                holder = [holder]
            parameters["options"] = holder


@mutation
def spelled_otherwise(draft: Draft, random: Random) -> None:
    """The same manifest in other bytes."""
    try:
        plain = to_json(draft.manifest).decode("utf-8")
        compact = json.dumps(draft.manifest)
    except (UnicodeDecodeError, ValueError):
        return
    first = next(iter(draft.manifest), "kind")
    ways = {
        "compact": compact.encode(),
        "UTF-16": plain.encode("utf-16"),
        "a mark": b"\xef\xbb\xbf" + plain.encode(),
        "a key twice": plain.replace("{", '{"rows": 1,', 1).encode(),
        "escapes": compact.encode() + b"\n",
        "blanks": plain.encode() + b" ",
        "a comment": plain.encode() + b"// secret\n",
        "UTF-32": plain.encode("utf-32"),
        "another order": (
            json.dumps(dict(reversed(draft.manifest.items())), indent=1, ensure_ascii=False) + "\n"
        ).encode(),
        "the same key twice": plain.replace("{", f'{{"{first}": "secret",', 1).encode(),
        "CRLF": plain.replace("\n", "\r\n").encode(),
    }
    name = random.choice(sorted(ways))
    draft.spelled = ways[name]
    draft.hidden.append("the manifest in other bytes")
