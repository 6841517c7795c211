"""What goes wrong while parts are published, in real processes: it is said, and nothing partial is ever visible."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import pluralis as pls
from pluralis.engines.local import LocalEngine, route
from pluralis.engines.routing import Reading, Router
from pluralis.engines.sizes import Sizes
from pluralis.errors import InputError, OutputError
from pluralis.publishing.parts import publish_in_parts
from pluralis.randomness import Draw

POLICY = pls.Policy(quasi={"age": {"type": "number"}, "zip": {}}, sensitive={"ill": 3}, others="drop", method="anatomy")
ROWS = 60_000


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    people = pl.DataFrame(
        {"age": rng.integers(0, 99, ROWS), "zip": rng.integers(0, 900, ROWS).astype(str),
         "ill": rng.choice([f"d{i}" for i in range(12)], ROWS)}
    )  # fmt: skip
    people.write_parquet(tmp_path / "people.parquet")
    (tmp_path / "policy.yaml").write_text(POLICY.to_yaml(), encoding="utf-8")
    return tmp_path / "people.parquet"


def running(table: Path, out: Path) -> subprocess.Popen[bytes]:
    """The command, at the point where rows lie in its hidden folder."""
    command = [sys.executable, "-m", "pluralis", "publish", str(table), "--policy", str(out.parent / "policy.yaml"),
               "--out", str(out), "--engine", "local", "--part-rows", "10000"]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 120
    while not list(out.parent.glob(".release.spill.staging-*/rows-*.arrow")):
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.002)
    return process


def workers_of(process: int) -> list[int]:
    children: list[int] = []
    for task in Path(f"/proc/{process}/task").iterdir():
        with suppress(OSError):  # a thread that ended
            children += map(int, (task / "children").read_text().split())
    return children


def are_gone(processes: list[int]) -> bool:
    end = time.monotonic() + 60
    while any(Path(f"/proc/{one}").exists() for one in processes):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def visible(folder: Path) -> list[str]:
    return [name for name in names(folder) if not name.startswith(".")]


needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the children of a process: on Linux only")


@needs_proc
def test_a_writer_that_is_killed_shows_nothing_and_the_next_one_removes_what_it_left(table: Path) -> None:
    folder = table.parent
    process = running(table, folder / "release")
    workers = workers_of(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert workers
    assert are_gone(workers)
    assert visible(folder) == ["people.parquet", "policy.yaml"]
    assert list(folder.glob(".release.spill.staging-*"))
    publish_in_parts(table, POLICY, folder / "release", workers=0, attacks=False)
    assert visible(folder) == ["people.parquet", "policy.yaml", "release", "release.private"]
    assert not list(folder.glob(".release*"))


@needs_proc
def test_a_writer_that_is_ended_removes_everything(table: Path) -> None:
    folder = table.parent
    process = running(table, folder / "release")
    workers = workers_of(process.pid)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    assert are_gone(workers)
    assert names(folder) == ["people.parquet", "policy.yaml"]


@needs_proc
def test_a_worker_that_is_killed_is_told_and_leaves_nothing(table: Path) -> None:
    folder = table.parent
    process = running(table, folder / "release")
    os.kill(workers_of(process.pid)[0], signal.SIGKILL)
    assert process.wait(60) == 2
    assert names(folder) == ["people.parquet", "policy.yaml"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full, as Linux has")
def test_a_full_disk_is_told_while_rows_are_routed(table: Path, tmp_path: Path) -> None:
    """The device refuses what is written to it as a full disk does."""
    (tmp_path / "rows-000000.arrow").symlink_to("/dev/full")
    source = pl.read_parquet(table)
    engine = LocalEngine(source, tmp_path, Sizes(part=10_000, workers=0, chunk=10_000, piece=ROWS), None)
    cleaning, reading = engine.learned(POLICY), Reading(source, 10_000)
    router = Router.of_all(cleaning, Draw(pls.Key.test()))
    with pytest.raises(OutputError, match="could not be kept beside the release: the disk is full"):
        route((reading, (router, 6, tmp_path)), (0, reading.pieces(ROWS)[0]))


def test_memory_decides_on_sizes_or_what_is_needed_is_said(table: Path, tmp_path: Path) -> None:
    made = publish_in_parts(table, POLICY, tmp_path / "release", memory="2GiB", attacks=False, workers=0)
    assert "Within 2,048 MiB: this process alone, parts of about 250,000 rows." in made.notes
    with pytest.raises(InputError, match="Within 400 MiB this table cannot be published: 1 worker and parts of 10,000"):
        publish_in_parts(table, POLICY, tmp_path / "other", memory="400MiB")
    with pytest.raises(InputError, match="is the URL of a Spark cluster, and the engine is local"):
        publish_in_parts(table, POLICY, tmp_path / "other", spark="spark://master:7077")
    with pytest.raises(InputError, match="memory is about this machine"):
        publish_in_parts(table, POLICY, tmp_path / "other", memory="4GiB", engine="spark")
    assert visible(tmp_path) == ["people.parquet", "policy.yaml", "release", "release.private"]
