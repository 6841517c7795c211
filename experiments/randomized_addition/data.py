"""The tables of the experiments, their releases, and random queries on them.

Every attribute is a category, as in the papers of anatomy and tp: a label stands for a set of values, all equally
likely. Incomes are parted into 50 bins of nearly equal numbers of rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from experiments.reproduce.paper import Lab
from pluralis import Key, Policy
from pluralis.assembling.assembly import assemble
from pluralis.errors import Infeasible
from pluralis.estimate.conditions import All, Check
from pluralis.grouping.plan import CandidatesPlan, Plan
from pluralis.method import method_for
from pluralis.metrics.workloads import workload
from pluralis.randomness import Draw
from pluralis.release.release import Release
from pluralis.table.encoding import Table, encode
from pluralis.table.sources import read_table

ACS = "acs2018_us_workers_295k.parquet"
ADULT = "adult_clean_45222.csv.gz"
TRAINING = "adult_clean_30162.csv.gz"
BINS = 50
QUASI = {
    "age": "Age",
    "gender": "Gender",
    "marital status": "Marital Status",
    "race": "Race",
    "birth place": "Place of birth",
    "education": "Education",
    "work class": "Workclass",
}  # in the order of Table 6
SENSITIVE = {"OCC": "occupation", "SAL": "income", "SAL, mixed": "mixed income"}
METHODS: Mapping[str, Mapping[str, Any]] = {
    "uniform": {"method": "randomized-addition", "variant": "paper", "options": {"claim": "set-size"}},
    "calibrated": {"method": "randomized-addition", "options": {"claim": "set-size"}},  # also where values are rare
    "anatomy": {"method": "anatomy"},
    "tp": {"method": "tp", "variant": "paper"},
}


class Query(NamedTuple):
    """The attributes that a query asks about, and which of their values, in order, it allows."""

    names: tuple[str, ...]
    allowed: tuple[npt.NDArray[np.bool_], ...]


@lru_cache(maxsize=2)
def acs(lab: Lab) -> pl.DataFrame:
    """Workers of 2018: the attributes of OCC and SAL. A quick run takes every tenth row."""
    frame = pl.read_parquet(lab.file(ACS))
    frame = frame[::10] if lab.quick else frame
    quasi = [pl.col(theirs).cast(pl.String).alias(ours) for ours, theirs in QUASI.items() if ours != "age"]
    group = pl.col("Occupation").cast(pl.String).str.split("-").list.first()
    bins = binned(frame["Income"].to_numpy(), BINS)
    mixed = np.random.default_rng(50).permutation(BINS)[bins]  # names that do not go by income
    incomes = [pl.Series(name, np.char.mod("bin %02d", b)) for name, b in (("income", bins), ("mixed income", mixed))]
    age = pl.col("Age").cast(pl.Int64).cast(pl.String).alias("age")
    return frame.select(age, *quasi, group.alias("occupation")).with_columns(incomes)


def binned(values: npt.NDArray[Any], bins: int) -> npt.NDArray[np.int64]:
    """The bin of each value: equal values share one, and bins are as even as that allows.

    >>> binned(np.array([1, 2, 2, 2, 3, 4]), 3).tolist()
    [0, 1, 1, 1, 2, 2]
    """
    different, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    bin_of, current, inside, left = np.empty(different.size, np.int64), 0, 0, values.size
    for i, count in enumerate(counts.tolist()):
        if inside and current < bins - 1 and inside + count / 2 > (left + inside) / (bins - current):
            current, inside = current + 1, 0
        bin_of[i], inside, left = current, inside + count, left - count
    return bin_of[place.ravel()]


@lru_cache(maxsize=1)
def adult(lab: Lab) -> pl.DataFrame:
    """Adult without records that miss a value: 15 attributes in the order of Table 7."""
    return read_table(lab.file(ADULT)).drop("split").select(pl.all().cast(pl.String))


def table_of(name: str, d: int, lab: Lab) -> pl.DataFrame:
    """OCC-d or SAL-d; Adult has all of its attributes."""
    return adult(lab) if name == "Adult" else acs(lab).select(*list(QUASI)[:d], SENSITIVE[name])


def key_of(number: int) -> Key:
    """One of several keys, the same in every run."""
    return Key(hashlib.blake2b(f"randomized addition {number}".encode(), digest_size=32).digest())


def policy_of(columns: Sequence[str], sensitive: str, l: int, how: Mapping[str, Any]) -> Policy:
    attributes: dict[str, Any] = {name: {"role": "quasi", "case": "keep"} for name in columns if name != sensitive}
    attributes[sensitive] = {"role": "sensitive", "l": l, "case": "keep"}
    return Policy.from_dict(
        {"version": 1, "attributes": attributes, "others": "drop", "publish": dict(how), "accept": ["set-size"]}
    )


def encoded(frame: pl.DataFrame, sensitive: str) -> Table:
    """A table as methods see it, which is the same for all of them, and for every l."""
    return encode(frame, policy_of(frame.columns, sensitive, 2, METHODS["uniform"]))


class Planned(NamedTuple):
    """What a method decided, and how to build its release in memory."""

    plan: Plan
    release: Callable[[], Release]

    @property
    def drawn(self) -> CandidatesPlan:
        """The plan of a method that draws sets."""
        assert isinstance(self.plan, CandidatesPlan)
        return self.plan


def planned(table: Table, sensitive: str, l: int, method: str, key: Key) -> Planned | None:
    """A method's plan; None where it refuses."""
    policy = policy_of(list(table.columns), sensitive, l, METHODS[method])
    chosen, draw = method_for(policy), Draw(key)
    try:
        plan = chosen.plan(table, policy, draw)
    except Infeasible:
        return None
    return Planned(plan, partial(assemble, plan, table, policy, chosen, draw))


@lru_cache(maxsize=1)
def queries(name: str, d: int, sensitive: str, number: int, qd: int, s: float, lab: Lab) -> tuple[Query, ...]:
    """Random queries by eq. 20 on `qd` quasi-identifiers; of the sensitive attribute they ask for all values."""
    frame = table_of(name, d, lab)
    values = {column: frame[column].unique().sort().to_list() for column in frame.columns}
    place = {column: {value: i for i, value in enumerate(domain)} for column, domain in values.items()}
    asked = []
    for query in workload(values, sensitive, queries=number, dimensions=qd, selectivity=s):
        assert isinstance(query, All)
        checks = [part for part in query.parts if isinstance(part, Check) and part.attribute != sensitive]
        allowed = []
        for check in checks:
            marked = np.zeros(len(values[check.attribute]), np.bool_)
            marked[[place[check.attribute][value] for value in check.values]] = True
            allowed.append(marked)
        asked.append(Query(tuple(check.attribute for check in checks), tuple(allowed)))
    return tuple(asked)
