"""Manifests of a few words, for releases whose tables are written out in a test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pluralis.release.manifest import Claim, ColumnInfo, Manifest, Parameters, TableInfo


def columns(**roles: str) -> list[ColumnInfo]:
    """Columns by name, each with its role, and `number` or `exact` where it is so: `age="quasi number exact"`."""
    infos = []
    for name, words in roles.items():
        role, *more = words.split()
        type_: Any = "number" if "number" in more or role in ("group", "count") else "text"
        about: dict[str, Any] = {"name": name, "role": role, "type": type_}
        infos.append(ColumnInfo(**about, **({"exact": True} if "exact" in more else {})))
    return infos


def info(name: str, described: Iterable[ColumnInfo]) -> TableInfo:
    return TableInfo(name=name, file=f"{name.lower()}.parquet", columns=tuple(described))


def manifest(
    kind: str,
    tables: Mapping[str, Iterable[ColumnInfo]],
    *,
    rows: int,
    suppressed: int = 0,
    claims: Iterable[Claim] = (),
    test: bool = False,
    **parameters: Any,
) -> Manifest:
    return Manifest(
        method="by hand",
        variant="none",
        kind=kind,
        rows=rows,
        suppressed=suppressed,
        claims=tuple(claims),
        breaks=(),
        parameters=Parameters.model_validate({"l": {}, "options": {}, **parameters}),
        tables=tuple(info(name, described) for name, described in tables.items()),
        test=test,
    )


def at_most(attribute: str, l: int, *known: str, model: str = "frequency", **more: Any) -> Claim:
    """A claim about an attribute, against whoever knows these."""
    rule = f"{model} {l} of {attribute} | {', '.join(known)}"
    return Claim(rule=rule, model=model, adversary=known, attribute=attribute, l=l, **more)
