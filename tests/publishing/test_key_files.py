"""A key is taken from nobody but its owner: whoever plants one, or reads one, can undo what it drew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pluralis.errors import InputError, OutputError
from pluralis.publishing.pipeline import publish
from pluralis.publishing.republishing import key_for
from pluralis.publishing.saving import Publication
from pluralis.randomness import Key
from support.sample_tables import KEY, PATIENTS, patients_policy

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away: run as root")
NOBODY = 65534


@pytest.fixture
def released(tmp_path: Path) -> Path:
    publish(PATIENTS, patients_policy(), key=KEY).save(tmp_path / "release")
    return tmp_path / "release"


@pytest.fixture
def publication() -> Publication:
    return publish(PATIENTS, patients_policy(), key=KEY)


def _refused(target: Path, publication: Publication, *messages: str) -> None:
    """Neither the command line's way nor Python's takes the key, and nothing is changed."""
    before = sorted((p, p.lstat().st_mode) for p in target.parent.rglob("*"))
    with pytest.raises(InputError) as refused:
        key_for(target)
    for word in messages:
        assert word in str(refused.value)
    with pytest.raises(InputError):
        publication.save(target, replace=True)
    with pytest.raises(InputError):
        Key.read(target.with_name(f"{target.name}.private") / "key")
    assert sorted((p, p.lstat().st_mode) for p in target.parent.rglob("*")) == before


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o620, 0o602, 0o610, 0o660, 0o666, 0o777])
def test_a_key_that_others_can_read_or_write(released: Path, publication: Publication, mode: int) -> None:
    key = released.with_name("release.private") / "key"
    key.chmod(mode)
    _refused(released, publication, f"mode {mode:03o}", f"chmod 600 {key}")
    key.chmod(0o600)
    assert key_for(released) == KEY
    publication.save(released, replace=True)


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o1777, 0o770])
def test_a_private_folder_that_others_can_write_to(released: Path, publication: Publication, mode: int) -> None:
    private = released.with_name("release.private")
    private.chmod(mode)
    _refused(released, publication, "can be written to by others", f"chmod 700 {private}")
    private.chmod(0o700)
    publication.save(released, replace=True)


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o700])
def test_modes_that_are_the_owners_own_are_taken(released: Path, publication: Publication, mode: int) -> None:
    (released.with_name("release.private") / "key").chmod(mode)
    assert key_for(released) == KEY
    publication.save(released, replace=True)


@pytest.mark.parametrize("mask", [0, 0o022, 0o077, 0o002])
def test_whatever_the_umask_what_was_written_is_read_again(tmp_path: Path, publication: Publication, mask: int) -> None:
    before = os.umask(mask)
    try:
        publication.save(tmp_path / "release")
        assert key_for(tmp_path / "release") == KEY
        publication.save(tmp_path / "release", replace=True)
    finally:
        os.umask(before)
    assert (tmp_path / "release.private" / "key").stat().st_mode & 0o777 == 0o600


@AS_ROOT
def test_a_key_of_somebody_else(released: Path, publication: Publication) -> None:
    os.chown(released.with_name("release.private") / "key", NOBODY, -1)
    _refused(released, publication, "belongs to", str(NOBODY), "planted")


@AS_ROOT
def test_a_private_folder_of_somebody_else(released: Path, publication: Publication) -> None:
    os.chown(released.with_name("release.private"), NOBODY, -1)
    _refused(released, publication, "belongs to", str(NOBODY))


@AS_ROOT
def test_a_key_planted_before_the_first_publication(tmp_path: Path, publication: Publication) -> None:
    """Somebody guessed the name of the release, and waits for it."""
    private = tmp_path / "release.private"
    private.mkdir(mode=0o777)
    Key(bytes(32)).write(private / "key")
    for path in (private, private / "key"):
        os.chown(path, NOBODY, -1)
    _refused(tmp_path / "release", publication, "belongs to")


def test_a_link_is_not_a_key(released: Path, publication: Publication, tmp_path: Path) -> None:
    private = released.with_name("release.private")
    (private / "key").rename(tmp_path / "elsewhere")
    (private / "key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="symbolic link"):
        key_for(released)
    with pytest.raises(InputError, match="symbolic link"):
        publication.save(released, replace=True)
    (tmp_path / "elsewhere").unlink()  # a link to nothing is no missing key: a new one would be a second
    with pytest.raises(InputError, match="symbolic link"):
        key_for(released)


def test_a_link_is_not_a_private_folder(released: Path, tmp_path: Path) -> None:
    private = released.with_name("release.private")
    private.rename(tmp_path / "elsewhere")
    private.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="symbolic link"):
        key_for(released)


@pytest.mark.parametrize("make", ["fifo", "folder", "huge"])
def test_what_is_no_file_or_no_key(released: Path, make: str) -> None:
    """A pipe would be waited for without end."""
    key = released.with_name("release.private") / "key"
    key.unlink()
    if make == "fifo":
        os.mkfifo(key, 0o600)
    elif make == "folder":
        key.mkdir(mode=0o700)
    else:
        key.touch(mode=0o600)
        os.truncate(key, 2**40)
    with pytest.raises(InputError):
        key_for(released)


def test_a_private_folder_that_is_a_file(tmp_path: Path, publication: Publication) -> None:
    (tmp_path / "release.private").touch()
    with pytest.raises((InputError, OutputError)):
        publication.save(tmp_path / "release")
    assert (tmp_path / "release.private").is_file()
