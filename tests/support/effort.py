"""How often a test tries. Every run takes a third; with PLURALIS_LONG=1, as `make fuzz` sets it, all are tried."""

from __future__ import annotations

import os

LONG = os.environ.get("PLURALIS_LONG") == "1"


def tries(number: int) -> int:
    """So many in a long run, a third of them in others."""
    return number if LONG else -(-number // 3)
