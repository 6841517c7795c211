"""Census-Income (KDD) as section V of the SLOMS paper uses it, the methods that it compares, and how they are run.

Words      d = sensitive attributes, taken in the order of Table VII; m = slices; at work = with a detailed occupation.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from experiments.reproduce import Lab
from pluralis.assembling.assembly import assemble
from pluralis.errors import Infeasible
from pluralis.grouping.plan import SUPPRESSED, Plan, Slice, SlicedPlan
from pluralis.method import method_for
from pluralis.metrics import measure
from pluralis.metrics.loss import Loss
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw, Key
from pluralis.release.release import Release
from pluralis.table.encoding import Table, encode

HERE = Path(__file__).resolve().parent
DATA = "census_income_kdd_train.parquet"
ROWS, SEED = 10_000, 2013
KEYS = 3  # draws that a random result is averaged over
FILES = HERE / "hierarchies"
QUASI: dict[str, dict[str, Any]] = {  # Table VII, 1 to 5; trees of the heights that it prints
    "age": {"role": "quasi", "type": "number", "hierarchy": {"intervals": [5, 10, 20]}},
    "sex": {"role": "quasi"},
    "race": {"role": "quasi", "hierarchy": {"file": "race.csv"}},
    "marital_status": {"role": "quasi", "hierarchy": {"file": "marital_status.csv"}},
    "full_or_part_time_employment_stat": {"role": "quasi", "hierarchy": {"file": "employment.csv"}},
}
SENSITIVE = (  # 6 to 11
    "detailed_occupation_code",
    "detailed_industry_code",
    "class_of_worker",
    "education",
    "major_occupation_code",
    "major_industry_code",
)
SLICES = {3: (2, 3), 4: (2, 4), 5: (3, 5), 6: (3, 6)}  # where the two slices end: Table VIII, for five as in the text

MBF, MSDCF, MMDCF = "MBF", "MSDCF", "MMDCF"
MSB = (MBF, MSDCF, MMDCF)
KACA, DEFAULT, PRINTED = "MSB-KACA", "MSB-KACA, our default", "MSB-KACA, slices of Table VIII"
SLOMS = (KACA, DEFAULT)
METHODS = (*MSB, *SLOMS)


def everybody(lab: Lab) -> pl.DataFrame:
    """The training part of Census-Income."""
    return _read(lab.file(DATA))


def workers(lab: Lab, rows: int = ROWS) -> pl.DataFrame:
    """The first of 10,000 people who were drawn at random from those with a detailed occupation."""
    return _drawn(lab.file(DATA)).head(rows)


@cache
def _read(path: Path) -> pl.DataFrame:
    return pl.read_parquet(path, columns=[*QUASI, *SENSITIVE])


@cache
def _drawn(path: Path) -> pl.DataFrame:
    return _read(path).filter(pl.col(SENSITIVE[0]) != 0).sample(ROWS, seed=SEED, shuffle=True)


def keys(lab: Lab) -> list[Key]:
    """The keys that results are averaged over: the test key and others; in a quick run that one alone."""
    return [Key.test(), *(Key(bytes([i] * 32)) for i in range(1, 1 if lab.quick else KEYS))]


def policy_for(method: str, d: int, l: int, quasi: int = len(QUASI)) -> Policy:
    """One of the paper's methods: MSB over all d attributes, or MSB-KACA over two slices with k = l."""
    sensitive, how = SENSITIVE[:d], {"method": "msb", "variant": "paper", "options": {"priority": method.lower()}}
    if method not in MSB:
        first, second = SLICES[d]
        slices = [list(sensitive[:first]), list(sensitive[first:second])]
        if method == PRINTED:
            slices = [list(SENSITIVE[:2]), list(SENSITIVE[3:5])]
            sensitive = (*slices[0], *slices[1])
        variant = "hardened" if method == DEFAULT else "paper"
        how = {"method": "sloms", "variant": variant, "options": {"slices": slices}}
    return _policy(sensitive, l, quasi, None if method in MSB else l, how)


def generalizing(d: int, l: int, quasi: int) -> Policy:
    """Generalization by KACA until every class has l rows and is l-diverse in the first d attributes."""
    return _policy(SENSITIVE[:d], l, quasi, l, {"method": "kaca"})


def _policy(sensitive: Sequence[str], l: int, quasi: int, k: int | None, how: dict[str, Any]) -> Policy:
    attributes: dict[str, Any] = dict(list(QUASI.items())[:quasi])
    attributes |= {name: {"role": "sensitive", "l": l} for name in sensitive}
    asked = {"version": 1, "attributes": attributes, "others": "drop", "publish": {**how, "suppress": 0.9999}}
    return Policy.from_dict({**asked, "k": k} if k else asked, folder=FILES)


class Made(NamedTuple):
    """What a method made of a table."""

    plan: Plan
    table: Table
    policy: Policy
    key: Key

    @property
    def placed(self) -> npt.NDArray[np.bool_]:
        """Rows that have a group in every slice (a row that misses one is a suppressed one, section III.B)."""
        parts = [slice.group_of for slice in self.slices] or [self.plan.group_of]
        placed: npt.NDArray[np.bool_] = np.all([part != SUPPRESSED for part in parts], axis=0)
        return placed

    @property
    def suppressed_share(self) -> float:
        """Equation 9."""
        return float(1 - self.placed.mean())

    @property
    def groups(self) -> int:
        """Groups of sensitive values, of all slices."""
        if not self.slices:
            return self.plan.groups
        return sum(int(slice.group_of.max()) + 1 for slice in self.slices)

    @property
    def slices(self) -> tuple[Slice, ...]:
        """The slices of a sliced plan."""
        return self.plan.slices if isinstance(self.plan, SlicedPlan) else ()

    def release(self) -> Release:
        return assemble(self.plan, self.table, self.policy, method_for(self.policy), Draw(self.key))

    def loss(self, original: pl.DataFrame) -> Loss:
        return measure(self.release(), original)


def made(original: pl.DataFrame, policy: Policy, key: Key) -> Made | None:
    """Run a method; None where no row could be published."""
    table = encode(original, policy)
    try:
        plan = method_for(policy).plan(table, policy, Draw(key))
    except Infeasible:
        return None
    return Made(plan, table, policy, key)


def required(one: Made | None) -> Made:
    """What was made, where it must be possible."""
    if one is None:
        raise Infeasible("Nothing could be published at a setting of the experiment at which something can be.")
    return one
