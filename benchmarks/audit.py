"""How long an audit of a million rows takes, and how much memory, for a release of each kind.

Discharges of the embedded generator, text and numbers as they are; each audit in a process of its own, nine times, the
least is taken. `--beside SRC` audits the same with another checkout's `src`, from releases of its own, and prints both.
Results go into `docs/release.md`, between the marks.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "release.md"
BEGIN, END = "<!-- audit: begin -->", "<!-- audit: end -->"
ROWS = 1_000_000
METHODS = ("mondrian", "anatomy", "decomposition", "sloms", "randomized-addition", "gd")
SEVERAL = ("decomposition", "sloms")
TIMES = 9


class Took(NamedTuple):
    """Seconds and MiB at most."""

    seconds: float
    memory: int


def policy(method: str) -> Any:
    import pluralis as pls  # by its public names alone, which another checkout has, too

    attributes: dict[str, Any] = {name: {"role": "quasi"} for name in ("gender", "zipcode", "hospital")}
    attributes |= {"age": {"role": "quasi", "type": "number"}, "diagnosis": {"role": "sensitive", "l": 4}}
    attributes |= {"insurer": {"role": "sensitive", "l": 3}} if method in SEVERAL else {}
    publish = {"method": method, "suppress": 0.3}
    accept: dict[str, Any] = {}
    if "accept" in pls.Policy.model_fields:  # older checkouts accept all
        accept["accept"] = "set-size"
    return pls.Policy(version=1, attributes=attributes, others="drop", publish=publish, **accept)


def make(method: str, folder: str, rows: int) -> None:
    """Publish, in this process."""
    import pluralis as pls

    pls.publish(pls.hospital_discharges(rows=rows), policy(method), key=pls.Key.new(), attacks=False).save(folder)


def judge(folder: str) -> None:
    """Audit, in this process, and print what it took."""
    import resource
    import time

    import pluralis as pls

    audit = pls.audit  # loads what it needs
    began = time.perf_counter()
    assert audit(Path(folder)).holds
    seconds = time.perf_counter() - began
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10]))


def in_process(source: str | None, *words: str) -> str:
    """One of the above in a process of its own, with the library of this checkout or of another."""
    env = {**os.environ, **({"PYTHONPATH": source} if source else {})}
    command = [sys.executable, str(Path(__file__)), *words]
    return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout


def measured(method: str, rows: int, source: str | None) -> Took:
    with tempfile.TemporaryDirectory() as place:
        folder = str(Path(place) / "release")
        in_process(source, "--make", method, folder, "--rows", str(rows))
        ran = [Took(*json.loads(in_process(source, "--judge", folder))) for _ in range(TIMES)]
    return Took(min(one.seconds for one in ran), min(one.memory for one in ran))


def page(timings: dict[str, Took], rows: int, machine: str) -> Iterator[str]:
    yield f"| audit of {rows:,} rows by | seconds | MiB at most |"
    yield "|---|---:|---:|"
    for method, took in timings.items():
        yield f"| {method} | {took.seconds:.2f} | {took.memory:,} |"
    yield ""
    yield f"Measured by `benchmarks/audit.py` on {date.today().isoformat()}, {machine}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--machine", default="two cores of an AMD EPYC")
    parser.add_argument("--beside", help="the src of another checkout")
    parser.add_argument("--make", nargs=2, metavar=("METHOD", "FOLDER"), help=argparse.SUPPRESS)
    parser.add_argument("--judge", metavar="FOLDER", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.make:
        method, folder = asked.make
        make(method, folder, asked.rows)
        return
    if asked.judge:
        judge(asked.judge)
        return
    timings = {}
    for method in METHODS:
        timings[method] = took = measured(method, asked.rows, None)
        line = f"{method}: {took.seconds:.2f} s, {took.memory:,} MiB"
        if asked.beside:
            other = measured(method, asked.rows, asked.beside)
            line += f"; beside {other.seconds:.2f} s, {other.memory:,} MiB; "
            line += f"{took.seconds / other.seconds:.2f} and {took.memory / other.memory:.2f} times"
        print(line, flush=True)
    text = PAGE.read_text(encoding="utf-8")
    before, middle, after = text.partition(BEGIN)
    if not middle or END not in after:
        sys.exit(f"{PAGE.name} has no marks to write between.")
    lines = "\n".join(page(timings, asked.rows, asked.machine))
    PAGE.write_text(f"{before}{BEGIN}\n\n{lines}\n\n{END}{after.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
