"""The key and what is drawn from it.

Whatever decides privacy (which row meets which, the numbering of groups) is a function of the publisher's key.
A subkey is BLAKE2b over the key and the purpose; SHAKE-256 stretches it into as many words as are needed. The
words meet the rows in the table's canonical order, so the same table and key give the same draws whatever the
order of the input, and nobody without the key can repeat them. Where a draw must not depend on other rows, the subkey
is that of SipHash, a keyed function, over what the row is (`identity`).
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pluralis.errors import InputError
from pluralis.kernels.shuffle import order_of_words

KEY_BYTES = 32
KEY_FILE_BYTES = 2**26  # designs hold every value of an attribute


@dataclass(frozen=True)
class Made:
    """A release that was made: its method, and a digest of its tables."""

    method: str
    tables: str


@dataclass(frozen=True, repr=False)
class Key:
    """The publisher's key: 32 bytes that never enter a release.

    Parameters
    ----------
    key_bytes : bytes
        32 bytes. Let `Key.new` draw them.
    designs : dict
        What earlier releases under this key decided and later ones must repeat (see `addition`): a set that is drawn
        again from another design can be intersected with the first.
    made : tuple of Made
        The releases made under this key: one more that is not among them tells of the same people again.

    Examples
    --------
    >>> Key.test()
    Key(test)
    >>> Key.test().is_test, Key.new().is_test
    (True, False)
    """

    key_bytes: bytes
    designs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    made: tuple[Made, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if len(self.key_bytes) != KEY_BYTES:
            raise InputError(f"A key has {KEY_BYTES} bytes, this one has {len(self.key_bytes)}. Let Pluralis make it.")

    @classmethod
    def new(cls) -> Key:
        """A fresh key from the operating system.

        Returns
        -------
        Key
            32 random bytes.

        Examples
        --------
        >>> len(Key.new().key_bytes)
        32
        """
        return cls(secrets.token_bytes(KEY_BYTES))

    @classmethod
    def test(cls) -> Key:
        """The fixed key of the tests; a release made with it says so and is refused by the audit.

        Returns
        -------
        Key
            The same each time.

        Examples
        --------
        >>> Key.test() == Key.test()
        True
        """
        return cls(hashlib.blake2b(b"pluralis test key", digest_size=KEY_BYTES).digest())

    @classmethod
    def read(cls, path: str | Path) -> Key:
        """Read a key file; refuse one that is not the caller's alone.

        Parameters
        ----------
        path : str or Path
            The file `key` of a private folder.

        Returns
        -------
        Key
            The key, with what was made under it.

        Raises
        ------
        InputError
            If it holds no key, or others can read or plant it.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     Key.test().write(Path(folder, "key"))
        ...     Key.read(Path(folder, "key"))
        Key(test)
        """
        path = Path(path)
        lines = _read_own(path).decode("utf-8", errors="replace").strip().split("\n")
        try:
            text, designs, releases = [*lines, *["{}", "[]"][len(lines) - 1 :]]
            known, made = json.loads(designs), json.loads(releases)
            if not isinstance(known, dict) or not all(isinstance(design, dict) for design in known.values()):
                raise ValueError(designs)
            if not isinstance(made, list):
                raise TypeError(releases)
            return cls(bytes.fromhex(text), known, tuple(Made(**one) for one in made))
        except (ValueError, TypeError):
            raise InputError(
                f"{path.name} holds no key: expected {2 * KEY_BYTES} hexadecimal digits, and designs and releases as "
                "Pluralis wrote them. Restore it: without it the same people cannot be published again."
            ) from None

    def write(self, path: Path) -> None:
        """Write the key where nothing is yet, readable by its owner alone.

        Parameters
        ----------
        path : Path
            The file to write.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     Key.test().write(Path(folder, "key"))
        ...     oct(Path(folder, "key").stat().st_mode & 0o777)
        '0o600'
        """
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(self.key_bytes.hex() + "\n")
            if self.designs or self.made:
                file.write(json.dumps(self.designs, ensure_ascii=False) + "\n")
            if self.made:
                file.write(json.dumps([asdict(made) for made in self.made], ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def with_designs(self, designs: Mapping[str, Mapping[str, Any]]) -> Key:
        """The same key, with more to repeat.

        Parameters
        ----------
        designs : dict
            What was decided, by attribute.

        Returns
        -------
        Key
            A new object of the same key.

        Examples
        --------
        >>> sorted(Key.test().with_designs({"disease": {}}).designs)
        ['disease']
        """
        return replace(self, designs={**self.designs, **designs})

    def with_release(self, made: Made) -> Key:
        """The same key, with one more release made under it, unless that was made before.

        Parameters
        ----------
        made : Made
            The release.

        Returns
        -------
        Key
            A new object of the same key.

        Examples
        --------
        >>> len(Key.test().with_release(Made("bsgi", "digest")).made)
        1
        """
        return self if made in self.made else replace(self, made=(*self.made, made))

    def repeats(self, other: Key) -> bool:
        """Whether it is the same key, and holds to everything that the other decided.

        Parameters
        ----------
        other : Key
            An earlier key.

        Returns
        -------
        bool
            Whether a release under this key repeats those under the other.

        Examples
        --------
        >>> Key.test().repeats(Key.test().with_designs({"disease": {"l": 2}}))
        False
        """
        same = secrets.compare_digest(self.key_bytes, other.key_bytes)
        return same and all(self.designs.get(name) == design for name, design in other.designs.items())

    @property
    def is_test(self) -> bool:
        """Whether it is the fixed key of the tests, which everybody has."""
        return secrets.compare_digest(self.key_bytes, Key.test().key_bytes)

    def __repr__(self) -> str:
        return "Key(test)" if self.is_test else "Key(secret)"


def _read_own(path: Path) -> bytes:
    """The bytes of a file that belongs to whoever reads it and that nobody else can read or change.

    Whoever plants a key, or has read it, can repeat every draw, and undo the release. The folder is opened first and
    the file in it, so that what is checked is what is read.
    """
    folder = path.absolute().parent
    try:
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise _no_key(folder, error) from None
    try:
        _require_owned(folder, os.fstat(place))
        if os.fstat(place).st_mode & 0o022:
            raise InputError(
                f"{folder} can be written to by others (mode {os.fstat(place).st_mode & 0o7777:03o}), who may have "
                f"planted its key. If they have not: chmod 700 {folder}. Else publish under another name."
            )
        try:  # a pipe is not waited for
            handle = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
        except OSError as error:
            raise _no_key(path, error) from None
    finally:
        os.close(place)
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or status.st_size > KEY_FILE_BYTES:
        os.close(handle)
        raise InputError(f"{path} is not a key file. Name the file `key` in a private folder.")
    with os.fdopen(handle, "rb") as file:
        _require_owned(path, status)
        if status.st_mode & 0o077:
            raise InputError(
                f"{path} can be used by others (mode {status.st_mode & 0o7777:03o}), and whoever has the key can undo "
                f"the release. If nobody has read it: chmod 600 {path}. Else others may hold it: publish under "
                "another name, and know that both releases can be intersected."
            )
        return file.read()


def _require_owned(path: Path, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise InputError(
            f"{path} belongs to user {status.st_uid}, not to you (user {os.geteuid()}): the key may be planted, and "
            "whoever planted it can undo the release. Publish as its owner, or, if you know it to be yours, chown it."
        )


def _no_key(path: Path, error: OSError) -> Exception:
    """Why a key cannot be read; another fault of the system stays what it is."""
    if error.errno in (errno.ELOOP, errno.EMLINK) or path.is_symlink():
        return InputError(f"{path} is a symbolic link. A key is a real file in a real folder: put it there.")
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENXIO):
        return InputError(f"{path} is not a key file. Name the file `key` in a private folder.")
    if error.errno in (errno.EACCES, errno.EPERM):
        return InputError(f"{path} cannot be read: {error.strerror}. Publish as its owner.")
    return error


@dataclass(frozen=True)
class Draw:
    """Everything random that a method may use.

    >>> draw = Draw(Key.test())
    >>> bool((draw.permutation(5, "groups") == draw.permutation(5, "groups")).all())
    True
    """

    key: Key
    part: str = ""

    def for_part(self, part: str) -> Draw:
        """The draws of a part of a release, which are independent of all others."""
        return replace(self, part=f"{self.part}{part}/")

    def words(self, count: int, purpose: str) -> npt.NDArray[np.uint64]:
        """`count` independent 64-bit words; another purpose gives other words."""
        return np.frombuffer(hashlib.shake_256(self._subkey(purpose)).digest(8 * count), dtype="<u8")

    def pair(self, purpose: str) -> tuple[np.uint64, np.uint64]:
        """The key of a function of rows (SipHash), for what must not depend on other rows."""
        first, second = np.frombuffer(self._subkey(purpose)[:16], dtype="<u8")
        return first, second

    def _subkey(self, purpose: str) -> bytes:
        return hashlib.blake2b((self.part + purpose).encode(), key=self.key.key_bytes, digest_size=32).digest()

    def permutation(self, count: int, purpose: str) -> npt.NDArray[np.int64]:
        """A uniform random order of 0 … count-1 (equal words, one chance in 2^64 a pair, keep their order)."""
        order: npt.NDArray[np.int64] = order_of_words(self.words(count, purpose))
        return order
