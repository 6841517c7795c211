"""Judging `multi` releases: several tables of the same people, each with its own attributes and its own groups.

Whether a rule holds depends on how the tables share attributes (normal_form.py, with the argument), and on how common
a value is where the rule is kept: in the groups of its guardian, or, where the sensitive attribute cannot be reached
from what is known, in its whole column. Where it is neither guarded nor out of reach, the audit refuses it and names
the path.

`t<i>` holds a part that protects nothing, or one in the form of a `generalized` release; `t<i>_quasi` and
`t<i>_sensitive` hold one in the form of a `bucketized` release.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import polars as pl

from pluralis.auditing.belonging import belonging, group_values
from pluralis.auditing.coverage import coverage
from pluralis.auditing.judging import (
    SensitiveValues,
    Tables,
    alike_in_groups,
    group_sizes,
    info_of,
    judge_together,
    sensitive_names,
    table_problems,
    value_problems,
)
from pluralis.auditing.normal_form import Part, Standing, known, normal_form
from pluralis.auditing.projection import projections
from pluralis.auditing.verdict import Finding
from pluralis.policy.rules import Dependency, Rule
from pluralis.release.manifest import Claim, Manifest, TableInfo
from pluralis.release.release import GROUP
from pluralis.table.dictionaries import decode_table

COUNT = "count"


def problems(manifest: Manifest, tables: Tables) -> Iterator[str]:
    expected = [name for names in _tables_of_parts(manifest) for name in names]
    yield from table_problems(manifest, tables, expected)
    if set(tables) != set(expected):
        return
    protected = sensitive_names(manifest)
    odd = [problem for info in manifest.tables for problem in _column_problems(info, protected)]
    yield from odd
    if not odd:
        for names in _tables_of_parts(manifest):
            yield from _part_problems(manifest, tables, names)
        yield from _disagreements(manifest, tables)
        yield from _rule_problems(manifest)


def _tables_of_parts(manifest: Manifest) -> list[list[str]]:
    """The names of the tables of each part, as they should be: numbered from 1, without gaps."""
    names = {info.name for info in manifest.tables}
    parts = len({name.partition("_")[0] for name in names})
    return [[f"t{i}"] if f"t{i}" in names else [f"t{i}_quasi", f"t{i}_sensitive"] for i in range(1, parts + 1)]


def _column_problems(info: TableInfo, protected: list[str]) -> Iterator[str]:
    """Columns that are not called what they hold, or that show something else than values."""
    own = {"group": GROUP, "count": COUNT}
    for column in info.columns:
        is_protected = column.role == "sensitive" or column.name in protected
        called = column.name == own.get(column.role, column.attribute or column.name)
        if not called or column.sets or (is_protected and column.name in own.values()):
            yield f"{info.name}: it cannot have the column {column.name!r}."
        if column.role == "quasi" and not column.exact and not info.named("sensitive"):
            yield f"{info.name}: the column {column.name!r} holds labels, though nothing stands beside it."


def _part_problems(manifest: Manifest, tables: Tables, names: list[str]) -> Iterator[str]:
    """Whether a part has a row for each person, and its groups are what they should be."""
    name, rows, info = names[0], tables[names[0]], info_of(manifest, names[0])
    if rows.height != manifest.rows:
        yield f"the manifest says {manifest.rows:,} rows, {name} has {rows.height:,}."
    if info.named("group") and rows[GROUP].null_count():
        yield f"{name}: some rows have no group."
        return
    quasi = info.names("quasi")
    if info.named("sensitive") and not alike_in_groups(rows, quasi):
        yield f"{name}: some group is published under more than one set of labels."
    for other in names[1:]:
        yield from value_problems(manifest, other, tables[other], group_sizes(rows, GROUP))
        for twice in sorted({*quasi} & {*info_of(manifest, other).names("sensitive")}):
            yield f"{name} shows {twice}, which {other} hides."


def _disagreements(manifest: Manifest, tables: Tables) -> Iterator[str]:
    """Tables that cannot tell of the same people: what two of them share does not occur equally often in both."""
    for one, other in combinations(manifest.tables, 2):
        shared = sorted({*_values(one)} & {*_values(other)})
        if shared and not _counts(one, tables, shared).equals(_counts(other, tables, shared)):
            yield f"{one.name} and {other.name} do not tell of the same people: {', '.join(shared)} differ."


def _values(info: TableInfo) -> list[str]:
    """The attributes of a table that stand there with their values, and not with labels."""
    return [c.name for c in info.columns if c.role == "sensitive" or (c.role == "quasi" and c.exact)]


def _counts(info: TableInfo, tables: Tables, names: list[str]) -> pl.DataFrame:
    """How many people have each combination of values."""
    people = pl.col(COUNT).sum() if info.named("count") else pl.len()
    counts = tables[info.name].group_by(names).agg(people.cast(pl.Int64).alias("\0people"))
    return decode_table(counts).sort(names)


def _rule_problems(manifest: Manifest) -> Iterator[str]:
    """Whether what is claimed are the rules in force, no more and no less, and what is known are dependencies."""
    if any(claim.attribute is None or claim.l is None for claim in manifest.claims):
        yield "a multi release claims its rules and nothing else."
        return
    try:
        in_force = [Rule.parse(text) for text in manifest.parameters.rules]
        for text in manifest.parameters.dependencies:
            Dependency.parse(text)
    except ValueError as error:
        yield f"parameters: {error}"
        return
    if sorted(map(str, in_force)) != sorted(str(_rule(claim)) for claim in manifest.claims):
        yield "the claims are not the rules of the parameters."


def judge(manifest: Manifest, tables: Tables) -> list[Finding]:
    parts = _parts(manifest)
    standings = normal_form([_rule(claim) for claim in manifest.claims], parts)
    alike: dict[tuple[str, str], list[int]] = {}  # the same attribute in the same groups is counted once
    for i, (claim, standing) in enumerate(zip(manifest.claims, standings, strict=True)):
        guardian = standing.guardian.name if standing.holds and standing.guardian is not None else ""
        alike.setdefault((guardian, claim.attribute or ""), []).append(i)
    findings: dict[int, Finding] = {}
    for (guardian, attribute), places in alike.items():
        asked = [(manifest.claims[i], standings[i]) for i in places]
        findings |= dict(zip(places, _judged(asked, guardian, attribute, manifest, tables), strict=True))
    return [*(findings[i] for i in range(len(standings))), _knowing_all_others(manifest, parts)]


def _parts(manifest: Manifest) -> list[Part]:
    """The schema of the release: its parts, and what everybody knows of dependencies."""
    parts = []
    for names in _tables_of_parts(manifest):
        columns = [column for name in names for column in info_of(manifest, name).columns]
        hidden = frozenset(column.name for column in columns if column.role == "sensitive")
        shown = frozenset(column.name for column in columns if column.role == "quasi")
        parts.append(Part(names[0].removesuffix("_quasi"), shown | hidden, hidden))
    return [*parts, *(known(Dependency.parse(text)) for text in manifest.parameters.dependencies)]


def _rule(claim: Claim) -> Rule:
    assert claim.attribute is not None
    assert claim.l is not None
    return Rule(knows=tuple(sorted({*claim.adversary})), protects=claim.attribute, l=claim.l)


def _judged(
    asked: Sequence[tuple[Claim, Standing]], guardian: str, attribute: str, manifest: Manifest, tables: Tables
) -> Iterator[Finding]:
    """Claims by the groups of their guardian, or by the whole column, if they are kept by the form of the tables."""
    kept = [claim for claim, standing in asked if standing.holds]
    values = None
    if kept:
        values = _in_groups(guardian, tables) if guardian else _whole_column(attribute, manifest, tables)
    measured = iter(judge_together(kept, manifest, lambda _: values) if values is not None else [])
    for claim, standing in asked:
        if not standing.holds:
            yield Finding(claim.rule, False, note=standing.why)
        elif values is None:
            why = f"{standing.why}, but how common its values are cannot be told from labels"
            yield Finding(claim.rule, False, note=why)
        else:
            finding = next(measured)
            where = f"{guardian}, {finding.witness}" if guardian else "the whole column"
            yield replace(finding, witness=where, note=standing.why)


def _in_groups(part: str, tables: Tables) -> SensitiveValues:
    """The sensitive values of the groups of a part."""
    counted = tables.get(f"{part}_sensitive")
    return SensitiveValues(tables[part], []) if counted is None else SensitiveValues(counted, [], COUNT)


def _whole_column(attribute: str, manifest: Manifest, tables: Tables) -> SensitiveValues | None:
    """All values of an attribute as one group, from a table that shows values and not labels."""
    for info in manifest.tables:
        if attribute in _values(info):
            people = info.names("count")
            rows = tables[info.name].select(attribute, *people).with_columns(pl.lit(0).alias(GROUP))
            return SensitiveValues(rows, [], *people)
    return None


def _knowing_all_others(manifest: Manifest, parts: list[Part]) -> Finding:
    """The strongest adversary, of whom nothing is promised: each rule is kept on its own, and not their union."""
    every = frozenset[str]().union(*(part.attributes for part in parts))
    names = sensitive_names(manifest)
    rules = [Rule(knows=tuple(sorted(every - {name})), protects=name, l=manifest.parameters.l[name]) for name in names]
    open_to = [standing.rule.protects for standing in normal_form(rules, parts) if not standing.holds]
    return Finding(
        "the tables keep each protected attribute also from whoever knows all others, in this share of them",
        not open_to,
        1 - len(open_to) / len(names) if names else None,
        1.0,
        note=f"not {', '.join(open_to)}" if open_to else None,
        binding=False,
    )


def compare(manifest: Manifest, tables: Tables, original: pl.DataFrame) -> list[Finding]:
    findings: list[Finding] = []
    for info in manifest.tables:
        if info.named("quasi") and info.named("sensitive"):
            alone = manifest.model_copy(update={"tables": (info.model_copy(update={"name": "microdata"}),)})
            people, *compared = coverage(alone, {"microdata": tables[info.name]}, original)
        else:
            people, *compared = projections(manifest.model_copy(update={"tables": (info,)}), tables, original)
        findings = findings or [people]
        findings += [_naming(info.name, finding) for finding in compared]
    for names in _tables_of_parts(manifest):
        if len(names) > 1:
            rows, counts = names
            published = group_values(GROUP, info_of(manifest, counts), tables[counts])
            compared = [belonging(info_of(manifest, rows), tables[rows], published, manifest, original)]
            findings += [_naming(counts, finding) for finding in compared]
    return findings


def _naming(table: str, finding: Finding) -> Finding:
    return finding if table in finding.claim else replace(finding, claim=f"{table}: {finding.claim}")
