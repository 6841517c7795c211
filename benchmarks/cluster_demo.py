"""A release in parts from a cluster of Spark on this machine: `make cluster-demo`.

A master and two workers of one core each are started, which nobody else reaches; a table is drawn from a seed,
published and audited, and the cluster is ended. `--engine` measures other ones on the same table; each says what it
took as one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from benchmarks.clusters import connect_server, cpu_seconds, sail_server, session_of, shuffled_bytes, standalone_cluster
from benchmarks.scale import METHODS, WORK, policy_of, write_table

ENGINES = ("local", "local[2]", "standalone", "connect", "sail")


@contextmanager
def started(engine: str, folder: Path, memory: str) -> Iterator[tuple[str | None, Any]]:
    """The address to publish with, where there is one, and the session, where there is one."""
    if engine == "standalone":
        with standalone_cluster(folder / "cluster", memory=memory) as cluster:
            settings = {"spark.executor.memory": memory, "spark.local.dir": str(folder)}
            with session_of(cluster.url, settings) as spark:
                print(f"A master and two workers: {cluster.url}. Jobs: {spark.sparkContext.uiWebUrl}", flush=True)
                yield None, spark
    elif engine == "local[2]":
        with session_of(engine, {"spark.driver.memory": memory, "spark.local.dir": str(folder)}) as spark:
            yield None, spark
    elif engine == "connect":
        with connect_server(folder / "connect", settings={"spark.driver.memory": memory}) as url:
            yield url, None
    elif engine == "sail":
        with sail_server() as url:
            yield url, None
    else:
        yield None, None


def measure(engine: str, method: str, rows: int, folder: Path, memory: str, part: int) -> dict[str, Any]:
    """Publish a table of so many rows, and audit the release."""
    import pluralis as pls
    from pluralis.publishing.parts import publish_in_parts

    table = WORK / f"people_{rows}"
    write_table(table, rows)
    release = folder / "release"
    where: Literal["local", "spark"] = "local" if engine == "local" else "spark"
    with started(engine, folder, memory) as (url, spark):
        begin, before = time.perf_counter(), cpu_seconds(os.getpid())
        made = publish_in_parts(
            sorted(table.glob("*.parquet")), pls.Policy.from_dict(policy_of(method)), release, part=part, engine=where,
            spark=url, attacks=False,
        )  # fmt: skip
        wall, cpu = time.perf_counter() - begin, cpu_seconds(os.getpid()) - before
        shuffled = shuffled_bytes(spark) if spark is not None else None
    begin = time.perf_counter()
    assert pls.audit(release).holds
    return {
        "engine": engine, "method": method, "rows": rows, "parts": len(made.manifest.parts), "wall": round(wall, 1),
        "cpu": round(cpu, 1), "audit": round(time.perf_counter() - begin, 1),
        "shuffle_mib": None if shuffled is None else round(shuffled / 2**20, 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--part-rows", type=int, default=250_000)
    parser.add_argument("--method", choices=METHODS, default="anatomy")
    parser.add_argument("--engine", nargs="+", choices=ENGINES, default=["standalone"])
    parser.add_argument("--memory", default="2g", help="of each executor")
    parser.add_argument("--out", type=Path, default=WORK / "cluster-demo", help="is removed first")
    asked = parser.parse_args()
    for engine in asked.engine:
        shutil.rmtree(asked.out, ignore_errors=True)
        asked.out.mkdir(parents=True)
        took = measure(engine, asked.method, asked.rows, asked.out.absolute(), asked.memory, asked.part_rows)
        print(json.dumps(took), flush=True)
    print(f"Look at {asked.out / 'release'} and {asked.out / 'release.private' / 'report.html'}.")


if __name__ == "__main__":
    main()
