"""What publishing in parts takes, beside a copy of the same files: `python -m benchmarks.scale --rows 1000000`.

The table is drawn from a seed: eight columns of people in hospital, five quasi-identifiers among them, written in files
of five million rows. Publishing (`pluralis publish --engine local`), the audit, and the copy (Polars scans the files
and sinks them into one) are commands of their own, each watched from outside: wall time, CPU time of all processes,
and every 50 ms what they hold together. The copy is made before and after, and the shorter time counts.

*Resident* is the sum over all processes of what each has in memory, so that code and files that they share count once
for each. *Proportional* divides what is shared among those who share it (PSS of Linux). *Spill* is the most that lay on
disk beside the release while it was made. Results go to `benchmarks/scale.csv`; a run of some methods and sizes keeps
those of others. The table and the picture of `docs/scale.md` are made of them: `--page` does only that.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pluralis.report.drawing import Axis

HERE = Path(__file__).resolve().parent
WORK, RESULTS, PAGE = HERE / "work", HERE / "scale.csv", HERE.parent / "docs" / "scale.md"
BEGIN, END = "<!-- measured: python -m benchmarks.scale -->", "<!-- end of what was measured -->"
TEXTS = ("method", "options", "date")
CHUNK, FILE = 1_000_000, 5_000_000  # rows that are drawn together, and rows of a file
EVERY = 0.05  # seconds between looks at the processes
SLOWER = 20  # looks at the processes for each at the disk
MIB = 2**20

QUASI: dict[str, Any] = {
    "age": {"role": "quasi", "type": "number"}, "sex": {"role": "quasi"}, "zipcode": {"role": "quasi"},
    "county": {"role": "quasi"}, "education": {"role": "quasi"},
}  # fmt: skip
ILL = {"diagnosis": {"role": "sensitive", "l": 5}}
PLAIN: dict[str, Any] = {"nights": {"role": "plain", "type": "number"}, "charges": {"role": "plain", "type": "number"}}
PAID = {"nights": PLAIN["nights"], "charges": {"role": "sensitive", "l": 3, "type": "number", "breaks":
        [500, 1000, 2000, 3000, 5000, 7500, 10000, 15000, 25000, 50000]}}  # fmt: skip
METHODS: dict[str, dict[str, Any]] = {
    "anatomy": QUASI | PLAIN | ILL,
    "randomized-addition": QUASI | PLAIN | ILL,
    "decomposition": QUASI | PAID | ILL,
    "mondrian": QUASI | PLAIN | ILL,
    "bsgi": QUASI | PLAIN | ILL,
}


def policy_of(method: str) -> dict[str, Any]:
    publish = {"method": method, "suppress": 0.01}
    return {"version": 1, "attributes": METHODS[method], "others": "drop", "accept": ["set-size"], "publish": publish}


# the table ------------------------------------------------------------------------------------------------------------


def write_table(folder: Path, rows: int, seed: int = 7) -> None:
    """Rows drawn from a seed, in files; nothing where the folder has them already."""
    import polars as pl
    from numpy.random import SeedSequence

    folder.mkdir(parents=True, exist_ok=True)
    for i, first in enumerate(range(0, rows, FILE)):
        path = folder / f"{i:03}.parquet"
        if path.exists():
            continue
        sizes = [min(CHUNK, rows - begin) for begin in range(first, min(first + FILE, rows), CHUNK)]
        chunks = [
            people(size, SeedSequence([seed, first + k * CHUNK]).generate_state(1)[0]) for k, size in enumerate(sizes)
        ]
        pl.concat(chunks).write_parquet(path.with_suffix(".part"), row_group_size=1 << 18)
        path.with_suffix(".part").rename(path)


def people(rows: int, seed: int) -> Any:
    """Some rows: counties are ranges of zip codes, charges go with nights, diagnoses are more and less common."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(seed)
    zipcode = (20_000 + 3_000 * rng.beta(2, 2, rows)).astype(np.int64)
    shares = 1 / (np.arange(40) + 8.0)
    nights = rng.geometric(0.25, rows)
    names = {
        "sex": (["female", "male"], rng.integers(0, 2, rows)),
        "zipcode": ([str(code) for code in range(20_000, 23_000)], zipcode - 20_000),
        "county": ([f"{name} county" for name in _NAMES], (zipcode - 20_000) * len(_NAMES) // 3_000),
        "education": (_SCHOOLS, rng.choice(len(_SCHOOLS), rows, p=_SCHOOLED)),
        "diagnosis": (_ILLNESSES, rng.choice(40, rows, p=shares / shares.sum())),
    }
    texts = {name: pl.Series(name, some).gather(codes) for name, (some, codes) in names.items()}
    numbers = {
        "age": np.clip(rng.normal(52, 21, rows), 0, 99).astype(np.int64),
        "nights": nights,
        "charges": (nights * rng.lognormal(6.5, 0.8, rows)).astype(np.int64),
    }
    order = ["age", "sex", "zipcode", "county", "education", "nights", "charges", "diagnosis"]
    return pl.DataFrame({**texts, **numbers}).select(order)


_NAMES = [
    f"{one} {two}"
    for one in ("North", "South", "West", "East", "Upper", "Lower")
    for two in ("Baker", "Clark", "Dixon", "Ellis", "Floyd", "Grant", "Harris", "Irwin", "Jasper", "Knox")
]
_SCHOOLS = ["none", "primary school", "some high school", "high school", "some college", "bachelor", "master", "doctor"]
_SCHOOLED = (0.02, 0.08, 0.12, 0.28, 0.2, 0.18, 0.1, 0.02)
_PLACES = ("heart", "lung", "kidney", "liver", "skin", "bone", "brain", "stomach")
_ILLNESSES = [f"{kind} of the {place}" for kind in ("infection", "failure", "fracture", "tumor", "pain")
              for place in _PLACES]  # fmt: skip


# watching -------------------------------------------------------------------------------------------------------------


@dataclass
class Watched:
    """What a command and all that it started took."""

    wall: float = 0.0
    cpu: float = 0.0
    resident: float = 0.0
    proportional: float = 0.0
    processes: int = 0
    spill: float = 0.0


def watched(command: list[str], place: Path | None = None) -> Watched:
    """Run a command, and see what its processes hold together, and how large hidden folders in a place become."""
    took, over = Watched(), threading.Event()
    begin = time.perf_counter()
    running = subprocess.Popen(command, cwd=HERE.parent, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    looking = threading.Thread(target=_look, args=(running.pid, place, took, over))
    looking.start()
    said = running.stderr.read() if running.stderr else ""
    _, status, used = os.wait4(running.pid, 0)
    took.wall = time.perf_counter() - begin
    over.set()
    looking.join()
    took.cpu = used.ru_utime + used.ru_stime
    if status:
        sys.exit(f"{' '.join(command)} failed:\n{said}")
    return took


def _look(process: int, place: Path | None, took: Watched, over: threading.Event) -> None:
    looks = 0
    while not over.wait(EVERY):
        every = [process, *_children(process)]
        resident = sum(_resident(one) for one in every)
        took.processes = max(took.processes, len(every))
        if resident > 0.9 * took.resident:  # shares are dear to ask for, and far from the peak they do not matter
            took.proportional = max(took.proportional, sum(_proportional(one) for one in every))
        took.resident = max(took.resident, resident)
        if place is not None and looks % SLOWER == 0:
            took.spill = max(took.spill, _spilled(place))
        looks += 1


def _children(process: int) -> Iterator[int]:
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield int(child)
                yield from _children(int(child))


def _resident(process: int) -> float:
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MIB
    return 0.0


def _proportional(process: int) -> float:
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) / 1024
    return 0.0


def _spilled(place: Path) -> float:
    total = 0
    for folder in place.glob(".*.spill.staging-*"):
        for path in folder.rglob("*"):
            with suppress(OSError):
                total += path.stat().st_size
    return total / MIB


# measuring ------------------------------------------------------------------------------------------------------------


COPY = """
import sys
import polars as pl
pl.scan_parquet(sys.argv[1] + "/*.parquet").sink_parquet(sys.argv[2], compression="zstd")
"""


def copied(table: Path, place: Path) -> Watched:
    took = watched([sys.executable, "-c", COPY, str(table), str(place / "copy.parquet")])
    (place / "copy.parquet").unlink()
    return took


def measure(method: str, rows: int, options: list[str]) -> dict[str, Any]:
    """Publish, audit and copy a table of so many rows."""
    table, place = WORK / f"people_{rows}", WORK / "scale"
    write_table(table, rows)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / "policy.json").write_text(json.dumps(policy_of(method)))
    copies = [copied(table, place)]
    program = [sys.executable, "-m", "pluralis"]
    files = [str(path) for path in sorted(table.glob("*.parquet"))]
    asked = ["--policy", str(place / "policy.json"), "--out", str(place / "release"), "--engine", "local", *options]
    published = watched([*program, "publish", *files, *asked], place)
    audited = watched([*program, "audit", str(place / "release")])
    copies.append(copied(table, place))
    size = sum(path.stat().st_size for path in table.iterdir()) / MIB
    shutil.rmtree(place)
    wall, cpu = min(copy.wall for copy in copies), min(copy.cpu for copy in copies)
    return {
        "method": method, "rows": rows, "options": " ".join(options), "date": datetime.date.today().isoformat(),
        "load": os.getloadavg()[2], "table_mib": size, "wall": published.wall, "cpu": published.cpu,
        "resident": published.resident, "proportional": published.proportional, "processes": published.processes,
        "spill": published.spill, "copy_wall": wall, "copy_cpu": cpu, "audit_wall": audited.wall,
        "audit_cpu": audited.cpu, "audit_resident": audited.resident,
    }  # fmt: skip


# the page -------------------------------------------------------------------------------------------------------------


def kept(new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """New results, and those of earlier runs that were not made again."""
    old = []
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            old = [{k: v if k in TEXTS else float(v) for k, v in row.items()} for row in csv.DictReader(file)]
    again = {(row["method"], row["rows"], row["options"]) for row in new}
    every = [*(row for row in old if (row["method"], row["rows"], row["options"]) not in again), *new]
    return sorted(every, key=lambda row: (list(METHODS).index(str(row["method"])), row["rows"], row["options"]))


def table_of(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| method | rows | options | files, MiB | publish, s | CPU, s | copy, s | CPU, s | ratio, wall | ratio, CPU "
        "| proportional, MiB | resident, MiB | processes | spill, MiB | audit, s | CPU, s | MiB | load |",
        "|---|---:|---|" + "---:|" * 15,
    ]
    for row in rows:
        lines.append(
            f"| {row['method']} | {row['rows']:,.0f} | {row['options'] or 'none'} | {row['table_mib']:,.0f} "
            f"| {row['wall']:,.1f} | {row['cpu']:,.1f} | {row['copy_wall']:,.1f} | {row['copy_cpu']:,.1f} "
            f"| {row['wall'] / row['copy_wall']:.1f} | {row['cpu'] / row['copy_cpu']:.1f} | {row['proportional']:,.0f} "
            f"| {row['resident']:,.0f} | {row['processes']:.0f} | {row['spill']:,.0f} | {row['audit_wall']:,.1f} "
            f"| {row['audit_cpu']:,.1f} | {row['audit_resident']:,.0f} | {row['load']:.0f} |"
        )
    known = Path("/proc/cpuinfo")
    facts = known.read_text().splitlines() if known.exists() else []
    chip = next((line.split(":")[1].strip() for line in facts if line.startswith("model name")), platform.processor())
    dates = " to ".join(sorted({row["date"] for row in rows})[:: max(1, len({row["date"] for row in rows}) - 1)])
    return "\n".join([*lines, "", f"{dates}, {len(os.sched_getaffinity(0))} cores of {chip}."])


def _across(left: int, wide: Axis, value: float) -> float:
    """Where a value stands on an axis that begins at `left`."""
    return left + 320 * wide.place(value)


def _up(high: Axis, value: float) -> float:
    """The same on the axis upwards."""
    return 330 - 250 * high.place(value)


def picture(rows: list[dict[str, Any]]) -> str:
    """Most memory of all processes over rows, and over the size of the files; who is seen with default options."""
    from pluralis.report.charts import tag
    from pluralis.report.drawing import DIM, GRID, PAPER, SANS, color_of, loss_axis, px, shape, text

    shown = [row for row in rows if not row["options"]]
    high = loss_axis([row["resident"] / 1024 for row in shown], log=False)
    marks = []
    for left, key, title in ((70, "rows", "rows, millions"), (470, "table_mib", "Parquet files, MiB")):
        scale = 1e6 if key == "rows" else 1.0
        wide = loss_axis([row[key] / scale for row in shown], log=True)
        across = partial(_across, left, wide)
        up = partial(_up, high)
        for tick in high.ticks:
            marks.append(tag("line", x1=left, x2=left + 320, y1=px(up(tick)), y2=px(up(tick)), stroke=GRID))
            marks.append(text(left - 8, up(tick) + 4, f"{tick:g}", 12, fill=DIM, anchor="end"))
        marks += [text(across(tick), 350, f"{tick:g}", 12, fill=DIM, anchor="middle") for tick in wide.ticks]
        marks.append(text(left + 160, 374, title, 13, fill=DIM, anchor="middle"))
        for i, name in enumerate(METHODS):
            for kind in ("resident", "proportional"):
                points = [(across(row[key] / scale), up(row[kind] / 1024)) for row in shown if row["method"] == name]
                path = " ".join(f"{px(x)},{px(y)}" for x, y in points)
                dashes = "4 4" if kind == "resident" else None
                marks.append(tag("polyline", points=path, fill="none", stroke=color_of(i), stroke_width=1.5,
                                 stroke_dasharray=dashes))  # fmt: skip
                marks += [shape(i, x, y, 5, filled=kind == "proportional") for x, y in points]
    place = 76.0
    for i, name in enumerate(METHODS):
        if any(row["method"] == name for row in shown):
            marks += [shape(i, place, 48, 5, filled=True), text(place + 10, 52, name, 13)]
            place += 40 + 8 * len(name)
    title = "Most memory of all processes together, GiB: shared code once (filled), in each process (open)"
    marks.append(text(20, 24, title, 15, weight="bold"))
    size = {"width": 840, "height": 390, "viewBox": "0 0 840 390", "font_family": SANS}
    paper = tag("rect", width=840, height=390, fill=PAPER)
    return tag("svg", paper, *marks, xmlns="http://www.w3.org/2000/svg", **size) + "\n"


def write_page(rows: list[dict[str, Any]]) -> None:
    """The table and the picture of docs/scale.md, which is made for runs without options."""
    from pluralis.report.drawing import png

    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table_of(rows)}\n{END}{after}", encoding="utf-8")
    if all(row["options"] for row in rows):
        return
    drawn = picture(rows)
    PAGE.with_suffix(".svg").write_text(drawn, encoding="utf-8")
    (WORK / "scale.png").write_bytes(png(drawn))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--only", nargs="+", choices=METHODS, default=[*METHODS])
    parser.add_argument("--page", action="store_true", help="measure nothing; make table and picture of what is known")
    parser.add_argument("rest", nargs="*", metavar="OPTION", help="more options of publish, after --")
    asked = parser.parse_args()
    WORK.mkdir(exist_ok=True)
    for rows in () if asked.page else asked.rows:
        write_table(WORK / f"people_{rows}", rows)
        for method in asked.only:
            row = measure(method, rows, asked.rest)
            print(json.dumps({k: round(v, 2) if isinstance(v, float) else v for k, v in row.items()}), flush=True)
            every = kept([row])
            with RESULTS.open("w", newline="") as file:
                writer = csv.DictWriter(file, fieldnames=list(row))
                writer.writeheader()
                writer.writerows({k: round(v, 2) if isinstance(v, float) else v for k, v in r.items()} for r in every)
    write_page(kept([]))


if __name__ == "__main__":
    main()
