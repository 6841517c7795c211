"""The folder of a comparison: its page, its picture and its figures. It tells how a private table is distributed."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

from pluralis.comparison.frontier import Comparison
from pluralis.publishing.atomic_folders import check_target, one_at_a_time, staging
from pluralis.report.comparison_page import comparison_page
from pluralis.report.drawing import png
from pluralis.report.frontier import frontier_svg

FIGURES = "compare.json"


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds something else than a comparison."""
    check_target(folder.absolute(), replace=True, mark=FIGURES)


def write_comparison(comparison: Comparison, folder: Path) -> None:
    """`compare.html`, `frontier.png`, `frontier.svg` and `compare.json`, for the publisher alone (mode 0700)."""
    check_folder(folder)
    target = folder.absolute()
    picture = frontier_svg(comparison)
    figures = json.dumps(comparison.to_dict(), indent=1, ensure_ascii=False) + "\n"
    with staging(target) as (to,), ExitStack() as undo:
        to.write("compare.html", comparison_page(comparison).encode(), mode=0o600)
        to.write("frontier.svg", picture.encode(), mode=0o600)
        to.write("frontier.png", png(picture), mode=0o600)
        to.write(FIGURES, figures.encode(), mode=0o600)
        with one_at_a_time(target.parent):
            to.show(undo, replace=True)
        undo.pop_all()
