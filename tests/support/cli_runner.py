"""The program as it is called, in this process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from pluralis.cli.main import app, run


class Ran(NamedTuple):
    """What a call gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def caller(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *before: str) -> Callable[..., Ran]:
    """A function that calls `pluralis` with words that come after these."""

    def call(*words: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["pluralis", *before, *words])
        try:
            code = run(app)
        except SystemExit as stop:
            code = int(stop.code or 0)
        return Ran(code, *capsys.readouterr())

    return call
