"""What a policy does to the values of a table before anything else: it cuts off numbers and joins rare values.

Missing values are read first (`canonical`), then numbers beyond `top` and `bottom` become those, then rare texts are
joined. Counts are those of the rows that have every sensitive value, for only these are published. Each step leaves
what it made as it is, so that a table may be recoded twice.

A tree is made of the values that are left: how deep a mask is and what tells columns of one name apart says nothing of
values that were joined, or of rows that are not published.

Theorem: after `join_rare` every value stands in `below` rows or more, or there is one value only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from pluralis.policy.attributes import Attribute
from pluralis.policy.hierarchies import ColumnsHierarchy, FileHierarchy, MaskHierarchy, TextHierarchy
from pluralis.table.dictionaries import dictionary_encode
from pluralis.table.labels import number_texts
from pluralis.table.spelling import cores
from pluralis.table.text_trees import Levels, Lines, held_lines, lines_of, without_line
from pluralis.table.whole_table import ITSELF, WholeTable


@dataclass(frozen=True)
class Recoded:
    """The columns of a table once they were recoded, and the trees that had to be made of them before."""

    columns: dict[str, pl.Series]
    trees: dict[str, Lines]


def recode(
    columns: Mapping[str, pl.Series],
    attributes: Mapping[str, Attribute],
    notes: list[str],
    *,
    folder: Path | None,
    levels: Levels,
    whole: WholeTable = ITSELF,
) -> Recoded:
    """Clean columns as their attributes say: numbers cut off, rare texts joined. What was done is noted.

    Without a `folder` no hierarchy can be read from a file. Of a part of a larger table, rare texts of columns that
    were `joined` in the `whole` are not counted again.
    """
    changed = {name: cut_off(values, attributes[name], notes) for name, values in columns.items()}
    keep = rows_with_values(changed, attributes)
    trees: dict[str, Lines] = {}
    for name, before in list(changed.items()):
        attribute, into = attributes[name], whole.joined.get(name)
        if attribute.rare is not None and into is None:
            counts = histogram(before if keep is None else before.filter(keep))
            into, becomes = joining_of(before, counts, attribute, folder, levels)
            if becomes:
                rows = int(before.cast(pl.String).is_in([*becomes]).sum())
                notes.append(joining_note(name, becomes, rows))
                changed[name] = joined(before, becomes)
        if name in whole.trees:
            trees[name] = whole.trees[name]
        elif grows_with_table(attribute):
            shown = changed[name].cast(pl.String)
            shown = shown if keep is None else shown.set(~keep, None)
            if name in whole.joined:  # what was joined stands with several wider values
                before = shown.set(shown == into, None)
            trees[name] = tree_of(shown, before, attribute, into, folder, levels)
        if leaves_are_numbers(attribute):
            changed[name] = dictionary_encode(number_texts(changed[name]).rename(name))
    return Recoded(changed, trees)


class Joining(NamedTuple):
    """The value that rare ones join where nothing else does, and what each that is joined becomes."""

    into: str
    becomes: Mapping[str, str]


def joining_of(
    values: pl.Series, counts: Mapping[str, int], attribute: Attribute, folder: Path | None, levels: Levels | None
) -> Joining:
    """What rare texts of a column become, of which so many published rows hold each.

    Without `levels` the column is one of different values, whose rows nobody needs to be told.
    """
    rare = attribute.rare
    assert rare is not None
    into = spelled_in(values, rare.as_, fold_case=attribute.case == "fold")
    if not isinstance(rare.along, TextHierarchy) or len(counts) < 2 or min(counts.values()) >= rare.below:
        return Joining(into, dict.fromkeys(join_rare(counts, rare.below, into), into))
    known = lines_of(rare.along, values, folder, levels or _no_levels)
    texts = [text for text in counts if counts[text] < rare.below and text != into]
    for text in (text for text in texts if text not in known):
        row = None if levels is None else int((values.cast(pl.String) == text).arg_true()[0]) + 1
        raise without_line(values.name, text, rare.along, row)
    return Joining(into, join_along(counts, rare.below, into, known))


def grows_with_table(attribute: Attribute) -> bool:
    """Whether the tree of a column has to be made with the table: of its columns, or of what rare values became."""
    tree = attribute.hierarchy
    return isinstance(tree, ColumnsHierarchy) or (isinstance(tree, TextHierarchy) and attribute.rare is not None)


def tree_of(
    shown: pl.Series,
    before: pl.Series,
    attribute: Attribute,
    into: str | None,
    folder: Path | None,
    levels: Levels | None,
) -> Lines:
    """The tree of the texts that a column shows once rare ones were joined."""
    tree, rare = attribute.hierarchy, attribute.rare
    assert isinstance(tree, TextHierarchy)
    left = None  # of wider values that rare ones became, all lines are needed to say which they are
    if isinstance(tree, MaskHierarchy) or rare is None or rare.along is None:
        left = {*shown.unique().drop_nulls()} - {into}
    known = lines_of(tree, before, folder, levels or _no_levels, left)
    return held_lines(shown, known, tree, into, in_rows=levels is not None)


def _no_levels(name: str) -> pl.Series:
    raise LookupError(f"{name} is a column of rows, and there are only different values")


def leaves_are_numbers(attribute: Attribute) -> bool:
    """Whether an attribute is of numbers whose wider values have names, from a file: it is published as text."""
    return attribute.type == "number" and isinstance(attribute.hierarchy, FileHierarchy)


# numbers ----------------------------------------------------------------------------------------------------------


def cut_off(values: pl.Series, attribute: Attribute, notes: list[str]) -> pl.Series:
    """Numbers beyond `top` or `bottom` as those; all other values as they are.

    >>> cut_off(pl.Series("age", [17, 50, 95, None]), Attribute(type="number", top=90, bottom=18), []).to_list()
    [18, 50, 90, None]
    """
    for end, beyond in ((attribute.bottom, values.__lt__), (attribute.top, values.__gt__)):
        if end is None:
            continue
        outside = beyond(end).fill_null(False)
        if outside.any():
            side = "or less" if end == attribute.bottom else "or more"
            notes.append(
                f"{values.name}: {int(outside.sum()):,} values published as {end:g}, which means {end:g} {side}."
            )
            whole = values.dtype.is_integer() and float(end).is_integer()
            values = (values if whole else values.cast(pl.Float64)).set(outside, int(end) if whole else end)
    return values


# texts ------------------------------------------------------------------------------------------------------------


def rows_with_values(columns: Mapping[str, pl.Series], attributes: Mapping[str, Attribute]) -> pl.Series | None:
    """Which rows have every sensitive value; None where all have."""
    keep: pl.Series | None = None
    for name, values in columns.items():
        if attributes[name].role == "sensitive" and values.null_count():
            keep = values.is_not_null() if keep is None else keep & values.is_not_null()
    return keep


def histogram(values: pl.Series) -> dict[str, int]:
    """How many rows hold each text.

    >>> histogram(pl.Series(["flu", None, "flu"]))
    {'flu': 2}
    """
    counts = values.drop_nulls().cast(pl.String).rename("text").value_counts(name="rows").sort("text")
    return dict(zip(counts["text"], counts["rows"], strict=True))


def spelled_in(values: pl.Series, into: str, *, fold_case: bool) -> str:
    """A text as a column spells it, if it holds it: joined values then join that one.

    >>> spelled_in(pl.Series(["Other", "flu"]), "other", fold_case=True)
    'Other'
    """
    texts = values.unique().drop_nulls().cast(pl.String).sort()
    own = cores(pl.Series([into]), fold_case=fold_case)[0]
    alike = texts.filter(cores(texts, fold_case=fold_case) == own)
    return str(alike[0]) if alike.len() else into


def join_rare(counts: Mapping[str, int], below: int, into: str) -> list[str]:
    """The values that become `into`: those of fewer than `below` rows, the next rarest where these are too few rows.

    Of equal counts the first text goes first.

    >>> join_rare({"a": 1, "b": 1, "c": 3, "d": 9}, 2, "other"), join_rare({"a": 1, "c": 3, "d": 9}, 2, "other")
    (['a', 'b'], ['a', 'c'])
    >>> join_rare({"other": 1, "c": 3, "d": 9}, 2, "other"), join_rare({"c": 3, "d": 9}, 2, "other")
    (['c'], [])
    """
    if all(rows >= below for rows in counts.values()):
        return []
    chosen, rows = list[str](), counts.get(into, 0)
    for text in sorted(counts.keys() - {into}, key=lambda text: (counts[text], text)):
        if counts[text] >= below and rows >= below:
            break
        chosen.append(text)
        rows += counts[text]
    return chosen


def join_along(counts: Mapping[str, int], below: int, into: str, lines: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """What each rare value becomes: its lowest wider value that `below` rows then hold, or `into` where only all do.

    >>> lines = {text: [text, text[0], "*"] for text in ("a1", "a2", "b1", "c1", "d1")}
    >>> join_along({"a1": 1, "a2": 1, "b1": 1, "c1": 1, "d1": 5}, 2, "other", lines)
    {'a1': 'a', 'a2': 'a', 'b1': 'other', 'c1': 'other'}
    """
    becomes: dict[str, str] = {}
    left = [text for text in sorted(counts) if counts[text] < below and text != into]
    depth = max((len(lines[text]) for text in left), default=2)
    for h in range(1, depth - 1):
        rows = Counter[str]()
        for text in left:
            rows[lines[text][h]] += counts[text]
        for label in rows:
            rows[label] += counts.get(label, 0) if counts.get(label, 0) >= below else 0
            rows[label] += sum(counts[text] for text, own in becomes.items() if own == label)
        becomes |= {text: lines[text][h] for text in left if rows[lines[text][h]] >= below}
        left = [text for text in left if text not in becomes]
    after = Counter[str]()
    for text, number in counts.items():
        after[becomes.get(text, text)] += number
    rest = set(join_rare(after, below, into))
    every = {text: into if becomes.get(text, text) in rest else becomes.get(text, text) for text in counts}
    return {text: own for text, own in sorted(every.items()) if own != text}


def joining_note(name: str, becomes: Mapping[str, str], rows: int) -> str:
    """What is said of rare values that were joined, which so many rows hold.

    >>> joining_note("ill", {"gout": "other", "flu": "other"}, 1_200)
    "ill: 2 rare values, in 1,200 rows, published as 'other'."
    """
    names = sorted(set(becomes.values()))
    shown = ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
    return f"{name}: {len(becomes):,} rare values, in {rows:,} rows, published as {shown}."


def joined(values: pl.Series, becomes: Mapping[str, str]) -> pl.Series:
    """A column with some of its texts as others, in codes."""
    old, new = (pl.Series([*texts], dtype=pl.String) for texts in (becomes, becomes.values()))
    return dictionary_encode(values.cast(pl.String).replace(old, new))
