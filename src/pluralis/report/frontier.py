"""The picture of a comparison: what can still be guessed against what is lost, a panel for each measure.

Every mark is one trial. A method has a shape and a colour of its own, so that it is told apart without colour too; the
number beside a mark is its l. Filled: every promise that it was asked for is kept. A dark line joins the frontier,
and a ring marks the trial to take. Left and down is better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from pluralis.comparison.comparing import Comparison, Target
from pluralis.comparison.trials import Measured, Trial
from pluralis.report.charts import Html, fit, tag
from pluralis.report.drawing import (
    DIM,
    GRID,
    INK,
    PAPER,
    SANS,
    Axis,
    colour_of,
    loss_axis,
    px,
    round_steps,
    shape,
    text,
)

PANEL, HIGH = 640, 360  # pixels of a panel: the width and height of where marks are
LEFT, RIGHT, TOP, BOTTOM = 74, 26, 54, 66  # around it
SIZE = 6  # of a mark, from its middle
LEGEND = 232
HEAD = 92
FAR = 10  # an axis is logarithmic where the largest value is so many times the smallest


class Mark(NamedTuple):
    """One trial in a panel."""

    trial: Trial
    measured: Measured
    x: float
    y: float


class Measure(NamedTuple):
    """A panel: what is drawn upwards, and how its numbers are written."""

    title: str
    unit: str
    value: Callable[[Measured], float | None]
    target: Target | None
    say: Callable[[float], str]


MEASURES = (
    Measure("Error of counts", "median relative error", lambda m: m.error, "error", lambda v: f"{100 * v:.3g} %"),
    Measure("KL divergence", "nats", lambda m: m.kl, "kl", lambda v: f"{v:.3g}"),
    Measure("Information loss", "NCP, 0 to 1", lambda m: m.ncp, "ncp", lambda v: f"{v:.2g}"),
    Measure("Time to publish", "seconds on one core", lambda m: max(m.seconds, 1e-3), None, lambda v: f"{v:g} s"),
)


def frontier_svg(comparison: Comparison) -> Html:
    """The whole picture."""
    drawn = [(trial, measured) for trial, measured in comparison.made if measured.guess]
    methods = list(dict.fromkeys(trial.method for trial, _ in drawn))
    panels = [measure for measure in MEASURES if any(measure.value(measured) is not None for _, measured in drawn)]
    across = min(2, max(1, len(panels)))
    wide, tall = LEFT + PANEL + RIGHT, TOP + HIGH + BOTTOM
    width = across * wide + LEGEND
    height = HEAD + max(1, math.ceil(len(panels) / across)) * tall
    several = len(comparison.policy.sensitive) > 1
    words = "Each mark is one trial; marks side by side share one place. Left and down is better."
    parts = [
        tag("rect", x=0, y=0, width=width, height=height, fill=PAPER),
        text(LEFT, 38, "What can still be guessed, and what is lost", 22, weight="bold"),
        text(LEFT, 64, f"{comparison.rows:,} rows. {words}", 14, fill=DIM),
    ]
    if drawn:
        x_axis = guess_axis([measured.guess or 1.0 for _, measured in drawn])
        for i, measure in enumerate(panels):
            place = f"translate({(i % across) * wide + LEFT} {HEAD + (i // across) * tall + TOP})"
            parts.append(tag("g", *_panel(comparison, measure, drawn, methods, x_axis, several), transform=place))
    parts.append(tag("g", *_legend(methods, comparison), transform=f"translate({across * wide + 8} {HEAD + TOP - 6})"))
    said = "Methods compared: what can be guessed against what is lost"
    size = {"width": width, "height": height, "viewBox": f"0 0 {width} {height}"}
    return tag("svg", *parts, xmlns="http://www.w3.org/2000/svg", font_family=SANS, role="img", aria_label=said, **size)


# axes --------------------------------------------------------------------------------------------------------------


def guess_axis(guesses: Sequence[float]) -> Axis:
    """The axis of guesses: even in their logarithm, marked at 1/2, 1/3, … where there are enough of those.

    >>> [round(tick, 3) for tick in guess_axis([0.5, 0.25, 0.2]).ticks]
    [0.5, 0.333, 0.25, 0.2]
    """
    low, high = min(guesses), max(guesses)
    low, high = (low / 1.25, high * 1.25) if high / low < 1.2 else (low / 1.12, high * 1.12)
    ticks: list[float] = []
    for k in range(1, 1000):
        near = ticks and math.log(ticks[-1] * k) / math.log(high / low) < 0.07  # no room for its label
        if low <= 1 / k <= high and not near:
            ticks.append(1 / k)
    if len(ticks) < 3:
        ticks = [tick for tick in round_steps(low, high) if low <= tick <= high]
    return Axis(low, high, True, tuple(ticks))


# a panel -----------------------------------------------------------------------------------------------------------


def _panel(
    comparison: Comparison,
    measure: Measure,
    drawn: Sequence[tuple[Trial, Measured]],
    methods: Sequence[str],
    x_axis: Axis,
    several: bool,
) -> Iterator[Html]:
    values = [(trial, measured, value) for trial, measured in drawn if (value := measure.value(measured)) is not None]
    losses = [value for _, _, value in values]
    y_axis = loss_axis(losses, log=measure.target is None or max(losses) > FAR * min(losses) > 0)
    marks = spread(
        [
            Mark(trial, measured, x_axis.place(measured.guess or 1.0) * PANEL, HIGH * (1 - y_axis.place(value)))
            for trial, measured, value in values
        ]
    )
    decides = " (decides)" if measure.target == comparison.target else ""
    yield text(0, -30, measure.title + decides, 16, weight="bold")
    yield text(0, -12, measure.unit, 13, fill=DIM)
    yield from _grid(x_axis, y_axis, measure.say, several)
    best = comparison.frontier_by(measure.target) if measure.target else []
    front = [mark for trial in best for mark in marks if mark.trial is trial]
    yield from _steps(front)
    for method in methods:
        own = [mark for mark in marks if mark.trial.method == method]
        colour = colour_of(methods.index(method))
        for one, other in pairwise(own):
            line = {"x1": px(one.x), "y1": px(one.y), "x2": px(other.x), "y2": px(other.y)}
            yield tag("line", stroke=colour, stroke_width=1.2, stroke_opacity=0.45, **line)
    for mark in marks:
        if mark.trial is comparison.taken:
            ring = {"cx": px(mark.x), "cy": px(mark.y), "r": 14}
            yield tag("circle", fill="none", stroke=INK, stroke_width=2.5, **ring)
    for mark in marks:
        number = methods.index(mark.trial.method)
        drawing = shape(number, mark.x, mark.y, SIZE, filled=mark.measured.keeps)
        yield tag("g", tag("title", _told(mark, measure)), drawing)
    yield from _labels(marks, front, comparison.taken)


def spread(marks: Sequence[Mark]) -> list[Mark]:
    """Marks side by side where they would cover each other, as far apart as those beside them allow.

    Of those of one method that are the same, only the last, which promises most.
    """
    marks = list({(mark.trial.method, round(mark.x), round(mark.y)): mark for mark in marks}.values())
    found = list(marks)
    left = sorted(range(len(marks)), key=lambda i: (round(marks[i].x), marks[i].y))
    while left:
        together = [left.pop(0)]
        while left and round(marks[left[0]].x) - round(marks[together[0]].x) <= 2:
            if marks[left[0]].y - marks[together[-1]].y > SIZE * 1.8:
                break
            together.append(left.pop(0))
        x, high, low = marks[together[0]].x, marks[together[0]].y - 2 * SIZE, marks[together[-1]].y + 2 * SIZE
        beside = [abs(mark.x - x) for mark in marks if high < mark.y < low and abs(mark.x - x) > 2 * SIZE]
        step = min(2 * SIZE, 0.85 * min(beside, default=PANEL / 4) / len(together))
        for place, i in enumerate(sorted(together)):
            found[i] = marks[i]._replace(x=marks[i].x + (place - (len(together) - 1) / 2) * step)
    return found


def _told(mark: Mark, measure: Measure) -> str:
    value = measure.value(mark.measured)
    said = "" if value is None else f", {measure.title.lower()} {measure.say(value)}"
    return f"{mark.trial.name}: guess {mark.measured.guess or 0:.1%}{said}"


def _grid(x_axis: Axis, y_axis: Axis, say: Callable[[float], str], several: bool) -> Iterator[Html]:
    for tick in y_axis.ticks:
        y = HIGH * (1 - y_axis.place(tick))
        yield tag("line", x1=0, y1=px(y), x2=PANEL, y2=px(y), stroke=GRID)
        yield text(-10, y + 4.5, say(tick), 13, fill=DIM, anchor="end")
    for tick in x_axis.ticks:
        x = x_axis.place(tick) * PANEL
        k = 1 / tick
        yield tag("line", x1=px(x), y1=0, x2=px(x), y2=HIGH, stroke=GRID)
        whole = abs(k - round(k)) < 1e-6 and k > 1.5
        yield text(x, HIGH + 20, f"1/{round(k)}" if whole else f"{100 * tick:.3g} %", 13, fill=DIM, anchor="middle")
    yield tag("line", x1=0, y1=HIGH, x2=PANEL, y2=HIGH, stroke=DIM)
    said = "worst guess of a secret, mean over attributes" if several else "worst guess of a secret (probability)"
    yield text(PANEL, HIGH + 44, said, 13, fill=DIM, anchor="end")
    yield text(0, HIGH + 44, "← more private", 13, fill=DIM)


def _steps(front: Sequence[Mark]) -> Iterator[Html]:
    """The frontier: beyond a mark, nothing is better until the next."""
    if len(front) < 2:
        return
    path = f"M{px(front[0].x)} {px(front[0].y)}"
    path += "".join(f"H{px(mark.x)}V{px(mark.y)}" for mark in front[1:])
    yield tag("path", d=path, fill="none", stroke=INK, stroke_width=2.5, stroke_opacity=0.55)


def _labels(marks: Sequence[Mark], front: Sequence[Mark], taken: Trial | None) -> Iterator[Html]:
    """The l of marks, where there is room: of the one to take, of the frontier, and where the line of a method ends."""
    ends = {id(mark): mark for mark in marks if mark.trial.l is not None}
    for one, mark, other in zip([None, *marks], marks, [*marks[1:], None], strict=False):
        if one and other and one.trial.method == mark.trial.method == other.trial.method:
            ends.pop(id(mark), None)
    full = [(mark.x - 7, mark.y - 7, mark.x + 7, mark.y + 7) for mark in marks]
    chosen = [mark for mark in marks if mark.trial is taken]
    rest = [mark for mark in ends.values() if mark not in front and mark not in chosen]
    for mark in (*chosen, *(mark for mark in front if mark not in chosen), *rest):
        if mark.trial.l is None:
            continue
        said = str(mark.trial.l)
        wide = 8 * len(said)
        away = 15 if mark in chosen else 9
        for x, y in ((mark.x + away, mark.y + 4), (mark.x - away - wide, mark.y + 4), (mark.x - 4, mark.y - away - 1)):
            box = (x, y - 10, x + wide, y)
            if box[1] > 0 and box[2] < PANEL + RIGHT and not any(_meet(box, other) for other in full):
                full.append(box)
                yield text(x, y, said, 12, fill=INK if mark in front or mark in chosen else DIM)
                break


def _meet(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _legend(methods: Sequence[str], comparison: Comparison) -> Iterator[Html]:
    yield text(0, 0, "Methods", 14, weight="bold")
    y = 26.0
    for number, method in enumerate(methods):
        yield shape(number, 9, y - 5, 6.5, filled=True)
        yield text(26, y, fit(method, 24), 14)
        y += 25
    y += 16
    yield text(0, y, "Marks", 14, weight="bold")
    y += 26
    if comparison.taken is not None and comparison.taken.method in methods:
        number = methods.index(comparison.taken.method)
        yield tag("circle", cx=11, cy=px(y - 5), r=11, fill="none", stroke=INK, stroke_width=2.5)
        yield shape(number, 11, y - 5, 5, filled=True)
        yield text(32, y, "take this one", 14)
        y += 28
    yield tag("path", d=f"M0 {px(y - 9)}h12v9h12", fill="none", stroke=INK, stroke_width=2.5, stroke_opacity=0.55)
    yield text(32, y, "frontier: none is better", 14)
    y += 26
    if any(trial.l is not None for trial, _ in comparison.made):
        yield text(6, y, "4", 13)
        yield text(32, y, "the l asked for", 14)
        y += 26
    if any(measured.guess and not measured.keeps for _, measured in comparison.made):
        yield shape(0, 11, y - 5, 6.5, filled=False)
        yield text(32, y, "a promise is not kept", 14)
