"""The picture of the README, made from a real run on the first six rows of the BSGI paper's first table.

`python docs/picture.py` writes picture.svg, and picture.png where Chromium is there to render it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

import polars as pl

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent / "tests"))

from pluralis import Key, audit, publish  # noqa: E402
from support.sample_tables import PATIENTS, patients_policy  # noqa: E402

WIDTH, HEIGHT = 1190, 468
TOP, LINE = 104, 34
INK, DIM, RULE, PAPER = "#1f2933", "#5f6c7b", "#d5dce4", "#ffffff"
BANDS = ["#e3f0fb", "#fdf0dc", "#e6f5e6", "#f3e8f7"]
SANS = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
MONO = "'SFMono-Regular', Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace"
POLICY = [
    ("name", "identifier", ""),
    ("gender", "quasi", ""),
    ("postcode", "quasi", "mask: right"),
    ("age", "quasi", "number"),
    ("disease", "sensitive", "l: 2"),
]


def text(x: float, y: float, words: str, *, size: int = 16, fill: str = INK, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}" {more}>{escape(words)}</text>'


def table(x: float, widths: list[int], frame: pl.DataFrame, bands: list[str] | None = None) -> list[str]:
    """A frame as lines of text, a band of color behind each row where there are bands."""
    parts = []
    places = [x + sum(widths[:i]) for i in range(len(widths))]
    for place, name in zip(places, frame.columns, strict=True):
        parts.append(text(place, TOP, name, size=14, fill=DIM))
    whole = sum(widths)
    parts.append(f'<path d="M{x - 10:g} {TOP + 10} h{whole:g}" stroke="{RULE}" stroke-width="1.5"/>')
    for i, row in enumerate(frame.iter_rows()):
        y = TOP + 14 + i * LINE
        if bands is not None:
            parts.append(f'<rect x="{x - 10:g}" y="{y}" width="{whole:g}" height="{LINE}" fill="{bands[i]}"/>')
        for place, value in zip(places, row, strict=True):
            parts.append(text(place, y + 23, str(value)))
    return parts


def arrow(x: float) -> str:
    y = TOP + 14 + 3 * LINE
    return (
        f'<path d="M{x} {y} h34 m-11 -9 l11 9 l-11 9" fill="none" stroke="{DIM}" stroke-width="2.5" '
        'stroke-linecap="round" stroke-linejoin="round"/>'
    )


def draw() -> str:
    """The whole picture as SVG."""
    original = PATIENTS.head(6)
    release = publish(original, patients_policy(), key=Key.test())
    verdict = audit(release, original, allow_test=True)
    assert verdict.holds
    rows = release.tables["microdata"].select("gender", "postcode", "age", "disease", "group")
    claim = next(f for f in verdict.findings if "disease" in f.claim)
    covered = next(f for f in verdict.findings if f.claim.startswith("every published row"))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="{SANS}" role="img" aria-label="A table and a policy become an audited release">',
        f'<rect x="1" y="1" width="{WIDTH - 2}" height="{HEIGHT - 2}" rx="14" fill="{PAPER}" stroke="{RULE}" '
        'stroke-width="2"/>',
    ]
    for x, title in ((34, "The table"), (466, "The policy"), (766, "The release")):
        parts.append(text(x, 54, title, size=22, more='font-weight="600"'))
    parts += table(34, [74, 76, 92, 56, 82], original)
    parts.append(arrow(420))
    parts.append(
        f'<rect x="466" y="{TOP - 22}" width="214" height="{6 * LINE + 40}" rx="8" fill="#f4f6f8" stroke="{RULE}"/>'
    )
    for i, (name, role, more) in enumerate(POLICY):
        y = TOP + 8 + i * 44
        parts.append(text(482, y, name, more=f'font-family="{MONO}" font-weight="600"'))
        role_said = f"{role}, {more}" if more else role
        parts.append(text(482, y + 19, role_said, size=14, fill=DIM, more=f'font-family="{MONO}"'))
    parts.append(arrow(698))
    shade = {group: BANDS[i % len(BANDS)] for i, group in enumerate(rows["group"].unique(maintain_order=True))}
    parts += table(766, [74, 92, 86, 84, 62], rows, [shade[group] for group in rows["group"]])
    y = TOP + 14 + 6 * LINE + 50
    parts.append(f'<path d="M34 {y - 8} h{WIDTH - 68}" stroke="{RULE}" stroke-width="1.5"/>')
    for sentence in (
        f"{claim.claim}. Measured: {claim.measured:g}.",
        f"{covered.claim}: {covered.measured:g} of {covered.promised:g}.",
    ):
        y += 32
        tick = (
            f'<path d="M36 {y - 6} l6 6 l11 -13" fill="none" stroke="#1a7f37" stroke-width="3" stroke-linecap="round"/>'
        )
        parts += [tick, text(64, y, sentence[0].upper() + sentence[1:], size=17)]
    return "\n".join([*parts, "</svg>"]) + "\n"


def render(svg: Path, png: Path) -> None:
    """Picture of a picture, at twice its size, by headless Chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        print("picture.png was not made: there is no Chromium. Install it and run this again.", file=sys.stderr)
        return
    flags = ["no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking"]
    flags += ["disable-component-update", "disable-sync", "hide-scrollbars", "force-device-scale-factor=2"]
    with tempfile.TemporaryDirectory() as profile:
        command = [chromium, "--headless", *(f"--{flag}" for flag in flags), f"--user-data-dir={profile}"]
        command += ["--default-background-color=00000000", f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={png}"]
        subprocess.run([*command, svg.as_uri()], check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    (DOCS / "picture.svg").write_text(draw(), encoding="utf-8")
    render(DOCS / "picture.svg", DOCS / "picture.png")
