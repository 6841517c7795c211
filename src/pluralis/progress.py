"""Saying how far a long step is, without anybody passing a progress bar around.

A step is announced with `stage`; whoever shows progress (the command line) installs a listener. Without one
nothing is shown and nothing costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Listener(Protocol):
    """Shows steps to a person."""

    def begin(self, what: str) -> None: ...

    def advance(self, what: str, share: float) -> None: ...

    def end(self, what: str) -> None: ...


_listener: ContextVar[Listener | None] = ContextVar("pluralis_progress", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let `listener` hear every stage inside this block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def stage(what: str) -> Iterator[Callable[[float], None]]:
    """One step; call what it yields with the share done, from 0 to 1.

    >>> with stage("grouping") as done:
    ...     done(0.5)
    """
    listener = _listener.get()
    if listener is None:
        yield lambda share: None
        return
    listener.begin(what)
    try:
        yield lambda share: listener.advance(what, share)
    finally:
        listener.end(what)
