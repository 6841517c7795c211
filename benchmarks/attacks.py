"""Part of `make bench`: all attacks on a release of a million rows of each kind, their time and their memory.

Each kind is attacked in a process of its own, on what the command line would run. Results go into `docs/attacks.md`,
between the marks.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.queries import BEGIN, END
from benchmarks.run import HERE, make_table, resident_mib

PAGE = HERE.parent / "docs" / "attacks.md"
ROWS = 1_000_000
NUMBERS = ("age", "education-num", "hours-per-week", "fnlwgt")
KINDS: dict[str, dict[str, Any]] = {
    "generalized": {"method": "mondrian"},
    "generalized, bsgi": {"method": "bsgi"},
    "bucketized": {"method": "anatomy"},
    "decomposed": {"method": "decomposition", "sensitive": {"occupation": 7, "education": 3, "relationship": 2}},
    "sliced": {"method": "sloms", "sensitive": {"occupation": 2, "education": 2, "relationship": 2}, "k": 5},
    "candidates": {"method": "randomized-addition"},
    "multi": {"method": "gd"},
}
RULES = ["age, sex, race -> occupation : l=4", "occupation, sex -> education : l=2"]


def policy(kind: str) -> Any:
    from pluralis.policy.policy import Policy

    how = KINDS[kind]
    if how["method"] == "gd":
        return Policy.from_dict({"version": 1, "rules": RULES, "others": "drop", "publish": {"method": "gd"}})
    sensitive = how.get("sensitive", {"occupation": 5})
    attributes: dict[str, Any] = {name: {"role": "quasi", "type": "number"} for name in NUMBERS}
    attributes |= {name: {"role": "quasi"} for name in ("marital-status", "race", "sex")}
    attributes |= {name: {"role": "sensitive", "l": l} for name, l in sensitive.items()}
    publish = {"method": how["method"], "suppress": 0.9 if how["method"] == "sloms" else 0.0}
    rules = {"version": 1, "attributes": attributes, "others": "drop", "publish": publish, "accept": ["set-size"]}
    return Policy.from_dict(rules | ({"k": how["k"]} if "k" in how else {}))


def published(kind: str, table: Path, folder: Path) -> None:
    from pluralis.publishing.pipeline import publish
    from pluralis.randomness import Key

    publish(table, policy(kind), key=Key.test()).save(folder, allow_test=True)


def attacked(table: Path, folder: Path) -> dict[str, Any]:
    """All attacks, one after the other, and the seconds of each."""
    from pluralis.attacks import Options, attack, attacks
    from pluralis.estimate.analyst_release import read_release
    from pluralis.table.sources import read_table

    begin = time.perf_counter()
    release = read_release(folder)
    original = read_table(table)
    seconds: dict[str, float] = {}
    sampled: dict[str, int] = {}
    for name, one in attacks().items():
        if not one.applies(release):
            continue
        start = time.perf_counter()
        results = attack(release, original, only=[name], options=Options(folder=folder))
        seconds[name] = time.perf_counter() - start
        drawn = [result.targets for result in results if result.sampled]
        if drawn:
            sampled[name] = max(drawn)
        if any(result.breach for result in results):
            sys.exit(f"{name} exceeds a promise: {[result.to_dict() for result in results if result.breach]}")
    taken = time.perf_counter() - begin
    return {"all": taken, "seconds": seconds, "sampled": sampled, "peak_mib": resident_mib("VmHWM")}


def page(timings: dict[str, dict[str, Any]]) -> str:
    rows = [
        "| kind | method | attacks | seconds | the slowest | people drawn | peak, MiB |",
        "|---|---|---:|---:|---|---|---:|",
    ]
    for kind, one in timings.items():
        slowest = max(one["seconds"], key=one["seconds"].get)
        drawn = ", ".join(f"{name} {count:,}" for name, count in one["sampled"].items()) or "all people"
        rows.append(
            f"| {kind.partition(',')[0]} | {KINDS[kind]['method']} | {len(one['seconds'])} | {one['all']:.0f} "
            f"| {slowest}, {one['seconds'][slowest]:.0f} s | {drawn} | {one['peak_mib']:,.0f} |"
        )
    total = sum(one["all"] for one in timings.values())
    return "\n".join([*rows, "", f"In all {total:.0f} s, one after the other."])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=3, metavar=("DO", "TABLE", "FOLDER"), help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="+", metavar="KIND", help="kinds to try; nothing is written then")
    parser.add_argument("--rows", type=int, default=ROWS)
    asked = parser.parse_args()
    if asked.one:
        do, table, folder = asked.one
        if do == "attack":
            print(json.dumps(attacked(Path(table), Path(folder))))
        else:
            published(do, Path(table), Path(folder))
        return
    timings: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as work:
        table = Path(work) / "table.parquet"
        make_table(asked.rows, table)
        for kind in asked.only or KINDS:
            folder = Path(work) / kind.replace(", ", "_")
            for do in (kind, "attack"):
                command = [sys.executable, "-m", "benchmarks.attacks", "--one", do, str(table), str(folder)]
                ran = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), cwd=HERE.parent)
                if ran.returncode:
                    sys.exit(f"{do} of {kind} failed:\n{ran.stderr}")
            timings[kind] = json.loads(ran.stdout)
            print(kind, json.dumps(timings[kind]), flush=True)
    if asked.only or asked.rows != ROWS:
        return
    text = PAGE.read_text(encoding="utf-8")
    before, middle, after = text.partition(BEGIN)
    if not middle or END not in after:
        sys.exit(f"{PAGE.name} has no marks to write between.")
    PAGE.write_text(before + BEGIN + "\n\n" + page(timings) + "\n\n" + END + after.partition(END)[2], encoding="utf-8")
    print(f"wrote docs/{PAGE.name}")


if __name__ == "__main__":
    main()
