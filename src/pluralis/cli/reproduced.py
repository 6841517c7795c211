"""Claims of papers, and whether they held, on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pluralis.cli.terminal import Grid, Terminal, styled
from pluralis.reproduce.paper import HOLDS, IN_PART, NOT, UNKNOWN, Judged

STYLES = {HOLDS: "green", IN_PART: "yellow", NOT: "red", UNKNOWN: "dim"}


def show_claims(console: Terminal, found: Mapping[str, Sequence[Judged]]) -> None:
    """One table for each paper."""
    for paper, claims in found.items():
        grid = Grid("claim", "where", "here", title=paper)
        for claim in claims:
            grid.line(claim.claim.statement, claim.claim.source, styled(claim.verdict, STYLES[claim.verdict]))
        console.print(grid)
