"""Arguments and options that mean the same in every command, and what they stand for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import polars as pl

TableFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="TABLE", help="CSV (.csv, .tsv, .txt, also .gz) or Parquet: a file, several, a folder or a pattern."
    ),
]
ReleaseFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A release folder.")]
Private = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Of a release in parts: its private folder, if it is not DIR.private."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Encoding = Annotated[str, typer.Option(help="Character set of a CSV file that is not UTF-8.")]
Limit = Annotated[
    float, typer.Option("--limit", min=0, metavar="GIB", help="Refuse a release whose tables unfold to more than this.")
]
Separator = Annotated[str | None, typer.Option(help="Separator of a CSV file; found from its header if not given.")]


def read(table: Path | list[Path], encoding: str, separator: str | None) -> pl.DataFrame:
    """The table of some files, as the options of a command say how to read it."""
    from pluralis.progress import stage
    from pluralis.table.sources import read_table

    with stage("reading"):
        return read_table(table, encoding=encoding, separator=separator)


def gib(limit: float) -> int:
    """Gibibytes in bytes."""
    return int(limit * 2**30)


def listed(names: str) -> list[str]:
    """The names of an option that takes several: `A,B`."""
    return [name.strip() for name in names.split(",") if name.strip()]
