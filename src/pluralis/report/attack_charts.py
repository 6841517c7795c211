"""Pictures of what attacks got, as SVG text: a line for each result, and how sure guesses are over all groups.

Marks differ in shape, not in colour alone: a dot with its interval for what was got, a diamond for the blind guess, a
cross for the surest guess of all, a tick for what was promised.
"""

from __future__ import annotations

from collections.abc import Sequence

from pluralis.attacks import Result
from pluralis.attacks.adversary.exposure import PARTS, Exposure
from pluralis.report.charts import WIDTH, Html, ceiling, fit, levels, line, px, rect, share, svg, tag, text, unit

WIDE = 660.0
LEFT, RIGHT = 250.0, 590.0  # where the axis of the dots begins and ends
ROW = 34.0
MOST = 30  # results that are drawn; all are in the table
SIZE = 4.5


def dots(results: Sequence[Result]) -> Html:
    """Each result on a line from 0 to 100 %."""
    drawn = results[:MOST]
    top, height = 34.0, ROW * len(drawn)
    grid = []
    for part in (0.0, 0.25, 0.5, 0.75, 1.0):
        grid.append(line(_x(part), top, _x(part), top + height, "grid"))
        grid.append(text(_x(part), top + height + 14, f"{100 * part:.0f}\xa0%", "tick middle"))
    marks = [_result(result, top + ROW * (i + 0.5)) for i, result in enumerate(drawn)]
    axis = text(LEFT, top + height + 31, "share of people guessed right, or probability of a guess", "axis")
    box = f"0 0 {px(WIDE)} {px(top + height + 36)}"
    said = "What each attack got, beside the blind guess and what was promised"
    return tag("svg", _legend(), *grid, *marks, axis, viewBox=box, class_="chart wide", role="img", aria_label=said)


def _result(result: Result, y: float) -> Html:
    """One line: names at the left, marks on the axis, the number at the right."""
    name = result.attack if result.attribute is None else f"{result.attack}: {result.attribute}"
    told = f"{name}, {result.question}: {share(result.success)}, blind guess {share(result.blind)}"
    told += "" if result.worst is None else f", surest guess {share(result.worst)}"
    told += "" if result.promised is None else f", promised at most {share(result.promised)}"
    marks = [
        tag("title", f"{told}; {result.standing}"),
        text(LEFT - 14, y - 2, fit(name, 38), "end name"),
        text(LEFT - 14, y + 11, fit(_about(result), 40), "tick end"),
        line(LEFT, y, RIGHT, y, "rail"),
    ]
    if result.promised is not None:
        marks.append(line(_x(result.promised), y - 11, _x(result.promised), y + 11, "promise"))
    marks.append(line(_x(result.low), y, _x(result.high), y, "interval"))
    marks += [_diamond(_x(result.blind), y), _dot(_x(result.success), y)]
    if result.worst is not None:
        marks.append(_cross(_x(result.worst), y))
    marks.append(text(WIDE, y + 4, share(result.success, 0), "end number"))
    return tag("g", *marks)


def _about(result: Result) -> str:
    """The question without the attribute, which stands above it."""
    said = result.question.removeprefix(f"{result.attribute}, ")
    return f"BREACH: {said}" if result.breach else said


def _legend() -> Html:
    y = 10.0
    marks: list[tuple[float, str, list[Html]]] = [
        (24, "guessed right, interval", [line(LEFT, y, LEFT + 18, y, "interval"), _dot(LEFT + 9, y)]),
        (160, "blind guess", [_diamond(LEFT + 150, y)]),
        (246, "surest guess", [_cross(LEFT + 236, y)]),
        (336, "promised", [line(LEFT + 328, y - 7, LEFT + 328, y + 7, "promise")]),
    ]
    return tag("g", *(part for x, words, mark in marks for part in [*mark, text(LEFT + x, y + 4, words, "axis")]))


def _dot(x: float, y: float) -> Html:
    return tag("circle", cx=px(x), cy=px(y), r=SIZE, class_="got")


def _diamond(x: float, y: float) -> Html:
    size = SIZE + 0.5
    path = f"M{px(x - size)} {px(y)}L{px(x)} {px(y - size)}L{px(x + size)} {px(y)}L{px(x)} {px(y + size)}Z"
    return tag("path", d=path, class_="blind")


def _cross(x: float, y: float) -> Html:
    size = SIZE + 0.5
    path = f"M{px(x - size)} {px(y - size)}L{px(x + size)} {px(y + size)}"
    return tag("path", d=f"{path}M{px(x - size)} {px(y + size)}L{px(x + size)} {px(y - size)}", class_="surest")


def _x(value: float) -> float:
    return LEFT + (RIGHT - LEFT) * unit(value)


def sureness(of: Exposure) -> Html:
    """How many groups have how sure a guess: an outline by the group alone, filled by what all groups teach."""
    left, right, high, low = 44.0, WIDTH - 8.0, 34.0, 144.0
    total = max(1, sum(of.alone))
    filled = of.alone if of.learnt is None else of.learnt
    top = ceiling([count / total for count in (*of.alone, *filled)])
    slot, scale = (right - left) / PARTS, (low - high) / (top * total)
    marks, path = [], [f"M{px(left)} {px(low)}"]
    for i, (old, new) in enumerate(zip(of.alone, filled, strict=True)):
        x = left + i * slot
        told = f"surest guess up to {100 * (i + 1) / PARTS:.0f}\xa0%: {old:,} {of.unit} alone"
        told += "" if of.learnt is None else f", {new:,} learnt from all"
        bar = rect(x + 0.75, low - new * scale, slot - 1.5, new * scale, "after")
        marks.append(tag("g", tag("title", told), bar))
        path.append(f"V{px(low - old * scale)}H{px(x + slot)}")
    outline = tag("path", d="".join([*path, f"V{px(low)}"]), class_="before")
    at = left + (right - left) * unit(of.limit)
    aside, to = (4, "start") if of.limit < 0.6 else (-4, "end")
    limit = [line(at, high - 8, at, low, "promise")]
    limit.append(text(at + aside, high - 4, f"1/l = {share(of.limit)}", f"tick {to}"))
    ends = ((0.0, "start"), (0.5, "middle"), (1.0, "end"))
    ticks = [text(left + part * (right - left), low + 14, f"{100 * part:.0f}\xa0%", f"tick {to}") for part, to in ends]
    key = [rect(left, low + 37, 10, 8, "before"), text(left + 14, low + 45, f"by {of.unit} alone", "axis")]
    if of.learnt is not None:
        key += [
            rect(left + 124, low + 37, 10, 8, "after"),
            text(left + 138, low + 45, "learnt from all groups", "axis"),
        ]
    foot = [
        text(0, 9, f"share of {of.unit}", "axis"),
        text(left, low + 29, f"surest guess in one of the {of.unit}", "axis"),
        *key,
    ]
    grid = levels(left, right, high, low, top, lambda value: share(value, 0))
    return svg(
        low + 50, f"How sure the surest guess of {of.attribute} is", *grid, *marks, outline, *limit, *ticks, *foot
    )
