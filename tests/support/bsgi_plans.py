"""What BSGI makes of a case, and what tests ask of its groups."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import note

from oracles import bsgi as naive
from pluralis.errors import Infeasible
from pluralis.grouping.eligibility import require_eligible
from pluralis.grouping.plan import Plan
from pluralis.method.bsgi import Bsgi
from pluralis.policy.policy import Policy
from pluralis.randomness import Draw, Key
from pluralis.table.encoding import Table
from support.strategies import Case

DRAW = Draw(Key.test())


def drawn_order(table: Table, policy: Policy, variant: str) -> np.ndarray:
    kept = require_eligible(table, policy, DRAW, naive.asked(table, policy, variant))
    return kept[DRAW.permutation(kept.size, "rows")]


def groups_of(plan: Plan) -> list[list[int]]:
    return [np.flatnonzero(plan.group_of == g).tolist() for g in range(plan.groups)]


def partition(groups: list[list[int]]) -> set[frozenset[int]]:
    return {frozenset(group) for group in groups}


def planned(case: Case, **options: Any) -> Plan | None:
    """The plan, or None where the method refuses the table."""
    try:
        return Bsgi(**options).plan(case.table(), case.policy, DRAW)
    except Infeasible as refusal:
        note(str(refusal))
        return None


def assert_same_as_naive(case: Case, variant: str) -> None:
    table = case.table()
    plan = planned(case, variant=variant, refine=0)
    expected, unplaced = naive.bsgi(table, case.policy, drawn_order(table, case.policy, variant), variant)
    if plan is None:
        assert unplaced
    elif unplaced:  # whole groups were merged around the rows that fit nowhere
        assert all(len(set(plan.group_of[group].tolist())) == 1 for group in expected)
    else:
        assert partition(groups_of(plan)) == partition(expected)


def assert_diverse(table: Table, policy: Policy, groups: list[list[int]]) -> None:
    """In every group each value of every sensitive attribute fills at most 1/l of the rows."""
    for column in table.sensitive:
        for group in groups:
            top = max(Counter(column.codes[group].tolist()).values())
            assert top * policy.l(column.name) <= len(group), (column.name, group)


def is_diverse(table: Table, policy: Policy, groups: list[list[int]]) -> bool:
    try:
        assert_diverse(table, policy, groups)
    except AssertionError:
        return False
    return True
