"""What a process holds of the machine's memory."""

from __future__ import annotations

import ctypes
import sys

LARGE = 4_000_000


def give_back(rows: int) -> None:
    """Return freed memory to the system. The C library of Linux keeps most of it otherwise, and the peak grows.

    Columns of LARGE tables are returned by themselves, as they are freed.
    """
    if rows >= LARGE:
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
