"""Objects as a terminal and as a notebook show them: lines and aligned columns, as plain text and as HTML.

An object yields its parts once, and both are made of them here. Names and values in them may be a stranger's: whatever
shows nothing is escaped in both (`escaping`), and whatever is markup in HTML.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pluralis.display.escaping import html, printable, text_width

MOST_ROWS = 40  # of one block of columns; what is beyond them is counted
MOST_LETTERS = 60  # of a cell that others follow


class Columns(NamedTuple):
    """Rows of cells under heads, which may be empty; the columns in `right` hold numbers."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Collection[int] = ()


def filled_in(cells: Mapping[str, str | None]) -> Iterator[Columns]:
    """Names beside what stands under them; those under which nothing stands are left out, and all if all are."""
    rows = [(name, cell) for name, cell in cells.items() if cell]
    if rows:
        yield Columns(("", ""), rows)


class Shown(ABC):
    """Shows itself as text in a terminal and as HTML in a notebook, both made of `_parts`; the first is its title."""

    __slots__ = ()

    @abstractmethod
    def _parts(self) -> Iterator[str | Columns]: ...

    def __repr__(self) -> str:
        return as_text(self._parts())

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        return as_html(self._parts())


def as_text(parts: Iterable[str | Columns]) -> str:
    r"""Parts one below the other: lines as they are, columns aligned and set in.

    >>> print(as_text(["Two columns", Columns(["name", "rows"], [["flu\n", "7"], ["心臓", "12"]], right=[1])]))
    Two columns
      name     rows
      flu\x0a     7
      心臓       12
    """
    return "\n".join(line for part in parts for line in _lines(part))


def _lines(part: str | Columns) -> list[str]:
    if isinstance(part, str):
        return [printable(part)]
    rows = [[printable(cell) for cell in _cut(row)] for row in part.rows[:MOST_ROWS]]
    if any(part.heads):
        rows.insert(0, [printable(head) for head in _cut(part.heads)])
    widths = [max(map(text_width, column)) for column in zip(*rows, strict=True)]
    shown = ["  " + "  ".join(_placed(cell, widths[i], i in part.right) for i, cell in enumerate(row)) for row in rows]
    return [line.rstrip() for line in shown] + [f"  {more}" for more in _left(part)]


def as_html(parts: Iterable[str | Columns]) -> str:
    """Parts one below the other: the first line bold, other lines as paragraphs, columns as a table.

    >>> as_html(["A <title>", Columns(["name", "rows"], [["<b>", "7"]], right=[1])])
    '<div><p><b>A &lt;title&gt;</b></p><table><tr><th>name</th><th>rows</th></tr><tr><td>&lt;b&gt;</td>\
<td style="text-align: right">7</td></tr></table></div>'
    """
    return f"<div>{''.join(_markup(part, title=i == 0) for i, part in enumerate(parts))}</div>"


def _markup(part: str | Columns, *, title: bool) -> str:
    if isinstance(part, str):
        return f"<p><b>{html(part)}</b></p>" if title else f"<p>{html(part)}</p>" if part else ""
    heads = f"<tr>{''.join(f'<th>{html(head)}</th>' for head in _cut(part.heads))}</tr>" if any(part.heads) else ""
    rows = "".join(
        f"<tr>{''.join(f'<td{_aligned(i, part)}>{html(cell)}</td>' for i, cell in enumerate(_cut(row)))}</tr>"
        for row in part.rows[:MOST_ROWS]
    )
    return f"<table>{heads}{rows}</table>{''.join(f'<p>{more}</p>' for more in _left(part))}"


def _aligned(i: int, part: Columns) -> str:
    return ' style="text-align: right"' if i in part.right else ""


def _left(part: Columns) -> list[str]:
    return [f"… and {len(part.rows) - MOST_ROWS:,} more"] if len(part.rows) > MOST_ROWS else []


def _cut(row: Sequence[str]) -> list[str]:
    """The cells of a row, long ones cut, but for the last one, which nothing follows."""
    *cells, last = row
    return [*(cell if len(cell) <= MOST_LETTERS else cell[: MOST_LETTERS - 1] + "…" for cell in cells), last]


def _placed(cell: str, width: int, right: bool) -> str:
    blanks = " " * (width - text_width(cell))
    return blanks + cell if right else cell + blanks
