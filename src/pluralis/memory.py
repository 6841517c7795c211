"""What a process holds of the machine's memory.

The C library of Linux keeps most of what is freed, in case it is needed again, and the peak grows.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

SMALL = 1_000_000
LARGE = 4_000_000
_MMAP_THRESHOLD = -3  # of mallopt


def keep_little(rows: int) -> None:
    """Have whole columns of SMALL tables returned to the system as they are freed; of larger ones it takes longer."""
    if mallopt := _of_the_c_library("mallopt"):
        mallopt(_MMAP_THRESHOLD, 1 << 20 if rows < SMALL else 1 << 25)


def give_back(rows: int) -> None:
    """Return freed memory to the system. Columns of LARGE tables are returned by themselves."""
    if rows < LARGE and (trim := _of_the_c_library("malloc_trim")):
        trim(0)


def _of_the_c_library(name: str) -> Any:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
