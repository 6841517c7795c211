"""Small tables: the worked example, tables that are too skewed, random tables, and six people of known ages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations, product
from random import Random
from typing import Any

import numpy as np
import polars as pl

from experiments.bsgi.adult import ADULT, SENSITIVE, adult
from experiments.reproduce import Lab, Point
from experiments.reproduce.paper import Value
from pluralis.assembling.columns import in_order
from pluralis.errors import Infeasible
from pluralis.grouping.eligibility import largest_l
from pluralis.grouping.generalization import microdata
from pluralis.grouping.plan import GeneralizedPlan, Plan, numbered
from pluralis.method import method_for
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw, Key
from pluralis.table.encoding import Table, encode

Group = tuple[tuple[str, ...], ...]

# Tables 1 to 4 ------------------------------------------------------------------------------------------------------

TABLE_1 = pl.DataFrame(
    [
        ("F", "10075", 50, "Cancer"),
        ("M", "10075", 50, "Obesity"),
        ("M", "10076", 30, "Flu"),
        ("F", "10075", 40, "Cancer"),
        ("F", "10077", 20, "Flu"),
        ("F", "10077", 25, "Obesity"),
        ("M", "10076", 25, "Obesity"),
    ],
    schema=["gender", "postcode", "age", "disease"],
    orient="row",
)
TABLE_4: set[Group] = {
    (("*", "10075", "50", "Cancer"), ("*", "10075", "50", "Obesity")),
    tuple(("*", "1007*", "[25, 40]", disease) for disease in ("Cancer", "Flu", "Obesity")),
    (("F", "10077", "[20, 25]", "Flu"), ("F", "10077", "[20, 25]", "Obesity")),
}
PATIENTS: dict[str, Any] = {
    "gender": {"role": "quasi"},
    "postcode": {"role": "quasi", "hierarchy": {"mask": "right"}},
    "age": {"role": "quasi", "type": "number"},
    "disease": {"role": "sensitive", "l": 2},
}


def example(point: Point, _: Lab) -> Iterator[dict[str, Value]]:
    """How many of some draws publish Table 4 itself, and how many groups of 2, 2 and 3 rows."""
    policy = _policy(PATIENTS, "bsgi", str(point["variant"]))
    table, method = encode(TABLE_1, policy), method_for(policy)
    drawn = [_groups(method.plan(table, policy, Draw(key)), table) for key in _keys(_count(point, "draws"))]
    sizes = [sorted(map(len, groups)) for groups in drawn]
    yield {"as_printed": drawn.count(TABLE_4), "sizes_as_printed": sizes.count([2, 2, 3])}


def _groups(plan: Plan, table: Table) -> set[Group]:
    """The published rows of each group, however groups are numbered."""
    assert isinstance(plan, GeneralizedPlan)
    rows = in_order(microdata(plan, table, Draw(Key.test())))
    parts = rows.partition_by("group")
    return {tuple(sorted(part.select(TABLE_1.columns).rows())) for part in parts}


def _policy(attributes: dict[str, Any], method: str, variant: str) -> Policy:
    return Policy.from_dict({"version": 1, "attributes": attributes, "publish": {"method": method, "variant": variant}})


def _keys(count: int) -> list[Key]:
    return [Key(i.to_bytes(32, "big")) for i in range(count)]


def _count(point: Point, name: str) -> int:
    count = point[name]
    assert isinstance(count, int)
    return count


# Corollary 3, and skewed values -------------------------------------------------------------------------------------


def skew(point: Point, lab: Lab) -> Iterator[dict[str, Value]]:
    """The l that Corollary 3 assigns, and whether it can be had."""
    frame = adult(lab.file(ADULT))
    values = {
        "Adult, occupation": frame[SENSITIVE],
        "Adult, workclass": frame["workclass"],
        "9 flu, 1 hiv": pl.Series(["flu"] * 9 + ["hiv"]),
    }[str(point["table"])]
    counts = values.value_counts()["count"].to_numpy()
    l = max(2, largest_l(counts))
    rows = pl.DataFrame({"age": np.arange(values.len()) % 70, "s": values.alias("s")})
    attributes = {"age": {"role": "quasi", "type": "number"}, "s": {"role": "sensitive", "l": l}}
    policy = _policy(attributes, "bsgi", "paper")
    yield {
        "rows": values.len(),
        "values": counts.size,
        "commonest": int(counts.max()),
        "share": float(counts.max() / values.len()),
        "l_per": largest_l(counts),
        "l": l,
        "published": _planned(encode(rows, policy), policy, Key.test()) is not None,
    }


def _planned(table: Table, policy: Policy, key: Key) -> Plan | None:
    """The plan, or nothing where the policy is refused."""
    try:
        return method_for(policy).plan(table, policy, Draw(key))
    except Infeasible:
        return None


# random tables: residual rows, linked attributes --------------------------------------------------------------------


def tables(point: Point, _: Lab) -> Iterator[dict[str, Value]]:
    """Random tables in which no value fills more than 1/l: in how many of them some group has one that does.

    One sensitive attribute: 3 to 14 rows, 2 to 5 values, l from 2 to 4. Two: 5 to 9 rows, so many values each, l = 2.
    """
    names = ["s", "t"][: _count(point, "sensitive")]
    random = Random(f"{names} {point['values']} {point['batch']}")
    broken = refused = 0
    for i in range(_count(point, "tables")):
        rows, l = _eligible(random, names, _count(point, "values"))
        attributes: dict[str, Any] = {"q": {"role": "quasi", "type": "number"}}
        attributes |= {name: {"role": "sensitive", "l": l} for name in names}
        policy = _policy(attributes, "bsgi", str(point["variant"]))
        table = encode(rows, policy)
        plan = _planned(table, policy, Key(i.to_bytes(32, "big")))
        refused += plan is None
        broken += plan is not None and _breaks(plan, table, l)
    yield {"broken": broken, "refused": refused}


def _eligible(random: Random, names: Sequence[str], most: int) -> tuple[pl.DataFrame, int]:
    """Rows with random values, drawn again until no value fills more than 1/l of them."""
    while True:
        n, l, values = random.randint(5, 9), 2, most
        if len(names) == 1:
            n, l, values = random.randint(3, 14), random.randint(2, 4), random.randint(2, most)
        columns = {name: [random.choice("abcdefgh"[:values]) for _ in range(n)] for name in names}
        if all(max(Counter(column).values()) * l <= n for column in columns.values()):
            return pl.DataFrame({"q": [random.randint(0, 30) for _ in range(n)], **columns}), l


def _breaks(plan: Plan, table: Table, l: int) -> bool:
    """Whether some value fills more than 1/l of a group."""
    for column in table.sensitive:
        counts = np.zeros((plan.groups, column.size), np.int64)
        np.add.at(counts, (plan.group_of, column.codes), 1)
        if (counts.max(axis=1) * l > counts.sum(axis=1)).any():
            return True
    return False


# knowledge of the algorithm -------------------------------------------------------------------------------------------

AGES = (8, 12, 19, 21, 34, 36)
CLASSES = {(8, 19): "bd", (21, 36): "ac", (12, 34): "ab"}
SPELLED = {"a": "1", "c": "2", "b": "3", "d": "4"}  # ties go by domain order: in this one the classes can come about
SIX: dict[str, Any] = {"age": {"role": "quasi", "type": "number"}, "s": {"role": "sensitive", "l": 2}}


class InOrder(Draw):
    """A draw that puts rows into a given order, so that all orders can be tried."""

    def __init__(self, order: Sequence[int]) -> None:
        super().__init__(Key.test())
        object.__setattr__(self, "order", np.array(order))

    def permutation(self, count: int, purpose: str) -> Any:
        return self.__dict__["order"] if purpose == "rows" else super().permutation(count, purpose)


def algorithm(point: Point, _: Lab) -> Iterator[dict[str, Value]]:
    """Of the eight tables that fit three classes, those that can have made them, over all 720 orders of the rows."""
    policy = _policy(SIX, "bsgi", str(point["variant"]))
    method = method_for(policy)
    made: dict[tuple[str, ...], int] = {}
    for swapped in product((False, True), repeat=len(CLASSES)):
        value_of: dict[int, str] = {}
        for (pair, values), turn in zip(CLASSES.items(), swapped, strict=True):
            value_of |= dict(zip(pair, reversed(values) if turn else values, strict=True))
        table = encode(pl.DataFrame({"age": AGES, "s": [SPELLED[value_of[age]] for age in AGES]}), policy)
        ages = table["age"].series.gather(table["age"].codes).to_list()
        times = 0
        for order in permutations(range(len(AGES))):
            group_of = numbered(method.plan(table, policy, InOrder(order)).group_of).tolist()
            groups = {tuple(sorted(a for a, g in zip(ages, group_of, strict=True) if g == group)) for group in range(3)}
            times += groups == set(CLASSES)
        made[tuple(value_of[age] for age in AGES)] = times
    total = sum(made.values())
    twelve = sum(
        n for value_of, n in made.items() if value_of[AGES.index(12)] == "b" and value_of[AGES.index(34)] == "a"
    )
    yield {"fit": len(made), "possible": sum(n > 0 for n in made.values()), "chance": twelve / total if total else 0.0}
