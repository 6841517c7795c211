"""What the commands share: the program, arguments that mean the same everywhere, the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from pluralis.escaping import printable

if TYPE_CHECKING:
    from pluralis.cli.terminal import Terminal


_Complaint: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


@contextmanager
def _readable() -> Iterator[None]:
    """Usage errors repeat what was typed, and are shown by Typer."""
    try:
        yield
    except _Complaint as error:
        error.message = printable(error.message)  # type: ignore[attr-defined]
        raise


class _Program(TyperGroup):
    def make_context(self, *words: Any, **more: Any) -> Any:
        with _readable():
            return super().make_context(*words, **more)

    def invoke(self, ctx: Any) -> Any:
        with _readable():
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Program,
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
Limit = Annotated[
    float, typer.Option("--limit", min=0, metavar="GIB", help="Refuse a release whose tables unfold to more than this.")
]
Separator = Annotated[str | None, typer.Option(help="Separator of a CSV file; found from its header if not given.")]


def read(path: Path, encoding: str, separator: str | None) -> Any:
    from pluralis.progress import stage
    from pluralis.table.sources import read_table

    with stage("reading"):
        return read_table(path, encoding=encoding, separator=separator)


def gib(limit: float) -> int:
    """Gibibytes in bytes."""
    return int(limit * 2**30)


def listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def terminal() -> Terminal:
    from pluralis.cli.terminal import Terminal

    return Terminal(width=None if sys.stdout.isatty() else 160)


def progress() -> Any:
    from pluralis.cli.progress_bars import progress_bars
    from pluralis.cli.terminal import Terminal
    from pluralis.cli.warm import announce_compilation

    console = Terminal(stderr=True)
    announce_compilation(lambda text: console.say("{}", text, style="dim"))
    return progress_bars(console)
