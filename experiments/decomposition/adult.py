"""Adult as the paper cuts it, tables with q quasi or d sensitive attributes, and how methods are run on them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from pluralis.assembling.assembly import assemble
from pluralis.grouping.plan import DecomposedPlan, Plan
from pluralis.method import method_for
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw, Key
from pluralis.release.release import Release
from pluralis.table.encoding import Table
from pluralis.table.sources import read_table

FILE = "adult_clean_30162.csv.gz"
QUASI = ("age", "fnlwgt", "marital-status", "race", "sex")
SENSITIVE = ("occupation", "education", "hours-per-week", "relationship")
PERMITTED = {"occupation": 7, "education": 3, "hours-per-week": 2, "relationship": 2}
NUMBERS = ("age", "fnlwgt", "hours-per-week")
WEIGHTS = 100  # different values of Final-Weight in the paper's Table 7
EQUAL, WIDTH, EXACT = "equal counts", "equal width", "exact"
KEYS = (Key.test(), *(Key(bytes([i] * 32)) for i in range(4)))

LITERAL, DEFAULT, ROWS = "decomposition, paper", "decomposition", "decomposition, paper, ties among rows"
DISTINCT, FREQUENCY = "Mondrian, distinct", "Mondrian, frequency"
METHODS = {
    LITERAL: ("decomposition", "paper"),
    DEFAULT: ("decomposition", "hardened"),
    DISTINCT: ("mondrian", "paper"),
    FREQUENCY: ("mondrian", "paper"),
}


@cache
def people(path: Path, weights: str = EQUAL) -> pl.DataFrame:
    """The nine attributes. Final-Weight has 100 values that stand for equally many rows, or are equally wide, or is
    as it is."""
    rows = read_table(path).select(*QUASI, *SENSITIVE).cast(dict.fromkeys(NUMBERS, pl.Int64))
    weight = pl.col("fnlwgt")
    if weights == EQUAL:
        return rows.with_columns((weight.rank("min") - 1).cast(pl.Int64) * WEIGHTS // pl.len())
    if weights == WIDTH:
        return rows.with_columns((weight - weight.min()) * WEIGHTS // (weight.max() - weight.min() + 1))
    return rows


def policy(quasi: int, ls: Mapping[str, int], method: str) -> Policy:
    """The first `quasi` attributes that are not sensitive, and an l for each that is."""
    name, variant = METHODS[method]
    known = [column for column in (*QUASI, *SENSITIVE) if column not in ls][:quasi]
    model = "distinct" if method == DISTINCT else "frequency"
    attributes: dict[str, Any] = {
        column: {"role": "quasi", **({"type": "number"} if column in NUMBERS else {})} for column in known
    }
    attributes |= {column: {"role": "sensitive", "l": l, "model": model} for column, l in ls.items()}
    publish: dict[str, Any] = {"method": name}
    if name == "decomposition":  # neither KL nor a plan looks at the sensitive table
        table = "joint" if variant == "paper" else "none"
        publish |= {"variant": variant, "options": {"primary": "occupation", "sensitive_table": table}}
    return Policy.from_dict(
        {"version": 1, "attributes": attributes, "others": "drop", "publish": publish, "accept": ["set-size"]}
    )


def permitted(l: int, d: int) -> dict[str, int]:
    """d-SA-Adult: l for the primary attribute, the largest permissible l for d - 1 others."""
    return {"occupation": l, **{name: PERMITTED[name] for name in SENSITIVE[1:d]}}


def planned(table: Table, asked: Policy, key: Key) -> Plan:
    return method_for(asked).plan(table, asked, Draw(key))


def decomposed(table: Table, asked: Policy, key: Key) -> DecomposedPlan:
    """The plan of a policy that asks for decomposition."""
    plan = planned(table, asked, key)
    assert isinstance(plan, DecomposedPlan)
    return plan


def released(plan: Plan, table: Table, asked: Policy, key: Key) -> Release:
    return assemble(plan, table, asked, method_for(asked), Draw(key))


def seconds(table: Table, asked: Policy, times: int) -> float:
    """The processor time of a plan: the least of some, after one that is not counted."""
    times_taken = []
    for _ in range(times + 1):
        start = time.process_time()
        planned(table, asked, KEYS[0])
        times_taken.append(time.process_time() - start)
    return min(times_taken[1:])
