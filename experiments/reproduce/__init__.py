"""The experiments of the five papers: theirs beside ours."""

from __future__ import annotations

from pathlib import Path

from experiments.reproduce.page import PAGES, judged, summary, write_page, write_pictures
from experiments.reproduce.paper import (
    Case,
    Claim,
    Experiment,
    Figure,
    Judged,
    Lab,
    Number,
    Paper,
    Point,
    Printed,
    Results,
)
from experiments.reproduce.running import CHECKOUT, PAPERS, has_results, load, run

__all__ = [
    "CHECKOUT",
    "PAPERS",
    "Case",
    "Claim",
    "Experiment",
    "Figure",
    "Judged",
    "Lab",
    "Number",
    "Paper",
    "Point",
    "Printed",
    "Results",
    "load",
    "reproduce",
    "write_pages",
    "write_summary",
]


def reproduce(name: str, lab: Lab, root: Path) -> list[Judged]:
    """Run a paper's experiments, write its results, figures and page below `root`, and judge its claims."""
    run(load(name), lab, root)
    return write_pages(name, root)


def write_pages(name: str, root: Path) -> list[Judged]:
    """Write a paper's figures and page from its results, and judge its claims."""
    paper = load(name)
    write_pictures(paper, root)
    write_page(paper, root)
    return judged(paper, root)


def write_summary(root: Path) -> Path:
    """The page of all claims of those papers that have results."""
    papers = [paper for paper in map(load, PAPERS) if has_results(paper, root)]
    path = root / PAGES / "README.md"
    path.write_text(summary(papers, root), encoding="utf-8")
    return path
