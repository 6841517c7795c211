"""The tables of a decomposed release as codes, and the ways in which they can contradict each other on sight."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pluralis.errors import ReleaseError
from pluralis.release.release import GROUP
from pluralis.table.dictionaries import decode, dictionary_encode, is_text
from pluralis.table.labels import number_text
from pluralis.table.spelling import skeleton
from pluralis.threads import in_threads

Numbers = npt.NDArray[np.int64]


class NotJudged(Exception):
    """The tables cannot all be true, or there is too much to look at. Nothing is said to hold."""

    def __init__(self, witness: str, note: str) -> None:
        self.witness, self.note = witness, note
        super().__init__(note)


@dataclass(frozen=True)
class CodedTables:
    """Values are codes, places in the sorted text of their attribute; groups are places in the sorted group ids."""

    groups: pl.DataFrame  # at, group, rows
    domains: dict[str, list[str]]
    sets: dict[str, pl.DataFrame]  # for each attribute: at, code; sorted, no pair twice
    counts: dict[str, pl.DataFrame]  # for each attribute that is published alone: code, count
    joint: pl.DataFrame | None  # a column of codes for each attribute, named by its place, and count


class _Attribute(NamedTuple):
    """One attribute as codes: its texts, its sets, and its cells and counts in a table of sensitive values."""

    domain: list[str]
    sets: pl.DataFrame
    codes: pl.Series
    counts: pl.DataFrame | None


def read_tables(
    tables: Mapping[str, pl.DataFrame], primary: str, attributes: Sequence[str], keep_case: Collection[str] = ()
) -> CodedTables:
    """Codes of `quasi`, `values` and `sensitive` or `sensitive_<attribute>`; NotJudged if they contradict each other.

    Text is compared in one spelling, and without regard to case but for attributes in `keep_case`. Where T^S holds
    numbers, the text in `values` is read as numbers.
    """
    quasi, values, joint = (
        tables["quasi"],
        tables["values"].select(GROUP, "attribute", "value"),
        tables.get("sensitive"),
    )
    if quasi[GROUP].null_count() or sum(values.null_count().row(0)) or not quasi.height:
        raise ReleaseError("A row of quasi or values has no group or no value. Ask for the release again.")
    numbers = np.sort(quasi[GROUP].to_numpy(), kind="stable")
    first = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1))
    rows = np.diff(first, append=numbers.size)
    groups = pl.DataFrame({"at": np.arange(first.size), "group": numbers[first], "rows": rows})
    texts, text_of = _different(values["value"])
    names, name_of = _different(values["attribute"])
    group_of = values[GROUP].to_numpy()

    def read_one(name: str) -> _Attribute:
        alone = tables.get(f"sensitive_{name}") if joint is None else None
        counted = joint[name] if joint is not None else alone["value"] if alone is not None else None
        own = np.flatnonzero(name_of == (names.index_of(name) if name in names else -1))
        used = np.flatnonzero(np.bincount(text_of[own], minlength=texts.len()))
        listed = texts.gather(used)
        numeric = counted is not None and counted.dtype.is_numeric()
        columns_of = [listed] if counted is None else [listed, counted]
        spelled = [_spellings(column, numeric, name not in keep_case) for column in columns_of]
        domain = pl.concat(s.select("core", "text") for s in spelled).group_by("core").agg(pl.col("text").min())
        domain = domain.sort("core").with_columns(pl.int_range(pl.len()).alias("code"))
        codes = [_codes(column, s, domain) for column, s in zip(columns_of, spelled, strict=True)]
        code_of = np.zeros(texts.len(), np.int64)
        code_of[used] = codes[0].to_numpy()
        sets = _sets(groups, group_of[own], code_of[text_of[own]], domain.height, name)
        _require_sets(groups, sets, name, one_each=name == primary)
        counts = None
        if alone is not None:
            counts = _with_counts(pl.DataFrame({"code": codes[-1], "count": alone["count"]}), groups)
        return _Attribute(domain["text"].to_list(), sets, codes[-1], counts)

    read = dict(zip(attributes, in_threads(read_one, attributes, quasi.height), strict=True))
    domains = {name: own.domain for name, own in read.items()}
    sets = {name: own.sets for name, own in read.items()}
    if joint is None:
        counts = {name: own.counts for name, own in read.items() if own.counts is not None}
        return CodedTables(groups, domains, sets, counts, None)
    columns = {str(i): own.codes for i, own in enumerate(read.values())}
    together = _with_counts(pl.DataFrame({**columns, "count": joint["count"]}), groups)
    return CodedTables(groups, domains, sets, {}, together)


def _different(texts: pl.Series) -> tuple[pl.Series, Numbers]:
    """The different texts, and the place among them of each."""
    texts = dictionary_encode(texts)
    assert isinstance(texts.dtype, pl.Enum)
    return texts.dtype.categories, texts.to_physical().to_numpy()


def _sets(groups: pl.DataFrame, group: Numbers, code: Numbers, size: int, name: str) -> pl.DataFrame:
    """`at`, `code`: the values of each group, sorted, no pair twice; every group that has values must have rows."""
    known = groups["group"].to_numpy()
    place = np.minimum(np.searchsorted(known, group), known.size - 1)
    strange = group[known[place] != group]
    if strange.size:
        raise NotJudged(f"group {strange.min()}", f"group {strange.min()} has values of {name!r}, but no rows")
    pairs = place * size
    pairs += code
    pairs.sort(kind="stable")  # they are nearly in order
    again = np.flatnonzero(pairs[1:] == pairs[:-1])
    if again.size:
        pairs = np.delete(pairs, again)
    return pl.DataFrame({"at": pairs // size, "code": pairs % size})


def _require_sets(groups: pl.DataFrame, sets: pl.DataFrame, name: str, one_each: bool) -> None:
    """Every group has a set; of the primary, a group has as many values as rows."""
    rows = groups["rows"].to_numpy()
    sizes = np.bincount(sets["at"].to_numpy(), minlength=rows.size)
    wrong = np.flatnonzero(sizes != rows if one_each else sizes == 0)
    if wrong.size:
        group, each = groups["group"][int(wrong[0])], ": some value is held twice, or by nobody" if one_each else ""
        fault = f"{rows[wrong[0]]:,} rows and {sizes[wrong[0]]:,} values of {name!r}{each}"
        raise NotJudged(f"group {group}", f"group {group} has {fault}")


def _with_counts(rows: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Distinct rows with their counts, which must add up to the rows of all groups."""
    if rows["count"].null_count() or (rows["count"] < 1).any() or rows["count"].sum() != groups["rows"].sum():
        raise NotJudged("", f"the sensitive table counts {rows['count'].sum():,} rows, quasi {groups['rows'].sum():,}")
    names = [name for name in rows.columns if name != "count"]
    return rows.group_by(names).agg(pl.col("count").cast(pl.Int64).sum()).sort(names)


def _spellings(values: pl.Series, numbers: bool, fold_case: bool = True) -> pl.DataFrame:
    """Each `value` as `text`, numbers as `number_text` writes them, and the `core` that its spellings share.

    >>> _spellings(pl.Series([8.0]), True).rows(), _spellings(pl.Series(["8.0"]), True).rows()
    ([(8.0, '8', '8')], [('8.0', '8', '8')])
    >>> _spellings(pl.Series(["Flu"]), False).rows()
    [('Flu', 'Flu', 'flu')]
    """
    distinct = decode(values.unique())
    if distinct.null_count():
        raise ReleaseError("A row of the sensitive table has no value. Ask for the release again.")
    if distinct.dtype.is_numeric():
        texts = [number_text(value) for value in distinct]
    else:
        texts = [_number_or_text(text) if numbers else text for text in distinct]
    return pl.DataFrame({"value": distinct, "text": pl.Series(texts, dtype=pl.String)}).with_columns(
        skeleton(pl.col("text"), fold_case=fold_case).alias("core")
    )


def _number_or_text(text: str) -> str:
    try:
        return number_text(int(text))
    except ValueError:
        pass
    try:
        return number_text(float(text))
    except (ValueError, ReleaseError):
        return text


def _codes(values: pl.Series, spelled: pl.DataFrame, domain: pl.DataFrame) -> pl.Series:
    codes = spelled.join(domain.select("core", "code"), on="core")
    if not values.len():
        return pl.Series("code", [], pl.Int64)
    if is_text(values.dtype):
        return codes["code"].gather(values.cast(pl.Enum(codes["value"])).to_physical()).rename("code")
    return values.replace_strict(codes["value"], codes["code"], return_dtype=pl.Int64).rename("code")


def number(columns: Sequence[str]) -> pl.Expr:
    """A number from 0 for each row, the same for rows that agree in these columns, in their order."""
    return (pl.struct(columns).rank("dense").cast(pl.Int64) - 1) if columns else pl.lit(0, pl.Int64)


def classes(sets: pl.DataFrame) -> pl.DataFrame:
    """`at`, `class`: a number for each group, the same for groups of equal sets.

    >>> classes(pl.DataFrame({"at": [0, 0, 1, 2, 2], "code": [4, 5, 4, 4, 5]})).rows()
    [(0, 0), (1, 1), (2, 0)]
    """
    group, code = sets["at"].to_numpy(), sets["code"].to_numpy()
    first = np.flatnonzero(np.diff(group, prepend=-1))
    words = int(code.max(initial=0)) // 63 + 1
    if words > 8:
        keys = sets.group_by("at", maintain_order=True).agg("code").select("code")
    else:  # a bit for each value
        bits = (np.where(code // 63 == word, 1 << code % 63, 0) for word in range(words))
        keys = pl.DataFrame({str(i): np.bitwise_or.reduceat(bit, first) for i, bit in enumerate(bits)})
    alike = keys.with_columns(pl.Series("at", group[first])).group_by(keys.columns, maintain_order=True).agg("at")
    return alike.select("at", pl.int_range(pl.len()).alias("class")).explode("at").sort("at")
