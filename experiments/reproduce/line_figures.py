"""Figures with lines, as papers print them: one measure against one setting, a line for each method, in panels.

A line has a color, a shape and a dash of its own, so that it is told apart without color. What a paper printed is
drawn in hollow marks and dotted lines beside what was measured, which is filled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from pluralis.report.charts import Html, fit, tag
from pluralis.report.drawing import (
    DIM,
    GRID,
    INK,
    PAPER,
    SANS,
    Axis,
    color_of,
    loss_axis,
    px,
    round_steps,
    shape,
    text,
)

WIDE, HIGH = 400, 260  # pixels of a panel: where marks are
LEFT, RIGHT, TOP, BOTTOM = 78, 22, 44, 62  # around it
HEAD, LINE, MARK = 46, 26, 5
DASHES = (None, "7 4", "2 3", "10 3 2 3", "4 2", "12 4", "1 4")
FAR = 30  # an axis is logarithmic where the largest value is so many times the smallest


class Line(NamedTuple):
    """A series. `number` decides its color and shape: the same method has the same in every figure."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    number: int
    printed: bool = False  # the paper's own numbers


class Panel(NamedTuple):
    """One diagram. `log` is decided by the values where it is not given, and leaves out what is not above 0; `low` is
    where an even axis starts.
    """

    title: str
    x: str
    y: str
    lines: Sequence[Line]
    log: bool | None = None
    log_x: bool = False
    low: float | None = 0.0


def lines_svg(title: str, panels: Sequence[Panel], *, across: int = 2) -> Html:
    """A figure: panels side by side, and below them what each line is."""
    across = min(across, len(panels))
    wide, tall = LEFT + WIDE + RIGHT, TOP + HIGH + BOTTOM
    legend = list({(line.label, line.printed): line for panel in panels for line in panel.lines}.values())
    columns = max(1, across * wide // 230)
    rows = math.ceil(len(legend) / columns)
    width = across * wide
    under = HEAD + math.ceil(len(panels) / across) * tall
    height = under + rows * LINE + 18
    parts = [
        tag("rect", x=0, y=0, width=width, height=height, fill=PAPER),
        text(18, 30, fit(title, width // 9), 17, weight="bold"),
    ]
    for i, panel in enumerate(panels):
        place = f"translate({(i % across) * wide + LEFT} {HEAD + (i // across) * tall + TOP})"
        parts.append(tag("g", *_panel(panel), transform=place))
    for i, line in enumerate(legend):
        place = f"translate({LEFT + (i % columns) * (width - LEFT) // columns} {under + (i // columns) * LINE + 12})"
        parts.append(tag("g", *_key(line), transform=place))
    size = {"width": width, "height": height, "viewBox": f"0 0 {width} {height}"}
    return tag(
        "svg", *parts, xmlns="http://www.w3.org/2000/svg", font_family=SANS, role="img", aria_label=title, **size
    )


def _panel(panel: Panel) -> Iterator[Html]:
    points = [(x, y) for line in panel.lines for x, y in zip(line.x, line.y, strict=True) if math.isfinite(y)]
    yield text(0, -20, panel.title, 14, weight="bold")
    yield text(0, -4, panel.y, 12, fill=DIM)
    if not points:
        yield text(WIDE / 2, HIGH / 2, "nothing to show", 13, fill=DIM, anchor="middle")
        return
    xs, ys = zip(*points, strict=True)
    positive = [y for y in ys if y > 0]
    log = bool(positive) and (panel.log if panel.log is not None else max(ys) > FAR * min(ys) > 0)
    y_axis = loss_axis(positive, log=True) if log else _axis(ys, low=panel.low)
    x_axis = loss_axis(xs, log=True) if panel.log_x else _settings(xs)
    yield from _grid(panel, x_axis, y_axis)
    for line in panel.lines:
        kept = [(x, y) for x, y in zip(line.x, line.y, strict=True) if math.isfinite(y) and (y > 0 or not y_axis.log)]
        places = [(x_axis.place(x) * WIDE, HIGH * (1 - y_axis.place(y))) for x, y in kept]
        yield from _strokes(line, places)
        for (x, y), (left, top) in zip(kept, places, strict=True):
            title = tag("title", f"{line.label}: {panel.y} {y:.4g} at {panel.x} {x:g}")
            yield tag("g", title, shape(line.number, left, top, MARK, filled=not line.printed))


def _axis(values: Sequence[float], *, low: float | None) -> Axis:
    if low == 0.0 and min(values) >= 0:
        return loss_axis(values, log=False)
    ticks = round_steps(min(values) if low is None else min(low, *values), max(values) + 1e-12)
    return Axis(ticks[0], ticks[-1], False, tuple(ticks))


def _settings(values: Sequence[float]) -> Axis:
    """The axis of a setting: ticks at its values where they are few, else at round numbers.

    >>> _settings([2, 3, 4, 3]).ticks
    (2, 3, 4)
    """
    different = sorted(set(values))
    low, high = different[0], different[-1]
    room = 0.04 * ((high - low) or 1.0)
    near = any(b - a < (high - low) / 16 for a, b in pairwise(different))
    ticks = [tick for tick in round_steps(low, high) if low <= tick <= high] if near else different
    return Axis(low - room, high + room, False, tuple(ticks))


def _grid(panel: Panel, x_axis: Axis, y_axis: Axis) -> Iterator[Html]:
    for tick in y_axis.ticks:
        y = HIGH * (1 - y_axis.place(tick))
        yield tag("line", x1=0, y1=px(y), x2=WIDE, y2=px(y), stroke=GRID)
        yield text(-9, y + 4.5, number(tick), 12, fill=DIM, anchor="end")
    for tick in x_axis.ticks:
        x = x_axis.place(tick) * WIDE
        yield tag("line", x1=px(x), y1=HIGH, x2=px(x), y2=HIGH + 5, stroke=DIM)
        yield text(x, HIGH + 20, number(tick), 12, fill=DIM, anchor="middle")
    yield tag("line", x1=0, y1=HIGH, x2=WIDE, y2=HIGH, stroke=DIM)
    yield text(WIDE / 2, HIGH + 42, panel.x, 13, fill=INK, anchor="middle")


def number(value: float) -> str:
    """A number as an axis says it.

    >>> number(0.25), number(30000), number(2_000_000), number(0.0001)
    ('0.25', '30,000', '2M', '0.0001')
    """
    if abs(value) >= 1_000_000:
        return f"{value / 1_000_000:g}M"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def _strokes(line: Line, places: Sequence[tuple[float, float]]) -> Iterator[Html]:
    if len(places) < 2:
        return
    path = "M" + "L".join(f"{px(x)} {px(y)}" for x, y in places)
    yield tag("path", d=path, fill="none", stroke=color_of(line.number), **_stroke(line))


def _stroke(line: Line) -> dict[str, object]:
    dash = "1.5 4" if line.printed else DASHES[line.number % len(DASHES)]
    return {"stroke_width": 1.6 if line.printed else 2, "stroke_dasharray": dash}


def _key(line: Line) -> Iterator[Html]:
    yield tag("path", d="M0 0h34", fill="none", stroke=color_of(line.number), **_stroke(line))
    yield shape(line.number, 17, 0, MARK, filled=not line.printed)
    yield text(42, 4.5, f"{line.label} (printed)" if line.printed else line.label, 13)
