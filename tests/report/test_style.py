"""How pages look, as far as it can be computed: contrast, phone width, paper."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from pluralis.report.drawing import COLORS, DIM, GRID, INK, ON_DARK, ON_LIGHT, PAPER, colors_of_page
from pluralis.report.utility import FIRST, MOST

CSS = files("pluralis.report").joinpath("report.css").read_text(encoding="utf-8")
PHONE = 390  # pixels across
TEXT, MARK = 4.5, 3.0  # the contrasts that WCAG 2 asks of text, and of what is drawn
SCHEMES = dict(zip(("light", "dark", "paper"), re.findall(r":root \{(.*?)\}", CSS, re.DOTALL), strict=True))


def colors(scheme: str) -> dict[str, str]:
    found_colors = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{3,6})", SCHEMES[scheme]))
    return {name: "#" + value[1:] * 2 if len(value) == 4 else value for name, value in found_colors.items()}


def contrast(one: str, other: str) -> float:
    """Of two colors, as WCAG 2 defines it."""

    def luminance(color: str) -> float:
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_text_and_marks_stand_out_from_the_page(scheme: str) -> None:
    page = colors(scheme)
    for text in ("ink", "muted", "accent", "bad"):
        assert contrast(page[text], page["paper"]) >= TEXT, text
    assert contrast(page["ink"], page["bad-wash"]) >= TEXT
    assert contrast(page["fill"], page["paper"]) >= MARK


@pytest.mark.parametrize(("scheme", "series"), [("light", ON_LIGHT), ("dark", ON_DARK), ("paper", ON_LIGHT)])
def test_every_series_of_a_comparison_is_as_legible_as_text(scheme: str, series: tuple[str, ...]) -> None:
    assert len(series) == len(set(series)) == len(COLORS)
    for color in series:
        assert contrast(color, colors(scheme)["paper"]) >= TEXT, color


def test_a_picture_in_a_page_takes_the_colors_of_the_page() -> None:
    rules = colors_of_page(".frontier")
    for color in (*COLORS, INK, DIM, GRID, PAPER):
        for part in ("fill", "stroke"):
            assert len(re.findall(rf'\.frontier \[{part}="{color}"\] {{ {part}: var\(--[a-z0-9-]+\); }}', rules)) == 1
    assert not re.search(r"(^|[ ,}])svg text", CSS)  # which would override the sizes and colors of all pictures


def test_nothing_is_wider_than_a_phone_there() -> None:
    """Widths in pixels or letters that a phone does not have stand only where a phone does not read them."""
    phone = CSS[CSS.index("max-width: 40rem") : CSS.index("@page")]
    assert "table { min-width: 0; }" in phone
    assert "content: attr(data-head)" in phone
    everywhere = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", CSS, flags=re.DOTALL)
    wide = {
        selector.strip(): float(size) * (16 if unit == "rem" else 1)
        for selector, rules in re.findall(r"([^{}]+)\{([^{}]*)\}", everywhere)
        for size, unit in re.findall(r"(?:^|[ ;])(?:min-)?width: ([\d.]+)(rem|px)", rules)
    }
    assert {selector for selector, pixels in wide.items() if pixels > PHONE} == {"table"}


def test_what_goes_on_paper_is_bounded() -> None:
    """However many attributes there are: so many pictures, rows and bars are printed, and a line for the others."""
    assert (FIRST, MOST) == (6, 10)
    paper = CSS[CSS.index("@media print") :]
    assert 'summary::after { content: ": on the page itself, on a screen"; }' in paper
    assert "break-after: avoid-page" in paper
