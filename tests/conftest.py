"""Settings that all tests share, and fixtures that tests of several packages use."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ and "PLURALIS_LONG" not in os.environ:  # before Polars is there
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # a core for each worker; numbers of threads have their own test

import pytest
from hypothesis import HealthCheck, settings

from pluralis.randomness import KEY_BYTES, Key
from support.data_files import data_file

TESTS = Path(__file__).parent
WITHOUT_ATTACKS = {"attacks", "auditing", "estimate", "grouping", "method", "metrics", "paper", "table"}
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "pluralis", deadline=None, derandomize=True, max_examples=50, suppress_health_check=SLOW
)  # `make fuzz` tries more
settings.register_profile("random", deadline=None, print_blob=True, suppress_health_check=SLOW)  # `make fuzz`
settings.load_profile("pluralis")


@pytest.fixture(autouse=True)
def keys_are_the_same_in_every_run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that a command draws differs from test to test and from draw to draw, but not from run to run."""
    draws = count()

    def new(cls: type[Key]) -> Key:
        return cls(hashlib.blake2b(f"{request.node.nodeid} {next(draws)}".encode(), digest_size=KEY_BYTES).digest())

    monkeypatch.setattr(Key, "new", classmethod(new))


@pytest.fixture(autouse=True, scope="module")
def attacks_at_publication_where_they_matter(request: pytest.FixtureRequest) -> Iterator[None]:
    """These folders publish thousands of tiny tables to look at something else; attacks would take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        if request.path.relative_to(TESTS).parts[0] in WITHOUT_ATTACKS:
            patch.setattr("pluralis.publishing.pipeline.ATTACKED", False)
        yield


@pytest.fixture
def trials_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods are compared here where a test leaves the number of workers open: to start one takes seconds."""
    from pluralis.comparison import comparing

    tried = comparing._tried
    here = lambda table, tasks, attacks, workers, limit: tried(table, tasks, attacks, workers or 0, limit)  # noqa: E731
    monkeypatch.setattr(comparing, "_tried", here)


@pytest.fixture(scope="session")
def adult() -> Path:
    """UCI Adult without records that have a missing value, 30,162 rows."""
    return data_file("adult_clean_30162.csv.gz")
