"""Keys and draws, one thing at a time: the bytes of a key file, who may read it, and the words that a key gives."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pluralis.errors import InputError
from pluralis.randomness import Draw, Key, Made

SECRET = bytes(range(32))
HEX = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
KEY = Key(SECRET)
DESIGN = {"krankheit": {"design": "uniform", "values": ["grippe", "größe"]}}
RELEASE = Made("bsgi", "ab" * 32)
WORDS = [5581826801850796243, 4894084644154576600, 1311511742950635536]  # of SECRET, for "rows"


def said_by(call: Callable[[], Any]) -> str:
    with pytest.raises(InputError) as refused:
        call()
    return str(refused.value)


# keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_key_has_32_bytes(size: int) -> None:
    assert said_by(lambda: Key(bytes(size))) == f"A key has 32 bytes, this one has {size}. Let Pluralis make it."


def test_the_key_of_the_tests_says_so() -> None:
    assert Key.test().key_bytes.hex() == "efbdc3e1bc1e79d77340f2f7edc0e5fb51a2ee93db57d5c9c896b3b75c663510"
    assert Key.test().is_test
    assert repr(Key.test()) == "Key(test)"
    assert not KEY.is_test


def test_a_key_does_not_show_itself() -> None:
    assert repr(KEY) == str(KEY) == "Key(secret)"


def test_keys_are_compared_by_what_they_decide() -> None:
    assert Key(SECRET, DESIGN) == Key(SECRET, DESIGN, (RELEASE,))
    assert Key(SECRET, DESIGN) != KEY
    assert Key(SECRET) != Key(bytes(32))
    assert hash(Key(SECRET, DESIGN)) == hash(Key(SECRET, DESIGN, (RELEASE,)))


def test_keys_draws_and_releases_cannot_be_changed() -> None:
    for thing, name in ((KEY, "key_bytes"), (RELEASE, "method"), (Draw(KEY), "part")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, name, b"")


def test_what_was_made_is_kept_once() -> None:
    once = KEY.with_release(RELEASE)
    assert once.made == (RELEASE,)
    assert once.with_release(Made("bsgi", "ab" * 32)).made == (RELEASE,)
    other = Made("msb", "ab" * 32)
    assert once.with_release(other).made == (RELEASE, other)
    assert once.with_release(RELEASE) is once


def test_designs_are_added() -> None:
    both = Key(SECRET, {"a": {"l": 2}}, (RELEASE,)).with_designs({"b": {"l": 3}})
    assert both.designs == {"a": {"l": 2}, "b": {"l": 3}}
    assert both.made == (RELEASE,)


def test_a_key_repeats_another_if_it_holds_to_what_that_decided() -> None:
    one = Key(SECRET, {"a": {"l": 2}})
    assert one.repeats(KEY)
    assert one.repeats(one)
    assert Key(SECRET, {"a": {"l": 2}, "b": {"l": 3}}).repeats(one)
    assert not KEY.repeats(one)
    assert not Key(SECRET, {"a": {"l": 3}}).repeats(one)
    assert not Key(bytes(32), {"a": {"l": 2}}).repeats(one)
    assert not Key(bytes(32)).repeats(KEY)


# files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (KEY, f"{HEX}\n"),
        (
            Key(SECRET, DESIGN),
            f'{HEX}\n{{"krankheit": {{"design": "uniform", "values": ["grippe", "größe"]}}}}\n',
        ),
        (
            Key(SECRET, {}, (Made("größe", "ab"),)),
            f'{HEX}\n{{}}\n[{{"method": "größe", "tables": "ab"}}]\n',
        ),
    ],
)
def test_the_bytes_of_a_key_file(key: Key, text: str, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        key.write(tmp_path / "key")
    finally:
        os.umask(before)
    assert (tmp_path / "key").read_text(encoding="utf-8") == text
    assert (tmp_path / "key").stat().st_mode & 0o7777 == 0o600
    again = Key.read(tmp_path / "key")
    assert (again.key_bytes, again.designs, again.made) == (key.key_bytes, key.designs, key.made)


def test_a_key_is_on_the_disk_before_anything_is_drawn_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_size))
    KEY.write(tmp_path / "key")
    assert synced == [65]


def test_a_key_is_not_written_over_another(tmp_path: Path) -> None:
    KEY.write(tmp_path / "key")
    with pytest.raises(FileExistsError):
        Key(bytes(32)).write(tmp_path / "key")
    assert Key.read(tmp_path / "key") == KEY


NO_KEY = (
    "key holds no key: expected 64 hexadecimal digits, and designs and releases as Pluralis wrote them. Restore it: "
    "without it the same people cannot be published again."
)


def key_file(folder: Path, text: str | bytes, mode: int = 0o600) -> Path:
    path = folder / "key"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)
    folder.chmod(0o700)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "no key",
        f"{HEX}\n[]",
        f'{HEX}\n{{"a": 1}}',
        f"{HEX}\n{{",
        f"{HEX}\n{{}}\n{{}}",
        f"{HEX}\n{{}}\n[1]",
        f'{HEX}\n{{}}\n[{{"method": "bsgi"}}]',
        f'{HEX}\n{{}}\n[{{"method": "bsgi", "tables": "ab", "more": 1}}]',
        f"{HEX}\n{{}}\n[]\n[]",
        b"\xff" * 64,
    ],
)
def test_what_is_no_key(text: str | bytes, tmp_path: Path) -> None:
    assert said_by(lambda: Key.read(key_file(tmp_path, text))) == NO_KEY


@pytest.mark.parametrize(("text", "size"), [("", 0), (HEX[2:], 31), (HEX + "20", 33)])
def test_a_key_of_another_length_is_none(text: str, size: int, tmp_path: Path) -> None:
    message = said_by(lambda: Key.read(key_file(tmp_path, text)))
    assert message == f"A key has 32 bytes, this one has {size}. Let Pluralis make it."


@pytest.mark.parametrize("text", [HEX, f"{HEX}\n", f"{HEX}\n{{}}", f"{HEX}\n{{}}\n[]\n", f"  {HEX}\n\n"])
def test_a_key_in_one_two_or_three_lines(text: str, tmp_path: Path) -> None:
    key = Key.read(str(key_file(tmp_path, text)))
    assert (key.key_bytes, key.designs, key.made) == (SECRET, {}, ())


# who may read them ------------------------------------------------------------------------------------------------


def not_a_key_file(path: Path) -> str:
    return f"{path} is not a key file. Name the file `key` in a private folder."


def a_link(path: Path) -> str:
    return f"{path} is a symbolic link. A key is a real file in a real folder: put it there."


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o722, 0o777, 0o1777])
def test_a_folder_that_others_can_write_to(mode: int, tmp_path: Path) -> None:
    path = key_file(tmp_path, HEX)
    tmp_path.chmod(mode)
    assert said_by(lambda: Key.read(path)) == (
        f"{tmp_path} can be written to by others (mode {mode:03o}), who may have planted its key. If they have not: "
        f"chmod 700 {tmp_path}. Else publish under another name."
    )


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o711, 0o701])
def test_a_folder_that_others_can_look_at(mode: int, tmp_path: Path) -> None:
    path = key_file(tmp_path, HEX)
    tmp_path.chmod(mode)
    assert Key.read(path) == KEY


@pytest.mark.parametrize("mode", [0o640, 0o620, 0o610, 0o604, 0o602, 0o601, 0o666, 0o4604])
def test_a_key_that_others_can_use(mode: int, tmp_path: Path) -> None:
    path = key_file(tmp_path, HEX, mode)
    assert said_by(lambda: Key.read(path)) == (
        f"{path} can be used by others (mode {mode:03o}), and whoever has the key can undo the release. If nobody has "
        f"read it: chmod 600 {path}. Else others may hold it: publish under another name, and know that both "
        "releases can be intersected."
    )


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o700])
def test_a_key_of_its_owner_alone(mode: int, tmp_path: Path) -> None:
    assert Key.read(key_file(tmp_path, HEX, mode)) == KEY


@pytest.mark.parametrize("whose", ["folder", "key"])
def test_a_key_of_somebody_else(whose: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = key_file(tmp_path, HEX)
    known, me = os.fstat, os.geteuid()

    def given_away(handle: int) -> os.stat_result:
        about = known(handle)
        folder = bool(about.st_mode & 0o040000)
        return os.stat_result((*about[:4], me + 1 if folder == (whose == "folder") else me, *about[5:]))

    monkeypatch.setattr(os, "fstat", given_away)
    assert said_by(lambda: Key.read(path)) == (
        f"{tmp_path if whose == 'folder' else path} belongs to user {me + 1}, not to you (user {me}): the key may be "
        "planted, and whoever planted it can undo the release. Publish as its owner, or, if you know it to be yours, "
        "chown it."
    )


def test_a_link_is_no_key(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    key_file(tmp_path, HEX).rename(tmp_path / "elsewhere")
    (private / "key").symlink_to(tmp_path / "elsewhere")
    assert said_by(lambda: Key.read(private / "key")) == a_link(private / "key")
    (tmp_path / "elsewhere").unlink()
    assert said_by(lambda: Key.read(private / "key")) == a_link(private / "key")


def test_a_link_is_no_folder_of_a_key(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    key_file(private, HEX)
    (tmp_path / "link").symlink_to(private)
    assert said_by(lambda: Key.read(tmp_path / "link" / "key")) == a_link(tmp_path / "link")


def test_a_key_that_is_nowhere(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    assert said_by(lambda: Key.read(tmp_path / "key")) == not_a_key_file(tmp_path / "key")
    assert said_by(lambda: Key.read(tmp_path / "nowhere" / "key")) == not_a_key_file(tmp_path / "nowhere")


def test_a_file_is_no_folder_of_a_key(tmp_path: Path) -> None:
    (tmp_path / "file").touch(mode=0o600)
    assert said_by(lambda: Key.read(tmp_path / "file" / "key")) == not_a_key_file(tmp_path / "file")


def test_a_folder_is_no_key(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "key").mkdir(mode=0o700)
    handles = len([*Path("/proc/self/fd").iterdir()])
    assert said_by(lambda: Key.read(tmp_path / "key")) == not_a_key_file(tmp_path / "key")
    assert len([*Path("/proc/self/fd").iterdir()]) == handles


def test_a_pipe_is_no_key(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    os.mkfifo(tmp_path / "key", 0o600)
    writer = os.open(tmp_path / "key", os.O_RDWR | os.O_NONBLOCK)  # so that nobody waits for one
    assert said_by(lambda: Key.read(tmp_path / "key")) == not_a_key_file(tmp_path / "key")
    os.close(writer)


def test_a_key_file_is_not_larger_than_designs_need(tmp_path: Path) -> None:
    path = key_file(tmp_path, HEX)
    os.truncate(path, 2**26 + 1)
    assert said_by(lambda: Key.read(path)) == not_a_key_file(path)
    os.truncate(path, 2**26)  # as large as it may be, and nothing but zeros behind the key
    assert said_by(lambda: Key.read(path)) == NO_KEY


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ELOOP, "{} is a symbolic link. A key is a real file in a real folder: put it there."),
        (errno.EMLINK, "{} is a symbolic link. A key is a real file in a real folder: put it there."),
        (errno.ENXIO, "{} is not a key file. Name the file `key` in a private folder."),
        (errno.EACCES, "{} cannot be read: Permission denied. Publish as its owner."),
        (errno.EPERM, "{} cannot be read: Operation not permitted. Publish as its owner."),
        (errno.EIO, None),
    ],
)
@pytest.mark.parametrize("what", ["folder", "key"])
def test_why_a_key_cannot_be_read(
    what: str, number: int, message: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = key_file(tmp_path, HEX)
    open_file = os.open

    def failing(name: Any, *more: Any, **how: Any) -> int:
        if (name == "key") == (what == "key"):
            raise OSError(number, os.strerror(number))
        return open_file(name, *more, **how)

    monkeypatch.setattr(os, "open", failing)
    if message is None:
        with pytest.raises(OSError, match=os.strerror(number)):
            Key.read(path)
    else:
        assert said_by(lambda: Key.read(path)) == message.format(tmp_path if what == "folder" else path)


# draws ------------------------------------------------------------------------------------------------------------


def subkey(purpose: str) -> bytes:
    return hashlib.blake2b(purpose.encode(), key=SECRET, digest_size=32).digest()


def test_words_are_a_function_of_key_and_purpose() -> None:
    words = Draw(KEY).words(3, "rows")
    expected = hashlib.shake_256(subkey("rows")).digest(24)
    assert words.dtype == np.dtype("<u8")
    assert words.tobytes() == expected
    assert words.tolist() == WORDS
    assert Draw(KEY).words(0, "rows").size == 0
    assert Draw(KEY).words(3, "groups").tolist() != WORDS
    assert Draw(Key(bytes(32))).words(3, "rows").tolist() != WORDS


def test_a_pair_is_the_first_half_of_the_subkey() -> None:
    first, second = Draw(KEY).pair("sets")
    assert first.tobytes() + second.tobytes() == subkey("sets")[:16]


def test_parts_of_a_release_have_draws_of_their_own() -> None:
    part = Draw(KEY).for_part("t1").for_part("x")
    assert part.part == "t1/x/"
    assert part.words(2, "rows").tobytes() == hashlib.shake_256(subkey("t1/x/rows")).digest(16)


def test_a_permutation_sorts_by_words() -> None:
    order = Draw(KEY).permutation(100, "rows")
    assert order.tolist() == np.argsort(Draw(KEY).words(100, "rows"), kind="stable").tolist()
    assert sorted(order.tolist()) == list(range(100))
    assert order.tolist() != list(range(100))
