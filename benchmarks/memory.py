"""How much memory publishing takes beyond interpreter and libraries: `python -m benchmarks.memory`.

Each measurement runs in a process of its own, on all cores, with the allocator as the command line sets it. It first
publishes 5,000 rows, so that all libraries and kernels are loaded; what is resident then is the base. *Beyond* is (most
that was resident afterwards - base) / table, the table as Arrow buffers with all its columns. The rule is: at most 4 at
300,000 rows, 3 at a million. *Attacked* is the same with the attacks of publication, which are run unless whoever
publishes says `--no-attack`; the rule is the same. The page `docs/memory.md` is written from it. Measurements run one
after the other: on a busy machine what is freed is given back later.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import NamedTuple

from benchmarks.run import HERE, LARGE, RUNS, make_table, policy, resident_mib
from pluralis.engines.process_pool import ALLOCATOR

PAGE = HERE.parent / "docs" / "memory.md"
MOST = {300_000: 4.0, 1_000_000: 3.0}
SMALL = 5_000
NAMES = [name for name, run in RUNS.items() if run.variant == "hardened"]
BY_LIBRARY = ("bsgi", "anatomy", "randomized-addition, 50 values")  # also measured as a library, at BY_ROWS rows
BY_ROWS = 300_000


class Measurement(NamedTuple):
    """One publication, attacked or not, with the allocator as the command line sets it or as a library finds it."""

    name: str
    rows: int
    attacked: bool
    allocator: bool = True

    @property
    def path(self) -> Path:
        return HERE / "work" / f"{'jobs' if 'job' in RUNS[self.name].sensitive else 'adult'}_{self.rows}.parquet"


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


def in_process(asked: Measurement) -> dict[str, float]:
    """The same in a process of its own."""
    attacks = "attacks" if asked.attacked else "none"
    command = [sys.executable, "-m", "benchmarks.memory", "--one", str(asked.path), asked.name, attacks]
    environment = {name: value for name, value in os.environ.items() if name != ALLOCATOR[0]}
    environment |= dict([ALLOCATOR]) if asked.allocator else {}
    done = subprocess.run(command, env=environment, cwd=HERE.parent, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    print(f"{asked.name}, {asked.rows:,} rows: {figures['base']:,.0f} to {figures['peak']:,.0f} MiB", flush=True)
    return figures


def page(lines: list[str], without: str) -> str:
    head = (__doc__ or "").split("\n\n", 1)[1].strip().replace("\n", " ")
    return "\n".join(["# Memory", "", "Written by `python -m benchmarks.memory`. " + head, "",
                      f"{datetime.date.today().isoformat()}, Python {sys.version.split()[0]}.", "",
                      "| method | rows | table, MiB | base, MiB | peak, MiB | beyond | rule | attacked, MiB | beyond |",
                      "|---|---:|---:|---:|---:|---:|---:|---:|---:|", *lines, "", without]) + "\n"  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=3, metavar=("FILE", "RUN", "ATTACKS"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(Path(asked.one[0]), asked.one[1], asked.one[2] == "attacks")))
        return
    import polars as pl

    every = [Measurement(*one) for one in product(NAMES, LARGE, (False, True))]
    every += [Measurement(name, BY_ROWS, True, allocator=False) for name in BY_LIBRARY]
    (HERE / "work").mkdir(exist_ok=True)
    for one in every:
        if not one.path.exists():
            make_table(one.rows, one.path, jobs="job" in RUNS[one.name].sensitive)
    figures = {one: in_process(one) for one in every}
    sizes = {path: pl.read_parquet(path).to_arrow().nbytes / 2**20 for path in {one.path for one in every}}
    beyond = {one: (own["peak"] - own["base"]) / sizes[one.path] for one, own in figures.items()}
    lines = []
    for name, rows in product(NAMES, LARGE):
        one, attacked = Measurement(name, rows, False), Measurement(name, rows, True)
        lines.append(
            f"| {name} | {rows:,} | {sizes[one.path]:,.0f} | {figures[one]['base']:,.0f} | {figures[one]['peak']:,.0f} "
            f"| {beyond[one]:.2f} | {MOST[rows]:.0f} | {figures[attacked]['peak']:,.0f} | {beyond[attacked]:.2f} |"
        )
    library = ", ".join(
        f"{name} {beyond[Measurement(name, BY_ROWS, True, allocator=False)]:.2f}" for name in BY_LIBRARY
    )
    without = (
        f"As a library, where the allocator is left as Polars has it, *beyond* at {BY_ROWS:,} rows with attacks is: "
        f"{library}."
    )
    PAGE.write_text(page(lines, without), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main()
