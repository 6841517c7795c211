"""Figures 1-3: what methods lose on Adult, and how long they take, for 1 to 9 rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import polars as pl

from experiments.reproduce import Experiment, Lab, Point
from experiments.reproduce.paper import Value
from experiments.versatile.releases import METHODS, MULTI, Planned, planned, schema_of, text, whole, with_suppressed
from experiments.versatile.tables import rule_set, table_of, values_of
from pluralis.auditing import audit
from pluralis.estimate.conditions import Condition
from pluralis.grouping.plan import MultiPlan
from pluralis.metrics.kl import kl_divergence
from pluralis.metrics.workloads import answers, workload
from pluralis.policy.rules import Rule

SETS, QUERIES = 50, 1_000
QUICK_SETS, QUICK_QUERIES = 4, 20
LHS, L, DIMENSIONS, PART = 3, 2, 3, 0.4


class Worth(NamedTuple):
    """What a release is worth; `kept` is whether the audit finds every rule kept."""

    kl: float
    error: float
    kept: bool


_worth: dict[tuple[Lab, str, str], Worth] = {}
_solved: dict[tuple[Lab, str, tuple[str, ...]], Planned] = {}


def measure(point: Point, lab: Lab) -> Iterator[Mapping[str, Value]]:
    """The mean over random sets of rules, of seconds the median, which a busy machine does not change as much.

    `groups_over_least` is the smallest group of all, over l^(number of SAs).
    """
    table, method, count = table_of("Adult", lab), text(point, "method"), whole(point, "rules")
    measured = []
    for seed in range(QUICK_SETS if lab.quick else SETS):
        done = _planned(lab, method, table, rule_set(table, count, LHS, L, 1000 * count + seed))
        kl, error, kept = _worth_of(lab, method, table, done)
        plan, multi = done.plan, method.startswith(MULTI)
        sizes = plan.sizes() if multi else np.ones(1)
        parts = plan.subplans if isinstance(plan, MultiPlan) else ()
        measured.append(
            {
                "kl": kl,
                "error": error,
                "seconds": done.seconds,
                "suppressed_share": plan.suppressed / table.height,
                "kept": float(kept),
                "tables": max(1, len(parts)),
                "columns": sum(len(part.table.columns) for part in parts) or len(table.columns),
                "sensitive": len(done.policy.sensitive),
                "group": float(sizes.mean()) if multi else None,
                "over": float(sizes.min()) / L ** len(done.policy.sensitive) if multi else None,
            }
        )
    frame = pl.DataFrame(measured)
    means = {name: frame[name].mean() for name in frame.columns if name not in ("kept", "over")}
    means["seconds"] = frame["seconds"].median()
    yield {
        "sets": frame.height,
        **{name: None if mean is None else float(mean) for name, mean in means.items()},  # type: ignore[arg-type]
        "groups_over_least": frame["over"].min() if method.startswith(MULTI) else None,  # type: ignore[dict-item]
        "kept": int(frame["kept"].sum()),
    }


def _planned(lab: Lab, method: str, table: pl.DataFrame, rules: tuple[Rule, ...]) -> Planned:
    """Groups of multi-sa depend on what is protected alone: they are solved once, and their seconds are those."""
    if not method.startswith(MULTI):
        return planned(table, rules, method)
    key = (lab, method, tuple(sorted({rule.protects for rule in rules})))
    if key not in _solved:
        _solved[key] = planned(table, rules, method)
    return _solved[key]


def _worth_of(lab: Lab, method: str, table: pl.DataFrame, done: Planned) -> Worth:
    key = (lab, method, schema_of(done.plan, done.policy))
    if key not in _worth:
        release, asked = done.release(), _asked(lab)
        kept = audit(release, allow_test=True).holds
        if done.plan.suppressed:
            _worth[key] = Worth(*with_suppressed(done.plan, done.coded, table, asked), kept)
        else:
            kl = kl_divergence(release, table)
            assert kl is not None
            _worth[key] = Worth(kl, answers(release, table, asked).mean_error, kept)
    return _worth[key]


@lru_cache
def _asked(lab: Lab) -> list[Condition]:
    queries = QUICK_QUERIES if lab.quick else QUERIES
    return workload(values_of("Adult", lab), None, queries=queries, dimensions=DIMENSIONS, part=PART, seed=7)


ADULT = Experiment(
    "adult",
    "Adult, 1 to 9 rules (Figures 1-3)",
    [{"rules": count, "method": method} for count in range(1, 10) for method in METHODS],
    [{"rules": count, "method": method} for count in (1, 3, 9) for method in METHODS],
    measure,
)
