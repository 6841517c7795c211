"""Small pictures for the report, as inline SVG, and the markup that it is made of.

Words      before = the original, drawn as an outline; after = the release, drawn filled. Colors come from the page's
           style sheet, so a chart works in light, dark and print; every mark has its numbers in a title.
Escaping   `tag` escapes every string that is not Html already, so that no name or value of a table becomes markup.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from pluralis.display.escaping import printable

WIDTH = 300
LABELS = 132  # pixels for names at the left of horizontal bars, at most
COLUMN = 6.2  # pixels that one column of text takes, about
MOST_BINS = 12
NOTHING = "—"
BESIDE = 22  # letters of a cell that leaves room for another beside it on a phone

_Say = Callable[[float], str]


class Html(str):
    """Markup that is escaped already."""

    __slots__ = ()


def tag(name: str, *children: str, **attributes: object) -> Html:
    """One element; `class_` is class, `aria_label` is aria-label, an attribute that is None is left out.

    >>> tag("td", "<b>", class_="number", title='"')
    '<td class="number" title="&quot;">&lt;b&gt;</td>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_visible(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{written}>{joined(children)}</{name}>")


def joined(parts: Iterable[str]) -> Html:
    """Parts one after the other, each escaped unless it is Html."""
    return Html("".join(part if isinstance(part, Html) else escape(_visible(part)) for part in parts))


def named(text: str, columns: int = 32) -> Html:
    """A name or value from the data: set apart from the text around it, cut where it is long, whole in its title."""
    short = fit(text, columns)
    return tag("bdi", short, title=None if short == _one_line(text) else text)


def fit(text: str, columns: int) -> str:
    """Text cut to a number of columns; a wide letter takes two, a combining mark none.

    >>> fit("Never-married", 6), fit("心臓の病気", 6), fit("flu", 6)
    ('Never…', '心臓…', 'flu')
    """
    text = _one_line(text)
    if sum(map(_columns, text)) <= columns:
        return text
    kept, used = "", 1
    for letter in text:
        used += _columns(letter)
        if used > columns:
            break
        kept += letter
    return kept.rstrip() + "…"


def fit_apart(names: Iterable[str], columns: int) -> list[str]:
    """Names cut to a number of columns, so that those that differ still do: what they begin with alike is cut.

    >>> fit_apart(["household_family_stat", "household_summary", "sex"], 10)
    ['ho…family…', 'ho…summary', 'sex']
    """
    names = [_one_line(name) for name in names]
    short = {name: fit(name, columns) for name in names}
    for cut in {text for text in short.values() if text.endswith("…")}:
        alike = [name for name in short if short[name] == cut]
        if len(alike) < 2:
            continue
        same = _begin_alike(alike)
        begin = fit(alike[0], columns // 3)
        for name in alike:
            rest = name[max(0, same - (len(name) == same)) :]
            short[name] = begin + fit(rest, max(2, columns - sum(map(_columns, begin))))
    return [short[name] for name in names]


def _begin_alike(names: Sequence[str]) -> int:
    """With how many letters all of them begin."""
    return next(
        (i for i, letters in enumerate(zip(*names, strict=False)) if len(set(letters)) > 1), min(map(len, names))
    )


def _columns(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _one_line(text: str) -> str:
    return " ".join(_visible(text).split()) or "(blank)"


def _visible(text: str) -> str:
    """Text without what shows nothing, or turns round what is around it."""
    return printable(text, keep="\n\t")


def share(value: float, digits: int = 1) -> str:
    """A share as a percentage that never rounds something to nothing, or less than everything to everything.

    >>> share(0.25), share(0.00001), share(0.99999), share(1.0)
    ('25.0\\xa0%', '<0.1\\xa0%', '>99.9\\xa0%', '100.0\\xa0%')
    """
    step = 10.0**-digits
    percent = 100 * value
    if value == 0:
        return "0\xa0%"
    if 0 < percent < step / 2:
        return f"<{step:.{digits}f}\xa0%"
    if 100 - step / 2 <= percent < 100:
        return f">{100 - step:.{digits}f}\xa0%"
    return f"{percent:.{digits}f}\xa0%"


def percentage(value: float, beside: float | None = None) -> str:
    """A share with two digits, or as many as tell it from the one beside it.

    >>> percentage(0.25), percentage(0.250001, beside=0.25)
    ('25.00\\xa0%', '25.0001\\xa0%')
    """
    close = beside is not None and abs(value - beside) > 1e-9
    digits = 2
    while close and digits < 8 and share(value, digits) == share(beside or 0.0, digits):
        digits += 1
    return share(value, digits)


def plain(value: float | None) -> str:
    """A number that may be missing or have no end."""
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"


def table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], *numbers: int, class_: str = "scroll"
) -> Html:
    """A table in a box of its own, which scrolls where it is too wide; some columns hold numbers.

    On a phone each row is a list: every cell names its column, and cells of long words are as wide as the page.
    """
    rows = list(rows)
    long = {i for row in rows for i, cell in enumerate(row) if _letters(cell) > BESIDE}
    kinds = ["number" if i in numbers else "words" if i in long else None for i in range(len(head))]
    heads = (tag("th", name, scope="col", class_=kind) for name, kind in zip(head, kinds, strict=True))
    lines = []
    for first, *others in rows:
        cells = (
            tag("td", cell, class_=_classes(kind, cell), data_head=name or None)
            for name, cell, kind in zip(head[1:], others, kinds[1:], strict=True)
        )
        lines.append(tag("tr", tag("th", first, scope="row"), *cells))
    whole = tag("table", tag("caption", caption), tag("thead", tag("tr", *heads)), tag("tbody", *lines))
    return tag("div", whole, class_=class_, tabindex=0, role="region", aria_label=caption)


def _classes(kind: str | None, cell: str) -> str | None:
    """Of a cell; one with nothing in it says so, and a phone leaves it out."""
    return " ".join(filter(None, (kind, "nothing" if cell in ("", NOTHING) else None))) or None


def _letters(cell: str) -> int:
    """How much text a cell shows."""
    return len(re.sub(r"<[^>]*>", "", cell)) if isinstance(cell, Html) else len(cell)


# pictures ------------------------------------------------------------------------------------------------------


def bars(items: Sequence[tuple[str, float]], axis: str) -> Html:
    """Horizontal bars for shares from 0 to 1, one to a name."""
    left, right, row = _gutter(name for name, _ in items), WIDTH - 50, 21
    short = _short_names(name for name, _ in items)
    marks = []
    for i, (name, value) in enumerate(items):
        y = i * row
        marks.append(
            tag(
                "g",
                tag("title", f"{name}: {share(value)}"),
                _name(short[i], left, y + 14),
                rect(left, y + 4, right - left, 13, "track"),
                rect(left, y + 4, (right - left) * unit(value), 13, "after"),
                text(WIDTH, y + 14, share(value), "end number"),
            )
        )
    height = len(items) * row
    ticks = [text(left, height + 13, "0", "tick"), text(right, height + 13, "100 %", "tick end")]
    return svg(height + 34, axis, *marks, *ticks, text(left, height + 29, axis, "axis"))


def gauge(value: float, limit: float | None) -> Html:
    """One share, and a tick at the most it may be."""
    width = 92
    tick = [line(width * unit(limit), 0, width * unit(limit), 12, "limit")] if limit is not None else []
    bar = [rect(0, 3, width, 6, "track"), rect(0, 3, width * unit(value), 6, "after")]
    label = share(value) + (f", 1/l is {share(limit)}" if limit is not None else "")
    return tag("svg", *bar, *tick, viewBox=f"-1 0 {width + 2} 12", class_="gauge", role="img", aria_label=label)


def paired_bars(
    names: Sequence[str], before: Sequence[float], after: Sequence[float], label: str, *, rest: bool = False
) -> Html:
    """Values by name: an outline for the original, a filled bar inside it for the release.

    Where the last one is the `rest` of all values, it is said in numbers: its bar would dwarf the others.
    """
    left, right, row = _gutter(names), WIDTH - 16, 19
    short = _short_names(names)
    drawn = len(names) - rest
    top = ceiling([*before[:drawn], *after[:drawn]])
    scale = (right - left) / top
    marks = []
    for i, (name, old, new) in enumerate(zip(names, before, after, strict=True)):
        y = i * row
        if i == drawn:
            marks += [_name(short[i], left, y + 13), text(left + 4, y + 13, f"{share(old)} → {share(new)}", "tick")]
            continue
        marks.append(
            tag(
                "g",
                tag("title", f"{name}: before {share(old)}, after {share(new)}"),
                _name(short[i], left, y + 13),
                rect(left, y + 5.5, new * scale, 7, "after"),
                rect(left, y + 2.5, old * scale, 13, "before"),
            )
        )
    height = len(names) * row + 3
    grid = []
    for part in (0.0, 0.5, 1.0):
        x = left + part * (right - left)
        grid += [line(x, 0, x, drawn * row, "grid"), text(x, height + 13, _percent(part * top), "tick middle")]
    foot = [text(left, height + 30, "share of rows", "axis"), _legend(height + 30)]
    return svg(height + 36, label, *grid, *marks, *foot)


def paired_steps(
    edges: Sequence[float], before: Sequence[float], after: Sequence[float], label: str, axis: str
) -> Html:
    """Numbers in bins: a stepped outline for the original, filled bars for the release."""
    left, right, high, low = 44.0, WIDTH - 8.0, 22.0, 132.0
    top = ceiling([*before, *after])
    slot = (right - left) / len(before)
    marks, path = [], [f"M{px(left)} {px(low)}"]
    for i, (old, new) in enumerate(zip(before, after, strict=True)):
        x, y = left + i * slot, low - old / top * (low - high)
        height = new / top * (low - high)
        span = f"{_number(edges[i])} to {_number(edges[i + 1])}"
        title = tag("title", f"{span}: before {share(old)}, after {share(new)}")
        marks.append(tag("g", title, rect(x + 0.75, low - height, slot - 1.5, height, "after")))
        path.append(f"V{px(y)}H{px(x + slot)}")
    outline = tag("path", d="".join([*path, f"V{px(low)}"]), class_="before")
    ticks = []
    for edge, anchor in ((0, "start"), (len(before) // 2, "middle"), (len(before), "end")):
        ticks.append(text(left + edge * slot, low + 14, _number(edges[edge]), f"tick {anchor}"))
    foot = [text(0, 9, "share of rows", "axis"), text(left, low + 31, fit(axis, 24), "axis"), _legend(low + 31)]
    return svg(low + 37, label, *levels(left, right, high, low, top, _percent), *marks, outline, *ticks, *foot)


class Bin(NamedTuple):
    """Groups of these sizes, both ends included."""

    low: int
    high: int
    groups: int

    def __str__(self) -> str:
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,}–{self.high:,}"


def size_bins(sizes: Mapping[int, int]) -> list[Bin]:
    """Group sizes one by one where they are few, else in bins: even ones, or ever wider ones where sizes differ much.

    >>> [str(bin) for bin in size_bins({4: 90, 5: 3})], len(size_bins(dict.fromkeys(range(2, 300), 1))) <= MOST_BINS
    (['4', '5'], True)
    """
    if len(sizes) <= MOST_BINS:
        return [Bin(size, size, sizes[size]) for size in sorted(sizes)]
    low, high = min(sizes), max(sizes)
    if _widens(sizes):
        cuts = [low * ((high + 1) / low) ** (i / MOST_BINS) for i in range(MOST_BINS)]
    else:
        cuts = [low + i * math.ceil((high - low + 1) / MOST_BINS) for i in range(MOST_BINS)]
    starts = sorted({min(high, round(cut)) for cut in cuts})
    ends = [*(start - 1 for start in starts[1:]), high]
    return [
        Bin(first, last, sum(count for size, count in sizes.items() if first <= size <= last))
        for first, last in zip(starts, ends, strict=True)
    ]


def _widens(sizes: Mapping[int, int]) -> bool:
    return len(sizes) > MOST_BINS and max(sizes) > 24 * max(1, min(sizes))


def group_sizes(sizes: Mapping[int, int]) -> Html:
    """How many groups there are of each size."""
    left, right, high, low = 52.0, WIDTH - 8.0, 22.0, 142.0
    bins = size_bins(sizes)
    top = ceiling([float(bin.groups) for bin in bins], whole=True)
    slot = (right - left) / max(1, len(bins))
    bar = min(slot - 2, 44.0)
    every = math.ceil((max(len(str(bin)) for bin in bins) * COLUMN + 6) / slot) if bins else 1
    marks = []
    for i, bin in enumerate(bins):
        middle = left + (i + 0.5) * slot
        height = bin.groups / top * (low - high)
        title = tag("title", f"{bin} rows: {bin.groups:,} groups")
        marks.append(tag("g", title, rect(middle - bar / 2, low - height, bar, height, "after")))
        if len(bins) <= 4:
            marks.append(text(middle, low - height - 4, f"{bin.groups:,}", "middle number"))
        if i % every == 0:
            marks.append(text(middle, low + 14, str(bin), "tick middle"))
    axis = "rows in a group" + (" (bins widen to the right)" if _widens(sizes) else "")
    foot = [text(left, low + 31, axis, "axis"), text(0, 9, "groups", "axis")]
    grid = levels(left, right, high, low, top, lambda value: f"{value:,.0f}")
    return svg(low + 37, "How many groups there are of each size", *grid, *marks, *foot)


# parts of a picture --------------------------------------------------------------------------------------------


def svg(height: float, label: str, *parts: str) -> Html:
    """A picture of the usual width."""
    return tag("svg", *parts, viewBox=f"0 0 {WIDTH} {px(height)}", class_="chart", role="img", aria_label=label)


def levels(left: float, right: float, high: float, low: float, top: float, say: _Say) -> list[Html]:
    """Horizontal lines at nothing, half and all of the axis, with what they stand for."""
    lines = []
    for part in (0.0, 0.5, 1.0):
        y = low - part * (low - high)
        lines += [line(left, y, right, y, "grid"), text(left - 6, y + 4, say(part * top), "tick end")]
    return lines


def _legend(y: float) -> Html:
    x = WIDTH - 92
    before = [rect(x, y - 8, 10, 8, "before"), text(x + 14, y, "before", "axis")]
    after = [rect(x + 54, y - 8, 10, 8, "after"), text(x + 68, y, "after", "axis")]
    return tag("g", *before, *after)


def _gutter(names: Iterable[str]) -> float:
    """Where bars begin: right of the longest name, or of as much of it as there is room for."""
    return 8 + min(LABELS, COLUMN * max((sum(map(_columns, _one_line(name))) for name in names), default=0))


def _short_names(names: Iterable[str]) -> list[str]:
    return fit_apart(names, int(LABELS / COLUMN))


def _name(short: str, left: float, y: float) -> Html:
    return text(left - 8, y, short, "end")


def text(x: float, y: float, words: str, class_: str) -> Html:
    """Words in a picture; the class says where they end."""
    return tag("text", words, x=px(x), y=px(y), class_=class_)


def rect(x: float, y: float, width: float, height: float, class_: str) -> Html:
    """A box; one of less than nothing is of nothing."""
    size = {"width": px(max(0.0, width)), "height": px(max(0.0, height))}
    return tag("rect", x=px(x), y=px(y), class_=class_, **size)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Html:
    """A line from one point to another."""
    return tag("line", x1=px(x1), y1=px(y1), x2=px(x2), y2=px(y2), class_=class_)


def px(value: float) -> str:
    """Pixels, to a tenth."""
    return f"{value:.1f}".removesuffix(".0")


def unit(value: float) -> float:
    """A share, between 0 and 1."""
    return min(1.0, max(0.0, value))


def ceiling(values: Sequence[float], *, whole: bool = False) -> float:
    """The end of an axis: the next round number at or above every value.

    >>> ceiling([0.13, 0.31]), ceiling([0.0]), ceiling([3.0], whole=True)
    (0.4, 1.0, 4.0)

    Half of it is labeled too, so counts end at an even number.
    """
    most = max([value for value in values if math.isfinite(value)], default=0.0)
    if most <= 0:
        return 2.0 if whole else 1.0
    power = 10.0 ** math.floor(math.log10(most))
    parts = (1, 2, 4, 6, 8) if whole else (1, 1.2, 1.6, 2, 3, 4, 6, 8)
    top = next((part * power for part in parts if part * power >= most * (1 - 1e-9)), 10 * power)
    return max(top, 2.0) if whole else round(top, 12)


def _percent(value: float) -> str:
    return f"{100 * value:.3g}\xa0%" if value else "0"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
