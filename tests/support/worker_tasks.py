"""What workers in other processes are given to do: little to import, so that they start fast."""

from __future__ import annotations

import os
import time

from pluralis.errors import InputError


def double(shared: bytes, task: int) -> int:
    """Twice the task; some tasks kill the worker, keep it for long, or raise."""
    if task == 13:
        os._exit(3)
    if task == 99:
        time.sleep(60)
    if task < 0:
        raise InputError("no")
    if task == 77:
        raise ValueError("oops")
    print("a worker may print")
    return 2 * task + len(shared)


def end(shared: bytes, task: object) -> None:
    """A worker that the system ends."""
    os._exit(3)
