"""Tables that papers print, with the roles, rules and groups that they give them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from pluralis.grouping.plan import DecomposedPlan, Plan
from pluralis.policy.policy import Policy
from pluralis.release.release import Release
from pluralis.table.encoding import encode
from support.handmade_multi_releases import Sub, multi_release
from support.sample_tables import policy_of

# Table 1 of the Decomposition paper
DECOMPOSITION_1 = pl.DataFrame(
    [
        ("Alice", "F", "10078", "1988/04/17", "nurse", 1),
        ("Betty", "F", "10077", "1984/03/21", "nurse", 4),
        ("Carl", "M", "10076", "1985/03/01", "police", 8),
        ("Diana", "F", "10075", "1983/02/14", "cook", 9),
        ("Ella", "F", "10085", "1962/10/03", "actor", 2),
        ("Finch", "M", "10085", "1988/11/04", "actor", 7),
        ("Gavin", "M", "20086", "1958/06/06", "clerk", 8),
        ("Helen", "F", "20087", "1960/07/11", "clerk", 2),
    ],
    schema=["name", "gender", "zipcode", "birthday", "occupation", "salary"],
    orient="row",
)
DECOMPOSITION_ROLES: dict[str, Any] = {name: {"role": "quasi"} for name in ("gender", "zipcode", "birthday")}
DECOMPOSITION_ROLES |= {name: {"role": "sensitive", "l": 4} for name in ("occupation", "salary")}

# Table I of the SLOMS paper, t1 to t9
SLOMS_1 = pl.DataFrame(
    [
        ("M", "31200", 23, "clerk", "4000+", "John", "Gastritis"),
        ("F", "32100", 27, "clerk", "6000+", "Bob", "Asthma"),
        ("M", "31204", 24, "cook", "4000+", "Bob", "Flu"),
        ("M", "42000", 31, "teacher", "8000+", "John", "Flu"),
        ("F", "32100", 29, "teacher", "6000+", "Lucy", "Cancer"),
        ("M", "42005", 35, "cook", "10000+", "John", "Flu"),
        ("M", "42004", 31, "police", "4000+", "Tom", "Asthma"),
        ("F", "32004", 30, "clerk", "8000+", "Tom", "Cancer"),
        ("F", "31205", 26, "teacher", "10000+", "Tom", "Asthma"),
    ],
    schema=["gender", "zipcode", "age", "occupation", "salary", "physician", "disease"],
    orient="row",
)
SLOMS_ROLES: dict[str, Any] = {
    "gender": {"role": "quasi"},
    "zipcode": {"role": "quasi"},
    "age": {"role": "quasi", "type": "number"},
}
SLOMS_ROLES |= {name: {"role": "sensitive", "l": 3} for name in ("occupation", "salary", "physician", "disease")}
SLOMS_SLICES = {"slices": [["occupation", "salary"], ["physician", "disease"]]}

# Table 1 of Versatile Publishing
VERSATILE_1 = pl.DataFrame(
    [
        ("111111", 37, "F", "71000", "asian", "HIV"),
        ("111111", 71, "M", "72000", "white", "diabetes"),
        ("222222", 55, "F", "73000", "black", "diabetes"),
        ("222222", 37, "F", "74000", "white", "alcoholism"),
        ("333333", 23, "M", "71000", "black", "flu"),
        ("333333", 37, "M", "72000", "white", "HIV"),
    ],
    schema=["hospital", "age", "gender", "zipcode", "race", "icd9cm"],
    orient="row",
)
VERSATILE_RULES = [
    "age, icd9cm -> race : l=2",
    "gender, icd9cm -> zipcode : l=2",
    "hospital, race -> zipcode : l=2",
]

# Tables 2(a)-(c), each 2-diverse on its own: the bucket of each row of Table 1
VERSATILE_2 = [
    Sub(("age", "icd9cm", "race"), ("race",), (1, 3, 3, 2, 2, 1)),
    Sub(("gender", "icd9cm", "zipcode"), ("zipcode",), (1, 3, 3, 2, 2, 1)),
    Sub(("hospital", "race", "zipcode"), ("zipcode",), (1, 2, 1, 2, 3, 3)),
]


def decomposition_table_6() -> tuple[Plan, Any, Policy]:
    """Table 6, the paper's final publishing: two groups, salary 4 added to the first."""
    policy = policy_of(DECOMPOSITION_ROLES, method="decomposition", variant="paper")
    table = encode(DECOMPOSITION_1.select(list(DECOMPOSITION_ROLES)).cast(pl.String), policy)
    first = {"1988/04/17", "1962/10/03", "1958/06/06", "1985/03/01"}
    birthdays = table["birthday"].series.gather(table["birthday"].codes)
    group_of = np.where(birthdays.is_in(list(first)).to_numpy(), 0, 1)
    added = np.array([[0, table["salary"].values.index("4")]])
    return DecomposedPlan(group_of, added={"salary": added}, primary="occupation"), table, policy


def versatile_release(subs: list[Sub], rules: list[str] = VERSATILE_RULES) -> Release:
    """What these parts publish of Table 1."""
    return multi_release(VERSATILE_1.to_dicts(), subs, rules)
