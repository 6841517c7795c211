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

import polars as pl

from pluralis.policy.attributes import Attribute
from pluralis.policy.hierarchies import ColumnsHierarchy, FileHierarchy, MaskHierarchy, TextHierarchy
from pluralis.table.dictionaries import dictionary_encode
from pluralis.table.labels import number_texts
from pluralis.table.spelling import cores
from pluralis.table.text_trees import Levels, Lines, held_lines, lines_of, without_line


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
) -> Recoded:
    """Clean columns as their attributes say: numbers cut off, rare texts joined. What was done is noted.

    Without a `folder` no hierarchy can be read from a file.
    """
    changed = {name: cut_off(values, attributes[name], notes) for name, values in columns.items()}
    asked = {name: rare for name in changed if (rare := attributes[name].rare) is not None}
    keep = rows_with_values(changed, attributes)
    trees: dict[str, Lines] = {}
    for name, before in list(changed.items()):
        tree, into = attributes[name].hierarchy, None
        if name in asked:
            rare, fold = asked[name], attributes[name].case == "fold"
            into = spelled_in(before, rare.as_, fold_case=fold)
            counts = histogram(before if keep is None else before.filter(keep))
            if isinstance(rare.along, TextHierarchy) and len(counts) > 1 and min(counts.values()) < rare.below:
                known = lines_of(rare.along, before, folder, levels)
                texts = [text for text in counts if counts[text] < rare.below and text != into]
                _require_lines(before, texts, known, rare.along)
                mapping = join_along(counts, rare.below, into, known)
            else:
                mapping = dict.fromkeys(join_rare(counts, rare.below, into), into)
            changed[name] = joined(before, mapping, notes)
        if isinstance(tree, ColumnsHierarchy) or (isinstance(tree, TextHierarchy) and name in asked):
            shown = changed[name].cast(pl.String)
            shown = shown if keep is None else shown.set(~keep, None)
            left = None  # of wider values that rare ones became, all lines are needed to say which they are
            if isinstance(tree, MaskHierarchy) or name not in asked or asked[name].along is None:
                left = {*shown.unique().drop_nulls()} - {into}
            trees[name] = held_lines(shown, lines_of(tree, before, folder, levels, left), tree, into)
        if leaves_are_numbers(attributes[name]):
            changed[name] = dictionary_encode(number_texts(changed[name]).rename(name))
    return Recoded(changed, trees)


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


def joined(values: pl.Series, becomes: Mapping[str, str], notes: list[str]) -> pl.Series:
    """A column with some of its texts as others, in codes."""
    if not becomes:
        return values
    texts = values.cast(pl.String)
    old = pl.Series(list(becomes), dtype=pl.String)
    rows = int(texts.is_in(old.to_list()).sum())
    names = sorted(set(becomes.values()))
    shown = ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
    notes.append(f"{values.name}: {len(becomes):,} rare values, in {rows:,} rows, published as {shown}.")
    return dictionary_encode(texts.replace(old, pl.Series(list(becomes.values()), dtype=pl.String)))


def _require_lines(values: pl.Series, texts: Sequence[str], lines: Lines, spec: TextHierarchy) -> None:
    """Refuse rare values that have no wider one."""
    for text in texts:
        if text not in lines:
            row = int((values.cast(pl.String) == text).arg_true()[0]) + 1
            raise without_line(values.name, text, spec, row)
