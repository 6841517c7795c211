"""A paper's quick run, and what is checked of every one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from experiments.reproduce import Judged, Lab, Number, Paper, Results, load, reproduce
from experiments.reproduce.paper import HOLDS
from experiments.reproduce.public_data import find
from experiments.reproduce.running import folder_of, printed, results
from pluralis.errors import InputError


class Quick(NamedTuple):
    """A quick run below `root`."""

    paper: Paper
    root: Path
    claims: list[Judged]
    results: Results
    numbers: list[Number]


def run_quickly(name: str, root: Path) -> Quick:
    paper = load(name)
    for file in paper.data:
        skip_if_absent(file)
    claims = reproduce(name, Lab(quick=True), root)
    measured = results(paper, root)
    return Quick(paper, root, claims, measured, list(paper.numbers(measured, printed(paper))))


def skip_if_absent(file: str) -> None:
    """Data that is there and cannot be used is an error."""
    try:
        find(file)
    except InputError as error:
        if not str(error).startswith(f"{file} is not there"):
            raise
        pytest.skip(str(error))


def check_written(quick: Quick, figures: Sequence[str]) -> None:
    """Results of every experiment, these figures as SVG and PNG, and a page with all figures and claims."""
    folder = folder_of(quick.paper, quick.root)
    page = (quick.root / "docs" / "reproduction" / f"{quick.paper.name}.md").read_text(encoding="utf-8")
    tables = {f"{experiment.name}.csv" for experiment in quick.paper.experiments}
    assert {path.name for path in (folder / "results").iterdir()} == {"about.json", *tables}
    assert all(table.height for table in quick.results.values())
    drawn = {path.name for path in (folder / "figures").iterdir()}
    assert drawn == {f"{name}.{kind}" for name in figures for kind in ("svg", "png")}
    for name in figures:
        assert (folder / "figures" / f"{name}.svg").read_text(encoding="utf-8").startswith("<svg")
        assert (folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert f"figures/{name}.png" in page
    assert "A quick run" in page
    for one in quick.claims:
        assert one.claim.statement.replace("|", "\\|") in page
        assert one.cases, one.claim.statement


def check_explained(claims: Sequence[Judged], *, timed: bool = False) -> None:
    """A verdict against the paper says why: of claims about time, only where they were measured with care."""
    assert claims
    judged = [one for one in claims if timed or not one.claim.timed]
    assert [one.claim.statement for one in judged if one.verdict != HOLDS and not one.claim.why] == []
