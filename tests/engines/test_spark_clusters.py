"""Clusters of Spark: the same bytes on each, however the rows lie; what dies, hangs or fills up leaves nothing partial.

A standalone cluster, a Connect server and Sail are started on this machine. Minutes: PLURALIS_LONG=1.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

import pluralis as pls
from benchmarks.clusters import (
    Cluster,
    connect_server,
    descendants,
    sail_server,
    session_of,
    shuffled_bytes,
    standalone_cluster,
)
from pluralis.errors import OutputError, PluralisError
from support.effort import LONG
from support.spark_tables import digests, people, published

pytest.importorskip("pyspark", reason="Spark is not there: make test-spark")
pytestmark = [
    pytest.mark.skipif(not LONG, reason="clusters take minutes: PLURALIS_LONG=1 make test-spark"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
]

ROWS = 200_000
METHODS = (("anatomy", None), ("bsgi", "person"), ("decomposition", None), ("mondrian", None),
           ("randomized-addition", None))  # fmt: skip
PARTS = (20_000, 100_000)
FILES = (1, 3, 8)
EACH_FILE = {  # is a partition of its own
    "spark.sql.files.maxPartitionBytes": "1g",
    "spark.sql.files.openCostInBytes": "1g",
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[Path]]:
    """The same rows in so many files, in another order in each number."""
    folder = tmp_path_factory.mktemp("tables")
    every: dict[int, list[Path]] = {}
    for files in FILES:
        rows = people(ROWS).sample(fraction=1.0, shuffle=True, seed=files)
        every[files] = [folder / f"{files}-{i}.parquet" for i in range(files)]
        for i, path in enumerate(every[files]):
            rows[i::files].write_parquet(path)
    return every


@pytest.fixture(scope="module")
def expected(tables: dict[int, list[Path]], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, str]]:
    """What the local engine writes."""
    folder, known = tmp_path_factory.mktemp("expected"), dict[tuple[str, int], dict[str, str]]()

    def of(method: str, person: str | None, part: int) -> dict[str, str]:
        if (method, part) not in known:
            out = folder / f"{method}-{part}"
            published(tables[1], out, method, person, part=part, workers=2)
            known[method, part] = digests(out)
        return known[method, part]

    return of


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as own:
        yield own


def test_an_executor_that_is_killed(
    cluster: Cluster, tables: dict[int, list[Path]], expected: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    with session_of(cluster.url, EACH_FILE):
        killed = meanwhile(tmp_path, lambda: [os.kill(cluster.executors()[0], signal.SIGKILL)])
        published(tables[8], tmp_path / "release", "mondrian", part=20_000, engine="spark")
    assert killed()
    assert digests(tmp_path / "release") == expected("mondrian", None, 20_000)
    assert names(tmp_path) == ["release", "release.private"]


def test_a_task_that_hangs_is_started_twice(
    cluster: Cluster, tables: dict[int, list[Path]], expected: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    """The Python of one executor is stopped; what Spark starts a second time is finished by the other."""
    stopped: list[int] = []

    def stop() -> None:
        for process in descendants(cluster.executors()[0]):
            os.kill(process, signal.SIGSTOP)
            stopped.append(process)

    speculative = {
        "spark.speculation": "true", "spark.speculation.interval": "200ms", "spark.speculation.multiplier": "1.1",
        "spark.speculation.quantile": "0.1", "spark.speculation.minTaskRuntime": "1s",
    }  # fmt: skip
    try:
        with session_of(cluster.url, EACH_FILE | speculative):
            hung = meanwhile(tmp_path, stop)
            published(tables[8], tmp_path / "release", "mondrian", part=20_000, engine="spark")
            assert hung()
    finally:
        for process in stopped:
            with_no_such_process_ignored(process, signal.SIGCONT)
    assert stopped
    assert digests(tmp_path / "release") == expected("mondrian", None, 20_000)
    assert names(tmp_path) == ["release", "release.private"]


def test_a_driver_that_is_killed_leaves_nothing_that_can_be_seen(
    cluster: Cluster, tables: dict[int, list[Path]], expected: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    """The next publication removes what it left hidden."""
    program = (
        "import sys; from benchmarks.clusters import session_of; from support.spark_tables import published\n"
        "with session_of(sys.argv[1]): published(sys.argv[3:], sys.argv[2], 'mondrian', part=20_000, engine='spark')"
    )
    here = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1]), *sys.path]
    driver = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", program, cluster.url, str(tmp_path / "release"), *map(str, tables[8])],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(here)},
        stderr=subprocess.DEVNULL,
    )
    killed = meanwhile(tmp_path, driver.kill)
    assert driver.wait(600) == -signal.SIGKILL
    assert killed()
    assert all(name.startswith(".release") for name in names(tmp_path))
    published(tables[1], tmp_path / "release", "mondrian", part=20_000)
    assert digests(tmp_path / "release") == expected("mondrian", None, 20_000)
    assert names(tmp_path) == ["release", "release.private"]


def test_workers_without_the_package(tables: dict[int, list[Path]], tmp_path: Path) -> None:
    python = without_pluralis(tmp_path / "python")
    with (
        standalone_cluster(tmp_path / "cluster", workers=1, env={"PYTHONPATH": ""}) as cluster,
        session_of(cluster.url, {"spark.pyspark.python": str(python)}),
        pytest.raises(OutputError, match=r"executors has no pluralis. Install this version there"),
    ):
        published(tables[1], tmp_path / "release", "anatomy", engine="spark")
    assert names(tmp_path) == ["cluster", "python"]


def test_a_disk_for_rows_that_travel_which_is_full(tables: dict[int, list[Path]], tmp_path: Path) -> None:
    with (
        small_disk(tmp_path / "disk", "1m") as disk,
        standalone_cluster(tmp_path / "cluster", workers=1, env={"SPARK_LOCAL_DIRS": str(disk)}) as cluster,
        session_of(cluster.url),
        pytest.raises(OutputError, match="A disk of the cluster is full"),
    ):
        published(tables[1], tmp_path / "release", "anatomy", part=20_000, engine="spark")
    assert names(tmp_path) == ["cluster", "disk"]


def test_a_disk_for_releases_that_is_full(cluster: Cluster, tables: dict[int, list[Path]], tmp_path: Path) -> None:
    with (
        small_disk(tmp_path / "disk", "500k") as disk,
        session_of(cluster.url),
        pytest.raises(PluralisError, match=r"No space left|disk is full"),
    ):
        published(tables[1], disk / "release", "anatomy", part=20_000, engine="spark")
    assert names(tmp_path) == ["disk"]
    assert names(tmp_path / "disk") == []


def test_neither_the_key_nor_values_are_in_what_spark_logs(
    cluster: Cluster, tables: dict[int, list[Path]], tmp_path: Path
) -> None:
    (tmp_path / "events").mkdir()
    logged = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{tmp_path / 'events'}",
              "spark.eventLog.compress": "false"}  # fmt: skip
    with session_of(cluster.url, logged) as spark:
        published(tables[3], tmp_path / "release", "anatomy", part=20_000, engine="spark")
        assert shuffled_bytes(spark) > 0
    secret = (tmp_path / "release.private" / "key").read_text()
    log = "".join(path.read_text() for path in (tmp_path / "events").rglob("*") if path.is_file())
    assert "SparkListenerApplicationEnd" in log
    hexadecimal = [word.strip('",') for word in secret.split() if len(word.strip('",')) >= 32]
    assert hexadecimal
    assert not [word for word in [*hexadecimal, "place 17", "Key("] if word in log]


# helpers --------------------------------------------------------------------------------------------------------------


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def meanwhile(folder: Path, act: Callable[[], object]) -> Callable[[], bool]:
    """Do something once the first part is being written; the result says whether it was done."""
    done = threading.Event()

    def wait() -> None:
        end = time.monotonic() + 900
        while time.monotonic() < end and not list(folder.glob(".release.spill*/block-*")):
            time.sleep(0.02)
        if time.monotonic() < end:
            act()
            done.set()

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()

    def was_done() -> bool:
        waiting.join(1)
        return done.is_set()

    return was_done


def with_no_such_process_ignored(process: int, number: int) -> None:
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return


def without_pluralis(folder: Path) -> Path:
    """A Python that has all that this one has, but Pluralis."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    here = Path(pl.__file__).parents[1]
    for path in here.iterdir():
        if not path.name.lower().startswith(("pluralis", "__editable__", "_distutils")) and path.suffix != ".pth":
            (packages / path.name).symlink_to(path)
    return folder / "bin" / "python"


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk must be mounted, which root may do")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


# every way to start Spark; last, because whoever has connected to a server can have no session of another kind --------


@contextmanager
def local(folder: Path) -> Iterator[str | None]:
    with session_of("local[2]", EACH_FILE):
        yield None


@contextmanager
def standalone(folder: Path) -> Iterator[str | None]:
    with standalone_cluster(folder) as cluster, session_of(cluster.url, EACH_FILE):
        yield None


@contextmanager
def connect(folder: Path) -> Iterator[str | None]:
    with pytest.MonkeyPatch.context() as own, connect_server(folder, settings=EACH_FILE) as url:
        own.setenv("SPARK_CONNECT_MODE_ENABLED", "1")  # is taken back then
        yield url


@contextmanager
def sail(folder: Path) -> Iterator[str | None]:
    with pytest.MonkeyPatch.context() as own, sail_server() as url:
        own.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
        yield url


@pytest.fixture(scope="module", params=[local, standalone, sail, connect])
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str | None]:
    """Where Spark is; None if it is the session that is open."""
    with request.param(tmp_path_factory.mktemp("spark")) as url:
        yield url


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(("method", "person"), METHODS)
def test_the_same_bytes_wherever_spark_is(
    method: str,
    person: str | None,
    part: int,
    address: str | None,
    tables: dict[int, list[Path]],
    expected: Callable[..., dict[str, str]],
    tmp_path: Path,
) -> None:
    """However many files and partitions there are, and however large parts are."""
    for files in FILES:
        out = tmp_path / f"in-{files}"
        made = published(tables[files], out, method, person, part=part, engine="spark", spark=address)
        assert digests(out) == expected(method, person, part), files
        assert made.verdict.findings == pls.audit(out, allow_test=True).findings[:-1]  # but the certificate
