"""The worked example of BSGI: Tables 1-4, up to the random choice.

The paper's text forms {t3, t4} second, which Max-l would not: after {t1, t2} the two fullest buckets are Flu and
Obesity. Figure 2 forms {t5, t6} second and {t3, t4} third; the groups, and so the published table, are the same.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

from pluralis.assembling.columns import in_order
from pluralis.grouping.generalization import microdata
from pluralis.grouping.plan import SUPPRESSED, GeneralizedPlan, Plan, numbered
from pluralis.grouping.points import space_of
from pluralis.method.bsgi import Bsgi
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Draw, Key
from pluralis.table.encoding import Table, encode
from support.sample_tables import sources

TABLE_1 = pl.DataFrame(
    [
        ("Alice", "F", "10075", 50, "Cancer"),
        ("Bob", "M", "10075", 50, "Obesity"),
        ("Carl", "M", "10076", 30, "Flu"),
        ("Diana", "F", "10075", 40, "Cancer"),
        ("Ella", "F", "10077", 20, "Flu"),
        ("Fiona", "F", "10077", 25, "Obesity"),
        ("Gavin", "M", "10076", 25, "Obesity"),
    ],
    schema=["name", "gender", "postcode", "age", "disease"],
    orient="row",
)
GROUP_1 = [("*", "10075", "50", "Cancer"), ("*", "10075", "50", "Obesity")]
GROUP_2 = [("*", "1007*", "[30, 40]", "Cancer"), ("*", "1007*", "[30, 40]", "Flu")]
GROUP_2_WITH_T7 = [("*", "1007*", "[25, 40]", disease) for disease in ("Cancer", "Flu", "Obesity")]
GROUP_3 = [("F", "10077", "[20, 25]", "Flu"), ("F", "10077", "[20, 25]", "Obesity")]
TABLE_2 = [GROUP_1]
TABLE_3 = [GROUP_1, GROUP_2, GROUP_3]
TABLE_4 = [GROUP_1, GROUP_2_WITH_T7, GROUP_3]

POLICY = {
    "version": 1,
    "attributes": {
        "name": {"role": "identifier"},
        "gender": {"role": "quasi"},
        "postcode": {"role": "quasi", "hierarchy": {"mask": "right"}},
        "age": {"role": "quasi", "type": "number"},
        "disease": {"role": "sensitive", "l": 2},
    },
    "publish": {"variant": "paper"},
}
DRAW = Draw(Key.test())


@pytest.fixture
def policy() -> Policy:
    return Policy.from_dict(POLICY)


@pytest.fixture
def table(policy: Policy) -> Table:
    return encode(TABLE_1, policy)


def tuples(table: Table, *numbers: int) -> list[int]:
    """The rows of t1, t2, …, as the table numbers them."""
    place = {int(source) + 1: row for row, source in enumerate(sources(TABLE_1, table))}
    return [place[number] for number in numbers]


def plan_of(table: Table, *groups: tuple[int, ...]) -> Plan:
    group_of = np.full(table.rows, SUPPRESSED, np.int64)
    for g, numbers in enumerate(groups):
        group_of[tuples(table, *numbers)] = g
    return GeneralizedPlan(numbered(group_of))


def published_groups(rows: pl.DataFrame) -> list[list[tuple[str, ...]]]:
    """The rows of each group, however groups are numbered."""
    columns = ["gender", "postcode", "age", "disease"]
    return sorted(sorted(part.select(columns).rows()) for part in rows.partition_by("group"))


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([(1, 2)], TABLE_2),
        ([(1, 2), (3, 4), (5, 6)], TABLE_3),
        ([(1, 2), (3, 4, 7), (5, 6)], TABLE_4),
    ],
    ids=["table 2", "table 3", "table 4"],
)
def test_groups_are_published_as_printed(table, groups, expected):
    rows = in_order(microdata(plan_of(table, *groups), table, DRAW))
    assert published_groups(rows) == sorted(expected)


@pytest.mark.parametrize("variant", ["paper", "hardened"])
def test_incorporate_puts_t7_into_group_2(table, policy, variant):
    """Figure 3: groups 1 and 3 hold Obesity already."""
    method = Bsgi(variant=variant)
    order = np.arange(table.rows)
    rules, ls = method._rules(table, method._asked(table, policy), order)
    formed = np.array([tuples(table, 1, 2), tuples(table, 3, 4), tuples(table, 5, 6)])
    residual = np.array(tuples(table, 7))
    group_of = method._incorporate(space_of(table.quasi, order), rules, ls, formed, residual)
    expected = plan_of(table, (1, 2), (3, 4, 7), (5, 6))
    assert numbered(group_of).tolist() == expected.group_of.tolist()


@pytest.mark.parametrize("variant", ["paper", "hardened"])
def test_table_1_becomes_three_diverse_groups(policy, variant):
    release = publish(TABLE_1, policy.override(options={"variant": variant}), key=Key.test())
    rows = release.tables["microdata"]
    assert rows.height == 7
    assert "name" not in rows.columns
    groups = published_groups(rows)
    assert sorted(map(len, groups)) == [2, 2, 3]
    for group in groups:
        assert len({row[:3] for row in group}) == 1
        assert max(Counter(row[3] for row in group).values()) == 1


def test_some_draw_publishes_table_4_itself(table, policy):
    """The random choices that the paper made: t2 of Obesity first, then t5 of Flu."""
    printed = plan_of(table, (1, 2), (3, 4, 7), (5, 6)).group_of.tolist()
    plans = [Bsgi(variant="paper").plan(table, policy, Draw(Key(bytes([i] * 32)))) for i in range(40)]
    assert any(plan.group_of.tolist() == printed for plan in plans)
    assert {tuple(sorted(plan.sizes().tolist())) for plan in plans} == {(2, 2, 3)}
