"""Where the tests find data, and settings that all of them share."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import pluralis.publishing.pipeline  # noqa: F401
from pluralis.randomness import KEY_BYTES, Key

settings.register_profile(
    "pluralis",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("pluralis")


def data_folder() -> Path:
    """PLURALIS_DATA, or shared/data beside the checkout."""
    return Path(os.environ.get("PLURALIS_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


def data_file(name: str) -> Path:
    """A public data set, or a skip that says how to get it."""
    path = data_folder() / name
    if not path.exists():
        pytest.skip(f"{name} is not there: put it in a folder and set PLURALIS_DATA to that folder")
    return path


@pytest.fixture(autouse=True)
def keys_are_the_same_in_every_run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that a command draws differs from test to test and from draw to draw, but not from run to run."""
    draws = count()

    def new(cls: type[Key]) -> Key:
        return cls(hashlib.blake2b(f"{request.node.nodeid} {next(draws)}".encode(), digest_size=KEY_BYTES).digest())

    monkeypatch.setattr(Key, "new", classmethod(new))


@pytest.fixture(scope="module", autouse=True)
def many_tables_are_published_without_attacks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Where thousands of tiny tables are published for another reason, attacks on each would take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        if request.path.parent.name in ("property", "attacks") or request.path.name in ("test_addition.py",):
            patch.setattr(sys.modules["pluralis.publishing.pipeline"], "MOST_ROWS", 0)
        yield


@pytest.fixture(scope="session")
def adult() -> Path:
    """UCI Adult without records that have a missing value, 30,162 rows."""
    return data_file("adult_clean_30162.csv.gz")
