"""`make bench`: Versatile Publishing as its paper measures it, on Adult, on claims, and on a table as large as Texas'.

Results go to `benchmarks/versatile.csv` and into `docs/versatile.md`.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import math
import platform
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.run import data_file
from pluralis import Key, Policy
from pluralis.datasets.texas import texas_like
from pluralis.decomposable import Groups, Likelihood
from pluralis.errors import Infeasible
from pluralis.estimate.conditions import All, Condition
from pluralis.methods import method_for
from pluralis.metrics.kl import kl_divergence
from pluralis.metrics.queries import answers, expression, workload
from pluralis.plan import LEFT_OUT, Plan
from pluralis.publish import assemble, publish
from pluralis.randomness import Draw
from pluralis.release import Release
from pluralis.rules import Rule, irreducible
from pluralis.schema import Subtable
from pluralis.table import Table, encode

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "versatile.md"
RESULTS = HERE / "versatile.csv"
SETS, QUERIES, FEWER = 50, 200, 40
METHODS = ("gd", "uad", "multi-sa", "multi-sa, paper", "single-attribute")
SCHOOL = {
    "Preschool": "preschool", "1st-4th": "elementary", "5th-6th": "elementary", "7th-8th": "elementary",
    "9th": "secondary", "10th": "secondary", "11th": "secondary", "12th": "secondary", "HS-grad": "secondary",
    "Some-college": "some college", "Assoc-voc": "associate degree", "Assoc-acdm": "associate degree",
    "Bachelors": "university", "Masters": "post-graduate", "Prof-school": "post-graduate", "Doctorate": "post-graduate",
}  # fmt: skip
WHITE = ("Exec-managerial", "Prof-specialty", "Tech-support", "Adm-clerical", "Sales")
BLUE = ("Craft-repair", "Machine-op-inspct", "Transport-moving", "Handlers-cleaners", "Farming-fishing")
CLAIMS = (
    "admission_month", "age", "sex", "race", "esrd", "state", "state_county", "hospital", "attending_physician", "days",
    "drg", "admitting_icd9", "icd9_dx1", "icd9_dx2", "icd9_dx3", "sp_chf", "sp_copd", "sp_diabetes",
)  # fmt: skip


def adult(rows: int = 10_000) -> pl.DataFrame:
    """Adult in the seven attributes of the paper's Table 5a, some rows drawn without replacement."""
    table = pl.read_csv(data_file("adult_clean_45222.csv.gz"), infer_schema_length=None)
    age = pl.col("age")
    decade = pl.when(age < 25).then(pl.lit("17-24")).when(age > 64).then(pl.lit("65-90"))
    decade = decade.otherwise(pl.format("{}-{}", (age - 25) // 10 * 10 + 25, (age - 25) // 10 * 10 + 34))
    job = pl.col("occupation")
    collar = pl.when(job.is_in(WHITE)).then(pl.lit("white collar")).when(job.is_in(BLUE)).then(pl.lit("blue collar"))
    native = pl.col("native-country") == "United-States"
    return table.select(
        age=decade,
        country=pl.when(native).then(pl.lit("US")).otherwise(pl.lit("other")),
        education=pl.col("education").replace_strict(SCHOOL),
        marital_status=pl.col("marital-status"),
        occupation=collar.otherwise(pl.lit("others")),
        income=pl.col("income"),
        sex=pl.col("sex"),
    ).sample(rows, seed=2010)


def claims() -> pl.DataFrame:
    """DE-SynPUF inpatient claims in 18 attributes, rows without a missing value."""
    table = pl.read_parquet(data_file("desynpuf_inpatient_claims.parquet"))
    return table.select("person", *CLAIMS).drop_nulls().cast(pl.String)


def rule_sets(table: pl.DataFrame, count: int, known: int, l: int, seed: int) -> list[Rule]:
    """An irreducible set of so many random rules that each column alone keeps."""
    rng = random.Random(seed)
    names = [name for name in table.columns if name != "person"]
    tops = {name: int(table[name].value_counts()["count"].max()) for name in names}  # type: ignore[arg-type]
    secrets = [name for name in names if tops[name] * l <= table.height]
    rules: list[Rule] = []
    while len(rules) < count:
        secret = rng.choice(secrets)
        left = rng.sample([name for name in names if name != secret], known)
        rules = irreducible([*rules, Rule(knows=tuple(sorted(left)), protects=secret, l=l)])
    return rules


def policy_for(table: pl.DataFrame, rules: Sequence[Rule], method: str) -> Policy:
    named = {name for rule in rules for name in (*rule.knows, rule.protects)}
    name, _, variant = method.partition(", ")
    suppress = 0.99 if name == "multi-sa" else 0.0
    return Policy.of(
        {
            "version": 1,
            "attributes": {n: {"role": "quasi"} for n in table.columns if n not in named and n != "person"},
            "rules": [str(rule) for rule in rules],
            "person": "person" if "person" in table.columns else None,
            "publish": {"method": name, "variant": variant or "hardened", "suppress": suppress},
        }
    )


# Adult ------------------------------------------------------------------------------------------------------------


def on_adult(sets: int, queries: int) -> Iterator[dict[str, Any]]:
    """KL divergence, relative error and seconds for 1 to 9 rules: mean over random sets of rules."""
    table = adult()
    values = {name: table[name].unique().sort().to_list() for name in table.columns}
    known: dict[Any, tuple[float, float]] = {}
    solved: dict[Any, tuple[Plan, float]] = {}
    for count in range(1, 10):
        for method in METHODS:
            figures = []
            for seed in range(sets):
                rules = rule_sets(table, count, 3, 2, 1000 * count + seed)
                policy = policy_for(table, rules, method)
                plan, seconds, coded = planned(table, policy, solved)
                key = (method, told(plan, policy))
                if key not in known:
                    asked = workload(values, None, queries=queries, dimensions=3, part=0.4, seed=7)
                    if plan.left_out:
                        known[key] = with_suppressed(plan, coded, table, asked)
                    else:
                        release = assemble(plan, coded, policy, method_for(policy), Draw(Key.test()))
                        kl = kl_divergence(release, table)
                        assert kl is not None
                        known[key] = kl, answers(release, table, asked).mean_error
                figures.append((*known[key], seconds, plan.left_out / table.height))
            kl, error, seconds, left_out = np.mean(figures, axis=0).tolist()
            yield {"table": "Adult", "rows": table.height, "rules": count, "method": method, "kl": kl,
                   "error": error, "plan": seconds, "left_out": left_out}  # fmt: skip


def planned(table: pl.DataFrame, policy: Policy, solved: dict[Any, tuple[Plan, float]]) -> tuple[Plan, float, Any]:
    """The plan and how long it took. Groups of multi-sa depend on what is protected alone: they are solved once."""
    coded = encode(table, policy)
    key = (policy.publish.method, policy.publish.variant, tuple(policy.sensitive))
    if key not in solved or policy.publish.method != "multi-sa":
        start = time.perf_counter()
        plan = method_for(policy).plan(coded, policy, Draw(Key.test()))
        solved[key] = plan, time.perf_counter() - start
    return *solved[key], coded


def told(plan: Plan, policy: Policy) -> Any:
    """What makes two plans equal here: the schema of subtables, or what is protected."""
    if not plan.subplans:
        return tuple(policy.sensitive)
    tables = (tuple((c.name, c.role) for c in subplan.table.columns.values()) for subplan in plan.subplans)
    return tuple(sorted(tables))


def with_suppressed(
    plan: Plan, coded: Table, original: pl.DataFrame, asked: Sequence[Condition]
) -> tuple[float, float]:
    """KL divergence and mean error if left-out rows are published without their sensitive values, as the paper does.

    Whoever reads them can only take every combination of values to be as likely as any other.
    """
    secrets, quasi = coded.sensitive, [column for column in coded.columns.values() if column.role != "sensitive"]
    joint = np.zeros(coded.rows, np.int64)
    for column in secrets:
        joint = joint * column.size + column.codes
    size = math.prod(column.size for column in secrets)
    kept = plan.group_of != LEFT_OUT
    groups = Groups.of(plan.group_of[kept], joint[kept].astype(np.int32), size)
    groups = Groups(
        np.where(kept, plan.group_of, plan.groups),
        np.append(groups.starts, groups.values.size + size),
        np.append(groups.values, np.arange(size)),
        np.append(groups.shares, np.full(size, 1 / size)),
    )
    columns = [(column.codes, column.size) for column in quasi] + [(joint.astype(np.int32), size)]
    secret = 1 << len(quasi)
    kl = Likelihood(columns, {secret: groups}).kl([Subtable(2 * secret - 1, secret)])
    assert kl is not None
    rows = pl.DataFrame({column.name: column.published(np.arange(coded.rows)) for column in quasi})
    grid = np.unravel_index(np.arange(size), [column.size for column in secrets])
    shown = zip(secrets, grid, strict=True)
    cells = pl.DataFrame({column.name: column.series.gather(codes) for column, codes in shown})
    errors = []
    for query in asked:
        true = int(original.select(expression(query).sum()).item())
        inside = _passing(rows, query) @ _share_of_groups(groups, _passing(cells, query))[groups.of_row]
        if true:
            errors.append(abs(inside - true) / true)
    return kl, float(np.mean(errors))


def _passing(rows: pl.DataFrame, query: Condition) -> np.ndarray:
    """1.0 for rows that pass what a query asks of their columns."""
    assert isinstance(query, All)
    checks = [expression(part) for part in query.parts if set(part.attributes) <= set(rows.columns)]
    passing = rows.select(pl.all_horizontal(*checks)) if checks else pl.DataFrame({"all": [True] * rows.height})
    return passing.to_series().cast(pl.Float64).to_numpy()


def _share_of_groups(groups: Groups, passing: np.ndarray) -> np.ndarray:
    """The share of each group's values that pass."""
    return np.add.reduceat(groups.shares * passing[groups.values], groups.starts[:-1])


# large tables -----------------------------------------------------------------------------------------------------


def on_large(name: str, table: pl.DataFrame, counts: Sequence[int], methods: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Seconds to plan and to publish, KL divergence and error of queries, l = 10."""
    values = {column: table[column].unique().sort().to_list() for column in table.columns if column != "person"}
    for count in counts:
        rules = rule_sets(table, count, 3, 10, count)
        for method in methods:
            policy = policy_for(table, rules, method)
            coded = encode(table, policy)
            start = time.perf_counter()
            try:
                method_for(policy).plan(coded, policy, Draw(Key.test()))
            except Infeasible as refusal:
                print(f"{name}, {count} rules, {method}: {refusal}", file=sys.stderr)
                continue
            seconds = time.perf_counter() - start
            start = time.perf_counter()
            release: Release = publish(table, policy, key=Key.test())
            published = time.perf_counter() - start
            asked = workload(values, None, queries=FEWER, dimensions=4, part=0.4, seed=7)
            yield {
                "table": name,
                "rows": table.height,
                "rules": count,
                "method": method,
                "kl": kl_divergence(release, table),
                "error": answers(release, table, asked).mean_error,
                "plan": seconds,
                "publish": published,
            }


def growth() -> Iterator[dict[str, Any]]:
    """Seconds to plan as tables like Texas' grow: nine rules, l = 10."""
    rules = rule_sets(texas_like(), 9, 3, 10, 9)
    for rows in (30_000, 177_148, 1_000_000):
        table = texas_like(rows)
        for method in ("uad", "gd"):
            policy = policy_for(table, rules, method)
            coded = encode(table, policy)
            best = np.inf
            for _ in range(2):
                start = time.perf_counter()
                method_for(policy).plan(coded, policy, Draw(Key.test()))
                best = min(best, time.perf_counter() - start)
            yield {"table": "growth", "rows": rows, "rules": 9, "method": method, "plan": best}


# the page ---------------------------------------------------------------------------------------------------------

FIELDS = ("table", "rows", "rules", "method", "kl", "error", "plan", "publish", "left_out")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("adult", "texas", "claims", "growth"))
    parser.add_argument("--sets", type=int, default=SETS)
    asked = parser.parse_args()
    parts = {
        "adult": lambda: on_adult(asked.sets, QUERIES),
        "texas": lambda: on_large("Texas", texas_like(), (1, 5, 9), ("gd", "uad", "single-attribute")),
        "claims": lambda: on_large("claims", claims(), (1, 5, 9), ("gd", "uad", "single-attribute")),
        "growth": growth,
    }
    before = list(csv.DictReader(RESULTS.open(encoding="utf-8"))) if asked.only and RESULTS.exists() else []
    names = {"adult": "Adult", "texas": "Texas", "claims": "claims", "growth": "growth"}
    results = [row for row in before if row["table"] != names[asked.only]] if asked.only else []
    for part in [asked.only] if asked.only else parts:
        for row in parts[part]():
            print(row, flush=True)
            results.append({field: _figure(row.get(field, "")) for field in FIELDS})
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(results)
    PAGE.write_text(page(results), encoding="utf-8")


def _figure(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def page(results: Sequence[dict[str, str]]) -> str:
    """docs/versatile.md."""
    said = [EXPLAINED.format(date=datetime.date.today(), machine=platform.processor() or platform.machine())]
    for table, title in TITLES.items():
        rows = [row for row in results if row["table"] == table]
        if not rows:
            continue
        said.append(f"## {title}\n")
        shown = [field for field in FIELDS[1:] if any(row[field] for row in rows)]
        said.append(f"| {' | '.join(HEADS[field] for field in shown)} |")
        said.append("|" + "---|" * len(shown))
        said += [f"| {' | '.join(row[field] for field in shown)} |" for row in rows]
        said.append("")
        if table == "growth":
            said += [*_exponents(rows), ""]
    return "\n".join(said)


def _exponents(rows: Sequence[dict[str, str]]) -> Iterator[str]:
    for method in ("uad", "gd"):
        mine = [row for row in rows if row["method"] == method]
        size, seconds = (np.log([float(row[field]) for row in mine]) for field in ("rows", "plan"))
        steps = np.diff(seconds) / np.diff(size)
        overall = (seconds[-1] - seconds[0]) / (size[-1] - size[0])
        said = f"n^{overall:.2f} from {mine[0]['rows']} to {mine[-1]['rows']} rows"
        yield f"{method} grows like {said} (step by step {', '.join(f'{step:.2f}' for step in steps)})."


HEADS = {"rows": "rows", "rules": "rules", "method": "method", "kl": "KL, nats", "error": "mean relative error",
         "plan": "plan, s", "publish": "publish, s", "left_out": "left out"}  # fmt: skip
TITLES = {
    "Adult": "Adult: 7 attributes, 10,000 rows, l = 2",
    "Texas": "A table with the domains of Texas': 18 attributes, l = 10",
    "claims": "DE-SynPUF inpatient claims: 18 attributes, l = 10, persons kept apart",
    "growth": "Growth: nine rules on tables like Texas'",
}
EXPLAINED = """\
# Versatile Publishing, measured

Written by `make bench` ({date}, {machine}). Settings of the paper's section 6: random irreducible sets of rules with
three attributes on the left, without rules that a column alone breaks. Adult: mean over 50 sets for each number of
rules; 200 random COUNT queries (1,000 in the paper) for each different release, of three attributes with 40 % of the
values of each (40 queries of four attributes for the large tables). *Plan* is the method alone; *publish* is everything
but writing the files.

`multi-sa, paper` is the paper's integer program as printed: one group as large as can be. `multi-sa` makes groups as
small as can be, a stronger baseline. Rows that fit no group are left out; as in the paper, they count as published
without their protected values, so that every combination of these is as likely as any other. Groups depend on what is
protected alone, so each set is solved once and its seconds are those.

With more than one rule, gd and uad lose less than `multi-sa, paper` and `single-attribute`, in KL and in the error of
queries. Against the stronger `multi-sa` uad is behind in KL for a few rules, never in the error of queries.
"""


if __name__ == "__main__":
    main()
