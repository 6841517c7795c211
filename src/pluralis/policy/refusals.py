"""What pydantic finds wrong with a policy, in sentences with the line and the remedy."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from pluralis.errors import PolicyError, did_you_mean
from pluralis.policy.attributes import Attribute
from pluralis.policy.hierarchies import KEYS as HIERARCHIES
from pluralis.policy.settings import Adversary, Fault, Publishing, Settings
from pluralis.policy.strict_yaml import Document, Place


def refusal(document: Document, error: ValidationError) -> PolicyError:
    """What pydantic found, in sentences."""
    return PolicyError(*(line for problem in error.errors()[:5] for line in explained(document, problem)))


_REMEDIES = {
    "missing": "It is required; add it.",
    "greater_than_equal": "Write that or more.",
    "less_than": "Give a share from 0 to below 1.",
    "literal_error": "Write one of these.",
    "list_type": "Write a list: [a, b].",
    "float_parsing": "Write a number.",
    "float_type": "Write a number.",
    "model_type": "Write its keys in braces: {key: value}.",
    "int_type": "Write a whole number, 2 or more.",
    "int_from_float": "Write a whole number, 2 or more.",
}


def explained(document: Document, problem: Any) -> list[str]:
    """One problem as a sentence with its line and remedy; one in a rule, on several lines."""
    fault = problem.get("ctx", {}).get("error")
    place: Place = fault.place if isinstance(fault, Fault) else tuple(problem["loc"])
    named = ".".join(str(part) for i, part in enumerate(place) if not _is_tag(place, i))
    where = document.where(place) + (f", {named}" if named else "")
    kind = problem["type"]
    if kind == "extra_forbidden":
        key = str(place[-1])
        return [f"{where}: unknown key {key!r}. {did_you_mean(key, known_keys(place))}"]
    if isinstance(fault, ValueError):
        message = str(fault)
    else:
        message = problem["msg"] + ("." if kind == "missing" else f", not {problem['input']!r}.")
    first, *more = message.split("\n") if getattr(fault, "pointed", False) else [message]
    lines = [f"{where}: {first}", *more]
    return [*lines[:-1], f"{lines[-1]} {_REMEDIES.get(kind, '')}".strip()]


def _is_tag(place: Place, i: int) -> bool:
    """Whether a part of a place stands in no policy: it says which of several forms was read."""
    return place[i] in ("word", "value") or (i > 2 and place[i - 1] in ("hierarchy", "along"))


def known_keys(place: Place) -> list[str]:
    """The keys that may stand where an unknown one does."""
    parent = place[:-1]
    if not parent:
        return list(Settings.model_fields)
    if parent[0] == "publish":
        return list(Publishing.model_fields)
    if parent[0] == "adversaries":
        return list(Adversary.model_fields)
    if "hierarchy" in parent or "along" in parent:
        return [*HIERARCHIES, "start"]
    if parent[-1] == "rare":
        return ["below", "as", "along"]
    return list(Attribute.model_fields)
