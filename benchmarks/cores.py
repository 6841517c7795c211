"""`make bench`: publishing and auditing on all cores, beside a copy of the file on all cores, by the clock.

Every measurement runs in a process of its own. It first publishes 5,000 rows, so that all libraries and kernels are
loaded, and copies the file three times. Figures go to `benchmarks/cores.csv` and into `docs/performance.md`, below
those of one core.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.run import BELOW, HERE, HUGE, LARGE, PAGE, RUNS, chip, copy_once, make_table, policy
from pluralis.engines.process_pool import ALLOCATOR

RESULTS = HERE / "cores.csv"
MILLION, TEN = HUGE
SIZES = {
    "bsgi": (*LARGE, TEN),
    "mondrian": LARGE,
    "kaca, k = 5": LARGE,
    "anatomy": HUGE,
    "decomposition, 4 sensitive attributes": HUGE,
    "randomized-addition, 50 values": HUGE,
    "msb, 4 sensitive attributes": LARGE,
    "sloms, 4 sensitive attributes, k = 5": LARGE,
}
SECONDS = {("bsgi", MILLION): 20, ("bsgi", TEN): 240}  # that publishing may take, and copies
COPIES = {"anatomy": 3.5, "randomized-addition, 50 values": 3.5, "decomposition, 4 sensitive attributes": 7}
AUDIT = 10  # seconds, with the original, of a million rows
GROWTH = 1.1  # exponent of publishing by bsgi

EXPLAINED = f"""\
Written by `python -m benchmarks.cores`. The tables above, on all {{cores}} cores, by the clock. *Publish* is everything
from the Parquet file to the visible, audited release with its report, without attacks, and *CPU* the time that all
cores worked for it; *attacked* is the same with attacks, which are run unless whoever publishes says `--no-attack`.
*Copy* is Polars reading and writing the same file, all 15 columns, on as many cores, in the same process; *copies* is
publish / copy. *Audit* is `audit --original` of what was published. *Limit* is what publishing is meant to take at the
most, and auditing {AUDIT} s at a million rows.
"""


def measure(path: Path, name: str, attacks: bool) -> dict[str, float]:
    """Copies, one publication and, without attacks and up to a million rows, its audit with the original."""
    import polars as pl

    from pluralis.auditing import audit
    from pluralis.policy.policy import Policy
    from pluralis.publishing.pipeline import publish
    from pluralis.randomness import Key

    key, rules = Key.test(), Policy.from_dict(policy(RUNS[name]))
    with tempfile.TemporaryDirectory() as place:
        small, folder = pl.read_parquet(path, n_rows=5_000), Path(place) / "release"
        rest = Policy.from_dict(policy(RUNS[name]._replace(suppress=0.9)))
        publish(small, rest, key=key, attacks=attacks).save(Path(place) / "small", allow_test=True)
        audit(Path(place) / "small", original=small, allow_test=True)
        copy = sorted(copy_once(path) for _ in range(3))[1]
        begin, worked = time.perf_counter(), time.process_time()
        publication = publish(path, rules, key=key, attacks=attacks)
        publication.save(folder, allow_test=True)
        took = {"seconds": time.perf_counter() - begin, "cpu_seconds": time.process_time() - worked}
        figures = {"copy": copy, "ncp": publication.loss.ncp, **took}
        if attacks:
            return {f"attacked_{figure}": number for figure, number in figures.items()}
        rows = pl.scan_parquet(path).select(pl.len()).collect().item()
        del publication
        if rows > MILLION:
            return figures
        begin = time.perf_counter()
        assert audit(folder, original=path, allow_test=True).holds
        return {**figures, "audit": time.perf_counter() - begin}


def measured(path: Path, name: str) -> dict[str, float]:
    figures: dict[str, float] = {}
    for attacks in ("", "attacks"):
        command = [sys.executable, "-m", "benchmarks.cores", "--one", str(path), name, attacks]
        environment = {**os.environ, ALLOCATOR[0]: ALLOCATOR[1]}
        ran = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=HERE.parent)
        if ran.returncode:
            sys.exit(f"{name} on {path.name} failed:\n{ran.stderr}")
        figures |= json.loads(ran.stdout)
    return figures


def limit(name: str, rows: int) -> str:
    if (name, rows) in SECONDS:
        return f"{SECONDS[name, rows]} s"
    return f"{COPIES[name]:g} copies" if name in COPIES and rows == TEN else ""


def section(rows: list[dict[str, Any]]) -> str:
    """What stands in the page below the measurements on one core."""
    lines = [
        BELOW,
        "",
        EXPLAINED.format(cores=os.cpu_count()),
        f"{datetime.date.today().isoformat()}, {os.cpu_count()} cores of {chip()}.",
        "",
        "| method | rows | publish, s | CPU, s | copy, s | copies | limit | attacked, s | copies | audit, s | NCP |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        audit = f"{row['audit']:.1f}" if row.get("audit") else ""
        lines.append(
            f"| {row['method']} | {row['rows']:,} | {row['seconds']:.1f} | {row['cpu_seconds']:.1f} "
            f"| {row['copy']:.2f} | {row['seconds'] / row['copy']:.1f} | {limit(row['method'], row['rows'])} "
            f"| {row['attacked_seconds']:.1f} | {row['attacked_seconds'] / row['attacked_copy']:.1f} "
            f"| {audit} | {row['ncp']:.4f} |"
        )
    seconds = {row["rows"]: row["seconds"] for row in rows if row["method"] == "bsgi"}
    grown = [
        f"n^{math.log(seconds[b] / seconds[a]) / math.log(b / a):.2f} from {a:,} to {b:,} rows"
        for a, b in pairwise(sorted(seconds))
    ]
    if grown:
        lines += ["", f"Publishing by bsgi grows like {', '.join(grown)}; it is meant to by n^{GROWTH} at the most."]
    return "\n".join(lines) + "\n"


def kept(new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Earlier figures of what was not run now."""
    if not RESULTS.exists():
        return []
    done = {(row["method"], row["rows"]) for row in new}
    with RESULTS.open(newline="") as file:
        old = [(row.pop("method"), row) for row in csv.DictReader(file)]
    rows: list[dict[str, Any]] = [{"method": name, **{k: float(v or 0) for k, v in row.items()}} for name, row in old]
    rows = [{**row, "rows": int(row["rows"])} for row in rows]
    due = {(name, size) for name, sizes in SIZES.items() for size in sizes} - done
    return [row for row in rows if (row["method"], row["rows"]) in due]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=3, metavar=("FILE", "RUN", "ATTACKS"), help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="+", metavar="METHOD", help="methods or rows to run; others keep their figures")
    parser.add_argument("--least", type=int, default=0, help="leave out smaller tables, which keep their figures")
    parser.add_argument("--most", type=int, default=TEN, help="leave out larger tables, which keep their figures")
    asked = parser.parse_args()
    if asked.one:
        path, name, attacks = asked.one
        print(json.dumps(measure(Path(path), name, bool(attacks))))
        return
    work, new = HERE / "work", list[dict[str, Any]]()
    work.mkdir(exist_ok=True)
    for name, sizes in SIZES.items():
        jobs = "job" in RUNS[name].sensitive
        for rows in sizes:
            if (asked.only and not {name, RUNS[name].method} & {*asked.only}) or not asked.least <= rows <= asked.most:
                continue
            path = work / f"{'jobs' if jobs else 'adult'}_{rows}.parquet"
            if not path.exists():
                make_table(rows, path, jobs=jobs)
            new.append({"method": name, "rows": rows, **measured(path, name)})
            print({k: round(v, 3) if isinstance(v, float) else v for k, v in new[-1].items()}, flush=True)
    write(sorted([*kept(new), *new], key=lambda row: (list(SIZES).index(row["method"]), row["rows"])))


def write(every: list[dict[str, Any]]) -> None:
    """The figures, into the file and into the page."""
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(dict.fromkeys(field for row in every for field in row)))
        writer.writeheader()
        writer.writerows({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in every)
    above = PAGE.read_text(encoding="utf-8").partition(BELOW)[0].rstrip("\n")
    PAGE.write_text(f"{above}\n\n{section(every)}", encoding="utf-8")
    print(f"wrote {PAGE.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main()
