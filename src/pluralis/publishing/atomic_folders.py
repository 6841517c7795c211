"""Making a folder visible whole or not at all.

Files are written beside the target in a folder of mode 0700 that is locked while its writer lives, with exclusive
create, and synced. The folder then takes its name in one rename that replaces nothing, or that exchanges it for the
old one. A writer that fails takes back what it showed. One that was killed leaves at most hidden folders, which the
next one removes.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pluralis.errors import OutputError

_NOREPLACE, _EXCHANGE, _HERE = 1, 2, -100
_OLD = ".old"
_TOKEN = 8  # bytes that tell staged folders of one name apart
SPILL = ".spill"  # what the name of a folder ends with in which rows lie while they are routed
_SPILLED = re.compile(rf"\..+{re.escape(SPILL)}\.staging-[0-9a-f]{{{2 * _TOKEN}}}")


def check_target(target: Path, *, replace: bool, mark: str) -> None:
    """Refuse a target that exists (unless it is to be replaced), is a link, or has no parent folder.

    Only a folder that holds the file `mark` may be replaced: nobody loses a folder that Pluralis did not write.
    """
    if target.is_symlink():
        raise OutputError(f"{target} is a symbolic link. Name a real folder.")
    if target.exists() and not replace:
        raise OutputError(
            f"{target} exists already. To publish the same people again, pass --replace: what both releases tell "
            "together is then looked at. Two under different names can be intersected, and nobody looks at both. "
            "Choose another name for another table."
        )
    if target.exists() and not target.is_dir():
        raise OutputError(f"{target} is a file. Choose another name.")
    if target.exists() and any(target.iterdir()) and not (target / mark).is_file():
        raise OutputError(
            f"{target} holds no {mark}, so it is not a folder of Pluralis's to replace. Choose another name."
        )
    if not target.parent.is_dir():
        raise OutputError(f"{target.parent} is not a folder. Create it first.")
    if target.name in ("", ".", "..") or target.name.startswith("."):
        raise OutputError(f"{target} cannot be the name of a release. Choose a plain name.")


def require_writable(folder: Path) -> None:
    """Refuse a folder in which nothing can be made, before work is done for it."""
    try:
        Path(tempfile.mkdtemp(prefix=".pluralis-", dir=folder)).rmdir()
    except OSError as error:
        raise OutputError(f"Nothing can be written to {folder}: {error.strerror}. Choose another place.") from None


class StagedFolder:
    """A folder in which new files are written, none over another."""

    def __init__(self, folder: Path, mode: int = 0o700) -> None:
        self.folder = folder
        self.folder.mkdir(mode=mode)
        self.folder.chmod(mode)  # whatever the umask

    def write(self, name: str, data: bytes, mode: int = 0o644) -> None:
        """One new file, synced, of this mode whatever the umask: what is published can be read."""
        handle = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def rewrite(self, name: str, data: bytes) -> None:
        """Another content for a file that was written before."""
        (self.folder / name).unlink()
        self.write(name, data)

    def sync(self) -> None:
        """Let the folder remember its files, whatever happens to the machine."""
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class Stage(StagedFolder):
    """A hidden folder that will become `target`."""

    def __init__(self, target: Path) -> None:
        super().__init__(target.parent / f".{target.name}.staging-{secrets.token_hex(_TOKEN)}")
        self.target = target
        self._lock = os.open(self.folder, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def show(self, undo: ExitStack, *, replace: bool, mode: int = 0o700) -> None:
        """Let the folder take its name, in one step; `undo` takes it back."""
        self.folder.chmod(mode)
        os.fsync(self._lock)
        undo.callback(self._hide)
        _rename(self.folder, self.target, _EXCHANGE if replace and self.target.exists() else _NOREPLACE)
        parent = os.open(self.target.parent, os.O_RDONLY)
        try:
            os.fsync(parent)
        finally:
            os.close(parent)

    def _hide(self) -> None:
        """If the folder has its name, give that back to whoever had it."""
        if not self.target.exists() or not os.path.samestat(os.fstat(self._lock), self.target.stat()):
            return
        if self.folder.exists():
            _rename(self.folder, self.target, _EXCHANGE)
        else:
            _rename(self.target, self.folder, _NOREPLACE)

    def discard(self) -> None:
        """Remove what has the hidden name, be it staged or replaced, and let go of the lock."""
        try:
            shutil.rmtree(self.folder, ignore_errors=True)
        finally:
            os.close(self._lock)


@contextmanager
def staging(*targets: Path) -> Iterator[list[Stage]]:
    """Hidden folders for several targets; what is not shown by the end is removed."""
    stages: list[Stage] = []
    try:
        with ExitStack() as end:
            for target in targets:
                with one_at_a_time(target.parent):  # nobody takes a folder that is not locked yet for an abandoned one
                    _remove_abandoned(target)
                    stages.append(Stage(target))
                    end.callback(stages[-1].discard)
            yield stages
    except OSError as error:
        reason = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror or str(error)
        raise OutputError(f"Nothing was written to {targets[0]}: {reason}.") from error


@contextmanager
def one_at_a_time(parent: Path) -> Iterator[None]:
    """Only one writer in a folder makes something visible at a time; the lock ends with its holder."""
    handle = os.open(parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def restore(target: Path) -> None:
    """Give a folder its name back whose writer was killed within an exchange that took several steps."""
    if target.parent.is_dir() and not os.path.lexists(target):
        with one_at_a_time(target.parent):
            _put_back(target)


def _put_back(target: Path) -> None:
    for old in _staged_for(target):
        if old.name.endswith(_OLD) and not target.exists():
            old.rename(target)


def _staged_for(target: Path) -> list[Path]:
    """The hidden folders of a target: names are compared letter by letter, whatever is in them."""
    staged = re.compile(rf"\.{re.escape(target.name)}\.staging-[0-9a-f]{{{2 * _TOKEN}}}({re.escape(_OLD)})?")
    return [folder for folder in sorted(target.parent.iterdir()) if staged.fullmatch(folder.name)]


def _remove_abandoned(target: Path) -> None:
    """Remove staged folders whose writer is gone, and what any such writer in this folder spilled: rows of a table."""
    _put_back(target)
    spilled = [folder for folder in target.parent.iterdir() if _SPILLED.fullmatch(folder.name)]
    for folder in dict.fromkeys([*_staged_for(target), *sorted(spilled)]):
        _remove_if_abandoned(folder)


def _remove_if_abandoned(folder: Path) -> None:
    """Remove a staged folder whose lock is free."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    else:
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(handle)


def _rename(source: Path, target: Path, flag: int) -> None:
    """Rename without replacing, or exchange two folders, as one step where the system can."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if renameat2 is not None:
        if renameat2(_HERE, os.fsencode(source), _HERE, os.fsencode(target), flag) == 0:
            return
        code = ctypes.get_errno()
        if code == errno.EEXIST:
            raise OutputError(f"{target} exists already: another writer was first. Nothing was changed.")
        if code not in (errno.EINVAL, errno.ENOSYS):
            raise OSError(code, os.strerror(code), str(target))
    if flag == _NOREPLACE:
        if os.path.lexists(target):
            raise OutputError(f"{target} exists already: another writer was first. Nothing was changed.")
        source.rename(target)
        return
    old = source.with_name(source.name + _OLD)
    target.rename(old)
    source.rename(target)
    old.rename(source)
