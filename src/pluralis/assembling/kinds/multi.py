"""`multi`: several subtables of the same rows, each published on its own.

`t1`, `t2`, … hold columns as they are where nothing needs hiding among them. Where something does, `t1_quasi` and
`t1_sensitive` are as in a `bucketized` release; or, if the method of the subtable generalizes, `t1` is as `microdata`
in a `generalized` one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from pluralis.assembling.columns import Part, column_info, common_breaks, models_of, stated
from pluralis.assembling.kinds import bucketized, generalized
from pluralis.grouping.plan import BucketizedPlan, MultiPlan, Subplan
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw
from pluralis.release.form import EXACT, LINKED
from pluralis.release.manifest import Claim
from pluralis.table.encoding import Table

INNER = {"bucketized": bucketized, "generalized": generalized}  # kinds that a subtable can have


def tables(plan: MultiPlan, table: Table, policy: Policy, draw: Draw) -> list[Part]:
    return [
        part
        for i, subplan in enumerate(plan.subplans, 1)
        for part in _subtable(f"t{i}", subplan, draw.for_part(f"t{i}"))
    ]


def _subtable(name: str, subplan: Subplan, draw: Draw) -> Iterator[Part]:
    if subplan.plan is None:
        rows = np.arange(subplan.table.rows)
        columns = subplan.table.quasi
        infos = (column_info(column, rows, subplan.policy) for column in columns)
        shown = tuple(info.model_copy(update={"exact": True}) for info in infos)
        yield Part(name, shown, pl.DataFrame([column.published(rows) for column in columns]))
        return
    for part in INNER[subplan.plan.kind].tables(subplan.plan, subplan.table, subplan.policy, draw):
        yield part._replace(name=name if part.name == "microdata" else f"{name}_{part.name}")


def parameters(plan: MultiPlan, policy: Policy) -> dict[str, object]:
    names = sorted({rule.protects for rule in plan.rules})
    return {
        "l": {name: max(rule.l for rule in plan.rules if rule.protects == name) for name in names},
        "models": models_of(policy),
        "rules": [str(rule) for rule in plan.rules],
        "dependencies": [str(dependency) for dependency in plan.dependencies],
    }


def claims(plan: MultiPlan, policy: Policy) -> Iterator[Claim]:
    for rule in plan.rules:
        attribute = policy.columns[rule.protects]
        yield stated(rule.knows, "multi", model=attribute.model, attribute=rule.protects, l=rule.l, c=attribute.c)


def breaks(plan: MultiPlan, table: Table) -> Iterator[str]:
    yield from common_breaks(plan, table)
    if any(subplan.plan is None or isinstance(subplan.plan, BucketizedPlan) for subplan in plan.subplans):
        yield EXACT
    if any(len(subplan.table.columns) > 1 for subplan in plan.subplans):
        yield "combined knowledge: rules and adversaries speak of what each knows; whoever knows more may learn more"
    if any(subplan.plan is not None and len(subplan.table.sensitive) > 1 for subplan in plan.subplans):
        yield LINKED
