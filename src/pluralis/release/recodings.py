"""What was done to the values of an attribute before anything else, as a manifest tells of it.

It tells what was asked, never which values were there: below and above the ends of numbers, and among the joined ones,
nothing can be told apart any more. So a table that was published can be recoded again, and compared.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import Field

from pluralis.policy.attributes import Attribute
from pluralis.policy.hierarchies import (
    ColumnsHierarchy,
    DateHierarchy,
    FileHierarchy,
    IcdHierarchy,
    MaskHierarchy,
    TextHierarchy,
)
from pluralis.policy.policy import Policy
from pluralis.policy.recoding import MOST_BREAKS
from pluralis.release.columns import ColumnInfo, Finite, ManifestPart, TableInfo, Whole
from pluralis.table.bins import break_labels
from pluralis.table.csv_files import MAX_ROWS
from pluralis.table.labels import is_binned, read_interval
from pluralis.table.recoding import leaves_are_numbers
from pluralis.table.spelling import cores

MARKS, LETTERS = 100, 100  # of missing values and columns, and of each of them
FILE = ("file",)  # a hierarchy that a release does not hold
Domains = Mapping[str, ColumnInfo]
_NUMBER = re.compile(r"-?\d{1,19}(\.\d{1,18})?(e[-+]?\d{1,3})?")
_DATE = re.compile(r"date( day)?( month)?( year)?")


class JoinedValues(ManifestPart):
    """Values that fewer than `below` rows held are `into`, or a wider value `along` a hierarchy.

    Of a release in parts, the rows of `all_parts` were counted.
    """

    below: Annotated[int, Field(ge=2, le=MAX_ROWS)]
    into: str
    along: tuple[str, ...] | None = None
    all_parts: Literal[True] | None = None


class Recoding(ManifestPart):
    """What was done to one attribute; what is null was not.

    `missing` are the texts that mean that a value is missing, where they are not those of the whole table. A number
    `top` means that or more, `bottom` that or less; or it is the bin that `breaks` make, which belong to the bin above.
    `numbers` are published as text, for their hierarchy has names.
    """

    missing: tuple[str, ...] | None = None
    top: Whole | Finite | None = None
    bottom: Whole | Finite | None = None
    breaks: tuple[Whole | Finite, ...] | None = None
    rare: JoinedValues | None = None
    numbers: Literal[True] | None = None

    def attribute(self, kind: Literal["text", "number"]) -> dict[str, Any]:
        """The keys of an attribute of a policy that asks for the same; what was counted in all parts cannot be."""
        keys: dict[str, Any] = {"type": "number" if self.numbers else kind, "top": self.top, "bottom": self.bottom}
        if self.rare is not None and not self.rare.all_parts:
            along = FileHierarchy(file="") if self.rare.along == FILE else _specified(self.rare.along)
            keys["rare"] = {"below": self.rare.below, "as": self.rare.into, "along": along}
        return keys


def recodings_of(
    policy: Policy, breaks: Mapping[str, Sequence[float]], in_all_parts: Collection[str] = ()
) -> dict[str, dict[str, Any]]:
    """What a policy asks to be done, as the manifest tells of it, and the breaks that were made of it.

    Of a part, rare values of some attributes were counted `in_all_parts`.
    """
    asked = {name: _recoding_of(a) for name, a in policy.columns.items() if a.role != "identifier"}
    for name, numbers in breaks.items():
        asked[name]["breaks"] = tuple(numbers)
    for name in in_all_parts:
        asked[name]["rare"]["all_parts"] = True
    return {name: recoding for name, recoding in asked.items() if recoding}


def _recoding_of(attribute: Attribute) -> dict[str, Any]:
    asked: dict[str, Any] = {"missing": attribute.missing}
    asked |= {key: _number(getattr(attribute, key)) for key in ("top", "bottom")}
    if (rare := attribute.rare) is not None:
        asked["rare"] = {"below": rare.below, "into": rare.as_}
        if isinstance(rare.along, TextHierarchy):
            asked["rare"]["along"] = _words(rare.along)
    if leaves_are_numbers(attribute):
        asked["numbers"] = True
    return {key: value for key, value in asked.items() if value is not None}


def _number(value: float | None) -> float | int | None:
    return int(value) if value is not None and value.is_integer() and abs(value) < 2**53 else value


def _words(tree: TextHierarchy) -> tuple[str, ...]:
    """A hierarchy in words; the name of a file is nobody's business.

    >>> _words(IcdHierarchy(icd=9)), _specified(("columns", "county"))
    (('icd', '9'), ColumnsHierarchy(columns=['county']))
    """
    if isinstance(tree, MaskHierarchy):
        return ("mask", tree.mask)
    if isinstance(tree, IcdHierarchy):
        return ("icd", str(tree.icd))
    if isinstance(tree, DateHierarchy):
        return ("date", *tree.date)
    return ("columns", *tree.columns) if isinstance(tree, ColumnsHierarchy) else FILE


def _specified(words: tuple[str, ...] | None) -> TextHierarchy | None:
    """The hierarchy that words say; None where they say none."""
    match words:
        case ("mask", ("left" | "right") as side):
            return MaskHierarchy(mask=side)
        case ("icd", ("9" | "10") as revision):
            return IcdHierarchy.model_validate({"icd": int(revision)})
        case ("date", *periods) if periods and _DATE.fullmatch(" ".join(words)):
            return DateHierarchy.model_validate({"date": periods})
        case ("columns", *names) if names:
            return ColumnsHierarchy(columns=list(names))
    return None


# reading a stranger's ----------------------------------------------------------------------------------------------


def recoding_problems(recodings: Mapping[str, Recoding], tables: Sequence[TableInfo], more: Domains) -> Iterator[str]:
    """Recodings that say nothing, too much, or what the published domain of their attribute contradicts."""
    for name, recoding in recodings.items():
        columns = [column for info in tables for column in info.columns if _tells_of(column, name)]
        columns += [more[name]] if name in more else []
        faults = [*_faults_of_its_own(recoding), *(fault for column in columns for fault in _faults(recoding, column))]
        if recoding.breaks is not None and not columns:
            faults.append("has breaks, and nothing says which of its bins are published")
        yield from (f"parameters: the recoding of {name[:40]!r} {fault}." for fault in dict.fromkeys(faults))


def _tells_of(column: ColumnInfo, name: str) -> bool:
    return column.domain is not None and (column.attribute or column.name) == name


def _faults_of_its_own(recoding: Recoding) -> Iterator[str]:
    """What no column is needed to see."""
    if recoding == Recoding():
        yield "says nothing"
    marks = recoding.missing or ()
    if len(set(marks)) < len(marks) or len(marks) > MARKS or any(len(mark) > LETTERS for mark in marks):
        yield f"has a mark twice, more than {MARKS} of them, or one of more than {LETTERS} letters"
    if recoding.top is not None and recoding.bottom is not None and recoding.bottom >= recoding.top:
        yield "cuts off all numbers"
    if recoding.breaks is not None and not _are_breaks(recoding.breaks):
        yield "has breaks that are no numbers in order, each once"


def _faults(recoding: Recoding, column: ColumnInfo) -> Iterator[str]:
    ends = _ends(recoding, column)
    if (recoding.top is not None or recoding.bottom is not None) and ends is None:
        yield "cuts off numbers of an attribute that has none"
    low, high = ends or (None, None)
    if recoding.top is not None and high is not None and high > recoding.top:
        yield f"says that numbers end at {recoding.top:g}, and one is above"
    if recoding.bottom is not None and low is not None and low < recoding.bottom:
        yield f"says that numbers begin at {recoding.bottom:g}, and one is below"
    if recoding.breaks is not None and _are_breaks(recoding.breaks) and not _in_bins(recoding.breaks, column):
        yield "has breaks that do not make the values that are published"
    yield from _faults_of_joined(recoding, column)


def _in_bins(breaks: Sequence[float], column: ColumnInfo) -> bool:
    """Whether a column publishes bins that breaks make, in their order."""
    places = {label: i for i, label in enumerate(break_labels(breaks))}
    shown = [places.get(str(value), -1) for value in column.domain or () if value is not None]
    return bool(column.ordered) and -1 not in shown and shown == sorted(shown)


def _are_breaks(breaks: Sequence[float]) -> bool:
    """Whether these are numbers as they are published, in order, each once."""
    written = all(isinstance(number, int) or not number.is_integer() for number in breaks)
    in_order = all(one < two for one, two in pairwise(breaks))
    return 0 < len(breaks) <= MOST_BREAKS and written and in_order and all(abs(number) < 2**53 for number in breaks)


def _faults_of_joined(recoding: Recoding, column: ColumnInfo) -> Iterator[str]:
    rare = recoding.rare
    text = column.type == "text" and not recoding.numbers
    if recoding.numbers and (column.type != "text" or column.ordered or not all(map(_is_number, _texts(column)))):
        yield "says that numbers are published as text, and they are not"
    if rare is None:
        return
    if not text or recoding.top is not None or recoding.bottom is not None:
        yield "joins values of numbers"
    if column.ordered:
        yield "joins values that stand in order"
    if not rare.into or len(rare.into) > LETTERS or cores(pl.Series([rare.into]), fold_case=False)[0] != rare.into:
        yield "joins values into one that no release writes so"
    words = rare.along or ()
    if rare.along is not None and rare.along != FILE and _specified(rare.along) is None:
        yield "joins values along no hierarchy that there is"
    if len(words) > MARKS or len(set(words)) < len(words) or any(len(word) > LETTERS for word in words):
        yield "joins values along a hierarchy of too many or too long words"


def _ends(recoding: Recoding, column: ColumnInfo) -> tuple[float | None, float | None] | None:
    """The least and the largest number that is published for certain; None of an attribute of other values."""
    if is_binned(column.domain) and not column.ordered:
        bins = [read_interval(str(label)) for label in column.domain or ()]
        return max(high for _, high in bins[:1]), max(low for low, _ in bins)
    values = [value for value in column.domain or () if value is not None]
    if (column.type == "text" and not recoding.numbers) or not all(_is_number(str(value)) for value in values):
        return None
    numbers = [float(value) for value in values]
    return (min(numbers), max(numbers)) if numbers else (None, None)


def _texts(column: ColumnInfo) -> list[str]:
    """The values of a column of text, and the leaves of its hierarchy."""
    published = [value for value in column.domain or () if isinstance(value, str)]
    return [*published, *(line[0] for line in column.hierarchy or ())]


def _is_number(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text))


def too_rare(
    recodings: Mapping[str, Recoding], infos: Sequence[TableInfo], tables: Mapping[str, pl.DataFrame], suppressed: int
) -> Iterator[str]:
    """Values that fewer rows hold than the recoding of their attribute allows, whatever was suppressed.

    Only where a table counts the values of all rows can it be seen; in one part of several it cannot.
    """
    asked = {name for name, own in recodings.items() if own.rare is not None and not own.rare.all_parts}
    for name, counts in joined_counts(recodings, infos, tables):
        if name in asked:
            yield from too_rare_of(name, recodings[name], [counts], suppressed)


def joined_counts(
    recodings: Mapping[str, Recoding], infos: Sequence[TableInfo], tables: Mapping[str, pl.DataFrame]
) -> Iterator[tuple[str, pl.DataFrame]]:
    """How many rows of a table hold each value of the attributes whose rare values were joined: `value` and `count`."""
    asked = {name for name, own in recodings.items() if own.rare is not None}
    for info in infos if asked else ():
        for name, rows in _value_counts(info, tables[info.name], asked):
            counts = rows.drop_nulls("value").group_by("value").agg(pl.col("count").cast(pl.Int64).sum())
            yield name, counts.with_columns(pl.col("value").cast(pl.String))


def too_rare_of(name: str, recoding: Recoding, counts: Sequence[pl.DataFrame], suppressed: int) -> Iterator[str]:
    """Whether a value is too rare of which tables of different rows count those that hold it."""
    assert recoding.rare is not None
    rows = pl.concat(counts).group_by("value").agg(pl.col("count").sum())["count"]
    if rows.len() > 1 and rows.min() + suppressed < recoding.rare.below:  # type: ignore[operator]
        yield f"parameters: rare values of {name[:40]!r} are said to be joined, and it has one of fewer rows."


def _value_counts(info: TableInfo, rows: pl.DataFrame, names: Collection[str]) -> Iterator[tuple[str, pl.DataFrame]]:
    """`value` and `count` of the attributes of which a table has the values of all rows, in columns or in a list."""
    if info.named("attribute") and info.named("count"):
        listed = rows.filter(pl.col("attribute").cast(pl.String).is_in([*names]))
        for (name,), part in listed.partition_by("attribute", as_dict=True).items():
            yield str(name), part.select("value", "count")
    count = pl.col("count") if info.named("count") else pl.lit(1, pl.Int64)
    for column in info.columns:
        name = column.attribute or column.name
        if name in names and not column.sets and (column.role == "sensitive" or column.exact):
            yield name, rows.select(pl.col(column.name).alias("value"), count.alias("count"))
