"""The worked example of the SLOMS paper (Tables I to VI), and what its rows without a group give away."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import combinations, permutations
from statistics import mean
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from experiments.reproduce import Lab, Point
from experiments.sloms.census import HERE, Made, made, required
from pluralis.grouping.bucketizing import PRIORITIES, sensitive_values
from pluralis.grouping.hierarchical_distance import whd
from pluralis.grouping.plan import SUPPRESSED
from pluralis.kernels.msb import priority, waiting_rows
from pluralis.policy.policy import Policy
from pluralis.randomness import Key

ADULT = "adult_clean_30162.csv.gz"
QUASI: dict[str, Any] = {
    "gender": {"role": "quasi"},
    "zipcode": {"role": "quasi", "hierarchy": {"mask": "right"}},
    "age": {"role": "quasi", "type": "number"},
}
SENSITIVE = ("occupation", "salary", "physician", "disease")
SLICES = (SENSITIVE[:2], SENSITIVE[2:])
DRAWS = 10


@cache
def printed() -> Mapping[str, Any]:
    return tomllib.loads((HERE / "expected.toml").read_text(encoding="utf-8"))


@cache
def people() -> pl.DataFrame:
    """Table I."""
    return pl.DataFrame(printed()["worked"]["table1"], schema=[*QUASI, *SENSITIVE], orient="row")


def _policy(method: str, *sensitive: str, k: int | None = None, **how: Any) -> Policy:
    attributes = {**QUASI, **{name: {"role": "sensitive", "l": 3} for name in sensitive}}
    asked = {"version": 1, "attributes": attributes, "others": "drop"}
    asked["publish"] = {"method": method, "suppress": 0.99, **how}
    return Policy.from_dict({**asked, "k": k} if k else asked)


def _of(policy: Policy, key: Key | None = None) -> Made:
    return required(made(people(), policy, key or Key.test()))


def _priorities() -> list[int]:
    """Equation 12 for the best bucket on occupation and salary, then for the best that shares no value with those."""
    table = _of(_policy("msb", *SLICES[0])).table
    buckets = sensitive_values([table[name] for name in SLICES[0]], np.arange(table.rows), None, [3, 3], once=True)
    waiting, kind = waiting_rows(buckets), PRIORITIES.index("mmdcf")
    ranked = {bucket: int(priority(buckets, waiting, bucket, kind)) for bucket in range(buckets.values.shape[0])}
    taken, priorities = np.empty((0, 2), np.int64), []
    wanted = ["clerk 4000+", "teacher 6000+", "cook 10000+"]  # of equal buckets the paper takes these
    of_bucket = {
        int(buckets.bucket_of[row]): " ".join(table[name].text(int(table[name].codes[row])) for name in SLICES[0])
        for row in range(table.rows)
    }
    for values in wanted:
        free = [b for b in ranked if not np.isin(buckets.values[b], taken).any()]
        best = max(ranked[b] for b in free)
        (chosen,) = (b for b in free if of_bucket[b] == values and ranked[b] == best)
        taken = np.vstack([taken, buckets.values[chosen]])
        priorities.append(best)
    return priorities


def _suppressed_by_msb() -> float:
    return float((~_of(_policy("msb", *SENSITIVE, variant="paper")).placed).sum())


def _suppressed_by_sloms(variant: str) -> list[int]:
    how = {"variant": variant, "options": {"slices": [list(slice) for slice in SLICES]}}
    drawn = (_of(_policy("sloms", *SENSITIVE, k=3, **how), Key(bytes([i] * 32))) for i in range(DRAWS))
    return [int((~one.placed).sum()) for one in drawn]


def _diverse_triples() -> float:
    """Groups of three rows that are 3-diverse in all four attributes (Table II has one)."""
    rows = combinations(range(people().height), 3)
    return sum(all(people()[name].gather(list(three)).n_unique() == 3 for name in SENSITIVE) for three in rows)


def _linked() -> float:
    """Of each person and attribute of Tables III to VI: whether it gives the other attribute of the slice.

    Whoever knows the labels of Table VI has three rows, their groups, and of those the rows with the known value.
    """
    worked, linked = printed()["worked"], 0
    for slice, table in zip(SLICES, ("table3", "table4"), strict=True):
        group_of = {t: i for i, group in enumerate(worked[table]) for t in group}
        for alike in worked["table5"]:
            groups = {group_of[t] for t in alike}
            seen = people()[[t - 1 for t, group in group_of.items() if group in groups]]
            for t, (known, other) in ((t, pair) for t in alike for pair in permutations(slice)):
                left = seen.filter(pl.col(known) == people()[known][t - 1])
                linked += left[other].n_unique() == 1
    return linked


WORKED: Mapping[str, Callable[[], float]] = {
    "whd": lambda: whd(5, 3, 6),
    "first priority": lambda: _priorities()[0],
    "second priority": lambda: _priorities()[1],
    "third priority": lambda: _priorities()[2],
    "triples": _diverse_triples,
    "suppressed by MSB": _suppressed_by_msb,
    "suppressed by SLOMS, paper": lambda: mean(_suppressed_by_sloms("paper")),
    "suppressed by SLOMS, default": lambda: mean(_suppressed_by_sloms("hardened")),
    "kept by generalization": lambda: float(_of(_policy("kaca", *SENSITIVE, k=3)).placed.sum()),
    "linked": _linked,
}


def worked(point: Point, _: Lab) -> Iterator[Mapping[str, Any]]:
    """A number of the worked example."""
    yield {"value": float(WORKED[str(point["what"])]())}


def marked(point: Point, lab: Lab) -> Iterator[Mapping[str, Any]]:
    """How many rows have no group in a slice, and how many of those hold the commonest value.

    Each attribute is a slice of its own, with its own l; rows of Adult are drawn anew for each point.
    """
    known, draw = printed()["known"], int(str(point["draw"]))
    table = pl.read_csv(lab.file(ADULT), infer_schema_length=None)
    table = table.sample(known["marked_rows"], seed=draw, shuffle=True)
    attributes: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "sex": {"role": "quasi"}}
    attributes |= {name: {"role": "sensitive", "l": l} for name, l in known["marked_l"].items()}
    how = {"method": "sloms", "variant": "paper", "suppress": 0.99}
    how["options"] = {"slices": [[name] for name in known["marked_l"]], "priority": "mmdcf"}
    asked = {"version": 1, "attributes": attributes, "others": "drop", "publish": how}
    one = required(made(table, Policy.from_dict(asked), Key(bytes([draw] * 32))))
    for slice in one.slices:
        (name,) = slice.attributes
        codes: npt.NDArray[np.int32] = one.table[name].codes
        bare = slice.group_of == SUPPRESSED
        yield {
            "attribute": name,
            "l": known["marked_l"][name],
            "marked": int(bare.sum()),
            "commonest": float((codes[bare] == np.bincount(codes).argmax()).mean()),
        }
