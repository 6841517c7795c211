"""The parameters of a manifest: each belongs to its kind of release, and names attributes, numbers and words.

A manifest is published as much as the tables are. Whatever text a release could hold beside its cells would be judged
by nobody: so every text here is the name of an attribute, one of a few words, or, where only the publisher can know it
(how missing values were written), short and few. `docs/release.md` lists what remains the publisher's word.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from pluralis.errors import ReleaseError
from pluralis.release.manifest import Manifest

_ALWAYS = frozenset({"l"})
_ANY = frozenset({"options", "adversaries", "k", "rules", "missing", "missing_as", "case", "persons", "csv_escape"})
_OF_KIND: Mapping[str, frozenset[str]] = {
    "bucketized": _ANY | {"domains", "models", "weights"},
    "candidates": _ANY | {"addition", "weights"},
    "decomposed": _ANY | {"domains", "primary", "weights"},
    "generalized": _ANY | {"models", "weights"},
    "multi": _ANY - {"adversaries", "k"} | {"dependencies", "domains", "models"},
    "sliced": _ANY | {"domains", "models", "weights"},
}
_NEEDED: Mapping[str, frozenset[str]] = {
    "bucketized": _ALWAYS | {"linked"},
    "candidates": _ALWAYS | {"linked", "addition"},
    "decomposed": _ALWAYS | {"linked", "primary"},
    "generalized": _ALWAYS | {"linked"},
    "multi": _ALWAYS | {"rules"},
    "sliced": _ALWAYS,
}
_MODEL = re.compile(r"distinct|entropy|unique-distinct|recursive [0-9.e+]{1,24}")
_OPTION = re.compile(r"[a-z][a-z_]{0,39}")
_WORD = re.compile(r"[a-z][a-z0-9-]{0,39}")
MARKS, LETTERS = 100, 100  # of missing values, and of each of them


def parameter_problems(manifest: Manifest) -> Iterator[str]:
    """Parameters that are not of this kind of release, or say what nobody can account for."""
    said, kind = manifest.parameters, manifest.kind
    if kind not in _OF_KIND:
        raise ReleaseError(f"This Pluralis does not know releases of kind {kind!r}. Use the one that made it.")
    for name in sorted(said.keys() - _OF_KIND[kind] - _NEEDED[kind]):
        yield f"parameters: a {kind} release has no {name!r}."
    for name in sorted(_NEEDED[kind] - said.keys()):
        yield f"parameters: a {kind} release says {name!r}."
    if said.get("linked", True) not in (True, False):
        yield "parameters: linked is neither true nor false."
    attributes = attributes_named(manifest)
    quasi = {column.name for info in manifest.tables for column in info.named("quasi")}
    names: dict[str, tuple[Any, set[str]]] = {
        "addition": (said.get("addition"), set(said["l"])),
        "case": (said.get("case"), attributes),
        "domains": (said.get("domains"), set(said["l"])),
        "missing_as": (said.get("missing_as"), attributes),
        "models": (said.get("models"), set(said["l"])),
        "primary": ([said["primary"]] if "primary" in said else None, set(said["l"])),
        "weights": (said.get("weights"), quasi),
    }
    for key, (named, known) in names.items():
        for name in named or ():
            if name not in known:
                yield f"parameters: {key} speaks of {str(name)[:40]!r}, which is no such attribute of the release."
    for name, option in (said.get("options") or {}).items():
        if not _OPTION.fullmatch(name) or not _is_option(option, attributes):
            yield f"parameters: {name[:40]!r} is not an option that a method has."
    for model in (said.get("models") or {}).values():
        if not _MODEL.fullmatch(model):
            yield f"parameters: {model[:40]!r} is no model."
    yield from _lists(said, attributes)


def _lists(said: Mapping[str, Any], attributes: set[str]) -> Iterator[str]:
    """Lists that are in order and hold nothing twice, and marks that are few and short."""
    adversaries = [list(known) for known in said.get("adversaries") or ()]
    if adversaries != sorted(adversaries) or any(one == two for one, two in itertools.pairwise(adversaries)):
        yield "parameters: adversaries are not listed once, in order."
    for known in adversaries:
        if known != sorted(set(known)) or not attributes.issuperset(known):
            yield "parameters: an adversary knows something that is no attribute of the release, or knows it twice."
    for key in ("case", "missing", "rules", "dependencies"):
        listed = said.get(key) or ()
        if len(set(listed)) < len(listed):
            yield f"parameters: {key} says something twice."
    marks = [*(said.get("missing") or ()), *(said.get("missing_as") or {}).values()]
    if len(marks) > MARKS or any(len(mark) > LETTERS for mark in marks):
        yield f"parameters: missing values have more than {MARKS} marks, or one of more than {LETTERS} letters."


def attributes_named(manifest: Manifest) -> set[str]:
    """The attributes that a release publishes, in whatever form."""
    columns = (column for info in manifest.tables for column in info.columns)
    shown = {column.attribute or column.name for column in columns if column.role in ("quasi", "plain", "sensitive")}
    return shown | set(manifest.parameters["l"])


def _is_option(value: object, attributes: set[str]) -> bool:
    """Whether this is a number, a word, an attribute, or lists of attributes."""
    if value is None:
        return True
    if isinstance(value, int):
        return abs(value) < 2**53
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, list):
        return all(isinstance(part, list | str) and _is_attributes(part, attributes) for part in value)
    return isinstance(value, str) and (value in attributes or bool(_WORD.fullmatch(value)))


def _is_attributes(value: object, attributes: set[str]) -> bool:
    listed = value if isinstance(value, list) else [value]
    return all(isinstance(name, str) and name in attributes for name in listed)
