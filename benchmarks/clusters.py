"""Clusters of Spark on this machine, for tests and measurements: nothing listens beyond it, and each process that was
started is ended by its number.

    with standalone_cluster(folder) as cluster, session_of(cluster.url) as spark: ...
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.1"
STARTING = 180.0  # seconds that a server may take until it listens
_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = re.compile(r"Successfully registered with master")
_EXECUTOR = "CoarseGrainedExecutorBackend"


@dataclass(frozen=True)
class Cluster:
    """Where a cluster is, and the process of each worker."""

    url: str
    workers: tuple[int, ...]

    def executors(self) -> list[int]:
        """The processes that work on tasks now."""
        return [own for worker in self.workers for own in _children(worker) if _EXECUTOR in _command(own)]


@contextmanager
def standalone_cluster(
    folder: Path, *, workers: int = 2, memory: str = "2g", env: Mapping[str, str] = {}
) -> Iterator[Cluster]:
    """A master and workers of one core each; what they write lies below a folder, rows that travel included."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as end:
        master = ["org.apache.spark.deploy.master.Master", "--host", LOOPBACK, "--port", "0", "--webui-port", "0"]
        quiet = {"SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false", **env}
        _, found = end.enter_context(_server(["spark-class", *master], folder / "master.log", _MASTER, quiet))
        running = []
        for i in range(workers):
            own = folder / f"worker-{i}"
            own.mkdir()
            worker = [
                "spark-class", "org.apache.spark.deploy.worker.Worker", "--host", LOOPBACK, "--port", "0",
                "--webui-port", "0", "--cores", "1", "--memory", memory, "--work-dir", str(own), found[1],
            ]  # fmt: skip
            settings = {"SPARK_LOCAL_DIRS": str(own), **env}
            process, _ = end.enter_context(_server(worker, folder / f"worker-{i}.log", _REGISTERED, settings))
            running.append(process.pid)
        yield Cluster(found[1], tuple(running))


@contextmanager
def connect_server(folder: Path, master: str = "local[2]", settings: Mapping[str, str] = {}) -> Iterator[str]:
    """The address of a Spark Connect server."""
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    told = {
        "spark.connect.grpc.binding.address": LOOPBACK, "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": LOOPBACK, "spark.ui.enabled": "false", "spark.local.dir": str(folder), **settings,
    }  # fmt: skip
    options = [part for name, value in told.items() for part in ("--conf", f"{name}={value}")]
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    command = ["spark-submit", "--class", server, "--master", master, *options, "spark-internal"]
    with _server(command, folder / "connect.log", re.compile("Spark Connect server started at"), {}):
        yield f"sc://{LOOPBACK}:{port}"


@contextmanager
def sail_server() -> Iterator[str]:
    """The address of Sail, which speaks as Spark Connect does, and needs no Java."""
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer(ip=LOOPBACK, port=0)
    server.start(background=True)
    try:
        _, port = server.listening_address
        yield f"sc://{LOOPBACK}:{port}"
    finally:
        server.stop()


@contextmanager
def session_of(master: str, settings: Mapping[str, str] = {}) -> Iterator[Any]:
    """A session of Spark with settings of its own, which Pluralis takes where it is told no address."""
    from pyspark.sql import SparkSession

    told = {
        "spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK, "spark.ui.port": "0",
        "spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false",
        **settings,
    }  # fmt: skip
    before = {name: os.environ.get(name) for name in ("SPARK_LOCAL_IP", "PYSPARK_PYTHON")}
    os.environ.update(SPARK_LOCAL_IP=LOOPBACK, PYSPARK_PYTHON=told.pop("spark.pyspark.python", sys.executable))
    try:
        spark = SparkSession.builder.master(master).config(map=told).getOrCreate()
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    try:
        yield spark
    finally:
        spark.stop()


def stages(spark: Any) -> list[dict[str, Any]]:
    """What Spark's own web interface tells of the stages of an application."""
    context = spark.sparkContext
    url = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"
    with urllib.request.urlopen(url, timeout=60) as answer:
        return list(json.load(answer))


def shuffled_bytes(spark: Any) -> int:
    """Bytes that tasks wrote to be read by others."""
    return sum(int(stage["shuffleWriteBytes"]) for stage in stages(spark))


def cpu_seconds(process: int) -> float:
    """What a process and all that it started have computed for."""
    ticks = 0
    for own in (process, *descendants(process)):
        with suppress(OSError):
            fields = Path(f"/proc/{own}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))  # its own, and that of children that have ended
    return ticks / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as some:
        some.bind((LOOPBACK, 0))
        return int(some.getsockname()[1])


@contextmanager
def _server(
    command: list[str], log: Path, ready: re.Pattern[str], env: Mapping[str, str]
) -> Iterator[tuple[subprocess.Popen[bytes], re.Match[str]]]:
    """A program of Spark that says in its log that it is ready; it is ended at the end, and waited for."""
    import pyspark

    home = Path(pyspark.__file__).parent
    own = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": LOOPBACK, "PYSPARK_PYTHON": sys.executable}
    program = [str(home / "bin" / command[0]), *command[1:]]
    with log.open("wb") as out:
        process = subprocess.Popen(
            program, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env={**os.environ, **own, **env}
        )
    try:
        yield process, _awaited(process, log, ready)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _awaited(process: subprocess.Popen[bytes], log: Path, ready: re.Pattern[str]) -> re.Match[str]:
    begin = time.monotonic()
    while time.monotonic() - begin < STARTING:
        if (found := ready.search(log.read_text(errors="replace"))) is not None:
            return found
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(f"{log.stem} did not start:\n{log.read_text(errors='replace')[-2000:]}")


def descendants(process: int) -> list[int]:
    """The processes that a process started, those that they started, and so on."""
    return [each for own in _children(process) for each in (own, *descendants(own))]


def _children(process: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""
