"""What pictures are drawn with: axes, marks, letters, and PNG beside SVG.

Every series has a shape and a color of its own, so that it is told apart without color too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from pluralis.errors import OutputError, optional
from pluralis.report.charts import Html, tag

INK, DIM, GRID, PAPER = "#1d2327", "#5b6469", "#e3e1db", "#ffffff"
SANS = "'DejaVu Sans', Verdana, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif"
# Okabe and Ito's colors, which people with other color vision tell apart; yellow is left out, too faint on paper
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#6a51a3", "#8c6d1f", "#56b4e9")

# the same on a page, in its light and dark scheme: as legible as its text
ON_LIGHT = ("#0069a6", "#b34700", "#007a58", "#b0417f", "#6a51a3", "#7d611b", "#1b7596")
ON_DARK = ("#5aa9e6", "#ff9d52", "#3cc79c", "#e79cc4", "#b3a2e8", "#d1b054", "#7fd0f0")


def colors_of_page(scope: str) -> str:
    """Rules of a style sheet by which pictures inside a page take its colors, light and dark."""
    page = {INK: "--ink", DIM: "--muted", GRID: "--line", PAPER: "--paper"}
    page |= {color: f"--series-{i}" for i, color in enumerate(COLORS)}
    light, dark = (
        "".join(f"--series-{i}: {color}; " for i, color in enumerate(colors)) for colors in (ON_LIGHT, ON_DARK)
    )
    rules = [f":root {{ {light}}}", f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark}}} }}"]
    for color, name in page.items():
        for part in ("fill", "stroke"):
            rules.append(f'{scope} [{part}="{color}"] {{ {part}: var({name}); }}')
    return "\n".join(rules) + "\n"


class Axis(NamedTuple):
    """Where a number lies between 0 and 1, and which numbers to write."""

    low: float
    high: float
    log: bool
    ticks: tuple[float, ...]

    def place(self, value: float) -> float:
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def loss_axis(values: Sequence[float], *, log: bool) -> Axis:
    """The axis of a measure: from 0 to a round number, or in powers of ten and their thirds.

    >>> loss_axis([0.02, 0.31], log=False).ticks
    (0.0, 0.1, 0.2, 0.3, 0.4)
    >>> loss_axis([0.2, 4.0], log=True).ticks
    (0.1, 0.3, 1.0, 3.0, 10.0)
    """
    if log:
        steps = [part * 10.0**power for power in range(-12, 13) for part in (1, 3)]
        low = max((step for step in steps if step <= min(values)), default=steps[0])
        high = min((step for step in steps if step >= max(values) and step > low), default=steps[-1])
        ticks = [float(f"{step:.1g}") for step in steps if low <= step <= high]
        return Axis(low, high, True, tuple(ticks))
    ticks = round_steps(0.0, max(values) or 1.0)
    return Axis(0.0, ticks[-1], False, tuple(ticks))


def round_steps(low: float, high: float) -> list[float]:
    """About five round numbers; the last is at or above `high`."""
    rough = (high - low) / 4 or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(part * power for part in (1, 2, 2.5, 5, 10) if part * power >= rough * 0.999)
    first, last = math.floor(low / step), math.ceil(high / step - 1e-9)
    return [round(i * step, 10) for i in range(first, last + 1)]


def png(svg: str, zoom: int = 2) -> bytes:
    """A picture as PNG, its letters in a font of the system."""
    svg_to_bytes = optional("resvg_py", "A picture as PNG", "publish").svg_to_bytes
    letter, blank = (_LETTER.format(letter=letter) for letter in "x ")
    if bytes(svg_to_bytes(svg_string=letter)) == bytes(svg_to_bytes(svg_string=blank)):
        raise OutputError("No font was found to draw letters with. Install one (on Debian: fonts-dejavu-core).")
    return bytes(svg_to_bytes(svg_string=svg, zoom=zoom))


_LETTER = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">'
    f'<text x="2" y="18" font-family="{SANS}" font-size="16">{{letter}}</text></svg>'
)


Corners = tuple[tuple[float, float], ...]


def _around(corners: int, far: float, near: float | None = None) -> Corners:
    """Corners in a circle, the first on top; every other one `near`."""
    reach = (far, far if near is None else near)
    turns = [2 * math.pi * i / corners for i in range(corners)]
    return tuple((reach[i % 2] * math.sin(turn), -reach[i % 2] * math.cos(turn)) for i, turn in enumerate(turns))


_CROSS = ((-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4), (1.2, 0.4), (0.4, 0.4), (0.4, 1.2), (-0.4, 1.2))
_CORNERS: tuple[Corners, ...] = (
    (),  # a disc
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0, -1.2), (1.1, 0.8), (-1.1, 0.8)),
    ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    ((0, 1.2), (1.1, -0.8), (-1.1, -0.8)),
    (*_CROSS, (-0.4, 0.4), (-1.2, 0.4), (-1.2, -0.4), (-0.4, -0.4)),
    _around(10, 1.4, 0.6),
    ((-1.2, 0), (0.8, -1.1), (0.8, 1.1)),
    ((1.2, 0), (-0.8, -1.1), (-0.8, 1.1)),
    _around(6, 1.15),
    ((-1.1, -1.1), (1.1, -1.1), (-1.1, 1.1), (1.1, 1.1)),
    ((-1.3, -0.5), (1.3, -0.5), (1.3, 0.5), (-1.3, 0.5)),
    ((-0.5, -1.3), (0.5, -1.3), (0.5, 1.3), (-0.5, 1.3)),
    ((-1.2, -1.2), (0, -0.3), (1.2, -1.2), (1.2, 0.2), (0, 1.2), (-1.2, 0.2)),
    ((-1.1, -1.1), (-1.1, 1.1), (1.1, -1.1), (1.1, 1.1)),
)


def shape(number: int, x: float, y: float, size: float, *, filled: bool) -> Html:
    color = color_of(number)
    ink = {"fill": color, "stroke": PAPER, "stroke_width": 1}
    if not filled:
        ink = {"fill": PAPER, "stroke": color, "stroke_width": 2}
    corners = _CORNERS[number % len(_CORNERS)]
    if not corners:
        return tag("circle", cx=px(x), cy=px(y), r=size, **ink)
    return tag("polygon", points=" ".join(f"{px(x + size * a)},{px(y + size * b)}" for a, b in corners), **ink)


def color_of(number: int) -> str:
    return COLORS[number % len(COLORS)]


def text(x: float, y: float, words: str, size: int, *, fill: str = INK, anchor: str | None = None,
          weight: str | None = None) -> Html:  # fmt: skip
    place = {"x": px(x), "y": px(y), "font_size": size}
    return tag("text", words, fill=fill, text_anchor=anchor, font_weight=weight, **place)


def px(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
