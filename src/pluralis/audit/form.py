"""The form of a release: which columns its tables have, and that every protected attribute has a claim.

A release that says less than it shows, or shows more than it says, is not judged: a claim that is not there would hold.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from pluralis.audit.definitions import MODELS
from pluralis.errors import ReleaseError
from pluralis.release import Claim, Manifest, TableInfo, claim_words

_QUASI = frozenset({"quasi", "plain", "group"})
_LINKED = frozenset({"group", "sensitive", "count"})
_UNLINKED = frozenset({"group", "attribute", "value", "count"})


def form_problems(manifest: Manifest, tables: dict[str, pl.DataFrame]) -> Iterator[str]:
    """In what ways tables, parameters and claims do not fit each other."""
    ls = manifest.parameters.get("l")
    if not isinstance(ls, dict) or not all(isinstance(l, int) and l >= 2 for l in ls.values()):
        yield "parameters: l is not a number of 2 or more for each protected attribute."
        return
    if manifest.rows < 1:
        yield "a release has rows, and the manifest says that this one has none."
        return
    if len({info.name for info in manifest.tables}) < len(manifest.tables):
        yield "two tables have the same name, and only one of them would be judged."
        return
    for info in manifest.tables:
        roles = frozenset(column.role for column in info.columns)
        if roles not in _allowed(manifest.kind, info.name):
            yield f"{info.name}: its columns are not those of this table in a {manifest.kind} release."
            return
    shown = [name for info in manifest.tables for name in _attributes(info, tables[info.name])]
    if set(shown) != set(ls) if manifest.kind != "multi" else not _rules_fit(manifest, set(ls)):
        yield "the tables and parameters do not protect the same attributes."
    if manifest.kind not in ("decomposed", "multi") and len(shown) != len(set(shown)):
        yield "an attribute stands in several tables."
    yield from _numbers(manifest, tables)
    yield from _claims(manifest, ls)


def _allowed(kind: str, name: str) -> set[frozenset[str]]:
    """The sets of roles that a table may have."""
    if kind == "candidates":
        return _with_or_without(frozenset({"quasi", "plain", "sensitive"}), "plain")
    if kind == "generalized":
        return {frozenset(roles) for roles in _with_or_without(_QUASI | {"sensitive"}, "plain", "sensitive", "quasi")}
    if kind == "multi":
        return _of_a_part(name)
    if name == "quasi":
        return _with_or_without(_QUASI, "plain")
    if kind == "decomposed":
        return {frozenset({"group", "attribute", "value"})} if name == "values" else {frozenset({"sensitive", "count"})}
    return {_LINKED, _UNLINKED}


def _of_a_part(name: str) -> set[frozenset[str]]:
    if name.endswith("_sensitive"):
        return {_LINKED}
    if name.endswith("_quasi"):
        return {frozenset({"quasi", "group"})}
    return {frozenset({"quasi"}), frozenset({"quasi", "group", "sensitive"})}


def _with_or_without(roles: frozenset[str], *optional: str) -> set[frozenset[str]]:
    several = {roles}
    for role in optional:
        several |= {some - {role} for some in several}
    return several


def _attributes(info: TableInfo, rows: pl.DataFrame) -> list[str]:
    """The sensitive attributes that a table tells of."""
    if info.named("attribute"):
        return sorted(rows["attribute"].unique().drop_nulls())
    return [column.attribute or column.name for column in info.named("sensitive")]


def _rules_fit(manifest: Manifest, protected: set[str]) -> bool:
    """Whether what rules protect stands somewhere, and each table that hides something hides something of theirs.

    One table may show openly what another hides, and hide beside it what goes with it and no rule speaks of.
    """
    shown = {name for info in manifest.tables for role in ("quasi", "sensitive") for name in info.names(role)}
    hidden = [info.names("sensitive") for info in manifest.tables if info.named("sensitive")]
    return protected <= shown and not any(protected.isdisjoint(names) for names in hidden)


def _numbers(manifest: Manifest, tables: dict[str, pl.DataFrame]) -> Iterator[str]:
    for info in manifest.tables:
        rows = tables[info.name]
        for column in info.columns:
            if column.role == "group" and (rows[column.name] < 1).any():
                yield f"{info.name}: a group has a number below 1."
            if column.role == "count" and not rows[column.name].is_between(1, manifest.rows).all():
                yield f"{info.name}: a count is below 1 or above the number of rows."


def _claims(manifest: Manifest, ls: dict[str, int]) -> Iterator[str]:
    quasi = {column.name for info in manifest.tables for column in info.named("quasi")}
    for claim in manifest.claims:
        if claim.model not in (*MODELS, "candidates", "posterior", "set-size", "k-anonymity"):
            raise ReleaseError(f"The claim {claim.rule!r} ({claim.model}) is not one that any release can make.")
        if claim.rule != claim_words(claim, manifest.kind):
            yield f"the claim {claim.rule!r} is not what its fields say."
        if (claim.k is None) == (claim.attribute is None) or (claim.k or 2) < 2:
            yield f"the claim {claim.rule!r} is about neither rows nor an attribute."
        if claim.attribute is not None and not _same_l(claim, manifest.kind, ls):
            yield f"the claim {claim.rule!r} has another l than the parameters."
    for name in ls:
        about = [set(claim.adversary) for claim in manifest.claims if claim.attribute == name]
        if manifest.kind == "multi" and not about:
            yield f"nothing is claimed of {name}."
        if manifest.kind != "multi" and not any(quasi <= known for known in about):
            yield f"nothing is claimed of {name} against whoever knows every quasi attribute."


def _same_l(claim: Claim, kind: str, ls: dict[str, int]) -> bool:
    """Whether l is that of the parameters; a rule may ask for less."""
    l = ls.get(claim.attribute or "")
    if kind == "multi" and l is not None and claim.l is not None:
        return 2 <= claim.l <= l
    return l == claim.l
