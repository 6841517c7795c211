"""Claims of papers, and whether they held, on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from pluralis.reproduce.paper import HOLDS, IN_PART, NOT, UNKNOWN, Judged

STYLES = {HOLDS: "green", IN_PART: "yellow", NOT: "red", UNKNOWN: "dim"}


def show_claims(console: Console, found: Mapping[str, Sequence[Judged]]) -> None:
    """One table for each paper."""
    for paper, claims in found.items():
        table = Table(title=paper, title_justify="left", box=None, pad_edge=False)
        for column in ("claim", "where", "here"):
            table.add_column(column, overflow="fold")
        for claim in claims:
            style = STYLES[claim.verdict]
            table.add_row(claim.claim.statement, claim.claim.source, f"[{style}]{claim.verdict}[/]")
        console.print(table)
