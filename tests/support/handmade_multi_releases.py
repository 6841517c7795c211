"""`multi` releases made by hand: which attributes stand together, what is protected, who is in which group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from pluralis.auditing.normal_form import Part
from pluralis.estimate.analyst_release import AnalystRelease
from pluralis.policy.rules import Rule
from pluralis.release.manifest import Claim, ColumnInfo, Manifest, TableInfo, claim_words
from pluralis.release.release import canonical_order

Person = Mapping[str, Any]


class Sub(NamedTuple):
    """One part: its attributes, those that it protects, and the group of each person, if it protects any."""

    attributes: Sequence[str]
    protects: Sequence[str] = ()
    groups: Sequence[int] = ()

    def part(self, name: str) -> Part:
        return Part(name, frozenset(self.attributes), frozenset(self.protects))


def parts_of(subs: Iterable[Sub]) -> list[Part]:
    return [sub.part(f"t{i}") for i, sub in enumerate(subs, 1)]


def multi_release(
    people: Sequence[Person], subs: Sequence[Sub], rules: Iterable[str], dependencies: Iterable[str] = ()
) -> AnalystRelease:
    """What these parts publish of these people, with the rules as claims."""
    frame = pl.DataFrame([dict(person) for person in people])
    tables = dict(table for i, sub in enumerate(subs, 1) for table in _tables(f"t{i}", sub, frame))
    parsed = [Rule.parse(text) for text in rules]
    ls = {rule.protects: max(r.l for r in parsed if r.protects == rule.protects) for rule in parsed}
    manifest = Manifest(
        method="by hand",
        variant="none",
        kind="multi",
        rows=frame.height,
        suppressed=0,
        claims=tuple(map(_claim, parsed)),
        breaks=(),
        parameters={"l": ls, "options": {}, "rules": list(map(str, parsed)), "dependencies": list(dependencies)},
        tables=tuple(
            TableInfo(name=name, file=f"{name}.parquet", columns=tuple(_columns(name, rows)))
            for name, rows in tables.items()
        ),
    )
    return AnalystRelease(manifest, tables)


def _tables(name: str, sub: Sub, people: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    if not sub.protects:
        yield name, canonical_order(people.select(*sub.attributes))
        return
    grouped = people.with_columns(pl.Series("group", sub.groups, dtype=pl.Int64))
    shown = [attribute for attribute in sub.attributes if attribute not in sub.protects]
    yield f"{name}_quasi", canonical_order(grouped.select(*shown, "group"))
    counted = grouped.group_by("group", *sub.protects).agg(pl.len().cast(pl.Int64).alias("count"))
    yield f"{name}_sensitive", canonical_order(counted)


def _columns(table: str, rows: pl.DataFrame) -> Iterator[ColumnInfo]:
    for name, kind in rows.schema.items():
        if name in ("group", "count"):
            yield ColumnInfo(name=name, role=name, type="number")
        else:
            fields: Any = {"name": name, "attribute": name, "type": "number" if kind.is_numeric() else "text"}
            sensitive = table.endswith("_sensitive")
            yield (
                ColumnInfo(role="sensitive", **fields) if sensitive else ColumnInfo(role="quasi", exact=True, **fields)
            )


def _claim(rule: Rule) -> Claim:
    claim = Claim(rule="", model="frequency", adversary=rule.knows, attribute=rule.protects, l=rule.l)
    return claim.model_copy(update={"rule": claim_words(claim, "multi")})
