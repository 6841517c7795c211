"""`make bench`: how long methods take, how that grows, and how it compares with copying the file.

Every measurement runs in a process of its own on one core. Memory has a process to itself, which only publishes. The
table is Adult drawn with replacement, fnlwgt moved by up to 500
either way, so that rows stay different. Results go to `benchmarks/results.csv` and into `docs/performance.md`.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "performance.md"
RESULTS = HERE / "results.csv"
BELOW = "## All cores"  # the part of the page that benchmarks/cores.py writes
ONE = {"occupation": 5}
TWO = {"occupation": 5, "relationship": 2}
JOB = {"job": 5}
FOUR = {"occupation": 7, "education": 3, "hours-per-week": 2, "relationship": 2}
PAIRS = {"occupation": 2, "education": 2, "hours-per-week": 2, "relationship": 2}
ALL, LARGE, HUGE = (30_162, 300_000, 1_000_000), (300_000, 1_000_000), (1_000_000, 10_000_000)


class Run(NamedTuple):
    """A method, what it protects, and the sizes of table it is tried on."""

    method: str
    sizes: tuple[int, ...]
    sensitive: dict[str, int] = ONE
    k: int | None = None
    variant: str = "hardened"
    suppress: float = 0.0


RUNS = {
    "bsgi, paper": Run("bsgi", ALL, variant="paper"),
    "bsgi": Run("bsgi", ALL),
    "bsgi, 2 sensitive attributes": Run("bsgi", ALL, TWO),
    "mondrian": Run("mondrian", ALL),
    "incognito": Run("incognito", ALL),
    "kaca, k = 5": Run("kaca", ALL[:2], {}, k=5),
    "anatomy": Run("anatomy", HUGE),
    "decomposition, 4 sensitive attributes": Run("decomposition", HUGE, FOUR),
    "randomized-addition, 50 values": Run("randomized-addition", HUGE, JOB),
    "msb, 4 sensitive attributes": Run("msb", LARGE, PAIRS, suppress=0.9),
    "sloms, 4 sensitive attributes, k = 5": Run("sloms", LARGE, PAIRS, k=5, suppress=0.9),
}

EXPLAINED = """\
Written by `make bench`. Adult (30,162 rows), and Adult drawn with replacement with fnlwgt moved a little; quasi
attributes age, fnlwgt, education-num, hours-per-week, marital-status, race, sex, without those that are sensitive.
Sensitive is occupation at l = 5; with two attributes relationship at l = 2, too; with four occupation, education,
hours-per-week and relationship, at l = 7, 3, 2 and 2 for decomposition, at 2 each for msb and sloms, which may leave
rows out. Randomized addition protects `job` at l = 5, drawn from 50 values, which the table then has in the place of
occupation. One core. *Plan* is the method alone; *publish* is everything from the Parquet file to the visible, audited
release with its report; *copy* is Polars reading and writing the same file, all 15 columns, in the same process;
*ratio* is publish / copy. *Table* is the file in memory, as Arrow buffers, all 15 columns. (Polars' `estimated_size`
counts the letters of text and not the cells that hold them, and says little more than half of it.) *Peak* is the most
that was resident of a process which does nothing but publish. *Code* is the part of it that are files of libraries,
mapped before the table is read: the system shares it among processes and may drop it. *Own* is (peak - code) / table,
so it has the interpreter and its objects in it. Times and memory were measured in runs of their own; a run of some
methods or sizes keeps the figures of others. Machines are noisy: compare figures of one run only.
"""


def data_file(name: str = "adult_clean_30162.csv.gz") -> Path:
    folder = Path(os.environ.get("PLURALIS_DATA", HERE.parents[1] / "shared" / "data"))
    path = folder / name
    if not path.exists():
        sys.exit(f"{path.name} is not there: put it in a folder and set PLURALIS_DATA to that folder.")
    return path


def make_table(rows: int, path: Path, *, jobs: bool = False) -> None:
    """Adult itself, or as many rows drawn from it; with `job` in the place of occupation."""
    import numpy as np
    import polars as pl
    from numpy.random import default_rng

    from pluralis.table.sources import read_table

    adult = read_table(data_file()).with_columns(
        pl.col("age", "fnlwgt", "education-num", "hours-per-week").cast(pl.Int64)
    )
    if rows != adult.height:
        rng = default_rng(20081)
        adult = adult[rng.integers(0, adult.height, rows)]
        jitter = pl.Series(rng.integers(-500, 501, rows).astype(np.int64))
        adult = adult.with_columns(pl.col("fnlwgt") + jitter)
        if jobs:
            chances = 1 / (np.arange(50) + 5.0)
            drawn = rng.choice(50, rows, p=chances / chances.sum())
            names = pl.Series("job", [f"occupation group {i:02}" for i in range(50)])
            adult = adult.drop("occupation").with_columns(names.gather(drawn))
    adult.write_parquet(path)


def policy(run: Run) -> dict[str, Any]:
    numbers = ("age", "fnlwgt", "education-num", "hours-per-week")
    attributes: dict[str, Any] = {name: {"role": "quasi", "type": "number"} for name in numbers}
    attributes |= {name: {"role": "quasi"} for name in ("marital-status", "race", "sex")}
    attributes |= {name: {"role": "sensitive", "l": l} for name, l in run.sensitive.items()}
    publish = {"method": run.method, "variant": run.variant, "suppress": run.suppress}
    return {
        "version": 1,
        "accept": ["set-size"],
        "attributes": attributes,
        "others": "drop",
        "publish": publish,
        **({"k": run.k} if run.k else {}),
    }


def copy_once(path: Path) -> float:
    """Seconds that Polars takes to read and write the file."""
    import polars as pl

    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        pl.read_parquet(path).write_parquet(Path(folder) / "copy.parquet")
    return time.perf_counter() - begin


def measure_memory(path: Path, name: str) -> dict[str, float]:
    """One publication in this process, which has done nothing else: code that is mapped before, the most it holds."""
    from pluralis.policy.policy import Policy
    from pluralis.publishing.pipeline import publish
    from pluralis.randomness import Key

    rules = Policy.from_dict(policy(RUNS[name]))
    code = resident_mib("RssFile")
    with tempfile.TemporaryDirectory() as folder:
        publish(path, rules, key=Key.test(), attacks=False).save(Path(folder) / "release", allow_test=True)
    return {"code_mib": code, "peak_mib": resident_mib("VmHWM")}


def resident_mib(what: str) -> float:
    """What Linux says of this process: RssFile, the files it has mapped; VmHWM, the most it has held."""
    lines = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(what))
    return int(next(lines).split()[1]) / 1024


def measure_time(path: Path, name: str) -> dict[str, float]:
    """One publication, step by step, in this process."""
    from pluralis.method import method_for
    from pluralis.policy.policy import Policy
    from pluralis.publishing.pipeline import publish
    from pluralis.randomness import Draw, Key
    from pluralis.table.encoding import encode
    from pluralis.table.sources import read_table

    rules = Policy.from_dict(policy(RUNS[name]))
    frame = read_table(path)
    size = frame.to_arrow().nbytes / 2**20
    method = method_for(rules)
    small = Policy.from_dict(policy(RUNS[name]._replace(suppress=0.9)))
    warm = publish(frame.head(5_000), small, key=Key.test(), attacks=False)  # load the compiled kernels
    with tempfile.TemporaryDirectory() as folder:
        warm.save(Path(folder) / "release", allow_test=True)
    table = encode(frame, rules)
    del frame
    begin = time.perf_counter()
    plan = method.plan(table, rules, Draw(Key.test()))
    planned = time.perf_counter() - begin
    del table, plan
    copies = sorted(copy_once(path) for _ in range(3))
    begin = time.perf_counter()
    publication = publish(path, rules, key=Key.test(), attacks=False)
    with tempfile.TemporaryDirectory() as folder:
        publication.save(Path(folder) / "release", allow_test=True)
    whole = time.perf_counter() - begin
    loss = publication.loss
    return {
        "plan_seconds": planned,
        "publish_seconds": whole,
        "copy_seconds": copies[1],
        "table_mib": size,
        "ncp": loss.ncp,
        "suppressed_share": loss.suppressed_share,
    }


MEASURES = {"time": measure_time, "memory": measure_memory}


def measured(what: str, path: Path, name: str) -> dict[str, float]:
    """Measure in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.run", "--one", what, str(path), name]
    environment = {**os.environ, "POLARS_MAX_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=HERE.parent)
    if ran.returncode:
        sys.exit(f"{what} of {name} on {path.name} failed:\n{ran.stderr}")
    figures: dict[str, float] = json.loads(ran.stdout)
    return figures


def all_measurements(work: Path, names: list[str], most: int) -> Iterator[dict[str, Any]]:
    for name in names:
        for rows in RUNS[name].sizes:
            if rows > most:
                continue
            jobs = "job" in RUNS[name].sensitive
            path = work / f"{'jobs' if jobs else 'adult'}_{rows}.parquet"
            if not path.exists():
                make_table(rows, path, jobs=jobs)
            row = {"method": name, "rows": rows}
            for what in MEASURES:
                row |= measured(what, path, name)
            print(
                f"{name:24} {rows:>10,} rows  plan {row['plan_seconds']:7.2f} s  publish "
                f"{row['publish_seconds']:7.2f} s  copy {row['copy_seconds']:5.2f} s  peak {row['peak_mib']:6.0f} MiB "
                f"(code {row['code_mib']:.0f}, table {row['table_mib']:,.0f})  "
                f"NCP {row['ncp']:.4f}  suppressed {row['suppressed_share']:.1%}",
                flush=True,
            )
            yield row


def chip() -> str:
    """What the processor calls itself."""
    known = Path("/proc/cpuinfo")
    facts = known.read_text().splitlines() if known.exists() else []
    return next((line.split(":")[1].strip() for line in facts if line.startswith("model name")), platform.processor())


def page(rows: list[dict[str, Any]]) -> str:
    """The measurements as a page."""
    lines = [
        "# Performance",
        "",
        EXPLAINED,
        f"{datetime.date.today().isoformat()}, {chip()}, Python {platform.python_version()}.",
        "",
        "| method | rows | plan, s | rows/s | publish, s | copy, s | ratio | table, MiB | code, MiB "
        "| peak, MiB | peak / table | own | NCP | suppressed |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        lines.append(
            f"| {row['method']} | {row['rows']:,} | {row['plan_seconds']:.2f} "
            f"| {row['rows'] / row['plan_seconds']:,.0f} "
            f"| {row['publish_seconds']:.2f} | {row['copy_seconds']:.2f} "
            f"| {row['publish_seconds'] / row['copy_seconds']:.1f} | {row['table_mib']:,.0f} | {row['code_mib']:,.0f} "
            f"| {row['peak_mib']:,.0f} | {row['peak_mib'] / row['table_mib']:.1f} "
            f"| {(row['peak_mib'] - row['code_mib']) / row['table_mib']:.1f} "
            f"| {row['ncp']:.4f} | {row['suppressed_share']:.1%} |"
        )
    lines += ["", "Growth of the plan's time with the number of rows n, as an exponent of n between the sizes:", ""]
    lines += ["| method | rows | exponent | n log n would be |", "|---|---:|---:|---:|"]
    for name in RUNS:
        seconds = {row["rows"]: row["plan_seconds"] for row in rows if row["method"] == name}
        for a, b in _steps(sorted(seconds)):
            power = math.log(seconds[b] / seconds[a]) / math.log(b / a)
            ideal = math.log(b * math.log(b) / (a * math.log(a))) / math.log(b / a)
            lines.append(f"| {name} | {a:,} to {b:,} | {power:.2f} | {ideal:.2f} |")
    return "\n".join(lines) + "\n"


def _steps(sizes: list[int]) -> list[tuple[int, int]]:
    """Neighboring sizes, and the first and the last."""
    return list(dict.fromkeys([*pairwise(sizes), (sizes[0], sizes[-1])])) if len(sizes) > 1 else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=3, metavar=("MEASURE", "FILE", "RUN"), help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="+", metavar="METHOD", help="methods or rows to run; others keep their figures")
    parser.add_argument("--most", type=int, default=max(HUGE), help="leave out larger tables, which keep their figures")
    asked = parser.parse_args()
    if asked.one:
        what, path, name = asked.one
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        print(json.dumps(MEASURES[what](Path(path), name)))
        return
    work = HERE / "work"
    work.mkdir(exist_ok=True)
    names = [name for name, run in RUNS.items() if not asked.only or {name, run.method} & {*asked.only}]
    new = list(all_measurements(work, names, asked.most))
    rows = sorted([*_kept(new), *new], key=lambda row: (list(RUNS).index(row["method"]), row["rows"]))
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in rows)
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    _, heading, cores = before.partition(BELOW)
    PAGE.write_text(page(rows) + (f"\n{heading}{cores}" if heading else ""), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(HERE.parent)}")


def _kept(new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Earlier figures of methods and sizes that were not run now."""
    if not RESULTS.exists():
        return []
    due = {(name, rows) for name, run in RUNS.items() for rows in run.sizes}
    due -= {(row["method"], row["rows"]) for row in new}
    with RESULTS.open(newline="") as file:
        old = [row for row in csv.DictReader(file) if (row["method"], int(row["rows"])) in due]
    return [{k: v if k == "method" else int(v) if k == "rows" else float(v) for k, v in row.items()} for row in old]


if __name__ == "__main__":
    main()
