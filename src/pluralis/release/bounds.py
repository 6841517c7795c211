"""What a manifest says that bounds values beside l: `at_most`, `gain` and `t`, their form, and which claims follow.

A bound that names a value nobody holds would hold, and tell nothing. So every named value is one that the tables hold,
in their spelling, and every bound is written in one way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from pluralis.errors import ReleaseError
from pluralis.policy.shares import is_share
from pluralis.release.domains import listed_values
from pluralis.release.manifest import Claim, ColumnInfo, Manifest, Parameters
from pluralis.table.labels import number_texts, read_interval, shortened

Tables = Mapping[str, pl.DataFrame]

DISTANCES = ("closeness", "ordered-closeness")
FIELDS = {  # what a claim of such a model says beside the attribute; of every other, l
    "at-most": ("value", "at_most"),
    "gain": ("gain",),
    "closeness": ("t",),
    "ordered-closeness": ("t",),
}


class Promise(NamedTuple):
    """What is promised of an attribute, whoever the adversary is: by l, or by a bound of a value or of all."""

    key: str  # l, at_most, gain or t
    value: str | None = None
    bound: str | float | None = None


def promises_of(parameters: Parameters, name: str) -> frozenset[Promise]:
    """What the parameters promise of an attribute."""
    promises = {Promise("at_most", value, share) for value, share in parameters.at_most.get(name, {}).items()}
    promises |= {Promise("l")} if parameters.l.get(name, 1) > 1 else set()
    promises |= {Promise("gain", None, parameters.gain[name])} if name in parameters.gain else set()
    promises |= {Promise("t", None, parameters.t[name])} if name in parameters.t else set()
    return frozenset(promises)


def promise_of(claim: Claim) -> Promise:
    """What a claim about an attribute promises."""
    if claim.model == "at-most":
        return Promise("at_most", claim.value, claim.at_most)
    if claim.model == "gain":
        return Promise("gain", None, claim.gain)
    return Promise("t", None, claim.t) if claim.model in DISTANCES else Promise("l")


def field_problems(claim: Claim) -> Iterator[str]:
    """Fields of a bound in a claim that does not speak of it, or none where it does."""
    asked = FIELDS.get(claim.model, ("l",)) if claim.k is None else ()
    for name in ("l", "value", "at_most", "gain", "t"):
        if (getattr(claim, name) is not None) != (name in asked):
            yield f"the claim {claim.rule!r} has a {name} that it does not speak of, or none where it needs one."


def bound_problems(manifest: Manifest, tables: Tables) -> Iterator[str]:
    """Bounds that are not written in the one way, or name a value that no table holds."""
    parameters = manifest.parameters
    for key in ("at_most", "gain", "t"):
        for name in getattr(parameters, key):
            if name not in parameters.l:
                yield f"parameters: {key} speaks of {str(name)[:40]!r}, which is no such attribute of the release."
                return
    listed = listed_values(manifest, tables) if parameters.at_most else {}
    for name, bounds in parameters.at_most.items():
        texts = {*_texts_of(name, manifest, tables), *listed.get(name, ())}
        for value, share in bounds.items():
            if not is_share(share):
                yield f"parameters: {share[:40]!r} is not a share between 0 and 1 in its lowest terms."
            if value not in texts:
                yield f"parameters: at_most names {value[:40]!r}, which is no value of {name!r}."
    for bound in (*parameters.gain.values(), *parameters.t.values()):
        if bound != float(f"{bound:.6g}"):
            yield f"parameters: the bound {bound!r} has more than six digits."
    asked = {claim.attribute or "" for claim in manifest.claims if claim.model == "ordered-closeness"}
    unordered = {name for name in asked if not is_ordered(name, manifest)}
    for claim in manifest.claims:
        if claim.model == "ordered-closeness" and (claim.attribute or "") in unordered:
            yield f"the claim {claim.rule!r} is about an order that {claim.attribute!r} does not have."


def is_ordered(name: str, manifest: Manifest) -> bool:
    """Whether the values of a sensitive attribute have an order that is published: a listed one, or that of numbers."""
    columns = _columns_of(name, manifest)
    return bool(columns) and all(
        column.ordered or column.type == "number" or _are_intervals(column.domain or ()) for column in columns
    )


def in_order(name: str, manifest: Manifest, texts: Sequence[str]) -> list[str] | None:
    """The texts that an attribute holds in their published order, numbers and intervals by size; None if it has none.

    The listed order is the order, whatever the texts read as: of codes 2, 1, 3 that stand so, 2 is the first.
    """
    if not is_ordered(name, manifest):
        return None
    stated = next((column.domain for column in _columns_of(name, manifest) if column.ordered), None)
    if stated is None:
        return sorted(texts, key=lambda text: float(read_interval(text)[0]))
    place = {value: i for i, value in enumerate(stated)}
    unlisted = next((text for text in texts if text not in place), None)
    if unlisted is not None:
        raise ReleaseError(f"{name!r} is ordered, and its domain does not list {shortened(unlisted)}.")
    return sorted(texts, key=place.__getitem__)


def _are_intervals(values: Sequence[object]) -> bool:
    """Whether there are values, all of them numbers or intervals."""
    try:
        return bool([read_interval(str(value)) for value in values])
    except ReleaseError:
        return False


def _columns_of(name: str, manifest: Manifest) -> list[ColumnInfo]:
    """How the manifest describes a sensitive attribute: its columns, or the domain of one that has none."""
    columns = [column for info in manifest.tables for column in info.named("sensitive")]
    own = [column for column in columns if (column.attribute or column.name) == name]
    described = manifest.parameters.domains.get(name)
    return own if described is None else [*own, described]


def _texts_of(name: str, manifest: Manifest, tables: Tables) -> set[str]:
    """The values of a sensitive attribute that has columns, as text."""
    texts: set[str] = set()
    for info in manifest.tables:
        rows = tables[info.name]
        for column in info.named("sensitive"):
            if (column.attribute or column.name) == name and rows[column.name].dtype != pl.List:
                cells = rows[column.name].unique().drop_nulls()
                texts |= set(number_texts(cells) if cells.dtype.is_numeric() else cells.cast(pl.String))
    return texts
