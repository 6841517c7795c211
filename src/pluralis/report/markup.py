"""Pieces that the sections of a report share: sections, lists, figures, words for numbers."""

from __future__ import annotations

from collections.abc import Iterable

from pluralis.release.manifest import ColumnInfo, Manifest
from pluralis.report.charts import Html, tag


def section(title: str, *parts: str, id_: str | None = None) -> Html:
    """One question and its answer."""
    return tag("section", tag("h2", title), *parts, id=id_)


def subtables(manifest: Manifest) -> dict[str, list[ColumnInfo]]:
    """The attributes of each table of a release of several, those in groups among them."""
    columns: dict[str, list[ColumnInfo]] = {}
    for info in manifest.tables:
        shown = [column for column in info.columns if column.role in ("quasi", "plain", "sensitive")]
        columns.setdefault(info.name.partition("_")[0], []).extend(shown)
    return columns


def figure(caption: str, picture: Html) -> Html:
    """A picture under its caption."""
    return tag("figure", tag("figcaption", caption), picture)


def more(summary: str, *parts: str) -> Html:
    """What is behind a line that opens it; on paper the line stands alone."""
    return tag("details", tag("summary", summary), *parts)


def items(lines: Iterable[Iterable[str]]) -> list[Html]:
    """A list, if there is anything to list."""
    listed = [tag("li", *words) for words in lines]
    return [tag("ul", *listed)] if listed else []


def defined(class_: str, pairs: Iterable[tuple[str, list[Html]]]) -> Html:
    """Terms and what is said of each."""
    return tag("dl", *(tag("div", tag("dt", name), *descriptions) for name, descriptions in pairs), class_=class_)


def count(number: int, noun: str) -> str:
    """So many of something: 1 row, 2,000 rows."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def several(noun: str, number: int) -> str:
    """The noun for so many: classes of equal labels, groups."""
    first, *rest = noun.split(" ", 1)
    plural = first if number == 1 else first + ("es" if first.endswith("s") else "s")
    return " ".join([plural, *rest])


def were(number: int) -> str:
    """The verb for so many."""
    return "was" if number == 1 else "were"
