"""The form of the parameters of a manifest: they name attributes, numbers and words.

A manifest is published as much as the tables are. Whatever text a release could hold beside its cells would be judged
by nobody: so every text here is the name of an attribute, one of a few words, or, where only the publisher can know it
(how missing values were written), short and few. `docs/release.md` lists what remains the publisher's word.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from math import isfinite

from pluralis.release.columns import ColumnInfo
from pluralis.release.manifest import Manifest, Parameters
from pluralis.release.recodings import LETTERS, MARKS, recoding_problems

_MODEL = re.compile(r"distinct|entropy|unique-distinct|recursive [0-9.e+]{1,24}")
_OPTION = re.compile(r"[a-z][a-z_]{0,39}")
__all__ = ["LETTERS", "MARKS", "attributes_named", "parameter_problems"]

_WORD = re.compile(r"[a-z][a-z0-9-]{0,39}")


def parameter_problems(manifest: Manifest) -> Iterator[str]:
    """Parameters that are not of this kind of release, or say what nobody can account for."""
    parameters = manifest.parameters
    attributes = attributes_named(manifest)
    quasi = {column.name for info in manifest.tables for column in info.named("quasi")}
    names: dict[str, tuple[Iterable[str], set[str]]] = {
        "addition": (parameters.addition, set(parameters.l)),
        "case": (parameters.case, attributes),
        "domains": (parameters.domains, set(parameters.l)),
        "missing_as": (parameters.missing_as, attributes),
        "models": (parameters.models, set(parameters.l)),
        "recodings": (parameters.recodings, attributes),
        "primary": ([parameters.primary] if "primary" not in parameters.never else [], set(parameters.l)),
        "weights": (parameters.weights, quasi),
    }
    for key, (named, known) in names.items():
        for name in named:
            if name not in known:
                yield f"parameters: {key} speaks of {str(name)[:40]!r}, which is no such attribute of the release."
    for name, option in parameters.options.items():
        if not _OPTION.fullmatch(name) or not _is_option(option, attributes):
            yield f"parameters: {name[:40]!r} is not an option that a method has."
    for model in parameters.models.values():
        if not _MODEL.fullmatch(model):
            yield f"parameters: {model[:40]!r} is no model."
    yield from recoding_problems(parameters.recodings, manifest.tables, parameters.domains)
    yield from _lists(parameters, attributes)
    yield from _orders(manifest)


def _orders(manifest: Manifest) -> Iterator[str]:
    """Attributes whose values stand in order in one place and not in another, or in several orders."""
    described: dict[str, list[ColumnInfo]] = {}
    columns = [column for info in manifest.tables for column in info.columns if column.domain is not None]
    for column in (*columns, *manifest.parameters.domains.values()):
        described.setdefault(column.attribute or column.name, []).append(column)
    for name, several in described.items():
        if any(column.ordered for column in several):
            domains = [[value for value in column.domain or () if isinstance(value, str)] for column in several]
            if not all(column.ordered for column in several):
                yield f"parameters: {name!r} is ordered in one place and not in another."
            if not _have_one_order(domains):
                yield f"parameters: the values of {name!r} stand in different orders."


def _have_one_order(lists: Sequence[Sequence[str]]) -> bool:
    """Whether there is an order of all values in which each list stands.

    >>> _have_one_order([["a", "b"], ["b", "c"], ["a", "c"]]), _have_one_order([["a", "b"], ["b", "c"], ["c", "a"]])
    (True, False)
    """
    after: TopologicalSorter[str] = TopologicalSorter()
    for values in lists:
        for one, two in itertools.pairwise(values):
            after.add(two, one)
    try:
        after.prepare()
    except CycleError:
        return False
    return True


def _lists(parameters: Parameters, attributes: set[str]) -> Iterator[str]:
    """Lists that are in order and hold nothing twice, and marks that are few and short."""
    adversaries = [list(known) for known in parameters.adversaries]
    if adversaries != sorted(adversaries) or any(one == two for one, two in itertools.pairwise(adversaries)):
        yield "parameters: adversaries are not listed once, in order."
    for known in adversaries:
        if known != sorted(set(known)) or not attributes.issuperset(known):
            yield "parameters: an adversary knows something that is no attribute of the release, or knows it twice."
    several = {
        "case": parameters.case,
        "missing": parameters.missing,
        "rules": parameters.rules,
        "dependencies": parameters.dependencies,
    }
    for key, listed in several.items():
        if len(set(listed)) < len(listed):
            yield f"parameters: {key} says something twice."
    marks = [*parameters.missing, *parameters.missing_as.values()]
    if len(marks) > MARKS or any(len(mark) > LETTERS for mark in marks):
        yield f"parameters: missing values have more than {MARKS} marks, or one of more than {LETTERS} letters."


def attributes_named(manifest: Manifest) -> set[str]:
    """The attributes that a release publishes, in whatever form."""
    columns = (column for info in manifest.tables for column in info.columns)
    shown = {column.attribute or column.name for column in columns if column.role in ("quasi", "plain", "sensitive")}
    return shown | set(manifest.parameters.l)


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
