"""Part of `make bench`: how well each kind of release answers the same questions, and how fast.

A workload of 1,000 queries (Randomized Addition, section 6.2: three random quasi-identifiers and occupation, expected
selectivity 0.07) is put to releases of Adult by every method, through the same call. The second table asks releases of
one million rows. Results go into `docs/estimates.md`, between the marks.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.run import HERE, data_file, make_table

PAGE = HERE.parent / "docs" / "estimates.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
QUASI = ("age", "education-num", "hours-per-week", "marital-status", "race", "sex")
NUMBERS = ("age", "education-num", "hours-per-week")
L = 5
DRAWS = 10
TIMED = ("randomized-addition", "anatomy", "decomposition", "sloms", "mondrian")
METHODS: dict[str, dict[str, Any]] = {
    "randomized-addition": {},
    "randomized-addition, paper": {"variant": "paper", "options": {"claim": "set-size"}},
    "anatomy": {},
    "msb": {},
    "decomposition": {},
    "sloms, k = 5 and relationship sensitive too": {"k": 5, "suppress": 0.9},
    "bsgi": {},
    "tp": {},
    "mondrian": {},
    "kaca, k = 5, occupation not protected": {"k": 5},
    "incognito": {},
}


def policy(name: str) -> Any:
    from pluralis.policy.policy import Policy

    how = dict(METHODS[name])
    k = how.pop("k", None)
    method = name.split(",")[0]
    attributes: dict[str, Any] = {
        column: {"role": "quasi", **({"type": "number"} if column in NUMBERS else {})} for column in QUASI
    }
    if method == "kaca":
        attributes["occupation"] = {"role": "plain"}
    else:
        attributes["occupation"] = {"role": "sensitive", "l": L}
    if method == "sloms":
        attributes["relationship"] = {"role": "sensitive", "l": 2}
    rules = {
        "version": 1,
        "attributes": attributes,
        "others": "drop",
        "publish": {"method": method, **how},
        "accept": ["set-size"],
    }
    return Policy.from_dict(rules | ({"k": k} if k else {}))


def answered(queries: int = 1_000) -> list[str]:
    """A line for each method: its errors and how often its intervals hold the truth."""
    from pluralis.metrics.workloads import answers, workload
    from pluralis.publishing.pipeline import publish
    from pluralis.randomness import Key
    from pluralis.table.sources import read_table

    adult = read_table(data_file())
    domains = {name: sorted(int(v) if name in NUMBERS else v for v in adult[name].unique()) for name in QUASI}
    domains["occupation"] = sorted(adult["occupation"].unique())
    asked = workload(domains, "occupation", queries=queries, dimensions=3, selectivity=0.07, seed=1)
    lines = [
        "| method | kind | mean error | median error | intervals hold | suppressed |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for name in METHODS:
        keys = [Key(bytes([i] * 32)) for i in range(1, DRAWS + 1)] if "addition" in name else [Key.test()]
        releases = [publish(adult, policy(name), key=key) for key in keys]
        results = [answers(release, adult, asked) for release in releases]
        figures = [
            fmean(getattr(f, measure) for f in results) for measure in ("mean_error", "median_error", "coverage")
        ]
        figures.append(releases[0].manifest.suppressed / adult.height)
        lines.append(f"| {name} | {releases[0].kind} | " + " | ".join(f"{figure:.1%}" for figure in figures) + " |")
        print(lines[-1], flush=True)
    return lines


def timed(rows: int = 1_000_000, queries: int = 1_000) -> list[str]:
    """A line for each method: seconds for the first count, which reads the tables, and for all after it."""
    from pluralis.estimate import count
    from pluralis.metrics.workloads import workload
    from pluralis.publishing.pipeline import publish
    from pluralis.randomness import Key
    from pluralis.table.sources import read_table

    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    lines = ["| method | first count, s | 1,000 counts, s |", "|---|---:|---:|"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adult.parquet"
        make_table(rows, path)
        adult = read_table(path)
        domains = {name: sorted(adult[name].unique()) for name in (*QUASI, "occupation")}
        asked = workload(domains, "occupation", queries=queries, dimensions=3, selectivity=0.07, seed=1)
        for name in (n for n in METHODS if n.split(",")[0] in TIMED and "paper" not in n):
            release = publish(path, policy(name), key=Key.test())
            begin = time.perf_counter()
            count(release, asked[0])
            first = time.perf_counter() - begin
            begin = time.perf_counter()
            for query in asked:
                count(release, query)
            lines.append(f"| {name} | {first:.2f} | {time.perf_counter() - begin:.2f} |")
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        sys.exit(f"{PAGE.name} has no marks to write between.")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    parts = [
        f"1,000 queries on three of {', '.join(QUASI)} and on occupation (l = {L}), expected selectivity 0.07, to "
        "releases of Adult (30,162 rows). Errors are relative to the true count, over queries that somebody passes; a "
        f"suppressed row is an error, too. Intervals are at 95 %. Randomized addition: mean of {DRAWS} keys.",
        "\n".join(answered()),
        "The same queries to releases of 1,000,000 rows, on one core:",
        "\n".join(timed()),
    ]
    PAGE.write_text(before + BEGIN + "\n\n" + "\n\n".join(parts) + "\n\n" + END + after, encoding="utf-8")
    print(f"wrote docs/{PAGE.name}")


if __name__ == "__main__":
    main()
