"""The secret key and what is drawn from it.

Whatever decides privacy (which row meets which, the numbering of groups) is a function of the publisher's key.
A subkey is BLAKE2b over the key and the purpose; SHAKE-256 stretches it into as many words as are needed. The
words meet the rows in the table's canonical order, so the same table and key give the same draws whatever the
order of the input, and nobody without the key can repeat them.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pluralis.errors import InputError
from pluralis.kernels.shuffle import order_of_words

KEY_BYTES = 32


@dataclass(frozen=True, repr=False)
class Key:
    """The publisher's secret: 32 bytes that never enter a release.

    >>> Key.test().is_test, Key.new().is_test
    (True, False)
    """

    secret: bytes

    def __post_init__(self) -> None:
        if len(self.secret) != KEY_BYTES:
            raise InputError(f"A key has {KEY_BYTES} bytes, this one has {len(self.secret)}. Let Pluralis make it.")

    @classmethod
    def new(cls) -> Key:
        """A fresh key from the operating system."""
        return cls(secrets.token_bytes(KEY_BYTES))

    @classmethod
    def test(cls) -> Key:
        """The fixed key of the tests; a release made with it says so and is refused by the audit."""
        return cls(hashlib.blake2b(b"pluralis test key", digest_size=KEY_BYTES).digest())

    @classmethod
    def read(cls, path: str | Path) -> Key:
        path = Path(path)
        if not path.is_file():
            raise InputError(f"{path} is not a key file. Name the file `key` in a private folder.")
        text = path.read_text(encoding="ascii", errors="replace").strip()
        try:
            return cls(bytes.fromhex(text))
        except ValueError:
            raise InputError(f"{path.name} holds no key: expected {2 * KEY_BYTES} hexadecimal digits.") from None

    def write(self, path: Path) -> None:
        """Write the key where nothing is yet, readable by its owner alone."""
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(self.secret.hex() + "\n")
            file.flush()
            os.fsync(file.fileno())

    @property
    def is_test(self) -> bool:
        return secrets.compare_digest(self.secret, Key.test().secret)

    def __repr__(self) -> str:
        return "Key(test)" if self.is_test else "Key(secret)"


@dataclass(frozen=True)
class Draw:
    """Everything random that a method may use.

    >>> draw = Draw(Key.test())
    >>> bool((draw.permutation(5, "groups") == draw.permutation(5, "groups")).all())
    True
    """

    key: Key

    def words(self, count: int, purpose: str) -> npt.NDArray[np.uint64]:
        """`count` independent 64-bit words; another purpose gives other words."""
        subkey = hashlib.blake2b(purpose.encode(), key=self.key.secret, digest_size=32).digest()
        return np.frombuffer(hashlib.shake_256(subkey).digest(8 * count), dtype="<u8")

    def permutation(self, count: int, purpose: str) -> npt.NDArray[np.int64]:
        """A uniform random order of 0 … count-1 (equal words, one chance in 2^64 a pair, keep their order)."""
        order: npt.NDArray[np.int64] = order_of_words(self.words(count, purpose))
        return order
