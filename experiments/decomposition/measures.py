"""What is measured at each point of each experiment."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from experiments.decomposition.adult import (
    DEFAULT,
    DISTINCT,
    FILE,
    KEYS,
    LITERAL,
    PERMITTED,
    QUASI,
    ROWS,
    SENSITIVE,
    decomposed,
    people,
    permitted,
    planned,
    policy,
    released,
    seconds,
)
from experiments.decomposition.kl import kl_of_generalized
from experiments.reproduce import Lab, Point
from experiments.reproduce.paper import Value
from pluralis.auditing.decomposed_worlds import linked_d_sa_diverse
from pluralis.grouping.eligibility import largest_l
from pluralis.grouping.plan import DecomposedPlan, Plan
from pluralis.kernels.vectors import Vectors, waiting
from pluralis.method.decomposition import Decomposition, ProtectedAttributes, Sets, vectors_of
from pluralis.metrics.kl import kl_divergence
from pluralis.randomness import Draw, Key
from pluralis.release.release import GROUP, Release
from pluralis.table.encoding import Column, Table, encode

Row = Mapping[str, Value]
TIMES, SOME, FEWER = 15, 5, 2  # plans of which the fastest counts


def attributes(point: Point, lab: Lab) -> Iterator[Row]:
    """Table 7: how many values an attribute has, and what its commonest one allows."""
    name = str(point["attribute"])
    counts = people(lab.file(FILE), str(point["weights"]))[name].value_counts()["count"].to_numpy()
    yield {"values": counts.size, "most": int(counts.max()), "rows": int(counts.sum()), "l": largest_l(counts)}


def utility(point: Point, lab: Lab) -> Iterator[Row]:
    """Figures 2 to 5: KL divergence with one sensitive attribute."""
    frame = people(lab.file(FILE), str(point["weights"]))
    asked = policy(whole(point["q"]), {"occupation": whole(point["l"])}, str(point["method"]))
    table = encode(frame, asked)
    keys = KEYS[: 1 if lab.quick or point["method"] not in (LITERAL, DEFAULT) else 3]
    plans = [planned(table, asked, key) for key in keys]
    divergences = [kl(released(plan, table, asked, key), frame) for plan, key in zip(plans, keys, strict=True)]
    groups = plans[0].groups
    yield {"kl": float(np.mean(divergences)), "groups": groups, "rows of a group": table.rows / groups,
           "risk": max(risk(plan, table["occupation"]) for plan in plans), "keys": len(keys),
           "spread": max(divergences) / min(divergences) - 1}  # fmt: skip


def risk(plan: Plan, column: Column) -> float:
    """The largest share of a group that one value fills."""
    pairs, counts = np.unique(plan.group_of * column.size + column.codes, return_counts=True)
    return float((counts / np.bincount(plan.group_of)[pairs // column.size]).max())


def kl(release: Release, frame: pl.DataFrame) -> float:
    if release.traits.generalizes:
        return kl_of_generalized(release, frame)
    divergence = kl_divergence(release, frame)
    assert divergence is not None
    return divergence


def times(point: Point, lab: Lab) -> Iterator[Row]:
    """Figure 6: how long a plan takes on 8-QI-Adult."""
    asked = policy(8, {"occupation": whole(point["l"])}, str(point["method"]))
    table = encode(people(lab.file(FILE)), asked)
    yield {"seconds": seconds(table, asked, FEWER if lab.quick else TIMES)}


def growth(point: Point, lab: Lab) -> Iterator[Row]:
    """How long a plan takes on part of 8-QI-Adult, or on Adult several times over."""
    rows = whole(point["rows"])
    asked = policy(8, {"occupation": whole(point["l"])}, str(point["method"]))
    frame = people(lab.file(FILE))
    copies = -(-rows // frame.height)
    frame = pl.concat([frame] * copies).sample(rows, seed=7, shuffle=True)
    yield {"seconds": seconds(encode(frame, asked), asked, FEWER if lab.quick else SOME)}


def several(point: Point, lab: Lab) -> Iterator[Row]:
    """Figures 7 and 8: d sensitive attributes, each but the primary one at its largest permissible l."""
    frame = people(lab.file(FILE))
    ls = permitted(whole(point["l"]), whole(point["d"]))
    asked = policy(len(QUASI), ls, str(point["method"]))
    table = encode(frame, asked)
    keys = KEYS[: 1 if lab.quick else 3]
    plans = [decomposed(table, asked, key) for key in keys]
    divergences = [kl(released(plan, table, asked, key), frame) for plan, key in zip(plans, keys, strict=True)]
    yield {
        "kl": float(np.mean(divergences)),
        "estimate": math.log(math.prod(ls.values())),
        "sets": float(np.mean([log_of_sets(plan, table) for plan in plans])),
        "added": float(np.mean([sum(map(len, plan.added.values())) for plan in plans])),
        "keys": len(keys),
        "seconds": seconds(table, asked, FEWER if lab.quick else TIMES),
    }


def log_of_sets(plan: DecomposedPlan, table: Table) -> float:
    """The mean over rows of log of the product of the sizes of their sets: KL if all quasi-identifiers differed."""
    total = np.zeros(plan.groups)
    for column in table.sensitive:
        groups_of_values = np.unique(plan.group_of * column.size + column.codes) // column.size
        more = plan.added.get(column.name, np.empty((0, 2), np.int64))[:, 0]
        total += np.log(np.bincount(np.concatenate([groups_of_values, more]), minlength=plan.groups))
    return float(total[plan.group_of].mean())


def noise(point: Point, lab: Lab) -> Iterator[Row]:
    """Figure 9: values added to sets of education, also where l is beyond what education allows."""
    table = encode(people(lab.file(FILE)), policy(len(QUASI), {"occupation": 7, "education": 3}, LITERAL))
    keys = KEYS[: 2 if lab.quick else len(KEYS)]
    ls = np.array([point["l of primary"], point["l of education"]], np.int64)
    added_values = [added(table, ("occupation", "education"), ls, str(point["method"]), key) for key in keys]
    yield {"least": min(added_values), "mean": float(np.mean(added_values)), "most": max(added_values),
           "keys": len(keys), "groups": table.rows // int(ls[0])}  # fmt: skip


def added(table: Table, names: tuple[str, str], ls: Any, method: str, key: Key) -> int:
    """How many values are added, the first attribute primary; no l is refused."""
    how = Decomposition(variant="hardened" if method == DEFAULT else "paper")
    protected = ProtectedAttributes(tuple(table[name] for name in names), ls)
    order = Draw(key).permutation(table.rows, "rows")
    vectors = one_for_each_row(protected, order) if method == ROWS else vectors_of(protected, order)
    sets = Sets(vectors, protected, np.empty(0, np.int32), how.grouped(vectors, protected, Draw(key)))
    return sum(map(len, sets.added(Draw(key)).values()))


def one_for_each_row(protected: ProtectedAttributes, order: npt.NDArray[np.int64]) -> Vectors:
    """Every row as a vector of its own, so that ties of least penalty are drawn among rows, not combinations."""
    codes = np.stack([column.codes[order] for column in protected.columns], axis=1)
    by_bucket = np.argsort(codes[:, 0], kind="stable")
    kinds = np.empty(order.size, np.int64)
    kinds[by_bucket] = np.arange(order.size)
    vectors: Vectors = waiting(kinds, codes[by_bucket], protected.sizes[0])  # type: ignore[no-untyped-call]
    return vectors


def primary(point: Point, lab: Lab) -> Iterator[Row]:
    """Section 5.1: values added where occupation (l = 7) or education (l = 3) is primary."""
    asked = policy(len(QUASI), {"occupation": 7, "education": 3}, str(point["method"]))
    table = encode(people(lab.file(FILE)), asked)
    first = str(point["primary"])
    names = (first, next(name for name in SENSITIVE[:2] if name != first))
    ls = np.array([PERMITTED[name] for name in names], np.int64)
    added_values = [added(table, names, ls, str(point["method"]), key) for key in KEYS[: 1 if lab.quick else 3]]
    yield {"added": float(np.mean(added_values)), "must": max(0, int(ls[1] - ls[0])) * (table.rows // int(ls[0]))}


def theorem(point: Point, lab: Lab) -> Iterator[Row]:
    """Section 3.1: the groups of Mondrian that keep l values of one sensitive attribute to whoever knows the other."""
    l, names = whole(point["l"]), SENSITIVE[:2]
    asked = policy(len(QUASI), dict.fromkeys(names, l), DISTINCT)
    frame = people(lab.file(FILE))
    table = encode(frame, asked)
    plan = planned(table, asked, KEYS[0])
    columns = {name: table[name].published(np.arange(table.rows)) for name in names}
    rows = pl.DataFrame({GROUP: plan.group_of, **columns})
    yield {"groups": plan.groups, "share": linked_d_sa_diverse(rows, names, dict.fromkeys(names, l))}


def whole(value: Value) -> int:
    """A setting that is a whole number."""
    assert isinstance(value, int)
    return value
