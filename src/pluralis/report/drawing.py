"""What pictures are drawn with: axes, marks, letters, and PNG beside SVG.

Every series has a shape and a colour of its own, so that it is told apart without colour too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from pluralis.errors import OutputError
from pluralis.report.charts import Html, tag

INK, DIM, GRID, PAPER = "#1d2327", "#5b6469", "#e3e1db", "#ffffff"
SANS = "'DejaVu Sans', Verdana, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif"
# Okabe and Ito's colours, which people with other colour vision tell apart; yellow is left out, too faint on paper
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#6a51a3", "#8c6d1f", "#56b4e9")


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
    from resvg_py import svg_to_bytes

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
    colour = colour_of(number)
    ink = {"fill": colour, "stroke": PAPER, "stroke_width": 1}
    if not filled:
        ink = {"fill": PAPER, "stroke": colour, "stroke_width": 2}
    corners = _CORNERS[number % len(_CORNERS)]
    if not corners:
        return tag("circle", cx=px(x), cy=px(y), r=size, **ink)
    return tag("polygon", points=" ".join(f"{px(x + size * a)},{px(y + size * b)}" for a, b in corners), **ink)


def colour_of(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def text(x: float, y: float, said: str, size: int, *, fill: str = INK, anchor: str | None = None,
          weight: str | None = None) -> Html:  # fmt: skip
    place = {"x": px(x), "y": px(y), "font_size": size}
    return tag("text", said, fill=fill, text_anchor=anchor, font_weight=weight, **place)


def px(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
