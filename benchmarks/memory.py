"""How much memory publishing takes beyond interpreter and libraries: `python -m benchmarks.memory`.

Each measurement runs in a process of its own, on all cores, with the allocator as the command line sets it. It first
publishes 5,000 rows, so that all libraries and kernels are loaded; what is resident then is the base. *Beyond* is (most
that was resident afterwards - base) / table, the table as Arrow buffers with all its columns. The rule is: at most 4 at
300,000 rows, 3 at a million. *Attacked* is the same with the attacks of publication, which are run unless whoever
publishes says `--no-attack`. The page `docs/memory.md` is written from it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.run import HERE, LARGE, RUNS, make_table, policy, resident_mib
from pluralis.engines.process_pool import ALLOCATOR

PAGE = HERE.parent / "docs" / "memory.md"
MOST = {300_000: 4.0, 1_000_000: 3.0}
SMALL = 5_000
NAMES = [name for name, run in RUNS.items() if run.variant == "hardened"]


def measure(path: Path, name: str, attacks: bool) -> dict[str, float]:
    """One publication in this process, after a small one."""
    import polars as pl

    from pluralis.policy.policy import Policy
    from pluralis.publishing.pipeline import publish
    from pluralis.randomness import Key

    def published(source: object, rules: Policy) -> None:
        with tempfile.TemporaryDirectory() as folder:
            publish(source, rules, key=Key.test(), attacks=attacks).save(Path(folder) / "release", allow_test=True)

    published(pl.read_parquet(path, n_rows=SMALL), Policy.from_dict(policy(RUNS[name]._replace(suppress=0.9))))
    base = resident_mib("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the most that is resident counts from here
    published(path, Policy.from_dict(policy(RUNS[name])))
    return {"base": base, "peak": resident_mib("VmHWM")}


def in_process(path: Path, name: str, attacks: str) -> dict[str, float]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.memory", "--one", str(path), name, attacks]
    environment = {**os.environ, ALLOCATOR[0]: ALLOCATOR[1]}
    done = subprocess.run(command, env=environment, cwd=HERE.parent, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def page(lines: list[str]) -> str:
    head = (__doc__ or "").split("\n\n", 1)[1].strip().replace("\n", " ")
    return "\n".join(["# Memory", "", "Written by `python -m benchmarks.memory`. " + head, "",
                      f"{datetime.date.today().isoformat()}, Python {sys.version.split()[0]}.", "",
                      "| method | rows | table, MiB | base, MiB | peak, MiB | beyond | rule | attacked, MiB | beyond |",
                      "|---|---:|---:|---:|---:|---:|---:|---:|---:|", *lines]) + "\n"  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=3, metavar=("FILE", "RUN", "ATTACKS"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(Path(asked.one[0]), asked.one[1], asked.one[2] == "attacks")))
        return
    import polars as pl

    work, lines = HERE / "work", list[str]()
    work.mkdir(exist_ok=True)
    for name in NAMES:
        jobs = "job" in RUNS[name].sensitive
        for rows in LARGE:
            path = work / f"{'jobs' if jobs else 'adult'}_{rows}.parquet"
            if not path.exists():
                make_table(rows, path, jobs=jobs)
            table = pl.read_parquet(path).to_arrow().nbytes / 2**20
            alone, attacked = (in_process(path, name, attacks) for attacks in ("none", "attacks"))
            beyond = [(own["peak"] - own["base"]) / table for own in (alone, attacked)]
            lines.append(
                f"| {name} | {rows:,} | {table:,.0f} | {alone['base']:,.0f} | {alone['peak']:,.0f} | {beyond[0]:.2f} "
                f"| {MOST[rows]:.0f} | {attacked['peak']:,.0f} | {beyond[1]:.2f} |"
            )
            print(lines[-1], flush=True)
    PAGE.write_text(page(lines), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main()
