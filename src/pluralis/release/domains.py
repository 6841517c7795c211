"""Published values beside their domains: what the manifest says of them is what the cells hold, each in one spelling.

Claims count values. `5`, `5.0` and `5.00`, or `FLU`, `Flu` and `flu`, are one value, and would look like three; numbers
in `[0, 10]` may be in `[5, 15]`, too. So a release in which a protected attribute has two spellings of one value is
refused, whatever the kind. Texts that differ in case only are different where the policy said so (`case`), and so are
texts that are one number in two ways.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from pluralis.errors import ReleaseError
from pluralis.release.manifest import ColumnInfo, Manifest, TableInfo
from pluralis.table.bands import bands_out_of_order, overlapping_bands
from pluralis.table.dictionaries import is_text
from pluralis.table.labels import ALL, MISSING, OrderedDomain, interval_ends, number_texts, read_set, shortened
from pluralis.table.spelling import cores, said_twice
from pluralis.threads import in_threads

Tables = Mapping[str, pl.DataFrame]

_ENDS = ("low", "high")
_PLAIN_SET = r'^\{[^,{}"\s](?:[^,{}"]*[^,{}"\s])?(?:, [^,{}"\s](?:[^,{}"]*[^,{}"\s])?)+\}$'  # without quotes


def domain_problems(manifest: Manifest, tables: Tables) -> Iterator[str]:
    """Columns whose domain is not that of their cells."""
    columns = [(info, column) for info in manifest.tables for column in info.columns]

    def problem(place: tuple[TableInfo, ColumnInfo]) -> str | None:
        return _domain_problem(*place, manifest, tables)

    faults = in_threads(problem, columns, manifest.rows)
    yield from (f"{info.name}: {fault}" for (info, _), fault in zip(columns, faults, strict=True) if fault)
    listed = listed_values(manifest, tables)
    for name in manifest.parameters.domains:
        if name not in listed:
            yield f"parameters: {name!r} has a domain, and no table tells of it."
    for name, values in listed.items():
        described = manifest.parameters.domains.get(name)
        if described is None:
            continue
        texts = values if described.type == "text" else values.cast(pl.Float64, strict=False)
        form = (described.role, described.sets, described.exact, described.hierarchy)
        named = {described.name, described.attribute} == {name} and form == ("sensitive", None, None, None)
        if not named or (described.ordered and described.type != "text") or not _fits(described, texts):
            yield f"the domain of {name!r} is not that of its values."


def _domain_problem(info: TableInfo, column: ColumnInfo, manifest: Manifest, tables: Tables) -> str | None:
    """What is wrong with the domain of a column."""
    if column.sets:
        drawn = _is_drawn_from(column, manifest)
        return None if drawn else f"the domain of {column.name!r} is not the values that its sets were drawn from."
    if column.role not in ("quasi", "plain", "sensitive"):
        return None
    try:
        fits = _fits(column, tables[info.name][column.name])
    except ReleaseError as error:
        return str(error)
    return None if fits else f"the domain of {column.name!r} is not that of its cells."


def _is_drawn_from(column: ColumnInfo, manifest: Manifest) -> bool:
    """Whether the domain of a column of sets is that of how they were drawn."""
    drawn = manifest.parameters.addition.get(column.name)
    values = drawn.values if drawn is not None else ()
    return bool(values) and column.domain == (values if column.type == "text" else (values[0], values[-1]))


def _fits(column: ColumnInfo, cells: pl.Series) -> bool:
    """Whether the domain of a column is made of what it holds."""
    domain = column.domain
    if domain is None:
        return False
    if column.role == "quasi" and not column.exact:
        return _covered(column, cells)
    values = cells.unique().drop_nulls()
    if column.type == "number":
        ends = (values.min(), values.max()) if values.len() else ()
        whole = values.dtype.is_integer() == all(isinstance(end, int) for end in domain)
        return tuple(domain) == ends and (whole or not ends or values.dtype == pl.Float64)
    texts = [*values.cast(pl.String), *([None] if cells.null_count() else [])]
    return len(domain) == len(texts) and set(domain) == set(texts) and None not in domain[:-1]


def _covered(column: ColumnInfo, cells: pl.Series) -> bool:
    """Whether the labels of a column cover its domain, and nothing outside it alone."""
    labels = cells.unique()
    domain = column.domain or ()
    missing = bool(labels.null_count())
    labels = labels.drop_nulls().cast(pl.String)
    if column.type == "number":
        if not domain:
            return not labels.len()
        low, high = (float(end) for end in (domain[0], domain[-1]) if isinstance(end, (int, float)))
        ends = interval_ends(labels, (low, high))
        inside = (ends["low"] <= high) & (ends["high"] >= low)
        reached = [((ends["low"] <= end) & (ends["high"] >= end)).any() for end in (low, high)]
        return len(domain) == 2 and low <= high and bool(inside.all()) and all(reached)
    values = {value for value in domain if value is not None}
    if column.ordered:
        return _covered_in_order(labels, domain) and (not missing or None in domain)
    covered = set(values) if (labels == ALL).any() else set()
    labels = labels.filter(labels != ALL)
    members = _in_nodes(labels, column) if column.hierarchy is not None else _in_sets(labels, domain)
    if members is None:
        return False
    return values <= covered | members and (not missing or None in domain)


def _covered_in_order(labels: pl.Series, domain: Sequence[object]) -> bool:
    """Whether labels are intervals of the values in their order, and cover all of them."""
    values = [value for value in domain if isinstance(value, str)]
    ends = OrderedDomain(values).ends(labels)
    begins, after = (np.bincount(ends[name].to_numpy() + i, minlength=len(values) + 1) for i, name in enumerate(_ENDS))
    return bool((np.cumsum(begins - after)[: len(values)] > 0).all())


def _in_nodes(labels: pl.Series, column: ColumnInfo) -> set[object] | None:
    """What nodes of a hierarchy cover of a domain; None where one covers nothing of it."""
    leaves: dict[str, set[str]] = {}
    for line in column.hierarchy or ():
        for node in line:
            leaves.setdefault(node, set()).add(line[0])
    domain = set(column.domain or ())
    covered: set[object] = set()
    for label in labels:
        if label not in leaves:
            raise ReleaseError(f"{column.name!r} holds {shortened(label)}, which is not in its hierarchy.")
        if domain.isdisjoint(leaves[label]):
            return None
        covered |= leaves[label]
    return covered


def _in_sets(labels: pl.Series, domain: Sequence[object]) -> set[object] | None:
    """What sets cover of a domain; None where one holds something else, or its members are not in domain order."""
    place = {value: i for i, value in enumerate(domain)}
    plain = labels.str.contains(_PLAIN_SET)
    members = labels.filter(plain).str.strip_prefix("{").str.strip_suffix("}").str.split(", ")
    label_of, words = np.repeat(np.arange(members.len()), members.list.len().to_numpy()), members.explode()
    known = {MISSING if value is None else value: i for value, i in place.items() if value != MISSING}
    codes = words.replace_strict(list(known), list(known.values()), default=-1, return_dtype=pl.Int64).to_numpy()
    if (codes < 0).any() or ((np.diff(codes) <= 0) & (np.diff(label_of) == 0)).any():
        return None
    covered = {domain[i] for i in np.flatnonzero(np.bincount(codes)).tolist()}
    for label in labels.filter(~plain):
        places = [place.get(value, -1) for value in read_set(label)]
        if min(places) < 0 or sorted(set(places)) != places:
            return None
        covered |= {domain[i] for i in places}
    return covered


# spelling ---------------------------------------------------------------------------------------------------------


def spelling_problems(manifest: Manifest, tables: Tables) -> Iterator[str]:
    """Protected attributes of which a value is spelled in two ways or two values overlap; bands out of order."""
    keep = manifest.parameters.case
    columns = [column for info in manifest.tables for column in info.named("sensitive")]
    described = [*columns, *manifest.parameters.domains.values()]
    numbers = {column.attribute or column.name for column in described if column.type == "number"}
    for name, values in listed_values(manifest, tables).items():
        yield from _one_spelling(name, values, number=name in numbers, keep=name in keep)
    for info in manifest.tables:
        for column in info.columns:
            name = column.attribute or column.name
            protected = name in manifest.parameters.l and (column.role != "quasi" or column.exact)
            if column.role in ("quasi", "sensitive") and protected:
                cells = tables[info.name][column.name]
                cells = cells.explode() if isinstance(cells.dtype, pl.List) else cells
                if is_text(cells.dtype):
                    values = cells.unique().drop_nulls().cast(pl.String)
                    yield from _one_spelling(name, values, number=False, keep=name in keep)
    shown = (column for info in manifest.tables for column in info.columns)
    for column in (*shown, *manifest.parameters.domains.values()):
        name = column.attribute or column.name
        if column.ordered:
            listed = [value for value in column.domain or () if isinstance(value, str)]
            overlap = overlapping_bands(listed) if name in manifest.parameters.l else None
            if overlap:
                yield f"{name}: {shortened(overlap[0])} and {shortened(overlap[1])} overlap, and count as two."
            elif turned := bands_out_of_order(listed):
                yield f"{name}: {shortened(turned[0])} and {shortened(turned[1])} do not stand in order, or overlap."


def told_apart(manifest: Manifest, tables: Tables) -> Iterator[tuple[str, str, str]]:
    """Protected attributes in which, as the manifest says, spelling matters, and two values that are else one."""
    kept = [name for name in manifest.parameters.case if name in manifest.parameters.l]
    listed = listed_values(manifest, tables) if kept else {}
    texts = {name: [listed[name]] if name in listed else [] for name in kept}
    for info in manifest.tables:
        for column in info.columns:
            name = column.attribute or column.name
            if name not in texts:
                continue
            cells = tables[info.name][column.name]
            cells = cells.explode() if isinstance(cells.dtype, pl.List) else cells
            if is_text(cells.dtype):
                texts[name].append(cells.unique().drop_nulls().cast(pl.String))
    for name, parts in texts.items():
        values = pl.concat([part.rename("") for part in parts]).unique() if parts else pl.Series([], dtype=pl.String)
        if twice := said_twice(values, fold_case=True):
            yield name, *twice


def listed_values(manifest: Manifest, tables: Tables) -> dict[str, pl.Series]:
    """For each attribute that tables tell of beside its name (`attribute`, `value`): its different values."""
    listed: dict[str, list[pl.Series]] = {}
    for info in manifest.tables:
        if info.named("attribute"):
            pairs = tables[info.name].select("attribute", "value").unique().drop_nulls()
            for (name,), part in pairs.cast(pl.String).partition_by("attribute", as_dict=True).items():
                listed.setdefault(str(name), []).append(part["value"])
    return {name: pl.concat(parts).unique() for name, parts in listed.items()}


def _one_spelling(name: str, texts: pl.Series, *, number: bool, keep: bool) -> Iterator[str]:
    """Whether different texts are different values."""
    if number:
        values = texts.cast(pl.Float64, strict=False)
        if values.null_count() or not number_texts(_numbers(texts)).equals(texts):
            yield f"{name}: a number is not written as releases write them."
        return
    twice = said_twice(texts, fold_case=not keep)
    if twice:
        yield f"{name}: {shortened(twice[0])} and {shortened(twice[1])} are one value, or overlap, and count as two."
    if not texts.equals(cores(texts, fold_case=False)):
        yield f"{name}: a value has blanks or invisible characters that releases do not have."


def _numbers(texts: pl.Series) -> pl.Series:
    """Texts as whole numbers where they all are, else as numbers."""
    whole = texts.cast(pl.Int64, strict=False)
    return texts.cast(pl.Float64, strict=False) if whole.null_count() else whole
