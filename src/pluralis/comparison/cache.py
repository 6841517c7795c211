"""Figures that were worked out before, kept by what they were worked out from.

They lie in a folder of the user's own (XDG_CACHE_HOME/pluralis, or ~/.cache/pluralis), of mode 0700, never in a
release: they tell how a private table is distributed. A key is a hash of everything that a figure depends on, the
program included. So nothing is ever stale, and what is damaged is worked out again.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any


def cache_folder() -> Path:
    """Where figures are kept."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(named) if Path(named).is_absolute() else Path.home() / ".cache"
    return home / "pluralis"


def digest(*parts: str | bytes) -> str:
    """A hash of some parts, each of them told from the next.

    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        whole.update(f"{len(data)} ".encode())
        whole.update(data)
    return whole.hexdigest()


@cache
def program() -> str:
    """A hash of the program: another one may work out other figures."""
    root = Path(__file__).parents[1]
    shows = ("cli", "report")
    files = sorted(path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in shows)
    return digest(*(part for path in files for part in (str(path.relative_to(root)), path.read_bytes())))


class Remembered:
    """Figures by their keys. Where the folder cannot be the user's own, nothing is kept."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or cache_folder()
        self._usable = _own(self.folder)

    def get(self, key: str) -> Any:
        """What is kept under a key, or None."""
        if not self._usable:
            return None
        with suppress(OSError, ValueError):  # not there, or damaged
            return json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))
        return None

    def put(self, key: str, figures: Any) -> None:
        """Keep figures; whoever reads sees all of them or none."""
        if not self._usable:
            return
        beside = self.folder / f".{key}.{secrets.token_hex(8)}"
        with suppress(OSError):  # a full disk costs time in the next run, and nothing in this one
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(figures, file)
            beside.replace(self.folder / f"{key}.json")


def _own(folder: Path) -> bool:
    """Whether a folder is there, is the user's, and is closed to others."""
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            return False
        folder.chmod(0o700)
        return True
    return False
