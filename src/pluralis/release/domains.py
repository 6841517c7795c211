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
from pluralis.release.manifest import ColumnInfo, Manifest
from pluralis.table.dictionaries import is_text
from pluralis.table.labels import ALL, MISSING, interval_ends, number_texts, read_set, shortened
from pluralis.table.spelling import cores, said_twice

Tables = Mapping[str, pl.DataFrame]

_PLAIN_SET = r'^\{[^,{}"\s](?:[^,{}"]*[^,{}"\s])?(?:, [^,{}"\s](?:[^,{}"]*[^,{}"\s])?)+\}$'  # without quotes


def domain_problems(manifest: Manifest, tables: Tables) -> Iterator[str]:
    """Columns whose domain is not that of their cells."""
    for info in manifest.tables:
        for column in info.columns:
            if column.sets and not _is_drawn_from(column, manifest):
                yield f"{info.name}: the domain of {column.name!r} is not the values that its sets were drawn from."
            if column.role in ("quasi", "plain", "sensitive") and not column.sets:
                try:
                    fits = _fits(column, tables[info.name][column.name])
                except ReleaseError as error:
                    yield f"{info.name}: {error}"
                    continue
                if not fits:
                    yield f"{info.name}: the domain of {column.name!r} is not that of its cells."
    told = _told(manifest, tables)
    for name in manifest.parameters.get("domains") or {}:
        if name not in told:
            yield f"parameters: {name!r} has a domain, and no table tells of it."
    for name, held in told.items():
        said = (manifest.parameters.get("domains") or {}).get(name)
        if said is None:
            continue
        column = ColumnInfo.model_validate(said)
        texts = held if column.type == "text" else held.cast(pl.Float64, strict=False)
        if column.name != name or column.attribute != name or column.sets or not _fits(column, texts):
            yield f"the domain of {name!r} is not that of its values."


def _is_drawn_from(column: ColumnInfo, manifest: Manifest) -> bool:
    """Whether the domain of a column of sets is that of how they were drawn."""
    values = tuple((manifest.parameters.get("addition") or {}).get(column.name, {}).get("values") or ())
    return bool(values) and column.domain == (values if column.type == "text" else (values[0], values[-1]))


def _fits(column: ColumnInfo, cells: pl.Series) -> bool:
    """Whether the domain of a column is made of what it holds."""
    domain = column.domain
    if domain is None:
        return False
    if column.role == "quasi" and not column.exact:
        return _covered(column, cells)
    held = cells.unique().drop_nulls()
    if column.type == "number":
        ends = (held.min(), held.max()) if held.len() else ()
        whole = held.dtype.is_integer() == all(isinstance(end, int) for end in domain)
        return tuple(domain) == ends and (whole or not ends or held.dtype == pl.Float64)
    texts = [*held.cast(pl.String), *([None] if cells.null_count() else [])]
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
    covered = set(values) if (labels == ALL).any() else set()
    labels = labels.filter(labels != ALL)
    held = _in_nodes(labels, column) if column.hierarchy is not None else _in_sets(labels, domain)
    if held is None:
        return False
    return values <= covered | held and (not missing or None in domain)


def _in_nodes(labels: pl.Series, column: ColumnInfo) -> set[object] | None:
    """What nodes of a hierarchy cover of a domain; None where one covers nothing of it."""
    leaves: dict[str, set[str]] = {}
    for line in column.hierarchy or ():
        for node in line:
            leaves.setdefault(node, set()).add(line[0])
    domain = set(column.domain or ())
    held: set[object] = set()
    for label in labels:
        if label not in leaves:
            raise ReleaseError(f"{column.name!r} holds {shortened(label)}, which is not in its hierarchy.")
        if domain.isdisjoint(leaves[label]):
            return None
        held |= leaves[label]
    return held


def _in_sets(labels: pl.Series, domain: Sequence[object]) -> set[object] | None:
    """What sets cover of a domain; None where one holds something else, or its members are not in domain order."""
    place = {value: i for i, value in enumerate(domain)}
    plain = labels.str.contains(_PLAIN_SET)
    members = labels.filter(plain).str.strip_prefix("{").str.strip_suffix("}").str.split(", ")
    of, words = np.repeat(np.arange(members.len()), members.list.len().to_numpy()), members.explode()
    known = {MISSING if value is None else value: i for value, i in place.items() if value != MISSING}
    codes = words.replace_strict(list(known), list(known.values()), default=-1, return_dtype=pl.Int64).to_numpy()
    if (codes < 0).any() or ((np.diff(codes) <= 0) & (np.diff(of) == 0)).any():
        return None
    held = {domain[i] for i in np.unique(codes)}
    for label in labels.filter(~plain):
        places = [place.get(value, -1) for value in read_set(label)]
        if min(places) < 0 or sorted(set(places)) != places:
            return None
        held |= {domain[i] for i in places}
    return held


# spelling ---------------------------------------------------------------------------------------------------------


def spelling_problems(manifest: Manifest, tables: Tables) -> Iterator[str]:
    """Protected attributes of which a value is spelled in two ways, or of which two values overlap."""
    keep = manifest.parameters.get("case") or ()
    numbers = {
        name for name, said in (manifest.parameters.get("domains") or {}).items() if said.get("type") == "number"
    }
    for name, held in _told(manifest, tables).items():
        number = name in numbers or any(
            column.attribute == name and column.type == "number"
            for info in manifest.tables
            for column in info.named("sensitive")
        )
        yield from _one_spelling(name, held, number=number, keep=name in keep)
    for info in manifest.tables:
        for column in info.columns:
            protected = column.attribute in manifest.parameters["l"] and (column.role != "quasi" or column.exact)
            if column.role in ("quasi", "sensitive") and protected:
                cells = tables[info.name][column.name]
                cells = cells.explode() if isinstance(cells.dtype, pl.List) else cells
                if is_text(cells.dtype):
                    held = cells.unique().drop_nulls().cast(pl.String)
                    name = column.attribute or column.name
                    yield from _one_spelling(name, held, number=False, keep=name in keep)


def told_apart(manifest: Manifest, tables: Tables) -> Iterator[tuple[str, str, str]]:
    """Protected attributes in which, as the manifest says, spelling matters, and two values that are else one."""
    for name in manifest.parameters.get("case") or ():
        if name in manifest.parameters["l"]:
            twice = said_twice(_values(name, manifest, tables), fold_case=True)
            if twice:
                yield name, *twice


def _values(name: str, manifest: Manifest, tables: Tables) -> pl.Series:
    """The different texts of an attribute in all tables."""
    parts = [pl.Series([], dtype=pl.String)]
    for info in manifest.tables:
        for column in info.columns:
            cells = tables[info.name][column.name]
            cells = cells.explode() if isinstance(cells.dtype, pl.List) else cells
            if column.attribute == name and is_text(cells.dtype):
                parts.append(cells.unique().drop_nulls().cast(pl.String))
    parts += [values for told, values in _told(manifest, tables).items() if told == name]
    return pl.concat([part.rename("") for part in parts]).unique()


def _told(manifest: Manifest, tables: Tables) -> dict[str, pl.Series]:
    """For each attribute that tables tell of beside its name (`attribute`, `value`): its different values."""
    told: dict[str, list[pl.Series]] = {}
    for info in manifest.tables:
        if info.named("attribute"):
            pairs = tables[info.name].select("attribute", "value").unique().drop_nulls()
            for (name,), part in pairs.cast(pl.String).partition_by("attribute", as_dict=True).items():
                told.setdefault(str(name), []).append(part["value"])
    return {name: pl.concat(parts).unique() for name, parts in told.items()}


def _one_spelling(name: str, held: pl.Series, *, number: bool, keep: bool) -> Iterator[str]:
    """Whether different texts are different values."""
    if number:
        values = held.cast(pl.Float64, strict=False)
        if values.null_count() or not number_texts(_numbers(held)).equals(held):
            yield f"{name}: a number is not written as releases write them."
        return
    twice = said_twice(held, fold_case=not keep)
    if twice:
        yield f"{name}: {shortened(twice[0])} and {shortened(twice[1])} are one value, or overlap, and count as two."
    if not held.equals(cores(held, fold_case=False)):
        yield f"{name}: a value has blanks or invisible characters that releases do not have."


def _numbers(texts: pl.Series) -> pl.Series:
    """Texts as whole numbers where they all are, else as numbers."""
    whole = texts.cast(pl.Int64, strict=False)
    return texts.cast(pl.Float64, strict=False) if whole.null_count() else whole
