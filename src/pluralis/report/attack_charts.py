"""Pictures of what attacks got, as SVG text: a strip for each result, and how sure guesses are over all groups.

Marks differ in shape, not in color alone: a dot with its interval for what was got, a diamond for the prior, a
cross for the maximum posterior of all, a tick for what was promised.
"""

from __future__ import annotations

from pluralis.attacks import Result
from pluralis.report.charts import WIDTH, Html, ceiling, levels, line, px, rect, share, svg, tag, text, unit
from pluralis.report.exposure import PARTS, Exposure

HIGH = 24.0  # of the strip of one result
SIZE = 4.5


def strip(result: Result) -> Html:
    """What an attack got on a line from 0 to 100 %, as wide as there is room: places are shares of its width."""
    middle = px(HIGH / 2)
    marks = [tag("title", _in_words(result)), _upright(0.0, "grid"), _upright(0.5, "grid"), _upright(1.0, "grid")]
    marks.append(tag("line", x1="0%", x2="100%", y1=middle, y2=middle, class_="rail"))
    if result.promised is not None:
        marks.append(_upright(result.promised, "promise"))
    marks.append(
        tag("line", x1=_place_of(result.low), x2=_place_of(result.high), y1=middle, y2=middle, class_="interval")
    )
    marks += [_placed(result.prior, _diamond()), _placed(result.success, _dot())]
    if result.worst is not None:
        marks.append(_placed(result.worst, _cross()))
    return tag("svg", *marks, class_="strip", height=px(HIGH), role="img")


def _in_words(result: Result) -> str:
    name = result.attack if result.attribute is None else f"{result.attack}: {result.guessed}"
    title = f"{name}, {result.question}: {share(result.success)}, prior {share(result.prior)}"
    title += "" if result.worst is None else f", maximum posterior {share(result.worst)}"
    title += "" if result.promised is None else f", promised at most {share(result.promised)}"
    return f"{title}; {result.standing}"


def legend() -> Html:
    """What the marks of a strip mean."""
    promise = tag("line", x1=12, x2=12, y1=2, y2=14, class_="promise")
    interval = tag("line", x1=2, x2=22, y1=8, y2=8, class_="interval")
    keys: dict[str, list[Html]] = {
        "guessed right, interval": [interval, _moved(_dot())],
        "prior": [_moved(_diamond())],
        "maximum posterior": [_moved(_cross())],
        "promised at most": [promise],
    }
    entries = (
        tag("li", tag("svg", *marks, viewBox="0 0 24 16", class_="key", aria_hidden="true"), tag("span", words))
        for words, marks in keys.items()
    )
    return tag("ul", *entries, class_="legend")


def _moved(mark: Html) -> Html:
    return tag("g", mark, transform="translate(12 8)")


def _placed(value: float, mark: Html) -> Html:
    """A mark drawn around its own middle, on the line."""
    return tag("svg", mark, x=_place_of(value), y=px(HIGH / 2), overflow="visible")


def _upright(value: float, class_: str) -> Html:
    return tag("line", x1=_place_of(value), x2=_place_of(value), y1=1, y2=px(HIGH - 1), class_=class_)


def _place_of(value: float) -> str:
    """Where a share lies, as a part of the width."""
    return f"{100 * unit(value):.2f}%"


def _dot() -> Html:
    return tag("circle", r=SIZE, class_="got")


def _diamond() -> Html:
    size = px(SIZE + 0.5)
    return tag("path", d=f"M-{size} 0L0 -{size}L{size} 0L0 {size}Z", class_="prior")


def _cross() -> Html:
    size = px(SIZE + 0.5)
    return tag("path", d=f"M-{size} -{size}L{size} {size}M-{size} {size}L{size} -{size}", class_="posterior")


def sureness(exposure: Exposure) -> Html:
    """How many groups have how sure a guess: an outline by the group alone, filled by what all groups teach."""
    left, right, high, low = 44.0, WIDTH - 8.0, 34.0, 144.0
    total = max(1, sum(exposure.alone))
    filled = exposure.alone if exposure.learned is None else exposure.learned
    top = ceiling([count / total for count in (*exposure.alone, *filled)])
    slot, scale = (right - left) / PARTS, (low - high) / (top * total)
    marks, path = [], [f"M{px(left)} {px(low)}"]
    for i, (old, new) in enumerate(zip(exposure.alone, filled, strict=True)):
        x = left + i * slot
        title = f"maximum posterior up to {100 * (i + 1) / PARTS:.0f}\xa0%: {old:,} {exposure.unit} alone"
        title += "" if exposure.learned is None else f", {new:,} learned from all"
        bar = rect(x + 0.75, low - new * scale, slot - 1.5, new * scale, "after")
        marks.append(tag("g", tag("title", title), bar))
        path.append(f"V{px(low - old * scale)}H{px(x + slot)}")
    outline = tag("path", d="".join([*path, f"V{px(low)}"]), class_="before")
    limit = []
    if exposure.limit is not None:
        limit_x = left + (right - left) * unit(exposure.limit)
        aside, to = (4, "start") if exposure.limit < 0.6 else (-4, "end")
        limit.append(line(limit_x, high - 8, limit_x, low, "promise"))
        limit.append(text(limit_x + aside, high - 4, f"at most {share(exposure.limit)}", f"tick {to}"))
    ends = ((0.0, "start"), (0.5, "middle"), (1.0, "end"))
    ticks = [text(left + part * (right - left), low + 14, f"{100 * part:.0f}\xa0%", f"tick {to}") for part, to in ends]
    key = [rect(left, low + 37, 10, 8, "before"), text(left + 14, low + 45, f"by {exposure.unit} alone", "axis")]
    if exposure.learned is not None:
        key += [
            rect(left + 124, low + 37, 10, 8, "after"),
            text(left + 138, low + 45, "learned from all groups", "axis"),
        ]
    foot = [
        text(0, 9, f"share of {exposure.unit}", "axis"),
        text(left, low + 29, f"maximum posterior in one of the {exposure.unit}", "axis"),
        *key,
    ]
    grid = levels(left, right, high, low, top, lambda value: share(value, 0))
    return svg(low + 50, f"Maximum posterior of {exposure.attribute}", *grid, *marks, outline, *limit, *ticks, *foot)
