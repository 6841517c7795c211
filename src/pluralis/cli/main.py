"""The program: its commands, and what becomes of errors. Each command is a file of its own, named as it is typed.

A command parses, calls the library, and shows. Heavy imports happen inside commands, so that `--help` is quick.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from pluralis.cli.attack import attack
from pluralis.cli.audit import audit
from pluralis.cli.check import check
from pluralis.cli.compare import compare
from pluralis.cli.demo import demo
from pluralis.cli.init import init
from pluralis.cli.measure import measure
from pluralis.cli.methods import methods
from pluralis.cli.profile import profile
from pluralis.cli.publish import publish
from pluralis.cli.query import query
from pluralis.cli.reproduce import reproduce
from pluralis.cli.rules import rules
from pluralis.display.escaping import complain, print_json, print_lines, printable
from pluralis.display.words import folded
from pluralis.engines.process_pool import ALLOCATOR
from pluralis.errors import AuditFailed, Breached, PluralisError

DEBUG = "PLURALIS_DEBUG"
COMMANDS: tuple[Callable[..., None], ...] = (  # in the order of --help
    demo, profile, init, check, rules, publish, compare, audit, measure, query, attack, reproduce, methods,
)  # fmt: skip

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
    help="Publish tables with several sensitive attributes, under rules that an audit proves.",
)
for _command in COMMANDS:
    app.command()(_command)


def _version(asked: bool) -> None:
    if asked:
        from pluralis import __version__

        print_lines(f"pluralis {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of the program itself."""


def run(command: Callable[[], Any]) -> int:
    """Run a command; a refusal becomes a message on standard error and an exit code. So does any other error."""
    try:
        command()
    except PluralisError as refusal:
        if "--json" in sys.argv and isinstance(refusal, AuditFailed):
            print_json(refusal.verdict.to_dict())
        if "--json" in sys.argv and isinstance(refusal, Breached):
            print_json({"results": [result.to_dict() for result in refusal.results]})
        complain(*map(folded, refusal.lines))
        return refusal.exit_code
    except OSError as error:
        complain(f"{error.strerror or error}: {error.filename or ''}. Check the path.")
        return PluralisError.exit_code
    except MemoryError:
        complain("Not enough memory for this table. Use a machine with more of it.")
        return PluralisError.exit_code
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001, the last resort: Polars panics with what is no Exception
        _complain_of_fault(error)
        return PluralisError.exit_code
    return 0


def _complain_of_fault(error: BaseException) -> None:
    """An error that nobody foresaw, in one sentence; where it happened, for whoever asks."""
    if isinstance(error, UnicodeError):
        complain("An argument or a file holds bytes that are no text. Write it in UTF-8.")
    else:
        message = " ".join(str(error).split())[:300]
        complain(
            f"Ended by an unexpected {type(error).__name__}{f': {message}' if message else ''}. A file is damaged, or "
            f"this is a fault of Pluralis: please report it. Set {DEBUG}=1 to see where it happened."
        )
    if os.environ.get(DEBUG):
        whole = "".join(traceback.format_exception(error))
        complain("Where it happened:", *(f"  {line}" for line in whole.splitlines()))


def _terminated(*_: object) -> None:
    """End as if interrupted: what was staged, and rows that lie on disk while they are routed, are removed."""
    sys.exit(128 + signal.SIGTERM)


def main() -> None:
    """The entry point of the `pluralis` command."""
    os.environ.setdefault(*ALLOCATOR)
    signal.signal(signal.SIGTERM, _terminated)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a letter that the terminal does not have
    sys.exit(run(app))
