"""Run fuzzers: `python -m fuzz.run [folders|text|methods|histories|all] --seconds N --seed S --workers W`.

Case i of a seed is the same whatever the number of workers. A worker that hangs or dies is a fault of the case that it
was at, and another takes its place. Exit code 1 where a fault was found.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing as mp
import os
import queue
import resource
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from fuzz.harness import (
    CORPUS,
    ON_DISK,
    SCRATCH,
    WALL_SECONDS,
    Case,
    Fault,
    Fuzzer,
    grown,
    in_memory,
    minimized,
    write_case,
)

FUZZERS = ("folders", "text", "methods", "histories")
ADDRESS_SPACE = 24 << 30  # beyond what libraries reserve, short of what takes the machine down


def fuzzer_named(name: str) -> Fuzzer:
    fuzzer: Fuzzer = importlib.import_module(f"fuzz.{name}").FUZZER
    return fuzzer


def random_of(seed: int, name: str, index: int) -> Random:
    return Random(f"{seed} {name} {index}")


def _work(name: str, seed: int, first: int, step: int, progress: Any, results: Any) -> None:
    """Check cases until ended. `progress` holds the case at hand and when it began."""
    os.environ["POLARS_MAX_THREADS"] = "1"  # tables are tiny, and workers are several
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    fuzzer = fuzzer_named(name)
    known: set[str] = set()
    index = first
    progress[0], progress[1] = float(index), 0.0  # importing is not working
    fuzzer.check(fuzzer.case(random_of(seed, name, -1)))  # compiled code is loaded, folders are made
    while True:
        progress[0], progress[1] = float(index), time.monotonic()
        case = fuzzer.case(random_of(seed, name, index))
        fault = fuzzer.check(case)
        if fault is not None and fault.kind == "slow":
            fault = fuzzer.check(case)  # once more: the first time may have compiled something
        if fault is not None:
            progress[1] = 0.0
            case = case if fault.key in known else minimized(fuzzer, case, fault)
            known.add(fault.key)
        results.put((index, case if fault else None, fault))
        index += step
        if grown():
            return


@dataclass
class Worker:
    """A process and what it says of itself."""

    first: int
    progress: Any = field(default_factory=lambda: mp.get_context("spawn").Array("d", 2, lock=False))
    process: Any = None

    def start(self, name: str, seed: int, step: int, results: Any) -> None:
        context = mp.get_context("spawn")
        self.progress[0], self.progress[1] = float(self.first), 0.0
        words = (name, seed, self.first, step, self.progress, results)
        self.process = context.Process(target=_work, args=words)  # not a daemon: histories start processes
        self.process.start()


@dataclass
class Tally:
    """What one fuzzer did."""

    cases: int = 0
    seconds: float = 0.0
    faults: dict[str, tuple[int, int, Fault, Case | None]] = field(default_factory=dict)  # key -> times, first, …

    def add(self, index: int, case: Case | None, fault: Fault | None) -> bool:
        """Count a case; whether its fault is a new one."""
        self.cases += 1
        if fault is None:
            return False
        times, first, kept, example = self.faults.get(fault.key, (0, index, fault, case))
        self.faults[fault.key] = (times + 1, first, kept, example)
        return times == 0


def run(name: str, seconds: float, seed: int, workers: int, keep: Path | None) -> Tally:
    """One fuzzer for so many seconds."""
    results = mp.get_context("spawn").Queue()
    place = tempfile.mkdtemp(prefix="pluralis-fuzz-", dir=in_memory())
    disk = tempfile.mkdtemp(prefix="pluralis-fuzz-")
    os.environ |= {SCRATCH: place, ON_DISK: disk}
    team = [Worker(first) for first in range(workers)]
    tally, start = Tally(), time.monotonic()
    for worker in team:
        worker.start(name, seed, workers, results)
    try:
        while tally.seconds < seconds:
            tally.seconds = time.monotonic() - start
            try:
                index, case, fault = results.get(timeout=1.0)
            except queue.Empty:
                pass
            else:
                _noted(name, tally, index, case, fault, keep)
            for worker in team:
                index, began = int(worker.progress[0]), worker.progress[1]
                hangs = began and time.monotonic() - began > WALL_SECONDS
                if worker.process.is_alive() and not hangs:
                    continue
                worker.process.kill()
                worker.process.join()
                if hangs or worker.process.exitcode != 0:
                    case = fuzzer_named(name).case(random_of(seed, name, index))
                    what = f"says nothing for {WALL_SECONDS:.0f} s" if hangs else f"exit {worker.process.exitcode}"
                    _noted(name, tally, index, case, Fault("hang" if hangs else "died", what), keep)
                worker.first = index + workers
                worker.start(name, seed, workers, results)
    finally:
        for worker in team:
            worker.process.terminate()
        for worker in team:
            worker.process.join(5)
            worker.process.kill()
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(disk, ignore_errors=True)
    return tally


def _noted(name: str, tally: Tally, index: int, case: Case | None, fault: Fault | None, keep: Path | None) -> None:
    if tally.add(index, case, fault) and fault is not None:
        print(f"  {name} {index}: {fault.key}  {fault.detail[:200]}", flush=True)
        if keep is not None and case is not None:
            write_case(keep, name, case, fault)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="?", default="all", choices=[*FUZZERS, "all"])
    parser.add_argument("--seconds", type=float, default=3600.0, help="in all, shared evenly")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep", type=Path, default=Path("fuzz") / "found", help="where failing cases go")
    parser.add_argument("--case", type=int, help="check this case only, and say what it is")
    options = parser.parse_args()
    names = FUZZERS if options.which == "all" else (options.which,)
    if options.case is not None:
        fuzzer = fuzzer_named(names[0])
        case = fuzzer.case(random_of(options.seed, names[0], options.case))
        print(case, fuzzer.check(case), sep="\n")
        return 0
    faults = 0
    print(f"seed {options.seed}, {options.workers} workers, {options.seconds / len(names):.0f} s each", flush=True)
    for name in names:
        tally = run(name, options.seconds / len(names), options.seed, options.workers, options.keep)
        rate = tally.cases / max(tally.seconds, 1e-9)
        print(f"{name}: {tally.cases:,} cases, {rate:.1f} a second, {len(tally.faults)} distinct faults")
        for key, (times, first, _, _) in sorted(tally.faults.items()):
            print(f"  {times:>6,} × {key}  (first: case {first})")
        faults += len(tally.faults)
        sys.stdout.flush()
    print(
        f"Failing cases are in {options.keep}; copy what is worth keeping to {CORPUS.name}/." if faults else "No fault."
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
