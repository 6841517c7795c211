"""`make bench`: how long methods take, how that grows, and how it compares with copying the file.

Every measurement runs in a process of its own on one core, so that its peak memory is its own. The table is Adult drawn
with replacement, fnlwgt moved by up to 500 either way, so that rows stay different. Results go to
`benchmarks/results.csv` and into `docs/performance.md`.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import math
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "performance.md"
SIZES = (30_162, 300_000, 1_000_000)
RUNS = {
    "bsgi, paper": {"method": "bsgi", "variant": "paper"},
    "bsgi": {"method": "bsgi"},
    "mondrian": {"method": "mondrian"},
    "incognito": {"method": "incognito"},
}
L = 5

EXPLAINED = """\
Written by `make bench`. Adult (30,162 rows), and Adult drawn with replacement with fnlwgt moved a little; seven quasi
attributes, occupation sensitive, l = {l}. One core. *Plan* is the method alone; *publish* is everything from the
Parquet file to the visible, audited release with its report; *copy* is Polars reading and writing the same file, in the
same process; *ratio* is publish / copy. Machines are noisy: compare figures of one run only.
"""


def data_file() -> Path:
    folder = Path(os.environ.get("PLURALIS_DATA", HERE.parents[1] / "shared" / "data"))
    path = folder / "adult_clean_30162.csv.gz"
    if not path.exists():
        sys.exit(f"{path.name} is not there: put it in a folder and set PLURALIS_DATA to that folder.")
    return path


def make_table(rows: int, path: Path) -> None:
    """Adult itself, or as many rows drawn from it."""
    import numpy as np
    import polars as pl
    from numpy.random import default_rng

    from pluralis.io import read_table

    adult = read_table(data_file()).with_columns(
        pl.col("age", "fnlwgt", "education-num", "hours-per-week").cast(pl.Int64)
    )
    if rows != adult.height:
        rng = default_rng(20081)
        adult = adult[rng.integers(0, adult.height, rows)]
        jitter = pl.Series(rng.integers(-500, 501, rows).astype(np.int64))
        adult = adult.with_columns(pl.col("fnlwgt") + jitter)
    adult.write_parquet(path)


def policy() -> dict[str, Any]:
    numbers = ("age", "fnlwgt", "education-num", "hours-per-week")
    attributes: dict[str, Any] = {name: {"role": "quasi", "type": "number"} for name in numbers}
    attributes |= {name: {"role": "quasi"} for name in ("marital-status", "race", "sex")}
    attributes["occupation"] = {"role": "sensitive", "l": L}
    return {"version": 1, "attributes": attributes, "others": "drop"}


def copy_once(path: Path) -> float:
    """Seconds that Polars takes to read and write the file."""
    import polars as pl

    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        pl.read_parquet(path).write_parquet(Path(folder) / "copy.parquet")
    return time.perf_counter() - begin


def measure_one(path: Path, publishing: dict[str, Any]) -> dict[str, float]:
    """One publication, step by step, in this process."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    from pluralis.io import read_table
    from pluralis.methods import method_for
    from pluralis.metrics import measure
    from pluralis.policy import Policy
    from pluralis.publish import publish
    from pluralis.randomness import Draw, Key
    from pluralis.table import encode

    rules = Policy.of({**policy(), "publish": publishing})
    frame = read_table(path)
    table = encode(frame, rules)
    method = method_for(rules)
    method.plan(encode(frame.head(2_000), rules), rules, Draw(Key.test()))  # load the compiled kernels
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    method.plan(table, rules, Draw(Key.test()))
    planned = time.perf_counter() - begin
    copies = sorted(copy_once(path) for _ in range(3))
    begin = time.perf_counter()
    publication = publish(path, rules, key=Key.test())
    with tempfile.TemporaryDirectory() as folder:
        publication.save(Path(folder) / "release", allow_test=True)
    whole = time.perf_counter() - begin
    return {
        "plan_seconds": planned,
        "publish_seconds": whole,
        "copy_seconds": copies[1],
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "base_mib": base / 1024,
        "ncp": measure(publication, frame).ncp,
    }


def all_measurements(work: Path, sizes: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    for rows in sizes:
        path = work / f"adult_{rows}.parquet"
        if not path.exists():
            make_table(rows, path)
        for name, publishing in RUNS.items():
            command = [sys.executable, "-m", "benchmarks.run", "--one", str(path), json.dumps(publishing)]
            environment = {**os.environ, "POLARS_MAX_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
            ran = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=HERE.parent)
            if ran.returncode:
                sys.exit(f"{name} on {rows:,} rows failed:\n{ran.stderr}")
            row = {"method": name, "rows": rows, **json.loads(ran.stdout)}
            print(
                f"{name:14} {rows:>9,} rows  plan {row['plan_seconds']:7.2f} s  publish "
                f"{row['publish_seconds']:7.2f} s  copy {row['copy_seconds']:5.2f} s  peak {row['peak_mib']:6.0f} MiB  "
                f"NCP {row['ncp']:.4f}",
                flush=True,
            )
            yield row


def page(rows: list[dict[str, Any]]) -> str:
    """The measurements as a page."""
    known = Path("/proc/cpuinfo")
    facts = known.read_text().splitlines() if known.exists() else []
    chip = next((line.split(":")[1].strip() for line in facts if line.startswith("model name")), "")
    lines = [
        "# Performance",
        "",
        EXPLAINED.format(l=L),
        f"{datetime.date.today().isoformat()}, {chip or platform.processor()}, Python {platform.python_version()}.",
        "",
        "| method | rows | plan, s | rows/s | publish, s | copy, s | ratio | peak, MiB | NCP |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        lines.append(
            f"| {row['method']} | {row['rows']:,} | {row['plan_seconds']:.2f} "
            f"| {row['rows'] / row['plan_seconds']:,.0f} "
            f"| {row['publish_seconds']:.2f} | {row['copy_seconds']:.2f} "
            f"| {row['publish_seconds'] / row['copy_seconds']:.0f} | {row['peak_mib']:,.0f} | {row['ncp']:.4f} |"
        )
    first, last = _steps(rows)[-1]
    ideal = math.log(last * math.log(last) / (first * math.log(first))) / math.log(last / first)
    said = "Growth of the plan's time with the number of rows n, as an exponent of n between the sizes"
    lines += ["", f"{said} (n log n would be {ideal:.2f} over all):", ""]
    lines += ["| method | " + " | ".join(f"{a:,} to {b:,}" for a, b in _steps(rows)) + " |"]
    lines += ["|---|" + "---:|" * len(_steps(rows))]
    for name in RUNS:
        mine = {row["rows"]: row["plan_seconds"] for row in rows if row["method"] == name}
        powers = [math.log(mine[b] / mine[a]) / math.log(b / a) for a, b in _steps(rows)]
        lines.append(f"| {name} | " + " | ".join(f"{power:.2f}" for power in powers) + " |")
    return "\n".join(lines) + "\n"


def _steps(rows: list[dict[str, Any]]) -> list[tuple[int, int]]:
    sizes = sorted({row["rows"] for row in rows})
    return [*pairwise(sizes), (sizes[0], sizes[-1])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, metavar=("FILE", "PUBLISH"), help=argparse.SUPPRESS)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure_one(Path(asked.one[0]), json.loads(asked.one[1]))))
        return
    work = HERE / "work"
    work.mkdir(exist_ok=True)
    rows = list(all_measurements(work, tuple(asked.sizes)))
    with (HERE / "results.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in rows)
    PAGE.write_text(page(rows), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main()
