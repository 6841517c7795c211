"""The lines of a tree of texts: each value, its wider values, `*`.

They come from a file, a mask, the codes of ICD, dates, or columns of the table itself. All lines of one tree have the
same length. A value that has no place in the tree has no line.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import polars as pl

from pluralis.errors import InputError
from pluralis.policy.hierarchies import (
    ColumnsHierarchy,
    DateHierarchy,
    FileHierarchy,
    IcdHierarchy,
    MaskHierarchy,
    TextHierarchy,
)
from pluralis.table.hierarchies import mask_hierarchy, read_hierarchy
from pluralis.table.icd import icd_line
from pluralis.table.labels import ALL

Lines = dict[str, list[str]]
Levels = Callable[[str], pl.Series]  # a column of the table by its name, as text in one spelling

_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[ T].*)?")
_PERIODS = {"day": 10, "month": 7, "year": 4}  # how much of a date in ISO form says it


def lines_of(
    spec: TextHierarchy, values: pl.Series, folder: Path | None, levels: Levels, left: Collection[str] | None = None
) -> Lines:
    """The line of every value of a column that has one; of a mask and of columns, of those that are `left` alone.

    What a mask or columns make of a value depends on the others: how long they are, and what they are called.
    """
    texts = values.unique().drop_nulls().cast(pl.String).sort().to_list()
    if isinstance(spec, FileHierarchy):
        if folder is None:
            raise InputError(
                f"Rare values of {values.name!r} were joined along a hierarchy file, which a release does not hold. "
                "Give a table in which they are joined already. A release says how to repeat `along: {columns: …}`, "
                "`{icd: …}`, `{mask: …}` and `{date: …}`."
            )
        return {line[0]: list(line) for line in zip(*read_hierarchy(folder / spec.file).labels, strict=True)}
    if isinstance(spec, MaskHierarchy):
        texts = texts if left is None else sorted(left)
        masked = mask_hierarchy(texts, spec.mask, values.name).labels if texts else ()
        return {line[0]: list(line) for line in zip(*masked, strict=True)}
    if isinstance(spec, ColumnsHierarchy):
        return column_lines(values, [levels(name) for name in spec.wider(values.name)], left)
    if isinstance(spec, IcdHierarchy):
        placed = ((text, icd_line(text, spec.icd)) for text in texts)
    else:
        assert isinstance(spec, DateHierarchy)
        placed = ((text, date_line(text, spec.date)) for text in texts)
    return {text: line for text, line in placed if line is not None}


def date_line(text: str, periods: Sequence[str]) -> list[str] | None:
    """A date in ISO form, the periods it lies in, `*`; None for what is no date.

    >>> date_line("2024-05-31", ["month", "year"]), date_line("2024-02-30", ["year"])
    (['2024-05-31', '2024-05', '2024', '*'], None)
    """
    match = _DATE.fullmatch(text)
    try:
        dt.date(*map(int, match.groups() if match else ()))
    except (TypeError, ValueError):
        return None
    return [text, *(text[: _PERIODS[period]] for period in periods), ALL]


def column_lines(values: pl.Series, wider: Sequence[pl.Series], left: Collection[str] | None = None) -> Lines:
    """The line of every value, or of those that are `left`, by columns of which each decides the next.

    >>> table = pl.DataFrame({"zip": ["11201", "11201", "10001"], "county": ["Kings", None, "New York"]})
    >>> column_lines(table["zip"], [table["county"]])
    {'10001': ['10001', 'New York', '*'], '11201': ['11201', 'Kings', '*']}
    """
    columns = [column.cast(pl.String) for column in (values, *wider)]
    above = [_parents(narrow, wide) for narrow, wide in pairwise(columns)]
    lines: Lines = {}
    texts = columns[0].unique().drop_nulls().sort().to_list()
    for text in texts if left is None else sorted({*texts} & {*left}):
        line = [text]
        for parents in above:
            line.append(parents[line[-1]])
        lines[text] = [*line, ALL]
    return _told_apart(lines, [column.name for column in columns])


def _parents(narrow: pl.Series, wide: pl.Series) -> dict[str, str]:
    """What each value of a column stands with in another one; refused where that is not one value."""
    rows = pl.DataFrame({"narrow": narrow, "wide": wide}).with_row_index("row", 1).drop_nulls("narrow")
    pairs = rows.drop_nulls().group_by("narrow", "wide").agg(pl.col("row").min()).sort("row")
    twice = pairs.filter(pl.col("narrow").is_duplicated())
    if twice.height:
        value = twice["narrow"][0]
        (one, first), (other, second) = twice.filter(pl.col("narrow") == value).head(2).select("wide", "row").rows()
        more = twice["narrow"].n_unique() - 1
        raise InputError(
            f"{narrow.name!r} does not decide {wide.name!r}: {value!r} stands with {one!r} in row {first:,} and with "
            f"{other!r} in row {second:,}{f', and {more:,} other values with several' if more else ''}. Correct them, "
            f"or leave {wide.name!r} out of the hierarchy."
        )
    alone = rows.join(pairs, on="narrow", how="anti").sort("row")
    if alone.height:
        value, row = alone["narrow"][0], alone["row"][0]
        raise InputError(
            f"{wide.name!r} is missing wherever {narrow.name!r} is {value!r} (first: row {row:,}), so that it has no "
            f"wider value. Fill it, or leave {wide.name!r} out of the hierarchy."
        )
    return dict(pairs.select("narrow", "wide").iter_rows())


def _told_apart(lines: Lines, names: Sequence[str]) -> Lines:
    """The same with the name of its column behind a wider value that is also a value of another branch."""
    below: dict[str, set[str]] = {text: {text} for text in lines}
    for h, name in enumerate(names[1:], 1):
        under: dict[str, set[str]] = {}
        for text, line in lines.items():
            under.setdefault(line[h], set()).add(text)
        for label, texts in under.items():
            if label == ALL or not below.get(label, texts) <= texts:
                for text in texts:
                    lines[text][h] = f"{label} ({name})"
        for text, line in lines.items():
            below.setdefault(line[h], set()).add(text)
    return lines


def without_line(name: str, text: str, spec: TextHierarchy, row: int | None) -> InputError:
    """Why a value has no line, and what to do; the row may not be known."""
    if isinstance(spec, FileHierarchy):
        return InputError(f"{spec.file} has no line for {text!r}, which {name!r} holds. Add it.")
    what = f"no ICD-{spec.icd} code" if isinstance(spec, IcdHierarchy) else "no date such as 2024-05-31"
    where = "" if row is None else f" in row {row:,}"
    return InputError(
        f"{name!r} holds {text!r}{where}, which is {what}. Correct it, declare it in `missing`, or "
        "join it with other rare values before: rare: {below: 20, as: other}."
    )


def held_lines(
    values: pl.Series,
    known: Mapping[str, Sequence[str]],
    spec: TextHierarchy,
    into: str | None,
    *,
    in_rows: bool = True,
) -> Lines:
    """A line for every value that a column holds after rare ones were joined; it may not stand in rows.

    >>> tree = {"a": ["a", "x", "*"], "b": ["b", "y", "*"]}
    >>> held_lines(pl.Series(["a", "y", "other"]), tree, MaskHierarchy(mask="right"), "other")
    {'a': ['a', 'x', '*'], 'other': ['other', 'other', '*'], 'y': ['y', 'y', '*']}
    """
    depth = max(map(len, known.values()), default=2)
    nodes: dict[str, Sequence[str]] = {}
    for h in range(1, depth - 1):
        nodes.update({line[h]: [line[h]] * h + [*line[h:]] for line in known.values()})
    lines: Lines = {}
    texts = values.cast(pl.String)
    for text in texts.unique().drop_nulls().sort().to_list():
        if text in known:
            lines[text] = list(known[text])
        elif into is not None and text in nodes:
            lines[text] = list(nodes[text])
        elif text == into:
            lines[text] = [text] * (depth - 1) + [ALL]
        else:
            row = int((texts == text).arg_true()[0]) + 1 if in_rows else None
            raise without_line(values.name, text, spec, row)
    return lines
