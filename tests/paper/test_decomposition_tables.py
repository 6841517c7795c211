"""The worked example of Decomposition: Tables 1, 4, 5 and 6, up to the random choice; and holes D3 and D4.

Max-l leaves open which of cook and police, one row each, joins the first group. Here it is cook, so the paper's Group 2
is formed first.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

from oracles.decomposition import linkable
from pluralis.errors import AuditFailed, Infeasible
from pluralis.grouping.plan import Plan
from pluralis.kernels.decomposition import groups_for
from pluralis.kernels.vectors import empty_composition
from pluralis.method.decomposition import Decomposition, vectors_of
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.randomness import Draw, Key
from pluralis.table.encoding import Table, encode
from support.paper_tables import DECOMPOSITION_1 as TABLE_1
from support.sample_tables import KEY, policy_of, sources

GROUP_1 = frozenset({"Alice", "Ella", "Gavin", "Carl"})
GROUP_2 = frozenset({"Betty", "Finch", "Diana", "Helen"})
SALARIES = {GROUP_1: {1, 2, 8}, GROUP_2: {2, 4, 7, 9}}  # Table 5; Table 6 adds 4 to the first
OCCUPATIONS = {GROUP_1: {"police", "nurse", "actor", "clerk"}, GROUP_2: {"nurse", "actor", "cook", "clerk"}}
KEYS = [Key(bytes([i] * 32)) for i in range(80)]


def policy(*sensitive: str, **publish: Any) -> Policy:
    attributes: dict[str, Any] = {"name": {"role": "identifier"}}
    attributes |= {name: {"role": "quasi"} for name in ("gender", "zipcode", "birthday")}
    attributes |= {name: {"role": "sensitive", "l": 4} for name in sensitive}
    if "salary" in sensitive:
        attributes["salary"]["type"] = "number"
    return policy_of(attributes, others="drop", method="decomposition", **publish)


BOTH = policy("occupation", "salary", options={"primary": "occupation"})


def planned(table: Table, policy: Policy, key: Key, variant: str) -> Plan:
    return Decomposition(variant=variant, primary="occupation").plan(table, policy, Draw(key))


def people(table: Table, plan: Plan) -> list[frozenset[str]]:
    names = TABLE_1["name"][sources(TABLE_1, table)]
    return [
        frozenset(names[row] for row in np.flatnonzero(plan.group_of == group).tolist()) for group in range(plan.groups)
    ]


def rows_of(table: Table, names: frozenset[str]) -> list[int]:
    return [row for row, source in enumerate(sources(TABLE_1, table)) if TABLE_1["name"][source] in names]


def test_table_4_one_attribute():
    """Some draw makes the printed groups; every draw makes two with four occupations each."""
    table = encode(TABLE_1, policy("occupation"))
    seen = set()
    for key in KEYS:
        plan = planned(table, policy("occupation"), key, "paper")
        groups = people(table, plan)
        assert sorted(map(len, groups)) == [4, 4]
        assert all(len(set(table["occupation"].codes[rows_of(table, group)])) == 4 for group in groups)
        seen.add(frozenset(groups))
    assert frozenset({GROUP_1, GROUP_2}) in seen
    assert len(seen) == 8  # of each of three occupations either row may go with the cook


def test_table_5_linkable_values_of_group_1():
    """LSV(Salary, G1) = {1, 2, 4, 7, 8}: 4 or 7 may be added, 9 may not."""
    table = encode(TABLE_1, BOTH)
    salary = table["salary"]
    for group, printed in ((GROUP_1, {1, 2, 4, 7, 8}), (GROUP_2, {1, 2, 4, 7, 8, 9})):
        linked = linkable(table, "occupation", "salary", rows_of(table, group), range(table.rows))
        assert {salary.values[code] for code in linked} == printed
        assert {salary.values[code] for code in salary.codes[rows_of(table, group)]} == SALARIES[group]


def test_table_6_arises_with_noise_4_or_7():
    table = encode(TABLE_1, BOTH)
    noise: Counter[int] = Counter()
    for key in KEYS:
        plan = planned(table, BOTH, key, "paper")
        groups = people(table, plan)
        if set(groups) == {GROUP_1, GROUP_2}:
            added = [(groups[group], table["salary"].values[code]) for group, code in plan.added["salary"].tolist()]
            assert [group for group, _ in added] == [GROUP_1]
            noise[added[0][1]] += 1
            assert plan.notes == ("1 value added to sets of salary so that every group holds 4.",)
    assert set(noise) == {4, 7}


def test_table_6_as_published():
    """The tables of a release in which the draw was the paper's."""
    key = next(key for key in KEYS if table_6_groups(key))
    release = publish(TABLE_1, BOTH.override(options={"primary": "occupation", "variant": "paper"}), key=key)
    assert sorted(release.tables) == ["quasi", "sensitive", "values"]
    quasi, values = release.tables["quasi"], release.tables["values"]
    assert quasi.height == 8
    birthdays = dict(zip(TABLE_1["birthday"], TABLE_1["name"], strict=True))
    for (group,), rows in quasi.group_by("group"):
        names = frozenset(birthdays[day] for day in rows["birthday"])
        group_values = values.filter(pl.col("group") == group)
        assert set(group_values.filter(pl.col("attribute") == "occupation")["value"]) == OCCUPATIONS[names]
        salaries = {int(value) for value in group_values.filter(pl.col("attribute") == "salary")["value"]}
        assert salaries == SALARIES[names] | ({4} if names == GROUP_1 else set())
    joint = release.tables["sensitive"].select("occupation", "salary")
    assert sorted(joint.rows()) == sorted(TABLE_1.select("occupation", "salary").rows())


def table_6_groups(key: Key) -> bool:
    table = encode(TABLE_1, BOTH)
    plan = planned(table, BOTH, key, "paper")
    noise = [table["salary"].values[code] for _, code in plan.added.get("salary", np.empty((0, 2))).tolist()]
    return set(people(table, plan)) == {GROUP_1, GROUP_2} and noise == [4]


def test_the_default_publishes_table_1_where_the_paper_does_not(tmp_path):
    """D1, for the draw that gives Table 6 itself: half of group 1 earns 8, where a quarter was promised."""
    key = next(key for key in KEYS if table_6_groups(key))
    paper = BOTH.override(options={"primary": "occupation", "variant": "paper"})
    with pytest.raises(AuditFailed):
        publish(TABLE_1, paper, key=key).save(tmp_path / "paper")
    assert publish(TABLE_1, BOTH, key=key).save(tmp_path / "default").holds


@pytest.mark.parametrize("key", KEYS[:20])
def test_the_default_groups_of_table_1(key):
    table = encode(TABLE_1, BOTH)
    plan = planned(table, BOTH, key, "hardened")
    added = {group: set() for group in range(plan.groups)}
    for group, code in plan.added.get("salary", np.empty((0, 2), np.int64)).tolist():
        added[group].add(code)
    for group, names in enumerate(people(table, plan)):
        rows = rows_of(table, names)
        assert len(set(table["occupation"].codes[rows].tolist())) == len(rows) == 4
        salaries = set(table["salary"].codes[rows].tolist())
        assert len(salaries | added[group]) >= 4
        assert added[group] <= set(linkable(table, "occupation", "salary", rows, range(table.rows))) - salaries


# D3 and D4 ------------------------------------------------------------------------------------------------------


def small(columns: dict[str, str], l: int, **publish: Any) -> tuple[pl.DataFrame, Policy]:
    rows = len(next(iter(columns.values())))
    frame = pl.DataFrame({"q": list(range(rows)), **{name: list(values) for name, values in columns.items()}})
    attributes: dict[str, Any] = {"q": {"role": "quasi", "type": "number"}}
    attributes |= {name: {"role": "sensitive", "l": l} for name in columns}
    return frame, policy_of(attributes, method="decomposition", **publish)


def test_d3_noise_that_runs_out_ends():
    """(a,x), (b,x), (c,y), (d,y): beside a and b there is nothing but x."""
    frame, asked = small({"s": "abcd", "t": "xxyy"}, 2)
    table = encode(frame, asked)
    with pytest.raises(
        Infeasible, match=r"'t' cannot have 2 values in every group: beside s 'a', 'b'.*Do not publish 't'"
    ):
        Decomposition(variant="paper").plan(table, asked, Draw(KEY))
    for key in KEYS:
        plan = Decomposition().plan(table, asked, Draw(key))
        assert plan.groups == 2
        assert plan.added == {}
        assert all(len(set(table["t"].codes[plan.group_of == group])) == 2 for group in range(2))


@pytest.mark.parametrize("key", KEYS[:20])
def test_d4_residual_rows(key):
    """{a, b, b, c, c} at l = 2: the paper's rule looks at other attributes only and puts c beside c."""
    frame, asked = small({"s": "abbcc"}, 2)
    table = encode(frame, asked)
    printed = Decomposition(variant="paper").plan(table, asked, Draw(key))
    assert sorted(values(table, printed)) == ["ab", "bcc"]
    default = Decomposition().plan(table, asked, Draw(key))
    assert all(len(set(group)) == len(group) for group in values(table, default))
    assert sorted(map(len, values(table, default))) == [2, 3]


def values(table: Table, plan: Plan) -> list[str]:
    column = table["s"]
    return ["".join(column.text(code) for code in column.codes[plan.group_of == g]) for g in range(plan.groups)]


@pytest.mark.parametrize(("literal", "chosen"), [(True, 0), (False, 1)])
def test_d4_from_the_groups_that_the_paper_would_print(literal, chosen):
    """{c, b} and {a, c} are there, b is left: {c, b, b}, or {a, c, b}."""
    frame, asked = small({"s": "abbcc"}, 2)
    table = encode(frame, asked)
    method = Decomposition()
    attributes = method._protected(table, asked)
    order = np.arange(5)  # a b b c c
    composition = empty_composition(attributes.sizes, attributes.ls, np.zeros(3, np.bool_))
    formed = np.array([[3, 1], [0, 4]])
    assert groups_for(vectors_of(attributes, order), composition, formed, np.array([2]), literal).tolist() == [chosen]


def test_d4_is_refused_by_the_audit_and_the_default_is_not(tmp_path):
    frame, asked = small({"s": "abbcc"}, 2)
    with pytest.raises(AuditFailed):
        publish(frame, asked.override(options={"variant": "paper"}), key=KEY).save(tmp_path / "paper")
    assert not (tmp_path / "paper").exists()
    assert publish(frame, asked, key=KEY).save(tmp_path / "default").holds
