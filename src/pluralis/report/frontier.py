"""The picture of a comparison: what can still be guessed against what is lost, a panel for each measure.

Every mark is one trial. A method has a shape and a color of its own, so that it is told apart without color too; the
number beside a mark is its l. Filled: every promise that it was asked for is kept. A dark line joins the frontier,
and a ring marks the trial to take. Left and down is better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from pluralis.comparison.frontier import Comparison
from pluralis.comparison.trials import Measured, Target, Trial
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

LEFT, RIGHT, TOP, BOTTOM = 74, 26, 54, 66  # around it
SIZE = 6  # of a mark, from its middle
LEGEND = 232
HEAD = 92
FAR = 10  # an axis is logarithmic where the largest value is so many times the smallest


class Area(NamedTuple):
    """Where the marks of a panel are, in pixels, and how far apart the numbers below it are, as a share of it."""

    wide: int
    high: int
    apart: float


PICTURE = Area(640, 360, 0.07)  # of the picture that stands alone
PAGE = Area(300, 210, 0.13)  # of a panel in the page, whose text is then as large as the text around it


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
    drawn, methods, panels = _drawn(comparison)
    across = min(2, max(1, len(panels)))
    wide, tall = LEFT + PICTURE.wide + RIGHT, TOP + PICTURE.high + BOTTOM
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
        x_axis = guess_axis([measured.guess or 1.0 for _, measured in drawn], PICTURE.apart)
        for i, measure in enumerate(panels):
            place = f"translate({(i % across) * wide + LEFT} {HEAD + (i // across) * tall + TOP})"
            decides = " (decides)" if measure.target == comparison.target else ""
            titles = [
                text(0, -30, measure.title + decides, 16, weight="bold"),
                text(0, -12, measure.unit, 13, fill=DIM),
            ]
            axis = "worst guess of a sensitive value" + (", mean over attributes" if several else " (probability)")
            titles.append(text(PICTURE.wide, PICTURE.high + 44, axis, 13, fill=DIM, anchor="end"))
            marks = _panel(comparison, measure, drawn, methods, x_axis, PICTURE)
            parts.append(tag("g", *titles, *marks, transform=place))
    parts.append(tag("g", *_legend(methods, comparison), transform=f"translate({across * wide + 8} {HEAD + TOP - 6})"))
    label = "Methods compared: what can be guessed against what is lost"
    size = {"width": width, "height": height, "viewBox": f"0 0 {width} {height}"}
    xmlns = "http://www.w3.org/2000/svg"
    return tag("svg", *parts, xmlns=xmlns, font_family=SANS, role="img", aria_label=label, **size)


def frontier_figures(comparison: Comparison) -> list[Html]:
    """The panels one by one, each in a figure under its title, and then what the marks mean: as a page shows them."""
    drawn, methods, panels = _drawn(comparison)
    if not drawn:
        return []
    x_axis = guess_axis([measured.guess or 1.0 for _, measured in drawn], PAGE.apart)
    figures = []
    for measure in panels:
        decides = [tag("i", "decides")] if measure.target == comparison.target else []
        caption = tag("figcaption", tag("b", measure.title), *decides, tag("span", measure.unit))
        marks = _panel(comparison, measure, drawn, methods, x_axis, PAGE)
        foot = text(PAGE.wide, PAGE.high + 40, "worst guess →", 13, fill=DIM, anchor="end")
        inner = tag("g", *marks, foot, transform=f"translate({LEFT - 14} 14)")
        box = f"0 0 {LEFT - 14 + PAGE.wide + RIGHT} {14 + PAGE.high + 50}"
        label = f"{measure.title} against what can be guessed"
        figures.append(tag("figure", caption, tag("svg", inner, viewBox=box, role="img", aria_label=label)))
    return [
        tag("div", *figures, class_="frontier"),
        tag("ul", *_keys(methods, comparison), class_="legend frontier-keys"),
    ]


def _drawn(comparison: Comparison) -> tuple[list[tuple[Trial, Measured]], list[str], list[Measure]]:
    """The trials that a guess was measured for, their methods, and the panels that have a mark."""
    drawn = [(trial, measured) for trial, measured in comparison.made if measured.guess]
    methods = list(dict.fromkeys(trial.method for trial, _ in drawn))
    return drawn, methods, [one for one in MEASURES if any(one.value(measured) is not None for _, measured in drawn)]


def _keys(methods: Sequence[str], comparison: Comparison) -> Iterator[Html]:
    """What the marks mean, each beside its mark."""

    def key(words: str, *marks: Html) -> Html:
        drawn = tag(
            "svg", tag("g", *marks, transform="translate(12 8)"), viewBox="0 0 24 16", class_="key", aria_hidden="true"
        )
        return tag("li", drawn, tag("span", words))

    for number, method in enumerate(methods):
        yield key(method, shape(number, 0, 0, SIZE, filled=True))
    if comparison.taken is not None and comparison.taken.method in methods:
        ring = tag("circle", cx=0, cy=0, r=7, fill="none", stroke=INK, stroke_width=2)
        yield key("take this one", ring, shape(methods.index(comparison.taken.method), 0, 0, 3.5, filled=True))
    yield key("frontier: none is better", tag("path", d="M-11 -5h11v10h11", fill="none", stroke=INK, stroke_width=2))
    if any(trial.l is not None for trial, _ in comparison.made):
        yield key("the l asked for", text(0, 5, "4", 13, anchor="middle"))
    if any(measured.guess and not measured.keeps for _, measured in comparison.made):
        yield key("hollow: a promise is not kept", shape(0, 0, 0, SIZE, filled=False))


# axes --------------------------------------------------------------------------------------------------------------


def guess_axis(guesses: Sequence[float], apart: float = PICTURE.apart) -> Axis:
    """The axis of guesses: even in their logarithm, marked at 1/2, 1/3, … `apart`, where there are enough of those.

    >>> [round(tick, 3) for tick in guess_axis([0.5, 0.25, 0.2]).ticks]
    [0.5, 0.333, 0.25, 0.2]
    """
    low, high = min(guesses), max(guesses)
    low, high = (low / 1.25, high * 1.25) if high / low < 1.2 else (low / 1.12, high * 1.12)
    ticks: list[float] = []
    for k in range(1, 1000):
        near = ticks and math.log(ticks[-1] * k) / math.log(high / low) < apart  # no room for its label
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
    area: Area,
) -> Iterator[Html]:
    values = [(trial, measured, value) for trial, measured in drawn if (value := measure.value(measured)) is not None]
    losses = [value for _, _, value in values]
    y_axis = loss_axis(losses, log=measure.target is None or max(losses) > FAR * min(losses) > 0)
    marks = spread(
        [
            Mark(
                trial,
                measured,
                x_axis.place(measured.guess or 1.0) * area.wide,
                area.high * (1 - y_axis.place(value)),
            )
            for trial, measured, value in values
        ],
        area,
    )
    yield from _grid(x_axis, y_axis, measure.say, area)
    best = comparison.frontier_by(measure.target) if measure.target else []
    front = [mark for trial in best for mark in marks if mark.trial is trial]
    yield from _steps(front)
    for method in methods:
        own = [mark for mark in marks if mark.trial.method == method]
        color = color_of(methods.index(method))
        for one, other in pairwise(own):
            line = {"x1": px(one.x), "y1": px(one.y), "x2": px(other.x), "y2": px(other.y)}
            yield tag("line", stroke=color, stroke_width=1.2, stroke_opacity=0.45, **line)
    for mark in marks:
        if mark.trial is comparison.taken:
            ring = {"cx": px(mark.x), "cy": px(mark.y), "r": 14}
            yield tag("circle", fill="none", stroke=INK, stroke_width=2.5, **ring)
    for mark in marks:
        number = methods.index(mark.trial.method)
        drawing = shape(number, mark.x, mark.y, SIZE, filled=mark.measured.keeps)
        yield tag("g", tag("title", _mark_in_words(mark, measure)), drawing)
    yield from _labels(marks, front, comparison.taken, area)


def spread(marks: Sequence[Mark], area: Area) -> list[Mark]:
    """Marks side by side where they would cover each other, as far apart as those beside them allow.

    Of those of one method that are the same, only the last, which promises most.
    """
    marks = list({(mark.trial.method, round(mark.x), round(mark.y)): mark for mark in marks}.values())
    moved = list(marks)
    left = sorted(range(len(marks)), key=lambda i: (round(marks[i].x), marks[i].y))
    while left:
        together = [left.pop(0)]
        while left and round(marks[left[0]].x) - round(marks[together[0]].x) <= 2:
            if marks[left[0]].y - marks[together[-1]].y > SIZE * 1.8:
                break
            together.append(left.pop(0))
        x, high, low = marks[together[0]].x, marks[together[0]].y - 2 * SIZE, marks[together[-1]].y + 2 * SIZE
        beside = [abs(mark.x - x) for mark in marks if high < mark.y < low and abs(mark.x - x) > 2 * SIZE]
        step = min(2 * SIZE, 0.85 * min(beside, default=area.wide / 4) / len(together))
        for place, i in enumerate(sorted(together)):
            moved[i] = marks[i]._replace(x=marks[i].x + (place - (len(together) - 1) / 2) * step)
    return moved


def _mark_in_words(mark: Mark, measure: Measure) -> str:
    value = measure.value(mark.measured)
    loss = "" if value is None else f", {measure.title.lower()} {measure.say(value)}"
    return f"{mark.trial.name}: guess {mark.measured.guess or 0:.1%}{loss}"


def _grid(x_axis: Axis, y_axis: Axis, say: Callable[[float], str], area: Area) -> Iterator[Html]:
    wide, high = area.wide, area.high
    for tick in y_axis.ticks:
        y = high * (1 - y_axis.place(tick))
        yield tag("line", x1=0, y1=px(y), x2=wide, y2=px(y), stroke=GRID)
        yield text(-10, y + 4.5, say(tick), 13, fill=DIM, anchor="end")
    for tick in x_axis.ticks:
        x = x_axis.place(tick) * wide
        k = 1 / tick
        yield tag("line", x1=px(x), y1=0, x2=px(x), y2=high, stroke=GRID)
        whole = abs(k - round(k)) < 1e-6 and k > 1.5
        yield text(x, high + 20, f"1/{round(k)}" if whole else f"{100 * tick:.3g} %", 13, fill=DIM, anchor="middle")
    yield tag("line", x1=0, y1=high, x2=wide, y2=high, stroke=DIM)
    yield text(0, high + (44 if area is PICTURE else 40), "← more private", 13, fill=DIM)


def _steps(front: Sequence[Mark]) -> Iterator[Html]:
    """The frontier: beyond a mark, nothing is better until the next."""
    if len(front) < 2:
        return
    path = f"M{px(front[0].x)} {px(front[0].y)}"
    path += "".join(f"H{px(mark.x)}V{px(mark.y)}" for mark in front[1:])
    yield tag("path", d=path, fill="none", stroke=INK, stroke_width=2.5, stroke_opacity=0.55)


def _labels(marks: Sequence[Mark], front: Sequence[Mark], taken: Trial | None, area: Area) -> Iterator[Html]:
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
        label = str(mark.trial.l)
        wide = 8 * len(label)
        away = 15 if mark in chosen else 9
        for x, y in ((mark.x + away, mark.y + 4), (mark.x - away - wide, mark.y + 4), (mark.x - 4, mark.y - away - 1)):
            box = (x, y - 10, x + wide, y)
            if box[1] > 0 and box[2] < area.wide + RIGHT and not any(_meet(box, other) for other in full):
                full.append(box)
                yield text(x, y, label, 12, fill=INK if mark in front or mark in chosen else DIM)
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
