"""The command line: parse, call one library function, show. Heavy imports happen inside the commands."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from pluralis.errors import AuditFailed, Breached, PluralisError
from pluralis.present import publishing, using  # noqa: F401, they add their commands
from pluralis.present.command import app, print_json


def _version(asked: bool) -> None:
    if asked:
        from pluralis import __version__

        print(f"pluralis {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of the program itself."""


def run(command: Callable[[], Any]) -> int:
    """Run a command; a refusal becomes a message on standard error and an exit code."""
    try:
        command()
    except AuditFailed as refusal:
        if "--json" in sys.argv:
            print_json(refusal.verdict.to_dict())
        print(f"pluralis: {refusal}", file=sys.stderr)
        return refusal.exit_code
    except Breached as refusal:
        if "--json" in sys.argv:
            print_json({"results": [result.to_dict() for result in refusal.results]})
        print(f"pluralis: {refusal}", file=sys.stderr)
        return refusal.exit_code
    except PluralisError as refusal:
        print(f"pluralis: {refusal}", file=sys.stderr)
        return refusal.exit_code
    except OSError as error:
        print(f"pluralis: {error.strerror or error}: {error.filename or ''}. Check the path.", file=sys.stderr)
        return PluralisError.exit_code
    except MemoryError:
        print("pluralis: Not enough memory for this table. Use a machine with more of it.", file=sys.stderr)
        return PluralisError.exit_code
    return 0


def main() -> None:
    """The entry point of the `pluralis` command."""
    sys.exit(run(app))
