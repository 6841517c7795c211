"""What a process holds of the machine's memory."""

from __future__ import annotations

import ctypes
import sys


def give_back() -> None:
    """Return freed memory to the system. The C library of Linux keeps most of it otherwise, and the peak grows."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
