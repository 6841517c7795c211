"""Progress on a terminal: one line per step, a bar for those that know how far they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from pluralis.cli.terminal import Terminal
from pluralis.escaping import printable
from pluralis.progress import listening


class _Bars:
    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def begin(self, what: str) -> None:
        self._tasks[what] = self._progress.add_task(printable(what), total=None)

    def advance(self, what: str, share: float) -> None:
        self._progress.update(self._tasks[what], total=1.0, completed=share)

    def end(self, what: str) -> None:
        self._progress.update(self._tasks[what], total=1.0, completed=1.0)


@contextmanager
def progress_bars(console: Terminal) -> Iterator[None]:
    """Show the steps of what happens inside, if somebody is looking."""
    if not console.is_terminal:
        yield
        return
    columns = (TextColumn("  {task.description:<28}", markup=False), BarColumn(bar_width=30), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress, listening(_Bars(progress)):
        yield
