"""The graph of a rule set as SVG: a vertex for each attribute, arrows from what is known to what is protected.

Vertices stand on a circle, so that no straight line runs through one that it is not about. A rule is a numbered knot:
lines lead to it from every attribute that is known, and an arrow from it to the one that is protected. Rules differ in
number, in dashes and in color; the list below the graph has them all in words.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from pluralis.errors import OutputError
from pluralis.policy.rules import Dependency, Rule
from pluralis.profiling.explaining import Explanation, said_of
from pluralis.report.charts import Html, fit, tag

_COLORS = ("#0b5cad", "#b4471d", "#1d7a46", "#7b3fa0", "#8a6a00", "#a1195b", "#2a6f7f", "#555f6b")  # on white
_DASHES = ("", "9 4", "2 3", "12 4 2 4", "6 3 2 3 2 3")
_LETTER = 7.4  # pixels that one letter of a name takes, about
_KNOT = 11.0
_DOT = 7.0
_LINE = 22
_WIDEST = 100  # letters in a line of the list
_SETTLING = 100  # steps in which knots make room for each other


class Point(NamedTuple):
    x: float
    y: float

    def toward(self, other: Point, distance: float) -> Point:
        """The point so many pixels from here on the way there."""
        length = math.dist(self, other) or 1.0
        return Point(
            self.x + (other.x - self.x) * distance / length,
            self.y + (other.y - self.y) * distance / length,
        )


def write_graph(explanation: Explanation, path: str | Path) -> None:
    """Draw into a file; one that is not named as a picture is left alone."""
    path = Path(path)
    if path.suffix.lower() != ".svg":
        raise OutputError(f"{path} is not the name of an SVG picture. Let it end in .svg.")
    try:
        path.write_text(drawn(explanation), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"Cannot write {path}: {error.strerror}. Choose another place.") from None


def drawn(explanation: Explanation) -> str:
    """The whole picture."""
    rules = [in_force.rule for in_force in explanation.rules]
    known = [item.dependency for item in explanation.dependencies]
    names = _around([vertex.name for vertex in explanation.attributes], rules)
    radius = max(150.0, 22.0 * len(names))
    margin = 34 + _LETTER * max((len(fit(name, 28)) for name in names), default=0)
    listed = list(_listed(explanation))
    width = max(2 * (radius + margin), 116 + 7.0 * max((len(line) for _, lines in listed for line in lines), default=0))
    middle = Point(width / 2, radius + 46)
    place = {name: _on_circle(middle, radius, i, len(names)) for i, name in enumerate(names)}
    knots = _settled(rules, place, middle, radius)
    protected = {rule.protects for rule in rules}
    below = 2 * radius + 124
    height = below + _LINE * sum(len(lines) for _, lines in listed) + 46
    parts = [
        tag("rect", width=_px(width), height=_px(height), fill="#ffffff"),
        *(_dependency(place, dependency, middle) for dependency in known if place.keys() >= dependency.attributes),
        *(_rule(i, rule, place, knots[i]) for i, rule in enumerate(rules)),
        *(_vertex(name, place[name], middle, name in protected) for name in names),
        *(_knot(i, rule, knots[i]) for i, rule in enumerate(rules)),
        *_list(listed, below),
        _legend(height - 20, bool(known)),
    ]
    return tag(
        "svg", *parts, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {_px(width)} {_px(height)}",
        width=_px(width), height=_px(height), role="img", font_size=14,
        font_family="'Segoe UI', 'Helvetica Neue', Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif",
        aria_label="Rules as a graph: arrows from what is known to what is protected",
    ) + "\n"  # fmt: skip


# where things stand ---------------------------------------------------------------------------------------------


def _around(names: Sequence[str], rules: Sequence[Rule]) -> list[str]:
    """The names around the circle, exchanged as long as that brings what rules speak of closer together."""
    order = list(names)
    ends = [(known, rule.protects) for rule in rules for known in rule.knows]
    if len(order) > 40:
        return order

    def length() -> float:
        position = {name: i for i, name in enumerate(order)}
        return sum(math.sin(math.pi * abs(position[a] - position[b]) / len(order)) for a, b in ends)

    best, better = length(), True
    while better:
        better = False
        for i, j in combinations(range(len(order)), 2):
            order[i], order[j] = order[j], order[i]
            if (now := length()) < best - 1e-9:
                best, better = now, True
            else:
                order[i], order[j] = order[j], order[i]
    return order


def _on_circle(middle: Point, radius: float, i: int, count: int) -> Point:
    angle = 2 * math.pi * (i + 0.5) / count - math.pi / 2
    return Point(middle.x + radius * math.cos(angle), middle.y + radius * math.sin(angle))


def _settled(rules: Sequence[Rule], place: dict[str, Point], middle: Point, radius: float) -> list[Point]:
    """Where the knots stand: between known and protected, to the left of that way, clear of all else if possible."""
    knots = []
    for i, rule in enumerate(rules):
        ends = [place[name] for name in rule.knows]
        start = Point(sum(end.x for end in ends) / len(ends), sum(end.y for end in ends) / len(ends))
        goal = place[rule.protects]
        half = Point((start.x + goal.x) / 2, (start.y + goal.y) / 2)
        aside = Point(half.x + (goal.y - start.y), half.y - (goal.x - start.x))
        knots.append(half.toward(aside, 14 + i % 3).toward(middle, 10))
    lines = [(j, place[name]) for j, rule in enumerate(rules) for name in (*rule.knows, rule.protects)]
    for step in range(_SETTLING):
        eager = 0.5 * (1 - step / _SETTLING)
        for i in range(len(knots)):
            others = [knot for j, knot in enumerate(knots) if j != i]
            passing = [_nearest(knots[i], knots[j], end) for j, end in lines if j != i]
            for near, room in (
                *((other, 4 * _KNOT) for other in others),
                *((point, 2 * _KNOT) for point in passing),
                *((vertex, 5 * _KNOT) for vertex in place.values()),
            ):
                if 0 < (distance := math.dist(knots[i], near)) < room:
                    knots[i] = knots[i].toward(near, eager * (distance - room))
            if (far := math.dist(middle, knots[i])) > 0.9 * radius:
                knots[i] = middle.toward(knots[i], far - eager * (far - 0.9 * radius))
    return knots


def _nearest(point: Point, start: Point, end: Point) -> Point:
    """Of a line from start to end, the place nearest to a point."""
    along = Point(end.x - start.x, end.y - start.y)
    square = along.x**2 + along.y**2 or 1.0
    share = min(1.0, max(0.0, ((point.x - start.x) * along.x + (point.y - start.y) * along.y) / square))
    return Point(start.x + share * along.x, start.y + share * along.y)


# what is drawn --------------------------------------------------------------------------------------------------


def _rule(i: int, rule: Rule, place: dict[str, Point], knot: Point) -> Html:
    """Lines from every known attribute to the knot, and an arrow from there."""
    look = {"stroke": _COLORS[i % len(_COLORS)], "stroke_width": 1.6, "stroke_dasharray": _dashes(i)}
    lines = [_line(place[name].toward(knot, _DOT), knot.toward(place[name], _KNOT), **look) for name in rule.knows]
    goal = place[rule.protects]
    tip = goal.toward(knot, _DOT + 2)
    shaft = _line(knot.toward(goal, _KNOT), tip.toward(knot, 9), **(look | {"stroke_width": 2.6}))
    return tag("g", tag("title", str(rule)), *lines, shaft, _head(tip, knot, look["stroke"], look["stroke"]))


def _dependency(place: dict[str, Point], dependency: Dependency, middle: Point) -> Html:
    """Open arrows from what decides, bent a little to the outside, so that no rule hides them."""
    goal = place[dependency.decides]
    parts = []
    for name in dependency.knows:
        start = place[name]
        half = Point((start.x + goal.x) / 2, (start.y + goal.y) / 2)
        bend = half.toward(middle, -0.12 * math.dist(start, goal)) if math.dist(half, middle) > 1 else half
        tip = goal.toward(bend, _DOT + 2)
        begin = start.toward(bend, _DOT)
        path = f"M{_px(begin.x)} {_px(begin.y)}Q{_px(bend.x)} {_px(bend.y)} {_px(tip.x)} {_px(tip.y)}"
        for color, wide in (("#6b7480", 5.0), ("#ffffff", 2.4)):
            parts.append(tag("path", d=path, fill="none", stroke=color, stroke_width=wide))
        parts.append(_head(tip, bend, "#6b7480", "#ffffff"))
    return tag("g", tag("title", f"{dependency} is known"), *parts)


def _vertex(name: str, place: Point, middle: Point, protected: bool) -> Html:
    dot = tag(
        "circle", cx=_px(place.x), cy=_px(place.y), r=_DOT, fill="#1b2733" if protected else "#ffffff",
        stroke="#1b2733", stroke_width=2,
    )  # fmt: skip
    out = middle.toward(place, math.dist(middle, place) + 16)
    lean = (place.x - middle.x) / (math.dist(middle, place) or 1)
    anchor = "middle" if abs(lean) < 0.26 else "start" if lean > 0 else "end"
    y = out.y + 5 + (8 if abs(lean) < 0.26 and place.y > middle.y else -4 if abs(lean) < 0.26 else 0)
    weight = 700 if protected else 400
    label = tag("text", fit(name, 28), x=_px(out.x), y=_px(y), text_anchor=anchor, font_weight=weight, fill="#1b2733")
    return tag("g", tag("title", name), dot, label)


def _knot(i: int, rule: Rule, place: Point) -> Html:
    color = _COLORS[i % len(_COLORS)]
    ring = tag("circle", cx=_px(place.x), cy=_px(place.y), r=_KNOT, fill="#ffffff", stroke=color, stroke_width=2)
    number = tag(
        "text", str(i + 1), x=_px(place.x), y=_px(place.y + 4.4), text_anchor="middle", font_size=12, font_weight=700,
        fill=color,
    )  # fmt: skip
    return tag("g", tag("title", str(rule)), ring, number)


def _listed(explanation: Explanation) -> Iterator[tuple[int, list[str]]]:
    """The rules in words, each in lines that are not too long."""
    broken = {hole.rule for hole in explanation.holes} | {skew.rule for skew in explanation.skewed if not skew.allowed}
    for i, in_force in enumerate(explanation.rules):
        rule = in_force.rule
        text = f"{said_of(rule.knows)} ─▶ {said_of((rule.protects,))}, l = {rule.l} ({', '.join(in_force.origins)})"
        text += ": cannot be kept" if rule in broken else ""
        yield i, textwrap.wrap(text, _WIDEST, break_on_hyphens=False)


def _list(listed: Sequence[tuple[int, list[str]]], top: float) -> Iterator[Html]:
    y = top
    for i, lines in listed:
        look = {"stroke": _COLORS[i % len(_COLORS)], "stroke_width": 2.6, "stroke_dasharray": _dashes(i)}
        yield tag("text", f"{i + 1}", x=30, y=_px(y), text_anchor="end", font_weight=700, fill=look["stroke"])
        yield _line(Point(40, y - 5), Point(84, y - 5), **look)
        for line in lines:
            yield tag("text", line, x=96, y=_px(y), fill="#1b2733")
            y += _LINE


def _legend(y: float, dependencies: bool) -> Html:
    look = {"cy": _px(y - 5), "r": _DOT - 1, "stroke": "#1b2733", "stroke_width": 2}
    parts = [
        tag("circle", cx=24, fill="#ffffff", **look), tag("text", "only known", x=38, y=_px(y)),
        tag("circle", cx=134, fill="#1b2733", **look), tag("text", "protected", x=148, y=_px(y)),
    ]  # fmt: skip
    if dependencies:
        ends = Point(236, y - 5), Point(270, y - 5)
        parts += [_line(*ends, stroke="#6b7480", stroke_width=5), _line(*ends, stroke="#ffffff", stroke_width=2.4)]
        parts += [_head(Point(278, y - 5), ends[0], "#6b7480", "#ffffff"), tag("text", "decides", x=288, y=_px(y))]
    return tag("g", *parts, font_size=13, fill="#4a5560")


def _head(tip: Point, origin: Point, stroke: object, fill: object) -> Html:
    """The head of an arrow that comes from there."""
    back = tip.toward(origin, 10)
    across = Point((tip.y - back.y) * 0.45, (back.x - tip.x) * 0.45)
    corners = (tip, Point(back.x + across.x, back.y + across.y), Point(back.x - across.x, back.y - across.y))
    points = " ".join(f"{_px(corner.x)},{_px(corner.y)}" for corner in corners)
    return tag("polygon", points=points, fill=fill, stroke=stroke, stroke_width=1.4, stroke_linejoin="round")


def _line(start: Point, end: Point, **look: object) -> Html:
    return tag("line", x1=_px(start.x), y1=_px(start.y), x2=_px(end.x), y2=_px(end.y), **look)


def _dashes(i: int) -> str | None:
    return _DASHES[i % len(_DASHES)] or None


def _px(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
