"""`pluralis reproduce`: the papers' tables and figures, run from the checkout in which their experiments stand.

Experiments are not installed with the package: no other module imports them, and this one only when it is asked to run.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pluralis.cli.options import AsJson
from pluralis.cli.progress_bars import progress
from pluralis.cli.terminal import Grid, Terminal, styled, terminal
from pluralis.display.escaping import complain, print_json
from pluralis.errors import InputError

if TYPE_CHECKING:
    from experiments.reproduce import Judged

CHECKOUT = Path(__file__).resolve().parents[3]  # the folder that holds src/pluralis/cli


def reproduce(
    papers: Annotated[
        list[str] | None, typer.Argument(metavar="[PAPER]…", help="bsgi, decomposition, …; `all`, or none for all.")
    ] = None,
    quick: Annotated[bool, typer.Option(help="Fewer points: minutes. Written to reproduction-quick.")] = False,
    data: Annotated[Path | None, typer.Option(help="The folder of data files.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where results and pages go; this checkout if not given.")] = None,
    pages: Annotated[bool, typer.Option("--pages", help="Only write pages and figures from results.")] = False,
    as_json: AsJson = False,
) -> None:
    """The papers' tables and figures, theirs beside ours. An interrupted run goes on where it stopped."""
    root = out or (Path("reproduction-quick") if quick else CHECKOUT)
    names = [] if not papers or papers == ["all"] else papers
    try:
        judged, folder = reproduce_papers(names, root, quick=quick, data=data, only_pages=pages)
    except KeyboardInterrupt:
        complain("Interrupted. The same command goes on where it stopped.")
        raise
    if as_json:
        print_json({name: [claim.to_dict() for claim in claims] for name, claims in judged.items()})
        return
    show_claims(terminal(), judged)
    terminal().say("\nThe pages are in {}.", folder, wrap=False)


def reproduce_papers(
    names: Sequence[str], root: Path, *, quick: bool, data: Path | None, only_pages: bool
) -> tuple[dict[str, list[Judged]], Path]:
    """The claims of these papers, judged, or of all papers where none is named; and the folder of their pages.

    Results, figures and pages are written below `root`: with `only_pages` from the results that are there.
    """
    _make_experiments_importable()
    from experiments.reproduce import PAPERS, Lab, write_pages, write_summary
    from experiments.reproduce import reproduce as run_paper

    judged = {}
    with progress():
        for name in names or PAPERS:
            judged[name] = write_pages(name, root) if only_pages else run_paper(name, Lab(quick, data), root)
    return judged, write_summary(root).parent


def _make_experiments_importable() -> None:
    if not (CHECKOUT / "experiments" / "reproduce" / "__init__.py").is_file():
        raise InputError(
            "Reproduction needs a checkout of the repository: the papers' experiments are not installed with Pluralis. "
            "Clone the repository, run `make demo` in it, which builds the program there, and then "
            "`.venv/bin/pluralis reproduce`."
        )
    if str(CHECKOUT) not in sys.path:
        sys.path.insert(0, str(CHECKOUT))


def show_claims(console: Terminal, judged: Mapping[str, Sequence[Judged]]) -> None:
    """One table for each paper."""
    from experiments.reproduce.paper import HOLDS, IN_PART, NOT, UNKNOWN

    styles = {HOLDS: "green", IN_PART: "yellow", NOT: "red", UNKNOWN: "dim"}
    for paper, claims in judged.items():
        grid = Grid("claim", "where", "here", title=paper)
        for claim in claims:
            grid.line(claim.claim.statement, claim.claim.source, styled(claim.verdict, styles[claim.verdict]))
        console.print(grid)
