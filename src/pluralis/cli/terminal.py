"""The one way to a terminal: what is shown there is text, unless this program wrote it.

`Terminal.say` takes markup that stands in the program, and values that go into it as text. A cell of a `Grid` is text;
to set it apart, `styled` is asked for. Whatever comes by another way is escaped as it is rendered, but for the ends of
lines, which layout makes: so no value may be put into markup by hand. A test reads the commands for that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from string import Formatter
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Span, Text

from pluralis.display.escaping import printable

INDENT = 4  # of what is left of a line


class Hanging:
    """Text whose lines after the first are set in, wherever it is cut: what stands at the left edge begins there."""

    def __init__(self, text: Text, indent: int) -> None:
        self.text, self.indent = text, indent

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        if options.no_wrap or all(cell_len(line) <= width for line in self.text.plain.split("\n")):
            yield self.text
            return
        lines = []
        for part in self.text.split("\n", allow_blank=True):
            first, *rest = part.wrap(console, max(1, width - self.indent), overflow="fold", tab_size=8) or [Text()]
            lines += [first, *(Text(" " * self.indent).append_text(line) for line in rest)]
        yield Text("\n").join(lines)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, self.text)


class Terminal(Console):
    """A console for untrusted text."""

    def __init__(self, *, stderr: bool = False, **how: Any) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=True, emoji=False, **how)

    def say(self, template: str, *values: object, style: str | None = None, wrap: bool = True) -> None:
        """A line of markup, written in the program, with values in its braces. They are shown as text, on that line.

        Where a terminal is narrower, the rest of the line is set in. Elsewhere it is cut only if `wrap` says so.
        """
        text = filled(template, *values)
        cut = wrap or self.is_terminal
        super().print(Hanging(text, INDENT) if cut else text, style=style, soft_wrap=not cut)

    def print(self, *objects: Any, **how: Any) -> None:
        """Things to render. A bare text is text, not markup."""
        super().print(*(Text(printable(one)) if isinstance(one, str) else one for one in objects), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text, keep="\n"))


def terminal() -> Terminal:
    """Standard output. Where it is no terminal, lines have room."""
    return Terminal(width=None if sys.stdout.isatty() else 160)


class Grid(Table):
    """A table without lines. Texts are cells as they are."""

    def __init__(self, *headers: str, right: Iterable[int] = (), title: str | None = None, wrap: bool = True) -> None:
        heading = None if title is None else Text(printable(title))
        super().__init__(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0), title=heading)
        self.title_justify = "left"
        at_right = set(right)
        for i, header in enumerate(headers):
            justify = "right" if i in at_right else "left"
            self.add_column(Text(printable(header)), justify=justify, overflow="fold", no_wrap=not wrap)  # type: ignore[arg-type]

    def line(self, *cells: str | Text, style: str | None = None) -> None:
        """One more line."""
        texts = [cell if isinstance(cell, Text) else Text(printable(cell)) for cell in cells]
        self.add_row(*(Hanging(text, 1) for text in texts), style=style)


def styled(text: str, style: str) -> Text:
    """A text in a style."""
    return Text(printable(text), style=style)


def short_number(value: float | None) -> str:
    """A number in a cell: four digits, or all before the point; nothing where there is none.

    >>> short_number(1 / 3), short_number(123456.7), short_number(None)
    ('0.3333', '123,457', '')
    """
    return "" if value is None else f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


_PLACE = "\ue000"  # of a value, while the markup around it is read


def filled(template: str, *values: object) -> Text:
    """Markup with values in its braces: their letters are never read as markup, whatever stands beside them.

    >>> filled("[bold]{}[/]: {:,} rows", "[red]", 1200).markup
    '[bold]\\\\[red][/bold]: 1,200 rows'
    """
    words, specs = [], []
    for literal, name, spec, _ in Formatter().parse(template):
        words.append(literal)
        if name is not None:
            specs.append(spec or "")
    if len(specs) != len(values):
        raise ValueError(f"{template!r} has {len(specs)} places for {len(values)} values.")
    shown = [
        printable(format(str(value) if isinstance(value, Path) else value, spec))
        for value, spec in zip(values, specs, strict=True)
    ]
    parsed = Text.from_markup(_PLACE.join([*words, *([""] if len(words) == len(specs) else [])]), emoji=False)
    first, *rest = parsed.plain.split(_PLACE)
    whole = first
    for value, after in zip(shown, rest, strict=True):
        whole += value + after
    starts = [i for i, letter in enumerate(parsed.plain) if letter == _PLACE]

    def place(old: int) -> int:
        return old + sum(len(value) - 1 for start, value in zip(starts, shown, strict=True) if start < old)

    spans = [Span(place(span.start), place(span.end), span.style) for span in parsed.spans]
    return Text(whole, spans=spans)
