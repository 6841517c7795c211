"""Saying that kernels are compiled, when Numba compiles one that its cache does not have."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

COMPILING = "Compiling (once, about 30 s)."


class Compilation(ExitStack):
    """A block in which it is said, once, that kernels are compiled.

    Numba tells when it compiles. It takes long to load, and not every command needs it: it is not loaded for this, and
    whoever is in the block calls `listen` now and then, which listens as soon as Numba is there.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self._say = say
        self._listening = self._announced = False

    def listen(self) -> None:
        if self._listening or "numba" not in sys.modules:
            return
        from numba.core.event import Listener, install_listener

        compilation = self

        class Announcer(Listener):
            def on_start(self, _event: Any) -> None:
                compilation._begun()

            def on_end(self, _event: Any) -> None:
                pass

        self.enter_context(install_listener("numba:compile", Announcer()))
        self._listening = True

    def _begun(self) -> None:
        if not self._announced:
            self._announced = True
            self._say(COMPILING)
