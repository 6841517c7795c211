"""What the commands share: the program, arguments that mean the same everywhere, the terminal."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Publish tables that hold several secrets per person, under rules that an audit proves.",
)

TableFile = Annotated[Path, typer.Argument(metavar="TABLE", help="CSV (.csv, .tsv, .txt, also .gz) or Parquet file.")]
ReleaseFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A release folder.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Encoding = Annotated[str, typer.Option(help="Character set of a CSV file that is not UTF-8.")]
Separator = Annotated[str | None, typer.Option(help="Separator of a CSV file; found from its header if not given.")]


def read(path: Path, encoding: str, separator: str | None) -> Any:
    from pluralis.io import read_table
    from pluralis.progress import stage

    with stage("reading"):
        return read_table(path, encoding=encoding, separator=separator)


def listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def terminal() -> Console:
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else 160)


def progress() -> Any:
    from rich.console import Console

    from pluralis.present.bars import progress_bars
    from pluralis.warm import announce_compilation

    console = Console(stderr=True)
    announce_compilation(lambda text: console.print(text, style="dim"))
    return progress_bars(console)


def print_json(data: Any) -> None:
    print(json.dumps(data, indent=1, ensure_ascii=False, default=str))
