"""Progress on a terminal: one line per step, a bar for those that know how far they are."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from pluralis.cli.compilation import Compilation
from pluralis.cli.terminal import Terminal
from pluralis.display.escaping import printable
from pluralis.progress import listening

BETWEEN_LINES = 30.0  # seconds


class _Bars:
    def __init__(self, progress: Progress, compilation: Compilation) -> None:
        self._progress = progress
        self._compilation = compilation
        self._tasks: dict[str, TaskID] = {}

    def begin(self, what: str) -> None:
        self._compilation.listen()
        self._tasks[what] = self._progress.add_task(printable(what), total=None)

    def advance(self, what: str, share: float) -> None:
        self._progress.update(self._tasks[what], total=1.0, completed=share)

    def end(self, what: str) -> None:
        self._progress.update(self._tasks[what], total=1.0, completed=1.0)


class _Lines:
    """A line on standard error now and then, where no terminal shows bars: a log shows that work goes on."""

    def __init__(self, console: Terminal, compilation: Compilation) -> None:
        self._console = console
        self._compilation = compilation
        self._last = time.monotonic()

    def begin(self, what: str) -> None:
        self._compilation.listen()
        self._say(what)

    def advance(self, what: str, share: float) -> None:
        self._say(f"{what}: {share:.0%}")

    def end(self, what: str) -> None:
        pass

    def _say(self, text: str) -> None:
        if time.monotonic() - self._last >= BETWEEN_LINES:
            self._last = time.monotonic()
            self._console.say("{}", text)


def progress() -> AbstractContextManager[None]:
    """The steps of a command, shown on standard error."""
    return progress_bars(Terminal(stderr=True))


@contextmanager
def progress_bars(console: Terminal) -> Iterator[None]:
    """Show the steps of what happens inside: bars on a terminal, else a line now and then. Compiling is said, too."""
    with Compilation(lambda text: console.say("{}", text, style="dim")) as compilation:
        compilation.listen()
        if not console.is_terminal:
            with listening(_Lines(console, compilation)):
                yield
            return
        columns = (TextColumn("  {task.description:<28}", markup=False), BarColumn(bar_width=30), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=True) as bars, listening(_Bars(bars, compilation)):
            yield
